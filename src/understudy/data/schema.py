"""What is public about a table: its attributes, their kinds, domains, taxonomies and missing marks.

Everything here is fixed before a private row is read. An attribute turns values into small integer
*codes* (see :mod:`understudy.data.encoding`); this module says how many codes there are, what each
of them stands for, and how codes merge into coarser ones (*generalisation levels*).
"""

from __future__ import annotations

import datetime as dt
import difflib
import itertools
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.data.fake_kinds import FAKES, LOCALES
from understudy.data.files import read_json, write_json
from understudy.data.formats import Format
from understudy.data.inside import Heap, Inside, Segment
from understudy.data.inside_files import (
    INSIDE_OPTIONS,
    decimals_of,
    details_to_dict,
    with_details,
)
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.data.constraints import Constraints

Value = str | int | float
Taxonomy = tuple[Any, ...]
"""Nested tuples; a leaf is a value."""

DEFAULT_BINS = 16
MAX_DOMAIN_SIZE = 1 << 16
MAX_TAXONOMY_DEPTH = 32

MAX_ATTRIBUTES = 10_000
MAX_CODES = 1 << 22
"""Bins and values of all attributes together. A short file can ask for billions."""

MAX_MADE_UP_LENGTH = 1_000
MAX_NAME_LENGTH = 1_000
MAX_TEXT_LENGTH = 10_000
"""Of a name, and of any other text of a schema, in characters."""


# --------------------------------------------------------------------------- attributes


@dataclass(frozen=True)
class Attribute:
    """One column of a table, as far as the public knows it."""

    name: str
    kind: str
    missing: str | None = None
    """How a missing value is written (the empty string: an empty cell); ``None`` when none
    can be.
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
    free_bins: bool = field(default=False, compare=False)
    """Whether nobody said where bins begin, so that a release may cut them where the rows are."""

    @cached_property
    def inside(self) -> Inside:
        """What lies inside the bins."""
        return Inside(self)

    @property
    def refined(self) -> bool:
        """Whether anything is known of the inside of the bins."""
        known = self.values or self.detail or self.heaping or self.weekdays
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

    def _value_label(self, code: int) -> str:
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
        return _binary_tree(self.bins, self.size)

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
            return _taxonomy_levels(self.taxonomy, self.domain, self.size)
        if self.ordered:
            return _binary_tree(len(self.domain), self.size)
        return ()

    def _details(self) -> dict[str, Any]:
        details: dict[str, Any] = {}
        if self.kind != "boolean" or self.values != BOOLEAN_VALUES:
            details["values"] = list(self.values)
        if self.ordered:
            details["ordered"] = True
        if self.taxonomy is not None:
            details["taxonomy"] = _to_nested_lists(self.taxonomy)
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


# --------------------------------------------------------------------------- the schema


@dataclass(frozen=True)
class Schema:
    """The attributes of a table, in the order of its columns.

    Examples
    --------
    >>> schema = Schema.from_dict({"attributes": {"age": {"kind": "integer", "min": 0, "max": 95},
    ...                                           "smoker": {"kind": "boolean", "missing": True}}})
    >>> [attribute.size for attribute in schema]
    [16, 3]
    """

    attributes: tuple[Attribute, ...]
    constraints: Constraints | None = None
    """What holds in every synthetic row (see :mod:`understudy.data.constraints`)."""
    reading: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """How the table's file is written, where that is unusual: options for reading it, and no more.
    A model does not hold them.
    """
    missing_cells: tuple[float, ...] = ()
    """The shares of rows with 0, 1, 2, ... missing cells, where a release learned them; see
    :mod:`understudy.data.missingness`.
    """
    _by_name: dict[str, Attribute] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_by_name", {attribute.name: attribute for attribute in self.attributes}
        )

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def _repr_html_(self) -> str:
        """What each column can hold, for notebooks."""
        from understudy.data.looks import schema_html

        return schema_html(self)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._by_name[name]
        except KeyError:
            raise InputError(
                f"There is no attribute {name!r}{_did_you_mean(name, self._by_name)}."
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self._by_name)

    @cached_property
    def modelled(self) -> tuple[Attribute, ...]:
        """The attributes that have codes: all but identifiers, text and computed columns."""
        return tuple(attribute for attribute in self.attributes if attribute.modelled)

    def ordered_as(self, names: Sequence[str], source: str) -> Schema:
        """The schema in the order of a table's columns, which must be the same."""
        for name in self.names:
            if name not in names:
                raise InputError(
                    f"{source} has no column {name!r}, which the schema describes; add it or drop "
                    "it "
                    f"from the schema."
                )
        for name in names:
            if name not in self:
                raise InputError(
                    f"{source} has a column {name!r} that the schema does not describe; describe "
                    "it "
                    f"or drop it."
                )
        return replace(self, attributes=tuple(self[name] for name in names))

    @classmethod
    def from_dict(cls, document: Any, source: str = "The schema") -> Schema:
        """Check a parsed schema file and build the schema.

        Parameters
        ----------
        document
            ``{"attributes": {name: {"kind": ..., ...}, ...}, "constraints": [...]}``, the latter if
            there are any; see the schema reference in the docs.
        source
            What to call it in messages.
        """
        return _Reader(source).schema(document)

    def to_dict(self) -> dict[str, Any]:
        """The schema as it stands in a file; ``from_dict`` reads it back."""
        document: dict[str, Any] = {
            "attributes": {attribute.name: attribute.to_dict() for attribute in self.attributes}
        }
        if self.constraints:
            document["constraints"] = self.constraints.to_list()
        if self.reading:
            document["reading"] = dict(self.reading)
        if self.missing_cells:
            document["missing_cells"] = list(self.missing_cells)
        return document

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema file."""
        return cls.from_dict(read_json(path, "schema"), f"The schema {path}")

    @classmethod
    def from_codebook(
        cls, path: str | Path, *, format: str | None = None, labels: bool = False
    ) -> Schema:
        """Read a codebook: a data package, CSVW, JSON Schema, DDI, SQL, value labels or a table of
        names and values.

        A codebook that leaves something open, such as the bounds of a number, is refused with a
        list of it; :func:`understudy.data.codebooks.read_codebook` gives what it does say.

        Parameters
        ----------
        path, format, labels
            As for :func:`understudy.data.codebooks.read_codebook`.
        """
        from understudy.data.codebooks import read_codebook

        return read_codebook(path, format=format, labels=labels).form.to_schema()

    def save(self, path: str | Path) -> None:
        """Write a schema file that a person can read and edit."""
        write_json(path, self.to_dict(), "schema", indent=2)


# --------------------------------------------------------------------------- reading and checking

BOOLEAN_VALUES = ("false", "true")
EPOCH = dt.datetime(1970, 1, 1)

_OPTIONS = {
    "integer": {"min", "max", "bins", "edges", "format", "missing", *INSIDE_OPTIONS},
    "real": {"min", "max", "bins", "edges", "decimals", "format", "missing", *INSIDE_OPTIONS},
    "date": {"min", "max", "bins", "edges", "format", "missing", *INSIDE_OPTIONS},
    "time": {"min", "max", "bins", "edges", "format", "missing", *INSIDE_OPTIONS},
    "datetime": {"min", "max", "bins", "edges", "format", "missing", *INSIDE_OPTIONS},
    "boolean": {"values", "missing"},
    "categorical": {"values", "vocabulary", "ordered", "taxonomy", "other", "missing"},
    "identifier": {"pattern"},
    "text": {"replacement", "pattern", "length", "fake", "locale"},
}


def check_columns(names: Sequence[str], source: str) -> None:
    """Refuse columns that no schema can describe: too many of them, or names that are too long."""
    if len(names) > MAX_ATTRIBUTES:
        raise InputError(
            f"{source} has {len(names):,} columns; at most {MAX_ATTRIBUTES:,} can be modelled. "
            "Leave some out."
        )
    longest = max(names, key=len, default="")
    if len(longest) > MAX_NAME_LENGTH:
        raise InputError(
            f"{source} has a column whose name, {longest[:20]!r}..., is {len(longest):,} "
            "characters long; "
            f"at most {MAX_NAME_LENGTH:,} are allowed. Shorten it."
        )


READING = ("quote", "encoding")
"""What a schema may say of how the table's file is written."""


def check_reading(given: Any, source: str) -> dict[str, str]:
    """The options for reading that a schema gives; whether they can be used, the reader says."""
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for text in given.values()):
        raise InputError(f'{source}: "reading" must be an object of texts.')
    for option in given:
        if option not in READING:
            raise InputError(
                f'{source}: "reading" has an unknown entry {option!r}'
                f"{_did_you_mean(str(option), READING)}."
            )
    return {str(option): text for option, text in given.items()}


class _Reader:
    """Checks a schema document; every complaint names the schema, the column, the cause and a
    remedy.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.column: str | None = None
        self.codes = 0

    def schema(self, document: Any) -> Schema:
        if not isinstance(document, Mapping) or "attributes" not in document:
            raise self.bad('it must be an object with an "attributes" entry')
        known = {"attributes", "constraints", "missing_cells", "reading"}
        unknown = set(document) - known
        if unknown:
            raise self.bad(f"it has an unknown entry {sorted(map(str, unknown))[0]!r}; remove it")
        attributes = document["attributes"]
        if not isinstance(attributes, Mapping) or not attributes:
            raise self.bad('"attributes" must be an object that describes at least one column')
        check_columns([str(name) for name in attributes], self.source)
        reading = check_reading(document.get("reading", {}), self.source)
        if document.get("constraints", []) != []:
            found = self.constrained(attributes, document["constraints"])
        else:
            found = Schema(tuple(self.attribute(name, entry) for name, entry in attributes.items()))
        self.column = None
        missing_cells = self.missing_cells(document, found)
        return replace(found, reading=reading, missing_cells=missing_cells)

    def constrained(self, entries: Mapping[str, Any], constraints: Any) -> Schema:
        # Constraints are about attributes: that module comes after this one.
        from understudy.data.constraints import formula_columns, read_constraints

        if not isinstance(constraints, list):
            raise self.bad('"constraints" must be a list of objects')
        computed = formula_columns(constraints)
        attributes = tuple(
            self.computed(name, entry) if name in computed else self.attribute(name, entry)
            for name, entry in entries.items()
        )
        return Schema(attributes, read_constraints(constraints, attributes, self.source))

    def computed(self, name: str, entry: Any) -> Attribute:
        """A column with a formula: it needs no bounds, and bins that are given mean nothing."""
        self.column = name
        kind = entry.get("kind") if isinstance(entry, Mapping) else None
        if kind not in ("integer", "real", "date", "datetime"):
            return self.attribute(name, entry)
        unused = {"min", "max", "bins", "edges"}
        kept = {option: given for option, given in entry.items() if option not in unused}
        if kind in ("date", "datetime"):
            kept |= {"min": "2000-01-01", "max": "2000-01-02"}
        else:
            kept |= {"min": 0, "max": 1}
        checked = self.attribute(name, kept)
        assert isinstance(checked, Quantity)
        return Computed(name, kind, checked.missing, checked.format, checked.decimals)

    def missing_cells(self, document: Mapping[str, Any], schema: Schema) -> tuple[float, ...]:
        given = document.get("missing_cells", [])
        most = sum(attribute.missing is not None for attribute in schema.modelled) + 1
        if not isinstance(given, list) or len(given) > most:
            raise self.bad(
                '"missing_cells" must list the shares of rows with 0, 1, 2, ... missing cells, '
                "up to all columns that may be missing"
            )
        if not all(_is_number(share) and 0 <= share <= 1 for share in given):
            raise self.bad('"missing_cells" must hold shares from 0 to 1')
        if given and abs(sum(given) - 1) > 1e-3:
            raise self.bad('the shares of "missing_cells" must add up to 1')
        return tuple(float(share) for share in given)

    def attribute(self, name: Any, entry: Any) -> Attribute:
        if not isinstance(name, str) or not name:
            raise self.bad("a column has no name; give it one")
        self.column = name
        if not isinstance(entry, Mapping):
            raise self.bad('it must be an object such as {"kind": "integer", "min": 0, "max": 99}')
        for option, given in entry.items():
            for text in (option, given, *(given if isinstance(given, list) else ())):
                self.check_length(text)
        kind = entry.get("kind")
        if not isinstance(kind, str) or kind not in _OPTIONS:
            raise self.bad(f"the kind {kind!r} is unknown; use one of {', '.join(_OPTIONS)}")
        for option, given in entry.items():
            if given is None and option in ("min", "max", "values"):
                raise self.bad(
                    f'"{option}" is still open (null); give a public fact, not one read off the '
                    "data, or answer the questions of understudy schema --interactive"
                )
            if option != "kind" and option not in _OPTIONS[kind]:
                hint = _did_you_mean(str(option), _OPTIONS[kind])
                raise self.bad(f"{option!r} does not go with kind {kind}{hint}")
        self.count_codes(entry)
        if kind == "identifier":
            return self.identifier(name, entry)
        if kind == "text":
            return self.text(name, entry)
        if kind in ("boolean", "categorical"):
            return self.category(name, kind, entry)
        return self.quantity(name, kind, entry)

    def check_length(self, text: Any) -> None:
        if isinstance(text, str) and len(text) > MAX_TEXT_LENGTH:
            raise self.bad(
                f"it holds a text of {len(text):,} characters, {text[:20]!r}...; at most "
                f"{MAX_TEXT_LENGTH:,} are allowed"
            )

    def count_codes(self, entry: Mapping[str, Any]) -> None:
        """Add up what is asked for before any of it is made."""
        bins: Any = entry.get("bins")
        lists = [entry.get(option) for option in ("values", "edges")]
        if _is_whole(bins):
            self.codes += bins
        else:
            self.codes += 0
        self.codes += sum(len(given) for given in lists if isinstance(given, list))
        if self.codes > MAX_CODES:
            raise self.bad(
                f"with it, the columns have {self.codes:,} bins and values together; at most "
                f"{MAX_CODES:,} can be "
                f"modelled. Use fewer bins"
            )

    def identifier(self, name: str, entry: Mapping[str, Any]) -> Identifier:
        pattern = entry.get("pattern")
        if pattern is not None and (
            not isinstance(pattern, str) or "#" not in pattern or len(pattern) > 200
        ):
            raise self.bad(
                f'the pattern {pattern!r} must be text with runs of #, such as "P-######"'
            )
        return Identifier(name, "identifier", None, pattern)

    def text(self, name: str, entry: Mapping[str, Any]) -> Text:
        given = {"replacement", "pattern", "length", "fake"} & set(entry)
        if len(given) > 1:
            raise self.bad(f"give one of {', '.join(sorted(given))}, not several")
        if "locale" in entry and "fake" not in entry:
            raise self.bad('"locale" goes with "fake"')
        if "pattern" in entry:
            return Text(name, "text", pattern=self.text_pattern(entry["pattern"]))
        if "length" in entry:
            return Text(name, "text", length=self.text_length(entry["length"]))
        if "fake" in entry:
            locale = str(entry.get("locale", "en")).lower().replace("_", "-")
            for value, known in ((entry["fake"], FAKES), (locale, LOCALES)):
                if not isinstance(value, str) or value not in known:
                    hint = _did_you_mean(str(value), set(known))
                    raise self.bad(f"nothing is known of {value!r}{hint}")
            return Text(name, "text", fake=entry["fake"], locale=locale)
        replacement = entry.get("replacement", "[text]")
        if replacement is not None and not isinstance(replacement, str):
            raise self.bad(
                f"the replacement {replacement!r} must be text, or null to leave the column out"
            )
        return Text(name, "text", None, replacement)

    def text_pattern(self, given: Any) -> str:
        usable = isinstance(given, str) and 0 < len(given) <= 200 and not given.endswith("\\")
        if not usable:
            raise self.bad(
                f"the pattern {given!r} must be text with # for digits, ? and ^ for small and "
                f'capital letters, such as "###-##-####"'
            )
        return str(given)

    def text_length(self, given: Any) -> tuple[int, int]:
        ends = [given, given] if _is_whole(given) else given
        whole = isinstance(ends, list) and len(ends) == 2 and all(_is_whole(end) for end in ends)
        if not whole or not 1 <= ends[0] <= ends[1] <= MAX_MADE_UP_LENGTH:
            raise self.bad(
                f'"length" must be a whole number, or two such as [5, 20], from 1 to '
                f"{MAX_MADE_UP_LENGTH}, not {given!r}"
            )
        return ends[0], ends[1]

    def category(self, name: str, kind: str, entry: Mapping[str, Any]) -> Category:
        missing = self.missing(entry)
        if "vocabulary" in entry:
            entry = self.look_up(entry)
        values = entry.get("values", BOOLEAN_VALUES if kind == "boolean" else None)
        if not isinstance(values, list | tuple) or not values:
            raise self.bad('it needs "values", a list of all values that may occur')
        if kind == "boolean" and len(values) != 2:
            raise self.bad('"values" of a boolean must be two, the one for false first')
        if len(values) > MAX_DOMAIN_SIZE:
            raise self.bad(
                f"it has {len(values)} values; more than {MAX_DOMAIN_SIZE} cannot be modelled"
            )
        if not (all(isinstance(v, str) for v in values) or all(_is_number(v) for v in values)):
            raise self.bad('"values" must all be texts or all be finite numbers')
        if any(not isinstance(v, str) and abs(v) > 2**53 for v in values):
            raise self.bad(
                "a value lies beyond 2^53, where numbers are no longer exact; write the values as "
                "texts"
            )
        if kind == "boolean" and len({str(v).casefold() for v in values}) < 2:
            raise self.bad(
                "upper and lower case do not tell the values of a boolean apart; use a categorical"
            )
        if len(set(values)) < len(values):
            twice = next(v for v, times in Counter(values).items() if times > 1)
            raise self.bad(f"the value {twice!r} is listed twice")
        if missing is not None and missing in values:
            raise self.bad(
                f'{missing!r} is both a value and the "missing" mark; make it one of them'
            )
        other = entry.get("other")
        if other is not None and not isinstance(other, str):
            raise self.bad('"other" must be the text that stands for values not listed')
        if other is not None and not isinstance(values[0], str):
            raise self.bad('"other" goes with values that are texts; these are numbers')
        if other is not None and other == missing:
            raise self.bad(f'{other!r} is both "other" and the "missing" mark; choose another')
        taxonomy = entry.get("taxonomy")
        if taxonomy is not None:
            taxonomy = self.taxonomy(taxonomy, values)
        return Category(
            name, kind, missing, tuple(values), self.flag(entry, "ordered"), taxonomy, other
        )

    def look_up(self, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        """The entry with the values of its vocabulary."""
        from understudy.data.vocabularies import resolve_vocabulary

        if "values" in entry:
            raise self.bad('give either "values" or a "vocabulary"')
        if not isinstance(entry["vocabulary"], str):
            raise self.bad('"vocabulary" must be a name, such as "months"')
        try:
            values, ordered = resolve_vocabulary(entry["vocabulary"])
        except InputError as error:
            raise self.bad(str(error)) from error
        found = {"values": values, "ordered": ordered}
        return {**found, **{key: given for key, given in entry.items() if key != "vocabulary"}}

    def taxonomy(self, tree: Any, values: Sequence[Value]) -> Taxonomy:
        if not isinstance(tree, list):
            raise self.bad('"taxonomy" must be nested lists whose leaves are values')
        seen: set[Value] = set()
        pruned = self.pruned(tree, set(values), seen, 1)
        lacking = [value for value in values if value not in seen]
        if lacking:
            raise self.bad(
                f"the taxonomy does not cover the value {lacking[0]!r}; add it as a leaf"
            )
        return pruned

    def pruned(self, tree: list[Any], values: set[Value], seen: set[Value], depth: int) -> Taxonomy:
        """The tree without leaves that are no values of this attribute: one taxonomy may serve many
        tables.
        """
        if depth > MAX_TAXONOMY_DEPTH:
            raise self.bad(f"the taxonomy is more than {MAX_TAXONOMY_DEPTH} levels deep")
        kept: list[Any] = []
        for node in tree:
            self.check_length(node)
            if isinstance(node, list):
                branch = self.pruned(node, values, seen, depth + 1)
                if branch:
                    kept.append(branch)
            elif not isinstance(node, str) and not _is_number(node):
                raise self.bad(f"the taxonomy has a leaf {node!r} that cannot be a value")
            elif node in seen:
                raise self.bad(f"the taxonomy names the value {node!r} twice")
            elif node in values:
                seen.add(node)
                kept.append(node)
        return tuple(kept)

    def quantity(self, name: str, kind: str, entry: Mapping[str, Any]) -> Quantity:
        missing = self.missing(entry)
        form = self.format(kind, entry)
        decimals = entry.get("decimals")
        if decimals is not None and (not _is_whole(decimals) or not 0 <= decimals <= 12):
            raise self.bad(f'"decimals" must be a whole number from 0 to 12, not {decimals!r}')
        if "edges" in entry:
            if {"min", "max", "bins"} & set(entry):
                raise self.bad('give either "edges", or "min", "max" and "bins"')
            edges = self.edges(kind, entry["edges"])
        else:
            edges = self.equal_edges(kind, entry)
        free = not {"bins", "edges"} & set(entry)
        attribute = Quantity(
            name, kind, missing, edges, "edges" not in entry, form, decimals, free_bins=free
        )
        try:
            return with_details(attribute, entry)
        except ValueError as error:
            raise self.bad(str(error)) from None

    def format(self, kind: str, entry: Mapping[str, Any]) -> str | None:
        form = entry.get("format")
        if form is None:
            return None
        if not isinstance(form, str) or not form:
            raise self.bad(f'"format" must be text that shows how values are written, not {form!r}')
        try:
            Format(kind, form)
        except ValueError as error:
            raise self.bad(str(error)) from None
        return form

    def edges(self, kind: str, given: Any) -> tuple[float, ...]:
        if not isinstance(given, list) or len(given) < 2:
            raise self.bad('"edges" must be a list of at least two numbers, smallest first')
        if len(given) > MAX_DOMAIN_SIZE + 1:
            raise self.bad(
                f'"edges" has {len(given)} entries; more than {MAX_DOMAIN_SIZE} bins cannot be '
                "modelled"
            )
        edges = tuple(self.number(kind, edge, "an edge") for edge in given)
        if any(b <= a for a, b in itertools.pairwise(edges)):
            raise self.bad('"edges" must rise from one to the next')
        return self.bounded(edges)

    def equal_edges(self, kind: str, entry: Mapping[str, Any]) -> tuple[float, ...]:
        if kind == "time":
            entry = {"min": "00:00:00", "max": "23:59:59", **entry}
        for bound in ("min", "max"):
            if bound not in entry:
                raise self.bad(f'it needs "{bound}" (a public bound, not one read off the data)')
        low = self.number(kind, entry["min"], '"min"')
        high = self.number(kind, entry["max"], '"max"')
        if high < low:
            raise self.bad(f'"max" {entry["max"]!r} is below "min" {entry["min"]!r}')
        bins = entry.get("bins")
        if bins is not None and (not _is_whole(bins) or not 1 <= bins <= MAX_DOMAIN_SIZE):
            raise self.bad(
                f'"bins" must be a whole number from 1 to {MAX_DOMAIN_SIZE}, not {bins!r}'
            )
        if kind == "real":
            count = bins or DEFAULT_BINS
            if high == low:
                raise self.bad(
                    '"max" must be above "min"; for a column with one value use a categorical'
                )
            edges = (*(low + (high - low) * i / count for i in range(count)), high)
            if any(b <= a for a, b in itertools.pairwise(edges)):
                raise self.bad(f'there is no room for {count} bins between "min" and "max"')
            return self.bounded(edges)
        span = int(high) - int(low) + 1
        if bins is not None:
            count = bins
        else:
            count = min(DEFAULT_BINS, span)
        if count > span:
            raise self.bad(
                f'{count} bins are more than the {span} values from "min" to "max"; use {span} or '
                "fewer"
            )
        # Value v lies in bin floor((v - low) * count / span), so bin i starts at the next whole
        # number.
        return self.bounded(tuple(int(low) - (-i * span // count) for i in range(count + 1)))

    def bounded(self, edges: tuple[float, ...]) -> tuple[float, ...]:
        if max(abs(edges[0]), abs(edges[-1])) > 2**53:
            raise self.bad(
                "its bounds lie beyond 2^53, where numbers are no longer exact; rescale the column"
            )
        return edges

    def number(self, kind: str, given: Any, what: str) -> float:
        """A bound in the attribute's unit: itself, days or seconds."""
        if kind == "time":
            seconds = Format("time").read([str(given)])[0]
            if math.isnan(seconds):
                raise self.bad(f'{what} must be a time such as "09:30", not {given!r}')
            return int(seconds)
        if kind in ("date", "datetime"):
            try:
                moment = None
                if isinstance(given, str):
                    moment = dt.datetime.fromisoformat(given)
            except ValueError:
                moment = None
            if moment is None:
                raise self.bad(f'{what} must be an ISO date such as "2020-01-31", not {given!r}')
            since = moment.replace(tzinfo=None) - EPOCH
            if kind == "date":
                return since.days
            return since.days * 86400 + since.seconds
        if kind == "integer":
            if not _is_number(given) or given != int(given):
                raise self.bad(f"{what} must be a whole number, not {given!r}")
            return int(given)
        if not _is_number(given):
            raise self.bad(f"{what} must be a finite number, not {given!r}")
        return float(given)

    def missing(self, entry: Mapping[str, Any]) -> str | None:
        given = entry.get("missing", False)
        if given is True:
            return ""
        if given is False:
            return None
        if isinstance(given, str):
            return given
        raise self.bad(
            f'"missing" must be true, false or the mark that stands for it, not {given!r}'
        )

    def flag(self, entry: Mapping[str, Any], name: str) -> bool:
        given = entry.get(name, False)
        if not isinstance(given, bool):
            raise self.bad(f'"{name}" must be true or false, not {given!r}')
        return given

    def bad(self, cause: str) -> InputError:
        if self.column:
            where = f"{self.source}, column {self.column!r}"
        else:
            where = self.source
        return InputError(f"{where}: {cause}.")


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _did_you_mean(name: str, known: Sequence[str] | Mapping[str, Any] | set[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    if close:
        return f"; did you mean {close[0]!r}"
    return f"; known are {', '.join(sorted(known))}"


# ----------------------------------------------- generalisation levels


def _binary_tree(values: int, size: int) -> tuple[NDArray[np.uint32], ...]:
    levels: list[NDArray[np.uint32]] = []
    for level in range(1, values.bit_length()):
        coarse = np.arange(size, dtype=np.uint32) >> np.uint32(level)
        coarse[values:] = ((values - 1) >> level) + 1  # "missing" stays by itself
        if ((values - 1) >> level) + 1 < 2:
            break
        levels.append(coarse)
    return tuple(levels)


def _taxonomy_levels(
    tree: Taxonomy, domain: tuple[Value, ...], size: int
) -> tuple[NDArray[np.uint32], ...]:
    """Cut the tree at each height: at level l, values deeper than (height - l) merge into their
    ancestor there.
    """
    paths = dict(_paths(tree, ()))
    height = max(len(path) for path in paths.values())
    levels: list[NDArray[np.uint32]] = []
    finest = size
    for level in range(1, height):
        groups: dict[Any, int] = {}
        coarse = np.empty(size, dtype=np.uint32)
        for code in range(size):
            # "other" and "missing" are not in the tree: they hang from its root.
            value = None
            if code < len(domain):
                value = domain[code]
            if value is not None:
                path = paths.get(value, (("outside", code),))
            else:
                path = (("missing", code),)
            coarse[code] = groups.setdefault(path[: height - level], len(groups))
        if 1 < len(groups) < finest:
            levels.append(coarse)
            finest = len(groups)
    return tuple(levels)


def _paths(tree: Taxonomy, above: tuple[int, ...]) -> Iterator[tuple[Value, tuple[int, ...]]]:
    for place, node in enumerate(tree):
        path = (*above, place)
        if isinstance(node, tuple):
            yield from _paths(node, path)
        else:
            yield node, path


def _to_nested_lists(tree: Taxonomy) -> list[Any]:
    return [_to_nested_lists(node) if isinstance(node, tuple) else node for node in tree]
