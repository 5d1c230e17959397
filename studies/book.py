"""The book on privacy-preserving machine learning, section 6.3: histograms and marginals made into
synthetic rows.

    python studies/book.py [--data DIR] [--repeats N] [--quick]

Adult's training part (32,561 rows): a private histogram of age and the range counts that it
answers; synthetic rows from the two-way marginal of age and marital status, and from three-way ones
with occupation. The book's listings are put right: noise of its own in every cell, every cell of a
public domain, the number of rows from the noisy table itself, the whole budget said. The listing as
it is printed is run beside them, marked as not private: its noise is one number for all cells, over
the cells that happen to hold somebody.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from study import (
    Claim,
    Options,
    Part,
    Row,
    Settings,
    Study,
    curves,
    grid,
    long,
    means,
    seed_of,
    where,
)
from understudy import Schema, Table, read_table
from understudy.data.encoding import encode
from understudy.data.tables import Column
from understudy.errors import InputError
from understudy.synthesizers.marginals import Marginals

Floats = NDArray[np.float64]
Codes = Mapping[str, NDArray[Any]]

ROWS = 32_561
AGES = 100
COLUMNS = ("age", "marital_status", "occupation")
JOINT = COLUMNS[:2]
EPSILONS, QUICK_EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), (0.1, 1.0)


# --------------------------------------------------------------------------- the table


@lru_cache
def adult(folder: Path) -> tuple[Table, Schema]:
    """The three columns of Adult's training part, which comes first in the file; ages from 0 to 99
    are public.
    """
    table = read_table(folder / "adult.csv")
    if table.rows < ROWS:
        raise InputError(f"{table.source} has {table.rows:,} rows; the study needs all of Adult.")
    columns = {name: first_rows(table.columns[name]) for name in COLUMNS}
    marital, occupation = (list(columns[name].words) for name in COLUMNS[1:])
    schema = {
        "age": {"kind": "integer", "min": 0, "max": AGES - 1, "bins": AGES},
        "marital_status": {"kind": "categorical", "values": marital},
        "occupation": {
            "kind": "categorical",
            "values": [w for w in occupation if w != "?"],
            "missing": "?",
        },
    }
    return Table(columns, table.source), Schema.from_dict({"attributes": schema})


def first_rows(column: Column) -> Column:
    return Column(column.kind, column.values[:ROWS], column.words)


def part_of(options: Options, names: Sequence[str]) -> tuple[Table, Schema]:
    """Some of the columns, with their schema."""
    table, schema = adult(options.data)
    return Table({n: table.columns[n] for n in names}, table.source), Schema(
        tuple(schema[n] for n in names)
    )


def exact(options: Options, names: Sequence[str]) -> Floats:
    """The exact counts over some columns: to compare with, for the owner's eyes."""
    table, schema = part_of(options, names)
    return counted(encode(table, schema).codes, schema, names)


def counted(codes: Codes, schema: Schema, names: Sequence[str]) -> Floats:
    shape = tuple(schema[name].size for name in names)
    places = np.ravel_multi_index(tuple(codes[name].astype(np.int64) for name in names), shape)
    return np.bincount(places, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def distance(real: Floats, synthetic: Floats) -> float:
    """Total variation distance of two tables of counts."""
    return float(np.abs(real / real.sum() - synthetic / max(synthetic.sum(), 1)).sum()) / 2


# --------------------------------------------------------------------------- range counts (6.3.1)

RANGES = {1: (44, 45), 11: (44, 55), 30: (30, 60), 83: (17, 100)}
"""Half-open ranges of age by their width; the one of eleven years is the book's."""
BOOK_ANSWER, BOOK_TRUTH = 6583.15, 6577


def range_cells(options: Options) -> list[Settings]:
    return grid(
        epsilon=QUICK_EPSILONS if options.quick else EPSILONS, repeat=range(options.repeats)
    )


def range_run(options: Options, settings: Settings) -> Mapping[str, float]:
    """Range counts from a histogram of age, with their error bars; and the age of synthetic
    rows.
    """
    table, schema = part_of(options, ("age",))
    truth = exact(options, ("age",))
    model = Marginals(epsilon=settings["epsilon"]).fit(table, schema, noise=options.noise(settings))
    found: dict[str, float] = {
        "rows": abs(float(model.rows or 0) - ROWS),
        "questions": len(model.ledger.entries),
    }
    for width, (low, high) in RANGES.items():
        answer = model.query(f"count where age >= {low} and age < {high}")
        real = float(truth[low:high].sum())
        found |= {
            f"error_{width}": answer.value - real,
            f"within_{width}": answer.low <= real <= answer.high,
        }
    sample = model.sample(ROWS, seed_of(settings) >> 2, spread="independent")
    return found | {"age": distance(truth, counted(encode(sample, schema).codes, schema, ("age",)))}


def range_claims(rows: list[Row]) -> list[Claim]:
    spread = root_mean_square(where(rows, epsilon=1.0), "error_11")
    expected = math.sqrt(2 * 11)
    inside = {width: float(np.mean([row[f"within_{width}"] for row in rows])) for width in RANGES}
    widths = ", ".join(
        f"{root_mean_square(where(rows, epsilon=1.0), f'error_{w}'):.1f} over {w} years"
        for w in RANGES
    )
    one_by_one = spread / math.sqrt(2)
    ages = means(rows, "age", "epsilon")
    return [
        Claim(
            "The book's answer for ages 44 to 54 is as far off as independent noise in 11 cells "
            "makes it",
            abs(BOOK_ANSWER - BOOK_TRUTH) < 2 * expected,
            f"off by {BOOK_ANSWER - BOOK_TRUTH:.1f}, one standard deviation is {expected:.2f} at "
            "epsilon 1",
        ),
        Claim(
            "Here it is as far off as that, or nearer",
            spread < 1.2 * expected,
            f"root mean square error at epsilon 1: {widths}",
        ),
        Claim(
            "The error bars hold the truth in about 95 % of runs, whatever the width",
            min(inside.values()) >= 0.9,
            ", ".join(f"{100 * share:.0f} % over {width} years" for width, share in inside.items()),
        ),
        Claim(
            "One histogram answers them all at one price",
            {row["questions"] for row in rows} == {1.0},
            f"each count by itself would be worse from {math.floor(one_by_one) + 1} counts on",
        ),
        Claim(
            "The number of rows comes with the histogram, without a second epsilon",
            float(np.mean([row["rows"] for row in where(rows, epsilon=1.0)])) < 0.001 * ROWS,
            f"off by {np.mean([row['rows'] for row in where(rows, epsilon=1.0)]):.0f} of {ROWS:,} "
            "at epsilon 1",
        ),
        Claim(
            "Synthetic ages are distributed like the real ones at epsilon 1",
            ages[1.0] < 1.2 * ages[max(ages)],
            f"total variation distance {ages[1.0]:.4f}, and {ages[max(ages)]:.4f} at epsilon "
            f"{max(ages):g}, where "
            f"drawing rows is nearly all of it",
        ),
    ]


def root_mean_square(rows: Sequence[Row], name: str) -> float:
    return float(np.sqrt(np.mean([row[name] ** 2 for row in rows])))


def range_figure(rows: list[Row]) -> Any:
    sized = [
        {"epsilon": row["epsilon"], **{str(w): abs(row[f"error_{w}"]) for w in RANGES}}
        for row in rows
    ]
    spread = long(sized, *map(str, RANGES))
    return curves(
        [r | {"panel": "mean error (rows) by width"} for r in spread],
        x="epsilon",
        y="value",
        line="measure",
        panel=("panel",),
    )


# --------------------------------------------------------------------------- two columns (6.3.3)

INDEPENDENT, TOGETHER, CLIPPED = (
    "independent columns",
    "age x marital status",
    "age x marital status, clipped",
)
PRINTED = "as printed (not private)"
BOOK_DISTANCE = 0.0023
"""Total variation distance of the marital counts that the book prints."""


def pair_cells(options: Options) -> list[Settings]:
    epsilons = QUICK_EPSILONS if options.quick else EPSILONS
    return grid(
        method=(INDEPENDENT, TOGETHER, CLIPPED, PRINTED),
        epsilon=epsilons,
        repeat=range(options.repeats),
    )


def pair_run(options: Options, settings: Settings) -> Mapping[str, float]:
    truth = exact(options, JOINT)
    if settings["method"] == PRINTED:
        synthetic = printed_rows(
            truth, settings["epsilon"], np.random.default_rng(seed_of(settings))
        )
    else:
        groups = [] if settings["method"] == INDEPENDENT else [JOINT]
        repair: Any = "clip" if settings["method"] == CLIPPED else "project"
        method = Marginals(epsilon=settings["epsilon"], marginals=groups, repair=repair)
        synthetic = drawn(options, settings, method, JOINT)
    return {
        "joint": distance(truth, synthetic),
        "age": distance(truth.sum(axis=1), synthetic.sum(axis=1)),
        "marital": distance(truth.sum(axis=0), synthetic.sum(axis=0)),
        "made_up": float(synthetic[truth == 0].sum() / max(synthetic.sum(), 1)),
        "single": float((truth == 1).sum()),
    }


def drawn(options: Options, settings: Settings, method: Marginals, names: Sequence[str]) -> Floats:
    """The counts of as many synthetic rows as there are real ones."""
    table, schema = part_of(options, names)
    model = method.fit(table, schema, noise=options.noise(settings))
    sample = model.sample(ROWS, seed_of(settings) >> 2, spread="independent")
    return counted(encode(sample, schema).codes, schema, names)


def printed_rows(truth: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """The counts of rows by the book's listings 6.11 to 6.13. NOT PRIVATE.

    One number is added to all cells, and only to those that hold somebody, so that the differences
    between cells are exact and an empty cell stays empty.
    """
    noisy = np.where(truth > 0, np.maximum(truth + rng.laplace(0.0, 1 / epsilon), 0.0), 0.0)
    rows = int(max(ROWS + rng.laplace(0.0, 1 / epsilon), 0))
    return (
        rng.multinomial(rows, (noisy / noisy.sum()).ravel()).reshape(truth.shape).astype(np.float64)
    )


def pair_claims(rows: list[Row]) -> list[Claim]:
    found = {
        name: means(rows, name, "method", "epsilon")
        for name in ("joint", "age", "marital", "made_up")
    }
    epsilons = sorted({row["epsilon"] for row in rows})
    ahead = [e for e in epsilons if found["joint"][TOGETHER, e] < found["joint"][INDEPENDENT, e]]
    joint = {
        method: found["joint"][method, 1.0] for method in (INDEPENDENT, TOGETHER, CLIPPED, PRINTED)
    }
    marital = {method: found["marital"][method, 1.0] for method in joint}
    made_up = {method: found["made_up"][method, 0.1] for method in joint}
    single = int(rows[0]["single"])
    return [
        Claim(
            "Independent columns lose the tie of age and marital status, the two-way marginal "
            "keeps it",
            joint[TOGETHER] < joint[INDEPENDENT] / 2,
            f"distance of the joint table at epsilon 1: {joint[INDEPENDENT]:.3f} against "
            f"{joint[TOGETHER]:.3f}",
        ),
        Claim(
            "The two-way marginal is the better one at every epsilon",
            ahead == epsilons,
            ", ".join(
                f"{found['joint'][INDEPENDENT, e]:.3f} against {found['joint'][TOGETHER, e]:.3f} "
                f"at {e:g}"
                for e in epsilons
            ),
        ),
        Claim(
            "At epsilon 1 marital counts are as near as those that the book prints",
            marital[TOGETHER] < 2 * BOOK_DISTANCE,
            f"{marital[TOGETHER]:.4f} with noise in every cell, {marital[PRINTED]:.4f} as printed, "
            f"{BOOK_DISTANCE} in "
            f"the book's run",
        ),
        Claim(
            "Projecting makes fewer people up in empty cells than the book's clipping, and is "
            "nearer",
            made_up[TOGETHER] < made_up[CLIPPED]
            and found["joint"][TOGETHER, 0.1] < found["joint"][CLIPPED, 0.1],
            f"rows in cells that hold nobody, at epsilon 0.1: {100 * made_up[CLIPPED]:.1f} % "
            "clipped, "
            f"{100 * made_up[TOGETHER]:.1f} % projected; distance "
            f"{found['joint'][CLIPPED, 0.1]:.3f} against "
            f"{found['joint'][TOGETHER, 0.1]:.3f}",
        ),
        Claim(
            "The listing as printed is differentially private",
            single == 0,
            f"{single} cells hold one person alone: without that person the cell is gone, so no "
            "epsilon covers it",
        ),
    ]


def pair_figure(rows: list[Row]) -> Any:
    return curves(
        long(rows, "joint", "age", "marital"),
        x="epsilon",
        y="value",
        line="method",
        panel=("measure",),
    )


# --------------------------------------------------------------------------- three columns

WAYS: dict[str, list[tuple[str, ...]]] = {
    "independent columns": [],
    "two two-way marginals": [("age", "marital_status"), ("marital_status", "occupation")],
    "one three-way marginal": [COLUMNS],
}


def triple_cells(options: Options) -> list[Settings]:
    epsilons = QUICK_EPSILONS if options.quick else EPSILONS
    return grid(method=tuple(WAYS), epsilon=epsilons, repeat=range(options.repeats))


def triple_run(options: Options, settings: Settings) -> Mapping[str, float]:
    truth = exact(options, COLUMNS)
    method = Marginals(epsilon=settings["epsilon"], marginals=WAYS[settings["method"]])
    synthetic = drawn(options, settings, method, COLUMNS)
    pairs = [distance(truth.sum(axis=left), synthetic.sum(axis=left)) for left in range(3)]
    return {"three_way": distance(truth, synthetic), "two_way": float(np.mean(pairs))}


def triple_claims(rows: list[Row]) -> list[Claim]:
    three, two = (means(rows, name, "method", "epsilon") for name in ("three_way", "two_way"))
    epsilons = sorted({row["epsilon"] for row in rows})
    independent, chain, whole = WAYS

    def told(found: Mapping[Any, float]) -> str:
        return ", ".join(
            f"{found[chain, e]:.3f} against {found[whole, e]:.3f} at {e:g}" for e in epsilons
        )

    return [
        Claim(
            "The three-way marginal keeps the three-way table best at the largest epsilon",
            three[whole, epsilons[-1]]
            < min(three[chain, epsilons[-1]], three[independent, epsilons[-1]]),
            f"distance, two two-way marginals against the three-way one: {told(three)}",
        ),
        Claim(
            "At the smallest epsilon smaller tables are better",
            three[whole, epsilons[0]]
            > min(three[chain, epsilons[0]], three[independent, epsilons[0]]),
            ", ".join(f"{three[way, epsilons[0]]:.3f} for {way}" for way in WAYS)
            + f" at epsilon {epsilons[0]:g}",
        ),
        Claim(
            "Marginals beat independent columns at epsilon 1, in two-way tables too",
            max(two[chain, 1.0], two[whole, 1.0]) < two[independent, 1.0],
            f"mean distance {two[independent, 1.0]:.3f} for independent columns; the others: "
            f"{told(two)}",
        ),
    ]


def triple_figure(rows: list[Row]) -> Any:
    return curves(
        long(rows, "three_way", "two_way"),
        x="epsilon",
        y="value",
        line="method",
        panel=("measure",),
    )


# --------------------------------------------------------------------------- the study

STUDY = Study(
    "book",
    "The book, section 6.3: histograms and marginals as synthetic data",
    (
        Part(
            "ranges",
            "A histogram of age and its range counts",
            range_cells,
            range_run,
            range_claims,
            range_figure,
        ),
        Part(
            "pair",
            "Age and marital status together",
            pair_cells,
            pair_run,
            pair_claims,
            pair_figure,
        ),
        Part(
            "triple",
            "Age, marital status and occupation",
            triple_cells,
            triple_run,
            triple_claims,
            triple_figure,
        ),
    ),
    repeats=20,
    notes=(
        "Neighbours: one row more or less. Rows are drawn independently of each other, as the book "
        "does; by default "
        "Understudy deals them out evenly, which is nearer still.",
    ),
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
