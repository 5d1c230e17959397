"""What all reports share: the frame of the page, how text and numbers are written, tables that
stand behind pictures.

A page is one file without a script and without anything from outside, so it opens anywhere, prints,
and can be mailed.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from understudy.evaluation.fitness import GradedFinding


class HtmlPage(str):
    """A whole page as HTML. A notebook shows it in a frame, where its style stays inside."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        style = "width:100%;height:40rem;border:1px solid #dde1e6"
        return f'<iframe sandbox srcdoc="{html.escape(self)}" style="{style}"></iframe>'


def page(title: str, header: str, sections: str, footer: str) -> HtmlPage:
    """A whole page; ``title`` is plain text, all else HTML."""
    return HtmlPage(f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape_html(title)}</title>
<style>{_read_style()}</style>
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
""")


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

    def html(self, findings: Iterable[GradedFinding] = ()) -> str:
        """The section; it opens with what was found on its subject."""
        told = write_findings(findings, self.place)
        return (
            f'<section id="{self.place}">\n<h2>{self.heading}</h2>\n{told}'
            f'<p class="lead">{self.lead}</p>\n'
            f"{self.content}\n</section>"
        )


def write_findings(findings: Iterable[GradedFinding], subject: str) -> str:
    """What was found on a subject, one paragraph per finding."""
    return "".join(
        f"<p>{sentence(finding.sentence)}</p>\n"
        for finding in findings
        if finding.subject == subject
    )


def escape_html(value: Any) -> str:
    """Text from a table or a model as HTML shows it; control characters, which HTML does not know,
    become a mark.
    """
    return html.escape("".join(c if c.isprintable() else "�" for c in str(value)))


def sentence(text: str) -> str:
    """A sentence as HTML, with percentages as :func:`percent` writes them: no line can end before
    the sign.
    """
    return re.sub(r"(?<=\d) %", "%", escape_html(text))


def shorten(text: str, longest: int = 14) -> str:
    """A text that fits beside a picture: long ones keep their beginning and their end, where names
    tend to differ.
    """
    end = longest // 3
    if len(text) <= longest:
        return text
    return f"{text[: longest - 1 - end]}…{text[-end:]}"


def percent(share: float) -> str:
    """A share as people read it."""
    if share in (0, 1):
        return f"{share:.0%}"
    if share >= 0.0005:
        return f"{share:.1%}"
    return "&lt;0.1%"


def decimals(value: float | None, digits: int = 4) -> str:
    """A number of this many digits; nothing where there is none."""
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:,.{digits}g}"


def count_noun(number: int, noun: str) -> str:
    """``1 value``, ``2 values``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def key_figures(figures: Iterable[tuple[str, str]]) -> str:
    """The numbers at the top, each with its name."""
    pairs = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures)
    return f"<dl>{pairs}</dl>"


def cards(pictures: Iterable[str], size: str = "") -> str:
    """Pictures side by side where there is room, one below the other where there is not."""
    return f'<div class="cards {size}">{"".join(pictures)}</div>'


def card(title: str, facts: str, picture: str, *, place: str = "") -> str:
    """A picture under its title and what there is to say about it; ``place`` is its name in
    links.
    """
    if place:
        name = f' id="{place}"'
    else:
        name = ""
    caption = f"<figcaption><b>{title}</b><span>{facts}</span></figcaption>"
    return f"<figure{name}>{caption}{picture}</figure>"


def behind(summary: str, content: str, *, opened: bool = False) -> str:
    """What is there for those who look: closed until it is opened (unless it is open from the
    start), open on paper.
    """
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>{content}</details>"


def table(headings: Sequence[str], lines: Iterable[Sequence[str]], last: Sequence[str] = ()) -> str:
    """A table in a box of its own, which scrolls where the page is narrow; a heading with # is over
    numbers.
    """
    kinds = [' class="number"' if heading.startswith("#") else "" for heading in headings]

    def line(cells: Sequence[str], tag: str = "td") -> str:
        pairs = zip(kinds, cells, strict=True)
        inside = "".join(f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in pairs)
        return f"<tr>{inside}</tr>"

    head = line([heading.lstrip("#") for heading in headings], "th")
    if last:
        foot = f"<tfoot>{line(last)}</tfoot>"
    else:
        foot = ""
    body = "".join(map(line, lines))
    return (
        f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody>{foot}</table></div>'
    )


@cache
def _read_style() -> str:
    """The style of all pages, which stand by themselves: it is copied into each."""
    return resources.files("understudy.reports").joinpath("page.css").read_text(encoding="utf-8")
