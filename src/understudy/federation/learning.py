"""Learners on the rows of several holders: they ask as they would ask a trusted curator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from understudy.data.schema import Schema
from understudy.errors import InputError, UnderstudyError
from understudy.federation import Link, MemoryLink
from understudy.federation.analyst import Federation
from understudy.federation.curator import FederatedCurator
from understudy.federation.holder import Holder
from understudy.federation.terms import COLLUDERS
from understudy.learners.estimator import Learner
from understudy.learners.training import TrainedModel, learner_name
from understudy.privacy.budget import Neighbours
from understudy.release.callbacks import Notify, ignore_notes


def federate_learner(
    holders: Iterable[Link | Holder],
    schema: Schema | str | Path,
    learner: Learner,
    target: str | None = None,
    *,
    neighbours: Neighbours = "add_remove",
    dropouts: int = 0,
    colluders: int = COLLUDERS,
    notify: Notify = ignore_notes,
) -> TrainedModel:
    """Fit a learner to the rows of several holders, by secure sums with one noise in all.

    Parameters
    ----------
    holders
        Links to holders, or holders in this process.
    schema
        The schema that all holders have; it gives the public bounds and classes.
    learner
        The learner, with its epsilon and delta; it is fitted. A logistic regression needs the
        solver "moments".
    target
        The column to predict; k-means and PCA have none.
    neighbours, dropouts, colluders, notify
        As for :func:`understudy.federate`.

    Examples
    --------
    >>> from understudy.learners import GaussianNB
    >>> model = federate_learner(links, "s.json", GaussianNB(1.0), "sick")  # doctest: +SKIP
    """
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    learner.check(schema, target)
    if getattr(learner, "needs_rows", False):
        raise InputError(
            "Perturbation needs all rows in one place, which no holder gives away; use "
            "solver='moments'."
        )
    if learner.ledger is not None:
        raise InputError("Holders keep ledgers of their own; leave the learner's ledger out.")
    name = learner_name(learner)
    links = [MemoryLink(holder) if isinstance(holder, Holder) else holder for holder in holders]
    with Federation(links, notify) as federation:
        session = federation.open(
            schema,
            "secure",
            method={"name": name, "epsilon": learner.epsilon, "delta": learner.delta},
            epsilon=learner.epsilon,
            delta=learner.delta,
            neighbours=neighbours,
            dropouts=dropouts,
            colluders=colluders,
        )
        try:
            curator = FederatedCurator(session, schema)
            learner.fit_curator(curator, target)
        finally:
            # Holders settle their ledgers whatever happened.
            with contextlib.suppress(UnderstudyError):
                session.close()
    return TrainedModel(learner=learner, schema=schema, target=target, ledger=curator.ledger)
