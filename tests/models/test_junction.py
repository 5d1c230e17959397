"""Junction trees hold every group and have the running intersection property."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.models.graphical.junction import Attributes

pytestmark = pytest.mark.usefixtures("each_version")

SIZES = dict(zip("abcdefg", (2, 3, 4, 2, 5, 3, 2), strict=True))
GROUPS = st.lists(
    st.sets(st.sampled_from(list(SIZES)), min_size=1, max_size=3).map(lambda s: tuple(sorted(s)))
)


@given(GROUPS)
def test_every_group_lies_in_a_clique_and_what_cliques_share_lies_on_their_path(
    groups: list[tuple[str, ...]],
) -> None:
    tree = Attributes(SIZES).tree(groups)
    assert {name for branch in tree for name in branch.clique} == set(SIZES)
    for group in groups:
        assert any(set(group) <= set(branch.clique) for branch in tree)
    for one, other in itertools.permutations([set(branch.clique) for branch in tree], 2):
        assert not one <= other
    for place, branch in enumerate(tree):
        assert branch.parent < place
        earlier = {name for before in tree[:place] for name in before.clique}
        held = set(tree[branch.parent].clique) if branch.parent >= 0 else set()
        # Running intersection: what a clique shares with all before it lies in the one that it
        # hangs from.
        assert set(branch.clique) & earlier == set(branch.shared) == set(branch.clique) & held


@given(GROUPS, GROUPS)
def test_the_cells_that_a_candidate_would_make_are_those_that_it_makes(
    groups: list[tuple[str, ...]], candidates: list[tuple[str, ...]]
) -> None:
    attributes = Attributes(SIZES)
    told = attributes.cells_with(groups, candidates)
    made = [
        sum(
            math.prod(attributes.shape(branch.clique))
            for branch in attributes.tree([*groups, candidate])
        )
        for candidate in candidates
    ]
    assert np.allclose(told, made)


def test_a_circle_of_four_needs_a_chord() -> None:
    tree = Attributes(dict.fromkeys("abcd", 2)).tree(
        [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    )
    assert sorted(len(branch.clique) for branch in tree) == [3, 3]


def test_cells_along_the_tree_are_those_of_the_cliques_that_an_edge_needs() -> None:
    attributes = Attributes(SIZES)
    tree = attributes.tree([("a", "b"), ("b", "c"), ("c", "d")])
    now = 2 * 3 + 3 * 4 + 4 * 2 + 5 + 3 + 2
    found = attributes.cells_along(
        tree, [("a", "b"), ("a", "c"), ("a", "d"), ("a", "e"), ("a", "b", "c"), ("e", "f", "g")]
    )
    # From a to d: cliques abc and acd, or abd and bcd, whichever are smaller.
    far = min(2 * 3 * 4 + 2 * 4 * 2, 2 * 4 * 3 + 2 * 3 * 2)
    added = [0, 2 * 3 * 4, far, 2 * 5, 2 * (2 * 3 * 4), 5 * 3 + 5 * 2 + 3 * 2 + 5 * 3 * 2]
    assert found.tolist() == pytest.approx([now + more for more in added])


@given(GROUPS, st.sampled_from(list(itertools.combinations(SIZES, 2))))
def test_cells_along_the_tree_are_enough_for_some_cliques(
    groups: list[tuple[str, ...]], pair: tuple[str, str]
) -> None:
    """No clique holds both ends of a new edge with less than the two of them."""
    attributes = Attributes(SIZES)
    tree = attributes.tree(groups)
    now = sum(math.prod(attributes.shape(branch.clique)) for branch in tree)
    [found] = attributes.cells_along(tree, [pair])
    together = any(set(pair) <= set(branch.clique) for branch in tree)
    assert found == now if together else found >= now + math.prod(attributes.shape(pair))
