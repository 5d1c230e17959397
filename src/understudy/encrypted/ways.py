"""From encrypted uploads to a model: synthesizers, unchanged."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

from understudy.encrypted.curator import EncryptedCurator
from understudy.encrypted.plans import EncryptionPlan, list_tables
from understudy.encrypted.session import EncryptedSession, Store
from understudy.errors import InputError
from understudy.federation import Link
from understudy.federation.terms import COLLUDERS
from understudy.models.constraining import check_constraints
from understudy.models.model import Model
from understudy.privacy.curator import Curator
from understudy.privacy.mechanisms import Noise
from understudy.release.callbacks import Notify, Progress, ignore_notes, no_progress
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.registry import find_method, methods_for

SURVEY_SHARE = 0.2
"""The share of the budget for noisy scores to choose from, where a method makes choices."""


def federate_encrypted(
    link: Link,
    store: Store,
    synthesizer: Synthesizer,
    *,
    colluders: int = COLLUDERS,
    survey_share: float = SURVEY_SHARE,
    noise: Noise | None = None,
    progress: Progress = no_progress,
    notify: Notify = ignore_notes,
) -> Model:
    """Learn one model from the uploads of owners who are offline.

    Parameters
    ----------
    link
        The way to the crypto service.
    store
        The uploads of all owners.
    synthesizer
        The method; its epsilon and delta are the guarantee for every owner's rows.
    colluders
        1: the guarantee holds against the aggregator or the service, each together with all owners
        but one. 0: against readers alone, with half of the noise's variance.
    survey_share
        The share of the budget for noisy scores to choose from, where a method makes choices and
        the plan has other tables than those of all single columns and pairs.
    noise
        Where the aggregator's noise comes from; only studies give one.
    progress, notify
        Called while learning, and with sentences.

    Examples
    --------
    >>> model = federate_encrypted(link, store, Adaptive(epsilon=1.0))  # doctest: +SKIP
    """
    check_method(synthesizer, store.plan)
    if fit_to_plan(synthesizer, store.plan) != synthesizer:
        notify("The method asks for the tables of the plan only, and for none beyond.")
    with open_session(link, store, synthesizer, colluders=colluders, noise=noise) as session:
        return learn_in_session(session, synthesizer, survey_share, progress)


def open_session(
    link: Link,
    store: Store,
    synthesizer: Synthesizer,
    *,
    colluders: int = COLLUDERS,
    noise: Noise | None = None,
) -> EncryptedSession:
    """A session in which a method can learn: the service has reserved its price, and nothing was
    asked yet.
    """
    check_method(synthesizer, store.plan)
    fitted = fit_to_plan(synthesizer, store.plan)
    return EncryptedSession(
        link,
        store,
        method=json.loads(json.dumps(fitted.parameters())),
        epsilon=synthesizer.epsilon,
        delta=synthesizer.delta,
        colluders=colluders,
        noise=noise,
    )


def learn_in_session(
    session: EncryptedSession,
    synthesizer: Synthesizer,
    survey_share: float = SURVEY_SHARE,
    progress: Progress = no_progress,
) -> Model:
    """Ask all that a method asks, in a session that was opened for it."""
    fitted = fit_to_plan(synthesizer, session.plan)
    curator = EncryptedCurator(session)
    asked: Curator = curator
    budget = curator.ledger.left
    if not getattr(fitted, "only_measures", False):
        progress("surveying tables", 0, 1)
        if tells_all_pairs(session.plan):
            asked = curator.collect(budget)
        else:
            first, budget = budget.split(survey_share, 1 - survey_share)
            curator.survey(first)
    model = fitted.learn(asked, budget, progress)
    agreed = {
        "way": session.terms.way,
        "holders": len(session.terms.holders),
        "colluders": session.terms.colluders,
        "trust": session.terms.trust,
    }
    return replace(model, method={**model.method, "federation": agreed})


def tells_all_pairs(plan: EncryptionPlan) -> bool:
    """Whether the plan has the tables of all single columns and pairs, and no others.

    Then all of them are asked for at once: one estimate of all tables tells more than a few tables
    that are chosen by noisy scores (docs/decisions/046-collected-tables.md).
    """
    wanted = {frozenset(axes) for axes in list_tables(plan.schema, 2)}
    return {frozenset(axes) for axes in plan.tables} == wanted


def check_method(synthesizer: Synthesizer, plan: EncryptionPlan) -> None:
    """Refuse a method that does not run on encrypted tables."""
    if "encrypted" not in find_method(synthesizer.name).curators:
        served = ", ".join(method.name for method in methods_for("encrypted"))
        raise InputError(
            f"The method {synthesizer.name} does not run on encrypted tables; use one of {served}."
        )
    if synthesizer.person is not None or synthesizer.max_rows_per_person != 1:
        raise InputError(
            "Where owners share the work, rows are protected, not persons: one may be known to "
            "several."
        )
    if synthesizer.neighbours != plan.neighbours:
        raise InputError(
            f"The plan is for neighbours {plan.neighbours}, and the method for "
            f"{synthesizer.neighbours}; the two cannot be added up: ask for the plan's."
        )
    check_constraints(plan.schema)
    synthesizer.check(plan.schema)


def fit_to_plan(synthesizer: Synthesizer, plan: EncryptionPlan) -> Synthesizer:
    """The method, with parameters that keep it to the tables of the plan."""
    order = max((len(axes) for axes in plan.tables), default=1)
    planned = {frozenset(axes) for axes in plan.tables}
    changes: dict[str, Any] = {}
    names = {field.name for field in fields(synthesizer)}
    if "order" in names:
        changes["order"] = max(min(getattr(synthesizer, "order", 2), order), 2)
    if "holdout" in names:
        changes["holdout"] = 0.0
    if "degree" in names:
        degree = getattr(synthesizer, "degree", None)
        if degree is None or degree > order - 1:
            changes["degree"] = order - 1
    if "encoding" in names:
        changes["encoding"] = "vanilla"
    if not planned:
        raise InputError("The plan has no tables, which a synthesizer needs; agree on another.")
    return replace(synthesizer, **changes)
