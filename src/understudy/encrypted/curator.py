"""The encrypted curator: answers from what owners uploaded once, by a service that holds the key.

- **Tables** of the plan are asked for as they are; a table that lies within one of the plan is
  added up from it.
- **Sums** are those of the plan's questions, at any price.
- **Choices** would need exact scores, which nobody can compute on ciphertexts. They are made from
  noisy tables instead: :meth:`EncryptedCurator.survey` measures all tables of the plan once, and
  choices are then post-processing. A choice costs nothing, so its price goes to the next tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.bits import Bits
from understudy.data.marginals import Axis, Marginal, describe
from understudy.encrypted.session import EncryptedSession
from understudy.errors import InputError
from understudy.federation.noise_shares import sum_scale
from understudy.federation.ways import TablesCounter
from understudy.models.parameters import estimate_rows
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.mechanisms import Noise, distribution_of, mean_noise, noise_deviation
from understudy.privacy.questions import Choose, Draw, Measure, Question
from understudy.privacy.scores import Misfit
from understudy.privacy.sums import Sum, Sums, read_sums

PARTIES = 2
"""The aggregator and the service add noise."""


class EncryptedCurator(Curator):
    """Answers from encrypted uploads.

    Parameters
    ----------
    session
        The open session.
    noise
        What tosses are made with; anything but the default is for studies.
    """

    adaptive_sums = False

    def __init__(self, session: EncryptedSession, noise: Noise | None = None) -> None:
        super().__init__(session.plan.domain, session.ledger, noise)
        self.session = session
        self.plan = session.plan
        self._surveyed: dict[frozenset[Axis], Measurement] = {}
        self._saved: Budget | None = None
        """The price of choices that cost nothing."""

    @property
    def rows(self) -> None:
        """Private: nobody knows how many rows the owners have."""
        return

    def in_bits(self, bits: Bits) -> Curator:
        """Not of what was encrypted: a plan has tables of columns."""
        raise InputError(
            "Encrypted tables are of columns as they are, not of their bits; use the encoding "
            "vanilla or hierarchical."
        )

    def answer(self, question: Question) -> Any:
        """Answer a question, once it is checked and paid for."""
        question.check(self.domain)
        match question:
            case Measure():
                return self._measure(question)
            case Choose():
                return self._choose(question)
            case Sum():
                return self._sum(question)
            case Draw():
                raise InputError(
                    "Rows cannot be drawn from encrypted tables; use a method that measures tables."
                )
        raise TypeError(f"an encrypted curator does not answer {type(question).__name__}")

    def mean_noise(self, cost: Budget) -> float:
        """The average size of the noise in a cell of a table that costs ``cost``."""
        return mean_noise(cost, self.neighbours) * math.sqrt(PARTIES / self.session.terms.honest)

    # ---- tables

    def survey(self, budget: Budget) -> None:
        """Measure all tables of the plan, so that choices can be made from them."""
        for found in self._ask(Measure(marginals=self.plan.tables, budget=budget)):
            self._surveyed[frozenset(found.marginal)] = found

    def _measure(self, question: Measure) -> list[Measurement]:
        if self._saved is not None:
            question = replace(question, budget=question.budget.plus(self._saved))
            self._saved = None
        homes = [self._home(axes) for axes in question.marginals]
        found = self._ask(replace(question, marginals=homes))
        return [
            self._roll_up(axes, home) for axes, home in zip(question.marginals, found, strict=True)
        ]

    def _ask(self, question: Measure) -> list[Measurement]:
        """Tables as they stand in the plan."""
        tables, priced = self.session.add_up(question)
        kind = distribution_of(question.budget.currency)
        enough = self.session.terms.honest
        return [
            Measurement(
                axes,
                table.reshape(self.domain.shape(axes)),
                kind,
                sum_scale(kind, scale, enough, PARTIES),
            )
            for axes, table, scale in zip(question.marginals, tables, priced.scales, strict=True)
        ]

    def _home(self, axes: Marginal) -> Marginal:
        """The smallest table of the plan that holds the axes, at their levels or finer."""
        holding = [table for table in self.plan.tables if all(_holds(table, axis) for axis in axes)]
        if not holding:
            raise InputError(
                f"The table of {describe(axes)} lies in none of the plan that owners uploaded for; "
                "ask for what it has, or agree on another plan."
            )
        return min(holding, key=lambda table: (len(table) != len(axes), self.domain.cells(table)))

    def _roll_up(self, axes: Marginal, home: Measurement) -> Measurement:
        """A table that lies in a measured one."""
        if home.marginal == tuple(axes):
            return home
        counts = home.counts
        kept = [axis.attribute for axis in axes]
        places = {axis.attribute: place for place, axis in enumerate(home.marginal)}
        spare = tuple(place for name, place in places.items() if name not in kept)
        counts = counts.sum(axis=spare)
        left = [axis for axis in home.marginal if axis.attribute in kept]
        counts = counts.transpose([[one.attribute for one in left].index(name) for name in kept])
        summed = math.prod(home.counts.shape[place] for place in spare)
        by_name = {axis.attribute: axis for axis in left}
        for place, axis in enumerate(axes):
            if by_name[axis.attribute] != axis:
                before = counts.shape[place]
                counts = self._coarsen(counts, place, axis)
                summed = math.ceil(summed * before / counts.shape[place])
        return Measurement(axes, counts, "gaussian", home.deviation * math.sqrt(summed))

    def _coarsen(self, counts: NDArray[np.int64], place: int, axis: Axis) -> NDArray[np.int64]:
        coarse = np.asarray(self.schema[axis.attribute].generalisations[axis.level - 1])
        moved = np.moveaxis(counts, place, 0)
        joined = np.zeros((self.domain.sizes[axis], *moved.shape[1:]), dtype=np.int64)
        np.add.at(joined, coarse, moved)
        return np.moveaxis(joined, 0, place)

    # ---- sums

    def _sum(self, question: Sum) -> Sums:
        parts, priced = self.session.add_up(question)
        blocks = priced.blocks
        kind = distribution_of(question.budget.currency)
        enough = self.session.terms.honest
        noisy = {
            part: numbers.reshape(-1, len(block.magnitudes))
            for (part, block), numbers in zip(blocks.items(), parts, strict=True)
        }
        scales = {
            part: sum_scale(kind, scale, enough, PARTIES)
            for part, scale in zip(blocks, priced.scales, strict=True)
        }
        return read_sums(question, self.domain, noisy, blocks, scales)

    # ---- choices

    def _choose(self, question: Choose) -> int:
        """The candidate with the best score by the surveyed tables, among those of the plan."""
        if len(question.candidates) == 1:
            return 0
        if not self._surveyed:
            self.survey(question.budget)
        else:
            self._save(question.budget)
        offsets = question.offsets
        if offsets is None:
            offsets = np.zeros(len(question.candidates))
        scores = np.where(self._in_plan(question.candidates), offsets, -np.inf)
        known = np.flatnonzero(np.isfinite(scores)).tolist()
        if not known:
            raise InputError(
                "None of the tables to choose from is in the plan that owners uploaded for; use a "
                "method that asks for fewer columns at a time."
            )
        estimates = question.estimates
        candidates = [question.candidates[place] for place in known]
        if isinstance(question.named_score, Misfit) and estimates is not None:
            found = [
                self._misfit(axes, estimates[place])
                for axes, place in zip(candidates, known, strict=True)
            ]
            scores[known] += found
        else:
            scores[known] += question.named_score.evaluate(self._counter(), candidates)
        return int(np.argmax(scores))

    def _save(self, budget: Budget) -> None:
        if self._saved is None:
            self._saved = budget
        else:
            self._saved = self._saved.plus(budget)

    def _in_plan(self, candidates: Sequence[Marginal]) -> NDArray[np.bool_]:
        return np.array([self._surveyed_home(axes) is not None for axes in candidates])

    def _surveyed_home(self, axes: Marginal) -> Measurement | None:
        exact = self._surveyed.get(frozenset(axes))
        if exact is not None:
            return exact
        holding = [
            table
            for table in self._surveyed.values()
            if all(_holds(table.marginal, axis) for axis in axes)
        ]
        return min(holding, key=lambda table: table.counts.size, default=None)

    def _misfit(self, axes: Marginal, estimate: NDArray[np.float64]) -> float:
        """About how many rows an estimate has in wrong cells.

        The sum of absolute differences would mostly be noise. That of squares is, but its mean is
        known and taken off; differences are then taken to be normal.
        """
        home = self._surveyed_home(axes)
        assert home is not None
        table = self._roll_up(axes, home)
        squares = float(((table.counts - estimate) ** 2).sum())
        noise = noise_deviation(table.distribution, table.scale) ** 2 * table.counts.size
        return math.sqrt(2 / math.pi * max(squares - noise, 0.0) * table.counts.size)

    def _counter(self) -> TablesCounter:
        tables = {
            held: table
            for held, table in self._surveyed.items()
            if all(axis.level == 0 for axis in held)
        }
        sizes = {attribute.name: attribute.size for attribute in self.schema.modelled}
        rows = min(max(estimate_rows(list(tables.values())), 1.0), float(self.plan.max_rows))
        return TablesCounter(tables, sizes, rows)


def _holds(table: Marginal, axis: Axis) -> bool:
    """Whether a table has an axis, or the finest level of the same attribute."""
    return axis in table or Axis(axis.attribute) in table
