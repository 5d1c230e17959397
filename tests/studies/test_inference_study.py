"""The study of tests on synthetic rows: the truth is what it says, and its quick version runs from
end to end.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import inference

pytestmark = pytest.mark.thorough


def test_the_quick_study_runs_and_concludes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inference.STUDY.main(["--quick", "--output", str(tmp_path)]) == 0
    claims = json.loads((tmp_path / "conclusions.json").read_text())
    assert {part: len(found) for part, found in claims.items()} == {"tests": 6, "matched": 4}
    assert "held" in capsys.readouterr().out
    lines = (tmp_path / "tests.csv").read_text().splitlines()
    assert len(lines) > 8
    assert "Pearson, synthetic" in lines[0]


def test_the_truth_is_tied_as_told() -> None:
    rng = np.random.default_rng(0)
    for tie in inference.TIES.values():
        table = inference.truth(rng, 50_000, tie)
        a, b, c, _ = (table.columns[name].values for name in inference.NAMES)
        assert np.corrcoef(a, b)[0, 1] == pytest.approx(
            tie * 0.87, abs=0.02
        )  # cutting takes some of it
        assert abs(np.corrcoef(a, c)[0, 1]) < 0.02
        assert np.bincount(a) / 50_000 == pytest.approx(0.25, abs=0.01)
