"""The values that a code can stand for: from where to where, and on which grid."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import decode
from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.data.streams import draw_uniforms

Numbers = NDArray[np.float64]
SearchSide = Literal["left", "right"]


class ValueGrid:
    """The values of an attribute, by code: numbers, for quantities and for categories of numbers.

    Attributes
    ----------
    lowest, highest
        For each code the smallest and the largest value that it can stand for; NaN for "missing"
        and for what is no number.
    """

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self._step = Fraction(1)
        self._listed: Numbers | None = None
        self.lowest = np.full(attribute.size, np.nan)
        self.highest = np.full(attribute.size, np.nan)
        if isinstance(attribute, Quantity):
            self._place_bins(attribute)
        elif isinstance(attribute, Category) and not isinstance(attribute.domain[0], str):
            self._listed = np.sort(np.array(attribute.domain, dtype=np.float64))
            self.lowest[: attribute.values_size] = attribute.domain
            self.highest[: attribute.values_size] = attribute.domain

    def _place_bins(self, attribute: Quantity) -> None:
        edges = np.array(attribute.edges, dtype=np.float64)
        low = edges[:-1]
        if not attribute.whole:
            self._step = Fraction(1, 10**attribute.places)
        # A public step, or a list of all values, where the attribute has one.
        step, listed = getattr(attribute, "step", None), getattr(attribute, "values", ())
        if step is not None:
            self._step = Fraction(repr(float(step)))
        if listed:
            self._listed = np.sort(np.array(listed, dtype=np.float64))
        if step is not None or listed:
            low = self.up(low)
        self.lowest[: attribute.bins] = low
        self.highest[: attribute.bins] = np.maximum(low, self.down(edges[1:], strict=True))

    @property
    def is_exact(self) -> bool:
        """Whether each code stands for one value at most."""
        return not (self.lowest < self.highest).any()

    def down(self, numbers: Numbers, strict: bool = False) -> Numbers:
        """The largest value of the grid at or below (strict: below) each number."""
        if self._listed is not None:
            side: SearchSide = "left" if strict else "right"
            places = np.searchsorted(self._listed, numbers, side=side)
            return np.concatenate([[-np.inf], self._listed])[places]
        # The quotient is rounded, so that the first guess may be one too many or too few.
        steps = np.floor(numbers * (self._step.denominator / self._step.numerator)) + 1
        for _ in range(3):
            values = self._at(steps)
            steps = np.where(values >= numbers if strict else values > numbers, steps - 1, steps)
        return self._at(steps)

    def up(self, numbers: Numbers, strict: bool = False) -> Numbers:
        """The smallest value of the grid at or above (strict: above) each number."""
        if self._listed is not None:
            side: SearchSide = "right" if strict else "left"
            places = np.searchsorted(self._listed, numbers, side=side)
            return np.concatenate([self._listed, [np.inf]])[places]
        return -self.down(-numbers, strict)  # the grid is symmetric about zero

    def _at(self, steps: Numbers) -> Numbers:
        # Both are below 2^53, so the quotient is the float nearest to the multiple.
        return (steps * self._step.numerator) / self._step.denominator

    def draw_between(self, low: Numbers, high: Numbers, rng: np.random.Generator) -> Numbers:
        """One value of the grid for each pair of bounds, each value as likely as any other."""
        uniforms = draw_uniforms(rng, len(low))
        if self._listed is not None:
            first = np.searchsorted(self._listed, low)
            count = np.maximum(np.searchsorted(self._listed, high, side="right") - first, 1)
            places = first + (uniforms * count).astype(np.int64)
            return self._listed[np.minimum(places, len(self._listed) - 1)]
        step = float(self._step)
        steps = np.maximum(np.floor((high - low) / step + 0.5), 0.0) + 1
        drawn = low + np.floor(uniforms * steps) * step
        return np.clip(self.down(drawn + 0.25 * step), low, np.maximum(low, high))


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
