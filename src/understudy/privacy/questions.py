"""The questions that a curator can be asked, as values.

A question checks itself against the public domain before anything is debited, knows what it costs,
how it is written into a ledger and how it is sent to holders. A curator only answers it: what
differs between curators is where the counts come from and how noise is added, and that is all that
they say themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal, describe
from understudy.errors import InputError
from understudy.privacy.budget import Budget
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import ChoiceRule, describe_noise, draw_smoothing, table_scale
from understudy.privacy.scores import Misfit, Score, score_named
from understudy.privacy.wire import Arrays, Content, Wire, pack_marginals, read_marginals

MAX_WEIGHT = 1 << 53

LedgerLine = tuple[str, Budget, str]
"""What is asked, at which price, and by which mechanism it is answered."""


class Question(ABC):
    """What a curator can be asked."""

    budget: Budget

    @abstractmethod
    def check(self, domain: Domain) -> None:
        """Refuse what cannot be answered; reads nothing private."""


@dataclass(frozen=True, kw_only=True)
class Measure(Question):
    """Noisy tables of marginals; the budget is split over them by the weights, or evenly."""

    marginals: Sequence[Marginal]
    budget: Budget
    weights: Sequence[float] | None = None

    def check(self, domain: Domain) -> None:
        """Refuse what are no tables, and prices that cannot be split over them."""
        domain.check(self.marginals)
        if self.weights is not None and not self._are_weights(self.weights):
            raise InputError(
                f"There must be a weight for each table, above 0 and at most {MAX_WEIGHT:,}."
            )
        if not self.budget.amount > 0 or not all(cost.amount > 0 for cost in self.costs):
            raise InputError(
                "A table cannot be measured for nothing; give it a share of the budget."
            )

    def _are_weights(self, weights: Sequence[float]) -> bool:
        return len(weights) == len(self.marginals) and all(
            0 < weight <= MAX_WEIGHT for weight in weights
        )

    @cached_property
    def costs(self) -> tuple[Budget, ...]:
        """The price of each table."""
        if self.weights is None:
            return self.budget.equally(len(self.marginals))
        return self.budget.split(*self.weights)

    def scales(self, ledger: Ledger) -> list[float]:
        """The scale of the noise in each table; refuses what is too little for any."""
        return [
            table_scale(cost, ledger.neighbours, ledger.max_rows_per_person) for cost in self.costs
        ]

    def ledger_lines(self, scales: Sequence[float], how: str = "") -> Iterator[LedgerLine]:
        """A line for each table; ``how`` says more about the noise."""
        for axes, cost, scale in zip(self.marginals, self.costs, scales, strict=True):
            noise = describe_noise(cost.currency, scale)
            yield f"table of {describe(axes)}", cost, f"{noise}, {how}" if how else noise

    def to_wire(self) -> tuple[Content, Arrays]:
        """What holders are sent."""
        names, arrays = pack_marginals(self.marginals)
        if self.weights is not None:
            arrays["weights"] = np.array(self.weights, dtype=np.float64)
        return {"names": names, "amount": self.budget.amount}, arrays

    @classmethod
    def from_wire(cls, wire: Wire, budget: Budget) -> Measure:
        """What a holder was sent."""
        weights = None
        if "weights" in wire.arrays:
            weights = wire.array("weights", "f8").tolist()
        return cls(marginals=read_marginals(wire), budget=budget, weights=weights)


@dataclass(frozen=True, kw_only=True)
class Choose(Question):
    """The place of one candidate, chosen at random with a preference for high scores.

    A score is named (see :mod:`understudy.privacy.scores`) and has a proved sensitivity;
    ``offsets`` are public numbers added to the scores, ``estimates`` public tables that the score
    "misfit" compares the exact ones with.
    """

    candidates: Sequence[Marginal]
    score: str
    budget: Budget
    offsets: NDArray[np.float64] | None = None
    rule: ChoiceRule = "permute_and_flip"
    estimates: Sequence[NDArray[np.float64]] | None = None
    part_of: tuple[Choose, NDArray[np.int64]] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    """The question that this one is a part of (:meth:`narrow`), and which of its candidates."""
    _checked_for: Domain | None = field(default=None, init=False, repr=False, compare=False)

    def check(self, domain: Domain) -> None:
        """Refuse candidates that the score is not defined for, and what does not go with them.

        A part of a question that was checked needs no second look but at its price: a wide table
        is asked for hundreds of choices among the same tables.
        """
        if self.part_of is not None and self.part_of[0]._checked_for is domain and self.candidates:
            self._check_price()
            return
        self._check_whole(domain)
        object.__setattr__(self, "_checked_for", domain)

    def _check_whole(self, domain: Domain) -> None:
        if not self.candidates or not all(self.candidates):
            raise InputError("There is nothing to choose from.")
        domain.check(self.candidates)
        if self.estimates is None:  # a table may be compared with several estimates
            self.check_distinct()
        self.named_score.check(self._children(domain))
        self._check_estimates(domain)
        self._check_offsets()
        if self.rule not in get_args(ChoiceRule):
            raise InputError(f"There is no rule {self.rule!r} to choose by.")
        self._check_price()

    def _check_price(self) -> None:
        if not self.budget.amount > 0:
            raise InputError("A choice cannot be made for nothing; give it a share of the budget.")

    def check_distinct(self) -> None:
        """Refuse a table that stands twice; holders do so whatever it is compared with."""
        if len(set(self.candidates)) < len(self.candidates):
            raise InputError("A candidate stands twice in the question; each can be chosen once.")

    def _check_estimates(self, domain: Domain) -> None:
        score = self.named_score
        if isinstance(score, Misfit) != (self.estimates is not None):
            raise InputError("Estimates go with the score misfit, and it needs them.")
        if isinstance(score, Misfit) and self.estimates is not None:
            score.check_estimates(domain.sizes, self.candidates, self.estimates)

    def _check_offsets(self) -> None:
        if self.offsets is None:
            return
        if np.shape(self.offsets) != (len(self.candidates),) or not np.isfinite(self.offsets).all():
            raise InputError("Offsets must be finite numbers, one per candidate.")

    @property
    def named_score(self) -> Score:
        """The score; refuses one that there is not."""
        return score_named(self.score)

    @cached_property
    def _first_axes(self) -> set[Axis]:
        return {axes[0] for axes in self.candidates}

    def _children(self, domain: Domain) -> set[int]:
        """How many values the candidates' first attributes have."""
        return {domain.sizes[axis] for axis in self._first_axes}

    def is_binary(self, domain: Domain) -> bool:
        """Whether in every candidate the first attribute has at most two values."""
        return max(self._children(domain)) <= 2

    @property
    def paid_rule(self) -> ChoiceRule:
        """The rule that the choice is made by.

        Beside a delta it is the exponential mechanism, whose price there is known to be a quarter
        of what pure DP alone would give.
        """
        if self.budget.currency == "epsilon":
            return self.rule
        return "exponential"

    def narrow(self, places: NDArray[np.int64], budget: Budget) -> Choose:
        """The same question about a few of the candidates, at another price."""
        offsets, estimates = self.offsets, self.estimates
        if offsets is not None:
            offsets = offsets[places]
        if estimates is not None:
            estimates = [estimates[place] for place in places]
        candidates = [self.candidates[place] for place in places]
        part = replace(
            self, candidates=candidates, budget=budget, offsets=offsets, estimates=estimates
        )
        object.__setattr__(part, "part_of", (self, places))
        return part

    def ledger_line(self, mechanism: str, what: str = "choice", by: str = "score") -> LedgerLine:
        """The line of one choice, or of several votes for one."""
        question = f"{what} among {len(self.candidates)} candidates by {by} {self.score}"
        return question, self.budget, mechanism

    def ledger_line_of_sums(self, mechanism: str, told: str = "") -> LedgerLine:
        """The line of the sums, over holders, of the candidates' scores."""
        return f"{told}{len(self.candidates)} sums of scores {self.score}", self.budget, mechanism

    def scores_to_wire(self) -> tuple[Content, Arrays]:
        """What holders are sent so that they can tell the candidates' scores."""
        names, arrays = pack_marginals(self.candidates)
        if self.estimates is not None:
            flat = np.concatenate([np.ravel(estimate) for estimate in self.estimates])
            arrays["estimates"] = flat.astype(np.float64)
        return {"names": names, "amount": self.budget.amount, "score": self.score}, arrays

    def to_wire(self) -> tuple[Content, Arrays]:
        """What holders are sent so that each can choose for itself."""
        content, arrays = self.scores_to_wire()
        if self.offsets is not None:
            arrays["offsets"] = np.array(self.offsets, dtype=np.float64)
        return {**content, "rule": self.rule}, arrays

    @classmethod
    def scores_from_wire(
        cls, wire: Wire, budget: Budget, domain: Domain, share: float = 1.0
    ) -> Choose:
        """The candidates that a holder is to score; estimates are taken in its share of all
        rows.
        """
        candidates = read_marginals(wire)
        domain.check(candidates)  # estimates are cut to the tables' shapes
        estimates = None
        if "estimates" in wire.arrays:
            flat = wire.array("estimates", "f8") * share
            estimates = _cut_tables(flat, [domain.shape(axes) for axes in candidates])
        return cls(
            candidates=candidates,
            score=wire.get("score", str),
            budget=budget,
            estimates=estimates,
        )

    @classmethod
    def from_wire(cls, wire: Wire, budget: Budget, domain: Domain, share: float = 1.0) -> Choose:
        """The choice that a holder is to make; offsets are taken in its share of all rows, too."""
        offsets = None
        if "offsets" in wire.arrays:
            offsets = wire.array("offsets", "f8") * share
        scored = cls.scores_from_wire(wire, budget, domain, share)
        return replace(scored, offsets=offsets, rule=wire.get("rule", str))


@dataclass(frozen=True, kw_only=True)
class Draw(Question):
    """How often each cell of a marginal comes up in ``draws`` independent draws from its smoothed
    table.

    As many rows as the budget asks for are added to every cell first, see
    :func:`understudy.privacy.mechanisms.draw_smoothing`.
    """

    axes: Marginal
    draws: int
    budget: Budget

    def check(self, domain: Domain) -> None:
        """Refuse what is no table, and draws that are none."""
        domain.check([self.axes])
        if self.draws < 1:
            raise InputError(f"The number of draws must be at least 1, not {self.draws!r}.")
        if not self.budget.amount > 0:
            raise InputError("Rows cannot be drawn for nothing; give them a share of the budget.")

    def smoothing(self, ledger: Ledger) -> Fraction:
        """What is added to each cell."""
        loss = ledger.allow_loss(self.budget, self.draws)
        return draw_smoothing(loss, self.draws, ledger.neighbours, ledger.max_rows_per_person)

    def ledger_line(self, smoothing: Fraction) -> LedgerLine:
        """The line of all draws."""
        question = f"{self.draws:,} draws from the table of {describe(self.axes)}"
        mechanism = f"smoothed histogram, {float(smoothing):.6g} added to each cell"
        return question, self.budget, mechanism


def _cut_tables(
    flat: NDArray[np.float64], shapes: Sequence[tuple[int, ...]]
) -> list[NDArray[np.float64]]:
    """Tables that stand one after the other."""
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    if ends[-1] != flat.size:
        raise InputError("The estimates do not have the shapes of the tables.")
    return [
        flat[begin:end].reshape(shape)
        for begin, end, shape in zip(ends[:-1], ends[1:], shapes, strict=True)
    ]
