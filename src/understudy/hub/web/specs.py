"""What a person asks for: from the fields of a form to a spec, and what it would cost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from understudy.data.schema import Schema
from understudy.errors import InputError, UnderstudyError
from understudy.hub import operations
from understudy.hub.amounts import Price
from understudy.hub.protection import read_protected
from understudy.hub.records import Dataset
from understudy.hub.web.forms import WebForm
from understudy.synthesizers.parameters import Parameter, file_parameters
from understudy.synthesizers.registry import DEFAULT, Method, find_method

LABELS = {
    "access": "Access",
    "synthesise": "A synthetic table",
    "ask": "A number, with its error",
    "learn": "A trained model",
    "survey": "The table of a survey",
}


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


def read_spec(form: WebForm, operation: str) -> dict[str, Any]:
    """The spec that the fields of a form describe."""
    spec: dict[str, Any] = {
        "epsilon": form.number("epsilon", "Epsilon"),
        "delta": form.number("delta", "Delta", 0.0),
    }
    if operation == "synthesise":
        method = form.text("method", "The method", most=200)
        spec["format"] = form.choice("format", "The format", operations.ROW_FORMATS)
        foreign, _, digest = method.partition("@")
        spec["method"] = foreign
        if digest:
            spec["algorithm"] = digest
        elif parameters := _read_options(form, foreign):
            spec["parameters"] = parameters
        if form.text("rows", "The number of rows", required=False):
            spec["rows"] = form.whole("rows", "The number of rows")
    elif operation == "ask":
        text = form.text("questions", "The question")
        spec["questions"] = [line.strip() for line in text.splitlines() if line.strip()]
    elif operation == "learn":
        spec["learner"] = form.text("learner", "The learner", most=100)
        if parameters := _read_learner_options(form, spec["learner"]):
            spec["parameters"] = parameters
        target = form.text("target", "The target", required=False, most=500)
        if target:
            spec["target"] = target
    else:
        raise InputError("There is nothing of this kind to ask for.")
    return spec


def list_options(method: Method) -> list[Parameter]:
    """The parameters of a method that a form has fields for."""
    hidden = file_parameters(method.kind)
    return [one for one in method.parameters if one.option is not None and one.name not in hidden]


def _read_options(form: WebForm, name: str) -> dict[str, Any]:
    """The options of a method that were typed; the others stay at their defaults."""
    found: dict[str, Any] = {}
    for one in list_options(find_method(name)):
        typed = form.text(f"option_{name}_{one.name}", one.name, required=False, most=1000)
        if not typed:
            continue
        try:
            if one.constraint.repeatable:
                found[one.name] = [one.constraint.parse(part) for part in typed.split(";")]
            else:
                found[one.name] = one.constraint.parse(typed)
        except (ValueError, TypeError):
            raise InputError(f"{one.name} must be {one.constraint}, not {typed!r}.") from None
    return found


def list_learner_options(learner: str) -> dict[str, str]:
    """The parameters of a learner that a form has fields for, with what stands for an empty one."""
    from understudy.learners.training import NOT_KEPT, find_learner

    known = find_learner(learner)().get_params(deep=False)
    wanted = known.keys() - {*NOT_KEPT, "epsilon", "delta"}
    return {
        name: "chosen by the learner" if known[name] is None else str(known[name])
        for name in sorted(wanted)
    }


def _read_learner_options(form: WebForm, learner: str) -> dict[str, Any]:
    """The parameters of a learner that were typed: numbers, or words; the learner checks them."""
    found: dict[str, Any] = {}
    for name in list_learner_options(learner):
        typed = form.text(f"option_{learner}_{name}", name, required=False, most=100)
        if not typed:
            continue
        found[name] = typed
        with suppress(ValueError):
            found[name] = float(typed)
            found[name] = int(typed)
    return found


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
    rounds, network = found.get("rounds"), found.get("network")
    if rounds is None or network is None:
        return [
            "The owner has not said how many rows there are, so that the error is not foreseen."
        ]
    # An error must be that of one table: the largest one worth measuring grows with epsilon, and
    # so does its error, which reads as if more epsilon made things worse.
    pair = network["typical_size"] ** 2
    error = min(rounds["error"] * pair / rounds["cells"], 1.0)
    noise = f"noise of ±{rounds['deviation']:.3g} rows per cell"
    return [
        f"With about {dataset.about_rows:,} rows: a table of two typical columns ({pair:,} cells) "
        f"is off by about {100 * error:.2g}% in total, with {noise}.",
        f"Tables of up to {rounds['cells']:,} cells are worth measuring: more epsilon makes this "
        "number larger and the error smaller.",
    ]


def describe(operation: str, spec: dict[str, Any]) -> list[tuple[str, str]]:
    """A spec as lines of a list, for whoever decides."""
    lines = []
    if operation == "synthesise":
        spec = {"method": DEFAULT, **spec}
    for name, value in spec.items():
        if value in (None, "", {}, []) or name in ("epsilon", "delta"):
            continue
        if isinstance(value, list | tuple):
            value = "; ".join(str(part) for part in value)
        elif isinstance(value, dict):
            value = "; ".join(f"{key.replace('_', ' ')} {part}" for key, part in value.items())
        lines.append((name, str(value)))
    return lines
