"""Section 6.4, figures 9 and 10: beta and theta, by one query set and one classifier a table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from paper_parts.fits import marginal_errors, routine, synthetic
from paper_parts.tables import TASKS, binary_names, general_names, split, svm_errors, whole
from study import Claim, Options, Part, Row, Settings, curves, grid, long, means

BETAS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
THETAS = (1.0, 2.0, 3.0, 4.0, 6.0, 12.0)
DEFAULTS = {"beta": 0.3, "theta": 4.0}
GOOD = {"beta": (0.2, 0.5), "theta": (3.0, 6.0)}
MARGIN = 0.1
"""An error is called comparable to the best one within this share of it."""
MOST_REPEATS = 2
"""There are many cells here, and every claim is over a mean of eight cases."""


def cells(options: Options) -> list[Settings]:
    tables = binary_names(options) + general_names(options)
    epsilons = (0.2,) if options.quick else (0.2, 0.8)
    values = (
        {"beta": BETAS[::2], "theta": THETAS[1::2]}
        if options.quick
        else {"beta": BETAS, "theta": THETAS}
    )
    repeats = range(min(options.repeats, MOST_REPEATS))
    return [
        cell
        for table, task in itertools.product(tables, ("marginals", "svm"))
        for epsilon, name in itertools.product(epsilons, values)
        for cell in grid(
            table=[table],
            task=[task],
            epsilon=[epsilon],
            parameter=[name],
            value=values[name],
            repeat=repeats,
        )
    ]


def run(options: Options, settings: Settings) -> dict[str, float]:
    parameters = DEFAULTS | {settings["parameter"]: settings["value"]}
    if settings["task"] == "marginals":
        source = whole(options.data, settings["table"])
        errors = marginal_errors(
            source, synthetic(options, source, settings, **parameters, **routine(source))
        )
        return {"marginals": list(errors.values())[-1]}
    source = split(options.data, settings["table"])
    task = next(iter(source.tasks))
    learned = synthetic(options, source, settings, **parameters, **routine(source))
    return {"svm": svm_errors(learned, source, [task])[task]}


def conclude(rows: list[Row]) -> list[Claim]:
    return [
        _range(rows, name, measure)
        for name in ("beta", "theta")
        for measure in ("marginals", "svm")
    ]


def _range(rows: list[Row], name: str, measure: str) -> Claim:
    """Whether each value of the range is within a tenth of the best of its case, on average."""
    low, high = GOOD[name]
    inside = [row for row in rows if row["parameter"] == name]
    cases: dict[tuple[str, float], dict[float, float]] = {}
    for (table, epsilon, value), error in means(
        inside, measure, "table", "epsilon", "value"
    ).items():
        cases.setdefault((table, epsilon), {})[value] = error
    values = sorted({row["value"] for row in inside})
    excess = {
        value: _mean([case[value] / min(case.values()) - 1 for case in cases.values()])
        for value in values
    }
    held = all(excess[value] <= MARGIN for value in values if low <= value <= high)
    numbers = "mean excess over the best: " + ", ".join(
        f"{value:g}: {share:.1%}" for value, share in excess.items()
    )
    what = {"marginals": "for marginals", "svm": "for classification"}[measure]
    return Claim(
        f"{name} in [{low:g}, {high:g}] is good {what} (within 10 % of the best on average)",
        held,
        numbers,
    )


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def draw(rows: list[Row]) -> object:
    names: Mapping[str, str] = {
        table: next(iter(TASKS[table])) for table in {row["table"] for row in rows}
    }
    renamed = [
        {"setting" if key == "value" else key: value for key, value in row.items()} for row in rows
    ]
    shown = [
        row | {"measure": names[row["table"]] if row["measure"] == "svm" else "marginals"}
        for row in long(renamed, "marginals", "svm")
    ]
    return curves(
        shown, x="setting", y="value", line="epsilon", panel=("parameter", "table", "measure")
    )


PART = Part(
    "parameters", "Choice of parameters (section 6.4, figures 9 and 10)", cells, run, conclude, draw
)
