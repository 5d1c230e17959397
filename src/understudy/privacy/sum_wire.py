"""The question ``sum`` as it is sent to holders, and as a holder reads it: strictly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.privacy.budget import Budget
from understudy.privacy.domain import Domain
from understudy.privacy.features import Feature, Indicator, Number
from understudy.privacy.sum_sensitivity import Part
from understudy.privacy.sums import PARTS, Sum
from understudy.privacy.wire import Arrays, Content, Wire, pack_marginals, read_marginals

_NUMBER_FIELDS = ("lower", "upper", "centre", "unit", "step")
_NOT_READABLE = "The message names features in a way that cannot be read."


def sum_to_wire(question: Sum) -> tuple[Content, Arrays]:
    """What holders are sent."""
    names, arrays = pack_marginals([question.by])
    if question.nearest is not None:
        arrays["points"] = np.array(question.nearest, dtype=np.float64).ravel()
    if question.centres is not None:
        arrays["centres"] = np.array(question.centres, dtype=np.float64).ravel()
    if question.directions is not None:
        arrays["directions"] = np.array(question.directions, dtype=np.float64).ravel()
    ball = question.ball
    if ball is not None:
        ball = float(ball)
    content = {
        "names": names,
        "amount": question.budget.amount,
        "features": [_write_feature(feature) for feature in question.features],
        "moments": question.moments,
        "ball": ball,
        "missing": question.missing,
        "split": {part: float(share) for part, share in question.split.items()},
        "pooled": question.pooled,
    }
    return content, arrays


def sum_from_wire(wire: Wire, budget: Budget, domain: Domain) -> Sum:
    """What a holder was sent."""
    marginals = read_marginals(wire)
    if len(marginals) != 1:
        raise InputError("Sums are grouped by one table, not by several.")
    domain.check(marginals)  # centres are cut to its shape
    features = [_read_feature(entry) for entry in wire.get("features", list)]
    question = Sum(
        features=features,
        budget=budget,
        moments=wire.get("moments", str),
        by=marginals[0],
        nearest=_read_points(wire, len(features)),
        ball=_real_or_none(wire.get("ball", (float, int, type(None)))),
        missing=wire.get("missing", str),
        shares=_read_split(wire.get("split", dict)),
        directions=_read_directions(wire, len(features)),
        pooled=wire.get("pooled", bool),
    )
    return _with_centres(question, wire, domain)


def _write_feature(feature: Feature) -> list[Any]:
    if isinstance(feature, Indicator):
        return [feature.column, list(feature.codes)]
    fields = [getattr(feature, field) for field in _NUMBER_FIELDS]
    return [feature.column, *(None if number is None else float(number) for number in fields)]


def _read_feature(entry: Any) -> Feature:
    """A column and its codes, or a column and five numbers."""
    if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
        raise InputError(_NOT_READABLE)
    column, *rest = entry
    if len(rest) == 1 and isinstance(rest[0], list):
        if not all(type(code) is int for code in rest[0]):
            raise InputError(_NOT_READABLE)
        return Indicator(column, tuple(rest[0]))
    if len(rest) != len(_NUMBER_FIELDS) or rest[2] is None:
        raise InputError(_NOT_READABLE)
    lower, upper, centre, unit, step = map(_real_or_none, rest)
    assert centre is not None
    return Number(column, lower, upper, centre, unit, step)


def _real_or_none(number: Any) -> float | None:
    if number is None:
        return None
    if type(number) not in (int, float):
        raise InputError(_NOT_READABLE)
    return float(number)


def _read_split(split: dict[str, Any]) -> dict[Part, float]:
    shares: dict[Part, float] = {}
    for part in PARTS:
        share = _real_or_none(split.get(part))
        if share is not None:
            shares[part] = share
    if len(shares) < len(split):
        raise InputError(f"Shares are of {', '.join(PARTS)}, and are numbers.")
    return shares


def _read_points(wire: Wire, features: int) -> Sequence[Sequence[float]] | None:
    if "points" not in wire.arrays:
        return None
    flat = wire.array("points", "f8")
    if not features or not flat.size or flat.size % features:
        raise InputError("Points must have a finite number for each feature, all of them.")
    points: list[list[float]] = flat.reshape(-1, features).tolist()
    return points


def _read_directions(wire: Wire, features: int) -> NDArray[np.float64] | None:
    if "directions" not in wire.arrays:
        return None
    flat: NDArray[np.float64] = wire.array("directions", "f8")
    if not features or not flat.size or flat.size % features:
        raise InputError("Directions must have a number for each feature, all of them.")
    return flat.reshape(-1, features)


def _with_centres(question: Sum, wire: Wire, domain: Domain) -> Sum:
    if "centres" not in wire.arrays:
        return question
    flat: NDArray[np.float64] = wire.array("centres", "f8")
    shape = (*question.cell_shape(domain), len(question.features))
    if flat.size != math.prod(shape):
        raise InputError("Centres must be finite numbers, one per group and feature.")
    return question.about(flat.reshape(shape))
