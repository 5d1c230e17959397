"""Jobs: named states, leases, and when a price comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from core_hubs import (
    Clock,
    add_agent,
    add_dataset,
    add_user,
    finish_job,
    job_of,
    make_hub,
    open_again,
    request_synthesis,
)

from understudy.hub import budgets, datasets, jobs, releases, requests, trail
from understudy.hub.amounts import Price
from understudy.hub.errors import Conflict, NotFound, Refused
from understudy.hub.names import ENDED
from understudy.hub.opening import Hub
from understudy.hub.records import Job, read_job
from understudy.hub.releases import ReleaseSpec
from understudy.hub.roles import RoleSpec, RuleSpec, set_role

STANDING = RuleSpec(operation="synthesise", standing=True)


class World:
    """A hub with an owner, a user, a data set and a clock."""

    def __init__(self, folder: Path, url: str | None = None, **spec: Any) -> None:
        self.clock = Clock()
        self.hub = make_hub(folder, url, self.clock)
        with self.hub.db.transaction() as c:
            self.owner, self.user = add_user(c, "owner"), add_user(c, "user")
            self.dataset = add_dataset(c, self.owner, [STANDING], [self.user], **spec).id

    def queue(self, epsilon: float = 0.1) -> Job:
        with self.hub.db.transaction() as c:
            return job_of(c, request_synthesis(c, self.user, self.dataset, epsilon))

    def claim(self, worker: str = "w") -> Job:
        with self.hub.db.transaction() as c:
            job = jobs.claim(c, worker)
        assert job is not None
        return job

    def read(self, job: Job) -> Job:
        with self.hub.db.reading() as c:
            return read_job(c, job.id)

    def left(self) -> Price:
        with self.hub.db.reading() as c:
            assert budgets.check_sums(c) == []
            return budgets.read_left(c, self.dataset)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "hub")
    yield world
    assert trail.verify(world.hub.db, world.hub.keys.trail)
    world.hub.close()


def test_jobs_are_claimed_in_order_and_once(world: World) -> None:
    first, second = world.queue(), world.queue()
    world.clock.turn(-10_000)
    third = world.queue()  # the clock was set back: still the last
    assert [world.claim().id for _ in range(3)] == [first.id, second.id, third.id]
    with world.hub.db.transaction() as c:
        assert jobs.claim(c, "w") is None


def test_an_agent_gets_the_jobs_of_its_data_sets_alone(tmp_path: Path) -> None:
    hub = make_hub(tmp_path)
    with hub.db.transaction() as c:
        owner, other, user = (add_user(c, name) for name in ("owner", "other", "user"))
        mine, foreign = add_agent(c, owner), add_agent(c, other)
        kept = add_dataset(c, owner, [STANDING], [user], mode="agent", agent=mine)
        stored = add_dataset(c, owner, [STANDING], [user], mode="stored")
        request = request_synthesis(c, user, kept.id)
        request_synthesis(c, user, stored.id)
        assert jobs.claim(c, f"agent:{foreign}") is None
        assert jobs.claim(c, f"agent:{mine}", [stored.id]) is None
        own = jobs.claim(c, f"agent:{mine}")
        assert own is not None
        assert own.request == request.id
        assert jobs.claim(c, f"agent:{mine}") is None
        hub_s = jobs.claim(c, "worker")
        assert hub_s is not None
        assert hub_s.dataset == stored.id
        for worker in (f"agent:{foreign}", "worker"):
            with pytest.raises(NotFound):
                jobs.finish(c, own.id, worker, ReleaseSpec(title="x"))


def test_a_silent_worker_s_job_is_interrupted_and_the_price_stays(world: World) -> None:
    world.queue()
    job = world.claim()
    world.clock.turn(59)
    with world.hub.db.transaction() as c:
        assert jobs.expire(c) == []
        jobs.report(c, job.id, "w", "fitting", 1, 3)
    world.clock.turn(59)
    with world.hub.db.transaction() as c:
        assert jobs.expire(c) == []
    assert world.read(job).step == "fitting"
    world.clock.turn(2)
    with world.hub.db.transaction() as c:
        assert [each.state for each in jobs.expire(c)] == ["interrupted"]
        with pytest.raises(Conflict, match="interrupted"):
            jobs.report(c, job.id, "w")
    assert world.left() == Price.of(0.9)


def test_a_worker_that_comes_back_may_deliver(world: World) -> None:
    world.queue()
    job = world.claim()
    world.clock.turn(600)
    with world.hub.db.transaction() as c:
        jobs.expire(c)
    finish_job(world.hub, job, "w")
    assert world.read(job).state == "done"
    assert world.left() == Price.of(0.9)


def test_a_worker_that_comes_back_may_say_that_nothing_was_asked(world: World) -> None:
    world.queue()
    job = world.claim()
    world.clock.turn(600)
    with world.hub.db.transaction() as c:
        jobs.expire(c)
    for _ in range(2):
        with world.hub.db.transaction() as c:
            assert jobs.fail(c, job.id, "w", "crashed early", spent=False).refunded
    assert world.left() == Price.of(1.0)
    with pytest.raises(Conflict):
        finish_job(world.hub, job, "w")


@pytest.mark.parametrize("spent", [True, False])
def test_a_failed_job_says_whether_its_price_stays(world: World, spent: bool) -> None:
    world.queue()
    job = world.claim()
    for _ in range(2):
        with world.hub.db.transaction() as c:
            failed = jobs.fail(c, job.id, "w", "no memory", spent)
    assert (failed.state, failed.why, failed.refunded) == ("failed", "no memory", not spent)
    assert world.left() == Price.of(0.9 if spent else 1.0)
    with world.hub.db.transaction() as c:
        late = jobs.fail(c, job.id, "w", "nothing was asked after all", spent=False)
    assert late.refunded == (not spent)  # what was stated first stands


def test_delivering_twice_is_one_release(world: World) -> None:
    world.queue()
    job = world.claim()
    first = finish_job(world.hub, job, "w")
    assert finish_job(world.hub, job, "w").id == first.id
    with pytest.raises(Conflict, match="another one"):
        finish_job(world.hub, job, "w", b"other rows")
    with world.hub.db.reading() as c:
        assert releases.list_of(c, world.owner, world.dataset).total == 1


def test_a_request_that_is_taken_back_before_it_starts_costs_nothing(world: World) -> None:
    job = world.queue()
    with world.hub.db.transaction() as c:
        requests.withdraw(c, world.user, job.request)
        requests.withdraw(c, world.user, job.request)
    assert world.read(job).state == "cancelled"
    assert world.left() == Price.of(1.0)


def test_closing_a_data_set_ends_all_its_jobs(world: World) -> None:
    runs, waits = world.queue(), world.queue()
    world.claim()
    with world.hub.db.transaction() as c:
        datasets.close(c, world.owner, world.dataset)
        datasets.close(c, world.owner, world.dataset)
    assert world.read(runs).state == world.read(waits).state == "cancelled"
    assert world.left() == Price.of(0.9)  # the one that ran may have asked
    with pytest.raises(Conflict, match="cancelled"):
        finish_job(world.hub, runs, "w")
    with world.hub.db.transaction() as c:
        with pytest.raises(Conflict):
            jobs.report(c, runs.id, "w")
        assert jobs.claim(c, "w") is None
        assert jobs.fail(c, runs.id, "w", "stopped in time", spent=False).refunded
    assert world.left() == Price.of(1.0)


def test_an_interrupted_job_of_a_closed_data_set_releases_nothing(world: World) -> None:
    world.queue()
    job = world.claim()
    world.clock.turn(600)
    with world.hub.db.transaction() as c:
        jobs.expire(c)
        datasets.close(c, world.owner, world.dataset)
    with pytest.raises(Conflict, match="closed"):
        finish_job(world.hub, job, "w")


def test_a_clock_that_jumps_leaves_no_job_running_for_ever(world: World) -> None:
    world.queue()
    job = world.claim()
    world.clock.turn(-365 * 86_400)  # the lease is now a year long
    with world.hub.db.transaction() as c:
        assert jobs.expire(c) == []
    world.clock.turn(61)
    with world.hub.db.transaction() as c:
        assert [each.id for each in jobs.expire(c)] == [job.id]
    world.queue()
    second = world.claim()
    world.clock.turn(10 * 365 * 86_400)
    with world.hub.db.transaction() as c:
        jobs.expire(c)
    assert world.read(second).state in ENDED


def test_two_hubs_on_one_file_share_one_queue_and_one_budget(world: World) -> None:
    other = open_again(world.hub)
    job = world.queue(0.6)
    with other.transaction() as c:
        claimed = jobs.claim(c, "elsewhere")
        assert claimed is not None
        assert claimed.id == job.id
    with world.hub.db.transaction() as c:
        assert jobs.claim(c, "here") is None
    with other.reading() as c:
        assert budgets.read_left(c, world.dataset) == Price.of(0.4)
    other.close()


def test_releases_are_for_those_who_may_use_them(hub: Hub) -> None:
    with hub.db.transaction() as c:
        owner, user, reader, stranger = (add_user(c, f"u{number}") for number in range(4))
        download = RuleSpec(operation="download")
        dataset = add_dataset(c, owner, [STANDING], [user])
        set_role(c, owner, dataset.id, RoleSpec(name="R2", members=[reader], rules=[download]))
        request_synthesis(c, user, dataset.id)
        job = jobs.claim(c, "w")
        assert job is not None
    release = finish_job(hub, job, "w")
    with hub.db.transaction() as c:
        for viewer in (owner, user, reader):
            assert releases.show(c, viewer, release.id).id == release.id
            assert releases.list_of(c, viewer, dataset.id).total == 1
            releases.use(c, viewer, release.id, "download", "rows.csv")
        used = [entry for entry in trail.read_entries(c) if entry.action == "download"]
        assert [(entry.actor, entry.object) for entry in used] == [
            (viewer, dataset.id) for viewer in (owner, user, reader)
        ]
        assert all(release.id in entry.details and "rows.csv" in entry.details for entry in used)
        assert releases.list_of(c, stranger, dataset.id).total == 0
        with pytest.raises(NotFound):
            releases.show(c, stranger, release.id)
        with pytest.raises(NotFound):
            releases.use(c, stranger, release.id, "download")
        with pytest.raises(Refused):
            releases.use(c, reader, release.id, "query")
        withdrawn = releases.withdraw(c, owner, release.id)
        assert (withdrawn.id, withdrawn.withdrawn_at) == (release.id, c.now)
        assert releases.withdraw(c, owner, release.id) == withdrawn
        with pytest.raises(Refused, match="withdrawn"):
            releases.use(c, user, release.id, "download")
        # What was found stands in the summary: that is handed out no more, either.
        for viewer in (user, reader):
            with pytest.raises(Refused, match="withdrawn"):
                releases.show(c, viewer, release.id)
        assert releases.show(c, owner, release.id).id == release.id
        datasets.close(c, owner, dataset.id)
        with pytest.raises(Refused, match="closed"):
            releases.show(c, user, release.id)
        with pytest.raises(NotFound):
            releases.show(c, stranger, release.id)


def test_a_closed_data_set_lists_nothing_that_it_does_not_show(hub: Hub) -> None:
    """A list tells what was found, as the release itself does."""
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        dataset = add_dataset(c, owner, [STANDING], [user])
        request_synthesis(c, user, dataset.id)
        job = jobs.claim(c, "w")
        assert job is not None
    release = finish_job(hub, job, "w")
    with hub.db.transaction() as c:
        assert releases.list_of(c, user, dataset.id).total == 1
        datasets.close(c, owner, dataset.id)
        with pytest.raises(Refused, match="closed"):
            releases.show(c, user, release.id)
        assert releases.list_of(c, user, dataset.id).total == 0
        assert releases.list_of(c, owner, dataset.id).total == 1
        datasets.reopen(c, owner, dataset.id)
        assert releases.list_of(c, user, dataset.id).total == 1
