"""A data set's use as a Five Safes RO-Crate: who did what to which data, why, and what came out.

An RO-Crate is a folder (here a zip file) with a description in JSON-LD. The Five Safes profile
(``https://w3id.org/5s-crate/0.4``) describes access to sensitive data: safe *people* (who asked),
*projects* (why), *settings* (where it was computed, and by whom), *data* (the data set and its
conditions) and *outputs* (the releases). The trail is enclosed, so that a reader can check it. The
profile was made for workflows; a request here is its run, an approval its sign-off.
"""

from __future__ import annotations

import json
import os
import secrets
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import understudy
from understudy.errors import InputError
from understudy.hub import trail
from understudy.hub.access import check
from understudy.hub.database import Transaction
from understudy.hub.names import MANAGE
from understudy.hub.opening import Hub
from understudy.hub.policy import Operation
from understudy.hub.records import (
    Dataset,
    Job,
    ReleaseRecord,
    Request,
    read_dataset,
    read_priced_row,
    read_release_rows,
)
from understudy.hub.releases import USE_FILE, describe
from understudy.hub.tables import jobs, releases, requests, users

SPECIFICATION = "https://w3id.org/ro/crate/1.2"
PROFILE = "https://w3id.org/5s-crate/0.4"
METADATA = "ro-crate-metadata.json"
TRAIL = "trail.json"
SCHEMA_FILE = "schema.json"

ACTION_STATUS = {
    "queued": "PotentialActionStatus",
    "running": "ActiveActionStatus",
    "done": "CompletedActionStatus",
    "failed": "FailedActionStatus",
    "interrupted": "FailedActionStatus",
    "cancelled": "FailedActionStatus",
}

Entity = dict[str, Any]


def write_crate(hub: Hub, viewer: str, dataset: str, path: str | Path) -> None:
    """Write a data set's crate for its owner, as a zip file, whole or not at all.

    The files of releases are named with their SHA-256 and not enclosed: they may be large, and who
    may have them is another question. Their ``use.json`` are.
    """
    path = Path(path)
    if path.exists():
        raise InputError(f"There is a file {path} already; name another for the crate.")
    with hub.db.reading() as c:
        files = make_crate(c, viewer, dataset)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with zipfile.ZipFile(partial, "x", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        os.replace(partial, path)
    except OSError as error:
        raise InputError(f"The crate cannot be written to {path} ({error.strerror}).") from error
    finally:
        partial.unlink(missing_ok=True)


def make_crate(c: Transaction, viewer: str, dataset: str) -> dict[str, str]:
    """The crate's files by name, for the owner of a data set."""
    check(c, viewer, Operation(name=MANAGE), dataset)
    found = read_dataset(c, dataset)
    newest = c.rows(sa.select(releases).where(releases.c.dataset == dataset))
    released = read_release_rows(c, list(newest))
    files = {
        TRAIL: _write(trail.export(c, [dataset])),
        SCHEMA_FILE: _write(dict(found.schema)),
    }
    for release in released:
        files[f"releases/{release.id}/{USE_FILE}"] = _write(describe(release))
    graph = _describe_crate(c, found, released, files)
    metadata = {"@context": [f"{SPECIFICATION}/context", _TERMS], "@graph": graph}
    return {METADATA: _write(metadata), **files}


_TERMS = {"shp": "https://w3id.org/shp#"}


def _describe_crate(
    c: Transaction, dataset: Dataset, released: list[ReleaseRecord], files: Iterable[str]
) -> list[Entity]:
    asked = [
        read_priced_row(Request, row)
        for row in c.rows(sa.select(requests).where(requests.c.dataset == dataset.id))
    ]
    done = {
        row["request"]: read_priced_row(Job, row)
        for row in c.rows(sa.select(jobs).where(jobs.c.dataset == dataset.id))
    }
    by_job = {release.job: release for release in released}
    actions = [
        action
        for request in asked
        for action in _describe_request(request, done.get(request.id), by_job)
    ]
    people = {dataset.owner} | {
        name for one in asked for name in (one.user, one.decided_by) if name
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Use of {dataset.name}",
        "description": dataset.description or f"What was asked of {dataset.name}, and released.",
        "datePublished": c.now.isoformat(timespec="seconds"),
        "license": dataset.conditions or "See the conditions of use of each release.",
        "conformsTo": {"@id": PROFILE},
        "author": {"@id": _person(dataset.owner)},
        "sourceOrganization": {"@id": "#project"},
        "hasPart": [{"@id": name} for name in files],
        "mentions": [{"@id": action["@id"]} for action in actions],
    }
    return [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": SPECIFICATION},
        },
        root,
        {"@id": PROFILE, "@type": "CreativeWork", "name": "Five Safes RO-Crate profile 0.4"},
        *_describe_setting(dataset),
        *_describe_people(c, people),
        *(_describe_file(name) for name in files),
        *actions,
        *(output for release in released for output in _describe_outputs(release)),
    ]


def _describe_setting(dataset: Dataset) -> list[Entity]:
    places = {
        "agent": "the owner's own agent; the rows never reach the hub",
        "stored": "the hub's worker; the rows are stored encrypted",
        "federated": "several owners' agents, by secure sums",
        "encrypted": "ciphertexts at the hub, opened as noisy sums by a crypto service",
    }
    place = places.get(dataset.mode, "each person's own device")
    epsilon, delta = dataset.total.numbers()
    spent_epsilon, spent_delta = dataset.spent.numbers_up()
    return [
        {
            "@id": "#project",
            "@type": "Project",
            "name": dataset.name,
            "description": dataset.purpose or "No purpose was stated.",
        },
        {
            "@id": "#data",
            "@type": "Dataset",
            "name": dataset.name,
            "description": dataset.description,
            "conditionsOfAccess": dataset.conditions,
            "contactPoint": dataset.contact,
            "additionalProperty": [
                _property("privacy budget, epsilon", epsilon),
                _property("privacy budget, delta", delta),
                _property("spent, epsilon", spent_epsilon),
                _property("spent, delta", spent_delta),
                _property("neighbours", dataset.neighbours),
                _property("state", dataset.state),
            ],
        },
        {
            "@id": "#setting",
            "@type": "SoftwareApplication",
            "name": "Understudy hub",
            "softwareVersion": understudy.__version__,
            "description": f"Computed by {place}.",
        },
    ]


def _describe_people(c: Transaction, ids: set[str]) -> list[Entity]:
    columns = users.c.id, users.c.name, users.c.display_name, users.c.attributes
    people = []
    for row in c.rows(sa.select(*columns).where(users.c.id.in_(ids)).order_by(users.c.id)):
        person = {
            "@id": _person(row["id"]),
            "@type": "Person",
            "name": row["display_name"] or row["name"],
        }
        if "institution" in row["attributes"]:
            person["affiliation"] = str(row["attributes"]["institution"])
        people.append(person)
    return people


def _describe_request(
    request: Request, job: Job | None, by_job: dict[str | None, ReleaseRecord]
) -> list[Entity]:
    """The run that was asked for, and the decision about it."""
    epsilon, delta = request.price.numbers_up()
    run: Entity = {
        "@id": f"#request-{request.id}",
        "@type": "CreateAction",
        "name": request.operation,
        "description": request.reason,
        "agent": {"@id": _person(request.user)},
        "object": [{"@id": "#data"}],
        "instrument": {"@id": "#setting"},
        "startTime": request.created_at.isoformat(timespec="seconds"),
        "actionStatus": "http://schema.org/PotentialActionStatus",
        "additionalProperty": [_property("epsilon", epsilon), _property("delta", delta)],
    }
    if request.state in ("refused", "withdrawn"):
        run["actionStatus"] = "http://schema.org/FailedActionStatus"
    if job is not None:
        run["actionStatus"] = f"http://schema.org/{ACTION_STATUS[job.state]}"
        if job.ended_at is not None:
            run["endTime"] = job.ended_at.isoformat(timespec="seconds")
        if job.why:
            run["error"] = job.why
        if job.id in by_job:
            run["result"] = [{"@id": f"#release-{by_job[job.id].id}"}]
    if request.decided_at is None:
        return [run]
    return [run, _describe_decision(request)]


def _describe_decision(request: Request) -> Entity:
    said_yes = request.state == "approved"
    decision: Entity = {
        "@id": f"#decision-{request.id}",
        "@type": "AssessAction",
        "additionalType": {"@id": "shp:SignOff"},
        "name": f"{request.operation}: {request.state}",
        "object": {"@id": f"#request-{request.id}"},
        "endTime": request.decided_at.isoformat(timespec="seconds") if request.decided_at else "",
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }
    if not said_yes:
        decision["actionStatus"] = "http://schema.org/FailedActionStatus"
    if request.decision_reason:
        decision["description"] = request.decision_reason
    if request.decided_by is not None:
        decision["agent"] = {"@id": _person(request.decided_by)}
    else:
        decision["instrument"] = {"@id": "#setting"}  # a standing rule, or the user herself
    return decision


def _describe_outputs(release: ReleaseRecord) -> list[Entity]:
    epsilon, delta = release.price.numbers_up()
    return [
        {
            "@id": f"#release-{release.id}",
            "@type": "CreativeWork",
            "name": release.title,
            "dateCreated": release.created_at.isoformat(timespec="seconds"),
            "usageInfo": {"@id": f"releases/{release.id}/{USE_FILE}"},
            "additionalProperty": [
                _property("epsilon", epsilon),
                _property("delta", delta),
                *(_property(f"sha256 of {file.name}", file.sha256) for file in release.files),
            ],
        }
    ]


def _describe_file(name: str) -> Entity:
    words = {TRAIL: "The trail; check it with: understudy hub verify trail.json"}
    words[SCHEMA_FILE] = "The public schema of the data set"
    return {
        "@id": name,
        "@type": "File",
        "name": words.get(name, "Metadata of use of a release"),
        "encodingFormat": "application/json",
    }


def _property(name: str, value: Any) -> Entity:
    return {"@type": "PropertyValue", "name": name, "value": value}


def _person(user: str) -> str:
    return f"#person-{user}"


def _write(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
