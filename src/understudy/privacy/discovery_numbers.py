"""The last step of discovery for numbers, dates and times, once range and grid are chosen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from understudy.counting.partition import SENTINELS, Ends, ends_of
from understudy.data.attributes import MAX_FEW_VALUES, Attribute, Quantity
from understudy.data.formats import Format
from understudy.data.inside_files import decimals_of, with_details
from understudy.data.limits import add_limits, stand_in
from understudy.data.tables import MARKS
from understudy.privacy.bins import (
    cut_bins,
    drop_below_zero,
    drop_empty_ends,
    find_held,
    keep_tails,
    trim,
)
from understudy.privacy.budget import Budget
from understudy.privacy.discovery_budget import rows_to_be_seen
from understudy.privacy.discovery_cells import (
    NEXT_TO_ZERO,
    CellGrid,
    Precision,
    Range,
    lay_cells,
)
from understudy.privacy.discovery_limits import cut_at_limits, find_limits
from understudy.privacy.discovery_questions import FALSE_ALARM, FAR_FALSE_ALARM, NoisyHistogram
from understudy.privacy.discovery_scores import MIN_STEP, Kind, format_of
from understudy.privacy.discovery_values import ValueFinder, missing_mark
from understudy.privacy.mechanisms import table_scale
from understudy.privacy.refinement import is_refinable

MAX_UNIT_BINS = 32
"""A range of up to this many whole numbers has a bin for each."""

MAX_LEFT_OVER = 0.02
"""Of the rows: codes may leave this many to values that cannot be told from the noise."""

ZOOM_SHARE, ZOOMS, ZOOM_CELLS = 0.25, 2, 128
"""Of the price of a histogram: looks beforehand, where values cannot be counted one by one. The
second one sees a column that is far narrower than the range: years with a fraction.
"""

MAX_NAMED_NUMBERS = 12
"""Of the numbers that many rows share, at most this many get a bin of their own."""

MIN_CUTS = 8
"""A range with fewer round numbers inside is counted by finer ones."""


@dataclass(frozen=True, kw_only=True)
class NumberFinder(ValueFinder):
    """Finds the bins of numbers, dates and times, or lists their values."""

    seen_later: float
    """About how many rows a cell must hold for a look at the inside of bins to see it."""
    notations: Mapping[str, str] = field(default_factory=dict)
    """How the numbers of a column are written, where it is not the plain way."""
    not_only_zero: Collection[str] = ()
    """Columns that are mostly zero, and certain to hold something else."""
    numbers: dict[str, NamedNumbers] = field(default_factory=dict)
    """The numbers that were named so far."""

    def find_numbers(
        self, name: str, kind: Kind, stretch: Range, step: float | None, cost: Budget
    ) -> tuple[Attribute, bool]:
        """Numbers: listed one by one where they are few, else in bins."""
        form = format_of(kind)
        if form.kind not in ("integer", "real"):
            return self._find_moments(name, kind, stretch, step, cost)
        if step is None:
            step = 1.0
        if step < MIN_STEP:
            step = 0.0
        ends = ends_of(form.kind)
        grid = lay_cells(form.kind, ends, stretch, step, self._precision(cost))
        if not grid.unit:
            looks, cost = cost.split(ZOOM_SHARE, 1 - ZOOM_SHARE)
            held = None
            for look in looks.equally(ZOOMS):
                held = self._zoom(name, kind, stretch, step, look, held)
            grid = lay_cells(form.kind, ends, stretch, step, self._precision(cost), held)
        far = values_far_from(grid, form.kind)
        counts = np.append(self._count_cells(name, kind, grid, far), self.tallies[name].limits)
        asked = self.asker.histogram(f"values of {name}", counts, cost, 0.0)
        at = np.cumsum([len(grid.edges) - 1, len(far), len(MARKS)])
        inside, outside, absent, beyond = np.split(asked.counts, at)
        missing = missing_mark(asked, absent)
        if not self._holds_enough(name, np.append(inside, outside)):
            return self.give_up(name, missing, absent), False
        stands_out = outside > asked.stands_out(len(far), FAR_FALSE_ALARM)
        sentinels = far[stands_out]
        if name in self.notations:
            form = Format(form.kind, self.notations[name])
        is_whole = form.kind == "integer"
        limits = find_limits(asked, grid, inside, beyond, whole=is_whole)
        if not _take_limits(form, limits):
            limits = []
        if limits:
            form = Format(form.kind, add_limits(form.kind, form.notation, limits))
            sentinels = np.append(sentinels, [stand_in(*limit) for limit in limits])
        facts = _Found(name=name, form=form, missing=missing, grid=grid)
        if grid.unit:
            listed = self._list_codes(asked, facts, inside, sentinels, int(absent.max()))
            if listed is not None:
                return _with_certain_mark(listed, asked, absent), True
        shared = self.numbers.get(name, NamedNumbers({}, asked))
        if not grid.unit and self._are_all(shared, int(absent.max())):
            return _list_numbers(facts, np.unique(np.round(list(shared.counts), 12))), True
        found = drop_below_zero(asked.cells(grid.edges, inside))
        whole = found
        if len(inside) > MAX_UNIT_BINS:
            found = trim(found, self.seen_later)
        if grid.unit and len(found.counts) <= MAX_UNIT_BINS:
            others = outside[stands_out].sum()
            if missing is not None:
                others += absent[MARKS.index(missing)]
            spread = math.hypot(
                self.rows_deviation, asked.deviation * (1 + stands_out.sum()) ** 0.5
            )
            bins = drop_empty_ends(found, self.rows - others, spread)
            if len(bins) == 2 and name in self.not_only_zero:
                bins = tuple(sorted({*bins, float(found.edges[-1])}))
        else:
            bins = cut_bins(found)
        if len(inside) > MAX_UNIT_BINS:
            bins = keep_tails(whole, bins)
        width = grid.step or NEXT_TO_ZERO
        if is_whole:
            width = 1.0
        bins = _with_sentinels(bins, sentinels.tolist(), width)
        bins = _with_numbers(bins, shared.most, grid.step)
        quantity = _quantity(facts, cut_at_limits(bins, limits, width, whole=is_whole))
        return _with_certain_mark(quantity, asked, absent), True

    def ask_numbers(self, name: str, kind: Kind, step: float, cost: Budget, delta: float) -> None:
        """Name the numbers that many rows share, by the threshold, in a column of reals of which no
        grid tells them: logarithms, means of groups, wind speeds in another unit.
        """
        tally, found = self.tallies[name], Counter[float]()
        assert kind.format is not None
        if kind.format in tally.formats:
            ends = ends_of(format_of(kind).kind).edges
            for every, weights in tally.formats[kind.format].values:
                # Beyond all ranges there is no bin to be told apart, and a step may reach infinity.
                within = (every >= ends[0]) & (every < ends[-1])
                numbers, counts = every[within], weights[within]
                places = numbers
                if step >= MIN_STEP:
                    places = np.rint(numbers / step)
                for place, count in zip(places.tolist(), counts.tolist(), strict=True):
                    found[place] += count
        fewest = self.asker.protection.max_rows_per_person + 1
        keys = sorted(place for place, count in found.items() if count >= fewest)
        asked = self.asker.histogram(
            f"frequent numbers of {name}", [found[key] for key in keys], cost, delta
        )
        least = rows_to_be_seen(self.asker.protection, cost, delta)
        per_unit = 1
        if step >= MIN_STEP:
            per_unit = round(1 / step)
        named = zip(keys, asked.counts.tolist(), strict=True)
        self.numbers[name] = NamedNumbers(
            {key / per_unit: count for key, count in named if count >= least}, asked
        )

    def _zoom(
        self,
        name: str,
        kind: Kind,
        stretch: Range,
        step: float,
        cost: Budget,
        held: tuple[float, float] | None,
    ) -> tuple[float, float]:
        """The part of a range in which rows certainly are, with a cell more on each side. Nothing
        is lost beyond it: cells are wider there.
        """
        form = format_of(kind)
        fine = replace(self._precision(cost), fixed_cells=ZOOM_CELLS)
        grid = lay_cells(form.kind, ends_of(form.kind), stretch, step, fine, held)
        counts = self._count_cells(name, kind, grid, np.zeros(0))[: len(grid.edges) - 1]
        what = "extent"
        if held is not None:
            what = "closer extent"
        asked = self.asker.histogram(f"{what} of {name}", counts, cost, 0.0)
        first, last = find_held(asked.cells(grid.edges, asked.counts))
        return float(grid.edges[max(first - 1, 0)]), float(grid.edges[min(last + 1, len(counts))])

    def _precision(self, cost: Budget) -> Precision:
        protection = self.asker.protection
        scale = table_scale(cost, protection.neighbours, protection.max_rows_per_person)
        return Precision(
            self.rows, NoisyHistogram(np.zeros(0, np.int64), scale, cost.currency).deviation
        )

    def _count_cells(
        self, name: str, kind: Kind, grid: CellGrid, far: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Exact counts of cells, of numbers far from them, and of marks for missing values."""
        tally = self.tallies[name]
        assert kind.format is not None
        inside, beyond = np.zeros(len(grid.edges) - 1, np.int64), np.zeros(len(far), np.int64)
        if kind.format in tally.formats:
            numbers = tally.formats[kind.format]
            inside = numbers.count_between(grid.cuts)
            half = half_width_of(grid, format_of(kind).kind)
            for place, value in enumerate(far.tolist()):
                near = np.array([value - half, value + half])
                beyond[place] = numbers.count_between(near)[0]
        return np.concatenate([inside, beyond, tally.missing])

    def _list_codes(
        self,
        asked: NoisyHistogram,
        facts: _Found,
        inside: NDArray[np.int64],
        sentinels: NDArray[np.float64],
        absent: int,
    ) -> Quantity | None:
        """The values of a column that has few, with gaps between them.

        Noise hides the rarest of them: what is left over may be as much as half a deviation of it.
        """
        out = inside > asked.stands_out(len(inside))
        codes = facts.grid.edges[:-1][out]
        named = inside[out].sum()
        if len(inside) <= MAX_UNIT_BINS and len(sentinels):
            codes, named = facts.grid.edges[:-1], inside.sum()
        codes = np.unique(np.concatenate([codes, sentinels]))
        left = self.rows - max(absent, 0) - named
        spread = asked.deviation * (out.sum() + 1) ** 0.5
        gaps = len(codes) > 1 and (np.diff(codes) > 1.5 * facts.grid.step).any()
        if not gaps or len(codes) > MAX_FEW_VALUES or left - spread / 2 > MAX_LEFT_OVER * self.rows:
            return None
        # Gaps are empty: else they are rare values of a column that has more than a few.
        between = inside[~np.isin(facts.grid.edges[:-1], codes)]
        if between.sum() > asked.deviation * len(between) ** 0.5:
            return None
        return _list_numbers(facts, codes)

    def _are_all(self, shared: NamedNumbers, absent: int) -> bool:
        """Whether hardly any rows hold another number than those that are named."""
        if not 2 <= len(shared.counts) <= MAX_FEW_VALUES:
            return False
        left = self.rows - max(absent, 0) - sum(shared.counts.values())
        return left <= MAX_LEFT_OVER * self.rows + math.hypot(shared.spread, self.rows_deviation)

    def _find_moments(
        self, name: str, kind: Kind, stretch: Range, step: float | None, cost: Budget
    ) -> tuple[Attribute, bool]:
        """Dates and times, in bins."""
        tally, form = self.tallies[name], format_of(kind)
        ends = ends_of(form.kind)
        kept = places_to_cut(ends, stretch)
        cells = np.zeros(len(kept) - 1, dtype=np.int64)
        if kind.format in tally.formats:
            below = np.cumsum(tally.formats[kind.format].cells)[:-1]
            cells = np.diff(below[kept])
        counts = np.concatenate([cells, tally.missing])
        asked = self.asker.histogram(f"values of {name}", counts, cost, 0.0)
        found = asked.cells(ends.edges[kept], asked.counts[: len(cells)])
        missing = missing_mark(asked, asked.counts[len(cells) :])
        if not self._holds_enough(name, found.counts):
            return self.give_up(name, missing, asked.counts[len(cells) :]), False
        bins = cut_bins(trim(found, self.seen_later))
        edges = tuple(int(edge) for edge in bins)
        # Of times, nothing but the day was asked for: whoever looks closer may cut it anywhere.
        free = form.kind == "time"
        moments = Quantity(
            name, form.kind, missing, edges, False, form.notation or None, free_bins=free
        )
        if step is None or step == 1:
            return moments, True
        return _with_step(moments, int(step)), True


# --------------------------------------------------------------------------- public cells


def half_width_of(grid: CellGrid, kind: str) -> float:
    """How far from a value that lies by itself numbers still count as it: whole ones not beyond the
    next, whatever the step, so that no number counts as two of them.
    """
    if kind == "integer":
        return 0.5
    return (grid.step or NEXT_TO_ZERO) / 2


def values_far_from(grid: CellGrid, kind: str) -> NDArray[np.float64]:
    """Values that get a cell of their own because they often stand for something else (999, or
    zero): those whose cell has no number in common with the cells of the grid.
    """
    half = half_width_of(grid, kind)
    special: Sequence[float] = (0.0,)
    if kind == "integer":
        special = SENTINELS
    apart = [v for v in special if v + half <= grid.cuts[0] or v - half >= grid.cuts[-1]]
    return np.array(apart, dtype=np.float64)


# --------------------------------------------------------------------------- post-processing


def places_to_cut(ends: Ends, stretch: Range) -> list[int]:
    """The edges inside a range at which its cells are counted: the round ones, unless these are
    few.
    """
    inside = list(range(stretch.first + 1, stretch.last))
    between = [place for place in inside if ends.round[place]]
    if len(between) < MIN_CUTS:
        between = inside
    return [stretch.first, *between, stretch.last]


def _take_limits(form: Format, limits: Sequence[tuple[str, float]]) -> bool:
    """Whether limits can stand among numbers that are written like this: <0.5 not among 12.5 %."""
    try:
        Format(form.kind, add_limits(form.kind, form.notation, limits))
    except ValueError:
        return False
    return True


def _with_certain_mark(
    attribute: Quantity, asked: NoisyHistogram, counts: NDArray[np.int64]
) -> Quantity:
    """The attribute with a mark that nobody will look at again only where it is certain."""
    if is_refinable(attribute):
        return attribute
    return replace(attribute, missing=missing_mark(asked, counts, FALSE_ALARM))


def _with_sentinels(
    bins: Sequence[float], sentinels: Sequence[float], width: float
) -> tuple[float, ...]:
    """A bin of its own for each number far from the rest."""
    edges = {*bins}
    for value in sentinels:
        edges |= {value, value + width}
    return tuple(sorted(edges))


def _with_numbers(
    bins: Sequence[float], numbers: Sequence[float], step: float
) -> tuple[float, ...]:
    """A bin of its own for each number that many rows share, as far as it lies inside the bins."""
    edges = {*bins}
    for number in numbers:
        if not bins[0] <= number < bins[-1]:
            continue
        if step:
            low, width = number, step
        else:
            # Twelve digits tell numbers apart: bins are written with twelve.
            width = 10.0 ** -(12 - max(math.ceil(math.log10(max(abs(number), 1e-12))), 0))
            low = math.floor(number / width) * width
        edges |= {round(low, 12), round(low + width, 12)}
    return tuple(sorted(edge for edge in edges if bins[0] <= edge <= bins[-1]))


@dataclass(frozen=True)
class NamedNumbers:
    """Numbers that many rows share, with noisy counts."""

    counts: Mapping[float, int]
    asked: NoisyHistogram

    @property
    def most(self) -> list[float]:
        """Those that get a bin of their own."""
        return sorted(self.counts, key=lambda number: -self.counts[number])[:MAX_NAMED_NUMBERS]

    @property
    def spread(self) -> float:
        """The noise in the sum of all counts."""
        return self.asked.deviation * len(self.counts) ** 0.5


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What is known of a column of numbers before its values are."""

    name: str
    form: Format
    missing: str | None
    grid: CellGrid

    @property
    def last_value_ends(self) -> float:
        """How far above the last value of a grid its bin ends: reals hold their upper end."""
        if self.form.kind == "integer":
            return 1.0
        return self.grid.step / 2 or NEXT_TO_ZERO


def _list_numbers(facts: _Found, codes: NDArray[np.float64]) -> Quantity:
    """A bin for each of a list of values; what lies between them counts as the nearest."""
    last = float(codes[-1])
    edges = [*codes.tolist(), max(last + facts.last_value_ends, math.nextafter(last, math.inf))]
    values = codes.tolist()
    if facts.form.kind == "integer":
        values = [int(code) for code in values]
    return with_details(_plain_quantity(facts, edges), {"values": values})


def _quantity(facts: _Found, bins: Sequence[float]) -> Quantity:
    edges = list(bins)
    step = facts.grid.step
    if facts.form.kind == "real" and facts.grid.unit:
        edges[-1] += facts.last_value_ends - step
    found = _plain_quantity(facts, edges)
    if not step or (step == 1 and facts.form.kind == "integer"):
        return found
    return _with_step(found, step)


def _plain_quantity(facts: _Found, edges: Sequence[float]) -> Quantity:
    form, decimals = facts.form, None
    if form.kind == "integer":
        edges = [int(edge) for edge in edges]
    else:
        decimals = 12
        if facts.grid.step:
            decimals = decimals_of(facts.grid.step)
        edges = [round(edge, 12) for edge in edges]
    notation = form.notation or None
    return Quantity(
        facts.name, form.kind, facts.missing, tuple(edges), False, notation, decimals=decimals
    )


def _with_step(attribute: Quantity, step: float) -> Quantity:
    """The attribute with a step, if every bin holds a multiple of it."""
    try:
        return with_details(attribute, {"step": step})
    except ValueError:
        return attribute
