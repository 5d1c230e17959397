"""What an evaluation comes to: one plain sentence for each measure, with a grade.

The grades are rules of thumb, all of them in this file. They compare with what chance alone would do, or with what the
real rows themselves achieve, wherever such a yardstick exists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from understudy.evaluation.marginals import distance_by_chance
from understudy.evaluation.result import (
    Clustering,
    ColumnComparison,
    Evaluation,
    Finding,
    Grade,
    LearningTask,
    MarginalErrors,
    NetworkQuality,
    Pairs,
    Propensity,
    RangeErrors,
    Shape,
    TestAgreement,
)

GOOD_DISTANCE, FAIR_DISTANCE = 0.05, 0.15
"""Of marginals and columns; good is also what is within twice, fair within three times, the distance made by chance."""

GOOD_RELATIVE, FAIR_RELATIVE = 0.10, 0.30
GOOD_INFORMATION, FAIR_INFORMATION = 0.10, 0.25
"""The share by which the mutual information of a pair may be off, on average weighted by information."""

GOOD_LOSS, FAIR_LOSS = 0.10, 0.33
"""The share that may be lost of what learners gain on real rows over the majority, or centres over a single one."""

GOOD_VERDICTS, FAIR_VERDICTS = 0.95, 0.80
GOOD_AUC, FAIR_AUC = 0.60, 0.75

_WORDS = {1: "One-way", 2: "Two-way", 3: "Three-way", 4: "Four-way", 5: "Five-way"}


def with_findings(found: Evaluation) -> Evaluation:
    """The evaluation with its findings filled in."""
    return replace(found, findings=tuple(_findings(found)))


def _findings(found: Evaluation) -> Iterator[Finding]:
    for marginals in found.marginals:
        yield _of_marginals(marginals)
    yield _of_columns(found.columns, found.shape)
    yield from _of_missing(found.columns)
    yield _of_ranges(found.ranges)
    if len(found.pairs.names) > 1:
        yield _of_pairs(found.pairs)
    for task in found.learning:
        yield _of_learning(task)
    yield _of_clustering(found.clustering)
    for tests in found.inference:
        yield _of_tests(tests)
    yield _of_propensity(found.propensity)
    if found.network is not None:
        yield _of_network(found.network)


def _graded(value: float, good: float, fair: float) -> Grade:
    """The smaller, the better."""
    return "good" if value <= good else "fair" if value <= fair else "poor"


def _graded_distance(distance: float, by_chance: float) -> Grade:
    return _graded(distance, max(GOOD_DISTANCE, 2 * by_chance), max(FAIR_DISTANCE, 3 * by_chance))


def _of_marginals(found: MarginalErrors) -> Finding:
    what = f"{_WORDS.get(found.order, f'{found.order}-way')} tables"
    sample = "" if found.measured == found.of else f" ({found.measured:,} of {found.of:,} were measured, at random)"
    if found.measured == 1:
        sentence = f"The table of {found.worst[0].name} differs by {_percent(found.mean)}"
    else:
        sentence = (
            f"{what} differ by {_percent(found.mean)} on average{sample}; "
            f"the worst is {found.worst[0].name} at {_percent(found.largest)}"
        )
    grade = _graded_distance(found.mean, found.by_chance)
    return Finding("marginals", grade, f"{sentence}. Chance alone would make about {_percent(found.by_chance)}.")


def _of_columns(columns: tuple[ColumnComparison, ...], shape: Shape) -> Finding:
    worst = max(columns, key=lambda column: column.total_variation)
    close = sum(column.total_variation <= GOOD_DISTANCE for column in columns)
    lost = [f"{column.name} ({_listed(column.only_real)})" for column in columns if column.only_real]
    sentence = (
        f"{close} of {len(columns)} columns have a distribution within {_percent(GOOD_DISTANCE)} of the real one; "
        f"the furthest is {worst.name} at {_percent(worst.total_variation)}."
    )
    if lost:
        sentence += f" Some real values never occur in the synthetic table: {_listed(lost, '; ')}."
    by_chance = distance_by_chance(np.array([*worst.real, worst.real_missing]), shape.real_rows, shape.synthetic_rows)
    return Finding("columns", _graded_distance(worst.total_variation, by_chance), sentence)


def _of_missing(columns: tuple[ColumnComparison, ...]) -> Iterator[Finding]:
    affected = [column for column in columns if column.real_missing or column.synthetic_missing]
    if not affected:
        return
    worst = max(affected, key=lambda column: abs(column.real_missing - column.synthetic_missing))
    gap = abs(worst.real_missing - worst.synthetic_missing)
    sentence = (
        f"Missing values are as frequent as in the real table, give or take {_percent(gap)}; the furthest is "
        f"{worst.name}: {_percent(worst.real_missing)} of the real rows, {_percent(worst.synthetic_missing)} of the "
        f"synthetic ones."
    )
    yield Finding("missing", _graded(gap, GOOD_DISTANCE, FAIR_DISTANCE), sentence)


def _of_ranges(found: RangeErrors) -> Finding:
    sentence = (
        f"Counts of rows in random ranges are off by {_percent(found.median_relative)} in half of {found.queries:,} "
        f"queries, by {_percent(found.mean_relative)} on average (by {_percent(found.mean_absolute)} of all rows)."
    )
    return Finding("ranges", _graded(found.median_relative, GOOD_RELATIVE, FAIR_RELATIVE), sentence)


def _of_pairs(found: Pairs) -> Finding:
    pairs = [(i, j) for i in range(len(found.names)) for j in range(i)]
    gaps = {(i, j): float(found.information_difference[i, j]) for i, j in pairs}
    total = sum(float(found.information_real[i, j]) for i, j in pairs)
    off = sum(map(abs, gaps.values())) / total if total > 0 else 0.0
    i, j = max(gaps, key=lambda pair: abs(gaps[pair]))
    kept = sum(float(found.information_synthetic[i, j]) for i, j in pairs) / total if total > 0 else 1.0
    sentence = (
        f"Pairs of columns tell {_percent(kept)} as much about each other as in the real table; the largest gap is "
        f"{found.names[j]} and {found.names[i]}, with {found.information_synthetic[i, j]:.2f} bits instead of "
        f"{found.information_real[i, j]:.2f}."
    )
    return Finding("pairs", _graded(off, GOOD_INFORMATION, FAIR_INFORMATION), sentence)


def _of_learning(task: LearningTask) -> Finding:
    chief = task.measures[0]
    usable = [
        learner
        for learner in task.learners
        if math.isfinite(learner.synthetic_to_real[chief]) and math.isfinite(learner.real_to_real[chief])
    ]
    if not usable:
        return Finding("learning", "poor", f"No learner could be trained to tell {task.target}.")
    best = max(usable, key=lambda learner: learner.synthetic_to_real[chief])
    ceiling = max(learner.real_to_real[chief] for learner in usable)
    floor = task.majority[chief]
    got = best.synthetic_to_real[chief]
    lost = (ceiling - got) / (ceiling - floor) if ceiling > floor else 0.0
    if task.task == "classification":
        sentence = (
            f"Trained on synthetic rows, {best.learner} gets {task.target} right in {_percent(got)} of real cases; the "
            f"best trained on real rows does in {_percent(ceiling)}, always saying the commonest in {_percent(floor)}."
        )
    else:
        sentence = (
            f"Trained on synthetic rows, {best.learner} explains {_percent(got)} of the variance of {task.target} in "
            f"real rows; trained on real rows, {_percent(ceiling)}."
        )
    return Finding("learning", _graded(lost, GOOD_LOSS, FAIR_LOSS), sentence)


def _of_clustering(found: Clustering) -> Finding:
    gain = found.cost_one - found.cost_real
    if gain <= 1e-9 * max(found.cost_one, 1.0):
        return Finding("clustering", "good", "The real rows are so alike that there is nothing to group.")
    lost = (found.cost_synthetic - found.cost_real) / gain
    sentence = (
        f"{found.clusters} centres found in the synthetic table group the real rows {_percent(1 - lost)} as well as "
        f"centres found in the real one, and in the same way to {_percent(max(found.rand, 0.0))} (adjusted Rand index)."
    )
    return Finding("clustering", _graded(lost, GOOD_LOSS, FAIR_LOSS), sentence)


def _of_tests(found: TestAgreement) -> Finding:
    same = found.both + found.neither
    alarms = f"{found.false_alarms} false alarm{'s' if found.false_alarms != 1 else ''}"
    sentence = (
        f"{found.test} test comes to the same verdict on {same} of {found.pairs} pairs of columns; "
        f"it misses {found.missed} and raises {alarms}."
    )
    return Finding("inference", _graded(-same / found.pairs, -GOOD_VERDICTS, -FAIR_VERDICTS), sentence)


def _of_propensity(found: Propensity) -> Finding:
    use = f", mostly by {found.giveaways[0][0]}" if found.giveaways and found.auc > GOOD_AUC else ""
    sentence = (
        f"Shown a real and a synthetic row, cut into the schema's bins, a classifier tells which is which in "
        f"{_percent(found.auc)} of cases{use} (guessing: 50 %); seeing the exact numbers, in "
        f"{_percent(found.auc_values)}."
    )
    return Finding("propensity", _graded(found.auc, GOOD_AUC, FAIR_AUC), sentence)


def _of_network(found: NetworkQuality) -> Finding:
    off = abs(found.synthetic - found.real) / found.real if found.real > 0 else 0.0
    sentence = (
        f"The model's network holds {found.real:.2f} bits of mutual information in the real table, and "
        f"{found.synthetic:.2f} in the synthetic one."
    )
    return Finding("network", _graded(off, GOOD_INFORMATION, FAIR_INFORMATION), sentence)


def _percent(share: float) -> str:
    """Two figures where it is small: 5.1 %, 14 %, 0.23 %."""
    percent = 100 * share
    return f"{percent:.2g} %" if abs(percent) < 10 else f"{percent:.1f} %"


def _listed(values: tuple[str, ...] | list[str], separator: str = ", ") -> str:
    shown = separator.join(values[:3])
    return shown + (f" and {len(values) - 3} more" if len(values) > 3 else "")
