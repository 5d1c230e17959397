"""The maker's and the person's whole story, in the real Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_stories import (
    CHROMIUM,
    look,
    new_page,
    serve_hub,
    sign_in,
    wait_for_text,
)
from survey_stories import LINES, simulate

from understudy.hub import surveys
from understudy.hub.survey_intake import write_batch
from understudy.hub.worker import Worker

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Any]:
    with serve_hub(tmp_path / "hub", "mary", "otto") as served:
        yield served


def make_by_hand(page: Any, address: str, *, invited: bool) -> str:
    """A survey, made on its page and opened; its id."""
    page.goto(f"{address}/surveys/new")
    page.get_by_label("Title").fill("Sleep and smoke")
    page.get_by_label("What persons read first").fill("A study of the university.")
    page.get_by_label("Items").fill(LINES.strip())
    page.get_by_label("Levels of privacy").fill("2, 0.5")
    page.get_by_label("About how many persons").fill("3000")
    if not invited:
        page.get_by_label("Whoever has the link").check()
    page.wait_for_selector("#expected dd")
    page.get_by_role("button", name="Make a draft").click()
    page.get_by_role("button", name="Open the survey").click()
    page.wait_for_selector("button.danger")
    return str(page.url.rpartition("/")[2].partition("?")[0])


def fill(page: Any) -> None:
    page.get_by_role("group", name="Do you smoke?").get_by_label("no").check()
    page.get_by_label("How many hours do you sleep?").fill("7")
    page.get_by_role("group", name="town").get_by_label("Cork").check()


def open_survey(page: Any, link: str) -> None:
    page.goto(link)
    page.wait_for_selector("#survey[data-ready]")


def test_a_person_answers_by_invitation_and_twice_counts_once(hub: Any, browser: Any) -> None:
    web, address = hub
    maker = new_page(browser)
    sign_in(maker, address, "mary")
    survey = make_by_hand(maker, address, invited=True)
    maker.get_by_label("Invite this many persons").fill("2")
    maker.get_by_role("button", name="Make invitations").click()
    look(maker, "survey-invitations")
    links = maker.input_value("#codes").split()
    assert len(links) == 2
    assert all(link.startswith(f"{address}/s/{survey}#") for link in links)

    person = new_page(browser, 390)
    sent: list[Any] = []
    person.on("request", lambda request: sent.append((request.url, request.post_data)))
    open_survey(person, links[0])
    assert person.context.cookies() == []
    look(person, "survey-person")
    person.get_by_role("button", name="Make my report").click()
    assert "Do you smoke?" in person.inner_text("#problem")
    assert not [url for url, data in sent if data]  # nothing left the page
    fill(person)
    assert person.is_hidden("#problem"), "all that was wrong is put right"
    person.get_by_label("Let me choose for each question").check()
    for place in range(3):
        person.select_option(f"#level-{place}", "1")
    look(person, "survey-person-levels")
    person.get_by_role("button", name="Make my report").click()
    person.wait_for_selector("#result:not([hidden])")
    look(person, "survey-report")
    posted = [(url, data) for url, data in sent if data]
    assert [url.rpartition("/")[2] for url, _ in posted] == ["token"]
    line = person.inner_text("#report")
    report = json.loads(line)
    assert report["e"] == 1  # the level that was chosen for each item
    assert report["n"] not in posted[0][1]
    assert set(report) == {"v", "p", "q", "e", "r", "n", "t"}

    # Another tab of the same browser shows the same report, and asks for no second token.
    tab = person.context.new_page()
    open_survey(tab, links[0])
    tab.wait_for_selector("#result:not([hidden])")
    assert tab.inner_text("#report") == line
    person.get_by_role("button", name="Send").click()
    wait_for_text(person, "#status", lambda text: text.startswith("Sent"))
    assert sent[-1][1].strip() == line  # what was shown is what was sent
    tab.get_by_role("button", name="Send").click()
    wait_for_text(tab, "#status", lambda text: "counts once" in text)

    # Another browser with the same invitation gets no token.
    other = new_page(browser, 390)
    open_survey(other, links[0])
    fill(other)
    other.get_by_role("button", name="Make my report").click()
    other.wait_for_selector("#problem:not([hidden])")
    assert "used already" in other.inner_text("#problem")
    with web.site.db.reading() as c:
        assert surveys.count_reports(c, survey) == 1
        assert surveys.count_invitations(c, survey) == (2, 1)
    assert not person.complaints
    assert not maker.complaints


def test_an_answer_that_gets_lost_costs_no_invitation(hub: Any, browser: Any) -> None:
    web, address = hub
    maker = new_page(browser)
    sign_in(maker, address, "mary")
    survey = make_by_hand(maker, address, invited=True)
    maker.get_by_label("Invite this many persons").fill("1")
    maker.get_by_role("button", name="Make invitations").click()
    person = new_page(browser, 390)

    def lose_answer(route: Any) -> None:
        route.fetch()  # the hub has answered, and nobody hears it
        route.abort()

    person.route("**/token", lose_answer)
    open_survey(person, maker.input_value("#codes").split()[0])
    fill(person)
    person.get_by_role("button", name="Make my report").click()
    person.wait_for_selector("#problem:not([hidden])")
    with web.site.db.reading() as c:
        assert surveys.count_invitations(c, survey) == (1, 1)
    person.unroute("**/token")
    person.get_by_role("button", name="Make my report").click()
    person.wait_for_selector("#result:not([hidden])")
    person.get_by_role("button", name="Send").click()
    wait_for_text(person, "#status", lambda text: text.startswith("Sent"))


def test_a_token_that_another_key_made_is_refused_by_the_page(hub: Any, browser: Any) -> None:
    _, address = hub
    maker = new_page(browser)
    sign_in(maker, address, "mary")
    make_by_hand(maker, address, invited=True)
    maker.get_by_label("Invite this many persons").fill("1")
    maker.get_by_role("button", name="Make invitations").click()
    link = maker.input_value("#codes").split()[0]
    person = new_page(browser, 390)

    def answer_with_another_key(route: Any) -> None:
        from understudy.local.blind_tokens import TokenIssuer

        asked = json.loads(route.request.post_data)["request"]
        route.fulfill(json={"response": TokenIssuer.create().issue(asked)})

    person.route("**/token", answer_with_another_key)
    open_survey(person, link)
    fill(person)
    person.get_by_role("button", name="Make my report").click()
    person.wait_for_selector("#problem:not([hidden])")
    assert "could tell persons apart" in person.inner_text("#problem")
    assert person.is_hidden("#result")


def test_the_makers_story_from_the_form_to_the_table(hub: Any, browser: Any) -> None:
    web, address = hub
    page = new_page(browser)
    sign_in(page, address, "mary")
    page.goto(f"{address}/surveys")
    look(page, "surveys-empty")
    page.goto(f"{address}/surveys/new")
    look(page, "survey-new")
    survey = make_by_hand(page, address, invited=False)
    look(page, "survey-open")
    with web.site.db.transaction() as c:
        plan = surveys.read_survey(c, survey).plan()
        write_batch(c, [(survey, simulate(plan, 800))])
    wait_for_text(page, "#progress dd", lambda text: text == "775")
    first = page.locator("#progress dd").nth(3).inner_text()
    with web.site.db.transaction() as c:
        write_batch(c, [(survey, simulate(plan, 2_000, seed=2))])
    wait_for_text(page, "#progress dd", lambda text: text == "2,775")
    second = page.locator("#progress dd").nth(3).inner_text()
    assert float(second.rstrip("%")) < float(first.rstrip("%"))
    page.reload()
    assert page.locator("#estimates .shares").count() == 3
    look(page, "survey-estimates")
    page.get_by_role("button", name="Close the survey").click()
    assert page.locator("#progress dd").first.inner_text() == "2,800"
    look(page, "survey-closed-first")
    page.get_by_label("Other persons to expect").fill("500")
    page.get_by_role("button", name="Open wave 2").click()
    assert "Reports of wave 2" in page.inner_text("#progress")
    with web.site.db.transaction() as c:
        second = surveys.read_survey(c, survey).plan()
        write_batch(c, [(survey, simulate(second, 400, seed=3))])
    wait_for_text(page, "#progress dd", lambda text: text == "375")
    look(page, "survey-second-wave")
    page.get_by_role("button", name="Close the survey").click()
    page.get_by_role("button", name="Make a synthetic table").dblclick()
    page.get_by_text("waiting for a worker").wait_for()
    look(page, "survey-table-queued")
    assert Worker(web.site.opened).step()
    page.get_by_role("link", name="Open the release").wait_for(timeout=60_000)
    look(page, "survey-closed")
    page.get_by_role("link", name="Open the release").click()
    page.wait_for_load_state("load")
    assert "synthetic table" in page.inner_text("main")
    look(page, "survey-release")
    with web.site.db.reading() as c:
        found = surveys.read_survey(c, survey)
        assert found.state == "closed"
    person = new_page(browser, 390)
    person.goto(f"{address}/s/{survey}")
    assert "takes no answers now" in person.inner_text("main")
    look(person, "survey-closed-person")

    stranger = new_page(browser)
    sign_in(stranger, address, "otto")
    stranger.goto(f"{address}/surveys/{survey}")
    assert "no such survey" in stranger.inner_text("main")
    assert not page.complaints
