"""Every question to rows in one place stands in the ledger before a row is looked at."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import pytest

from examples import coded
from understudy import Ledger
from understudy.data.marginals import marginal
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.features import indicators
from understudy.privacy.linear import LinearQueries, QueryMatrix
from understudy.privacy.questions import Choose, Draw, Measure, Question
from understudy.privacy.ranks import ChooseRank
from understudy.privacy.sums import Sum

ROWS = coded(50)
NAME = next(attribute.name for attribute in ROWS.schema if attribute.size == 2)
OTHER = next(attribute.name for attribute in ROWS.schema.modelled if attribute.name != NAME)
AXES = marginal(NAME)
PRICE = Budget(0.5)

QUESTIONS: dict[str, Question] = {
    "measure": Measure(marginals=[AXES], budget=PRICE),
    "choose": Choose(
        candidates=[marginal(NAME, OTHER), marginal(OTHER, NAME)], score="R", budget=PRICE
    ),
    "draw": Draw(axes=AXES, draws=5, budget=PRICE),
    "sum": Sum(features=indicators(ROWS.schema, NAME), budget=PRICE),
    "linear": LinearQueries(
        axes=AXES, matrix=QueryMatrix.counting(np.arange(2), 2), budget=PRICE, text="counts"
    ),
    "rank": ChooseRank(
        axes=AXES,
        places=np.arange(2),
        candidates=2,
        groups=np.zeros(2, dtype=np.int64),
        groups_size=1,
        level=0.5,
        shift=0.0,
        budget=PRICE,
        text="median",
    ),
}


class TouchedError(Exception):
    """A row was looked at."""


class _Untouchable:
    """Rows that nobody may look at."""

    def check(self, summation: Any) -> None:
        """Public facts may be checked."""

    @property
    def rows(self) -> NoReturn:
        raise TouchedError

    def count(self, *_: Any, **__: Any) -> NoReturn:
        raise TouchedError

    sum = count


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_price_is_booked_when_rows_are_looked_at(name: str) -> None:
    ledger = Ledger(1.0)
    curator = CentralCurator(ROWS, ledger)
    untouchable: Any = _Untouchable()
    curator._rows.counter = untouchable
    curator._rows.__dict__["summer"] = untouchable
    with pytest.raises(TouchedError):
        curator.answer(QUESTIONS[name])
    assert sum(entry.amount for entry in ledger.entries) == pytest.approx(PRICE.amount)
