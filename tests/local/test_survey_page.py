"""The survey as a page in a real browser: on a telephone, by keyboard, without a network."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from surveys import ask, small_plan

from chromium import CHROMIUM, open_chromium
from running import run
from understudy.local.collecting import collect_reports
from understudy.local.page import survey_page, write_page
from understudy.local.plans import CollectionPlan, plan_all_pairs
from understudy.local.reports import REPORT_LINE

browser_tests = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "local.md"
TITLE = 'Health & <script>alert("x")</script> "habits"'
WORDING = {"age": "How old are you?", "town": "Where do you live? </script>"}


def make_plan(epsilons: tuple[float, ...] = (2.0, 0.5)) -> CollectionPlan:
    plan = plan_all_pairs(small_plan().schema, epsilons)
    return CollectionPlan.from_dict(plan.to_dict() | {"title": TITLE, "wording": WORDING})


PLAN = make_plan()


def test_nothing_of_a_plan_can_break_out_of_the_page() -> None:
    page = survey_page(PLAN)
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "&lt;script&gt;" in page
    assert "{{" not in page.replace("${{", "")


def test_a_page_names_no_address_but_the_one_to_post_to() -> None:
    assert "http" not in survey_page(PLAN).replace("http-equiv", "")
    page = survey_page(PLAN, "https://survey.example.org/reports")
    assert "connect-src https://survey.example.org;" in page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with open_chromium() as chromium:
        yield chromium


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    folder = Path(os.environ.get("UNDERSTUDY_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    write_page(PLAN, folder / "survey.html")
    return folder / "survey.html"


def open_page(browser: Any, path: Path, width: int = 390) -> Any:
    context = browser.new_context(viewport={"width": width, "height": 844}, accept_downloads=True)
    page = context.new_page()
    page.complaints = []
    page.asked = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(path.as_uri())
    return page


def fill(page: Any) -> None:
    page.get_by_label("How old are you?").fill("34")
    page.get_by_role("group", name="sex").get_by_label("female").check()
    page.get_by_role("group", name="smoker").get_by_label("Yes").check()
    page.get_by_role("group", name="Where do you live?").get_by_label("Cork").check()
    page.get_by_label("height").fill("1.75")
    page.get_by_label("born").fill("1990-05-17")


def overflow(page: Any) -> int:
    return int(
        page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    )


def _block_of_docs(language: str, title: str) -> str:
    text = TUTORIAL.read_text(encoding="utf-8")
    return text.partition(f'```{language} title="{title}"\n')[2].partition("```")[0]


class TestInABrowser:
    """One page, from its first look to a report that is collected."""

    pytestmark = browser_tests

    @pytest.mark.parametrize("width", [390, 1280])
    def test_a_person_answers_and_sees_what_leaves(
        self, width: int, browser: Any, survey: Path
    ) -> None:
        page = open_page(browser, survey, width)
        assert page.title() == TITLE
        assert "at most 7.4 times as likely" in page.inner_text("#promise")
        assert "at most 89 % sure" in page.inner_text("#promise")
        page.screenshot(path=survey.with_name(f"form-{width}.png"), full_page=True)
        assert overflow(page) <= 0
        page.click("#make")
        assert "How old are you?" in page.inner_text("#problem")
        assert page.evaluate("document.activeElement.name") == "column-0"
        fill(page)
        page.get_by_label("Epsilon 0.5").check()
        assert "at most 1.7 times as likely" in page.inner_text("#promise")
        page.click("#make")
        line = page.inner_text("#report")
        page.screenshot(path=survey.with_name(f"report-{width}.png"), full_page=True)
        assert overflow(page) <= 0
        assert REPORT_LINE.fullmatch(line.encode())
        assert json.loads(line)["e"] == 1
        assert page.evaluate("document.activeElement.id") == "result-heading"
        assert not page.is_visible("#answers")
        with page.expect_download() as download:
            page.click("#save")
        saved = survey.with_name("report.jsonl")
        download.value.save_as(saved)
        assert saved.read_text() == line + "\n"
        collected = collect_reports(PLAN, [saved])
        assert (collected.reports, collected.rejected) == (1, {})
        assert page.complaints == []
        # The page itself and the file that was saved; nothing from elsewhere.
        assert {url.partition(":")[0] for url in page.asked} <= {"file", "blob"}
        page.context.close()

    def test_a_second_report_is_the_first_one(self, browser: Any, survey: Path) -> None:
        page = open_page(browser, survey)
        fill(page)
        page.click("#make")
        line = page.inner_text("#report")
        page.reload()
        assert page.inner_text("#report") == line
        assert "You have made this report before" in page.inner_text("#notes")
        assert not page.is_visible("#answers")
        page.context.close()

    def test_another_tab_gives_the_same_report(self, browser: Any, survey: Path) -> None:
        page = open_page(browser, survey)
        other = page.context.new_page()
        other.goto(survey.as_uri())
        for tab in (page, other):
            fill(tab)
        page.click("#make")
        other.click("#make")
        assert other.inner_text("#report") == page.inner_text("#report")
        assert "You have made this report before" in other.inner_text("#notes")
        page.context.close()

    def test_answers_are_not_kept(self, browser: Any, survey: Path) -> None:
        page = open_page(browser, survey)
        fill(page)
        page.click("#make")
        kept = page.evaluate("JSON.stringify(localStorage)")
        line = page.inner_text("#report")
        assert json.loads(kept) == {f"understudy.survey.{PLAN.survey}": line}
        assert page.input_value("#column-0") == ""
        page.context.close()

    def test_the_keyboard_suffices(self, browser: Any, survey: Path) -> None:
        page = open_page(browser, survey)
        keys = page.keyboard
        keys.press("Tab")
        keys.type("34")
        for _ in range(3):  # sex, smoker, town: the first of each
            keys.press("Tab")
            keys.press("Space")
        keys.press("Tab")
        keys.type("1.75")
        keys.press("Tab")
        keys.type("05171990")
        while page.evaluate("document.activeElement.name") != "level":
            keys.press("Tab")
        keys.press("ArrowDown")
        keys.press("Tab")  # past the code of an invitation
        keys.press("Tab")
        assert page.evaluate("document.activeElement.id") == "make"
        keys.press("Enter")
        assert json.loads(page.inner_text("#report"))["e"] == 1
        keys.press("Tab")
        keys.press("Tab")
        assert page.evaluate("document.activeElement.id") == "save"
        page.context.close()

    def test_a_token_is_the_number_of_the_report(self, browser: Any, survey: Path) -> None:
        page = open_page(browser, survey)
        fill(page)
        page.fill("#token", "abc")
        page.click("#make")
        assert "The code has 32 digits" in page.inner_text("#problem")
        page.fill("#token", "AB12 " * 8)
        page.click("#make")
        assert json.loads(page.inner_text("#report"))["n"] == "ab12" * 8
        page.context.close()

    def test_a_token_that_is_needed_is_asked_for(self, browser: Any, tmp_path: Path) -> None:
        write_page(small_plan(questions=(ask("sex"),), token_key="ab" * 32), tmp_path / "s.html")
        page = open_page(browser, tmp_path / "s.html")
        page.get_by_label("male", exact=True).check()
        page.click("#make")
        assert "The code has 64 digits" in page.inner_text("#problem")
        page.fill("#token", "12" * 16 + "34" * 16)
        page.click("#make")
        report = json.loads(page.inner_text("#report"))
        assert (report["n"], report["t"]) == ("12" * 16, "34" * 16)
        page.context.close()

    def test_a_report_is_posted_once_the_person_agrees(self, browser: Any, tmp_path: Path) -> None:
        got: list[tuple[dict[str, str], bytes]] = []

        class Collecting(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                got.append((dict(self.headers), body))
                self.send_response(200)
                self.send_header("Access-Control-Allow-Origin", "*")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Collecting)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            write_page(PLAN, tmp_path / "s.html", f"http://127.0.0.1:{server.server_port}/r")
            page = open_page(browser, tmp_path / "s.html")
            fill(page)
            page.click("#make")
            assert got == []
            page.click("#send")
            page.get_by_text("Sent. Thank you.").wait_for()
            [(headers, body)] = got
            assert body.decode() == page.inner_text("#report") + "\n"
            assert {"Cookie", "Referer"}.isdisjoint(headers)
            page.context.close()
        finally:
            server.shutdown()

    @pytest.mark.skipif(not TUTORIAL.is_file(), reason="the docs are not here")
    def test_the_tutorial_in_a_browser(
        self, browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The questionnaire of the docs: three persons answer in browsers of their own, 2,000 are
        simulated, and a synthetic table comes out.
        """
        monkeypatch.chdir(tmp_path)
        for title in ("survey.json", "wording.json"):
            Path(title).write_text(_block_of_docs("json", title))
        exec(compile(_block_of_docs("python", "make up 2,000 persons"), "docs", "exec"), {})
        steps = [
            "plan survey.json --epsilon 2 --persons 2000 --wording wording.json -o plan.json",
            "page plan.json -o survey.html",
            "simulate plan.json people.csv -o reports.jsonl",
        ]
        for step in steps:
            ran = run("local", *step.split())
            assert ran.status == 0, ran.err
        wording = json.loads(Path("wording.json").read_text())
        for person in range(3):
            page = open_page(browser, tmp_path / "survey.html")
            page.get_by_label(wording["age"]).fill(str(30 + person))
            page.get_by_role("group", name=wording["department"]).get_by_label("field").check()
            page.get_by_role("group", name=wording["drinks"]).get_by_label("Yes").check()
            page.click("#make")
            with page.expect_download() as download:
                page.click("#save")
            download.value.save_as(tmp_path / "handed in" / f"{person}.jsonl")
            assert page.complaints == []
            page.context.close()
        ran = run(
            *("local", "collect", "plan.json", "reports.jsonl", "handed in", "-o", "tables.json")
        )
        assert "2,003 reports counted" in ran.err
        assert "not counted" not in ran.err
        ran = run("synthesize", "--reports", "tables.json", "-o", "synthetic.csv")
        assert ran.status == 0, ran.err
        header, *rows = Path("synthetic.csv").read_text().splitlines()
        assert header == "age,department,drinks,sleeps_well"
        assert len(rows) == 2_003

    def test_a_page_with_one_level_asks_for_none(self, browser: Any, tmp_path: Path) -> None:
        plan = small_plan(questions=(ask("sex"),))
        write_page(plan, tmp_path / "s.html")
        page = open_page(browser, tmp_path / "s.html")
        assert not page.is_visible("#levels")
        assert page.locator(".question").count() == 1
        page.get_by_label("male", exact=True).check()
        page.click("#make")
        said = page.inner_text("#meaning")
        assert "sex" in said
        assert "(which may or may not be true)" in said
        page.context.close()
