"""Every step of discovery goes by what was answered: none of them by how many rows there are.

Tables that differ by rows alone are given the same answers. Wherever an exact count were compared
with anything, some of them would lie on either side of it, and other questions would follow.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from outside_view import SameAnswers

from understudy import Schema, Table
from understudy.data.encoding import encode
from understudy.data.formats import CANDIDATES, Format
from understudy.data.tables import Column
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.discovery_numbers import NamedNumbers, NumberFinder
from understudy.privacy.discovery_questions import NoisyHistogram
from understudy.privacy.discovery_scores import KINDS as CHOICES
from understudy.privacy.discovery_scores import Kind
from understudy.privacy.discovery_words import NamedWords, WordFinder
from understudy.privacy.ledger import Ledger
from understudy.privacy.refinement import refine
from understudy.release.preflight import describe_left_out

PLAIN = 20
"""Rows that all tables have."""

MORE = (0, 1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 60)
"""Rows beside them."""

HIGHEST = 60, 60, 4, 40, 25
"""Answers lie from -3 to below one of these."""


EPSILONS = 5.0, 1e6
"""Where noise hides most of such tables, and where it hides next to none."""


def words(values: list[str]) -> Column:
    distinct = tuple(sorted(set(values)))
    places = {word: place for place, word in enumerate(distinct)}
    return Column("text", np.array([places[value] for value in values]), distinct)


def table_with(more: int) -> Table:
    """What is zero, empty or shared in plain rows is not in those that come beside."""
    own = [f"w{place}" for place in range(more)]
    columns = {
        "debts": ["0"] * PLAIN + ["700"] * more,
        "rate": ["0.00"] * PLAIN + ["12.50"] * more,
        "comment": [""] * PLAIN + ["well"] * more,
        "calls": [""] * PLAIN + ["0"] * more,
        "school_id": ["a"] * PLAIN + own,
        "order_no": ["7"] * PLAIN + [str(place) for place in range(more)],
        "remark": ["seen"] * PLAIN + own,
        "town": ["Oslo"] * PLAIN + ["Rome"] * more,
        "paid": ["no"] * PLAIN + ["yes"] * more,
    }
    return Table({name: words(values) for name, values in columns.items()})


KINDS = (
    Kind(),
    Kind(),
    *(Kind(format=CANDIDATES.index(Format(kind))) for kind in ("integer", "real")),
)


class Salted(SameAnswers):
    """Other answers for each salt, the same whatever the rows; of kinds, a few common ones."""

    def __init__(self, salt: int) -> None:
        super().__init__()
        self.salt = salt

    def choose(self, scores: Any, scale: float, rule: str) -> int:
        chosen = super().choose(scores, scale, rule)
        if len(scores) == len(CHOICES):
            return CHOICES.index(KINDS[chosen % len(KINDS)])
        return chosen

    def _table(self, kind: str, counts: Any, scale: float) -> Any:
        high = HIGHEST[self.salt % len(HIGHEST)]
        return self._stream(kind, np.shape(counts), scale).integers(-3, high, np.shape(counts))

    def _stream(self, *question: Any) -> np.random.Generator:
        return super()._stream(*question, self.salt)


def _same_words(self: WordFinder, name: str, what: str, *rest: Any) -> None:
    """Which words there are: by a threshold, which has tests of its own."""
    self.asker.ledger.debit(f"{what} of {name}", rest[2], "the same answer", rest[3])
    nothing = NoisyHistogram(np.zeros(0, np.int64), 1.0, "rho")
    self.words[name] = NamedWords({"Oslo": 15, "Rome": 5}, 9, nothing)


def _same_numbers(self: NumberFinder, name: str, kind: Any, step: float, *price: Any) -> None:
    self.asker.ledger.debit(f"numbers of {name}", price[0], "the same answer", price[1])
    self.numbers[name] = NamedNumbers({}, NoisyHistogram(np.zeros(0, np.int64), 1.0, "rho"))


def discover_with(more: int, salt: int) -> tuple[Any, ...]:
    """All that follows from the answers."""
    ledger = Ledger(EPSILONS[salt % 2], 1e-9, threshold_delta=1e-9)
    facts = Draft(table_with(more)), ledger, ledger.budget, ledger.threshold_delta
    run = Discovery(*facts, Salted(salt), share=None)
    with (
        mock.patch.object(WordFinder, "_ask_words", _same_words),
        mock.patch.object(NumberFinder, "ask_numbers", _same_numbers),
    ):
        outlook = run.count_rows()
        uncertain = run.count_present()
        hopeless = run.find_hopeless()
        said = describe_left_out(run)
        found = run.find()
    prices = run.count_price, run.price, [(e.question, e.amount, e.delta) for e in ledger.entries]
    return outlook, uncertain, hopeless, said, found.empty, found.schema.to_dict(), prices


@pytest.mark.parametrize("salt", range(10))
def test_rows_decide_nothing_where_answers_are_the_same(salt: int) -> None:
    first, *others = (discover_with(more, salt) for more in MORE)
    for other in others:
        assert other == first


def test_other_answers_lead_to_other_questions() -> None:
    """Else the test above would hold for a discovery that always asks the same."""
    runs = [discover_with(8, salt) for salt in range(10)]
    asked = [[question for question, _, _ in run[-1][2]] for run in runs]
    for question in ("different words of remark", "cells of rate but zeros", "kind of order_no"):
        assert any(question in one for one in asked)
        assert any(question not in one for one in asked)
    assert any("empty in every row" in sentence for run in runs for sentence in run[3])


# ---- inside bins

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "debt": {"kind": "integer", "min": 0, "max": 100_000, "bins": 4},
            "rate": {"kind": "real", "min": 0, "max": 5000, "bins": 4, "missing": ""},
            "since": {"kind": "date", "min": "1990-01-01", "max": "2020-12-31", "bins": 4},
        }
    }
)


def look_inside(more: int, salt: int) -> tuple[Any, ...]:
    """What is asked of rows, and what is made of the answers."""
    columns = {
        "debt": ["0"] * PLAIN + ["70000"] * more,
        "rate": [""] * PLAIN + ["12.50"] * more,
        "since": ["1999-01-01"] * PLAIN + ["2011-11-11"] * more,
    }
    table = Table({name: words(values) for name, values in columns.items()})
    ledger = Ledger(EPSILONS[salt % 2], currency="epsilon")
    share, _ = ledger.budget.split(0.1, 0.9)
    noise = Salted(salt)
    refined = refine(
        SCHEMA, lambda asked: encode(table, asked), ledger, share, noise, discovered=["debt"]
    )
    entries = [(entry.question, entry.amount) for entry in ledger.entries]
    return refined.to_dict(), entries, noise.asked


@pytest.mark.parametrize("salt", range(5))
def test_nor_do_they_inside_bins(salt: int) -> None:
    first, *others = (look_inside(more, salt) for more in (0, 1, 8, 40))
    for other in others:
        assert other == first


def test_a_few_wide_cells_are_asked_about_where_many_tell_nothing() -> None:
    asked = [[question for question, _ in look_inside(8, salt)[1]] for salt in range(5)]
    assert any("spikes inside bins of debt" in one for one in asked)
    assert any(one != asked[0] for one in asked)
