"""Each check refuses what it is there for: one line for each of those that no other test meets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from understudy import InputError, Ledger, Schema
from understudy.counting.row_functions import RowInputs
from understudy.data.marginals import marginal
from understudy.privacy.answering import PrivateRows
from understudy.privacy.budget import Budget
from understudy.privacy.domain import Domain
from understudy.privacy.features import Number, indicator
from understudy.privacy.mechanisms import table_scale
from understudy.privacy.ranks import ChooseRank
from understudy.privacy.scores import score_named
from understudy.privacy.sums import Sum

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 100},
            "wide": {"kind": "integer", "min": 0, "max": 1 << 40},
            "sex": {"kind": "categorical", "values": ["f", "m"]},
        }
    }
)
DOMAIN = Domain(SCHEMA)
FEATURES = (Number("age", 0, 100), Number("wide", 0, 100))


def check_sum(**options: Any) -> None:
    Sum(**{"features": FEATURES, "budget": Budget(1.0), "ball": 1.0} | options).check(DOMAIN)


def price_sum(amount: float) -> None:
    asked = Sum(features=FEATURES, budget=Budget(amount))
    asked.scales(asked.blocks(DOMAIN, "add_remove", 1))


def rank(amount: float) -> ChooseRank:
    return ChooseRank(
        axes=marginal("sex"),
        places=np.array([0, 1]),
        candidates=2,
        groups=np.array([0, 0]),
        groups_size=1,
        level=0.5,
        shift=0.0,
        budget=Budget(amount),
        text="median",
    )


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a table for next to nothing": (
        lambda: table_scale(Budget(1e-17), "add_remove"),
        "teaches nothing; give it more budget",
    ),
    "a misfit without estimates": (
        lambda: score_named("misfit").evaluate(None, [marginal("sex")]),  # type: ignore[arg-type]
        "give an estimate for each candidate",
    ),
    "a network's rows of an engine": (
        lambda: PrivateRows.matrix(EngineRows(), RowInputs(coded=("sex",))),  # type: ignore[arg-type]
        "Networks need the rows in memory",
    ),
    "an indicator of a number": (lambda: indicator(SCHEMA, "age", 3), "has no list of values"),
    "an indicator of another value": (lambda: indicator(SCHEMA, "sex", "x"), "has no value 'x'"),
    "an indicator of no missing value": (
        lambda: indicator(SCHEMA, "sex", None),
        "has no value None",
    ),
    "directions of another shape": (
        lambda: check_sum(directions=np.ones((1, 3))),
        "1 to 2 directions of 2 numbers",
    ),
    "more directions than features": (
        lambda: check_sum(directions=np.ones((3, 2))),
        "1 to 2 directions of 2 numbers",
    ),
    "directions that are too long": (
        lambda: check_sum(directions=np.array([[1.5, 0.0]])),
        "numbers from -1 to 1",
    ),
    "directions that are no numbers": (
        lambda: check_sum(directions=np.array([[np.nan, 0.0]])),
        "numbers from -1 to 1",
    ),
    "sums for next to nothing": (lambda: price_sum(1e-15), "noise that teaches nothing"),
    "a quantile for nothing": (lambda: rank(0.0).check(DOMAIN), "cannot be chosen for nothing"),
    "a quantile for next to nothing": (
        lambda: rank(1e-15).scale(Ledger(1.0)),
        "too little to choose a quantile",
    ),
}


class EngineRows:
    """Rows that stay in an engine."""

    _coded = None


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    act, sentence = REFUSED[what]
    with pytest.raises(InputError, match=sentence):
        act()


def test_what_is_just_inside_is_not_refused() -> None:
    check_sum(directions=np.array([[1.0, -1.0], [0.0, 1.0]]))
    rank(1e-3).check(DOMAIN)
    rank(1e-3).scale(Ledger(1.0))
    price_sum(1e-3)
    assert table_scale(Budget(1e-3), "add_remove") == pytest.approx(1000.0)


def test_a_sum_about_the_features_own_centres_has_no_others() -> None:
    assert Sum(features=FEATURES, budget=Budget(1.0)).summation(DOMAIN).centres == ()
