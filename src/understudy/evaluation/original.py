"""Two tables by the original values of the real one: what an evaluation is measured on.

Cells are cut from the owner's real rows, not from a schema and not from a model: about equally many
real values per bin, a cell of its own for every value that is frequent (a spike), one for every
word. What the synthetic table holds beyond that has cells of its own, which no real row falls into:
numbers below and above the real ones, words that no real row has, texts where numbers should be,
and every cell of a column that is absent. So a column that was lost differs from the real one by 1,
and nothing is counted inside a clipped domain.

Such cells are as private as the rows. They are for the owner's eyes only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import Coded
from understudy.data.formats import Format
from understudy.data.frames import Frame
from understudy.data.schema import Attribute, Category, Identifier, Schema, Text
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.evaluation.cells import Cut, cut_numbers, cut_words
from understudy.evaluation.comparison import Comparison, Side, read_both, within_sentence
from understudy.evaluation.own_values import find_own_values
from understudy.evaluation.reading import (
    KIND_SHARE,
    Hint,
    find_format,
    missing_cells,
    read_numbers,
    read_words,
)
from understudy.evaluation.result import OwnValues
from understudy.evaluation.shared_identifiers import tells_rows_apart
from understudy.privacy.identifiers import is_identifier

MIN_TEXTS = 50
"""Text with more distinct values than this, and one for every two rows, is free text."""


@dataclass(frozen=True)
class Originals(Comparison):
    """The two tables in cells of original values.

    Attributes
    ----------
    missing
        Per column the share of raw cells that are missing, real and synthetic.
    missing_cells
        Per row, how many cells of the columns that are compared are missing, real and synthetic.
    absent
        Columns that the synthetic table does not have.
    replaced
        Columns of free text that became one and the same text, or nothing.
    own_values
        Columns that tell real rows apart, whatever they are called, and synthetic ones do not.
    """

    missing: Mapping[str, tuple[float, float]]
    missing_cells: tuple[NDArray[np.intp], NDArray[np.intp]]
    absent: tuple[str, ...]
    replaced: tuple[str, ...]
    own_values: tuple[OwnValues, ...] = ()


def compare_originals(
    real: Frame, synthetic: Frame, schema: Schema | None = None, model: Schema | None = None
) -> Originals:
    """Cut both tables into cells of the real table's values.

    Parameters
    ----------
    real, synthetic
        Tables, frames or file names. A column that the synthetic one lacks counts as lost.
    schema
        The owner's word on what the columns are: identifiers and text are left out, categories and
        points in time are read as it says. Its domains cut nothing.
    model
        The schema of the model that made the rows, for how cells are written. What it gave up as
        text was not the owner's choice, and counts as lost.
    """
    tables = read_both(real, synthetic)
    if not set(tables[0].names) & set(tables[1].names):
        raise InputError(
            f"{tables[0].source} and {within_sentence(tables[1].source)} have no column in common; "
            "give two tables of the same columns."
        )
    _check_schema(schema, tables[0])
    return _Cutter(*tables, schema, model).cut()


def _check_schema(schema: Schema | None, real: Table) -> None:
    if schema is None:
        return
    for attribute in schema.modelled:
        if attribute.name not in real.columns:
            raise InputError(
                f"{real.source} has no column {attribute.name!r}, which the schema describes; "
                f"add it or drop it from the schema."
            )
    for name in real.names:
        if name not in schema:
            raise InputError(
                f"{real.source} has a column {name!r} that the schema does not describe; "
                "describe it or drop it."
            )


@dataclass(frozen=True)
class _Cutter:
    """Cuts the columns of two tables, one by one."""

    real: Table
    synthetic: Table
    schema: Schema | None
    model: Schema | None

    def cut(self) -> Originals:
        names = [name for name in self.real.names if not self.is_left_out(name)]
        cuts = {name: self.column(name) for name in names}
        compared = {name: cut for name, cut in cuts.items() if cut is not None}
        if not compared:
            raise InputError("There is no column to compare: all of them are identifiers or text.")
        schema = Schema(tuple(cut.attribute for cut in compared.values()))
        sides = [self.side(place, schema, compared) for place in range(2)]
        missing = {name: self.missing(name) for name in names}
        # Free text has nothing missing where one word stands for all of it, and is told as lost.
        rows = [
            np.stack([missing[name][place] for name in compared]).sum(axis=0) for place in range(2)
        ]
        return Originals(
            schema,
            sides[0],
            sides[1],
            tuple(name for name in self.real.names if name not in compared),
            {name: (float(a.mean()), float(b.mean())) for name, (a, b) in missing.items()},
            (rows[0], rows[1]),
            tuple(name for name in names if name not in self.synthetic.columns),
            tuple(name for name in names if name not in compared and self.is_replaced(name)),
            tuple(found for name in names if (found := self.own_values(name)) is not None),
        )

    def side(self, place: int, schema: Schema, cuts: Mapping[str, Cut]) -> Side:
        table = (self.real, self.synthetic)[place]
        codes = {
            name: cut.codes[place].astype(np.min_scalar_type(cut.attribute.size))
            for name, cut in cuts.items()
        }
        numbers = {
            name: cut.numbers[place] for name, cut in cuts.items() if cut.numbers is not None
        }
        return Side(table, Coded(schema, codes, table.rows, ()), numbers)

    # ---- what a column is

    def hint(self, name: str) -> Attribute | None:
        """What is said about a column: by the owner, else by the model."""
        for schema in (self.schema, self.model):
            if schema is not None and name in schema:
                return schema[name]
        return None

    def is_left_out(self, name: str) -> bool:
        """Identifiers that no rows share are made for every row; text is left out where the owner
        says that it is.
        """
        if isinstance(self.hint(name), Identifier):
            return True
        if self.schema is not None and name in self.schema:
            return isinstance(self.schema[name], Text)
        return is_identifier(name) and tells_rows_apart(self.real.columns[name])

    def is_replaced(self, name: str) -> bool:
        """Whether a free text became one and the same, or nothing."""
        if name not in self.synthetic.columns:
            return True
        return len(set(read_words(self.synthetic.columns[name])[0]) - {""}) <= 1

    def own_values(self, name: str) -> OwnValues | None:
        if name not in self.synthetic.columns or isinstance(self.hint(name), Text):
            return None
        columns = self.real.columns[name], self.synthetic.columns[name]
        return find_own_values(name, *columns, self.missing(name))

    def missing(self, name: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        hint = Hint.of(self.hint(name))
        real = missing_cells(self.real.columns[name], hint)
        if name not in self.synthetic.columns:
            return real, np.zeros(self.synthetic.rows, dtype=bool)
        return real, missing_cells(self.synthetic.columns[name], hint)

    def column(self, name: str) -> Cut | None:
        """The column in cells; ``None`` where it is free text."""
        said = self.hint(name)
        ours = self.real.columns[name]
        theirs = self.synthetic.columns.get(name)
        if theirs is None:
            theirs = Column("text", np.zeros(self.synthetic.rows, dtype=np.intp), ("\0",))
        absent = self.missing(name)
        form = real_format(ours, absent[0], said)
        if form is not None:
            numbers = tuple(
                np.where(gone, np.nan, read_numbers(column, form))
                for column, gone in zip((ours, theirs), absent, strict=True)
            )
            return cut_numbers(name, form.kind, (numbers[0], numbers[1]), absent)
        if is_free_text(ours, absent[0], said):
            return None
        return cut_words(name, (ours, theirs), absent, said)


def real_format(column: Column, absent: NDArray[np.bool_], said: Attribute | None) -> Format | None:
    """How the numbers of the real column are written; ``None`` where it holds words."""
    present = column.values[~absent]
    if isinstance(said, Category) or not len(present) or column.kind in ("boolean", "empty"):
        return None
    if column.kind in ("integer", "real") and len(np.unique(present)) <= 2:
        return None  # 0 and 1 are a class, whatever else the synthetic column holds
    told = Hint.of(said).format
    if told is not None:
        read = ~np.isnan(read_numbers(column, told))
        if read[~absent].mean() >= KIND_SHARE:
            return told
    if column.kind != "text":
        return Format(column.kind)
    return find_format(column, absent)


def is_free_text(column: Column, absent: NDArray[np.bool_], said: Attribute | None) -> bool:
    """Whether a column of words has a different one in more than every second row."""
    if column.kind != "text" or (said is not None and said.modelled):
        return False
    places = read_words(column)[1][~absent]
    return len(np.unique(places)) > max(MIN_TEXTS, len(places) / 2)
