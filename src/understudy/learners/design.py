"""Which numbers a learner sees of a row: public, and the same for fitting and for predicting.

A column of numbers is one feature, clipped to its public bounds; a column of categories is one
feature per value, 1 or 0. Learners work with *scaled* features: a number between its bounds is
taken to lie between -1 and 1, an indicator stays 0 or 1. Where a number is missing, it counts as
the middle of its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.cells import CellEncoder
from understudy.data.columns import Column, Table
from understudy.data.encoding import quantity_values
from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.errors import InputError
from understudy.privacy.features import Feature, Indicator, Number

Matrix = NDArray[np.float64]

NO_BOUNDS = (
    "A learner needs public bounds of its features, bounds=(lower, upper), a number or one per "
    "column for each: bounds that are read off the rows would tell about them."
)


@dataclass(frozen=True, kw_only=True)
class DesignFeature:
    """One feature of a row.

    Parameters
    ----------
    name
        What it is called.
    column
        The column that it is read off.
    lower, upper
        Public bounds; 0 and 1 for an indicator.
    code
        Of an indicator: the code of its value.
    coded
        Whether the feature is the code of the cell itself.
    """

    name: str
    column: str
    lower: float
    upper: float
    code: int | None = None
    coded: bool = False

    @property
    def middle(self) -> float:
        """What counts as 0 once the feature is scaled."""
        if self.code is not None:
            return 0.0
        return (self.lower + self.upper) / 2

    @property
    def unit(self) -> float:
        """What counts as 1."""
        if self.code is not None:
            return 1.0
        return (self.upper - self.lower) / 2


@dataclass(frozen=True)
class Design:
    """The features of a row, in order."""

    features: tuple[DesignFeature, ...]

    @classmethod
    def from_bounds(cls, names: Sequence[str], bounds: Any) -> Design:
        """Columns of numbers with public bounds: a pair of numbers, or of one number per column."""
        lower, upper = check_bounds(bounds, len(names))
        return cls(
            tuple(
                DesignFeature(name=name, column=name, lower=low, upper=high)
                for name, low, high in zip(names, lower.tolist(), upper.tolist(), strict=True)
            )
        )

    @classmethod
    def from_schema(cls, schema: Schema, target: str | None) -> Design:
        """All columns that are modelled but the target, with the bounds of the schema."""
        features: list[DesignFeature] = []
        for attribute in schema.modelled:
            if attribute.name != target:
                features += _features_of(attribute)
        return cls._unless_empty(tuple(features))

    @classmethod
    def of_codes(cls, columns: Iterable[tuple[str, int]]) -> Design:
        """Columns by their codes, of which each has this many."""
        features = tuple(
            DesignFeature(name=name, column=name, lower=0, upper=size - 1, coded=True)
            for name, size in columns
        )
        return cls._unless_empty(features)

    @classmethod
    def _unless_empty(cls, features: tuple[DesignFeature, ...]) -> Design:
        if not features:
            raise InputError("The schema has no column to learn from beside the target.")
        return cls(features)

    def __len__(self) -> int:
        return len(self.features)

    @property
    def names(self) -> list[str]:
        """What the features are called."""
        return [feature.name for feature in self.features]

    @cached_property
    def columns(self) -> dict[str, list[int]]:
        """The places of the features that each column has."""
        found: dict[str, list[int]] = {}
        for place, feature in enumerate(self.features):
            found.setdefault(feature.column, []).append(place)
        return found

    @cached_property
    def middles(self) -> Matrix:
        """What counts as 0, for each feature."""
        return np.array([feature.middle for feature in self.features])

    @cached_property
    def units(self) -> Matrix:
        """What counts as 1, for each feature."""
        return np.array([feature.unit for feature in self.features])

    def longest(self, power: int) -> float:
        """The largest L1 (1) or L2 (2) norm of a scaled row: a column counts 1 at most."""
        return math.pow(len(self.columns), 1 / power)

    def scale(self, rows: Matrix) -> Matrix:
        """Rows of numbers, clipped and scaled; what is not a number becomes 0."""
        lower = np.array([feature.lower for feature in self.features])
        upper = np.array([feature.upper for feature in self.features])
        scaled = (np.clip(rows, lower, upper) - self.middles) / self.units
        return np.clip(np.nan_to_num(scaled), -1.0, 1.0)

    def read(self, table: Table, schema: Schema) -> Matrix:
        """The features of a table's rows, not scaled: as private as the table."""
        rows = np.full((table.rows, len(self)), np.nan)
        for name, places in self.columns.items():
            if name not in table.columns:
                raise InputError(f"{table.source} has no column {name!r}; the model needs it.")
            attribute = schema[name]
            if self.features[places[0]].coded:
                rows[:, places[0]] = CellEncoder(attribute, table.columns[name]).codes()
            elif isinstance(attribute, Quantity):
                numbers, absent = quantity_values(attribute, table)
                rows[:, places[0]] = np.where(absent, np.nan, numbers)
            else:
                codes = CellEncoder(attribute, table.columns[name]).codes()
                for place in places:
                    rows[:, place] = codes == self.features[place].code
        return rows

    def questions(self, centres: Matrix | None = None) -> list[Feature]:
        """The features as a curator sums them, each less its centre (scaled; by default 0)."""
        if centres is None:
            centres = np.zeros(len(self))
        return [
            _question(feature, centre)
            for feature, centre in zip(self.features, centres.tolist(), strict=True)
        ]


def _question(feature: DesignFeature, centre: float) -> Feature:
    if feature.code is not None:
        return Indicator(feature.column, (feature.code,))
    return Number(
        feature.column,
        lower=feature.lower,
        upper=feature.upper,
        centre=feature.middle + centre * feature.unit,
        unit=feature.unit,
    )


def bounds_of(attribute: Quantity) -> tuple[float, float]:
    """The public bounds of a quantity."""
    upper = attribute.edges[-1]
    if attribute.whole:
        upper -= 1
    return attribute.edges[0], upper


def _features_of(attribute: Attribute) -> list[DesignFeature]:
    name = attribute.name
    if isinstance(attribute, Category):
        return [
            DesignFeature(
                name=f"{name}={attribute.label(code)}", column=name, lower=0, upper=1, code=code
            )
            for code in range(attribute.size)
        ]
    assert isinstance(attribute, Quantity)
    lower, upper = bounds_of(attribute)
    if not lower < upper:
        return []  # a column with one value teaches nothing
    return [DesignFeature(name=name, column=name, lower=lower, upper=upper)]


# --------------------------------------------------------------------------- arrays


def check_bounds(bounds: Any, columns: int) -> tuple[Matrix, Matrix]:
    """The lower and the upper bound of each column; refuses what are none."""
    if bounds is None:
        raise InputError(NO_BOUNDS)
    try:
        lower, upper = bounds
        lower = np.broadcast_to(np.asarray(lower, dtype=np.float64), columns)
        upper = np.broadcast_to(np.asarray(upper, dtype=np.float64), columns)
    except (TypeError, ValueError):
        raise InputError(
            f"The bounds must be (lower, upper), a number or {columns:,} numbers for each."
        ) from None
    wrong = np.flatnonzero(~(np.isfinite(lower) & np.isfinite(upper) & (lower < upper)))
    if wrong.size:
        place = int(wrong[0])
        raise InputError(
            f"The bounds of column {place} are {lower[place]:g} and {upper[place]:g}; the lower "
            "must be below the upper, and both finite."
        )
    return lower, upper


def numbers_column(numbers: Matrix) -> Column:
    """Numbers as a column of a table; what is not a number is missing."""
    absent = np.isnan(numbers)
    return Column("real", np.where(absent, 0.0, numbers), missing=absent.astype(np.uint8))


def quantity(name: str, lower: float, upper: float) -> Quantity:
    """A column of numbers with public bounds, in one bin."""
    return Quantity(name, "real", "", (lower, upper))
