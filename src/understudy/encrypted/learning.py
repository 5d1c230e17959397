"""Learners on encrypted uploads: they ask as they would ask a trusted curator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from understudy.data.bits import Bits
from understudy.data.marginals import Marginal
from understudy.data.schema import Schema
from understudy.encrypted.curator import EncryptedCurator
from understudy.encrypted.plans import join_questions
from understudy.encrypted.session import EncryptedSession, Store
from understudy.errors import InputError
from understudy.federation import Link
from understudy.federation.terms import COLLUDERS
from understudy.learners.estimator import Learner
from understudy.learners.rehearsal import NUMBERS_OF_ROWS, Rehearsal
from understudy.learners.training import TrainedModel, learner_name
from understudy.privacy.budget import Currency
from understudy.privacy.curator import Curator
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise
from understudy.privacy.questions import Measure, Question
from understudy.privacy.sums import Sum

from sklearn.base import clone  # isort: skip


def federate_learner_encrypted(
    link: Link,
    store: Store,
    learner: Learner,
    target: str | None = None,
    *,
    colluders: int = COLLUDERS,
    noise: Noise | None = None,
) -> TrainedModel:
    """Fit a learner to the uploads of owners who are offline.

    Parameters
    ----------
    link, store, colluders, noise
        As for :func:`federate_encrypted`.
    learner
        The learner, with its epsilon and delta; it is fitted.
    target
        The column to predict; k-means and PCA have none.
    """
    schema = store.plan.schema
    learner.check(schema, target)
    if learner.ledger is not None:
        raise InputError("The service keeps a ledger of its own; leave the learner's ledger out.")
    method = {"name": learner_name(learner), "epsilon": learner.epsilon, "delta": learner.delta}
    with EncryptedSession(
        link,
        store,
        method=method,
        epsilon=learner.epsilon,
        delta=learner.delta,
        colluders=colluders,
        noise=noise,
    ) as session:
        curator = EncryptedCurator(session)
        learner.fit_curator(curator, target)
    return TrainedModel(learner=learner, schema=schema, target=target, ledger=curator.ledger)


@dataclass(frozen=True, kw_only=True)
class AskedOfPlan:
    """What a plan must have."""

    tables: tuple[Marginal, ...]
    sums: tuple[Sum, ...]


def find_questions(learner: Learner, schema: Schema, target: str | None = None) -> AskedOfPlan:
    """What a learner will ask for, worked out without a row: for a plan."""
    learner.check(schema, target)
    tables: dict[Marginal, None] = {}
    sums: list[Sum] = []
    currency: Currency = "epsilon"
    if learner.delta:
        currency = "rho"
    for rows in NUMBERS_OF_ROWS:
        ledger = Ledger(learner.epsilon, learner.delta, currency=currency)
        rehearsed = Rehearsal(Domain(schema), ledger, rows, adaptive_sums=False)
        listening = _Listening(rehearsed)
        clone(learner).fit_curator(listening, target)
        for question in listening.heard:
            if isinstance(question, Measure):
                tables.update(dict.fromkeys(map(tuple, question.marginals)))
            elif isinstance(question, Sum):
                sums.append(question)
    return AskedOfPlan(tables=tuple(tables), sums=join_questions(sums))


class _Listening(Curator):
    """Writes down what is asked, and lets somebody else answer."""

    adaptive_sums = False

    def __init__(self, answering: Curator) -> None:
        super().__init__(answering.domain, answering.ledger)
        self._answering = answering
        self.heard: list[Question] = []

    @property
    def rows(self) -> None:
        return

    def in_bits(self, bits: Bits) -> Curator:
        return self._answering.in_bits(bits)

    def _answer(self, question: Question) -> Any:
        self.heard.append(question)
        return self._answering.answer(question)
