from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import by_enumeration, marginalised, random_network

from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.models import inference
from understudy.models.conditioning import condition_network
from understudy.models.inference import Elimination, ancestors, joint, make_evidence, noise_variance
from understudy.models.network import Network, Node


def random_axes(schema: Schema, rng: np.random.Generator) -> list[Axis]:
    names = rng.permutation(schema.names)[: int(rng.integers(1, 4))]
    return [Axis(str(n), int(rng.integers(0, len(schema[str(n)].sizes_by_level())))) for n in names]


def random_evidence(schema: Schema, rng: np.random.Generator) -> dict[str, np.ndarray]:
    names = rng.permutation(schema.names)[: int(rng.integers(0, 4))]
    return {str(n): rng.choice([0.0, 0.4, 1.0], size=schema[str(n)].size) for n in names}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_joint_is_that_of_enumeration(seed: int) -> None:
    network, schema = random_network(seed)
    rng = np.random.default_rng(seed)
    axes, evidence = random_axes(schema, rng), random_evidence(schema, rng)
    wanted = marginalised(by_enumeration(network, schema, evidence), network, schema, axes)
    if wanted.sum() <= 0:
        with pytest.raises(InputError, match="probability is zero"):
            joint(network, schema, axes, evidence)
    else:
        np.testing.assert_allclose(
            joint(network, schema, axes, evidence), wanted / wanted.sum(), atol=1e-12
        )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_conditioned_network_is_the_network_given_the_evidence(seed: int) -> None:
    network, schema = random_network(seed)
    evidence = random_evidence(schema, np.random.default_rng(seed))
    names = [node.attribute for node in network]
    wanted = by_enumeration(network, schema, evidence)
    factors = {name: make_evidence(name, weights) for name, weights in evidence.items()}
    if wanted.sum() <= 0:
        with pytest.raises(InputError, match="probability is zero"):
            condition_network(network, schema, factors)
        return
    found = condition_network(network, schema, factors)
    earlier: set[str] = set()
    for node in found:
        assert {axis.attribute for axis in node.parents} <= earlier
        earlier.add(node.attribute)
    table = by_enumeration(found, schema)
    order = [[node.attribute for node in found].index(name) for name in names]
    np.testing.assert_allclose(table.transpose(order), wanted / wanted.sum(), atol=1e-12)


def test_masks_serve_as_evidence() -> None:
    network, schema = random_network(7)
    mask = np.arange(schema["a0"].size) == 0
    found = joint(network, schema, [Axis("a0")], {"a0": mask})
    np.testing.assert_array_equal(found, mask.astype(float))


def test_only_ancestors_are_looked_at() -> None:
    network, _ = random_network(3, attributes=8)
    first = network.nodes[0].attribute
    assert [node.attribute for node in ancestors(network, {first})] == [first]


def test_too_large_an_answer_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    network, schema = random_network(11)
    monkeypatch.setattr(inference, "MAX_PRODUCT_CELLS", 4)
    with pytest.raises(InputError, match=r"cells over a0, a1.* more than the 4 .* draw rows"):
        joint(network, schema, [Axis(name) for name in schema.names])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_gradients_are_slopes(seed: int) -> None:
    network, schema = random_network(seed, attributes=4)
    rng = np.random.default_rng(seed)
    axes, evidence = [Axis(schema.names[-1])], random_evidence(schema, rng)
    functions = [make_evidence(name, weights) for name, weights in evidence.items()]
    elimination = Elimination(network, schema, functions, [axis.attribute for axis in axes])
    seeds = rng.normal(size=(2, *elimination.shape))
    gradients = elimination.gradients(seeds)
    for place, node in enumerate(network):
        if node.attribute not in gradients:
            continue
        assert gradients[node.attribute].shape == (2, *node.table.shape)
        # The sum is linear in each conditional probability: doubling a table doubles it, for all
        # weights.
        linear = (gradients[node.attribute] * node.conditional).reshape(2, -1).sum(axis=1)
        np.testing.assert_allclose(
            linear, (seeds * elimination.table).reshape(2, -1).sum(axis=1), atol=1e-10
        )
        # And one cell by difference.
        cell = tuple(int(rng.integers(0, side)) for side in node.table.shape)
        nodes = list(network.nodes)
        raised = Node(node.attribute, node.parents, node.table)
        table = node.conditional.copy()
        table[cell] += 0.5
        raised.__dict__["conditional"] = table
        nodes[place] = raised
        moved = Elimination(
            Network(tuple(nodes)), schema, functions, [axis.attribute for axis in axes]
        ).table
        slope = (seeds * (moved - elimination.table)).reshape(2, -1).sum(axis=1) / 0.5
        np.testing.assert_allclose(
            gradients[node.attribute][(slice(None), *cell)], slope, atol=1e-10
        )


def test_error_bars_are_those_of_simulated_noise() -> None:
    """Noise put again into every table moves answers by what is predicted."""
    network, schema = populated()
    rng = np.random.default_rng(5)
    event = {"b": np.array([1.0, 0.0, 0.5]), "d": np.array([0.0, 1.0])}
    functions = [make_evidence(name, weights) for name, weights in event.items()]
    predicted = np.sqrt(noise_variance(Elimination(network, schema, functions, []), np.ones(1)))[0]
    answers = []
    for _ in range(600):
        noisy = Network(
            tuple(
                Node(
                    n.attribute,
                    n.parents,
                    n.table + rng.normal(0, n.deviation, n.table.shape),
                    n.deviation,
                )
                for n in network
            )
        )
        answers.append(float(Elimination(noisy, schema, functions, []).table))
    assert 0.9 < np.std(answers) / predicted < 1.1


def test_no_noise_no_error() -> None:
    network, schema = random_network(7)
    quiet = Network(tuple(Node(n.attribute, n.parents, n.table) for n in network))
    elimination = Elimination(quiet, schema, [], ["a1"])
    assert noise_variance(elimination, np.ones((1, *elimination.shape))) == [0.0]


def test_all_rows_have_no_error() -> None:
    network, schema = random_network(7)
    elimination = Elimination(network, schema, [], ["a1"])
    np.testing.assert_allclose(
        noise_variance(elimination, np.ones((1, *elimination.shape))), 0, atol=1e-18
    )


def populated() -> tuple[Network, Schema]:
    """Every cell holds far more rows than noise: where first-order propagation must hold."""
    rng = np.random.default_rng(2)
    sizes = {"a": 4, "b": 3, "c": 3, "d": 2}
    entries = {
        n: {"kind": "categorical", "values": [str(v) for v in range(s)]} for n, s in sizes.items()
    }
    entries["a"]["ordered"] = True
    schema = Schema.from_dict({"attributes": entries})
    parents = {"a": (), "b": (Axis("a"),), "c": (Axis("a", 1),), "d": (Axis("b"), Axis("c"))}
    nodes = []
    for name, axes in parents.items():
        shape = [schema[a.attribute].sizes_by_level()[a.level] for a in axes] + [sizes[name]]
        nodes.append(Node(name, axes, rng.uniform(500, 2000, shape), 20.0))
    return Network(tuple(nodes)), schema
