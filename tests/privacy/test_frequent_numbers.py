"""Numbers that many rows share in columns of reals that lie on no grid."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from understudy import Table
from understudy.data.encoding import decode, encode
from understudy.data.schema import Quantity, Schema
from understudy.data.tables import Column
from understudy.privacy.budget import Budget, total
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.discovery_questions import Asker
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise

ROWS = 12_000
LOGARITHMS = [math.log(size) for size in range(1, 7)]


def table_of(texts: list[str]) -> Table:
    words = sorted(set(texts))
    places = {word: place for place, word in enumerate(words)}
    codes = np.array([places[text] for text in texts], dtype=np.uint32)
    return Table({"x": Column("text", codes, tuple(words))})


def discover_column(texts: list[str], seed: int = 1, share: float | None = None) -> Discovery:
    ledger = Ledger.for_discovery(1.0, 1e-9, "add_remove", max_rows_per_person=1, unit="row")
    facts = Draft(table_of(texts)), ledger, ledger.budget, ledger.threshold_delta
    run = Discovery(*facts, SeededNoise(seed), share=share)
    run.count_rows()
    return run


def find_column(texts: list[str], seed: int = 1, share: float | None = None) -> Quantity:
    run = discover_column(texts, seed, share)
    schema = run.find().schema
    ledger = run.asker.ledger
    assert total([entry.amount for entry in ledger.entries]) <= run.price.amount
    assert sum(entry.delta for entry in ledger.entries) <= ledger.threshold_delta
    found = schema["x"]
    assert isinstance(found, Quantity)
    assert Schema.from_dict(schema.to_dict())["x"] == found
    return found


def pick(seed: int, numbers: list[float], spread: float = 0.0) -> list[str]:
    """Rows with one of some numbers, or a share of them with any other."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(numbers, ROWS)
    beside = rng.random(ROWS) < spread
    chosen[beside] = rng.uniform(0.1, 2.0, int(beside.sum()))
    return [repr(float(number)) for number in chosen.tolist()]


@pytest.mark.parametrize("digits", [6, 17])
def test_a_few_logarithms_are_listed(digits: int) -> None:
    values = [round(number, digits) for number in LOGARITHMS]
    found = find_column(pick(1, values))
    assert len(found.values) == len(values)
    assert found.values == pytest.approx(values, abs=1e-11)
    assert found.lists_values


def test_spikes_among_other_numbers_have_bins_of_their_own() -> None:
    texts = pick(2, [math.log(2), math.log(3)], spread=0.5)
    found = find_column(texts)
    assert not found.values
    codes = encode(table_of(texts), Schema((found,))).codes["x"]
    drawn = decode({"x": codes}, Schema((found,)), np.random.default_rng(1), len(codes))
    values = np.asarray(drawn.columns["x"].values, dtype=np.float64)
    for number in (math.log(2), math.log(3)):
        made = (np.abs(values - number) < 1e-9).mean()
        assert made == pytest.approx(0.25, abs=0.02)


def test_numbers_that_differ_are_not_named() -> None:
    rng = np.random.default_rng(3)
    texts = [repr(float(number)) for number in rng.normal(50, 9, ROWS).tolist()]
    found = find_column(texts)
    assert not found.values
    assert min(np.diff(found.edges)) > 0.01


def test_a_share_that_was_given_is_kept() -> None:
    run = discover_column(pick(1, LOGARITHMS), share=0.2)
    run.find()
    asked = [entry.question for entry in run.asker.ledger.entries]
    assert not any(question.startswith("frequent") for question in asked)


@pytest.mark.parametrize("word", ["0.6931471805599453", "0.5", "7.25", "n/a", "", "0.69"])
def test_one_row_changes_one_count_by_one(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that occurs once is not asked about; a second row makes a cell of two."""
    counts: list[Counter[int]] = []
    ask = Asker.histogram

    def note(self: Asker, question: str, cells: Any, cost: Budget, delta: float) -> Any:
        if question.startswith("frequent"):
            counts.append(Counter(int(count) for count in cells))
        return ask(self, question, cells, cost, delta)

    monkeypatch.setattr(Asker, "histogram", note)
    texts = [*pick(4, LOGARITHMS), "7.25"]
    for rows in (texts, [*texts, word]):
        discover_column(rows).find()
    before, after = counts
    changed = (after - before) + (before - after)
    assert changed.total() <= 2
    assert sum(after.elements()) - sum(before.elements()) in (0, 1, 2)
    if word == "7.25":
        assert after[2] == before[2] + 1


def test_a_top_code_with_cents_is_kept() -> None:
    """A quarter of the earnings in a table of 16,000 people is 25564.67."""
    rng = np.random.default_rng(6)
    amounts = np.minimum(np.exp(rng.normal(9.6, 0.9, ROWS)), 25564.67).round(2)
    texts = [repr(float(amount)) for amount in amounts.tolist()]
    for seed in range(3):
        found = find_column(texts, seed)
        assert any(abs(edge - 25564.67) < 1e-6 for edge in found.edges[:-1])


def test_delta_is_shared_with_columns_of_words() -> None:
    towns = table_of([("north", "south")[place % 2] for place in range(ROWS)]).columns["x"]
    table = Table({"x": table_of(pick(1, LOGARITHMS)).columns["x"], "town": towns})
    ledger = Ledger.for_discovery(5.0, 1e-9)
    facts = Draft(table), ledger, ledger.budget, ledger.threshold_delta
    run = Discovery(*facts, SeededNoise(1), share=None)
    run.count_rows()
    run.find()
    deltas = {entry.question: entry.delta for entry in ledger.entries if entry.delta}
    assert deltas.keys() == {"frequent numbers of x", "words of town"}
    assert sum(deltas.values()) <= ledger.threshold_delta
    assert min(deltas.values()) > ledger.threshold_delta / 5


@pytest.mark.filterwarnings("error")
def test_a_number_beyond_all_ranges_makes_no_warning() -> None:
    """In steps of a hundredth it is infinite, of which NumPy warned: one row showed on a screen."""
    rng = np.random.default_rng(4)
    texts = [f"{number:.2f}" for number in rng.normal(50, 9, ROWS).tolist()]
    run = discover_column([*texts, "1.7976931348623157e308"])
    assert isinstance(run.find().schema["x"], Quantity)
    assert "frequent numbers of x" in [entry.question for entry in run.asker.ledger.entries]
