"""Codebooks: documents that say what is public about a table, in the formats that people have.

Each format has a reader, which yields :class:`~understudy.data.codebooks.facts.Facts` per column.
What a codebook does not say stays open in the form that comes out.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from understudy.data.codebooks.csvw import is_csvw, read_csvw
from understudy.data.codebooks.ddi import read_ddi
from understudy.data.codebooks.facts import (
    Codebook,
    CodebookRequest,
    Facts,
    FileDialect,
    Found,
    table_stem,
)
from understudy.data.codebooks.frictionless import is_frictionless, read_frictionless
from understudy.data.codebooks.json_schema import is_json_schema, read_json_schema
from understudy.data.codebooks.labels import is_spss, is_stata, read_spss, read_stata
from understudy.data.codebooks.sql import read_sql
from understudy.data.codebooks.statistics_files import STATISTICS_SUFFIXES, read_statistics_file
from understudy.data.codebooks.two_columns import read_two_columns
from understudy.data.files import existing_file, parse_json
from understudy.data.forms import Form
from understudy.errors import InputError

__all__ = ["FORMATS", "Codebook", "Facts", "FileDialect", "read_codebook"]

MAX_CODEBOOK = 1 << 25
"""Bytes of a codebook; a larger one is refused."""

FORMATS = {
    "frictionless": "Frictionless Table Schema or data package (JSON)",
    "csvw": "CSV on the Web metadata (JSON)",
    "json-schema": "JSON Schema of a row",
    "understudy": "a schema of ours, in which facts may be null",
    "ddi": "DDI-Codebook (XML)",
    "sql": "CREATE TABLE statements",
    "stata": "a do-file with label commands, or a .dta file",
    "spss": "a syntax file with VALUE LABELS, or a .sav file",
    "csv": "two columns: names and allowed values",
}
"""The formats by name."""

_BY_SUFFIX = {".xml": "ddi", ".sql": "sql", ".ddl": "sql", ".do": "stata", ".sps": "spss"}


def read_codebook(
    path: str | Path,
    *,
    format: str | None = None,
    table: str | None = None,
    labels: bool = False,
) -> Codebook:
    """Read a codebook.

    Parameters
    ----------
    path
        The file.
    format
        One of ``FORMATS``; by default told by what the file holds and by its suffix.
    table
        The table's file, for codebooks that describe several.
    labels
        Whether cells of the table hold the labels of values rather than their codes.

    Examples
    --------
    >>> book = read_codebook("survey.datapackage.json")      # doctest: +SKIP
    >>> book.form.open_facts()                               # doctest: +SKIP
    {'income': ('min', 'max')}
    """
    path = existing_file(path, "codebook")
    if format is not None and format not in FORMATS:
        raise InputError(f"There is no codebook format {format!r}; known are {', '.join(FORMATS)}.")
    stem = None
    if table is not None:
        stem = table_stem(str(table))
    asked = CodebookRequest(source=f"The codebook {path}", table=stem)
    if path.suffix.lower() in STATISTICS_SUFFIXES:
        return _finish(read_statistics_file(path, asked), path.suffix[1:], asked, labels)
    data = _bytes(path, asked)
    if format is None:
        format = _recognise(path, data, asked)
    if format in ("frictionless", "csvw", "json-schema", "understudy"):
        document = parse_json(data, f"codebook {path}")
        if format == "understudy":
            return Codebook(form=Form.from_dict(document, asked.source), format=format)
        found = _JSON[format](_mapping(document, asked), asked)
    elif format == "ddi":
        found = read_ddi(data, asked)
    else:
        found = _TEXTS[format](_text(data, asked), asked)
    return _finish(found, format, asked, labels)


_JSON: dict[str, Callable[[Any, CodebookRequest], Found]] = {
    "frictionless": read_frictionless,
    "csvw": read_csvw,
    "json-schema": read_json_schema,
}
_TEXTS: dict[str, Callable[[str, CodebookRequest], Found]] = {
    "sql": read_sql,
    "stata": read_stata,
    "spss": read_spss,
    "csv": read_two_columns,
}


def _bytes(path: Path, asked: CodebookRequest) -> bytes:
    """What the file holds, unpacked; never more than the limit."""
    try:
        with path.open("rb") as raw:
            data = raw.read(MAX_CODEBOOK + 1)
        if data[:2] == b"\x1f\x8b":
            with gzip.open(path, "rb") as unpacked:
                data = unpacked.read(MAX_CODEBOOK + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise asked.bad("cannot be read; is it damaged?") from error
    if len(data) > MAX_CODEBOOK:
        raise asked.bad(f"is larger than {MAX_CODEBOOK >> 20} MB; is it really a codebook?")
    if not data.strip():
        raise asked.bad("is empty")
    return data


def _text(data: bytes, asked: CodebookRequest) -> str:
    for encoding in (
        ("utf-8-sig", "utf-16")
        if data[:2] in (b"\xff\xfe", b"\xfe\xff")
        else (
            "utf-8-sig",
            "cp1252",
        )
    ):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise asked.bad("is not a text file; is it the right one?")


def _recognise(path: Path, data: bytes, asked: CodebookRequest) -> str:
    """The format, by what the file holds, then by its suffix."""
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] in (b"{", b"["):
        return _recognise_json(parse_json(data, f"codebook {path}"), asked)
    if start[:1] == b"<":
        return "ddi"
    text = _text(data, asked)
    if by_suffix := _BY_SUFFIX.get(path.suffix.lower()):
        return by_suffix
    if "create table" in " ".join(text[:100_000].lower().split()):
        return "sql"
    if is_stata(text):
        return "stata"
    if is_spss(text):
        return "spss"
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        return "csv"
    raise asked.bad(f"has a format that is not known; give one of {', '.join(FORMATS)}")


def _recognise_json(document: Any, asked: CodebookRequest) -> str:
    if is_frictionless(document):
        return "frictionless"
    if is_csvw(document):
        return "csvw"
    if isinstance(document, dict) and "attributes" in document:
        return "understudy"
    if is_json_schema(document):
        return "json-schema"
    raise asked.bad(
        "is JSON, but no data package, Table Schema, CSVW metadata, JSON Schema or schema of ours"
    )


def _mapping(document: Any, asked: CodebookRequest) -> Any:
    if not isinstance(document, dict):
        raise asked.bad("must be a JSON object")
    return document


def _finish(found: Found, format: str, asked: CodebookRequest, labels: bool) -> Codebook:
    if not found.facts:
        raise asked.bad("describes no column")
    times = Counter(facts.name for facts in found.facts)
    twice = [name for name, count in times.items() if count > 1]
    if twice:
        raise asked.bad(f"describes the column {twice[0]!r} twice; leave one out")
    entries = {facts.name: facts.entry(use_labels=labels) for facts in found.facts}
    other: dict[str, Any] = {}
    if found.dialect.reading():
        other["reading"] = found.dialect.reading()
    return Codebook(
        form=Form(entries, asked.source, other).check(),
        format=format,
        dialect=found.dialect,
        notes=found.notes,
    )
