"""What was released: files, queries with error bars, the report."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from threading import Lock
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from understudy.errors import UnderstudyError
from understudy.hub import releases
from understudy.hub.access import read_object, read_subject
from understudy.hub.errors import NotFound
from understudy.hub.policy import Operation, judge
from understudy.hub.records import ReleaseFile, ReleaseRecord, read_dataset
from understudy.hub.web.answers import Shown, show_answers, show_stored
from understudy.hub.web.documents import Id
from understudy.hub.web.forms import SentForm
from understudy.hub.web.headers import FILE_POLICY, REPORT_POLICY
from understudy.hub.web.pages.asking import example_condition
from understudy.hub.web.rendering import go_to, render
from understudy.hub.web.specs import LABELS
from understudy.hub.web.state import Site
from understudy.hub.web.viewer import TheHub, Viewer
from understudy.models.model import Model

router = APIRouter()

MODEL_NAME, REPORT_NAME, ANSWERS_NAME = "model.json", "report.html", "answers.json"
MAX_MODEL_BYTES = 50_000_000
"""Bytes of a model that the page answers queries from; larger ones are for download."""

MAX_ANSWERS_BYTES = 5_000_000
WHAT = {
    "model.json": "the model: draw rows, put queries, read the ledger",
    "synthetic.csv": "the synthetic table",
    "synthetic.parquet": "the synthetic table",
    "report.html": "the release report, for anybody",
    "ledger.json": "what was asked of the rows, and what it cost",
    "use.json": "purpose, conditions, contact",
    "answers.json": "the answers with their errors",
    "tables.json": "the reports of the survey, added up",
}


@router.get("/releases/{release}")
def show_release(
    request: Request, hub: TheHub, viewer: Viewer, release: Id, query: str = ""
) -> Response:
    """A release; with a query, the answer to it."""
    with hub.db.reading() as c:
        found = releases.show(c, viewer.id, release)
        dataset = read_dataset(c, found.dataset)
        subject = read_subject(c, viewer.id)
        thing = read_object(c, found.dataset, found.user)
    may = {name: judge(subject, Operation(name=name), thing) for name in ("download", "query")}
    names = {file.name for file in found.files}
    answerable = found.operation == "synthesise" and MODEL_NAME in names
    shown: list[Shown] = []
    heading, problem, examples = "", "", []
    if answerable and may["query"]:
        try:
            model = load_model(hub, found)
            condition = example_condition(model.schema)
            first = condition.partition(" ")[0]
            examples = ["count", f"share where {condition}", f"count group by {first}"]
            if query:
                with hub.db.transaction() as c:
                    releases.use(c, viewer.id, release, "query", query)
                heading, shown = show_answers(model, query)
        except UnderstudyError as error:
            problem = str(error)
    answers: list[Shown] = []
    if ANSWERS_NAME in names and may["download"]:
        answers = show_stored(json.loads(read_file(hub, found, ANSWERS_NAME, MAX_ANSWERS_BYTES)))
    why_not = ""
    if answerable and not may["query"]:
        why_not = may["query"].why
    return render(
        request,
        "release.html",
        title=found.title or "Release",
        release=found,
        dataset=dataset,
        label=LABELS.get(found.operation, found.operation),
        may_query=answerable and bool(may["query"]),
        may_download=bool(may["download"]),
        why_not=why_not,
        query=query,
        query_problem=problem,
        heading=heading,
        found=shown,
        answers=answers,
        examples=examples,
        example="count where ...",
        files=[describe_file(file, found.operation) for file in found.files],
        has_report=REPORT_NAME in names,
        owns=dataset.owner == viewer.id,
    )


@router.get("/releases/{release}/files/{name}")
def send_file(hub: TheHub, viewer: Viewer, release: Id, name: str) -> Response:
    """A file of a release, as a download; each is written into the trail."""
    with hub.db.reading() as c:
        file = find_file(releases.show(c, viewer.id, release), name)
    with hub.db.transaction() as c:
        found = releases.use(c, viewer.id, release, "download", name)
    if name == releases.USE_FILE:
        return send_use(found)
    return stream_file(hub, file)


def send_use(release: ReleaseRecord) -> Response:
    """The metadata of use with the head of the trail, which the file in the vault cannot have."""
    headers = {
        "content-disposition": f'attachment; filename="{releases.USE_FILE}"',
        "content-security-policy": FILE_POLICY,
    }
    content = json.dumps(releases.describe(release), indent=2)
    return Response(content, media_type="application/octet-stream", headers=headers)


@router.post("/releases/{release}/withdraw")
def withdraw(hub: TheHub, viewer: Viewer, release: Id, form: SentForm) -> Response:
    """Hand a release out no more; for the owner of the data set."""
    with hub.db.transaction() as c:
        releases.withdraw(c, viewer.id, release)
    return go_to(f"/releases/{release}", said="changed")


@router.get("/releases/{release}/report")
def show_report(hub: TheHub, viewer: Viewer, release: Id) -> Response:
    """The release report, without scripts and without the hub's origin."""
    with hub.db.reading() as c:
        found = releases.show(c, viewer.id, release)
    with hub.db.transaction() as c:
        releases.use(c, viewer.id, release, "download", REPORT_NAME)
    content = read_file(hub, found, REPORT_NAME, MAX_MODEL_BYTES)
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


def find_file(release: ReleaseRecord, name: str) -> ReleaseFile:
    """A file by the name that the release itself has for it; paths mean nothing here."""
    for file in release.files:
        if file.name == name:
            return file
    raise NotFound("The release has no such file.")


def stream_file(hub: Site, file: ReleaseFile) -> Response:
    """A file as a download that no browser opens by itself."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", file.name)
    headers = {
        "content-disposition": f'attachment; filename="{plain}"',
        "content-security-policy": FILE_POLICY,
        "x-sha256": file.sha256,
    }
    chunks = hub.vault.open(file.object)
    first = next(chunks, b"")  # what was tampered with is refused before the answer begins
    return StreamingResponse(
        _chain(first, chunks), media_type="application/octet-stream", headers=headers
    )


def _chain(first: bytes, rest: Any) -> Any:
    yield first
    yield from rest


def read_file(hub: Site, release: ReleaseRecord, name: str, most: int) -> bytes:
    """A small file of a release."""
    file = find_file(release, name)
    if file.size > most:
        raise NotFound("The file is too large for a page; download it.")
    return hub.vault.read(file.object)


_models: OrderedDict[str, Model] = OrderedDict()
_lock = Lock()
KEPT_MODELS = 8


def load_model(hub: Site, release: ReleaseRecord) -> Model:
    """The model of a release; the last few are kept, by the digest of their file."""
    digest = find_file(release, MODEL_NAME).sha256
    with _lock:
        if digest in _models:
            _models.move_to_end(digest)
            return _models[digest]
    document = json.loads(read_file(hub, release, MODEL_NAME, MAX_MODEL_BYTES))
    model = Model.from_dict(document, "The released model")
    with _lock:
        _models[digest] = model
        while len(_models) > KEPT_MODELS:
            _models.popitem(last=False)
    return model


def describe_file(file: ReleaseFile, operation: str) -> dict[str, str]:
    """A file as a line of the list."""
    what = WHAT.get(file.name, "")
    if (operation, file.name) == ("learn", MODEL_NAME):
        what = "the trained model, for understudy predict"
    size = f"{file.size:,} bytes"
    if file.size >= 1_000_000:
        size = f"{file.size / 1e6:.1f} MB"
    elif file.size >= 1_000:
        size = f"{file.size / 1e3:.0f} kB"
    return {"name": file.name, "what": what, "size": size}
