"""Surveys by the API and the Python client: whose they are, two waves, a table by a worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from survey_stories import LINES, simulate
from web_hubs import WebHub, make_web_hub

from understudy.errors import InputError
from understudy.hub import Client, survey_tables
from understudy.hub.errors import Conflict, NotFound, Refused
from understudy.hub.worker import Worker
from understudy.local.blind_tokens import TokenRequest
from understudy.local.plans import CollectionPlan
from understudy.local.release import synthesize_reports


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> WebHub:
    hub = make_web_hub(tmp_path_factory.mktemp("hub") / "hub")
    hub.add("mary", "otto")
    hub.add("ada", administrator=True)
    return hub


def client(web: WebHub, name: str) -> Client:
    http = web.api(name)
    return Client("http://127.0.0.1:8000", token=web.tokens[name], http=http)


def make(mary: Client, **changes: Any) -> str:
    values: dict[str, Any] = {"epsilons": [2.0, 0.5], "persons": 500, "invited": False}
    made = mary.make_survey("Sleep", LINES, **values | changes)
    return str(made["id"])


def send(mary: Client, survey: str, persons: int, seed: int) -> dict[str, Any]:
    plan = CollectionPlan.from_dict(mary.survey_plan(survey))
    lines = "\n".join(report.to_json() for report in simulate(plan, persons, seed))
    return mary.send_reports(survey, lines)


def test_from_the_questions_to_the_table_in_two_waves(
    web: WebHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learn(collected: Any, *, progress: Any) -> Any:
        return synthesize_reports(collected, "independent", progress=progress)

    monkeypatch.setattr(survey_tables, "synthesize_reports", learn)
    mary = client(web, "mary")
    survey = make(mary, purpose="teaching")
    assert mary.survey(survey)["state"] == "draft"
    assert mary.open_survey(survey)["state"] == "open"
    before = mary.survey(survey)
    assert (before["reports"], before["error_now"]) == (0, None)
    assert send(mary, survey, 200, 1)["received"] == 200
    during = mary.survey(survey)
    assert during["reports"] == 200 - during["batch"]
    assert sum(one["reports"] for one in during["levels"]) == during["reports"]
    with pytest.raises(Conflict, match="Close"):
        mary.open_wave(survey, 100)
    mary.close_survey(survey)
    assert mary.survey(survey)["reports"] == 200
    second = mary.open_wave(survey, 100)
    assert (second["wave"], second["state"], second["persons"]) == (2, "open", 100)
    assert send(mary, survey, 100, 2)["received"] == 100
    mary.close_survey(survey)
    estimates = mary.estimates(survey)
    assert estimates["reports"] == 300
    asked = mary._post(f"/surveys/{survey}/table")
    assert asked["state"] == "queued"
    worker = Worker(web.site.opened)
    while worker.step():  # jobs of other tests may be queued before it
        pass
    release = mary.make_table(survey, seconds=5)
    assert release["summary"]["rows"] == 300
    assert release["use"]["purpose"] == "teaching"
    described = mary.survey(survey)
    assert described["release"] == release["id"]
    assert described["job"]["state"] == "done"
    assert survey in [one["id"] for one in mary.surveys()]


def routes(web: WebHub, tag: str) -> list[tuple[str, str]]:
    """The calls of the API about one survey that bear a tag."""
    paths = web.app.openapi()["paths"]
    return [
        (method, path)
        for path, methods in paths.items()
        for method, route in methods.items()
        if "{survey}" in path and tag in route["tags"]
    ]


def test_a_survey_is_its_makers_and_an_administrators(web: WebHub) -> None:
    """Every call there is, by everybody."""
    mary = client(web, "mary")
    survey = make(mary)
    calls = routes(web, "surveys")
    assert len(calls) >= 7
    for method, path in calls:
        address = path.format(survey=survey)
        for name, expected in (("otto", {404}), ("ada", {200, 201, 202, 409, 422})):
            body = {"persons": 3} if method == "post" else None
            answer = web.api(name).request(method, address, json=body)
            assert answer.status_code in expected, (name, method, path, answer.text)
        nobody = web.client().client.request(method, address, json={"persons": 3})
        assert nobody.status_code == 401, (method, path)
    assert client(web, "otto").surveys() == []


def test_whoever_has_the_link_answers_and_a_draft_is_nobodys(web: WebHub) -> None:
    mary = client(web, "mary")
    survey, draft = make(mary), make(mary)
    mary.open_survey(survey)
    nobody = web.client().client
    for method, path in routes(web, "answering"):
        answer = nobody.request(
            method, path.format(survey=survey), json={"code": "", "request": ""}
        )
        assert answer.status_code not in (401, 403, 404) or path.endswith("/token"), path
    assert nobody.get(f"/api/v1/surveys/{draft}/plan").status_code == 404


def test_the_same_key_is_the_same_survey(web: WebHub) -> None:
    mary = client(web, "mary")
    assert make(mary, key="one key of mine") == make(mary, key="one key of mine")


def test_persons_need_no_account_and_a_token_where_there_are_invitations(web: WebHub) -> None:
    mary = client(web, "mary")
    survey = make(mary, invited=True)
    mary.open_survey(survey)
    [link] = mary.invite(survey, 1)
    nobody = web.client().client
    address = f"/api/v1/surveys/{survey}"
    plan = CollectionPlan.from_dict(nobody.get(f"{address}/plan").json())
    report = simulate(plan, 1)[0]
    refused = nobody.post(f"{address}/reports", content=report.to_json())
    assert refused.status_code == 422
    assert "without a token" in refused.json()["problem"]
    asked = TokenRequest()
    document = {"code": link.partition("#")[2], "request": asked.text}
    answer = nobody.post(f"{address}/token", json=document)
    assert answer.status_code == 200
    again = nobody.post(f"{address}/token", json=document | {"request": TokenRequest().text})
    assert again.status_code == 409
    token = asked.finish(answer.json()["response"], plan.token_key)
    signed = replace(report, number=token[: len(report.number)], token=token[len(report.number) :])
    sent = nobody.post(f"{address}/reports", content=signed.to_json())
    assert (sent.status_code, sent.json()["received"]) == (202, 1)
    assert nobody.get(address).status_code == 401


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epsilons": [0.0]}, "epsilon"),
        ({"epsilons": []}, "epsilons"),
        ({"persons": 0}, "persons"),
        ({"purpose": "x" * 6_000}, "purpose"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_cannot_be_is_refused(web: WebHub, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make(client(web, "mary"), **changes)


def test_junk_is_refused_in_a_sentence(web: WebHub) -> None:
    mary = client(web, "mary")
    survey = make(mary)
    with pytest.raises(InputError, match="does not count"):
        mary.send_reports(survey, "nonsense")
    with pytest.raises(InputError, match="1 to 2,000"):
        mary.send_reports(survey, "\n\n")
    with pytest.raises(InputError, match="too much"):
        mary.send_reports(survey, "x" * 1_100_000)
    with pytest.raises(NotFound):
        mary.send_reports("nothing", "x")
    with pytest.raises(Refused):
        Client("http://127.0.0.1:8000", token="ush_no", http=web.client().client).survey(survey)
