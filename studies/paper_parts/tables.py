"""The paper's four tables, its tasks, and how a table becomes the rows of a linear classifier.

The published files of NLTCS, ACS and BR2000 do not name their columns. ACS: a5 = 1 implies a4 = 1,
so they are taken for mortgage and own dwelling, a10 (implied by a11) for more than one generation,
a19 for school. BR2000: b1 > 0 for not Catholic (29 %), b2 > 0 for a car, b4 > 0 for a child, b5 > 1
for older than 20. NLTCS: four columns with shares like those of people who cannot get outside,
manage money, bathe and travel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.hinge_svm import hinge_svm
from published import published
from study import Options, seed_of
from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import Coded, encode
from understudy.data.marginals import Marginal
from understudy.data.schema import Category, Schema
from understudy.errors import InputError

DEGREES = ("Bachelors", "Masters", "Prof-school", "Doctorate", "Assoc-voc", "Assoc-acdm")
TASKS: Mapping[str, Mapping[str, tuple[str, str | int | tuple[str, ...]]]] = {
    "nltcs": {
        "outside": ("adl4", 1),
        "money": ("adl7", 1),
        "bathing": ("adl12", 1),
        "traveling": ("adl16", 1),
    },
    "acs": {
        "dwelling": ("a4", 1),
        "mortgage": ("a5", 1),
        "multi-generation": ("a10", 1),
        "school": ("a19", 1),
    },
    "adult": {
        "gender": ("sex", ("Female",)),
        "salary": ("income", (">50K",)),
        "education": ("education", DEGREES),
        "marital": ("marital_status", ("Never-married",)),
    },
    "br2000": {"religion": ("b1", 1), "car": ("b2", 1), "child": ("b4", 1), "age": ("b5", 2)},
    "made-up bits": {"last": ("x7", 1), "first": ("x0", 1)},
    "made-up mix": {"size": ("size", 4), "kind": ("kind", ("a", "b"))},
}
"""For each table and task a column and what is to be predicted of it: values, or the least code."""


@dataclass(frozen=True)
class Source:
    """A table of the study: all rows, or those that classifiers learn from and those they are
    tested on.
    """

    name: str
    rows: Coded
    test: Coded | None = None

    @property
    def binary(self) -> bool:
        """Whether all attributes have two values."""
        return all(attribute.size == 2 for attribute in self.rows.schema.modelled)

    @property
    def orders(self) -> tuple[int, int]:
        """Of the marginals that the paper looks at."""
        return (3, 4) if self.binary else (2, 3)

    @property
    def tasks(self) -> Mapping[str, tuple[str, Any]]:
        """What is predicted."""
        return TASKS[self.name]

    def exact(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        """The tables of the marginals."""
        return counter_of(self.rows).count(marginals)


def binary_names(options: Options) -> list[str]:
    return ["made-up bits"] if options.quick else ["nltcs", "acs"]


def general_names(options: Options) -> list[str]:
    return ["made-up mix"] if options.quick else ["adult", "br2000"]


def whole(data: Path, name: str) -> Source:
    """The whole table."""
    return Source(name, _coded(data, name))


@lru_cache(maxsize=1)
def split(data: Path, name: str) -> Source:
    """Four fifths of the rows to learn from, one fifth to test on; the same split whatever is
    learned.
    """
    coded = _coded(data, name)
    order = np.random.default_rng(seed_of({"split": name})).permutation(coded.rows)
    cut = coded.rows * 4 // 5
    return Source(name, _taken(coded, order[:cut]), _taken(coded, order[cut:]))


@lru_cache(maxsize=1)
def _coded(data: Path, name: str) -> Coded:
    if name.startswith("made-up"):
        return made_up(name)
    if not (data / f"{name}.csv").exists():
        raise InputError(
            f"There is no {name}.csv in {data}; give the folder of the published tables by --data."
        )
    return encode(*published(name, data))


def made_up(name: str, rows: int = 3000) -> Coded:
    """A small table with some dependence in it, for the quick version."""
    rng = np.random.default_rng(seed_of({"table": name}))
    if name == "made-up bits":
        codes = {"x0": rng.integers(0, 2, rows)}
        for place in range(1, 8):
            copied = rng.random(rows) < 0.8
            codes[f"x{place}"] = np.where(copied, codes[f"x{place - 1}"], rng.integers(0, 2, rows))
        attributes: dict[str, Any] = {
            key: {"kind": "categorical", "values": [0, 1]} for key in codes
        }
    else:
        size = rng.integers(0, 8, rows)
        kind = (size // 2 + (rng.random(rows) < 0.2)) % 4
        codes = {
            "size": size,
            "kind": kind,
            "odd": size % 2,
            "old": np.minimum(kind + rng.integers(0, 5, rows), 7),
        }
        attributes = {
            "size": {"kind": "integer", "min": 0, "max": 7, "bins": 8},
            "kind": {
                "kind": "categorical",
                "values": list("abcd"),
                "taxonomy": [["a", "b"], ["c", "d"]],
            },
            "odd": {"kind": "categorical", "values": [0, 1]},
            "old": {"kind": "integer", "min": 0, "max": 7, "bins": 8},
        }
    schema = Schema.from_dict({"attributes": attributes})
    return Coded(schema, {key: column.astype(np.uint8) for key, column in codes.items()}, rows, ())


def _taken(coded: Coded, places: NDArray[np.intp]) -> Coded:
    codes = {name: column[places] for name, column in coded.codes.items()}
    return Coded(coded.schema, codes, len(places), ())


def counter_of(coded: Coded) -> MemoryCounter:
    """Exact counts of the rows."""
    attributes = coded.schema.modelled
    return MemoryCounter(
        coded.codes,
        {a.name: a.generalisations for a in attributes},
        {a.name: a.size for a in attributes},
    )


# ---- classification


def labels(coded: Coded, task: tuple[str, Any]) -> NDArray[np.bool_]:
    """Which rows a classifier should say yes to."""
    column, wanted = task
    codes = coded.codes[column]
    if not isinstance(wanted, tuple):
        return np.asarray(codes >= wanted)
    attribute = coded.schema[column]
    assert isinstance(attribute, Category)
    return np.isin(codes, [attribute.values.index(value) for value in wanted])


@dataclass(frozen=True)
class Design:
    """All attributes but one as columns of 0 and 1, one for each value, and an intercept."""

    matrix: Any
    groups: NDArray[np.intp]
    """The attribute that each column belongs to."""

    @property
    def unit(self) -> Any:
        """The same, scaled so that each row has norm 1: every row has one 1 for each group."""
        return self.matrix / np.sqrt(self.groups.max() + 1)


def design(coded: Coded, target: str) -> Design:
    """The features for predicting a column from all others."""
    from scipy.sparse import csr_matrix

    attributes = [a for a in coded.schema.modelled if a.name != target]
    sizes = np.array([a.size for a in attributes] + [1])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    places = np.column_stack(
        [
            coded.codes[a.name].astype(np.int32) + start
            for a, start in zip(attributes, starts, strict=False)
        ]
        + [np.full(coded.rows, starts[-1], dtype=np.int32)]
    )
    ends = np.arange(0, places.size + 1, places.shape[1])
    matrix = csr_matrix(
        (np.ones(places.size), places.ravel(), ends), shape=(coded.rows, int(sizes.sum()))
    )
    return Design(matrix, np.repeat(np.arange(len(sizes)), sizes))


def distinct(coded: Coded) -> tuple[Coded, NDArray[np.int64]]:
    """Each row that occurs, once, and how often."""
    names = list(coded.codes)
    rows, counts = np.unique(
        np.column_stack([coded.codes[name] for name in names]), axis=0, return_counts=True
    )
    return Coded(
        coded.schema, {name: rows[:, i] for i, name in enumerate(names)}, len(rows), ()
    ), counts


def svm_errors(
    learned: Coded, source: Source, tasks: Sequence[str] | None = None
) -> dict[str, float]:
    """Misclassification rate, on the test rows, of hinge-loss SVMs (C = 1) that learned from other
    rows.
    """
    rows, counts = distinct(learned)
    found = {}
    for name in tasks or source.tasks:
        column, _ = task = source.tasks[name]
        known = labels(rows, task)
        if known.all() or not known.any():
            found[name] = constant_error(source, name, bool(known[0]))
        else:
            found[name] = weights_error(
                source, name, hinge_svm(design(rows, column).matrix, known, counts)
            )
    return found


def weights_error(source: Source, name: str, weights: NDArray[np.float64]) -> float:
    """The misclassification rate of a linear classifier on the test rows."""
    assert source.test is not None
    task = source.tasks[name]
    said = design(source.test, task[0]).matrix @ weights > 0
    return float(np.mean(said != labels(source.test, task)))


def constant_error(source: Source, name: str, said: bool) -> float:
    """The misclassification rate of the same answer for all test rows."""
    assert source.test is not None
    return float(np.mean(labels(source.test, source.tasks[name]) != said))
