"""The owner's upload of rows into the hub, from a page."""

from __future__ import annotations

from itertools import chain

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from understudy.errors import InputError
from understudy.hub.accounts import User
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import check_origin
from understudy.hub.web.rendering import go_to
from understudy.hub.web.state import Site
from understudy.hub.web.uploads import StreamedForm, check_takes_rows, keep_rows, pull_chunks
from understudy.hub.web.viewer import TheHub, Viewer

router = APIRouter()


@router.post("/mine/{dataset}/rows")
async def store_rows(request: Request, hub: TheHub, viewer: Viewer, dataset: Id) -> Response:
    """Encrypt the rows of a form as they come in; the fields before them say who sent it."""
    form = StreamedForm(request)
    fields = await form.read_fields()
    await run_in_threadpool(check_origin, request, fields.get("csrf", ""))
    await run_in_threadpool(check_takes_rows, hub, viewer, dataset)
    await run_in_threadpool(_keep, hub, viewer, dataset, form)
    return go_to(f"/mine/{dataset}", said="rows")


def _keep(hub: Site, viewer: User, dataset: str, form: StreamedForm) -> None:
    chunks = pull_chunks(form.read_file())
    first = next(chunks, b"")
    if not first:
        raise InputError("There is no file, or it is empty; choose the table with the rows.")
    keep_rows(hub, viewer, dataset, chain([first], chunks))
