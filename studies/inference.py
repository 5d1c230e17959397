"""Size and power of ordinary tests of independence on synthetic rows, where the truth is known.

    python studies/inference.py [--repeats N] [--quick]

Four columns of four values; the first two are independent (size) or tied by a correlation of 0.2
(power). The tests are Pearson's chi-squared and Spearman's, at 5 %: on the real rows, on as many
synthetic ones as if those were real, and with p-values from repetitions of the release
(:mod:`understudy.inference`), which know how the rows were made.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from study import Claim, Options, Part, Row, Settings, Study, curves, grid, long, means, seed_of
from understudy import PrivBayes, Schema, Table
from understudy.data.tables import Column
from understudy.evaluation.inference import (
    SIGNIFICANCE_LEVEL,
    chi_squared_of,
    chi_squared_p,
    power,
    spearman_of,
    spearman_p,
)
from understudy.inference import repeat_release, shuffle_column
from understudy.privacy.mechanisms import SeededNoise

NAMES = ("a", "b", "c", "d")
SCHEMA = Schema.from_dict(
    {"attributes": {n: {"kind": "integer", "min": 0, "max": 3, "bins": 4} for n in NAMES}}
)
EPSILONS, QUICK_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0), (1.0, 10.0)
SPREADS = ("even", "independent")
TIES = {"independent": 0.0, "tied": 0.2}
TESTS = ("Pearson", "Spearman")
STATISTICS = {"Pearson": chi_squared_of, "Spearman": spearman_of}
MATCHED_EPSILONS, QUICK_MATCHED_EPSILONS = (0.3, 1.0, 10.0), (1.0,)
REPETITIONS = 19
"""With this many a p-value of 5 % is that of a statistic larger than all of them."""

TABLES_A_RUN = 30
SIZE_RANGE = (0.03, 0.08)


def cells(options: Options) -> list[Settings]:
    epsilons = QUICK_EPSILONS if options.quick else EPSILONS
    return grid(truth=tuple(TIES), spread=SPREADS, epsilon=epsilons, repeat=range(options.repeats))


def run(options: Options, settings: Settings) -> Mapping[str, float]:
    """The share of rejections among a few tables, real and synthetic."""
    noise = options.noise(settings)

    def synthesise(table: Table, seed: int) -> Table:
        model = PrivBayes(epsilon=settings["epsilon"]).fit(table, SCHEMA, noise=noise)
        return model.sample(table.rows, seed=seed, spread=settings["spread"])

    tables, rows = (5, 300) if options.quick else (20, 1000)
    rates = power(
        lambda rng: truth(rng, rows, TIES[settings["truth"]]),
        synthesise,
        tested,
        repeats=tables,
        seed=seed_of(settings),
    )
    return {
        f"{name}, {side}": getattr(rates[name], side).share
        for name in TESTS
        for side in ("real", "synthetic")
    }


def truth(rng: np.random.Generator, rows: int, tie: float) -> Table:
    """Normal numbers cut at their quartiles, more or less."""
    numbers = rng.normal(size=(rows, len(NAMES)))
    numbers[:, 1] = tie * numbers[:, 0] + np.sqrt(1 - tie**2) * numbers[:, 1]
    codes = np.digitize(numbers, [-0.67, 0.0, 0.67])
    return Table({name: Column("integer", codes[:, place]) for place, name in enumerate(NAMES)})


def tested(table: Table) -> dict[str, float]:
    return {"Pearson": chi_squared_p(table, "a", "b"), "Spearman": spearman_p(table, "a", "b")}


def conclude(rows: list[Row]) -> list[Claim]:
    epsilons = sorted({row["epsilon"] for row in rows})
    claims = []
    for name in TESTS:
        found = means(rows, f"{name}, synthetic", "truth", "spread", "epsilon")
        real = means(rows, f"{name}, real", "truth")

        def told(truth: str, spread: str, found: Mapping[Any, float] = found) -> str:
            return ", ".join(
                f"{100 * found[truth, spread, epsilon]:.0f} % at {epsilon:g}"
                for epsilon in epsilons
            )

        worst = max(
            found["independent", spread, epsilon] for spread in SPREADS for epsilon in epsilons
        )
        claims += [
            Claim(
                f"{name}'s test keeps its size of {100 * SIGNIFICANCE_LEVEL:g} % on synthetic "
                "rows (below twice that everywhere)",
                worst < 2 * SIGNIFICANCE_LEVEL,
                f"false alarms on real rows {100 * real['independent']:.1f} %; rows spread evenly "
                f"{told('independent', 'even')}; drawn one by one "
                f"{told('independent', 'independent')}",
            ),
            Claim(
                f"{name}'s test finds the tie more often the larger epsilon is",
                found["tied", "even", epsilons[-1]] > found["tied", "even", epsilons[0]],
                f"on real rows {100 * real['tied']:.0f} %; rows spread evenly "
                f"{told('tied', 'even')}",
            ),
            Claim(
                f"At the largest epsilon {name}'s test raises fewer false alarms on rows spread "
                "evenly than on rows "
                f"drawn one by one",
                found["independent", "even", epsilons[-1]]
                < found["independent", "independent", epsilons[-1]],
                f"{100 * found['independent', 'even', epsilons[-1]]:.1f} % against "
                f"{100 * found['independent', 'independent', epsilons[-1]]:.1f} % at "
                f"{epsilons[-1]:g}",
            ),
        ]
    return claims


def draw(rows: list[Row]) -> Any:
    synthetic = [f"{name}, synthetic" for name in TESTS]
    return curves(
        long(rows, *synthetic), x="epsilon", y="value", line="spread", panel=("truth", "measure")
    )


# --------------------------------------------------------------------------- matching inference


def matched_cells(options: Options) -> list[Settings]:
    epsilons = QUICK_MATCHED_EPSILONS if options.quick else MATCHED_EPSILONS
    return grid(truth=tuple(TIES), epsilon=epsilons, repeat=range(options.repeats))


def run_matched(options: Options, settings: Settings) -> Mapping[str, float]:
    """The share of rejections among a few tables: on real rows, naively, and by repetitions."""
    tables, rows = (2, 300) if options.quick else (TABLES_A_RUN, 1000)
    rng = np.random.default_rng(seed_of(settings))
    rejected = {f"{name}, {side}": 0 for name in TESTS for side in ("real", "naive", "matched")}
    for _ in range(tables):
        real = truth(rng, rows, TIES[settings["truth"]])
        noise = SeededNoise(int(rng.integers(1 << 31)))
        model = PrivBayes(epsilon=settings["epsilon"]).fit(real, SCHEMA, noise=noise)
        seed = int(rng.integers(1 << 31))
        synthetic = model.sample(model.rows, seed=seed)
        null = list(repeat_release(model, REPETITIONS, seed=seed, change=shuffle_column("a")))
        for name, naive in tested(synthetic).items():
            found = abs(STATISTICS[name](synthetic, "a", "b"))
            larger = sum(abs(STATISTICS[name](table, "a", "b")) >= found for table in null)
            rejected[f"{name}, real"] += tested(real)[name] < SIGNIFICANCE_LEVEL
            rejected[f"{name}, naive"] += naive < SIGNIFICANCE_LEVEL
            rejected[f"{name}, matched"] += (1 + larger) / (1 + REPETITIONS) <= SIGNIFICANCE_LEVEL
    return {name: count / tables for name, count in rejected.items()}


def conclude_matched(rows: list[Row]) -> list[Claim]:
    epsilons = sorted({row["epsilon"] for row in rows})
    low, high = SIZE_RANGE
    claims = []
    for name in TESTS:
        found = {
            side: means(rows, f"{name}, {side}", "truth", "epsilon")
            for side in ("real", "naive", "matched")
        }
        sizes = [found["matched"]["independent", epsilon] for epsilon in epsilons]

        def told(side: str, kind: str, found: Any = found) -> str:
            return ", ".join(
                f"{100 * found[side][kind, epsilon]:.1f} % at {epsilon:g}" for epsilon in epsilons
            )

        claims += [
            Claim(
                f"{name}'s test by repetitions keeps its size: {100 * low:g} to {100 * high:g} % "
                f"where {100 * SIGNIFICANCE_LEVEL:g} % is nominal",
                all(low <= size <= high for size in sizes),
                f"false alarms by repetitions {told('matched', 'independent')}; naively "
                f"{told('naive', 'independent')}; on real rows {told('real', 'independent')}",
            ),
            Claim(
                f"{name}'s test by repetitions finds the tie more often the larger epsilon is",
                found["matched"]["tied", epsilons[-1]] >= found["matched"]["tied", epsilons[0]],
                f"power by repetitions {told('matched', 'tied')}; naively "
                f"{told('naive', 'tied')}; on real rows {told('real', 'tied')}",
            ),
        ]
    return claims


def draw_matched(rows: list[Row]) -> Any:
    matched = [f"{name}, {side}" for name in TESTS for side in ("naive", "matched")]
    return curves(long(rows, *matched), x="epsilon", y="value", line="measure", panel=("truth",))


STUDY = Study(
    "inference",
    "Tests of independence on synthetic rows: size and power",
    (
        Part("tests", "Pearson's and Spearman's test", cells, run, conclude, draw),
        Part(
            "matched",
            "The same tests by repetitions of the release",
            matched_cells,
            run_matched,
            conclude_matched,
            draw_matched,
        ),
    ),
    repeats=10,
    notes=(
        "A run is 20 tables of 1,000 rows; PrivBayes as it is by default. P-values are those of "
        "real rows: naive.",
        "By repetitions: 30 tables a run, each release repeated 19 times.",
    ),
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
