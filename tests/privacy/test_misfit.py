"""The score misfit: the distance between exact tables and public estimates, with its sensitivity
searched for.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from understudy import InputError
from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import Coded
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.questions import Choose
from understudy.privacy.scores import Misfit, score_named

PAIR = marginal("x", "p")
SHAPE = (2, 3)


def counter_of(counts: Any) -> MemoryCounter:
    cells = np.repeat(np.arange(np.size(counts)), np.ravel(counts))
    x, p = np.unravel_index(cells, SHAPE)
    return MemoryCounter({"x": x.astype(np.uint8), "p": p.astype(np.uint8)}, {}, {"x": 2, "p": 3})


def misfits(counts: Any, estimates: list[Any]) -> Any:
    return Misfit().evaluate(counter_of(counts), [PAIR] * len(estimates), "replace", estimates)


def all_tables(rows: int) -> list[tuple[int, ...]]:
    return [c for c in itertools.product(range(rows + 1), repeat=6) if sum(c) == rows]


RNG = np.random.default_rng(5)
ESTIMATES = [
    np.zeros(SHAPE),
    np.full(SHAPE, 9.0),
    np.full(SHAPE, -4.5),
    *RNG.uniform(0, 3, (4, *SHAPE)),
]


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_one_row_moves_it_by_at_most_the_sensitivity_and_as_much_as_that(neighbours: Any) -> None:
    bound = score_named("misfit").sensitivity(neighbours, 3, False)
    unit = np.eye(6, dtype=np.int64)
    changes = []
    for rows in (1, 2, 3):
        for table in all_tables(rows):
            here = misfits(table, ESTIMATES)
            if neighbours == "add_remove":
                others = [np.add(table, unit[cell]) for cell in range(6)]
            else:
                moves = itertools.permutations(range(6), 2)
                others = [
                    np.array(table) - unit[gone] + unit[come] for gone, come in moves if table[gone]
                ]
            changes += [misfits(other, ESTIMATES) - here for other in others]
    assert np.abs(changes).max() <= bound
    # Half of the range is what a choice sees; a bound above what happens would waste budget.
    assert (np.max(changes) - np.min(changes)) / 2 == bound


def test_it_is_the_sum_of_distances_exactly() -> None:
    counts = np.array([[3, 0, 1], [0, 2, 4]])
    estimates = [np.array([[1.5, 0.25, 1.0], [0.0, 7.0, 0.0]]), counts.astype(np.float64)]
    assert misfits(counts, estimates).tolist() == [1.5 + 0.25 + 5 + 4, 0.0]
    # A third cannot be summed exactly: it is rounded to the grid first.
    third = misfits(np.zeros(6, dtype=np.int64) + 1, [np.full(SHAPE, 1 / 3)])[0]
    assert third == 6 * (1 - round(1024 / 3) / 1024)


def test_it_is_the_same_however_many_tables_are_counted_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = np.array([[3, 0, 1], [0, 2, 4]])
    together = misfits(counts, ESTIMATES)
    for cells in (6, 12, 18):
        monkeypatch.setattr("understudy.privacy.scores.CELLS_AT_A_TIME", cells)
        assert misfits(counts, ESTIMATES).tolist() == together.tolist()


def curator() -> CentralCurator:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 400).astype(np.uint8)
    codes = {"x": x, "p": (2 * x).astype(np.uint8), "q": rng.integers(0, 2, 400).astype(np.uint8)}
    attributes = {"x": [0, 1], "p": [0, 1, 2], "q": [0, 1]}
    schema = Schema.from_dict(
        {
            "attributes": {
                name: {"kind": "categorical", "values": values}
                for name, values in attributes.items()
            }
        }
    )
    return CentralCurator(Coded(schema, codes, 400, ()), Ledger(10.0), SeededNoise(1))


PAIRS = [marginal("x", "q"), marginal("x", "p")]
INDEPENDENT = [np.full((2, 2), 100.0), np.full((2, 3), 66.7)]


def test_the_worst_estimate_is_chosen_and_offsets_count() -> None:
    asked = curator()
    assert asked.choose(PAIRS, "misfit", Budget(4.0), estimates=INDEPENDENT) == 1
    assert (
        asked.choose(PAIRS, "misfit", Budget(4.0), np.array([0.0, -900.0]), estimates=INDEPENDENT)
        == 0
    )
    # Nothing of an earlier question is kept: another estimate is another score.
    exact = [np.full((2, 2), 0.0), np.array([[195, 0, 0], [0, 0, 205]], dtype=np.float64)]
    assert asked.choose(PAIRS, "misfit", Budget(2.0), estimates=exact) == 0
    assert [entry.question for entry in asked.ledger.entries] == [
        "choice among 2 candidates by score misfit"
    ] * 3


def test_the_largest_estimate_that_is_summed_exactly_is_accepted() -> None:
    largest = [INDEPENDENT[0], np.array([[2.0**31, 0, 0], [0, 0, 0]])]
    assert curator().choose(PAIRS, "misfit", Budget(1.0), estimates=largest) == 1
    largest[1][1, 1] = 1
    with pytest.raises(InputError, match="cannot be"):
        curator().choose(PAIRS, "misfit", Budget(1.0), estimates=largest)


@pytest.mark.parametrize(
    ("score", "estimates", "message"),
    [
        ("misfit", None, "needs them"),
        ("R", INDEPENDENT, "needs them"),
        ("misfit", INDEPENDENT[:1], "one estimate for each"),
        ("misfit", INDEPENDENT[::-1], "shape"),
        ("misfit", [INDEPENDENT[0], np.full((2, 3), np.nan)], "cannot be"),
        ("misfit", [INDEPENDENT[0], np.full((2, 3), 4e8)], "cannot be"),
    ],
)
def test_wrong_questions_are_refused_before_anything_is_debited(
    score: str, estimates: Any, message: str
) -> None:
    asked = curator()
    with pytest.raises(InputError, match=message):
        asked.choose(PAIRS, score, Budget(1.0), estimates=estimates)
    assert not asked.ledger.entries


def test_a_part_of_a_question_is_paid_for_and_answered_as_if_asked_by_itself() -> None:
    asked = curator()
    estimates = [np.zeros(2), np.zeros(3), np.full((2, 3), 9.0)]
    candidates = [marginal("x"), marginal("p"), marginal("x", "p")]
    whole = Choose(candidates=candidates, score="misfit", budget=Budget(0.5), estimates=estimates)
    whole.check(asked.domain)
    places = np.array([0, 2])
    for _ in range(2):  # the second time from the scores of the first
        part = whole.narrow(places, Budget(0.25))
        alone = curator()
        same = Choose(
            candidates=[candidates[i] for i in places],
            score="misfit",
            budget=Budget(0.25),
            estimates=[estimates[i] for i in places],
        )
        scores = asked._rows.score(part, "add_remove")
        assert scores.tolist() == alone._rows.score(same, "add_remove").tolist()
        before = len(asked.ledger.entries)
        assert asked.answer(part) in (0, 1)
        assert [entry.amount for entry in asked.ledger.entries[before:]] == [0.25]


def test_a_part_of_an_unchecked_question_is_checked() -> None:
    asked = curator()
    wrong = Choose(
        candidates=[marginal("x"), marginal("p")],
        score="misfit",
        budget=Budget(0.5),
        estimates=[np.zeros(5), np.zeros(3)],
    )
    with pytest.raises(InputError, match="shape"):
        asked.answer(wrong.narrow(np.array([0, 1]), Budget(0.25)))
    fine = Choose(
        candidates=[marginal("x"), marginal("p")],
        score="misfit",
        budget=Budget(0.5),
        estimates=[np.zeros(2), np.zeros(3)],
    )
    fine.check(asked.domain)
    with pytest.raises(InputError, match="for nothing"):
        asked.answer(fine.narrow(np.array([0, 1]), Budget(0.0)))
    assert not asked.ledger.entries
