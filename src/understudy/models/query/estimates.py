"""Estimated counts over some attributes, from a model, each with the known noise in it."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Marginal, describe, marginal
from understudy.data.schema import Attribute, Quantity
from understudy.errors import InputError
from understudy.models.factors import Factor, Variable, function_of
from understudy.models.inference import MAX_PRODUCT_CELLS, Elimination, noise_variance
from understudy.models.query.events import (
    drawing_variance,
    eliminate,
    require_rows,
    rows_deviation,
)

if TYPE_CHECKING:
    from understudy.models.model import Model

MAX_TABLE_LINES = 30
"""Lines that a marginal shows of itself."""


@dataclass(frozen=True, repr=False)
class GroupEstimate:
    """Estimated counts over some attributes.

    Attributes
    ----------
    axes
        The attributes, each at a level.
    labels
        For each axis what its codes stand for.
    table
        Estimated counts, a side for each axis.
    """

    axes: Marginal
    labels: tuple[tuple[str, ...], ...]
    table: NDArray[np.float64]
    _elimination: Elimination = field(compare=False)
    _rows: float = 0.0
    _rows_deviation: float = 0.0
    _drawing_variance: NDArray[np.float64] | float = 0.0
    _total: float = 1.0

    @cached_property
    def deviation(self) -> NDArray[np.float64]:
        """For each count, one standard deviation of the known noise in it. Takes longer than the
        counts themselves.
        """
        return self.deviation_at(np.arange(self.table.size)).reshape(self.table.shape)

    def deviation_at(self, places: NDArray[Any]) -> NDArray[np.float64]:
        """The same for some cells of the flattened table."""
        counts = self.table.ravel()[places]
        variance = np.empty(len(places))
        step = max(1, MAX_PRODUCT_CELLS // 8 // max(self._elimination.largest, 1))
        for first in range(0, len(places), step):
            part = places[first : first + step]
            seeds = np.zeros((len(part), self.table.size))
            seeds[np.arange(len(part)), part] = self._rows
            if self._total != 1.0:  # the slope of a ratio
                seeds = (seeds - counts[first : first + step, None]) / self._total
            variance[first : first + step] = noise_variance(
                self._elimination, seeds.reshape(-1, *self.table.shape)
            )
        shares = counts / max(self._rows, 1e-300)
        drawn = np.broadcast_to(self._drawing_variance, self.table.shape).ravel()[places]
        return np.sqrt(variance + self._rows**2 * drawn + (shares * self._rows_deviation) ** 2)

    @property
    def error(self) -> NDArray[np.float64]:
        """Another name for :attr:`deviation`."""
        return self.deviation

    def __repr__(self) -> str:
        names = [str(axis) for axis in self.axes]
        lines = list(self._lines())
        grid = [[*names, "count"], *([*labels, text] for labels, text in lines)]
        widths = [max(len(line[i]) for line in grid) for i in range(len(grid[0]))]
        shown = []
        for line in grid:
            cells = [word.ljust(width) for word, width in zip(line[:-1], widths[:-1], strict=True)]
            shown.append("  ".join([*cells, line[-1].rjust(widths[-1])]).rstrip())
        return "\n".join(shown + self._more())

    def _repr_html_(self) -> str:
        head = (
            "".join(f"<th>{html.escape(str(axis))}</th>" for axis in self.axes) + "<th>count</th>"
        )
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(label)}</td>" for label in labels)
            + f"<td style='text-align:right'>{text}</td></tr>"
            for labels, text in self._lines()
        )
        more = "".join(f"<p>{line}</p>" for line in self._more())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _lines(self) -> Iterator[tuple[list[str], str]]:
        errors = None
        if self.table.size <= 4096:
            errors = self.deviation
        for place in itertools.islice(np.ndindex(self.table.shape), MAX_TABLE_LINES):
            if errors is None:
                error = ""
            else:
                error = f" ± {errors[place]:,.0f}"
            yield (
                [labels[i] for labels, i in zip(self.labels, place, strict=True)],
                f"{self.table[place]:,.0f}{error}",
            )

    def _more(self) -> list[str]:
        left = self.table.size - MAX_TABLE_LINES
        if left > 0:
            return [f"and {left:,} more"]
        return []


def estimate(model: Model, parts: Sequence[str | tuple[str, int]]) -> GroupEstimate:
    """Estimated counts from a model; see :meth:`understudy.models.model.Model.marginal`."""
    if not parts:
        raise InputError("A marginal needs at least one attribute.")
    axes = marginal(*parts)
    if len({axis.attribute for axis in axes}) < len(axes):
        raise InputError(
            f"An attribute appears twice in the marginal {describe(axes)}; name each once."
        )
    if model.gaussians is not None:
        model.gaussians.check_question({axis.attribute for axis in axes})
    if model.generator is not None:
        model.generator.check_question({axis.attribute for axis in axes})
    functions: list[Factor] = []
    keep: list[Variable] = []
    for axis in axes:
        attribute = model.schema[axis.attribute]
        if not attribute.modelled:
            raise InputError(
                f"{axis.attribute!r} is {attribute.kind} and not modelled, so nothing is known of "
                "it."
            )
        sizes = attribute.sizes_by_level()
        if not 0 <= axis.level < len(sizes):
            raise InputError(
                f"{axis.attribute!r} has levels 0 to {len(sizes) - 1}, not {axis.level}."
            )
        if axis.level == 0 and model.bits is None:
            keep.append(axis.attribute)
            continue
        side: Variable = ("level", axis.attribute)
        tie = np.zeros((attribute.size, sizes[axis.level]))
        tie[np.arange(attribute.size), _groups(attribute, axis.level)] = 1
        functions.append(function_of(attribute, tie, (side,), model.bits))
        keep.append(side)
    elimination, total = eliminate(model, functions, keep)
    rows = float(require_rows(model))
    labels = tuple(axis_labels(model.schema[axis.attribute], axis.level) for axis in axes)
    shares = elimination.table / total
    drawing = drawing_variance(model, shares)
    return GroupEstimate(
        axes, labels, rows * shares, elimination, rows, rows_deviation(model), drawing, total
    )


def axis_labels(attribute: Attribute, level: int) -> tuple[str, ...]:
    """What the codes of an attribute stand for at a level."""
    groups = _groups(attribute, level)
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    return tuple(_group_label(attribute, codes) for codes in members)


def _groups(attribute: Attribute, level: int) -> NDArray[Any]:
    if level:
        return attribute.generalisations[level - 1]
    return np.arange(attribute.size)


def _group_label(attribute: Attribute, codes: NDArray[Any]) -> str:
    first, last = int(codes[0]), int(codes[-1])
    if first == last:
        return attribute.label(first)
    if isinstance(attribute, Quantity):
        low, high = attribute.edges[first], attribute.edges[last + 1]
        if attribute.whole:
            return f"{attribute.write(low)} to {attribute.write(high - 1)}"
        return f"[{low:g}, {high:g}{']' if last == attribute.bins - 1 else ')'}"
    names = [attribute.label(int(code)) for code in codes[:3]]
    return ", ".join(names) + (f" and {len(codes) - 3} more" if len(codes) > 3 else "")
