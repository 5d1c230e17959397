"""Answers beside "no" and "yes" that many rows hold, such as "don't know"."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from understudy import Table
from understudy.counting.partition import VOCABULARIES
from understudy.data.attributes import Category
from understudy.data.tables import Column
from understudy.privacy.budget import Budget
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.discovery_questions import Asker
from understudy.privacy.discovery_words import WordFinder
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise

PLACE = VOCABULARIES.index(("No", "Yes"))


def discover_column(shares: dict[str, int], seed: int = 1) -> tuple[Category, Ledger]:
    codes = np.repeat(np.arange(len(shares)), list(shares.values())).astype(np.uint32)
    table = Table({"x": Column("text", codes, tuple(shares))})
    ledger = Ledger(3.0, 1e-9, threshold_delta=1e-9)
    run = Discovery(Draft(table), ledger, ledger.budget, 1e-9, SeededNoise(seed))
    run.count_rows()
    finder = WordFinder(run.asker, run._tallies, run.rows, rows_deviation=run._rows_deviation)
    found, held = finder.find_vocabulary("x", PLACE, Budget(0.1), 1e-9)
    assert held
    assert isinstance(found, Category)
    return found, ledger


def test_a_frequent_answer_beside_a_vocabulary_is_named() -> None:
    found, _ = discover_column({"No": 3000, "Yes": 1500, "No internet service": 1500})
    assert found.values == ("No", "Yes", "No internet service")
    assert found.other is None
    assert found.kind == "categorical"


def test_a_second_mark_is_a_value() -> None:
    found, _ = discover_column({"No": 3000, "Yes": 1500, "": 900, "unknown": 600})
    assert found.missing == ""
    assert found.values == ("No", "Yes", "unknown")


def test_rare_answers_beside_a_vocabulary_are_other() -> None:
    rare = {f"because of {place}": 20 for place in range(150)}
    found, _ = discover_column({"No": 3000, "Yes": 1500, **rare})
    assert found.values == ("No", "Yes")
    assert found.other == "other"


def test_a_vocabulary_that_holds_all_stays_as_it_is() -> None:
    for seed in range(20):
        found, ledger = discover_column({"No": 3000, "Yes": 1500}, seed)
        assert found.values == ("No", "Yes")
        assert found.other is None
    assert sum(entry.delta for entry in ledger.entries) <= ledger.threshold_delta


@pytest.mark.parametrize("word", ["No", "Yes", "", "unknown", "maybe", "never", " Yes", "NA"])
def test_one_row_is_in_one_cell(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that occurs once is not asked about; a second row makes a cell of two."""
    counts: dict[str, list[Counter[int]]] = defaultdict(list)
    ask = Asker.histogram

    def note(self: Asker, question: str, cells: Any, cost: Budget, delta: float) -> Any:
        counts[question].append(Counter(int(count) for count in cells if count))
        return ask(self, question, cells, cost, delta)

    monkeypatch.setattr(Asker, "histogram", note)
    shares = Counter({"No": 3000, "Yes": 1501, "": 702, "unknown": 903, "maybe": 604, "never": 5})
    discover_column(shares)
    discover_column(shares + Counter([word]))
    assert set(counts) == {"number of rows", "values of x"}
    for before, after in counts.values():
        changed = (after - before) + (before - after)
        assert changed.total() <= 2
        assert abs(sum(after.elements()) - sum(before.elements())) <= 1
