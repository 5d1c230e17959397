"""How fast the hub takes and adds up reports of a survey.

    python benchmarks/hub_surveys.py [--quick] [--reports 100000] [--seconds 10] [--clients 16]

A hub is served in a process of its own, on SQLite with every write on disk before it is answered
for. Clients on loopback send one report in each request, as a person's page does, in a survey
without tokens and in one with. Then 10^5 reports come in, 1,000 in a request, are added up and
estimated as the maker's page does. Clients and hub share the machine's cores, so that a busy
machine shows in the rate; the hub's own CPU time for each report depends less on that (Linux).
"""

from __future__ import annotations

import argparse
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from understudy.hub import surveys
from understudy.hub.keys import load_keys
from understudy.hub.names import new_id
from understudy.hub.opening import Hub, open_hub
from understudy.hub.questionnaires import read_questionnaire
from understudy.hub.survey_demo import make_reports
from understudy.hub.survey_results import collect, estimate_items
from understudy.hub.surveys import Survey, SurveySpec
from understudy.hub.tables import users
from understudy.local.blind_tokens import TokenRequest
from understudy.local.reports import Report

ITEMS = "\n".join(f"item_{n} = a|b|c|d" for n in range(8))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--reports", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.serve, given.port)
        return
    if given.quick:
        given.reports, given.seconds = given.reports // 10, given.seconds / 5
    with tempfile.TemporaryDirectory() as folder:
        hub = open_at(Path(folder), create=True)
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        with running(Path(folder)) as served:
            one_by_one(hub, served, given.clients, given.seconds, invited=False)
            one_by_one(hub, served, given.clients, given.seconds, invited=True)
            in_bulk(hub, served, given.reports)
        hub.close()


def open_at(folder: Path, *, create: bool = False) -> Hub:
    keys = load_keys(folder / "keys" / "hub.keys", create=create)
    return open_hub(folder / "hub", keys=keys, create=create)


def serve(folder: Path, port: int) -> None:
    """The hub with its pages."""
    import uvicorn

    from understudy.hub.web.app import make_app
    from understudy.hub.web.state import Site

    site = Site(opened=open_at(folder), address=f"http://127.0.0.1:{port}")
    uvicorn.run(make_app(site), port=port, log_level="error", access_log=False)


@dataclass(frozen=True)
class Served:
    """A hub that runs."""

    port: int
    process: int

    def cpu(self) -> float:
        """The seconds of CPU time that it has used; 0 where the system does not tell."""
        stat = Path(f"/proc/{self.process}/stat")
        if not stat.exists():
            return 0.0
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(folder: Path) -> Iterator[Served]:
    """A hub in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, __file__, "--serve", str(folder), "--port", str(port)]
    hub = subprocess.Popen(command)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield Served(port, hub.pid)
    finally:
        hub.terminate()
        hub.wait()


def start_survey(hub: Hub, *, invited: bool) -> Survey:
    spec = SurveySpec(
        title="Benchmark",
        questionnaire=read_questionnaire(ITEMS),
        epsilons=(2.0, 0.5),
        persons=100_000,
        invited=invited,
    )
    with hub.db.transaction() as c:
        maker = new_id()
        c.execute(sa.insert(users).values(id=maker, name=maker, created_at=c.now))
        made = surveys.make(c, maker, spec, new_id())
        return surveys.open_survey(c, maker, made.id)


def make_lines(hub: Hub, survey: Survey, count: int) -> list[bytes]:
    """Reports as they travel; with tokens, where they are needed."""
    plan = survey.plan()
    rng = np.random.default_rng()
    codes = {column.name: rng.integers(0, 4, count) for column in plan.schema.modelled}
    reports = list(make_reports(plan, codes))
    if survey.invited:
        with hub.db.reading() as c:
            issuer = surveys.issuer_of(c, survey)
        assert issuer is not None
        for place, report in enumerate(reports):
            request = TokenRequest()
            token = request.finish(issuer.issue(request.text), plan.token_key)
            reports[place] = Report(
                plan=report.plan,
                question=report.question,
                level=report.level,
                answer=report.answer,
                number=token[:32],
                token=token[32:],
            )
    return [report.to_json().encode() + b"\n" for report in reports]


def one_by_one(hub: Hub, served: Served, clients: int, seconds: float, *, invited: bool) -> None:
    """Submissions a second, one report in each."""
    survey = start_survey(hub, invited=invited)
    lines = iter(make_lines(hub, survey, int(seconds * (1_200 if invited else 2_000))))
    lock, times = threading.Lock(), list[float]()
    end = time.monotonic() + seconds

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", served.port)
        headers = {"Content-Type": "text/plain"}
        while time.monotonic() < end:
            with lock:
                line = next(lines, None)
            if line is None:
                return
            started = time.monotonic()
            connection.request("POST", f"/s/{survey.id}/reports", line, headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 202, answer.status
            times.append(time.monotonic() - started)

    started, worked = time.monotonic(), served.cpu()
    threads = [threading.Thread(target=send) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    passed, each = time.monotonic() - started, (served.cpu() - worked) / max(len(times), 1)
    with hub.db.reading() as c:
        kept = surveys.count_reports(c, survey.id)
    assert kept == len(times), (kept, len(times))
    named = "with tokens" if invited else "without tokens"
    p95 = sorted(times)[int(0.95 * len(times))]
    print(
        f"one report a request, {named}: {len(times) / passed:,.0f} a second (to reach: 300), "
        f"95 % within {1000 * p95:.0f} ms, {1000 * each:.2f} ms CPU of the hub each; all {kept:,} "
        "on disk"
    )


def in_bulk(hub: Hub, served: Served, count: int) -> None:
    """Many reports at a time, then all of them added up."""
    survey = start_survey(hub, invited=False)
    lines = make_lines(hub, survey, count)
    connection = http.client.HTTPConnection("127.0.0.1", served.port)
    started = time.monotonic()
    for start in range(0, count, 1_000):
        body = b"".join(lines[start : start + 1_000])
        connection.request("POST", f"/s/{survey.id}/reports", body, {"Content-Type": "text/plain"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 202, answer.status
    received = time.monotonic() - started
    started, worked = time.monotonic(), time.process_time()
    with hub.db.transaction() as c:
        surveys.close_survey(c, survey.maker, survey.id)
    with hub.db.reading() as c:
        collected = collect(c, survey)
    took, cpu = time.monotonic() - started, time.process_time() - worked
    assert collected.reports == count
    started = time.monotonic()
    estimate_items(collected)
    print(
        f"{count:,} reports: received in {received:.1f} s, collected in {took:.1f} s "
        f"({cpu:.1f} s CPU; to reach: 10 s), estimated in {time.monotonic() - started:.1f} s"
    )


if __name__ == "__main__":
    main()
