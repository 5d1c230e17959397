"""Hub, worker and agent are killed at random moments, again and again: nothing may be lost.

    python benchmarks/hub_kills.py [--kills 200] [--seed 1]

Requests come in all the while, by a standing rule, until both budgets are used up and beyond; each
is sent again with the same key until it is answered. A process is killed (SIGKILL) at a random
moment, most often while a job is at work, and started again. At the end: no budget is overspent,
in the hub's books, in the agent's ledger or in the worker's; no key made two requests, no job two
releases, no price came back of a job that asked something; every job is in a named end state; the
trail and the agent's log verify.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa

sys.path.append(str(Path(__file__).resolve().parent))

from hub_site import People, Place, add_agent, add_dataset, add_people, make_place
from understudy.errors import InputError
from understudy.hub import budgets, datasets, tables, trail
from understudy.hub.names import ENDED
from understudy.hub.node_log import check_log
from understudy.hub.opening import Hub
from understudy.hub.tables import jobs, releases, requests
from understudy.privacy.budget import exact
from understudy.privacy.ledger import LedgerFile

SCHEMA: dict[str, Any] = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 99},
        "sex": {"kind": "categorical", "values": ["f", "m"]},
        **{f"item{i}": {"kind": "categorical", "values": list("abcde")} for i in range(10)},
    }
}
ROWS = 20_000
PRICE = 0.1
METHOD = "adaptive"
"""One that takes about a second here, so that many kills find a job at work."""

MAX_WAITING = 3
"""Jobs of a data set that wait, at which no more is asked."""

ROLES = ("hub", "agent", "worker")
MAX_WAIT = 10.0
"""Seconds until a process that has no job is killed nevertheless."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument(
        "--seconds", type=float, default=3600.0, help="no further kill after so long"
    )
    parser.add_argument("--quick", action="store_true", help="six kills")
    options = parser.parse_args()
    kills = 6 if options.quick else options.kills
    with tempfile.TemporaryDirectory() as folder:
        problems = run(Path(folder), kills, options.seed, options.seconds)
    for problem in problems:
        print(f"PROBLEM: {problem}")
    sys.exit(bool(problems))


def run(folder: Path, kills: int, seed: int | None, seconds: float = 3600.0) -> list[str]:
    """Everything; what went wrong."""
    place = make_place(folder)
    hub = place.open()
    people = add_people(hub)
    rows = folder / "rows.csv"
    write_rows(rows)
    epsilon = round(max(kills * 0.1, 0.5), 1)
    ids = {
        "agent": add_agent(place, hub, people, rows, SCHEMA, epsilon),
        "worker": add_dataset(hub, people, SCHEMA, epsilon),
    }
    stored = hub.vault.put(ids["worker"], "rows", rows.read_bytes())
    with hub.db.transaction() as c:
        datasets.store_rows(c, people.owner, ids["worker"], stored.id)
    begin = time.monotonic()
    victims = [ROLES[i % len(ROLES)] for i in range(kills)]
    rng = random.Random(seed)
    rng.shuffle(victims)
    sent = torment(place, hub, people, ids, victims, begin + seconds, rng)
    print(f"All in {time.monotonic() - begin:.0f} s (load {os.getloadavg()[0]:.1f})")
    problems = check(hub, place, ids, sent, epsilon)
    hub.close()
    return problems


def write_rows(path: Path) -> None:
    """A table of the schema, with columns that depend on each other."""
    rng = random.Random(0)
    with open(path, "w") as file:
        print(",".join(SCHEMA["attributes"]), file=file)
        for _ in range(ROWS):
            kind = rng.randrange(5)
            items = ("abcde"[min(4, kind + rng.randrange(2))] for _ in range(10))
            print(rng.randrange(20, 80), rng.choice("fm"), *items, sep=",", file=file)


def torment(
    place: Place,
    hub: Hub,
    people: People,
    ids: dict[str, str],
    victims: list[str],
    until: float,
    rng: random.Random,
) -> list[str]:
    """Send requests while processes are killed; the keys that were answered."""
    over = threading.Event()
    answered: list[str] = []
    senders = [
        threading.Thread(target=send, args=(place, hub, people, dataset, over, answered))
        for dataset in ids.values()
    ]
    for sender in senders:
        sender.start()
    killed: Counter[str] = Counter()
    found: Counter[str] = Counter()
    running = {role: start(place, hub, role) for role in ROLES}
    try:
        for role in victims:
            if time.monotonic() > until:
                break
            killed[role] += 1
            found[role] += kill(place, hub, running[role], rng)
            running[role] = start(place, hub, role)
        listed = ", ".join(f"{role} {found[role]} of {killed[role]}" for role in ROLES)
        print(f"{killed.total()} kills; of them found a job at work: {listed}", flush=True)
        # Undisturbed at last: the last requests are answered, and all jobs end.
        for one in running.values():
            wait_until_ready(place, one.process)
        place.wait_for_hub()
        time.sleep(3.0)
        over.set()
        for sender in senders:
            sender.join()
        drain(hub)
    finally:
        over.set()
        for one in running.values():
            one.process.kill()
            one.process.wait()
    return answered


@dataclass(frozen=True, kw_only=True)
class Running:
    """A process, and when it was started."""

    role: str
    process: subprocess.Popen[bytes]
    started: dt.datetime


def start(place: Place, hub: Hub, role: str) -> Running:
    """Start a process."""
    return Running(role=role, started=hub.db.clock(), process=place.start(role))


def kill(place: Place, hub: Hub, one: Running, rng: random.Random) -> bool:
    """Kill a process at a random moment: of three kills one comes at any time, also while it
    starts, two once it has a job. Whether it had one.
    """
    if rng.random() < 2 / 3:
        wait_until_ready(place, one.process)
        until = time.monotonic() + MAX_WAIT
        while not is_at_work(hub, one) and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(rng.uniform(0.0, 1.0))
    else:
        time.sleep(rng.uniform(0.0, 4.0))
    had_job = is_at_work(hub, one)
    one.process.kill()
    one.process.wait()
    return had_job


def is_at_work(hub: Hub, one: Running) -> bool:
    """Whether a job that began in this process's life is computed: by the agent, by the worker or,
    for the hub, by either.
    """
    modes = {"agent": ["agent"], "worker": ["stored"], "hub": ["agent", "stored"]}[one.role]
    theirs = sa.select(tables.datasets.c.id).where(tables.datasets.c.mode.in_(modes))
    query = sa.select(sa.func.count()).where(
        jobs.c.dataset.in_(theirs), jobs.c.state == "running", jobs.c.started_at >= one.started
    )
    with hub.db.reading() as c:
        return bool(c.value(query))


def wait_until_ready(place: Place, process: subprocess.Popen[bytes]) -> None:
    """Until a process begins its work, or has ended by itself."""
    while process.poll() is None and not place.ready_mark(process.pid).exists():
        time.sleep(0.01)


def send(
    place: Place,
    hub: Hub,
    people: People,
    dataset: str,
    over: threading.Event,
    answered: list[str],
) -> None:
    """Ask for tables, each until there is an answer; a double click in between. A few wait."""
    headers = {"authorization": f"Bearer {people.token}"}
    with httpx.Client(base_url=f"{place.url}/api/v1", headers=headers, timeout=10) as client:
        while not over.is_set():
            if count_alive(hub, dataset) > MAX_WAITING:
                over.wait(0.2)
                continue
            key = secrets.token_hex(8)
            spec = {"epsilon": PRICE, "method": METHOD, "rows": 10}
            told = {"operation": "synthesise", "spec": spec, "reason": "x", "key": key}
            for _ in range(1000):
                with contextlib.suppress(httpx.HTTPError):
                    if client.post(f"/datasets/{dataset}/requests", json=told).status_code < 500:
                        client.post(f"/datasets/{dataset}/requests", json=told)
                        answered.append(key)
                        break
                if over.wait(0.2):
                    return
            over.wait(0.5)


def count_alive(hub: Hub, dataset: str | None = None) -> int:
    """How many jobs have not ended, of a data set or of all."""
    alive = sa.select(sa.func.count()).where(jobs.c.state.in_(["queued", "running"]))
    if dataset is not None:
        alive = alive.where(jobs.c.dataset == dataset)
    with hub.db.reading() as c:
        return int(c.value(alive))


def drain(hub: Hub, seconds: float = 240.0) -> None:
    """Wait until no job is under way, as long as some end; a lease that nobody renews takes a
    minute to run out.
    """
    left, until = count_alive(hub), time.monotonic() + seconds
    while left and time.monotonic() < until:
        time.sleep(0.5)
        if (now := count_alive(hub)) < left:
            left, until = now, time.monotonic() + seconds


def check(
    hub: Hub, place: Place, ids: dict[str, str], sent: list[str], epsilon: float
) -> list[str]:
    """What is not as it must be."""
    problems: list[str] = []
    books = {
        "agent": LedgerFile(place.folder / "node" / "agent.ledger"),
        "worker": LedgerFile(hub.folder / "ledgers" / f"{ids['worker']}.ledger"),
    }
    with hub.db.reading() as c:
        problems += budgets.check_sums(c)
        found = c.rows(sa.select(jobs))
        made = Counter(row["job"] for row in c.rows(sa.select(releases.c.job)))
        keys = Counter(row["key"] for row in c.rows(sa.select(requests.c.key)))
        exported = trail.export(c)
        spent = {
            role: datasets.show(c, owner_of(c, name), name).spent for role, name in ids.items()
        }
    states = Counter(row["state"] for row in found)
    problems += [f"job {row['id']} is {row['state']}" for row in found if row["state"] not in ENDED]
    problems += [f"job {job} has {times} releases" for job, times in made.items() if times > 1]
    problems += [f"key {key} made {times} requests" for key, times in keys.items() if times > 1]
    lost = [key for key in sent if f"api:{key}" not in keys]
    beyond = len(lost)  # refused, since the budget was used up
    for role, dataset in ids.items():
        problems += check_books(books[role], [row for row in found if row["dataset"] == dataset])
        if spent[role].epsilon > exact(epsilon):
            problems.append(f"the hub has overspent for the {role}: {spent[role]}")
    verdict = trail.verify(exported, hub.keys.trail)
    if not verdict:
        problems.append(f"the trail does not verify: {verdict}")
    log = place.folder / "node" / "agent.log"
    lines = 0
    if log.exists():  # who was always killed before its first line has none
        try:
            lines = check_log(log)
        except InputError as error:
            problems.append(str(error))
    print(f"requests answered: {len(sent)}, of them refused for want of budget: {beyond}")
    print(f"jobs: {json.dumps(states)}; releases: {sum(made.values())}")
    print(f"spent of {epsilon:g} each: {', '.join(f'{r} {p}' for r, p in spent.items())}")
    print(f"trail: {len(exported['entries'])} entries; the agent's log: {lines} lines")
    return problems


def check_books(book: LedgerFile, found: list[Any]) -> list[str]:
    """The ledger beside the rows against the hub's jobs."""
    document: dict[str, Any] = {"releases": [], "allowance": {"epsilon": 0}}
    if book.path.exists():  # who was always killed before its first job has none
        document = book.read()
    problems = []
    entries = Counter(entry["job"] for entry in document["releases"])
    problems += [
        f"{job} stands {times} times on {book.path}" for job, times in entries.items() if times > 1
    ]
    total = sum((exact(entry["epsilon"]) for entry in document["releases"]), Fraction(0))
    if total > exact(document["allowance"]["epsilon"]):
        problems.append(f"{book.path} is overspent")
    by_job = {entry["job"]: entry for entry in document["releases"]}
    for row in found:
        entry = by_job.pop(row["id"], None)
        paid = entry is not None and entry["epsilon"] > 0
        if paid and row["refunded"]:
            problems.append(f"job {row['id']} asked, and its price came back")
        if row["state"] == "done" and not paid:
            problems.append(f"job {row['id']} is released, and not on the ledger")
    problems += [f"{job} is on the ledger and not at the hub" for job in by_job]
    return problems


def owner_of(c: Any, dataset: str) -> str:
    from understudy.hub.records import read_dataset

    return read_dataset(c, dataset).owner


if __name__ == "__main__":
    main()
