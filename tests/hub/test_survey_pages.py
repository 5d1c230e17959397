"""Surveys over HTTP: without an account, without a cookie, whatever is sent."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient
from survey_stories import LINES, make_spec, simulate
from web_hubs import WebHub, make_web_hub

from understudy.hub import surveys
from understudy.hub.survey_intake import write_batch
from understudy.hub.surveys import Survey
from understudy.hub.tables import survey_invitations, survey_reports
from understudy.local.blind_tokens import TokenIssuer, TokenRequest
from understudy.local.reports import Report

XSS = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> WebHub:
    hub = make_web_hub(tmp_path_factory.mktemp("hub") / "hub")
    hub.add("mary", "otto")
    hub.add("ada", administrator=True)
    return hub


def start(web: WebHub, **changes: Any) -> Survey:
    """An open survey of Mary's."""
    maker = web.people["mary"].id
    with web.site.db.transaction() as c:
        key = f"key of a form {c.value(sa.text('SELECT count(*) FROM surveys'))}"
        made = surveys.make(c, maker, make_spec(**changes), key)
        return surveys.open_survey(c, maker, made.id)


def person(web: WebHub) -> TestClient:
    return TestClient(web.app, base_url="http://127.0.0.1:8000")


def count(web: WebHub, survey: Survey) -> int:
    with web.site.db.reading() as c:
        return surveys.count_reports(c, survey.id)


def invite(web: WebHub, survey: Survey) -> str:
    with web.site.db.transaction() as c:
        return surveys.invite(c, web.people["mary"].id, survey.id, 1)[0]


class TestPersons:
    """What somebody without an account can do, and what is known of them afterwards."""

    def test_a_page_needs_no_account_and_sets_no_cookie(self, web: WebHub) -> None:
        survey = start(web)
        page = person(web).get(f"/s/{survey.id}")
        assert page.status_code == 200
        assert "set-cookie" not in page.headers
        assert "script-src 'self'" in page.headers["content-security-policy"]
        for part in ("What epsilon means", "one</strong> question by lot", "What the hub can see"):
            assert part in page.text

    def test_a_draft_is_nobodys_business(self, web: WebHub) -> None:
        maker = web.people["mary"].id
        with web.site.db.transaction() as c:
            draft = surveys.make(c, maker, make_spec(), "key of a draft")
        for path in (f"/s/{draft.id}", f"/s/{draft.id}/plan", "/s/nothing", "/s/nothing/plan"):
            assert person(web).get(path).status_code == 404

    def test_what_a_maker_writes_stays_text(self, web: WebHub) -> None:
        survey = start(web, title=XSS, introduction=XSS, contact=XSS)
        page = person(web).get(f"/s/{survey.id}").text
        assert XSS not in page
        assert "&lt;script&gt;" in page
        form = re.search(r'id="form">(.*?)</script>', page, re.DOTALL)
        assert form is not None
        assert json.loads(form[1])["plan"] == survey.plan().id

    def test_a_report_is_on_disk_before_it_is_answered_for(self, web: WebHub) -> None:
        survey = start(web)
        report = simulate(survey.plan(), 1)[0]
        answer = person(web).post(f"/s/{survey.id}/reports", content=report.to_json() + "\n")
        assert answer.status_code == 202
        assert answer.json()["received"] == 1
        assert count(web, survey) == 1

    def test_the_same_number_is_refused_the_second_time(self, web: WebHub) -> None:
        survey = start(web)
        first, other = simulate(survey.plan(), 2)
        client = person(web)
        client.post(f"/s/{survey.id}/reports", content=first.to_json())
        again = client.post(f"/s/{survey.id}/reports", content=first.to_json())
        assert (again.status_code, again.json()["state"]) == (409, "repeated")
        forged = Report(
            plan=other.plan,
            question=other.question,
            level=other.level,
            answer=other.answer,
            number=first.number,
        )
        second = client.post(f"/s/{survey.id}/reports", content=forged.to_json())
        assert (second.status_code, second.json()["state"]) == (409, "conflicting")
        assert count(web, survey) == 1

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"\n\n",
            b"junk",
            b"{}",
            b"\xff\xfe\x00",
            b'{"v":1}',
            b"[" * 10_000,
            b'{"v":1,"p":"0000000000000000","q":0,"e":0,"r":"0","n":"' + b"0" * 32 + b'"}',
            b"x" * 70_000,
        ],
    )
    def test_what_is_no_report_is_refused_with_a_reason(self, web: WebHub, body: bytes) -> None:
        survey = start(web)
        answer = person(web).post(f"/s/{survey.id}/reports", content=body)
        assert answer.status_code == 422
        assert answer.json()["problem"]
        assert count(web, survey) == 0

    def test_too_much_is_refused(self, web: WebHub) -> None:
        survey = start(web)
        client = person(web)
        assert client.post(f"/s/{survey.id}/reports", content=b"x" * (2 << 20)).status_code == 413
        lines = b"junk\n" * 2_001
        assert client.post(f"/s/{survey.id}/reports", content=lines).status_code == 422

    def test_many_reports_at_once_are_told_apart(self, web: WebHub) -> None:
        survey = start(web)
        reports = [report.to_json() for report in simulate(survey.plan(), 5)]
        body = "\n".join([*reports, reports[0], "junk"])
        told = person(web).post(f"/s/{survey.id}/reports", content=body).json()
        assert told == {
            "received": 5,
            "repeated": 1,
            "conflicting": 0,
            "refused": {"junk": 1},
        }

    def test_a_closed_survey_takes_nothing(self, web: WebHub) -> None:
        survey = start(web)
        with web.site.db.transaction() as c:
            surveys.close_survey(c, web.people["mary"].id, survey.id)
        report = simulate(survey.plan(), 1)[0]
        answer = person(web).post(f"/s/{survey.id}/reports", content=report.to_json())
        assert answer.status_code == 409
        assert "takes no answers now" in person(web).get(f"/s/{survey.id}").text

    def test_nothing_of_the_request_is_kept(self, web: WebHub) -> None:
        survey = start(web)
        report = simulate(survey.plan(), 1)[0]
        marks = {"user-agent": "Mark-of-a-browser", "x-forwarded-for": "203.0.113.77"}
        person(web).post(f"/s/{survey.id}/reports", content=report.to_json(), headers=marks)
        with web.site.db.reading() as c:
            rows = c.rows(sa.select(survey_reports).where(survey_reports.c.survey == survey.id))
        assert set(rows[0]) == {"survey", "number", "question", "level", "answer", "shown"}
        path = web.site.db.path
        assert path is not None
        files = [one for one in path.parent.iterdir() if one.name.startswith(path.name)]
        content = b"".join(one.read_bytes() for one in files)
        assert report.number.encode() in content
        assert b"Mark-of-a-browser" not in content
        assert b"203.0.113.77" not in content


class TestTokens:
    """Blind tokens over HTTP."""

    def ask(self, web: WebHub, survey: Survey, code: Any, request: Any) -> Any:
        document = json.dumps({"code": code, "request": request})
        return person(web).post(f"/s/{survey.id}/token", content=document)

    def test_one_token_for_one_invitation(self, web: WebHub) -> None:
        survey = start(web, invited=True)
        code = invite(web, survey)
        request = TokenRequest()
        answer = self.ask(web, survey, code, request.text)
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers
        token = request.finish(answer.json()["response"], survey.plan().token_key)
        assert self.ask(web, survey, code, TokenRequest().text).status_code == 409
        report = simulate(survey.plan(), 1)[0]
        with_token = report.to_json().replace(
            f'"n":"{report.number}"', f'"n":"{token[:32]}","t":"{token[32:]}"'
        )
        client = person(web)
        assert client.post(f"/s/{survey.id}/reports", content=with_token).status_code == 202
        assert client.post(f"/s/{survey.id}/reports", content=with_token).status_code == 409
        with web.site.db.reading() as c:
            kept = c.rows(sa.select(survey_reports).where(survey_reports.c.survey == survey.id))
            invited = c.rows(
                sa.select(survey_invitations).where(survey_invitations.c.survey == survey.id)
            )
        assert token[32:] not in str(dict(kept[0]))
        assert kept[0]["number"] not in str(dict(invited[0]))

    def test_forged_tokens_are_refused(self, web: WebHub) -> None:
        survey = start(web, invited=True)
        other = TokenIssuer.create()
        request = TokenRequest()
        foreign = request.finish(other.issue(request.text), other.public_key)
        report = simulate(survey.plan(), 1)[0].to_json()
        number = json.loads(report)["n"]
        client = person(web)
        for token in (foreign, number + "0" * 32):
            line = report.replace(f'"n":"{number}"', f'"n":"{token[:32]}","t":"{token[32:]}"')
            answer = client.post(f"/s/{survey.id}/reports", content=line)
            assert (answer.status_code, answer.json()["reason"]) == (422, "no token")
        assert client.post(f"/s/{survey.id}/reports", content=report).status_code == 422
        assert count(web, survey) == 0

    @pytest.mark.parametrize(
        ("code", "request_"),
        [(1, 2), ("x", "zz"), ("x", None), ("\ud800", "00"), ("", ""), ("x", "0" * 500)],
    )
    def test_what_is_no_request_is_refused(self, web: WebHub, code: Any, request_: Any) -> None:
        survey = start(web, invited=True)
        answer = self.ask(web, survey, code, request_)
        assert answer.status_code in (403, 422)
        assert answer.json()["problem"]

    def test_an_invitation_of_another_survey_counts_for_nothing(self, web: WebHub) -> None:
        survey, other = start(web, invited=True), start(web, invited=True)
        code = invite(web, other)
        assert self.ask(web, survey, code, TokenRequest().text).status_code == 403
        assert self.ask(web, other, code, TokenRequest().text).status_code == 200
        assert survey.plan().token_key != other.plan().token_key


class TestMakers:
    """The maker's pages, and nobody else's."""

    def fields(self, **changes: str) -> dict[str, str]:
        values = {"title": "Sleep", "items": LINES, "epsilons": "2, 0.5", "persons": "1000"}
        return values | {"invited": "no"} | changes

    def test_a_survey_is_made_and_a_mistake_stays_in_the_form(self, web: WebHub) -> None:
        mary = web.client("mary")
        wrong = mary.send("/surveys/new", self.fields(items="smoker = what"))
        assert wrong.status_code == 422
        assert "neither a list" in wrong.text
        assert "smoker = what" in wrong.text
        made = mary.send("/surveys/new", self.fields(title="A new survey"))
        assert made.status_code == 200
        assert "This is a draft" in made.text
        assert "A new survey" in mary.get("/surveys").text

    def test_the_form_foretells_the_error(self, web: WebHub) -> None:
        mary = web.client("mary")

        def error(persons: int) -> float:
            page = mary.client.get("/surveys/new", params=self.fields(persons=str(persons))).text
            found = re.search(r"Error, one item</dt><dd>([\d.]+)%", page)
            assert found is not None
            return float(found[1])

        assert error(100_000) < error(1_000)

    def test_others_find_nothing(self, web: WebHub) -> None:
        survey = start(web)
        otto = web.client("otto")
        for path in ("", "/estimates"):
            assert otto.get(f"/surveys/{survey.id}{path}").status_code == 404
        for step in ("open", "close", "invite", "table"):
            sent = otto.send(
                "/surveys/new", {"persons": "3"}, action=f"/surveys/{survey.id}/{step}"
            )
            assert sent.status_code == 404, step
        assert survey.title not in otto.get("/surveys").text
        nobody = web.client().client
        answer = nobody.get(f"/surveys/{survey.id}", follow_redirects=False)
        assert answer.status_code == 303
        assert web.client("ada").get(f"/surveys/{survey.id}").status_code == 200

    def test_a_form_from_elsewhere_changes_nothing(self, web: WebHub) -> None:
        survey = start(web)
        mary = web.client("mary").client
        for step in ("close", "invite", "table"):
            assert (
                mary.post(f"/surveys/{survey.id}/{step}", data={"persons": "1"}).status_code == 403
            )
        with web.site.db.reading() as c:
            assert surveys.read_survey(c, survey.id).state == "open"

    def test_estimates_as_json(self, web: WebHub) -> None:
        survey = start(web)
        with web.site.db.transaction() as c:
            write_batch(c, [(survey.id, simulate(survey.plan(), 500))])
            surveys.close_survey(c, web.people["mary"].id, survey.id)
        mary = web.client("mary")
        document = mary.get(f"/surveys/{survey.id}/estimates").json()
        assert document["reports"] == 500
        page = mary.get(f"/surveys/{survey.id}").text
        smoker = next(item for item in document["items"] if item["name"] == "smoker")
        for one in smoker["answers"]:
            assert f"{one['share']:.1%} ± {2 * one['standard_deviation']:.1%}" in page

    def test_codes_are_shown_once(self, web: WebHub) -> None:
        survey = start(web, invited=True)
        mary = web.client("mary")
        page = mary.send("/surveys/new", {"persons": "3"}, action=f"/surveys/{survey.id}/invite")
        codes = re.findall(rf"/s/{survey.id}#(\S+)", page.text)
        assert len(set(codes)) == 3
        assert codes[0] not in mary.get(f"/surveys/{survey.id}").text
        path = web.site.db.path
        assert path is not None
        for one in path.parent.iterdir():
            if one.is_file():
                assert codes[0].encode() not in one.read_bytes()

    @pytest.mark.parametrize("survey", ["x", "../etc", "%00", "a" * 200, "nothing"])
    def test_hostile_ids(self, web: WebHub, survey: str) -> None:
        mary = web.client("mary")
        for path in (f"/surveys/{survey}", f"/s/{survey}", f"/s/{survey}/plan"):
            assert mary.get(path).status_code in (404, 422)
        assert person(web).post(f"/s/{survey}/reports", content="x").status_code in (404, 405, 422)


def test_the_scripts_of_the_page_are_those_of_the_local_room(web: WebHub) -> None:
    from understudy.local.forms import read_resource

    for name in ("client.js", "wording.js", "tokens.js"):
        served = person(web).get(f"/static/{name}")
        assert served.text == read_resource(name)
