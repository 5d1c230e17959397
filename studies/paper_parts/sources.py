"""Section 6.4, figure 11: how much of the error comes from the network, how much from the
tables.
"""

from __future__ import annotations

from paper_parts.fits import NoNoise, TwoNoises, fitted, marginal_errors, routine, rows_from
from paper_parts.tables import TASKS, Source, binary_names, general_names, split, svm_errors, whole
from study import Claim, Options, Part, Row, Settings, curves, grid, long, means
from understudy.data.encoding import Coded

METHODS = ("PrivBayes", "BestNetwork", "BestMarginal")
MEASURES = ("marginals", "svm")


def cells(options: Options) -> list[Settings]:
    tables = binary_names(options) + general_names(options)
    epsilons = (0.2,) if options.quick else (0.05, 0.2, 0.8)
    return grid(
        table=tables, task=MEASURES, epsilon=epsilons, method=METHODS, repeat=range(options.repeats)
    )


def run(options: Options, settings: Settings) -> dict[str, float]:
    if settings["task"] == "marginals":
        source = whole(options.data, settings["table"])
        errors = marginal_errors(source, _rows(options, source, settings))
        return {"marginals": list(errors.values())[-1]}
    source = split(options.data, settings["table"])
    task = next(iter(source.tasks))
    return {"svm": svm_errors(_rows(options, source, settings), source, [task])[task]}


def _rows(options: Options, source: Source, settings: Settings) -> Coded:
    noise, method = options.noise(settings), settings["method"]
    if method == "BestNetwork":
        noise = TwoNoises(NoNoise(), noise)
    elif method == "BestMarginal":
        noise = TwoNoises(noise, NoNoise())
    return rows_from(
        fitted(source, settings["epsilon"], noise, **routine(source)), source, settings
    )


def conclude(rows: list[Row]) -> list[Claim]:
    """The paper says the first of all tables, the second in general: of most of them."""
    counting, classifying = _gains(rows, "marginals"), _gains(rows, "svm")
    mostly = (
        sum(network > tables for tables, network in classifying.values()) > len(classifying) / 2
    )
    return [
        Claim(
            "The error of marginals comes mainly from noise in the tables",
            all(tables > network for tables, network in counting.values()),
            _told(counting),
        ),
        Claim("Classification suffers more from noisy networks", mostly, _told(classifying)),
    ]


def _gains(rows: list[Row], measure: str) -> dict[str, tuple[float, float]]:
    """What exact tables and what an exact network take off the error, as shares of it."""
    found = means(rows, measure, "table", "method")
    names = dict.fromkeys(row["table"] for row in rows)
    share = {key: 1 - error / found[key[0], "PrivBayes"] for key, error in found.items()}
    return {name: (share[name, "BestMarginal"], share[name, "BestNetwork"]) for name in names}


def _told(gains: dict[str, tuple[float, float]]) -> str:
    return "; ".join(
        f"{name}: exact tables take {tables:.0%} off, an exact network {network:.0%}"
        for name, (tables, network) in gains.items()
    )


def draw(rows: list[Row]) -> object:
    shown = [
        row
        | {"measure": next(iter(TASKS[row["table"]])) if row["measure"] == "svm" else "marginals"}
        for row in long(rows, *MEASURES)
    ]
    return curves(shown, x="epsilon", y="value", line="method", panel=("table", "measure"), wide=4)


PART = Part("sources", "Sources of error (section 6.4, figure 11)", cells, run, conclude, draw)
