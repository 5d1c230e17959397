from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import by_enumeration, random_network

from examples import schema_of
from understudy.data.marginals import Axis
from understudy.data.streams import chunk_randomness
from understudy.machine import plain_first
from understudy.models.balancing import MAX_RECENT, Recent, share_out
from understudy.models.network import Network, Node
from understudy.models.sampling import CodesByName, Sampler

each_version = pytest.mark.usefixtures("each_version")


def draw(
    network: Network, schema: object, rows: int, seed: int, balanced: bool = True
) -> CodesByName:
    sampler = Sampler(network, schema)  # type: ignore[arg-type]
    return sampler.draw(rows, chunk_randomness(seed, 0), balanced=balanced)


def share(places: np.ndarray, chances: np.ndarray, seed: int) -> np.ndarray:
    """One attribute by itself."""
    bounds = np.cumsum(np.atleast_2d(chances), axis=1)
    bounds[:, -1] = 2.0
    recent = Recent(len(places))
    return share_out(places.astype(np.int32), bounds, recent, (), chunk_randomness(seed, 0))


@each_version
def test_each_row_has_the_networks_distribution() -> None:
    """The first row alone, and the last, over many small tables in which rows are exchanged."""
    network, schema = random_network(4, attributes=3)
    wanted = by_enumeration(network, schema)
    sampler, rng = Sampler(network, schema), chunk_randomness(1, 0)
    names = [node.attribute for node in network]
    found = np.zeros((2, *wanted.shape))
    tables = 2_000
    for _ in range(tables):
        codes = sampler.draw(30, rng, balanced=True)
        for end in (0, -1):
            found[(end, *(int(codes[name][end]) for name in names))] += 1
    for counts in found:
        errors = (counts - tables * wanted) / np.sqrt(tables * wanted * (1 - wanted) + 1e-9)
        assert np.abs(errors[wanted * tables > 5]).max() < 4.5
        assert not counts[wanted == 0].any()


def test_plain_and_compiled_rows_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    network, schema = random_network(2, attributes=6, zeros=0.3)
    drawn = []
    for worth in (float("inf"), 0.0):
        monkeypatch.setattr(plain_first, "WORTH_SECONDS", worth)
        drawn.append([draw(network, schema, rows, 5) for rows in (0, 1, 2, 37, 3_000)])
    for plain, compiled in zip(*drawn, strict=True):
        for name, column in plain.items():
            np.testing.assert_array_equal(column, compiled[name])


@each_version
def test_counts_are_those_expected_give_or_take_a_few() -> None:
    """In each group of rows, and in all groups together, though most have only few rows."""
    rng = np.random.default_rng(3)
    places = rng.integers(0, 1_000, 4_000)
    chances = rng.dirichlet(np.ones(20), 1_000)
    counts = np.zeros((1_000, 20))
    np.add.at(counts, (places, share(places, chances, 9)), 1)
    expected = np.bincount(places, minlength=1_000)[:, None] * chances
    assert np.abs(counts - expected).max() < 4
    together = (counts - expected).sum(axis=0)
    assert np.sqrt((together**2).mean()) < 6  # of groups that know nothing of each other: about 13


@each_version
def test_groups_of_one_row_do_not_resonate() -> None:
    """Rows that took turns would all be 0 where the last parent is 0, and 1 elsewhere."""
    places, chances = np.arange(200), np.full((200, 2), 0.5)
    drawn = [int(share(places, chances, seed)[::2].sum()) for seed in range(60)]
    assert {50 - 25 < found < 50 + 25 for found in drawn} == {True}
    assert 2 < np.std(drawn) < 8  # independent rows: 5


@each_version
def test_tables_that_the_network_does_not_hold_come_out_more_evenly() -> None:
    """Two columns that depend on a third one alone."""
    schema = schema_of(**{n: {"kind": "categorical", "values": list(range(8))} for n in "abc"})
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(8), 8)
    root = Node("a", (), np.ones(8))
    network = Network((root, *(Node(name, (Axis("a"),), table) for name in "bc")))
    expected = 1_600 * (table.T @ table) / 8

    def excess(balanced: bool) -> float:
        found = 0.0
        for seed in range(12):
            codes = draw(network, schema, 1_600, seed, balanced)
            counts = np.zeros((8, 8))
            np.add.at(counts, (codes["b"], codes["c"]), 1)
            found += ((counts - expected) ** 2).sum()
        return found

    assert excess(balanced=True) < 0.6 * excess(balanced=False)


@each_version
def test_exchanges_leave_the_tables_of_the_network_as_they_are() -> None:
    network, schema = random_network(7, attributes=5, zeros=0.2)
    codes = draw(network, schema, 2_000, 3)
    for node in network:
        names = [*(axis.attribute for axis in node.parents), node.attribute]
        if any(axis.level for axis in node.parents):
            continue
        counts = np.zeros(node.table.shape)
        np.add.at(counts, tuple(codes[name] for name in names), 1)
        of_parents = counts.sum(axis=-1, keepdims=True)
        totals = node.table.sum(axis=-1, keepdims=True)
        chances = np.divide(node.table, totals, out=np.zeros_like(node.table), where=totals > 0)
        assert np.abs(counts - of_parents * chances)[totals[..., 0] > 0].max() < 4


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 70))
def test_no_impossible_row(seed: int, rows: int) -> None:
    network, schema = random_network(seed, attributes=4, zeros=0.6)
    codes = draw(network, schema, rows, seed)
    possible = by_enumeration(network, schema) > 0
    assert possible[tuple(codes[node.attribute] for node in network)].all()
    assert all(len(column) == rows for column in codes.values())


def test_only_the_last_columns_are_looked_at() -> None:
    recent = Recent(1_000)
    for place in range(MAX_RECENT + 3):
        recent.add(f"c{place}", np.full(1_000, place), 20)
    recent.add("huge", np.zeros(1_000), 1 << 17)
    slots, cells = recent.find(10, {"c5"})
    held = Counter(recent.codes[0, slots].tolist())
    assert held == Counter(set(range(3, MAX_RECENT + 3)) - {5})
    assert cells.tolist() == [200] * len(slots)
    assert len(recent.find(51, ())[0]) == 0  # more cells than rows
