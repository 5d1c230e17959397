"""Scale: the same PrivBayes over more and more rows, in memory and from files that DuckDB counts,
and drawing them.

    python benchmarks/scale.py --folder DIR [--rows 1e7 1e8] [--only engine memory sampling rows
    columns]

Rows are drawn from a model of Adult into Parquet files in the folder (kept there, and used again:
10^8 rows take some 1.1 GB). Every run is a process of its own, so that its peak of memory is its
own. CPU seconds (of all threads) stand beside wall seconds, since other work on the machine
inflates the latter.

- engine: PrivBayes at epsilon 1 over DuckDB, against one GROUP BY pass over three columns of the
  same files
- memory: the same in memory, reading included
- sampling: rows drawn from the model into a folder of Parquet files (removed afterwards), a tenth
  of them and all
- rows, columns: cost against the number of rows (10^4 up to the largest of --rows, over DuckDB) and
  of columns (10 to 200, in memory, 10^5 rows), with fitted exponents. What was measured stays in
  the folder (curves.json); --picture draws what is there
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

SECTIONS = ("engine", "memory", "sampling", "rows", "columns")
ROWS_A_FILE = 10_000_000
COLUMNS = (10, 20, 50, 100, 200)
COLUMN_ROWS = 100_000
MINUTES, GIGABYTES, MEMORY_SECONDS, SAMPLED_A_SECOND = 15.0, 8.0, 60.0, 1e6
FLAT = 1.1  # the peak of memory may grow by so much when rows are ten times as many


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="where adult.csv lies"
    )
    parser.add_argument("--folder", type=Path, required=True, help="where the rows are kept")
    parser.add_argument(
        "--rows", type=float, nargs="+", default=[1e7], help="numbers of rows for engine"
    )
    parser.add_argument(
        "--only", nargs="*", choices=SECTIONS, default=SECTIONS, help="parts to run, by default all"
    )
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
    if "engine" in arguments.only:
        show_flat([show_engine(arguments, rows) for rows in map(int, arguments.rows)])
    if "memory" in arguments.only:
        done = run(arguments, name="memory", rows=ROWS_A_FILE)
        line(
            f"in memory, {ROWS_A_FILE:.0e} rows",
            done,
            f"under {MEMORY_SECONDS:.0f} s",
            done["wall"] < MEMORY_SECONDS,
        )
    if "sampling" in arguments.only:
        show_flat([show_sampling(arguments, rows) for rows in (largest // 10, largest)])
    if "rows" in arguments.only:
        show_curve(arguments, "engine", "rows", [10**k for k in range(4, 12) if 10**k <= largest])
    if "columns" in arguments.only:
        show_curve(arguments, "columns", "columns", COLUMNS)
    if arguments.picture is not None:  # of rows and columns, measured now or before
        draw(known_curves(arguments.folder), arguments.picture)


def show_engine(arguments: argparse.Namespace, rows: int) -> dict[str, Any]:
    """One size over DuckDB, against a pass over three columns."""
    once = run(arguments, name="group_by", rows=rows)
    line(f"GROUP BY over three columns, {rows:.0e} rows", once)
    done = run(arguments, name="engine", rows=rows)
    reached = done["wall"] < 60 * MINUTES and done["peak"] < GIGABYTES if rows >= 10**8 else None
    line(
        f"PrivBayes over DuckDB, {rows:.0e} rows",
        done,
        f"< {MINUTES:.0f} min, < {GIGABYTES:.0f} GB",
        reached,
    )
    print(
        f"  as much as {done['cpu'] / once['cpu']:.0f} such passes (CPU), "
        f"{done['wall'] / once['wall']:.0f} (wall)"
    )
    return done


def show_sampling(arguments: argparse.Namespace, rows: int) -> dict[str, Any]:
    """Rows drawn into a folder of Parquet files."""
    done = run(arguments, name="sampling", rows=rows)
    speed = rows / done["wall"]
    done["note"] = (
        f"({speed / 1e6:.2f} million rows a second, {rows / done['cpu'] / 1e6:.2f} a CPU second)"
    )
    line(
        f"sampling {rows:.0e} rows",
        done,
        f"> {SAMPLED_A_SECOND / 1e6:.0f} million",
        speed > SAMPLED_A_SECOND,
    )
    return done


def show_flat(runs: Sequence[dict[str, Any]]) -> None:
    """Whether the last run, over most rows, took no more memory than the one before it."""
    if len(runs) > 1:
        growth = runs[-1]["peak"] / runs[-2]["peak"]
        print(
            f"  memory times {growth:.2f}, target {FLAT} "
            f"{'reached' if growth <= FLAT else 'MISSED'}",
            flush=True,
        )


def show_curve(arguments: argparse.Namespace, job: str, axis: str, steps: Sequence[int]) -> None:
    """Cost against one size, and the exponent of the power that fits the upper half best."""
    points = []
    for step in steps:
        done = run(arguments, name=job, **{axis: step})
        line(f"{step:,} {axis}", done)
        points.append({"size": step, **done})
        curves = {**known_curves(arguments.folder), axis: points}
        (arguments.folder / "curves.json").write_text(json.dumps(curves, indent=1))
    print(f"  cost grows as {axis} to the power of {fitted(points)[0]:.2f}")


def known_curves(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """What was measured so far, by what it was measured against."""
    path = folder / "curves.json"
    curves: dict[str, list[dict[str, Any]]] = json.loads(path.read_text()) if path.exists() else {}
    return curves


def fitted(points: Sequence[dict[str, Any]]) -> tuple[float, list[tuple[float, float]]]:
    """The slope of CPU seconds against size, both in logarithms, over the upper half of the sizes;
    and that line.
    """
    upper = points[len(points) // 2 :] if len(points) > 3 else points
    sizes = np.array([point["size"] for point in upper], dtype=float)
    slope, height = np.polyfit(np.log(sizes), np.log([point["cpu"] for point in upper]), 1)
    return float(slope), [(size, float(np.exp(height) * size**slope)) for size in sizes.tolist()]


def line(what: str, done: dict[str, Any], target: str = "", reached: bool | None = None) -> None:
    """One figure, its target and whether it was reached."""
    verdict = {True: "reached", False: "MISSED", None: ""}[reached]
    times = f"{done['wall']:8.1f} s wall {done['cpu']:8.1f} s CPU {done['peak']:6.2f} GB"
    print(f"  {what:<46} {times}  {done.get('note', '')} {target} {verdict}".rstrip(), flush=True)


# ---- the rows


def make_rows(data: Path, folder: Path, rows: int) -> None:
    """Files of 10^7 rows each, drawn from a model of Adult, as many as are needed."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "studies"))
    from published import published
    from understudy import Model, PrivBayes

    schema = folder / "adult.json"
    if not schema.exists():
        table, public = published("adult", data)
        PrivBayes(epsilon=20.0).fit(table, public, notify=lambda _: None).save(
            folder / "model.json"
        )
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
    """A relation of this many rows: whole files, or the beginning of the first."""
    from understudy.data.tables import parquet_relation

    parts = [folder / f"part-{part}.parquet" for part in range(-(-rows // ROWS_A_FILE))]
    relation = parquet_relation(parts)
    return (
        relation
        if rows % ROWS_A_FILE == 0
        else f"(SELECT * FROM {relation} LIMIT {rows}) AS beginning"
    )


# ---- jobs, each in a process of its own


def run(arguments: argparse.Namespace, **job: Any) -> dict[str, Any]:
    command = [
        sys.executable,
        __file__,
        "--folder",
        str(arguments.folder),
        "--job",
        json.dumps(job),
    ]
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
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "note": note,
    }


def engine_job(folder: Path, rows: int) -> Any:
    """PrivBayes over DuckDB."""
    from understudy import PrivBayes, Schema
    from understudy.counting.cuboids import CuboidCounter
    from understudy.engines.duckdb import DuckDBEngine
    from understudy.engines.rows import EngineTable
    from understudy.privacy.central import CentralCurator
    from understudy.privacy.ledger import Ledger
    from understudy.release.callbacks import no_progress

    schema = Schema.load(folder / "adult.json")

    def work() -> str:
        engine = DuckDBEngine(files_of(folder, rows), "The rows")
        try:
            started = time.perf_counter()
            coded = EngineTable(engine).encode(schema)
            coding = time.perf_counter() - started
            ledger = Ledger(1.0)
            PrivBayes(epsilon=1.0).learn(
                CentralCurator(CuboidCounter(coded), ledger), ledger.left, no_progress
            )
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


def sampling_job(folder: Path, rows: int) -> Any:
    """Rows drawn from the model into a folder of Parquet files, which is removed."""
    from understudy import Model

    model = Model.load(folder / "model.json")

    def work() -> str:
        with tempfile.TemporaryDirectory(dir=folder) as home:
            model.write(f"{home}/sampled/", rows, seed=1)
        return ""

    return work


def columns_job(folder: Path, columns: int) -> Any:
    """PrivBayes in memory over many columns of four values, each leaning on one before it."""
    from understudy import PrivBayes, Schema, Table
    from understudy.data.tables import Column

    rng = np.random.default_rng(0)
    values = [rng.integers(0, 4, COLUMN_ROWS)]
    for _ in range(columns - 1):
        before = values[rng.integers(len(values))]
        values.append(
            np.where(rng.random(len(before)) < 0.5, before, rng.integers(0, 4, len(before)))
        )
    table = Table({f"x{i}": Column("integer", column) for i, column in enumerate(values)})
    attribute = {"kind": "categorical", "values": [0, 1, 2, 3]}
    schema = Schema.from_dict({"attributes": dict.fromkeys(table.names, attribute)})
    PrivBayes(epsilon=1.0, degree=1).fit(
        Table({n: table.columns[n] for n in table.names[:2]}),
        Schema(schema.attributes[:2]),
    )

    def work() -> str:
        PrivBayes(epsilon=1.0).fit(table, schema)
        return ""

    return work


JOBS = {
    "engine": engine_job,
    "group_by": group_by_job,
    "memory": memory_job,
    "sampling": sampling_job,
    "columns": columns_job,
}


# ---- the picture

INK, BLUE, ORANGE, PAPER = "#1d2733", "#2a6f97", "#c8553d", "#ffffff"


def draw(curves: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """CPU seconds and memory against rows, and CPU seconds against columns: on paper, also where
    the page is dark.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update(
        {"svg.hashsalt": "understudy", "svg.fonttype": "none", "font.family": "sans-serif"}
    )
    matplotlib.rcParams.update(
        {"font.sans-serif": ["system-ui", "DejaVu Sans"], "font.size": 10, "text.color": INK}
    )
    matplotlib.rcParams.update(
        dict.fromkeys(("axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), INK)
    )
    figure, (time_axis, memory_axis, wide_axis) = pyplot.subplots(
        1, 3, figsize=(10.5, 3.4), facecolor=PAPER
    )
    panels = (
        (
            time_axis,
            "rows",
            "cpu",
            BLUE,
            "CPU seconds against rows",
            "15 columns, counted by DuckDB",
        ),
        (memory_axis, "rows", "peak", ORANGE, "Peak memory (GB) against rows", "the same runs"),
        (
            wide_axis,
            "columns",
            "cpu",
            BLUE,
            "CPU seconds against columns",
            "10$^5$ rows, in memory",
        ),
    )
    for axis, name, shown, colour, title, below in panels:
        points = curves[name]
        sizes = [point["size"] for point in points]
        axis.plot(
            sizes,
            [point[shown] for point in points],
            marker="o",
            markersize=5,
            linewidth=2,
            color=colour,
        )
        axis.set_xscale("log")
        axis.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
        axis.set_xlabel(f"{name} ({below})")
        axis.grid(visible=True, which="major", color=INK, alpha=0.12)
        axis.spines[["top", "right"]].set_visible(False)
        if shown == "peak":
            axis.set_ylim(0, 2)
            axis.set_yticks((0, 0.5, 1, 1.5, 2), ("0", "0.5", "1", "1.5", "2"))
        else:
            slope, straight = fitted(points)
            axis.plot(
                *zip(*straight, strict=True), linestyle=":", linewidth=2, color=INK, alpha=0.6
            )
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter("{x:g}")
            power = f"{name}$^{{{slope:.2f}}}$"
            axis.annotate(
                power, (0.96, 0.06), xycoords="axes fraction", ha="right", fontsize=12, color=colour
            )
        axis.minorticks_off()
    wide_axis.set_xticks(COLUMNS, [str(columns) for columns in COLUMNS])
    wide_axis.set_ylim(0.1, 100)
    figure.tight_layout(w_pad=2.0)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
