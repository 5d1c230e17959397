"""The question ``vectors`` as it is sent to holders, and as a holder reads it: strictly.

A function is sent as numbers: which columns it sees, the sizes of its layers, and its weights.
Nothing that is sent is executed.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting.row_functions import (
    MAX_WIDTH,
    DenseGradient,
    RandomFeatures,
    RowFunction,
    RowInputs,
    Singles,
)
from understudy.errors import InputError
from understudy.privacy.budget import Budget
from understudy.privacy.vectors import VectorSum
from understudy.privacy.wire import Arrays, Content, Wire

_NOT_READABLE = "The message describes a function of rows in a way that cannot be read."
_NUMBER = (float, int)


def vectors_to_wire(question: VectorSum) -> tuple[Content, Arrays]:
    """What holders are sent."""
    function = question.function
    if isinstance(function, DenseGradient):
        kind, loss, labels = "dense", function.loss, 1
        sizes = [len(function.weights[0]), *(len(bias) for bias in function.biases)]
        parts = [
            part for pair in zip(function.weights, function.biases, strict=True) for part in pair
        ]
    elif isinstance(function, RandomFeatures):
        kind, loss, labels = "features", "gan", function.labels
        sizes, parts = list(function.directions.shape), [function.directions]
    else:
        raise InputError("Holders have no networks of images; give one table to one curator.")
    content = {
        "amount": question.budget.amount,
        "kind": kind,
        "loss": loss,
        "labels": labels,
        "scaled": list(function.inputs.scaled),
        "coded": list(function.inputs.coded),
        "clip": float(question.clip),
        "rate": float(question.rate),
    }
    flat = np.concatenate([np.ravel(part) for part in parts]).astype(np.float64)
    return content, {"sizes": np.array(sizes, dtype=np.int64), "numbers": flat}


def vectors_from_wire(wire: Wire, budget: Budget) -> VectorSum:
    """What a holder was sent."""
    return VectorSum(
        function=_read_function(wire),
        budget=budget,
        clip=float(wire.get("clip", _NUMBER)),
        rate=float(wire.get("rate", _NUMBER)),
    )


def _read_function(wire: Wire) -> RowFunction:
    inputs = RowInputs(scaled=_names(wire, "scaled"), coded=_names(wire, "coded"))
    sizes = wire.array("sizes", "i8").tolist()
    numbers = wire.array("numbers", "f8").astype(np.float32)
    if not 2 <= len(sizes) <= 16 or not all(1 <= size <= MAX_WIDTH for size in sizes):
        raise InputError(_NOT_READABLE)
    kind = wire.get("kind", str)
    if kind == "features" and len(sizes) == 2:
        [directions] = _cut(numbers, [tuple(sizes)])
        labels = wire.get("labels", int)
        if not 1 <= labels <= MAX_WIDTH:
            raise InputError(_NOT_READABLE)
        return RandomFeatures(inputs=inputs, directions=directions, labels=labels)
    if kind != "dense":
        raise InputError(_NOT_READABLE)
    shapes: list[tuple[int, ...]] = []
    for before, after in itertools.pairwise(sizes):
        shapes += [(before, after), (after,)]
    parts = _cut(numbers, shapes)
    loss = wire.get("loss", str)
    if loss not in ("gan", "wasserstein"):
        raise InputError(_NOT_READABLE)
    return DenseGradient(inputs=inputs, weights=parts[::2], biases=parts[1::2], loss=loss)


def _cut(numbers: NDArray[np.float32], shapes: list[tuple[int, ...]]) -> list[Singles]:
    if numbers.size != sum(math.prod(shape) for shape in shapes):
        raise InputError(_NOT_READABLE)
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    pieces = np.split(numbers, ends)
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def _names(wire: Wire, name: str) -> tuple[str, ...]:
    names: list[Any] = wire.get(name, list)
    if not all(isinstance(one, str) for one in names):
        raise InputError(_NOT_READABLE)
    return tuple(names)
