"""What an evaluation comes to: one plain sentence for each measure, with a grade.

The grades are rules of thumb, all of them in this file. They compare with what chance alone would
do, or with what the real rows themselves achieve, wherever such a yardstick exists. Whatever the
thresholds, good is also what is within twice, fair within three times, what chance would make of a
fresh sample of people as large as the synthetic table. Where chance alone makes much, the grade is
unknown up to twice that, and poor beyond.
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
"""Of marginals, columns and missing values."""

MOST_CHANCE = 0.15
"""Where chance alone makes more than this, little can be told."""

FEWEST_ROWS = 10
"""With fewer in either table nothing can be told, not even what chance makes."""

MOST_OUTSIDE = 0.01
"""The share of rows that may lie outside the schema's domain before it is poor."""

GOOD_RELATIVE, FAIR_RELATIVE = 0.10, 0.30
GOOD_INFORMATION, FAIR_INFORMATION = 0.10, 0.25
"""The share by which the mutual information of a pair may be off, on average weighted by
information.
"""

GOOD_LOSS, FAIR_LOSS = 0.10, 0.33
"""The share that may be lost of what learners gain on real rows over the majority, or centres over
a single one.
"""

GOOD_VERDICTS, FAIR_VERDICTS = 0.95, 0.80
GOOD_AUC, FAIR_AUC = 0.60, 0.75

TOO_FEW = " There are too few rows to tell."
_WORDS = {1: "One-way", 2: "Two-way", 3: "Three-way", 4: "Four-way", 5: "Five-way"}


def with_findings(found: Evaluation) -> Evaluation:
    """The evaluation with its findings filled in."""
    findings = list(_findings(found))
    if min(found.shape.real_rows, found.shape.synthetic_rows) < FEWEST_ROWS:
        findings = [
            _finding(each.subject, "unknown", each.sentence.removesuffix(TOO_FEW))
            for each in findings
        ]
    return replace(found, findings=(*_of_outside(found.shape), *findings))


def _findings(found: Evaluation) -> Iterator[Finding]:
    for marginals in found.marginals:
        yield _of_marginals(marginals)
    yield _of_columns(found.columns, found.shape)
    yield from _of_missing(found.columns, found.shape)
    yield _of_ranges(found.ranges)
    if len(found.pairs.names) > 1:
        yield _of_pairs(found.pairs, found.columns, found.shape)
    for task in found.learning:
        yield _of_learning(task)
    yield _of_clustering(found.clustering, found.shape)
    for tests in found.inference:
        yield _of_tests(tests, found.shape)
    yield _of_propensity(found.propensity, found.shape)
    if found.network is not None:
        yield _of_network(found.network)


def _graded(value: float, good: float, fair: float, by_chance: float = 0.0) -> Grade:
    """The smaller, the better."""
    if value <= good:
        return "good"
    if by_chance > MOST_CHANCE:
        if value <= 2 * by_chance:
            return "unknown"
        return "poor"
    if value <= 2 * by_chance:
        return "good"
    if value <= max(fair, 3 * by_chance):
        return "fair"
    return "poor"


def _finding(subject: str, grade: Grade, sentence: str) -> Finding:
    return Finding(subject, grade, sentence + (TOO_FEW if grade == "unknown" else ""))


def _of_outside(shape: Shape) -> Iterator[Finding]:
    shares = [
        (share, f"{name} in {_percent(share)} of the {rows} rows")
        for rows, outside in (("real", shape.real_outside), ("synthetic", shape.synthetic_outside))
        for name, share in outside.items()
    ]
    if shares:
        shares.sort(reverse=True)
        sentence = (
            f"Some values are none that the schema allows, and were counted as one that it does: "
            f"{_listed([where for _, where in shares])}. What follows is about the values as "
            "counted."
        )
        yield Finding("columns", "poor" if shares[0][0] > MOST_OUTSIDE else "fair", sentence)


def _of_marginals(found: MarginalErrors) -> Finding:
    what = f"{_WORDS.get(found.order, f'{found.order}-way')} tables"
    if found.measured == found.of:
        sample = ""
    else:
        sample = f" ({found.measured:,} of {found.of:,} were measured, at random)"
    if found.measured == 1:
        sentence = f"The table of {found.worst[0].name} differs by {_percent(found.mean)}"
    else:
        sentence = (
            f"{what} differ by {_percent(found.mean)} on average{sample}; "
            f"the worst is {found.worst[0].name} at {_percent(found.largest)}"
        )
    grade = _graded(found.mean, GOOD_DISTANCE, FAIR_DISTANCE, found.by_chance)
    return _finding(
        "marginals",
        grade,
        f"{sentence}. Chance alone would make at least {_percent(found.by_chance)}.",
    )


def _of_columns(columns: tuple[ColumnComparison, ...], shape: Shape) -> Finding:
    worst = max(columns, key=lambda column: column.total_variation)
    close = sum(column.total_variation <= GOOD_DISTANCE for column in columns)
    lost = [
        f"{column.name} ({_listed(column.only_real)})" for column in columns if column.only_real
    ]
    sentence = (
        f"{close} of {len(columns)} columns have a distribution within {_percent(GOOD_DISTANCE)} "
        "of the real one; "
        f"the furthest is {worst.name} at {_percent(worst.total_variation)}."
    )
    if lost:
        sentence += f" Some real values never occur in the synthetic table: {_listed(lost, '; ')}."
    sentence += _inside_bins(columns, shape)
    by_chance = distance_by_chance(
        np.array([*worst.real, worst.real_missing]), shape.real_rows, shape.synthetic_rows
    )
    grade = _graded(worst.total_variation, GOOD_DISTANCE, FAIR_DISTANCE, by_chance)
    return _finding("columns", grade, sentence)


def _inside_bins(columns: tuple[ColumnComparison, ...], shape: Shape) -> str:
    """At the edges of bins, cumulative shares differ by no more than the binned distance: the rest
    is inside.
    """
    worst = max(columns, key=lambda column: column.kolmogorov_smirnov or 0.0)
    furthest = worst.kolmogorov_smirnov or 0.0
    by_chance = math.sqrt(1 / shape.real_rows + 1 / shape.synthetic_rows)
    if worst.edges is None or furthest - worst.total_variation <= max(GOOD_DISTANCE, 2 * by_chance):
        return ""
    return (
        f" Value by value {worst.name} is further off than bin by bin (Kolmogorov-Smirnov distance "
        f"{_percent(furthest)}, by bins {_percent(worst.total_variation)}): synthetic values are "
        "spread evenly inside "
        f"bins, the real ones are not."
    )


def _of_missing(columns: tuple[ColumnComparison, ...], shape: Shape) -> Iterator[Finding]:
    affected = [column for column in columns if column.real_missing or column.synthetic_missing]
    if not affected:
        return
    worst = max(affected, key=lambda column: abs(column.real_missing - column.synthetic_missing))
    gap = abs(worst.real_missing - worst.synthetic_missing)
    if gap <= FAIR_DISTANCE:
        start = f"Missing values are as frequent as in the real table, give or take {_percent(gap)}"
    else:
        start = "Missing values are not as frequent as in the real table"
    sentence = (
        f"{start}; the furthest is {worst.name}: {_percent(worst.real_missing)} of the real rows, "
        f"{_percent(worst.synthetic_missing)} of the synthetic ones."
    )
    shares = np.array([worst.real_missing, 1 - worst.real_missing])
    by_chance = distance_by_chance(shares, shape.real_rows, shape.synthetic_rows)
    yield _finding("missing", _graded(gap, GOOD_DISTANCE, FAIR_DISTANCE, by_chance), sentence)


def _of_ranges(found: RangeErrors) -> Finding:
    sentence = (
        f"Counts of rows in random ranges are off by at most {_percent(found.median_relative)} in "
        "half of "
        f"{found.queries:,} queries, by {_percent(found.mean_relative)} on average (by "
        f"{_percent(found.mean_absolute)} "
        f"of all rows)."
    )
    return _finding(
        "ranges",
        _graded(found.median_relative, GOOD_RELATIVE, FAIR_RELATIVE, found.by_chance),
        sentence,
    )


def _of_pairs(found: Pairs, columns: tuple[ColumnComparison, ...], shape: Shape) -> Finding:
    """Both tables' information less its bias.

    Of n rows, two columns of r and c values that have nothing to do with each other show (r - 1)(c
    - 1) / (2 n ln 2) bits on average all the same, with a deviation of the square root of 2 / ((r -
    1)(c - 1)) times that.
    """
    places = np.tril_indices(len(found.names), -1)
    bits, noise = [], np.zeros(len(places[0]))
    for matrix, rows, side in (
        (found.information_real, shape.real_rows, "real"),
        (found.information_synthetic, shape.synthetic_rows, "synthetic"),
    ):
        held = np.array([_values_held(column, side) for column in columns]) - 1
        freedom = np.outer(held, held)[places]
        bits.append(np.maximum(matrix[places] - freedom / (2 * rows * math.log(2)), 0.0))
        noise += 2 * freedom / (2 * rows * math.log(2)) ** 2
    real, synthetic = bits
    chance = math.sqrt(2 / math.pi) * float(np.sqrt(noise).sum())
    total = max(float(real.sum()), chance) or 1.0
    off, by_chance = float(np.abs(synthetic - real).sum()) / total, chance / total
    widest = int(np.abs(synthetic - real).argmax())
    other, one = (found.names[place[widest]] for place in places)
    sentence = (
        f"What pairs of columns tell about each other is off by {_percent(off)} in all (chance "
        "alone: about "
        f"{_percent(by_chance)}); the largest gap is {one} and {other}, with "
        f"{synthetic[widest]:.2f} bits instead of {real[widest]:.2f} (less what chance adds)."
    )
    return _finding("pairs", _graded(off, GOOD_INFORMATION, FAIR_INFORMATION, by_chance), sentence)


def _values_held(column: ColumnComparison, side: str) -> int:
    if side == "real":
        shares = (*column.real, column.real_missing)
    else:
        shares = (*column.synthetic, column.synthetic_missing)
    return int(np.count_nonzero(shares))


def _of_learning(task: LearningTask) -> Finding:
    """The learner that does best on real rows, against itself."""
    chief = task.measures[0]
    usable = [
        learner
        for learner in task.learners
        if math.isfinite(learner.synthetic_to_real[chief])
        and math.isfinite(learner.real_to_real[chief])
    ]
    if not usable:
        return Finding(
            "learning",
            "unknown",
            f"No learner could be trained on both tables to tell {task.target}.",
        )
    best = max(usable, key=lambda learner: learner.real_to_real[chief])
    got, ceiling, floor = (
        best.synthetic_to_real[chief],
        best.real_to_real[chief],
        task.majority[chief],
    )
    gain, error = ceiling - floor, _standard_error(task, ceiling)
    if error > MOST_CHANCE:
        grade: Grade = "unknown"
    elif gain <= 2 * error:  # nothing to learn: it is enough not to learn something wrong
        grade = _graded(ceiling - got, GOOD_DISTANCE, FAIR_DISTANCE, error)
    else:
        grade = _graded((ceiling - got) / gain, GOOD_LOSS, FAIR_LOSS, error / gain)
    name = best.learner + (f", the best of {len(usable)} on real rows," if len(usable) > 1 else "")
    if task.task == "classification":
        sentence = (
            f"Trained on synthetic rows, {name} gets {task.target} right in {_percent(got)} of "
            "real cases; trained on "
            f"real rows, in {_percent(ceiling)}; always saying the commonest, in {_percent(floor)}."
        )
    else:
        sentence = (
            f"Of the variance of {task.target} in real rows, {name} explains {_explained(got)} "
            "when trained on "
            f"synthetic rows, and {_explained(ceiling)} when trained on real ones."
        )
    return _finding("learning", grade, sentence)


def _explained(r2: float) -> str:
    if r2 >= 0:
        return _percent(r2)
    return "nothing (it does worse than always saying the mean)"


def _standard_error(task: LearningTask, score: float) -> float:
    """Of an accuracy, or of an R^2, on the test rows; never nil, however few of them there are."""
    rows = task.test_rows
    if task.task == "classification":
        share = (score * rows + 1) / (rows + 2)
        return math.sqrt(share * (1 - share) / rows)
    share = min(max(score, 0.0), 1.0)
    return 2 * math.sqrt(share / rows) * (1 - share) + 1 / rows


def _of_clustering(found: Clustering, shape: Shape) -> Finding:
    gain = found.cost_one - found.cost_real
    if gain <= 1e-9 * max(found.cost_one, 1.0):
        return Finding(
            "clustering", "good", "The real rows are so alike that there is nothing to group."
        )
    lost = (found.cost_synthetic - found.cost_real) / gain
    if lost <= 1:
        well = f"group the real rows {_percent(1 - lost)} as well as centres found in the real one"
    else:
        well = "serve the real rows worse than a single centre would"
    sentence = (
        f"{found.clusters} centres found in the synthetic table {well}; the groups agree to "
        f"{_percent(max(found.rand, 0.0))} (adjusted Rand index)."
    )
    # The mean of a few rows is off by chance: the cost by the variance around it over their number.
    by_chance = found.clusters * found.cost_real / (shape.synthetic_rows * gain)
    return _finding("clustering", _graded(lost, GOOD_LOSS, FAIR_LOSS, by_chance), sentence)


def _of_tests(found: TestAgreement, shape: Shape) -> Finding:
    same = found.both + found.neither
    rows = min(shape.real_rows, shape.synthetic_rows)
    alarms = f"{found.false_alarms} false alarm{'s' if found.false_alarms != 1 else ''}"
    if shape.real_rows == shape.synthetic_rows:
        cut = ""
    else:
        cut = f", on {rows:,} row{'s' if rows != 1 else ''} of each table"
    sentence = (
        f"{found.test} test comes to the same verdict on {same} of {found.pairs} pairs of "
        f"columns{cut}; "
        f"it misses {found.missed} and raises {alarms} (two samples of real rows differ on about "
        f"{found.by_chance * found.pairs:.0f})."
    )
    grade = _graded(1 - same / found.pairs, 1 - GOOD_VERDICTS, 1 - FAIR_VERDICTS, found.by_chance)
    return _finding("inference", grade, sentence)


def _of_propensity(found: Propensity, shape: Shape) -> Finding:
    if not math.isfinite(found.auc):
        return _finding(
            "propensity",
            "unknown",
            "No classifier could be trained to tell real rows from synthetic ones.",
        )
    if found.giveaways and found.auc > GOOD_AUC:
        use = f", mostly by {found.giveaways[0][0]}"
    else:
        use = ""
    if math.isfinite(found.auc_values):
        exact = f"; seeing the exact numbers, in {_percent(found.auc_values)}"
    else:
        exact = ""
    sentence = (
        "Shown a real and a synthetic row, cut into the schema's bins, a classifier tells which "
        "is which in "
        f"{_percent(found.auc)} of cases{use} (guessing: 50 %){exact}."
    )
    # The deviation of the area where nobody can tell.
    by_chance = math.sqrt((1 / shape.real_rows + 1 / shape.synthetic_rows) / 12)
    return _finding(
        "propensity", _graded(found.auc - 0.5, GOOD_AUC - 0.5, FAIR_AUC - 0.5, by_chance), sentence
    )


def _of_network(found: NetworkQuality) -> Finding:
    if found.real > 0:
        off = abs(found.synthetic - found.real) / found.real
    else:
        off = 0.0
    more = found.synthetic - found.real
    sentence = (
        f"The model's network holds {found.real:.2f} bits of mutual information in the real table, "
        "and "
        f"{found.synthetic:.2f} in the synthetic one"
        + (f": {more:.2f} bits more, noise that looks like dependence." if more >= 0.005 else ".")
    )
    return Finding("network", _graded(off, GOOD_INFORMATION, FAIR_INFORMATION), sentence)


def _percent(share: float) -> str:
    """Two figures where it is small: 5.1 %, 14 %, 0.23 %."""
    percent = 100 * share
    if abs(percent) < 10:
        return f"{percent:.2g} %"
    return f"{percent:.1f} %"


def _listed(values: tuple[str, ...] | list[str], separator: str = ", ") -> str:
    shown = separator.join(values[:3])
    return shown + (f" and {len(values) - 3} more" if len(values) > 3 else "")
