"""A hub to look at: made-up people, made-up rows, requests in every state."""

from __future__ import annotations

import csv
import datetime as dt
import io
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import UnderstudyError
from understudy.hub import accounts, datasets, jobs, requests
from understudy.hub.accounts import User
from understudy.hub.database import Transaction
from understudy.hub.datasets import DatasetSpec
from understudy.hub.keys import make_keys
from understudy.hub.opening import Hub, open_hub
from understudy.hub.passwords import Passwords
from understudy.hub.records import Dataset, Job, Request, read_job_of
from understudy.hub.roles import RoleSpec, RuleSpec
from understudy.hub.survey_demo import add_demo_survey
from understudy.hub.worker import Worker

DEMO_ROWS = 4_000
PEOPLE = (
    ("ada", "Ada Admin", True),
    ("olga", "Olga Owner, City Hospital", False),
    ("oskar", "Oskar Owner, Transport Agency", False),
    ("uma", "Uma User, University", False),
    ("ulrich", "Ulrich User, Insurance Review", False),
    ("ursula", "Ursula User, Newspaper", False),
)
"""Name, name that is shown, whether an administrator."""

VISITS: dict[str, Any] = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 99, "bins": 20},
        "sex": {"kind": "categorical", "values": ["female", "male"]},
        "smoker": {"kind": "categorical", "values": ["no", "yes"]},
        "ward": {
            "kind": "categorical",
            "values": ["surgery", "medicine", "children", "maternity", "emergency"],
        },
        "days": {"kind": "integer", "min": 0, "max": 30, "bins": 10},
        "readmitted": {"kind": "categorical", "values": ["no", "yes"]},
    }
}
TRIPS: dict[str, Any] = {
    "attributes": {
        "mode": {"kind": "categorical", "values": ["walk", "bicycle", "bus", "train", "car"]},
        "purpose": {"kind": "categorical", "values": ["work", "school", "shopping", "leisure"]},
        "minutes": {"kind": "integer", "min": 0, "max": 120, "bins": 12},
        "weekday": {"kind": "categorical", "values": ["yes", "no"]},
    }
}


@dataclass
class Demo:
    """A demo hub, made.

    Parameters
    ----------
    hub
        Opened.
    passwords
        Of the people, by name.
    """

    hub: Hub
    passwords: dict[str, str]
    people: dict[str, User] = field(default_factory=dict)
    slow_job: str = ""


def make_demo(
    folder: Path, notify: Callable[[str], None], passwords: Passwords | None = None
) -> Demo:
    """A hub in a new folder, with people, data sets and requests in every state."""
    hub = open_hub(folder / "data", keys=make_keys(), create=True)
    demo = Demo(hub=hub, passwords={name: secrets.token_urlsafe(9) for name, *_ in PEOPLE})
    hasher = passwords or Passwords()
    hashes = {name: hasher.hash(password) for name, password in demo.passwords.items()}
    with hub.db.transaction() as c:
        for name, display, administrator in PEOPLE:
            demo.people[name] = accounts.add_user(
                c,
                actor="hub",
                name=name,
                display=display,
                password_hash=hashes[name],
                administrator=administrator,
            )
    notify("Accounts are made; now data sets and requests.")
    visits, trips = _register(demo)
    _fill(demo, visits, make_visits())
    _fill(demo, trips, make_trips())
    _ask(demo, visits, trips)
    add_demo_survey(hub, demo.people["olga"].id)
    notify("Computing the first releases, with real noise.")
    worker = Worker(hub, name="worker:demo")
    while worker.step():
        pass
    _leave_states(demo, visits, trips)
    return demo


def _register(demo: Demo) -> tuple[Dataset, Dataset]:
    olga, oskar, uma, ulrich = (demo.people[n].id for n in ("olga", "oskar", "uma", "ulrich"))
    free = [RuleSpec(operation="download"), RuleSpec(operation="query")]
    everything = [
        RuleSpec(operation="synthesise", max_epsilon=1.0, max_delta=1e-6, standing=True),
        RuleSpec(operation="ask", max_epsilon=0.2, standing=True),
        RuleSpec(operation="learn", max_epsilon=1.0),
        *free,
    ]
    careful = [RuleSpec(operation="synthesise"), RuleSpec(operation="ask"), *free]
    with demo.hub.db.transaction() as c:
        visits = datasets.register(
            c,
            olga,
            DatasetSpec(
                name="Hospital visits 2025",
                description="One row per visit to the City Hospital; made up for this demo.",
                schema=VISITS,
                purpose="Research on length of stay and readmission",
                conditions="No attempt to identify anybody; cite the City Hospital.",
                contact="data@city-hospital.example",
                epsilon=6.0,
                delta=1e-5,
                user_epsilon=3.0,
                user_delta=5e-6,
                mode="stored",
                about_rows=DEMO_ROWS,
                roles=[RoleSpec(name="Researchers", members=[uma, ulrich], rules=careful)],
            ),
        )
        trips = datasets.register(
            c,
            oskar,
            DatasetSpec(
                name="Trips in the city",
                description="How people travel, from a diary of one day; made up for this demo.",
                schema=TRIPS,
                purpose="Planning of public transport",
                contact="trips@transport.example",
                epsilon=10.0,
                delta=1e-5,
                mode="stored",
                about_rows=DEMO_ROWS,
                roles=[RoleSpec(name="Planners", members=[uma], rules=everything)],
            ),
        )
        _register_others(c, olga, oskar)
    return visits, trips


def _register_others(c: Transaction, olga: str, oskar: str) -> None:
    datasets.register(
        c,
        olga,
        DatasetSpec(
            name="Blood pressure study",
            description="Followed over ten years. The rows stay with the hospital's own agent.",
            schema={
                "attributes": {
                    "systolic": {"kind": "integer", "min": 60, "max": 240, "bins": 18},
                    "treated": {"kind": "categorical", "values": ["no", "yes"]},
                }
            },
            purpose="Research on hypertension",
            epsilon=2.0,
            about_rows=12_000,
        ),
    )
    old = datasets.register(
        c,
        oskar,
        DatasetSpec(
            name="Trips in the city, 2019",
            description="The diary before the last one.",
            schema=TRIPS,
            purpose="Planning of public transport",
            epsilon=1.0,
            mode="stored",
        ),
    )
    datasets.close(c, oskar, old.id)


def _fill(demo: Demo, dataset: Dataset, content: bytes) -> None:
    stored = demo.hub.vault.put(dataset.id, "rows", content)
    with demo.hub.db.transaction() as c:
        datasets.store_rows(c, dataset.owner, dataset.id, stored.id)


def _submit(
    demo: Demo, who: str, dataset: Dataset, operation: str, reason: str, **spec: Any
) -> Request:
    key = f"demo:{secrets.token_hex(8)}"
    with demo.hub.db.transaction() as c:
        user = demo.people[who].id
        return requests.submit(c, user, dataset.id, operation, spec, reason, key)


def _decide(demo: Demo, dataset: Dataset, request: str, approve: bool, reason: str = "") -> None:
    with demo.hub.db.transaction() as c:
        requests.decide(c, dataset.owner, request, approve, reason)


def _ask(demo: Demo, visits: Dataset, trips: Dataset) -> None:
    """What is computed for real: a table and numbers, by the owner's word and by rule."""
    table = _submit(
        demo,
        "uma",
        visits,
        "synthesise",
        "For a course on length of stay: students need rows that nobody minds them to see.",
        epsilon=1.0,
        delta=1e-6,
    )
    _decide(demo, visits, table.id, True, "Fine for teaching.")
    _submit(
        demo,
        "uma",
        trips,
        "ask",
        "How many go by bicycle, for the plan of new lanes?",
        epsilon=0.2,
        questions=["count where mode = 'bicycle'", "histogram mode", "mean minutes"],
    )
    _submit(demo, "uma", trips, "synthesise", "A table for the workshop.", epsilon=1.0)


def _leave_states(demo: Demo, visits: Dataset, trips: Dataset) -> None:
    """A request or a job in each of the states that a release does not end in."""
    _submit(
        demo,
        "ulrich",
        visits,
        "synthesise",
        "To compare lengths of stay between insurers' groups, for the yearly review.",
        epsilon=2.0,
        delta=1e-6,
    )
    _submit(demo, "ursula", visits, "access", "A story on how crowded emergency wards are.")
    refused = _submit(
        demo, "ulrich", visits, "ask", "Just curious.", epsilon=1.0, questions=["count"]
    )
    _decide(demo, visits, refused.id, False, "Curiosity is not among the purposes; see the table.")
    withdrawn = _submit(
        demo, "ulrich", visits, "ask", "Days.", epsilon=0.3, questions=["mean days"]
    )
    with demo.hub.db.transaction() as c:
        requests.withdraw(c, demo.people["ulrich"].id, withdrawn.id)
    ends: dict[str, Callable[[Transaction, Job], Any]] = {
        "failed": lambda c, job: jobs.fail(
            c, job.id, "worker:demo", "The rows could not be read.", spent=False
        ),
        "interrupted": lambda c, job: jobs.expire(c, c.now + dt.timedelta(hours=1)),
        "cancelled": lambda c, job: jobs.cancel(c, trips.owner, job.id, "Its user took it back."),
        "running": lambda c, job: None,
    }
    for state, end in ends.items():
        made = _submit(demo, "uma", trips, "synthesise", f"A job that is {state}.", epsilon=0.5)
        with demo.hub.db.transaction() as c:
            if state != "cancelled":
                jobs.claim(c, "worker:demo", [trips.id])
            job = read_job_of(c, made.id)
            assert job is not None
            end(c, job)
            demo.slow_job = job.id


def keep_running(demo: Demo, over: threading.Event) -> None:
    """Keep the one running job of the demo at work, step by step, until it is over."""
    step = 0
    while not over.wait(3):
        step += 1
        with suppress(UnderstudyError), demo.hub.db.transaction() as c:
            jobs.report(c, demo.slow_job, "worker:demo", "measuring tables", step % 60, 60)


# --------------------------------------------------------------------------- made-up rows


def make_visits(rows: int = DEMO_ROWS) -> bytes:
    """Visits to a hospital: who is old stays longer, who smokes comes back."""
    rng = np.random.default_rng(7)
    age = np.clip(rng.normal(52, 22, rows), 0, 99).astype(int)
    smoker = rng.random(rows) < np.where(age > 18, 0.24, 0.0)
    ward = np.where(age < 15, 2, rng.choice([0, 1, 3, 4], rows, p=[0.3, 0.35, 0.1, 0.25]))
    days = np.clip(rng.poisson(1.5 + age / 18), 0, 30)
    back = rng.random(rows) < 0.06 + 0.09 * smoker + 0.002 * age
    sexes = np.where(rng.random(rows) < np.where(ward == 3, 1.0, 0.5), "female", "male")
    wards = np.array(VISITS["attributes"]["ward"]["values"])[ward]
    words = np.array(["no", "yes"])
    columns = [age, sexes, words[smoker.astype(int)], wards, days, words[back.astype(int)]]
    return write_csv(list(VISITS["attributes"]), columns)


def make_trips(rows: int = DEMO_ROWS) -> bytes:
    """Trips of a day: work by car and train, school on foot."""
    rng = np.random.default_rng(11)
    purpose = rng.choice(4, rows, p=[0.4, 0.15, 0.2, 0.25])
    chances = np.array(
        [
            [0.05, 0.2, 0.15, 0.25, 0.35],
            [0.4, 0.3, 0.2, 0.05, 0.05],
            [0.3, 0.15, 0.1, 0.0, 0.45],
            [0.35, 0.2, 0.1, 0.1, 0.25],
        ]
    )
    mode = np.array([rng.choice(5, p=chances[one]) for one in purpose])
    minutes = np.clip(rng.gamma(2, np.array([7, 9, 14, 22, 13])[mode]), 0, 120).astype(int)
    weekday = np.where(rng.random(rows) < np.where(purpose < 2, 0.97, 0.6), "yes", "no")
    entries = TRIPS["attributes"]
    modes = np.array(entries["mode"]["values"])[mode]
    purposes = np.array(entries["purpose"]["values"])[purpose]
    return write_csv(list(entries), [modes, purposes, minutes, weekday])


def write_csv(names: list[str], columns: list[Any]) -> bytes:
    """Columns as CSV."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
    return file.getvalue().encode()
