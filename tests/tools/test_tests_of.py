"""Every module has tests, and they are found by its name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not TOOLS.is_dir(), reason="the tools are not here"),
]
tests_of = pytest.importorskip("tests_of")


STARTED_BY_NAME = {
    "understudy.hub.foreign.child": "tests/hub/test_foreign.py",
    "understudy.hub.migrations": "tests/hub/test_layouts.py",
}
"""What a process or Alembic is told by name, and nobody imports; with the tests that start it."""


def test_every_module_has_tests() -> None:
    files = [path for path in tests_of.PACKAGE.rglob("*.py") if path.stem.strip("_") == path.stem]
    modules = [tests_of._name(path) for path in files]
    assert all((TOOLS.parent / path).exists() for path in STARTED_BY_NAME.values())
    modules = [module for module in modules if not module.startswith(tuple(STARTED_BY_NAME))]
    assert len(modules) > 150
    assert [module for module in modules if not tests_of.tests_of(module)] == []


def test_a_module_that_no_test_imports_is_found_by_those_who_use_it() -> None:
    found = [path.name for path in tests_of.tests_of("understudy.counting.kernels")]
    assert "test_memory.py" in found
    assert tests_of.tests_of("understudy.nowhere") == []
