"""Which method a command uses: the one that is named, or the one that the options go with."""

from __future__ import annotations

from typing import Any

import pytest

from understudy import InputError
from understudy.cli.methods import make_synthesizer


def of(method: str | None = None, **options: Any) -> Any:
    return make_synthesizer(
        {"method": method, **options}, epsilon=1.0, delta=0.0, neighbours="add_remove"
    )


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "adaptive"),
        ({"target": "x"}, "adaptive"),
        ({"target": "x", "degree": "1"}, "privbayes"),
        ({"workload": ["x,y"]}, "adaptive"),
        ({"fast": True}, "adaptive"),
        ({"paper": True}, "privbayes"),
        ({"degree": "2"}, "privbayes"),
        ({"marginal": ["x,y"]}, "marginals"),
        ({"draws": "5"}, "smoothed-histogram"),
        ({"method": "mst"}, "mst"),
        ({"method": "correlated", "degree": "1"}, "privbayes"),
    ],
)
def test_options_choose_a_method(options: Any, name: str) -> None:
    assert of(**options).name == name


def test_options_reach_the_method() -> None:
    asked = of(target="x", workload=["x,y"], fast=True)
    assert (asked.target, asked.workload, asked.max_cells) == ("x", [["x", "y"]], 25_000)
    assert of().max_cells is None
    assert of(max_cells="77").max_cells == 77
    assert (of(target="x", degree="1").target, of("privbayes", target="x").degree) == ("x", None)
    assert (of("correlated").degree, of("correlated", degree="1").degree) == (2, 1)
    assert of(workload=['"a, b",c']).workload == [["a, b", "c"]]


def test_a_preset_brings_its_own_relation_unless_one_is_given() -> None:
    assert make_synthesizer({"paper": True}, epsilon=1.0, neighbours=None).neighbours == "replace"
    assert of(paper=True).neighbours == "add_remove"


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (
            "mst",
            {"target": "x"},
            "--target goes with the methods adaptive, privbayes and correlated, not with mst.",
        ),
        ("privbayes", {"fast": True}, "--fast goes with the method adaptive, not with privbayes."),
        (
            "adaptive",
            {"beta": "0.5"},
            "--beta goes with the methods privbayes and correlated, not with adaptive.",
        ),
        (
            None,
            {"paper": True, "draws": "3"},
            "--draws goes with the method smoothed-histogram, not with privbayes.",
        ),
        (
            "privbayes",
            {"degree": "two"},
            "--degree must be a whole number at or above 0, not 'two'",
        ),
        ("privbayes", {"degree": "-1"}, "--degree must be a whole number at or above 0, not '-1'"),
        ("privbayes", {"score": "J"}, "--score must be one of auto, I, F, R, not 'J'"),
        (None, {"workload": [" , "]}, "--workload must be a list of groups"),
        ("magic", {}, "There is no --method 'magic' for this command; known are adaptive, "),
    ],
)
def test_options_that_do_not_go_with_a_method_are_refused(
    method: Any, options: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        of(method, **options)
