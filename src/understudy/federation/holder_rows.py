"""A holder's rows: what is counted, with which noise, at which price."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.counting.cuboids import CuboidCounter
from understudy.data.bits import Bits
from understudy.data.encoding import Coded
from understudy.errors import InputError
from understudy.federation.noise_shares import (
    ShareNoise,
    check_scale,
    round_to_shared_grid,
    score_sensitivity,
    scores_scale,
)
from understudy.federation.questions import MAX_NUMBERS
from understudy.federation.sums import coarsen_blocks, count_numbers
from understudy.machine.plain_first import always_compile
from understudy.privacy.answering import PrivateRows, choose_by_rows, measure_rows, sum_rows
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, add_noise, describe_noise
from understudy.privacy.questions import Choose, LedgerLine, Measure
from understudy.privacy.sums import Sum
from understudy.privacy.vectors import VectorSum, sum_vectors

MAX_HOLDER_ROWS = 1 << 31


class HolderRows:
    """Answers questions about a holder's rows: some for itself, some as a part of sums with other
    holders.

    Parameters
    ----------
    coded
        The holder's rows.
    ledger
        What may be spent.
    noise
        The holder's own noise, or its share of the noise of sums.
    """

    def __init__(self, coded: Coded | CuboidCounter, ledger: Ledger, noise: Noise) -> None:
        # Whether plain code or kernels count goes by the number of rows otherwise, and loading
        # kernels takes a second that a stranger would see.
        always_compile()
        self.ledger = ledger
        self._coded = coded
        # Whether equal rows are collapsed depends on how many differ, and at the limit one row
        # makes the first answer several times as long: an owner gains by it, a stranger with a
        # clock too.
        self._rows = PrivateRows(coded, collapse=False)
        self._noise = noise
        self.domain = self._rows.domain
        if not noise.private:
            ledger.private = False

    def in_bits(self, bits: Bits) -> HolderRows:
        """The same rows with their attributes taken apart into bits; the ledger is shared."""
        return HolderRows(self._rows.split_into_bits(bits), self.ledger, self._noise)

    def size(self, budget: Budget) -> int:
        """The number of rows, with noise of the holder's own."""
        [scale] = self._scales(Measure(marginals=[()], budget=budget))
        self.ledger.debit(
            "number of rows of this holder", budget, describe_noise(budget.currency, scale)
        )
        if isinstance(self._noise, ShareNoise):
            own = self._noise.own
        else:
            own = self._noise
        counts = np.array([self._coded.rows], dtype=np.int64)
        return int(add_noise(own, counts, budget.currency, scale)[0])

    def measure(self, question: Measure) -> NDArray[np.int64]:
        """Noisy tables, one after the other."""
        if not question.marginals:
            raise InputError("There is nothing to count.")
        scales = self._scales(question)
        tables = measure_rows(question, scales, self._rows, self.ledger, self._noise)
        return np.concatenate([table.ravel() for table in tables])

    def sum(self, question: Sum) -> NDArray[np.int64]:
        """Noisy sums, part after part, on the grids that all holders use."""
        question.check(self.domain)
        blocks = coarsen_blocks(question, self.domain, self.ledger)
        _limit_cells(sum(count_numbers(question, self.domain, blocks).values()))
        scales = question.scales(blocks)
        noisy = sum_rows(question, blocks, scales, self._rows, self.ledger, self._noise)
        return np.concatenate([noisy[part].ravel() for part in blocks])

    def sum_vectors(self, question: VectorSum) -> NDArray[np.int64]:
        """A part of a noisy sum of clipped vectors.

        Every holder samples its own rows: all of them together are a Poisson sample of all rows.
        Shares of noise add up to noise that is the discrete Gaussian's but for a factor nearer to 1
        than any rounding here, at scales of thousands.
        """
        question.check(self.domain)
        _limit_cells(question.function.width)
        scale = question.scale(self.ledger)
        check_scale(self._noise, scale, question.budget.currency)
        rows = self._rows.matrix(question.function.inputs)
        self.ledger.debit(*question.ledger_line(scale, 1, "in shares"))
        return sum_vectors(question, rows, self._noise, scale)

    def choose(self, question: Choose) -> int:
        """The choice that this holder would make, by its own rows alone."""
        self._check_choice(question)
        return choose_by_rows(question, self._rows, self.ledger, self._noise)

    def score(self, question: Choose, most_rows: int | None, top: bool) -> NDArray[np.int64]:
        """Scores on a grid, with shares of noise.

        Their sums are priced as that many numbers; where ``top``, as a choice: the place of one of
        them is all that anybody but a delegate learns.
        """
        self._check_choice(question)
        rows = self._check_most_rows(most_rows)
        assert isinstance(self._noise, ShareNoise)
        budget, neighbours = question.budget, self.ledger.neighbours
        sensitivity = score_sensitivity(
            question.score, neighbours, rows, question.is_binary(self.domain), top
        )
        scale = scores_scale(budget, len(question.candidates), top)
        check_scale(self._noise, scale, budget.currency)
        geometric = top and budget.currency == "epsilon"
        self.ledger.debit(*_describe_scores(question, top, geometric))
        found = round_to_shared_grid(self._rows.score(question, neighbours), sensitivity)
        if geometric:
            return self._noise.geometric(found, scale)
        return add_noise(self._noise, found, budget.currency, scale)

    def _scales(self, question: Measure) -> list[float]:
        """The scales of the noise in tables; refuses what cannot be drawn before anything is
        debited.
        """
        question.check(self.domain)
        _limit_cells(sum(map(self.domain.cells, question.marginals)))
        scales = question.scales(self.ledger)
        for scale in scales:
            check_scale(self._noise, scale, question.budget.currency)
        return scales

    def _check_choice(self, question: Choose) -> None:
        question.check(self.domain)
        question.check_distinct()
        _limit_cells(max(map(self.domain.cells, question.candidates)))

    def _check_most_rows(self, most_rows: int | None) -> int | None:
        """How many rows a holder has at most, where that is public."""
        if self.ledger.neighbours != "replace":
            return None
        if type(most_rows) is not int or most_rows < self._coded.rows:
            raise InputError("The question takes this holder to have fewer rows than it has told.")
        return most_rows


def _limit_cells(cells: int) -> None:
    if cells > MAX_NUMBERS:
        raise InputError(
            f"Tables of more than {MAX_NUMBERS:,} cells are not counted in one round; ask for less."
        )


def _describe_scores(question: Choose, top: bool, geometric: bool) -> LedgerLine:
    """The ledger line of scores: who learns what of their sums, and which noise is in them."""
    if not top:
        noise = describe_noise(question.budget.currency)
        return question.ledger_line_of_sums(f"{noise} noise in shares", told="all of ")
    if geometric:
        mechanism = "largest, by a delegate, of sums with geometric noise in shares"
    else:
        noise = describe_noise(question.budget.currency)
        mechanism = f"exponential, by a delegate, of sums with {noise} noise in shares"
    return question.ledger_line_of_sums(mechanism, told="one of ")
