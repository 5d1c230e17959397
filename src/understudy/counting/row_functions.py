"""Public functions that give each row a vector, to be clipped and summed.

What a function computes with (weights, features) is public or was released before, and the vector
of a row depends on that row alone. So a sum of clipped vectors has a known sensitivity whatever
the function is: nothing here needs to be believed for the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import Coded, quantity_values
from understudy.data.schema import Quantity, Schema
from understudy.errors import InputError

Singles = NDArray[np.float32]

Loss = Literal["gan", "wasserstein"]

SLOPE = 0.2
"""Of a leaky rectifier below 0."""

MAX_WIDTH = 1 << 24
"""Numbers in the vector of a row."""

MAX_INPUTS = 1 << 16

CACHE_LINE = 64


@dataclass(frozen=True, kw_only=True)
class RowInputs:
    """The numbers that a network sees of a row.

    Parameters
    ----------
    scaled
        Numeric columns whose numbers are scaled to [-1, 1] by the bounds of the schema, in their
        order; a missing number counts as the middle.
    coded
        Columns that have a 1 at the place of their code, and 0 at all others; they follow.
    """

    scaled: tuple[str, ...] = ()
    coded: tuple[str, ...] = ()

    def check(self, schema: Schema) -> None:
        """Refuse columns that cannot be seen this way."""
        names = [*self.scaled, *self.coded]
        if not names or len(set(names)) < len(names):
            raise InputError("A network sees at least one column, and each of them once.")
        for name in names:
            if not schema[name].modelled:
                raise InputError(f"{name!r} is of kind {schema[name].kind}: it is never read.")
        for name in self.scaled:
            if not isinstance(schema[name], Quantity):
                raise InputError(f"{name!r} has no bounds to be scaled by; give its codes instead.")
        if self.width(schema) > MAX_INPUTS:
            raise InputError(f"A network sees at most {MAX_INPUTS:,} numbers of a row.")

    def width(self, schema: Schema) -> int:
        """How many numbers there are."""
        return len(self.scaled) + sum(schema[name].size for name in self.coded)


class RowMatrix:
    """Rows as a network sees them: as private as the rows themselves.

    Parameters
    ----------
    inputs
        What is seen.
    rows
        The private rows.
    """

    def __init__(self, inputs: RowInputs, rows: Coded) -> None:
        self._sizes = [rows.schema[name].size for name in inputs.coded]
        self._codes = [np.asarray(rows.codes[name]) for name in inputs.coded]
        self.rows = rows.rows
        self._scaled = np.zeros((rows.rows, len(inputs.scaled)), dtype=np.float32)
        for place, name in enumerate(inputs.scaled):
            self._scaled[:, place] = _scale(rows, name)

    def take(self, places: NDArray[np.int64]) -> Singles:
        """Some of the rows, a line each."""
        parts = [self._scaled[places]]
        for codes, size in zip(self._codes, self._sizes, strict=True):
            part = np.zeros((len(places), size), dtype=np.float32)
            part[np.arange(len(places)), codes[places]] = 1
            parts.append(part)
        return np.concatenate(parts, axis=1)


def _scale(rows: Coded, name: str) -> NDArray[np.float64]:
    attribute = rows.schema[name]
    assert isinstance(attribute, Quantity)
    assert rows.table is not None
    numbers, absent = quantity_values(attribute, rows.table)
    low, high = attribute.edges[0], attribute.edges[-1]
    if attribute.whole:
        high -= 1
    middle, half = (low + high) / 2, max((high - low) / 2, 1e-300)
    known = np.where(absent, middle, numbers.astype(np.float64))
    return np.clip((known - middle) / half, -1.0, 1.0)


def make_aligned(size: int) -> Singles:
    """Room for numbers that begins a line of the processor's cache: libraries may take another way
    where it does not.
    """
    room = np.empty(size + CACHE_LINE // 4, dtype=np.float32)
    start = -room.ctypes.data % CACHE_LINE // 4
    return room[start : start + size]


def one_by_one(rows: Singles) -> Iterator[Singles]:
    """Each row by itself, always at the same place."""
    row = make_aligned(rows.shape[1])
    for line in rows:
        row[:] = line
        yield row


def add_products(rows: Singles, weights: Singles) -> Singles:
    """The product of two matrices, by operations on numbers in a fixed order."""
    found = np.zeros((len(rows), weights.shape[1]), dtype=np.float32)
    for place, line in enumerate(weights):
        found += rows[:, place, None] * line
    return found


class RowFunction(Protocol):
    """A public function that gives each row a vector."""

    @property
    def inputs(self) -> RowInputs:
        """What it sees of a row."""

    @property
    def width(self) -> int:
        """How many numbers a vector has."""

    def check(self, schema: Schema) -> None:
        """Refuse what does not fit the schema."""

    def vectors(self, rows: Singles) -> Iterator[Singles]:
        """The vector of each row in turn, for the caller to write over before the next.

        To the last bit, a vector must not depend on the other rows, nor on the place of its own.
        There are two ways to that: only operations that IEEE 754 rounds exactly, number by number
        and in a fixed order; or libraries that are given one row at a time, always at the same
        place of the memory (:func:`one_by_one`).
        """

    def describe(self) -> str:
        """What is summed, in the words of a ledger."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseGradient:
    """The gradient of a row's loss, by the parameters of a network of dense layers that tells real
    rows from made-up ones.

    Parameters
    ----------
    inputs
        What the network sees.
    weights, biases
        Of each layer; the last has one unit. Between layers stands a leaky rectifier.
    loss
        "gan": log(1 + exp(-output)), that of a real row; "wasserstein": -output.
    """

    inputs: RowInputs
    weights: Sequence[Singles]
    biases: Sequence[Singles]
    loss: Loss = "gan"

    @cached_property
    def width(self) -> int:
        """How many parameters the network has."""
        return sum(part.size for part in (*self.weights, *self.biases))

    def check(self, schema: Schema) -> None:
        """Refuse layers that do not fit the schema or each other."""
        self.inputs.check(schema)
        units = self.inputs.width(schema)
        if not self.weights or len(self.weights) != len(self.biases):
            raise InputError("A network has as many biases as weights, and at least one layer.")
        for weights, biases in zip(self.weights, self.biases, strict=True):
            if weights.ndim != 2 or weights.shape[0] != units or biases.shape != weights.shape[1:]:
                raise InputError("The layers of the network do not fit each other.")
            units = weights.shape[1]
            if not (np.isfinite(weights).all() and np.isfinite(biases).all()):
                raise InputError("The weights of a network are finite numbers.")
        if units != 1:
            raise InputError("The last layer of the network must have one unit.")
        if self.loss not in ("gan", "wasserstein"):
            raise InputError(f"There is no loss {self.loss!r}; say gan or wasserstein.")
        if self.width > MAX_WIDTH:
            raise InputError(f"A network has at most {MAX_WIDTH:,} parameters.")

    def vectors(self, rows: Singles) -> Iterator[Singles]:
        """Gradients: of each layer the weights, then its biases. Sums are added up in a fixed
        order, for all rows side by side: no library decides about it.
        """
        seen, before = [rows], rows
        last = len(self.weights) - 1
        for place, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            before = add_products(before, weights) + biases
            if place < last:
                before = np.maximum(before, SLOPE * before)
                seen.append(before)
        slope = np.full_like(before, -1.0)
        if self.loss == "gan":
            slope[:, 0] = [slope_of_real(float(output)) for output in before[:, 0]]
        slopes = [slope]
        for place in range(last, 0, -1):
            slope = add_products(slope, self.weights[place].T)
            slope = np.where(seen[place] > 0, slope, SLOPE * slope)
            slopes.insert(0, slope)
        vector = np.empty(self.width, dtype=np.float32)
        for row in range(len(rows)):
            self._fill(vector, [part[row] for part in seen], [part[row] for part in slopes])
            yield vector

    def _fill(self, vector: Singles, seen: Sequence[Singles], slopes: Sequence[Singles]) -> None:
        """Write what goes into each layer, times what comes back out of it."""
        end = 0
        for given, slope in zip(seen, slopes, strict=True):
            start, end = end, end + given.size * slope.size
            np.multiply.outer(given, slope, out=vector[start:end].reshape(given.size, -1))
            start, end = end, end + slope.size
            vector[start:end] = slope

    def describe(self) -> str:
        """What is summed."""
        return f"gradients of {self.width:,} weights"


def slope_of_real(output: float) -> float:
    """That of log(1 + exp(-output))."""
    return -1 / (1 + math.exp(min(max(output, -80.0), 80.0)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomFeatures:
    """Random Fourier features of a row (its mean embedding in a Gaussian kernel), for each value of
    a label by itself.

    The features are cosines and sines of public random directions, divided by the root of their
    number, so that every row's vector has length 1.

    Parameters
    ----------
    inputs
        What is seen of a row; the label, if there is one, is the last of its coded columns.
    directions
        A line for each number of the inputs that the kernel is over: all but those of the label.
    labels
        How many values the label has; 1 where there is none.
    """

    inputs: RowInputs
    directions: Singles
    labels: int = 1

    @property
    def width(self) -> int:
        """How many features there are, of all labels."""
        return 2 * self.directions.shape[1] * self.labels

    def check(self, schema: Schema) -> None:
        """Refuse directions that do not fit the schema."""
        self.inputs.check(schema)
        seen = self.inputs.width(schema)
        if self.labels > 1:
            if not self.inputs.coded or schema[self.inputs.coded[-1]].size != self.labels:
                raise InputError("The label must be the last column that is given as codes.")
            seen -= self.labels
        if self.directions.ndim != 2 or len(self.directions) != seen:
            raise InputError("There must be a line of directions for each number of a row.")
        if not np.isfinite(self.directions).all() or not 1 <= self.width <= MAX_WIDTH:
            raise InputError(f"Directions are finite, with at most {MAX_WIDTH:,} features in all.")

    def vectors(self, rows: Singles) -> Iterator[Singles]:
        """Features of each row; those of other labels than its own are 0."""
        seen = len(self.directions)
        angles = make_aligned(self.directions.shape[1])
        features = make_aligned(2 * angles.size)
        vector = np.empty((self.labels, features.size), dtype=np.float32)
        for row in one_by_one(rows):
            np.dot(row[:seen], self.directions, out=angles)
            np.cos(angles, out=features[: angles.size])
            np.sin(angles, out=features[angles.size :])
            features /= np.float32(np.sqrt(angles.size))
            if self.labels == 1:
                yield features
            else:
                np.multiply.outer(row[seen:], features, out=vector)
                yield vector.reshape(-1)

    def describe(self) -> str:
        """What is summed."""
        return f"{self.width:,} random features"


def fourier_features(rows: Singles, directions: Singles) -> Singles:
    """Cosines and sines along directions; each line has length 1."""
    angles = rows @ directions
    count = np.float32(np.sqrt(directions.shape[1]))
    features = np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / count
    return features.astype(np.float32, copy=False)
