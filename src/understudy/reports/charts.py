"""Pictures for reports: SVG where shapes matter, plain boxes where text does (it wraps, and is
legible on a telephone).

Labels and names may come from anywhere and are escaped here; numbers are formatted here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.reports.page import escape_html, percent, shorten

MAX_MAPPED_COLUMNS = 24
"""Columns that a heat map shows."""


BETWEEN_NAMES = " × "
"""Stands between the names of columns that are looked at together."""


def key(*entries: tuple[str, str]) -> str:
    """What the colours mean: a role and a name each."""
    items = "".join(f"<li><i class={role!r}></i>{name}</li>" for role, name in entries)
    return f'<ul class="key">{items}</ul>'


# --------------------------------------------------------------------------- what all share


def round_ticks(low: float, high: float) -> list[float]:
    """Round numbers, evenly spaced, from ``low`` or a little below it to ``high`` or a little
    above: about five.
    """
    if high - low > 1e-9:
        span = high - low
    else:
        span = 1e-9
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * unit for unit in (1, 2, 2.5, 5, 10) if power * unit * 5 >= span - 1e-12)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * i for i in range(first, max(last, first + 1) + 1)]


def svg(wide: float, high: float, label: str, parts: Iterable[str], kind: str = "") -> str:
    """A picture of a given size; ``kind`` is its class in the style."""
    if kind:
        named = f' class="{kind}"'
    else:
        named = ""
    return (
        f'<svg{named} viewBox="0 0 {wide:g} {high:g}" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


# --------------------------------------------------------------------------- numbers side by side


def lengths(rows: Iterable[tuple[str, float, float | None]], *, long_names: bool = False) -> str:
    """A bar for each label, as long as its first share; the second, if there is one, is a mark
    across the bar.
    """
    rows = list(rows)
    top = max([1e-12, *(max(value, mark or 0.0) for _, value, mark in rows)])
    lines = []
    for label, value, mark in rows:
        if mark is None:
            crossed = ""
        else:
            crossed = f'<b style="left:{100 * mark / top:.2f}%"></b>'
        lines.append(
            f'<li title="{escape_html(label)}: {percent(value)}"><span>{_names(label)}</span>'
            f'<i><s class="synthetic" style="width:{100 * value / top:.2f}%"></s>{crossed}</i>'
            f"<em>{percent(value)}</em></li>"
        )
    return f'<ul class="bars{" long" if long_names else ""}">{"".join(lines)}</ul>'


def _names(label: str) -> str:
    """A label; of several names each is shortened, so that none falls off the end and hides what
    the line is about.
    """
    names = label.split(BETWEEN_NAMES)
    return escape_html(
        label if len(names) == 1 else BETWEEN_NAMES.join(shorten(name, 16) for name in names)
    )


@dataclass(frozen=True)
class Dot:
    """A mark on the line of a dot plot."""

    role: str
    name: str
    value: float


def dots(
    rows: Sequence[tuple[str, Sequence[Dot], str]],
    write: Callable[[float], str],
    *,
    low: float = math.nan,
    high: float = math.nan,
    long_names: bool = False,
) -> str:
    """A line for each label with marks on one common scale, and a short text at its end.

    Parameters
    ----------
    rows
        Label, marks and text. A mark that is not finite is left out; one beyond the scale stands at
        its end.
    write
        How a number on the scale is written.
    low, high
        The ends of the scale; by default those of the marks.
    long_names
        Whether labels need much room.
    """
    found = [mark.value for _, marks, _ in rows for mark in marks if math.isfinite(mark.value)] or [
        0.0
    ]
    ticks = round_ticks(
        min(found) if math.isnan(low) else low, max(found) if math.isnan(high) else high
    )
    start, span = ticks[0], ticks[-1] - ticks[0]

    def place(value: float) -> float:
        return 100 * min(1.0, max(0.0, (value - start) / span))

    lines = []
    for label, marks, text in rows:
        seen = [mark for mark in marks if math.isfinite(mark.value)]
        drawn = "".join(
            f'<b class="{mark.role}" style="left:{place(mark.value):.2f}%"></b>' for mark in seen
        )
        title = ", ".join(f"{mark.name} {mark.value:.3g}" for mark in seen)
        name = escape_html(label)
        lines.append(
            f'<li title="{name}: '
            f'{escape_html(title)}"><span>{_names(label)}</span><i>{drawn}</i><em>{text}</em></li>'
        )
    scale = "".join(f'<q style="left:{place(tick):.2f}%">{write(tick)}</q>' for tick in ticks)
    lines.append(f'<li class="axis"><span></span><i>{scale}</i><em></em></li>')
    return f'<ul class="dots{" long" if long_names else ""}">{"".join(lines)}</ul>'


def split(parts: Iterable[tuple[str, str, float]]) -> str:
    """One bar that is divided among parts (role, name, amount), with their names and amounts below
    it.
    """
    parts = [part for part in parts if part[2] > 0]
    total = sum(amount for _, _, amount in parts) or 1.0
    boxes = "".join(
        f'<i class="{role}" style="flex:{amount / total:.4f}" title="{escape_html(name)}: '
        f'{amount / total:.1%}"></i>'
        for role, name, amount in parts
    )
    names = key(
        *((role, f"{escape_html(name)} {percent(amount / total)}") for role, name, amount in parts)
    )
    return f'<div class="split">{boxes}</div>{names}'


# --------------------------------------------------------------------------- pairs of columns

_MAP = 360.0
_CHARACTER = 7.5


def heat_map(
    names: Sequence[str],
    matrix: NDArray[np.float64],
    top: float,
    what: str,
    *,
    signed: bool = False,
) -> str:
    """The lower half of a symmetric matrix: dark is much; below and above 0 in two colours.

    Parameters
    ----------
    names
        Of the rows and columns.
    matrix
        The values; the diagonal is not shown.
    top
        The value that is darkest; all pictures that are compared get the same.
    what
        For those who cannot see it.
    signed
        Whether values lie to both sides of 0.
    """
    size = len(names)
    longest = max(len(shorten(name)) for name in names)
    margin = 8 + _CHARACTER * longest
    cell = min(40.0, (_MAP - margin) / max(size - 1, 1))
    font = min(11.0, max(8.5, cell * 0.85))
    parts = []
    for row in range(1, size):
        y = (row - 1) * cell
        parts.append(
            f'<text x="{margin - 5:.1f}" y="{y + cell / 2 + font / 3:.1f}" text-anchor="end" '
            f'style="font-size:{font:.1f}px">{escape_html(shorten(names[row]))}</text>'
        )
        for column in range(row):
            value = float(matrix[row, column])
            parts.append(
                f'<rect x="{margin + column * cell:.1f}" y="{y:.1f}" width="{cell - 1:.1f}" '
                f'height="{cell - 1:.1f}" '
                f'fill="{_shade(value, top, signed)}"><title>{escape_html(names[row])} and '
                f"{escape_html(names[column])}: {value:.3f}</title></rect>"
            )
    floor = (size - 1) * cell
    for column in range(size - 1):
        x = margin + (column + 0.5) * cell + font / 3
        parts.append(
            f'<text transform="translate({x:.1f} {floor + 4:.1f}) rotate(-90)" text-anchor="end" '
            f'style="font-size:{font:.1f}px">{escape_html(shorten(names[column]))}</text>'
        )
    parts.append(_scale(top, signed))
    return svg(_MAP, floor + margin, what, parts)


_PAPER, _DARK = (244, 246, 248), (20, 55, 90)
_REAL, _SYNTHETIC = (190, 105, 0), (20, 85, 150)


def _shade(value: float, top: float, signed: bool) -> str:
    if top > 0:
        share = min(1.0, abs(value) / top)
    else:
        share = 0.0
    if not signed:
        dark = _DARK
    else:
        if value < 0:
            dark = _REAL
        else:
            dark = _SYNTHETIC
    # The eye sees more of the light end: the square root spreads it.
    mixed = (round(p + (d - p) * math.sqrt(share)) for p, d in zip(_PAPER, dark, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _scale(top: float, signed: bool) -> str:
    """The colours and what they stand for, in the empty half of the map."""
    steps = 10
    values = [top * i / steps for i in range(-steps if signed else 0, steps + 1)]
    width = 120 / len(values)
    boxes = "".join(
        f'<rect x="{_MAP - 122 + i * width:.1f}" y="4" width="{width + 0.3:.1f}" height="9" '
        f'fill="{_shade(v, top, signed)}"/>'
        for i, v in enumerate(values)
    )
    return (
        f'{boxes}<text x="{_MAP - 122}" y="26">{values[0]:.2f}</text>'
        f'<text x="{_MAP - 2}" y="26" text-anchor="end">{top:.2f}</text>'
    )


def scatter(points: Sequence[tuple[str, float, float]], across: str, upward: str) -> str:
    """A dot for each (name, x, y); on the dashed line both are equal."""
    side, left, below = 320.0, 40.0, 34.0
    ends = [value for _, *both in points for value in both]
    ticks = round_ticks(min(0.0, *ends), max(0.0, *ends))
    low, high = ticks[0], ticks[-1]

    def x(value: float) -> float:
        return left + (side - left - 12) * (value - low) / (high - low)

    def y(value: float) -> float:
        return side - below - (side - below - 8) * (value - low) / (high - low)

    parts = [
        f'<line class="grid" x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{y(tick):.1f}" '
        f'y2="{y(tick):.1f}"/>'
        f'<text x="{left - 5}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.2g}</text>'
        f'<text x="{x(tick):.1f}" y="{side - below + 15:.1f}" '
        f'text-anchor="middle">{tick:.2g}</text>'
        for tick in ticks
    ]
    parts.append(
        f'<line style="stroke:var(--quiet);stroke-dasharray:4 4" x1="{x(low):.1f}" '
        f'y1="{y(low):.1f}" '
        f'x2="{x(high):.1f}" y2="{y(high):.1f}"/>'
    )
    parts.extend(
        f'<circle class="synthetic faint" cx="{x(a):.1f}" cy="{y(b):.1f}" r="4">'
        f"<title>{escape_html(name)}: {across} {a:.2f}, {upward} {b:.2f}</title></circle>"
        for name, a, b in points
    )
    parts.append(
        f'<text x="{side - 8}" y="{side - 4}" text-anchor="end">{across} →</text>'
        f'<text x="{left + 6}" y="18">↑ {upward}</text>'
    )
    return svg(side, side, f"{upward} against {across}, a dot a pair of columns", parts, "square")


def most_telling(names: Sequence[str], weights: NDArray[np.float64]) -> list[int]:
    """Which columns a heat map shows: all, or those with the largest weights, in their old
    order.
    """
    if len(names) <= MAX_MAPPED_COLUMNS:
        return list(range(len(names)))
    return sorted(np.argsort(-weights, kind="stable")[:MAX_MAPPED_COLUMNS].tolist())
