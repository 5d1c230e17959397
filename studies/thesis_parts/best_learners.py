"""The thesis' tables 7 to 9, its most accurate runs, beside the runs here.

Each table holds 18 runs, the best six of each of three ways to learn the structure; which splits
and degrees they had is not printed.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from study import Claim, Row, means
from understudy.evaluation.classifiers import THESIS

WITHIN = 5.0
"""Points of accuracy that count as the same."""

MIN_EPSILON = 5.0
"""Nearly all printed runs have at least this much."""

ROUNDED = 0.05
"""Some accuracies are printed with one decimal, so that equal ones look different."""

VOTED = {
    "heart": ("XGBoost", "random forest"),
    "poker": ("MLP", "XGBoost"),
    "adult": ("XGBoost", "gradient boosting"),
}
"""The best two classifiers of each table, "by majority voting"."""


@lru_cache(maxsize=1)
def printed() -> tuple[Row, ...]:
    """All 54 rows; numbers as floats."""
    with (Path(__file__).parent / "tables_7_to_9.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            {name: value if name == "table" else float(value) for name, value in row.items()}
            for row in csv.DictReader(file)
        )


def conclude(rows: Iterable[Row]) -> list[Claim]:
    """Claims about the runs of the part ``accuracy``, where they have all twelve classifiers."""
    late = [row for row in rows if row.get("epsilon", 0) >= MIN_EPSILON]
    if not late or not all(name in late[0] for name in THESIS):
        return []
    tables = list(dict.fromkeys(row["table"] for row in late))
    return [_best_average(late, tables), _by_classifier(late, tables), _voted(late, tables)]


def _best_average(late: Sequence[Row], tables: Sequence[str]) -> Claim:
    ours = {table: max(r["accuracy"] for r in late if r["table"] == table) for table in tables}
    theirs = {
        table: max(r["average"] for r in printed() if r["table"] == table) for table in tables
    }
    typical = means(late, "accuracy", "table")
    numbers = (
        f"{t}: {ours[t]:.1f} against {theirs[t]:.1f}, the mean of all runs here {typical[t]:.1f}"
        for t in tables
    )
    text = (
        f"At epsilon {MIN_EPSILON:g} and more the best run here is at least as accurate, over "
        "twelve classifiers, as the best of tables 7 to 9"
    )
    return Claim(text, all(ours[t] >= theirs[t] for t in tables), "; ".join(numbers))


def _by_classifier(late: Sequence[Row], tables: Sequence[str]) -> Claim:
    near, numbers = [], []
    for table in tables:
        ours = {name: means(late, name, "table")[table] for name in THESIS}
        theirs = {name: means(printed(), name, "table")[table] for name in THESIS}
        near += [abs(ours[name] - theirs[name]) <= WITHIN for name in THESIS]
        beside = ", ".join(f"{name} {ours[name]:.0f}/{theirs[name]:.0f}" for name in THESIS)
        numbers.append(f"{table}, here/printed: {beside}")
    text = (
        f"Classifier by classifier, the mean over runs at epsilon {MIN_EPSILON:g} and more is "
        f"within {WITHIN:g} points of the mean of the printed runs, for two in three of all"
    )
    numbers.append(f"{sum(near)} of {len(near)}")
    return Claim(text, 3 * sum(near) >= 2 * len(near), "; ".join(numbers))


def _voted(late: Sequence[Row], tables: Sequence[str]) -> Claim:
    held, numbers = [], []
    for table in tables:
        wins = Counter(
            name
            for row in late
            if row["table"] == table
            for name in THESIS
            if row[name] >= max(row[each] for each in THESIS) - ROUNDED
        )
        second = wins.most_common(2)[-1][1]
        top = [name for name, times in wins.items() if times >= second]
        held.append(bool(set(top) & set(VOTED[table])))
        numbers.append(f"{table}: {' and '.join(top)}, the thesis {' and '.join(VOTED[table])}")
    text = "By majority voting one of the two best classifiers is one of the thesis' two"
    return Claim(text, all(held), "; ".join(numbers))
