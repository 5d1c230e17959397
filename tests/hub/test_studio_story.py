"""The whole story of the studio, in the real Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_stories import CHROMIUM, look, new_page, wait_for_text
from studio_stories import SECRET, make_studio, serve, write_wide

from understudy.models.model import Model

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]


def test_from_the_link_to_the_command_line(browser: Any, tmp_path: Path) -> None:
    studio = make_studio(tmp_path)
    with serve(studio) as server:
        page = new_page(browser)
        page.goto(server.door.address)
        look(page, "studio-unit")
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("button", name="Take all suggestions").click()
        look(page, "studio-columns")
        assert SECRET not in page.content()
        page.get_by_label("Tick score_1").check()
        page.get_by_label("Tick score_2").click(modifiers=["Shift"])
        page.get_by_label("What all ticked columns hold").select_option("integer")
        page.get_by_label("Range or values of all ticked").fill("0..5")
        page.get_by_role("button", name="Describe alike").click()
        page.get_by_label("pattern of sex").fill("M|F")
        page.get_by_label("What smoker holds").select_option("boolean")
        page.get_by_label("pattern of smoker").fill("no|yes")
        page.get_by_label("pattern of age").fill("banana")
        page.get_by_label("pattern of age").press("Enter")
        page.wait_for_selector(".problem")
        page.wait_for_selector("[name=facts-1]:focus")
        look(page, "studio-columns-wrong")
        page.get_by_label("pattern of age").fill("18..100")
        page.get_by_label("pattern of age").press("ArrowDown")
        assert page.evaluate("document.activeElement.name") == "facts-2"
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Save and go to the budget").click()
        page.get_by_label("About how many rows").fill("600")
        look(page, "studio-budget")
        before = page.text_content("#expected")
        page.get_by_label("Epsilon", exact=True).fill("2")
        wait_for_text(page, "#expected", lambda text: text != before)
        page.get_by_role("button", name="See the price").click()
        look(page, "studio-price")
        page.get_by_role("button", name="Spend epsilon 2").dblclick()
        page.wait_for_url("**/result", timeout=60_000)
        look(page, "studio-result")
        assert "understudy synthesize" in page.inner_text("#command")
        with page.expect_download() as saved:
            page.get_by_role("link", name="Model").click()
        assert Model.load(saved.value.path()).ledger.promise() == (2.0, 0.0)
        page.get_by_role("button", name="Compare with the real table").click()
        page.wait_for_selector("iframe.tall", timeout=60_000)
        frame = page.frame_locator("iframe.tall")
        assert "For the owner only" in frame.locator("header").inner_text()
        look(page, "studio-comparison")
        assert not page.complaints


def test_a_hundred_columns_on_one_page_by_keyboard(browser: Any, tmp_path: Path) -> None:
    studio = make_studio(tmp_path, write_wide(tmp_path / "wide.csv"))
    with serve(studio) as server:
        page = new_page(browser)
        page.goto(server.door.address)
        page.get_by_role("button", name="Go on").click()
        assert page.locator("#sheet tbody tr").count() == 100
        look(page, "studio-wide")
        page.keyboard.press("/")
        page.keyboard.type("item_")
        assert page.locator("#sheet tbody tr:visible").count() == 97
        page.locator("#tick-all").check()
        assert page.inner_text("#ticked") == "97"
        page.get_by_label("What all ticked columns hold").select_option("integer")
        page.get_by_label("Range or values of all ticked").fill("1..5")
        page.get_by_role("button", name="Describe alike").click()
        page.wait_for_selector(".notice.good")
        page.get_by_role("button", name="Take all suggestions").click()
        page.get_by_label("pattern of country").fill("vocabulary iso-3166-1")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Save and go to the budget").wait_for()
        assert studio.open_columns() == ()


def test_a_stop_is_a_page(browser: Any, tmp_path: Path) -> None:
    studio = make_studio(tmp_path)
    studio.answer("row")
    studio.finish_columns("draft")
    studio.choose({"epsilon": "0.05", "about_rows": "600"})
    with serve(studio) as server:
        page = new_page(browser)
        page.goto(server.door.address)
        page.get_by_role("button", name="See the price").click()
        page.get_by_role("button", name="Spend").click()
        page.get_by_role("heading", name="The release has stopped").wait_for(timeout=60_000)
        look(page, "studio-stop")
        page.get_by_role("link", name="Describe more columns").click()
        page.wait_for_url("**/columns")
