"""The thresholds of all grades, and how findings are worded: rules of thumb to show where to look.

Whatever the thresholds, good is also what is within twice, fair within three times, what chance
would make of a fresh sample of people as large as the synthetic table. Where chance alone makes
much, the grade is unknown up to twice that, and poor beyond.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from understudy.evaluation.fitness import Grade, GradedFinding
from understudy.evaluation.model_results import LearnerScores, LearningTask
from understudy.evaluation.result import BrokenRule, MarginalErrors

GRADES: tuple[Grade, ...] = ("poor", "unknown", "fair", "good")
"""The worst first."""

GOOD_DISTANCE, FAIR_DISTANCE = 0.05, 0.15
"""Of marginals, columns and missing values; also of what is lost inside bins."""

GOOD_JOINT, FAIR_JOINT, LEAST_JOINT_SHARE = 0.25, 0.50, 0.01
"""The share by which rows with several missing cells may be more or fewer; where fewer than the
last of all rows are such, relative to that.
"""

MEAN_BY_CHANCE = 1.5
"""How many times what chance makes the mean distance of marginals may be, to be good."""

MIN_RELATED_GAIN = 0.1
"""Relations of two columns are lost where tables of them are not closer to the real ones, by this
share, than tables of independent columns would be.
"""

MIN_RULE_BROKEN, MIN_RULE_RATIO, MAX_RULE_BROKEN = 0.005, 2.0, 0.05
"""The share of synthetic rows that must break a rule, also as a multiple of the real rows that do,
before it is said; and the share that is too much.
"""

MAX_CHANCE = 0.15
"""Where chance alone makes more than this, little can be told."""

MIN_ROWS = 10
"""With fewer in either table nothing can be told, not even what chance makes."""

LEAST_BEYOND, MAX_BEYOND, MAX_STRETCH = 0.001, 0.01, 1.5
"""Numbers smaller or larger than every real one: the share of rows from which on it is said, the
share that is too much, and how many times as wide a range may be.
"""

LEAST_CUT_OFF, MAX_CUT_OFF = 0.01, 0.03
"""Real numbers smaller or larger than every synthetic one: the share from which on it is said, and
that which is too much.
"""

MAX_OUTSIDE = 0.01
"""The share of rows that may lie outside the schema's domain before it is poor."""

GOOD_RELATIVE, FAIR_RELATIVE = 0.10, 0.30
GOOD_ABSOLUTE, FAIR_ABSOLUTE = 0.01, 0.03
"""Of range queries: the median relative to the real count, and the mean in shares of all rows."""

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


def grade_value(value: float, good: float, fair: float, by_chance: float = 0.0) -> Grade:
    """The smaller, the better."""
    if value <= good:
        return "good"
    if by_chance > MAX_CHANCE:
        if value <= 2 * by_chance:
            return "unknown"
        return "poor"
    if value <= 2 * by_chance:
        return "good"
    if value <= max(fair, 3 * by_chance):
        return "fair"
    return "poor"


def grade_marginals(errors: MarginalErrors) -> Grade:
    """By the mean distance. A mean over many tables hardly varies, so that good means closer to
    what chance makes than elsewhere. Where relations are lost, no distance is small enough.
    """
    if lost_relations(errors):
        return "poor"
    grade = grade_value(errors.mean, GOOD_DISTANCE, FAIR_DISTANCE, errors.by_chance)
    if grade == "good" and errors.mean > max(GOOD_DISTANCE, MEAN_BY_CHANCE * errors.by_chance):
        return "fair"
    return grade


def lost_relations(errors: MarginalErrors) -> bool:
    """Whether independent columns would be about as close to what real columns have in common."""
    if not errors.related:
        return False
    return errors.related_mean > (1 - MIN_RELATED_GAIN) * errors.independent_mean


def say_lost_relations(errors: MarginalErrors) -> str:
    """How far related columns are, and how far independent ones would be."""
    return (
        f"tables of two related columns differ by {percent(errors.related_mean)}, those of "
        f"independent columns would differ by {percent(errors.independent_mean)}"
    )


def is_broken(rule: BrokenRule) -> bool:
    """Whether a rule is broken in more synthetic rows than the real ones account for."""
    return rule.synthetic >= max(MIN_RULE_BROKEN, MIN_RULE_RATIO * rule.real)


def worse(*grades: Grade) -> Grade:
    """The worst of some grades; unknown only where nothing worse than fair is known."""
    return min(grades, key=GRADES.index)


def usable_learners(task: LearningTask) -> list[LearnerScores]:
    """Those that could be trained on both tables."""
    chief = task.measures[0]
    return [
        learner
        for learner in task.learners
        if math.isfinite(learner.synthetic_to_real[chief])
        and math.isfinite(learner.real_to_real[chief])
    ]


def is_learnable(task: LearningTask) -> bool:
    """Whether some learner gains on real rows, beyond chance, over always saying the same."""
    chief = task.measures[0]
    scores = [learner.real_to_real[chief] for learner in task.learners]
    best = max((score for score in scores if math.isfinite(score)), default=-math.inf)
    return best - task.majority[chief] > 2 * standard_error(task, best)


def standard_error(task: LearningTask, score: float) -> float:
    """Of an accuracy, or of an R^2, on the test rows; never nil, however few of them there are."""
    rows = task.test_rows
    share = min(max(score, 0.0), 1.0)
    if task.task == "classification":
        share = (share * rows + 1) / (rows + 2)
        return math.sqrt(share * (1 - share) / rows)
    return 2 * math.sqrt(share / rows) * (1 - share) + 1 / rows


def make_finding(subject: str, grade: Grade, sentence: str) -> GradedFinding:
    """A finding; one that is open says why."""
    return GradedFinding(subject, grade, sentence + (TOO_FEW if grade == "unknown" else ""))


def percent(share: float) -> str:
    """Two figures where it is small: 5.1 %, 14 %, 0.23 %."""
    found = 100 * share
    if abs(found) < 10:
        return f"{found:.2g} %"
    return f"{found:.1f} %"


def list_first(values: Sequence[str], separator: str = ", ") -> str:
    """The first three, and how many more there are."""
    shown = separator.join(values[:3])
    return shown + (f" and {len(values) - 3} more" if len(values) > 3 else "")
