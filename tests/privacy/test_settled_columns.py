"""Columns that hold nothing, or a word of its own in most rows: no release stops at them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from understudy import Adaptive, Independent, InputError, Table
from understudy.auditing.discovery import finds_texts
from understudy.auditing.subjects import exact_findings
from understudy.auditing.unknown_pairs import own_word_pairs
from understudy.data.attributes import Text
from understudy.data.tables import Column
from understudy.privacy.budget import total
from understudy.privacy.discovery import Discovery, discover
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise
from understudy.release.preflight import check_words, describe_left_out

ROWS = 6_000


def words(values: list[str]) -> Column:
    """A column of a file."""
    distinct = tuple(sorted(set(values)))
    places = {word: place for place, word in enumerate(distinct)}
    return Column("text", np.array([places[value] for value in values]), distinct)


def visits(remarks: int = ROWS, comments: int = 0, rows: int = ROWS) -> Table:
    """Remarks that differ in so many rows, and so many comments."""
    rng = np.random.default_rng(1)
    return Table(
        {
            "age": Column("integer", rng.integers(18, 95, rows)),
            "town": words(rng.choice(["harbour", "north", "south"], rows).tolist()),
            "remark": words([f"seen {place % remarks} times" for place in range(rows)]),
            "comment": words(["well"] * comments + [""] * (rows - comments)),
            "score": Column("integer", rng.integers(1, 6, rows)),
        }
    )


def start(
    table: Table, seed: int, epsilon: float = 1.0, noise: SeededNoise | None = None
) -> Discovery:
    ledger = Ledger.for_discovery(epsilon, 1e-9)
    facts = Draft(table), ledger, ledger.budget, ledger.threshold_delta
    run = Discovery(*facts, noise or SeededNoise(seed), share=None)
    run.count_rows()
    return run


@pytest.mark.parametrize("seed", range(3))
def test_empty_columns_and_free_text_stop_nothing(seed: int) -> None:
    run = start(visits(), seed)
    assert run.count_present() == ()
    assert run.find_hopeless() == ()
    assert (run.empty_columns, run.texts) == (("comment",), ("remark",))
    found = run.find()
    assert found.empty == ()
    comment, remark = found.schema["comment"], found.schema["remark"]
    assert isinstance(comment, Text)
    assert isinstance(remark, Text)
    assert (comment.replacement, remark.replacement) == ("", "[text]")
    assert [sentence.split(":")[0] for sentence in describe_left_out(run)] == ["comment", "remark"]
    asked = [entry.question for entry in run.asker.ledger.entries]
    assert "kind of comment" not in asked
    assert "words of remark" not in asked
    assert "different words of remark" in asked
    spent = total([entry.amount for entry in run.asker.ledger.entries])
    assert spent <= run.price.amount * (1 + 1e-9)


def test_words_of_some_rows_each_stop_as_before() -> None:
    run = start(visits(remarks=1200), 0)
    run.count_present()
    hopeless = run.find_hopeless()
    assert (hopeless, run.texts) == (("remark",), ())
    with pytest.raises(InputError, match="no word of remark"):
        check_words(hopeless, run)


def test_a_column_of_which_a_tenth_is_there_is_not_empty() -> None:
    for seed in range(5):
        run = start(visits(comments=ROWS // 10), seed, 2.0)
        run.count_present()
        assert run.empty_columns == ()


def test_the_only_cell_of_a_column_changes_each_count_by_one() -> None:
    """The exact numbers behind each decision, as the noise gets them."""
    heard = []
    for comments in (0, 1):
        noise = Heard(0)
        run = start(visits(comments=comments), 0, noise=noise)
        run.count_present()
        heard.append(noise.counts)
    first, second = heard
    assert len(first) == len(second)
    apart = [abs(a - b).sum() for a, b in zip(first, second, strict=True)]
    assert max(apart) == 1


class Heard(SeededNoise):
    """Repeatable noise that keeps what it is added to."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.counts: list[np.ndarray] = []

    def gaussian(self, counts: Any, scale: float) -> Any:
        self.counts.append(np.array(counts))
        return super().gaussian(counts, scale)


def test_where_nothing_else_is_left_a_release_stops() -> None:
    table = visits()
    only = Table({name: table.columns[name] for name in ("remark", "comment")})
    run = start(only, 0)
    run.count_present()
    hopeless = run.find_hopeless()
    with pytest.raises(InputError, match="no word of remark, comment"):
        check_words(hopeless, run, keep_going=True)


NO_CELLS = Table({"comment": words([""] * ROWS), "remark": words([""] * ROWS)})


def test_of_a_table_without_any_cell_no_kind_is_in_doubt() -> None:
    run = start(NO_CELLS, 0)
    assert run.count_present() == ()
    assert run.empty_columns == ("comment", "remark")


def test_a_table_without_any_cell_has_a_schema() -> None:
    ledger = Ledger(20.0, 1e-9, threshold_delta=1e-9)
    schema = discover(NO_CELLS, ledger, ledger.budget, 1e-9, SeededNoise(1))
    assert [attribute.replacement for attribute in schema if isinstance(attribute, Text)] == [
        "",
        "",
    ]


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_telling_text_and_empty_columns_loses_no_more_than_claimed(neighbours: Any) -> None:
    """The audit's pairs: the exact loss of all that is asked until columns are left out."""
    for epsilon in (0.1, 1.0, 5.0):
        run_on = partial(finds_texts, epsilon)
        pairs = own_word_pairs(neighbours)
        findings = list(exact_findings("left out", epsilon, run_on, pairs))
        assert findings
        for finding in findings:
            assert 0 < finding.measured <= epsilon * (1 + 1e-9)


def test_a_release_says_what_it_left_out_and_writes_it() -> None:
    said: list[str] = []
    method = Independent(epsilon=1.0, delta=1e-9, refinement=0)
    model = method.fit(visits(), noise=SeededNoise(1), notify=lambda note: said.append(str(note)))
    rows = model.sample(100, seed=0)
    assert {rows.columns["remark"].words[code] for code in rows.columns["remark"].values} == {
        "[text]"
    }
    assert any(note.startswith("comment: empty in every row") for note in said)
    assert any(note.startswith("remark: most rows hold") for note in said)


def test_a_column_that_is_named_stops_a_release_all_the_same() -> None:
    method = Adaptive(epsilon=1.0, delta=1e-9, target="remark")
    with pytest.raises(InputError, match="no word of remark"):
        method.fit(visits(), noise=SeededNoise(1), notify=lambda _: None)
