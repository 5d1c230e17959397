"""What lies inside bins, learned for a small share of the budget once the schema is known.

For every quantity whose bins hold more than one value, in this order:

1. *Grid*: how many numbers are multiples of 1000, 500, 100, ..., 0.01: one noisy table of classes.
   It gives the step, and how often people round. (Of dates: the weekdays and days of the month.)
2. *Cells*: a noisy histogram over a public partition of the range
   (:mod:`understudy.privacy.cells`). It gives the shape, and the edges of bins where nobody
   fixed them.
3. *Closer*: a noisy histogram over the runs of cells that look alike, which are few, and over the
   insides of cells that stand out: single values that many rows share.

All of it is tables of counts over classes that no row is in twice. One row more or less changes one
count of each table by one; a row that is replaced changes two. So the noise is that of any table
(:func:`understudy.privacy.mechanisms.table_scale`), and the tables' prices add up. Which cells are
parted in step 3 goes by noisy answers alone. What is made of the answers is post-processing
(:mod:`understudy.privacy.shapes`); where nothing stands out of the noise, the schema stays as it
was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.counting.cuboids import CuboidCounter
from understudy.data.attributes import DEFAULT_BINS
from understudy.data.encoding import Coded
from understudy.data.inside_files import has_whole_days
from understudy.data.marginals import marginal
from understudy.data.missingness import LEAST_COLUMNS, count_missing, may_be_missing
from understudy.data.schema import Attribute, Quantity, Schema, Text
from understudy.data.value_classes import GridClasses, MonthDayClasses, WeekdayClasses
from understudy.privacy.budget import Budget
from understudy.privacy.cells import Cells, first_cells, split_cell
from understudy.privacy.few_cells import find_shape, lay_few_cells, reaches_far
from understudy.privacy.heaping import find_first_of_month, find_grid, find_heaps
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import (
    Noise,
    SystemNoise,
    add_noise,
    describe_noise,
    table_scale,
)
from understudy.privacy.noisy_tables import (
    CELL_FALSE_ALARM,
    NoisyTable,
    find_missing_cells,
    find_weekdays,
)
from understudy.privacy.refined_attributes import (
    candidate_steps,
    close_edges,
    detail_of,
    find_heaping_beside,
    grid_classes,
    join_empty_ends,
    list_values,
    with_step,
    without_hollow_bins,
)
from understudy.privacy.shapes import (
    CERTAIN,
    Shape,
    cut_bins,
    find_spikes,
    part_spikes,
    refine_cells,
    smooth,
    sum_by,
)
from understudy.privacy.slopes import add_slopes

SHARES, SHARES_OF_MOMENTS = (0.1, 0.45, 0.45), (0.2, 0.4, 0.4)
"""Of what a column may cost: for its grid, its cells, and a closer look. Of dates and datetimes two
things are asked in place of the grid.
"""

MISSING_SHARE = 1 / 3
"""What the number of missing cells per row costs, beside a column: it is one short table."""

PRICE, FINAL_PRICE = 0.6, 0.8
"""What a run must differ by from its neighbours, as a part of what stands out of the noise: at
first, when a second count can still take it back, and at last.
"""

EVEN_ODDS = 1.0
"""Values that noise alone makes stand out of a run that is certainly a peak, on average: there a
spike is as likely as not.
"""

SURE_MISSING = 2.0
"""Standard deviations by which missing cells that were discovered must be seen again."""

SLOPE_PARTS = 8
"""How many steps a slope is made of, at most."""

SEEN = 4.0
"""A run of fewer rows than this many times the noise is not parted: no spike would be seen."""

FEW_FALSE_ALARM = 0.005
"""Probability that noise alone makes one of a few wide cells stand out: no other count takes it
back.
"""

PEAK_CELLS, PEAK_TIMES = 3, 4.0
"""A run of so few cells, so much denser than its neighbours, may be a spike."""

CONFIRMED, MAX_ALONE = 3.0, 1 / 8
"""Standard deviations: a peak in the midst of nothing, over such a part of the range at most, that
has fewer rows by the second count alone is taken back. Of some hundred cells noise alone makes the
first count of a few high, and so the mean of both.
"""

ZOOMED_RUNS, ZOOM_PARTS = 24, 8192
"""How many runs are parted at most, and into how many parts together: more of them hide a spike
only a little better.
"""

_Classes = TypeVar("_Classes", WeekdayClasses, MonthDayClasses)

Code = Callable[[Schema], Coded | CuboidCounter]
"""The rows as codes of a schema."""


def refine(
    schema: Schema,
    code: Code,
    ledger: Ledger,
    budget: Budget,
    noise: Noise | None = None,
    *,
    discovered: Collection[str] = (),
) -> Schema:
    """The schema with what a budget tells about the inside of its bins.

    Parameters
    ----------
    schema
        What is public, or was discovered.
    code
        What codes the private rows.
    ledger
        Where the price is debited, before anything is answered.
    budget
        What may be spent; less is, where nothing is left to be found.
    noise
        Where noise comes from; anything but the default is for tests and studies.
    discovered
        Columns whose bins nobody gave: they are cut again where only a few values occur.
    """
    asked = [attribute for attribute in schema.modelled if is_refinable(attribute)]
    gathers = len(may_be_missing(schema)) >= LEAST_COLUMNS
    weights = [1.0] * len(asked) + [MISSING_SHARE] * gathers
    if not weights or budget.amount <= 0:
        return schema
    costs = budget.split(*weights)
    if min(cost.amount for cost in costs) <= 0:
        return schema
    asker = _Asker(schema, code, ledger, noise)
    columns = [
        _Column(attribute, cost, discovered=attribute.name in discovered)
        for attribute, cost in zip(asked, costs, strict=False)
        if isinstance(attribute, Quantity)
    ]
    _find_grids(asker, columns)
    _find_shapes(asker, columns)
    _look_closer(asker, columns)
    refined = {column.attribute.name: column.refine() for column in columns}
    attributes = tuple(refined.get(attribute.name, attribute) for attribute in schema)
    missing_cells = schema.missing_cells
    if gathers:
        missing_cells = find_missing_cells(asker.count_missing(costs[-1]))
    return replace(schema, attributes=attributes, missing_cells=missing_cells)


def is_refinable(attribute: Attribute) -> bool:
    """Whether some bin holds more than one value, and nothing is known of it yet."""
    if not isinstance(attribute, Quantity) or attribute.detail:
        return False
    if attribute.values:
        return bool(np.histogram(attribute.values, attribute.edges)[0].max() > 1)
    if not attribute.whole:
        return True
    return max(np.diff(attribute.edges)) > (attribute.step or 1)


# --------------------------------------------------------------------------- the question


class _Asker:
    """Puts questions about single columns."""

    def __init__(self, schema: Schema, code: Code, ledger: Ledger, noise: Noise | None) -> None:
        self.schema = schema
        self.code = code
        self.ledger = ledger
        self.noise = noise if noise is not None else SystemNoise()
        if not self.noise.private:
            ledger.private = False

    def count(
        self, what: str, asked: Mapping[str, Quantity], costs: Mapping[str, Budget]
    ) -> dict[str, NoisyTable]:
        """Noisy counts of the codes of some columns, the one for "missing" by itself.

        One row lies in one class of each column, so it changes one count of each table by one; the
        tables are paid for one by one. Debited before a row is counted.
        """
        if not asked:
            return {}
        scales = {name: self.scale(costs[name]) for name in asked}
        currency = self.ledger.currency
        self.ledger.debit_all(
            (f"{what} of {name}", costs[name], describe_noise(currency, scales[name]))
            for name in asked
        )
        attributes = (
            asked.get(attribute.name, Text(attribute.name, "text")) for attribute in self.schema
        )
        rows = self.code(Schema(tuple(attributes)))
        if isinstance(rows, Coded):
            tables = [rows.count(name) for name in asked]
        else:
            tables = rows.count([marginal(name) for name in asked])
        found = {}
        for (name, attribute), table in zip(asked.items(), tables, strict=True):
            noisy = add_noise(self.noise, table, currency, scales[name])
            counts, missing = noisy[: attribute.values_size], noisy[attribute.values_size :]
            found[name] = NoisyTable(
                counts, scales[name], currency != "epsilon", int(missing.sum())
            )
        return found

    def count_missing(self, cost: Budget) -> NoisyTable:
        """Noisy counts of rows with 0, 1, 2, ... missing cells: every row is in one of them."""
        scale, currency = self.scale(cost), self.ledger.currency
        self.ledger.debit("missing cells per row", cost, describe_noise(currency, scale))
        coded = self.code(self.schema)
        if isinstance(coded, CuboidCounter):
            counts = coded.missing_cells()
        else:
            columns = may_be_missing(coded.schema)
            missing = count_missing(coded.schema, coded.codes, coded.rows)
            counts = np.bincount(missing, minlength=len(columns) + 1)
        noisy = add_noise(self.noise, counts.astype(np.int64), currency, scale)
        return NoisyTable(noisy, scale, currency != "epsilon")

    def scale(self, cost: Budget) -> float:
        """The scale of the noise of a table at a price."""
        return table_scale(cost, self.ledger.neighbours, self.ledger.max_rows_per_person)


# --------------------------------------------------------------------------- what is learned


class _Column:
    """What is known of one column so far."""

    def __init__(self, attribute: Quantity, cost: Budget, *, discovered: bool) -> None:
        self.attribute = attribute
        self.discovered = discovered
        self.missing: list[NoisyTable] = []
        """Tables that tell how many cells are missing."""
        self.shape: Shape | None = None
        self.grid: tuple[GridClasses, NoisyTable] | None = None
        # Of dates the weekday and the day of the month are asked for, of datetimes the weekday and
        # the step.
        if attribute.kind == "date" or (attribute.kind == "datetime" and attribute.step is None):
            grid, self.cells_cost, self.closer_cost = cost.split(*SHARES_OF_MOMENTS)
            self.grid_cost, _ = grid.equally(2)
        else:
            self.grid_cost, self.cells_cost, self.closer_cost = cost.split(*SHARES)

    @property
    def name(self) -> str:
        return self.attribute.name

    @property
    def lacks_missing(self) -> bool:
        """Whether the cells that discovery took for missing are hardly there: among many marks one
        is seen by chance now and then, but hardly twice.
        """
        seen = sum(table.missing for table in self.missing)
        return seen < SURE_MISSING * math.hypot(*(table.deviation for table in self.missing))

    def refine(self) -> Quantity:
        """The attribute with what was learned."""
        shape = self.shape
        if self.discovered and self.lacks_missing:
            self.attribute = replace(self.attribute, missing=None)
        if shape is None or shape.flat:
            return self.attribute
        attribute = self.attribute
        if self.discovered or attribute.free_bins:
            listed = list_values(attribute, shape)
            if listed is not None:
                return listed
        if attribute.heaping and self.grid is not None:
            step = float(attribute.step or 1)
            heaping = find_heaping_beside(shape, step, *self.grid)
            attribute = replace(attribute, heaping=heaping)
        if not attribute.values:
            shape = add_slopes(shape, attribute, SLOPE_PARTS)
        if attribute.free_bins:
            edges = cut_bins(shape, DEFAULT_BINS)
        else:
            edges = part_spikes(shape, attribute.edges, DEFAULT_BINS)
            if self.discovered:
                edges = join_empty_ends(edges, shape)
        edges = without_hollow_bins(attribute, edges)
        if edges != attribute.edges:
            attribute = replace(
                attribute,
                edges=close_edges(attribute, edges),
                equal_width=False,
                free_bins=False,
            )
        return replace(attribute, detail=detail_of(attribute, shape))


def _find_grids(asker: _Asker, columns: list[_Column]) -> None:
    """Choose a step for numbers and times that have none, and see how people round; count weekdays
    and days of the month.
    """
    _find_first_of_months(asker, columns)
    _find_weekdays(asker, columns)
    asked = {}
    for column in columns:
        attribute = column.attribute
        steps = candidate_steps(attribute)
        if is_on_grid(attribute) and len(steps) > (attribute.step is not None):
            asked[column.name] = grid_classes(attribute, steps)
    found = asker.count("grid", asked, {c.name: c.grid_cost for c in columns})
    for column in columns:
        table = found.get(column.name)
        if table is None:
            continue
        column.grid = asked[column.name], table
        steps, step = asked[column.name].steps, column.attribute.step
        facts = table.counts, table.stands_out(len(table.counts))
        if step is None:
            step, heaping = find_grid(steps, *facts)
        else:
            heaping = find_heaps(steps, *facts, step)
        column.attribute = with_step(column.attribute, step, heaping)


def is_on_grid(attribute: Quantity) -> bool:
    """Whether it is worth asking how coarse the grid of a column is."""
    if attribute.values or attribute.heaping or attribute.kind == "date":
        return False
    return attribute.kind != "datetime" or attribute.step is None


def _find_first_of_months(asker: _Asker, columns: list[_Column]) -> None:
    """See whether dates are put on the first of a month."""
    asked = {}
    for column in columns:
        attribute = column.attribute
        if attribute.kind == "date" and attribute.step is None:
            asked[column.name] = _classes(attribute, MonthDayClasses)
    found = asker.count("days of the month", asked, {c.name: c.grid_cost for c in columns})
    for column in columns:
        if column.name in found:
            table = found[column.name]
            share = find_first_of_month(table.counts, table.stands_out(len(table.counts)))
            column.attribute = replace(column.attribute, first_of_month=share)


def _find_weekdays(asker: _Asker, columns: list[_Column]) -> None:
    """See whether some weekdays have more dates than others."""
    asked = {}
    for column in columns:
        attribute = column.attribute
        if attribute.kind in ("date", "datetime") and has_whole_days(attribute):
            asked[column.name] = _classes(attribute, WeekdayClasses)
    found = asker.count("weekdays", asked, {c.name: c.grid_cost for c in columns})
    for column in columns:
        if column.name in found:
            shares = find_weekdays(found[column.name], column.attribute.first_of_month)
            column.attribute = replace(column.attribute, weekdays=shares)


def _classes(attribute: Quantity, kind: type[_Classes]) -> _Classes:
    """The attribute that codes values by some class."""
    return kind(
        attribute.name,
        attribute.kind,
        attribute.missing or "",
        attribute.edges,
        format=attribute.format,
    )


def _find_shapes(asker: _Asker, columns: list[_Column]) -> None:
    """Count the cells of the range."""
    cells = {column.name: first_cells(column.attribute) for column in columns}
    asked = {name: partition.as_attribute() for name, partition in cells.items()}
    found = asker.count("values inside bins", asked, {c.name: c.cells_cost for c in columns})
    for column in columns:
        partition, table = cells[column.name], found[column.name]
        column.missing.append(table)
        if not table.enough_rows():
            continue
        column.shape = smooth(
            partition.edges,
            partition.sizes,
            table.counts,
            PRICE * table.stands_out(len(table.counts)),
            table.deviation**2,
        )


def _look_closer(asker: _Asker, columns: list[_Column]) -> None:
    """Count the runs that were found, and the insides of the cells with most rows.

    The runs are far fewer than the cells, so the noise in each is less than in the sum of its
    cells. Where rows are too few for so many cells, a few wide ones are counted instead.
    """
    looks: dict[str, _Parted | _Few] = {}
    for column in columns:
        attribute, shape = column.attribute, column.shape
        if shape is not None and not shape.flat:
            scale = asker.scale(column.closer_cost)
            looks[column.name] = _Parted(attribute, shape, scale)
        elif shape is None and reaches_far(attribute):
            looks[column.name] = _Few(attribute)
    asked = {name: look.cells.as_attribute() for name, look in looks.items()}
    found = asker.count("spikes inside bins", asked, {c.name: c.closer_cost for c in columns})
    for column in columns:
        if column.name not in found:
            continue
        table = found[column.name]
        column.missing.append(table)
        column.shape = looks[column.name].learn(table)


class _Few:
    """A few cells that grow."""

    def __init__(self, attribute: Quantity) -> None:
        self.cells = lay_few_cells(attribute)

    def learn(self, table: NoisyTable) -> Shape:
        """The shape by what was counted."""
        return find_shape(self.cells, table, table.stands_out(len(table.counts), FEW_FALSE_ALARM))


class _Parted:
    """Runs as they are, and those in which a spike would be seen in parts."""

    def __init__(self, attribute: Quantity, shape: Shape, scale: float) -> None:
        self.shape = shape
        self._is_certain = shape.rows * np.sqrt(shape.precisions) >= CERTAIN
        self.parted: list[int] = []
        if not attribute.values:
            rows = shape.rows
            several = sum_by(shape.runs, shape.sizes) > 1
            worth = shape.peaks(PEAK_CELLS, PEAK_TIMES) & several & (rows > SEEN * scale)
            most = np.argsort(np.where(worth, -rows, 0), kind="stable")[: int(worth.sum())]
            self.parted = sorted(most[:ZOOMED_RUNS].tolist())
        starts = [*shape.starts.tolist(), len(shape.sizes)]
        inner = [shape.edges[start] for start in starts]
        left, sizes = ZOOM_PARTS, sum_by(shape.runs, shape.sizes)
        for done, run in enumerate(sorted(self.parted, key=sizes.__getitem__)):
            low, high = inner[run : run + 2]
            parts = split_cell(attribute, low, high, left // (len(self.parted) - done))
            inner += parts
            left -= len(parts)
        self.cells = Cells(replace(attribute, free_bins=True), inner)

    def learn(self, table: NoisyTable) -> Shape | None:
        """The shape by what was counted, if there are enough rows."""
        if not table.enough_rows():
            return None
        shape = self.shape
        starts = [shape.edges[start] for start in shape.starts]
        runs = np.searchsorted(np.array(starts), np.array(self.cells.edges[:-1]), "right") - 1
        insides = dict(self._insides(runs, table))
        rows = sum_by(runs, table.counts)
        precisions = 1 / (np.bincount(runs) * table.deviation**2)
        updated = shape.update(rows, precisions).take_back(
            shape.stands_alone(MAX_ALONE, PEAK_TIMES)
            & ~self._is_certain
            & (rows * np.sqrt(precisions) < CONFIRMED)
        )
        refined = refine_cells(updated, insides)
        return refined.simplify(FINAL_PRICE * table.stands_out(len(refined.rows)) / table.deviation)

    def _insides(self, runs: NDArray[np.int64], table: NoisyTable) -> Iterator[tuple[int, Shape]]:
        """The shapes of the runs that were parted, where they are not flat."""
        for run in self.parted:
            first, last = np.searchsorted(runs, [run, run + 1]).tolist()
            counts, sizes = table.counts[first:last], self.cells.sizes[first:last]
            false_alarms = EVEN_ODDS
            if not self._is_certain[run]:
                false_alarms = CELL_FALSE_ALARM
            spikes = (counts > table.stands_out(len(counts), false_alarms)) & (sizes <= 1)
            if spikes.any():
                yield (
                    int(self.shape.starts[run]),
                    find_spikes(
                        self.cells.edges[first : last + 1],
                        sizes,
                        counts,
                        spikes,
                        table.deviation,
                        (float(self.shape.rows[run]), float(self.shape.precisions[run])),
                    ),
                )
