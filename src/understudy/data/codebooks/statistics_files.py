"""Files of Stata (.dta) and SPSS (.sav): their variables and labels, never a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from understudy.data.codebooks.facts import CodebookRequest, Facts, Found
from understudy.errors import InputError

STATISTICS_SUFFIXES = (".dta", ".sav", ".zsav", ".por")


def read_statistics_file(path: Path, asked: CodebookRequest) -> Found:
    """What the head of the file says; rows are not read."""
    try:
        import pyreadstat
    except ImportError as error:
        raise InputError(
            f"Reading {path.suffix} files needs the package pyreadstat; "
            "pip install 'understudy[codebooks]'."
        ) from error
    readers = {
        ".dta": pyreadstat.read_dta,
        ".sav": pyreadstat.read_sav,
        ".zsav": pyreadstat.read_sav,
        ".por": pyreadstat.read_por,
    }
    try:
        _, head = readers[path.suffix.lower()](str(path), metadataonly=True)
    except Exception as error:  # the library has errors of several kinds, from C too
        raise asked.bad("cannot be read; is it damaged?") from error
    asked.check_count(len(head.column_names))
    return Found(facts=[_facts(name, head) for name in head.column_names])


def _facts(name: str, head: Any) -> Facts:
    labelled = dict(head.variable_value_labels.get(name, {}))
    measure = head.variable_measure.get(name, "unknown")
    marks = [
        found["lo"] for found in head.missing_ranges.get(name, ()) if found["lo"] == found["hi"]
    ]
    missing: bool | str = True
    if len(marks) == 1:
        missing = _mark(marks[0])
        labelled.pop(marks[0], None)
    if measure == "scale" and not _covers(labelled):
        labelled = {}
    return Facts(
        name=name,
        kind=_kind(name, head, bool(labelled)),
        values=tuple(labelled),
        labels=tuple(str(label) for label in labelled.values()),
        ordered=measure == "ordinal",
        missing=missing,
    )


def _covers(labelled: dict[Any, str]) -> bool:
    """Whether labels name all values of a variable rather than a few special ones."""
    return len(labelled) > 2


def _mark(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _kind(name: str, head: Any, labelled: bool) -> str | None:
    if labelled:
        return "categorical"
    written = head.original_variable_types.get(name, "").upper()
    if written.startswith(("DATETIME", "%TC")):
        return "datetime"
    if written.startswith(("DATE", "ADATE", "EDATE", "SDATE", "%TD")):
        return "date"
    stored = head.readstat_variable_types.get(name, "")
    if stored == "string":
        return "categorical"
    if stored.startswith("int") or (written.startswith("F") and written.endswith(".0")):
        return "integer"
    return "real"
