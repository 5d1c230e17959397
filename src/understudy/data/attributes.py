"""The kinds of attributes: what is public about one column of a table.

An attribute turns values into small integer *codes* (see :mod:`understudy.data.encoding`); this
module says how many codes there are, what each of them stands for, and how codes merge into coarser
ones (*generalisation levels*).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.data.formats import Format
from understudy.data.generalisation import (
    Taxonomy,
    Value,
    cut_taxonomy,
    join_neighbours,
    to_nested_lists,
)
from understudy.data.inside import DAY_SECONDS, Heap, Inside, Segment
from understudy.data.inside_files import decimals_of, details_to_dict

BOOLEAN_VALUES = ("false", "true")
DEFAULT_BINS = 16
MAX_FEW_VALUES = 20
"""Numbers with this many values or fewer are codes: values, not ranges."""
END_OF_DAY = "24:00:00"
"""The last edge of times; written as a time of day it would be the first one."""


@dataclass(frozen=True)
class Attribute:
    """One column of a table, as far as the public knows it."""

    name: str
    kind: str
    missing: str | None = None
    """How a missing value is written (the empty string: an empty cell); ``None`` when none
    can be.
    """
    role: str | None = field(default=None, kw_only=True, compare=False)
    """What the column is to an anonymiser, see :mod:`understudy.anonymity.roles`; of no meaning to
    a model.
    """

    modelled: ClassVar[bool] = True

    @property
    def values_size(self) -> int:
        """How many codes stand for values (missing not counted)."""
        raise TypeError(f"{self.name} has no codes")

    @property
    def size(self) -> int:
        """How many codes there are; the last one is "missing" where that is possible."""
        return self.values_size + (self.missing is not None)

    def label(self, code: int) -> str:
        """What a code stands for, for people."""
        if code == self.values_size and self.missing is not None:
            return "missing"
        return self._value_label(code)

    def _value_label(self, code: int) -> str:
        raise TypeError(f"{self.name} has no codes")

    @cached_property
    def generalisations(self) -> tuple[NDArray[np.uint32], ...]:
        """For each level above 0 the map from codes to coarser codes; "missing" stays by itself."""
        return ()

    def sizes_by_level(self) -> tuple[int, ...]:
        """Number of codes at level 0, 1, ..."""
        return (self.size, *(int(coarse.max()) + 1 for coarse in self.generalisations))

    def to_dict(self) -> dict[str, Any]:
        """The attribute as it stands in a schema file."""
        entry: dict[str, Any] = {"kind": self.kind, **self._details()}
        if self.missing is not None:
            entry["missing"] = self.missing or True
        if self.role is not None:
            entry["role"] = self.role
        return entry

    def _details(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class Quantity(Attribute):
    """A number or a point in time, cut into bins: kinds integer, real, date, time and datetime.

    Bin ``i`` holds the values from ``edges[i]`` up to, not including, ``edges[i + 1]``. Edges of
    dates are days and edges of datetimes seconds since 1970, those of times seconds since midnight,
    so all kinds but real live on the integers.
    """

    edges: tuple[float, ...] = (0, 1)
    equal_width: bool = True
    format: str | None = None
    """How values are written (see :mod:`understudy.data.formats`); plain numbers and ISO 8601 when
    not given.
    """
    decimals: int | None = None
    """Places after the point of a real; by default enough to tell a thousand values in a bin
    apart.
    """
    step: float | None = None
    """Values are multiples of it."""
    values: tuple[float, ...] = ()
    """The only values that there are, where the schema lists them."""
    detail: tuple[Segment, ...] = ()
    """What a release learned of the inside of the bins, see :mod:`understudy.data.inside`."""
    heaping: tuple[Heap, ...] = ()
    """Which shares of the values are multiples of coarser steps, because people round."""
    weekdays: tuple[float, ...] = ()
    """Of dates and datetimes: the shares of Monday to Sunday."""
    first_of_month: float = 0.0
    """Of dates: the share that are the first of a month because people date things back to it."""
    free_bins: bool = field(default=False, compare=False)
    """Whether nobody said where bins begin, so that a release may cut them where the rows are."""

    @cached_property
    def inside(self) -> Inside:
        """What lies inside the bins."""
        return Inside(self)

    @property
    def refined(self) -> bool:
        """Whether anything is known of the inside of the bins."""
        known = self.values or self.detail or self.heaping or self.weekdays or self.first_of_month
        return self.step is not None or bool(known)

    @property
    def whole(self) -> bool:
        """Whether the values lie on the integers."""
        return self.kind != "real"

    @property
    def is_moment(self) -> bool:
        """Whether the values are dates, times or datetimes."""
        return self.kind in ("date", "time", "datetime")

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def values_size(self) -> int:
        """One code per bin."""
        return self.bins

    @property
    def places(self) -> int:
        """Places after the point that a decoded real has."""
        if self.decimals is not None:
            return self.decimals
        if self.step is not None:
            return decimals_of(self.step)
        shown = Format(self.kind, self.format or "").places
        if shown is not None:
            return shown
        narrowest = min(b - a for a, b in itertools.pairwise(self.edges))
        if narrowest > 0:
            return min(12, max(0, 3 - math.floor(math.log10(narrowest))))
        return 0

    @cached_property
    def lists_values(self) -> bool:
        """Whether each bin stands for one value of a list."""
        places = np.searchsorted(np.array(self.edges[1:-1]), np.array(self.values), side="right")
        return places.tolist() == list(range(self.bins))

    def _value_label(self, code: int) -> str:
        if self.lists_values:
            return self.write(self.values[code])
        low, high = self.edges[code], self.edges[code + 1]
        if self.whole and high - low == 1:
            return self.write(low)
        if self.whole:
            return f"{self.write(low)} to {self.write(high - 1)}"
        if code == self.bins - 1:
            closing = "]"
        else:
            closing = ")"
        return f"[{low:g}, {high:g}{closing}"

    def write(self, number: float) -> str:
        """A number of this attribute's unit as text."""
        if self.is_moment:
            (word,) = Format(self.kind, self.format or "").write([number])
            return word
        if self.whole:
            return str(int(number))
        return f"{number:g}"

    @cached_property
    def generalisations(self) -> tuple[NDArray[np.uint32], ...]:
        """A binary tree over the bins: each level joins neighbours two by two."""
        return join_neighbours(self.bins, self.size)

    def _details(self) -> dict[str, Any]:
        if self.equal_width:
            if self.whole:
                last = self.edges[-1] - 1
            else:
                last = self.edges[-1]
            details: dict[str, Any] = {
                "min": self._plain(self.edges[0]),
                "max": self._plain(last),
            }
            if not self.free_bins:
                details["bins"] = self.bins
        else:
            details = {"edges": [self._plain(edge) for edge in self.edges]}
        if self.format is not None:
            details["format"] = self.format
        if self.decimals is not None:
            details["decimals"] = self.decimals
        return details | details_to_dict(self)

    def _plain(self, number: float) -> Value:
        if (self.kind, number) == ("time", DAY_SECONDS):
            return END_OF_DAY
        if self.is_moment:
            (word,) = Format(self.kind).write([number])
            return word
        if self.whole:
            return int(number)
        return float(number)


@dataclass(frozen=True)
class Category(Attribute):
    """One of a list of values: kinds categorical and boolean.

    A value that is not on the list counts as ``other`` where that is named, else as the last one
    listed.
    """

    values: tuple[Value, ...] = ()
    ordered: bool = False
    taxonomy: Taxonomy | None = None
    other: str | None = None

    @cached_property
    def domain(self) -> tuple[Value, ...]:
        """The values by code, ``other`` included."""
        if self.other is not None and self.other not in self.values:
            return (*self.values, self.other)
        return self.values

    @property
    def outside(self) -> int:
        """The code that values outside the domain count as."""
        if self.other is not None:
            return self.domain.index(self.other)
        return len(self.domain) - 1

    @property
    def values_size(self) -> int:
        """One code per value."""
        return len(self.domain)

    def _value_label(self, code: int) -> str:
        return str(self.domain[code])

    @cached_property
    def generalisations(self) -> tuple[NDArray[np.uint32], ...]:
        """The taxonomy cut at each height; without one, a binary tree where the values have an
        order.
        """
        if self.taxonomy is not None:
            return cut_taxonomy(self.taxonomy, self.domain, self.size)
        if self.ordered:
            return join_neighbours(len(self.domain), self.size)
        return ()

    def _details(self) -> dict[str, Any]:
        details: dict[str, Any] = {}
        if self.kind != "boolean" or self.values != BOOLEAN_VALUES:
            details["values"] = list(self.values)
        if self.ordered:
            details["ordered"] = True
        if self.taxonomy is not None:
            details["taxonomy"] = to_nested_lists(self.taxonomy)
        if self.other is not None:
            details["other"] = self.other
        return details


@dataclass(frozen=True)
class Identifier(Attribute):
    """A column that tells rows apart: generated for every synthetic row, never read."""

    pattern: str | None = None
    """Text whose runs of ``#`` stand for the row's number (``P-######``, ``##-####``); plain
    numbers without one.
    """

    modelled: ClassVar[bool] = False

    def _details(self) -> dict[str, Any]:
        if self.pattern is None:
            return {}
        return {"pattern": self.pattern}


@dataclass(frozen=True)
class Text(Attribute):
    """Free text: never read; every synthetic row has the same replacement or a made-up text, or the
    column is left out.
    """

    replacement: str | None = "[text]"
    pattern: str | None = None
    """In which each ``#`` becomes a digit, ``?`` a small and ``^`` a capital letter."""
    length: tuple[int, int] | None = None
    """How many random letters, from and to."""
    fake: str | None = None
    """What is made up: one of :data:`understudy.data.fake_kinds.FAKES`."""
    locale: str = "en"
    """The language and country of what is made up."""

    modelled: ClassVar[bool] = False

    @property
    def instead(self) -> str:
        """What stands in synthetic rows, for people."""
        if self.pattern is not None:
            return f"random texts like {self.pattern}"
        if self.length is not None:
            return f"{self.length[0]} to {self.length[1]} random letters"
        if self.fake is not None:
            return f"a made-up {self.fake.replace('_', ' ')}"
        if self.replacement is None:
            return "left out"
        return f"always {self.replacement}"

    def _details(self) -> dict[str, Any]:
        if self.pattern is not None:
            return {"pattern": self.pattern}
        if self.length is not None:
            return {"length": list(self.length)}
        if self.fake is not None:
            return {"fake": self.fake, "locale": self.locale}
        return {"replacement": self.replacement}


@dataclass(frozen=True)
class Computed(Attribute):
    """A column that a formula gives: never read, computed again for every synthetic row."""

    format: str | None = None
    decimals: int | None = None

    modelled: ClassVar[bool] = False

    def _details(self) -> dict[str, Any]:
        details = {"format": self.format, "decimals": self.decimals}
        return {option: given for option, given in details.items() if given is not None}
