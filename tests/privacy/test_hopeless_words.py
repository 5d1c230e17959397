"""Columns whose words are all too rare are found before words are paid for."""

from __future__ import annotations

import itertools
from collections import Counter
from statistics import NormalDist

import numpy as np
import pytest

from understudy import Independent, InputError, Table
from understudy.counting.partition import Tally
from understudy.data.attributes import Text
from understudy.data.forms import Form
from understudy.data.tables import Column
from understudy.privacy.budget import Budget, total
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_budget import COMMONEST_LOOKS
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.discovery_questions import Asker, NoisyHistogram
from understudy.privacy.discovery_rare import find_rare
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.release.preflight import check_words

ROWS = 9_000


def flights() -> Table:
    """Ages, three towns, and flights of which hardly two are alike."""
    rng = np.random.default_rng(1)
    columns = {
        "age": Column("integer", rng.integers(18, 95, ROWS)),
        "town": Column("text", rng.integers(0, 3, ROWS), ("harbour", "north", "south")),
        "flight": Column(
            "text", rng.integers(0, 4000, ROWS), tuple(f"LH{place:04}" for place in range(4000))
        ),
    }
    return Table(columns)


def start(seed: int, share: float | None = None) -> Discovery:
    ledger = Ledger.for_discovery(1.0, 1e-9)
    facts = Draft(flights()), ledger, ledger.budget, ledger.threshold_delta
    run = Discovery(*facts, SeededNoise(seed), share=share)
    run.count_rows()
    run.count_present()
    return run


@pytest.mark.parametrize("seed", [0, 1, 3, 4])  # one in 25 runs finds some word
@pytest.mark.parametrize("share", [None, 0.3])
def test_a_stop_is_cheap_where_words_are_all_rare(seed: int, share: float | None) -> None:
    run = start(seed, share)
    ledger = run.asker.ledger
    hopeless = run.find_hopeless()
    assert hopeless == ("flight",)
    with pytest.raises(InputError, match=r"no word of flight .* Only counts and kinds were paid"):
        check_words(hopeless, run)
    assert total([entry.amount for entry in ledger.entries]) <= run.count_price.amount
    assert ledger.promise()[0] < 0.4


def test_who_goes_on_spends_nothing_on_such_words() -> None:
    run = start(0)
    check_words(run.find_hopeless(), run, keep_going=True)
    found = run.find()
    assert found.empty == ("flight",)
    assert isinstance(found.schema["flight"], Text)
    assert [found.schema[name].kind for name in ("age", "town")] == ["integer", "categorical"]
    questions = [entry.question for entry in run.asker.ledger.entries]
    assert "words of town" in questions
    assert "words of flight" not in questions
    assert total([entry.amount for entry in run.asker.ledger.entries]) <= run.price.amount


class Counts(Asker):
    """An asker that keeps what it was asked to count."""

    def histogram(self, question, counts, cost, delta):  # type: ignore[no-untyped-def]
        self.counts = list(counts)
        return super().histogram(question, counts, cost, delta)


@pytest.mark.parametrize("max_rows_per_person", [1, 2])
def test_a_person_changes_the_count_by_their_rows_at_most(max_rows_per_person: int) -> None:
    """Over all columns of up to five cells of three words, and all rows that a person may add."""
    asker = Counts(Ledger(1e9, max_rows_per_person=max_rows_per_person), SeededNoise(0))

    def count(words: tuple[str, ...]) -> int:
        tally = Tally(max_rows_per_person + 1)
        cells = Counter(words)
        tally.add(cells, cells.values())
        find_rare(asker, {"x": tally}, 5.0, 0.0, Budget(1.0, "epsilon"))
        return int(asker.counts[0])

    worst = 0
    for size in range(6):
        for words in itertools.combinations_with_replacement("abc", size):
            for more in itertools.combinations_with_replacement("abc", max_rows_per_person):
                worst = max(worst, abs(count((*words, *more)) - count(words)))
    assert worst == max_rows_per_person


class Told(Asker):
    """An asker that tells the exact count, and that its noise has a deviation of 10."""

    def histogram(self, question, counts, cost, delta):  # type: ignore[no-untyped-def]
        return NoisyHistogram(np.array(counts, dtype=np.int64), 10.0, "rho")


@pytest.mark.parametrize(("margin", "fewest"), [(0.0, 50), (2.0, 70), (-1.2, 38), (0.01, 51)])
def test_a_word_is_common_from_this_many_rows_on(margin: float, fewest: int) -> None:
    """50 rows, and by some deviations more."""
    asker, asked = Told(Ledger(1.0), SeededNoise(0)), Budget(1.0)

    def rare(count: int) -> bool:
        tally = Tally(2)
        tally.add(["a"], [count])
        return find_rare(asker, {"x": tally}, 50.0, margin, asked) == ["x"]

    assert [rare(count) for count in (1, fewest - 1, fewest)] == [True, True, False]


def test_how_often_the_looks_are_wrong() -> None:
    """With Gaussian noise, as a part of the rows that a word needs."""
    normal = NormalDist()

    def called_rare(look, share: float) -> float:  # type: ignore[no-untyped-def]
        return normal.cdf((1 - share) / look.deviation + look.margin)

    first, second = COMMONEST_LOOKS
    assert 1 - called_rare(second, 0.0) == pytest.approx(0.036, abs=0.001)
    assert called_rare(second, 1.6) == pytest.approx(0.00135, abs=0.0001)
    assert 1 - called_rare(first, 0.0) == pytest.approx(0.00135, abs=0.0001)
    assert called_rare(first, 4.0) == pytest.approx(0.16, abs=0.01)


def visits(*others: str) -> Table:
    """Wards of two or three visits each, and texts of which no two are alike."""
    rng = np.random.default_rng(2)
    columns = {
        "text": [f"text {place}" for place in range(6000)],
        "ward_id": [f"W{place}" for place in rng.integers(0, 2500, 6000)],
        **dict.fromkeys(others, ["yes", "no"] * 3000),
    }
    return Table({name: words(column) for name, column in columns.items()})


def words(cells: list[str]) -> Column:
    listed, places = np.unique(cells, return_inverse=True)
    return Column("text", places, tuple(listed.tolist()))


def test_where_nothing_is_left_a_release_stops_whoever_wants_to_go_on() -> None:
    """A shared identifier that names nothing stays one: it is nothing to go on with."""
    method = Independent(epsilon=2.0, delta=1e-9, refinement=0.0, keep_going=True)
    with pytest.raises(InputError, match="no word of text is in enough rows"):
        method.fit(visits(), noise=SeededNoise(1), notify=lambda _: None)
    schema = method.fit(visits("paid"), noise=SeededNoise(1), notify=lambda _: None).schema
    assert [attribute.name for attribute in schema.modelled] == ["paid"]


def test_what_a_form_describes_is_enough_to_go_on_with() -> None:
    form = Form(
        {
            "text": {"kind": None},
            "ward_id": {"kind": "identifier"},
            "paid": {"kind": "boolean", "values": ["no", "yes"]},
        }
    )
    method = Independent(epsilon=2.0, delta=1e-9, refinement=0.0, keep_going=True)
    model = method.fit(visits("paid"), form, noise=SeededNoise(1), notify=lambda _: None)
    assert [attribute.name for attribute in model.schema.modelled] == ["paid"]
