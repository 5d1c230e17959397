"""Networks come back from files as they went, and hostile ones are refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from examples import schema_of
from understudy import InputError
from understudy.data.marginals import Axis
from understudy.models.network import Network, Node

SCHEMA = schema_of(
    id={"kind": "identifier"},
    a={"kind": "boolean"},
    b={"kind": "categorical", "values": ["x", "y", "z"]},
    c={"kind": "integer", "min": 0, "max": 7},
)


def network() -> Network:
    rng = np.random.default_rng(0)
    return Network(
        (
            Node("c", (), np.arange(8.0), 1.5),
            Node("a", (Axis("c", 2),), rng.integers(0, 50, (2, 2)).astype(float), 2.0),
            Node("b", (Axis("a"), Axis("c", 1)), rng.integers(0, 50, (2, 4, 3)).astype(float)),
        )
    )


def test_a_network_survives_being_written_as_json_and_read_back() -> None:
    again = Network.from_list(json.loads(json.dumps(network().to_list())), SCHEMA)
    assert [(n.attribute, n.parents, n.deviation) for n in again] == [
        (n.attribute, n.parents, n.deviation) for n in network()
    ]
    for mine, yours in zip(again, network(), strict=True):
        np.testing.assert_allclose(mine.table, yours.table)
    assert again.degree == 2
    assert len(again) == 3
    assert again["a"].attribute == "a"


def _with(place: int, **changes: Any) -> list[Any]:
    document = network().to_list()
    document[place].update(changes)
    return document


def _without(place: int, name: str) -> list[Any]:
    document = network().to_list()
    del document[place][name]
    return document


HUGE = [[f"p{i}", 0] for i in range(9)]
HOSTILE: dict[str, tuple[Any, str]] = {
    "no list": ({}, "not a list"),
    "nothing": (None, "not a list"),
    "empty": ([], "lacks the attribute 'a'"),
    "a node that is a list": ([[]], "not an object"),
    "an attribute is lacking": (network().to_list()[:2], "lacks the attribute 'b'"),
    "an attribute twice": ([*network().to_list(), network().to_list()[0]], "'c' twice"),
    "an unknown attribute": (_with(0, attribute="q"), "does not model"),
    "an identifier": (_with(0, attribute="id"), "does not model"),
    "a name that is no text": (_with(0, attribute=["c"]), "does not model"),
    "no name": (_without(0, "attribute"), "does not model"),
    "a cycle": (_with(0, parents=[["a", 0]]), "not a proper list"),
    "a parent that comes later": (_with(1, parents=[["b", 0]]), "does not come before it"),
    "its own parent": (_with(1, parents=[["a", 0]]), "does not come before it"),
    "a parent twice": (_with(2, parents=[["a", 0], ["a", 0]]), "named twice"),
    "a parent that is no pair": (_with(1, parents=["c"]), "not a pair"),
    "a parent of three": (_with(1, parents=[["c", 0, 0]]), "not a pair"),
    "a parent without a name": (_with(1, parents=[[3, 0]]), "not a pair"),
    "a level that is not there": (_with(1, parents=[["c", 3]]), "no level 3"),
    "a negative level": (_with(1, parents=[["c", -1]]), "no level -1"),
    "a level that is no number": (_with(1, parents=[["c", "1"]]), "no level '1'"),
    "a level that is a flag": (_with(1, parents=[["c", True]]), "no level True"),
    "a level that is not whole": (_with(1, parents=[["c", 1.0]]), "no level 1.0"),
    "parents that are no list": (_with(1, parents={"c": 0}), "not a proper list"),
    "more parents than attributes": (_with(1, parents=HUGE), "not a proper list"),
    "too few counts": (_with(0, counts=[1.0]), "8 counts"),
    "too many counts": (_with(0, counts=[1.0] * 9), "8 counts"),
    "no counts": (_without(0, "counts"), "8 counts"),
    "counts that are no list": (_with(0, counts="12345678"), "8 counts"),
    "a count below nothing": (_with(0, counts=[-1.0] + [1.0] * 7), "cannot be one"),
    "a count that is no number": (_with(0, counts=[float("nan")] + [1.0] * 7), "cannot be one"),
    "an infinite count": (_with(0, counts=[float("inf")] + [1.0] * 7), "cannot be one"),
    "a count beyond all tables": (_with(0, counts=[1e300] * 8), "cannot be one"),
    "a count that is text": (_with(0, counts=["1"] * 8), "not a number"),
    "a count that is nothing": (_with(0, counts=[None] * 8), "not a number"),
    "a count that is a flag": (_with(0, counts=[True] * 8), "not a number"),
    "nested counts": (_with(0, counts=[[1.0]] * 8), "not a number"),
    "a deviation below nothing": (_with(0, deviation=-1), "deviation of 'c'"),
    "a deviation that is text": (_with(0, deviation="1"), "deviation of 'c'"),
    "an infinite deviation": (_with(0, deviation=float("inf")), "deviation of 'c'"),
}


@pytest.mark.parametrize(("document", "cause"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_network_is_refused_with_its_cause(document: Any, cause: str) -> None:
    with pytest.raises(InputError) as refusal:
        Network.from_list(document, SCHEMA)
    assert cause in str(refusal.value)


def test_conditionals_add_up_and_an_empty_configuration_gets_the_overall_shares() -> None:
    node = Node("b", (Axis("a"),), np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 1.0]]))
    np.testing.assert_allclose(node.conditional, [[0.25, 0.5, 0.25], [0.25, 0.5, 0.25]])
    nothing = Node("b", (), np.zeros(3))
    np.testing.assert_allclose(nothing.conditional, np.full(3, 1 / 3))
