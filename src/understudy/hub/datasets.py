"""Data sets, their roles, and the catalogue."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlalchemy as sa

from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.hub import jobs, policy, trail
from understudy.hub.access import check, read_object, read_subject
from understudy.hub.amounts import FREE_OF_CHARGE, Price
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound, Refused
from understudy.hub.names import CLOSE, MANAGE, MODES, SEE, new_id
from understudy.hub.pages import ListPage, PageOf, read_page
from understudy.hub.policy import Operation, Role, Subject
from understudy.hub.protection import read_protected
from understudy.hub.records import Dataset, read_dataset, read_dataset_row
from understudy.hub.roles import MAX_ROLE_NAME_LETTERS, RoleSpec, set_role
from understudy.hub.tables import agents, datasets, members, roles, users, vault_objects

MAX_DATASET_TEXT = 10_000
MAX_SCHEMA = 2_000_000
"""Letters."""


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """A data set as an owner registers it.

    Parameters
    ----------
    name, description
        For the catalogue.
    schema
        The public schema's document: columns and domains, nothing that was read off the rows.
    purpose, conditions, contact
        The metadata of use, which travels with each release.
    epsilon, delta
        The total budget.
    user_epsilon, user_delta
        The budget of each user; ``None``: up to the total.
    mode
        agent (the rows stay with the owner), stored (encrypted at the hub), federated, or encrypted
        (several owners deliver ciphertexts, which the hub cannot open).
    listed
        Whether the catalogue shows it to everybody who signs in.
    neighbours, unit
        What a release protects; one data set, one promise.
    agent
        The id of the owner's agent that computes.
    source
        In mode stored: a name that the worker's own settings explain; ``None``: rows in the vault.
    about_rows
        About how many rows there are, in public; for what to expect before anything is spent.
    roles
        The policy.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    purpose: str = ""
    conditions: str = ""
    contact: str = ""
    epsilon: float
    delta: float = 0.0
    user_epsilon: float | None = None
    user_delta: float | None = None
    mode: str = "agent"
    listed: bool = True
    neighbours: str = "add_remove"
    unit: Any = "row"
    agent: str | None = None
    source: str | None = None
    about_rows: int | None = None
    roles: Sequence[RoleSpec] = ()


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry:
    """What the catalogue shows of a data set; nothing of it is private."""

    id: str
    name: str
    description: str
    purpose: str
    owner: str
    owner_name: str
    mode: str
    state: str
    columns: int
    total: Price
    left: Price
    releases: int
    mine: bool  # whether the viewer owns it
    member: bool  # whether the viewer is named in one of its roles


# --------------------------------------------------------------------------- changing


def register(c: Transaction, owner: str, spec: DatasetSpec) -> Dataset:
    """Register a data set with its budget and policy."""
    subject = read_subject(c, owner)
    if not subject.active:
        raise Refused("Your account is not active yet; its approval is up to an administrator.")
    values = _check_spec(c, owner, spec)
    dataset = new_id()
    c.execute(
        sa.insert(datasets).values(
            id=dataset, owner=owner, created_at=c.now, changed_at=c.now, **values
        )
    )
    details = {"name": spec.name, "epsilon": spec.epsilon, "delta": spec.delta, "mode": spec.mode}
    trail.append(c, owner, "register", dataset, details)
    for role in spec.roles:
        set_role(c, owner, dataset, role)
    return read_dataset(c, dataset)


def change(c: Transaction, actor: str, dataset: str, spec: DatasetSpec) -> Dataset:
    """Change what the catalogue says, the totals, the agent; the mode and the promise stay.

    A total may be lowered, but not below what is spent.
    """
    check(c, actor, Operation(name=MANAGE), dataset)
    before = read_dataset(c, dataset)
    values = _check_spec(c, before.owner, spec)
    if not before.spent.fits(Price(values["total_epsilon"], values["total_delta"])):
        raise InputError(
            f"The total cannot be below what is spent already ({before.spent}); raise it."
        )
    fixed = {"mode": before.mode, "neighbours": before.neighbours, "unit": before.unit}
    for name, value in fixed.items():
        if values[name] != value:
            raise InputError(f"The {name} of a data set cannot be changed; register it again.")
    c.execute(
        sa.update(datasets).where(datasets.c.id == dataset).values(changed_at=c.now, **values)
    )
    details = {"name": spec.name, "epsilon": spec.epsilon, "delta": spec.delta}
    trail.append(c, actor, "change", dataset, details)
    return read_dataset(c, dataset)


def close(c: Transaction, actor: str, dataset: str) -> Dataset:
    """Close a data set at once: jobs that wait are cancelled and refunded, running ones get no
    release accepted any more.
    """
    check(c, actor, Operation(name=CLOSE), dataset)
    if read_dataset(c, dataset).state != "closed":
        _set_state(c, dataset, "closed", c.now)
        trail.append(c, actor, "close", dataset)
        jobs.stop_all(c, actor, dataset)
    return read_dataset(c, dataset)


def reopen(c: Transaction, actor: str, dataset: str) -> Dataset:
    """Open a data set again."""
    check(c, actor, Operation(name=MANAGE), dataset)
    if read_dataset(c, dataset).state != "open":
        _set_state(c, dataset, "open", None)
        trail.append(c, actor, "reopen", dataset)
    return read_dataset(c, dataset)


def store_rows(c: Transaction, actor: str, dataset: str, stored: str) -> Dataset:
    """Take an object of the vault as the rows of a data set in mode stored."""
    check(c, actor, Operation(name=MANAGE), dataset)
    check_stored(read_dataset(c, dataset))
    here = (vault_objects.c.id == stored) & (vault_objects.c.dataset == dataset)
    if c.first(sa.select(vault_objects.c.id).where(here)) is None:
        raise NotFound("There are no such rows of this data set.")
    values = {"rows_object": stored, "changed_at": c.now}
    c.execute(sa.update(datasets).where(datasets.c.id == dataset).values(**values))
    trail.append(c, actor, "store rows", dataset, {"object": stored})
    return read_dataset(c, dataset)


def check_stored(dataset: Dataset) -> None:
    """Refuse rows of a data set whose rows stay with its owner."""
    if dataset.mode != "stored":
        raise InputError("This data set's rows stay with its owner; the hub does not take them.")


# --------------------------------------------------------------------------- reading


def show(c: Transaction, viewer: str, dataset: str) -> Dataset:
    """A data set for somebody who may see it; for others there is none."""
    subject, thing = read_subject(c, viewer), read_object(c, dataset)
    if not policy.judge(subject, Operation(name=SEE), thing):
        raise NotFound("There is no such data set.")
    return read_dataset(c, dataset)


def list_owned(c: Transaction, owner: str) -> list[Dataset]:
    """The data sets of an owner, by name."""
    query = sa.select(datasets).where(datasets.c.owner == owner)
    return [read_dataset_row(row) for row in c.rows(query.order_by(datasets.c.name, datasets.c.id))]


def catalogue(
    c: Transaction, viewer: str, page: PageOf | None = None, search: str = ""
) -> ListPage[CatalogueEntry]:
    """The data sets that a viewer may see, by name, in three statements however many there are."""
    subject = read_subject(c, viewer)
    if not subject.active:
        raise Refused("Your account is not active yet; its approval is up to an administrator.")
    words = search.strip()[:MAX_ROLE_NAME_LETTERS]
    escaped = words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    values = {
        "viewer": viewer,
        "by_attributes": _datasets_by_attributes(c, subject),
        "pattern": f"%{escaped}%",
    }
    query = _query_catalogue(searching=bool(words))
    return read_page(c, query, page or PageOf(), lambda row: _read_entry(row, viewer), values)


# --------------------------------------------------------------------------- details


_CATALOGUE_COLUMNS = [
    datasets.c[name]
    for name in (
        *("id", "name", "description", "purpose", "owner", "mode", "state", "columns", "releases"),
        *("total_epsilon", "total_delta", "spent_epsilon", "spent_delta"),
    )
]


@cache
def _query_catalogue(*, searching: bool) -> sa.Select[Any]:
    """What a viewer may see; made once, since making it takes as long as asking it."""
    viewer = sa.bindparam("viewer", type_=sa.String)
    mine = sa.select(roles.c.dataset).join(members, members.c.role == roles.c.id)
    named = datasets.c.id.in_(mine.where(members.c.user == viewer))
    by_attributes = datasets.c.id.in_(sa.bindparam("by_attributes", expanding=True))
    query = (
        sa.select(
            *_CATALOGUE_COLUMNS,
            users.c.display_name.label("owner_display"),
            users.c.name.label("owner_login"),
            named.label("member"),
        )
        .join(users, users.c.id == datasets.c.owner)
        .where(sa.or_(datasets.c.listed, datasets.c.owner == viewer, named, by_attributes))
        .order_by(datasets.c.name, datasets.c.id)
    )
    if searching:
        pattern = sa.bindparam("pattern", type_=sa.String)
        texts = datasets.c.name, datasets.c.description, datasets.c.purpose
        query = query.where(sa.or_(*(text.ilike(pattern, escape="\\") for text in texts)))
    return query


def _check_spec(c: Transaction, owner: str, spec: DatasetSpec) -> dict[str, Any]:
    """The columns' values, if all is well."""
    if not spec.name.strip() or len(spec.name) > MAX_ROLE_NAME_LETTERS:
        raise InputError(f"A data set needs a name of at most {MAX_ROLE_NAME_LETTERS} letters.")
    for name in ("description", "purpose", "conditions", "contact"):
        if len(getattr(spec, name)) > MAX_DATASET_TEXT:
            raise InputError(f"The {name} has more than {MAX_DATASET_TEXT:,} letters; shorten it.")
    if spec.mode not in MODES:
        raise InputError(f"The mode must be one of {', '.join(MODES)}, not {spec.mode!r}.")
    schema = Schema.from_dict(spec.schema)
    if len(json.dumps(spec.schema)) > MAX_SCHEMA:
        raise InputError(f"The schema has more than {MAX_SCHEMA:,} letters; shorten it.")
    if spec.about_rows is not None and not 0 < spec.about_rows < 1 << 53:
        raise InputError("The number of rows must be a whole number above 0, or left out.")
    read_protected(spec.neighbours, spec.unit)  # refuses what is neither
    total = FREE_OF_CHARGE  # of a survey: persons paid themselves, and there are no rows to ask
    if spec.mode != "survey":
        total = Price.of(spec.epsilon, spec.delta)
    per_user = _per_user(spec)
    if spec.agent is not None:
        mine = (agents.c.id == spec.agent) & (agents.c.owner == owner)
        if c.first(sa.select(agents.c.id).where(mine)) is None:
            raise InputError("That agent is not one of yours; make one first.")
    return {
        "name": spec.name.strip(),
        "description": spec.description,
        "schema": dict(spec.schema),
        "columns": len(schema.attributes),
        "about_rows": spec.about_rows,
        "purpose": spec.purpose,
        "conditions": spec.conditions,
        "contact": spec.contact,
        "mode": spec.mode,
        "listed": bool(spec.listed),
        "neighbours": spec.neighbours,
        "unit": spec.unit,
        "total_epsilon": total.epsilon,
        "total_delta": total.delta,
        "user_epsilon": None if per_user is None else per_user.epsilon,
        "user_delta": None if per_user is None else per_user.delta,
        "agent": spec.agent,
        "source": spec.source,
    }


def _per_user(spec: DatasetSpec) -> Price | None:
    if spec.user_epsilon is None:
        return None
    delta = spec.delta if spec.user_delta is None else spec.user_delta
    return Price.of(spec.user_epsilon, delta)


def _set_state(c: Transaction, dataset: str, state: str, closed: dt.datetime | None) -> None:
    values = {"state": state, "closed_at": closed, "changed_at": c.now}
    c.execute(sa.update(datasets).where(datasets.c.id == dataset).values(**values))


def _datasets_by_attributes(c: Transaction, subject: Subject) -> list[str]:
    """Unlisted data sets that a subject may see because of what they are, not who."""
    if not subject.attributes:
        return []
    query = sa.select(roles.c.dataset, roles.c.attributes).join(
        datasets, datasets.c.id == roles.c.dataset
    )
    return [
        row["dataset"]
        for row in c.rows(query.where(sa.not_(datasets.c.listed)))
        if Role(id="", name="", attributes=row["attributes"]).includes(subject)
    ]


def _read_entry(row: sa.RowMapping, viewer: str) -> CatalogueEntry:
    total = Price(row["total_epsilon"], row["total_delta"])
    return CatalogueEntry(
        id=row["id"],
        name=row["name"],
        description=row["description"],
        purpose=row["purpose"],
        owner=row["owner"],
        owner_name=row["owner_display"] or row["owner_login"],
        mode=row["mode"],
        state=row["state"],
        columns=row["columns"],
        total=total,
        left=total - Price(row["spent_epsilon"], row["spent_delta"]),
        releases=row["releases"],
        mine=row["owner"] == viewer,
        member=bool(row["member"]),
    )
