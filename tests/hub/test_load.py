"""Many clients at once, and processes that are killed: short runs of ``benchmarks/hub_load.py``."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import hub_load
from hub_load import Place
from understudy.hub.tables import datasets


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    url = request.getfixturevalue("postgres_hub_url") if request.param == "postgres" else None
    return hub_load.start(tmp_path / "hub", url, people=4, total=0.5)


def test_threads_and_processes_together_overspend_nothing(place: Place) -> None:
    findings, _ = hub_load.overspend(place, seconds=1.5, processes=4, threads=4)
    assert not findings, findings
    assert findings.counts["granted"] > 0


def test_whatever_is_killed_jobs_end_and_sums_are_right(place: Place) -> None:
    findings = hub_load.kill_series(place, kills=4)
    assert not findings, findings


@pytest.mark.slow
def test_two_hundred_kills(tmp_path: Path) -> None:
    place = hub_load.start(tmp_path / "hub", None, people=4, total=1000.0)
    findings = hub_load.kill_series(place, kills=200)
    assert not findings, findings


def test_the_replay_notices_what_it_looks_for(place: Place) -> None:
    """A budget that was overspent, a debit that was lost: the check of the checks."""
    hub = place.open()
    with hub.db.transaction() as c:
        request = hub_load.submit(c, place.people[0], place.dataset, 0.1, "a key of its own")
    assert not hub_load.audit(hub, {request: Fraction(1, 10)})
    assert hub_load.audit(hub, {"another request": Fraction(1, 10)}).lost == 1
    with hub.db.transaction() as c:
        c.execute(sa.update(datasets).values(total_epsilon=Fraction(5, 100)))
    assert hub_load.audit(hub).overspent == 1
    with hub.db.transaction() as c:
        c.execute(sa.update(datasets).values(spent_epsilon=Fraction(0)))
    assert hub_load.audit(hub).others
    hub.close()
