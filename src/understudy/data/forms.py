"""A schema that is not complete yet: what is known of each column, and what is still open.

A form is written like a schema. Where a fact is missing that the schema needs, it has ``null``.
Codebooks make forms, the interview fills them in, and a form without gaps is a schema.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.data.schema import Schema, check_columns, check_reading
from understudy.errors import InputError

NEEDED: dict[str, tuple[str, ...]] = {
    "integer": ("min", "max"),
    "real": ("min", "max"),
    "date": ("min", "max"),
    "time": ("min", "max"),
    "datetime": ("min", "max"),
    "categorical": ("values",),
    "boolean": (),
    "identifier": (),
    "text": (),
}
"""The kinds, and what a schema must say of each."""

_INSTEAD = {"min": "edges", "max": "edges", "values": "vocabulary"}

ColumnFacts = dict[str, Any]


@dataclass(frozen=True)
class Form:
    """What is known of the columns of a table.

    Examples
    --------
    >>> form = Form({"age": {"kind": "integer", "min": 0, "max": None}})
    >>> form.open_facts()
    {'age': ('max',)}
    """

    entries: Mapping[str, ColumnFacts]
    source: str = "The schema"
    """What to call it in messages."""
    other: Mapping[str, Any] = field(default_factory=dict)
    """What a schema file says beside its attributes."""

    def open_facts(self) -> dict[str, tuple[str, ...]]:
        """What each column still lacks; columns that lack nothing are left out."""
        lacking = {name: lacks(entry) for name, entry in self.entries.items()}
        return {name: facts for name, facts in lacking.items() if facts}

    def to_dict(self) -> dict[str, Any]:
        """The form as it stands in a file."""
        attributes = {name: _with_gaps(entry) for name, entry in self.entries.items()}
        return {"attributes": attributes, **self.other}

    def to_schema(self) -> Schema:
        """The schema; an error lists the columns that lack something."""
        if lacking := self.open_facts():
            raise InputError(f"{self.source} leaves open {describe_open(lacking)}.")
        return Schema.from_dict(self.to_dict(), self.source)

    def check(self) -> Form:
        """Return the form; an error if what it says of a column makes no sense."""
        check_columns(tuple(self.entries), self.source)
        check_reading(self.other.get("reading", {}), self.source)
        known = {name: entry for name, entry in self.entries.items() if not lacks(entry)}
        if known:
            Schema.from_dict({"attributes": known}, self.source)
        return self

    def fill_from(self, other: Form) -> Form:
        """The form, its gaps filled with what another one says.

        A name of the other form that no column bears may be a pattern, such as ``score_*``.
        """
        entries = dict(self.entries)
        index = NameIndex(entries)
        for name, found in other.entries.items():
            for column in index.find(name):
                entries[column] = _fill(entries[column], found)
        return Form(entries, self.source, {**other.other, **self.other})

    def strangers(self, names: Iterable[str]) -> list[str]:
        """The columns of this form that a table with these names does not have."""
        index = NameIndex(names)
        return [name for name in self.entries if not index.find(name)]

    def read_known_part(self) -> Schema:
        """The columns that lack nothing, as a schema."""
        whole = sorted(set(self.other) - {"reading"})
        if whole:
            raise InputError(
                f"{self.source} has {whole[0]!r}, which needs all columns described; fill in what "
                f"it leaves open: {describe_open(self.open_facts())}."
            )
        known = {name: entry for name, entry in self.entries.items() if not lacks(entry)}
        if not known:
            return Schema(())
        return Schema.from_dict({"attributes": known}, self.source)

    @property
    def reading(self) -> dict[str, str]:
        """How the table's file is written: options for reading it."""
        return check_reading(self.other.get("reading", {}), self.source)

    def columns_of_words(self) -> tuple[str, ...]:
        """The columns that hold categories of which the values are open."""
        return tuple(name for name, facts in self.open_facts().items() if facts == ("values",))

    def check_names(self, names: Collection[str], source: str) -> None:
        """Refuse a form that describes columns which a table does not have."""
        told_by = "the schema"
        if not self.source.startswith("The schema"):
            told_by = self.source[0].lower() + self.source[1:]
        for name in self.entries:
            if name not in names:
                raise InputError(
                    f"{source} has no column {name!r}, which {told_by} describes; add it, or drop "
                    f"it from {told_by}."
                )

    @classmethod
    def from_dict(cls, document: Any, source: str = "The schema") -> Form:
        """A form from a parsed file: a schema, in which facts may be ``null``."""
        if not isinstance(document, Mapping) or not isinstance(document.get("attributes"), Mapping):
            raise InputError(f'{source} must be an object with an "attributes" entry.')
        entries: dict[str, ColumnFacts] = {}
        for name, entry in document["attributes"].items():
            if not isinstance(entry, Mapping):
                raise InputError(f"{source}, column {name!r}: it must be an object with a kind.")
            if entry.get("kind") is not None and entry["kind"] not in NEEDED:
                raise InputError(
                    f"{source}, column {name!r}: the kind {entry['kind']!r} is unknown; use one of "
                    f"{', '.join(NEEDED)}."
                )
            entries[name] = dict(entry)
        other = {key: value for key, value in document.items() if key != "attributes"}
        return cls(entries, source, other).check()


def load_facts(path: str | Path) -> Schema | Form:
    """Read a schema file: a schema, or a form where it has facts that are still ``null``."""
    from understudy.data.files import read_json

    document = read_json(path, "schema")
    source = f"The schema {path}"
    if _has_gaps(document):
        return Form.from_dict(document, source)
    return Schema.from_dict(document, source)


def _has_gaps(document: Any) -> bool:
    """Whether a parsed schema file lacks a fact that its kinds need."""
    if not isinstance(document, Mapping) or not isinstance(document.get("attributes"), Mapping):
        return False
    return any(
        entry.get(fact, 0) is None
        for entry in document["attributes"].values()
        if isinstance(entry, Mapping)
        for fact in ("kind", "min", "max", "values")
    )


def lacks(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """What a column's entry does not say, and a schema must."""
    kind = entry.get("kind")
    if kind is None:
        return ("kind",)
    return tuple(
        fact
        for fact in NEEDED[kind]
        if entry.get(fact) is None and entry.get(_INSTEAD[fact]) is None
    )


_WORDS = {
    ("kind",): "the kind",
    ("min", "max"): "a smallest and a largest value",
    ("min",): "a smallest value",
    ("max",): "a largest value",
    ("values",): "the values that can occur",
}


def describe_open(lacking: Mapping[str, tuple[str, ...]], most: int = 6) -> str:
    """What is open, in words: one phrase for all columns that lack the same."""
    by_facts: dict[tuple[str, ...], list[str]] = {}
    for name, facts in lacking.items():
        by_facts.setdefault(facts, []).append(name)
    phrases = []
    for facts, names in by_facts.items():
        shown = ", ".join(names[:most])
        if len(names) > most:
            shown += f" and {len(names) - most} more"
        phrases.append(f"{_WORDS[facts]} of {shown}")
    return "; ".join(phrases)


class NameIndex:
    """Finds the columns that a name means, among those of a table."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._exact = set(self.names)
        self._folded: dict[str, list[str]] = {}
        for name in self.names:
            self._folded.setdefault(name.casefold(), []).append(name)

    def find(self, pattern: str) -> tuple[str, ...]:
        """The column so called, else the one that differs in upper and lower case alone, else those
        that match it as a pattern.
        """
        if pattern in self._exact:
            return (pattern,)
        alike = self._folded.get(pattern.casefold(), [])
        if len(alike) == 1:
            return (alike[0],)
        if not set("*?[") & set(pattern):
            return ()
        return tuple(name for name in self.names if fnmatch.fnmatchcase(name, pattern))


def _fill(entry: ColumnFacts, found: ColumnFacts) -> ColumnFacts:
    """An entry with its gaps filled; what it says already stays."""
    if entry.get("kind") is None:
        return dict(found)
    if not lacks(entry):
        return entry
    if found.get("kind") == entry["kind"]:
        filled = {**found, **{key: value for key, value in entry.items() if value is not None}}
    elif found.get("kind") is not None and not lacks(found):
        # A column that one codebook only calls a number may have few values that another one lists.
        filled = {**found}
        if "missing" in entry:
            filled["missing"] = entry["missing"]
    else:
        return entry
    if found.get("missing") is False:
        filled["missing"] = False  # many formats say "may be missing" of whatever is not required
    return filled


def _with_gaps(entry: ColumnFacts) -> ColumnFacts:
    """An entry whose gaps can be seen and filled in by hand."""
    kind = entry.get("kind")
    gaps = dict.fromkeys(lacks(entry))
    rest = {key: value for key, value in entry.items() if key != "kind" and value is not None}
    if kind == "text" and "replacement" in entry:
        rest["replacement"] = entry["replacement"]  # null: the column is left out
    return {"kind": kind, **gaps, **rest}
