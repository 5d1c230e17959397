"""The tables of the grid of regimes: real ones, samples of them, and made-up ones.

Which half a table belongs to was fixed before any setting was tried, by a hash of its name
(:func:`half_of`). The published tables are older than that: settings before this grid were chosen
while looking at adult, br2000, nltcs and acs, whichever half they are in now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from published import complete_rows, published, rows_where
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table, read_table

Half = Literal["tuning", "held out"]
Source = tuple[Table, Schema]

BINS = 16


def half_of(name: str) -> Half:
    """Settings may be tried on one half of the tables, and are reported on the other: of all
    names, in the order of their hashes, the first half is for tuning.
    """
    by_hash = sorted(TABLES, key=lambda one: hashlib.sha256(one.encode()).digest())
    if by_hash.index(name) < len(by_hash) // 2:
        return "tuning"
    return "held out"


def read(name: str, data: Path) -> Source:
    """A table of the grid and its schema."""
    return TABLES[name](data)


# ---- real tables


def _file(data: Path, *, file: str, drop: tuple[str, ...] = (), quote: str = '"') -> Source:
    """A file with public bounds that are those of its rows, 16 bins a number, complete rows."""
    table = complete_rows(read_table(data / file, quote=quote), "?")
    kept = {name: column for name, column in table.columns.items() if name not in drop}
    attributes: dict[str, Any] = {}
    for name, column in kept.items():
        if column.kind == "text":
            attributes[name] = {"kind": "categorical", "values": list(column.words)}
            continue
        values = np.unique(column.values)
        if len(values) <= BINS and column.kind == "integer":
            attributes[name] = {"kind": "categorical", "values": values.tolist()}
        else:
            low, high = float(values[0]), float(values[-1])
            attributes[name] = {"kind": "real", "min": low, "max": high, "bins": BINS}
    return Table(kept, table.source), Schema.from_dict({"attributes": attributes})


def _published(data: Path, *, name: str) -> Source:
    return published(name, data)


def _sample(data: Path, *, name: str, rows: int) -> Source:
    table, schema = TABLES[name](data)
    drawn = np.random.default_rng(rows).permutation(table.rows)[:rows]
    keep = np.zeros(table.rows, dtype=bool)
    keep[drawn] = True
    return rows_where(table, keep), schema


# ---- made-up tables


def in_codes(codes: dict[str, NDArray[np.int64]], sizes: dict[str, int]) -> Source:
    """A table of codes, and its schema."""
    held, attributes = {}, {}
    for name, column in codes.items():
        words = tuple(f"v{code}" for code in range(sizes[name]))
        held[name] = Column("text", column.astype(np.min_scalar_type(sizes[name])), words)
        attributes[name] = {"kind": "categorical", "values": list(words)}
    return Table(held), Schema.from_dict({"attributes": attributes})


def tree(
    data: Path | None = None,
    *,
    rows: int,
    columns: int,
    smallest: int,
    largest: int,
    strength: float = 0.8,
    seed: int = 0,
) -> Source:
    """Normal numbers down a random tree, each cut into codes (log-uniform in number)."""
    rng = np.random.default_rng(seed)
    low, high = np.log(smallest), np.log(largest)
    sizes = np.round(np.exp(rng.uniform(low, high, columns))).astype(int).tolist()
    rest = np.sqrt(1 - strength**2)
    hidden: list[NDArray[np.float64]] = []
    codes, named = {}, {}
    for place, size in enumerate(sizes):
        fresh = rng.standard_normal(rows)
        if place:
            fresh = strength * hidden[rng.integers(0, place)] + rest * fresh
        hidden.append(fresh)
        cuts = np.sort(rng.normal(0, 1, size - 1))
        codes[f"c{place}"] = np.searchsorted(cuts, fresh).astype(np.int64)
        named[f"c{place}"] = size
    return in_codes(codes, named)


def factors(
    data: Path, *, rows: int, columns: int, smallest: int, largest: int, hidden: int, seed: int
) -> Source:
    """Every column hangs on three of some hidden numbers: no tree tells it all."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(smallest, largest + 1, columns).tolist()
    base = rng.standard_normal((rows, hidden))
    codes, named = {}, {}
    for place, size in enumerate(sizes):
        those = rng.choice(hidden, 3, replace=False)
        mixed = base[:, those] @ rng.normal(0, 0.6, 3) + 0.6 * rng.standard_normal(rows)
        cuts = np.sort(rng.normal(0, 1, size - 1))
        codes[f"c{place}"] = np.searchsorted(cuts, mixed).astype(np.int64)
        named[f"c{place}"] = size
    return in_codes(codes, named)


def unrelated(data: Path, *, rows: int, columns: int, largest: int, seed: int) -> Source:
    """Columns that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, largest + 1, columns).tolist()
    codes, named = {}, {}
    for place, size in enumerate(sizes):
        codes[f"c{place}"] = rng.choice(size, rows, p=rng.dirichlet(np.ones(size)))
        named[f"c{place}"] = size
    return in_codes(codes, named)


def zipf(
    data: Path | None = None, *, rows: int = 50_000, values: int = 5_000, groups: int = 10
) -> Source:
    """A column of very many values that determines one of few, beside two small ones."""
    rng = np.random.default_rng(5)
    weights = 1 / np.arange(1, values + 1)
    fine = rng.choice(values, rows, p=weights / weights.sum())
    coarse = rng.integers(0, groups, values)
    codes = {
        "fine": rng.permutation(values)[fine],
        "coarse": coarse[fine],
        "third": rng.integers(0, 4, rows),
        "fourth": (coarse[fine] + rng.integers(0, 3, rows)) % groups % 5,
    }
    return in_codes(codes, {"fine": values, "coarse": groups, "third": 4, "fourth": 5})


TABLES: dict[str, Callable[[Path], Source]] = {
    "adult": partial(_published, name="adult"),
    "br2000": partial(_published, name="br2000"),
    "nltcs": partial(_published, name="nltcs"),
    "acs": partial(_published, name="acs"),
    "poker": partial(_file, file="poker.csv"),
    "mushroom": partial(_file, file="mushroom.csv", quote="'"),
    "kr-vs-kp": partial(_file, file="kr-vs-kp.csv", quote="'"),
    "credit-g": partial(_file, file="credit-g.csv", quote="'"),
    "diabetes": partial(_file, file="diabetes.csv"),
    "australian": partial(_file, file="australian.csv"),
    "breast-cancer": partial(_file, file="breast-cancer.csv", drop=("id",)),
    "adult, 500 rows": partial(_sample, name="adult", rows=500),
    "adult, 5,000 rows": partial(_sample, name="adult", rows=5_000),
    "br2000, 1,000 rows": partial(_sample, name="br2000", rows=1_000),
    "acs, 2,000 rows": partial(_sample, name="acs", rows=2_000),
    "nltcs, 500 rows": partial(_sample, name="nltcs", rows=500),
    "deep": partial(factors, rows=50_000, columns=16, smallest=2, largest=12, hidden=4, seed=1),
    "tree": partial(tree, rows=30_000, columns=24, smallest=2, largest=40, seed=2),
    "loans": partial(factors, rows=5_960, columns=13, smallest=2, largest=16, hidden=5, seed=3),
    "wide": partial(tree, rows=10_000, columns=54, smallest=2, largest=12, strength=0.6, seed=4),
    "unrelated": partial(unrelated, rows=3_000, columns=12, largest=20, seed=6),
}

LABELS = {
    "adult": "income",
    "mushroom": "class",
    "kr-vs-kp": "class",
    "credit-g": "class",
    "diabetes": "diabetes",
    "australian": "approved",
    "breast-cancer": "class",
    "adult, 500 rows": "income",
    "adult, 5,000 rows": "income",
}
"""The column that one would predict."""
