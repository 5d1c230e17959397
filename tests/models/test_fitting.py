"""The fitted distribution is that of the largest entropy, found on the joint domain by plain
iterative scaling.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.models.graphical import Group
from understudy.models.graphical.fitting import Fit

pytestmark = pytest.mark.usefixtures("each_version")

SIZES = dict(zip("abcde", (2, 3, 4, 2, 3), strict=True))
CHAIN: list[Group] = [("a", "b"), ("b", "c"), ("d", "e")]
CIRCLE: list[Group] = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("e",)]
TRIPLES: list[Group] = [("a", "b", "c"), ("b", "c", "d"), ("a", "d", "e")]

Table = NDArray[np.float64]


def truth(seed: int) -> Table:
    return (
        np.random.default_rng(seed)
        .dirichlet(np.full(math.prod(SIZES.values()), 0.3))
        .reshape([*SIZES.values()])
    )


def margin(joint: Table, group: Group) -> Table:
    return np.asarray(joint.sum(axis=tuple(i for i, name in enumerate(SIZES) if name not in group)))


def scaled(targets: dict[Group, Table], times: int) -> Table:
    """Iterative proportional fitting on the joint table: what the engine must give, from the
    definition.
    """
    joint = np.full([*SIZES.values()], 1 / math.prod(SIZES.values()))
    for _ in range(times):
        for group, target in targets.items():
            ratio = np.divide(
                target, margin(joint, group), out=np.zeros_like(target), where=target > 0
            )
            joint = joint * ratio.reshape([SIZES[name] if name in group else 1 for name in SIZES])
    return joint


def joint_of(fit: Fit) -> Table:
    """The whole distribution, from the conditionals."""
    joint = np.ones([*SIZES.values()])
    seen = set()
    for name, parents, table in fit.conditionals():
        given = tuple(axis.attribute for axis in parents)
        assert seen.issuperset(given)
        seen.add(name)
        totals = table.sum(axis=-1, keepdims=True)
        conditional = np.divide(table, totals, out=np.zeros_like(table), where=totals > 0)
        family = (*given, name)
        order = [family.index(one) for one in SIZES if one in family]
        joint = joint * conditional.transpose(order).reshape(
            [SIZES[one] if one in family else 1 for one in SIZES]
        )
    assert seen == set(SIZES)
    return joint


@pytest.mark.parametrize("groups", [CHAIN, CIRCLE, TRIPLES])
def test_exact_tables_give_the_distribution_of_the_largest_entropy(groups: list[Group]) -> None:
    joint = truth(3)
    targets = {group: margin(joint, group) for group in groups}
    fit = Fit(SIZES)
    fit.add(groups)
    assert set(fit.groups) == set(groups)
    fit.sweep(targets, dict.fromkeys(groups, 1e-9), 300)
    for group, target in targets.items():
        assert fit.marginal(group) == pytest.approx(target, abs=1e-5)
    assert joint_of(fit) == pytest.approx(scaled(targets, 300), abs=1e-5)


def test_a_new_group_leaves_the_distribution_as_it_is_and_takes_the_place_of_those_in_it() -> None:
    joint = truth(4)
    fit = Fit(SIZES)
    fit.add(CHAIN)
    targets = {group: margin(joint, group) for group in CHAIN}
    fit.sweep(targets, dict.fromkeys(CHAIN, 1e-9), 20)
    before = joint_of(fit)
    fit.add([("a", "b", "e"), ("b",), ("a", "c")])
    assert set(fit.groups) == {("a", "b", "e"), ("b", "c"), ("d", "e"), ("a", "c")}
    assert joint_of(fit) == pytest.approx(before, abs=1e-9)
    assert fit.cells == sum(math.prod(fit.attributes.shape(branch.clique)) for branch in fit.tree)


def test_a_sweep_keeps_all_cliques_in_agreement() -> None:
    joint = truth(5)
    fit = Fit(SIZES)
    fit.add(TRIPLES)
    fit.sweep({group: margin(joint, group) for group in TRIPLES}, dict.fromkeys(TRIPLES, 0.01), 2)
    whole = joint_of(fit)
    assert whole.sum() == pytest.approx(1)
    for branch in fit.tree:
        assert fit.marginal(branch.clique) == pytest.approx(margin(whole, branch.clique), abs=1e-9)


def test_tables_that_contradict_each_other_are_met_halfway() -> None:
    fit = Fit({"a": 2, "b": 2, "c": 2})
    groups: list[Group] = [("a", "b"), ("a", "c")]
    fit.add(groups)
    says = [np.array([[0.3, 0.3], [0.2, 0.2]]), np.array([[0.2, 0.2], [0.3, 0.3]])]
    fit.sweep(dict(zip(groups, says, strict=True)), dict.fromkeys(groups, 0.1), 30)
    assert 0.4 < fit.marginal(("a",))[0] < 0.6
    assert np.isfinite(fit.marginal(("a", "b"))).all()


def test_empty_cells_stay_finite() -> None:
    fit = Fit({"a": 2, "b": 3})
    fit.add([("a", "b")])
    target = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    fit.sweep({("a", "b"): target}, {("a", "b"): 1e-12}, 40)
    fit.add([("a",)])
    assert fit.marginal(("a", "b")) == pytest.approx(target, abs=1e-6)


def test_all_marginals_are_those_of_the_groups_one_by_one() -> None:
    fit = Fit(SIZES)
    fit.add(TRIPLES)
    fit.sweep({group: margin(truth(1), group) for group in TRIPLES}, dict.fromkeys(TRIPLES, 0.0), 5)
    found = fit.marginals()
    assert set(found) == set(fit.groups)
    for group, table in found.items():
        assert np.allclose(table, fit.marginal(group))


def test_a_group_in_no_clique_is_refused() -> None:
    with pytest.raises(ValueError, match="no clique"):
        Fit(SIZES).marginal(("a", "b"))


def test_products_beyond_floating_point_numbers_are_summed_all_the_same() -> None:
    """Each side alone all but rules out one value of what they share: by exp(-780), which no
    floating-point number is. Together they say exp(1) to 1.
    """
    sides = [f"a{place}" for place in range(13)], [f"z{place}" for place in range(13)]
    names = [*sides[0], "m", *sides[1]]
    fit = Fit(dict.fromkeys(names, 2))
    for side in sides:
        inside = [name for name in names if name in side or name == "m"]
        fit.add(itertools.combinations(inside, 2))
    for group, factor in fit.factors.items():
        if group[1] == "m":
            factor[:, 0] = -60.0
        elif group[0] == "m":
            factor[1, :] = -60.0
    fit.factors["m", "z0"][1, :] += 1.0
    fit.add([("a0", "z0")])
    odds = np.exp([0.0, 1.0])
    np.testing.assert_allclose(fit.marginal(("m",)), odds / odds.sum())
    np.testing.assert_allclose(fit.marginal(("a0", "z0")), 0.25)


def test_a_new_group_leaves_a_distribution_of_tables_that_contradict_each_other() -> None:
    fit = Fit(SIZES)
    fit.add(CIRCLE)
    targets = {group: margin(truth(place), group) for place, group in enumerate(CIRCLE)}
    targets["a", "b"] = np.array([[0.5, 0.0, 0.0], [0.0, 0.25, 0.25]])
    targets["a", "d"] = np.array([[0.0, 0.2], [0.8, 0.0]])
    fit.sweep(targets, dict.fromkeys(CIRCLE, 1e-4), 300)
    before = {group: fit.marginal(group) for group in CIRCLE}
    fit.add([("d", "e")])
    for group in CIRCLE[:-1]:
        assert np.abs(fit.marginal(group) - before[group]).sum() < 0.1
