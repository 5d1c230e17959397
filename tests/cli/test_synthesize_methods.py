"""Which method ``understudy synthesize`` uses: the one that is named, or the one that the options go with."""

from __future__ import annotations

from typing import Any

import pytest

from understudy import InputError
from understudy.cli.options import Relation
from understudy.cli.synthesize import Method, synthesizer_of


def of(method: Method | None = None, **options: Any) -> Any:
    return synthesizer_of(method, 1.0, 0.0, Relation.add_remove, **options)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "adaptive"),
        ({"target": "x"}, "adaptive"),
        ({"target": "x", "degree": 1}, "privbayes"),
        ({"workload": [["x", "y"]]}, "adaptive"),
        ({"fast": True}, "adaptive"),
        ({"paper": True}, "privbayes"),
        ({"degree": 2}, "privbayes"),
        ({"marginals": [["x", "y"]]}, "marginals"),
        ({"draws": 5}, "smoothed_histogram"),
        ({"method": Method.mst}, "mst"),
        ({"method": Method.correlated, "degree": 1}, "privbayes"),
    ],
)
def test_options_choose_a_method(options: Any, name: str) -> None:
    assert of(**options).name.replace("-", "_") == name


def test_options_reach_the_method() -> None:
    asked = of(target="x", workload=[["x", "y"]], fast=True)
    assert (asked.target, asked.workload, asked.cells) == ("x", [["x", "y"]], 25_000)
    assert of().cells == 250_000
    assert (of(target="x", degree=1).target, of(Method.privbayes, target="x").degree) == ("x", None)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (
            Method.mst,
            {"target": "x"},
            "--target goes with the methods adaptive, privbayes and correlated, not with mst.",
        ),
        (
            Method.privbayes,
            {"fast": True},
            "--fast goes with the method adaptive, not with privbayes.",
        ),
        (
            Method.adaptive,
            {"beta": 0.5},
            "--beta goes with the methods privbayes and correlated, not with adaptive.",
        ),
        (
            None,
            {"paper": True, "draws": 3},
            "--paper goes with the methods privbayes and correlated, not with smoothed",
        ),
    ],
)
def test_options_that_do_not_go_with_a_method_are_refused(
    method: Any, options: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        of(method, **options)
