from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import by_enumeration, random_network

from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.models import sampling
from understudy.models.conditioning import condition_network
from understudy.models.inference import make_evidence
from understudy.models.network import Network, Node
from understudy.models.sampling import Sampler, ancestral
from understudy.models.sampling_kernels import invert, spread_evenly

pytestmark = pytest.mark.usefixtures("each_version")


def shares(
    codes: dict[str, np.ndarray],
    network: Network,
    schema: Schema,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    names = [node.attribute for node in network]
    sizes = [schema[name].size for name in names]
    flat = np.ravel_multi_index([codes[name].astype(np.int64) for name in names], sizes)
    counts = np.bincount(flat, weights, minlength=int(np.prod(sizes))).reshape(sizes)
    return counts / counts.sum()


def distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).sum() / 2)


@pytest.mark.parametrize("spread", ["even", "independent"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rows_follow_the_network(spread: sampling.Spread, seed: int) -> None:
    network, schema = random_network(seed, attributes=4)
    wanted = by_enumeration(network, schema)
    codes = ancestral(network, schema, 200_000, np.random.default_rng(seed), spread)
    found = shares(codes, network, schema)
    assert distance(found, wanted) < 0.02
    assert not found[wanted == 0].any()


@pytest.mark.thorough
def test_each_row_of_an_even_sample_has_the_networks_distribution() -> None:
    """Not only the whole table: the first row alone, over many tables of five rows."""
    network, schema = random_network(4, attributes=3)
    sampler, rng = Sampler(network, schema), np.random.default_rng(1)
    firsts: dict[str, list[int]] = {node.attribute: [] for node in network}
    for _ in range(5_000):
        for name, column in sampler.draw(5, rng, "even").items():
            firsts[name].append(int(column[0]))
    codes = {name: np.array(column) for name, column in firsts.items()}
    assert distance(shares(codes, network, schema), by_enumeration(network, schema)) < 0.03


def test_even_counts_are_nearly_the_expected_ones() -> None:
    rng = np.random.default_rng(3)
    places = rng.integers(0, 50, 100_000).astype(np.int32)
    probabilities = rng.dirichlet(np.ones(20), 50)
    bounds = np.cumsum(probabilities, axis=1)
    bounds[:, -1] = 2
    out = np.empty(len(places), dtype=np.uint8)
    spread_evenly(places, bounds, np.uint64(9), out)
    counts = np.zeros((50, 20))
    np.add.at(counts, (places, out), 1)
    expected = np.bincount(places)[:, None] * probabilities
    assert np.abs(counts - expected).max() < 2


def test_even_samples_do_not_resonate() -> None:
    """Systematic sampling would give 100 rows over 200 equal values all even or all odd ones."""
    bounds = np.arange(1, 201)[None] / 200
    bounds[0, -1] = 2
    odd = []
    for key in range(200):
        out = np.empty(100, dtype=np.uint8)
        spread_evenly(np.zeros(100, dtype=np.int32), bounds, np.uint64(key), out)
        odd.append((out % 2).sum())
    assert min(odd) > 20
    assert max(odd) < 80
    assert 3 < np.std(odd) < 7  # independent rows: 5


def test_rows_in_random_order() -> None:
    bounds = np.array([[0.5, 2.0]])
    out = np.empty(10_000, dtype=np.uint8)
    spread_evenly(np.zeros(10_000, dtype=np.int32), bounds, np.uint64(1), out)
    assert out.sum() == 5000
    runs = np.count_nonzero(np.diff(out)) + 1
    assert abs(runs - 5001) < 250


@pytest.mark.parametrize("size", [3, 40])
def test_impossible_values_are_never_drawn(size: int) -> None:
    """Not even by the largest number below 1, nor by 0."""
    probabilities = np.zeros((1, size))
    probabilities[0, [1, size - 2]] = 0.1, 0.2  # also where they are one value
    cumulative = sampling._cumulative(probabilities / probabilities.sum())
    numbers = np.array([0.0, np.nextafter(0, 1), 0.3, np.nextafter(1, 0)])
    out = np.empty(4, dtype=np.uint8)
    invert(np.zeros(4, dtype=np.int32), cumulative, numbers, out)
    assert out[0] == 1
    assert out[-1] == size - 2
    assert set(out) <= {1, size - 2}


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["even", "independent"]), st.integers(0, 70))
def test_no_impossible_row(seed: int, spread: sampling.Spread, rows: int) -> None:
    network, schema = random_network(seed, attributes=4, zeros=0.6)
    codes = ancestral(network, schema, rows, np.random.default_rng(seed), spread)
    possible = by_enumeration(network, schema) > 0
    assert possible[tuple(codes[node.attribute] for node in network)].all()
    assert all(len(column) == rows for column in codes.values())


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "kind"), [(2, np.uint8), (300, np.uint16), (70_000, np.uint32)])
def test_code_width_follows_the_domain(size: int, kind: type) -> None:
    schema = Schema.from_dict(
        {
            "attributes": {
                "a": {"kind": "categorical", "values": list(range(min(size, 1 << 16)))},
                "b": {"kind": "boolean"},
            }
        }
    )
    size = schema["a"].size
    table = np.zeros((size, 2))
    table[:-1, 0] = table[-1, 1] = 1
    network = Network((Node("a", (), np.ones(size)), Node("b", (Axis("a"),), table)))
    codes = ancestral(network, schema, 5000, np.random.default_rng(1))
    assert codes["a"].dtype == (kind if size < 1 << 16 else np.uint16)
    np.testing.assert_array_equal(codes["b"], codes["a"] == size - 1)


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_all_ways_of_conditioning_agree(seed: int) -> None:
    network, schema = random_network(seed, attributes=5, zeros=0.1)
    rng = np.random.default_rng(seed)
    first, last = network.nodes[0].attribute, network.nodes[-1].attribute
    evidence = {last: np.zeros(schema[last].size), first: rng.uniform(0.2, 1, schema[first].size)}
    likeliest = by_enumeration(network, schema).sum(axis=tuple(range(len(network) - 1))).argmax()
    evidence[last][likeliest] = 1
    wanted = by_enumeration(network, schema, evidence)
    wanted /= wanted.sum()
    factors = {name: make_evidence(name, weights) for name, weights in evidence.items()}
    exact = ancestral(condition_network(network, schema, factors), schema, 100_000, rng)
    sampler = Sampler(network, schema, factors)
    rejected, resampled = (
        sampler.draw_by_rejection(100_000, rng),
        sampler.draw_by_weight(100_000, rng),
    )
    codes, weights = sampler.draw_weighted(100_000, rng)
    assert distance(shares(exact, network, schema), wanted) < 0.02
    assert distance(shares(rejected, network, schema), wanted) < 0.02
    assert distance(shares(resampled, network, schema), wanted) < 0.03
    assert distance(shares(codes, network, schema, weights), wanted) < 0.03
    for found in (exact, rejected, resampled, codes):
        assert (found[last] == likeliest).all()
        assert len(found[last]) == 100_000


def test_rejection_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    network, schema = random_network(1, zeros=0)
    monkeypatch.setattr(sampling, "MIN_TRIES", 1000)
    monkeypatch.setattr(sampling, "TRIES_PER_ROW", 1)
    unlikely = {"a0": make_evidence("a0", np.full(schema["a0"].size, 1e-6))}
    with pytest.raises(InputError, match="use the method 'exact'"):
        Sampler(network, schema, unlikely).draw_by_rejection(1000, np.random.default_rng(1))


def test_weighting_says_when_nothing_fits() -> None:
    schema = Schema.from_dict({"attributes": {"a": {"kind": "boolean"}, "b": {"kind": "boolean"}}})
    network = Network(
        (
            Node("a", (), np.array([1.0, 0.0])),
            Node("b", (Axis("a"),), np.array([[1.0, 0.0], [0, 1.0]])),
        )
    )
    never = {"b": make_evidence("b", np.array([0.0, 1.0]))}
    with pytest.raises(InputError, match="No row drawn by likelihood weighting fits"):
        Sampler(network, schema, never).draw_by_weight(10, np.random.default_rng(1))
    with pytest.raises(InputError, match="probability is zero"):
        condition_network(network, schema, never)
