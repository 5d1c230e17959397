"""A table of names and allowed values, as people keep it in a spreadsheet.

    column,values,missing
    age,0..120,
    sex,F|M,yes
    weight,real 0..300,
    admitted,2020-01-01..2024-12-31,
    country,vocabulary iso-3166-1,
    score_*,1|2|3|4|5,
    notes,text,

One line per column, or one line per value of it. The third column may be left out.
"""

from __future__ import annotations

import csv
import io
import re

from understudy.data.codebooks.facts import (
    CodebookRequest,
    Facts,
    Found,
    as_number,
    kind_of_range,
    read_range,
)
from understudy.data.forms import NEEDED

_NAME_HEADINGS = ("column", "name", "variable", "field", "attribute")
_NO = ("", "no", "false", "n", "0")
_YES = ("yes", "true", "y", "1")


def read_two_columns(text: str, asked: CodebookRequest) -> Found:
    """What a table of names and allowed values says."""
    try:
        reader = csv.reader(io.StringIO(text), delimiter=_delimiter(text))
        lines = [line for line in reader if any(line)]
    except csv.Error as error:
        raise asked.bad(f"cannot be read as CSV ({error}); check its quotes") from error
    if lines and lines[0][0].strip().lower() in _NAME_HEADINGS:
        lines = lines[1:]
    if not lines:
        raise asked.bad("describes no column")
    said: dict[str, list[str]] = {}
    missing: dict[str, bool | str] = {}
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line]
        if not 2 <= len(cells) <= 3 or not cells[0]:
            raise asked.bad(
                f"has {len(cells)} cells in entry {number}, which begins with {cells[0][:20]!r}; "
                "there should be a name, its values and perhaps a missing mark (values that hold "
                "commas stand in quotes)"
            )
        said.setdefault(cells[0], []).append(cells[1])
        if len(cells) == 3:
            missing[cells[0]] = _missing(cells[2])
    asked.check_count(len(said))
    facts = [_facts(name, cells, missing.get(name)) for name, cells in said.items()]
    return Found(facts=facts)


def _delimiter(text: str) -> str:
    first = text.lstrip().split("\n", 1)[0]
    return max(",;\t", key=lambda mark: (first.count(mark) == 1, first.count(mark), mark == ","))


def _missing(cell: str) -> bool | str:
    if cell.lower() in _NO:
        return False
    if cell.lower() in _YES:
        return True
    return cell


def _facts(name: str, cells: list[str], missing: bool | str | None) -> Facts:
    if len(cells) > 1:
        return list_facts(name, cells, missing)
    return read_values(name, cells[0], missing)


def read_values(name: str, text: str, missing: bool | str | None = None) -> Facts:
    """What a cell says: a kind, a range, a vocabulary or a list of values."""
    first, _, rest = text.partition(" ")
    kind, rest = first.lower().rstrip(":"), rest.strip()
    if kind in ("vocabulary", "vocabulary:") and rest:
        return Facts(name=name, vocabulary=rest, missing=missing)
    if kind in NEEDED:
        if not rest:
            return Facts(name=name, kind=kind, missing=missing)
        if ends := read_range(rest):
            return Facts(name=name, kind=kind, low=ends[0], high=ends[1], missing=missing)
        text = rest
    elif ends := read_range(text):
        kind = kind_of_range(*ends) or "real"
        return Facts(name=name, kind=kind, low=ends[0], high=ends[1], missing=missing)
    if not text:
        return Facts(name=name, missing=missing)
    separator = next((mark for mark in "|;," if mark in text), "|")
    values = [value.strip() for value in text.split(separator) if value.strip()]
    facts = list_facts(name, values, missing)
    if kind == "boolean" and len(values) == 2:
        return Facts(name=name, kind="boolean", values=facts.values, missing=missing)
    return facts


def list_facts(name: str, values: list[str], missing: bool | str | None) -> Facts:
    """A list of values, each of which may have a label: ``1=male``."""
    labels: list[str] = []
    if values and all(re.match(r"[^<>=!]+=(?!=)", value) for value in values):
        pairs = [value.split("=", 1) for value in values]
        values, labels = ([part.strip() for part in side] for side in zip(*pairs, strict=True))
    numbers = [as_number(value) for value in values]
    are_numbers = all(map(_is_number, values, numbers))
    return Facts(
        name=name,
        kind="categorical",
        values=tuple(numbers if are_numbers else values),
        labels=tuple(labels),
        missing=missing,
    )


def _is_number(value: str, number: float | None) -> bool:
    """Whether a text is a number as one writes it: 007 is a code, not a number."""
    return number is not None and not re.match(r"[-+]?0[0-9]", value)
