"""The owner's upload of rows into the hub, from a page."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from understudy.hub.web.documents import Id
from understudy.hub.web.forms import check_origin
from understudy.hub.web.rendering import go_to
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
    chunks = pull_chunks(form.read_file())
    await run_in_threadpool(keep_rows, hub, viewer, dataset, chunks)
    return go_to(f"/mine/{dataset}", said="rows")
