"""Tables that are safe to open in a spreadsheet, where a text that starts like a formula is run as
one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from understudy.data.files import show_name
from understudy.data.tables import MARKS, Table, table_suffix
from understudy.errors import InputError

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet may take for a formula, by OWASP's page on CSV injection."""

_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")


def check_spreadsheet_output(path: str | Path) -> None:
    """Only text files are opened by spreadsheets as they are."""
    if str(path) != "-" and (str(path).endswith("/") or table_suffix(path) == ".parquet"):
        raise InputError(
            f"{show_name(path)} is Parquet, where a text is never a formula; leave out "
            f"--safe-for-spreadsheets, or write CSV."
        )


def disarm_formulas(table: Table) -> Table:
    """The table with an apostrophe before every text, and every name, that starts like a formula.

    Numbers, and the marks of missing values, stay what they are.
    """
    columns = {
        _disarm(name): replace(
            column,
            words=tuple(_disarm(word) for word in column.words),
            mark=_disarm(column.mark),
        )
        for name, column in table.columns.items()
    }
    if len(columns) < len(table.columns):
        raise InputError(
            "Two columns would have the same name with an apostrophe before it; rename one of them."
        )
    return replace(table, columns=columns)


def _disarm(text: str) -> str:
    harmless = not text.startswith(FORMULA_STARTS) or text in MARKS or _NUMBER.fullmatch(text)
    if harmless:
        return text
    return f"'{text}"
