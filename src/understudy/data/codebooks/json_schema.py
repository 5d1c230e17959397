"""JSON Schema of a row: an object with a property per column, or an array of such objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.data.codebooks.facts import CodebookRequest, Facts, Found, next_value

_KINDS = {
    "integer": "integer",
    "number": "real",
    "string": "categorical",
    "boolean": "boolean",
    "object": "text",
    "array": "text",
}
_FORMATS = {
    "date": "date",
    "date-time": "datetime",
    "uuid": "identifier",
    **dict.fromkeys(("email", "idn-email", "uri", "iri", "hostname", "ipv4", "ipv6"), "text"),
    "time": "time",
    **dict.fromkeys(("duration", "regex"), "text"),
}
_MAX_REFERENCES = 32
"""How many references may lead from one to the next: a circle of them has no end."""


def is_json_schema(document: Any) -> bool:
    """Whether a JSON document is a JSON Schema of a row or of rows."""
    if not isinstance(document, Mapping):
        return False
    return _is_object(document) or _is_object(document.get("items")) or "$schema" in document


def _is_object(schema: Any) -> bool:
    return isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping)


def read_json_schema(document: Mapping[str, Any], asked: CodebookRequest) -> Found:
    """What a JSON Schema says."""
    row = _resolve(document, document, asked)
    if not _is_object(row) and isinstance(row.get("items"), Mapping):
        row = _resolve(row["items"], document, asked)
    if not _is_object(row):
        raise asked.bad('is a JSON Schema without "properties", one per column')
    asked.check_count(len(row["properties"]))
    required = row.get("required")
    if not isinstance(required, list):
        required = []
    facts = [
        _facts(name, _resolve(given, document, asked), required, asked)
        for name, given in row["properties"].items()
    ]
    return Found(facts=facts)


def _resolve(given: Any, document: Mapping[str, Any], asked: CodebookRequest) -> Mapping[str, Any]:
    """What a reference leads to, inside this document only."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(given, Mapping):
            return {}
        reference = given.get("$ref")
        if not isinstance(reference, str):
            return given
        if not reference.startswith("#"):
            raise asked.bad(
                f"refers to another document, {reference[:60]!r}, which is not looked up; put the "
                "definition into this one"
            )
        given = _at(document, reference)
    raise asked.bad("has references that lead from one to the next without an end")


def _at(document: Any, reference: str) -> Any:
    for step in reference.lstrip("#").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if key and isinstance(document, Mapping):
            document = document.get(key)
    return document


def _facts(
    name: str, schema: Mapping[str, Any], required: list[Any], asked: CodebookRequest
) -> Facts:
    types = schema.get("type")
    if not isinstance(types, list):
        types = [types]
    missing = name not in required or "null" in types
    named = [one for one in types if one not in (None, "null")]
    kind = None
    if len(named) == 1:
        kind = _KINDS.get(str(named[0]))
    if kind == "categorical":
        kind = _FORMATS.get(str(schema.get("format")), kind)
    values, labels = _values(schema)
    low, high = schema.get("minimum"), schema.get("maximum")
    for option, upper in (("exclusiveMinimum", False), ("exclusiveMaximum", True)):
        given = schema.get(option)
        if given is None or isinstance(given, bool):
            continue
        if upper:
            high = next_value(kind, given, upper=True)
        else:
            low = next_value(kind, given, upper=False)
    return Facts(
        name=name,
        kind=kind,
        low=low,
        high=high,
        values=tuple(value for value in values if value is not None),
        labels=labels,
        missing=missing or None in values,
    )


def _values(schema: Mapping[str, Any]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    if isinstance(schema.get("enum"), list):
        return tuple(v for v in schema["enum"] if not isinstance(v, list | Mapping)), ()
    if "const" in schema:
        return (schema["const"],), ()
    for option in ("oneOf", "anyOf"):
        choices = schema.get(option)
        if (
            isinstance(choices, list)
            and choices
            and all(isinstance(choice, Mapping) and "const" in choice for choice in choices)
        ):
            labels = tuple(str(c["title"]) for c in choices if "title" in c)
            if len(labels) != len(choices):
                labels = ()
            return tuple(choice["const"] for choice in choices), labels
    return (), ()
