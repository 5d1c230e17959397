"""Learning a graphical model from a curator: what was measured, what follows from it, and what it
expects elsewhere.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting.column_checks import MAX_ROWS
from understudy.counting.memory import MemoryCounter
from understudy.data.marginals import Marginal, marginal
from understudy.data.schema import Quantity
from understudy.models.graphical import Group
from understudy.models.graphical.descent import descend
from understudy.models.graphical.fitting import Fit
from understudy.models.graphical.merging import Merged, merge_neighbours, merge_rare, spread_values
from understudy.models.graphical.pooling import Pool, parts_of
from understudy.models.graphical.shrinkage import shrink_counts
from understudy.models.measurements import MeasuredTable, Measurements
from understudy.models.model import Model
from understudy.models.network import Network, Node
from understudy.models.parameters import project_counts
from understudy.models.sampling import ancestral
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement

DRAWN = (2_000, 100_000)
"""At least and at most this many rows are drawn to tell what the model expects."""


DAMPING = 1.0
"""Cells with fewer rows than this times the deviation of their noise are moved slowly."""


LARGE_DOMAIN = 200
LARGE_DOMAIN_DEVIATIONS = 2.0
"""Attributes with this many values or more are large. Their values are rare below this many
deviations of their own noise."""

DESCENT_CELLS = 500_000
"""A descent takes at most as many steps as add up to this many cells of the model."""

SCALINGS = 5
"""How often a table is scaled to its margins."""

MAX_SCALED_ORDER = 4
"""Tables of more attributes than this have too many margins."""


class GraphicalLearner:
    """A distribution that is refined as tables are measured.

    Parameters
    ----------
    curator
        Whom to ask.
    """

    def __init__(self, curator: Curator) -> None:
        self.curator = curator
        self._merged: dict[str, Merged] = {}
        self._all_values: GraphicalLearner | None = None
        """Where rare values are merged: what is known of single attributes without that."""
        self.sizes = {a.name: a.size for a in curator.schema.modelled if a.size > 1}
        self.pool = Pool(self.sizes)
        self._likely = self.pool
        """What the distribution is fitted to: the pool, until single attributes are shrunk."""
        self._shrinks_tables = False
        """Whether it is fitted to the likely tables of several attributes, too."""
        self.fit = Fit(self.sizes)
        self.measured: list[MeasuredTable] = []
        self._settled: set[Group] = set()
        self._targets: dict[Group, NDArray[np.float64]] = {}
        # What is drawn from the model on the way is public, and the same in every run that hears
        # the same answers.
        self._rng = np.random.default_rng(0)

    def merge_rare_values(self, threshold: float, quota: float) -> GraphicalLearner:
        """One of the same single attributes in which rare values are merged, and neighbours where
        values are in order, if there are any and the curator can; else this one.

        A table tells nothing of a value that has few rows against its noise. There may be many such
        values, and then no table with their attribute would ever be worth its noise. Which
        values are rare follows from what was measured. Single attributes are measured with all
        values even then.

        Parameters
        ----------
        threshold
            Values with fewer rows than that are rare.
        quota
            Values that are in order are merged with their neighbours until they have that many
            rows.
        """
        merged = {}
        for name in self.sizes:
            counts, attribute = self.pool.table((name,)), self.curator.schema[name]
            if isinstance(attribute, Quantity):
                merged[name] = merge_neighbours(counts, quota, ordered=attribute.bins)
            else:
                merged[name] = merge_rare(counts, self._find_threshold(name, threshold))
        return self.merge_values(merged)

    def merge_values(self, merged: Mapping[str, Merged]) -> GraphicalLearner:
        """One of the same single attributes with some values merged, if the curator can; else this
        one.
        """
        merged = {name: one for name, one in merged.items() if one.values < len(one.codes)}
        curator = None
        if merged:
            curator = self.curator.merge_values({name: one.codes for name, one in merged.items()})
        if curator is None:
            return self
        other = GraphicalLearner(curator)
        other._merged, other._all_values, other.measured = merged, self, self.measured
        # Bins are told apart again in the model: its cells are those of all of them.
        ordered = [a.name for a in self.curator.schema.modelled if isinstance(a, Quantity)]
        counted = {name: self.sizes[name] for name in ordered if self.sizes.get(name, 0) > 1}
        counted = {name: size for name, size in counted.items() if size < LARGE_DOMAIN}
        other.fit = Fit(other.sizes, counted)
        for name in self.sizes:
            counts, deviation = self.pool.table((name,)), self.pool.deviation((name,))
            other._add_single(name, np.rint(counts).astype(np.int64), deviation)
        return other

    def _find_threshold(self, name: str, threshold: float) -> float:
        """In a large attribute, far more values than are there would exceed one deviation."""
        if self.sizes[name] < LARGE_DOMAIN:
            return threshold
        return max(threshold, LARGE_DOMAIN_DEVIATIONS * self.pool.deviation((name,)))

    @property
    def rows(self) -> float:
        """The number of rows: public, or estimated from all tables (and never more than can be
        counted). One at least: shares are counts divided by it.
        """
        if self.curator.rows is not None:
            return max(float(self.curator.rows), 1.0)
        return min(max(self.pool.total, 1.0), float(MAX_ROWS))

    def cells(self, group: Group) -> int:
        """How many cells a group's table has."""
        return math.prod(self.sizes[name] for name in group)

    def measure(self, groups: Sequence[Group], costs: Sequence[Budget]) -> None:
        """Ask for the groups' tables; the distribution changes with the next :meth:`refit`."""
        for learner, places in self._by_learner(groups):
            asked = [costs[place] for place in places]
            measured = learner.curator.measure(
                [marginal(*groups[place]) for place in places],
                functools.reduce(Budget.plus, asked),
                [cost.amount for cost in asked],
            )
            for place, found in zip(places, measured, strict=True):
                learner._add(groups[place], found)
                if learner is not self:
                    self._add_single(groups[place][0], found.counts, float(found.deviation))
        self.fit.add(groups)
        self._likely, self._shrinks_tables = self.pool, False
        changed = {name for group in groups for name in group}
        self._targets = {
            group: target for group, target in self._targets.items() if changed.isdisjoint(group)
        }

    def _by_learner(self, groups: Sequence[Group]) -> list[tuple[GraphicalLearner, list[int]]]:
        """Who measures the groups at which places: single attributes are measured with all of their
        values, tables of several with rare ones merged.
        """
        if self._all_values is None:
            return [(self, list(range(len(groups))))]
        alone = [place for place, group in enumerate(groups) if len(group) == 1]
        several = [place for place, group in enumerate(groups) if len(group) > 1]
        parts = [(self._all_values, alone), (self, several)]
        return [(learner, places) for learner, places in parts if places]

    def _add(self, group: Group, found: Measurement) -> None:
        """Keep a measured table."""
        joint = found.effect_variances is not None
        deviation = float(found.deviation)
        if found.effect_variances is None:
            self.pool.add(group, found.counts, found.deviation)
        else:
            self.pool.set(group, found.counts, found.effect_variances)
            self._settled.update(parts_of(group))
            # Cells add up to a known number; this is as if they did not.
            deviation *= math.sqrt(found.counts.size / (found.counts.size - 1))
        self.measured.append(MeasuredTable(group, deviation, joint))

    def _add_single(self, name: str, counts: NDArray[np.int64], deviation: float) -> None:
        """Keep the table of one attribute with all values, rare ones merged."""
        if name in self._merged:
            counts = self._merged[name].sum(counts.astype(np.float64)).astype(np.int64)
        self.pool.add((name,), counts, deviation)

    def measure_again(self, budget: Budget) -> None:
        """Spend a budget on the tables that the distribution consists of, where that tells more."""
        groups = [group for group in self.fit.groups if not self.is_settled(group)]
        if groups and budget.amount > 0:
            self.measure(groups, budget.equally(len(groups)))

    def is_settled(self, group: Group) -> bool:
        """Whether asking for a group's table again would tell nothing: it is a part of one estimate
        and was told already.
        """
        return group in self._settled

    def shrink_singles(self) -> None:
        """Fit single attributes to their likely tables from now on, until more is measured.

        That is for the end: what is still to be measured is weighed by what was measured.
        """
        self._likely = self.pool.replace_singles(self._shrink)
        self._targets = {}

    def shrink_tables(self) -> None:
        """The same for tables of several attributes: what noise hides is not fitted to be none."""
        self.shrink_singles()
        self._shrinks_tables = True

    def _shrink(self, name: str) -> NDArray[np.float64]:
        """The likely table of a single attribute."""
        group = (name,)
        return shrink_counts(self.pool.table(group), self.pool.deviation(group), self.rows)

    def refit(self, sweeps: int) -> None:
        """Move the distribution towards all measured tables, from where it stands.

        Cells with few rows against the noise move slowly: what is told about them is mostly noise.
        """
        rows = self.rows
        targets, damping = {}, {}
        for group in self.fit.groups:
            targets[group] = self._target(group)
            damping[group] = 1e-12
            if len(group) > 1:  # what is told of a single attribute is all that is known of it
                damping[group] = max(DAMPING * self.pool.deviation(group) / rows, 1e-12)
        self.fit.sweep(targets, damping, sweeps)

    def descend(self, steps: int) -> None:
        """Move the distribution on, to where it is nearest to all measured tables together."""
        descend(self.fit, self._likely, self.rows, min(steps, DESCENT_CELLS // self.fit.cells))

    def _target(self, group: Group) -> NDArray[np.float64]:
        """The shares that a group should have.

        A large table is mostly cells with few rows. Where noise made them negative they become 0,
        so that those with rows lose some: its margins move away from what is known of them, which
        is far more. So it is scaled back to its margins (iterative proportional fitting).

        What was measured since of other attributes changes no more than the number of rows.
        """
        if group not in self._targets:
            table = self._estimate(group) / self.rows
            margins = [
                (place, self._target((*group[:place], *group[place + 1 :])))
                for place in range(len(group))
                if 1 < len(group) <= MAX_SCALED_ORDER
            ]
            self._targets[group] = _scale_to_margins(table, margins)
        return self._targets[group]

    def _estimate(self, group: Group) -> NDArray[np.float64]:
        """The counts that a group's table should have: the nearest to what was measured, or the
        likely ones.
        """
        table = self._likely.table(group)
        if not self._shrinks_tables or len(group) == 1:
            return project_counts(table, self.rows)
        likely = shrink_counts(table.ravel(), self.pool.deviation(group), self.rows)
        return likely.reshape(table.shape)

    def estimate_tables(self, marginals: Sequence[Marginal]) -> list[NDArray[np.float64]]:
        """The tables of any marginals, counted in rows that are drawn from the distribution.

        Drawing adds far less to a table than the noise of a measurement, and costs the same
        whatever the cliques are.
        """
        drawn = round(min(max(self.rows, DRAWN[0]), DRAWN[1]))
        codes = ancestral(Network(tuple(self._nodes())), self.curator.schema, drawn, self._rng)
        counter = MemoryCounter(codes, {}, self.sizes)
        flat, offsets = counter.count_flat(marginals)
        scaled = np.multiply(flat, self.rows / drawn, dtype=np.float64)
        shape = self.curator.domain.shape
        return [
            scaled[begin:end].reshape(shape(axes))
            for axes, (begin, end) in zip(marginals, pairwise(offsets.tolist()), strict=True)
        ]

    def one_way_noise(self, name: str) -> float:
        """How many rows of a single attribute's table are noise, about: values that disappear in it
        have none. All values count, also those that are merged, but for attributes with
        ``LARGE_DOMAIN`` values or more, most of which are noise.
        """
        if self._all_values is not None and self._all_values.sizes[name] < LARGE_DOMAIN:
            return self._all_values.one_way_noise(name)
        return self.merged_noise(name)

    def merged_noise(self, name: str) -> float:
        """The same of values as they are merged: what tables of several attributes can tell of."""
        likely = project_counts(self.pool.table((name,)), self.rows)
        deviation = self.pool.deviation((name,))
        return math.sqrt(2 / math.pi) * deviation * np.count_nonzero(likely)

    def one_way_excess(self) -> float:
        """How much larger the variance of counts of single attributes is than that of their noise,
        since the distribution does not have exactly the measured ones.
        """
        excess = []
        for name in self.sizes:
            gap = self.fit.marginal((name,)) * self.rows - self.pool.table((name,))
            noise = max(self.pool.deviation((name,)), 1e-9)
            excess.append(float((gap**2).mean()) / noise**2)
        return 1.0 + sum(excess) / len(excess)

    def network(self) -> Network:
        """The distribution as a network, with the attributes that have only one value."""
        constant = [a.name for a in self.curator.schema.modelled if a.name not in self.sizes]
        merged = self._merged
        if self._all_values is not None:  # as much is known of rare values by now
            shrink = self._all_values._shrink
            merged = {name: one.share(shrink(name)) for name, one in merged.items()}
        nodes = [spread_values(node, merged) for node in self._nodes()]
        return Network((*nodes, *(Node(name, (), np.array([self.rows])) for name in constant)))

    def model(self, method: Mapping[str, Any]) -> Model:
        """The distribution as a model of the curator's rows, made by a method."""
        rows = self.curator.rows
        if rows is None:
            rows = round(self.rows)
        return Model(
            method,
            (self._all_values or self).curator.schema,
            self.network(),
            self.curator.ledger,
            rows,
            measurements=Measurements(tables=tuple(self.measured)),
        )

    def _nodes(self) -> list[Node]:
        return [
            Node(
                name,
                parents,
                table * self.rows,
                self.pool.deviation((*(axis.attribute for axis in parents), name)),
            )
            for name, parents, table in self.fit.conditionals()
        ]


def _scale_to_margins(
    table: NDArray[np.float64], margins: Sequence[tuple[int, NDArray[np.float64]]]
) -> NDArray[np.float64]:
    """A table scaled to the sums that it should have along some sides, in turn.

    Margins that are 0 wherever the table is not leave nothing of it: then it stays as it was.
    """
    scaled = table
    for _ in range(SCALINGS):
        for place, margin in margins:
            now = scaled.sum(axis=place)
            ratio = np.divide(margin, now, out=np.ones_like(now), where=now > 0)
            scaled = scaled * np.expand_dims(ratio, place)
    total = scaled.sum()
    if total > 0:
        return scaled / total
    return table
