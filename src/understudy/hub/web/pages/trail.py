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
from understudy.hub.pages import ListPage, PageOf, read_page
from understudy.hub.policy import Operation
from understudy.hub.records import Dataset, read_dataset
from understudy.hub.tables import trail as entries
from understudy.hub.web import lists
from understudy.hub.web.rendering import render
from understudy.hub.web.viewer import TheHub, Viewer

router = APIRouter()

ACTORS = ("worker", "user", "members")
NAMED = (*ACTORS, "agent", "role")
"""Fields of details in which ids stand; other texts may be anybody's, and mean what they say."""

LINKED_OBJECTS = ("request", "job", "object")
"""Ids that say nothing to people; the first two become a link."""


@dataclass(frozen=True, kw_only=True)
class TrailLine:
    """An entry as people read it."""

    number: int
    at: dt.datetime
    who: str
    action: str
    object: str
    details: str
    request: str = ""


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
    return [one.id for one in datasets.list_owned(c, viewer.id)]


def list_entries(c: Transaction, objects: list[str] | None, page: PageOf) -> ListPage[TrailLine]:
    """A page of entries, with names instead of ids."""
    query = sa.select(entries).order_by(entries.c.number.desc())
    if objects is not None:
        query = query.where(entries.c.object.in_(objects))
    found = read_page(c, query, page, lambda row: row)
    details = [json.loads(row["details"]) for row in found.items]
    actors = {row["actor"] for row in found.items}
    people = lists.actor_names(c, actors.union(*(_ids(one, *ACTORS) for one in details)))
    people |= lists.agent_names(c, set().union(*(_ids(one, "agent") for one in details)))
    # Only of an approval is it an id; elsewhere it is a name, which somebody typed.
    granted = [told for row, told in zip(found.items, details, strict=True) if _grants(row)]
    people |= lists.role_names(c, set().union(*(_ids(one, "role") for one in granted)))
    asked = lists.requests_of_jobs(c, set().union(*(_ids(one, "job") for one in details)))
    about = {row["object"] for row in found.items}
    accounts = lists.user_names(c, {one.removeprefix("user:") for one in about})
    names = lists.dataset_names(c, about) | lists.survey_names(c, about)
    names |= {f"user:{user}": name for user, name in accounts.items()}
    items = tuple(
        TrailLine(
            number=row["number"],
            at=dt.datetime.fromisoformat(row["at"]),
            who=people[row["actor"]],
            action=row["action"],
            object=names.get(row["object"], row["object"]),
            details=describe_details(told, people),
            request=str(told.get("request") or asked.get(told.get("job", ""), "")),
        )
        for row, told in zip(found.items, details, strict=True)
    )
    return ListPage(items=items, number=found.number, size=found.size, total=found.total)


def _ids(details: Mapping[str, Any], *fields: str) -> set[str]:
    """The ids in some fields of an entry's details."""
    found: set[str] = set()
    for name in fields:
        value = details.get(name)
        found.update(value if isinstance(value, list) else [str(value)])
    return found


def _grants(row: sa.RowMapping) -> bool:
    return bool(row["action"] == "approve")


def describe_details(details: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Details as a line, with names instead of ids; digests of files are in the download."""
    parts = []
    for name, value in details.items():
        if value in (None, "", [], {}) or name in LINKED_OBJECTS:
            continue
        if isinstance(value, bool):
            value = "yes" if value else "no"
        if name == "files" and isinstance(value, dict):
            value = list(value)
        if name == "rules" and isinstance(value, list):
            value = [_describe_rule(rule) for rule in value]
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            if name in NAMED:
                value = [names.get(one, one) for one in value]
            value = " / ".join(value)
        elif isinstance(value, dict | list):
            value = json.dumps(value, ensure_ascii=False)
        elif name in NAMED:
            value = names.get(str(value), value)
        parts.append(f"{name.replace('_', ' ')}: {value}")
    line = "; ".join(parts)
    if len(line) > 300:
        line = f"{line[:300]} …"
    return line


def _describe_rule(rule: Mapping[str, Any]) -> str:
    words = str(rule.get("operation", ""))
    if rule.get("max_epsilon") is not None:
        words += f" up to epsilon {rule['max_epsilon']:g}"
    if rule.get("algorithms"):
        words += f" with {' or '.join(rule['algorithms'])}"
    if rule.get("standing"):
        words += " without asking"
    return words
