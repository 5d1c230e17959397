"""The table of a survey: a job as every other, with one release in the end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from core_hubs import Clock, add_user, make_hub
from survey_stories import simulate, start_survey

from understudy.errors import InputError
from understudy.hub import jobs, releases, survey_tables, surveys, trail
from understudy.hub.errors import Conflict, NotFound
from understudy.hub.opening import Hub
from understudy.hub.records import Job, read_job
from understudy.hub.survey_intake import write_batch
from understudy.hub.survey_tables import ask_for_table, read_table
from understudy.hub.surveys import Survey
from understudy.hub.worker import Worker


def start_closed(hub: Hub, persons: int = 100) -> tuple[str, Survey]:
    """A closed survey with reports, of one item: quick to learn from."""
    maker, survey = start_survey(hub)
    with hub.db.transaction() as c:
        write_batch(c, [(survey.id, simulate(survey.plan(), persons))])
        return maker, surveys.close_survey(c, maker, survey.id)


def ask(hub: Hub, maker: str, survey: Survey) -> Job:
    with hub.db.transaction() as c:
        return ask_for_table(c, maker, survey.id)


def read(hub: Hub, job: Job) -> Job:
    with hub.db.reading() as c:
        return read_job(c, job.id)


class Stub:
    """What is learned does not matter here."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.calls = 0

    def __call__(self, collected: Any, *, progress: Any) -> Any:
        from understudy.local.release import synthesize_reports

        self.calls += 1
        progress("a step", 3, 7)
        if self.error is not None:
            raise self.error
        return synthesize_reports(collected, "independent", progress=progress)


@pytest.fixture
def learn(monkeypatch: pytest.MonkeyPatch) -> Stub:
    stub = Stub()
    monkeypatch.setattr(survey_tables, "synthesize_reports", stub)
    return stub


def test_the_table_is_a_release_with_its_ledger_and_its_head(sqlite_hub: Hub) -> None:
    hub = sqlite_hub
    maker, survey = start_closed(hub)
    job = ask(hub, maker, survey)
    assert (job.state, job.operation, job.price.is_free) == ("queued", "survey", True)
    assert ask(hub, maker, survey) == job, "two clicks are one job"
    assert Worker(hub).step()
    assert read(hub, job).state == "done"
    assert ask(hub, maker, survey).id == job.id, "there is one table"
    with hub.db.transaction() as c:
        release = read_table(c, surveys.read_survey(c, survey.id))
        stranger = add_user(c, "stranger")
    assert release is not None
    names = {file.name: file for file in release.files}
    assert {"model.json", "synthetic.csv", "report.html", "ledger.json"} <= set(names)
    rows = hub.vault.read(names["synthetic.csv"].object).decode().splitlines()
    assert rows[0] == "smoker,sleep,town"
    assert len(rows) == 101
    ledger = json.loads(hub.vault.read(names["ledger.json"].object))
    assert "Local differential privacy" in ledger["trust"]
    assert release.price.numbers()[0] == 2.0
    assert release.use["purpose"] == "teaching"
    with hub.db.reading() as c:
        assert releases.show(c, maker, release.id).id == release.id
        with pytest.raises(NotFound):
            releases.show(c, stranger, release.id)
        heads = [trail.read_head_document(release.trail)]
        assert trail.verify(hub.db, key=hub.keys.trail, heads=heads)


def test_who_may_ask_for_it_and_when(sqlite_hub: Hub) -> None:
    hub = sqlite_hub
    maker, survey = start_survey(hub)
    with hub.db.transaction() as c:
        stranger = add_user(c, "stranger")
        with pytest.raises(Conflict, match="Close the survey"):
            ask_for_table(c, maker, survey.id)
        with pytest.raises(NotFound):
            ask_for_table(c, stranger, survey.id)


def test_a_worker_that_dies_leaves_a_named_state_and_another_try(
    tmp_path: Any, learn: Stub
) -> None:
    clock = Clock()
    hub = make_hub(tmp_path / "hub", clock=clock)
    maker, survey = start_closed(hub)
    job = ask(hub, maker, survey)
    with hub.db.transaction() as c:
        assert jobs.claim(c, "worker:dead") is not None
    clock.turn(jobs.LEASE.total_seconds() + 1)
    with hub.db.transaction() as c:
        jobs.expire(c)
    assert read(hub, job).state == "interrupted"
    again = ask(hub, maker, survey)
    assert again.id != job.id
    assert Worker(hub).step()
    assert read(hub, again).state == "done"
    # The dead one comes back and delivers: there is one table all the same.
    with pytest.raises(InputError, match="another worker"):
        survey_tables.make_table(hub, job, "worker:dead", lambda *_: None)
    with hub.db.reading() as c:
        dataset = surveys.read_survey(c, survey.id).dataset
        assert dataset is not None
        assert releases.list_of(c, maker, dataset).total == 1
    assert trail.verify(hub.db, key=hub.keys.trail)
    hub.close()


def test_its_progress_is_shown_and_a_failure_says_why(sqlite_hub: Hub, learn: Stub) -> None:
    hub = sqlite_hub
    maker, survey = start_closed(hub)
    learn.error = InputError("A package is missing; install it.")
    job = ask(hub, maker, survey)
    seen = []
    worker = Worker(hub)
    beat = jobs.report

    def watch(c: Any, job: str, worker: str, *told: Any) -> Job:
        seen.append(told)
        return beat(c, job, worker, *told)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "report", watch)
        assert worker.step()
    failed = read(hub, job)
    assert failed.state == "failed"
    assert failed.why == "A package is missing; install it."
    assert seen
    learn.error = None
    assert ask(hub, maker, survey).id != job.id
    assert worker.step()
    assert learn.calls == 2
    with hub.db.reading() as c:
        assert read_table(c, surveys.read_survey(c, survey.id)) is not None


def test_an_agent_gets_no_table_to_make(sqlite_hub: Hub) -> None:
    maker, survey = start_closed(sqlite_hub)
    ask(sqlite_hub, maker, survey)
    with sqlite_hub.db.transaction() as c:
        assert jobs.claim(c, "agent:anybody") is None
