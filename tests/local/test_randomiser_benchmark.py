"""The benchmark of local randomisers runs, and says so where its peer is not there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "local_randomisers.py"

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not BENCHMARK.is_file(), reason="the benchmarks are not here"),
]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "multi-freq-ldpy was not timed: name an interpreter that has it by --peer"),
        (["--peer", sys.executable], "multi-freq-ldpy could not be timed: ModuleNotFoundError"),
    ],
)
def test_the_benchmark_says_where_its_peer_is_missing(options: list[str], said: str) -> None:
    command = [sys.executable, str(BENCHMARK), "--persons", "1000", *options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert said in ran.stdout
    assert "optimal hashing" in ran.stdout
