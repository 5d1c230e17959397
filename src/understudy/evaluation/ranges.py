"""Random range queries, such as: how many rows have an age from 30 to 44 and work as this or that.

Each query is a conjunction over one to three attributes, drawn uniformly: an interval of values
where the attribute has an order, else a set of values. The error is stated as in the literature on
private range counts: absolute, as a share of all rows, and relative to the true count or to a
sanity bound, whichever is larger, so that nearly empty ranges do not drown the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Schema
from understudy.evaluation.comparison import Comparison, Side, is_ordered
from understudy.evaluation.result import RangeErrors, RangeQuery

RANGE_QUERIES = 500
MAX_QUERY_ATTRIBUTES = 3
SANITY = 0.001
"""A tenth of a per cent of the rows."""

MAX_WORST_QUERIES = 10
_MAX_LISTED = 4


@dataclass(frozen=True)
class _Range:
    """The values of an attribute that a query asks for: one truth value a code."""

    attribute: Attribute
    wanted: NDArray[np.bool_]

    def __str__(self) -> str:
        codes = np.flatnonzero(self.wanted).tolist()
        attribute = self.attribute
        if is_ordered(attribute) and len(codes) > 1:
            return (
                f"{attribute.name} from {attribute.label(codes[0])} up to "
                f"{attribute.label(codes[-1])}"
            )
        listed = " or ".join(attribute.label(code) for code in codes[:_MAX_LISTED])
        more = len(codes) - _MAX_LISTED
        return f"{attribute.name} is {listed}" + (f" or {more} more" if more > 0 else "")


def range_errors(tables: Comparison, queries: int = RANGE_QUERIES, seed: int = 0) -> RangeErrors:
    """Ask both tables the same random range queries."""
    rng = np.random.default_rng(seed)
    asked = [_random_query(tables.schema, rng) for _ in range(queries)]
    real, synthetic = (np.array([_share(side, query) for query in asked]) for side in tables)
    absolute = np.abs(synthetic - real)
    relative = absolute / np.maximum(real, SANITY)
    deviations = np.sqrt(real * (1 - real) * (1 / tables.real.rows + 1 / tables.synthetic.rows))
    chance = math.sqrt(2 / math.pi) * deviations
    worst = np.argsort(-relative, kind="stable")[:MAX_WORST_QUERIES]
    return RangeErrors(
        queries=queries,
        sanity=SANITY,
        mean_absolute=float(absolute.mean()),
        mean_relative=float(relative.mean()),
        median_relative=float(np.median(relative)),
        worst=tuple(
            RangeQuery(
                " and ".join(map(str, asked[place])),
                float(real[place]),
                float(synthetic[place]),
                float(relative[place]),
            )
            for place in worst
        ),
        by_chance=float(np.median(chance / np.maximum(real, SANITY))),
        absolute_by_chance=float(chance.mean()),
    )


def _random_query(schema: Schema, rng: np.random.Generator) -> list[_Range]:
    """Missing values are in no range."""
    attributes = schema.modelled
    count = int(rng.integers(1, min(MAX_QUERY_ATTRIBUTES, len(attributes)) + 1))
    places = np.sort(rng.choice(len(attributes), count, replace=False)).tolist()
    return [_Range(attributes[place], _random_values(attributes[place], rng)) for place in places]


def _random_values(attribute: Attribute, rng: np.random.Generator) -> NDArray[np.bool_]:
    size = attribute.values_size
    wanted = np.zeros(attribute.size, dtype=bool)
    if size <= 2:
        wanted[rng.integers(size)] = True
    elif is_ordered(attribute):
        # Two different edges out of size + 1, uniformly: every interval is as likely as any other.
        low, high = np.sort(rng.choice(size + 1, 2, replace=False))
        wanted[low:high] = True
    else:
        wanted[rng.choice(size, int(rng.integers(1, size)), replace=False)] = True
    return wanted


def _share(side: Side, query: list[_Range]) -> float:
    inside: Any = True
    for part in query:
        inside = part.wanted[side.codes(part.attribute.name)] & inside
    return float(np.mean(inside))
