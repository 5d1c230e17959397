"""The parts of the owner's report on use: what is learned from the synthetic table, and what gives
it away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from understudy.evaluation.model_results import (
    Clustering,
    LearnerScores,
    LearningTask,
    NetworkQuality,
    TestAgreement,
)
from understudy.evaluation.result import Evaluation
from understudy.reports.charts import BETWEEN_NAMES, Dot, dots, key, lengths, split
from understudy.reports.likeness import BOTH
from understudy.reports.page import (
    Section,
    behind,
    card,
    cards,
    count_noun,
    decimals,
    escape_html,
    table,
    write_findings,
)

# --------------------------------------------------------------------------- learning


def learning(found: Evaluation) -> Section:
    """What learners that were trained on synthetic rows are worth on real ones."""
    pictures = [
        *map(_task, found.learning),
        _clusters(found.clustering, write_findings(found.findings, "clustering")),
    ]
    if found.learning:
        lead = (
            "Learners trained on the synthetic table and tested on real rows that were kept apart "
            "(blue), beside the same learners trained on real rows (orange) and beside always "
            "saying what is commonest (grey). The closer blue is to orange, the better the "
            "synthetic table stands in."
        )
    else:
        lead = (
            "Groups that are found in the synthetic table (blue) and in the real one (orange), "
            "tried on real rows. "
            "What can be learned about a column is shown where a target is named."
        )
    legend = key(
        ("real", "trained on real rows"),
        ("synthetic", "trained on synthetic rows"),
        ("plain", "commonest, or mean"),
    )
    content = legend + cards(pictures, "large") + "".join(map(_scores, found.learning))
    return Section("learning", "What can be learned from it", lead, content)


def _task(task: LearningTask) -> str:
    chief = task.measures[0]
    rows = [
        (
            scores.learner,
            (
                Dot("plain", task.floor, task.majority.get(chief, math.nan)),
                Dot("real", "trained on real rows", scores.real_to_real.get(chief, math.nan)),
                Dot(
                    "synthetic",
                    "trained on synthetic rows",
                    scores.synthetic_to_real.get(chief, math.nan),
                ),
            ),
            _gap(scores, chief),
        )
        for scores in task.learners
    ]
    values = [
        mark.value for _, marks, _ in rows for mark in marks if math.isfinite(mark.value)
    ] or [0.0]
    measure = {"accuracy": "accuracy on real rows", "r2": "R² on real rows"}.get(chief, chief)
    facts = f"{task.task}: {measure}; at the right, blue less orange"
    # An R² can lie far below 0, which is useless all the same: such a mark stands at the end of the
    # scale.
    picture = dots(
        rows, _percents if chief == "accuracy" else "{:.2g}".format, low=max(-1.0, min(values))
    )
    return card(f"Learning {escape_html(task.target)}", facts, picture + _small(task.notes))


def _gap(scores: LearnerScores, chief: str) -> str:
    if chief == "r2" and scores.synthetic_to_real.get(chief, math.nan) < 0:
        return "no fit"
    gap = scores.synthetic_to_real.get(chief, math.nan) - scores.real_to_real.get(chief, math.nan)
    if not math.isfinite(gap):
        return "–"
    if chief == "accuracy":
        return f"{100 * gap:+z.1f}"
    return f"{gap:+z.2f}"


def _percents(value: float) -> str:
    return f"{100 * value:.3g}%"


def _clusters(clusters: Clustering, sentence: str) -> str:
    whole = clusters.cost_one or 1.0
    rows = [
        (
            f"{clusters.clusters} centres",
            (
                Dot("plain", "one centre", clusters.cost_one / whole),
                Dot("real", "centres from real rows", clusters.cost_real / whole),
                Dot("synthetic", "centres from synthetic rows", clusters.cost_synthetic / whole),
            ),
            f"{100 * (clusters.cost_synthetic - clusters.cost_real) / whole:+z.1f}",
        )
    ]
    facts = (
        "how far real rows lie from the nearest centre: less is better (grey: one centre for all)"
    )
    picture = dots(rows, _percents, low=0.0) + sentence
    return card("Grouping rows by k-means", facts, picture, place="clustering")


def _scores(task: LearningTask) -> str:
    ways = ("synthetic → real", "real → real", "real → synthetic")
    headings = (
        "Learner<small>trained on → tested on</small>",
        *(
            f"#{escape_html(measure)}<small>{way}</small>"
            for measure in task.measures
            for way in ways
        ),
    )
    lines = [
        (
            f"<b>{escape_html(scores.learner)}</b>",
            *(
                _score(way, measure)
                for measure in task.measures
                for way in (scores.synthetic_to_real, scores.real_to_real, scores.real_to_synthetic)
            ),
        )
        for scores in task.learners
    ]
    commonest = [decimals(task.majority.get(measure)) for measure in task.measures]
    lines.append((task.floor, *(cell for number in commonest for cell in (number, number, ""))))
    trained = (
        f"Trained on {task.train_rows:,} real or {task.synthetic_rows:,} synthetic rows, tested on "
        f"{task.test_rows:,} real rows that were kept apart."
    )
    return behind(
        f"All scores of learning {escape_html(task.target)}",
        table(headings, lines) + _small([trained]),
    )


def _score(scores: Mapping[str, float], measure: str) -> str:
    """A score; a regression that does worse than always saying the mean has none."""
    if scores.get("r2", 0.0) < 0:
        return "no fit"
    return decimals(scores.get(measure))


def _small(notes: Sequence[str]) -> str:
    return "".join(f'<p class="small">{escape_html(note)}</p>' for note in notes)


# ----------------------------------------------- tests of independence


def inference(found: Evaluation) -> Section | None:
    """Whether a test for dependence comes to the same verdict in both tables."""
    tests = [test for test in found.inference if test.pairs]
    if not tests:
        return None
    lead = (
        "Would somebody who tests for dependence come to the same verdict? Every pair of columns, "
        "tested in both "
        f"tables at level {tests[0].level:g}. Black and grey agree; orange and blue do not."
    )
    return Section("inference", "Tests of independence", lead, "".join(map(_test, tests)))


def _test(test: TestAgreement) -> str:
    picture = split(
        [
            ("ink", "dependent in both", test.both),
            ("plain", "dependent in neither", test.neither),
            ("real", "only in the real table (missed)", test.missed),
            ("synthetic", "only in the synthetic table (false alarm)", test.false_alarms),
        ]
    )
    headings = (
        "Pair",
        *(
            f"#{what}<small>{where}</small>"
            for what in ("p-value", "statistic")
            for where in ("real", "synthetic")
        ),
    )
    lines = [
        (
            BETWEEN_NAMES.join(map(escape_html, pair.attributes)),
            f"{pair.real_p:.2g}",
            f"{pair.synthetic_p:.2g}",
            decimals(pair.real_statistic),
            decimals(pair.synthetic_statistic),
        )
        for pair in test.disagreements
    ]
    if lines:
        listed = behind("Pairs on which the verdicts differ", table(headings, lines))
    else:
        listed = ""
    return f"<h3>{escape_html(test.test)}, {count_noun(test.pairs, 'pair')}</h3>{picture}{listed}"


# --------------------------------------------------------------------------- real or synthetic?


def propensity(found: Evaluation) -> Section:
    """How well a classifier tells real rows from synthetic ones, and by which columns."""
    seen = found.propensity
    lead = (
        "A classifier is shown real and synthetic rows and has to say which is which. 0.5 is "
        "guessing: they cannot be "
        "told apart. 1 is always right. One odd column is enough for that, and the others may "
        "still serve. Exact numbers (round ones, say) often give real rows away where bins do not."
    )
    rows = [
        (name, (Dot("synthetic", "AUC", auc),), f"{auc:.2f}" if math.isfinite(auc) else "")
        for name, auc in (
            ("by exact numbers", seen.auc_values),
            ("by bins and categories", seen.auc),
        )
    ]
    pictures = [
        card(
            "How well rows are told apart",
            "area under the curve",
            dots(rows, "{:.2g}".format, low=0.5, high=1.0),
        ),
        card(
            "By which columns",
            "their share in telling rows apart by exact numbers",
            lengths((name, share, None) for name, share in seen.giveaways_values or seen.giveaways),
        ),
    ]
    if math.isfinite(seen.ratio):
        score = (
            f'<p class="small">{seen.rows:,} rows were looked at. Propensity score of a logistic '
            f"regression: {seen.pmse:.3g}, which is {seen.ratio:.3g} times what two samples of one "
            "population would give.</p>"
        )
    else:
        score = ""
    return Section(
        "propensity",
        "Can real and synthetic rows be told apart?",
        lead,
        cards(pictures, "large") + score,
    )


# --------------------------------------------------------------------------- the network


def network(found: Evaluation) -> Section | None:
    """How much the network's parents tell about each column, in both tables."""
    quality = found.network
    if quality is None or not any(node.parents for node in quality.nodes):
        return None
    lead = (
        "How much the columns that the model took as parents tell about each column, in bits of "
        "mutual information: in the real table, and what the synthetic table kept of it."
    )
    return Section("network", "The model's network", lead, BOTH + _nodes(quality))


def _nodes(quality: NetworkQuality) -> str:
    nodes = [node for node in quality.nodes if node.parents]
    rows = [
        (
            node.attribute,
            (Dot("real", "real", node.real), Dot("synthetic", "synthetic", node.synthetic)),
            f"{node.synthetic - node.real:+z.2f}",
        )
        for node in nodes
    ]
    picture = card(
        "Each column and its parents",
        "bits; at the right, synthetic less real",
        dots(rows, "{:.2g}".format, low=0.0),
    )
    lines = [
        (
            f"<b>{escape_html(node.attribute)}</b>",
            escape_html(", ".join(node.parents)),
            f"{node.real:.3f}",
            f"{node.synthetic:.3f}",
        )
        for node in nodes
    ]
    last = ("Together", "", f"{quality.real:.3f}", f"{quality.synthetic:.3f}")
    listed = table(("Column", "Parents", "#Real (bits)", "#Synthetic (bits)"), lines, last)
    return cards([picture], "large") + behind("Columns and parents", listed)
