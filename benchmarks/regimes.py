"""The default against our simpler methods on a grid of tables and budgets, and its other figures.

    python benchmarks/regimes.py --data ../shared/data [--only grid wide domain learning speed fast]
    [--half "held out"] [--repeats 5] [--quick]

*Regret* is the default's error over that of the best of independent, privbayes and mst on the same
table at the same budget. The error is the mean total variation distance of 3-way marginals (2-way
from 40 columns on; all, or a uniform sample of 600), of as many synthetic rows as there are real
ones; neighbours add/remove, delta 1e-9. Noise is the real one, so figures vary from run to run.
Which tables settings may be tried on is fixed in ``benchmarks/regime_tables.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import understudy
from privbayes import line, peak_megabytes, source_state
from published import published, rows_where
from regime_tables import LABELS, TABLES, half_of, read, tree, zipf
from understudy import MST, Adaptive, Independent, PrivBayes, Schema, Synthesizer, Table
from understudy.data.encoding import Coded, encode
from understudy.data.schema import Quantity
from understudy.evaluation.classifiers import CLASSIFIERS
from understudy.evaluation.comparison import compare_tables
from understudy.evaluation.learning import Scale, examples
from understudy.evaluation.marginals import marginals_of_order, total_variation
from understudy.synthesizers.gaussian import Gaussian

DELTA = 1e-9
EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
REGRET = 1.03
METHODS: dict[str, Callable[..., Synthesizer]] = {
    "adaptive": Adaptive,
    "fast": Adaptive.fast,
    "independent": Independent,
    "privbayes": PrivBayes,
    "mst": MST,
}
SIMPLER = ("independent", "privbayes", "mst")
WANTED = {
    ("adult", 0.1): 0.112,
    ("adult", 1.0): 0.046,
    ("adult", 10.0): 0.027,
    ("adult", 100.0): 0.023,
    ("br2000", 1.0): 0.028,
    ("nltcs", 1.0): 0.0068,
    ("acs", 1.0): 0.0041,
}
QUICK_TABLES = ("diabetes", "adult, 500 rows", "nltcs, 500 rows")
WIDE: dict[str, dict[str, Any]] = {
    "100 columns": {"rows": 20_000, "columns": 100, "smallest": 3, "largest": 11, "limit": 20},
    "200 columns": {"rows": 20_000, "columns": 200, "smallest": 3, "largest": 11, "limit": 60},
    "300 columns": {"rows": 20_000, "columns": 300, "smallest": 3, "largest": 11, "limit": 120},
    "1,000 binary columns": {
        "rows": 20_000,
        "columns": 1_000,
        "smallest": 2,
        "largest": 2,
        "limit": 600,
    },
}
MEGABYTES = 4_000
AGREEMENT = 0.6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="where the real tables lie"
    )
    parser.add_argument("--only", nargs="+", choices=tuple(RUN), default=("grid",))
    parser.add_argument("--half", choices=("tuning", "held out"), help="by default both halves")
    parser.add_argument("--tables", nargs="+", choices=tuple(TABLES), metavar="NAME")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=tuple(METHODS))
    parser.add_argument("--repeats", type=int, default=5, help="runs that figures are the mean of")
    parser.add_argument("--quick", action="store_true", help="three small tables, two runs")
    parser.add_argument("--wide", nargs="+", choices=tuple(WIDE), default=tuple(WIDE))
    parser.add_argument("--keep", type=Path, help="a file of runs: read, and added to")
    parser.add_argument("--job", help=argparse.SUPPRESS)  # what a process of its own does
    arguments = parser.parse_args()
    if arguments.job is not None:
        job = json.loads(arguments.job)
        print(json.dumps(JOBS[job.pop("name")](arguments.data, **job)))
        return
    if arguments.quick:
        arguments.repeats = min(arguments.repeats, 2)
        arguments.epsilons = tuple(arguments.epsilons)[1:4]
        arguments.wide = ()
    print(
        f"Understudy {understudy.__version__}, {source_state()}; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}"
    )
    for section in arguments.only:
        started = time.process_time()
        print(f"\n{section}", flush=True)
        RUN[section](arguments)
        print(f"  ({time.process_time() - started:.0f} CPU s for this part)")


# ---- the grid


def choose_tables(arguments: argparse.Namespace) -> list[str]:
    """The tables that were asked for."""
    if arguments.tables:
        return list(arguments.tables)
    if arguments.quick:
        return list(QUICK_TABLES)
    return [name for name in TABLES if arguments.half in (None, half_of(name))]


def grid(arguments: argparse.Namespace) -> None:
    """Errors and regret by table and budget."""
    regrets: dict[tuple[str, float], float] = {}
    names = [name for name in METHODS if name in arguments.methods]
    print(
        f"  {'table':20} {'epsilon':>7} " + " ".join(f"{name:>11}" for name in names) + "  regret"
    )
    for table in choose_tables(arguments):
        real, schema = read(table, arguments.data)
        coded = encode(real, schema)
        for epsilon in arguments.epsilons:
            found = {name: recall(arguments, table, epsilon, name, real, coded) for name in names}
            simpler = [found[name] for name in SIMPLER if name in found]
            shown = " ".join(f"{value:11.4f}" for value in found.values())
            told = ""
            if "adaptive" in found and simpler:
                regrets[table, epsilon] = found["adaptive"] / min(simpler)
                told = f"  {regrets[table, epsilon]:.3f}"
            print(f"  {table:20} {epsilon:7g} {shown}{told}", flush=True)
            wanted = WANTED.get((table, epsilon))
            if wanted is not None and "adaptive" in found:
                reached = found["adaptive"] <= wanted
                line(
                    f"{table}, epsilon {epsilon:g}",
                    f"{found['adaptive']:.4f}",
                    f"<= {wanted}",
                    reached,
                )
    if regrets:
        worst = max(regrets, key=regrets.__getitem__)
        above = sum(regret > REGRET for regret in regrets.values())
        line(
            f"worst regret of {len(regrets)} ({above} above {REGRET})",
            f"{regrets[worst]:.3f} on {worst[0]} at epsilon {worst[1]:g}",
            f"<= {REGRET}",
            regrets[worst] <= REGRET,
        )
        inexact = [regret for regret in regrets.values() if regret > 0]
        print(f"  mean regret {statistics.geometric_mean(inexact):.3f}, exact ones left out")


def recall(
    arguments: argparse.Namespace,
    table: str,
    epsilon: float,
    name: str,
    real: Table,
    coded: Coded,
) -> float:
    """The mean error of a method, over runs that a file keeps and new ones up to the number asked
    for.
    """
    key = [table, epsilon, name]
    found: list[float] = []
    if arguments.keep is not None and arguments.keep.exists():
        lines = map(json.loads, arguments.keep.read_text().splitlines())
        found = [one["error"] for one in lines if one["run"] == key][: arguments.repeats]
    method = METHODS[name](epsilon=epsilon, delta=DELTA)
    while len(found) < arguments.repeats:
        found.append(error(method, real, coded))
        if arguments.keep is not None:
            with arguments.keep.open("a") as kept:
                kept.write(json.dumps({"run": key, "error": found[-1]}) + "\n")
    return statistics.fmean(found)


def error(method: Synthesizer, real: Table, coded: Coded) -> float:
    """The error of one run."""
    synthetic = method.fit(real, coded.schema, notify=lambda sentence: None).sample(real.rows)
    assert isinstance(synthetic, Table)
    order = 3
    if len(coded.schema.modelled) >= 40:
        order = 2
    drawn = encode(synthetic, coded.schema)
    marginals = marginals_of_order(coded.schema, order, 600)
    return statistics.fmean(total_variation(coded, drawn, marginals))


# ---- wide tables


def wide(arguments: argparse.Namespace) -> None:
    """Fits of wide tables, each in a process of its own."""
    for name in arguments.wide:
        found = in_own_process(arguments.data, "wide", table=name)
        limit = WIDE[name]["limit"]
        reached = found["cpu"] < limit and found["peak"] < MEGABYTES
        line(
            f"{name}, 20,000 rows",
            f"{found['cpu']:.0f} s CPU, {found['wall']:.0f} s wall, {found['peak']:.0f} MB; 2-way "
            f"error {found['error']:.4f}, independent {found['independent']:.4f}",
            f"< {limit} s, < 4 GB",
            reached,
        )


def wide_job(data: Path, table: str) -> dict[str, float]:
    settings = {key: value for key, value in WIDE[table].items() if key != "limit"}
    real, schema = tree(seed=9, **settings)
    coded = encode(real, schema)
    wall, cpu = time.perf_counter(), time.process_time()
    model = Adaptive(epsilon=1.0, delta=DELTA).fit(real, schema)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_megabytes()
    drawn = encode(model.sample(real.rows), schema)
    alone = encode(
        Independent(epsilon=1.0, delta=DELTA).fit(real, schema).sample(real.rows), schema
    )
    pairs = marginals_of_order(schema, 2, 2000)
    return {
        "wall": wall,
        "cpu": cpu,
        "peak": peak,
        "error": statistics.fmean(total_variation(coded, drawn, pairs)),
        "independent": statistics.fmean(total_variation(coded, alone, pairs)),
    }


def in_own_process(data: Path, job: str, **settings: Any) -> dict[str, Any]:
    """What a job of this file returns, run in a process of its own."""
    told = json.dumps({"name": job, **settings})
    command = [sys.executable, __file__, "--data", str(data), "--job", told]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# ---- a large domain


def domain(arguments: argparse.Namespace) -> None:
    """How often a column of 5,000 values and the one of 10 that it determines agree."""
    real, schema = zipf()
    fine, coarse = (real.columns[name].values for name in ("fine", "coarse"))
    known = np.zeros(5_000, dtype=np.int64)
    known[fine] = coarse
    found = []
    for _ in range(arguments.repeats):
        method = Adaptive(epsilon=1.0, delta=DELTA)
        drawn = encode(method.fit(real, schema).sample(real.rows), schema)
        seen = np.isin(drawn.codes["fine"], fine)
        right = known[drawn.codes["fine"]] == drawn.codes["coarse"]
        found.append(float((right & seen).mean()))
    mean = statistics.fmean(found)
    line(
        "5,000 values that determine 10, 50,000 rows, epsilon 1: rows in which they agree",
        f"{mean:.3f} ({min(found):.3f} to {max(found):.3f})",
        f">= {AGREEMENT}",
        mean >= AGREEMENT,
    )


# ---- learning


def learning(arguments: argparse.Namespace) -> None:
    """Accuracy and AUC of gradient boosting on real rows that nothing was shown: each run has a
    fifth of the rows apart, another one than the run before.
    """
    for table, label in LABELS.items():
        if table not in choose_tables(arguments):
            continue
        real, schema = read(table, arguments.data)
        found: dict[str, list[dict[str, float]]] = {}
        for run in range(arguments.repeats):
            apart = np.zeros(real.rows, dtype=bool)
            apart[np.random.default_rng(run).permutation(real.rows)[: real.rows // 5]] = True
            test, train = rows_where(real, apart), rows_where(real, ~apart)
            found.setdefault("real rows", []).append(judge(train, test, schema, label))
            for name, method in methods_for(label, schema).items():
                rows = sampled(method, train, schema)
                found.setdefault(name, []).append(judge(rows, test, schema, label))
        for name, scores in found.items():
            print(f"  {table}: {name:20} {told_scores(scores)}", flush=True)
        others = [name for name in found if name not in ("real rows", WITH_TARGET)]
        for key in ("accuracy", "auc"):
            means = {name: statistics.fmean(one[key] for one in found[name]) for name in found}
            best = max(others, key=means.__getitem__)
            ahead = means[WITH_TARGET] - means[best]
            line(f"{table}: {key}, {WITH_TARGET} against {best}", f"{ahead:+.4f}", "> 0", ahead > 0)


WITH_TARGET = "adaptive --target"


def methods_for(label: str, schema: Schema) -> dict[str, Synthesizer]:
    """All methods that are compared, with the label as a target where they take one."""
    budget: dict[str, Any] = {"epsilon": 1.0, "delta": DELTA}
    methods: dict[str, Synthesizer] = {
        WITH_TARGET: Adaptive(target=label, **budget),
        "adaptive": Adaptive(**budget),
        "privbayes": PrivBayes(**budget),
        "privbayes --target": PrivBayes(target=label, **budget),
        "mst": MST(**budget),
        "independent": Independent(**budget),
    }
    if any(isinstance(attribute, Quantity) for attribute in schema.modelled):
        methods["gaussian --label"] = Gaussian(label=label, **budget)
    return methods


def sampled(method: Synthesizer, train: Table, schema: Schema) -> Table:
    synthetic = method.fit(train, schema, notify=lambda sentence: None).sample(train.rows)
    assert isinstance(synthetic, Table)
    return synthetic


def judge(train: Table, test: Table, schema: Schema, label: str) -> dict[str, float]:
    """How well a learner of these rows tells the label, one of two, of others."""
    from sklearn.metrics import roc_auc_score

    tables = compare_tables(test, train, schema)
    held, shown = (examples(side, schema, label) for side in tables)
    if shown.target.min() == shown.target.max():
        return {"accuracy": float(np.mean(held.target == shown.target[0])), "auc": 0.5}
    scale = Scale.of(shown.numbers)
    learner: Any = CLASSIFIERS["gradient boosting"](0)
    learner.fit(scale.features(shown), shown.target)
    chances = learner.predict_proba(scale.features(held))[:, 1]
    said = learner.classes_[(chances > 0.5).astype(int)]
    return {
        "accuracy": float(np.mean(held.target == said)),
        "auc": float(roc_auc_score(held.target == learner.classes_[1], chances)),
    }


def told_scores(found: list[dict[str, float]]) -> str:
    """Means of some runs, and the standard errors of these."""
    told = []
    for key in found[0]:
        values = [one[key] for one in found]
        error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        told.append(f"{key} {statistics.fmean(values):.4f} ± {error:.4f}")
    return f"{', '.join(told)} ({len(found)} runs)"


# ---- speed


def speed(arguments: argparse.Namespace) -> None:
    """CPU seconds of a warm fit of Adult."""
    for fast in (False, True):
        found = in_own_process(arguments.data, "speed", fast=fast)
        name = "fast" if fast else "adaptive"
        line(
            f"{name}: fit of Adult, warm",
            f"{found['cpu']:.2f} s CPU (cold {found['cold']:.2f})",
            "" if fast else "<= 1.2 s",
            None if fast else found["cpu"] <= 1.2,
        )


def speed_job(data: Path, fast: bool) -> dict[str, float]:
    real, schema = published("adult", data)
    method = (Adaptive.fast if fast else Adaptive)(epsilon=1.0, delta=DELTA)
    times = []
    for _ in range(4):
        cpu = time.process_time()
        method.fit(real, schema)
        times.append(time.process_time() - cpu)
    return {"cold": times[0], "cpu": min(times[1:])}


def fast(arguments: argparse.Namespace) -> None:
    """CPU seconds of fits with and without `--fast`, in turn, on every table."""
    slower = []
    for table in choose_tables(arguments):
        real, schema = read(table, arguments.data)
        for epsilon in arguments.epsilons:
            found: dict[str, list[float]] = {"adaptive": [], "fast": []}
            for name in ("adaptive", "fast") * (arguments.repeats + 1):
                method = METHODS[name](epsilon=epsilon, delta=DELTA)
                cpu = time.process_time()
                method.fit(real, schema, notify=lambda sentence: None)
                found[name].append(time.process_time() - cpu)
            usual, quick = (statistics.median(times[1:]) for times in found.values())
            if quick > 1.1 * usual + 0.02:  # else the two do the same, but for noise
                slower.append(f"{table} at {epsilon:g}")
            print(
                f"  {table:20} {epsilon:7g} adaptive {usual:7.2f} s  fast {quick:7.2f} s"
                f"  {quick / usual:5.2f}",
                flush=True,
            )
    line("fast takes more CPU on", ", ".join(slower) or "none", "none", not slower)


RUN: dict[str, Callable[[argparse.Namespace], None]] = {
    "grid": grid,
    "wide": wide,
    "domain": domain,
    "learning": learning,
    "speed": speed,
    "fast": fast,
}
JOBS: dict[str, Callable[..., dict[str, float]]] = {"wide": wide_job, "speed": speed_job}


if __name__ == "__main__":
    main()
