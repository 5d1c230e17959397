"""One projection over the rows of many owners: by secure sums or by encryption, the same way.

The matrix that is decomposed has noise, so its eigen-decomposition is post-processing and happens
in the clear (decision 036). Without noise there is nothing of the kind here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from understudy.data.schema import Schema
from understudy.encrypted.curator import EncryptedCurator
from understudy.encrypted.session import EncryptedSession, Store
from understudy.errors import InputError, UnderstudyError
from understudy.federation import Link, MemoryLink
from understudy.federation.analyst import Federation
from understudy.federation.curator import FederatedCurator
from understudy.federation.holder import Holder
from understudy.federation.terms import COLLUDERS
from understudy.learners.estimator import Learner
from understudy.release.callbacks import ignore_notes


@dataclass(frozen=True, kw_only=True)
class Holders:
    """Owners who are online, and add up under masks.

    Parameters
    ----------
    links
        Links to holders, or holders in this process.
    schema
        The schema that all of them have.
    colluders, dropouts
        As for :func:`understudy.federate`.
    """

    links: Iterable[Link | Holder]
    schema: Schema
    colluders: int = COLLUDERS
    dropouts: int = 0


@dataclass(frozen=True, kw_only=True)
class Uploads:
    """Owners who are offline, and have uploaded encrypted sums.

    Parameters
    ----------
    link
        The way to the crypto service.
    store
        The uploads.
    colluders
        As for :func:`understudy.encrypted.ways.federate_encrypted`.
    """

    link: Link
    store: Store
    colluders: int = COLLUDERS


def fit_owners(owners: Holders | Uploads, learner: Any, target: str | None = None) -> Any:
    """Fit a projection to the rows of many owners; returns it.

    Parameters
    ----------
    owners
        Who has the rows, and how they are asked.
    learner
        A :class:`~understudy.compression.PrivatePCA`, :class:`~understudy.compression.PrivateDCA`
        or :class:`~understudy.compression.PrivateMDR`; exact ones are refused.
    target
        The column of labels, where there is one.
    """
    if not isinstance(learner, Learner):
        raise InputError(
            f"{type(learner).__name__} needs the exact sums of all owners, which nobody may see; "
            "use a private one."
        )
    if learner.ledger is not None:
        raise InputError("Owners have ledgers of their own; leave the learner's ledger out.")
    method = {"name": type(learner).__name__, "epsilon": learner.epsilon, "delta": learner.delta}
    if isinstance(owners, Uploads):
        learner.check(owners.store.plan.schema, target)
        with EncryptedSession(
            owners.link,
            owners.store,
            method=method,
            epsilon=learner.epsilon,
            delta=learner.delta,
            colluders=owners.colluders,
        ) as session:
            return learner.fit_curator(EncryptedCurator(session), target)
    learner.check(owners.schema, target)
    links = [MemoryLink(one) if isinstance(one, Holder) else one for one in owners.links]
    with Federation(links, ignore_notes) as federation:
        opened = federation.open(
            owners.schema,
            "secure",
            method=method,
            epsilon=learner.epsilon,
            delta=learner.delta,
            dropouts=owners.dropouts,
            colluders=owners.colluders,
        )
        try:
            return learner.fit_curator(FederatedCurator(opened, owners.schema), target)
        finally:
            # Holders settle their ledgers whatever happened.
            with contextlib.suppress(UnderstudyError):
                opened.close()
