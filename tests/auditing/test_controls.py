"""Every method that is broken on purpose is flagged at 99.9 % confidence, and none that is
sound.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from running import run
from understudy.auditing import Finding, audit
from understudy.auditing.control import Control
from understudy.auditing.controls import controls, sound_controls

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
audit_page = pytest.importorskip("audit_page")

RUNS = 4000
BROKEN = controls()
SOUND = [control for epsilon in (0.1, 1.0, 5.0) for control in sound_controls(epsilon)]


def test_there_are_enough_from_every_source() -> None:
    assert len(BROKEN) >= 45
    assert len({control.name for control in BROKEN}) == len(BROKEN)
    sources = {word for control in BROKEN for word in control.source.replace(",", "").split()}
    tools = {"dpmm", "DataSynthesizer", "synthcity", "dpsynth", "smartnoise-synth", "reprosyn"}
    assert {"thesis", "Aalborg", "book"} | tools <= sources


@pytest.mark.parametrize("control", BROKEN, ids=lambda control: control.name)
def test_a_broken_method_is_flagged(control: Control) -> None:
    if control.least:
        expected = "wasteful"
    else:
        expected = "broken"
    assert control.finding(RUNS, seed=1).verdict == expected


@pytest.mark.parametrize(
    "control", SOUND, ids=lambda control: f"{control.name} at {control.claimed:g}"
)
def test_a_sound_method_is_not(control: Control) -> None:
    assert control.finding(RUNS, seed=1).verdict == "kept"


def test_the_audit_of_the_controls_passes_when_all_are_flagged() -> None:
    result = audit("controls", seed=1)
    assert result.verdict == "all flagged"
    assert result.measured > 1


@pytest.mark.thorough
def test_the_command_prints_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "audit.svg"
    ran = run("audit", "doors", "--epsilon", "1", "--plot", picture, columns=200)
    assert ran.status == 0, ran.err
    assert "Claimed 1. Measured 1: kept" in ran.out
    assert "In mu, where all noise is Gaussian: claimed 0.221, measured 0.221" in ran.out
    drawn = ET.fromstring(picture.read_text())
    assert len(drawn.findall("{http://www.w3.org/2000/svg}rect")) == 1 + len(audit("doors").details)


def test_the_command_refuses_what_makes_no_sense(tmp_path: Path) -> None:
    assert run("audit", "magic").status == 2
    assert run("audit", "doors", "--runs", "1").status == 2
    assert run("audit", "doors", "--plot", tmp_path / "nowhere" / "audit.svg").status == 2


PAGE = """before
<!-- audit:sound -->
old
<!-- /audit -->
between
<!-- audit:costs -->
<!-- /audit -->
after
"""


@pytest.mark.thorough
def test_the_tables_of_the_page_are_replaced(tmp_path: Path) -> None:
    page = tmp_path / "audit.md"
    page.write_text(PAGE)
    [made] = audit_page.regenerate([page], 200, kept=tmp_path / "kept")
    text = page.read_text()
    assert not made.failed
    assert "old" not in text
    assert text.startswith("before\n<!-- audit:sound -->\n\n| subject |")
    assert "confidence.\n\n<!-- /audit -->\nbetween\n<!-- audit:costs -->\n\n| table |" in text
    assert text.endswith("<!-- /audit -->\nafter\n")


class Made:
    """Tables that are made at once, and how often each was."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.stop_at = ""

    def tables(self, runs: int) -> dict[str, Callable[[], str]]:
        return {name: partial(self.make, name, runs) for name in ("one", "two", "three")}

    def make(self, name: str, runs: int) -> str:
        if name == self.stop_at:
            raise KeyboardInterrupt
        self.names.append(name)
        return f"| {name} of {runs} | kept |\n"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    found = Made()
    monkeypatch.setattr(audit_page, "tables", found.tables)
    monkeypatch.setattr(audit_page, "digest_code", lambda: "first")
    return found


@pytest.fixture
def page(tmp_path: Path) -> Path:
    names = ("one", "two", "three", "costs")
    path = tmp_path / "page.md"
    path.write_text("".join(f"<!-- audit:{name} -->\nold\n<!-- /audit -->\n" for name in names))
    return path


def test_a_stopped_audit_goes_on_where_it_was(made: Made, page: Path, tmp_path: Path) -> None:
    made.stop_at = "two"
    with pytest.raises(KeyboardInterrupt):
        audit_page.regenerate([page], 50, kept=tmp_path / "kept")
    assert "one of 50" in page.read_text()
    assert page.read_text().count("old") == 2
    made.stop_at = ""
    audit_page.regenerate([page], 50, kept=tmp_path / "kept")
    assert made.names == ["one", "two", "three"]
    assert "old" not in page.read_text()
    assert page.read_text().count("| `first` | 50 |") == 3


def test_a_table_of_other_code_or_runs_is_made_again(
    made: Made, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit_page.regenerate([page], 50, kept=tmp_path / "kept")
    audit_page.regenerate([page], 60, ["two"], kept=tmp_path / "kept")
    assert made.names == ["one", "two", "three", "two"]
    monkeypatch.setattr(audit_page, "digest_code", lambda: "second")
    audit_page.regenerate([page], 60, ["two"], kept=tmp_path / "kept")
    audit_page.regenerate([page], 60, ["two"], kept=tmp_path / "kept", again=True)
    assert made.names[4:] == ["two", "two"]
    assert "| one | `first` | 50 |" in page.read_text()
    assert "| two | `second` | 60 |" in page.read_text()


def test_code_is_told_apart_by_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = audit_page.digest_code()
    assert audit_page.digest_code() == here
    monkeypatch.setattr(audit_page, "ROOT", tmp_path)
    monkeypatch.setattr(audit_page, "__file__", str(tmp_path / "audit_page.py"))
    (tmp_path / "audit_page.py").write_text("")
    (tmp_path / "src" / "deep").mkdir(parents=True)
    seen = {audit_page.digest_code()}
    (tmp_path / "src" / "deep" / "a.py").write_text("x = 1\n")
    seen.add(audit_page.digest_code())
    (tmp_path / "src" / "deep" / "a.py").write_text("x = 2\n")
    seen.add(audit_page.digest_code())
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("name", "verdict", "failed"),
    [
        ("doors", "kept", False),
        ("doors", "kept; too few runs at 5", False),
        ("doors", "broken", True),
        ("mechanisms", "wasteful", True),
        ("controls", "broken", False),
        ("controls", "kept", True),
        ("controls", "too few runs", True),
    ],
)
def test_the_audit_fails_where_a_promise_is_broken(name: str, verdict: str, failed: bool) -> None:
    text = f'| subject | |\n|---|---|\n| x | {verdict} |\n| y | {verdict} |\n\n"Runs": 9.\n'
    made = audit_page.Made(name=name, text=text, runs=9, code="", seconds=0.0)
    assert made.failed is failed


@pytest.mark.parametrize(
    ("limits", "verdict"),
    [
        ((9, 9), "kept"),
        ((9, 4), "kept; too few runs at 5"),
        ((0.5, 4), "too few runs"),
        ((9, 0), "broken"),
    ],
)
def test_the_page_says_where_runs_are_too_few(limits: tuple[float, float], verdict: str) -> None:
    measured = 6.0 if verdict == "broken" else 0.0
    claims = dict(zip((1.0, 5.0), limits, strict=True))
    findings = {
        claim: Finding("x", "", "runs", claim, measured, limit=limit)
        for claim, limit in claims.items()
    }
    assert audit_page._verdict(findings) == verdict


def test_there_is_a_place_for_every_table() -> None:
    docs = TOOLS.parent / "docs"
    pages = [(docs / name).read_text() for name in ("audit.md", "attacks.md")]
    for name in audit_page.tables(10):
        assert sum(f"<!-- audit:{name} -->" in page for page in pages) == 1, name


@pytest.mark.thorough
def test_the_tables_of_the_membership_game_are_at_hand() -> None:
    for table, schema in audit_page.real_tables().values():
        assert {attribute.name for attribute in schema.attributes} <= set(table.columns)
