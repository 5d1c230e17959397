"""The plan of a data set of encrypted uploads, and what owners have delivered for it.

Who carries an upload to the hub does not matter: it is signed by its owner, for one plan, and the
crypto service checks the owners' signatures again by certificates of its own. An owner delivers
once; the same upload again is the same delivery, and another one is refused.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from understudy.data.files import parse_json
from understudy.data.schema import Schema
from understudy.encrypted.plans import EncryptionPlan
from understudy.encrypted.session import Store
from understudy.encrypted.uploads import Upload, max_upload_bytes, upload_statement
from understudy.encrypted.ways import check_method
from understudy.errors import InputError
from understudy.federation.identity import Certificate, check_name
from understudy.hub import trail
from understudy.hub.access import check
from understudy.hub.amounts import Price
from understudy.hub.database import Transaction
from understudy.hub.errors import Conflict, NotFound
from understudy.hub.jobs import check_open
from understudy.hub.names import ACCESS, ENCRYPTED, MANAGE, SEE
from understudy.hub.opening import Hub
from understudy.hub.operations import Synthesise, read_operation
from understudy.hub.policy import Operation
from understudy.hub.protection import read_protected
from understudy.hub.records import Dataset, read_dataset
from understudy.hub.tables import collections, deliveries

UPLOAD = "upload"
"""The kind of a delivery in the vault."""


@dataclass(frozen=True, kw_only=True)
class Collection:
    """What the owners of a data set agreed on."""

    dataset: str
    plan: EncryptionPlan
    owners: Mapping[str, Certificate]
    service: str
    """The crypto service, by the name that the worker's own settings explain."""

    @property
    def max_bytes(self) -> int:
        """What a delivery has at most."""
        return max_upload_bytes(self.plan)


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """An upload that the hub has."""

    owner: str
    digest: str
    object: str
    created_at: dt.datetime


# --------------------------------------------------------------------------- agreeing


def set_plan(
    c: Transaction,
    actor: str,
    dataset: str,
    document: Any,
    certificates: Mapping[str, str],
    service: str,
) -> Collection:
    """Take the plan of a data set, once, with its owners' certificates and its service's name.

    Parameters
    ----------
    c, actor, dataset
        The transaction, who manages the data set, and which one.
    document
        The plan, as ``understudy csp plan`` writes it.
    certificates
        The owners' certificates (PEM), by name.
    service
        The name of the crypto service.
    """
    check(c, actor, Operation(name=MANAGE), dataset)
    found = read_dataset(c, dataset)
    if found.mode != ENCRYPTED:
        raise InputError("Only a data set of encrypted uploads has a plan.")
    plan = EncryptionPlan.from_dict(document, "The plan")
    _check_plan(plan, found)
    owners = _read_certificates(plan, certificates)
    check_name(service)
    before = c.first(sa.select(collections).where(collections.c.dataset == dataset))
    if before is not None:
        known = _read(before)
        if (known.plan.digest, known.owners, known.service) == (plan.digest, owners, service):
            return known
        raise Conflict("The data set has a plan already, which owners rely on; register another.")
    c.execute(
        sa.insert(collections).values(
            dataset=dataset,
            plan=plan.to_dict(),
            owners={name: one.pem for name, one in owners.items()},
            service=service,
            created_at=c.now,
        )
    )
    trail.append(
        c,
        actor,
        "set plan",
        dataset,
        {
            "plan": plan.digest.hex(),
            "service": service,
            "owners": {name: one.fingerprint for name, one in owners.items()},
        },
    )
    return read_collection(c, dataset)


def read_collection(c: Transaction, dataset: str) -> Collection:
    """The plan of a data set, whoever asks."""
    row = c.first(sa.select(collections).where(collections.c.dataset == dataset))
    if row is None:
        raise NotFound("The data set has no plan yet; whoever manages it must give one.")
    return _read(row)


def show_collection(
    c: Transaction, viewer: str, dataset: str
) -> tuple[Collection | None, list[Delivery]]:
    """The plan and who has delivered, for whoever may see the data set."""
    check(c, viewer, Operation(name=SEE), dataset)
    row = c.first(sa.select(collections).where(collections.c.dataset == dataset))
    if row is None:
        return None, []
    return _read(row), list_deliveries(c, dataset)


def list_deliveries(c: Transaction, dataset: str) -> list[Delivery]:
    """What has been delivered, by owner."""
    columns = [deliveries.c[name] for name in Delivery.__dataclass_fields__]
    query = sa.select(*columns).where(deliveries.c.dataset == dataset)
    return [Delivery(**row) for row in c.rows(query.order_by(deliveries.c.owner))]


# --------------------------------------------------------------------------- delivering


def find_for_delivery(c: Transaction, user: str, dataset: str) -> Collection:
    """The plan that somebody delivers for; who may not see the data set finds none."""
    check(c, user, Operation(name=SEE), dataset)
    check_open(c, dataset)
    return read_collection(c, dataset)


def deliver(hub: Hub, user: str, dataset: str, content: bytes) -> Delivery:
    """Check an owner's upload and keep it."""
    with hub.db.reading() as c:
        agreed = find_for_delivery(c, user, dataset)
    if len(content) > agreed.max_bytes:
        raise InputError(
            f"An upload for this plan has at most {agreed.max_bytes:,} bytes; is it the right file?"
        )
    upload = Upload.from_dict(parse_json(content, "upload"), agreed.plan, "The upload")
    upload.check(agreed.plan, agreed.owners)
    statement = upload_statement(agreed.plan, upload.owner, upload.seed, upload.items).hex()
    with hub.db.reading() as c:
        before = _find(c, dataset, upload.owner, statement)
    if before is not None:
        return before
    stored = hub.vault.put(dataset, UPLOAD, content)
    with hub.db.transaction() as c:
        find_for_delivery(c, user, dataset)
        before = _find(c, dataset, upload.owner, statement)
        if before is not None:
            return before
        made = Delivery(owner=upload.owner, digest=statement, object=stored.id, created_at=c.now)
        c.execute(sa.insert(deliveries).values(dataset=dataset, user=user, **vars(made)))
        details = {"owner": upload.owner, "upload": statement}
        trail.append(c, user, "deliver", dataset, details)
    return made


def open_store(hub: Hub, agreed: Collection) -> Store:
    """All uploads of a plan, checked again."""
    with hub.db.reading() as c:
        delivered = list_deliveries(c, agreed.dataset)
    uploads = [
        Upload.from_dict(parse_json(hub.vault.read(one.object), "upload"), agreed.plan)
        for one in delivered
    ]
    return Store(agreed.plan, uploads, agreed.owners)


def check_request(
    c: Transaction, dataset: Dataset, operation: str, spec: Mapping[str, Any]
) -> None:
    """Refuse to ask of encrypted uploads what they cannot answer, before anything is spent."""
    if dataset.mode != ENCRYPTED or operation == ACCESS:
        return
    asked = read_operation(operation, dict(spec))
    if not isinstance(asked, Synthesise) or asked.algorithm is not None:
        raise InputError(
            "Encrypted uploads can be asked for synthetic tables, by methods of ours, and for "
            "nothing else."
        )
    agreed = read_collection(c, dataset.id)
    here = {one.owner for one in list_deliveries(c, dataset.id)}
    missing = [owner for owner in agreed.plan.owners if owner not in here]
    if missing:
        raise Conflict(
            f"The upload of {missing[0]} is missing; nothing can be asked before all owners have "
            "delivered."
        )
    protected = read_protected(dataset.neighbours, dataset.unit)
    method = asked.make_method(protected)
    check_method(method, agreed.plan)
    if bool(method.delta) != bool(agreed.plan.delta):
        raise InputError(
            "The plan counts in another currency: ask with a delta where the plan has one, and "
            "without where it has none."
        )


# --------------------------------------------------------------------------- details


def _check_plan(plan: EncryptionPlan, dataset: Dataset) -> None:
    """The data set promises what the plan does, and no more."""
    if plan.schema.to_dict() != Schema.from_dict(dict(dataset.schema)).to_dict():
        raise InputError(
            "The plan has another schema than the data set; register it with the plan's."
        )
    if (plan.neighbours, "row") != (dataset.neighbours, dataset.unit):
        raise InputError(
            f"The plan protects rows, neighbours {plan.neighbours}, and the data set is registered "
            "for something else; register it again."
        )
    if not dataset.total.fits(Price.of(plan.epsilon, plan.delta)):
        raise InputError(
            f"The data set's total is above what the plan allows ({plan.epsilon:g}, "
            f"{plan.delta:g}); lower it."
        )
    if not plan.tables:
        raise InputError("The plan has no tables, which a synthetic table needs.")


def _read_certificates(
    plan: EncryptionPlan, certificates: Mapping[str, str]
) -> dict[str, Certificate]:
    if sorted(certificates) != list(plan.owners):
        raise InputError("There must be a certificate of each owner of the plan, and no other.")
    found = {name: Certificate.from_pem(text, name) for name, text in certificates.items()}
    for name, one in found.items():
        if one.name != name:
            raise InputError(f"The certificate of {name} is one of {one.name}; give the right one.")
    return found


def _read(row: sa.RowMapping) -> Collection:
    return Collection(
        dataset=row["dataset"],
        plan=EncryptionPlan.from_dict(row["plan"], "The stored plan"),
        owners={name: Certificate.from_pem(text, name) for name, text in row["owners"].items()},
        service=row["service"],
    )


def _find(c: Transaction, dataset: str, owner: str, statement: str) -> Delivery | None:
    """The same delivery from before; refuses another one."""
    for one in list_deliveries(c, dataset):
        if one.owner == owner:
            if one.digest != statement:
                raise Conflict(
                    f"{owner} has delivered another upload before; a plan takes one of each owner."
                )
            return one
    return None
