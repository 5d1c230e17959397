"""One verdict on a synthetic table: what it is fit for, and what not, by rules that are stated.

A use is ruled out by whatever speaks against it. Two uses are never granted: a p-value from
synthetic rows is not valid, and no synthetic row tells about a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from understudy.evaluation.fitness import Grade, Use, Verdict
from understudy.evaluation.grades import (
    FAIR_AUC,
    FAIR_DISTANCE,
    GOOD_DISTANCE,
    MAX_RULE_BROKEN,
    MIN_ROWS,
    grade_marginals,
    is_learnable,
    lost_relations,
    percent,
    say_lost_relations,
)
from understudy.evaluation.result import Evaluation

MAX_NOT_REAL = 0.05
"""The share of a column's synthetic rows that may hold a value which no real row has."""

MAX_FAR_COLUMNS = 0.1
"""The share of columns that may be further than ``FAIR_DISTANCE`` from the real ones."""

FIT: tuple[Grade, ...] = ("good", "fair")

Objection = tuple[Grade, str]
"""How bad it is (unknown: there are too few rows to tell), and what it is."""


def judge(found: Evaluation) -> Verdict:
    """What the evaluation allows."""
    uses = [
        _use(
            "software tests",
            "no column is lost; at most "
            f"{percent(MAX_NOT_REAL)} of a column's rows hold a value that no real row has",
            (*_object_to_losses(found), *_not_real(found)),
        ),
        _use(
            "exploring",
            f"no column is lost; two-way tables differ by at most {percent(FAIR_DISTANCE)}, and "
            f"nine of ten columns do; related columns are closer than independent ones would be; "
            "missing cells are as frequent as in the real table",
            (
                *_object_to_losses(found),
                *_marginals(found, 2),
                *_far_columns(found),
                *_object_to_grades(found, "missing"),
            ),
        ),
        _use(
            "cross tables and counts",
            f"as for exploring; two-way tables differ by at most {percent(GOOD_DISTANCE)}, "
            f"three-way tables by {percent(FAIR_DISTANCE)}; pairs of columns tell as much about "
            "each other as in the real table",
            (
                *_object_to_losses(found),
                *_marginals(found, 2, ("good",)),
                *_marginals(found, 3),
                *_far_columns(found),
                *_object_to_grades(found, "missing"),
                *_object_to_grades(found, "pairs"),
            ),
        ),
        *(
            _use(
                f"learning {task.target}",
                "a learner from synthetic rows keeps two thirds of what one from real rows gains",
                _object_to_grades(found, "learning", task.target),
            )
            for task in found.learning
            if is_learnable(task)
        ),
        _use(
            "exact numbers",
            f"no column is lost; a classifier that sees exact numbers is right in at most "
            f"{percent(FAIR_AUC)} of cases; numbers lie where the real ones do, also inside bins; "
            f"at most {percent(MAX_RULE_BROKEN)} of rows break a rule that real rows keep",
            (
                *_object_to_losses(found),
                *_object_to_grades(found, "propensity"),
                *_object_to_grades(found, "values"),
                *_object_to_grades(found, "rules"),
            ),
        ),
    ]
    if min(found.shape.real_rows, found.shape.synthetic_rows) < MIN_ROWS:
        uses = [Use(use.name, None, use.rule, "There are too few rows to tell.") for use in uses]
    return Verdict((*uses, *NEVER))


NEVER = (
    Use(
        "p-values",
        False,
        "never",
        "A test on synthetic rows takes the noise for people, and any number of rows for real.",
    ),
    Use(
        "telling about single people",
        False,
        "never",
        "No synthetic row is a person.",
    ),
)


def _use(name: str, rule: str, objections: Iterable[Objection]) -> Use:
    """Fit where nothing speaks against it; open where nothing but a lack of rows does."""
    against = list(objections)
    decisive = [because for grade, because in against if grade != "unknown"]
    if decisive:
        return Use(name, False, rule, decisive[0])
    if against:
        return Use(name, None, rule, against[0][1])
    return Use(name, True, rule)


def _object_to_losses(found: Evaluation) -> Iterator[Objection]:
    lost = [column.name for column in found.columns if column.lost]
    if lost:
        yield "poor", f"Lost columns: {', '.join(lost)}."


def _not_real(found: Evaluation) -> Iterator[Objection]:
    for column in sorted(found.columns, key=lambda column: -column.not_real):
        if column.not_real > MAX_NOT_REAL:
            share = percent(column.not_real)
            yield "poor", f"{column.name} holds a value that no real row has in {share} of rows."


def _far_columns(found: Evaluation) -> Iterator[Objection]:
    far = [column.name for column in found.columns if column.total_variation > FAIR_DISTANCE]
    if len(far) > MAX_FAR_COLUMNS * len(found.columns):
        grade: Grade = "poor"
        worst = [finding.grade for finding in found.findings if finding.subject == "columns"]
        if worst and set(worst) <= {"good", "fair", "unknown"}:
            grade = "unknown"  # chance alone would make as much
        yield grade, f"Far from the real columns: {', '.join(far)}."


def _marginals(
    found: Evaluation, order: int, allowed: tuple[Grade, ...] = FIT
) -> Iterator[Objection]:
    for errors in found.marginals:
        grade = grade_marginals(errors)
        if errors.order == order and grade not in allowed:
            if lost_relations(errors):
                yield grade, f"Relations are lost: {say_lost_relations(errors)}."
            yield grade, f"{order}-way tables differ by {percent(errors.mean)} on average."


def _object_to_grades(found: Evaluation, subject: str, names: str = "") -> Iterator[Objection]:
    """What was found on a subject, where that is not at least fair."""
    for finding in found.findings:
        if finding.subject == subject and names in finding.sentence and finding.grade not in FIT:
            yield finding.grade, finding.sentence
