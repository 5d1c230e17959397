"""The parts of the owner's report on likeness: columns one by one, several at a time, and how they
depend on each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.result import ColumnComparison, Evaluation, MarginalErrors, Pairs
from understudy.reports.charts import (
    BETWEEN_NAMES,
    Dot,
    dots,
    heat_map,
    key,
    lengths,
    most_telling,
    scatter,
)
from understudy.reports.distributions import ShownValues, ValueShares, distribution
from understudy.reports.page import (
    Section,
    behind,
    card,
    cards,
    count_noun,
    decimals,
    escape_html,
    percent,
    table,
    write_findings,
)

BOTH = key(("real", "real"), ("synthetic", "synthetic"))
"""What the two colours mean."""

MAX_SHOWN_PAIRS = 20
"""Pairs of columns that the table behind the maps lists."""


# --------------------------------------------------------------------------- column by column


def columns(found: Evaluation) -> Section:
    """How often each value comes up in the two tables."""
    lead = (
        "How often each value comes up in the two tables, in cells that hold about equally many of "
        "the real rows; frequent numbers have a cell of their own. The distance is the share of "
        "rows that would have to change their value to make the two alike (total variation): 0% is "
        "equal, 100% has nothing in common."
    )
    pictures = BOTH + cards(map(_column, found.columns))
    return Section(
        "columns",
        "Column by column",
        lead,
        pictures + _distances(found.columns) + _summaries(found.columns),
    )


def _column(column: ColumnComparison) -> str:
    missing = column.real_missing > 0 or column.synthetic_missing > 0
    tables = [
        ValueShares(role, np.array([*shares, absent] if missing else shares, dtype=np.float64))
        for role, shares, absent in (
            ("real", column.real, column.real_missing),
            ("synthetic", column.synthetic, column.synthetic_missing),
        )
    ]
    values = ShownValues(
        column.name, column.labels, column.ordered, missing, column.edges, column.kind
    )
    facts = f"{column.kind} · distance {percent(column.total_variation)}"
    if column.lost:
        facts += f" · <b>lost ({column.state})</b>"
    return card(escape_html(column.name), facts, distribution(values, tables))


def _distances(compared: Sequence[ColumnComparison]) -> str:
    headings = (
        "Column",
        "Kind",
        "#Distance",
        "#KS<small>by value</small>",
        "#KS<small>by bin</small>",
        "#KL (bits)",
        "#Missing<small>real</small>",
        "#Missing<small>synthetic</small>",
        "In one table only",
    )
    lines = [
        (
            f"<b>{escape_html(column.name)}</b>",
            column.kind,
            f"{column.total_variation:.4f}",
            decimals(column.kolmogorov_smirnov),
            decimals(column.kolmogorov_smirnov_binned),
            f"{column.kullback_leibler:.4f}",
            percent(column.real_missing),
            percent(column.synthetic_missing),
            _in_one_only(column),
        )
        for column in sorted(compared, key=lambda column: -column.total_variation)
    ]
    note = (
        '<p class="small">KS: the largest difference of the cumulative distributions, where values '
        "have an order; by bin: at the edges of bins alone. KL: relative entropy of the real from "
        "the synthetic distribution, after half a row is added to every value on both sides.</p>"
    )
    return behind("Distances of all columns", table(headings, lines) + note)


def _in_one_only(column: ColumnComparison) -> str:
    found = []
    for where, labels in (("real", column.only_real), ("synthetic", column.only_synthetic)):
        if labels:
            if len(labels) > 3:
                more = f" and {len(labels) - 3} more"
            else:
                more = ""
            found.append(f"{where}: {escape_html(', '.join(labels[:3]))}{more}")
    return "; ".join(found)


def _summaries(compared: Sequence[ColumnComparison]) -> str:
    write_findings = [column for column in compared if column.real_summary]
    if not write_findings:
        return ""
    measures = list(write_findings[0].real_summary)
    lines = [
        (
            f"<b>{escape_html(column.name)}</b>",
            where,
            *(decimals(summary.get(measure)) for measure in measures),
        )
        for column in write_findings
        for where, summary in (
            ("real", column.real_summary),
            ("synthetic", column.synthetic_summary),
        )
    ]
    listed = table(
        (
            "Column",
            "Table",
            *(f"#{escape_html(measure.replace('_', ' '))}" for measure in measures),
        ),
        lines,
    )
    return behind("Means, deviations and quartiles", listed)


# ------------------------------------------- several columns at a time


def marginals(found: Evaluation) -> Section:
    """Tables of counts over several columns, and counting questions."""
    lead = (
        "Every table of counts over this many columns (a marginal), real against synthetic: the "
        "share of rows that would have to move to another cell."
    )
    by_order = card(
        "Mean distance by the number of columns",
        "dark mark: what chance alone would leave between two samples of one population",
        lengths(
            (count_noun(errors.order, "column"), errors.mean, errors.by_chance)
            for errors in found.marginals
        ),
    )
    worst = [_worst(errors) for errors in found.marginals if errors.order > 1 and errors.worst]
    content = (
        cards([by_order], "large")
        + cards(worst, "large")
        + _orders(found.marginals)
        + _ranges(found)
    )
    return Section("marginals", "Several columns at a time", lead, content)


def _worst(errors: MarginalErrors) -> str:
    if errors.measured == errors.of:
        sampled = ""
    else:
        sampled = f" of {errors.measured:,} sampled out of {errors.of:,}"
    rows = ((BETWEEN_NAMES.join(entry.attributes), entry.distance, None) for entry in errors.worst)
    title = f"The worst tables of {count_noun(errors.order, 'column')}"
    return card(title, f"the largest distances{sampled}", lengths(rows, long_names=True))


def _orders(orders: Sequence[MarginalErrors]) -> str:
    headings = ("#Columns", "#Tables compared", "#Mean distance", "#By chance", "#Largest", "Where")
    lines = [
        (
            str(errors.order),
            f"{errors.measured:,} of {errors.of:,}",
            f"{errors.mean:.4f}",
            f"{errors.by_chance:.4f}",
            f"{errors.largest:.4f}",
            escape_html(BETWEEN_NAMES.join(errors.worst[0].attributes)) if errors.worst else "",
        )
        for errors in orders
    ]
    return behind("All of it in numbers", table(headings, lines))


def _ranges(found: Evaluation) -> str:
    ranges = found.ranges
    least = percent(ranges.sanity)
    note = (
        f'<p class="lead">{ranges.queries:,} random questions of the kind “how many rows have …”, '
        f"put to both tables. Errors are relative to the real answer; answers below {least} of the "
        f"rows count as {least}.</p>"
    )
    lines = [
        (
            escape_html(query.question),
            percent(query.real),
            percent(query.synthetic),
            percent(query.relative_error),
        )
        for query in ranges.worst
    ]
    listed = behind(
        "Those that came out worst",
        table(("Question", "#Real", "#Synthetic", "#Relative error"), lines),
    )
    told = write_findings(found.findings, "ranges")
    return f'<h3 id="ranges">Counting questions</h3>{told}{note}{listed}'


# --------------------------------------------------------------------------- pairs of columns


def pairs(found: Evaluation) -> Section | None:
    """What columns tell about each other."""
    if len(found.pairs.names) < 2:
        return None
    lead = (
        "What one column tells about another, in bits (mutual information): the darker, the more. "
        "In the difference, orange was lost on the way to the synthetic table, and blue came in."
    )
    content = _information(found.pairs) + _correlations(found.pairs)
    return Section("pairs", "How columns depend on each other", lead, content)


def _information(pairs: Pairs) -> str:
    real, synthetic, difference = map(
        _off_diagonal,
        (pairs.information_real, pairs.information_synthetic, pairs.information_difference),
    )
    shown = most_telling(pairs.names, np.maximum(real, synthetic).sum(axis=1))
    names = [pairs.names[place] for place in shown]
    top = float(max(real.max(), synthetic.max()))
    change = float(np.abs(difference).max())
    maps = [
        card(
            title,
            facts,
            heat_map(
                names,
                matrix[np.ix_(shown, shown)],
                change if signed else top,
                f"{facts}, {title.lower()}",
                signed=signed,
            ),
        )
        for title, facts, matrix, signed in (
            ("Real", "mutual information", real, False),
            ("Synthetic", "mutual information", synthetic, False),
            ("Difference", "synthetic less real", difference, True),
        )
    ]
    left = len(pairs.names) - len(names)
    note = (
        f'<p class="small">The {len(names)} columns that tell most about others; {left} more '
        "are not shown.</p>"
    )
    lines = [
        (
            f"{escape_html(pairs.names[i])}{BETWEEN_NAMES}{escape_html(pairs.names[j])}",
            f"{real[i, j]:.3f}",
            f"{synthetic[i, j]:.3f}",
            f"{difference[i, j]:+z.3f}",
        )
        for i, j in _largest(np.abs(difference))
    ]
    listed = table(("Pair", "#Real (bits)", "#Synthetic (bits)", "#Difference"), lines)
    return (
        cards(maps, "maps") + (note if left else "") + behind("The pairs that changed most", listed)
    )


def _correlations(pairs: Pairs) -> str:
    points = [
        (
            f"{a}{BETWEEN_NAMES}{b}",
            float(pairs.correlation_real[i, j]),
            float(pairs.correlation_synthetic[i, j]),
        )
        for (i, a), (j, b) in itertools.combinations(enumerate(pairs.ordered), 2)
    ]
    points = [point for point in points if math.isfinite(point[1]) and math.isfinite(point[2])]
    if not points:
        return ""
    every = card(
        "Correlations, pair by pair",
        "a dot a pair of columns with an order; on the dashed line both tables agree",
        scatter(points, "real", "synthetic"),
    )
    rows = [
        (
            name,
            (Dot("real", "real", real), Dot("synthetic", "synthetic", synthetic)),
            f"{synthetic - real:+z.2f}",
        )
        for name, real, synthetic in sorted(points, key=lambda point: -abs(point[2] - point[1]))[
            :10
        ]
    ]
    changed = card(
        "Correlations that changed most",
        "synthetic less real at the right",
        dots(rows, "{:.2g}".format, long_names=True) + BOTH,
    )
    return f"<h3>Correlations</h3>{cards([every, changed], 'large')}"


def _off_diagonal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The matrix without its diagonal, which holds entropies and would outshine the rest."""
    without = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(without, 0.0)
    return without


def _largest(matrix: NDArray[np.float64]) -> list[tuple[int, int]]:
    rows, columns = np.tril_indices(len(matrix), -1)
    order = np.argsort(-matrix[rows, columns], kind="stable")[:MAX_SHOWN_PAIRS]
    return [(int(rows[place]), int(columns[place])) for place in order]
