"""Second moments of numbers inside DuckDB, against one SQL pass that computes them exactly.

    python benchmarks/moments.py [--rows 10000000] [--columns 20] [--folder FOLDER]

The rows are made up inside DuckDB and lie in a Parquet file. The SQL pass sums all columns and all
products of two in double precision and counts the rows; the question clips, puts numbers on their
grid, sums exactly and adds noise, once with a box and once with a ball. Both read the file, by the
same engine with the same settings, in turn; the best of the repetitions counts. Opening the curator
is timed with the question.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from understudy import Ledger, open_curator
from understudy.engines.duckdb import DuckDBEngine
from understudy.privacy.budget import Budget
from understudy.privacy.features import Number


def make_rows(path: Path, rows: int, columns: int) -> None:
    """Numbers with a bell shape, each column wider than the one before, a few of them missing."""
    numbers = [
        f"CASE WHEN random() < 0.0001 THEN NULL ELSE (random() + random() + random() - 1.5) * "
        f"{place + 1} END AS x{place}"
        for place in range(columns)
    ]
    with duckdb.connect(config={"memory_limit": "1GB"}) as connection:
        connection.execute(
            f"COPY (SELECT {', '.join(numbers)} FROM range({rows})) TO '{path}' (FORMAT parquet)"
        )


def sum_by_sql(path: Path, columns: int) -> np.ndarray:
    """All sums and products in one pass; rows that lack a number are left out."""
    names = [f"x{place}" for place in range(columns)]
    products = [f"sum({a} * {b})" for i, a in enumerate(names) for b in names[i:]]
    sums = [f"sum({name})" for name in names]
    complete = " AND ".join(f"{name} IS NOT NULL" for name in names)
    engine = DuckDBEngine(f"read_parquet('{path}')", "The file", files=[path])
    try:
        found = engine._connection.execute(
            f"SELECT count(*), {', '.join([*sums, *products])} FROM {engine.relation} "
            f"WHERE {complete}"
        ).fetchone()
    finally:
        engine.close()
    return np.array(found)


def ask(path: Path, columns: int, ball: float | None) -> Any:
    """The same by a curator, for an epsilon of 1."""
    bounds = {f"x{place}": (-1.5 * (place + 1), 1.5 * (place + 1)) for place in range(columns)}
    shares: Any = {"counts": 1.0, "sums": 1.0, "moments": 8.0}
    with open_curator(path, bounds, Ledger(1.0), engine="duckdb") as curator:
        features = [Number(name) for name in bounds]
        return curator.sum(features, Budget(1.0), moments="products", ball=ball, shares=shares)


def timed(work: Callable[[], Any], times: list[tuple[float, float]]) -> Any:
    """Note the seconds on the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    found = work()
    times.append((time.perf_counter() - clock, time.process_time() - processor))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the file is made; removed at the end")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "rows.parquet"
        make_rows(path, given.rows, given.columns)
        print(f"{given.rows:,} rows, {given.columns} columns, {path.stat().st_size >> 20:,} MB")
        times: dict[str, list[tuple[float, float]]] = {"one SQL pass": [], "box": [], "ball": []}
        for _ in range(given.repetitions):
            exact = timed(lambda: sum_by_sql(path, given.columns), times["one SQL pass"])
            boxed = timed(lambda: ask(path, given.columns, None), times["box"])
            timed(lambda: ask(path, given.columns, 2.0), times["ball"])
    upper = np.triu_indices(given.columns)
    off = np.abs(boxed.moments.values[upper] - exact[1 + given.columns :])
    print(
        f"largest error of a moment: {(off / boxed.moments.deviation[upper]).max():.1f} of the "
        "deviation that the answer states"
    )
    base = tuple(min(column) for column in zip(*times["one SQL pass"], strict=True))
    for name, taken in times.items():
        best = tuple(min(column) for column in zip(*taken, strict=True))
        print(
            f"{name:14} {best[0]:7.2f} s  {best[1]:7.2f} s of the processor  "
            f"{best[0] / base[0]:.2f} x, {best[1] / base[1]:.2f} x"
        )


if __name__ == "__main__":
    main()
