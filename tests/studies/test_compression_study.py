"""The study of compression: its quick version runs from end to end where the tables are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import compression

pytestmark = pytest.mark.thorough

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.mark.data
@pytest.mark.skipif(
    not (DATA / "olivettifaces.mat").exists(), reason="needs olivettifaces.mat in ../shared/data"
)
def test_the_quick_study_runs_and_concludes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--quick", "--repeats", "1", "--data", str(DATA), "--output", str(tmp_path)]
    assert compression.STUDY.main(arguments) == 0
    parts = json.loads((tmp_path / "conclusions.json").read_text())
    assert {name: len(claims) for name, claims in parts.items()} == {
        "f1": 2,
        "times": 1,
        "dimensions": 6,
        "faces": 4,
        "owners": 1,
    }
    assert parts["f1"][0]["held"]
    assert "held" in capsys.readouterr().out


def test_numpy_and_ours_find_the_same_direction() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 500)
    rows = rng.normal(size=(500, 4)) + np.outer(labels, [1, 0, 2, 0])
    [by_numpy] = compression.dca_by_numpy(rows, labels, 1)
    with pytest.warns(compression.NotPrivateWarning):
        [ours] = compression.ExactDCA(1).fit(rows, labels).components_
    assert abs(by_numpy @ ours) > 1 - 1e-9


def test_without_the_tables_there_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--quick", "--only", "f1", "--data", str(tmp_path), "--output", str(tmp_path)]
    assert compression.STUDY.main(arguments) == 2
    assert "of the real tables" in "".join(capsys.readouterr())
