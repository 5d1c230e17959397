"""Rows drawn from a model that holds Gaussians: categories from its network, then a cell by the
label, then numbers from the Gaussian of the cell, clipped and put on the grid of their column.

Products are added in an order that no library may change, as for other rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.columns import in_words
from understudy.data.encoding import decode, make_quantity_column
from understudy.data.grids import ValueGrid
from understudy.data.schema import Quantity, Schema
from understudy.data.streams import draw_uniforms
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.models.constraining import ModelRules
from understudy.models.factors import Factor
from understudy.models.gaussians import Floats, Gaussians
from understudy.models.network import Network
from understudy.models.query.subsets import Subset
from understudy.models.sampling import MIN_TRIES, TRIES_PER_ROW, CodesByName, Sampler, Spread

GAUSSIAN_ROWS_AT_A_TIME = 1 << 13
"""What numbers need stays small, however many columns there are."""


class GaussianRows:
    """A network and Gaussians made ready for drawing.

    Parameters
    ----------
    network
        Of all columns; what it says of numeric ones is used for missing cells alone.
    gaussians
        What the numeric columns follow.
    schema
        What the columns are.
    subsets, evidence
        Conditions that all rows fulfil, and those on other than numeric columns as factors of the
        network.
    """

    def __init__(
        self,
        network: Network,
        gaussians: Gaussians,
        schema: Schema,
        subsets: Mapping[str, Subset],
        evidence: Mapping[str, Factor],
    ) -> None:
        self._gaussians, self._schema = gaussians, schema
        others = Network(tuple(node for node in network if node.attribute not in gaussians.columns))
        rest = tuple(a for a in schema if a.name not in gaussians.columns)
        self._rest = Schema(rest)
        rules = ModelRules(others, self._rest, None)
        given = {name: evidence[name] for name in evidence if name not in gaussians.columns}
        fitting = {name: subsets[name] for name in given}
        _, restricted = rules.apply_conditions(fitting, given, exact=True)
        self._sampler = Sampler(restricted.network, self._rest)
        self._numeric = {name: subsets[name] for name in subsets if name in gaussians.columns}
        self._grids = {name: NearestValues(_quantity(schema, name)) for name in gaussians.columns}
        self._missing = {
            name: _missing_shares(network, _quantity(schema, name))
            for name in gaussians.columns
            if schema[name].missing is not None
        }
        self._bounds = _cumulative(gaussians.weights)

    def draw(self, first: int, rows: int, rng: np.random.Generator, spread: Spread) -> Table:
        """Draw rows, the first of which has the number ``first``."""
        codes, numbers = self._draw_fitting(rows, rng, spread)
        other = decode(codes, self._rest, rng, rows, first)
        found = dict(other.columns)
        for name, column in numbers.items():
            if self._schema[name].kind == "time":  # no library has a type for it that all read
                column = in_words(column, "time")
            found[name] = column
        ordered = {name: found[name] for name in self._schema.names if name in found}
        return Table(ordered, other.source)

    def _draw_fitting(
        self, rows: int, rng: np.random.Generator, spread: Spread
    ) -> tuple[CodesByName, dict[str, Column]]:
        """Codes and numbers; with conditions on numbers, rows are drawn until enough fit."""
        codes, numbers = self._draw_batch(rows, rng, spread)
        if not self._numeric:
            return codes, numbers
        kept, tried, found = [], 0, 0
        while True:
            fits = np.ones(len(next(iter(numbers.values()))), dtype=bool)
            for name, subset in self._numeric.items():
                fits &= _fits(numbers[name], subset)
            tried, found = tried + len(fits), found + int(fits.sum())
            kept.append(_choose(codes, numbers, fits))
            if found >= rows:
                break
            if tried >= max(MIN_TRIES, TRIES_PER_ROW * rows):
                raise InputError(
                    f"Only {found:,} of {tried:,} rows drawn fit the condition; widen it."
                )
            wanted = 1.1 * (rows - found) * tried / max(found, 1)
            batch = int(min(max(wanted, GAUSSIAN_ROWS_AT_A_TIME), 8 * GAUSSIAN_ROWS_AT_A_TIME))
            codes, numbers = self._draw_batch(batch, rng, "independent")
        return _join(kept, rows)

    def _draw_batch(
        self, rows: int, rng: np.random.Generator, spread: Spread
    ) -> tuple[CodesByName, dict[str, Column]]:
        codes = self._sampler.draw(rows, rng, spread)
        lines = np.zeros(rows, dtype=np.int64)
        if self._gaussians.label is not None:
            lines = codes[self._gaussians.label].astype(np.int64)
        cells = _choose_cells(self._bounds, lines, rng)
        names = self._gaussians.columns
        values = {name: np.empty(rows, dtype=self._grids[name].dtype) for name in names}
        for start in range(0, rows, GAUSSIAN_ROWS_AT_A_TIME):
            some = slice(start, min(start + GAUSSIAN_ROWS_AT_A_TIME, rows))
            scaled = draw_scaled(self._gaussians, cells[some], rng)
            for place, name in enumerate(names):
                low, high = self._gaussians.lower[place], self._gaussians.upper[place]
                numbers = low + (scaled[:, place] + 1) * ((high - low) / 2)
                values[name][some] = self._grids[name].nearest(np.clip(numbers, low, high))
        return codes, {name: self._column(name, values[name], lines, rng) for name in names}

    def _column(
        self, name: str, values: NDArray[Any], lines: NDArray[np.int64], rng: np.random.Generator
    ) -> Column:
        attribute = _quantity(self._schema, name)
        column = make_quantity_column(attribute, values)
        if name in self._missing:
            shares = self._missing[name]
            absent = draw_uniforms(rng, len(values)) < shares[lines % len(shares)]
            column = replace(column, missing=absent.astype(np.uint8))
        return column


class NearestValues:
    """The values that a column can have, and which of them is the nearest to a number."""

    def __init__(self, attribute: Quantity) -> None:
        self._grid = ValueGrid(attribute)
        self._low = float(np.nanmin(self._grid.lowest))
        self._high = float(np.nanmax(self._grid.highest))
        step = attribute.step
        whole_step = step is not None and Fraction(repr(float(step))).denominator == 1
        self.dtype: np.dtype[Any] = np.dtype(np.float64)
        if attribute.whole or (whole_step and not attribute.values):
            self.dtype = np.dtype(np.int64)

    def nearest(self, numbers: Floats) -> NDArray[Any]:
        """The nearest values, of two the larger one."""
        inside = np.clip(numbers, self._low, self._high)
        below, above = self._grid.down(inside), self._grid.up(inside)
        chosen = np.where(inside - below < above - inside, below, above)
        return np.clip(chosen, self._low, self._high).astype(self.dtype)


def draw_scaled(gaussians: Gaussians, cells: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Rows of the columns in scaled units, not clipped: one for each cell given."""
    normals = draw_normals(rng, len(cells) * gaussians.dimensions)
    normals = normals.reshape(gaussians.dimensions, len(cells))
    inner = gaussians.means[cells]
    for cell in np.unique(cells):
        rows = cells == cell
        factor = gaussians.factors[cell]
        own = inner[rows]
        for place in np.flatnonzero(factor.any(axis=0)).tolist():
            # A lower triangle has nothing above the diagonal.
            own[:, place:] += normals[place][rows][:, None] * factor[place:, place]
        inner[rows] = own
    if gaussians.basis is None:
        return np.asarray(inner + gaussians.centre)
    values = np.repeat(gaussians.centre[None], len(cells), axis=0)
    for line, direction in enumerate(gaussians.basis):
        values += inner[:, line][:, None] * direction
    return values


def draw_normals(rng: np.random.Generator, count: int) -> Floats:
    """Standard normal numbers by Box and Muller's transform of uniform ones."""
    half = -(-count // 2)
    lengths = np.sqrt(-2 * np.log(1 - draw_uniforms(rng, half)))
    angles = 2 * np.pi * draw_uniforms(rng, half)
    return np.concatenate([lengths * np.cos(angles), lengths * np.sin(angles)])[:count]


def _quantity(schema: Schema, name: str) -> Quantity:
    attribute = schema[name]
    assert isinstance(attribute, Quantity)
    return attribute


def _missing_shares(network: Network, attribute: Quantity) -> Floats:
    """How likely a cell of the column is missing, by the code of the label."""
    return network[attribute.name].conditional.reshape(-1, attribute.size)[:, -1]


def _cumulative(weights: Floats) -> Floats:
    """Where the share of each cell ends, line by line; a line without rows is as all together."""
    overall = np.cumsum(weights, axis=0)[-1]
    if not overall.any():
        overall = np.ones_like(overall)
    known = np.asarray((weights > 0).any(axis=1))
    filled = np.where(known[:, None], weights, overall)
    bounds = np.cumsum(filled, axis=1)
    return bounds / bounds[:, -1:]


def _choose_cells(
    bounds: Floats, lines: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    uniforms = draw_uniforms(rng, len(lines))
    cells = np.zeros(len(lines), dtype=np.int64)
    for ends in bounds.T[:-1]:
        cells += uniforms >= ends[lines]
    return cells


def _fits(column: Column, subset: Subset) -> NDArray[np.bool_]:
    """Which numbers are in a subset of their attribute's values."""
    fits = np.zeros(len(column.values), dtype=bool)
    for start, end in subset.intervals:
        fits |= (column.values >= start) & (column.values < end)
    if column.missing is not None:
        absent = column.missing.astype(bool)
        fits = np.where(absent, subset.missing, fits)
    return fits


def _choose(
    codes: CodesByName, numbers: dict[str, Column], fits: NDArray[np.bool_]
) -> tuple[CodesByName, dict[str, Column]]:
    kept = {name: values[fits] for name, values in codes.items()}
    return kept, {name: column.take(fits) for name, column in numbers.items()}


def _join(
    kept: list[tuple[CodesByName, dict[str, Column]]], rows: int
) -> tuple[CodesByName, dict[str, Column]]:
    """The first rows of all batches together."""
    codes = {name: np.concatenate([batch[name] for batch, _ in kept])[:rows] for name in kept[0][0]}
    numbers = {}
    for name, column in kept[0][1].items():
        missing = column.missing
        if missing is not None:
            missing = np.concatenate([batch[name].missing for _, batch in kept])[:rows]
        values = np.concatenate([batch[name].values for _, batch in kept])[:rows]
        numbers[name] = replace(column, values=values, missing=missing)
    return codes, numbers
