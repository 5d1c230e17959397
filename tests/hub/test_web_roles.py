"""Every role, operation and object, through the API and the pages: as the policy says."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from web_hubs import SCHEMA, WebHub, make_web_hub

from understudy import Independent
from understudy.data.schema import Schema
from understudy.hub import datasets, jobs
from understudy.hub import requests as asking
from understudy.hub.access import read_object, read_subject
from understudy.hub.amounts import Price
from understudy.hub.datasets import DatasetSpec
from understudy.hub.policy import Operation, judge
from understudy.hub.records import ReleaseFile, ReleaseRecord, read_job_of
from understudy.hub.releases import ReleaseSpec
from understudy.hub.roles import RoleSpec, RuleSpec

PEOPLE = ("stranger", "reader", "asker", "maker", "trainer", "owner", "other", "ada")
THINGS = ("listed", "hidden", "closed")
SPECS: dict[str, dict[str, Any]] = {
    "synthesise": {"epsilon": 0.01, "method": "independent"},
    "ask": {"epsilon": 0.01, "questions": ["count"]},
    "learn": {"epsilon": 0.01, "learner": "logistic", "target": "smoker"},
}
RULES = {
    "reader": ("download", "query"),
    "asker": ("ask", "query"),
    "maker": ("synthesise", "download"),
    "trainer": ("learn",),
}


@dataclass
class World:
    web: WebHub
    datasets: dict[str, str]
    releases: dict[str, ReleaseRecord]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Three data sets with the same roles, and a release of each, made for ``maker``."""
    folder = tmp_path_factory.mktemp("roles")
    web = make_web_hub(folder / "hub")
    web.add(*(name for name in PEOPLE if name != "ada"))
    web.add("ada", administrator=True)
    model = make_model(folder)
    made, released = {}, {}
    for thing in THINGS:
        roles = [
            RoleSpec(
                name=who,
                members=[web.people[who].id],
                rules=[RuleSpec(operation=operation) for operation in operations],
            )
            for who, operations in RULES.items()
        ]
        spec = DatasetSpec(
            name=thing,
            schema=SCHEMA,
            purpose="tests",
            epsilon=100.0,
            mode="stored",
            listed=thing != "hidden",
            roles=roles,
        )
        with web.site.db.transaction() as c:
            made[thing] = datasets.register(c, web.people["owner"].id, spec).id
        released[thing] = release(web, made[thing], model)
    with web.site.db.transaction() as c:
        datasets.close(c, web.people["owner"].id, made["closed"])
    yield World(web, made, released)
    web.site.opened.close()


def make_model(folder: Path) -> bytes:
    rng = np.random.default_rng(0)
    sexes, words = ("female", "male"), ("no", "yes")
    lines = [
        f"{rng.integers(0, 99)},{sexes[rng.integers(2)]},{words[rng.integers(2)]}"
        for _ in range(300)
    ]
    rows = folder / "rows.csv"
    rows.write_text("\n".join(["age,sex,smoker", *lines]) + "\n")
    schema = Schema.from_dict(SCHEMA)
    made = Independent(epsilon=50.0).fit(str(rows), schema, notify=lambda _: None)
    return json.dumps(made.to_dict()).encode()


def release(web: WebHub, dataset: str, model: bytes) -> ReleaseRecord:
    """What a worker hands in for a request of ``maker``'s."""
    user, owner = web.people["maker"].id, web.people["owner"].id
    with web.site.db.transaction() as c:
        asked = asking.submit(
            c, user, dataset, "synthesise", SPECS["synthesise"], "for tests", f"key of {dataset}"
        )
        asking.decide(c, owner, asked.id, True)
        assert jobs.claim(c, "worker", [dataset]) is not None
        job = read_job_of(c, asked.id)
        assert job is not None
    files = []
    for name, content in (("model.json", model), ("report.html", b"<p>report</p>")):
        stored = web.site.vault.put(dataset, "release", content)
        files.append(
            ReleaseFile(
                name=name,
                media_type="application/json",
                size=len(content),
                sha256=stored.sha256,
                object=stored.id,
            )
        )
    with web.site.db.transaction() as c:
        return jobs.finish(c, job.id, "worker", ReleaseSpec(title="A table", files=files))


def may(world: World, who: str, operation: str, thing: str) -> bool:
    """What the policy says."""
    requester = world.releases[thing].user if operation in ("download", "query") else None
    with world.web.site.db.reading() as c:
        subject = read_subject(c, world.web.people[who].id)
        found = read_object(c, world.datasets[thing], requester)
    price = Price()
    algorithm = None
    if operation in SPECS:
        price = Price.of(SPECS[operation]["epsilon"])
        algorithm = SPECS[operation].get("method") or SPECS[operation].get("learner")
    return bool(judge(subject, Operation(name=operation, price=price, algorithm=algorithm), found))


OPERATIONS = ("see", "access", "synthesise", "ask", "learn", "download", "query", "manage", "close")


@pytest.fixture(scope="module")
def programs(world: World) -> dict[str, Any]:
    return {name: world.web.api(name) for name in PEOPLE}


@pytest.fixture(scope="module")
def browsers(world: World) -> dict[str, Any]:
    return {name: world.web.client(name) for name in PEOPLE}


@pytest.mark.parametrize("who", PEOPLE)
def test_the_api_does_what_the_policy_says(
    who: str, world: World, programs: dict[str, Any]
) -> None:
    for operation, thing in itertools.product(OPERATIONS, THINGS):
        expected = may(world, who, operation, thing)
        answer = call(world, programs[who], who, operation, thing)
        assert answer.is_success == expected, (who, operation, thing, answer.text)
        if not expected:
            assert answer.status_code in (403, 404)
            assert set(answer.json()) == {"problem", "kind"}


def call(world: World, program: Any, who: str, operation: str, thing: str) -> Any:
    dataset, made = world.datasets[thing], world.releases[thing].id
    base = f"/api/v1/datasets/{dataset}"
    if operation == "see":
        return program.get(base)
    if operation == "download":
        return program.get(f"/api/v1/releases/{made}/files/model.json")
    if operation == "query":
        return program.get(f"/api/v1/releases/{made}/query", params={"query": "count"})
    if operation == "manage":
        return program.get(f"{base}/roles")
    if operation == "close":
        answer = program.post(f"{base}/close")
        if answer.is_success and thing != "closed":
            with world.web.site.db.transaction() as c:
                datasets.reopen(c, world.web.people["owner"].id, dataset)
        return answer
    document = {
        "operation": operation,
        "spec": SPECS.get(operation, {}),
        "reason": "the matrix",
        "key": f"{who} {operation} {thing}",
    }
    return program.post(f"{base}/requests", json=document)


@pytest.mark.parametrize("who", PEOPLE)
def test_the_pages_do_what_the_policy_says(
    who: str, world: World, browsers: dict[str, Any]
) -> None:
    for operation, thing in itertools.product(OPERATIONS, THINGS):
        expected = may(world, who, operation, thing)
        answer = visit(world, browsers[who], operation, thing)
        assert (answer.status_code == 200) == expected, (who, operation, thing, answer.text)
        if not expected:
            assert answer.status_code in (403, 404)


def visit(world: World, browser: Any, operation: str, thing: str) -> Any:
    dataset, made = world.datasets[thing], world.releases[thing].id
    pages = {
        "see": f"/datasets/{dataset}",
        "access": f"/datasets/{dataset}/access",
        "download": f"/releases/{made}/files/model.json",
        "manage": f"/mine/{dataset}",
    }
    if operation in pages:
        return browser.get(pages[operation])
    if operation == "query":
        answer = browser.get(f"/releases/{made}?query=count")
        if answer.status_code == 200 and "Answer to count" not in answer.text:
            answer.status_code = 403  # the page says why not, in the place of the answer
        return answer
    if operation == "close":
        answer = browser.send(
            "/datasets", {"state": "closed"}, action=f"/mine/{dataset}/state", follow=False
        )
        if answer.status_code == 303:
            answer.status_code = 200
            if thing != "closed":
                with world.web.site.db.transaction() as c:
                    datasets.reopen(c, world.web.people["owner"].id, dataset)
        return answer
    return browser.get(f"/datasets/{dataset}/ask/{operation}")


def test_nobody_gets_nothing(world: World) -> None:
    """Without a session or a token: the door, and nothing else."""
    nobody = world.web.client()
    for thing in THINGS:
        dataset, made = world.datasets[thing], world.releases[thing].id
        for path in (
            *("/datasets", "/mine", "/requests", "/users", "/account", "/trail", "/algorithms"),
            f"/datasets/{dataset}",
            f"/mine/{dataset}",
            f"/releases/{made}",
            f"/releases/{made}/report",
            f"/releases/{made}/files/model.json",
        ):
            answer = nobody.client.get(path, follow_redirects=False)
            assert answer.status_code == 303, path
            assert answer.headers["location"].startswith("/signin")
    schema = nobody.get("/api/v1/openapi.json").json()
    assert len(schema["paths"]) > 20
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            if "answering" in route["tags"]:  # persons need no account; there is no such survey
                continue
            address = path.replace("{", "").replace("}", "")
            answer = nobody.client.request(method.upper(), address, json={})
            assert answer.status_code == 401, (method, path)


def test_others_requests_agents_and_tokens_are_not_there(
    world: World, programs: dict[str, Any]
) -> None:
    """Every id of somebody else's, tried by everybody who has no business with it."""
    web = world.web
    agent = programs["owner"].post("/api/v1/agents", json={"name": "box"}).json()["id"]
    token = programs["owner"].post("/api/v1/tokens", json={"label": "box"}).json()["id"]
    with web.site.db.reading() as c:
        request = asking.of_user(c, web.people["maker"].id).items[-1].id
    for who in ("stranger", "reader", "other", "ada"):
        program = programs[who]
        for method, path in (
            ("GET", f"/requests/{request}"),
            ("POST", f"/requests/{request}/withdraw"),
            ("DELETE", f"/agents/{agent}"),
            ("DELETE", f"/tokens/{token}"),
        ):
            assert program.request(method, f"/api/v1{path}").status_code == 404, (who, path)
        decision = {"approve": True, "reason": ""}
        answer = program.post(f"/api/v1/requests/{request}/decision", json=decision)
        assert answer.status_code in (403, 404)
        hidden = world.datasets["hidden"]
        if who != "reader":
            for path in ("", "/requests", "/jobs", "/releases", "/roles"):
                answer = program.get(f"/api/v1/datasets/{hidden}{path}")
                assert answer.status_code == 404, (who, path)


def test_administration_is_for_administrators(programs: dict[str, Any], browsers: Any) -> None:
    for who in PEOPLE:
        status = 200 if who == "ada" else 403
        assert programs[who].get("/api/v1/users").status_code == status
        assert browsers[who].get("/users").status_code == status
        if who != "ada":
            for path in ("/users", "/users/abc", "/users/abc/link"):
                answer = browsers[who].send("/datasets", {"name": "eve"}, action=path)
                assert answer.status_code == 403


def test_an_owner_reads_her_own_trail_alone(world: World, programs: dict[str, Any]) -> None:
    """The export of an owner holds her entries, and digests of all others."""
    from understudy.hub import trail

    found = programs["owner"].get("/api/v1/trail").json()
    mine = set(world.datasets.values())
    readable = [entry for entry in found["entries"] if "object" in entry]
    assert readable
    assert {entry["object"] for entry in readable} <= mine
    assert len(found["entries"]) > len(readable)
    assert trail.verify(found).good
    assert programs["other"].get("/api/v1/trail").status_code == 403


def test_rules_limit_prices_through_pages_too(tmp_path: Path) -> None:
    web = make_web_hub(tmp_path / "hub")
    web.add("owner", "uma")
    rules = [RuleSpec(operation="ask", max_epsilon=0.5, standing=True)]
    role = RoleSpec(name="R", members=[web.people["uma"].id], rules=rules)
    dataset = web.register("owner", roles=[role])
    uma = web.client("uma")
    page = f"/datasets/{dataset.id}/ask/ask"
    fields = {"questions": "count", "delta": "0", "reason": "why", "action": "send"}
    refused = uma.send(page, {**fields, "epsilon": "0.6"})
    assert refused.status_code == 403
    assert "more than your roles allow" in refused.text
    granted = uma.send(page, {**fields, "epsilon": "0.5"})
    assert granted.status_code == 200
    assert "by a standing rule" in granted.text
