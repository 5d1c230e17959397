"""What an evaluation found on columns and their values: what is lost, missing, rounded, told apart.

All of it is measured on the original values of the real table.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence

import numpy as np

from understudy.evaluation.fitness import Grade, GradedFinding
from understudy.evaluation.grades import (
    FAIR_AUC,
    FAIR_DISTANCE,
    FAIR_JOINT,
    GOOD_AUC,
    GOOD_DISTANCE,
    GOOD_JOINT,
    LEAST_BEYOND,
    LEAST_CUT_OFF,
    LEAST_JOINT_SHARE,
    MAX_BEYOND,
    MAX_CHANCE,
    MAX_CUT_OFF,
    MAX_OUTSIDE,
    MAX_STRETCH,
    grade_value,
    list_first,
    make_finding,
    percent,
    worse,
)
from understudy.evaluation.marginals import distance_by_chance
from understudy.evaluation.model_results import Propensity
from understudy.evaluation.result import ColumnComparison, Evaluation, MissingRows, TableShapes

ComparedColumns = tuple[ColumnComparison, ...]

_LOST = {
    "absent": "not in the synthetic table",
    "replaced": "no synthetic value is a real one",
    "mostly replaced": "most rows hold a value that no real row has",
    "constant": "one value in every row",
    "empty": "no value in any row",
}


def losses(found: Evaluation) -> Iterator[GradedFinding]:
    """What no distance can soften: columns that are gone, values that had no place."""
    lost = [column for column in found.columns if column.lost]
    if lost:
        named = [f"{column.name} ({_LOST[column.state]})" for column in lost]
        sentence = (
            f"{len(lost)} of {len(found.columns)} columns "
            f"{'is' if len(lost) == 1 else 'are'} lost: {list_first(named)}."
        )
        yield GradedFinding("lost", "poor", sentence)
    if found.shape.replaced:
        names = ", ".join(found.shape.replaced)
        yield GradedFinding("lost", "fair", f"Free text is not in the synthetic table: {names}.")
    yield from _of_own_values(found.shape)
    yield from _of_outside(found.shape)


def _of_own_values(shape: TableShapes) -> Iterator[GradedFinding]:
    """Words of real rows among the synthetic ones are worse than numbers that happen to be some."""
    for own in shape.own_values:
        sentence = (
            f"Nearly every real row has a value of its own in {own.name}; "
            f"{percent(own.shared)} of the synthetic rows share theirs, and {percent(own.held)} "
            f"hold that of a real row. If it is an identifier, synthesize with --identifier "
            f"{shlex.quote(own.name)}."
        )
        if own.kind == "text" and own.held > GOOD_DISTANCE:
            yield GradedFinding("columns", "poor", sentence)
        else:
            yield GradedFinding("columns", "fair", sentence)


def _of_outside(shape: TableShapes) -> Iterator[GradedFinding]:
    shares = [
        (share, f"{name} in {percent(share)} of the {rows} rows")
        for rows, outside in (("real", shape.real_outside), ("synthetic", shape.synthetic_outside))
        for name, share in outside.items()
    ]
    if shares:
        shares.sort(reverse=True)
        sentence = (
            f"Some values are none that the schema allows: {list_first([w for _, w in shares])}. "
            "The synthetic table cannot hold them, and that counts as error in all that is said "
            "here."
        )
        yield GradedFinding("columns", "poor" if shares[0][0] > MAX_OUTSIDE else "fair", sentence)


def of_values(found: Evaluation) -> Iterator[GradedFinding]:
    """Columns one by one: their distributions, missing cells, numbers as they stand."""
    yield _of_columns(found.columns, found.shape)
    yield from _of_missing(found.columns, found.missing_rows, found.shape)
    yield from _of_numbers(found.columns, found.shape)
    yield _of_propensity(found.propensity, found.shape)


def _of_columns(columns: ComparedColumns, shape: TableShapes) -> GradedFinding:
    worst = max(columns, key=lambda column: column.total_variation)
    close = sum(column.total_variation <= GOOD_DISTANCE for column in columns)
    sentence = (
        f"{close} of {len(columns)} columns have a distribution within {percent(GOOD_DISTANCE)} of "
        f"the real one; the furthest is {worst.name} at {percent(worst.total_variation)}."
    )
    never = [
        f"{column.name} ({list_first(column.only_real)})"
        for column in columns
        if column.only_real and not column.lost
    ]
    if never:
        sentence += (
            f" Some real values never occur in the synthetic table: {list_first(never, '; ')}."
        )
    by_chance = distance_by_chance(
        np.array([*worst.real, worst.real_missing]), shape.real_rows, shape.synthetic_rows
    )
    grade = grade_value(worst.total_variation, GOOD_DISTANCE, FAIR_DISTANCE, by_chance)
    strangest = max(columns, key=lambda column: column.not_real)
    if strangest.not_real > GOOD_DISTANCE:
        sentence += (
            f" Values that no real row has: {strangest.name} in {percent(strangest.not_real)} of "
            "the synthetic rows."
        )
    return make_finding("columns", grade, sentence)


def _of_missing(
    columns: ComparedColumns, rows: MissingRows | None, shape: TableShapes
) -> Iterator[GradedFinding]:
    affected = [column for column in columns if column.real_missing or column.synthetic_missing]
    if not affected:
        return
    worst = max(affected, key=lambda column: abs(column.real_missing - column.synthetic_missing))
    gap = abs(worst.real_missing - worst.synthetic_missing)
    chance = _chance_of(worst.real_missing, shape)
    grade = grade_value(gap, GOOD_DISTANCE, FAIR_DISTANCE, chance)
    sentence = (
        f"the furthest is {worst.name}: {percent(worst.real_missing)} of the real rows, "
        f"{percent(worst.synthetic_missing)} of the synthetic ones."
    )
    gone = [
        column.name
        for column in affected
        if not column.synthetic_missing
        and column.real_missing > 2 * _chance_of(column.real_missing, shape)
    ]
    if gone:
        sentence += f" {len(gone)} of {len(affected)} columns have none left: {list_first(gone)}."
        grade = worse(grade, "poor" if 2 * len(gone) > len(affected) else "fair")
    start = "Missing cells are not as frequent as in the real table"
    if grade in ("good", "fair"):
        start = f"Missing cells are as frequent as in the real table, give or take {percent(gap)}"
    if rows is not None:
        real, synthetic = rows.with_more
        sentence += (
            f" Rows with {rows.cells} or more: {percent(real)} of the real ones, "
            f"{percent(synthetic)} of the synthetic ones."
        )
        scale = max(real, synthetic, LEAST_JOINT_SHARE)
        off, chance = abs(real - synthetic) / scale, _chance_of(real, shape) / scale
        grade = worse(grade, grade_value(off, GOOD_JOINT, FAIR_JOINT, min(chance, MAX_CHANCE)))
    yield make_finding("missing", grade, f"{start}; {sentence}")


def _chance_of(share: float, shape: TableShapes) -> float:
    shares = np.array([share, 1 - share])
    return distance_by_chance(shares, shape.real_rows, shape.synthetic_rows)


def _of_numbers(columns: ComparedColumns, shape: TableShapes) -> Iterator[GradedFinding]:
    """Numbers as they stand: how far off inside bins, and whether they lie on the real grid."""
    numbers = [
        column
        for column in columns
        if column.edges is not None and column.kolmogorov_smirnov is not None
    ]
    if not numbers:
        return
    furthest = max(numbers, key=lambda column: column.kolmogorov_smirnov or 0.0)
    by_value = furthest.kolmogorov_smirnov or 0.0
    by_bin = furthest.kolmogorov_smirnov_binned or 0.0
    by_chance = math.sqrt((1 / shape.real_rows + 1 / shape.synthetic_rows) / 2)
    grade = grade_value(by_value, GOOD_DISTANCE, FAIR_DISTANCE, by_chance)
    sentence = (
        f"Number by number, the furthest is {furthest.name}: Kolmogorov-Smirnov distance "
        f"{percent(by_value)} by value, {percent(by_bin)} by bin."
    )
    uneven = max(numbers, key=_inside_bins)
    if _inside_bins(uneven) > max(GOOD_DISTANCE, 2 * by_chance):
        sentence += (
            f" Inside bins, {uneven.name} is not spread as the real values are "
            f"({percent(uneven.kolmogorov_smirnov or 0.0)} by value, "
            f"{percent(uneven.kolmogorov_smirnov_binned or 0.0)} by bin)."
        )
    for say in (_say_beyond, _say_cut_off):
        said, worst_grade = say(numbers)
        sentence, grade = sentence + said, worse(grade, worst_grade)
    rounded = [column for column in numbers if column.step is not None and not column.lost]
    if rounded:
        worst = max(rounded, key=lambda column: column.real_on_step - column.synthetic_on_step)
        gap = worst.real_on_step - worst.synthetic_on_step
        if gap > GOOD_DISTANCE:
            sentence += (
                f" {worst.name} is a multiple of {worst.step:g} in {percent(worst.real_on_step)} "
                f"of the real rows, in {percent(worst.synthetic_on_step)} of the synthetic ones."
            )
        grade = worse(grade, grade_value(gap, GOOD_DISTANCE, FAIR_DISTANCE))
    yield make_finding("values", grade, sentence)


def _say_beyond(numbers: Sequence[ColumnComparison]) -> tuple[str, Grade]:
    """Numbers smaller or larger than every real one: some are by chance, but not many, nor far."""
    furthest = max(numbers, key=lambda column: (column.beyond, _stretch(column)))
    if furthest.beyond < LEAST_BEYOND:
        return "", "good"
    sentence = (
        f" {furthest.name} lies beyond every real value in {percent(furthest.beyond)} of the "
        "synthetic rows"
    )
    stretch = _stretch(furthest)
    if stretch > MAX_STRETCH:
        sentence += f", over a range {stretch:.1f} times as wide"
    if furthest.beyond > MAX_BEYOND or stretch > MAX_STRETCH:
        return f"{sentence}.", "poor"
    return f"{sentence}.", "fair"


def _say_cut_off(numbers: Sequence[ColumnComparison]) -> tuple[str, Grade]:
    """Real numbers smaller or larger than every synthetic one: a tail that was cut off, or amounts
    beside many zeros that became one. Few rows, so that no distance shows it.
    """
    furthest = max(numbers, key=lambda column: column.cut_off)
    if furthest.cut_off < LEAST_CUT_OFF:
        return "", "good"
    sentence = (
        f" {percent(furthest.cut_off)} of the real values of {furthest.name} lie beyond every "
        "synthetic one."
    )
    if furthest.cut_off > MAX_CUT_OFF:
        return sentence, "poor"
    return sentence, "fair"


def _stretch(column: ColumnComparison) -> float:
    """How wide the synthetic range is, as a multiple of the real one."""
    ranges = column.real_summary, column.synthetic_summary
    real, synthetic = (ends.get("max", 0.0) - ends.get("min", 0.0) for ends in ranges)
    if real <= 0:
        return 1.0
    return synthetic / real


def _inside_bins(column: ColumnComparison) -> float:
    return (column.kolmogorov_smirnov or 0.0) - (column.kolmogorov_smirnov_binned or 0.0)


def _of_propensity(found: Propensity, shape: TableShapes) -> GradedFinding:
    """Graded by the exact numbers: what gives rows away there is a difference like any other."""
    seen = [auc for auc in (found.auc, found.auc_values) if math.isfinite(auc)]
    if not seen:
        return make_finding(
            "propensity",
            "unknown",
            "No classifier could be trained to tell real rows from synthetic ones.",
        )
    use = ""
    giveaways = found.giveaways_values or found.giveaways
    if giveaways and max(seen) > GOOD_AUC:
        use = f", mostly by {giveaways[0][0]}"
    sentence = (
        "Shown a real and a synthetic row with their exact numbers, a classifier tells which is "
        f"which in {percent(found.auc_values)} of cases{use} (guessing: 50 %); by bins alone, in "
        f"{percent(found.auc)}."
    )
    # The deviation of the area where nobody can tell.
    by_chance = math.sqrt((1 / shape.real_rows + 1 / shape.synthetic_rows) / 12)
    grade = grade_value(max(seen) - 0.5, GOOD_AUC - 0.5, FAIR_AUC - 0.5, by_chance)
    return make_finding("propensity", grade, sentence)
