"""Surveys to try things on, with a randomiser of each kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy import Schema
from understudy.local.plans import CollectionPlan, plan_all_pairs
from understudy.local.questions import LocalQuestion
from understudy.local.randomisers import (
    BinaryResponse,
    CategoricalRandomiser,
    DirectEncoding,
    FiniteRandomiser,
)
from understudy.local.randomisers.base import RANDOMISER_KINDS

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 16, "max": 95, "bins": 4},
            "sex": {"kind": "categorical", "values": ["female", "male"]},
            "smoker": {"kind": "boolean", "missing": True},
            "town": {
                "kind": "categorical",
                "values": ["Aarhus", "Bern", "Cork"],
                "other": "elsewhere",
            },
            "height": {"kind": "real", "min": 1.2, "max": 2.2, "bins": 5, "missing": True},
            "born": {"kind": "date", "min": "1920-01-01", "max": "2009-12-31", "bins": 6},
        }
    }
)

KINDS_OF_ANSWERS = sorted(
    name
    for name, kind in RANDOMISER_KINDS.items()
    if issubclass(kind, CategoricalRandomiser) and issubclass(kind, FiniteRandomiser)
)
"""All randomisers that a plan may use, by name."""


def ask(
    *columns: str,
    epsilons: Sequence[float] = (2.0,),
    kind: str | None = None,
    schema: Schema = SCHEMA,
    **more: Any,
) -> LocalQuestion:
    """A question about the joint index of columns, by direct encoding or another randomiser."""
    sizes = tuple(schema[name].size for name in columns)
    size = 2 if "odd" in more else math.prod(sizes)
    made = RANDOMISER_KINDS[kind] if kind else DirectEncoding
    if made is BinaryResponse:
        randomisers = tuple(made(epsilon=epsilon) for epsilon in epsilons)
    else:
        randomisers = tuple(made(size=size, epsilon=epsilon) for epsilon in epsilons)
    return LocalQuestion(columns=columns, sizes=sizes, randomisers=randomisers, **more)


def small_plan(**changes: Any) -> CollectionPlan:
    """Three questions, one of them a parity, at one level."""
    parity = ask("sex", "smoker", odd=((1,), (0, 2)), weight=2)
    given: dict[str, Any] = {
        "schema": SCHEMA,
        "epsilons": (2.0,),
        "questions": (ask("sex"), ask("age", "town"), parity),
        "title": "A small survey",
    }
    return CollectionPlan(**(given | changes))


def plan_of_all_kinds(epsilons: Sequence[float] = (2.0, 0.5)) -> CollectionPlan:
    """A question by each randomiser, and pairs by the best."""
    questions = []
    for kind in KINDS_OF_ANSWERS:
        columns = ("sex",) if RANDOMISER_KINDS[kind] is BinaryResponse else ("age", "town", "born")
        questions.append(ask(*columns, epsilons=epsilons, kind=kind))
    pairs = plan_all_pairs(SCHEMA, epsilons).questions
    return CollectionPlan(schema=SCHEMA, epsilons=tuple(epsilons), questions=(*questions, *pairs))


def codes_of(persons: int, seed: int = 0, schema: Schema = SCHEMA) -> dict[str, Any]:
    """Made-up persons, by their codes; some codes are more frequent than others."""
    rng = np.random.default_rng(seed)
    codes = {}
    for attribute in schema.modelled:
        weights = np.arange(1, attribute.size + 1) / (attribute.size * (attribute.size + 1) / 2)
        codes[attribute.name] = rng.choice(attribute.size, persons, p=weights)
    return codes
