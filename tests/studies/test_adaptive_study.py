"""The study of Adaptive runs from end to end, and its switches switch something."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import adaptive

pytestmark = pytest.mark.thorough


@pytest.mark.data
def test_the_quick_study_runs_and_concludes(data: Path, tmp_path: Path) -> None:
    assert adaptive.STUDY.main(["--quick", "--data", str(data), "--output", str(tmp_path)]) == 0
    told = json.loads((tmp_path / "conclusions.json").read_text())
    assert set(told) == {"figures", "ideas", "merging", "elsewhere"}
    assert all(claim["held"] for claim in told["figures"])
    for part in told:
        assert (tmp_path / f"{part}.svg").stat().st_size > 5_000


def test_every_idea_changes_something_that_is_there() -> None:
    for change in adaptive.IDEAS.values():
        if "patch" in change:
            module, name, value = change["patch"]
            assert getattr(module, name) != value
        for name in set(change) - {"patch"}:
            assert getattr(adaptive.Adaptive(epsilon=1.0), name) != change[name]


def test_without_pooling_a_table_is_as_it_was_measured() -> None:
    pool = adaptive.Unpooled({"a": 2})
    pool.add(("a",), np.array([3, 5]), 1.0)
    pool.add(("a",), np.array([4, 8]), 1.0)
    assert pool.table(("a",)).tolist() == [4.0, 8.0]
