"""Rules that (nearly) all real rows keep, and in how many synthetic rows they are broken.

An order (``start <= end``), a copy, a sum or a product of columns, or a column that follows from
another one, found by looking at the real rows. That is for their owner's eyes only: whether such a
rule is public, and may stand in a schema, is for the owner to say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Quantity
from understudy.evaluation.comparison import Comparison, Side
from understudy.evaluation.dependencies import find_dependencies
from understudy.evaluation.formulas import ColumnNumbers, find_formulas
from understudy.evaluation.grades import is_broken
from understudy.evaluation.kept import MAX_BROKEN, keeps_rule, share_broken, write_name
from understudy.evaluation.result import BrokenRule

MAX_RULE_ROWS = 50_000
"""Rows of either table that rules are looked for in; a sample where there are more."""

REMEDY = (
    "Where such a rule is public, known without looking at the rows, add it to a schema that "
    "describes all columns, and every synthetic row will keep it:"
)

_UNITS = {"integer": "number", "real": "number"}


def find_rules(tables: Comparison, seed: int = 0) -> tuple[BrokenRule, ...]:
    """The rules that real rows keep, those that are broken in most synthetic rows first."""
    rng = np.random.default_rng(seed)
    rows = [_sample_rows(side, rng) for side in tables]
    real, synthetic = (
        {
            attribute.name: side.numbers(attribute)[kept]
            for attribute in tables.schema
            if isinstance(attribute, Quantity)
        }
        for side, kept in zip(tables, rows, strict=True)
    )
    kinds = {
        attribute.name: _UNITS.get(attribute.kind, attribute.kind)
        for attribute in tables.schema
        if isinstance(attribute, Quantity)
    }
    computed = list(find_formulas(real, synthetic, kinds))
    found = [rule for _, rule in computed]
    # What a formula says of two columns, no order needs to say again.
    settled = {frozenset((name, part)) for (name, *parts), _ in computed for part in parts}
    copied = {name for (name, *parts), _ in computed if len(parts) == 1}
    groups = set(kinds.values())
    for group in sorted(groups):
        names = [name for name, kind in kinds.items() if kind == group and name not in copied]
        found += _orders(names, real, synthetic, settled)
    found += find_dependencies(tables, rows, copied)
    return tuple(sorted(found, key=lambda rule: (-rule.synthetic, rule.text)))


def _sample_rows(side: Side, rng: np.random.Generator) -> NDArray[np.intp]:
    if side.rows <= MAX_RULE_ROWS:
        return np.arange(side.rows)
    return np.sort(rng.choice(side.rows, MAX_RULE_ROWS, replace=False))


def _orders(
    names: list[str], real: ColumnNumbers, synthetic: ColumnNumbers, settled: set[frozenset[str]]
) -> Iterator[BrokenRule]:
    """Columns of which one is never above the other; not where a third one lies between them."""
    kept = {pair: share for pair in permutations(names, 2) if (share := _order(*pair, real))}
    for (low, high), (sign, broken) in kept.items():
        between = any((low, name) in kept and (name, high) in kept for name in names)
        if between or (high, low) in kept or frozenset((low, high)) in settled:
            continue
        text = f"{write_name(low)} {sign} {write_name(high)}"
        there, above = _compare(synthetic[low], synthetic[high], sign)
        yield BrokenRule(text, {"inequality": text}, broken, share_broken(there, above))


def _order(low: str, high: str, real: ColumnNumbers) -> tuple[str, float] | None:
    """Whether one column is at most the other, or below it, and in what share of rows it is not."""
    there, above = _compare(real[low], real[high], "<=")
    broken = share_broken(there, above)
    if broken > MAX_BROKEN:
        return None
    ones, others = real[low][there], np.sort(real[high][there])
    apart = float(np.searchsorted(others, ones, "left").mean() / max(len(others), 1))
    if not keeps_rule(broken, apart, int(there.sum())):
        return None
    equal = bool((ones == real[high][there]).any())
    sign = "<="
    if not equal:
        sign = "<"
    return sign, broken


def _compare(
    low: NDArray[np.float64], high: NDArray[np.float64], sign: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where both values are there, and where the first is not below the second."""
    there = ~(np.isnan(low) | np.isnan(high))
    if sign == "<":
        return there, low >= high
    return there, low > high


def broken_rules(rules: tuple[BrokenRule, ...]) -> tuple[BrokenRule, ...]:
    """Those that synthetic rows break, the worst first."""
    return tuple(rule for rule in rules if is_broken(rule))


def write_constraints(rules: tuple[BrokenRule, ...]) -> str:
    """The line for a schema that makes every synthetic row keep these rules."""
    entries = [json.dumps(dict(rule.constraint), ensure_ascii=False) for rule in rules]
    return f'"constraints": [{", ".join(entries)}]'
