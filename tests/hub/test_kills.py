"""Hub, worker and agent as processes, killed at random moments: nothing is lost or paid twice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))


@pytest.mark.thorough
def test_kills_at_random_moments_cost_nothing_twice(tmp_path: Path) -> None:
    from hub_kills import run

    assert run(tmp_path, kills=3, seed=None) == []
