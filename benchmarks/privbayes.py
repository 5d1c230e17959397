"""PrivBayes: error, speed, memory, and the same jobs done by other tools, each figure beside its
target.

    python benchmarks/privbayes.py --data ../shared/data [--only errors speed sampling wide peers]
    [--venvs DIR]

Noise is the real one (OpenDP), so figures vary from run to run. Times are the best of several warm
runs; CPU seconds (of all threads) stand beside wall seconds, since other work on the machine
inflates the latter. Whatever is stated with memory runs in a process of its own. Peers are
installed into virtual environments of their own, in this same run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from rich.console import Console

import understudy
from peers import ENDED, RUNNERS, environment, watched
from published import published
from understudy import Model, PrivBayes, Table, read_table
from understudy.data.encoding import Coded, encode
from understudy.data.schema import Schema
from understudy.data.tables import Column
from understudy.evaluation.marginals import marginals_of_order, total_variation
from understudy.privacy.scores import SCORES

SECTIONS = ("errors", "speed", "sampling", "wide", "peers")
ORDERS = {"adult": 3, "br2000": 3, "nltcs": 4, "acs": 4}
PAPER_TARGETS = {"adult": 0.12, "br2000": 0.086, "nltcs": 0.067, "acs": 0.041}
PAPER_WITHIN = 0.01
DEFAULT_TARGETS = {
    "replace": {"adult": 0.090, "br2000": 0.066, "nltcs": 0.053, "acs": 0.036},
    "add_remove": {"adult": 0.075, "br2000": 0.055, "nltcs": 0.038, "acs": 0.028},
}
ENOUGH = 1.04
COMPARED = ("DataSynthesizer", "dpmm")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="where the published tables lie"
    )
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="parts to run, by default all"
    )
    parser.add_argument(
        "--tables",
        nargs="+",
        choices=tuple(ORDERS),
        default=tuple(ORDERS),
        help="tables for the errors",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=5,
        help="runs that errors are the mean of, and times the best of",
    )
    parser.add_argument(
        "--venvs",
        type=Path,
        help="keep the peers' environments here; by default they are temporary",
    )
    parser.add_argument(
        "--peers", nargs="+", choices=COMPARED, default=COMPARED, help="peers to run"
    )
    parser.add_argument("--datasynthesizer-cap", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument("--dpmm-cap", type=float, default=400.0, metavar="SECONDS")
    parser.add_argument(
        "--dpmm-degree", type=int, default=2, help="dpmm counts the child too: 2 is one parent"
    )
    parser.add_argument("--job", help=argparse.SUPPRESS)  # what a process of its own does
    arguments = parser.parse_args()
    missing = [name for name in ORDERS if not (arguments.data / f"{name}.csv").exists()]
    if missing:
        parser.error(f"there is no {missing[0]}.csv in {arguments.data}; give its folder by --data")
    if arguments.job is not None:
        job = json.loads(arguments.job)
        print(json.dumps(JOBS[job.pop("name")](arguments.data, **job)))
        return
    state = source_state()
    print(
        f"Understudy {understudy.__version__}, source {state}; {os.cpu_count()} cores, load "
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
    if source_state() != state:
        print(f"\nThe source changed during this run: it is now {source_state()}.")


def source_state() -> str:
    """Commit, and a digest of the files as they are: other work may go on in them."""
    folder = Path(understudy.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.read_bytes())
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    commit = (
        subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        or "no commit"
    )
    return f"{commit} ({digest.hexdigest()[:8]})"


def line(what: str, measured: str, target: str, reached: bool | None) -> None:
    """One figure, its target and whether it was reached (``None``: there is no target)."""
    verdict = {True: "reached", False: "MISSED", None: ""}[reached]
    print(f"  {what:<62} {measured:<68} {target:<16} {verdict}".rstrip(), flush=True)


def note(sentence: str) -> None:
    print(f"    {sentence}", flush=True)


# ---- times and memory


@dataclass(frozen=True)
class Times:
    """The best wall and the best CPU seconds of some runs of a job."""

    wall: float
    cpu: float

    @classmethod
    def of(cls, repeats: int, job: Callable[[], object]) -> Times:
        """Run the job some times; the first of ``repeats`` + 1 runs is a warm-up."""
        job()
        walls, cpus = [], []
        for _ in range(repeats):
            wall, cpu = time.perf_counter(), time.process_time()
            job()
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
        return cls(min(walls), min(cpus))

    def __str__(self) -> str:
        return f"{self.wall:.2f} s wall, {self.cpu:.2f} s CPU"


def peak_megabytes() -> float:
    """The most memory that this process had; ``ru_maxrss`` may hold the parent's, so Linux' own
    count comes first.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_own_process(
    data: Path, name: str, threads: int | None = None, **parameters: Any
) -> dict[str, Any] | None:
    """What the job of that name reports, from a process of its own; ``None`` where it failed."""
    job = json.dumps({"name": name, **parameters})
    environment = os.environ | ({} if threads is None else {"NUMBA_NUM_THREADS": str(threads)})
    command = [sys.executable, __file__, "--data", str(data), "--job", job]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        note(f"{name} failed: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}")
        return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


# ---- errors


def errors(arguments: argparse.Namespace) -> None:
    """Mean total variation distance at epsilon 1, synthetic rows as many as real ones."""
    for table in arguments.tables:
        real, schema = published(table, arguments.data)
        coded = encode(real, schema)
        what = f"{ORDERS[table]}-way {table}, "
        low, high = PAPER_TARGETS[table] - PAPER_WITHIN, PAPER_TARGETS[table] + PAPER_WITHIN
        for kind, more in {
            "algorithms 1, 2": {"tables": "fixed"},
            "algorithms 3, 4": {"tables": "bounded"},
        }.items():
            if more["tables"] == "fixed" and ORDERS[table] == 3:
                continue  # algorithms 1 and 2 are for binary data
            method = PrivBayes.paper(1.0, encoding="vanilla", score="R", **more)
            mean, text = mean_error(method, real, coded, ORDERS[table], arguments.repeats)
            line(f"{what}paper, R, {kind}", text, f"{low:.3f} to {high:.3f}", low <= mean <= high)
        for neighbours, targets in DEFAULT_TARGETS.items():
            method = PrivBayes(epsilon=1.0, neighbours=neighbours)  # type: ignore[arg-type]
            mean, text = mean_error(method, real, coded, ORDERS[table], arguments.repeats)
            line(
                f"{what}default, {neighbours}",
                text,
                f"<= {targets[table]:.3f}",
                mean <= targets[table],
            )


def mean_error(
    method: PrivBayes, real: Table, coded: Coded, order: int, repeats: int
) -> tuple[float, str]:
    cpu = time.process_time()
    found = []
    for _ in range(repeats):
        synthetic = method.fit(real, coded.schema).sample(real.rows)
        assert isinstance(synthetic, Table)
        found.append(error_of(coded, encode(synthetic, coded.schema), order))
    cpu = (time.process_time() - cpu) / repeats
    spread = f" +- {statistics.stdev(found):.4f}" if repeats > 1 else ""
    mean = statistics.mean(found)
    return mean, f"{mean:.4f}{spread} ({repeats} runs of {cpu:.1f} s CPU)"


def error_of(real: Coded, synthetic: Coded, order: int) -> float:
    return statistics.mean(
        total_variation(real, synthetic, marginals_of_order(real.schema, order, 600))
    )


# ---- speed


def speed(arguments: argparse.Namespace) -> None:
    """Adult whole, and the searches that the paper calls slow."""
    for neighbours in ("add_remove", "replace"):
        found = in_own_process(
            arguments.data, "adult", repeats=arguments.repeats, neighbours=neighbours
        )
        if found is not None:
            times = Times(*found["times"])
            line(
                f"Adult, epsilon 1, {neighbours}, fit and 45,222 rows, warm",
                f"{times}; {found['peak']:.0f} MB",
                "< 1 s, < 400 MB",
                times.wall < 1 and found["peak"] < 400,
            )
    searches = (
        ("NLTCS, score F, k = 6", "nltcs", {"score": "F", "degree": 6}, 15),
        ("ACS, score F, k = 4", "acs", {"score": "F", "degree": 4}, 15),
        ("ACS, score R, algorithms 3 and 4", "acs", {"score": "R", "tables": "bounded"}, 10),
    )
    for what, table, parameters, limit in searches:
        found = in_own_process(
            arguments.data,
            "search",
            repeats=min(arguments.repeats, 2),
            table=table,
            parameters=parameters,
        )
        if found is not None:
            times = Times(*found["times"])
            pairs = f"{found['distinct']:,} pairs ({found['candidates']:,} over all steps)"
            measured = f"{times}; {pairs}; {found['peak']:.0f} MB"
            line(f"{what}, warm", measured, f"< {limit} s", times.wall < limit)


def adult_job(data: Path, repeats: int, neighbours: Any) -> dict[str, Any]:
    table, schema = published("adult", data)
    method = PrivBayes(epsilon=1.0, neighbours=neighbours)
    times = Times.of(repeats, lambda: method.fit(table, schema).sample(table.rows))
    return {"times": [times.wall, times.cpu], "peak": peak_megabytes()}


def search_job(data: Path, repeats: int, table: str, parameters: dict[str, Any]) -> dict[str, Any]:
    real, schema = published(table, data)
    method = PrivBayes.paper(1.0, **parameters)
    models: list[Model] = []
    times = Times.of(repeats, lambda: models.append(method.fit(real, schema)))
    result = {
        "times": [times.wall, times.cpu],
        "peak": peak_megabytes(),
        "candidates": candidates_of(models[-1]),
    }
    return result | {"distinct": evaluated_by(lambda: method.fit(real, schema))}


def evaluated_by(job: Callable[[], object]) -> int:
    """How many pairs are scored: each once, however often it is chosen from."""
    asked: list[int] = []

    def counting(plain: Callable[..., Any]) -> Callable[..., Any]:
        def evaluate(score: Any, counter: Any, candidates: Sequence[Any], *further: Any) -> Any:
            asked.append(len(candidates))
            return plain(score, counter, candidates, *further)

        return evaluate

    kinds = {type(score): counting(type(score).evaluate) for score in SCORES.values()}
    with ExitStack() as patches:
        for kind, evaluate in kinds.items():
            patches.enter_context(mock.patch.object(kind, "evaluate", evaluate))
        job()
    return sum(asked)


def candidates_of(model: Model) -> int:
    """How many pairs were chosen from, by what the ledger says."""
    found = (
        re.match(r"choice among (\d+) candidates", entry.question) for entry in model.ledger.entries
    )
    return sum(int(match[1]) for match in found if match)


# ---- sampling


def sampling(arguments: argparse.Namespace) -> None:
    """Cells a second on one core, and memory while streaming."""
    table, schema = published("adult", arguments.data)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "adult.model.json")
        PrivBayes(epsilon=1.0).fit(table, schema).save(path)
        for spread in ("even", "independent"):
            found = in_own_process(
                arguments.data, "draw", threads=1, model=path, rows=10**6, spread=spread
            )
            if found is not None:
                wall, cpu = (found["cells"] / seconds / 1e6 for seconds in found["times"])
                line(
                    f"sampling in memory, one core, 10^6 rows of Adult, {spread}",
                    f"{cpu:.1f} million cells a CPU second ({wall:.1f} a wall second)",
                    ">= 10",
                    cpu >= 10,
                )
        peaks = []
        for rows in (10**6, 10**7):
            target = str(Path(folder) / "out.parquet")
            found = in_own_process(arguments.data, "stream", model=path, rows=rows, path=target)
            if found is not None:
                peaks.append(found["peak"])
                what = f"streaming {rows:,} rows of Adult to Parquet"
                line(
                    what,
                    f"{found['peak']:.0f} MB, {found['wall']:.1f} s wall, {found['cpu']:.1f} s CPU",
                    "",
                    None,
                )
        if len(peaks) == 2:
            growth = peaks[1] / peaks[0]
            line("memory at ten times the rows", f"{growth:.2f} x", "flat (< 1.2 x)", growth < 1.2)


def draw_job(data: Path, model: str, rows: int, spread: Any) -> dict[str, Any]:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    loaded = Model.load(model)
    times = Times.of(5, lambda: loaded.sample(rows, spread=spread))
    return {"times": [times.wall, times.cpu], "cells": rows * len(loaded.schema.modelled)}


def stream_job(data: Path, model: str, rows: int, path: str) -> dict[str, Any]:
    loaded = Model.load(model)
    wall, cpu = time.perf_counter(), time.process_time()
    loaded.write(path, rows)
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "peak": peak_megabytes(),
    }


# ---- wide tables


def wide(arguments: argparse.Namespace) -> None:
    """100 columns x 10^5 rows, degree 2, 2 to 50 values a column."""
    found = in_own_process(arguments.data, "wide", columns=100, rows=10**5)
    if found is not None:
        line(
            "100 columns x 10^5 rows, degree 2, fit and 10^5 rows",
            f"{found['wall']:.1f} s wall, {found['cpu']:.1f} s CPU; {found['candidates']:,} "
            "candidate pairs; "
            f"{found['peak']:.0f} MB",
            "< 180 s, < 2 GB",
            found["wall"] < 180 and found["peak"] < 2000,
        )
        note(f"sizes {found['sizes']}; not warmed; mean one-way error {found['error']:.4f}")


def wide_job(data: Path, columns: int, rows: int) -> dict[str, Any]:
    table, schema = wide_table(columns, rows)
    wall, cpu = time.perf_counter(), time.process_time()
    model = PrivBayes(epsilon=1.0, degree=2).fit(table, schema)
    synthetic = model.sample(rows)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_megabytes()
    assert isinstance(synthetic, Table)
    sizes = sorted(attribute.size for attribute in schema.modelled)
    return {
        "wall": wall,
        "cpu": cpu,
        "peak": peak,
        "candidates": candidates_of(model),
        "sizes": f"{sizes[0]} to {sizes[-1]}, median {statistics.median(sizes):g}",
        "error": error_of(encode(table, schema), encode(synthetic, schema), 1),
    }


def wide_table(columns: int, rows: int, largest: int = 50) -> tuple[Table, Schema]:
    """Columns that hang on earlier ones: normal numbers down a random tree, cut into 2 or more
    codes (log-uniform).
    """
    rng = np.random.default_rng(100)
    sizes = np.round(np.exp(rng.uniform(np.log(2), np.log(largest), columns))).astype(int)
    sizes[:2] = 2, largest
    hidden: list[Any] = []
    held: dict[str, Column] = {}
    attributes: dict[str, Any] = {}
    for place, size in enumerate(sizes.tolist()):
        fresh = rng.standard_normal(rows)
        hidden.append(0.8 * hidden[rng.integers(0, place)] + 0.6 * fresh if place else fresh)
        cuts = np.sort(rng.normal(0, 1, size - 1))
        codes = np.searchsorted(cuts, hidden[-1]).astype(np.uint8)
        name = f"c{place}"
        held[name] = Column("text", codes, tuple(f"v{code}" for code in range(size)))
        attributes[name] = {"kind": "categorical", "values": list(held[name].words)}
    return Table(held), Schema.from_dict({"attributes": attributes})


# ---- peers


def peers(arguments: argparse.Namespace) -> None:
    """The same jobs by DataSynthesizer and by dpmm."""
    note(
        "Neither peer keeps its epsilon, so neither buys its figures at the stated price. "
        "DataSynthesizer spends it"
    )
    note(
        "twice and draws noise from a fixed seed; dpmm's choices have far less noise than their "
        "score needs."
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        venvs = arguments.venvs if arguments.venvs is not None else folder / "venvs"
        if "DataSynthesizer" in arguments.peers:
            against_datasynthesizer(arguments, venvs, folder)
        if "dpmm" in arguments.peers:
            against_dpmm(arguments, venvs, folder)


def against_datasynthesizer(arguments: argparse.Namespace, venvs: Path, folder: Path) -> None:
    """NLTCS, k = 2, epsilon 1: from a CSV file to synthetic rows in a CSV file."""
    source = (arguments.data / "nltcs.csv").resolve()
    table, schema = published("nltcs", arguments.data)

    def ours() -> None:
        model = PrivBayes(epsilon=1.0, degree=2).fit(read_table(source), schema)
        model.write(folder / "ours.csv", table.rows)

    mine = Times.of(arguments.repeats, ours)
    line("NLTCS, k = 2, CSV to CSV: Understudy, pure, add/remove", str(mine), "", None)
    cap = min(
        arguments.datasynthesizer_cap, ENOUGH * 500 * mine.wall
    )  # no need to wait once the point is made
    command = ("run_datasynthesizer.py", source, folder / "theirs.csv", table.rows, 2, 1.0)
    theirs = run_of("DataSynthesizer", venvs, cap, *command)
    if theirs is None:
        return
    ratio = theirs.times.wall / mine.wall
    least = "" if theirs.finished else "at least "
    end = "" if theirs.finished else f", ended at the cap of {cap:.0f} s"
    line("NLTCS, k = 2, CSV to CSV: DataSynthesizer 0.1.13", f"{theirs.times}{end}", "", None)
    measured = f"{least}{ratio:,.0f} x wall, {least}{theirs.times.cpu / mine.cpu:,.0f} x CPU"
    reached = True if ratio >= 500 else (False if theirs.finished else None)
    line("  Understudy is faster by", measured, ">= 500 x wall", reached)
    if reached is None:
        note("500 x cannot be shown under this cap; give a larger --datasynthesizer-cap")
    if theirs.finished:
        coded = encode(table, schema)
        both = [encode(read_table(folder / file), schema) for file in ("ours.csv", "theirs.csv")]
        mine_error, their_error = (error_of(coded, synthetic, 4) for synthetic in both)
        line(
            "  4-way error: Understudy, DataSynthesizer",
            f"{mine_error:.4f}, {their_error:.4f}",
            "",
            None,
        )


def against_dpmm(arguments: argparse.Namespace, venvs: Path, folder: Path) -> None:
    """Adult as discretised here, epsilon 1: fit and as many rows, both from memory."""
    table, schema = published("adult", arguments.data)
    coded = encode(table, schema)
    method = PrivBayes(epsilon=1.0)
    mine = Times.of(arguments.repeats, lambda: method.fit(table, schema).sample(table.rows))
    error, text = mean_error(method, table, coded, 3, arguments.repeats)
    line("Adult: Understudy, pure, add/remove", f"{mine}; 3-way error {text}", "", None)
    names = [attribute.name for attribute in schema.modelled]
    codes = np.column_stack([coded.codes[name] for name in names])
    source, target, sizes = folder / "codes.csv", folder / "dpmm.csv", folder / "sizes.json"
    np.savetxt(source, codes, fmt="%d", delimiter=",", header=",".join(names), comments="")
    sizes.write_text(
        json.dumps({attribute.name: attribute.size for attribute in schema.modelled}),
        encoding="utf-8",
    )
    degree, cap = arguments.dpmm_degree, arguments.dpmm_cap
    theirs = run_of(
        "dpmm", venvs, cap, "run_dpmm.py", source, target, table.rows, degree, 1.0, sizes
    )
    if theirs is None:
        return
    label = f"Adult: dpmm 0.1.9 PrivBayes, degree {degree}, delta 1e-9"
    ratio = theirs.times.wall / mine.wall
    least = "" if theirs.finished else "at least "
    end = ""
    their_error = float("nan")
    if theirs.finished:
        drawn = np.loadtxt(target, delimiter=",", skiprows=1, dtype=np.int64)
        synthetic = {
            name: drawn[:, place].astype(coded.codes[name].dtype)
            for place, name in enumerate(names)
        }
        their_error = error_of(coded, Coded(coded.schema, synthetic, len(drawn), ()), 3)
        end = f"; 3-way error {their_error:.4f} (1 run)"
    else:
        end = f", ended at the cap of {cap:.0f} s"
    line(label, f"{theirs.times}{end}", "", None)
    measured = f"{least}{ratio:,.0f} x wall, {least}{theirs.times.cpu / mine.cpu:,.0f} x CPU"
    reached = True if ratio >= 100 else (False if theirs.finished else None)
    line("  Understudy is faster by", measured, ">= 100 x wall", reached)
    if theirs.finished:
        line(
            "  error of Understudy / of dpmm",
            f"{error / their_error:.2f}",
            "<= 1",
            error <= their_error,
        )


def run_of(tool: str, venvs: Path, cap: float, *command: object) -> Run | None:
    """A run of a peer's script in its own environment; ``None``, and a note, where it could not be
    had.
    """
    python = environment(tool, venvs, Console(stderr=True))
    if isinstance(python, str):
        note(f"{tool} {python}")
        return None
    result = watched([python, RUNNERS / str(command[0]), *command[1:]], cap)
    if result.problem and not result.problem.startswith(ENDED):
        note(f"{tool} {result.problem}")
        return None
    return Run(Times(result.wall, result.cpu), not result.problem)


@dataclass(frozen=True)
class Run:
    """A peer's run: its times, and whether it came to its end."""

    times: Times
    finished: bool


RUN: dict[str, Callable[[argparse.Namespace], None]] = {
    "errors": errors,
    "speed": speed,
    "sampling": sampling,
    "wide": wide,
    "peers": peers,
}
JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "adult": adult_job,
    "search": search_job,
    "draw": draw_job,
    "stream": stream_job,
    "wide": wide_job,
}


if __name__ == "__main__":
    main()
