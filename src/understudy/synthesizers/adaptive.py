"""Adaptive: measure what the model gets most wrong, fit it, and look again.

After AIM (McKenna, Mullins, Sheldon, Miklau; VLDB 2022). All attributes are measured one by one first. Then, in rounds,
a private choice finds the table on which the model and the rows differ most, after a handicap for the noise that
measuring it would bring; that table is measured, and a model of the largest entropy is fitted to all tables measured
so far (:mod:`understudy.graphical`). Where a round changed the model by no more than noise, later rounds cost twice as
much and bring less noise. Tables are chosen such that the model's cliques stay small enough to compute with.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.curator import Curator
from understudy.curator.budget import Budget
from understudy.curator.mechanisms import mean_noise
from understudy.errors import InputError
from understudy.graphical import Group
from understudy.graphical.learner import Learner
from understudy.marginals import marginal
from understudy.model import Model
from understudy.schema import Schema
from understudy.synthesizers import Progress, Synthesizer
from understudy.synthesizers.independent import Independent

SWEEPS = 5
LAST_SWEEPS = 50
"""How often the fit walks through its cliques after a round, and after the last one."""

MOST_CANDIDATES = 2_500
"""Where there are more, each round looks at as many of them, drawn at random."""

MOST_GROUPS = 200_000
"""Where there would be more groups of three attributes, only pairs are considered."""

WIDE = 16
"""A look is for as many choices as the attributes are times this."""

START = 0.1
"""From the beginning the cliques may have this share of their cells; the rest comes with the budget spent."""

ENOUGH = 0.1
MOST_TIMES = 6.0
"""Single attributes are measured again where their noise is more than this share of the rows, for so many times the
first share at most, and never for more than half of the budget."""

ANNEALING = 2.0
"""How much more a round costs after one that changed the model by no more than noise."""


@dataclass(frozen=True, kw_only=True)
class Adaptive(Synthesizer):
    """Measures what the model gets most wrong, in rounds.

    Parameters
    ----------
    workload
        Groups of attribute names on which the rows should be accurate, such as ``[("age", "education", "income")]``;
        only tables within a group are measured. By default all.
    target
        The column that somebody will predict from the others: only tables that hold it are measured.
    order
        The most attributes that a table has.
    cells
        The most cells that the cliques of the model have together: larger is more accurate, slower, and makes larger
        model files.
    rounds
        How many rounds there would be, for each attribute, if all cost the same.
    first
        The share of the budget that goes to the tables of single attributes; several times as much where there would be
        too much noise in them.
    choosing
        The share of a round that goes to the choice.
    penalty
        The handicap of a table: this times its expected noise. It is public, so it costs nothing.

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.

    Examples
    --------
    >>> model = Adaptive(epsilon=1.0, delta=1e-9).fit("patients.csv", "schema.json")   # doctest: +SKIP
    """

    workload: Sequence[Sequence[str]] = field(default=())
    target: str | None = None
    order: int = 3
    cells: int = 250_000
    rounds: float = 2.0
    first: float = 0.05
    choosing: float = 0.1
    penalty: float = 1.0

    @classmethod
    def fast(cls, **parameters: Any) -> Adaptive:
        """A tenth of the cells and half of the rounds: several times faster, and a little less accurate."""
        return cls(**{"cells": 25_000, "rounds": 1.0} | parameters)

    @property
    def name(self) -> str:
        """On the command line: ``--method adaptive``."""
        return "adaptive"

    @property
    def named(self) -> frozenset[str]:
        """The target and the columns of the workload."""
        return frozenset(name for group in self.workload for name in group) | frozenset(
            filter(None, (self.target,))
        )

    def check(self, schema: Schema | None) -> None:
        """Refuse parameters that make no sense, or not with this schema."""
        for name, share in (("first", self.first), ("choosing", self.choosing)):
            if not _number(share) or not 0 < share < 1:
                raise InputError(f"{name} must be a share between 0 and 1, not {share!r}.")
        if not _number(self.penalty) or not 0 <= self.penalty <= 1000:
            raise InputError(f"penalty must be a number from 0 to 1,000, not {self.penalty!r}.")
        if not _number(self.rounds) or not 0 < self.rounds <= 100:
            raise InputError(
                f"rounds must be a number above 0 and at most 100, not {self.rounds!r}."
            )
        for name, value, least, most in (
            ("order", self.order, 2, 6),
            ("cells", self.cells, 1, 1 << 26),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise InputError(
                    f"{name} must be a whole number from {least} to {most:,}, not {value!r}."
                )
        for group in self.workload:
            if not _names(group) or len(set(group)) < 2:
                raise InputError(
                    f"A group of the workload is a list of two or more attribute names, not {group!r}."
                )
        if self.target is not None and not isinstance(self.target, str):
            raise InputError(f"target must be the name of a column, not {self.target!r}.")
        if schema is not None:
            self._check_names(schema)

    def _check_names(self, schema: Schema) -> None:
        for name in sorted(self.named):
            if not schema[name].modelled:  # the schema says itself when there is no such column
                raise InputError(
                    f"{name!r} is of kind {schema[name].kind} and never read; no table can hold it."
                )

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as the model tells them."""
        return {**super().parameters(), "workload": [list(group) for group in self.workload]}

    # ---- the method

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Single attributes, then rounds."""
        self.check(
            curator.schema
        )  # where the domain was discovered this is the first time that it is known
        learner = Learner(curator)
        if not learner.sizes:  # only the number of rows can be learned
            return replace(
                Independent(epsilon=self.epsilon).learn(curator, budget, progress),
                method=self.parameters(),
            )
        groups = self._groups(learner)
        progress("measuring attributes", 0, 1)
        rest = self._singles(learner, budget, alone=not groups)
        if groups:
            _Rounds(self, learner, groups, rest).run(progress)
        learner.refit(LAST_SWEEPS)
        progress("measuring tables", 1, 1)
        return Model(
            self.parameters(),
            curator.schema,
            learner.network(),
            curator.ledger,
            round(learner.rows),
        )

    def _singles(self, learner: Learner, budget: Budget, alone: bool) -> Budget:
        """Measure single attributes, and again where there is too much noise in them; returns what is left."""
        singles: list[Group] = [(name,) for name in learner.sizes]
        if alone:
            learner.measure(singles, budget.equally(len(singles)))
            learner.refit(SWEEPS)
            return Budget(0.0, budget.currency)
        first, rest = budget.split(self.first, 1 - self.first)
        learner.measure(singles, first.equally(len(singles)))
        curator = learner.curator
        noise = mean_noise(
            first.equally(len(singles))[0], curator.neighbours, curator.ledger.rows_per_person
        )
        cells = statistics.fmean(learner.sizes.values())
        # Noise falls with the budget, or with its root: so many times as much would bring it down to what is wanted.
        times = (noise * cells / (ENOUGH * learner.rows)) ** (2 if budget.currency == "rho" else 1)
        more = min(times, MOST_TIMES, 0.5 / self.first) - 1
        if more > 0:
            again, rest = rest.split(more * self.first, 1 - (1 + more) * self.first)
            learner.measure(singles, again.equally(len(singles)))
        learner.refit(SWEEPS)
        return rest

    def _groups(self, learner: Learner) -> list[Group]:
        """All groups that may be measured: two attributes or more, within the workload, of bounded size."""
        names = list(learner.sizes)
        order = self.order
        while (
            order > 2 and sum(math.comb(len(names), k) for k in range(2, order + 1)) > MOST_GROUPS
        ):
            order -= 1
        wholes = [set(group) for group in self.workload] or [set(names)]
        found: dict[Group, None] = {}
        for whole in wholes:
            inside = [name for name in names if name in whole]
            for k in range(2, order + 1):
                found.update(dict.fromkeys(itertools.combinations(inside, k)))
        return [
            group
            for group in found
            if (self.target is None or self.target in group) and learner.cells(group) <= self.cells
        ]


class _Rounds:
    """Look, choose, measure, fit; and again until the budget is spent.

    In a wide table each look is for several choices, of groups that have no attribute in common: what is learned of one
    says little about the others.
    """

    def __init__(
        self, method: Adaptive, learner: Learner, groups: list[Group], budget: Budget
    ) -> None:
        self.method = method
        self.learner = learner
        self.groups = groups
        self.marginals = [marginal(*group) for group in groups]
        self.cells = np.array([learner.cells(group) for group in groups], dtype=np.float64)
        self.needed = np.zeros(
            len(groups)
        )  # how many cells the cliques would have with a group, when last looked at
        self.whole = budget
        self.left = budget
        self.step = budget.amount / max(method.rounds * len(learner.sizes), 1.0)
        self.choices = max(1, len(learner.sizes) // WIDE)
        self.rng = np.random.default_rng(
            0
        )  # public: which candidates a round looks at where there are too many

    def run(self, progress: Progress) -> None:
        """All rounds."""
        while self.left.amount > 0:
            progress(
                "measuring tables", round(1000 * (1 - self.left.amount / self.whole.amount)), 1000
            )
            now = self._next()
            choosing, measuring = now.split(self.method.choosing, 1 - self.method.choosing)
            noise = self._noise(measuring)
            places = self._candidates(noise)
            if len(places):
                self._round(places, choosing, measuring, noise)
            elif self.left.amount > 0:  # too small a step for any table: no question was asked yet
                self.left = self.left.plus(now)
                self.step *= 2
            else:
                self.learner.measure(
                    [(name,) for name in self.learner.sizes], now.equally(len(self.learner.sizes))
                )

    def _next(self) -> Budget:
        """A choice's budget, with its table; what would be too little for another one goes with the last."""
        if self.left.amount < 2 * self.step:
            now, self.left = self.left, Budget(0.0, self.left.currency)
        else:
            share = self.step / self.left.amount
            now, self.left = self.left.split(share, 1 - share)
        return now

    def _noise(self, measuring: Budget) -> float:
        """The average size of the noise in a cell."""
        curator = self.learner.curator
        return mean_noise(measuring, curator.neighbours, curator.ledger.rows_per_person)

    def _candidates(self, noise: float) -> NDArray[np.int64]:
        """Which groups could be measured now: the noise leaves something to see, and the cliques stay small."""
        room = self._room
        places = np.flatnonzero(
            (noise * self.cells <= self.learner.rows) & (self.needed <= 2 * room)
        )
        most = MOST_CANDIDATES * self.choices
        if len(places) > most:
            places = np.sort(self.rng.choice(places, most, replace=False))
        self.needed[places] = self.learner.fit.cells_with_each([self.groups[i] for i in places])
        return places[self.needed[places] <= room]

    @property
    def _room(self) -> float:
        """How many cells all cliques may have now."""
        spent = 1 - self.left.amount / self.whole.amount
        return max(self.method.cells * max(spent, START), self.learner.fit.cells) * (1 + 1e-9)

    def _round(
        self, places: NDArray[np.int64], choosing: Budget, measuring: Budget, noise: float
    ) -> None:
        learner = self.learner
        candidates = [self.groups[i] for i in places]
        expected = learner.expected(candidates)
        handicaps = -self.method.penalty * noise * self.cells[places]
        left = list(range(len(places)))
        chosen: list[int] = []
        costs: list[Budget] = []
        while True:
            if len(left) == 1:
                measuring = measuring.plus(choosing)  # no choice, no cost
            found = left[
                learner.curator.choose(
                    [self.marginals[places[i]] for i in left],
                    "misfit",
                    choosing,
                    handicaps[left],
                    estimates=[expected[i] for i in left],
                )
            ]
            together = learner.fit.cells_with([*(candidates[i] for i in chosen), candidates[found]])
            if together > self._room:  # each fits by itself, but not all
                self.left = self.left.plus(measuring)
                break
            chosen.append(found)
            costs.append(measuring)
            left = [i for i in left if not set(candidates[i]) & set(candidates[found])]
            if len(chosen) == self.choices or not left or self.left.amount < 2 * self.step:
                break
            choosing, measuring = self._next().split(self.method.choosing, 1 - self.method.choosing)
        learner.measure([candidates[i] for i in chosen], costs)
        learner.refit(SWEEPS)
        for place in chosen:
            change = np.abs(
                learner.fit.marginal(candidates[place]) * learner.rows - expected[place]
            ).sum()
            if change <= noise * self.cells[places[place]]:
                self.step *= ANNEALING ** (1 / self.choices)


def _names(group: Any) -> bool:
    return isinstance(group, list | tuple) and all(isinstance(name, str) for name in group)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
