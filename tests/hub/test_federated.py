"""Several owners' agents work together through the hub, which sees sums alone."""

from __future__ import annotations

import json
import threading
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from agent_hubs import SCHEMA, Site, make_site, write_rows

from understudy.errors import InputError
from understudy.federation import HolderGone
from understudy.federation.identity import Identity
from understudy.federation.messages import Message
from understudy.hub import agents, federated, relay
from understudy.hub.agent_federation import FederatedAgent
from understudy.hub.agent_link import HubLink
from understudy.hub.agent_settings import AgentPolicy, Federating
from understudy.hub.errors import NotFound
from understudy.hub.node_log import check_log
from understudy.hub.worker import Worker
from understudy.models.model import Model
from understudy.privacy.ledger import LedgerFile

NAMES = ("north", "south", "west")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path, mode="federated")


def make_agents(site: Site, tmp_path: Path, **policy: Any) -> list[FederatedAgent]:
    """An agent for each owner, all of whom know each other's certificates."""
    made = []
    for name in NAMES:
        (tmp_path / name).mkdir()
        Identity.new(name).save(tmp_path / name / f"{name}.pem", tmp_path / name / f"{name}.key")
    certificates = {name: tmp_path / name / f"{name}.pem" for name in NAMES}
    for place, name in enumerate(NAMES):
        folder = tmp_path / name
        write_rows(folder / "rows.csv", 100 + 50 * place)
        with site.hub.db.transaction() as c:
            agent, secret = agents.create(c, site.owner, name)
            federated.invite(c, site.owner, site.dataset, agent.id)
            federated.invite(c, site.owner, site.dataset, agent.id)
        settings = replace(
            site.settings,
            token=secret,
            rows=str(folder / "rows.csv"),
            ledger=folder / "ledger",
            log=folder / "log",
            policy=AgentPolicy(**({"max_epsilon": 1.0} | policy)),
            federating=Federating(
                certificate=certificates[name],
                key=folder / f"{name}.key",
                peers=tuple(path for other, path in certificates.items() if other != name),
            ),
        )
        link = HubLink(settings.url, secret, transport=site.client._transport)
        made.append(FederatedAgent(settings, link))
    return made


def run_job(site: Site, made: list[FederatedAgent]) -> None:
    """The worker asks while the agents answer."""
    stop = threading.Event()
    for agent in made:
        agent.join()
    threads = [threading.Thread(target=agent.run, args=(stop,)) for agent in made]
    for thread in threads:
        thread.start()
    try:
        Worker(site.hub).step()
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.hub.agent_link.SECONDS_TO_WAIT", 0.2)


@pytest.mark.thorough
def test_three_owners_release_one_table(site: Site, tmp_path: Path) -> None:
    job = site.submit(method="independent")
    made = make_agents(site, tmp_path)
    run_job(site, made)
    assert site.job(job).state == "done", site.job(job).why
    found = site.release(job)
    assert found is not None
    stored = next(file for file in found.files if file.name == "model.json")
    model = Model.from_dict(json.loads(site.hub.vault.read(stored.object)))
    assert model.method["federation"]["holders"] == 3
    assert "Secure sums over 3 holders" in model.ledger.statement()
    assert model.rows is not None
    assert abs(model.rows - 450) < 150
    for agent in made:
        assert LedgerFile(agent.settings.ledger).left() == (2.5, 0.0)
        assert check_log(agent.settings.log) > 2
    with site.hub.db.reading() as c:
        assert c.rows(relay.relay.select()) == []


@pytest.mark.thorough
def test_one_owner_who_refuses_stops_the_job(site: Site, tmp_path: Path) -> None:
    job = site.submit()
    made = make_agents(site, tmp_path, max_epsilon=0.1)
    run_job(site, made)
    ended = site.job(job)
    assert ended.state == "failed"
    assert "spends at most epsilon 0.1" in ended.why
    for agent in made:
        assert LedgerFile(agent.settings.ledger).left() == (3.0, 0.0)


def test_too_few_owners_and_other_operations_are_refused(site: Site) -> None:
    first = site.submit()
    with pytest.raises(InputError, match="for synthetic tables"):
        site.submit("ask", questions=["count"])
    Worker(site.hub).step()
    assert "Fewer than 2" in site.job(first).why
    assert site.job(first).refunded
    assert site.left() == 3.0


def test_only_those_who_are_invited_can_join_or_answer(site: Site, tmp_path: Path) -> None:
    with site.hub.db.transaction() as c:
        _, secret = agents.create(c, site.owner, "stranger")
    link = HubLink(site.settings.url, secret, transport=site.client._transport)
    for attempt in (
        lambda: link.join(site.dataset),
        lambda: link.dataset(site.dataset),
        lambda: link.answer_message("x", b"y"),
    ):
        with pytest.raises(InputError, match="no such"):
            attempt()
    with site.hub.db.transaction() as c, pytest.raises(NotFound):
        federated.invite(c, site.owner, site.dataset, "nobody")


def test_an_agent_with_another_schema_does_not_join(site: Site, tmp_path: Path) -> None:
    [agent, *_] = make_agents(site, tmp_path)
    agent.schema = type(agent.schema).from_dict(
        json.loads(json.dumps(SCHEMA).replace('"max": 99', '"max": 98'))
    )
    with pytest.raises(InputError, match="'age' is another"):
        agent.join()


@pytest.mark.parametrize("waits", [0, 2, None])
def test_a_holder_is_waited_for_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, waits: int | None
) -> None:
    """An answer that is there at the third look is heard; one that never comes is given up."""
    looks: list[str] = []

    def read_answer(_: Any, sent: str) -> bytes | None:
        looks.append(sent)
        if waits is None or len(looks) <= waits:
            return None
        return Message("hello", {"name": "north"}).to_bytes()

    monkeypatch.setattr(relay, "send", lambda *_: "first message")
    monkeypatch.setattr(relay, "read_answer", read_answer)
    monkeypatch.setattr(federated, "ANSWER_PAUSE", 0.001)
    quiet: Any = SimpleNamespace(
        db=SimpleNamespace(transaction=lambda alone: nullcontext(), reading=nullcontext)
    )
    job: Any = SimpleNamespace(id="job", dataset="rows")
    if waits is None:
        with pytest.raises(HolderGone, match="agent a1 did not answer in time"):
            federated.RelayLink(quiet, job, "a1", 0.05)
        assert len(looks) > 1
    else:
        link = federated.RelayLink(quiet, job, "a1", 60.0)
        assert link.name == "north"
        assert looks == ["first message"] * (waits + 1)
