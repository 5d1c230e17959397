"""How often 95 % intervals of `understudy.inference` hold the truth about the people.

    python benchmarks/inference_coverage.py [--tables 100] [--rows 2000] [--repetitions 20]

Tables are drawn from a distribution that is known: group, age and income, each of which depends on
the one before, and a yes that depends on income. A method releases each table; a mean, a share, a
difference of means and two coefficients are estimated from the release alone, with their intervals.
Intervals for columns that no table holds together are counted apart: these carry a warning. Beside
them stand the intervals of somebody who takes synthetic rows for real ones. Noise is real.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import understudy
from understudy import Adaptive, PrivBayes, Schema, Synthesizer, Table, inference
from understudy.data.tables import Column
from understudy.inference import Statistic

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "group": {"kind": "categorical", "values": ["a", "b"]},
            "age": {"kind": "integer", "min": 20, "max": 69, "bins": 10},
            "income": {"kind": "integer", "min": 0, "max": 99, "bins": 10},
            "owner": {"kind": "integer", "min": 0, "max": 1},
        }
    }
)
METHODS: dict[str, Callable[[float], Synthesizer]] = {
    "privbayes": lambda epsilon: PrivBayes(epsilon=epsilon),
    "adaptive": lambda epsilon: Adaptive(epsilon=epsilon, delta=1e-9),
}
STATISTICS: dict[str, Statistic] = {
    "mean": inference.mean("income"),
    "share": inference.proportion("group", "a"),
    "difference": inference.difference("income", "group", ("a", "b")),
    "slope": inference.coefficient("income", ["age"], "age"),
    "logit": inference.coefficient("owner", ["income"], "income", logistic=1),
}
TRUTH_ROWS = 4_000_000
BOOTSTRAPS = 50


def draw_people(rows: int, rng: np.random.Generator) -> Table:
    """Rows from the known distribution."""
    group = (rng.random(rows) < 0.4).astype(np.int64)
    age = np.clip(rng.normal(40 + 8 * group, 12, rows), 20, 69).astype(np.int64)
    income = np.clip(rng.normal(10 + 0.8 * age + 6 * group, 15, rows), 0, 99).astype(np.int64)
    owner = (rng.random(rows) < 1 / (1 + np.exp(-(income - 50) / 20))).astype(np.int64)
    return Table(
        {
            "group": Column("text", group, words=("a", "b")),
            "age": Column("integer", age),
            "income": Column("integer", income),
            "owner": Column("integer", owner),
        }
    )


def naive_holds(table: Table, statistic: Statistic, truth: float, seed: int) -> bool:
    """Whether the interval of a bootstrap holds the truth, with synthetic rows as if real."""
    rng = np.random.default_rng(seed)
    rows = len(table.columns["age"].values)
    found = []
    for _ in range(BOOTSTRAPS):
        places = rng.integers(rows, size=rows)
        columns = {
            name: Column(column.kind, column.values[places], words=column.words)
            for name, column in table.columns.items()
        }
        found.append(statistic(Table(columns)))
    return abs(statistic(table) - truth) <= 1.96 * float(np.std(found, ddof=1))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--epsilons", nargs="+", type=float, default=(0.5, 2.0))
    parser.add_argument("--methods", nargs="+", choices=sorted(METHODS), default=sorted(METHODS))
    arguments = parser.parse_args()
    print(f"Understudy {understudy.__version__}; {os.cpu_count()} cores")
    everybody = draw_people(TRUTH_ROWS, np.random.default_rng(0))
    truths = {name: statistic(everybody) for name, statistic in STATISTICS.items()}
    for name in arguments.methods:
        for epsilon in arguments.epsilons:
            started = time.process_time()
            held: dict[str, list[bool]] = {what: [] for what in STATISTICS}
            warned: dict[str, list[bool]] = {what: [] for what in STATISTICS}
            naive = dict.fromkeys(STATISTICS, 0)
            for number in range(arguments.tables):
                table = draw_people(arguments.rows, np.random.default_rng(1 + number))
                model = METHODS[name](epsilon).fit(table, SCHEMA)
                repeated = list(inference.repeat_release(model, arguments.repetitions, seed=number))
                observed = inference.observe(model, seed=number)
                for what, statistic in STATISTICS.items():
                    scatter = [statistic(each) for each in repeated]
                    misfit = inference.misfit_variance(model, statistic, number)
                    found = inference.infer_from(statistic(observed), scatter, misfit=misfit)
                    held[what].append(found.low <= truths[what] <= found.high)
                    warned[what].append(bool(inference.find_unmeasured(model, statistic)))
                    naive[what] += naive_holds(observed, statistic, truths[what], number)
            seconds = time.process_time() - started
            print(
                f"\n{name}, epsilon {epsilon:g}: {arguments.tables} tables of {arguments.rows:,} "
                f"rows, {arguments.repetitions} repetitions, {seconds:.0f} CPU s"
            )
            for what in STATISTICS:
                flagged, right = np.array(warned[what]), np.array(held[what])
                print(
                    f"  {what:<11} {show_share(right[~flagged])}; measured apart "
                    f"{show_share(right[flagged])}; rows taken for real ones "
                    f"{100 * naive[what] / arguments.tables:5.1f} %",
                    flush=True,
                )


def show_share(held: NDArray[np.bool_]) -> str:
    """How many of some intervals held, and what chance makes of 95 %."""
    if not len(held):
        return "held      - of   0"
    chance = 100 * 1.96 * math.sqrt(0.95 * 0.05 / len(held))
    return f"held {100 * held.mean():5.1f} % of {len(held):3} (± {chance:.0f} by chance)"


if __name__ == "__main__":
    main()
