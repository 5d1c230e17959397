"""The API reference names everything that is public, and tables in the docs are the registry's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import understudy

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the docs are not here")


def test_every_public_name_has_a_place_in_the_reference() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    documented = re.findall(r"^::: understudy\.(\w+)$", pages, re.MULTILINE)
    assert sorted(documented) == sorted(understudy.__all__)


def test_tables_of_methods_are_current() -> None:
    command = [sys.executable, str(ROOT / "tools" / "docs_tables.py"), "--check"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def pages_of(entry: object) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    if isinstance(entry, dict):
        return [page for below in entry.values() for page in pages_of(below)]
    assert isinstance(entry, list)
    return [page for below in entry for page in pages_of(below)]


def test_navigation_has_four_groups_and_reaches_every_page_once() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    groups = [name for group in settings["nav"] for name in group]
    assert groups == ["Start", "How-to", "Understand", "Reference"]
    there = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    assert sorted(pages_of(settings["nav"])) == there
