"""The study of learners: its quick version runs from end to end where Adult is, and its splits are
what it says.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import learning

pytestmark = pytest.mark.thorough

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "adult.csv").exists(), reason="needs adult.csv in ../shared/data")
def test_the_quick_study_runs_and_concludes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--quick", "--data", str(DATA), "--output", str(tmp_path)]
    assert learning.STUDY.main(arguments) == 0
    parts = json.loads((tmp_path / "conclusions.json").read_text())
    assert {name: len(claims) for name, claims in parts.items()} == {
        "adult": 5,
        "diabetes": 2,
        "digits": 2,
        "synthetic": 7,
    }
    assert "held" in capsys.readouterr().out


def test_without_the_table_there_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--quick", "--only", "adult", "--data", str(tmp_path), "--output", str(tmp_path)]
    assert learning.STUDY.main(arguments) == 2
    assert "--data" in capsys.readouterr().err


def test_averages_of_pixels_are_averages() -> None:
    whole, _ = learning.digits("64 pixels")
    small, _ = learning.digits("16 averages")
    assert small.shape == (1797, 16)
    np.testing.assert_allclose(small.mean(axis=1), whole.mean(axis=1))
    assert small[0, 0] == whole[0, [0, 1, 8, 9]].mean()


def test_public_bounds_hold_all_rows_of_diabetes() -> None:
    train, target, test, _ = learning.split_diabetes(0)
    assert len(test) == learning.TEST_ROWS
    lower, upper = np.array(learning.DIABETES_BOUNDS)
    assert ((train >= lower) & (train <= upper)).all()
    assert target.min() >= 25
    assert target.max() <= 346
