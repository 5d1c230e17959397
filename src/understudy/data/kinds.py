"""What kind of values the columns of a CSV file hold, told by SQL from all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from understudy.data.csv_files import MARKS
from understudy.data.sql import quote_name

_INTEGER = r"[-+]?(0|[1-9][0-9]{0,17})"
_REAL = r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?"
# The engine's calendar has a year 0 and an hour 24; Python's, by which schemas are read, has not.
_DATE = r"([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-[0-9]{2}-[0-9]{2}"
_MINUTE = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_DATETIME = rf"{_DATE}[ T]{_MINUTE}(:[0-5][0-9](\.[0-9]+)?)?"
_TESTS = {
    "integer": f"regexp_full_match(<v>, '{_INTEGER}')",
    "real": f"regexp_full_match(<v>, '{_REAL}')",
    "date": f"regexp_full_match(<v>, '{_DATE}') AND try_cast(<v> AS DATE) IS NOT NULL",
    "datetime": f"regexp_full_match(<v>, '{_DATETIME}') AND try_cast(<v> AS TIMESTAMP) IS NOT NULL",
}


def csv_kinds(ask: DistinctAsker, relation: str, names: Collection[str]) -> dict[str, str]:
    """Of each column the narrowest kind that all of its values fit; "empty" where there are none.

    A number with a needless leading zero makes the column text: it is a code (a postcode, say) that
    must keep its zeros.
    """
    conditions: dict[tuple[str, str], str] = {}
    for name in names:
        value = f"trim({quote_name(name)})"
        present = f"NOT regexp_full_match({value}, '{_MARKED}')"
        conditions[name, "something"] = f"{quote_name(name)} <> ''"
        conditions[name, "present"] = present
        for kind, test in _TESTS.items():
            conditions[name, kind] = f"{present} AND NOT ({test.replace('<v>', value)})"
    found = find_anywhere(ask, relation, conditions)

    def kind_of(name: str) -> str:
        if (name, "present") in found:
            return next((kind for kind in _TESTS if (name, kind) not in found), "text")
        if (name, "something") in found:
            return "text"
        return "empty"

    return {name: kind_of(name) for name in names}


DistinctAsker = Callable[[str], Sequence[Any]]
"""Puts a query whose answer is one row, and gives its values."""

_FEW_ROWS = 1000
_CONDITIONS_AT_A_TIME = 500


def find_anywhere(ask: DistinctAsker, relation: str, conditions: Mapping[Any, str]) -> set[Any]:
    """Which of the conditions hold in some row of a relation.

    What a few rows show is settled; only for the rest all of them are looked at. So the answer is
    the same whichever the few are.
    """
    found: set[Any] = set()
    count = 0
    for rows in (f"(SELECT * FROM {relation} LIMIT {_FEW_ROWS}) few", relation):
        unsettled = [key for key in conditions if key not in found]
        for first in range(0, len(unsettled), _CONDITIONS_AT_A_TIME):
            keys = unsettled[first : first + _CONDITIONS_AT_A_TIME]
            parts = ", ".join(
                f"COALESCE(max(CASE WHEN {conditions[key]} THEN 1 ELSE 0 END), 0) AS f{i}"
                for i, key in enumerate(keys)
            )
            count, *answer = ask(f"SELECT count(*) AS n, {parts} FROM {rows}")
            found.update(key for key, holds in zip(keys, answer, strict=True) if holds)
        if not unsettled or count < _FEW_ROWS:  # those few are all
            break
    return found


# One pattern: DuckDB takes a millisecond to plan a list of 39 words, wherever it stands.
_MARKED = "|".join(map(re.escape, MARKS))
_MARKS_SQL = ", ".join(f"'{mark}'" for mark in MARKS)
CASTS = {
    "integer": "CAST({v} AS BIGINT)",
    "real": "CAST({v} AS DOUBLE)",
    "boolean": "CAST({v} AS BOOLEAN)",
    "date": "date_diff('day', DATE '1970-01-01', CAST({v} AS DATE))",
    # Cut first: a double holds whole seconds, but not always microseconds.
    "datetime": "CAST(epoch(date_trunc('second', CAST({v} AS TIMESTAMP))) AS BIGINT)",
}


def csv_number(name: str, kind: str) -> tuple[str, str]:
    """How SQL reads a cell of a CSV file as a number (a date is one, too) and how the cell says
    that it is missing.

    The number is NULL where it is missing. Of the second, 0 means that it is there, else see
    :class:`Column`.
    """
    value = f"trim({quote_name(name)})"
    mark = (
        f"CASE WHEN {value} IS NULL THEN 1 ELSE coalesce(list_position([{_MARKS_SQL}], "
        f"{value}), 0) END"
    )
    return CASTS[kind].format(v=f"CASE WHEN {mark} = 0 THEN {value} END"), mark


def csv_format(ask: DistinctAsker, relation: str, names: Collection[str]) -> dict[str, str]:
    """How columns of datetimes of a CSV file are written: with a T before the time, if all are, to
    the second.
    """
    pattern = f"{_DATE}T{_MINUTE}:[0-5][0-9]"
    others = {}
    for name in names:
        value = f"trim({quote_name(name)})"
        others[name] = f"NOT regexp_full_match({value}, '{_MARKED}|{pattern}')"
    found = find_anywhere(ask, relation, others)
    return {name: "" if name in found else "%Y-%m-%dT%H:%M:%S" for name in names}
