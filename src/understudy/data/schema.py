"""What is public about a table: its attributes, their kinds, domains, taxonomies and missing marks.

Everything here is fixed before a private row is read. The kinds of attributes are those of
:mod:`understudy.data.attributes`, and can be imported from here as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.data.attribute_reading import AttributeReader, did_you_mean
from understudy.data.attributes import (
    Attribute,
    Category,
    Computed,
    Identifier,
    Quantity,
    Text,
)
from understudy.data.files import read_json, write_json
from understudy.data.quantity_reading import is_number
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.data.constraints import Constraints

__all__ = ["Attribute", "Category", "Computed", "Identifier", "Quantity", "Schema", "Text"]

MAX_ATTRIBUTES = 10_000
MAX_NAME_LENGTH = 1_000
"""Of an attribute, in characters."""

READING = ("quote", "encoding")
"""What a schema may say of how the table's file is written."""


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
                f"There is no attribute {name!r}{did_you_mean(name, self._by_name)}."
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

    def order_as(self, names: Sequence[str], source: str) -> Schema:
        """The schema in the order of a table's columns, which must be the same."""
        for name in self.names:
            if name not in names:
                raise InputError(
                    f"{source} has no column {name!r}, which the schema describes; add it or drop "
                    "it from the schema."
                )
        for name in names:
            if name not in self:
                raise InputError(
                    f"{source} has a column {name!r} that the schema does not describe; describe "
                    "it or drop it."
                )
        # How a file is written is of no interest once its rows are here.
        return replace(self, attributes=tuple(self[name] for name in names), reading={})

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
        return _SchemaReader(source).schema(document)

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
            f"characters long; at most {MAX_NAME_LENGTH:,} are allowed. Shorten it."
        )


def check_reading(given: Any, source: str) -> dict[str, str]:
    """The options for reading that a schema gives; whether they can be used, the reader says."""
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for text in given.values()):
        raise InputError(f'{source}: "reading" must be an object of texts.')
    for option in given:
        if option not in READING:
            raise InputError(
                f'{source}: "reading" has an unknown entry {option!r}'
                f"{did_you_mean(str(option), READING)}."
            )
    return {str(option): text for option, text in given.items()}


class _SchemaReader:
    """Checks a schema document; its attributes are read by an :class:`AttributeReader`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.reader = AttributeReader(source)
        self.bad = self.reader.bad

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
            found = self.read_constrained(attributes, document["constraints"])
        else:
            found = Schema(
                tuple(self.reader.attribute(name, entry) for name, entry in attributes.items())
            )
        self.reader.column = None
        missing_cells = self.missing_cells(document, found)
        return replace(found, reading=reading, missing_cells=missing_cells)

    def read_constrained(self, entries: Mapping[str, Any], constraints: Any) -> Schema:
        # Constraints are about attributes: that module comes after this one.
        from understudy.data.constraints import formula_columns, read_constraints

        if not isinstance(constraints, list):
            raise self.bad('"constraints" must be a list of objects')
        computed = formula_columns(constraints)
        attributes = tuple(
            self.reader.read_computed(name, entry)
            if name in computed
            else self.reader.attribute(name, entry)
            for name, entry in entries.items()
        )
        return Schema(attributes, read_constraints(constraints, attributes, self.source))

    def missing_cells(self, document: Mapping[str, Any], schema: Schema) -> tuple[float, ...]:
        given = document.get("missing_cells", [])
        most = sum(attribute.missing is not None for attribute in schema.modelled) + 1
        if not isinstance(given, list) or len(given) > most:
            raise self.bad(
                '"missing_cells" must list the shares of rows with 0, 1, 2, ... missing cells, '
                "up to all columns that may be missing"
            )
        if not all(is_number(share) and 0 <= share <= 1 for share in given):
            raise self.bad('"missing_cells" must hold shares from 0 to 1')
        if given and abs(sum(given) - 1) > 1e-3:
            raise self.bad('the shares of "missing_cells" must add up to 1')
        return tuple(float(share) for share in given)
