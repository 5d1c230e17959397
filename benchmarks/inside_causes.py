"""Where the error inside bins comes from: noisy parts exchanged for exact ones.

    python benchmarks/inside_causes.py --data ../shared/data [--repeats 3]

*Demo*: boosted trees tell real rows from synthetic ones by exact numbers, as in
``first_command.py``. What would they tell if the values inside the bins of ``affairs`` were drawn
from the real ones: all of them, the commonest alone, or cells as exact as a histogram can be?

*Adult*: what boosted trees lose when real rows are coded by a discovered and refined schema and
drawn again, so that only bins and their insides are wrong: all columns, and one by one.

Nothing here is private: real values are put into synthetic rows.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from first_command import ADULT_BOUNDS, Bench, accuracy, demo_tables, distinguish, read_cells
from understudy import Independent
from understudy.data.demo import demo_schema
from understudy.data.encoding import decode, encode
from understudy.data.reading import read_table
from understudy.data.schema import Quantity
from understudy.data.tables import write_table

EPSILON, DELTA = 1.0, 1e-9
CELLS = 200
"""Of a histogram without noise, growing with the distance from zero."""

Values = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the tables")
    parser.add_argument("--repeats", type=int, default=3, help="runs that figures are means of")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.data.resolve(), Path(folder), arguments.repeats)
        explain_demo(bench)
        explain_adult(bench)


def show(what: str, figures: list[float]) -> None:
    """Print the mean of some figures, and their range."""
    low, high = min(figures), max(figures)
    print(f"  {what:<50} {statistics.mean(figures):7.3f} ({low:.3f} to {high:.3f})", flush=True)


# ---- demo


def explain_demo(bench: Bench) -> None:
    """The area under the curve with parts of the inside made exact."""
    print("demo, pure: area under the curve")
    table, schema = demo_tables(bench)
    real = read_cells(table)
    made = list(bench.runs(table, "--schema", str(schema), pure=True))
    affairs = demo_schema()["affairs"]
    assert isinstance(affairs, Quantity)
    edges = np.array(affairs.edges)
    rng = np.random.default_rng(1)
    ways: dict[str, Callable[[Values, Values], Values]] = {
        "as it is": lambda _, own: own,
        f"{CELLS} exact cells": lambda exact, _: spread_in_cells(exact, rng),
        "all values exact, whatever the other columns": lambda exact, _: exact,
    }
    for most in (5, 10, 20):
        ways[f"the {most} commonest values exact"] = keep_commonest(real["affairs"], most)
    for what, change in ways.items():
        areas = []
        for rows in made:
            own = pd.to_numeric(rows["affairs"]).to_numpy()
            values = change(draw_real(real["affairs"], own, edges, rng), own)
            changed = rows.assign(affairs=[str(value) for value in values.tolist()])
            areas.append(distinguish(real, changed)[1])
        show(what, areas)
    without = [distinguish(real.drop(columns="affairs"), r.drop(columns="affairs")) for r in made]
    show("without the column", [area for _, area in without])


def draw_real(cells: pd.Series, own: Values, edges: Values, rng: np.random.Generator) -> Values:
    """For each number a real one of the same bin, at random."""
    values = pd.to_numeric(cells).to_numpy()
    bins = np.searchsorted(edges[1:-1], values, side="right")
    drawn = own.copy()
    for place in range(len(edges) - 1):
        rows = np.searchsorted(edges[1:-1], own, side="right") == place
        inside = values[bins == place]
        if len(inside):
            drawn[rows] = rng.choice(inside, int(rows.sum()))
    return drawn


def spread_in_cells(values: Values, rng: np.random.Generator) -> Values:
    """The numbers somewhere in their cells; zeros stay."""
    edges = np.concatenate([[0.0], np.geomspace(0.02, 1.01 * values.max(), CELLS)])
    cells = np.searchsorted(edges, values, side="right") - 1
    spread = edges[cells] + np.diff(edges)[cells] * rng.random(len(values))
    return np.where(values == 0, 0.0, np.round(spread, 5))


def keep_commonest(cells: pd.Series, most: int) -> Callable[[Values, Values], Values]:
    """A change that takes real values where they are among the commonest beside zero, and leaves
    the rest.
    """
    counts = pd.to_numeric(cells).value_counts()
    common = [value for value in counts.index if value != 0][:most]
    return lambda exact, own: np.where(np.isin(exact, common), exact, own)


# ---- Adult


def explain_adult(bench: Bench) -> None:
    """Points lost by bins and their insides alone."""
    print("adult, no schema: points of accuracy that coded real rows lose")
    whole = read_cells(bench.data / "adult.csv")
    test = whole.sample(frac=0.2, random_state=1)
    train = whole.drop(test.index).reset_index(drop=True)
    path = bench.folder / "train.csv"
    train.to_csv(path, index=False)
    of_real = accuracy(train, test)
    lost: dict[str, list[float]] = {}
    for run in range(bench.repeats):
        coded_rows = code_and_draw(path, bench.folder / "coded.csv", run)
        for name in ("all columns", *train.columns):
            changed = coded_rows
            if name != "all columns":
                changed = train.assign(**{name: coded_rows[name]})
            points = 100 * (of_real - accuracy(changed, test))
            lost.setdefault(name, []).append(points)
    for name, losses in lost.items():
        if name == "all columns" or name in ADULT_BOUNDS:
            show(name, losses)


def code_and_draw(path: Path, output: Path, seed: int) -> pd.DataFrame:
    """Real rows as codes of a schema that was discovered and refined, and drawn from it."""
    method = Independent(epsilon=EPSILON, delta=DELTA)
    schema = method.fit(str(path), notify=lambda _: None).schema
    table = read_table(str(path))
    coded = encode(table, schema)
    codes = {attribute.name: coded.codes[attribute.name] for attribute in schema.modelled}
    rng = np.random.default_rng(seed)
    write_table(str(output), iter([decode(codes, schema, rng, table.rows, even=True)]))
    return read_cells(output)


if __name__ == "__main__":
    main()
