"""What an evaluation comes to: one plain sentence for each measure, with a grade.

The grades are rules of thumb, their thresholds in :mod:`understudy.evaluation.grades`. They
compare with what chance alone would
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

from understudy.evaluation.fitness import Grade, GradedFinding
from understudy.evaluation.grades import (
    FAIR_ABSOLUTE,
    FAIR_DISTANCE,
    FAIR_INFORMATION,
    FAIR_LOSS,
    FAIR_RELATIVE,
    FAIR_VERDICTS,
    GOOD_ABSOLUTE,
    GOOD_DISTANCE,
    GOOD_INFORMATION,
    GOOD_LOSS,
    GOOD_RELATIVE,
    GOOD_VERDICTS,
    GRADES,
    MAX_CHANCE,
    MAX_OUTSIDE,
    MAX_RULE_BROKEN,
    MIN_ROWS,
    TOO_FEW,
    grade_marginals,
    grade_value,
    is_broken,
    is_learnable,
    list_first,
    lost_relations,
    make_finding,
    percent,
    say_lost_relations,
    standard_error,
    usable_learners,
    worse,
)
from understudy.evaluation.model_results import (
    Clustering,
    LearningTask,
    NetworkQuality,
    TestAgreement,
)
from understudy.evaluation.result import (
    BrokenRule,
    ColumnComparison,
    Evaluation,
    MarginalErrors,
    Pairs,
    RangeErrors,
    TableShapes,
)
from understudy.evaluation.value_findings import losses, of_values
from understudy.evaluation.verdict import judge

_WORDS = {1: "One-way", 2: "Two-way", 3: "Three-way", 4: "Four-way", 5: "Five-way"}


OVER_ALL_COLUMNS = ("ranges", "pairs", "clustering", "inference", "network")
"""What is measured over all columns: while one is lost, none of it is called good."""


def with_findings(found: Evaluation) -> Evaluation:
    """The evaluation with its findings, the worst first, and its verdict filled in."""
    findings = list(_findings(found))
    if min(found.shape.real_rows, found.shape.synthetic_rows) < MIN_ROWS:
        findings = [
            make_finding(each.subject, "unknown", each.sentence.removesuffix(TOO_FEW))
            for each in findings
        ]
    if any(column.lost for column in found.columns):
        findings = [
            replace(each, grade=worse(each.grade, "fair"))
            if each.subject in OVER_ALL_COLUMNS
            else each
            for each in findings
        ]
    findings = [*losses(found), *findings]
    findings.sort(key=lambda finding: GRADES.index(finding.grade))
    told = replace(found, findings=tuple(findings))
    return replace(told, verdict=judge(told))


def _findings(found: Evaluation) -> Iterator[GradedFinding]:
    for marginals in found.marginals:
        yield _of_marginals(marginals)
    yield from of_values(found)
    yield from _of_rules(found.rules)
    yield _of_ranges(found.ranges)
    if len(found.pairs.names) > 1:
        yield _of_pairs(found.pairs, found.columns, found.shape)
    for task in found.learning:
        yield _of_learning(task)
    yield _of_clustering(found.clustering, found.shape)
    for tests in found.inference:
        yield _of_tests(tests, found.shape)
    if found.network is not None:
        yield _of_network(found.network, found.shape)


def _of_marginals(found: MarginalErrors) -> GradedFinding:
    what = f"{_WORDS.get(found.order, f'{found.order}-way')} tables"
    if found.measured == found.of:
        sample = ""
    else:
        sample = f" ({found.measured:,} of {found.of:,} were measured, at random)"
    if found.measured == 1:
        sentence = f"The table of {found.worst[0].name} differs by {percent(found.mean)}"
    else:
        sentence = (
            f"{what} differ by {percent(found.mean)} on average{sample}; "
            f"the worst is {found.worst[0].name} at {percent(found.largest)}"
        )
    sentence += f". Chance alone would make at least {percent(found.by_chance)}."
    if lost_relations(found):
        sentence += f" Relations are lost: {say_lost_relations(found)}."
    return make_finding(
        "marginals",
        grade_marginals(found),
        sentence,
    )


def _of_rules(rules: tuple[BrokenRule, ...]) -> Iterator[GradedFinding]:
    """Rules that real rows keep, by the one that is broken most."""
    if not rules:
        return
    broken = [rule for rule in rules if is_broken(rule)]
    if not broken:
        sentence = f"What (nearly) all real rows keep, synthetic rows keep, too: {_name(rules)}."
        yield GradedFinding("rules", "good", sentence)
        return
    told = [f"{rule.text} in {percent(rule.synthetic)} of rows" for rule in broken]
    sentence = (
        f"{len(broken)} of {len(rules)} rules that (nearly) all real rows keep are broken in the "
        f"synthetic table: {list_first(told)}."
    )
    if broken[0].synthetic > MAX_RULE_BROKEN:
        yield GradedFinding("rules", "poor", sentence)
    else:
        yield GradedFinding("rules", "fair", sentence)


def _name(rules: tuple[BrokenRule, ...]) -> str:
    return list_first([rule.text for rule in rules])


def _of_ranges(found: RangeErrors) -> GradedFinding:
    sentence = (
        f"Counts of rows in random ranges are off by at most {percent(found.median_relative)} in "
        f"half of {found.queries:,} queries, by {percent(found.mean_relative)} on average (by "
        f"{percent(found.mean_absolute)} of all rows)."
    )
    grade = worse(
        grade_value(found.median_relative, GOOD_RELATIVE, FAIR_RELATIVE, found.by_chance),
        grade_value(found.mean_absolute, GOOD_ABSOLUTE, FAIR_ABSOLUTE, found.absolute_by_chance),
    )
    return make_finding("ranges", grade, sentence)


def _of_pairs(
    found: Pairs, columns: tuple[ColumnComparison, ...], shape: TableShapes
) -> GradedFinding:
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
        f"What pairs of columns tell about each other is off by {percent(off)} in all (chance "
        f"alone: about {percent(by_chance)}); the largest gap is {one} and {other}, with "
        f"{synthetic[widest]:.2f} bits instead of {real[widest]:.2f} (less what chance adds)."
    )
    return make_finding(
        "pairs", grade_value(off, GOOD_INFORMATION, FAIR_INFORMATION, by_chance), sentence
    )


def _values_held(column: ColumnComparison, side: str) -> int:
    if side == "real":
        shares = (*column.real, column.real_missing)
    else:
        shares = (*column.synthetic, column.synthetic_missing)
    return int(np.count_nonzero(shares))


def _of_learning(task: LearningTask) -> GradedFinding:
    """The learner that does best on real rows, against itself."""
    chief = task.measures[0]
    if not task.synthetic_rows:
        sentence = f"No synthetic row has a value of {task.target} to learn from."
        return GradedFinding("learning", "poor", sentence)
    usable = usable_learners(task)
    if not usable:
        return GradedFinding(
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
    gain, error = ceiling - floor, standard_error(task, ceiling)
    if error > MAX_CHANCE:
        grade: Grade = "unknown"
    elif not is_learnable(task):  # it is enough not to learn something wrong
        grade = grade_value(ceiling - got, GOOD_DISTANCE, FAIR_DISTANCE, error)
    else:
        grade = grade_value((ceiling - got) / gain, GOOD_LOSS, FAIR_LOSS, error / gain)
    name = best.learner + (f", the best of {len(usable)} on real rows," if len(usable) > 1 else "")
    if task.task == "classification":
        sentence = (
            f"Trained on synthetic rows, {name} gets {task.target} right in {percent(got)} of "
            "real cases; trained on "
            f"real rows, in {percent(ceiling)}; always saying the commonest, in {percent(floor)}."
        )
    else:
        sentence = (
            f"Of the variance of {task.target} in real rows, {name} explains {_explain_r2(got)} "
            f"when trained on synthetic rows, and {_explain_r2(ceiling)} when trained on real ones."
        )
    if not is_learnable(task):
        sentence += " There is nothing to learn: real rows do no better than always the same."
    return make_finding("learning", grade, sentence)


def _explain_r2(r2: float) -> str:
    if r2 >= 0:
        return percent(r2)
    return "nothing (no fit: always saying the mean does better)"


def _of_clustering(found: Clustering, shape: TableShapes) -> GradedFinding:
    gain = found.cost_one - found.cost_real
    if gain <= 1e-9 * max(found.cost_one, 1.0):
        return GradedFinding(
            "clustering", "good", "The real rows are so alike that there is nothing to group."
        )
    lost = (found.cost_synthetic - found.cost_real) / gain
    if lost <= 1:
        well = f"group the real rows {percent(1 - lost)} as well as centres found in the real one"
    else:
        well = "serve the real rows worse than a single centre would"
    sentence = (
        f"{found.clusters} centres found in the synthetic table {well}; the groups agree to "
        f"{percent(max(found.rand, 0.0))} (adjusted Rand index)."
    )
    # The mean of a few rows is off by chance: the cost by the variance around it over their number.
    by_chance = found.clusters * found.cost_real / (shape.synthetic_rows * gain)
    return make_finding("clustering", grade_value(lost, GOOD_LOSS, FAIR_LOSS, by_chance), sentence)


def _of_tests(found: TestAgreement, shape: TableShapes) -> GradedFinding:
    same = found.both + found.neither
    rows = min(shape.real_rows, shape.synthetic_rows)
    alarms = f"{found.false_alarms} false alarm{'s' if found.false_alarms != 1 else ''}"
    if shape.real_rows == shape.synthetic_rows:
        cut = ""
    else:
        cut = f", on {rows:,} row{'s' if rows != 1 else ''} of each table"
    sentence = (
        f"{found.test} test comes to the same verdict on {same} of {found.pairs} pairs of "
        f"columns{cut}; it misses {found.missed} and raises {alarms} (two samples of real rows "
        f"differ on about {found.by_chance * found.pairs:.0f})."
    )
    grade = grade_value(
        1 - same / found.pairs, 1 - GOOD_VERDICTS, 1 - FAIR_VERDICTS, found.by_chance
    )
    return make_finding("inference", grade, sentence)


def _of_network(found: NetworkQuality, shape: TableShapes) -> GradedFinding:
    if found.real > 0:
        off = abs(found.synthetic - found.real) / found.real
    else:
        off = 0.0
    more = found.synthetic - found.real
    sentence = (
        f"The model's network holds {found.real:.2f} bits of mutual information in the real table, "
        f"and {found.synthetic:.2f} in the synthetic one"
        + (f": {more:.2f} bits more, noise that looks like dependence." if more >= 0.005 else ".")
    )
    grade = grade_value(off, GOOD_INFORMATION, FAIR_INFORMATION)
    clipped = max(shape.real_outside.values(), default=0.0)
    if clipped:  # measured on the model's codes, where clipped values look like others
        sentence += f" Up to {percent(clipped)} of the real values of a column were clipped for it."
        grade = worse(grade, "poor" if clipped > MAX_OUTSIDE else "fair")
    return GradedFinding("network", grade, sentence)
