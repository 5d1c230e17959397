"""Section 6.6, figures 16 to 19: four classifiers a table, PrivBayes against PrivateERM, PrivGene
and Majority.

PrivBayes makes one synthetic table for all four; the others train one classifier at a time, each
with a quarter of epsilon. PrivateERM (Single) is allowed all of it for each.
"""

from __future__ import annotations

import numpy as np

from baselines.majority import majority
from baselines.private_erm import private_erm
from baselines.privgene import privgene
from paper_parts.fits import EPSILONS, routine, synthetic
from paper_parts.tables import (
    TASKS,
    Source,
    binary_names,
    constant_error,
    design,
    distinct,
    general_names,
    labels,
    split,
    svm_errors,
    weights_error,
)
from study import Claim, Options, Part, Row, Settings, curves, grid, long, means, seed_of, where

METHODS = ("PrivBayes", "PrivateERM", "PrivateERM (Single)", "PrivGene", "Majority")
CLASSIFIERS = 4


def cells(options: Options) -> list[Settings]:
    tables = binary_names(options) + general_names(options)
    epsilons = (0.1, 0.8) if options.quick else EPSILONS
    private = grid(table=tables, method=METHODS, epsilon=epsilons, repeat=range(options.repeats))
    return private + grid(table=tables, method=["NoPrivacy"], epsilon=[epsilons[0]], repeat=[0])


def run(options: Options, settings: Settings) -> dict[str, float]:
    source = split(options.data, settings["table"])
    if settings["method"] == "NoPrivacy":
        return svm_errors(source.rows, source)
    if settings["method"] == "PrivBayes":
        return svm_errors(synthetic(options, source, settings, **routine(source)), source)
    return {task: _error(options, source, task, settings) for task in source.tasks}


def _error(options: Options, source: Source, task: str, settings: Settings) -> float:
    seeds = settings | {"task": task}
    noise = options.noise(seeds)
    rng = np.random.default_rng(None if options.real_noise else seed_of({"vector": seeds}))
    share = settings["epsilon"] / (
        1 if settings["method"] == "PrivateERM (Single)" else CLASSIFIERS
    )
    column, _ = source.tasks[task]
    if settings["method"] == "Majority":
        return constant_error(
            source, task, majority(labels(source.rows, source.tasks[task]), share, noise)
        )
    rows, counts = distinct(source.rows)
    known, said = design(rows, column), labels(rows, source.tasks[task])
    if settings["method"] == "PrivGene":
        weights = privgene(known.matrix, said, counts, known.groups, share, noise, rng)
    else:
        weights = private_erm(known.unit, said, counts, share, rng)
    return weights_error(source, task, weights)


def conclude(rows: list[Row]) -> list[Claim]:
    tall = _tall(rows)
    errors = means(tall, "value", "table", "measure", "epsilon", "method")
    best = means(where(tall, method="NoPrivacy"), "value", "table", "measure")
    return [
        _against(
            errors,
            ("PrivateERM", "PrivGene"),
            "PrivBayes outperforms PrivateERM and PrivGene in almost all cases (nine of ten)",
            0.9,
        ),
        _nltcs(errors),
        _single(errors),
        _majority(errors),
        _limit(errors, best),
    ]


Errors = dict[tuple[str, str, float, str], float]


def _tall(rows: list[Row]) -> list[Row]:
    return long(
        rows,
        *dict.fromkeys(task for table in {row["table"] for row in rows} for task in TASKS[table]),
    )


def _against(errors: Errors, others: tuple[str, ...], text: str, enough: float) -> Claim:
    numbers, shares = [], []
    for method in others:
        cases = [key for key in errors if key[3] == method]
        ahead = [key for key in cases if errors[*key[:3], "PrivBayes"] < errors[key]]
        shares.append(len(ahead) / len(cases))
        gain = np.mean([errors[key] - errors[*key[:3], "PrivBayes"] for key in cases])
        numbers.append(
            f"{method}: ahead in {len(ahead)} of {len(cases)}, mean rate lower by {gain:.3f}"
        )
    return Claim(text, min(shares) >= enough, "; ".join(numbers))


def _nltcs(errors: Errors) -> Claim:
    behind: dict[str, int] = {}
    for table, task, epsilon, method in errors:
        if method in ("PrivateERM", "PrivGene"):
            lost = errors[table, task, epsilon, "PrivBayes"] >= errors[table, task, epsilon, method]
            behind[table] = behind.get(table, 0) + lost
    numbers = ", ".join(f"{table} {count}" for table, count in behind.items())
    held = sum(behind.values()) == behind.get("nltcs", 0)
    return Claim(
        "The exceptions are on NLTCS alone", held, f"cases where PrivBayes is not ahead: {numbers}"
    )


def _single(errors: Errors) -> Claim:
    shares = {}
    for table in dict.fromkeys(key[0] for key in errors):
        cases = [key for key in errors if key[0] == table and key[3] == "PrivateERM (Single)"]
        shares[table] = float(
            np.mean([errors[key] < errors[*key[:3], "PrivBayes"] for key in cases])
        )
    numbers = ", ".join(f"{table} {share:.0%}" for table, share in shares.items())
    held = (
        all(share > 0.5 for table, share in shares.items() if table != "adult")
        and shares.get("adult", 0) <= 0.5
    )
    return Claim(
        "PrivateERM (Single) outperforms PrivBayes in most cases, except on Adult",
        held,
        f"cases: {numbers}",
    )


def _majority(errors: Errors) -> Claim:
    spread: dict[tuple[str, str], list[float]] = {}
    for table, task, _, method in errors:
        if method == "Majority":
            spread.setdefault((table, task), [])
    for table, task, epsilon, method in errors:
        if method == "Majority":
            spread[table, task].append(errors[table, task, epsilon, method])
    widest = max(spread, key=lambda key: max(spread[key]) - min(spread[key]))
    width = max(spread[widest]) - min(spread[widest])
    numbers = f"largest change over epsilon: {width:.3f}, {widest[0]} {widest[1]}"
    return Claim("Majority does not depend on epsilon (within 0.01)", width <= 0.01, numbers)


def _limit(errors: Errors, best: dict[tuple[str, str], float]) -> Claim:
    epsilons = sorted({key[2] for key in errors if key[3] == "PrivBayes"})
    gaps = {
        e: float(np.mean([errors[t, q, e, "PrivBayes"] - best[t, q] for t, q in best]))
        for e in epsilons
    }
    numbers = "mean distance of PrivBayes to NoPrivacy: " + ", ".join(
        f"{gap:.3f} at {e:g}" for e, gap in gaps.items()
    )
    return Claim(
        "NoPrivacy is the best case, and PrivBayes comes closer to it as epsilon grows",
        min(gaps.values()) > 0 and gaps[epsilons[-1]] < gaps[epsilons[0]],
        numbers,
    )


def draw(rows: list[Row]) -> object:
    """NoPrivacy has no epsilon: it is drawn as a level."""
    epsilons = sorted({row["epsilon"] for row in rows})
    level = [row | {"epsilon": e} for row in where(rows, method="NoPrivacy") for e in epsilons]
    private = [row for row in rows if row["method"] != "NoPrivacy"]
    return curves(
        _tall(private + level), x="epsilon", y="value", line="method", panel=("table", "measure")
    )


PART = Part(
    "classification",
    "Classifiers against baselines (section 6.6, figures 16 to 19)",
    cells,
    run,
    conclude,
    draw,
)
