"""The pictures of the page about mechanisms are all there, and can be drawn again."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the docs are not here"),
]
pytest.importorskip("matplotlib")
mechanism_pictures = pytest.importorskip("mechanism_pictures")


def test_every_picture_is_shown_and_every_shown_one_is_drawn() -> None:
    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\(assets/mechanisms/([\w-]+)\.svg\)", page)
    assert sorted(shown) == sorted(mechanism_pictures.PICTURES)
    there = [path.stem for path in (ROOT / "docs/assets/mechanisms").glob("*.svg")]
    assert sorted(there) == sorted(shown)


def test_pictures_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: mechanism_pictures.PICTURES[name] for name in ("geometric", "staircase")}
    monkeypatch.setattr(mechanism_pictures, "PICTURES", few)
    mechanism_pictures.main(tmp_path)
    for name in few:
        assert ET.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")
