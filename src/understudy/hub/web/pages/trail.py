"""The trail, for owners (what concerns their data sets) and administrators (all of it)."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from understudy.hub import datasets, trail
from understudy.hub.access import check
from understudy.hub.accounts import User
from understudy.hub.database import Transaction
from understudy.hub.errors import Refused
from understudy.hub.names import MANAGE
from understudy.hub.pages import Page, PageOf, read_page
from understudy.hub.policy import Operation
from understudy.hub.records import Dataset, read_dataset
from understudy.hub.tables import trail as entries
from understudy.hub.web import lists
from understudy.hub.web.rendering import render
from understudy.hub.web.viewer import TheHub, Viewer

router = APIRouter()


@dataclass(frozen=True, kw_only=True)
class Line:
    """An entry as people read it."""

    number: int
    at: dt.datetime
    who: str
    action: str
    object: str
    details: str


@router.get("/trail")
def show_trail(
    request: Request, hub: TheHub, viewer: Viewer, dataset: str = "", page: int = 1
) -> Response:
    """Entries, the newest first."""
    with hub.db.reading() as c:
        about: Dataset | None = None
        if dataset:
            check(c, viewer.id, Operation(name=MANAGE), dataset)
            about = read_dataset(c, dataset)
        objects = [dataset] if dataset else visible_objects(c, viewer)
        found = list_entries(c, objects, PageOf(number=page, size=50))
    return render(
        request, "trail.html", title="Trail", page=found, dataset=about, crate=viewer.administrator
    )


@router.get("/trail/export")
def export_trail(hub: TheHub, viewer: Viewer) -> Response:
    """The trail as a document that can be checked elsewhere."""
    with hub.db.reading() as c:
        document = make_export(c, viewer)
    headers = {"content-disposition": 'attachment; filename="trail.json"'}
    return JSONResponse(document, headers=headers)


def make_export(c: Transaction, viewer: User) -> dict[str, Any]:
    """The whole trail for an administrator; for an owner, what concerns her own data sets, with the
    digests of all other entries, so that the chain can be checked and others' entries not be read.
    """
    objects = visible_objects(c, viewer)
    if objects is None:
        return trail.export(c)
    if not objects:
        raise Refused("The trail is for owners of data sets, and you have none here.")
    return trail.export(c, objects=objects)


def visible_objects(c: Transaction, viewer: User) -> list[str] | None:
    """What somebody may read entries about; ``None``: everything."""
    if viewer.administrator:
        return None
    return [one.id for one in datasets.owned(c, viewer.id)]


def list_entries(c: Transaction, objects: list[str] | None, page: PageOf) -> Page[Line]:
    """A page of entries, with names instead of ids."""
    query = sa.select(entries).order_by(entries.c.number.desc())
    if objects is not None:
        query = query.where(entries.c.object.in_(objects))
    found = read_page(c, query, page, lambda row: row)
    about = {row["object"] for row in found.items}
    actors = {row["actor"] for row in found.items}
    people = lists.actor_names(c, actors | {_worker_of(row["details"]) for row in found.items})
    accounts = lists.user_names(c, {one.removeprefix("user:") for one in about})
    names = lists.dataset_names(c, about) | lists.survey_names(c, about)
    names |= {f"user:{user}": name for user, name in accounts.items()}
    items = tuple(
        Line(
            number=row["number"],
            at=dt.datetime.fromisoformat(row["at"]),
            who=people[row["actor"]],
            action=row["action"],
            object=names.get(row["object"], row["object"]),
            details=describe_details(row["details"], people),
        )
        for row in found.items
    )
    return Page(items=items, number=found.number, size=found.size, total=found.total)


def _worker_of(text: str) -> str:
    return str(json.loads(text).get("worker", "hub"))


def describe_details(text: str, people: Mapping[str, str]) -> str:
    """Details as a line, with names instead of ids; digests of files are in the download."""
    parts = []
    for name, value in json.loads(text).items():
        if name == "worker":
            value = people.get(str(value), value)
        if name == "files" and isinstance(value, dict):
            value = ", ".join(value)
        if isinstance(value, dict | list):
            value = json.dumps(value, ensure_ascii=False)
        parts.append(f"{name.replace('_', ' ')}: {value}")
    line = "; ".join(parts)
    if len(line) > 300:
        line = f"{line[:300]} …"
    return line
