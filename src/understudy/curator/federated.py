"""The federated curator: several holders, each with its own rows, and nobody who is trusted with all of them.

It is the analyst's side: it holds no rows. Each question goes to all holders over a session
(:class:`understudy.federation.analyst.Session`), and the answers are put together:

- **Tables.** In the way "secure" holders add shares of noise and masks, and the sum is all that can be read: one noise
  in all, as of a central curator. In the other ways every holder adds the whole noise to its own tables.
- **Choices.** A score of all rows together cannot be had from sums, so the sum of the holders' own scores takes its
  place; where rows are spread at random that is nearly the same. In the way "secure", where no holder is feared to be
  in league with the analyst, one of them in turn, the delegate, reads the sums and tells the place of the largest: in
  epsilon, sums that have geometric noise in shares (:func:`understudy.federation.noise_shares.top_scale`); in rho, it
  makes a choice itself on sums with less noise (:func:`understudy.federation.noise_shares.delegated_scale`). Either is
  as sharp as a central choice. Otherwise each holder nominates a candidate by a choice of its own, for half of the
  price, and the nominees' sums of scores, for the other half, decide. In the way "voting" the most votes win. A row
  lies with one holder, so what one holder's vote costs is what all their votes cost.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.curator import Measurement
from understudy.curator.budget import Budget, Neighbours
from understudy.curator.ledger import Ledger
from understudy.curator.mechanisms import Noise, Rule, SystemNoise, table_scale
from understudy.curator.scores import score_named
from understudy.errors import InputError
from understudy.federation.analyst import Session
from understudy.federation.delegates import LARGEST_OFFSET
from understudy.federation.messages import packed
from understudy.federation.noise_shares import SHARED_GRID, score_sensitivity, summed_scale
from understudy.marginals import Axis, Marginal, describe
from understudy.networks.bits import Bits
from understudy.schema import Schema

NOMINATING = 0.5
"""The share of a choice's price that goes to nominations; the rest decides between the nominees."""

SIZING = 0.25
"""The share of the first choice's price that goes to the holders' sizes, where these are private and needed."""


class FederatedCurator:
    """Answers from several holders.

    Parameters
    ----------
    session
        The open session.
    schema
        The schema that all holders have.
    noise
        What tosses are made with; anything but the default is for studies.
    """

    def __init__(self, session: Session, schema: Schema, noise: Noise | None = None) -> None:
        self.schema = schema
        self.session = session
        self.ledger: Ledger = session.terms.ledger
        self.ledger.private = session.private
        self._noise = noise if noise is not None else SystemNoise()
        self._bits: str | None = None
        self._shares: dict[str, float] | None = None
        self._number_axes()

    def _number_axes(self) -> None:
        self._sizes = {
            Axis(attribute.name, level): size
            for attribute in self.schema.modelled
            for level, size in enumerate(attribute.sizes_by_level())
        }

    @property
    def neighbours(self) -> Neighbours:
        """Which tables count as neighbours."""
        return self.ledger.neighbours

    @property
    def rows(self) -> int | None:
        """The number of rows of all holders where it is public (neighbours: replace), else ``None``."""
        return sum(self.session.rows.values()) if self.neighbours == "replace" else None

    def in_bits(self, bits: Bits) -> FederatedCurator:
        """The same rows with their attributes taken apart into bits; the ledger and the session are shared."""
        apart = FederatedCurator(self.session, bits.schema, self._noise)
        apart.ledger = self.ledger
        apart._bits = "gray" if bits.gray else "binary"
        apart._shares = self._shares
        return apart

    def toss(self, places: int) -> int:
        """A place drawn uniformly: asks nothing, costs nothing."""
        return self._noise.choose(np.zeros(places), 1.0, "exponential")

    def draw(self, axes: Marginal, draws: int, budget: Budget) -> NDArray[np.int64]:
        """Draws would need the tables of all holders in one place."""
        raise InputError(
            "Rows cannot be drawn from the tables of several holders; use a method that measures tables."
        )

    # ---- tables

    def measure(
        self, marginals: Sequence[Marginal], budget: Budget, weights: Sequence[float] | None = None
    ) -> list[Measurement]:
        """Noisy tables of the marginals; the budget is split over them by the weights, or evenly."""
        if not marginals:
            return []
        shapes = self._shapes(marginals)
        costs = budget.equally(len(marginals)) if weights is None else budget.split(*weights)
        if not all(cost.amount > 0 for cost in costs):
            raise InputError(
                "A table cannot be measured for nothing; give it a share of the budget."
            )
        scales = [table_scale(cost, self.neighbours, self.ledger.rows_per_person) for cost in costs]
        kind = "laplace" if budget.currency == "epsilon" else "gaussian"
        self.ledger.debit_all(
            (
                f"table of {describe(axes)}",
                cost,
                f"discrete {kind.capitalize()}, scale {scale:.6g}, {self._how}",
            )
            for axes, cost, scale in zip(marginals, costs, scales, strict=True)
        )
        content, arrays = self._about(marginals, budget)
        if weights is not None:
            arrays["weights"] = np.array(weights, dtype=np.float64)
        cells = [math.prod(shape) for shape in shapes]
        flat, added, enough = self._summed("tables", sum(cells), content, arrays)
        tables = np.split(flat, np.cumsum(cells)[:-1])
        return [
            Measurement(axes, table.reshape(shape), kind, summed_scale(kind, scale, enough, added))
            for axes, table, shape, scale in zip(marginals, tables, shapes, scales, strict=True)
        ]

    def _summed(
        self, what: str, size: int, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[NDArray[np.int64], int, int]:
        """The sum of what holders have, how many shares of noise are in it, and how many would be enough."""
        session = self.session
        if session.terms.way == "secure":
            return *session.add_up(what, size, content, arrays), session.terms.honest
        answers = session.ask(what, content, arrays)
        found = np.zeros(size, dtype=np.int64)
        for name, answer in answers.items():
            numbers = answer.array("numbers", "i8")
            if numbers.size != size:
                raise InputError(
                    f"The holder {name} answered with {numbers.size:,} numbers, not {size:,}."
                )
            found += numbers
        return found, len(answers), 1

    @property
    def _how(self) -> str:
        terms = self.session.terms
        if terms.way != "secure":
            return f"by each of {len(terms.holders)} holders"
        return f"in shares of {len(terms.holders)} holders of which {terms.honest} are enough, securely summed"

    # ---- choices

    def choose(
        self,
        candidates: Sequence[Marginal],
        score: str,
        budget: Budget,
        offsets: NDArray[np.float64] | None = None,
        rule: Rule = "permute_and_flip",
        estimates: Sequence[NDArray[np.float64]] | None = None,
    ) -> int:
        """The place of one candidate, chosen at random with a preference for high scores."""
        if not candidates or not all(candidates):
            raise InputError("There is nothing to choose from.")
        shapes = self._shapes(candidates)
        score_named(score).check({shape[0] for shape in shapes})
        if len(set(candidates)) < len(candidates):
            raise InputError("A candidate stands twice in the question; each can be chosen once.")
        if not budget.amount > 0:
            raise InputError("A choice cannot be made for nothing; give it a share of the budget.")
        if len(candidates) == 1:
            return 0  # nothing to choose: the answer is known without asking
        if offsets is not None and (
            np.shape(offsets) != (len(candidates),) or not np.isfinite(offsets).all()
        ):
            raise InputError("Offsets must be finite numbers, one a candidate.")
        if estimates is not None and [list(np.shape(estimate)) for estimate in estimates] != shapes:
            raise InputError("There must be an estimate of each candidate's table, of its shape.")
        terms = self.session.terms
        question = _Choice(self, list(candidates), score, offsets, rule, estimates)
        if terms.way == "secure" and not terms.colluders:
            return question.largest(budget)
        votes, budget = question.votes(budget, NOMINATING if terms.way == "secure" else 1.0)
        places, times = np.unique(votes, return_counts=True)
        if terms.way != "secure":
            winners = places[times == times.max()]
            return int(winners[self.toss(len(winners))])
        if len(places) == 1:
            return int(places[0])
        return question.best_of(places, budget)

    def shares(self, budget: Budget) -> tuple[dict[str, float], Budget]:
        """Which share of all rows each holder has, and what is left of the budget of the choice that needs them."""
        session = self.session
        if self._shares is None:
            if self.neighbours == "replace":
                sizes: dict[str, float] = {name: float(rows) for name, rows in session.rows.items()}
            else:
                cost, budget = budget.split(SIZING, 1 - SIZING)
                self.ledger.debit(
                    "number of rows of each holder", cost, "each with noise of its own"
                )
                answers = session.ask("size", {"amount": cost.amount}, {})
                sizes = {
                    name: max(float(answer.get("size", int)), 1.0)
                    for name, answer in answers.items()
                }
            whole = sum(sizes.values())
            # A holder that is not heard of has dropped out.
            self._shares = {name: sizes.get(name, 0.0) / whole for name in session.terms.holders}
        return self._shares, budget

    # ---- questions

    def _about(
        self, marginals: Sequence[Marginal], budget: Budget
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        names, arrays = packed(marginals)
        return {"names": names, "bits": self._bits, "amount": budget.amount}, arrays

    def _shapes(self, marginals: Sequence[Marginal]) -> list[list[int]]:
        """The shapes of tables; refuses what cannot be asked before anything is debited."""
        for axis in set(itertools.chain.from_iterable(marginals)):
            if axis not in self._sizes:
                attribute = self.schema[axis.attribute]  # says itself when there is none
                kind = (
                    f"is of kind {attribute.kind} and never read"
                    if not attribute.modelled
                    else "has no such level"
                )
                raise InputError(f"{axis.attribute!r} {kind}.")
        for axes in marginals:
            if len({axis.attribute for axis in axes}) < len(axes):
                raise InputError(f"The table of {describe(axes)} names an attribute twice.")
        return [[self._sizes[axis] for axis in axes] for axes in marginals]


class _Choice:
    """One choice, and the ways to make it."""

    def __init__(
        self,
        curator: FederatedCurator,
        candidates: list[Marginal],
        score: str,
        offsets: NDArray[np.float64] | None,
        rule: Rule,
        estimates: Sequence[NDArray[np.float64]] | None,
    ) -> None:
        self.curator = curator
        self.session = curator.session
        self.candidates = candidates
        self.score = score
        self.offsets = offsets
        self.rule = rule
        self.estimates = estimates
        self.most_rows = max(self.session.rows.values()) if curator.rows is not None else None

    def votes(self, budget: Budget, part: float) -> tuple[list[int], Budget]:
        """Every holder's own choice, for a part of the price, and what is left of it."""
        shares: Mapping[str, float] = {}
        if self.offsets is not None or self.estimates is not None:
            shares, budget = self.curator.shares(budget)
        cost, rest = budget.split(part, 1 - part)
        question = f"{len(self.session.present)} votes among {len(self.candidates)} candidates by score {self.score}"
        rule = "exponential" if budget.currency == "rho" else self.rule.replace("_", " ")
        self.curator.ledger.debit(question, cost, f"{rule}, by each holder for itself")
        content, arrays = self._question(self.candidates, cost, self.estimates, shares)
        if self.offsets is not None:
            arrays["offsets"] = np.array(self.offsets, dtype=np.float64)
        answers = self.session.ask("vote", {**content, "rule": self.rule}, arrays)
        votes = [answer.get("vote", int) for answer in answers.values()]
        if not all(0 <= vote < len(self.candidates) for vote in votes):
            raise InputError("A holder voted for a candidate that is not there.")
        return votes, rest

    def best_of(self, places: NDArray[np.int64], budget: Budget) -> int:
        """Of a few candidates the one with the largest sum of scores, all of which have noise for the whole price."""
        nominees = [self.candidates[place] for place in places]
        estimates = None if self.estimates is None else [self.estimates[place] for place in places]
        question = f"{len(nominees)} sums of scores {self.score}"
        self.curator.ledger.debit(question, budget, f"noise {self.curator._how}")
        content, arrays = self._question(nominees, budget, estimates, self.curator._shares or {})
        sums, _, _ = self.curator._summed("scores", len(nominees), content, arrays)
        found = sums * (self._sensitivity(nominees, top=False) / SHARED_GRID)
        if self.offsets is not None:
            found = found + self.offsets[places]
        return int(places[int(np.argmax(found))])

    def largest(self, budget: Budget) -> int:
        """The candidate with the largest sum of noisy scores, which one holder sees and nobody else."""
        shares: Mapping[str, float] = {}
        if self.estimates is not None:
            shares, budget = self.curator.shares(budget)
        question = (
            f"choice among {len(self.candidates)} candidates by the sum of scores {self.score}"
        )
        rule = "exponential" if budget.currency == "rho" else "largest with geometric noise"
        self.curator.ledger.debit(
            question, budget, f"{rule}, by one of {len(self.session.present)} holders for all"
        )
        content, arrays = self._question(self.candidates, budget, self.estimates, shares)
        if self.offsets is not None:
            gridded = np.rint(
                self.offsets * (SHARED_GRID / self._sensitivity(self.candidates, top=True))
            )
            arrays["offsets"] = np.clip(gridded, -LARGEST_OFFSET, LARGEST_OFFSET).astype(np.int64)
        place = self.session.place_of_largest(len(self.candidates), content, arrays)
        # Paid for, but lost with the holder that dropped out: any candidate will do for once.
        return self.curator.toss(len(self.candidates)) if place is None else place

    def _sensitivity(self, candidates: Sequence[Marginal], top: bool) -> float:
        binary = max(self.curator._sizes[axes[0]] for axes in candidates) <= 2
        return score_sensitivity(self.score, self.curator.neighbours, self.most_rows, binary, top)

    def _question(
        self,
        candidates: Sequence[Marginal],
        cost: Budget,
        estimates: Sequence[NDArray[np.float64]] | None,
        shares: Mapping[str, float],
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        content, arrays = self.curator._about(candidates, cost)
        content |= {"score": self.score, "most_rows": self.most_rows, "shares": dict(shares)}
        if estimates is not None:
            arrays["estimates"] = np.concatenate(
                [np.ravel(estimate) for estimate in estimates]
            ).astype(np.float64)
        return content, arrays
