"""What all reports share: the frame of the page, how text and numbers are written, tables that stand behind pictures.

A page is one file without a script and without anything from outside, so it opens anywhere, prints, and can be mailed.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.evaluation.result import Finding


def page(title: str, header: str, sections: str, footer: str) -> str:
    """A whole page; ``title`` is plain text, all else HTML."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escaped(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
{header}
</header>
<main>
{sections}
</main>
<footer>{footer}</footer>
</body>
</html>
"""


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes
    ----------
    place
        Its name in links.
    heading
        Its title.
    lead
        How the pictures are to be read (HTML).
    content
        The pictures, and the tables behind them (HTML).
    """

    place: str
    heading: str
    lead: str
    content: str

    def html(self, findings: Iterable[Finding] = ()) -> str:
        """The section; it opens with what was found on its subject."""
        return (
            f'<section id="{self.place}">\n<h2>{self.heading}</h2>\n{told(findings, self.place)}'
            f'<p class="lead">{self.lead}</p>\n'
            f"{self.content}\n</section>"
        )


def told(findings: Iterable[Finding], subject: str) -> str:
    """What was found on a subject, a paragraph a finding."""
    return "".join(
        f"<p>{sentence(finding.sentence)}</p>\n"
        for finding in findings
        if finding.subject == subject
    )


def escaped(value: Any) -> str:
    """Text from a table or a model as HTML shows it; control characters, which HTML does not know, become a mark."""
    return html.escape("".join(c if c.isprintable() else "�" for c in str(value)))


def sentence(text: str) -> str:
    """A sentence as HTML, with percentages as :func:`percent` writes them: no line can end before the sign."""
    return re.sub(r"(?<=\d) %", "%", escaped(text))


def shortened(text: str, longest: int = 14) -> str:
    """A text that fits beside a picture: long ones keep their beginning and their end, where names tend to differ."""
    end = longest // 3
    return text if len(text) <= longest else f"{text[: longest - 1 - end]}…{text[-end:]}"


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{share:.0%}" if share in (0, 1) else f"{share:.1%}" if share >= 0.0005 else "&lt;0.1%"


def decimals(value: float | None, digits: int = 4) -> str:
    """A number of so many digits; nothing where there is none."""
    return "" if value is None or not math.isfinite(value) else f"{value:,.{digits}g}"


def counted(number: int, noun: str) -> str:
    """``1 value``, ``2 values``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def key_figures(figures: Iterable[tuple[str, str]]) -> str:
    """The numbers at the top, each with its name."""
    return f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{value}</dd></div>' for name, value in figures)}</dl>"


def cards(pictures: Iterable[str], size: str = "") -> str:
    """Pictures side by side where there is room, one below the other where there is not."""
    return f'<div class="cards {size}">{"".join(pictures)}</div>'


def card(title: str, facts: str, picture: str, *, place: str = "") -> str:
    """A picture under its title and what there is to say about it; ``place`` is its name in links."""
    name = f' id="{place}"' if place else ""
    return f"<figure{name}><figcaption><b>{title}</b><span>{facts}</span></figcaption>{picture}</figure>"


def behind(summary: str, content: str, *, opened: bool = False) -> str:
    """What is there for those who look: closed until it is opened (unless it is open from the start), open on paper."""
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>{content}</details>"


def table(headings: Sequence[str], lines: Iterable[Sequence[str]], last: Sequence[str] = ()) -> str:
    """A table in a box of its own, which scrolls where the page is narrow; a heading with # is over numbers."""
    kinds = [' class="number"' if heading.startswith("#") else "" for heading in headings]

    def line(cells: Sequence[str], tag: str = "td") -> str:
        return f"<tr>{''.join(f'<{tag}{k}>{cell}</{tag}>' for k, cell in zip(kinds, cells, strict=True))}</tr>"

    head = line([heading.lstrip("#") for heading in headings], "th")
    foot = f"<tfoot>{line(last)}</tfoot>" if last else ""
    body = "".join(map(line, lines))
    return (
        f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody>{foot}</table></div>'
    )


# Real is orange and synthetic is blue throughout: a pair that all kinds of colour vision tell apart, and that differs
# in brightness as well, for paper. Text stands in dark ink.
_STYLE = """
:root { color-scheme: light; --ink: #17212b; --quiet: #4f5b68; --synthetic: #2f6690; --real: #e69f00; --pale: #b9c2cb;
        --line: #dde1e6; --noise: #b3262e; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 2rem clamp(1rem, 4vw, 3rem); background: #fff; color: var(--ink);
       font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
       -webkit-print-color-adjust: exact; print-color-adjust: exact; overflow-wrap: anywhere; }
header { border-top: 6px solid var(--synthetic); padding-top: 1.2rem; }
h1 { font: 600 clamp(1.6rem, 4.5vw, 2.3rem)/1.2 Georgia, "Times New Roman", serif; margin: 0 0 1rem; }
h2 { font: 600 1.45rem/1.3 Georgia, "Times New Roman", serif; margin: 2.6rem 0 .3rem; padding-top: .8rem;
     border-top: 1px solid var(--line); }
header:has(.banner) { border-top: 0; padding-top: 0; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
p { margin: .3rem 0; max-width: 48rem; }
.over { color: var(--synthetic); font-weight: 600; letter-spacing: .04em; text-transform: uppercase; font-size: .8rem; }
.promise { font-size: 1.12rem; } .lead, .small { color: var(--quiet); } .small, small { font-size: .82rem; }
.alarm { max-width: none; margin: 0 0 1.2rem; padding: .9rem 1.1rem; background: #a4161a; color: #fff;
         font-size: 1.12rem; }
dl { display: grid; grid-template-columns: repeat(6, 1fr); gap: 1px; margin: 1.4rem 0 0;
     background: var(--line); border: 1px solid var(--line); }
dl div { background: #fff; padding: .6rem .9rem; } dt { color: var(--quiet); font-size: .8rem; }
dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.findings { margin: 1.4rem 0 0; padding: 0; list-style: none; max-width: 60rem; }
.findings li { display: grid; grid-template-columns: 4.8rem 1fr; gap: .8rem; padding: .35rem 0; }
.findings a { color: inherit; text-decoration: none; } .findings b { display: block; text-align: center;
              border-radius: 3px; font-size: .8rem; line-height: 1.5rem; }
.verdict { font-size: .8rem; padding: 0 .6rem; border-radius: 3px; background: var(--line); }
figcaption .verdict { display: inline-block; margin: .2rem 0; }
.good b, .verdict.good { background: #cfe8da; } .fair b, .verdict.fair { background: #fbe9b7; }
.poor b, .verdict.poor { background: #f5c4bd; } .unknown b { background: var(--line); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(21rem, 100%), 1fr)); gap: 2rem 2.4rem;
         margin-top: 1.2rem; align-items: start; }
.cards.maps { grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 1.6rem; }
.cards.large { grid-template-columns: repeat(auto-fill, minmax(min(28rem, 100%), 1fr)); }
figure { margin: 0; break-inside: avoid; min-width: 0; }
figcaption { border-bottom: 2px solid var(--ink); padding-bottom: .25rem; margin-bottom: .5rem; line-height: 1.3; }
figcaption b { display: block; } figcaption span { color: var(--quiet); font-size: .82rem; }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; margin: .8rem 0 0; padding: 0; list-style: none;
       font-size: .86rem; }
.key i { display: inline-block; width: .9em; height: .9em; margin-right: .4em; vertical-align: -.08em; }
.bars, .dots { list-style: none; margin: 0; padding: 0; font-size: .86rem; line-height: 1.25; max-width: 34rem; }
.bars li, .dots li { display: grid; grid-template-columns: 9.2rem 1fr 3.3rem; gap: .6rem; align-items: center;
           padding: .14rem 0; }
.bars.long li, .dots.long li { grid-template-columns: minmax(7.4rem, 42%) 1fr 3.2rem; }
.bars.pair li { grid-template-columns: 7.6rem 1fr 3.1rem 3.1rem; gap: .5rem; }
.bars span, .dots span { text-align: right; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
             overflow: hidden; }
.bars.long span, .dots.long span { -webkit-line-clamp: 4; }
.bars i { position: relative; height: 1rem; } .bars s { position: absolute; left: 0; top: 0; bottom: 0; }
.bars.pair s.real { bottom: 52%; } .bars.pair s.synthetic { top: 52%; }
.bars u { position: absolute; top: 50%; height: 2px; margin-top: -1px; background: var(--noise); }
.bars b { position: absolute; top: -.1rem; bottom: -.1rem; width: 3px; margin-left: -1px; background: var(--ink); }
.bars em, .dots em { font-style: normal; white-space: nowrap; font-variant-numeric: tabular-nums; text-align: right; }
.bars .missing s { opacity: .55; } .bars .rest, .bars .head { color: var(--quiet); }
.real { background: var(--real); fill: var(--real); }
.synthetic { background: var(--synthetic); fill: var(--synthetic); }
.plain { background: var(--pale); fill: var(--pale); } .ink { background: var(--ink); fill: var(--ink); }
.dots i { position: relative; height: 1.25rem; border-bottom: 1px solid var(--line); }
.dots b { position: absolute; top: 50%; width: .8rem; height: .8rem; margin: -.4rem 0 0 -.4rem; }
.dots b.real { border-radius: 50%; } .dots b.synthetic { transform: rotate(45deg) scale(.85); }
.dots b.plain { width: 4px; margin-left: -2px; height: 1.1rem; margin-top: -.55rem; background: #8a95a1; }
.dots b.ink { width: 3px; margin-left: -1.5px; height: 1.25rem; margin-top: -.625rem; }
.dots .axis i { border: 0; font-style: normal; color: var(--quiet); height: 1rem; }
.dots .axis q { quotes: none; white-space: nowrap; position: absolute; transform: translateX(-50%); font-size: .78rem; }
.split { display: flex; margin-top: .8rem; height: 1.6rem; max-width: 60rem; gap: 2px; } .split i { min-width: 2px; }
svg { width: 100%; max-width: 30rem; height: auto; display: block; }
svg text { font-size: 11px; fill: var(--quiet); font-variant-numeric: tabular-nums; }
svg.square { max-width: 22rem; }
svg .grid { stroke: var(--line); } svg .line { fill: none; stroke: var(--synthetic); stroke-width: 2; }
svg .noise { stroke: var(--noise); stroke-width: 1.2; opacity: .75; }
svg .faint, svg .missing { fill-opacity: .55; }
details { margin-top: 1rem; } summary { cursor: pointer; color: var(--synthetic); font-weight: 600; }
.wide { overflow-x: auto; overflow-wrap: normal; }
table { border-collapse: collapse; width: 100%; margin-top: .8rem; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .38rem .8rem .38rem 0; border-bottom: 1px solid var(--line); }
th { border-bottom: 2px solid var(--ink); } tr { break-inside: avoid; } thead { display: table-header-group; }
td small, th small { display: block; color: var(--quiet); font-weight: 400; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-right: 0;
          padding-left: .8rem; }
.number + :not(.number) { padding-left: 1.4rem; }
tfoot td { font-weight: 600; border-bottom: 2px solid var(--ink); }
footer { margin-top: 2.5rem; color: var(--quiet); font-size: .85rem; }
@media (max-width: 60rem) { dl { grid-template-columns: repeat(3, 1fr); } }
@media (max-width: 30rem) { dl { grid-template-columns: repeat(2, 1fr); } dd { font-size: 1.1rem; }
                            .dots .axis q:nth-child(even) { display: none; }
                            .bars li, .dots li { grid-template-columns: 7.4rem 1fr 3.2rem; }
                            .bars.long li, .dots.long li { grid-template-columns: minmax(7.4rem, 42%) 1fr 3.2rem; }
.bars.long span, .dots.long span { -webkit-line-clamp: 4; }
.bars.pair li { grid-template-columns: 6.6rem 1fr 2.9rem 2.9rem; } }
@media print { @page { margin: 16mm; } body { padding: 0; max-width: none; font-size: 10.5pt; }
               dl { grid-template-columns: repeat(3, 1fr); } h2, .lead { break-after: avoid; }
               .cards { display: block; columns: 2; column-gap: 2rem; } figure { margin-bottom: 1.4rem; }
               tfoot { display: table-row-group; } .wide { overflow: visible; }
               details::details-content { content-visibility: visible; block-size: auto; } }
"""
