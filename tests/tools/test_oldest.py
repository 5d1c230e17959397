"""The oldest versions that are allowed, as constraints for pip."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not TOOLS.is_dir(), reason="the tools are not here"),
]
oldest = pytest.importorskip("oldest")


def test_every_dependency_has_a_lower_bound() -> None:
    project = tomllib.loads(oldest.PYPROJECT.read_text(encoding="utf-8"))
    found = dict(line.split("==") for line in oldest.constraints(project))
    assert {"duckdb", "numba", "numpy", "opendp", "rich", "typer", "pandas"} <= set(found)
    assert found["opendp"] == "0.14"
    assert found["torch"] == "2.13.0"
    assert "understudy" not in found


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>2.0"])
def test_one_without_a_lower_bound_is_an_error(requirement: str) -> None:
    project = {"project": {"name": "x", "dependencies": [requirement], "optional-dependencies": {}}}
    with pytest.raises(ValueError, match="has no lower bound"):
        list(oldest.constraints(project))
