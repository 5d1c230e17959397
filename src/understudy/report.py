"""The report that may go out with a release: one HTML file built from the model alone.

No script, no outside file: pictures are SVG inside the page. It shows what was released and how sure each number is;
since it reads only the model, it can tell nothing that the model does not.
"""

from __future__ import annotations

import html
from pathlib import Path

import numpy as np

from understudy.files import write_text
from understudy.model import Model
from understudy.networks.network import Node
from understudy.schema import Attribute

MOST_BARS = 48


def write_report(model: Model, path: str | Path) -> None:
    """Write the report of a model to an HTML file."""
    write_text(path, report(model), "report")


def report(model: Model) -> str:
    """The report of a model as HTML."""
    rows = (
        "not measured"
        if model.rows is None
        else f"{'' if model.ledger.neighbours == 'replace' else 'about '}{model.rows:,}"
    )
    warning = "" if model.ledger.private else ' class="alarm"'
    cards = "".join(_card(model.schema[node.attribute], node) for node in model.network)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Understudy: what was released</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>What was released</h1>
<p{warning}>{html.escape(model.ledger.statement())}</p>
<dl>
<div><dt>Method</dt><dd>{html.escape(str(model.method["name"]))}</dd></div>
<div><dt>Rows of the original</dt><dd>{rows}</dd></div>
<div><dt>Columns</dt><dd>{len(model.schema)}</dd></div>
<div><dt>Questions asked</dt><dd>{len(model.ledger.entries)}</dd></div>
</dl>
<p class="quiet">This page is made from the released model alone, so it may be shared along with it.</p>
</header>
<main>
<h2>The columns, as the model has them</h2>
<p class="quiet">Each bar is a share of rows. The thin line is two standard deviations of the noise that was added.</p>
<div class="cards">{cards}</div>
{_left_out(model)}
<h2>The ledger</h2>
<p class="quiet">Every question put to the private rows, and its cost. Neighbours: {model.ledger.neighbours}.</p>
{_ledger_table(model)}
</main>
</body>
</html>
"""


def _card(attribute: Attribute, node: Node) -> str:
    parents = ", ".join(str(axis) for axis in node.parents)
    note = f" given {html.escape(parents)}" if parents else ""
    return (
        f"<figure><figcaption><b>{html.escape(attribute.name)}</b>{note}<span>{attribute.kind}, {attribute.size} "
        f"value{'s' if attribute.size != 1 else ''}</span></figcaption>{_bars(attribute, node)}</figure>"
    )


def _bars(attribute: Attribute, node: Node) -> str:
    """Horizontal bars with labels: they read well at any width."""
    counts = node.table.reshape(-1, node.table.shape[-1]).sum(axis=0)
    total = max(float(counts.sum()), 1e-9)
    shares = counts / total
    configurations = node.table.size // node.table.shape[-1]
    spread = 2 * node.deviation * np.sqrt(configurations) / total
    shown = min(len(shares), MOST_BARS)
    top = max(float(shares[:shown].max()), 1e-9)
    line = 18
    parts = []
    for code in range(shown):
        y, share = code * line, float(shares[code])
        label = attribute.label(code)
        short = label if len(label) <= 22 else label[:21] + "…"
        width = 150 * share / top
        low, high = (150 * max(0.0, min(top * 1.12, share + sign * spread)) / top for sign in (-1, 1))
        parts.append(
            f'<text x="132" y="{y + 13}" text-anchor="end">{html.escape(short)}</text>'
            f'<rect x="138" y="{y + 3}" width="{width:.1f}" height="12">'
            f"<title>{html.escape(label)}: {share:.2%}</title></rect>"
            f'<line x1="{138 + low:.1f}" x2="{138 + high:.1f}" y1="{y + 9}" y2="{y + 9}"/>'
            f'<text x="312" y="{y + 13}" class="share">{share:.1%}</text>'
        )
    more = f"<p class='quiet'>and {len(shares) - shown} more</p>" if shown < len(shares) else ""
    name = html.escape(attribute.name)
    frame = f'<svg viewBox="0 0 356 {shown * line + 2}" role="img" aria-label="shares of {name}">'
    return f"{frame}{''.join(parts)}</svg>{more}"


def _left_out(model: Model) -> str:
    unread = [a for a in model.schema if not a.modelled]
    if not unread:
        return ""
    names = ", ".join(f"{html.escape(a.name)} ({a.kind})" for a in unread)
    return f"<p>Never read, made anew or left out: {names}.</p>"


def _ledger_table(model: Model) -> str:
    ledger = model.ledger
    if not ledger.entries:
        return "<p>Nothing was asked, nothing was spent.</p>"
    lines = "".join(
        f"<tr><td>{html.escape(entry.question)}</td><td>{html.escape(entry.mechanism)}</td>"
        f"<td class='number'>{entry.amount:.4g}</td><td class='number'>{entry.delta:.2g}</td></tr>"
        for entry in ledger.entries
    )
    epsilon, delta = ledger.spent()
    return (
        f"<div class='wide'><table><thead><tr><th>question</th><th>mechanism</th><th>{ledger.currency}</th>"
        f"<th>delta</th></tr></thead>"
        f"<tbody>{lines}</tbody><tfoot><tr><td colspan='2'>together</td><td class='number'>epsilon {epsilon:.6g}</td>"
        f"<td class='number'>{delta:.2g}</td></tr></tfoot></table></div>"
    )


_STYLE = """
:root { color-scheme: light; --ink: #1d2733; --quiet: #5b6774; --bar: #4878a8; --paper: #fbfaf7; --line: #e3dfd6; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
       font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .5rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .25rem; }
.quiet { color: var(--quiet); font-size: .9rem; margin: .2rem 0; }
.alarm { background: #b3261e; color: white; padding: .6rem 1rem; font-weight: bold; }
dl { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; margin: 1rem 0; }
dt { color: var(--quiet); font-size: .8rem; } dd { margin: 0; font-size: 1.15rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap: 1rem;
align-items: start; } figure { margin: 0; padding: .8rem; background: white; border: 1px solid var(--line);
border-radius: 6px; break-inside: avoid; } figcaption { display: flex; flex-wrap: wrap; gap: .4rem; align-items:
baseline; margin-bottom: .4rem; } figcaption span { margin-left: auto; color: var(--quiet); font-size: .8rem; }
svg { width: 100%; height: auto; display: block; } svg text { font-size: 11px; fill: var(--ink); }
svg rect { fill: var(--bar); } svg line { stroke: #14263a; stroke-width: 1.2; } svg .share { fill: var(--quiet); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; background: white; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; } tfoot { font-weight: bold; }
@media print { body { max-width: none; } figure { border-color: #bbb; } }
"""
