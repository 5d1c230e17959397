"""Columns that are computed from others in (nearly) all real rows: copies, sums, products, and the
days between two dates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.kept import MAX_BROKEN, keeps_rule, share_broken, write_name
from understudy.evaluation.result import BrokenRule

MAX_PARTS = 4
"""Columns that a sum has, at most."""

MAX_FORMULAS = 20_000
"""Sums, or products, of one number of parts that are tried; with more columns, none is."""

FIRST_ROWS = 200
"""Rows that most formulas fail in, before all are looked at."""

MAX_TELLING_BROKEN = 0.05
"""Of the rows in which two parts or more are not zero, as many may break a formula: sums and
products of columns that are zero are right wherever all of them are.
"""

MAX_ROUNDED_PLACES = 6
"""Places after the point that a rounded result is looked at to."""

Floats = NDArray[np.float64]
ColumnNumbers = Mapping[str, Floats]
ComputedColumn = tuple[tuple[str, ...], BrokenRule]
"""The computed column and its parts, and the rule."""


def find_formulas(
    real: ColumnNumbers, synthetic: ColumnNumbers, kinds: Mapping[str, str]
) -> Iterator[ComputedColumn]:
    """Each column that follows from others, by the shortest formula that gives it."""
    settled: set[str] = set()
    first = {name: values[:FIRST_ROWS] for name, values in real.items()}
    units = {name: _unit(values) for name, values in real.items()}
    for sign, parts, results in _candidates(kinds):
        values = _compute(sign, [first[part] for part in parts])
        there, off = _off(
            values[:, None],
            np.stack([first[name] for name in results], axis=1),
            np.array([units[name] for name in results]),
        )
        likely = (there & off).sum(axis=0) <= MAX_TELLING_BROKEN * there.sum(axis=0)
        for name in itertools.compress(results, likely):
            if name in parts or name in settled or settled.intersection(parts):
                continue
            found = _formula(name, sign, parts, real, synthetic)
            if found is not None:
                settled.add(name)
                yield (name, *parts), found


def _candidates(
    kinds: Mapping[str, str],
) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
    """Signs and parts, the fewest first, and the columns that could be what they give."""
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    dates = [name for name, kind in kinds.items() if kind == "date"]
    for place, name in enumerate(kinds):
        later = [other for other in list(kinds)[place + 1 :] if kinds[other] == kinds[name]]
        if later:
            yield "", (name,), later
    for late, early in itertools.permutations(dates, 2):
        if numbers:
            yield "-", (late, early), numbers
    for parts in range(2, MAX_PARTS + 1):
        if math.comb(len(numbers), parts) > MAX_FORMULAS:
            return
        signs = ("+", "*") if parts == 2 else ("+",)
        for sign in signs:
            for chosen in itertools.combinations(numbers, parts):
                yield sign, chosen, numbers


def _compute(sign: str, parts: list[Floats]) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        if sign == "*":
            return parts[0] * parts[1]
        if sign == "-":
            return parts[0] - parts[1]
        return np.sum(parts, axis=0)


def _formula(
    name: str, sign: str, parts: tuple[str, ...], real: ColumnNumbers, synthetic: ColumnNumbers
) -> BrokenRule | None:
    unit = _unit(real[name])
    values = _compute(sign, [real[part] for part in parts])
    there, off = _off(values, real[name], unit)
    telling = there & (sum((real[part] != 0).astype(int) for part in parts) >= min(len(parts), 2))
    if share_broken(telling, off) > MAX_TELLING_BROKEN:
        return None
    broken = share_broken(there, off)
    shuffled = np.random.default_rng(0).permutation(values[there])
    apart = share_broken(there[there], _off(shuffled, real[name][there], unit)[1])
    if broken > MAX_BROKEN or not keeps_rule(broken, apart, int(there.sum())):
        return None
    text = f"{write_name(name)} = {f' {sign} '.join(map(write_name, parts))}"
    made = _off(_compute(sign, [synthetic[part] for part in parts]), synthetic[name], unit)
    return BrokenRule(text, {"formula": text}, broken, share_broken(*made))


def _off(
    values: Floats, result: Floats, unit: float | Floats
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where all values are there, and where the result is not what the formula gives, rounded."""
    there = ~(np.isnan(values) | np.isnan(result))
    with np.errstate(invalid="ignore"):
        return there, ~(np.abs(values - result) <= 0.501 * unit + 1e-9 * np.abs(result))


def _unit(values: Floats) -> float:
    """The last place that numbers are written with: 1, 0.1, 0.01 ..., 0 where there is none."""
    held = values[~np.isnan(values)]
    for places in range(MAX_ROUNDED_PLACES + 1):
        rounded = np.round(held, places)
        if (np.abs(held - rounded) <= 1e-9 * np.abs(held)).mean() >= 1 - MAX_BROKEN:
            return 10.0**-places
    return 0.0
