"""From a table to an anonymised one: read, group, recode, check, put in an order that tells
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.checking import Check, examine, settle_roles
from understudy.anonymity.classes import EquivalenceClasses
from understudy.anonymity.lattice import search_levels
from understudy.anonymity.loss import InformationLoss, lose_globally, lose_locally
from understudy.anonymity.microdata import Microdata, read_microdata
from understudy.anonymity.mondrian import partition_rows
from understudy.anonymity.recoding import recode_globally, recode_locally
from understudy.anonymity.requirement import Judge, Requirement
from understudy.anonymity.roles import Roles
from understudy.data.columns import Column, Table
from understudy.data.frames import Frame, as_table
from understudy.data.schema import Schema
from understudy.errors import InputError

MethodName = Literal["mondrian", "relaxed", "lattice"]
METHODS = ("mondrian", "relaxed", "lattice")

NOT_PRIVATE = (
    "This is not differential privacy: what a group of rows shares can still be learned about "
    "everybody in it, and two such tables together can tell more than either."
)


@dataclass(frozen=True, kw_only=True)
class Anonymised:
    """An anonymised table and what it cost.

    Attributes
    ----------
    table
        What can be published: quasi-identifiers recoded, sensitive and insensitive columns as they
        were, everything else left out; rows in the order of what they show.
    before, after
        The real table and the anonymised one, checked.
    loss
        What was lost.
    levels
        The level of each column, for full-domain generalisation; else empty.
    suppressed
        How many rows were left out.
    groups
        The group of each row of the real table, -1 where it was left out: for the owner's eyes.
    notes
        What the owner should know.
    """

    table: Table
    roles: Roles
    method: MethodName
    before: Check
    after: Check
    loss: InformationLoss
    levels: Mapping[str, int]
    suppressed: int
    groups: NDArray[np.int64]
    notes: tuple[str, ...]

    def write(self, path: str | Path) -> None:
        """Write the table as CSV or Parquet, by the suffix."""
        self.table.write(path)


class GroupingOptions(TypedDict, total=False):
    """How rows are put into groups: options of :func:`anonymise`."""

    schema: Schema | str | Path | None
    method: MethodName
    hierarchies: Mapping[str, Any] | None
    max_suppressed: float


@dataclass(frozen=True)
class _Recoded:
    columns: dict[str, Column]
    classes: EquivalenceClasses
    kept: NDArray[np.bool_]
    loss: InformationLoss
    levels: Mapping[str, int]
    notes: tuple[str, ...] = ()


def anonymise(
    table: Frame,
    roles: Roles | None = None,
    requirement: Requirement | None = None,
    *,
    schema: Schema | str | Path | None = None,
    method: MethodName = "mondrian",
    hierarchies: Mapping[str, Any] | None = None,
    max_suppressed: float = 0.0,
) -> Anonymised:
    """Generalise the quasi-identifiers of a table until every group of equal rows is large and
    diverse enough. This is not differential privacy.

    Parameters
    ----------
    table
        A table, a frame or the path of a file.
    roles
        Which columns are what; without them those of the schema. A column without a role is left
        out.
    requirement
        What every group must fulfil; k = 5 when not given.
    schema
        Roles, orders and taxonomies of the columns.
    method
        "mondrian": groups of similar rows, each written as ranges and sets (local recoding);
        "relaxed": the same, but equal rows may go to different groups, which become smaller;
        "lattice": one level of a hierarchy for each column, the same for all rows (global
        recoding).
    hierarchies
        For "lattice", how the values of a column merge: "prefix", the width of the first ranges,
        nested lists of values, or the labels of each value. Numbers have ranges by themselves.
    max_suppressed
        For "lattice", the share of rows that may be left out because their groups are too small.

    Examples
    --------
    >>> roles = Roles(quasi_identifiers=("age", "zip"), sensitive=("illness",))
    >>> release = anonymise("patients.csv", roles, Requirement(k=5, l=2))     # doctest: +SKIP
    >>> release.loss.generalisation                                          # doctest: +SKIP
    0.21
    """
    if method not in METHODS:
        raise InputError(f"The method {method!r} is unknown; use one of {', '.join(METHODS)}.")
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    read, _ = as_table(table)
    read = _drop_signs_of_zeros(read)
    roles = settle_roles(roles, schema)
    roles.check(read.names, read.source)
    quasi = roles.quasi_identifiers
    _check_hierarchies(hierarchies, quasi)
    microdata = read_microdata(read, (*quasi, *roles.sensitive), schema, hierarchies)
    judge = Judge(requirement or Requirement(), microdata, roles.sensitive)
    if method == "lattice":
        recoded = _generalise_columns(microdata, judge, quasi, max_suppressed)
    else:
        recoded = _group_rows(microdata, judge, quasi, relaxed=method == "relaxed")
    published = _publish(read, roles, recoded)
    return Anonymised(
        table=published,
        roles=roles,
        method=method,
        before=examine(microdata, quasi, judge),
        after=_check_published(published, roles, schema, judge.requirement),
        loss=recoded.loss,
        levels=recoded.levels,
        suppressed=int((~recoded.kept).sum()),
        groups=_number_groups(recoded),
        notes=(NOT_PRIVATE, *_note_left_out(read, roles), *recoded.notes),
    )


def _drop_signs_of_zeros(table: Table) -> Table:
    """The table with 0 for -0, which are equal and written differently: which of them comes first
    would tell the order of the file.
    """
    columns = dict(table.columns)
    for name, column in columns.items():
        if column.kind == "real":
            columns[name] = replace(column, values=column.values + 0.0)
    return replace(table, columns=columns)


def _number_groups(recoded: _Recoded) -> NDArray[np.int64]:
    groups = np.full(len(recoded.kept), -1, dtype=np.int64)
    groups[recoded.kept] = recoded.classes.of_row
    return groups


def _check_hierarchies(given: Mapping[str, Any] | None, quasi: tuple[str, ...]) -> None:
    for name in given or {}:
        if name not in quasi:
            raise InputError(f"A hierarchy is given for {name!r}, which is no quasi-identifier.")


def _group_rows(
    table: Microdata, judge: Judge, names: tuple[str, ...], *, relaxed: bool
) -> _Recoded:
    classes = partition_rows(table, names, judge, relaxed=relaxed)
    return _Recoded(
        columns=recode_locally(table, names, classes),
        classes=classes,
        kept=np.ones(table.rows, dtype=bool),
        loss=lose_locally(table, names, classes),
        levels={},
    )


def _generalise_columns(
    table: Microdata, judge: Judge, names: tuple[str, ...], max_suppressed: float
) -> _Recoded:
    found = search_levels(table, names, judge, max_suppressed)
    notes: tuple[str, ...] = ()
    if not found.exact:
        notes = (
            "There are too many combinations of levels to try all: these cannot be lowered one by "
            "one, but others may lose less.",
        )
    return _Recoded(
        columns=recode_globally(table, found.levels),
        classes=found.classes,
        kept=found.kept,
        loss=lose_globally(table, found.levels, found.classes, found.suppressed),
        levels=found.levels,
        notes=notes,
    )


def _publish(table: Table, roles: Roles, recoded: _Recoded) -> Table:
    """The columns that are kept, with rows in the order of what they show: the order of the file
    would tell who is who.
    """
    columns = {
        name: recoded.columns.get(name, table.columns[name])
        for name in table.names
        if name in roles.kept
    }
    rows = np.flatnonzero(recoded.kept)
    keys = [_rank(columns[name])[rows] for name in reversed(columns)]
    rows = rows[np.lexsort(keys)]
    return Table(
        {name: pick_cells(column, rows) for name, column in columns.items()}, "The release"
    )


def _rank(column: Column) -> NDArray[np.int64]:
    """The place of each cell among the distinct ones; a missing one comes last."""
    values = column.values
    if column.kind == "text":
        ranks = np.argsort(np.argsort(np.array(column.words, dtype=object).astype(str)))
        values = ranks[column.values] if len(ranks) else column.values
    found = np.unique(values, return_inverse=True)[1].astype(np.int64)
    if column.missing is not None:
        found = np.where(column.missing > 0, found.max(initial=0) + 1, found)
    return found


def pick_cells(column: Column, rows: NDArray[np.int64]) -> Column:
    """Some cells of a column."""
    missing = column.missing
    if missing is not None:
        missing = missing[rows]
    return Column(
        column.kind, column.values[rows], column.words, missing, column.mark, column.format
    )


def _check_published(
    table: Table, roles: Roles, schema: Schema | None, requirement: Requirement
) -> Check:
    """What was published, checked by itself: recoded cells are compared as they are written."""
    names = (*roles.quasi_identifiers, *roles.sensitive)
    microdata = read_microdata(table, names, _about_sensitive(schema, roles))
    return examine(
        microdata, roles.quasi_identifiers, Judge(requirement, microdata, roles.sensitive)
    )


def _about_sensitive(schema: Schema | None, roles: Roles) -> Schema | None:
    """What a schema says of sensitive columns: of the others, recoded cells no longer fit it."""
    if schema is None:
        return None
    return Schema(tuple(a for a in schema if a.name in roles.sensitive))


def _note_left_out(table: Table, roles: Roles) -> list[str]:
    unnamed = [
        name for name in table.names if name not in roles.kept and name not in roles.identifiers
    ]
    notes = []
    if roles.identifiers:
        notes.append(f"Identifiers are left out: {', '.join(roles.identifiers)}.")
    if unnamed:
        notes.append(
            f"Columns without a role are left out: {', '.join(unnamed)}. To publish one as it is, "
            "call it insensitive."
        )
    if roles.insensitive:
        notes.append(
            f"Published as they are: {', '.join(roles.insensitive)}. Whoever knows one of these "
            "about a person can find the row."
        )
    return notes
