"""The federated curator: several holders, each with its own rows, and nobody who is trusted with
all of them.

It is the analyst's side: it holds no rows. Each question goes to all holders over a session
(:class:`understudy.federation.analyst.Session`), and the answers are put together:

- **Tables.** In the way "secure" holders add shares of noise and masks, and the sum is all that can
  be read: one noise in all, as of a central curator. In the other ways every holder adds the whole
  noise to its own tables.
- **Sums** of numbers are added up as tables are, on a grid that shares of noise can be drawn on
  (:mod:`understudy.federation.sums`).
- **Choices.** A score of all rows together cannot be had from sums, so the sum of the holders' own
  scores takes its place; where rows are spread at random that is nearly the same. In the way
  "secure", where no holder is feared to be in league with the analyst, one of them in turn, the
  delegate, reads the sums and tells the place of the largest: in epsilon, sums that have geometric
  noise in shares (:func:`understudy.federation.noise_shares.top_scale`); in rho, it makes a choice
  itself on sums with less noise (:func:`understudy.federation.noise_shares.delegate_scale`).
  Either is as sharp as a central choice. Otherwise each holder nominates a candidate by a choice of
  its own, for half of the price, and the nominees' sums of scores, for the other half, decide. In
  the way "voting" the most votes win. A row lies with one holder, so what one holder's vote costs
  is what all their votes cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.bits import Bits
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.federation.analyst import Session
from understudy.federation.delegates import MAX_OFFSET
from understudy.federation.noise_shares import SHARED_GRID, score_sensitivity, sum_scale
from understudy.federation.questions import QUESTIONS
from understudy.federation.sums import coarsen_blocks, count_numbers
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.domain import Domain
from understudy.privacy.mechanisms import Noise, distribution_of
from understudy.privacy.questions import Choose, Draw, Measure, Question
from understudy.privacy.sum_wire import sum_to_wire
from understudy.privacy.sums import Sum, Sums, read_sums
from understudy.privacy.vector_wire import vectors_to_wire
from understudy.privacy.vectors import NoisyVector, VectorSum
from understudy.privacy.wire import Arrays, Content

NOMINATING = 0.5
"""The share of a choice's price that goes to nominations; the rest decides between the nominees."""

SIZING = 0.25
"""The share of the first choice's price that goes to the holders' sizes, where these are private
and needed.
"""


class FederatedCurator(Curator):
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
        super().__init__(Domain(schema), session.terms.ledger, noise)
        self.session = session
        self.ledger.private = session.private
        self._bits: str | None = None
        self._shares: dict[str, float] | None = None

    @property
    def rows(self) -> int | None:
        """The number of rows of all holders where it is public (neighbours: replace), else
        ``None``.
        """
        if self.neighbours == "replace":
            return sum(self.session.rows.values())
        return None

    def in_bits(self, bits: Bits) -> FederatedCurator:
        """The same rows with their attributes taken apart into bits; the ledger and the session are
        shared.
        """
        apart = FederatedCurator(self.session, bits.schema, self._noise)
        apart.ledger = self.ledger
        if bits.gray:
            apart._bits = "gray"
        else:
            apart._bits = "binary"
        apart._shares = self._shares
        return apart

    def _answer(self, question: Question) -> Any:
        match question:
            case Measure():
                return self._measure(question)
            case Choose():
                return self._choose(question)
            case Sum():
                return self._sum(question)
            case VectorSum():
                return self._sum_vectors(question)
            case Draw():  # it would need the tables of all holders in one place
                raise InputError(
                    "Rows cannot be drawn from the tables of several holders; "
                    "use a method that measures tables."
                )
        raise TypeError(f"a federated curator does not answer {type(question).__name__}")

    # ---- tables

    def _measure(self, question: Measure) -> list[Measurement]:
        scales = question.scales(self.ledger)
        self.ledger.debit_all(question.ledger_lines(scales, self.describe_noise_shares()))
        content, arrays = question.to_wire()
        shapes = [self.domain.shape(axes) for axes in question.marginals]
        cells = [self.domain.cells(axes) for axes in question.marginals]
        flat, added, enough = self.add_up("tables", sum(cells), content, arrays)
        tables = np.split(flat, np.cumsum(cells)[:-1])
        kind = distribution_of(question.budget.currency)
        return [
            Measurement(axes, table.reshape(shape), kind, sum_scale(kind, scale, enough, added))
            for axes, table, shape, scale in zip(
                question.marginals, tables, shapes, scales, strict=True
            )
        ]

    def add_up(
        self, what: str, size: int, content: Content, arrays: Arrays
    ) -> tuple[NDArray[np.int64], int, int]:
        """The sum of what holders have, how many shares of noise are in it, and how many would be
        enough.
        """
        session, content = self.session, self.name_view(content)
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

    def name_view(self, content: Content) -> Content:
        """A question that says which view of the rows it is about."""
        return {**content, "bits": self._bits}

    def describe_noise_shares(self) -> str:
        """Who adds the noise of sums, in the words of a ledger."""
        terms = self.session.terms
        if terms.way != "secure":
            return f"by each of {len(terms.holders)} holders"
        return (
            f"in shares of {len(terms.holders)} holders of which {terms.honest} are enough, "
            f"securely summed"
        )

    # ---- sums

    def _sum(self, question: Sum) -> Sums:
        terms = self.session.terms
        if self._bits is not None:
            raise InputError("Rows in bits have no sums; ask a curator of the rows themselves.")
        if "sums" not in QUESTIONS[terms.way]:
            raise InputError(f"In the way {terms.way!r} holders do not sum numbers; use secure.")
        blocks = coarsen_blocks(question, self.domain, self.ledger)
        scales = question.scales(blocks)
        self.ledger.debit_all(question.ledger_lines(blocks, scales, self.describe_noise_shares()))
        sizes = count_numbers(question, self.domain, blocks)
        content, arrays = sum_to_wire(question)
        flat, added, enough = self.add_up("sums", sum(sizes.values()), content, arrays)
        parts = np.split(flat, np.cumsum(list(sizes.values()))[:-1])
        noisy = {
            part: numbers.reshape(-1, len(blocks[part].magnitudes))
            for part, numbers in zip(sizes, parts, strict=True)
        }
        kind = distribution_of(question.budget.currency)
        told = {part: sum_scale(kind, scale, enough, added) for part, scale in scales.items()}
        return read_sums(question, self.domain, noisy, blocks, told)

    def _sum_vectors(self, question: VectorSum) -> NoisyVector:
        terms = self.session.terms
        if "vectors" not in QUESTIONS[terms.way]:
            raise InputError(f"In the way {terms.way!r} holders sum no gradients; use secure.")
        scale = question.scale(self.ledger)
        content, arrays = vectors_to_wire(question)
        self._pay(question, scale)
        flat, added, enough = self.add_up("vectors", question.function.width, content, arrays)
        deviation = sum_scale("gaussian", scale, enough, added) * question.step
        return NoisyVector(values=np.float64(question.step) * flat, deviation=deviation)

    # ---- choices

    def _choose(self, question: Choose) -> int:
        question.check_distinct()
        if len(question.candidates) == 1:
            return 0  # nothing to choose: the answer is known without asking
        terms = self.session.terms
        choice = _Choice(self, question)
        if terms.way == "secure" and not terms.colluders:
            return choice.largest()
        votes, budget = choice.votes(NOMINATING if terms.way == "secure" else 1.0)
        places, times = np.unique(votes, return_counts=True)
        if terms.way != "secure":
            winners = places[times == times.max()]
            return int(winners[self.toss(len(winners))])
        if len(places) == 1:
            return int(places[0])
        return choice.best_of(places, budget)

    def shares(self, budget: Budget) -> tuple[dict[str, float], Budget]:
        """Which share of all rows each holder has, and what is left of the budget of the choice
        that needs them.
        """
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
            # A holder that does not answer has dropped out.
            self._shares = {name: sizes.get(name, 0.0) / whole for name in session.terms.holders}
        return self._shares, budget


class _Choice:
    """One choice, and the ways to make it."""

    def __init__(self, curator: FederatedCurator, question: Choose) -> None:
        self.curator = curator
        self.session = curator.session
        self.question = question
        self.most_rows: int | None = None
        if curator.rows is not None:
            self.most_rows = max(self.session.rows.values())
        self.shares: Mapping[str, float] = {}
        """Which share of all rows each holder has, where the question needs that."""

    def votes(self, part: float) -> tuple[list[int], Budget]:
        """Every holder's own choice, for a part of the price, and what is left of it."""
        question, budget = self.question, self.question.budget
        if question.offsets is not None or question.estimates is not None:
            self.shares, budget = self.curator.shares(budget)
        cost, rest = budget.split(part, 1 - part)
        question = replace(question, budget=cost)
        rule = question.paid_rule.replace("_", " ")
        self.curator.ledger.debit(
            *question.ledger_line(
                f"{rule}, by each holder for itself", what=f"{len(self.session.present)} votes"
            )
        )
        content, arrays = question.to_wire()
        answers = self.session.ask("vote", self._in_context(content), arrays)
        votes = [answer.get("vote", int) for answer in answers.values()]
        if not all(0 <= vote < len(question.candidates) for vote in votes):
            raise InputError("A holder voted for a candidate that is not there.")
        return votes, rest

    def best_of(self, places: NDArray[np.int64], budget: Budget) -> int:
        """Of a few candidates the one with the largest sum of scores, all of which have noise for
        the whole price.
        """
        nominees = self.question.narrow(places, budget)
        self.curator.ledger.debit(
            *nominees.ledger_line_of_sums(f"noise {self.curator.describe_noise_shares()}")
        )
        content, arrays = nominees.scores_to_wire()
        sums, _, _ = self.curator.add_up("scores", len(places), self._in_context(content), arrays)
        found = sums * (self._sensitivity(nominees, top=False) / SHARED_GRID)
        if nominees.offsets is not None:
            found = found + nominees.offsets
        return int(places[int(np.argmax(found))])

    def largest(self) -> int:
        """The candidate with the largest sum of noisy scores, which one holder sees and nobody
        else.
        """
        question = self.question
        if question.estimates is not None:
            self.shares, budget = self.curator.shares(question.budget)
            question = replace(question, budget=budget)
        is_choice = question.budget.currency == "rho"
        if is_choice:
            rule = "exponential"
        else:
            rule = "largest with geometric noise"
        self.curator.ledger.debit(
            *question.ledger_line(
                f"{rule}, by one of {len(self.session.present)} holders for all",
                by="the sum of scores",
            )
        )
        content, arrays = question.scores_to_wire()
        if question.offsets is not None:
            grid = SHARED_GRID / self._sensitivity(question, top=True)
            gridded = np.rint(question.offsets * grid)
            arrays["offsets"] = np.clip(gridded, -MAX_OFFSET, MAX_OFFSET).astype(np.int64)
        candidates = len(question.candidates)
        place = self.session.place_of_largest(candidates, self._in_context(content), arrays)
        # Paid for, but lost with the holder that dropped out: any candidate will do for once.
        if place is None:
            return self.curator.toss(candidates)
        return place

    def _sensitivity(self, question: Choose, top: bool) -> float:
        return score_sensitivity(
            question.score,
            self.curator.neighbours,
            self.most_rows,
            question.is_binary(self.curator.domain),
            top,
        )

    def _in_context(self, content: Content) -> Content:
        """A question with what holders must know of each other to answer it."""
        return {
            **self.curator.name_view(content),
            "most_rows": self.most_rows,
            "shares": dict(self.shares),
        }
