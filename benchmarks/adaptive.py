"""Adaptive beside MST, PrivBayes and its peers: error, time, memory, wide tables, and what a
learner makes of its rows.

    python benchmarks/adaptive.py --data ../shared/data [--only errors speed wide learning peers]
    [--cap 600]

Noise is the real one, so figures vary from run to run. The error is the mean total variation
distance of 3-way marginals (all, or a uniform sample of 600) of as many synthetic rows as there are
real ones; neighbours add/remove, delta 1e-9 unless it says "pure". Whatever is stated with memory
runs in a process of its own. Peers get the same codes and budget, see ``benchmarks/peers.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import understudy
from peers import CACHE, CONTENDERS, environment, plain, table_of, tried, written
from privbayes import Times, error_of, line, note, peak_megabytes, source_state, wide_table
from published import published, rows_where
from understudy import MST, Adaptive, Independent, PrivBayes, Schema, Synthesizer, Table
from understudy.data.encoding import Coded, encode
from understudy.evaluation.classifiers import CLASSIFIERS
from understudy.evaluation.comparison import compare_tables
from understudy.evaluation.learning import classification_scores, examples, scores
from understudy.evaluation.marginals import marginals_of_order, total_variation

DELTA = 1e-9
TABLES = ("adult", "br2000", "nltcs", "acs")
TARGETS = {
    1.0: {"adult": 0.050, "br2000": 0.036, "nltcs": 0.020, "acs": 0.012},
    0.1: {"adult": 0.125, "br2000": 0.100, "nltcs": 0.070, "acs": 0.028},
    10.0: {"adult": 0.038, "br2000": 0.022, "nltcs": 0.008, "acs": 0.005},
}
PURE_TARGET, FAST_TARGET = 0.062, 0.062
SECONDS = {"adult": 20.0, "acs": 30.0}
FAST_SECONDS = 5.0
WIDE = {"columns": 200, "rows": 10**5, "largest": 30}
POINTS = 1.5
EDGES = {
    "capital_gain": [0, 1, *range(1000, 9000, 1000), 10000, 15000, 20000, 30000, 50000, 100000],
    "capital_loss": [
        0,
        1,
        500,
        1000,
        1250,
        1500,
        1625,
        1750,
        1875,
        2000,
        2125,
        2250,
        2500,
        3000,
        5000,
    ],
    "hours_per_week": [0, 10, 20, 30, 35, 40, 41, 45, 46, 50, 51, 60, 61, 80, 101],
}
COMPARED = ("Adaptive", "Adaptive, fast", "MST", "PrivBayes", "dpmm", "smartnoise-synth")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="where the published tables lie"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=tuple(RUN),
        default=tuple(RUN),
        help="parts to run, by default all",
    )
    parser.add_argument(
        "--tables", nargs="+", choices=TABLES, default=TABLES, help="tables for errors and peers"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs that errors are the mean of")
    parser.add_argument(
        "--cap", type=float, default=600.0, metavar="SECONDS", help="for each run of a peer"
    )
    parser.add_argument(
        "--venvs", type=Path, default=CACHE, help="where the peers' environments are made and kept"
    )
    parser.add_argument("--job", help=argparse.SUPPRESS)  # what a process of its own does
    arguments = parser.parse_args()
    missing = [name for name in TABLES if not (arguments.data / f"{name}.csv").exists()]
    if missing:
        parser.error(f"there is no {missing[0]}.csv in {arguments.data}; give its folder by --data")
    if arguments.job is not None:
        job = json.loads(arguments.job)
        print(json.dumps(JOBS[job.pop("name")](arguments.data, **job)))
        return
    print(
        f"Understudy {understudy.__version__}, {source_state()}; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}"
    )
    for section in arguments.only:
        started = time.perf_counter()
        print(f"\n{section}", flush=True)
        RUN[section](arguments)
        print(
            f"  ({time.perf_counter() - started:.0f} s for this part; load "
            f"{os.getloadavg()[0]:.1f})"
        )


# ---- errors


def errors(arguments: argparse.Namespace) -> None:
    """By table and epsilon, with what PrivBayes and MST make of the same budget."""
    for table in arguments.tables:
        real, schema = published(table, arguments.data)
        coded = encode(real, schema)
        for epsilon, targets in TARGETS.items():
            budget: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
            told = mean_error(Adaptive(**budget), real, coded, arguments.repeats)
            what = f"{table}, epsilon {epsilon:g}"
            line(
                f"{what}: Adaptive",
                words(told),
                f"<= {targets[table]:.3f}",
                told[0] <= targets[table],
            )
            others: list[Synthesizer] = [
                Adaptive.fast(**budget),
                PrivBayes(**budget),
                MST(**budget),
            ]
            for name, method in zip(("Adaptive, fast", "PrivBayes", "MST"), others, strict=True):
                told = mean_error(method, real, coded, arguments.repeats)
                target = (
                    FAST_TARGET
                    if (name, table, epsilon) == ("Adaptive, fast", "adult", 1.0)
                    else None
                )
                line(f"{what}: {name}", words(told), *against(told[0], target))
            for name, method in {
                "Adaptive": Adaptive(epsilon=epsilon),
                "PrivBayes": PrivBayes(epsilon=epsilon),
            }.items():
                told = mean_error(method, real, coded, arguments.repeats)
                target = (
                    PURE_TARGET if (name, table, epsilon) == ("Adaptive", "adult", 1.0) else None
                )
                line(f"{what}: {name}, pure", words(told), *against(told[0], target))


def against(found: float, target: float | None) -> tuple[str, bool | None]:
    return ("", None) if target is None else (f"<= {target:.3f}", found <= target)


def mean_error(
    method: Synthesizer, real: Table, coded: Coded, repeats: int
) -> tuple[float, float, float]:
    """Mean and deviation of the error, and CPU seconds a run."""
    cpu = time.process_time()
    found = []
    for _ in range(repeats):
        synthetic = method.fit(real, coded.schema).sample(real.rows)
        assert isinstance(synthetic, Table)
        found.append(error_of(coded, encode(synthetic, coded.schema), 3))
    spread = statistics.stdev(found) if repeats > 1 else 0.0
    return statistics.fmean(found), spread, (time.process_time() - cpu) / repeats


def words(told: tuple[float, float, float]) -> str:
    return f"{told[0]:.4f} +- {told[1]:.4f} ({told[2]:.1f} s CPU a run)"


# ---- processes of their own


def in_own_process(data: Path, name: str, **parameters: Any) -> dict[str, Any] | None:
    """What the job of that name reports; ``None`` where it failed."""
    job = json.dumps({"name": name, **parameters})
    command = [sys.executable, __file__, "--data", str(data), "--job", job]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        note(f"{name} failed: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}")
        return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


def speed(arguments: argparse.Namespace) -> None:
    """Time and memory of a fit with as many rows drawn, in a fresh process; compiled code comes
    from numba's cache.
    """
    for table, limit in SECONDS.items():
        found = in_own_process(arguments.data, "fit", table=table, fast=False)
        if found is not None:
            reached = found["cold"] < limit and found["peak"] < 1000
            line(
                f"{table}, epsilon 1, fit and sample",
                told_times(found),
                f"< {limit:g} s, < 1 GB",
                reached,
            )
    found = in_own_process(arguments.data, "fit", table="adult", fast=True)
    if found is not None:
        line(
            "adult, fast", told_times(found), f"< {FAST_SECONDS:g} s", found["cold"] < FAST_SECONDS
        )
    with tempfile.TemporaryDirectory() as folder:
        adult, schema = published("adult", arguments.data)
        adult.write(Path(folder) / "adult.csv")
        schema.save(Path(folder) / "schema.json")
        for more in ([], ["--fast"]):
            command: list[object] = [
                sys.executable,
                "-m",
                "understudy",
                "synthesize",
                Path(folder) / "adult.csv",
                "-q",
                "--schema",
            ]
            command += [
                Path(folder) / "schema.json",
                "--delta",
                str(DELTA),
                "-o",
                Path(folder) / "out.csv",
                *more,
            ]
            started, before = time.perf_counter(), os.times()
            subprocess.run([str(part) for part in command], check=True, capture_output=True)
            cpu = sum(os.times()[2:4]) - sum(before[2:4])
            wall = time.perf_counter() - started
            limit = FAST_SECONDS if more else SECONDS["adult"]
            shown = f"{wall:.1f} s wall, {cpu:.1f} s CPU, start of Python and files included"
            line(
                f"understudy synthesize adult.csv {' '.join(more)}".rstrip(),
                shown,
                f"< {limit:g} s",
                wall < limit,
            )


def told_times(found: dict[str, Any]) -> str:
    return (
        f"{found['cold']:.1f} s wall at first, then {Times(*found['warm'])}; {found['peak']:.0f} MB"
    )


def fit_job(data: Path, table: str, fast: bool) -> dict[str, Any]:
    real, schema = published(table, data)
    method = (Adaptive.fast if fast else Adaptive)(epsilon=1.0, delta=DELTA)
    started = time.perf_counter()
    method.fit(real, schema).sample(real.rows)
    cold = time.perf_counter() - started
    warm = Times.of(2, lambda: method.fit(real, schema).sample(real.rows))
    return {"cold": cold, "warm": [warm.wall, warm.cpu], "peak": peak_megabytes()}


# ---- wide tables


def wide(arguments: argparse.Namespace) -> None:
    """200 columns x 10^5 rows, 2 to 30 values a column, against every column by itself."""
    found = {
        name: in_own_process(arguments.data, "wide", method=name)
        for name in ("Adaptive", "Independent", "MST")
    }
    for name, told in found.items():
        if told is not None:
            times = Times(told["wall"], told["cpu"])
            shown = f"2-way error {told['error']:.4f}; {times}; {told['peak']:.0f} MB"
            limits = name == "Adaptive"
            reached = told["wall"] < 300 and told["peak"] < 4000 if limits else None
            line(
                f"200 columns x 10^5 rows: {name}",
                shown,
                "< 300 s, < 4 GB" if limits else "",
                reached,
            )
    mine, independent = found["Adaptive"], found["Independent"]
    if mine is not None and independent is not None:
        ratio = mine["error"] / independent["error"]
        line("  error of Adaptive / of Independent", f"{ratio:.2f}", "<= 0.5", ratio <= 0.5)


def wide_job(data: Path, method: str) -> dict[str, Any]:
    table, schema = wide_table(**WIDE)
    kinds: dict[str, Callable[..., Synthesizer]] = {
        "Adaptive": Adaptive,
        "Independent": Independent,
        "MST": MST,
    }
    wall, cpu = time.perf_counter(), time.process_time()
    synthetic = kinds[method](epsilon=1.0, delta=DELTA).fit(table, schema).sample(table.rows)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_megabytes()
    assert isinstance(synthetic, Table)
    pairs = marginals_of_order(schema, 2, 5000)
    error = statistics.fmean(
        total_variation(encode(table, schema), encode(synthetic, schema), pairs)
    )
    return {"error": error, "wall": wall, "cpu": cpu, "peak": peak}


# ---- learning


def learning(arguments: argparse.Namespace) -> None:
    """Gradient boosting on Adult's income: trained on synthetic rows, tested on real ones that
    nobody was shown.

    The learner sees numbers, not bins; so the schema is one that a person would write for it. The
    published one, with 16 bins of one width, puts all gains below 6,250 into one bin, and most of
    them are 0.
    """
    table, schema = published("adult", arguments.data)
    described = schema.to_dict()
    for name, edges in EDGES.items():
        described["attributes"][name] = {"kind": "integer", "edges": edges}
    schema = Schema.from_dict(described)
    order = np.random.default_rng(1).permutation(table.rows)
    apart = np.zeros(table.rows, dtype=bool)
    apart[order[: table.rows // 5]] = True
    test, train = rows_where(table, apart), rows_where(table, ~apart)
    methods: dict[str, Synthesizer] = {
        "Adaptive": Adaptive(epsilon=1.0, delta=DELTA),
        "Adaptive, target income": Adaptive(epsilon=1.0, delta=DELTA, target="income"),
        "Adaptive, pure": Adaptive(epsilon=1.0),
        "PrivBayes": PrivBayes(epsilon=1.0, delta=DELTA),
    }
    for learner in ("XGBoost", "gradient boosting"):
        real = accuracy(learner, train, test, schema)
        line(f"{learner}, trained on real rows", f"{100 * real:.2f} % of incomes right", "", None)
        for name, method in methods.items():
            lost = []
            for _ in range(arguments.repeats):
                synthetic = method.fit(train, schema).sample(train.rows)
                assert isinstance(synthetic, Table)
                lost.append(100 * (real - accuracy(learner, synthetic, test, schema)))
            mean = statistics.fmean(lost)
            shown = f"loses {mean:.2f} points (at most {max(lost):.2f})"
            wanted = (learner, name) == ("gradient boosting", "Adaptive")
            line(
                f"{learner}, {name}",
                shown,
                f"<= {POINTS}" if wanted else "",
                mean <= POINTS if wanted else None,
            )


def accuracy(learner: str, train: Table, test: Table, schema: Any) -> float:
    tables = compare_tables(test, train, schema)
    held, shown = (examples(side, schema, "income") for side in tables)
    return scores(
        CLASSIFIERS[learner], shown, [held], classification_scores, ("accuracy",), 0
    ).scores[0]["accuracy"]


# ---- peers


def peers(arguments: argparse.Namespace) -> None:
    """The same codes for all, a process each; a peer that meets the cap is a row that says so."""
    say = Console(stderr=True)
    chosen = [c for c in CONTENDERS if c.tool in COMPARED or c.method.startswith(COMPARED)]
    for table in arguments.tables:
        real = plain(encode(*published(table, arguments.data)))
        with tempfile.TemporaryDirectory() as folder:
            job = written(real, Path(folder), 1.0)
            pythons = {
                tool: environment(tool, arguments.venvs, say)
                for tool in dict.fromkeys(c.tool for c in chosen)
            }
            results = []
            for contender in chosen:
                repeats = arguments.repeats if contender.tool == "Understudy" else 1
                results.append(
                    tried(contender, pythons[contender.tool], job, real, arguments.cap, repeats)
                )
                say.print(f"{table}, {contender.name}: {results[-1].story()}")
        print(f"\n{table}: {real.rows:,} rows, {len(real.codes)} columns\n")
        print("\n".join(table_of(chosen, results)), flush=True)


RUN: dict[str, Callable[[argparse.Namespace], None]] = {
    "errors": errors,
    "speed": speed,
    "wide": wide,
    "learning": learning,
    "peers": peers,
}
JOBS: dict[str, Callable[..., dict[str, Any]]] = {"fit": fit_job, "wide": wide_job}


if __name__ == "__main__":
    main()
