"""Conditions on single attributes, as people write them: in Python, or on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.errors import InputError
from understudy.models.query.subsets import Subset, between, equal_to


def read_conditions(given: Mapping[str, Any], schema: Schema) -> dict[str, Subset]:
    """Conditions as a person writes them, one per attribute.

    Parameters
    ----------
    given
        For an attribute a value, a ``(low, high)`` range with both ends included (``None`` leaves
        one open), ``None`` for missing, or a list (or set) of these.
    schema
        What the attributes are.
    """
    if not isinstance(given, Mapping):
        raise InputError(
            'The condition must be a mapping such as {"sex": "Female", "age": (30, 40)}.'
        )
    subsets = {}
    for name, wanted in given.items():
        attribute = schema[name]
        if not attribute.modelled:
            raise InputError(
                f"{name!r} is {attribute.kind} and generated for every row; it cannot be a "
                "condition."
            )
        subset = _read_condition(attribute, wanted)
        if not subset.shares().any():
            raise InputError(
                f"No value of {name!r} fits the condition {wanted!r}; its domain is "
                f"{domain_text(attribute)}."
            )
        subsets[name] = subset
    return subsets


def _read_condition(attribute: Attribute, wanted: Any) -> Subset:
    if isinstance(wanted, tuple):
        if len(wanted) != 2:
            raise InputError(
                f"A range of {attribute.name!r} has two ends, (low, high); several values are a "
                "list."
            )
        return between(attribute, *wanted)
    if isinstance(wanted, list | set | frozenset | np.ndarray):
        found = Subset(attribute)
        for part in wanted:
            found = found | _read_condition(attribute, part)
        return found
    return equal_to(attribute, wanted)


def parse_conditions(conditions: Iterable[str], schema: Schema) -> dict[str, Any]:
    """Conditions as on the command line: ``sex=Female``, ``age=30..40``, ``job=Sales|Clerk``,
    ``income=missing``.
    """
    given: dict[str, Any] = {}
    for condition in conditions:
        name, equals, text = condition.partition("=")
        name, text = name.strip(), text.strip()
        if not equals or not name:
            raise InputError(
                f"The condition {condition!r} is not of the form name=value, such as age=30..40."
            )
        if name in given:
            raise InputError(
                f"There are two conditions on {name!r}; make it one, such as {name}=this|that."
            )
        given[name] = _from_text(schema[name], text)
    return given


def _from_text(attribute: Attribute, text: str) -> Any:
    listed = isinstance(attribute, Category) and text in map(str, attribute.domain)
    if listed:
        return text
    if attribute.missing is not None and text in ("", "missing", attribute.missing):
        return None
    if "|" in text:
        return [_from_text(attribute, part.strip()) for part in text.split("|")]
    low, dots, high = text.partition("..")
    if dots and (
        isinstance(attribute, Quantity)
        or (isinstance(attribute, Category) and _is_ordered(attribute))
    ):
        return (low.strip() or None, high.strip() or None)
    return text


def _is_ordered(attribute: Category) -> bool:
    return attribute.ordered or not isinstance(attribute.domain[0], str)


def domain_text(attribute: Attribute) -> str:
    """The domain of an attribute in a few words."""
    if isinstance(attribute, Quantity):
        if attribute.whole:
            last = attribute.edges[-1] - 1
        else:
            last = attribute.edges[-1]
        return f"{attribute.write(attribute.edges[0])} to {attribute.write(last)}"
    labels = [attribute.label(code) for code in range(min(attribute.size, 6))]
    return ", ".join(labels) + (", ..." if attribute.size > 6 else "")
