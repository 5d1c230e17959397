"""Ways to one synthetic table from the rows of many holders: the thesis' three, and the one beyond.

- **secure**: a synthesizer asks as it would ask a trusted curator; tables are securely summed with
  one noise in all.
- **statistics** (the thesis' algorithm 4): every holder sends all tables over k + 1 attributes
  once, with its own noise; structure and parameters come from their sums, and nothing more is
  asked.
- **voting** (algorithms 5 and 8): in each step every holder votes by a choice of its own, the most
  voted candidate wins; then every holder sends the tables that are needed, with its own noise.
- **models** (algorithm 6): every holder learns a model of its own rows; rows are drawn from each in
  proportion, and merged.

In the last three every holder adds the whole noise by itself: they rest on no assumption, and pay
for it in accuracy.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal

from understudy.data.marginals import Marginal, marginal
from understudy.data.schema import Schema
from understudy.errors import InputError, UnderstudyError
from understudy.federation import Link, MemoryLink
from understudy.federation.analyst import Federation, Session
from understudy.federation.curator import FederatedCurator
from understudy.federation.holder import WAYS, Holder
from understudy.federation.known_tables import TablesCurator
from understudy.federation.merged_models import MergedModels
from understudy.federation.terms import COLLUDERS, ORDER
from understudy.models.consistency import pool_margins
from understudy.models.constraining import check_constraints
from understudy.models.model import Model
from understudy.privacy.mechanisms import Noise
from understudy.release.callbacks import Notify, Progress, ignore_notes, no_progress
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.parameters import file_parameters
from understudy.synthesizers.privbayes import PrivBayes
from understudy.synthesizers.registry import find_method, methods_for

WayName = Literal["secure", "statistics", "voting", "models"]
StructureChoice = Literal["choices", "tables"]


def federate(
    holders: Iterable[Link | Holder],
    schema: Schema | str | Path,
    synthesizer: Synthesizer,
    way: WayName = "secure",
    *,
    dropouts: int = 0,
    colluders: int = COLLUDERS,
    structure: StructureChoice = "choices",
    noise: Noise | None = None,
    progress: Progress = no_progress,
    notify: Notify = ignore_notes,
) -> Model | MergedModels:
    """Learn one model from the rows of several holders.

    Parameters
    ----------
    holders
        Links to holders, or holders in this process.
    schema
        The schema that all holders have.
    synthesizer
        The method; its epsilon, delta and neighbours are the guarantee for every holder's rows.
    way
        "secure", "statistics", "voting" or "models".
    dropouts
        How many holders may drop out on the way.
    colluders
        How many holders may be in league with the analyst, or pry by themselves, without breaking
        the guarantee of secure sums. With 0 it does not hold against the holders, each of whom
        knows its own share of the noise.
    structure
        In the way "secure", where a network comes from: "choices" (one after the other, by sums of
        the holders' own scores) or "tables" (as in the way "statistics", but from securely summed
        tables). Choices are far more accurate unless epsilon is large; but where holders have rows
        of one class each, none of them sees by its own rows what the class depends on, and only
        tables tell.
    noise
        What tosses are made with; only studies give one.
    progress
        Called while learning.
    notify
        Called with a sentence when a holder drops out.

    Returns
    -------
    A model; in the way "models" several, merged.

    Examples
    --------
    >>> model = federate(links, "schema.json", PrivBayes(epsilon=1.0), dropouts=1)  # doctest: +SKIP
    """
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    _check(synthesizer, schema, way, structure)
    links = [MemoryLink(holder) if isinstance(holder, Holder) else holder for holder in holders]
    with Federation(links, notify) as federation:
        session = federation.open(
            schema,
            way,
            method=_state_method(synthesizer),
            epsilon=synthesizer.epsilon,
            delta=synthesizer.delta,
            neighbours=synthesizer.neighbours,
            dropouts=dropouts,
            colluders=colluders,
        )
        try:
            if way == "models":
                return learn_models(session, schema, synthesizer, progress)
            curator = FederatedCurator(session, schema, noise)
            if way == "statistics" or structure == "tables":
                assert isinstance(synthesizer, PrivBayes)
                model = learn_from_tables(curator, synthesizer, progress)
            else:
                model = synthesizer.learn(curator, curator.ledger.left, progress)
            return replace(model, method={**model.method, "federation": _describe_session(session)})
        finally:
            # Holders settle their ledgers whatever happened; one that cannot be reached keeps the
            # whole price.
            with contextlib.suppress(UnderstudyError):
                session.close()


def _check(synthesizer: Synthesizer, schema: Schema, way: str, structure: str) -> None:
    if way not in WAYS:
        raise InputError(f"way must be one of {', '.join(WAYS)}, not {way!r}.")
    if structure not in ("choices", "tables"):
        raise InputError(f"structure must be choices or tables, not {structure!r}.")
    if "federated" not in find_method(synthesizer.name).curators:
        shared = ", ".join(method.name for method in methods_for("federated"))
        raise InputError(
            f"Several holders cannot work by the method {synthesizer.name}; use one of {shared}."
        )
    if synthesizer.person is not None or synthesizer.max_rows_per_person != 1:
        raise InputError(
            "Where holders share the work, rows are protected, not persons: one may be known to "
            "several."
        )
    if (way == "statistics" or structure == "tables") and not isinstance(synthesizer, PrivBayes):
        raise InputError("Structure comes from tables in the method privbayes only.")
    from_tables = way == "statistics" or structure == "tables"
    if from_tables and isinstance(synthesizer, PrivBayes) and synthesizer.network is not None:
        raise InputError(
            "A network that is given does not come from tables; use the way secure with structure "
            "choices."
        )
    if structure == "tables" and way not in ("secure", "statistics"):
        raise InputError(f"In the way {way} structure does not come from tables.")
    check_constraints(schema)
    if way == "models" and schema.constraints is not None and schema.constraints.unlearned:
        raise InputError(
            "In the way models each holder would learn a mapping of its own for the dependencies "
            'among the constraints; give a "mapping", or use another way.'
        )
    synthesizer.check(schema)


def _describe_session(session: Session) -> dict[str, Any]:
    """What a model says about how it came to be."""
    terms = session.terms
    return {
        "way": terms.way,
        "holders": len(terms.holders),
        "dropouts": terms.dropouts,
        "colluders": terms.colluders,
        "dropped_out": len(terms.holders) - len(session.present),
        "trust": terms.trust,
    }


def method_of(parameters: Mapping[str, Any]) -> Synthesizer:
    """A synthesizer from its name and parameters, as they stand in a message; a message names no
    file of whoever reads it.
    """
    method = find_method(parameters.get("name"))
    if "federated" not in method.curators:
        raise InputError(f"There is no method {method.name!r} that holders can work by.")
    given = {name: value for name, value in parameters.items() if name != "name"}
    known = {field.name for field in fields(method.kind)} - file_parameters(method.kind)
    unknown = sorted(given.keys() - known)
    if unknown:
        raise InputError(f"The method {method.name} has no parameter {unknown[0]!r}.")
    return method.make(**given)


# ----------------------------------------- noisy sufficient statistics


def learn_from_tables(
    curator: FederatedCurator, synthesizer: PrivBayes, progress: Progress
) -> Model:
    """All tables over k + 1 attributes, once; then PrivBayes on what they say."""
    names = [attribute.name for attribute in curator.schema.modelled if attribute.size > 1]
    if synthesizer.degree is None:
        degree = 1
    else:
        degree = synthesizer.degree
    degree = max(min(degree, len(names) - 1), 0)
    asked: list[Marginal] = [
        marginal(*group) for group in itertools.combinations(names, degree + 1)
    ]
    progress("asking for tables", 0, 1)
    found = curator.measure(asked or [()], curator.ledger.left)
    progress("asking for tables", 1, 1)
    tables = TablesCurator(
        curator, found if synthesizer.to_the_letter else pool_margins(found, curator.schema)
    )
    letter = replace(synthesizer, degree=degree, tables="fixed", encoding="vanilla")
    return replace(
        letter.learn(tables, tables.ledger.budget, progress), method=synthesizer.parameters()
    )


def _state_method(synthesizer: Synthesizer) -> dict[str, Any]:
    """The method as the terms of a session have it."""
    stated: dict[str, Any] = json.loads(json.dumps(synthesizer.parameters()))
    if synthesizer.renyi_order is not None:
        stated[ORDER] = synthesizer.renyi_order
    return stated


# --------------------------------------------------------------------------- noisy models


def learn_models(
    session: Session, schema: Schema, synthesizer: Synthesizer, progress: Progress
) -> MergedModels:
    """Every holder's own model."""
    ledger = session.terms.ledger
    ledger.private = session.private
    ledger.debit(
        f"a model by each of {len(session.terms.holders)} holders", ledger.budget, synthesizer.name
    )
    progress("waiting for models", 0, 1)
    answers = session.ask("model", {}, {})
    progress("waiting for models", 1, 1)
    found = []
    for name, answer in answers.items():
        try:
            document = json.loads(answer.array("model", "u1").tobytes())
        except ValueError as error:
            raise InputError(f"The model of the holder {name} cannot be read.") from error
        found.append(Model.from_dict(document, f"The model of the holder {name}"))
    method = {**synthesizer.parameters(), "federation": _describe_session(session)}
    return MergedModels(method, schema, tuple(found), ledger)
