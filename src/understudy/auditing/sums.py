"""Sums under audit: what is asked, the pairs on which it loses most, and broken ways to ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from understudy.auditing.doors import exact_loss
from understudy.auditing.neighbours import PERSON, Pair, table_of
from understudy.data.encoding import encode
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.privacy.budget import Budget, Neighbours
from understudy.privacy.central import CentralCurator
from understudy.privacy.domain import Domain
from understudy.privacy.features import Feature, Indicator, Number
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise
from understudy.privacy.sum_sensitivity import Block, Part
from understudy.privacy.sums import Sum

Row = tuple[int, ...]

SUMS_SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "x": {"kind": "integer", "min": -500, "max": 500, "missing": "9999"},
            "y": {"kind": "integer", "min": -9, "max": 9, "missing": "9999"},
            "c": {"kind": "categorical", "values": [0, 1, 2]},
            "g": {"kind": "categorical", "values": [0, 1]},
        }
    }
)
BODY: list[Row] = [(place % 100, place % 5, 0, place % 2) for place in range(40)]

NUMBERS: tuple[Feature, ...] = (Number("x"), Number("y"))
MIXED: tuple[Feature, ...] = (*NUMBERS, *(Indicator("c", (code,)) for code in range(3)))


@dataclass(frozen=True, kw_only=True)
class SumSetting:
    """A question about sums, and which row to add to others, or to replace by which.

    Parameters
    ----------
    name
        What is asked.
    question
        The options of :class:`~understudy.privacy.sums.Sum`, features included.
    leaves, enters
        Rows: the first is there under replace, and the second comes instead of it, or is new.
    """

    name: str
    question: Mapping[str, Any]
    leaves: Row
    enters: Row

    def ask(self, curator: CentralCurator) -> object:
        """Put the question, for all of the budget."""
        return curator.answer(Sum(budget=curator.ledger.budget, **self.question))

    def pair(self, neighbours: Neighbours, max_rows_per_person: int = 1) -> Pair:
        """The tables; with several rows per person the new one has more than count."""
        before = list(BODY)
        if neighbours == "replace":
            before.append(self.leaves)
        if max_rows_per_person == 1:
            after = [*BODY, self.enters]
            tables = table_of(SUMS_SCHEMA, before), table_of(SUMS_SCHEMA, after)
            return Pair(*tables, SUMS_SCHEMA, neighbours, "a row from one end to the other")
        attributes = {PERSON: {"kind": "identifier"}, **SUMS_SCHEMA.to_dict()["attributes"]}
        schema = Schema.from_dict({"attributes": attributes})
        persons = [(place, *row) for place, row in enumerate(before)]
        new = [(len(before), *self.enters)] * (max_rows_per_person + 2)
        tables = table_of(schema, persons), table_of(schema, [*persons, *new])
        return Pair(
            *tables, schema, neighbours, f"{max_rows_per_person} rows of one person at the end"
        )


def sum_settings(delta: float) -> Iterator[SumSetting]:
    """The questions that are audited: each with the rows on which it loses most."""
    whole = {"counts": 1.0, "sums": 1.0, "moments": 1.0}
    low, high = (-500, -9, 0, 0), (500, 9, 1, 1)
    yield SumSetting(name="sums", question={"features": MIXED}, leaves=low, enters=high)
    yield SumSetting(
        name="counts, sums and products by group",
        question={
            "features": MIXED,
            "moments": "products",
            "by": marginal("g"),
            "shares": whole,
        },
        leaves=low,
        enters=high,
    )
    yield SumSetting(
        name="squares by the nearest point, missing at the centre",
        question={
            "features": NUMBERS,
            "moments": "squares",
            "nearest": [[-500.0, -9.0], [500.0, 9.0]],
            "missing": "centre",
        },
        leaves=low,
        enters=high,
    )
    # In L1 a row in which all features are alike counts most, in L2 one with a single one.
    away, opposite, across = (500, 9, 0, 0), (-500, -9, 0, 0), (500, -9, 0, 0)
    if delta:
        away, opposite, across = (500, 0, 0, 0), (-500, 0, 0, 0), (0, 9, 0, 0)
    yield SumSetting(
        name="sums in a ball",
        question={"features": NUMBERS, "ball": 0.8},
        leaves=opposite,
        enters=away,
    )
    yield SumSetting(
        name="squares in a ball",
        question={
            "features": NUMBERS,
            "moments": "squares",
            "ball": 0.8,
            "shares": {"moments": 1.0},
        },
        leaves=(0, 9, 0, 0),
        enters=(500, 0, 0, 0),
    )
    yield SumSetting(
        name="products in a ball by group",
        question={
            "features": NUMBERS,
            "moments": "products",
            "by": marginal("g"),
            "ball": 0.8,
            "shares": {"moments": 1.0},
        },
        leaves=(*across[:3], 1),
        enters=away,
    )


# --------------------------------------------------------------------------- broken questions


class _UnclippedSums(Sum):
    """Sums of numbers as they are, with noise for closer bounds."""

    def blocks(
        self, domain: Domain, neighbours: Neighbours, max_rows_per_person: int
    ) -> dict[Part, Block]:
        close = [
            replace(feature, lower=-100.0, upper=100.0) if isinstance(feature, Number) else feature
            for feature in self.features
        ]
        asked = Sum(features=close, budget=self.budget)
        return asked.blocks(domain, neighbours, max_rows_per_person)


class _NoiseOfSums(Sum):
    """Products of features, with noise for as many of them as there are features."""

    def blocks(
        self, domain: Domain, neighbours: Neighbours, max_rows_per_person: int
    ) -> dict[Part, Block]:
        found = super().blocks(domain, neighbours, max_rows_per_person)
        sums = super(_NoiseOfSums, replace(self, shares=None)).blocks(
            domain, neighbours, max_rows_per_person
        )
        return {
            part: replace(block, l1=sums["sums"].l1, moved=sums["sums"].moved)
            for part, block in found.items()
        }


def sums_loss(
    make: Callable[..., Sum], features: Sequence[Feature], epsilon: float, **options: Any
) -> float:
    """The exact loss of sums of the features where one row of extremes is new."""
    setting = SumSetting(name="", question={}, leaves=(), enters=(500, 9, 1, 1))
    pair = setting.pair("add_remove")

    def run(table: Table, noise: Noise) -> object:
        curator = CentralCurator(encode(table, SUMS_SCHEMA), Ledger(epsilon), noise)
        return curator.answer(make(features=features, budget=Budget(epsilon), **options))

    return exact_loss(run, pair).epsilon


def lose_without_bounds(epsilon: float) -> float:
    """Sums without clipping."""
    return sums_loss(_UnclippedSums, [Number("x")], epsilon)


def lose_without_count(epsilon: float) -> float:
    """Products whose number was forgotten."""
    moments: dict[str, Any] = {"moments": "products", "shares": {"moments": 1.0}}
    return sums_loss(_NoiseOfSums, NUMBERS, epsilon, **moments)


def lose_with_bounds(epsilon: float) -> float:
    """Sums and products as they should be."""
    return sums_loss(Sum, NUMBERS, epsilon, moments="products")
