"""Discovering the domain of a table at a price, when nobody wrote a schema.

Column names, kinds and the way that dates are written are taken as public. All else is paid for:
for each column one histogram question, whose noisy answer gives bounds, bins, categories and
whether values are missing.

- **Numbers**: a histogram over zero and the powers of two on both sides of it. Cells that stand out
  of the noise give the bounds; their noisy weights say how many bins each stretch gets. Dates: a
  histogram over years.
- **Categories**: the values are not known beforehand, so a histogram over the values that occur, of
  which only those with a noisy count above a threshold are released. A value held by a single row
  passes it with probability at most delta.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.counting.columns import ColumnCounts, ColumnKind, Columns, Edges, MemoryColumns
from understudy.data.schema import (
    DEFAULT_BINS,
    EPOCH,
    MAX_TEXT_LENGTH,
    Attribute,
    Category,
    Identifier,
    Quantity,
    Schema,
    Text,
)
from understudy.data.tables import MARKS, Table
from understudy.errors import InputError
from understudy.privacy.budget import Budget, exact, rounded_down
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, SystemNoise, table_scale

FALSE_ALARM = 0.05
"""Probability that noise alone makes some cell of a numeric histogram look occupied."""

MOST_CATEGORIES = 1000

_IDENTIFIER_NAME = re.compile(
    r"(?i)(.*[_\- ])?(id|uuid|guid|ssn|identifier|rownames|row_?number|index)"
)
_YEARS = range(1600, 2201)


class Draft:
    """What is taken as public about the columns of a table, and how their domain is discovered.

    Parameters
    ----------
    table
        The table, or its columns.
    person
        The column that says whose row it is, if any: it becomes an identifier, and is not asked
        about.
    """

    def __init__(self, table: Table | Columns, person: str | None = None) -> None:
        if isinstance(table, Table):
            self.columns: Columns = MemoryColumns(table)
        else:
            self.columns = table
        self.source = self.columns.source
        self.kinds = {
            name: self._kind(name, column, person) for name, column in self.columns.kinds.items()
        }

    def _kind(self, name: str, column: ColumnKind, person: str | None) -> str:
        """The kind of a column: from its type and its name."""
        if is_identifier(name, person):
            return "identifier"
        if column.kind == "empty":
            raise InputError(
                f"{self.source}, column {name!r} holds no values, so its kind is unknown; "
                f"drop it or give a schema."
            )
        if column.kind != "text":
            return column.kind
        if column.spelling:
            return "boolean"
        return "categorical"

    @cached_property
    def asked(self) -> dict[str, Edges | None]:
        """What is to be counted, for each column that is asked about."""
        asked = {name: _counted_by(kind) for name, kind in self.kinds.items()}
        asked = {name: edges for name, edges in asked.items() if self.kinds[name] != "identifier"}
        if not asked:
            raise InputError(
                f"{self.source} has no column to model: all of them look like identifiers; "
                f"give a schema."
            )
        return asked

    @property
    def needs_delta(self) -> bool:
        """Whether some column has categories that must be discovered."""
        return any(self.kinds[name] == "categorical" for name in self.asked)

    def discover(
        self, ledger: Ledger, budget: Budget, delta: float, noise: Noise | None = None
    ) -> Schema:
        """Draft a schema; costs ``budget`` and, where there are categories, ``delta``."""
        asked, kinds = self.asked, self.kinds
        costs = dict(zip(asked, budget.equally(len(asked)), strict=True))
        categorical = [name for name in asked if kinds[name] == "categorical"]
        share = 0.0
        if categorical:
            share = rounded_down(exact(delta) / len(categorical))
        asker = _Asker(ledger, noise if noise is not None else SystemNoise())
        if not asker.noise.private:
            ledger.private = False
        # All columns in one pass. Nothing of it is looked at before it is paid for, and what goes
        # wrong here costs nothing.
        counted = self.columns.counted(asked)
        attributes: list[Attribute] = []
        for name, column in self.columns.kinds.items():
            kind = kinds[name]
            if kind == "identifier":
                pattern = None
                if column.kind not in ("integer", "real"):
                    pattern = "ID-########"
                attributes.append(Identifier(name, kind, None, pattern))
            elif kind == "categorical":
                attributes.append(asker.categories(name, counted[name], costs[name], share))
            elif kind == "boolean":
                attributes.append(asker.boolean(name, column, counted[name], costs[name]))
            else:
                attributes.append(asker.quantity(name, kind, column, counted[name], costs[name]))
        return Schema(tuple(attributes))


def is_identifier(name: str, person: str | None = None) -> bool:
    """Whether a column is taken for one that tells rows or persons apart: by its name."""
    return name == person or _IDENTIFIER_NAME.fullmatch(name) is not None


def _counted_by(kind: str) -> Edges | None:
    if kind == "categorical":
        return None
    if kind == "boolean":
        return ()
    cells = _cells(kind)
    return (*(low for low, _ in cells), cells[-1][1])


def discover(
    table: Table | Columns,
    ledger: Ledger,
    budget: Budget,
    delta: float,
    noise: Noise | None = None,
    person: str | None = None,
) -> Schema:
    """Draft a schema from private rows; see :meth:`Draft.discover`."""
    return Draft(table, person).discover(ledger, budget, delta, noise)


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

    Discrete Laplace: P(X >= t) = exp(-t/s) / (1 + exp(-1/s)) <= exp(-t/s). Discrete Gaussian: it is
    sub-Gaussian (Canonne, Kamath, Steinke 2020), so P(X >= t) <= exp(-t^2 / (2 s^2)).
    """
    logarithm = math.log(1 / probability)
    if gaussian:
        return scale * math.sqrt(2 * logarithm)
    return scale * logarithm


class _Asker:
    """Puts histogram questions about single columns."""

    def __init__(self, ledger: Ledger, noise: Noise) -> None:
        self.ledger = ledger
        self.noise = noise

    def histogram(
        self, question: str, counts: Sequence[NDArray[np.int64]], cost: Budget, delta: float = 0.0
    ) -> _Histogram:
        gaussian = cost.currency == "rho"
        scale = table_scale(cost, self.ledger.neighbours, self.ledger.rows_per_person)
        if gaussian:
            name = "discrete Gaussian"
        else:
            name = "discrete Laplace"
        self.ledger.debit(question, cost, f"{name}, scale {scale:.6g}", delta)
        exact_counts = np.concatenate(counts).astype(np.int64)
        if gaussian:
            noisy = self.noise.gaussian(exact_counts, scale)
        else:
            noisy = self.noise.laplace(exact_counts, scale)
        return _Histogram(noisy, scale, gaussian)

    # ---- categories

    def categories(self, name: str, column: ColumnCounts, cost: Budget, delta: float) -> Attribute:
        """Values with a noisy count above the threshold, "other" for the rest.

        (epsilon, delta): compare neighbours T and T' where T holds a value v that T' does not,
        necessarily in one row. On outcomes that do not name v the two histograms are epsilon-close
        (values in both differ by one row under add_remove, by one row each way under replace);
        outcomes that name v have probability P(1 + noise >= threshold) <= delta under T. The same
        holds with T and T' exchanged, so delta is charged once whatever the relation.

        Where a person has up to M rows, T may hold up to M values that T' does not, each in up to M
        rows. With P(M + noise >= threshold) <= delta / M one of them is named with probability at
        most delta (union bound), and on all other outcomes the histograms differ by M rows, which
        their noise covers. Only values that occur in the rows that count are looked at: there may
        be any number of others, in rows left out.
        """
        counts = [column.counts, column.missing.sum(keepdims=True)]
        asked = self.histogram(f"categories of {name}", counts, cost, delta)
        most = self.ledger.rows_per_person
        threshold = most + _tail(asked.scale, asked.gaussian, delta / most)
        kept = [
            (word, count)
            for word, count in zip(column.words, asked.counts[:-1].tolist(), strict=True)
            if count >= threshold and len(word) <= MAX_TEXT_LENGTH
        ]
        kept = sorted(kept, key=lambda pair: -pair[1])[:MOST_CATEGORIES]
        if not kept:
            return Text(name, "text")
        # Missing is a cell that always exists, so it needs no threshold against disclosure, only
        # against noise.
        missing = None
        if asked.counts[-1] >= _tail(asked.scale, asked.gaussian, FALSE_ALARM):
            missing = ""
        values = tuple(sorted(word for word, _ in kept))
        names = itertools.chain(
            ("other", "Other", "(other)", "_other_"), map("other{}".format, itertools.count(2))
        )
        other = next(name for name in names if name not in values)
        return Category(name, "categorical", missing, values, False, None, other)

    def boolean(self, name: str, kind: ColumnKind, column: ColumnCounts, cost: Budget) -> Attribute:
        asked = self.histogram(
            f"missing values of {name}", [column.missing.sum(keepdims=True)], cost
        )
        missing = None
        if asked.counts[0] >= asked.stands_out():
            missing = ""
        return Category(name, "boolean", missing, kind.spelling or ("false", "true"))

    # ---- quantities

    def quantity(
        self, name: str, kind: str, written: ColumnKind, column: ColumnCounts, cost: Budget
    ) -> Attribute:
        cells = _cells(kind)
        asked = self.histogram(f"bounds of {name}", [column.counts, column.missing], cost)
        line = asked.stands_out()
        weights = np.where(asked.counts > line, asked.counts, 0)
        marks = weights[len(cells) :]
        missing = None
        if marks.any():
            missing = MARKS[int(marks.argmax())]
        edges, equal = _edges(kind, cells, weights[: len(cells)])
        return Quantity(name, kind, missing, edges, equal, written.format or None, free_bins=True)


# --------------------------------------------------------------------------- cells and edges

_Cell = tuple[float, float]


def _cells(kind: str) -> list[_Cell]:
    if kind in ("date", "datetime"):
        return _year_cells(kind)
    return _octaves(kind)


def _octaves(kind: str) -> list[_Cell]:
    """Half-open cells [low, high): zero, and the powers of two on both sides of it."""
    if kind == "integer":
        powers: Iterable[int] = range(53)
    else:
        powers = range(-20, 53)
    if kind == "integer":
        up = [(2**p, 2 ** (p + 1)) for p in powers]
        down = [(1 - high, 1 - low) for low, high in reversed(up)]
        return [*down, (0, 1), *up]
    positive = [(2.0**p, 2.0 ** (p + 1)) for p in powers]
    negative = [(-high, -low) for low, high in reversed(positive)]
    middle = [(-(2.0**-20), 0.0), (0.0, 2.0**-20)]
    return [*negative, *middle, *positive]


def _year_cells(kind: str) -> list[_Cell]:
    if kind == "date":
        unit = 1
    else:
        unit = 86400
    starts = [(dt.datetime(year, 1, 1) - EPOCH).days * unit for year in (*_YEARS, _YEARS.stop)]
    return list(itertools.pairwise(starts))


def _edges(
    kind: str, cells: Sequence[_Cell], weights: NDArray[np.int64]
) -> tuple[tuple[float, ...], bool]:
    """Bins between the outermost occupied cells: many where there are many rows, few where there
    are few.

    Everything here is post-processing of the noisy histogram.
    """
    occupied = np.flatnonzero(weights)
    if len(occupied) == 0:
        # Nothing stands out of the noise: a domain that fits most counts and measures.
        low, high = cells[0][0], cells[-1][1]
        if kind in ("integer", "real"):
            low, high = 0, 128
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


def _stretches(
    cells: Sequence[_Cell], weights: NDArray[np.int64]
) -> list[tuple[float, float, float]]:
    """Occupied cells as they are; runs of empty ones between them join the next occupied one."""
    stretches = []
    start = cells[0][0]
    for (_, high), weight in zip(cells, weights.tolist(), strict=True):
        if weight:
            stretches.append((start, high, float(weight)))
            start = high
    return stretches
