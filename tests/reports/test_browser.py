"""The reports in a real browser, at the width of a desk and of a telephone.

Screenshots go to the folder that UNDERSTUDY_SCREENSHOTS names, or into the test's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import attacks, evaluation

from chromium import CHROMIUM, WIDTHS, open_chromium
from examples import schema_of
from understudy import PrivBayes
from understudy.data.tables import Column, Table
from understudy.reports.owner import write_owner_report
from understudy.reports.release import write_report

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_chromium() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One report of each kind; names are long, and one has no place to break."""
    folder = Path(os.environ.get("UNDERSTUDY_SCREENSHOTS") or tmp_path_factory.mktemp("reports"))
    folder.mkdir(parents=True, exist_ok=True)
    names = ("age at the first visit to the clinic", "sex", "x" * 60, "height", "smoker", "town")
    found = evaluation(names, "a value with rather a long label")
    model = _model(names)
    pages = {"owner": folder / "owner.html", "release": folder / "release.html"}
    write_owner_report(found, pages["owner"], model=model, attacks=attacks())
    write_report(model, pages["release"])
    return pages


def _model(names: tuple[str, ...]) -> Any:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 40, 500)
    table = Table(
        {name: Column("integer", (first + rng.integers(0, 5, 500)) % 40) for name in names}
    )
    attributes = {
        name: {"kind": "integer", "min": 0, "max": 39, "bins": 20, "missing": True}
        for name in names
    }
    return PrivBayes(epsilon=50.0).fit(table, schema_of(**attributes), notify=lambda _: None)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["owner", "release"])
def test_a_report_fits_its_window_and_shows_its_pictures(
    kind: str, width: int, browser: Any, reports: dict[str, Path]
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(reports[kind].as_uri())
    page.screenshot(path=reports[kind].with_name(f"{kind}-{width}.png"), full_page=True)

    assert complaints == []
    assert _overflow(page) <= 0
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert _overflow(page) <= 0, "an opened table pushes the page wider than the window"
    boxes = page.eval_on_selector_all(
        "svg", "all => all.map(e => [e.getBoundingClientRect().width, e.clientHeight])"
    )
    assert boxes
    assert all(wide > 50 and high > 20 for wide, high in boxes)
    if kind == "owner":
        banner = page.locator(".banner")
        assert banner.is_visible()
        assert banner.bounding_box()["y"] < 100
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_are_whole_and_apart(width: int, browser: Any, reports: dict[str, Path]) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(reports["owner"].as_uri())
    # Names beside and below a heat map end inside its picture.
    assert page.evaluate(
        """() => [...document.querySelectorAll('.maps svg')].every(svg => {
            const frame = svg.getBoundingClientRect();
            return [...svg.querySelectorAll('text')].every(text => {
                const box = text.getBoundingClientRect();
                return box.left >= frame.left && box.bottom <= frame.bottom;
            });
        })"""
    )
    gaps = page.evaluate(
        """() => [...document.querySelectorAll('.axis i')].flatMap(axis => {
            const ticks = [...axis.querySelectorAll('q')].map(tick => tick.getBoundingClientRect());
            const seen = ticks.filter(box => box.width > 0);
            return seen.slice(1).map((box, place) => box.left - seen[place].right);
        })"""
    )
    assert gaps
    assert min(gaps) >= 4
    hidden = page.eval_on_selector_all(
        ".long span", "all => all.filter(e => e.scrollHeight > e.clientHeight + 1).length"
    )
    assert hidden == 0, "the last name of a line is cut off"
    page.close()


@pytest.mark.parametrize("kind", ["owner", "release"])
def test_on_paper_the_tables_are_open(kind: str, browser: Any, reports: dict[str, Path]) -> None:
    page = browser.new_page(viewport={"width": 800, "height": 900})
    page.goto(reports[kind].as_uri())
    tables = page.locator("details:not([open]) table")
    assert tables.count() > 0
    assert not any(tables.nth(place).is_visible() for place in range(tables.count()))
    page.emulate_media(media="print")
    heights = page.eval_on_selector_all(
        "details table", "all => all.map(e => e.getBoundingClientRect().height)"
    )
    assert all(height > 20 for height in heights)
    page.close()


def _overflow(page: Any) -> int:
    return int(
        page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    )
