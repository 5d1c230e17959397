"""CSV on the Web (CSVW): metadata of tables, by the W3C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.data.codebooks.facts import CodebookRequest, Facts, FileDialect, Found, next_value

_INTEGERS = (
    *("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger"),
    *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    *("nonPositiveInteger", "negativeInteger", "gYear"),
)
_KINDS = {
    **dict.fromkeys(_INTEGERS, "integer"),
    **dict.fromkeys(("number", "decimal", "double", "float"), "real"),
    "boolean": "boolean",
    "date": "date",
    **dict.fromkeys(("dateTime", "datetime", "dateTimeStamp"), "datetime"),
    **dict.fromkeys(("string", "normalizedString", "token"), "categorical"),
    **dict.fromkeys(("anyURI", "xml", "html", "json", "duration"), "text"),
    "time": "time",
    **dict.fromkeys(("base64Binary", "hexBinary", "binary"), "text"),
}
_OWN_BOUNDS = {
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "unsignedByte": (0, 255),
    "byte": (-128, 127),
}
_UNICODE_DATES = (
    ("yyyy", "%Y"),
    ("MM", "%m"),
    ("dd", "%d"),
    ("HH", "%H"),
    ("mm", "%M"),
    ("ss", "%S"),
)


def is_csvw(document: Any) -> bool:
    """Whether a JSON document is CSVW metadata."""
    if not isinstance(document, Mapping):
        return False
    return isinstance(document.get("tableSchema"), Mapping) or "ns/csvw" in str(
        document.get("@context")
    )


def read_csvw(document: Mapping[str, Any], asked: CodebookRequest) -> Found:
    """What CSVW metadata says of a table, or of the one that is meant among several."""
    table: Mapping[str, Any] = document
    if isinstance(document.get("tables"), list):
        table = asked.pick(
            [
                (str(one.get("url", place)), one)
                for place, one in enumerate(document["tables"], start=1)
                if isinstance(one, Mapping)
            ],
            "name the table's file too",
        )
    schema = table.get("tableSchema", document.get("tableSchema"))
    if not isinstance(schema, Mapping) or not isinstance(schema.get("columns"), list):
        raise asked.bad("is CSVW metadata without the columns of a table")
    asked.check_count(len(schema["columns"]))
    key = schema.get("primaryKey")
    if isinstance(key, list) and len(key) == 1:
        key = key[0]
    inherited = {
        name: place[name]
        for place in (document, table, schema)
        for name in ("null", "required", "datatype")
        if name in place
    }
    facts = [
        _facts({**inherited, **column}, key, asked)
        for column in schema["columns"]
        if isinstance(column, Mapping) and not column.get("virtual")
    ]
    return Found(facts=facts, dialect=_dialect(table.get("dialect", document.get("dialect"))))


def _dialect(given: Any) -> FileDialect:
    if not isinstance(given, Mapping):
        return FileDialect()
    texts = {
        option: given[name]
        for option, name in (
            ("delimiter", "delimiter"),
            ("quote", "quoteChar"),
            ("encoding", "encoding"),
        )
        if isinstance(given.get(name), str)
    }
    return FileDialect(**texts)


def _facts(column: Mapping[str, Any], key: Any, asked: CodebookRequest) -> Facts:
    name = _title(column)
    if name is None:
        raise asked.bad("has a column without a name or a title")
    datatype = column.get("datatype", "string")
    if not isinstance(datatype, Mapping):
        datatype = {"base": datatype}
    base = str(datatype.get("base", "string"))
    kind = _KINDS.get(base)
    if key is not None and key == column.get("name"):
        kind = "identifier"
    low, high = _OWN_BOUNDS.get(base, (None, None))
    for given in ("minimum", "minInclusive"):
        low = datatype.get(given, low)
    for given in ("maximum", "maxInclusive"):
        high = datatype.get(given, high)
    if "minExclusive" in datatype:
        low = next_value(kind, datatype["minExclusive"], upper=False)
    if "maxExclusive" in datatype:
        high = next_value(kind, datatype["maxExclusive"], upper=True)
    form = datatype.get("format")
    return Facts(
        name=name,
        kind=kind,
        low=low,
        high=high,
        values=_values(kind, form),
        missing=_missing(column),
        format=_date_format(kind, form),
    )


def _title(column: Mapping[str, Any]) -> str | None:
    """What stands in the file's first line: a title, or the name where there is none."""
    given = column.get("titles", column.get("title"))
    while isinstance(given, list | Mapping) and given:
        if isinstance(given, Mapping):
            given = next(iter(given.values()))
        else:
            given = given[0]
    if isinstance(given, str) and given:
        return given
    name = column.get("name")
    if isinstance(name, str) and name:
        return name
    return None


def _values(kind: str | None, form: Any) -> tuple[str, ...]:
    """The values that a format lists: ``Y|N`` of a boolean, or ``a|b|c`` as a regular expression.

    CSVW knows no lists of values; people write them so.
    """
    if not isinstance(form, str) or "|" not in form:
        return ()
    bare = form.strip("^$").removeprefix("(").removesuffix(")")
    values = tuple(bare.split("|"))
    if kind == "boolean" and len(values) == 2:
        return values[1], values[0]  # CSVW names the true one first
    if kind == "categorical" and not set("\\[](){}.*+?^$") & set(bare):
        return values
    return ()


def _missing(column: Mapping[str, Any]) -> bool | str:
    if column.get("required") is True:
        return False
    marks = column.get("null", "")
    if isinstance(marks, list):
        marks = marks[0] if marks else ""
    return str(marks) or True


def _date_format(kind: str | None, form: Any) -> str | None:
    """A date format of Unicode's as one for ``strftime``; ``None`` for ISO 8601."""
    if kind not in ("date", "datetime") or not isinstance(form, str):
        return None
    if form in ("yyyy-MM-dd", "yyyy-MM-ddTHH:mm:ss", "yyyy-MM-dd HH:mm:ss"):
        return None
    for theirs, ours in _UNICODE_DATES:
        form = form.replace(theirs, ours)
    return form
