"""Worst-case pairs of neighbouring tables without a schema, whose domain is to be discovered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from understudy.auditing.neighbours import Pair
from understudy.data.tables import Column, Table
from understudy.privacy.budget import Neighbours


def make_unknown_pairs(neighbours: Neighbours, categories: bool = True) -> tuple[Pair, ...]:
    """Pairs of tables whose domain is to be discovered: numbers and, if asked for, a column of
    categories.
    """
    body = [(20 + place % 40, 3.5, place % 3) for place in range(200)]
    odd = (
        ("an extreme number", (10**12, 1e-5, 1)),
        ("the only negative numbers", (-7, -1e9, 1)),
        ("the only missing values", (None, None, 1)),
    )
    return tuple(
        _make_unknown_pair(name, neighbours, body, extra, categories) for name, extra in odd
    )


def unheard_pair(neighbours: Neighbours) -> Pair:
    """In one table a single row has a category, which is never named; in the other two have it. The
    domain is to be discovered.
    """
    body = [(20 + place % 40, 3.5, place % 3) for place in range(200)]
    name = "a category of two rows, no schema"
    return _make_unknown_pair(name, neighbours, [(30, 3.5, 3), *body], (30, 3.5, 3), True)


ODD_CELLS: dict[str, tuple[Sequence[str], str]] = {
    "a text among numbers": ([str(20 + place % 20) for place in range(60)], "abc"),
    "an extreme number": ([str(20 + place % 20) for place in range(60)], "1000000000000"),
    "the only missing cell": ([str(20 + place % 20) for place in range(60)], "NA"),
    "a fraction among whole numbers": ([str(place % 7) for place in range(60)], "2.5"),
    "the only number among words": ([f"w{place % 3}" for place in range(60)], "7"),
    "a date in another order": (
        [f"{9 + place % 20:02}/01/2020" for place in range(60)],
        "01/28/2020",
    ),
    "a word among truth values": (["true", "false"] * 30, "maybe"),
    "a code far from the others": (["1", "2"] * 30, "999"),
    "a number that is no multiple": ([str(100 * (place % 20)) for place in range(60)], "7"),
    "the only cell that is not empty": ([""] * 60, "5"),
}
"""Columns that differ by one cell which, read for free, would change what the column is."""


LISTED_WORDS: dict[str, tuple[Sequence[str], str]] = {
    "the only word of a public list": (["Norway"] * 6 + ["Peru"] * 4, "Chad"),
    "the second row with a public word": (["Norway"] * 6 + ["Chad", "Peru", "Peru"], "Chad"),
    "one more row with a word that was named": (["Norway"] * 6 + ["Peru"] * 4, "Norway"),
}
"""Columns of words and one more cell. Words that occur once are kept only if they are public."""


BESIDE_WORDS: dict[str, tuple[Sequence[str], str]] = {
    "the third row with a word beside yes and no": (["maybe"] * 2 + ["no", "yes"] * 5, "maybe"),
    "one more yes": (["maybe"] * 3 + ["no", "yes"] * 5, "yes"),
    "the only mark for a missing value": (["maybe"] * 3 + ["no", "yes"] * 5, "n/a"),
    "the only cell that is none of them": (["maybe"] * 3 + ["no", "yes"] * 5, "perhaps"),
}
"""Columns of yes and no with a third word that two rows hold or more, and one more cell."""

SHARED_NUMBERS: dict[str, tuple[Sequence[str], str]] = {
    "the third row with a number": (["0.7123"] * 2 + ["2.5"] * 3 + ["1.25", "3"], "0.7123"),
    "a number written another way": (["0.7123"] * 2 + ["2.5"] * 3 + ["1.25", "3"], "2.50"),
    "the only extreme number": (["0.7123"] * 2 + ["2.5"] * 3 + ["1.25", "3"], "1e300"),
    "a number that counts as its neighbour": (["0.7123"] * 2 + ["2.5"] * 3, "0.71230004"),
    "a text among numbers": (["0.7123"] * 2 + ["2.5"] * 3 + ["1.25", "3"], "abc"),
}
"""Columns of reals, some of which several rows share, and one more cell."""


def beside_word_pairs(neighbours: Neighbours) -> tuple[Pair, ...]:
    """Pairs that differ by a cell of a column of yes and no with a third word."""
    return _one_cell_pairs(BESIDE_WORDS, neighbours)


def shared_number_pairs(neighbours: Neighbours) -> tuple[Pair, ...]:
    """Pairs that differ by a cell of a column of reals that several rows share."""
    return _one_cell_pairs(SHARED_NUMBERS, neighbours)


def shared_identifier_pairs(neighbours: Neighbours) -> tuple[Pair, ...]:
    """A row with an identifier of its own beside those that many rows share."""
    cells = {"x": ["1", "2"] * 30, "school_id": ["7", "8", "9"] * 20}
    kept = 60 - (neighbours == "replace")
    rest = {name: column[:kept] for name, column in cells.items()}
    other = {"x": [*rest["x"], "1"], "school_id": [*rest["school_id"], "10"]}
    one, two = (
        Table({name: _words(column) for name, column in some.items()}) for some in (cells, other)
    )
    return (Pair(one, two, None, neighbours, "the only row of a school"),)


def own_word_pairs(neighbours: Neighbours) -> tuple[Pair, ...]:
    """A row with a word of its own, beside such rows and beside words that many rows share."""
    shared = [f"w{place % 30}" for place in range(60)]
    own = [f"w{place}" for place in range(60)]
    columns = {
        "a word of its own among shared ones": (shared, "new"),
        "one more word of its own": (own, "new"),
        "the only word of a column": ([""] * 60, "new"),
    }
    return _one_cell_pairs(columns, neighbours)


def pair_listed_words(neighbours: Neighbours) -> tuple[Pair, ...]:
    """Pairs that differ by a word of a public list."""
    return _one_cell_pairs(LISTED_WORDS, neighbours)


def odd_cell_pairs(neighbours: Neighbours) -> tuple[Pair, ...]:
    """Pairs of tables without a schema that differ by one odd cell."""
    return _one_cell_pairs(ODD_CELLS, neighbours)


def _one_cell_pairs(
    columns: Mapping[str, tuple[Sequence[str], str]], neighbours: Neighbours
) -> tuple[Pair, ...]:
    pairs = []
    for name, (cells, odd) in columns.items():
        rest = list(cells)
        if neighbours == "replace":
            rest = rest[:-1]
        table = Table({"x": _words(cells)})
        pairs.append(Pair(table, Table({"x": _words([*rest, odd])}), None, neighbours, name))
    return tuple(pairs)


def _words(cells: Sequence[str]) -> Column:
    """A column of a file, of which nothing but the texts of its cells is known."""
    words = tuple(sorted(set(cells)))
    places = {word: place for place, word in enumerate(words)}
    return Column("text", np.array([places[cell] for cell in cells]), words)


TOWNS = ("Oslo", "Rome", "Ulm", "Atlantis")


def _make_unknown_pair(
    name: str,
    neighbours: Neighbours,
    body: Sequence[tuple[Any, ...]],
    extra: tuple[Any, ...],
    categories: bool,
) -> Pair:
    if neighbours == "add_remove":
        other = [*body, extra]
    else:
        other = [*body[:-1], extra]
    return Pair(
        _make_unknown_table(body, categories),
        _make_unknown_table(other, categories),
        None,
        neighbours,
        name,
    )


def _make_unknown_table(rows: Sequence[tuple[Any, ...]], categories: bool) -> Table:
    ages, heights, towns = zip(*rows, strict=True)
    columns = {"age": _column("integer", ages), "height": _column("real", heights)}
    if categories:
        columns["town"] = Column("text", np.array(towns, dtype=np.int64), TOWNS)
    return Table(columns)


def _column(kind: str, values: Sequence[Any]) -> Column:
    missing = np.array([value is None for value in values], dtype=np.uint8)
    present = [0 if value is None else value for value in values]
    numbers = np.array(present, dtype=np.int64 if kind == "integer" else np.float64)
    return Column(kind, numbers, missing=missing if missing.any() else None)
