"""Frictionless Table Schema and data packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.data.codebooks.facts import CodebookRequest, Facts, FileDialect, Found, next_value

_KINDS = {
    "integer": "integer",
    "year": "integer",
    "number": "real",
    "string": "categorical",
    "yearmonth": "categorical",
    "boolean": "boolean",
    "date": "date",
    "datetime": "datetime",
    "time": "time",
    **dict.fromkeys(("duration", "object", "array", "list"), "text"),
    **dict.fromkeys(("geopoint", "geojson"), "text"),
}
_TEXT_FORMATS = {"email": "text", "uri": "text", "binary": "text", "uuid": "identifier"}


def is_frictionless(document: Any) -> bool:
    """Whether a JSON document is a Table Schema or a data package."""
    if not isinstance(document, Mapping):
        return False
    schema = document.get("schema")
    if isinstance(schema, Mapping) and _is_list(schema, "fields"):
        return True
    return _is_list(document, "fields") or _is_list(document, "resources")


def read_frictionless(document: Mapping[str, Any], asked: CodebookRequest) -> Found:
    """What a Table Schema, a resource or a data package says."""
    resource: Mapping[str, Any] = document
    if _is_list(document, "resources"):
        resource = _resource(document["resources"], asked)
    schema = resource
    if isinstance(resource.get("schema"), Mapping):
        schema = resource["schema"]
    if not _is_list(schema, "fields"):
        raise asked.bad('is no Table Schema: it has no list of "fields"')
    fields = schema["fields"]
    asked.check_count(len(fields))
    marks = _missing_marks(schema)
    key = schema.get("primaryKey", ())
    if not isinstance(key, list):
        key = [key]
    facts = [_facts(field, marks, key, asked) for field in fields]
    return Found(facts=facts, dialect=_dialect(resource))


def _is_list(document: Mapping[str, Any], name: str) -> bool:
    return isinstance(document.get(name), list)


def _resource(resources: list[Any], asked: CodebookRequest) -> Mapping[str, Any]:
    described = [
        (str(resource.get("name") or resource.get("path") or place), resource)
        for place, resource in enumerate(resources, start=1)
        if isinstance(resource, Mapping)
        and isinstance(resource.get("schema"), Mapping)
        and _is_list(resource["schema"], "fields")
    ]
    if not described:
        raise asked.bad("is a data package that describes the fields of no table")
    return asked.pick(described, "name the table's file too, or give that resource's schema alone")


def _dialect(resource: Mapping[str, Any]) -> FileDialect:
    given = resource.get("dialect")
    if not isinstance(given, Mapping):
        given = {}
    encoding = resource.get("encoding")
    if not isinstance(encoding, str):
        encoding = None
    return FileDialect(
        delimiter=_character(given.get("delimiter")),
        quote=_character(given.get("quoteChar")),
        encoding=encoding,
    )


def _character(given: Any) -> str | None:
    if isinstance(given, str) and len(given) == 1:
        return given
    return None


def _missing_marks(schema: Mapping[str, Any]) -> list[str]:
    """How missing cells are marked; a package that does not say means empty cells."""
    given = schema.get("missingValues", [""])
    if not isinstance(given, list):
        return [""]
    return [str(_value_of(mark)) for mark in given]


def _value_of(category: Any) -> Any:
    if isinstance(category, Mapping):
        return category.get("value")
    return category


def _facts(field: Any, marks: list[str], key: Any, asked: CodebookRequest) -> Facts:
    if not isinstance(field, Mapping) or not isinstance(field.get("name"), str):
        raise asked.bad("has a field without a name")
    name = field["name"]
    rules = field.get("constraints")
    if not isinstance(rules, Mapping):
        rules = {}
    kind = _KINDS.get(str(field.get("type", "string")))
    form = field.get("format")
    if kind == "categorical":
        kind = _TEXT_FORMATS.get(str(form), kind)
    if rules.get("unique") is True or list(key) == [name]:
        kind = "identifier"
    low, high = rules.get("minimum"), rules.get("maximum")
    if low is None and "exclusiveMinimum" in rules:
        low = next_value(kind, rules["exclusiveMinimum"], upper=False)
    if high is None and "exclusiveMaximum" in rules:
        high = next_value(kind, rules["exclusiveMaximum"], upper=True)
    values, labels = _values(field, rules)
    date_format = None
    if isinstance(form, str) and "%" in form:
        date_format = form
    return Facts(
        name=name,
        kind=kind,
        low=low,
        high=high,
        values=values,
        labels=labels,
        ordered=field.get("categoriesOrdered") is True,
        missing=_missing(field, rules, marks),
        format=date_format,
    )


def _values(
    field: Mapping[str, Any], rules: Mapping[str, Any]
) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    if isinstance(rules.get("enum"), list):
        return tuple(value for value in rules["enum"] if value is not None), ()
    categories = field.get("categories")
    if isinstance(categories, list):
        values = tuple(_value_of(category) for category in categories)
        labels = tuple(str(c.get("label")) for c in categories if isinstance(c, Mapping))
        if len(labels) != len(values):
            labels = ()
        return values, labels
    if field.get("type") == "boolean":
        pair = [field.get(name) for name in ("falseValues", "trueValues")]
        if all(isinstance(words, list) and words for words in pair):
            return tuple(words[0] for words in pair if words), ()
    return (), ()


def _missing(field: Mapping[str, Any], rules: Mapping[str, Any], marks: list[str]) -> bool | str:
    if rules.get("required") is True:
        return False
    own = field.get("missingValues")
    if isinstance(own, list):
        marks = [str(_value_of(mark)) for mark in own]
    if "" in marks:
        return True
    if marks:
        return marks[0]
    return False
