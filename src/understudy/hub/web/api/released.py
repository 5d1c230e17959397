"""Releases by the API."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from understudy.hub import datasets, releases
from understudy.hub.errors import NotFound
from understudy.hub.pages import PageOf
from understudy.hub.web.documents import Id, Listing, PageNumber, write_release
from understudy.hub.web.pages.releases import (
    MODEL_NAME,
    find_file,
    load_model,
    send_use,
    stream_file,
)
from understudy.hub.web.viewer import Bearer, TheHub

router = APIRouter(tags=["releases"])

ReleasedName = Annotated[str, Path(pattern=r"^[A-Za-z0-9._-]{1,100}$")]
QueryText = Annotated[str, Query(min_length=1, max_length=1000)]


@router.get("/datasets/{dataset}/releases")
def list_releases(hub: TheHub, user: Bearer, dataset: Id, page: PageNumber = 1) -> Listing:
    """The releases of a data set that you may use."""
    with hub.db.reading() as c:
        datasets.show(c, user.id, dataset)
        found = releases.list_of(c, user.id, dataset, PageOf(number=page))
    return Listing.of(found, [write_release(one) for one in found.items])


@router.get("/releases/{release}")
def show(hub: TheHub, user: Bearer, release: Id) -> dict[str, Any]:
    """A release: metadata of use, ledger, files, head of the trail."""
    with hub.db.reading() as c:
        return write_release(releases.show(c, user.id, release))


@router.get(
    "/releases/{release}/files/{name}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
def download(hub: TheHub, user: Bearer, release: Id, name: ReleasedName) -> Response:
    """A file of a release."""
    with hub.db.reading() as c:
        file = find_file(releases.show(c, user.id, release), name)
    with hub.db.transaction() as c:
        found = releases.use(c, user.id, release, "download", name)
    if name == releases.USE_FILE:
        return send_use(found)
    return stream_file(hub, file)


@router.get("/releases/{release}/query")
def query(hub: TheHub, user: Bearer, release: Id, query: QueryText) -> dict[str, Any]:
    """An answer from the released model, with its error; it costs nothing."""
    with hub.db.reading() as c:
        found = releases.show(c, user.id, release)
    if found.operation != "synthesise" or MODEL_NAME not in {file.name for file in found.files}:
        raise NotFound("This release has no model that answers queries.")
    with hub.db.transaction() as c:
        releases.use(c, user.id, release, "query", query)
    return load_model(hub, found).query(query).to_dict()


@router.post("/releases/{release}/withdraw")
def withdraw(hub: TheHub, user: Bearer, release: Id) -> dict[str, Any]:
    """Hand a release out no more; for the owner of the data set."""
    with hub.db.transaction() as c:
        return write_release(releases.withdraw(c, user.id, release))
