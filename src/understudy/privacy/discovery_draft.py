"""What is public about the columns of a table: their names, and what a schema says of some."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from functools import cached_property

from understudy.counting.columns import Columns, MemoryColumns
from understudy.data.attributes import Attribute
from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.privacy.identifiers import is_identifier, may_tell_groups


class Draft:
    """What is public about the columns of a table.

    Parameters
    ----------
    table
        The table, or its columns.
    person
        The column that says whose row it is, if any: it becomes an identifier, and is not asked
        about.
    known
        Columns that are described already, by public facts: they are not asked about either.
    words
        Columns that are known to hold words, by public facts: their kind is not asked for.
    """

    def __init__(
        self,
        table: Table | Columns,
        person: str | None = None,
        known: Mapping[str, Attribute] | None = None,
        words: Collection[str] = (),
    ) -> None:
        if isinstance(table, Table):
            self.columns: Columns = MemoryColumns(table)
        else:
            self.columns = table
        self.source = self.columns.source
        self.names = tuple(self.columns.names)
        self.known = dict(known or {})
        self.words = frozenset(words)
        self.identifiers = frozenset(
            name for name in self.names if is_identifier(name, person) and name not in self.known
        )

        self.perhaps_groups = tuple(
            name
            for name in self.names
            if name in self.identifiers and name != person and may_tell_groups(name)
        )

    def with_groups(self, groups: Collection[str]) -> Draft:
        """The same, where some columns that look like identifiers are asked about, too."""
        draft = copy(self)
        draft.identifiers = self.identifiers - set(groups)
        draft.__dict__.pop("asked", None)
        return draft

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """The columns that are asked about."""
        asked = tuple(
            name for name in self.names if name not in self.identifiers and name not in self.known
        )
        if not asked:
            raise InputError(
                f"{self.source} has no column to model: all of them look like identifiers; "
                f"give a schema."
            )
        return asked
