"""An agent decides for itself, computes once, delivers what it computed, and hub checks it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_hubs import SCHEMA, Site, make_site
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from foreign_packages import make_wheel

from understudy.errors import InputError
from understudy.hub import agent as agent_module
from understudy.hub import agents, algorithms, beats, datasets, jobs, trail
from understudy.hub.agent import Agent, AgentClosed
from understudy.hub.agent_link import HubAway, HubLink, HubRefuses
from understudy.hub.agent_settings import load_settings
from understudy.hub.foreign.packages import public_key_of, sign_package
from understudy.hub.node_log import NodeLog, check_log
from understudy.hub.operations import Synthesise
from understudy.hub.roles import RoleSpec, RuleSpec, set_role
from understudy.models.model import Model
from understudy.privacy.ledger import LedgerFile


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One for many forgeries: each is of a job of its own."""
    return make_site(tmp_path_factory.mktemp("shared"), epsilon=100.0, policy="max_epsilon = 1")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A model as an honest agent hands it in."""
    site = make_site(tmp_path_factory.mktemp("honest"))
    job = site.submit()
    site.agent().step()
    made = site.release(job)
    assert made is not None
    stored = next(file for file in made.files if file.name == "model.json")
    document: dict[str, Any] = json.loads(site.hub.vault.read(stored.object))
    return document


def deliver(site: Site, job: Any, data: bytes) -> httpx.Response:
    """Claim a job as the agent, and hand something in."""
    link = HubLink(site.settings.url, site.secret, transport=site.client._transport)
    claimed = link.claim(site.dataset)
    assert claimed is not None
    assert claimed["id"] == job.id
    headers = {"authorization": f"Bearer {site.secret}"}
    return site.client.post(f"/api/agent/jobs/{job.id}/release", content=data, headers=headers)


# --------------------------------------------------------------------------- the way it should go


@pytest.mark.parametrize(
    ("operation", "spec", "files"),
    [
        (
            "synthesise",
            {"method": "independent"},
            {"model.json", "synthetic.csv", "report.html", "ledger.json", "use.json"},
        ),
        (
            "ask",
            {"questions": ["count where age > 40"]},
            {"answers.json", "ledger.json", "use.json"},
        ),
        (
            "learn",
            {"learner": "logistic", "target": "sick"},
            {"model.json", "ledger.json", "use.json"},
        ),
    ],
)
def test_a_job_is_fetched_computed_and_released(
    site: Site, operation: str, spec: dict[str, Any], files: set[str]
) -> None:
    job = site.submit(operation, **spec)
    assert site.agent().step()
    assert site.job(job).state == "done"
    made = site.release(job)
    assert made is not None
    assert {file.name for file in made.files} == files
    book = LedgerFile(site.settings.ledger)
    assert book.left() == (2.5, 0.0)
    assert [entry["job"] for entry in book.read()["releases"]] == [job.id]
    assert site.left() == 2.5
    assert not site.agent().step()
    assert check_log(site.settings.log) == len(site.events())
    assert site.events()[:3] == ["allowed", "computed", "delivered"]


def test_rows_never_reach_the_hub_and_its_table_is_the_owners_copy(site: Site) -> None:
    job = site.submit(rows=20)
    site.agent().step()
    made = site.release(job)
    assert made is not None
    stored = next(file for file in made.files if file.name == "synthetic.csv")
    local = site.folder / "agent-state" / "jobs" / job.id / "released" / "synthetic.csv"
    assert site.hub.vault.read(stored.object) == local.read_bytes()
    with site.hub.db.reading() as c:
        assert c.value(__import__("sqlalchemy").text("select count(*) from vault_objects")) == 5


# --------------------------------------------------------------------------- its own decision


@pytest.mark.parametrize(
    ("policy", "operation", "spec", "why"),
    [
        ("max_epsilon = 0.1", "synthesise", {}, "spends at most epsilon 0.1"),
        ('max_epsilon = 1\noperations = ["ask"]', "synthesise", {}, "does not synthesise"),
        ('max_epsilon = 1\nusers = ["bob"]', "synthesise", {}, "for this user"),
        ('max_epsilon = 1\nmethods = ["mst"]', "synthesise", {}, "does not run independent"),
        (
            'max_epsilon = 1\nmethods = ["mst"]',
            "learn",
            {"learner": "kmeans"},
            "does not run kmeans",
        ),
        ("max_epsilon = 1", "synthesise", {"delta": 0.0, "epsilon": 1.5}, "at most epsilon 1"),
    ],
)
def test_what_its_own_policy_forbids_is_refused_and_refunded(
    tmp_path: Path, policy: str, operation: str, spec: dict[str, Any], why: str
) -> None:
    site = make_site(tmp_path, policy=policy)
    job = site.submit(operation, **spec)
    site.agent().step()
    ended = site.job(job)
    assert (ended.state, ended.refunded) == ("failed", True)
    assert why in ended.why
    assert site.left() == 3.0
    assert LedgerFile(site.settings.ledger).left() == (3.0, 0.0)
    assert "refused" in site.events()


def test_its_own_ledger_decides_too(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    LedgerFile.create(site.settings.ledger, 0.2)
    job = site.submit()
    site.agent().step()
    assert site.job(job).why == agent_module.OWN_LEDGER_REFUSED
    assert LedgerFile(site.settings.ledger).left() == (0.2, 0.0)


def test_a_table_that_changed_closes_the_agent_and_keeps_the_price(site: Site) -> None:
    """Whether it changed is about the rows: nobody learns it twice, or for nothing."""
    site.submit()
    agent = site.agent()
    agent.step()
    with (site.folder / "rows.csv").open("a") as file:
        file.write("33,f,yes\n")
    job = site.submit()
    with pytest.raises(AgentClosed, match="has changed since"):
        agent.step()
    ended = site.job(job)
    assert (ended.state, ended.why, ended.refunded) == ("failed", agent_module.AGENT_CLOSED, False)
    assert "has changed since" in site.settings.log.read_text()
    with pytest.raises(InputError, match="has changed since"):
        site.agent().run()
    site.agent(accept="new_rows").check_rows()


def test_what_an_error_says_of_a_table_stays_with_the_owner(site: Site) -> None:
    (site.folder / "rows.csv").write_text("age,sex,sick,secret-diagnosis\n1,f,no,x\n")
    with pytest.raises(InputError, match="secret-diagnosis"):
        site.agent().run()
    job = site.submit()
    with pytest.raises(AgentClosed, match="secret-diagnosis"):
        site.agent().step()
    ended = site.job(job)
    assert (ended.state, ended.why, ended.refunded) == ("failed", agent_module.AGENT_CLOSED, False)
    assert "secret-diagnosis" in site.settings.log.read_text()


# --------------------------------------------------------------------------- away and back


def test_what_was_computed_is_delivered_when_the_hub_is_back(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.submit()
    agent = site.agent()
    with monkeypatch.context() as patch:

        def away(*_: Any) -> None:
            raise HubAway("The hub cannot be reached.")

        patch.setattr(agent.link, "deliver", away)
        with pytest.raises(HubAway):
            agent.step()
    assert site.job(job).state == "running"
    left = LedgerFile(site.settings.ledger).left()
    site.agent().resume()
    assert site.job(job).state == "done"
    assert LedgerFile(site.settings.ledger).left() == left
    site.agent().resume()
    assert site.job(job).state == "done"


def test_a_refusal_is_told_when_the_hub_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what was told is not told again."""
    site = make_site(tmp_path, policy="max_epsilon = 0.1")
    job = site.submit()
    agent = site.agent()
    with monkeypatch.context() as patch:

        def away(*_: Any, **__: Any) -> None:
            raise HubAway("The hub cannot be reached.")

        patch.setattr(agent.link, "fail", away)
        agent.step()
    assert site.job(job).state == "running"
    site.agent().resume()
    ended = site.job(job)
    assert (ended.state, ended.refunded) == ("failed", True)
    again = site.agent()
    monkeypatch.setattr(again.link, "fail", lambda *_, **__: pytest.fail("told twice"))
    again.resume()


def test_what_was_computed_is_taken_even_after_the_lease_ran_out(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.submit()
    agent = site.agent()

    def away(*_: Any) -> None:
        raise HubAway("The hub cannot be reached.")

    monkeypatch.setattr(agent.link, "deliver", away)
    with pytest.raises(HubAway):
        agent.step()
    site.clock.turn(600)
    with site.hub.db.transaction() as c:
        jobs.expire(c)
    assert site.job(job).state == "interrupted"
    site.agent().resume()
    assert site.job(job).state == "done"
    assert site.left() == 2.5


@pytest.mark.parametrize("stage", ["begun", "opened", "reserved"])
def test_a_job_that_was_broken_off_is_never_computed_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    job = site.submit()
    agent = site.agent()
    claimed = agent.link.claim(site.dataset)
    assert claimed is not None
    agent._begin(agent.jobs / job.id, claimed)
    if stage == "opened":
        (agent.jobs / job.id / agent_module.OPENED_FILE).write_text("{}")
    if stage == "reserved":
        LedgerFile(site.settings.ledger).reserve(
            "x", 0.5, 0.0, "add_remove", details={"job": job.id}
        )
    monkeypatch.setattr(Synthesise, "compute", None)
    site.agent().resume()
    ended = site.job(job)
    assert (ended.state, ended.refunded) == ("failed", stage == "begun")


def test_a_job_that_was_claimed_and_lost_is_taken_up(site: Site) -> None:
    job = site.submit()
    assert site.agent().link.claim(site.dataset) is not None
    site.agent().resume()
    assert site.job(job).state == "done"


def test_a_hub_that_hands_a_job_out_again_gets_the_same(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.submit()
    agent = site.agent()
    claimed = agent.link.claim(site.dataset)
    assert claimed is not None
    agent.handle(claimed)
    monkeypatch.setattr(Synthesise, "compute", None)
    site.agent().handle(claimed)
    (site.folder / "agent-state" / "jobs" / job.id).rename(site.folder / "lost")
    site.agent().handle(claimed)
    assert site.job(job).state == "done"
    assert LedgerFile(site.settings.ledger).left() == (2.5, 0.0)


def test_a_data_set_that_is_closed_stops_its_job(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beats, "TICK_SECONDS", 0.01)
    job = site.submit()
    agent = site.agent()
    compute = Synthesise.compute

    def close_first(operation: Any, run: Any) -> Any:
        with site.hub.db.transaction() as c:
            datasets.close(c, site.owner, site.dataset)
        for _ in range(2000):
            run.progress("waiting", _, 2000)
            __import__("time").sleep(0.01)
        return compute(operation, run)

    monkeypatch.setattr(Synthesise, "compute", close_first)
    agent.step()
    assert site.job(job).state == "cancelled"
    assert LedgerFile(site.settings.ledger).left() == (3.0, 0.0)
    assert site.job(job).refunded  # the agent states that nothing was asked


def test_what_nobody_foresaw_closes_the_agent(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    job, other = site.submit(), site.submit()

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("the cell of row 17")

    monkeypatch.setattr(Synthesise, "compute", fail)
    agent = site.agent()
    with pytest.raises(AgentClosed):
        agent.step()
    with pytest.raises(AgentClosed):
        agent.step()
    ended = site.job(job)
    assert (ended.state, ended.why, ended.refunded) == ("failed", agent_module.AGENT_CLOSED, False)
    assert site.job(other).state == "queued"
    assert "row 17" not in site.settings.log.read_text()
    assert "ZeroDivisionError in fail" in site.settings.log.read_text()


def test_without_a_log_nothing_is_computed(site: Site) -> None:
    job = site.submit()
    agent = site.agent()
    site.settings.log.mkdir()
    with pytest.raises(InputError, match="log"):
        agent.step()
    assert site.job(job).state == "running"
    assert LedgerFile(site.settings.ledger).left() == (3.0, 0.0)


# --------------------------------------------------------------------------- an agent that lies


def change(document: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(document))
    place: Any = copy
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = to
    return copy


FORGERIES: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a cheaper ledger": (("ledger", "guarantee", "epsilon"), 0.01, "ledger"),
    "a dearer ledger": (("ledger", "guarantee", "epsilon"), 5.0, "were approved"),
    "no questions": (("ledger", "entries"), [], "lists no question"),
    "overspent": (("ledger", "entries", 0, "amount"), 9.0, "ledger"),
    "other neighbours": (("ledger", "neighbours"), "replace", "neighbours"),
    "another unit": (("ledger", "unit"), "person", "unit person"),
    "a seed": (("ledger", "private"), False, "protects nobody"),
    "a delta": (("ledger", "guarantee", "delta"), 1e-3, "approved"),
    "another method": (("method", "name"), "mst", "asked for"),
    "an algorithm": (("method", "algorithm"), "ab" * 32, "asked for"),
    "other values": (("schema", "attributes", "sex", "values"), ["f", "x"], "'sex' is another"),
    "a wider range": (("schema", "attributes", "age", "max"), 199, "age"),
    "no number of rows": (("rows",), None, "No rows or report"),
    "no network": (("network",), [], "model"),
    "another version": (("understudy_model",), 77, "format"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_model_ends_the_job_with_a_reason(
    shared: Site, model: dict[str, Any], forgery: str
) -> None:
    path, value, why = FORGERIES[forgery]
    job, left = shared.submit(), shared.left()
    answer = deliver(shared, job, json.dumps(change(model, *path, to=value)).encode())
    assert answer.status_code == 403
    ended = shared.job(job)
    assert (ended.state, ended.refunded) == ("failed", False)
    assert "was refused" in ended.why
    assert why in ended.why
    assert shared.release(job) is None
    assert shared.left() == left


def pack_zeros() -> bytes:
    """Few bytes that become 200 MB."""
    return gzip.compress(b"0" * (200 << 20))


@pytest.mark.parametrize(
    "data",
    [b"", b"junk", b"[]", b"{}", b"[" * 100_000, pack_zeros, b"\xff\xfe"],
    ids=["empty", "junk", "list", "object", "deep", "bomb", "bytes"],
)
def test_junk_ends_the_job_with_a_reason(shared: Site, data: bytes | Callable[[], bytes]) -> None:
    job = shared.submit()
    sent = data if isinstance(data, bytes) else data()
    assert deliver(shared, job, sent).status_code == 403
    assert shared.job(job).state == "failed"


def test_a_model_of_another_schema_is_refused(shared: Site, model: dict[str, Any]) -> None:
    other = json.loads(json.dumps(model).replace('"sick"', '"sane"'))
    job = shared.submit()
    answer = deliver(shared, job, json.dumps(other).encode())
    assert "not those of the registered schema" in answer.json()["problem"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("answers", 0, "question"), "count"),
        (("answers", 0, "note"), 3),
        (("answers", 0, "answers", 0, "value"), {"x": 1}),
        (("answers", 0, "answers", 0, "surprise"), 1),
        (("answers", 0, "surprise"), "<script>"),
        (("answers",), []),
    ],
)
def test_forged_answers_are_refused(shared: Site, path: tuple[Any, ...], value: Any) -> None:
    job = shared.submit("ask", questions=["count where age > 40"])
    shared.agent().step()
    made = shared.release(job)
    assert made is not None
    stored = next(file for file in made.files if file.name == "answers.json")
    document = json.loads(shared.hub.vault.read(stored.object))
    second = shared.submit("ask", questions=["count where age > 40"])
    answer = deliver(shared, second, json.dumps(change(document, *path, to=value)).encode())
    assert answer.status_code == 403
    assert shared.job(second).state == "failed"


def test_a_full_disk_at_the_hub_loses_no_release(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.submit()
    with monkeypatch.context() as patch:

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr("understudy.hub.intake.write_release", full)
        with pytest.raises(HubAway):
            site.agent().step()
    assert site.job(job).state == "running"
    site.agent().resume()
    assert site.job(job).state == "done"


def test_the_same_upload_twice_is_one_release(site: Site, model: dict[str, Any]) -> None:
    job = site.submit()
    data = json.dumps(model).encode()
    first = deliver(site, job, data)
    headers = {"authorization": f"Bearer {site.secret}"}
    again = site.client.post(f"/api/agent/jobs/{job.id}/release", content=data, headers=headers)
    assert first.json()["release"] == again.json()["release"]


def test_a_release_of_a_cancelled_job_is_refused(site: Site, model: dict[str, Any]) -> None:
    job = site.submit()
    assert site.agent().link.claim(site.dataset) is not None
    with site.hub.db.transaction() as c:
        datasets.close(c, site.owner, site.dataset)
    headers = {"authorization": f"Bearer {site.secret}"}
    data = json.dumps(model).encode()
    answer = site.client.post(f"/api/agent/jobs/{job.id}/release", content=data, headers=headers)
    assert answer.status_code == 409
    assert site.job(job).state == "cancelled"
    assert site.release(job) is None


def test_nobody_elses_token_or_job_or_data_set_works(site: Site, tmp_path: Path) -> None:
    job = site.submit()
    with site.hub.db.transaction() as c:
        _, other = agents.create(c, site.owner, "other")
    paths = {
        f"/api/agent/jobs/{job.id}/release": 404,
        f"/api/agent/jobs/{job.id}/progress": 404,
        "/api/agent/claim": 404,
    }
    for path, status in paths.items():
        told = {"dataset": site.dataset}
        for secret, wanted in ((other, status), ("wrong", 401), ("", 401), ("é" * 5, 401)):
            headers = {"authorization": f"Bearer {secret}".encode()}
            answer = site.client.post(path, json=told, headers=headers)
            assert answer.status_code == wanted, path
        assert site.client.post(path, json=told).status_code == 401
    assert site.job(job).state == "queued"


def test_a_revoked_agent_is_answered_no_more(site: Site) -> None:
    with site.hub.db.transaction() as c:
        [agent] = agents.list_agents(c, site.owner)
        agents.revoke(c, site.owner, agent.id)
        agents.revoke(c, site.owner, agent.id)
    with pytest.raises(HubRefuses, match="not the token"):
        site.agent().step()


def test_an_agent_that_no_data_set_names_is_told_what_to_do(site: Site) -> None:
    with site.hub.db.transaction() as c:
        _, secret = agents.create(c, site.owner, "other")
    link = HubLink(site.settings.url, secret, transport=site.client._transport)
    with pytest.raises(HubRefuses, match="choose the agent on the data set's page"):
        Agent(site.settings, link).step()


def test_an_agent_of_another_data_set_does_not_start(tmp_path: Path) -> None:
    site = make_site(tmp_path, neighbours="replace")
    with pytest.raises(InputError, match="other neighbours"):
        site.agent().step()


def test_an_agent_with_another_schema_does_not_start(site: Site) -> None:
    other = json.loads(json.dumps(SCHEMA).replace('"max": 99', '"max": 98'))
    site.settings.schema.write_text(json.dumps(other))
    with pytest.raises(InputError, match="'age' is another"):
        site.agent().step()


def test_the_trail_holds_it_all(site: Site) -> None:
    site.submit()
    site.agent().step()
    with site.hub.db.reading() as c:
        assert trail.verify(trail.export(c), site.hub.keys.trail)
        actions = [entry.action for entry in trail.read_entries(c)]
    assert [name for name in actions if name in ("start", "release")] == ["start", "release"]


# --------------------------------------------------------------------------- foreign algorithms


def test_an_allowed_algorithm_runs_at_the_agent(tmp_path: Path) -> None:
    chain = Path(__file__).parents[2] / "examples/plugin/src/understudy_chain/__init__.py"
    data = make_wheel(chain.read_text())
    key = Ed25519PrivateKey.generate()
    package = __import__("hashlib").sha256(data).hexdigest()
    site = make_site(tmp_path, policy=f'max_epsilon = 1\nalgorithms = ["{package}"]')
    with site.hub.db.transaction() as c:
        offered = algorithms.offer(c, site.user, data, public_key_of(key), sign_package(data, key))
        rule = RuleSpec(operation="synthesise", standing=True, algorithms=[offered.digest])
        set_role(
            c, site.owner, site.dataset, RoleSpec(name="R1", members=[site.user], rules=[rule])
        )
    job = site.submit(method="chain", algorithm=offered.digest)
    site.agent().step()
    assert site.job(job).state == "done", site.job(job).why
    made = site.release(job)
    assert made is not None
    stored = next(file for file in made.files if file.name == "model.json")
    document = json.loads(site.hub.vault.read(stored.object))
    assert Model.from_dict(document).method["algorithm"] == package

    second = site.submit(method="chain", algorithm=offered.digest)
    site.agent(
        policy=load_settings(site.folder / "agent.toml").policy.__class__(max_epsilon=1.0)
    ).step()
    assert "does not run this algorithm" in site.job(second).why


def test_a_package_is_offered_once_and_under_one_key(site: Site) -> None:
    data, other = make_wheel("x = 1\n"), make_wheel("x = 2\n")
    key, second = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    with site.hub.db.transaction() as c:
        made = algorithms.offer(c, site.user, data, public_key_of(key), sign_package(data, key))
        again = algorithms.offer(c, site.user, data, public_key_of(key), sign_package(data, key))
        assert made == again
        with pytest.raises(Exception, match="already"):
            algorithms.offer(c, site.user, other, public_key_of(key), sign_package(other, key))
        signed = sign_package(other, second)
        with pytest.raises(Exception, match="another key before"):
            algorithms.offer(c, site.user, other, public_key_of(second), signed)
        with pytest.raises(InputError, match="not signed"):
            algorithms.offer(c, site.user, other, public_key_of(key), sign_package(data, key))
        assert algorithms.read_data(c, made.digest) == data
        with pytest.raises(Exception, match="no such"):
            algorithms.withdraw(c, site.owner, made.id)
        algorithms.withdraw(c, site.user, made.id)
        assert algorithms.list_offered(c).items == ()
        with pytest.raises(Exception, match="withdrawn"):
            algorithms.read_data(c, made.digest)


# --------------------------------------------------------------------------- settings and log


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("https://hub", "http://hub", "begins with https"),
        ("[policy]", "[police]", "unknown section"),
        ("max_epsilon = 1.0", "", "must say max_epsilon"),
        ("max_epsilon = 1.0", 'max_epsilon = "1"', "of another kind"),
        ("max_epsilon = 1.0", "max_epsilon = true", "of another kind"),
        ("max_epsilon = 1.0", 'max_epsilon = 1\noperations = ["x"]', "there is none"),
        ("max_epsilon = 1.0", 'max_epsilon = 1\nalgorithms = ["x"]', "SHA-256"),
        ("rows =", "row =", "unknown entry"),
        ('rows = "rows.csv"', "", "does not say rows"),
        ("[hub]", "[hub", "not TOML"),
        ("token =", "#", "does not say the agent's token"),
    ],
)
def test_settings_that_are_wrong_say_why(site: Site, old: str, new: str, why: str) -> None:
    path = site.folder / "agent.toml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=why):
        load_settings(path)


def test_a_log_that_was_changed_shows(tmp_path: Path) -> None:
    log = NodeLog(tmp_path / "log")
    for number in range(4):
        log("event", number=number)
    path = tmp_path / "log"
    assert check_log(path) == 4
    lines = path.read_bytes().splitlines(keepends=True)
    for broken in (lines[:1] + lines[2:], lines[1:], [lines[0].replace(b"0", b"1", 1), *lines[1:]]):
        path.write_bytes(b"".join(broken))
        with pytest.raises(InputError, match="was changed at line"):
            check_log(path)


def test_what_the_log_says_is_on_the_screen_but_for_lists(tmp_path: Path) -> None:
    shown: list[str] = []
    log = NodeLog(tmp_path / "log", shown.append)
    log("computed", job="j1", epsilon=0.5, files=["model", "report"], bins={"age": 3}, why="")
    log("stopped", release=None)
    assert [line[8:] for line in shown] == [" computed: job j1, epsilon 0.5", " stopped"]
    first = json.loads((tmp_path / "log").read_bytes().splitlines()[0])
    assert (first["files"], first["bins"]) == (["model", "report"], {"age": 3})
    assert first["at"][11:19] == shown[0][:8]


def test_an_expired_job_can_be_told_to_have_asked_nothing(site: Site) -> None:
    job = site.submit()
    assert site.agent().link.claim(site.dataset) is not None
    site.clock.turn(600)
    with site.hub.db.transaction() as c:
        jobs.expire(c)
    assert site.job(job).state == "interrupted"
    site.agent().resume()
    assert site.job(job).refunded
    assert site.left() == 3.0


def test_a_line_that_was_cut_short_goes_when_the_next_is_written(tmp_path: Path):
    log = NodeLog(tmp_path / "log")
    log("one", n=1)
    log("two", n=2)
    whole = (tmp_path / "log").read_bytes()
    for kept in (whole[:-1], whole[:-20], whole[: whole.index(b"\n") + 1], whole[:5], b""):
        (tmp_path / "log").write_bytes(kept)
        log("three", n=3)
        lines = (tmp_path / "log").read_bytes().splitlines()
        assert len(lines) == 1 + kept.count(b"\n")
        assert check_log(tmp_path / "log") == len(lines)
