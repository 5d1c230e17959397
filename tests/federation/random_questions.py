"""Random questions to holders: most of them valid, some a little wrong, of every kind and in every
way.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.random import Generator

from understudy.counting.row_functions import (
    DenseGradient,
    RandomFeatures,
    RowFunction,
    RowInputs,
)
from understudy.data.bits import Bits
from understudy.data.encoding import Coded
from understudy.data.marginals import Axis, Marginal, marginal
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.federation.messages import Message
from understudy.federation.questions import QUESTIONS
from understudy.privacy.budget import Budget
from understudy.privacy.features import Indicator, Number
from understudy.privacy.sum_wire import sum_to_wire
from understudy.privacy.sums import Sum
from understudy.privacy.vector_wire import vectors_to_wire
from understudy.privacy.vectors import VectorSum
from understudy.privacy.wire import pack_marginals

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "one": {"kind": "categorical", "values": ["only"]},
            "a": {"kind": "boolean"},
            "b": {"kind": "categorical", "values": ["p", "q"]},
            "c": {"kind": "categorical", "values": [1, 2, 3]},
            "d": {"kind": "categorical", "values": ["k", "l", "m", "n", "o"]},
            "e": {"kind": "integer", "min": 0, "max": 80, "bins": 9},
            "f": {"kind": "categorical", "values": [0, 1, 2]},
            "notes": {"kind": "text"},
        }
    }
)
VIEWS: dict[str | None, Schema] = {
    None: SCHEMA,
    "binary": Bits(SCHEMA).schema,
    "gray": Bits(SCHEMA, gray=True).schema,
}
ASKED = {**QUESTIONS, "voting": ("vote", "vote", *QUESTIONS["voting"])}
SCORES = ("F", "F", "F", "I", "R", "R of the paper", "misfit")
AMOUNTS = {
    "tables": (1e-3, 0.01, 0.1, 1.0),
    "vote": (1e-6, 1e-3, 0.1, 1.0),
    "scores": (0.1, 1.0),
    "top": (0.1, 1.0),
    "size": (1e-3, 0.1, 1.0),
    "sums": (1e-9, 0.1, 1.0),
    "vectors": (1e-6, 0.1, 1.0),
}
METHODS: tuple[dict[str, Any], ...] = (
    {"name": "independent"},
    {"name": "privbayes"},
    {"name": "privbayes", "degree": 1},
    {"name": "privbayes", "encoding": "binary", "score": "F"},
    {"name": "privbayes", "encoding": "gray", "score": "I"},
    {"name": "privbayes", "target": "a"},
    {"name": "mst"},
    {"name": "adaptive"},
    {"name": "adaptive", "holdout": 0},
    {"name": "adaptive", "target": "a", "rounds": 0.01},
    {"name": "adaptive", "workload": [["a", "b"]], "max_cells": 1},
    {"name": "gaussian"},
    {"name": "marginals", "marginals": [["a", "b"], ["b", "c", "d"]]},
    {"name": "privbayes", "degree": 99},
    {"name": "privbayes", "score": "F"},
    {"name": "privbayes", "beta": "x"},
    {"name": "privbayes", "beta": []},
    {"name": "privbayes", "target": 3},
    {"name": "privbayes", "target": "notes"},
    {"name": "independent", "unknown": 1},
    {"name": "histogram"},
    {},
)
"""The last nine are none that a holder could work by."""

NASTY: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2, 2**62, -0.5, 1e-300, 1e300, "", "x", "\ud800", [], {}, ["x"]),
    *([["x"], 1], {"h0": 1}, {"h0": -1}, {"h0": True}, {"h0": None}, {"h0": "1"}),
)


def neighbours_of(rng: Generator, relation: str) -> tuple[Coded, Coded]:
    """A table, mostly small, and one that differs from it in one row."""
    rows = int(rng.choice([0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 7, 9, 40, 300]))
    if relation == "replace":
        rows = max(rows, 1)
    skew = rng.uniform(0, 1.5)
    codes = {
        attribute.name: (attribute.size * rng.random(rows + 1) ** (1 + skew)).astype(np.uint8)
        for attribute in SCHEMA.modelled
    }
    first = {name: column[:rows] for name, column in codes.items()}
    if relation == "replace":
        other = {name: np.roll(column, 1)[:rows] for name, column in codes.items()}
        return _rows(first, rows), _rows(other, rows)
    return _rows(first, rows), _rows(codes, rows + 1)


def _rows(codes: dict[str, Any], rows: int) -> Coded:
    """Rows with numbers to sum, of which some are beyond the bounds and some cannot be read."""
    words = ("0", "9", "18", "-5", "36", "45", "1e300", "what", "")
    numbers = Column("text", codes["e"].astype(np.uint32), words)
    return Coded(SCHEMA, codes, rows, (), Table({"e": numbers}))


def question(rng: Generator, *, way: str, session: str, number: int, rows: int | None) -> Message:
    """A question of a round; one in five is a little wrong."""
    what = str(rng.choice(ASKED[way]))
    content: dict[str, Any] = {"session": session, "round": number, "what": what}
    arrays: dict[str, Any] = {}
    if what != "model":
        content["amount"] = float(rng.choice(AMOUNTS[what]))
    if what in ("tables", "vote", "scores", "top"):
        about, arrays = _tables(rng, what, rows)
        content |= about
    if what == "sums":
        about, arrays = _sums(rng)
        content = {**about, **content, "bits": None}
    if what == "vectors":
        about, arrays = _vectors(rng)
        content = {**about, **content, "bits": None}
    if rng.random() < 0.2:
        return _spoil(rng, content, arrays)
    return Message("ask", content, arrays)


def _sums(rng: Generator) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Sums of numbers, of categories that are numbers, and of indicators."""
    centre = float(rng.choice([0.0, 40.0, 12.3]))
    known = [
        Number("e", centre=centre, unit=(None, 3.0)[rng.integers(2)]),
        Number("e", 5.0, 50.0),
        Number("c"),
        Number("a"),
        *(Indicator("d", (code,)) for code in range(5)),
        Indicator("e", (0, 3)),
    ]
    features = [known[place] for place in rng.permutation(len(known))[: rng.integers(1, 6)]]
    by = marginal(*("b", ("e", 1))[: rng.integers(3)])
    shape = [2, 5][: len(by)]
    points = None
    if rng.random() < 0.3:
        points = rng.uniform(0, 50, (2, len(features))).tolist()
        shape.append(2)
    centres = rng.uniform(0, 3, (*shape, len(features)))
    moments = str(rng.choice(["none", "squares", "products"]))
    return sum_to_wire(
        Sum(
            features=features,
            budget=Budget(1.0),
            moments=moments,  # type: ignore[arg-type]
            by=by,
            nearest=points,
            centres=(None, None, centres)[rng.integers(3)],
            ball=(None, 0.5, 2.0)[rng.integers(3)],
            missing=("complete", "centre")[rng.integers(2)],  # type: ignore[arg-type]
            shares=(None, _split_of(moments))[rng.integers(2)],
        )
    )


def _vectors(rng: Generator) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Gradients of a small network, and random features; weights may be beyond all reason."""
    size = float(rng.choice([1.0, 1.0, 1e30]))

    def draw(*shape: int) -> Any:
        return (size * rng.standard_normal(shape)).astype(np.float32)

    inputs = RowInputs(coded=("b", "c"))
    function: RowFunction = RandomFeatures(inputs=inputs, directions=draw(2, 5), labels=3)
    if rng.random() < 0.5:
        loss = ("gan", "wasserstein")[rng.integers(2)]
        function = DenseGradient(
            inputs=inputs,
            weights=[draw(5, 3), draw(3, 1)],
            biases=[draw(3), draw(1)],
            loss=loss,  # type: ignore[arg-type]
        )
    clip, rate = float(rng.choice([0.1, 1.0, 50.0])), float(rng.choice([0.25, 1.0]))
    return vectors_to_wire(
        VectorSum(function=function, budget=Budget(1.0, "rho"), clip=clip, rate=rate)
    )


def _split_of(moments: str) -> dict[Any, float]:
    if moments == "none":
        return {"counts": 1.0, "sums": 2.0}
    return {"counts": 1.0, "sums": 2.0, "moments": 3.0}


def _tables(
    rng: Generator, what: str, rows: int | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    score = str(rng.choice(SCORES)) if what != "tables" else ""
    uneven = score == "F" and rng.random() < 0.5
    bits = (None, None, "binary", "gray")[rng.integers(4)] if not uneven else None
    sizes = {
        Axis(attribute.name, level): size
        for attribute in VIEWS[bits].modelled
        for level, size in enumerate(attribute.sizes_by_level())
    }
    axes = children = list(sizes)
    if score == "F":  # for two values; some questions try others
        fitting = ((2,), (2,), (1, 2), (1, 2, 3))[rng.integers(4)]
        children = [axis for axis in axes if sizes[axis] in fitting]
    if uneven:
        axes = [axis for axis in axes if sizes[axis] % 2]
        children = [Axis("one", 0)]
    fewest = 1 if score else 0
    tables = [_marginal(rng, axes, children, fewest) for _ in range(rng.integers(1, 6))]
    if what != "tables":
        tables = list(dict.fromkeys(tables))  # each can be chosen once
    names, arrays = pack_marginals(tables)
    content: dict[str, Any] = {"names": names, "bits": bits}
    if what == "tables":
        if rng.random() < 0.3:
            arrays["weights"] = rng.uniform(0.1, 2.0, len(tables))
        return content, arrays
    content |= {"score": score, "most_rows": rows, "shares": _shares(rng)}
    if score == "misfit":
        cells = sum(int(np.prod([sizes[axis] for axis in axes])) for axes in tables)
        arrays["estimates"] = rng.uniform(-1.0, 20.0, cells)
    if what == "vote":
        content["rule"] = str(rng.choice(["exponential", "permute_and_flip"]))
    if what == "top":
        content["delegate"] = str(rng.choice(["h0", "h1"]))
    if what != "scores" and rng.random() < 0.3:
        offsets = rng.uniform(-50.0, 50.0, len(tables))
        arrays["offsets"] = offsets if what == "vote" else offsets.astype(np.int64)
    return content, arrays


def _shares(rng: Generator) -> dict[str, float]:
    return {name: float(rng.uniform(0, 0.3)) for name in ("h0", "h1", "h2")}


def _marginal(rng: Generator, axes: list[Axis], children: list[Axis], fewest: int) -> Marginal:
    """Up to four axes of different attributes, a child first."""
    chosen = [children[rng.integers(len(children))], *(axes[p] for p in rng.permutation(len(axes)))]
    found: dict[str, Axis] = {}
    for axis in chosen[: rng.integers(fewest, 5)]:
        found.setdefault(axis.attribute, axis)
    return tuple(found.values())


def _spoil(rng: Generator, content: dict[str, Any], arrays: dict[str, Any]) -> Message:
    """Change one thing."""
    places = [*content, *arrays, "more"]
    place = places[rng.integers(len(places))]
    if place in arrays:
        arrays = {**arrays, place: _spoiled_array(rng, arrays[place])}
        return Message("ask", content, arrays)
    if place == "session":
        place = "round"
    value = NASTY[rng.integers(len(NASTY))]
    if place == "names" and rng.random() < 0.7:
        value = [*content["names"][1:], str(rng.choice(["notes", "none", "one", "a"]))]
    changed = {**content, place: value}
    if rng.random() < 0.1:
        del changed[place]
    json.dumps(changed)  # all of it can be sent
    return Message("ask", changed, arrays)


def _spoiled_array(rng: Generator, array: np.ndarray) -> np.ndarray:
    changed = array.copy()
    match rng.integers(6):
        case 0:
            return changed[:-1]
        case 1:
            return np.append(changed, changed[:1])
        case 2:
            return changed.astype(np.int64 if changed.dtype == np.float64 else np.float64)
        case 3:
            return changed[:0]
        case _:
            nasty: list[float] = [-1, 0, 1, 2**16, 2**40, 2**62]
            if changed.dtype == np.float64:
                nasty += [5e-324, 1e-300, 2.0**53, 1e308]
            if changed.size:
                changed[rng.integers(changed.size)] = nasty[rng.integers(len(nasty))]
            return changed
