"""The values that a code can stand for: from where to where, and on which grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import decode
from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.data.streams import draw_uniforms

Numbers = NDArray[np.float64]


class Grid:
    """The values of an attribute, by code: numbers, for quantities and for categories of numbers.

    Attributes
    ----------
    lowest, highest
        For each code the smallest and the largest value that it can stand for; NaN for "missing"
        and for what is no number.
    """

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self.lowest = np.full(attribute.size, np.nan)
        self.highest = np.full(attribute.size, np.nan)
        if isinstance(attribute, Quantity):
            edges = np.array(attribute.edges, dtype=np.float64)
            self.lowest[: attribute.bins] = edges[:-1]
            self.highest[: attribute.bins] = np.maximum(
                edges[:-1], self.down(edges[1:], strict=True)
            )
        elif isinstance(attribute, Category) and not isinstance(attribute.domain[0], str):
            self.lowest[: attribute.values_size] = attribute.domain
            self.highest[: attribute.values_size] = attribute.domain

    @property
    def is_exact(self) -> bool:
        """Whether each code stands for one value at most."""
        return not (self.lowest < self.highest).any()

    @property
    def _unit(self) -> float:
        """Values are whole numbers divided by this one."""
        if isinstance(self.attribute, Quantity) and not self.attribute.whole:
            return float(10**self.attribute.places)
        return 1.0

    def down(self, numbers: Numbers, strict: bool = False) -> Numbers:
        """The largest value of the grid at or below (strict: below) each number."""
        if not isinstance(self.attribute, Quantity):
            return np.where(np.isfinite(numbers) & strict, np.nextafter(numbers, -np.inf), numbers)
        unit = self._unit
        steps = np.floor(numbers * unit) + 1  # may be one too many or too few: the product rounds
        for _ in range(3):
            above = steps / unit >= numbers if strict else steps / unit > numbers
            steps = np.where(above, steps - 1, steps)
        return steps / unit

    def up(self, numbers: Numbers, strict: bool = False) -> Numbers:
        """The smallest value of the grid at or above (strict: above) each number."""
        return -self.down(-numbers, strict)  # the grid is symmetric about zero

    def draw_between(self, low: Numbers, high: Numbers, rng: np.random.Generator) -> Numbers:
        """One value of the grid for each pair of bounds, each value as likely as any other."""
        unit = self._unit
        steps = np.maximum(np.floor((high - low) * unit + 0.5), 0.0) + 1
        drawn = low + np.floor(draw_uniforms(rng, len(low)) * steps) / unit
        return np.clip(self.down(drawn + 0.25 / unit), low, np.maximum(low, high))


def draw_inside(
    attribute: Quantity, codes: NDArray[Any], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Values inside bins, one per code, distributed as those of a decoded row.

    Parameters
    ----------
    attribute
        Whose values.
    codes
        Codes of bins; "missing" is not among them.
    rng
        Where the randomness comes from.
    """
    decoded = decode({attribute.name: codes}, Schema((attribute,)), rng, len(codes))
    return decoded.columns[attribute.name].values.astype(np.float64)
