"""How often the stated 95 % intervals of `query` hold the truth, by group of questions.

    python benchmarks/query_coverage.py --data ../shared/data [--tables adult br2000 nltcs acs]
    [--questions 1000] [--fits 1]

Random counts with one to three conditions, on numbers, categories or both, asked of models that
`Adaptive` made with real noise at delta 1e-9. Half of all numbers and values in conditions are
those of a random row, half are drawn from the domain. The share of intervals that hold the count in
the table should be 92 to 98 % in every group; widths are stated beside those of noise alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import understudy
from understudy import Adaptive, Model, Schema, Table
from understudy.data.schema import Attribute, Quantity
from understudy.models.measurements import Measurements
from understudy.models.query.answers import QueryAnswer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "studies"))
from published import published

DELTA = 1e-9
EPSILONS = (0.5, 2.0)
TABLES = ("adult", "br2000", "nltcs", "acs")
TARGET = (0.92, 0.98)
MAX_WIDTH = 3.0
KINDS = ("numeric", "categorical", "mixed")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A count, and what it is in the table."""

    conditions: int
    kind: str
    text: str
    truth: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Whether an interval held the truth, and how wide it and that of noise alone are."""

    group: tuple[int, str]
    held: bool
    width: float
    noise_width: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES[:3])
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--fits", type=int, default=1, help="releases that share the questions")
    arguments = parser.parse_args()
    print(f"Understudy {understudy.__version__}; {os.cpu_count()} cores")
    for table in arguments.tables:
        real, schema = published(table, arguments.data)
        asked = list(questions(real, schema, arguments.questions, seed=1))
        for epsilon in arguments.epsilons:
            started = time.process_time()
            outcomes: list[Outcome] = []
            for fit in range(arguments.fits):
                model = Adaptive(epsilon=epsilon, delta=DELTA).fit(real, schema)
                bare = replace(model, measurements=Measurements())
                outcomes += [outcome(model, bare, one) for one in asked[fit :: arguments.fits]]
            seconds = time.process_time() - started
            print(f"\n{table}, epsilon {epsilon:g}: {len(outcomes)} questions, {seconds:.0f} CPU s")
            print_groups(outcomes)


def questions(real: Table, schema: Schema, count: int, seed: int) -> Iterator[Question]:
    """Random questions, as many of each group."""
    rng = np.random.default_rng(seed)
    columns = {attribute.name: _values(real, attribute.name) for attribute in schema}
    numeric = [attribute for attribute in schema if isinstance(attribute, Quantity)]
    categorical = [attribute for attribute in schema if not isinstance(attribute, Quantity)]
    groups = [
        (size, kind)
        for size in (1, 2, 3)
        for kind in KINDS
        if (kind == "numeric" and len(numeric) >= size)
        or (kind == "categorical" and len(categorical) >= size)
        or (kind == "mixed" and size > 1 and numeric and categorical)
    ]
    for place in range(count):
        size, kind = groups[place % len(groups)]
        chosen = _choose(rng, size, kind, numeric, categorical)
        parts, fits = [], np.ones(real.rows, dtype=np.bool_)
        for attribute in chosen:
            text, mask = _condition(rng, attribute, columns[attribute.name])
            parts.append(text)
            fits &= mask
        yield Question(
            conditions=size,
            kind=kind,
            text="count where " + " and ".join(parts),
            truth=int(fits.sum()),
        )


def _choose(
    rng: np.random.Generator,
    size: int,
    kind: str,
    numeric: list[Quantity],
    categorical: list[Attribute],
) -> list[Attribute]:
    """Attributes of a kind; of both kinds where it is mixed."""
    if kind != "mixed":
        pool: list[Any] = [*numeric] if kind == "numeric" else [*categorical]
        return [pool[i] for i in rng.choice(len(pool), size, replace=False)]
    first: list[Any] = [numeric[rng.integers(len(numeric))]]
    first.append(categorical[rng.integers(len(categorical))])
    rest: list[Any] = [one for one in (*numeric, *categorical) if one not in first]
    return [*first, *(rest[i] for i in rng.choice(len(rest), size - 2, replace=False))]


def _condition(
    rng: np.random.Generator, attribute: Attribute, values: NDArray[Any]
) -> tuple[str, NDArray[np.bool_]]:
    """A condition in words, and the rows that fulfil it."""
    name = attribute.name
    if isinstance(attribute, Quantity):
        low, high = sorted(_number(rng, attribute, values) for _ in range(2))
        form = rng.integers(3)
        if form == 0:
            return f"{name} >= {low}", values >= low
        if form == 1:
            return f"{name} < {high}", values < high
        return f"{name} between {low} and {high}", (values >= low) & (values <= high)
    domain: list[Any] = list(attribute.domain)  # type: ignore[attr-defined]
    if len(domain) < 3 or rng.random() < 0.5:
        value = domain[rng.integers(len(domain))]
        if rng.random() < 0.5:
            value = values[rng.integers(len(values))]
        return f"{name} = {_literal(value)}", values == value
    count = int(rng.integers(2, max(3, len(domain) // 2 + 1)))
    listed = [domain[i] for i in sorted(rng.choice(len(domain), count, replace=False))]
    fits = np.isin(values, np.array(listed, dtype=values.dtype))
    return f"{name} in ({', '.join(map(_literal, listed))})", fits


def _number(rng: np.random.Generator, attribute: Quantity, values: NDArray[Any]) -> int:
    if rng.random() < 0.5:
        return int(rng.choice(values))
    return int(rng.integers(int(attribute.edges[0]), int(attribute.edges[-1])))


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value))


def _values(table: Table, name: str) -> NDArray[Any]:
    column = table.columns[name]
    if column.words:
        return np.array(column.words)[column.values]
    return np.asarray(column.values)


def outcome(model: Model, bare: Model, question: Question) -> Outcome:
    """Ask a model, and the same model without what it knows of its errors."""
    found, noise_alone = model.query(question.text), bare.query(question.text)
    assert isinstance(found, QueryAnswer)
    assert isinstance(noise_alone, QueryAnswer)
    return Outcome(
        group=(question.conditions, question.kind),
        held=found.low <= question.truth <= found.high,
        width=2 * 1.96 * found.error,
        noise_width=2 * 1.96 * noise_alone.noise,
    )


def print_groups(outcomes: list[Outcome]) -> None:
    """A line for each group, and one for all."""
    groups = sorted({one.group for one in outcomes}, key=lambda g: (g[0], KINDS.index(g[1])))
    for size, kind in groups:
        inside = [one for one in outcomes if one.group == (size, kind)]
        _print_line(f"{size} {kind}", inside)
    _print_line("all", outcomes)


def _print_line(name: str, outcomes: list[Outcome]) -> None:
    share = float(np.mean([one.held for one in outcomes]))
    width = float(np.median([one.width for one in outcomes]))
    noise = float(np.median([one.noise_width for one in outcomes]))
    times = width / max(noise, 1e-9)
    verdict = "" if TARGET[0] <= share <= TARGET[1] and times <= MAX_WIDTH else "  missed"
    print(
        f"  {name:<14} {len(outcomes):>5} questions  held {100 * share:5.1f} %  median width "
        f"{width:7.0f} against {noise:7.0f} of noise alone ({times:.1f} times){verdict}"
    )


if __name__ == "__main__":
    main()
