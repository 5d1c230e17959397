"""What an audit found, as numbers, as a table and as a picture."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from understudy.data.files import writable_file
from understudy.privacy.budget import Currency, rho_of
from understudy.privacy.gaussian_privacy import gdp_of

FindingVerdict = Literal["kept", "broken", "too few runs", "wasteful"]

SLACK = 1e-9
"""Exact values are computed in floating point; this share of the claim is not a violation."""


@dataclass(frozen=True)
class Finding:
    """One measurement of one guarantee.

    Attributes
    ----------
    subject
        What was audited.
    pair
        The neighbouring tables on which it lost most.
    test
        "exact" or "runs".
    claimed, measured
        The promised loss, and the measured one: exact, or a lower bound with the confidence that is
        stated.
    unit
        "epsilon", "epsilon at delta" with its delta, "rho" (zCDP), "mu" (Gaussian differential
        privacy), "delta", or "bias": how far estimates are off on average.
    confidence
        1 where the value is exact.
    source
        Where a broken control comes from.
    limit
        The most that could have been measured: this many runs can show no more.
    least
        The share of the claim that must be measured at least, where one is known: what loses less
        pays for accuracy that it does not get.
    """

    subject: str
    pair: str
    test: str
    claimed: float
    measured: float
    unit: str = "epsilon"
    confidence: float = 1.0
    source: str = ""
    limit: float = math.inf
    least: float = 0.0

    @property
    def verdict(self) -> FindingVerdict:
        """Whether more was lost than was promised, if that could have been seen at all; or far
        less, where the worst case is known.
        """
        if self.measured > self.claimed * (1 + SLACK):
            return "broken"
        if self.measured < self.claimed * self.least:
            return "wasteful"
        if self.limit > self.claimed:
            return "kept"
        return "too few runs"


def overall(findings: Iterable[Finding]) -> FindingVerdict:
    """Broken if one is, wasteful if one is; kept if one at least could have been."""
    verdicts = {finding.verdict for finding in findings}
    if "broken" in verdicts:
        return "broken"
    if "wasteful" in verdicts:
        return "wasteful"
    if "kept" in verdicts:
        return "kept"
    return "too few runs"


def unit_at(delta: float) -> str:
    """Epsilon, and at which delta."""
    if delta:
        return f"epsilon at delta {delta:g}"
    return "epsilon"


def mu_of(epsilon: float, delta: float, currency: Currency = "rho") -> float:
    """The mu that (epsilon, delta) buys where all noise is Gaussian: rho-zCDP of Gaussian noise is
    sqrt(2 rho)-GDP.
    """
    if currency == "gdp":
        return math.sqrt(2 * gdp_of(epsilon, delta))
    return math.sqrt(2 * rho_of(epsilon, delta))


@dataclass(frozen=True)
class AuditResult:
    """The outcome of an audit.

    Attributes
    ----------
    subject
        What was audited.
    claimed
        The promised epsilon (1 for the controls: there, measured values are in units of each one's
        claim).
    measured
        The largest epsilon that was measured; for the controls, which must all be flagged, the
        smallest.
    confidence
        That of the bounds that come from runs.
    verdict
        "kept", "broken", "wasteful" where a mechanism loses far less than it is paid for, or "too
        few runs" where nothing was computed exactly and the runs could not have shown that more is
        lost than is claimed; for the controls "all flagged" or "some
        missed".
    details
        Every single finding.
    """

    subject: str
    claimed: float
    measured: float
    confidence: float
    verdict: str
    details: tuple[Finding, ...]

    def largest(self, unit: str) -> Finding | None:
        """The finding that comes closest to its claim (or farthest beyond it) among those in a
        unit, if any.
        """
        found = [finding for finding in self.details if finding.unit == unit]
        return max(found, key=lambda finding: finding.measured / finding.claimed, default=None)

    @property
    def passed(self) -> bool:
        """Whether all is as it should be."""
        return self.verdict in ("kept", "all flagged")

    def markdown(self) -> str:
        """A table for a page."""
        return markdown(self.details)

    def plot(self, path: str | Path | None = None) -> str:
        """A picture (SVG): what was measured as bars, the claim as a line; written to a file if a
        path is given.
        """
        drawn = picture(f"Audit of {self.subject}", self.details)
        if path is not None:
            writable_file(path, "picture").write_text(drawn, encoding="utf-8")
        return drawn


def number(value: float) -> str:
    """A number of three digits."""
    if math.isinf(value):
        return "∞"
    return f"{value:.3g}"


def markdown(findings: Sequence[Finding]) -> str:
    """A table of findings."""
    sources = any(finding.source for finding in findings)
    headings = [
        "subject",
        *(["source"] if sources else []),
        "neighbours",
        "test",
        "unit",
        "claimed",
        "measured",
        "",
    ]
    lines = [headings, ["---"] * (len(headings) - 3) + ["--:", "--:", "---"]]
    for finding in findings:
        cells = [
            finding.subject,
            *([finding.source] if sources else []),
            finding.pair,
            finding.test,
            finding.unit,
        ]
        lines.append([*cells, number(finding.claimed), number(finding.measured), finding.verdict])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


LABEL_WIDTH, BAR_WIDTH, LINE_HEIGHT, CHART_MARGIN = 400, 420, 22, 12
COLOURS: dict[FindingVerdict, str] = {
    "kept": "#2a7f62",
    "broken": "#c0392b",
    "wasteful": "#b9770e",
    "too few runs": "#8a8a8a",
}
FULL = 2.0
"""The claims that fit on a bar; longer bars are cut, with an arrow."""


def picture(title: str, findings: Sequence[Finding]) -> str:
    """A bar for each finding, in units of its claim; the claim is a line through all of them."""
    width, height = (
        LABEL_WIDTH + BAR_WIDTH + 130,
        2 * CHART_MARGIN + 50 + LINE_HEIGHT * len(findings),
    )
    unit = BAR_WIDTH / FULL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" '
        'font-size="12">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{CHART_MARGIN}" y="{CHART_MARGIN + 12}" font-size="15" '
        f'font-weight="bold">{html.escape(title)}</text>',
        f'<text x="{LABEL_WIDTH + unit:g}" y="{CHART_MARGIN + 34}" text-anchor="middle" '
        'fill="#444444">claimed</text>',
    ]
    top = CHART_MARGIN + 42
    for place, finding in enumerate(findings):
        y = top + place * LINE_HEIGHT
        share = finding.measured / finding.claimed
        colour = COLOURS[finding.verdict]
        if share > FULL:
            arrow = " ▸"
        else:
            arrow = ""
        label = finding.subject + ("" if finding.unit == "epsilon" else f" ({finding.unit})")
        parts += [
            f'<text x="{LABEL_WIDTH - 8}" y="{y + 14}" text-anchor="end">'
            f"{html.escape(label)}</text>",
            f'<rect x="{LABEL_WIDTH}" y="{y + 3}" width="{max(min(share, FULL) * unit, 1):.1f}" '
            f'height="{LINE_HEIGHT - 6}" '
            f'fill="{colour}"/>',
            f'<text x="{LABEL_WIDTH + BAR_WIDTH + 10}" y="{y + 14}">'
            f"{number(finding.measured)}{arrow} of {number(finding.claimed)}</text>",
        ]
    line, bottom = LABEL_WIDTH + unit, top + LINE_HEIGHT * len(findings)
    parts.append(
        f'<line x1="{line:g}" x2="{line:g}" y1="{top - 2}" y2="{bottom}" '
        'stroke="#111111" '
        'stroke-width="1.5" stroke-dasharray="4 3"/>'
    )
    return "\n".join([*parts, "</svg>", ""])
