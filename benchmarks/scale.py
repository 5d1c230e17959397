"""Scale: the same PrivBayes over more and more rows, in memory and from files that DuckDB counts.

    python benchmarks/scale.py --data ../shared/data --folder DIR [--rows 1e7 1e8] [--only engine memory rows columns]

Rows are drawn from a model of Adult into Parquet files in the folder (kept there, and used again: 10^8 rows take some
1.1 GB). Every run is a process of its own, so that its peak of memory is its own. CPU seconds (of all threads) stand
beside wall seconds, since other work on the machine inflates the latter.

- engine: PrivBayes at epsilon 1 over DuckDB, against one GROUP BY pass over three columns of the same files
- memory: the same in memory, reading included
- rows, columns: cost against the number of rows (10^4 up to the largest of --rows, over DuckDB) and of columns (10 to
  200, in memory, 10^5 rows), with fitted exponents, as one picture (--picture)
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

SECTIONS = ("engine", "memory", "rows", "columns")
ROWS_A_FILE = 10_000_000
COLUMNS = (10, 20, 50, 100, 200)
MINUTES, GIGABYTES, MEMORY_SECONDS = 15.0, 8.0, 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="where adult.csv lies")
    parser.add_argument("--folder", type=Path, required=True, help="where the rows are kept")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e7], help="numbers of rows for engine")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="parts to run, by default all")
    parser.add_argument("--picture", type=Path, help="where to draw the picture (SVG)")
    parser.add_argument("--job", help=argparse.SUPPRESS)  # what a process of its own does
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.job is not None:
        job = json.loads(arguments.job)
        print(json.dumps(measured(JOBS[job.pop("name")], arguments.folder, **job)))
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    largest = int(max(arguments.rows))
    make_rows(arguments.data, arguments.folder, largest)
    curves: dict[str, list[tuple[float, float]]] = {}
    if "engine" in arguments.only:
        for rows in map(int, arguments.rows):
            show_engine(arguments, rows)
    if "memory" in arguments.only:
        done = run(arguments, name="memory", rows=ROWS_A_FILE)
        line(f"in memory, {ROWS_A_FILE:.0e} rows", done, f"under {MEMORY_SECONDS:.0f} s", done["wall"] < MEMORY_SECONDS)
    if "rows" in arguments.only:
        steps = [10**k for k in range(4, 12) if 10**k <= largest]
        curves["rows"] = show_curve(arguments, "engine", "rows", steps)
    if "columns" in arguments.only:
        curves["columns"] = show_curve(arguments, "columns", "columns", COLUMNS)
    if arguments.picture is not None and curves:
        draw(curves, arguments.picture)


def show_engine(arguments: argparse.Namespace, rows: int) -> None:
    """One size over DuckDB, against a pass over three columns."""
    once = run(arguments, name="group_by", rows=rows)
    line(f"GROUP BY over three columns, {rows:.0e} rows", once)
    done = run(arguments, name="engine", rows=rows)
    reached = done["wall"] < 60 * MINUTES and done["peak"] < GIGABYTES if rows >= 10**8 else None
    line(f"PrivBayes over DuckDB, {rows:.0e} rows", done, f"< {MINUTES:.0f} min, < {GIGABYTES:.0f} GB", reached)
    print(f"  as much as {done['cpu'] / once['cpu']:.0f} such passes (CPU), {done['wall'] / once['wall']:.0f} (wall)")


def show_curve(arguments: argparse.Namespace, job: str, axis: str, steps: Sequence[int]) -> list[tuple[float, float]]:
    """Cost against one size, and the exponent of the power that fits the upper half best."""
    points = []
    for step in steps:
        done = run(arguments, name=job, **{axis: step})
        line(f"{step:,} {axis}", done)
        points.append((float(step), float(done["cpu"])))
    print(f"  cost grows as {axis} to the power of {exponent(points):.2f}")
    return points


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of cost against size, both in logarithms, over the upper half of the sizes."""
    upper = np.log(np.array(points[len(points) // 2 - 1 :] if len(points) > 3 else points))
    return float(np.polyfit(upper[:, 0], upper[:, 1], 1)[0]) if len(upper) > 1 else float("nan")


def line(what: str, done: dict[str, Any], target: str = "", reached: bool | None = None) -> None:
    """One figure, its target and whether it was reached."""
    verdict = {True: "reached", False: "MISSED", None: ""}[reached]
    times = f"{done['wall']:8.1f} s wall {done['cpu']:8.1f} s CPU {done['peak']:6.2f} GB"
    print(f"  {what:<46} {times}  {done.get('note', '')} {target} {verdict}".rstrip(), flush=True)


# ---- the rows


def make_rows(data: Path, folder: Path, rows: int) -> None:
    """Files of 10^7 rows each, drawn from a model of Adult, as many as are needed."""
    from understudy import Model, PrivBayes
    from understudy.evaluation.published import published

    schema = folder / "adult.json"
    if not schema.exists():
        table, public = published("adult", data)
        PrivBayes(epsilon=20.0).fit(table, public, notify=lambda _: None).save(folder / "model.json")
        public.save(schema)
    model = None
    for part in range(-(-rows // ROWS_A_FILE)):
        path = folder / f"part-{part}.parquet"
        if not path.exists():
            model = model or Model.load(folder / "model.json")
            started = time.perf_counter()
            model.write(path, ROWS_A_FILE, seed=part)
            print(f"  {path.name}: {time.perf_counter() - started:.0f} s", flush=True)


def files_of(folder: Path, rows: int) -> str:
    """A relation of so many rows: whole files, or the beginning of the first."""
    from understudy.tables import parquet_relation

    parts = [folder / f"part-{part}.parquet" for part in range(-(-rows // ROWS_A_FILE))]
    relation = parquet_relation(parts)
    return relation if rows % ROWS_A_FILE == 0 else f"(SELECT * FROM {relation} LIMIT {rows}) AS some"


# ---- jobs, each in a process of its own


def run(arguments: argparse.Namespace, **job: Any) -> dict[str, Any]:
    command = [sys.executable, __file__, "--folder", str(arguments.folder), "--job", json.dumps(job)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measured(job: Any, folder: Path, **parameters: int) -> dict[str, Any]:
    prepared = job(folder, **parameters)  # imports and what is not to be measured
    wall, cpu = time.perf_counter(), time.process_time()
    note = prepared()
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "note": note,
    }


def engine_job(folder: Path, rows: int) -> Any:
    """PrivBayes over DuckDB."""
    from understudy import PrivBayes, Schema
    from understudy.counting.cuboids import CuboidCounter
    from understudy.curator.central import CentralCurator
    from understudy.curator.ledger import Ledger
    from understudy.engines.duckdb import DuckDBEngine
    from understudy.engines.rows import EngineTable
    from understudy.synthesizers import no_progress

    schema = Schema.load(folder / "adult.json")

    def work() -> str:
        engine = DuckDBEngine(files_of(folder, rows), "The rows")
        try:
            started = time.perf_counter()
            coded = EngineTable(engine).coded(schema)
            coding = time.perf_counter() - started
            ledger = Ledger(1.0)
            PrivBayes(epsilon=1.0).learn(CentralCurator(CuboidCounter(coded), ledger), ledger.left, no_progress)
            return f"({coding:.0f} s of it coding; {coded.distinct:,} distinct rows)"
        finally:
            engine.close()

    return work


def group_by_job(folder: Path, rows: int) -> Any:
    """One pass over three columns of the files."""
    import duckdb

    relation = files_of(folder, rows)

    def work() -> str:
        query = f"SELECT age, education, sex, count(*) FROM {relation} GROUP BY ALL"
        return f"({len(duckdb.connect().execute(query).fetchall()):,} groups)"

    return work


def memory_job(folder: Path, rows: int) -> Any:
    """PrivBayes in memory, reading included."""
    from understudy import PrivBayes, read_table

    def work() -> str:
        started = time.perf_counter()
        table = read_table(folder / "part-0.parquet")
        reading = time.perf_counter() - started
        PrivBayes(epsilon=1.0).fit(table, folder / "adult.json", notify=lambda _: None)
        return f"({reading:.0f} s of it reading)"

    return work


def columns_job(folder: Path, columns: int) -> Any:
    """PrivBayes in memory over many columns of four values, each leaning on one before it."""
    from understudy import PrivBayes, Schema, Table
    from understudy.tables import Column

    rng = np.random.default_rng(0)
    values = [rng.integers(0, 4, 100_000)]
    for _ in range(columns - 1):
        before = values[rng.integers(len(values))]
        values.append(np.where(rng.random(len(before)) < 0.5, before, rng.integers(0, 4, len(before))))
    table = Table({f"x{i}": Column("integer", column) for i, column in enumerate(values)})
    attribute = {"kind": "categorical", "values": [0, 1, 2, 3]}
    schema = Schema.from_dict({"attributes": dict.fromkeys(table.names, attribute)})
    PrivBayes(epsilon=1.0, degree=1).fit(Table({n: table.columns[n] for n in table.names[:2]}),
                                         Schema(schema.attributes[:2]))  # fmt: skip  # compiles what is compiled

    def work() -> str:
        PrivBayes(epsilon=1.0).fit(table, schema)
        return ""

    return work


JOBS = {"engine": engine_job, "group_by": group_by_job, "memory": memory_job, "columns": columns_job}


# ---- the picture


def draw(curves: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """CPU seconds against rows and against columns, both axes logarithmic."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "understudy"
    figure, axes = pyplot.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.2), squeeze=False)
    for axis, (name, points) in zip(axes[0], curves.items(), strict=True):
        sizes, costs = zip(*points, strict=True)
        axis.loglog(sizes, costs, marker="o", color="#2a6f97")
        axis.set_xlabel(f"{name} (grows as {name}$^{{{exponent(points):.2f}}}$)")
        axis.set_ylabel("CPU seconds")
        axis.grid(visible=True, alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
