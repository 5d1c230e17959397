"""Answers from rows that are held in one place: by the central curator, or by one of several
holders.

Exact tables and scores are private. They leave this module with noise, or as the place of one
candidate, and only once the price stands in the ledger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.counting.cuboids import CuboidCounter, MergedValues
from understudy.counting.memory import MemoryCounter
from understudy.counting.remembered import Remembered
from understudy.counting.rollups import ROOM_BESIDE_TABLE, RollUps, Room
from understudy.counting.row_functions import RowInputs, RowMatrix
from understudy.counting.sums import MemorySummer, Summer
from understudy.data.bits import Bits
from understudy.data.encoding import Coded
from understudy.data.marginals import Marginal
from understudy.data.schema import Attribute, Category, Schema
from understudy.errors import InputError
from understudy.privacy.budget import Neighbours
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import ExactCounts, Noise, add_noise, choice_scale, round_to_grid
from understudy.privacy.questions import Choose, Measure
from understudy.privacy.scores import Misfit, check_rows
from understudy.privacy.sum_sensitivity import Block, Part
from understudy.privacy.sums import Sum, exact_parts

KnownScores = defaultdict[str, dict[Marginal, float]]
"""Exact scores of candidates, by the score's name."""


class PrivateRows:
    """Rows with their exact tables and scores.

    Parameters
    ----------
    coded
        The rows: in memory, or what counts them inside an engine.
    collapse
        Whether equal rows in memory are collapsed where that is faster.
    """

    def __init__(self, coded: Coded | CuboidCounter, *, collapse: bool = True) -> None:
        check_rows(coded.rows)
        self.domain = Domain(coded.schema)
        if isinstance(coded, Coded):
            self.counter: Counter = _count_in_memory(coded, collapse)
        else:
            self.counter = coded
        self.known_scores: KnownScores = defaultdict(dict)
        self._coded = coded
        self._matrices: dict[RowInputs, RowMatrix] = {}
        self._remembered = Remembered(self.counter)
        self._scored: tuple[Choose, NDArray[np.float64]] | None = None

    @cached_property
    def summer(self) -> Summer:
        """What sums over the rows."""
        if isinstance(self._coded, Coded):
            return MemorySummer(self._coded.schema, self._coded.codes, self._coded.table)
        return self._coded.summer()

    def matrix(self, inputs: RowInputs) -> RowMatrix:
        """The rows as a network sees them; made once for the same columns."""
        if not isinstance(self._coded, Coded):
            raise InputError(
                "Networks need the rows in memory, and an engine keeps them; read the table into "
                "memory, or choose another method."
            )
        if inputs not in self._matrices:
            self._matrices[inputs] = RowMatrix(inputs, self._coded)
        return self._matrices[inputs]

    def public_number(self, neighbours: Neighbours) -> int | None:
        """How many rows there are, where that is public."""
        if neighbours == "replace":
            return self._coded.rows
        return None

    def split_into_bits(self, bits: Bits) -> Coded | CuboidCounter:
        """The same rows with their attributes taken apart into bits."""
        if isinstance(self._coded, CuboidCounter):
            return self._coded.in_bits(bits)
        return Coded(bits.schema, bits.split(self._coded.codes), self._coded.rows, ())

    def merge_values(self, codes: Mapping[str, NDArray[np.int64]]) -> Coded | CuboidCounter:
        """The same rows with some values of some attributes merged."""
        merged = MergedValues(merge_schema(self._coded.schema, codes), codes)
        if isinstance(self._coded, CuboidCounter):
            return self._coded.merge_values(merged)
        columns = merged.merge(self._coded.codes)
        kept = {attribute.name: columns[attribute.name] for attribute in merged.schema.modelled}
        return Coded(merged.schema, kept, self._coded.rows, ())

    def score(self, question: Choose, neighbours: Neighbours) -> NDArray[np.float64]:
        """Exact scores; a candidate that comes up again in a later question is not counted
        again.
        """
        score, candidates = question.named_score, question.candidates
        if isinstance(score, Misfit) and question.part_of is not None:
            whole, places = question.part_of
            if self._scored is None or self._scored[0] is not whole:
                self._scored = (whole, self.score(whole, neighbours))
            return self._scored[1][places]
        if isinstance(score, Misfit):
            return score.evaluate(self._remembered, candidates, neighbours, question.estimates)
        known = self.known_scores[score.name]
        new = [axes for axes in candidates if axes not in known]
        if new:
            scores = score.evaluate(self.counter, new, neighbours)
            known.update(zip(new, scores.tolist(), strict=True))
        return np.fromiter(map(known.__getitem__, candidates), np.float64, len(candidates))


def measure_rows(
    question: Measure, scales: Sequence[float], rows: PrivateRows, ledger: Ledger, noise: Noise
) -> list[ExactCounts]:
    """A noisy table for each marginal, once all are paid for."""
    ledger.debit_all(question.ledger_lines(scales))
    tables = rows.counter.count(question.marginals)
    return [
        add_noise(noise, table, cost.currency, scale)
        for table, cost, scale in zip(tables, question.costs, scales, strict=True)
    ]


def sum_rows(
    question: Sum,
    blocks: Mapping[Part, Block],
    scales: Mapping[Part, float],
    rows: PrivateRows,
    ledger: Ledger,
    noise: Noise,
) -> dict[Part, ExactCounts]:
    """Noisy sums, on the grids of their blocks, once they are paid for."""
    summation = question.summation(rows.domain)
    rows.summer.check(summation)
    ledger.debit_all(question.ledger_lines(blocks, scales))
    exact = exact_parts(rows.summer.sum(summation), blocks)
    return {
        part: add_noise(noise, exact[part], question.budget.currency, scale)
        for part, scale in scales.items()
    }


def choose_by_rows(question: Choose, rows: PrivateRows, ledger: Ledger, noise: Noise) -> int:
    """The place of one candidate, once the choice is paid for."""
    if len(question.candidates) == 1:
        return 0  # nothing to choose: the answer is known without asking
    # A person's rows come or go one after the other: by the triangle inequality each adds one row's
    # sensitivity.
    sensitivity = ledger.max_rows_per_person * question.named_score.sensitivity(
        ledger.neighbours,
        rows.public_number(ledger.neighbours),
        question.is_binary(rows.domain),
    )
    rule, loss = question.paid_rule, ledger.allow_loss(question.budget)
    scale = choice_scale(loss.amount, loss.currency)
    ledger.debit(*question.ledger_line(rule.replace("_", " ")))
    scores = rows.score(question, ledger.neighbours)
    return noise.choose(round_to_grid(scores, sensitivity, question.offsets), scale, rule)


def merge_schema(schema: Schema, codes: Mapping[str, NDArray[np.int64]]) -> Schema:
    """The modelled attributes, with numbers for the values of those that are merged."""
    attributes: list[Attribute] = []
    for attribute in schema.modelled:
        if attribute.name in codes:
            values = tuple(range(int(codes[attribute.name].max()) + 1))
            attributes.append(Category(attribute.name, "categorical", None, values))
        else:
            attributes.append(attribute)
    return Schema(tuple(attributes))


def _count_in_memory(coded: Coded, collapse: bool) -> Counter:
    attributes = coded.schema.modelled
    generalisations = {attribute.name: attribute.generalisations for attribute in attributes}
    sizes = {attribute.name: attribute.size for attribute in attributes}
    wanted = None if collapse else False
    counter = MemoryCounter(coded.codes, generalisations, sizes, collapse=wanted)
    coded.forget_codes()  # the counter has what it needs of them
    if not collapse:
        return counter
    return RollUps(counter, Room(ROOM_BESIDE_TABLE))
