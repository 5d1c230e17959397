"""Pictures for reports: SVG where shapes matter, plain boxes where text does (it wraps, and is
legible on a telephone).

Labels and names may come from anywhere and are escaped here; numbers are formatted here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Category, Quantity
from understudy.reports.page import escaped, percent, shortened

MOST_BARS = 12
"""Values listed one below the other; the rest is summed up."""

MOST_LABELLED = 12
"""Bins up to this many get a bar with a label each; more become a histogram."""

MOST_BINS = 64
"""Bins that a histogram shows; more are joined with their neighbours."""

MOST_NAMES = 24
"""Columns that a heat map shows."""


TOGETHER = " × "
"""Stands between the names of columns that are looked at together."""


def key(*entries: tuple[str, str]) -> str:
    """What the colours mean: a role and a name each."""
    items = "".join(f"<li><i class={role!r}></i>{name}</li>" for role, name in entries)
    return f'<ul class="key">{items}</ul>'


# --------------------------------------- how often each value comes up


@dataclass(frozen=True)
class Values:
    """What the places of a distribution stand for.

    Attributes
    ----------
    name
        The column.
    labels
        One a value.
    ordered
        Whether neighbours belong together.
    missing
        Whether one more place, the last, is for missing values.
    ends
        What is written under the left end, the middle (if anything) and the right end of a
        histogram.
    even
        Whether all bins are equally wide.
    """

    name: str
    labels: tuple[str, ...]
    ordered: bool
    missing: bool
    ends: tuple[str, str, str]
    even: bool = True

    @classmethod
    def of(cls, attribute: Attribute) -> Values:
        """The values of an attribute, by code."""
        size = attribute.values_size
        labels = tuple(attribute.label(code) for code in range(size))
        ordered = isinstance(attribute, Quantity) or (
            isinstance(attribute, Category) and attribute.ordered
        )
        ends = (labels[0], "", labels[-1])
        even = True
        if isinstance(attribute, Quantity):
            edges = attribute.edges
            if attribute.whole:
                last = edges[-1] - 1
            else:
                last = edges[-1]
            ends = (
                attribute.write(edges[0]),
                attribute.write(edges[size // 2]) if size % 2 == 0 else "",
                attribute.write(last),
            )
            widths = [b - a for a, b in itertools.pairwise(edges)]
            # Whole numbers cannot always be shared out evenly.
            even = max(widths) - min(widths) <= (1 if attribute.whole else 1e-6 * max(widths))
        return cls(attribute.name, labels, ordered, attribute.missing is not None, ends, even)

    def joined(self, together: int) -> Values:
        """The same with so many neighbours joined."""
        groups = [
            self.labels[start : start + together] for start in range(0, len(self.labels), together)
        ]
        return replace(
            self, labels=tuple(g[0] if len(g) == 1 else f"{g[0]} … {g[-1]}" for g in groups)
        )


@dataclass(frozen=True)
class Shares:
    """How often each value comes up in one table.

    Attributes
    ----------
    role
        "real" or "synthetic".
    shares
        One a place of the :class:`Values`.
    spread
        What the error bar reaches to either side; 0 for none.
    """

    role: str
    shares: NDArray[np.float64]
    spread: float = 0.0

    def joined(self, values: int, together: int) -> Shares:
        """The same with so many neighbours joined; noise adds up by its squares."""
        sums = np.add.reduceat(self.shares[:values], range(0, values, together))
        return replace(
            self,
            shares=np.concatenate([sums, self.shares[values:]]),
            spread=self.spread * math.sqrt(together),
        )


def distribution(values: Values, tables: Sequence[Shares]) -> str:
    """A histogram where there are many bins in order, else a bar for each value; one table, or two
    to compare.
    """
    if not values.ordered or len(values.labels) <= MOST_LABELLED:
        return _bars(values, tables)
    together = math.ceil(len(values.labels) / MOST_BINS)
    if together > 1:
        tables = [table.joined(len(values.labels), together) for table in tables]
        values = values.joined(together)
    return _histogram(values, tables)


def _bars(values: Values, tables: Sequence[Shares]) -> str:
    """A row a value: label, bars, shares."""
    codes = list(range(len(values.labels)))
    if not values.ordered and len(codes) > MOST_BARS:
        codes.sort(key=lambda code: -max(float(table.shares[code]) for table in tables))
    listed, rest = codes[:MOST_BARS], codes[MOST_BARS:]
    if len(rest) == 1:
        listed, rest = codes, []
    if values.missing:
        missing = [len(values.labels)]
    else:
        missing = []
    top = max(1e-9, *(float(table.shares[listed + missing].max()) for table in tables))
    rows = []
    if len(tables) > 1:
        roles = "".join(f"<em>{_short[table.role]}</em>" for table in tables)
        rows.append(f'<li class="head"><span></span><i></i>{roles}</li>')
    rows.extend(_bar(values.labels[code], code, tables, top) for code in listed)
    if rest:
        together = "".join(
            f"<em>{percent(float(table.shares[rest].sum()))}</em>" for table in tables
        )
        rows.append(f'<li class="rest"><span>{len(rest)} more values</span><i></i>{together}</li>')
    rows.extend(_bar("missing", code, tables, top, "missing") for code in missing)
    return f'<ul class="bars{" pair" if len(tables) > 1 else ""}">{"".join(rows)}</ul>'


_short = {"real": "real", "synthetic": "synth."}


def _bar(label: str, code: int, tables: Sequence[Shares], top: float, role: str = "") -> str:
    scale = 100 / (top * (1.08 if any(table.spread for table in tables) else 1))
    drawn, numbers = [], []
    for table in tables:
        share, spread = float(table.shares[code]), table.spread
        drawn.append(f'<s class="{table.role}" style="width:{share * scale:.2f}%"></s>')
        numbers.append(f"<em>{percent(share)}</em>")
        if spread:
            low, high = max(0.0, share - spread) * scale, min(100.0, (share + spread) * scale)
            drawn.append(f'<u style="left:{low:.2f}%;width:{high - low:.2f}%"></u>')
    if role:
        kind = f' class="{role}"'
    else:
        kind = ""
    title = escaped(label) + ": " + _spoken(code, tables)
    return (
        f"<li{kind} "
        f'title="{title}"><span>{escaped(label)}</span><i>{"".join(drawn)}</i>'
        f"{''.join(numbers)}</li>"
    )


def _spoken(code: int, tables: Sequence[Shares]) -> str:
    if len(tables) == 1:
        return f"{tables[0].shares[code]:.2%}"
    return ", ".join(f"{table.role} {table.shares[code]:.2%}" for table in tables)


_WIDE, _HIGH = 340, 168
_LEFT, _TOP, _BOTTOM = 38, 8, 22


def _histogram(values: Values, tables: Sequence[Shares]) -> str:
    """Upright bars side by side, one a bin, with missing values standing apart on the right.

    Of two tables the first has bars, and the second is a line above them, so that neither hides the
    other.
    """
    bins = len(values.labels)
    if values.missing:
        gap = 16
    else:
        gap = 0
    width = (_WIDE - _LEFT - 4 - gap) / (bins + (2 if gap else 0))
    reach = max(
        float(table.shares.max()) + min(table.spread, float(table.shares.max())) for table in tables
    )
    ticks = round_ticks(0.0, reach)
    floor = _HIGH - _BOTTOM

    def y(share: float) -> float:
        return floor - (floor - _TOP) * min(1.0, share / ticks[-1])

    def left(code: int) -> float:
        return _LEFT + 2 + width * code + (gap if code >= bins else 0)

    parts = [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDE}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text x="{_LEFT - 5}" y="{y(tick) + 4:.1f}" text-anchor="end">{100 * tick:.3g}%</text>'
        for tick in ticks
    ]
    bars = tables[0]
    for code in range(len(bars.shares)):
        missing = code >= bins
        if missing:
            across = width * 2
        else:
            across = width
        share = float(bars.shares[code])
        parts.append(
            f'<rect class="{bars.role}{" missing" if missing else ""}" x="{left(code) + 0.4:.2f}" '
            f'y="{y(share):.2f}" '
            f'width="{max(across - 0.8, 0.4):.2f}" height="{floor - y(share):.2f}">'
            f"<title>{escaped('missing' if missing else values.labels[code])}: "
            f"{_spoken(code, tables)}</title></rect>"
        )
        if bars.spread:
            middle = left(code) + across / 2
            low, high = y(max(0.0, share - bars.spread)), y(share + bars.spread)
            parts.append(
                f'<line class="noise" x1="{middle:.2f}" x2="{middle:.2f}" y1="{low:.2f}" '
                f'y2="{high:.2f}"/>'
            )
    for table in tables[1:]:
        steps = "".join(f"V{y(float(share)):.2f}h{width:.2f}" for share in table.shares[:bins])
        path = f"M{left(0):.2f} {floor}{steps}V{floor}"
        if gap:
            path += (
                f"M{left(bins):.2f} "
                f"{floor}V{y(float(table.shares[bins])):.2f}h{2 * width:.2f}V{floor}"
            )
        parts.append(f'<path class="line" d="{path}"/>')
    end = _LEFT + 2 + width * bins
    places = [(_LEFT + 2.0, "start"), ((_LEFT + 2 + end) / 2, "middle"), (end, "end")]
    parts.extend(
        f'<text x="{x:.1f}" y="{_HIGH - 6}" '
        f'text-anchor="{anchor}">{escaped(shortened(label))}</text>'
        for (x, anchor), label in zip(places, values.ends, strict=True)
        if label and not (gap and anchor == "middle")
    )
    if gap:
        parts.append(f'<text x="{_WIDE}" y="{_HIGH - 6}" text-anchor="end">missing</text>')
    if values.even:
        note = ""
    else:
        note = '<p class="small">The bins differ in width.</p>'
    return _svg(_WIDE, _HIGH, f"histogram of {escaped(values.name)}", parts) + note


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


def _svg(wide: float, high: float, label: str, parts: Iterable[str], kind: str = "") -> str:
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
            f'<li title="{escaped(label)}: {percent(value)}"><span>{_names(label)}</span>'
            f'<i><s class="synthetic" style="width:{100 * value / top:.2f}%"></s>{crossed}</i>'
            f"<em>{percent(value)}</em></li>"
        )
    return f'<ul class="bars{" long" if long_names else ""}">{"".join(lines)}</ul>'


def _names(label: str) -> str:
    """A label; of several names each is shortened, so that none falls off the end and hides what
    the line is about.
    """
    names = label.split(TOGETHER)
    return escaped(
        label if len(names) == 1 else TOGETHER.join(shortened(name, 16) for name in names)
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
        name = escaped(label)
        lines.append(
            f'<li title="{name}: '
            f'{escaped(title)}"><span>{_names(label)}</span><i>{drawn}</i><em>{text}</em></li>'
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
        f'<i class="{role}" style="flex:{amount / total:.4f}" title="{escaped(name)}: '
        f'{amount / total:.1%}"></i>'
        for role, name, amount in parts
    )
    names = key(
        *((role, f"{escaped(name)} {percent(amount / total)}") for role, name, amount in parts)
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
    longest = max(len(shortened(name)) for name in names)
    margin = 8 + _CHARACTER * longest
    cell = min(40.0, (_MAP - margin) / max(size - 1, 1))
    font = min(11.0, max(8.5, cell * 0.85))
    parts = []
    for row in range(1, size):
        y = (row - 1) * cell
        parts.append(
            f'<text x="{margin - 5:.1f}" y="{y + cell / 2 + font / 3:.1f}" text-anchor="end" '
            f'style="font-size:{font:.1f}px">{escaped(shortened(names[row]))}</text>'
        )
        for column in range(row):
            value = float(matrix[row, column])
            parts.append(
                f'<rect x="{margin + column * cell:.1f}" y="{y:.1f}" width="{cell - 1:.1f}" '
                f'height="{cell - 1:.1f}" '
                f'fill="{_shade(value, top, signed)}"><title>{escaped(names[row])} and '
                f"{escaped(names[column])}: "
                f"{value:.3f}</title></rect>"
            )
    floor = (size - 1) * cell
    for column in range(size - 1):
        x = margin + (column + 0.5) * cell + font / 3
        parts.append(
            f'<text transform="translate({x:.1f} {floor + 4:.1f}) rotate(-90)" text-anchor="end" '
            f'style="font-size:{font:.1f}px">{escaped(shortened(names[column]))}</text>'
        )
    parts.append(_scale(top, signed))
    return _svg(_MAP, floor + margin, what, parts)


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
        f"<title>{escaped(name)}: {across} {a:.2f}, {upward} {b:.2f}</title></circle>"
        for name, a, b in points
    )
    parts.append(
        f'<text x="{side - 8}" y="{side - 4}" text-anchor="end">{across} →</text>'
        f'<text x="{left + 6}" y="18">↑ {upward}</text>'
    )
    return _svg(side, side, f"{upward} against {across}, a dot a pair of columns", parts, "square")


def most_telling(names: Sequence[str], weights: NDArray[np.float64]) -> list[int]:
    """Which columns a heat map shows: all, or those with the largest weights, in their old
    order.
    """
    if len(names) <= MOST_NAMES:
        return list(range(len(names)))
    return sorted(np.argsort(-weights, kind="stable")[:MOST_NAMES].tolist())
