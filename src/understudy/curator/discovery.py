"""Discovering the domain of a table at a price, when nobody wrote a schema.

Column names, kinds and the way that dates are written are taken as public. All else is paid for: for each column one
histogram question, whose noisy answer gives bounds, bins, categories and whether values are missing.

- **Numbers**: a histogram over zero and the powers of two on both sides of it. Cells that stand out of the noise give
the
  bounds; their noisy weights say how many bins each stretch gets. Dates: a histogram over years.
- **Categories**: the values are not known beforehand, so a histogram over the values that occur, of which only those
with a
  noisy count above a threshold are released. A value held by a single row passes it with probability at most delta.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.curator.budget import Budget, exact, rounded_down
from understudy.curator.ledger import Ledger
from understudy.curator.mechanisms import Noise, SystemNoise, table_scale
from understudy.errors import InputError
from understudy.schema import DEFAULT_BINS, EPOCH, Attribute, Category, Identifier, Quantity, Schema, Text
from understudy.tables import MARKS, Column, Table

FALSE_ALARM = 0.05
"""Probability that noise alone makes some cell of a numeric histogram look occupied."""

MOST_CATEGORIES = 1000

_IDENTIFIER_NAME = re.compile(r"(?i)(.*[_\- ])?(id|uuid|guid|ssn|identifier|rownames|row_?number|index)")
_YEARS = range(1600, 2201)


def drafted_kinds(table: Table, person: str | None = None) -> dict[str, str]:
    """The kind of every column: from its type and its name, which are public; ``person`` says whose row it is."""
    kinds = {}
    for name, column in table.columns.items():
        if name == person:
            kinds[name] = "identifier"
            continue
        if column.kind == "empty":
            raise InputError(
                f"{table.source}, column {name!r} holds no values, so its kind is unknown; drop it or give a schema."
            )
        if _IDENTIFIER_NAME.fullmatch(name):
            kinds[name] = "identifier"
        elif column.kind == "text":
            kinds[name] = "boolean" if _boolean_spelling(column) else "categorical"
        else:
            kinds[name] = column.kind
    return kinds


def needs_delta(table: Table, person: str | None = None) -> bool:
    """Whether some column has categories that must be discovered; refuses a table with nothing to discover."""
    kinds = drafted_kinds(table, person)
    _asked(kinds, table)
    return "categorical" in kinds.values()


def _asked(kinds: dict[str, str], table: Table) -> list[str]:
    asked = [name for name, kind in kinds.items() if kind != "identifier"]
    if not asked:
        raise InputError(f"{table.source} has no column to model: all of them look like identifiers; give a schema.")
    return asked


def discover(
    table: Table,
    ledger: Ledger,
    budget: Budget,
    delta: float,
    noise: Noise | None = None,
    person: str | None = None,
) -> Schema:
    """Draft a schema from private rows; costs ``budget`` and, where there are categories, ``delta``.

    The column ``person``, if any, says whose row it is: it becomes an identifier and is not asked about.
    """
    kinds = drafted_kinds(table, person)
    asked = _asked(kinds, table)
    costs = dict(zip(asked, budget.equally(len(asked)), strict=True))
    categorical = [name for name in asked if kinds[name] == "categorical"]
    share = rounded_down(exact(delta) / len(categorical)) if categorical else 0.0
    asker = _Asker(ledger, noise if noise is not None else SystemNoise())
    if not asker.noise.private:
        ledger.private = False
    attributes: list[Attribute] = []
    for name, column in table.columns.items():
        kind = kinds[name]
        if kind == "identifier":
            pattern = None if column.kind in ("integer", "real") else "ID-########"
            attributes.append(Identifier(name, kind, None, pattern))
        elif kind == "categorical":
            attributes.append(asker.categories(name, column, costs[name], share))
        elif kind == "boolean":
            attributes.append(asker.boolean(name, column, costs[name]))
        else:
            attributes.append(asker.quantity(name, kind, column, costs[name]))
    return Schema(tuple(attributes))


@dataclass(frozen=True)
class _Histogram:
    counts: NDArray[np.int64]
    scale: float
    gaussian: bool

    def stands_out(self) -> float:
        """Counts above this are, with probability 1 - FALSE_ALARM, not noise alone in any cell."""
        tail = FALSE_ALARM / max(len(self.counts), 1)
        return _tail(self.scale, self.gaussian, tail)


def _tail(scale: float, gaussian: bool, probability: float) -> float:
    """A number t with P(noise >= t) <= probability.

    Discrete Laplace: P(X >= t) = exp(-t/s) / (1 + exp(-1/s)) <= exp(-t/s). Discrete Gaussian: it is sub-Gaussian
    (Canonne, Kamath, Steinke 2020), so P(X >= t) <= exp(-t^2 / (2 s^2)).
    """
    logarithm = math.log(1 / probability)
    return scale * math.sqrt(2 * logarithm) if gaussian else scale * logarithm


class _Asker:
    """Puts histogram questions about single columns."""

    def __init__(self, ledger: Ledger, noise: Noise) -> None:
        self.ledger = ledger
        self.noise = noise

    def histogram(self, question: str, exact_counts: Any, cost: Budget, delta: float = 0.0) -> _Histogram:
        gaussian = cost.currency == "rho"
        scale = table_scale(cost, self.ledger.neighbours, self.ledger.rows_per_person)
        name = "discrete Gaussian" if gaussian else "discrete Laplace"
        self.ledger.debit(question, cost, f"{name}, scale {scale:.6g}", delta)
        counts = np.asarray(exact_counts(), dtype=np.int64)
        noisy = self.noise.gaussian(counts, scale) if gaussian else self.noise.laplace(counts, scale)
        return _Histogram(noisy, scale, gaussian)

    # ---- categories

    def categories(self, name: str, column: Column, cost: Budget, delta: float) -> Attribute:
        """Values with a noisy count above the threshold, "other" for the rest.

        (epsilon, delta): compare neighbours T and T' where T holds a value v that T' does not, necessarily in one
        row. On outcomes that do not name v the two histograms are epsilon-close (values in both differ by one row
        under add_remove, by one row each way under replace); outcomes that name v have probability P(1 + noise >=
        threshold) <= delta under T. The same holds with T and T' exchanged, so delta is charged once whatever the
        relation.

        Where a person has up to M rows, T may hold up to M values that T' does not, each in up to M rows. With
        P(M + noise >= threshold) <= delta / M one of them is named with probability at most delta (union bound), and
        on all other outcomes the histograms differ by M rows, which their noise covers. Only values that occur in the
        rows that count are looked at: there may be any number of others, in rows left out.
        """
        occurring: list[int] = []

        def exact_counts() -> NDArray[np.int64]:
            counts = _word_counts(column)
            occurring.extend(np.flatnonzero(counts).tolist())
            return np.append(counts[occurring], _absent(column).sum())

        asked = self.histogram(f"categories of {name}", exact_counts, cost, delta)
        most = self.ledger.rows_per_person
        threshold = most + _tail(asked.scale, asked.gaussian, delta / most)
        kept = [
            (column.words[place], count)
            for place, count in zip(occurring, asked.counts[:-1].tolist(), strict=True)
            if count >= threshold
        ]
        kept = sorted(kept, key=lambda pair: -pair[1])[:MOST_CATEGORIES]
        if not kept:
            return Text(name, "text")
        # Missing is a cell that always exists, so it needs no threshold against disclosure, only against noise.
        missing = "" if asked.counts[-1] >= _tail(asked.scale, asked.gaussian, FALSE_ALARM) else None
        values = tuple(sorted(word for word, _ in kept))
        other = next(o for o in ("other", "Other", "(other)", "_other_") if o not in values)
        return Category(name, "categorical", missing, values, False, None, other)

    def boolean(self, name: str, column: Column, cost: Budget) -> Attribute:
        asked = self.histogram(f"missing values of {name}", lambda: [_absent(column).sum()], cost)
        missing = "" if asked.counts[0] >= asked.stands_out() else None
        return Category(name, "boolean", missing, _boolean_spelling(column) or ("false", "true"))

    # ---- quantities

    def quantity(self, name: str, kind: str, column: Column, cost: Budget) -> Attribute:
        cells = _year_cells(kind) if kind in ("date", "datetime") else _octaves(kind)

        def exact_counts() -> NDArray[np.int64]:
            absent = _absent(column)
            edges = np.array([low for low, _ in cells])
            place = np.clip(np.searchsorted(edges, column.values[~absent], side="right") - 1, 0, len(cells) - 1)
            present = np.bincount(place, minlength=len(cells))
            marks = np.zeros(len(MARKS) + 1, dtype=np.int64)
            if column.missing is not None:
                marks += np.bincount(column.missing, minlength=len(MARKS) + 1)
            return np.concatenate([present, marks[1:]])

        asked = self.histogram(f"bounds of {name}", exact_counts, cost)
        line = asked.stands_out()
        weights = np.where(asked.counts > line, asked.counts, 0)
        marks = weights[len(cells) :]
        missing = MARKS[int(marks.argmax())] if marks.any() else None
        edges, equal = _edges(kind, cells, weights[: len(cells)])
        return Quantity(name, kind, missing, edges, equal, column.format or None)


# --------------------------------------------------------------------------- cells and edges

_Cell = tuple[float, float]


def _octaves(kind: str) -> list[_Cell]:
    """Half-open cells [low, high): zero, and the powers of two on both sides of it."""
    powers: Iterable[int] = range(53) if kind == "integer" else range(-20, 53)
    if kind == "integer":
        up = [(2**p, 2 ** (p + 1)) for p in powers]
        down = [(1 - high, 1 - low) for low, high in reversed(up)]
        return [*down, (0, 1), *up]
    positive = [(2.0**p, 2.0 ** (p + 1)) for p in powers]
    negative = [(-high, -low) for low, high in reversed(positive)]
    middle = [(-(2.0**-20), 0.0), (0.0, 2.0**-20)]
    return [*negative, *middle, *positive]


def _year_cells(kind: str) -> list[_Cell]:
    unit = 1 if kind == "date" else 86400
    starts = [(dt.datetime(year, 1, 1) - EPOCH).days * unit for year in (*_YEARS, _YEARS.stop)]
    return list(itertools.pairwise(starts))


def _edges(kind: str, cells: Sequence[_Cell], weights: NDArray[np.int64]) -> tuple[tuple[float, ...], bool]:
    """Bins between the outermost occupied cells: many where there are many rows, few where there are few.

    Everything here is post-processing of the noisy histogram.
    """
    occupied = np.flatnonzero(weights)
    if len(occupied) == 0:
        # Nothing stands out of the noise: a domain that fits most counts and measures.
        low, high = (0, 128) if kind in ("integer", "real") else (cells[0][0], cells[-1][1])
        weights, cells, occupied = np.array([1]), [(low, high)], np.array([0])
    first, last = int(occupied[0]), int(occupied[-1])
    stretches = _stretches(cells[first : last + 1], weights[first : last + 1])
    total = sum(weight for _, _, weight in stretches)
    edges: list[float] = []
    for low, high, weight in stretches:
        bins = max(1, round(DEFAULT_BINS * weight / total))
        if kind != "real":
            bins = int(min(bins, high - low))
        steps = [low + (high - low) * i / bins for i in range(bins)]
        edges.extend(steps if kind == "real" else [math.ceil(step) for step in steps])
    edges.append(stretches[-1][1])
    return tuple(edges if kind == "real" else (int(edge) for edge in edges)), False


def _stretches(cells: Sequence[_Cell], weights: NDArray[np.int64]) -> list[tuple[float, float, float]]:
    """Occupied cells as they are; runs of empty ones between them join the next occupied one."""
    stretches = []
    start = cells[0][0]
    for (_, high), weight in zip(cells, weights.tolist(), strict=True):
        if weight:
            stretches.append((start, high, float(weight)))
            start = high
    return stretches


# --------------------------------------------------------------------------- columns


def _absent(column: Column) -> NDArray[np.bool_]:
    return np.zeros(len(column), dtype=bool) if column.missing is None else column.missing > 0


def _word_counts(column: Column) -> NDArray[np.int64]:
    return np.bincount(column.values[~_absent(column)], minlength=len(column.words))


def _boolean_spelling(column: Column) -> tuple[str, str] | None:
    for spelling in (("false", "true"), ("False", "True"), ("FALSE", "TRUE")):
        if column.words and set(column.words) <= set(spelling):
            return spelling
    return None
