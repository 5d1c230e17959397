"""The book's study: its exact figures are Adult's, and its quick version runs from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import book
from study import Options

pytestmark = pytest.mark.thorough


@pytest.mark.data
def test_the_quick_study_runs_and_concludes(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert book.STUDY.main(["--quick", "--data", str(data), "--output", str(tmp_path)]) == 0
    told = json.loads((tmp_path / "conclusions.json").read_text())
    assert set(told) == {"ranges", "pair", "triple"}
    held = {claim["text"]: claim["held"] for part in told.values() for claim in part}
    assert held[
        "Independent columns lose the tie of age and marital status, the two-way marginal keeps it"
    ]
    assert held["One histogram answers them all at one price"]
    assert held["The three-way marginal keeps the three-way table best at the largest epsilon"]
    assert not held["The listing as printed is differentially private"]
    for part in told:
        assert (tmp_path / f"{part}.svg").stat().st_size > 10_000
    assert "did not hold" in capsys.readouterr().out


@pytest.mark.data
def test_the_table_is_the_one_that_the_book_counts(data: Path) -> None:
    options = Options(data, Path(), 1, False, False)
    joint = book.exact(options, book.JOINT)
    assert joint.shape == (100, 7)
    assert joint.sum() == 32_561
    assert joint[44:55].sum() == book.BOOK_TRUTH
    assert joint[51:].sum() == 6_460
    assert joint.sum(axis=0).tolist() == [4443, 23, 14976, 418, 10683, 1025, 993]
    assert (joint > 0).sum() == 396
    assert joint[17, 4] == 393
    assert book.exact(options, book.COLUMNS).shape == (100, 7, 15)


def test_the_listing_as_printed_leaves_empty_cells_empty() -> None:
    truth = np.array([[0.0, 400.0], [1.0, 30_000.0]])
    drawn = [book.printed_rows(truth, 1.0, np.random.default_rng(seed)) for seed in range(50)]
    assert sum(table[0, 0] for table in drawn) == 0
    assert sum(table[1, 0] for table in drawn) > 0
    assert {int(table.sum()) for table in drawn} != {book.ROWS}


def test_distance_is_total_variation() -> None:
    assert book.distance(np.array([3.0, 1.0]), np.array([1.0, 3.0])) == 0.5
    assert book.distance(np.array([3.0, 1.0]), np.array([6.0, 2.0])) == 0.0
