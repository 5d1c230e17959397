"""What the Makefile and the pages say of tests and methods, against what there is."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from understudy.synthesizers.registry import DEFAULT, methods

ROOT = Path(__file__).resolve().parents[1]
TIERS = ("test", "test-thorough", "test-slow")
MARKERS = ("slow", "thorough")


def read_selections() -> list[str]:
    """The markers that each tier selects; none of them names files, so they select from all."""
    found = []
    for target in TIERS:
        printed = subprocess.run(
            ["make", "--dry-run", "--always-make", target],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        [line] = [line for line in printed.splitlines() if "-m pytest" in line]
        assert "tests/" not in line
        [selection] = re.findall(r'-m "([^"]+)"', line) or re.findall(r"-m (slow)\b", line)
        found.append(selection)
    return found


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_each_test_is_in_one_tier() -> None:
    selections = read_selections()
    for values in itertools.product((False, True), repeat=len(MARKERS)):
        has = dict(zip(MARKERS, values, strict=True))
        chosen = [
            text
            for text in selections
            if Expression.compile(text).evaluate(lambda name, **_: has[name])  # noqa: B023
        ]
        assert len(chosen) == 1, (has, chosen)


def test_no_page_calls_another_method_the_default() -> None:
    names = "|".join(map(re.escape, methods()))
    claim = re.compile(rf"`?\b({names})\b`? is (?:the|our) default(?: method)?\b", re.IGNORECASE)
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for found in claim.findall(page.read_text(encoding="utf-8")):
            assert found.lower() == DEFAULT, page.name
    assert claim.findall("so `PrivBayes` is the default method")
