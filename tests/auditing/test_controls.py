"""Every method that is broken on purpose is flagged at 99.9 % confidence, and none that is
sound.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
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


@pytest.mark.thorough
def test_the_tables_of_the_page_are_replaced(tmp_path: Path) -> None:
    page = tmp_path / "audit.md"
    page.write_text("before\n<!-- audit:sound -->\nold\n<!-- /audit -->\nafter\n")
    audit_page.regenerate(page, 200)
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before\n<!-- audit:sound -->\n\n| subject |")
    assert text.endswith("confidence.\n\n<!-- /audit -->\nafter\n")


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
