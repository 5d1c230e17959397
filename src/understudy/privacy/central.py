"""The central curator: one trusted place holds all rows and adds noise once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.counting.cuboids import CuboidCounter
from understudy.data.bits import Bits
from understudy.data.encoding import Coded
from understudy.privacy.answering import PrivateRows, choose_by_rows, measure_rows, sum_rows
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.ledger import Ledger
from understudy.privacy.linear import LinearQueries, answer_linear
from understudy.privacy.mechanisms import ExactCounts, Noise, distribution_of
from understudy.privacy.questions import Choose, Draw, Measure, Question
from understudy.privacy.ranks import ChooseRank, answer_rank
from understudy.privacy.sums import Sum, Sums, read_sums
from understudy.privacy.vectors import NoisyVector, VectorSum, sum_vectors


class CentralCurator(Curator):
    """Answers from exact counts, with exact noise.

    Parameters
    ----------
    coded
        The private rows: in memory, or what counts them inside an engine.
    ledger
        What may be spent.
    noise
        Where noise comes from; anything but the default is for tests and studies.
    collapse
        Whether equal rows in memory are collapsed where that is faster. How long an answer takes
        then goes by how many rows differ: not for strangers with a clock.
    """

    def __init__(
        self,
        coded: Coded | CuboidCounter,
        ledger: Ledger,
        noise: Noise | None = None,
        *,
        collapse: bool = True,
    ) -> None:
        self._collapse = collapse
        self._rows = PrivateRows(coded, collapse=collapse)
        super().__init__(self._rows.domain, ledger, noise)
        if not self._noise.private:
            ledger.private = False

    @property
    def rows(self) -> int | None:
        """The number of rows where it is public (neighbours: replace), else ``None``."""
        return self._rows.public_number(self.neighbours)

    def in_bits(self, bits: Bits) -> Self:
        """The same rows with their attributes taken apart into bits; the ledger is shared."""
        apart = self._rows.split_into_bits(bits)
        return type(self)(apart, self.ledger, self._noise, collapse=self._collapse)

    def merge_values(self, codes: Mapping[str, NDArray[np.int64]]) -> Self:
        """The same rows with some values merged."""
        merged = self._rows.merge_values(codes)
        return type(self)(merged, self.ledger, self._noise, collapse=self._collapse)

    def _answer(self, question: Question) -> Any:
        match question:
            case Measure():
                return self._measure(question)
            case Choose():
                return choose_by_rows(question, self._rows, self.ledger, self._noise)
            case Draw():
                return self._draw(question)
            case Sum():
                return self._sum(question)
            case VectorSum():
                return self._sum_vectors(question)
            case LinearQueries():
                return answer_linear(question, self._rows.counter, self.ledger, self._noise)
            case ChooseRank():
                return answer_rank(question, self._rows.counter, self.ledger, self._noise)
        raise TypeError(f"a central curator does not answer {type(question).__name__}")

    def _measure(self, question: Measure) -> list[Measurement]:
        scales = question.scales(self.ledger)
        tables = measure_rows(question, scales, self._rows, self.ledger, self._noise)
        distribution = distribution_of(question.budget.currency)
        return [
            Measurement(axes, table, distribution, scale)
            for axes, table, scale in zip(question.marginals, tables, scales, strict=True)
        ]

    def _sum(self, question: Sum) -> Sums:
        blocks = question.blocks(self.domain, self.neighbours, self.ledger.max_rows_per_person)
        scales = question.scales(blocks)
        noisy = sum_rows(question, blocks, scales, self._rows, self.ledger, self._noise)
        return read_sums(question, self.domain, noisy, blocks, scales)

    def _sum_vectors(self, question: VectorSum) -> NoisyVector:
        rows = self._rows.matrix(question.function.inputs)
        scale = question.scale(self.ledger)
        self._pay(question, scale)
        noisy = sum_vectors(question, rows, self._noise, scale)
        return NoisyVector(
            values=np.float64(question.step) * noisy, deviation=scale * question.step
        )

    def _draw(self, question: Draw) -> ExactCounts:
        smoothing = question.smoothing(self.ledger)
        self.ledger.debit(*question.ledger_line(smoothing))
        [table] = self._rows.counter.count([question.axes])
        return self._noise.draw(table, question.draws, smoothing)
