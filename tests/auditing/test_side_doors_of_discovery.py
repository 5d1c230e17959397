"""No side doors where the domain is discovered: rows decide it by counts that are paid for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from outside_view import (
    NAMES,
    ODD_ROWS,
    Row,
    SameAnswers,
    Seen,
    neighbours_of,
    seen,
)
from typed_frames import TYPED, Typed, typed_frame

from understudy import Independent, PrivBayes, Random, Schema, Table
from understudy.counting.partition import VOCABULARIES, Tally, ends_of
from understudy.data.formats import CANDIDATES, Format
from understudy.data.forms import Form
from understudy.errors import InputError
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_numbers import NamedNumbers, NumberFinder
from understudy.privacy.discovery_questions import NoisyHistogram
from understudy.privacy.discovery_scores import KINDS as CHOICES
from understudy.privacy.discovery_scores import Kind, count_grids, count_kinds
from understudy.privacy.discovery_words import NamedWords, WordFinder
from understudy.release.sources import open_source
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.marginals import Marginals


def _same_words(self: WordFinder, name: str, cost: Any, delta: float) -> None:
    """The question of which words there are, answered alike; its real answer is tested with
    discovery.
    """
    self.asker.ledger.debit(f"words of {name}", cost, "the same answer", delta)
    answer = NoisyHistogram(np.zeros(0, np.int64), 1.0, "rho")
    self.words[name] = NamedWords({"Oslo": 5, "Rome": 5}, 9, answer)


def _same_numbers(self: NumberFinder, name: str, kind: Kind, step: float, *price: Any) -> None:
    """The same for numbers that many rows share; the audit looks at their real answer."""
    self.asker.ledger.debit(f"frequent numbers of {name}", price[0], "the same answer", price[1])
    self.numbers[name] = NamedNumbers({}, NoisyHistogram(np.zeros(0, np.int64), 1.0, "rho"))


KINDS = ("integer", "real", "date")


class Follows(SameAnswers):
    """Chooses the kind that it was told to, and the same range and grid."""

    place = 0

    def choose(self, scores: Any, scale: float, rule: str) -> int:
        self._stream("choose", len(scores), scale, rule)
        return self.place % len(scores)


PLACES = [CHOICES.index(Kind(format=CANDIDATES.index(Format(kind)))) for kind in KINDS]
"""Where plain numbers and dates stand among the kinds."""

_METHODS: list[Synthesizer] = [
    Independent(epsilon=1.0, keep_going=True),
    PrivBayes(epsilon=1.0, delta=1e-6, keep_going=True),
    replace(PrivBayes.paper(1.0), keep_going=True),
    Random(epsilon=1.0, keep_going=True),
    Marginals(epsilon=1.0, marginals=[("sex", "town")], keep_going=True),
]


WITHOUT_SCHEMA = {f"{method.name}, {method.neighbours}": method for method in _METHODS}


def seen_as(kind: int, name: str, table: Table, folder: Path, beside: Seen | None = None) -> Seen:
    """What is seen of a method that takes every column for one kind."""
    with (
        mock.patch.object(WordFinder, "ask_words", _same_words),
        mock.patch.object(NumberFinder, "ask_numbers", _same_numbers),
        mock.patch.object(Follows, "place", kind),
    ):
        return seen(WITHOUT_SCHEMA[name], table, None, folder, Follows, beside)


@pytest.fixture(scope="module")
def seen_without(
    tmp_path_factory: pytest.TempPathFactory, table_with: Callable[..., Table]
) -> Callable[[int, str], Seen]:
    """What is seen without any odd row: the same beside all of them."""

    @cache
    def look(kind: int, name: str) -> Seen:
        return seen_as(kind, name, table_with("add_remove"), tmp_path_factory.mktemp("without"))

    return look


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS.keys())
@pytest.mark.parametrize("name", WITHOUT_SCHEMA)
def test_nor_does_it_where_the_domain_is_discovered(
    name: str,
    odd: Row,
    tmp_path: Path,
    seen_without: Callable[[int, str], Seen],
    table_with: Callable[..., Table],
) -> None:
    """Whatever the odd row makes of the kinds, formats and ranges of the columns."""
    kind = PLACES[len(str(odd)) % 3]
    there = table_with(WITHOUT_SCHEMA[name].neighbours, odd)
    without = seen_without(kind, name)
    assert without == seen_as(kind, name, there, tmp_path, without)


def typed_and_taken() -> Iterator[Any]:
    """Each pair of typed tables, taken for each kind; with each change, for one of them in turn."""
    for number, (name, (library, typed)) in enumerate(TYPED.items()):
        for turn, kind in enumerate(KINDS):
            marks = [pytest.mark.slow] if (number + turn) % 3 else []
            identity = f"{name}, taken for {kind}"
            yield pytest.param(library, typed, PLACES[turn], marks=marks, id=identity)


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize(("library", "typed", "place"), list(typed_and_taken()))
def test_types_decide_nothing_where_the_domain_is_discovered(
    library: str, typed: Typed, place: int, tmp_path: Path
) -> None:
    """Neighbours whose kinds differ, from files, pandas, polars and Arrow."""
    method = Independent(epsilon=0.001, keep_going=True)
    found = []
    with (
        mock.patch.object(WordFinder, "ask_words", _same_words),
        mock.patch.object(NumberFinder, "ask_numbers", _same_numbers),
        mock.patch.object(Follows, "place", place),
    ):
        for side, values in zip(("here", "there"), typed[1:], strict=True):
            (tmp_path / side).mkdir()
            frame = typed_frame(library, typed[0], values, tmp_path / side)
            beside = found[0] if found else None
            found.append(seen(method, frame, None, tmp_path / side, Follows, beside))
    assert found[0] == found[1]


def count_columns(frame: Any, columns: Sequence[str]) -> dict[str, Tally]:
    tallies = {column: Tally(1) for column in columns}
    with open_source(frame, notify=lambda _: None) as source:
        source.columns.count(tallies)
    return tallies


def changes(here: Tally, there: Tally) -> dict[str, tuple[int, int]]:
    """By how many rows the counts of each question differ at most: in one cell, and in all."""
    words = {word: there.words[word] - here.words[word] for word in {*here.words, *there.words}}
    found = {
        "rows": [there.rows - here.rows],
        "missing": there.missing - here.missing,
        "words": list(words.values()),
        "kinds": count_kinds(there) - count_kinds(here),
    }
    for place in {*here.formats, *there.formats}:
        ends = ends_of(CANDIDATES[place].kind)
        cells = [
            tally.formats[place].cells if place in tally.formats else np.zeros(len(ends.edges) + 1)
            for tally in (here, there)
        ]
        found[f"cells {place}"] = cells[1] - cells[0]
        found[f"grids {place}"] = count_grids(there, place) - count_grids(here, place)
    return {
        name: (int(np.max(np.abs(change), initial=0)), int(np.abs(change).sum()))
        for name, change in found.items()
    }


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize(("library", "typed"), TYPED.values(), ids=TYPED.keys())
def test_one_row_changes_each_count_by_one_whatever_the_types(
    library: str, typed: Typed, tmp_path: Path
) -> None:
    """The same answers, as above, would hide scores and counts of which one row changes many."""
    tallies = []
    for side, values in zip(("here", "there"), typed[1:], strict=True):
        (tmp_path / side).mkdir()
        frame = typed_frame(library, typed[0], values, tmp_path / side)
        tallies.append(count_columns(frame, [typed[0]])[typed[0]])
    for name, (most, together) in changes(*tallies).items():
        assert most <= 1, name
        if name.startswith(("missing", "words", "cells")):  # a row is in one cell
            assert together <= 1, name


@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS.keys())
def test_one_row_of_a_file_changes_each_count_by_one(odd: Row, tmp_path: Path) -> None:
    here, there = neighbours_of("add_remove", odd, tmp_path)
    before, after = (count_columns(table, NAMES[1:]) for table in (here, there))
    for column in NAMES[1:]:
        for name, (most, together) in changes(before[column], after[column]).items():
            assert most <= 1, (column, name)
            if name.startswith(("missing", "words", "cells")):
                assert together <= 1, (column, name)


# ---- ways to write numbers, dates and answers; schemas that leave columns open

EXOTIC = ("when", "pay", "part", "answer", "code")
PINNED = (
    Kind(format=CANDIDATES.index(Format("date", "%d/%m/%Y"))),
    Kind(format=CANDIDATES.index(Format("integer", "$1,234"))),
    Kind(format=CANDIDATES.index(Format("real", "12.5%"))),
    Kind(vocabulary=VOCABULARIES.index(("No", "Yes"))),
    Kind(),
)
EXOTIC_ROWS = [
    (
        f"{1 + i % 28:02}/{1 + i % 12:02}/2020",
        f'"${1000 + 100 * i:,}"',
        f"{i}.5%",
        ("No", "Yes")[i % 2],
        ("ab", "cd")[i % 2],
    )
    for i in range(24)
]
ODD_EXOTIC: dict[str, Row] = {
    "one more": EXOTIC_ROWS[3],
    "written in other ways": ("2020-12-31", "€5", '"1,5"', "yes", "AB"),
    "other ways that could be meant": ("12/31/2020", "$1234", "12%", "Y", "cd "),
    "in words": ("5 Jan 2020", "many", "half", "maybe", "9"),
    "missing": ("", "", "", "", ""),
    "missing in other ways": ("unknown", "n/a", "-", "NA", "?"),
    "out of any range": ("31/12/9999", '"$999,999,999,999,999"', "1e300%", "No", "x" * 5000),
    "no day of the calendar": ("31/02/2020", "$-0", "-0.0%", " Yes", "\u00e9"),
}


class Pinned(SameAnswers):
    """Chooses a given kind for each column, and any range and grid."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = iter(PINNED)

    def choose(self, scores: Any, scale: float, rule: str) -> int:
        drawn = super().choose(scores, scale, rule)
        if len(scores) == len(CHOICES):
            return CHOICES.index(next(self.kinds))
        return drawn


KNOWN_PART: dict[str, Any] = {
    "when": {"kind": "date", "format": "%d/%m/%Y", "min": "2020-01-01", "max": "2020-12-31"},
    "pay": {"kind": "integer", "format": "$1,234", "min": 0, "max": 9999},
    "part": {"kind": "real", "format": "12.5%", "min": 0, "max": 100},
    "answer": {"kind": "categorical", "values": ["No", "Yes"]},
    "code": {"kind": "categorical", "values": None},
}
OPEN: dict[str, Form | None] = {
    "all": None,
    "words of one column": Form(KNOWN_PART),
    "kinds of two columns": Form({**KNOWN_PART, "when": {"kind": None}, "pay": {"kind": None}}),
}


def exotic(folder: Path, rows: Sequence[Row]) -> Path:
    folder.mkdir()
    lines = [",".join(EXOTIC), *(",".join(row) for row in rows)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    return folder / "t.csv"


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("open_part", OPEN)
@pytest.mark.parametrize("odd", ODD_EXOTIC.values(), ids=ODD_EXOTIC.keys())
def test_nor_whatever_way_values_are_written_and_whatever_is_open(
    odd: Row, open_part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are not stood in for here: those that occur once are not asked about. Numbers are,
    since one more row can make one of them occur twice.
    """
    monkeypatch.setattr(NumberFinder, "ask_numbers", _same_numbers)
    found = []
    for side, more in (("here", []), ("there", [odd])):
        table = exotic(tmp_path / side, [*EXOTIC_ROWS[:7], *more, *EXOTIC_ROWS[7:]])
        method = Independent(epsilon=1.0, delta=1e-6, keep_going=True)
        beside = found[0] if found else None
        found.append(seen(method, table, OPEN[open_part], table.parent, Pinned, beside))
        kinds = [
            attribute.kind for attribute in Schema.from_dict(json.loads(found[-1].model)["schema"])
        ]
        assert kinds[:3] == ["date", "integer", "real"]
    assert found[0] == found[1]


@pytest.mark.parametrize("odd", ODD_EXOTIC.values(), ids=ODD_EXOTIC.keys())
def test_one_row_changes_each_count_by_one_whatever_way_it_is_written(
    odd: Row, tmp_path: Path
) -> None:
    here = exotic(tmp_path / "here", EXOTIC_ROWS)
    there = exotic(tmp_path / "there", [*EXOTIC_ROWS, odd])
    before, after = (count_columns(table, EXOTIC) for table in (here, there))
    for column in EXOTIC:
        for name, (most, together) in changes(before[column], after[column]).items():
            assert most <= 1, (column, name)
            if name.startswith(("missing", "words", "cells")):
                assert together <= 1, (column, name)


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
def test_a_kind_that_is_read_for_free_would_be_seen(tmp_path: Path) -> None:
    """As it once was: one text among numbers made the column one of words."""
    choose = Discovery._choose_kinds

    def look_at_all(self: Discovery) -> Any:
        kinds = choose(self)
        numbers = all(word.isdigit() for word in self._tallies["age"].words)
        return {**kinds, "age": Kind(format=0) if numbers else Kind()}

    here, there = tmp_path / "here", tmp_path / "there"
    plain = [str(20 + i % 12) for i in range(24)]
    method = Independent(epsilon=1.0, keep_going=True)
    found = []
    with (
        mock.patch.object(WordFinder, "ask_words", _same_words),
        mock.patch.object(NumberFinder, "ask_numbers", _same_numbers),
        mock.patch.object(Discovery, "_choose_kinds", look_at_all),
    ):
        for folder, ages in ((here, [*plain, "21"]), (there, [*plain, "x", "x"])):
            folder.mkdir()
            (folder / "t.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages))
            found.append(seen(method, folder / "t.csv", None, folder))
    assert found[0] != found[1]


@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS.keys())
def test_nor_does_it_decide_whether_a_release_stops(odd: Row, tmp_path: Path) -> None:
    said = []
    for table in neighbours_of("add_remove", odd, tmp_path):
        with pytest.raises(InputError) as stop:
            Independent(epsilon=1.0).fit(table, noise=SameAnswers(), notify=lambda _: None)
        said.append(str(stop.value).replace(str(table), "t.csv"))
    assert said[0] == said[1]
    assert "too few rows" in said[0]
