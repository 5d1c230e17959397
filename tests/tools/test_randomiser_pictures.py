"""The picture of docs/local-randomisers.md is drawn from what randomisers state."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
randomiser_pictures = pytest.importorskip("randomiser_pictures")

pytestmark = pytest.mark.thorough


def test_the_picture_is_drawn_and_shown(tmp_path: Path) -> None:
    randomiser_pictures.main(tmp_path)
    drawn = (tmp_path / "randomisers.svg").read_text()
    for name in randomiser_pictures.LINES:
        assert name in drawn
    assert "assets/randomisers.svg" in (ROOT / "docs" / "local-randomisers.md").read_text()


def test_deviations_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "local-randomisers.md").read_text()
    for size in (2, 5, 14, 100, 1000):
        cells = [
            f"{randomiser_pictures.deviation(kind, size, 1.0):.2f}"
            for name in (
                "direct encoding",
                "subset selection",
                "optimal unary encoding",
                "optimal hashing",
                "Hadamard response",
                "symmetric unary encoding",
                "thresholds (THE)",
                "sums of Laplace noise (SHE)",
            )
            for kind in [randomiser_pictures.LINES[name][0]]
        ]
        assert f"| {size:,} | {' | '.join(cells)} |" in page
