"""Counts of rows: of groups, of several conditions at once, and shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from understudy.asking.answers import Answer, Expected
from understudy.asking.functions import LinearFunction, per_rows, share_error, share_of
from understudy.asking.intervals import KnownNoise
from understudy.privacy.linear import LinearQueries, QueryMatrix
from understudy.privacy.mechanisms import distribution_of


class Counts(LinearFunction):
    """Rows of each group, or rows for which each of several conditions holds."""

    @cached_property
    def _question(self) -> LinearQueries:
        return self.linear(self._matrix())

    def _matrix(self) -> QueryMatrix:
        return QueryMatrix.counting(self.classes, len(self.labels))

    def expect(self) -> Expected:
        """The noise is all there is."""
        noise = self.noise_of(self._question)
        return Expected(
            question=self.priced.text,
            mechanism=self.describe(self._question),
            error=noise.reach(),
            sentence=f"off by at most {noise.reach():,} rows in 95 of 100 runs",
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """A count is not below 0, nor above the rows where their number is public."""
        [(counts, scale)] = answers
        noise = KnownNoise(distribution_of(self.priced.budget.currency), scale)
        most = math.inf
        if self.priced.rows is not None:
            most = self.priced.rows
        found = []
        for label, count in zip(self._names(), counts.tolist(), strict=True):
            low, value, high = (
                min(max(end, 0), most)
                for end in (count - noise.reach(), count, count + noise.reach())
            )
            found.append(
                Answer(group=label, value=value, error=noise.deviation, low=low, high=high)
            )
        return found

    def _names(self) -> list[tuple[str, ...]]:
        return self.labels


class LabelCounts(Counts):
    """How many rows have each of several labels; of a row's labels, the first few count.

    A row adds 1 to at most ``max_labels`` counts, whatever it holds: which ones is a function of
    the row alone.
    """

    def _matrix(self) -> QueryMatrix:
        truths = [self.layout.truth(label.condition) for label in self.query.labels]
        held = np.zeros(self.layout.shape, dtype=np.int64)
        rows, columns = [], []
        for place, truth in enumerate(truths):
            counts = truth & (held < self.query.max_labels) & (self.classes >= 0)
            held += counts
            cells = np.flatnonzero(counts.ravel())
            columns.append(cells)
            rows.append(self.classes.ravel()[cells] * len(truths) + place)
        every = np.concatenate(rows)
        return QueryMatrix(
            len(self.labels) * len(truths),
            held.size,
            every,
            np.concatenate(columns),
            np.ones(len(every), dtype=np.int64),
        )

    def _names(self) -> list[tuple[str, ...]]:
        texts = [label.text for label in self.query.labels]
        return [(*group, text) for group in self.labels for text in texts]

    @property
    def note(self) -> str:
        """How many labels of a row count."""
        most, number = self.query.max_labels, len(self.query.labels)
        if most == number:
            return f"A row may count for all {number} conditions."
        return f"A row counts for the first {most} of the {number} conditions that hold for it."


class ShareOfRows(LinearFunction):
    """The share of rows that fit, of all rows or of each group.

    Rows that fit and rows that do not are two counts, of which a row is in one. Where the number of
    rows is public and there is one group, the first count is enough.
    """

    @cached_property
    def _whole(self) -> int | None:
        if self.query.groups:
            return None
        return self.priced.rows

    @cached_property
    def _question(self) -> LinearQueries:
        fits = self.layout.truth(self.query.condition)
        groups = self.layout.groups()
        if self._whole is not None:
            return self.linear(QueryMatrix.counting(np.where(fits, groups, -1), 1))
        classes = np.where(groups >= 0, 2 * groups + ~fits, -1)
        return self.linear(QueryMatrix.counting(classes, 2 * len(self.labels)))

    def expect(self) -> Expected:
        """In proportion to one over the rows."""
        reach = float(self.noise_of(self._question).reach())
        if self._whole is None:
            reach = self._shares.worst()
        return Expected(
            question=self.priced.text,
            mechanism=self.describe(self._question),
            error_times_rows=reach,
            sentence=per_rows(reach, " of each group" * bool(self.query.groups)),
        )

    def read(self, answers: Sequence[Any]) -> list[Answer]:
        """Shares with their intervals."""
        [(counts, scale)] = answers
        noise = KnownNoise(distribution_of(self.priced.budget.currency), scale)
        if self._whole is not None:
            rows = max(self._whole, 1)
            ends = [(int(counts[0]) + sign * noise.reach()) / rows for sign in (-1, 0, 1)]
            low, value, high = (min(max(end, 0.0), 1.0) for end in ends)
            return [Answer(value=value, error=noise.deviation / rows, low=low, high=high)]
        found = []
        for label, (fit, other) in zip(self.labels, counts.reshape(-1, 2).tolist(), strict=True):
            low, high = self._shares.interval(fit, other)
            value = share_of(fit, other, low, high)
            error = share_error(noise, value, fit + other)
            found.append(Answer(group=label, value=value, error=error, low=low, high=high))
        return found
