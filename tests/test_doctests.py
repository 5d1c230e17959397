"""The examples in docstrings do what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import understudy

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

MODULES = [
    module.name
    for module in pkgutil.walk_packages(understudy.__path__, "understudy.")
    if not module.name.endswith("__main__") and ".migrations." not in module.name
]


def test_there_are_examples_to_run() -> None:
    finder = doctest.DocTestFinder()
    examples = [
        test
        for name in MODULES
        for test in finder.find(importlib.import_module(name))
        if test.examples
    ]
    assert len(examples) >= 5


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
