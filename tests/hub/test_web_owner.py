"""What owners save by forms is what they typed, and what they did not touch stays as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from web_hubs import WebHub, make_web_hub

from understudy.hub.access import read_roles
from understudy.hub.agent_settings import load_settings
from understudy.hub.records import read_dataset
from understudy.hub.roles import RoleSpec, RuleSpec


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebHub]:
    made = make_web_hub(tmp_path / "hub")
    made.add("owner", "uma")
    yield made
    made.site.opened.close()


def fields_of(page: str, action: str) -> dict[str, Any]:
    """What a form holds when the page comes, as a browser would send it."""
    form = re.search(rf'<form method="post" action="{re.escape(action)}".*?</form>', page, re.S)
    assert form is not None
    found: dict[str, Any] = {}
    for tag in re.findall(r"<input[^>]*>", form.group(0)):
        attributes = {k: unescape(v) for k, v in re.findall(r'([\w-]+)="([^"]*)"', tag)}
        if attributes.get("type") == "checkbox" and not re.search(r"\schecked", tag):
            continue
        if "name" in attributes:
            found[attributes["name"]] = attributes.get("value", "")
    for name, text in re.findall(
        r'<textarea[^>]* name="(\w+)"[^>]*>(.*?)</textarea>', form.group(0), re.S
    ):
        found[name] = unescape(text)
    return found


def test_saving_a_form_as_it_came_changes_nothing(web: WebHub) -> None:
    """No digit of a budget is lost, no attribute, limit or algorithm of a role."""
    rules = [
        RuleSpec(
            operation="synthesise",
            max_epsilon=0.123456789,
            max_delta=1.5e-7,
            algorithms=["adaptive", "0" * 64],
            standing=True,
        ),
        RuleSpec(operation="query"),
    ]
    role = RoleSpec(
        name="R1",
        members=[web.people["uma"].id],
        attributes={"institution": ["Uni A", "Uni B"]},
        rules=rules,
    )
    dataset = web.register(
        "owner", epsilon=3.14159265, delta=1.25e-6, user_epsilon=1.23456789, roles=[role]
    )
    owner = web.client("owner")
    path = f"/mine/{dataset.id}"
    with web.site.db.reading() as c:
        before, policy = read_dataset(c, dataset.id), read_roles(c, [dataset.id])[dataset.id]
    page = owner.get(path).text
    for action in (path, f"{path}/roles"):
        sent = fields_of(page, action)
        answer = owner.client.post(action, data=sent)
        assert answer.status_code == 200, answer.text
    with web.site.db.reading() as c:
        after, now = read_dataset(c, dataset.id), read_roles(c, [dataset.id])[dataset.id]
    assert (after.total, after.per_user, after.about_rows) == (
        before.total,
        before.per_user,
        before.about_rows,
    )
    assert (after.name, after.purpose, after.listed) == (before.name, before.purpose, before.listed)

    def shape(roles: Any) -> Any:
        return [
            (
                one.name,
                one.members,
                dict(one.attributes),
                {(r.operation, r.limit, r.algorithms, r.standing) for r in one.rules},
            )
            for one in roles
        ]

    assert shape(now) == shape(policy)


def test_a_mistake_keeps_what_was_typed(web: WebHub) -> None:
    owner = web.client("owner")
    typed = {"name": "My table", "purpose": "Research", "mode": "stored", "epsilon": "x"}
    answer = owner.send("/datasets/new", {**typed, "schema_text": '{"attributes": {}}'})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert "My table" in answer.text
    assert "Research" in answer.text


def test_refusing_needs_a_reason(web: WebHub) -> None:
    dataset = web.register("owner")
    uma, owner = web.client("uma"), web.client("owner")
    sent = uma.send(f"/datasets/{dataset.id}/access", {"reason": "A thesis"})
    path = "/requests/" + str(sent.url).rsplit("/", 1)[1].partition("?")[0]
    answer = owner.send(path, {"decision": "refuse", "reason": " "}, action=f"{path}/decide")
    assert answer.status_code == 422
    assert "Say why" in answer.text
    assert "waits for the owner" in uma.get(path).text


def test_an_owner_asks_others_agents_to_take_part(web: WebHub) -> None:
    dataset = web.register("owner", mode="federated").id
    agent = web.api("uma").post("/api/v1/agents", json={"name": "ward"}).json()["id"]
    owner = web.client("owner")
    path = f"/mine/{dataset}"
    wrong = owner.send(path, {"agent": "nothing"}, action=f"{path}/holders")
    assert wrong.status_code == 404
    shown = owner.send(path, {"agent": agent}, action=f"{path}/holders")
    assert "ward" in shown.text
    assert "not yet" in shown.text
    found = web.api("owner").get(f"/api/v1/datasets/{dataset}/holders").json()
    assert [one["agent"] for one in found] == [agent]
    other = web.api("uma")
    assert other.get(f"/api/v1/datasets/{dataset}/holders").status_code == 403
    assert other.put(f"/api/v1/datasets/{dataset}/holders/{agent}").status_code == 403


def test_the_settings_that_a_new_agent_is_shown_start_it(web: WebHub, tmp_path: Path) -> None:
    dataset = web.register("owner", mode="agent").id
    page = unescape(web.client("owner").send("/mine", {"name": "ward"}, action="/agents").text)
    shown = re.search(r"<pre>(# agent.toml.*?)</pre>", page, re.S)
    secret = re.search(r'id="secret">([^<]+)<', page)
    assert shown is not None
    assert secret is not None
    (tmp_path / "agent.token").write_text(secret.group(1))
    (tmp_path / "agent.token").chmod(0o600)
    (tmp_path / "agent.toml").write_text(shown.group(1))
    settings = load_settings(tmp_path / "agent.toml")
    assert settings.dataset == dataset
    assert settings.allowance == (3.0, 1e-6)
    assert dataset in web.client("owner").get(f"/mine/{dataset}").text
