"""Pictures of how often each value comes up: bars for values, histograms for numbers.

The area of a histogram's bar is the share of rows, so bins of different width do not mislead. A
single value that is frequent (a spike) has no width; it stands below the histogram as a bar.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Category, Quantity
from understudy.reports.charts import round_ticks, svg
from understudy.reports.page import escape_html, percent, shorten

MAX_BARS = 12
"""Values listed one below the other; the rest is summed up."""

MAX_LABELLED = 12
"""Values up to this many get a bar with a label each; more become a histogram."""

MAX_SHOWN_BINS = 64
"""Bins that a histogram shows; more are joined with their neighbours."""

NARROWEST = 1 / 2000
"""As a part of the whole width: what is narrower is no bar that anybody could see."""

SPIKE_HEIGHT = 4.0
"""A single value that would stand this many times higher than any wider bin is a spike."""

WIDE_END, LIGHT_END = 1.5, 0.15
"""A bin at the end that is this many times wider than all others together, and holds no more of the
rows than this, is left out of the picture and told in words.
"""

NEXT_TO_NOTHING = 0.01
"""Bins with no more of the rows, together, are worth no picture; nor is such a bin at the end that
is too narrow to be seen: it would stand there as a line, higher than all others.
"""


@dataclass(frozen=True)
class ShownValues:
    """What the places of a distribution stand for.

    Attributes
    ----------
    name
        The column.
    labels
        One per value.
    ordered
        Whether neighbours belong together.
    missing
        Whether one more place, the last, is for missing values.
    edges
        For numbers and points in time the edges of the bins. Labels beyond them are for what is no
        number.
    kind
        The kind of a quantity, by which its edges are written.
    other
        The place of values that are not listed, shown only where there are any.
    """

    name: str
    labels: tuple[str, ...]
    ordered: bool
    missing: bool
    edges: tuple[float, ...] | None = None
    kind: str = "real"
    other: int | None = None

    @classmethod
    def of(cls, attribute: Attribute) -> ShownValues:
        """The values of an attribute, by code."""
        labels = tuple(attribute.label(code) for code in range(attribute.values_size))
        missing = attribute.missing is not None
        if isinstance(attribute, Quantity):
            if attribute.lists_values:
                return cls(attribute.name, labels, True, missing)
            return cls(attribute.name, labels, True, missing, attribute.edges, attribute.kind)
        assert isinstance(attribute, Category)
        other = None
        if attribute.other is not None:
            other = attribute.outside
        return cls(attribute.name, labels, attribute.ordered, missing, other=other)

    @property
    def whole(self) -> bool:
        """Whether the numbers lie on the integers."""
        return self.kind != "real"

    @property
    def widths(self) -> NDArray[np.float64]:
        """Of the bins."""
        return np.diff(np.array(self.edges or (0, 1), dtype=np.float64))

    @property
    def even(self) -> bool:
        """Whether all bins are equally wide; whole numbers cannot always be shared out evenly."""
        if self.edges is None:
            return True
        widths = self.widths
        slack = 1e-6 * widths.max()
        if self.whole and widths.min() > 1:
            slack = 1
        return bool(widths.max() - widths.min() <= slack)

    @property
    def single(self) -> NDArray[np.bool_]:
        """Per bin, whether it holds one value only."""
        edges = np.array(self.edges, dtype=np.float64)
        if self.whole:
            return np.diff(edges) == 1
        return edges[1:] <= np.nextafter(edges[:-1], np.inf)

    def write(self, number: float) -> str:
        """A number as it stands under a histogram; next to 0 it is 0."""
        if abs(number) < np.finfo(np.float64).tiny:
            number = 0.0
        return Quantity(self.name, self.kind).write(number)

    def join_neighbours(self, together: int) -> ShownValues:
        """The same with that many neighbours joined."""
        groups = [
            self.labels[start : start + together] for start in range(0, len(self.labels), together)
        ]
        edges = self.edges
        if edges is not None:
            edges = (*edges[:-1:together], edges[-1])
        return replace(
            self,
            labels=tuple(g[0] if len(g) == 1 else f"{g[0]} … {g[-1]}" for g in groups),
            edges=edges,
        )


@dataclass(frozen=True)
class ValueShares:
    """How often each value comes up in one table.

    Attributes
    ----------
    role
        "real" or "synthetic".
    shares
        One per place of the :class:`ShownValues`.
    spread
        What the error bar reaches to either side; 0 for none.
    """

    role: str
    shares: NDArray[np.float64]
    spread: float = 0.0

    def join_neighbours(self, values: int, together: int) -> ValueShares:
        """The same with that many neighbours joined; noise adds up by its squares."""
        sums = np.add.reduceat(self.shares[:values], range(0, values, together))
        return replace(
            self,
            shares=np.concatenate([sums, self.shares[values:]]),
            spread=self.spread * math.sqrt(together),
        )


def distribution(values: ShownValues, tables: Sequence[ValueShares]) -> str:
    """A histogram of numbers, else a bar for each value; one table, or two to compare."""
    few = len(values.labels) <= MAX_LABELLED
    if not values.ordered or (few and values.even):
        return _bars(values, tables, _list_values(values, tables))
    together = math.ceil(len(values.labels) / MAX_SHOWN_BINS)
    if together > 1:
        tables = [table.join_neighbours(len(values.labels), together) for table in tables]
        values = values.join_neighbours(together)
    if values.even:
        return _histogram(values, tables)
    return _density(values, tables)


# --------------------------------------------------------------------------- bars


def _list_values(values: ShownValues, tables: Sequence[ValueShares]) -> list[int]:
    """The values that get a bar: all but a place for others that nothing is left over for."""
    codes = list(range(len(values.labels)))
    if values.other is not None and not any(table.shares[values.other] > 0 for table in tables):
        codes.remove(values.other)
    return codes


def _bars(values: ShownValues, tables: Sequence[ValueShares], codes: list[int]) -> str:
    """A row per value: label, bars, shares."""
    if not values.ordered and len(codes) > MAX_BARS:
        codes.sort(key=lambda code: -max(float(table.shares[code]) for table in tables))
    listed, rest = codes[:MAX_BARS], codes[MAX_BARS:]
    if len(rest) == 1:
        listed, rest = codes, []
    missing = [len(values.labels)] if values.missing else []
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


def _bar(label: str, code: int, tables: Sequence[ValueShares], top: float, role: str = "") -> str:
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
    title = escape_html(label) + ": " + _speak_of(code, tables)
    return (
        f"<li{kind} "
        f'title="{title}"><span>{escape_html(label)}</span><i>{"".join(drawn)}</i>'
        f"{''.join(numbers)}</li>"
    )


def _speak_of(code: int, tables: Sequence[ValueShares]) -> str:
    if len(tables) == 1:
        return f"{tables[0].shares[code]:.2%}"
    return ", ".join(f"{table.role} {table.shares[code]:.2%}" for table in tables)


# --------------------------------------------------------------------------- histograms

_WIDE, _HIGH = 340, 168
_LEFT, _TOP, _BOTTOM = 38, 8, 22
_FLOOR = _HIGH - _BOTTOM


@dataclass(frozen=True)
class _Box:
    """Where a bin stands in the picture, and how its share becomes a height."""

    code: int
    left: float
    across: float
    scale: float
    """Height above the floor per share."""

    def y(self, share: float) -> float:
        return max(_TOP, _FLOOR - share * self.scale)


def _histogram(values: ShownValues, tables: Sequence[ValueShares]) -> str:
    """Upright bars of one width, one per bin, with missing values standing apart on the right.

    Of two tables the first has bars, and the second is a line above them, so that neither hides the
    other.
    """
    bins = len(values.labels)
    gap = 26 if values.missing else 0
    width = (_WIDE - _LEFT - 4 - gap) / (bins + (2 if gap else 0))
    ticks = round_ticks(0.0, max(_reach(table, np.ones(len(table.shares))) for table in tables))
    scale = (_FLOOR - _TOP) / ticks[-1]
    boxes = [_Box(code, _LEFT + 2 + width * code, width, scale) for code in range(bins)]
    apart = [_Box(bins, _LEFT + 2 + width * bins + gap, 2 * width, scale)] if gap else []
    labels = (*values.labels, "missing")
    parts = [
        *_grid(ticks, boxes[0]),
        *_draw_tables(boxes, labels, tables),
        *_draw_tables(apart, labels, tables, "missing"),
    ]
    parts += _axis(values, _LEFT + 2, _LEFT + 2 + width * bins, values.edges, middle=not gap)
    if gap:
        parts.append(f'<text x="{_WIDE}" y="{_HIGH - 6}" text-anchor="end">missing</text>')
    return svg(_WIDE, _HIGH, f"histogram of {escape_html(values.name)}", parts)


def _density(values: ShownValues, tables: Sequence[ValueShares]) -> str:
    """Upright bars as wide as their bins, whose areas are shares; spikes and the rest below."""
    assert values.edges is not None
    widths = values.widths
    shown = _without_spikes(values, tables)
    shown, beyond = _without_unfit_ends(shown, widths, tables)
    below = [code for code in range(len(values.labels)) if code not in {*shown, *beyond}]
    edges = (values.edges[shown[0]], values.edges[shown[-1] + 1])
    unit = (_WIDE - _LEFT - 4) / (edges[1] - edges[0])
    heights = np.ones(len(tables[0].shares))
    heights[: len(widths)] = 1 / np.maximum(widths * unit, 1e-9)
    outside = [code for code in range(len(heights)) if code not in shown]
    heights[outside] = 0.0
    top = max(_reach(table, heights) for table in tables)
    if not beyond and _hold_nothing(shown, tables):  # nothing but single values
        return _bars(values, tables, _find_held(range(len(values.labels)), tables))
    top = top or 1.0
    boxes = [
        _Box(
            code,
            _LEFT + 2 + (values.edges[code] - edges[0]) * unit,
            widths[code] * unit,
            heights[code] * (_FLOOR - _TOP) / top,
        )
        for code in shown
    ]
    floor = f'<line class="grid" x1="{_LEFT}" x2="{_WIDE}" y1="{_FLOOR}" y2="{_FLOOR}"/>'
    parts = [floor, *_draw_tables(boxes, values.labels, tables)]
    parts += _axis(values, _LEFT + 2, _WIDE - 2, edges, middle=True)
    picture = svg(_WIDE, _HIGH, f"histogram of {escape_html(values.name)}", parts)
    note = "The area of a bar is the share of rows."
    if beyond:
        told = "; ".join(f"{values.labels[code]}: {_speak_of(code, tables)}" for code in beyond)
        note += f" Beyond the picture: {told}."
    kept = _find_held(below, tables)
    bars = ""
    if kept or values.missing:
        bars = _bars(values, tables, kept)
    return f'{picture}<p class="small">{escape_html(note)}</p>{bars}'


def _find_held(codes: Sequence[int], tables: Sequence[ValueShares]) -> list[int]:
    """Those that some row has."""
    return [code for code in codes if any(table.shares[code] > 0 for table in tables)]


def _without_spikes(values: ShownValues, tables: Sequence[ValueShares]) -> list[int]:
    """The bins of the histogram: not single values that would stand far above all others."""
    widths = values.widths
    # Too narrow to be seen as a bar, such as a bin for zero alone, is as good as single.
    single = values.single | (widths < NARROWEST * widths.sum())
    codes = range(len(widths))
    with np.errstate(over="ignore"):  # a single real number has no width at all
        density = np.max([table.shares[: len(widths)] / widths for table in tables], axis=0)
    wider = density[~single]
    highest = SPIKE_HEIGHT * float(wider.max()) if len(wider) else math.inf
    return [code for code in codes if not single[code] or density[code] <= highest] or [*codes]


def _hold_nothing(codes: Sequence[int], tables: Sequence[ValueShares]) -> bool:
    """Whether hardly any row of any table is in these bins."""
    return all(float(table.shares[codes].sum()) <= NEXT_TO_NOTHING for table in tables)


def _without_unfit_ends(
    codes: list[int], widths: NDArray[np.float64], tables: Sequence[ValueShares]
) -> tuple[list[int], list[int]]:
    """The bins without those at the ends that would leave no room for the others, or are too narrow
    to be seen.
    """
    kept, beyond = list(codes), []
    for end in (-1, 0, -1, 0):
        if len(kept) < 3:
            break
        rest = [code for code in kept if code != kept[end]]
        width, others = widths[kept[end]], widths[rest].sum()
        light = all(table.shares[kept[end]] <= LIGHT_END for table in tables)
        unseen = width < NARROWEST * others and _hold_nothing([kept[end]], tables)
        if unseen or (light and width > WIDE_END * others):
            beyond.append(kept[end])
            kept = rest
    return kept, sorted(beyond)


def _reach(table: ValueShares, heights: NDArray[np.float64]) -> float:
    """How high a table reaches, its error bars included."""
    return float(((table.shares + np.minimum(table.spread, table.shares.max())) * heights).max())


def _grid(ticks: Sequence[float], box: _Box) -> Iterable[str]:
    for tick in ticks:
        y = box.y(tick)
        yield (
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDE}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{100 * tick:.3g}%</text>'
        )


def _draw_tables(
    boxes: Sequence[_Box], labels: Sequence[str], tables: Sequence[ValueShares], role: str = ""
) -> Iterable[str]:
    """The first table as bars with error bars, the others as lines above them."""
    bars = tables[0]
    for box in boxes:
        share = float(bars.shares[box.code])
        title = f"{escape_html(labels[box.code])}: {_speak_of(box.code, tables)}"
        yield (
            f'<rect class="{bars.role}{" " + role if role else ""}" x="{box.left + 0.4:.2f}" '
            f'y="{box.y(share):.2f}" width="{max(box.across - 0.8, 0.4):.2f}" '
            f'height="{_FLOOR - box.y(share):.2f}"><title>{title}</title></rect>'
        )
        if bars.spread:
            middle = box.left + box.across / 2
            low, high = box.y(max(0.0, share - bars.spread)), box.y(share + bars.spread)
            yield (
                f'<line class="noise" x1="{middle:.2f}" x2="{middle:.2f}" y1="{low:.2f}" '
                f'y2="{high:.2f}"/>'
            )
    for table in tables[1:]:
        for group in _side_by_side(boxes):
            steps = "".join(
                f"V{box.y(float(table.shares[box.code])):.2f}h{box.across:.2f}" for box in group
            )
            yield f'<path class="line" d="M{group[0].left:.2f} {_FLOOR}{steps}V{_FLOOR}"/>'


def _side_by_side(boxes: Sequence[_Box]) -> Iterable[list[_Box]]:
    """Boxes in groups without gaps."""
    group: list[_Box] = []
    for box in boxes:
        if group and box.left - (group[-1].left + group[-1].across) > 0.01:
            yield group
            group = []
        group.append(box)
    if group:
        yield group


def _round_nearby(number: float, most: float) -> float:
    """A number of two digits, if one is at most so far away."""
    rounded = float(f"{number:.2g}")
    if abs(rounded - number) <= most:
        return rounded
    return number


def _write_ends(values: ShownValues, numbers: tuple[float, float, float]) -> tuple[str, str, str]:
    """Numbers as they stand below a histogram; of datetimes the part in which they differ."""
    first, centre, last = map(values.write, numbers)
    if values.kind != "datetime":
        return first, centre, last
    (day, time), (centre_day, centre_time), (last_day, last_time) = (
        text.split(" ", 1) for text in (first, centre, last)
    )
    if day == last_day:
        return time, centre_time, last_time
    return day, centre_day, last_day


def _axis(
    values: ShownValues,
    start: float,
    end: float,
    edges: tuple[float, ...] | None,
    *,
    middle: bool,
) -> Iterable[str]:
    """What is written below a histogram: its ends, and its middle."""
    if edges is None:
        written = (values.labels[0], "", values.labels[-1])
    else:
        last = edges[-1] - 1 if values.whole else edges[-1]
        centre = _round_nearby((edges[0] + edges[-1]) / 2, (edges[-1] - edges[0]) / 100)
        written = _write_ends(values, (edges[0], centre, last))
    places = ((start, "start"), ((start + end) / 2, "middle"), (end, "end"))
    for (x, anchor), label in zip(places, written, strict=True):
        if label and (middle or anchor != "middle"):
            yield (
                f'<text x="{x:.1f}" y="{_HIGH - 6}" '
                f'text-anchor="{anchor}">{escape_html(shorten(label))}</text>'
            )
