"""The domain of a schema: which axes and tables exist, and how many values and cells they have. All
of it is public.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NoReturn

from understudy.counting.memory import MAX_COUNTED_CELLS
from understudy.data.marginals import Axis, Marginal, describe
from understudy.data.schema import Schema
from understudy.errors import InputError


class Domain:
    """The axes of a schema with their numbers of values.

    Parameters
    ----------
    schema
        What is public about the rows.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.sizes = {
            Axis(attribute.name, level): size
            for attribute in schema.modelled
            for level, size in enumerate(attribute.sizes_by_level())
        }
        self._checked: set[Marginal] = set()

    def shape(self, axes: Marginal) -> tuple[int, ...]:
        """The shape of a table."""
        return tuple([self.sizes[axis] for axis in axes])

    def cells(self, axes: Marginal) -> int:
        """How many cells a table has."""
        return math.prod([self.sizes[axis] for axis in axes])

    def check(self, marginals: Collection[Marginal]) -> None:
        """Refuse what is no table of this schema, or too large to be counted.

        A choice may have 100,000s of candidates, most of them asked about before: each is checked
        once.
        """
        new = set(marginals) - self._checked
        if not all(map(self._is_table, new)):
            self._refuse(next(axes for axes in marginals if not self._is_table(axes)))
        self._checked |= new

    def _is_table(self, axes: Marginal) -> bool:
        try:
            cells = self.cells(axes)
        except KeyError:
            return False
        return len({axis.attribute for axis in axes}) == len(axes) and cells <= MAX_COUNTED_CELLS

    def _refuse(self, axes: Marginal) -> NoReturn:
        for axis in axes:
            if axis not in self.sizes:
                self._refuse_axis(axis)
        if len({axis.attribute for axis in axes}) < len(axes):
            raise InputError(f"The table of {describe(axes)} names an attribute twice.")
        raise InputError(
            f"The table of {describe(axes)} has more than {MAX_COUNTED_CELLS:,} cells; "
            f"take fewer attributes."
        )

    def _refuse_axis(self, axis: Axis) -> NoReturn:
        attribute = self.schema[axis.attribute]  # says itself when there is none
        if not attribute.modelled:
            raise InputError(f"{axis.attribute!r} is of kind {attribute.kind}: it is never read.")
        raise InputError(f"{axis.attribute!r} has no generalisation level {axis.level!r}.")
