"""Gaussian: means and covariances of numeric columns, for each value of a label.

For tables of numbers, and for small images. Numbers are scaled by public bounds. Rows are put into
cells by their label, and inside these by released points where more than one is asked for. The
means of the cells, and the covariances about the *released* means, are noisy sums
(:mod:`understudy.synthesizers.gaussian_cells`). Rows are drawn by noisy counts from one Gaussian
for each cell, clipped, and put on the grid of their columns.

Other categorical columns have a noisy table each, together with the label: what they have to do
with numbers, and with each other, is kept as far as the label tells it.

This is the sound form of micro-aggregation with Gaussians. Where that makes groups of k similar
records, one record can change every group; released points cannot be changed by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.data.marginals import Axis
from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.errors import InputError
from understudy.models.gaussian_fitting import column_nodes
from understudy.models.gaussians import MAX_GAUSSIAN_CELLS, Floats, Gaussians
from understudy.models.model import Model
from understudy.models.network import Network, Node
from understudy.models.parameters import project_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator, Measurement
from understudy.privacy.features import Indicator
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.gaussian_cells import GaussianCells
from understudy.synthesizers.gaussian_images import FrequencyColumns, learn_frequencies
from understudy.synthesizers.gaussian_location import LocationCells, label_marginal
from understudy.synthesizers.parameters import (
    ColumnGroups,
    ColumnName,
    Optional,
    RealNumber,
    WholeNumber,
    parameter,
)
from understudy.synthesizers.registry import register
from understudy.synthesizers.stages import Outliers, numeric_columns

LABEL_COUNTS_SHARE = 0.05
"""Of the budget, for the number of rows with each label."""

MISSING_COUNT_SHARE = 0.05
"""For the number of missing cells, where there can be any."""

OUTLIERS_SHARE = 0.15
"""For the histograms that tell quantiles, where they are asked for."""


@register(
    "gaussian",
    summary="means and covariances of numbers, by a label",
    cost="noisy sums, squares and products of numbers",
    curators=("central", "federated"),
)
@dataclass(frozen=True, kw_only=True)
class Gaussian(Synthesizer):
    """Gaussians of numeric columns.

    Parameters
    ----------
    label
        The categorical column whose values make the cells; by default the last one of the table.
    clusters
        Into how many parts the rows of each label are put, by the nearest of released points
        (DPLloyd). Each part needs some hundred rows.
    blocks
        Groups of numeric columns that depend on each other and on no others: public knowledge. By
        default blocks are found by a noisy correlation matrix.
    directions
        In how many principal components the Gaussians are; 0: none, they are over the columns
        themselves. By default none up to 48 numeric columns, and as many as rise above the noise
        where there are more.
    clip_quantile
        Above 0, numbers are clipped to this quantile and one minus it, which noisy histograms tell
        at a price; by default to the bounds of the schema.

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.
    """

    needs_numbers: ClassVar[bool] = True
    refinement: float = 0.0  # numbers are not cut into bins: there is nothing inside these
    label: str | None = parameter(
        None, Optional(ColumnName()), "The categorical column whose values make the cells."
    )
    clusters: int = parameter(
        1,
        WholeNumber(1, MAX_GAUSSIAN_CELLS),
        "Parts of the rows of each label, by the nearest point.",
    )
    blocks: Sequence[Sequence[str]] = parameter(
        (),
        ColumnGroups(),
        "Numeric columns that depend on each other and on no others.",
        option="block",
    )
    directions: int | None = parameter(
        None, Optional(WholeNumber(0)), "Principal components that the Gaussians are over."
    )
    clip_quantile: float = parameter(
        0.0, RealNumber(low=0, below=0.5), "Clip numbers to this quantile, at a price."
    )

    def check_parameters(self) -> None:
        """Numbers have no bins to refine; blocks and components exclude each other."""
        if self.refinement:
            raise InputError(
                "The method gaussian models numbers as they are, not in bins; leave refinement 0."
            )
        if self.blocks and self.directions:
            raise InputError("Give either blocks or directions: both say how columns go together.")

    @property
    def named(self) -> frozenset[str]:
        """The label and the columns of blocks."""
        columns = {name for block in self.blocks for name in block}
        if self.label is not None:
            columns.add(self.label)
        return frozenset(columns)

    def check(self, schema: Schema) -> None:
        """There must be numbers; rules about rows cannot be kept."""
        numeric = [column.name for column in numeric_columns(schema)]
        if not numeric:
            raise InputError(
                "The method gaussian needs a numeric column that can vary; this schema has none. "
                "Choose another method."
            )
        if schema.constraints is not None:
            raise InputError(
                "The method gaussian cannot keep constraints; remove them from the schema or "
                "choose another method."
            )
        if self.label is not None:
            self._check_label(schema)
        self._places(numeric)

    def _check_label(self, schema: Schema) -> None:
        label = schema[str(self.label)]
        if not isinstance(label, Category):
            raise InputError(
                f"The label {self.label!r} is of kind {label.kind}; it must be categorical or "
                "boolean."
            )
        if label.size * self.clusters > MAX_GAUSSIAN_CELLS:
            raise InputError(
                f"{self.label!r} has {label.size:,} values; with {self.clusters:,} clusters each "
                f"that is more than {MAX_GAUSSIAN_CELLS:,} cells. Choose fewer."
            )

    def _places(self, numeric: list[str]) -> tuple[tuple[int, ...], ...] | None:
        """The blocks by the places of their columns; a column in none is a block by itself."""
        if not self.blocks:
            return None
        named = [name for block in self.blocks for name in block]
        for name in named:
            if name not in numeric:
                raise InputError(f"The block column {name!r} is no numeric column that can vary.")
        if len(set(named)) < len(named):
            raise InputError("A column stands in two blocks; each can be in one.")
        found = [tuple(numeric.index(name) for name in block) for block in self.blocks]
        found += [(place,) for place, name in enumerate(numeric) if name not in named]
        return tuple(found)

    def label_of(self, schema: Schema) -> Category | None:
        """The column that makes the cells: the one that is named, else the last category."""
        if self.label is not None:
            label = schema[self.label]
            assert isinstance(label, Category)
            return label
        small = [
            attribute
            for attribute in schema.modelled
            if isinstance(attribute, Category)
            and 1 < attribute.size * self.clusters <= MAX_GAUSSIAN_CELLS
        ]
        if not small:
            return None
        return small[-1]

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Counts, bounds, Gaussians."""
        schema = curator.schema
        self.check(schema)  # where the domain was discovered this is the first time
        numeric, label = numeric_columns(schema), self.label_of(schema)
        shares = self._split(budget, schema, numeric, label)
        progress("counting", 0, 1)
        counts, nodes = self._count(curator, label, numeric, shares)
        rows = float(sum(counts))
        present = self._count_present(curator, numeric, label, counts, shares.get("missing"))
        progress("counting", 1, 1)
        if FrequencyColumns.of(schema) is not None and self._is_plain:
            gaussians, noise = learn_frequencies(
                curator, label, counts, shares["moments"], progress
            )
            nodes += column_nodes(gaussians, numeric, 1 - present, noise)
            return self._model(curator, nodes, rows, gaussians)
        bounds = Outliers(quantile=self.clip_quantile).find_bounds(
            curator, numeric, shares.get("outliers")
        )
        cells = LocationCells(
            by=label_marginal(label.name if label else None),
            labels=len(counts),
            points=None,
            counts=counts[:, None],
        )
        stage = GaussianCells(
            clusters=self.clusters,
            blocks=self._places([column.name for column in numeric]),
            directions=self.directions,
        )
        gaussians, noise = stage.learn(curator, bounds, cells, present, shares["moments"], progress)
        nodes += column_nodes(gaussians, numeric, 1 - present, noise)
        return self._model(curator, nodes, rows, gaussians)

    @property
    def _is_plain(self) -> bool:
        """Whether nothing is said of how columns go together."""
        return (
            self.clusters == 1
            and not self.blocks
            and self.directions is None
            and not self.clip_quantile
        )

    def _model(
        self, curator: Curator, nodes: list[Node], rows: float, gaussians: Gaussians
    ) -> Model:
        network = _complete(nodes, curator.schema, rows)
        return Model(
            self.parameters(),
            curator.schema,
            network,
            curator.ledger,
            round(rows),
            gaussians=gaussians,
        )

    def _split(
        self, budget: Budget, schema: Schema, numeric: list[Quantity], label: Category | None
    ) -> dict[str, Budget]:
        """The budget of each part; tables of other categories cost as much as a number each."""
        others = _other_categories(schema, label)
        weights = {"counts": LABEL_COUNTS_SHARE}
        if others:
            weights["tables"] = len(others) / (len(others) + len(numeric)) / 2
        if any(column.missing is not None for column in numeric):
            weights["missing"] = MISSING_COUNT_SHARE
        if self.clip_quantile:
            weights["outliers"] = OUTLIERS_SHARE
        weights["moments"] = 1 - sum(weights.values())
        return dict(zip(weights, budget.split(*weights.values()), strict=True))

    def _count(
        self,
        curator: Curator,
        label: Category | None,
        numeric: list[Quantity],
        shares: dict[str, Budget],
    ) -> tuple[Floats, list[Node]]:
        """The rows with each label, and the nodes of all categories."""
        own = label_marginal(label.name if label else None)
        [counted] = curator.measure([own], shares["counts"])
        rows = max(float(counted.counts.sum()), 1.0)
        if curator.rows is not None:
            rows = float(curator.rows)
        counts = project_counts(counted.counts, rows).ravel()
        nodes = []
        if label is not None:
            nodes.append(Node(label.name, (), counts, counted.deviation))
        others = _other_categories(curator.schema, label)
        if others:
            tables = curator.measure(
                [(*own, Axis(other.name)) for other in others], shares["tables"]
            )
            nodes += [
                _node(other, own, table, counts)
                for other, table in zip(others, tables, strict=True)
            ]
        return counts, nodes

    def _count_present(
        self,
        curator: Curator,
        numeric: list[Quantity],
        label: Category | None,
        counts: Floats,
        budget: Budget | None,
    ) -> Floats:
        """The share of numbers that are not missing, by label and column."""
        present = np.ones((len(counts), len(numeric)))
        columns = [place for place, column in enumerate(numeric) if column.missing is not None]
        if not columns or budget is None:
            return present
        asked = [Indicator(numeric[p].name, (numeric[p].values_size,)) for p in columns]
        by = label_marginal(label.name if label else None)
        answer = curator.sum(asked, budget, by=by)
        assert answer.sums is not None
        missing = answer.sums.values.reshape(len(counts), len(columns))
        missing = missing / np.maximum(counts, 1.0)[:, None]
        present[:, columns] = 1 - np.clip(missing, 0.0, 1.0)
        return present

    @classmethod
    def audit_settings(cls, audited: AuditedGuarantee) -> dict[str, Synthesizer]:
        """Cells by label, and by points."""
        settings = super().audit_settings(audited)
        plain = cls(epsilon=audited.epsilon, delta=audited.delta)
        return {**settings, f"{cls.name}, 2 clusters": replace(plain, clusters=2)}


def _other_categories(schema: Schema, label: Category | None) -> list[Category]:
    """The categories beside the label that can vary."""
    return [
        attribute
        for attribute in schema.modelled
        if isinstance(attribute, Category) and attribute.size > 1 and attribute is not label
    ]


def _node(other: Attribute, label: tuple[Axis, ...], table: Measurement, counts: Floats) -> Node:
    """A category given the label: as many rows of each label as there are."""
    lines = table.counts.reshape(len(counts), other.size)
    fitted = np.array(
        [project_counts(line, rows) for line, rows in zip(lines, counts, strict=True)]
    )
    return Node(other.name, label, fitted.reshape(table.counts.shape), table.deviation)


def _complete(nodes: list[Node], schema: Schema, rows: float) -> Network:
    """The network, with what has one value only."""
    known = {node.attribute for node in nodes}
    constant = [
        Node(attribute.name, (), np.full(attribute.size, rows / attribute.size))
        for attribute in schema.modelled
        if attribute.name not in known
    ]
    return Network((*nodes, *constant))
