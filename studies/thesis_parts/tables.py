"""Heart, Poker and Adult with public domains, split into rows to learn from and rows to test on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from published import published
from study import seed_of
from understudy import Schema, read_table
from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import Coded, encode
from understudy.data.marginals import Marginal

TARGETS = {"heart": "diagnosis", "poker": "hand", "adult": "income"}
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Task:
    """Coded rows to learn from, coded rows to test on, and the attribute to be told."""

    train: Coded
    test: Coded
    target: str


def task(table: str, folder: Path, repeat: int) -> Task:
    """A table, a fifth of its rows kept apart for the test; which ones depends on the repeat."""
    coded = coded_table(table, folder)
    order = np.random.default_rng(seed_of({"table": table, "split": repeat})).permutation(
        coded.rows
    )
    tested = round(coded.rows * TEST_SHARE)
    return Task(rows_of(coded, order[tested:]), rows_of(coded, order[:tested]), TARGETS[table])


@lru_cache(maxsize=1)
def coded_table(table: str, folder: Path) -> Coded:
    """All rows of a table, a missing value a code of its own."""
    rows = read_table(folder / f"{table}.csv")
    attributes = (
        _adult(folder) if table == "adult" else {"heart": _heart, "poker": domain_of_poker}[table]()
    )
    return encode(rows, Schema.from_dict({"attributes": attributes}))


def rows_of(coded: Coded, places: NDArray[Any]) -> Coded:
    """Some of the rows."""
    return Coded(
        coded.schema, {name: codes[places] for name, codes in coded.codes.items()}, len(places), ()
    )


def count_tables(coded: Coded, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
    """The exact tables of some marginals."""
    attributes = coded.schema.modelled
    counter = MemoryCounter(
        coded.codes,
        {a.name: a.generalisations for a in attributes},
        {a.name: a.size for a in attributes},
    )
    return counter.count(marginals)


def _heart() -> dict[str, Any]:
    """Public bounds, eight bins each; the thesis does not say how many it had."""

    def whole(low: int, high: int) -> dict[str, Any]:
        return {"kind": "integer", "min": low, "max": high, "bins": 8}

    def one_of(*values: int, **more: str) -> dict[str, Any]:
        return {"kind": "categorical", "values": list(values), **more}

    return {
        "age": whole(20, 83),
        "sex": one_of(0, 1),
        "chest_pain": one_of(1, 2, 3, 4),
        "blood_pressure": whole(80, 207),
        "cholesterol": whole(100, 611),
        "blood_sugar": one_of(0, 1),
        "cardiogram": one_of(0, 1, 2),
        "max_pulse": whole(60, 219),
        "exercise_angina": one_of(0, 1),
        "oldpeak": {"kind": "real", "min": 0, "max": 8, "bins": 8},
        "slope": one_of(1, 2, 3),
        "vessels": one_of(0, 1, 2, 3, missing="?"),
        "thal": one_of(3, 6, 7, missing="?"),
        "diagnosis": one_of(0, 1, 2, 3, 4),
    }


def domain_of_poker() -> dict[str, Any]:
    """Cards by suit and rank, and what they make."""

    def numbers(first: int, last: int) -> dict[str, Any]:
        return {"kind": "categorical", "values": list(range(first, last + 1)), "ordered": True}

    cards = {
        f"{what}{card}": numbers(1, 4 if what == "s" else 13)
        for card in range(1, 6)
        for what in "sr"
    }
    return cards | {"hand": numbers(0, 9)}


def _adult(folder: Path) -> dict[str, Any]:
    """As published, with the rows that lack a value, which the thesis keeps."""
    attributes: dict[str, Any] = published("adult", folder)[1].to_dict()["attributes"]
    for name in ("workclass", "occupation", "native_country"):
        attributes[name]["missing"] = "?"
    attributes["workclass"]["values"].append(
        "Never-worked"
    )  # occurs in rows that lack an occupation only
    attributes["workclass"].pop("taxonomy", None)
    return attributes
