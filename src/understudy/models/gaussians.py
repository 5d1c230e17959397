"""Gaussians of numeric columns: what some models hold besides their network.

Rows belong to *cells*: one for each value of a label, or one for each of some released points that
rows are nearest to. Inside a cell the numeric columns follow one Gaussian. Columns are scaled to
[-1, 1] by public bounds; where they are many, the Gaussians are over a few directions (*basis*)
and the columns are made of these.

A covariance is kept as a factor F of F F', so that whatever stands in a file is a covariance.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Quantity, Schema
from understudy.errors import InputError

Floats = NDArray[np.float64]

MAX_GAUSSIAN_CELLS = 1 << 12
MAX_FACTOR_NUMBERS = 1 << 25
"""In all factors together: a short file can ask for billions."""

MAX_SCALED_NUMBER = 1e6
"""Of a number in scaled units, of which a column spans two."""

RELEASED_DIGITS = 6
"""Decimals in scaled units that are released: a millionth of half a column's range."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaussians:
    """A Gaussian for each cell; equal to another one if every bit of it is.

    Attributes
    ----------
    columns
        The numeric columns.
    label
        The column whose codes tell how likely each cell is; ``None`` where no column does.
    lower, upper
        The bounds of each column that became -1 and 1.
    weights
        How many rows of each code of the label (a line each; one line without a label) are in each
        cell.
    means
        A line for each cell.
    factors
        For each cell a matrix F, of which F F' is the covariance; lower triangular.
    basis
        A direction in each line; without one, means are those of the columns themselves.
    centre
        What is added to a combination of directions: a number for each column.
    """

    columns: tuple[str, ...]
    label: str | None
    lower: Floats
    upper: Floats
    weights: Floats
    means: Floats
    factors: Floats
    basis: Floats | None
    centre: Floats

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.means)

    @property
    def dimensions(self) -> int:
        """In how many dimensions the Gaussians are."""
        return self.means.shape[1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Gaussians):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return all(_same(one, another) for one, another in pairs)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def column_means(self) -> Floats:
        """The mean of each column (scaled), a line for each cell."""
        if self.basis is None:
            return self.means + self.centre
        return self.means @ self.basis + self.centre

    def column_deviations(self) -> Floats:
        """The standard deviation of each column (scaled), a line for each cell."""
        if self.basis is None:
            return np.sqrt((self.factors**2).sum(axis=2))
        spread = np.einsum("dj,cde->cje", self.basis, self.factors)
        return np.sqrt((spread**2).sum(axis=2))

    def covariance(self, cell: int) -> Floats:
        """The covariance of the columns (scaled) in a cell."""
        factor = self.factors[cell]
        if self.basis is not None:
            factor = self.basis.T @ factor
        return np.asarray(factor @ factor.T)

    def check_question(self, names: Collection[str]) -> None:
        """Refuse a question about several numeric columns: the network, which answers, knows each
        of them by itself.
        """
        asked = [name for name in self.columns if name in names]
        if len(asked) > 1:
            raise InputError(
                f"This model holds Gaussians, and a question about {asked[0]!r} and {asked[1]!r} "
                "together is answered by rows: draw some with `sample`, and count."
            )

    def __str__(self) -> str:
        columns, cells = f"{len(self.columns):,} numeric columns", f"{self.cells:,} cells"
        if len(self.columns) == 1:
            columns = "1 numeric column"
        if self.cells == 1:
            cells = "1 cell"
        told = f"{cells} with a Gaussian each, over {columns}"
        if self.label is not None:
            told += f", by {self.label}"
        if self.basis is not None:
            told += f", in {self.dimensions:,} dimensions"
        return told

    def as_released(self) -> Self:
        """What a file can hold to the bit; doing it twice changes nothing."""
        rounded: dict[str, Any] = {
            name: np.ascontiguousarray(np.round(getattr(self, name), RELEASED_DIGITS) + 0.0)
            for name in ("weights", "means", "factors", "centre")
        }
        if self.basis is not None:
            rounded["basis"] = np.ascontiguousarray(np.round(self.basis, RELEASED_DIGITS) + 0.0)
        return replace(self, **rounded)

    # ---- files

    def to_dict(self) -> dict[str, Any]:
        """The Gaussians as they stand in a model file; of factors, the lower triangles."""
        basis = None
        if self.basis is not None:
            basis = self.basis.tolist()
        below = np.tril_indices(self.dimensions)
        return {
            "columns": list(self.columns),
            "label": self.label,
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "weights": self.weights.tolist(),
            "means": self.means.tolist(),
            "factors": [factor[below].tolist() for factor in self.factors],
            "basis": basis,
            "centre": self.centre.tolist(),
        }

    @classmethod
    def from_dict(cls, document: Any, schema: Schema) -> Gaussians:
        """Read Gaussians back, trusting nothing: they must fit the schema and each other."""
        if not isinstance(document, Mapping):
            raise InputError("its Gaussians are not an object")
        columns = _read_columns(document.get("columns"), schema)
        label = document.get("label")
        codes = 1
        if label is not None:
            codes = _label_size(label, columns, schema)
        means = document.get("means")
        if not isinstance(means, list) or not 1 <= len(means) <= MAX_GAUSSIAN_CELLS:
            raise InputError(f"its Gaussians are not 1 to {MAX_GAUSSIAN_CELLS:,} cells")
        cells, width = len(means), len(columns)
        dimensions, basis = width, None
        if document.get("basis") is not None:
            dimensions = _count_directions(document["basis"], width)
            basis = _read_numbers(document["basis"], "basis", (dimensions, width))
        if cells * dimensions**2 > MAX_FACTOR_NUMBERS:
            raise InputError("its Gaussians are larger than any that a release makes")
        triangle = dimensions * (dimensions + 1) // 2
        flat = _read_numbers(document.get("factors"), "factors", (cells, triangle))
        factors = np.zeros((cells, dimensions, dimensions))
        factors[:, *np.tril_indices(dimensions)] = flat
        lower = _read_numbers(document.get("lower"), "lower", (width,), 2.0**53)
        upper = _read_numbers(document.get("upper"), "upper", (width,), 2.0**53)
        if not (lower < upper).all():
            raise InputError("the bounds of its Gaussians are not in order")
        weights = _read_numbers(document.get("weights"), "weights", (codes, cells), 1e15)
        if (weights < 0).any():
            raise InputError("the weights of its Gaussians are below 0")
        return cls(
            columns=columns,
            label=label,
            lower=lower,
            upper=upper,
            weights=weights,
            means=_read_numbers(means, "means", (cells, dimensions)),
            factors=factors,
            basis=basis,
            centre=_read_numbers(document.get("centre"), "centre", (width,)),
        )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and bool(one == other)


def _read_columns(given: Any, schema: Schema) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(isinstance(name, str) for name in given):
        raise InputError("the columns of its Gaussians are not a list of names")
    for name in given:
        if name not in schema or not isinstance(schema[name], Quantity):
            raise InputError(f"its Gaussians name {name!r}, which is no numeric column")
    if len(set(given)) < len(given):
        raise InputError("its Gaussians name a column twice")
    return tuple(given)


def _label_size(label: Any, columns: tuple[str, ...], schema: Schema) -> int:
    known = isinstance(label, str) and label in schema and schema[label].modelled
    if not known or label in columns:
        raise InputError(f"the label of its Gaussians is {label!r}, which cannot be one")
    return schema[label].size


def _count_directions(given: Any, width: int) -> int:
    if not isinstance(given, list) or not 1 <= len(given) <= width:
        raise InputError(f"the basis of its Gaussians is not 1 to {width:,} directions")
    return len(given)


def _read_numbers(
    given: Any, name: str, shape: tuple[int, ...], largest: float = MAX_SCALED_NUMBER
) -> Floats:
    """An array of finite numbers of that shape; nested lists are checked one by one."""
    lines = [given]
    for size in shape:
        if not all(isinstance(line, list) and len(line) == size for line in lines):
            raise InputError(f"the {name} of its Gaussians do not have the shape {shape}")
        lines = [entry for line in lines for entry in line]
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in lines):
        raise InputError(f"the {name} of its Gaussians hold something that is not a number")
    if not all(abs(number) <= largest for number in lines):
        raise InputError(f"the {name} of its Gaussians hold a number that cannot be one")
    return np.array(lines, dtype=np.float64).reshape(shape)
