"""What a person asks for: from the fields of a form to a spec, and what it would cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from understudy.data.schema import Schema
from understudy.errors import InputError, UnderstudyError
from understudy.hub import operations
from understudy.hub.amounts import Price
from understudy.hub.protection import read_protected
from understudy.hub.records import Dataset
from understudy.hub.web.forms import Form

LABELS = {
    "access": "Access",
    "synthesise": "A synthetic table",
    "ask": "A number, with its error",
    "learn": "A trained model",
}
MAX_PLANNED_TABLES = 12


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a request would cost and be worth, or what is wrong with it.

    Parameters
    ----------
    price
        What it would cost; nothing where the spec is not right yet.
    problem
        What is wrong with it.
    lines
        What to expect, a sentence each.
    tables
        For a synthetic table: columns with the noise and the error to expect.
    """

    price: Price = field(default_factory=Price)
    problem: str = ""
    lines: tuple[str, ...] = ()
    tables: tuple[dict[str, Any], ...] = ()


def read_spec(form: Form, operation: str) -> dict[str, Any]:
    """The spec that the fields of a form describe."""
    spec: dict[str, Any] = {
        "epsilon": form.number("epsilon", "Epsilon"),
        "delta": form.number("delta", "Delta", 0.0),
    }
    if operation == "synthesise":
        method = form.text("method", "The method", most=200)
        spec["format"] = form.choice("format", "The format", operations.FORMATS)
        foreign, _, digest = method.partition("@")
        spec["method"] = foreign
        if digest:
            spec["algorithm"] = digest
        if form.text("rows", "The number of rows", required=False):
            spec["rows"] = form.whole("rows", "The number of rows")
    elif operation == "ask":
        text = form.text("questions", "The question")
        spec["questions"] = [line.strip() for line in text.splitlines() if line.strip()]
    elif operation == "learn":
        spec["learner"] = form.text("learner", "The learner", most=100)
        target = form.text("target", "The target", required=False, most=500)
        if target:
            spec["target"] = target
    else:
        raise InputError("There is nothing of this kind to ask for.")
    return spec


def preview(operation: str, spec: dict[str, Any], dataset: Dataset) -> Preview:
    """What a spec would cost and be worth; from public facts alone."""
    protected = read_protected(dataset.neighbours, dataset.unit)
    try:
        schema = Schema.from_dict(dict(dataset.schema), "The schema")
        price = Price.of(*operations.price(operation, spec))
        found = operations.preview(operation, spec, schema, protected, dataset.about_rows)
    except UnderstudyError as error:
        return Preview(problem=str(error))
    return Preview(
        price=price,
        lines=tuple(_sentences(operation, found, dataset)),
        tables=tuple(found.get("tables", ())),
    )


def _sentences(operation: str, found: dict[str, Any], dataset: Dataset) -> list[str]:
    if operation == "ask":
        return [str(one["sentence"]) for one in found.get("answers", ())]
    if operation == "learn":
        return [f"It is fitted to {len(found.get('features', ()))} columns."]
    rounds = found.get("rounds")
    if rounds is None:
        return [
            "The owner has not said how many rows there are, so that the error is not foreseen."
        ]
    return [
        f"With about {dataset.about_rows:,} rows: noise of ±{rounds['deviation']:.3g} rows per "
        f"cell; tables of up to {rounds['cells']:,} cells are worth measuring, and such a table is "
        f"off by {rounds['error']:.1%} in total."
    ]


def describe(operation: str, spec: dict[str, Any]) -> list[tuple[str, str]]:
    """A spec as lines of a list, for whoever decides."""
    lines = []
    for name, value in spec.items():
        if value in (None, "", {}, []) or name in ("epsilon", "delta"):
            continue
        if isinstance(value, list | tuple):
            value = "; ".join(str(part) for part in value)
        lines.append((name, str(value)))
    return lines
