"""Asking for access, and for a release with its price in view."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from understudy.data.schema import Category, Quantity, Schema
from understudy.errors import UnderstudyError
from understudy.hub import algorithms, budgets, datasets
from understudy.hub import requests as asking
from understudy.hub.access import check, read_object, read_subject
from understudy.hub.database import Transaction
from understudy.hub.names import ACCESS, PRICED
from understudy.hub.policy import Decision, Operation, judge
from understudy.hub.records import Dataset
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import SentForm, WebForm
from understudy.hub.web.problems import answer_problem, status_of
from understudy.hub.web.rendering import go_to, render
from understudy.hub.web.specs import (
    LABELS,
    Preview,
    list_learner_options,
    list_options,
    preview,
    read_spec,
)
from understudy.hub.web.viewer import TheHub, Viewer
from understudy.synthesizers.registry import DEFAULT

router = APIRouter()

FORM_DEFAULTS: dict[str, dict[str, str]] = {
    "synthesise": {"method": DEFAULT, "format": "csv", "epsilon": "1", "delta": "0"},
    "ask": {"questions": "count", "epsilon": "0.1", "delta": "0"},
    "learn": {"learner": "logistic", "epsilon": "1", "delta": "0"},
}
"""What the forms hold before anybody types."""


@router.get("/datasets/{dataset}/access")
def show_access(request: Request, hub: TheHub, viewer: Viewer, dataset: Id) -> Response:
    """The form that asks for access."""
    with hub.db.reading() as c:
        found = datasets.show(c, viewer.id, dataset)
        check(c, viewer.id, Operation(name=ACCESS), dataset)
    return render(request, "access.html", title="Ask for access", dataset=found, typed={})


@router.post("/datasets/{dataset}/access")
def ask_access(
    request: Request, hub: TheHub, viewer: Viewer, dataset: Id, form: SentForm
) -> Response:
    """Send a request for access to the owner."""
    with hub.db.reading() as c:
        found = datasets.show(c, viewer.id, dataset)
    try:
        reason = form.text("reason", "The reason")
        with hub.db.transaction() as c:
            made = asking.submit(c, viewer.id, dataset, ACCESS, {}, reason, form.key)
    except UnderstudyError as error:
        return render(
            request,
            "access.html",
            status_of(error),
            title="Ask for access",
            dataset=found,
            typed=form.list_typed(),
            problem=str(error),
        )
    return go_to(f"/requests/{made.id}", said="sent")


@router.get("/datasets/{dataset}/ask/{operation}")
def show_ask(
    request: Request, hub: TheHub, viewer: Viewer, dataset: Id, operation: str
) -> Response:
    """The form for an operation, with the price and the expected error of what stands in it."""
    if operation not in PRICED:
        return answer_problem(request, 404, "There is nothing of this kind to ask for.")
    typed = {**FORM_DEFAULTS[operation], **request.query_params}
    if operation == "learn" and "target" not in typed:
        with hub.db.reading() as c:
            found = datasets.show(c, viewer.id, dataset)
        typed["target"] = _likely_target(Schema.from_dict(dict(found.schema), "The schema"))
    form = WebForm({name: [value] for name, value in typed.items()}, {})
    return _page(request, hub, viewer, dataset, operation, form)


@router.post("/datasets/{dataset}/ask/{operation}")
def ask(
    request: Request,
    hub: TheHub,
    viewer: Viewer,
    dataset: Id,
    operation: str,
    form: SentForm,
) -> Response:
    """Send a request for an operation, or show its price."""
    if operation not in PRICED:
        return answer_problem(request, 404, "There is nothing of this kind to ask for.")
    if form.fields.get("action") == ["preview"]:
        return _page(request, hub, viewer, dataset, operation, form)
    try:
        reason = form.text("reason", "What it is for")
        spec = read_spec(form, operation)
        with hub.db.transaction() as c:
            made = asking.submit(c, viewer.id, dataset, operation, spec, reason, form.key)
    except UnderstudyError as error:
        return _page(
            request, hub, viewer, dataset, operation, form, status_of(error), problem=str(error)
        )
    return go_to(f"/requests/{made.id}", said="sent")


def _page(
    request: Request,
    hub: Any,
    viewer: Any,
    dataset: Id,
    operation: str,
    form: WebForm,
    status: int = 200,
    **values: Any,
) -> Response:
    with hub.db.reading() as c:
        found = datasets.show(c, viewer.id, dataset)
        _check_may_ask(c, viewer.id, operation, dataset)
        mine = budgets.read_left_for(c, dataset, viewer.id)
        offered = []
        if operation == "synthesise":
            offered = [
                (method, one)
                for one in algorithms.list_offered(c).items
                for method in algorithms.list_methods(c, one.digest)
            ]
        subject, thing = read_subject(c, viewer.id), read_object(c, dataset)
    decides = "nobody yet"
    try:
        spec = read_spec(form, operation)
        seen = preview(operation, spec, found)
        if not seen.problem:
            wanted = asking.describe_operation(found, operation, spec, seen.price)
            decides = _who_decides(judge(subject, wanted, thing))
    except UnderstudyError as error:
        seen = Preview(problem=str(error))
    return render(
        request,
        "ask.html",
        status,
        title=LABELS[operation],
        label=LABELS[operation],
        operation=operation,
        dataset=found,
        typed=form.list_typed(),
        mine=mine,
        preview=seen,
        fits=seen.price.fits(mine),
        decides=decides,
        **_options(operation, found, offered, form.list_typed()),
        **values,
    )


def _check_may_ask(c: Transaction, viewer: str, operation: str, dataset: str) -> None:
    """Refuse whom no rule allows the operation with any algorithm; the form chooses which."""
    subject, thing = read_subject(c, viewer), read_object(c, dataset)
    mine = [rule for role in thing.roles if role.includes(subject) for rule in role.rules]
    names = {name for rule in mine if rule.operation == operation for name in rule.algorithms or ()}
    if not any(judge(subject, Operation(name=operation, algorithm=one), thing) for one in names):
        check(c, viewer, Operation(name=operation), dataset)


def _who_decides(decision: Decision) -> str:
    if decision.standing:
        return "a standing rule, at once"
    if decision:
        return "the owner, after reading your reason"
    return f"nobody: {decision.why}"


def _has_options(typed: dict[str, str], method: str) -> bool:
    return any(value and name.startswith(f"option_{method}_") for name, value in typed.items())


def _options(
    operation: str, dataset: Dataset, offered: Any, typed: dict[str, str]
) -> dict[str, Any]:
    """What the fields of a form offer to choose from."""
    schema = Schema.from_dict(dict(dataset.schema), "The schema")
    if operation == "synthesise":
        from understudy.synthesizers.registry import CuratorKind, methods_for

        kind: CuratorKind = "central"
        if dataset.mode == "federated":
            kind = "federated"
        elif dataset.mode == "encrypted":
            kind = "encrypted"
        built_in = [(one.name, f"{one.name}: {one.summary}") for one in methods_for(kind)]
        foreign = [
            (f"{name}@{one.digest}", f"{name}, of {one.name} {one.version}, offered by others")
            for name, one in offered
        ]
        options = [(one.name, list_options(one)) for one in methods_for(kind)]
        return {
            "methods": [*built_in, *foreign],
            "options": [(name, found) for name, found in options if found],
            "typed_options": {name for name, _ in options if _has_options(typed, name)},
        }
    if operation == "ask":
        return {"example": example_condition(schema)}
    from understudy.learners.training import LEARNERS

    targets = [("", "none (clusters, components)"), *((a.name, a.name) for a in schema.modelled)]
    parameters = [(name, list_learner_options(name)) for name in LEARNERS]
    return {
        "learners": [(name, name) for name in LEARNERS],
        "targets": targets,
        "options": [(name, found) for name, found in parameters if found],
        "typed_options": {name for name in LEARNERS if _has_options(typed, name)},
    }


def _likely_target(schema: Schema) -> str:
    """The last column with a few values: many tables have what they are about at their end."""
    for column in reversed(list(schema.modelled)):
        if isinstance(column, Category):
            return column.name
    return ""


def example_condition(schema: Schema) -> str:
    """A condition that this very schema understands."""
    for column in schema.modelled:
        if isinstance(column, Quantity) and column.kind in ("integer", "real"):
            middle = column.edges[len(column.edges) // 2]
            return f"{_quote(column.name)} >= {column.write(middle)}"
    for column in schema.modelled:
        if isinstance(column, Category) and column.values:
            value = column.values[0]
            shown = f"'{value}'" if isinstance(value, str) else str(value)
            return f"{_quote(column.name)} = {shown}"
    return "NAME = VALUE"


def _quote(name: str) -> str:
    if name.isidentifier():
        return name
    return f'"{name}"'
