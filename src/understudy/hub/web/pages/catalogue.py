"""The catalogue, and the page of one data set."""

from __future__ import annotations

from functools import lru_cache

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from markupsafe import Markup

from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.hub import accounts, budgets, datasets, releases
from understudy.hub import requests as asking
from understudy.hub.access import read_object, read_subject
from understudy.hub.datasets import CatalogueEntry
from understudy.hub.names import USES
from understudy.hub.pages import PageOf
from understudy.hub.policy import Object, Operation, Subject, judge
from understudy.hub.web.documents import Id
from understudy.hub.web.rendering import environment, render
from understudy.hub.web.viewer import TheHub, Viewer

router = APIRouter()

MAX_VALUES_IN_LINE = 8
"""Values of a column that its line lists."""


@router.get("/datasets")
def show_catalogue(
    request: Request, hub: TheHub, viewer: Viewer, q: str = "", page: int = 1
) -> Response:
    """The data sets that the viewer may know of."""
    with hub.db.reading() as c:
        found = datasets.catalogue(c, viewer.id, PageOf(number=page, size=20), q)
    return render(
        request, "catalogue.html", title="Catalogue", page=found, q=q, write_entry=write_entry
    )


@lru_cache(maxsize=2000)
def write_entry(entry: CatalogueEntry) -> Markup:
    """The lines of a data set: they depend on what they show and on nothing else, so that all who
    may see the same get the same.
    """
    return Markup(environment().get_template("catalogue_entry.html").render(entry=entry))


@router.get("/datasets/{dataset}")
def show_dataset(
    request: Request, hub: TheHub, viewer: Viewer, dataset: Id, page: int = 1
) -> Response:
    """What a data set is, what it may be used for, what is left, and what was released."""
    with hub.db.reading() as c:
        found = datasets.show(c, viewer.id, dataset)
        subject, thing = read_subject(c, viewer.id), read_object(c, dataset)
        mine = budgets.read_left_for(c, dataset, viewer.id)
        released = releases.list_of(c, viewer.id, dataset, PageOf(number=page, size=10))
        owner = accounts.find_user(c, found.owner).display
        asked = asking.of_user(c, viewer.id, PageOf(size=5), dataset=dataset).items
    schema = Schema.from_dict(dict(found.schema), "The schema")
    return render(
        request,
        "dataset.html",
        title=found.name,
        dataset=found,
        owner=owner,
        mine=mine,
        page=released,
        asked=asked,
        columns=[describe_column(column) for column in schema],
        may=list_allowed(subject, thing),
        manages=bool(judge(subject, Operation(name="manage"), thing)),
    )


@router.get("/datasets/{dataset}/schema.json")
def send_schema(hub: TheHub, viewer: Viewer, dataset: Id) -> Response:
    """The schema as a file."""
    with hub.db.reading() as c:
        found = datasets.show(c, viewer.id, dataset)
    return JSONResponse(
        dict(found.schema), headers={"content-disposition": 'attachment; filename="schema.json"'}
    )


def list_allowed(subject: Subject, thing: Object) -> dict[str, str]:
    """For each operation, an empty text, or why the viewer may not do it."""
    answers = {}
    for name in USES:
        decision = judge(subject, Operation(name=name), thing)
        answers[name] = "" if decision else decision.why
    return answers


def describe_column(column: Attribute) -> dict[str, str]:
    """A line of the table of columns."""
    domain = "not released"
    if isinstance(column, Category):
        values = [column.label(code) for code in range(column.values_size)]
        domain = ", ".join(values[:MAX_VALUES_IN_LINE])
        if len(values) > MAX_VALUES_IN_LINE:
            domain += f" and {len(values) - MAX_VALUES_IN_LINE:,} more"
    elif isinstance(column, Quantity):
        last = column.edges[-1]
        if column.whole:
            last -= 1
        domain = f"{column.write(column.edges[0])} to {column.write(last)}"
    missing = ""
    if column.missing is not None:
        missing = "may be missing"
    return {"name": column.name, "kind": column.kind, "domain": domain, "missing": missing}
