"""The encrypted curator: answers from what owners uploaded once, by a service that holds the key.

- **Tables** of the plan are asked for as they are; a table that lies within one of the plan is
  added up from it.
- **Sums** are those of the plan's questions, at any price.
- **All tables of the plan at once** make one estimate (:meth:`EncryptedCurator.collect`), from
  which choices and further tables follow at no cost.
- **Choices** would else need exact scores of all rows, which nobody can compute on ciphertexts.
  They are made from noisy sums of the owners' own scores (:mod:`understudy.encrypted.choices`),
  which :meth:`EncryptedCurator.survey` asks for once: choices are then post-processing. A choice
  costs nothing, so its price goes to the next tables.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.data.bits import Bits
from understudy.data.marginals import Marginal, describe
from understudy.encrypted.choices import SurveyedScores, SurveyedTables, holds_axis, roll_up
from understudy.encrypted.plans import SCORE_STEPS
from understudy.encrypted.questions import PairScores
from understudy.encrypted.session import EncryptedSession
from understudy.errors import InputError
from understudy.federation.noise_shares import sum_scale
from understudy.models.joint.curator import EstimatedCurator, estimate_tables
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.mechanisms import (
    distribution_of,
    mean_integer_noise,
    noise_deviation,
)
from understudy.privacy.questions import Choose, Draw, Measure, Question
from understudy.privacy.sums import Sum, Sums, read_sums

PARTIES = 2
"""The aggregator and the service add noise."""


class EncryptedCurator(Curator):
    """Answers from encrypted uploads.

    Parameters
    ----------
    session
        The open session; tosses are made with its noise.
    """

    adaptive_sums = False

    any_table = False

    def __init__(self, session: EncryptedSession) -> None:
        super().__init__(session.plan.domain, session.ledger, session.own_noise)
        self.session = session
        self.plan = session.plan
        self._basis: SurveyedScores | SurveyedTables | None = None
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

    def _answer(self, question: Question) -> Any:
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
        each = mean_integer_noise(cost, self.neighbours, self.ledger.max_rows_per_person)
        return each * math.sqrt(PARTIES / self.session.terms.honest)

    # ---- tables

    def survey(self, budget: Budget) -> None:
        """Ask for what choices are made from: the scores of all pairs, where owners uploaded these,
        else all tables of the plan.
        """
        if self.plan.scores:
            question = PairScores(budget=budget)
            [numbers], priced = self.session.add_up(question)
            kind = distribution_of(budget.currency)
            scale = sum_scale(kind, priced.scales[0], self.session.terms.honest, PARTIES)
            self._basis = SurveyedScores(
                self.plan, numbers / SCORE_STEPS, noise_deviation(kind, scale) / SCORE_STEPS
            )
        else:
            found = self._ask(Measure(marginals=self.plan.tables, budget=budget))
            self._basis = SurveyedTables(self.plan, found)

    def collect(self, budget: Budget) -> EstimatedCurator:
        """Ask for all tables of the plan at once."""
        return estimate_tables(self, self.plan.tables, budget, self.plan.max_rows, self._noise)

    def _measure(self, question: Measure) -> list[Measurement]:
        if self._saved is not None:
            question = replace(question, budget=question.budget.plus(self._saved))
            self._saved = None
        homes = [self._home(axes) for axes in question.marginals]
        found = self._ask(replace(question, marginals=homes))
        return [
            roll_up(self.domain, axes, home)
            for axes, home in zip(question.marginals, found, strict=True)
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
        holding = [
            table for table in self.plan.tables if all(holds_axis(table, axis) for axis in axes)
        ]
        if not holding:
            raise InputError(
                f"The table of {describe(axes)} lies in none of the plan that owners uploaded for; "
                "ask for what it has, or agree on another plan."
            )
        return min(holding, key=lambda table: (len(table) != len(axes), self.domain.cells(table)))

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
        """The candidate with the best score by what was surveyed, among those of the plan."""
        if len(question.candidates) == 1:
            return 0
        if self._basis is None:
            self.survey(question.budget)
        elif self._saved is None:
            self._saved = question.budget
        else:
            self._saved = self._saved.plus(question.budget)
        assert self._basis is not None
        scores = self._basis.score(question)
        if not np.isfinite(scores).any():
            raise InputError(
                "None of the tables to choose from is in the plan that owners uploaded for; use a "
                "method that asks for fewer columns at a time."
            )
        if question.offsets is not None:
            scores = scores + question.offsets
        return int(np.argmax(scores))
