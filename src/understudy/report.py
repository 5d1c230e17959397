"""The report that may go out with a release: one HTML file built from the model alone.

No script, no outside file: pictures are SVG or plain boxes inside the page, so it opens anywhere, prints, and can be
mailed. It shows what was released and how sure each number is; since it reads only the model, it can tell nothing
that the model does not.
"""

from __future__ import annotations

import html
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.files import write_text
from understudy.model import Model
from understudy.networks.network import Node
from understudy.schema import Attribute, Category, Quantity, Text

MOST_BARS = 12
"""Values listed one below the other; the rest is summed up."""

MOST_LABELLED = 12
"""Bins up to this many get a bar with a label each; more become a histogram."""


def write_report(model: Model, path: str | Path) -> None:
    """Write the report of a model to an HTML file."""
    write_text(path, report(model), "report")


def report(model: Model) -> str:
    """The report of a model as HTML."""
    cards = "".join(_card(model.schema[node.attribute], node) for node in _columns(model))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Release report: a synthetic table</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<p class="over">Release report</p>
<h1>A synthetic table, and what it is based on</h1>
{_guarantee(model)}
{_key_figures(model)}
</header>
<main>
<section>
<h2>The columns</h2>
<p class="lead">{_how_to_read(model)}</p>
<div class="cards">{cards}</div>
{_left_out(model)}
</section>
{_network(model)}
<section>
<h2>The ledger</h2>
{_ledger_table(model)}
</section>
</main>
<footer>Made by Understudy from the released model alone: whoever may see the model may see this page.</footer>
</body>
</html>
"""


def _text(value: Any) -> str:
    """Text from the model as HTML shows it; control characters, which HTML does not know, become a mark."""
    return html.escape("".join(c if c.isprintable() else "�" for c in str(value)))


# --------------------------------------------------------------------------- the top of the page


def _guarantee(model: Model) -> str:
    ledger = model.ledger
    if not ledger.private:
        return f'<p class="alarm"><b>Do not publish.</b> {_text(ledger.statement())}</p>'
    meaning = ""
    epsilon, delta = ledger.promise()
    if ledger.entries and epsilon <= 10:
        but = "" if not delta else f", give or take a probability of {delta:.2g}"
        event = (
            "person's rows are in the table or not"
            if ledger.unit == "person"
            else "row is in the table or not"
            if ledger.neighbours == "add_remove"
            else "row holds these values or others"
        )
        meaning = (
            f"<p>Whether any one {event}, no result of this release becomes more than "
            f"{math.exp(epsilon):.3g} times as likely{but}.</p>"
        )
    return f'<p class="promise">{_text(ledger.statement())}</p>{meaning}'


def _key_figures(model: Model) -> str:
    epsilon, delta = model.ledger.promise()
    rows = "not measured" if model.rows is None else f"{model.rows:,}"
    about = "" if model.rows is None or model.ledger.neighbours == "replace" else "about "
    figures = [
        ("Epsilon", f"{epsilon:.4g}" if model.ledger.private else "none"),
        ("Delta", f"{delta:.2g}" if model.ledger.private else "none"),
        ("Rows of the original", about + rows),
        ("Columns", str(len(model.schema))),
        ("Questions asked", str(len(model.ledger.entries))),
        ("Method", _text(model.method["name"])),
    ]
    return f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{value}</dd></div>' for name, value in figures)}</dl>"


def _how_to_read(model: Model) -> str:
    if not any(node.deviation for node in model.network):
        return "How often each value comes up in the synthetic table. Nothing here was measured."
    return (
        "How often each value comes up in the synthetic table. The thin line at the end of a bar spans two standard "
        "deviations of the noise that protects the rows: differences smaller than that mean nothing."
    )


def _columns(model: Model) -> list[Node]:
    """A node for each column; where the network is over bits, the column's own distribution is worked out from it."""
    if model.bits is None:
        return list(model.network)
    found = []
    for attribute in model.schema.modelled:
        estimate = model.marginal(attribute.name)
        found.append(Node(attribute.name, (), estimate.table, float(np.sqrt((estimate.deviation**2).mean()))))
    return found


def _network(model: Model) -> str:
    """The picture of the network, where columns depend on each other."""
    if not model.network.degree:
        return ""
    return f"""<section>
<h2>How the columns hang together</h2>
<p class="lead">Each column is drawn given those that point to it. The thicker the line, the more the one tells about
the other in the released tables; ^1, ^2, … means in coarser groups.</p>
<div style="overflow-x:auto">{model.plot().svg}</div>
</section>"""


def _left_out(model: Model) -> str:
    unread = [attribute for attribute in model.schema if not attribute.modelled]
    if not unread:
        return ""
    items = "".join(f"<li><b>{_text(a.name)}</b> ({a.kind}): {_instead(a)}</li>" for a in unread)
    return f"<h3>Not modelled</h3><ul>{items}</ul>"


def _instead(attribute: Attribute) -> str:
    if not isinstance(attribute, Text):
        return "made anew for every synthetic row"
    if attribute.replacement is None:
        return "left out"
    return f"every synthetic row has {_text(attribute.replacement)}"


# --------------------------------------------------------------------------- one column


def _card(attribute: Attribute, node: Node) -> str:
    counts = node.table.reshape(-1, node.table.shape[-1]).sum(axis=0)
    total = float(counts.sum())
    shares = counts / total if total > 0 else np.full(len(counts), 1 / len(counts))
    # The share of a value sums the cells of all parent values, each with noise of its own.
    configurations = node.table.size // node.table.shape[-1]
    spread = 2 * node.deviation * math.sqrt(configurations) / total if total > 0 else 0.0
    parents = ", ".join(str(axis) for axis in node.parents)
    facts = [_kind(attribute)]
    if parents:
        facts.append(f"depends on {_text(parents)}")
    if node.deviation:
        facts.append(f"noise ±{_percent(min(spread, 1.0))}")
    picture = _histogram if _many_bins(attribute) else _bars
    return (
        f"<figure><figcaption><b>{_text(attribute.name)}</b><span>{' · '.join(facts)}</span></figcaption>"
        f"{picture(attribute, shares, spread)}</figure>"
    )


def _kind(attribute: Attribute) -> str:
    size = attribute.values_size
    if isinstance(attribute, Quantity):
        return f"{attribute.kind}, {size} bin{'s' if size != 1 else ''}"
    return f"{attribute.kind}, {size} value{'s' if size != 1 else ''}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share in (0, 1) else f"{share:.1%}" if share >= 0.0005 else "&lt;0.1%"


def _many_bins(attribute: Attribute) -> bool:
    ordered = isinstance(attribute, Quantity) or (isinstance(attribute, Category) and attribute.ordered)
    return ordered and attribute.values_size > MOST_LABELLED


def _bars(attribute: Attribute, shares: NDArray[np.float64], spread: float) -> str:
    """A row a value: label, bar, share. Plain boxes, since text in them wraps and stays legible on a telephone."""
    codes = list(range(attribute.values_size))
    if not isinstance(attribute, Quantity) and not getattr(attribute, "ordered", False) and len(codes) > MOST_BARS:
        codes.sort(key=lambda code: -shares[code])
    listed, rest = codes[:MOST_BARS], codes[MOST_BARS:]
    if len(rest) == 1:
        listed, rest = codes, []
    missing = [attribute.values_size] if attribute.missing is not None else []
    top = max(float(shares[listed + missing].max()), 1e-9)
    rows = [_bar(attribute.label(code), float(shares[code]), spread, top) for code in listed]
    if rest:
        together = _percent(float(shares[rest].sum()))
        rows.append(f'<li class="rest"><span>{len(rest)} more values</span><i></i><em>{together}</em></li>')
    rows.extend(_bar("missing", float(shares[code]), spread, top, "missing") for code in missing)
    return f'<ul class="bars">{"".join(rows)}</ul>'


def _bar(label: str, share: float, spread: float, top: float, role: str = "") -> str:
    scale = 100 / (top * 1.08)
    low, high = max(0.0, share - spread) * scale, min(100.0, (share + spread) * scale)
    whisker = f'<u style="left:{low:.2f}%;width:{high - low:.2f}%"></u>' if spread else ""
    kind = f' class="{role}"' if role else ""
    return (
        f'<li{kind} title="{_text(label)}: {share:.2%}"><span>{_text(label)}</span>'
        f'<i><s style="width:{share * scale:.2f}%"></s>{whisker}</i><em>{_percent(share)}</em></li>'
    )


# ---- histograms

_WIDE, _HIGH = 340, 168
_LEFT, _TOP, _BOTTOM = 38, 8, 22


def _histogram(attribute: Attribute, shares: NDArray[np.float64], spread: float) -> str:
    """Upright bars side by side, one a bin, with missing values standing apart on the right."""
    bins = attribute.values_size
    gap = 16 if attribute.missing is not None else 0
    width = (_WIDE - _LEFT - 4 - gap) / (bins + (2 if gap else 0))
    reach = float(shares.max()) + min(spread, float(shares.max()))
    ticks = _ticks(max(reach, 1e-9))
    floor = _HIGH - _BOTTOM

    def y(share: float) -> float:
        return floor - (floor - _TOP) * min(1.0, share / ticks[-1])

    parts = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDE}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text x="{_LEFT - 5}" y="{y(tick) + 4:.1f}" text-anchor="end">{100 * tick:.3g}%</text>'
        for tick in ticks
    ]
    for code in range(attribute.size):
        missing = code >= bins
        left = _LEFT + 2 + width * code + (gap if missing else 0)
        across = width * 2 if missing else width
        share = float(shares[code])
        role = ' class="missing"' if missing else ""
        parts.append(
            f'<rect{role} x="{left + 0.4:.2f}" y="{y(share):.2f}" width="{max(across - 0.8, 0.4):.2f}" '
            f'height="{floor - y(share):.2f}"><title>{_text(attribute.label(code))}: {share:.2%}</title></rect>'
        )
        if spread:
            middle = left + across / 2
            low, high = y(max(0.0, share - spread)), y(share + spread)
            parts.append(f'<line class="noise" x1="{middle:.2f}" x2="{middle:.2f}" y1="{low:.2f}" y2="{high:.2f}"/>')
    end = _LEFT + 2 + width * bins
    parts.extend(
        f'<text x="{x:.1f}" y="{_HIGH - 6}" text-anchor="{anchor}">{_text(_short(label))}</text>'
        for x, anchor, label in _axis(attribute, end)
    )
    if gap:
        parts.append(f'<text x="{_WIDE}" y="{_HIGH - 6}" text-anchor="end">missing</text>')
    note = "" if _equal_bins(attribute) else '<p class="small">The bins differ in width.</p>'
    name = _text(attribute.name)
    frame = f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="histogram of {name}">'
    return f"{frame}{''.join(parts)}</svg>{note}"


def _ticks(reach: float) -> list[float]:
    """Round numbers from 0 to a little above ``reach``, four or five of them."""
    power = 10.0 ** math.floor(math.log10(reach / 4))
    step = next(power * unit for unit in (1, 2, 2.5, 5, 10) if power * unit * 4.5 >= reach)
    return [step * i for i in range(math.ceil(reach / step - 1e-9) + 1)]


def _axis(attribute: Attribute, end: float) -> list[tuple[float, str, str]]:
    """Where the first, the middle and the last bin lie."""
    middle = (_LEFT + 2 + end) / 2
    if not isinstance(attribute, Quantity):
        last = attribute.values_size - 1
        return [(_LEFT + 2, "start", attribute.label(0)), (end, "end", attribute.label(last))]
    edges = attribute.edges
    high = edges[-1] - 1 if attribute.whole else edges[-1]
    bins = attribute.bins
    labels = [(_LEFT + 2, "start", attribute.write(edges[0])), (end, "end", attribute.write(high))]
    if bins % 2 == 0 and attribute.missing is None:
        labels.insert(1, (middle, "middle", attribute.write(edges[bins // 2])))
    return labels


def _equal_bins(attribute: Attribute) -> bool:
    if not isinstance(attribute, Quantity):
        return True
    widths = [b - a for a, b in itertools.pairwise(attribute.edges)]
    # Whole numbers cannot always be shared out evenly.
    return max(widths) - min(widths) <= (1 if attribute.whole else 1e-6 * max(widths))


def _short(label: str) -> str:
    return label if len(label) <= 16 else label[:15] + "…"


# --------------------------------------------------------------------------- the ledger


def _ledger_table(model: Model) -> str:
    ledger = model.ledger
    if not ledger.entries:
        return '<p class="lead">Nothing was asked, nothing was spent.</p>'
    lines = "".join(
        f"<tr><td>{_text(entry.question)}<small>{_text(entry.mechanism)}</small></td>"
        f"<td class='number'>{entry.amount:.4g}</td><td class='number'>{entry.delta:.2g}</td></tr>"
        for entry in ledger.entries
    )
    epsilon, delta = ledger.spent()
    unit = "" if ledger.currency == "epsilon" else "epsilon "
    relation = {
        "add_remove": "one row more or less",
        "replace": "one row with other values",
    }[ledger.neighbours]
    if ledger.unit == "person":
        relation = f"all rows of one person (at most {ledger.rows_per_person:,}) more or less"
    return (
        f"<p class='lead'>Every question that was put to the private rows, and its price. Neighbouring tables: "
        f"{relation} ({ledger.neighbours}).</p>"
        f"<table><thead><tr><th>Question<small>and how it was answered</small></th>"
        f"<th class='number'>{ledger.currency}</th><th class='number'>delta</th></tr></thead><tbody>{lines}</tbody>"
        f"<tfoot><tr><td>Together</td><td class='number'>{unit}{epsilon:.6g}</td>"
        f"<td class='number'>{delta:.2g}</td></tr></tfoot></table>"
    )


_STYLE = """
:root { color-scheme: light; --ink: #17212b; --quiet: #566270; --bar: #2f6690; --pale: #b9c2cb; --line: #dde1e6;
        --noise: #d1495b; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 2rem clamp(1rem, 4vw, 3rem); background: #fff; color: var(--ink);
       font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
       -webkit-print-color-adjust: exact; print-color-adjust: exact; overflow-wrap: anywhere; }
header { border-top: 6px solid var(--bar); padding-top: 1.2rem; }
h1 { font: 600 clamp(1.6rem, 4.5vw, 2.3rem)/1.2 Georgia, "Times New Roman", serif; margin: 0 0 1rem; }
h2 { font: 600 1.45rem/1.3 Georgia, "Times New Roman", serif; margin: 2.6rem 0 .3rem; padding-top: .8rem;
     border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
p { margin: .3rem 0; max-width: 48rem; }
.over { color: var(--bar); font-weight: 600; letter-spacing: .04em; text-transform: uppercase; font-size: .8rem; }
.promise { font-size: 1.12rem; } .lead, .small { color: var(--quiet); } .small, small { font-size: .82rem; }
.alarm { max-width: none; background: #a4161a; color: #fff; padding: .9rem 1.1rem; font-size: 1.12rem; }
dl { display: grid; grid-template-columns: repeat(6, 1fr); gap: 1px; margin: 1.4rem 0 0;
     background: var(--line); border: 1px solid var(--line); }
dl div { background: #fff; padding: .6rem .9rem; } dt { color: var(--quiet); font-size: .8rem; }
dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(21rem, 100%), 1fr)); gap: 2rem 2.4rem;
         margin-top: 1.2rem; align-items: start; }
figure { margin: 0; break-inside: avoid; }
figcaption { border-bottom: 2px solid var(--ink); padding-bottom: .25rem; margin-bottom: .5rem; line-height: 1.3; }
figcaption b { display: block; } figcaption span { color: var(--quiet); font-size: .82rem; }
.bars { list-style: none; margin: 0; padding: 0; font-size: .86rem; line-height: 1.25;
         max-width: 34rem; }
.bars li { display: grid; grid-template-columns: 9.2rem 1fr 3.3rem; gap: .6rem; align-items: center;
           padding: .14rem 0; }
.bars span { text-align: right; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
             overflow: hidden; }
.bars i { position: relative; height: 1rem; } .bars s { position: absolute; inset: 0 auto 0 0; background: var(--bar); }
.bars u { position: absolute; top: 50%; height: 2px; margin-top: -1px; background: var(--noise); }
.bars em { font-style: normal; font-variant-numeric: tabular-nums; text-align: right; }
.bars .missing s { background: var(--pale); } .bars .rest { color: var(--quiet); }
svg { width: 100%; max-width: 30rem; height: auto; display: block; }
svg text { font-size: 11px; fill: var(--quiet); font-variant-numeric: tabular-nums; }
svg rect { fill: var(--bar); } svg .missing { fill: var(--pale); } svg .grid { stroke: var(--line); }
svg .noise { stroke: var(--noise); stroke-width: 1.2; opacity: .75; }
table { border-collapse: collapse; width: 100%; margin-top: .8rem; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .38rem .8rem .38rem 0; border-bottom: 1px solid var(--line); }
th { border-bottom: 2px solid var(--ink); } tr { break-inside: avoid; } thead { display: table-header-group; }
td small, th small { display: block; color: var(--quiet); font-weight: 400; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-right: 0;
          padding-left: .8rem; }
tfoot td { font-weight: 600; border-bottom: 2px solid var(--ink); }
footer { margin-top: 2.5rem; color: var(--quiet); font-size: .85rem; }
@media (max-width: 60rem) { dl { grid-template-columns: repeat(3, 1fr); } }
@media (max-width: 30rem) { dl { grid-template-columns: repeat(2, 1fr); } dd { font-size: 1.1rem; }
                            .bars li { grid-template-columns: 7.4rem 1fr 3.2rem; } }
@media print { @page { margin: 16mm; } body { padding: 0; max-width: none; font-size: 10.5pt; }
               dl { grid-template-columns: repeat(3, 1fr); } h2, .lead { break-after: avoid; }
               .cards { display: block; columns: 2; column-gap: 2rem; } figure { margin-bottom: 1.4rem; }
               tfoot { display: table-row-group; } }
"""
