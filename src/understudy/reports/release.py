"""The report that may go out with a release, built from the model alone.

It shows what was released and how sure each number is; since it reads only the model, it can tell
nothing that the model does not.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from understudy.data.files import write_text
from understudy.data.schema import Attribute, Category, Computed, Quantity, Text
from understudy.errors import InputError
from understudy.models.model import Model
from understudy.models.network import Node
from understudy.reports.charts import split
from understudy.reports.distributions import ShownValues, ValueShares, distribution
from understudy.reports.page import (
    HtmlPage,
    Section,
    behind,
    card,
    cards,
    count_noun,
    escape_html,
    key_figures,
    page,
    percent,
    table,
)

MAX_LISTED_VALUES = 12
"""Values of a category that the schema's table lists."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What a release is called, and whom to ask about it.

    Parameters
    ----------
    title
        The name of the data set, as it may be published.
    contact
        Who answers questions: a name, an address.
    date
        The day of the report; today where not given.
    purpose, conditions
        What the data may be used for, and under which conditions.
    """

    title: str = ""
    contact: str = ""
    date: dt.date | None = None
    purpose: str = ""
    conditions: str = ""


def write_report(
    model: Model,
    path: str | Path,
    *,
    title: str = "",
    contact: str = "",
    date: dt.date | None = None,
) -> None:
    """Write the report of a model to an HTML file; see :class:`About` for the other parameters."""
    about = About(title=title, contact=contact, date=date)
    write_text(path, report(model, about), "report")


def report(model: Model, about: About | None = None) -> HtmlPage:
    """The report of a model as HTML."""
    about = about or About()
    heading = escape_html(about.title) or "A synthetic table, and what it is based on"
    header = f"""<p class="over">Release report</p>
<h1>{heading}</h1>
{_guarantee(model)}
{_key_figures(model)}
{_about(about)}"""
    columns = cards(_card(model.schema[node.attribute], node) for node in _columns(model))
    parts = [
        Section(
            "columns",
            "The columns",
            _how_to_read(model),
            columns + _describe_left_out(model) + _schema(model),
        ).html(),
        _network(model),
        Section("limits", "Known limits", *_limits(model)).html(),
        _public(model),
        Section("ledger", "The ledger", *_ledger(model)).html(),
    ]
    footer = (
        "Made by Understudy from the released model alone: whoever may see the model may see "
        "this page."
    )
    return page("Release report: a synthetic table", header, "\n".join(parts), footer)


# --------------------------------------------------------------------------- the top of the page


def _about(about: About) -> str:
    from understudy import __version__

    date = about.date or dt.date.today()
    facts = (
        ("Data set", escape_html(about.title) or "not named"),
        ("Date of this report", date.isoformat()),
        ("Software", f"Understudy {escape_html(__version__)}"),
        ("Contact", escape_html(about.contact) or "not given"),
    )
    terms = [("Purpose", about.purpose), ("Conditions of use", about.conditions)]
    told = [f"<p>{name}: {escape_html(text)}</p>" for name, text in terms if text]
    line = " · ".join(f"{name}: <b>{fact}</b>" for name, fact in facts)
    return f'<p class="small">{line}</p>{"".join(told)}'


def _guarantee(model: Model) -> str:
    ledger = model.ledger
    if not ledger.private:
        return f'<p class="alarm"><b>Do not publish.</b> {escape_html(ledger.statement())}</p>'
    return f'<p class="promise">{escape_html(ledger.statement())}</p>'


def _public(model: Model) -> str:
    """What no noise protects."""
    lead = (
        "What the release read, or was told, without a price. No noise protects it: whoever sees "
        "this page may take it for exact."
    )
    listed = "".join(f"<li>{escape_html(item)}</li>" for item in model.taken_as_public)
    if not listed:
        lead = "The model does not say what was taken as public."
    return Section("public", "Taken as public", lead, f"<ul>{listed}</ul>" if listed else "").html()


def _key_figures(model: Model) -> str:
    epsilon, delta = model.ledger.promise()
    if model.rows is None:
        rows = "not measured"
    else:
        rows = f"{model.rows:,}"
    if model.rows is None or model.ledger.neighbours == "replace":
        about = ""
    else:
        about = ", about"
    figures = [
        ("Epsilon", f"{epsilon:.4g}" if model.ledger.private else "none"),
        ("Delta", f"{delta:.2g}" if model.ledger.private else "none"),
        (f"Real rows{about}", rows),
        ("Columns", str(len(model.schema))),
        ("Questions asked", str(len(model.ledger.entries))),
        ("Method", escape_html(model.method["name"])),
    ]
    return key_figures(figures)


def _how_to_read(model: Model) -> str:
    if model.draws is not None:
        return (
            f"How often each value comes up among the {model.draws:,} rows that were drawn "
            "privately. In so few rows a share of 50% has a standard deviation of "
            f"{50 / model.draws**0.5:.2g} percentage points, and all shares are nearer to equal "
            "than in the original: the table was smoothed before drawing."
        )
    if not any(node.deviation for node in model.network):
        return "How often each value comes up in the synthetic table. Nothing here was measured."
    return (
        "How often each value comes up in the synthetic table. The thin line at the end of a bar "
        "spans two standard "
        "deviations of the noise that protects the rows: differences smaller than that mean "
        "nothing. " + _ends_and_others(model)
    ).rstrip()


def _ends_and_others(model: Model) -> str:
    """A word on the places where values pile up that are not their own."""
    words = []
    if any(isinstance(attribute, Quantity) for attribute in model.schema):
        words.append(
            "The first and the last bin of a number also hold what lies beyond its bounds."
        )
    named = [
        attribute.other
        for attribute in model.schema
        if isinstance(attribute, Category) and attribute.other is not None
    ]
    if named:
        words.append(
            f"“{escape_html(named[0])}” stands for values that the schema does not list; it is "
            "shown where any are left over."
        )
    return " ".join(words)


def _limits(model: Model) -> tuple[str, str]:
    """What the release cannot do, as far as the model tells."""
    limits = [
        "A p-value that is computed from synthetic rows is not valid: it takes noise for people, "
        "and the number of rows can be chosen at will.",
        "No synthetic row is a person; a row that looks like somebody is so by chance.",
    ]
    replaced = [a.name for a in model.schema if isinstance(a, Text)]
    if replaced:
        limits.append(f"Text is not in it: {', '.join(replaced)}.")
    if any(isinstance(attribute, Quantity) for attribute in model.schema):
        limits.append(
            "Numbers beyond the bounds of the schema were counted in the first or the last bin; "
            "extremes are not in it. Inside a bin, values need not lie where the original ones do."
        )
    if model.gaussians is not None:
        limits.append(
            f"Numbers are drawn from Gaussians ({model.gaussians}): lumps, long tails and bent "
            "relations inside a cell are lost, and categorical columns have to do with numbers as "
            "far as the label tells."
        )
    elif model.generator is not None:
        limits.append(
            f"Rows are made by {model.generator}: how columns go together is what it has learned "
            "under noise, and no error bar tells how far off that is."
        )
    elif not model.network.degree and len(model.schema.modelled) > 1 and model.draws is None:
        limits.append(
            "Columns were drawn one by one: what they have to do with each other is lost."
        )
    elif model.draws is None:
        limits.append(
            "Columns depend on each other as the network shows; other relations, and those of "
            "many columns at once, are kept only as far as they follow from it."
        )
    listed = "".join(f"<li>{escape_html(limit)}</li>" for limit in limits)
    return "What this synthetic table should not be used for, or cannot show.", f"<ul>{listed}</ul>"


def _columns(model: Model) -> list[Node]:
    """A node for each column, in the order of the table; where the network is over bits, or rows
    keep constraints, the column's own distribution is worked out from it.
    """
    if model.bits is None and not model.schema.constraints:
        by_name = {node.attribute: node for node in model.network}
        return [by_name[attribute.name] for attribute in model.schema.modelled]
    found = []
    for attribute in model.schema.modelled:
        estimate = model.marginal(attribute.name)
        found.append(
            Node(attribute.name, (), estimate.table, float(np.sqrt((estimate.deviation**2).mean())))
        )
    return found


def _network(model: Model) -> str:
    """The picture of the network, where columns depend on each other."""
    if not model.network.degree:
        return ""
    lead = (
        "Each column is drawn given those that point to it. The thicker the line, the more the one "
        "tells about the other in the released tables; ^1, ^2, … means in coarser groups."
    )
    try:
        drawn = f'<div class="wide">{model.plot().svg}</div>'
    except InputError as refusal:  # too large a network: the page is written all the same
        drawn = f"<p>{escape_html(refusal)}</p>"
    return Section("network", "How the columns depend on each other", lead, drawn).html()


def _describe_left_out(model: Model) -> str:
    unread = [attribute for attribute in model.schema if not attribute.modelled]
    if not unread:
        return ""
    items = "".join(
        f"<li><b>{escape_html(a.name)}</b> ({a.kind}): {_instead(a)}</li>" for a in unread
    )
    return f"<h3>Not modelled</h3><ul>{items}</ul>"


def _instead(attribute: Attribute) -> str:
    if isinstance(attribute, Computed):
        return "computed by its formula"
    if not isinstance(attribute, Text):
        return "made for every synthetic row"
    return escape_html(attribute.instead)


def _schema(model: Model) -> str:
    """What was public from the start, or was found out at a price that stands in the ledger."""
    lines = [
        (
            f"<b>{escape_html(a.name)}</b>",
            a.kind,
            _domain(a) if a.modelled else _instead(a),
            _missing_mark(a),
        )
        for a in model.schema
    ]
    return behind(
        "The schema: what every column can hold",
        table(("Column", "Kind", "Domain", "Missing"), lines),
    )


def _domain(attribute: Attribute) -> str:
    if isinstance(attribute, Quantity):
        if attribute.whole:
            last = attribute.edges[-1] - 1
        else:
            last = attribute.edges[-1]
        return escape_html(
            f"{attribute.write(attribute.edges[0])} to {attribute.write(last)}, in "
            f"{count_noun(attribute.bins, 'bin')}"
        )
    assert isinstance(attribute, Category)
    shown = [attribute.label(code) for code in range(attribute.values_size)]
    if len(shown) > MAX_LISTED_VALUES:
        more = f" and {len(shown) - MAX_LISTED_VALUES} more"
    else:
        more = ""
    if attribute.ordered:
        order = " (in this order)"
    else:
        order = ""
    return escape_html(", ".join(shown[:MAX_LISTED_VALUES]) + more + order)


def _missing_mark(attribute: Attribute) -> str:
    if attribute.missing is None:
        return ""
    if not attribute.missing:
        return "an empty cell"
    return f"written {escape_html(attribute.missing)}"


# --------------------------------------------------------------------------- one column


def _card(attribute: Attribute, node: Node) -> str:
    counts = node.table.reshape(-1, node.table.shape[-1]).sum(axis=0)
    total = float(counts.sum())
    if total > 0:
        shares = counts / total
    else:
        shares = np.full(len(counts), 1 / len(counts))
    # The share of a value sums the cells of all parent values, each with noise of its own.
    configurations = node.table.size // node.table.shape[-1]
    if total > 0:
        spread = 2 * node.deviation * math.sqrt(configurations) / total
    else:
        spread = 0.0
    facts = [f"{attribute.kind}, {count_noun(attribute.values_size, _unit(attribute))}"]
    if node.parents:
        facts.append(f"depends on {escape_html(', '.join(str(axis) for axis in node.parents))}")
    if node.deviation:
        facts.append(f"noise ±{percent(min(spread, 1.0))}")
    picture = distribution(ShownValues.of(attribute), [ValueShares("synthetic", shares, spread)])
    return card(escape_html(attribute.name), " · ".join(facts), picture)


def _unit(attribute: Attribute) -> str:
    if isinstance(attribute, Quantity):
        return "bin"
    return "value"


# --------------------------------------------------------------------------- the ledger


def _ledger(model: Model) -> tuple[str, str]:
    """What to say of the ledger, and what to show of it."""
    ledger = model.ledger
    if not ledger.entries:
        return "Nothing was asked, nothing was spent.", ""
    relation = {"add_remove": "one row more or less", "replace": "one row with other values"}[
        ledger.neighbours
    ]
    if ledger.unit == "person":
        relation = f"all rows of one person (at most {ledger.max_rows_per_person:,}) more or less"
    lead = (
        "Every question that was put to the private rows, and its price. Neighbouring tables: "
        f"{relation} ({ledger.neighbours})."
    )
    epsilon, delta = ledger.spent()
    if ledger.currency == "epsilon":
        unit = ""
    else:
        unit = "epsilon "
    lines = [
        (
            f"{escape_html(entry.question)}<small>{escape_html(entry.mechanism)}</small>",
            f"{entry.amount:.4g}",
            f"{entry.delta:.2g}",
        )
        for entry in ledger.entries
    ]
    listed = table(
        ("Question<small>and how it was answered</small>", f"#{ledger.currency}", "#delta"),
        lines,
        ("Together", f"{unit}{epsilon:.6g}", f"{delta:.2g}"),
    )
    return lead, _describe_spending(model) + behind(
        f"All {count_noun(len(lines), 'question')}", listed, opened=True
    )


def _describe_spending(model: Model) -> str:
    """What the budget went to."""
    spent = {"tables": 0.0, "choices": 0.0, "draws": 0.0, "rest": 0.0}
    for entry in model.ledger.entries:
        if " draws from the table of " in entry.question:
            asked = "draws"
        else:
            asked = entry.question.partition(" ")[0]
        spent[{"table": "tables", "choice": "choices", "draws": "draws"}.get(asked, "rest")] += (
            entry.amount
        )
    return split(
        [
            ("synthetic", "noisy tables", spent["tables"]),
            ("ink", "choosing what to measure", spent["choices"]),
            ("synthetic", "rows drawn privately", spent["draws"]),
            ("plain", "finding out the domain", spent["rest"]),
        ]
    )
