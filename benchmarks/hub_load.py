"""The hub under load: nobody overspends, nothing is lost when processes are killed, the catalogue
stays fast.

    python benchmarks/hub_load.py [--only overspend kills catalogue] [--seconds 60] [--kills 200]
    [--quick]

*overspend*: 64 clients (8 processes of 8 threads) ask for one small budget at once, double-click,
take requests back, compute, deliver twice, and give up, on SQLite and on PostgreSQL. Afterwards the
journal is replayed. *kills*: requesters and workers are killed by SIGKILL at random moments.
*catalogue*: 50 readers of 200 data sets, in the service layer. A PostgreSQL of its own is started
on loopback, if the programs are there.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from understudy.errors import BudgetError
from understudy.hub import budgets, datasets, jobs, requests, trail
from understudy.hub.database import Database, Transaction
from understudy.hub.datasets import DatasetSpec
from understudy.hub.errors import Conflict, NotFound, Unavailable
from understudy.hub.keys import make_keys
from understudy.hub.names import ENDED, new_id
from understudy.hub.opening import Hub, open_hub
from understudy.hub.records import Job, ReleaseFile
from understudy.hub.releases import ReleaseSpec
from understudy.hub.roles import RoleSpec, RuleSpec
from understudy.hub.tables import datasets as dataset_table
from understudy.hub.tables import debits, release_files, releases, users
from understudy.hub.tables import jobs as job_table
from understudy.hub.tables import requests as request_table

FORKS = multiprocessing.get_context("fork")
SCHEMA = {"attributes": {"age": {"kind": "integer", "min": 0, "max": 99}}}
PRICES = (0.01, 0.003, 0.07, 0.1, 0.0001)
TOTAL = 1.0


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a hub is, for processes that open it themselves."""

    folder: Path
    url: str | None
    keys: Any
    dataset: str = ""
    people: tuple[str, ...] = ()

    def open(self) -> Hub:
        """A connection of one's own."""
        return open_hub(self.folder, database=self.url, keys=self.keys)


@dataclass(kw_only=True)
class Findings:
    """What is wrong after a run; empty is good."""

    overspent: int = 0
    lost: int = 0
    double: int = 0
    others: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.overspent or self.lost or self.double or self.others)


def start(folder: Path, url: str | None, people: int, total: float = TOTAL) -> Place:
    """A hub with one data set, whose standing rule says yes to everything within the budget."""
    keys = make_keys()
    hub = open_hub(folder, database=url, keys=keys, create=True)
    with hub.db.transaction() as c:
        owner = add_user(c, "owner")
        names = tuple(add_user(c, f"user{number}") for number in range(people))
        rule = RuleSpec(operation="synthesise", standing=True)
        spec = DatasetSpec(
            name="D1",
            schema=SCHEMA,
            epsilon=total,
            user_epsilon=total * 0.6,
            mode="stored",
            roles=[RoleSpec(name="R1", members=names, rules=[rule])],
        )
        dataset = datasets.register(c, owner, spec).id
    hub.close()
    return Place(folder=folder, url=url, keys=keys, dataset=dataset, people=names)


def add_user(c: Transaction, name: str) -> str:
    user = new_id()
    c.execute(sa.insert(users).values(id=user, name=name, created_at=c.now))
    return user


# --------------------------------------------------------------------------- overspend


def overspend(
    place: Place, *, seconds: float, processes: int = 8, threads: int = 8
) -> tuple[Findings, float]:
    """Clients that try to overspend; what is wrong afterwards, and transactions per second."""
    results = FORKS.Queue()
    arguments = [(place, number, threads, seconds, results) for number in range(processes)]
    crowd = [FORKS.Process(target=_run_clients, args=each) for each in arguments]
    for process in crowd:
        process.start()
    granted: dict[str, Fraction] = {}
    counts: Counter[str] = Counter()
    errors: list[str] = []
    for _ in crowd:
        some, count, wrong = results.get()
        granted |= {name: Fraction(price) for name, price in some.items()}
        counts.update(count)
        errors += wrong
    for process in crowd:
        process.join()
    hub = place.open()
    findings = audit(hub, granted)
    hub.close()
    findings.others += errors
    findings.counts.update(counts)
    return findings, sum(counts.values()) / seconds


def _run_clients(place: Place, number: int, threads: int, seconds: float, results: Any) -> None:
    hub = place.open()
    granted: dict[str, str] = {}
    counts: Counter[str] = Counter()
    errors: list[str] = []
    until = time.monotonic() + seconds
    clients = [
        threading.Thread(
            target=_run_client,
            args=(hub, place, random.Random(100 * number + each), until, granted, counts, errors),
        )
        for each in range(threads)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    hub.close()
    results.put((granted, counts, errors))


def _run_client(
    hub: Hub,
    place: Place,
    chance: random.Random,
    until: float,
    granted: dict[str, str],
    counts: Counter[str],
    errors: list[str],
) -> None:
    worker = f"worker {chance.random()}"
    while time.monotonic() < until:
        act = chance.choice((_ask, _ask, _ask_twice, _take_back, _compute, _give_up))
        try:
            counts[act(hub.db, place, chance, worker, granted)] += 1
        except BudgetError:
            counts["refused"] += 1
        except Conflict:
            counts["too late"] += 1
        except Unavailable:
            counts["busy"] += 1
        except Exception as error:  # whatever it is, it must be in the findings
            errors.append(f"{act.__name__}: {error!r}")
            return


def _ask(db: Database, place: Place, chance: random.Random, _: str, granted: dict[str, str]) -> str:
    user, price = chance.choice(place.people), chance.choice(PRICES)
    with db.transaction() as c:
        made = submit(c, user, place.dataset, price, new_id())
    granted[made] = str(price)
    return "granted"


def _ask_twice(
    db: Database, place: Place, chance: random.Random, _: str, granted: dict[str, str]
) -> str:
    """A double click: two threads send the same form at the same time."""
    user, price, key = chance.choice(place.people), chance.choice(PRICES), new_id()
    made: list[str] = []

    def send() -> None:
        with contextlib.suppress(BudgetError, Unavailable), db.transaction() as c:
            made.append(submit(c, user, place.dataset, price, key))

    other = threading.Thread(target=send)
    other.start()
    send()
    other.join()
    if len(set(made)) > 1:
        raise AssertionError("a double click made two requests")
    granted.update(dict.fromkeys(made, str(price)))
    return "granted twice over" if made else "refused"


def _take_back(
    db: Database, place: Place, chance: random.Random, _: str, granted: dict[str, str]
) -> str:
    name = chance.choice(list(granted)) if granted else ""
    if not name:
        return "idle"
    with db.transaction() as c:
        user = c.value(sa.select(request_table.c.user).where(request_table.c.id == name))
        requests.withdraw(c, user, name)
    return "taken back"


def _compute(
    db: Database, place: Place, chance: random.Random, worker: str, granted: dict[str, str]
) -> str:
    """Claim, and deliver twice at the same time."""
    with db.transaction() as c:
        job = jobs.claim(c, worker)
    if job is None:
        return "idle"
    found = job

    def deliver() -> None:
        with contextlib.suppress(Unavailable, Conflict), db.transaction() as c:
            jobs.finish(c, found.id, worker, ReleaseSpec(title="Table"))

    other = threading.Thread(target=deliver)
    other.start()
    deliver()
    other.join()
    return "released"


def _give_up(
    db: Database, place: Place, chance: random.Random, worker: str, granted: dict[str, str]
) -> str:
    """Claim and fail, with or without having asked anything; say so twice."""
    with db.transaction() as c:
        job = jobs.claim(c, worker)
    if job is None:
        return "idle"
    spent = chance.random() < 0.1
    for _ in range(2):
        with db.transaction() as c:
            jobs.fail(c, job.id, worker, "gave up", spent)
    return "given up"


def submit(c: Transaction, user: str, dataset: str, epsilon: float, key: str) -> str:
    """A request that the standing rule approves; its id."""
    spec = {"epsilon": epsilon}
    return requests.submit(c, user, dataset, "synthesise", spec, "load", key).id


def audit(hub: Hub, granted: dict[str, Fraction] | None = None) -> Findings:
    """Replay the journal and compare it with everything else."""
    findings = Findings()
    with hub.db.reading() as c:
        findings.overspent = count_overspent(c)
        findings.others += budgets.check_sums(c)
        booked = _booked(c)
        rows = c.rows(sa.select(job_table))
        made = Counter(row["job"] for row in c.rows(sa.select(releases.c.job)))
    for name, price in (granted or {}).items():
        if price not in booked.get(name, []):
            findings.lost += 1
    for row in rows:
        findings.counts[row["state"]] += 1
        entries = booked.get(row["request"], [])
        expected = [row["epsilon"], -row["epsilon"]] if row["refunded"] else [row["epsilon"]]
        if entries != expected:
            findings.lost += 1
        if made[row["id"]] != (row["state"] == "done"):
            findings.double += 1
        if row["state"] == "done" and row["refunded"]:
            findings.double += 1
    verdict = trail.verify(hub.db, hub.keys.trail)
    findings.others += verdict.findings
    return findings


def count_overspent(c: Transaction) -> int:
    """How often, in the journal's order, a data set or a user was above its total."""
    totals = {row["id"]: row for row in c.rows(sa.select(dataset_table))}
    spent: dict[tuple[str, ...], Fraction] = {}
    over = 0
    for row in c.rows(sa.select(debits).order_by(debits.c.number)):
        total = totals[row["dataset"]]
        for key, limit in (
            ((row["dataset"],), total["total_epsilon"]),
            ((row["dataset"], row["user"]), total["user_epsilon"] or total["total_epsilon"]),
        ):
            spent[key] = spent.get(key, Fraction(0)) + row["epsilon"]
            over += spent[key] > limit
    return over


def _booked(c: Transaction) -> dict[str, list[Fraction]]:
    booked: dict[str, list[Fraction]] = {}
    for row in c.rows(sa.select(debits).order_by(debits.c.number)):
        booked.setdefault(row["request"], []).append(row["epsilon"])
    return booked


# --------------------------------------------------------------------------- kills


def kill_series(place: Place, *, kills: int, seed: int = 0) -> Findings:
    """Kill requesters and workers at random moments; what is wrong once the rest has ended."""
    chance = random.Random(seed)
    crowd: list[Any] = []
    tasks = (_keep_asking, _keep_computing, _keep_computing)
    for killed in range(kills + len(tasks)):
        process = FORKS.Process(target=tasks[killed % len(tasks)], args=(place, seed + killed))
        process.start()
        crowd.append(process)
        if len(crowd) < len(tasks):
            continue
        time.sleep(chance.uniform(0.0, 0.4))
        victim = crowd.pop(chance.randrange(len(crowd)))
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
    for process in crowd:
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    return _settle(place)


def _keep_asking(place: Place, seed: int) -> None:
    hub, chance = place.open(), random.Random(seed)
    while True:
        with contextlib.suppress(BudgetError, Unavailable), hub.db.transaction() as c:
            submit(c, chance.choice(place.people), place.dataset, 0.001, new_id())
        time.sleep(chance.uniform(0, 0.02))


def _keep_computing(place: Place, seed: int) -> None:
    hub, chance = place.open(), random.Random(seed)
    while True:
        with contextlib.suppress(Unavailable, Conflict, NotFound):
            _compute_with_files(hub, f"worker {seed}", chance)


def _compute_with_files(hub: Hub, worker: str, chance: random.Random) -> bool:
    with hub.db.transaction() as c:
        job = jobs.claim(c, worker)
    if job is None:
        time.sleep(0.005)
        return False
    with hub.db.transaction() as c:
        jobs.report(c, job.id, worker, "computing", 1, 2)
    time.sleep(chance.uniform(0, 0.02))
    release_rows(hub, job, worker)
    return True


def release_rows(hub: Hub, job: Job, worker: str) -> None:
    """Store a file and finish a job with it."""
    stored = hub.vault.put(job.dataset, "release", os.urandom(100_000))
    file = ReleaseFile(
        name="rows.csv",
        media_type="text/csv",
        size=stored.size,
        sha256=stored.sha256,
        object=stored.id,
    )
    with hub.db.transaction() as c:
        jobs.finish(c, job.id, worker, ReleaseSpec(title="Table", files=[file]))


def _settle(place: Place) -> Findings:
    """Let the leases run out and do what still waits; then look at everything."""
    hub = place.open()
    with hub.db.transaction() as c:
        jobs.expire(c, c.now + 2 * jobs.LEASE)
    while _compute_with_files(hub, "the last worker", random.Random(0)):
        pass
    findings = audit(hub)
    with hub.db.reading() as c:
        open_jobs = c.rows(sa.select(job_table.c.id).where(job_table.c.state.not_in(ENDED)))
        files = c.rows(sa.select(release_files))
    if open_jobs:
        findings.others.append(f"{len(open_jobs)} jobs have not ended")
    for row in files:
        hub.vault.read(row["object"])  # raises if it is damaged
    hub.close()
    return findings


# --------------------------------------------------------------------------- catalogue


def catalogue(place: Place, *, readers: int = 50, each: int = 20) -> list[float]:
    """Seconds that a reader waits for a page of 50 of 200 data sets, sorted."""
    hub = place.open()
    with hub.db.transaction() as c:
        owner = place.people[0]
        for number in range(200):
            spec = DatasetSpec(name=f"Data set {number}", schema=SCHEMA, epsilon=1.0)
            datasets.register(c, owner, spec)
    times: list[float] = []

    def read() -> None:
        for _ in range(each):
            started = time.perf_counter()
            with hub.db.reading() as c:
                assert len(datasets.catalogue(c, place.people[1]).items) == 50
            times.append(time.perf_counter() - started)

    threads = [threading.Thread(target=read) for _ in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hub.close()
    return sorted(times)


# --------------------------------------------------------------------------- the command


@contextlib.contextmanager
def postgres() -> Iterator[str | None]:
    """The URL of a PostgreSQL of our own; none where it is not installed."""
    path = Path(__file__).resolve().parents[1] / "tests" / "engines" / "servers.py"
    spec = importlib.util.spec_from_file_location("engine_servers", path)
    assert spec is not None
    assert spec.loader is not None
    servers = importlib.util.module_from_spec(spec)
    sys.modules["engine_servers"] = servers
    spec.loader.exec_module(servers)
    programs = servers.postgres_programs()
    if programs is None:
        yield None
        return
    with servers.running(programs) as server:
        yield server.url()


def new_database(server: str) -> str:
    """An empty database on a server; its URL."""
    name = f"hub_{new_id()}"
    engine = sa.create_engine(
        server.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(sa.text(f'CREATE DATABASE "{name}"'))
    engine.dispose()
    return server.rsplit("/", 1)[0] + f"/{name}"


def report(name: str, findings: Findings, **more: Any) -> None:
    """One line of JSON."""
    line = {
        "run": name,
        "overspent": findings.overspent,
        "lost debits": findings.lost,
        "double releases": findings.double,
        "other findings": findings.others[:5],
        "counts": dict(findings.counts),
        **more,
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(line), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="The hub under load.")
    parts = ("overspend", "kills", "catalogue")
    parser.add_argument("--only", nargs="*", choices=parts, default=parts)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="5 s and 20 kills")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seconds, arguments.kills = 5.0, 20
    bad = False
    with postgres() as server, tempfile.TemporaryDirectory(prefix="hub-load-") as folder:
        for kind in ("sqlite", "postgres"):
            if kind == "postgres" and server is None:
                print("PostgreSQL is not installed: not run there", flush=True)
                continue

            def place(part: str, total: float = TOTAL, kind: str = kind) -> Place:
                url = new_database(server) if kind == "postgres" and server else None
                return start(Path(folder) / f"{part}-{kind}", url, 8, total)

            bad |= run_parts(arguments, kind, place)
    return int(bad)


def run_parts(arguments: Any, kind: str, place: Callable[..., Place]) -> bool:
    """Run what was asked for on one database; whether anything is wrong."""
    bad = False
    if "overspend" in arguments.only:
        findings, rate = overspend(place("overspend"), seconds=arguments.seconds)
        report(f"overspend, {kind}", findings, clients=64, per_second=round(rate))
        bad |= bool(findings)
    if "kills" in arguments.only:
        findings = kill_series(place("kills", 1000.0), kills=arguments.kills)
        report(f"kills, {kind}", findings, kills=arguments.kills)
        bad |= bool(findings)
    if "catalogue" in arguments.only:
        times = catalogue(place("catalogue"))
        p95 = times[int(0.95 * len(times))]
        report(f"catalogue, {kind}", Findings(), readers=50, p95_ms=round(1000 * p95, 1))
    return bad


if __name__ == "__main__":
    sys.exit(main())
