"""The worked examples of the PrivBayes paper, and the thesis' examples 3.3 and 3.4, run through
PrivBayes itself.

(The thesis' counts, sampling and values of mutual information are in
``tests/models/test_thesis_examples.py``.)
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from examples import schema_of
from understudy import Ledger, Model
from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import encode
from understudy.data.marginals import Axis, marginal
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SeededNoise
from understudy.privacy.scores import score_named
from understudy.synthesizers.privbayes import PrivBayes
from understudy.synthesizers.privbayes_tables import measure_network

# --------------------------------------------------------------------------- example 3.1, table 1

N1 = [
    ("age", marginal()),
    ("education", marginal("age")),
    ("workclass", marginal("age", "education")),
    ("title", marginal("age", "workclass")),
    ("income", marginal("workclass", "title")),
]


def binary(*names: str) -> Schema:
    return schema_of(**{name: {"kind": "categorical", "values": [0, 1]} for name in names})


def table_of(schema: Schema, rows: Any) -> Table:
    return Table(
        {name: Column("integer", np.array(rows)[:, i]) for i, name in enumerate(schema.names)}
    )


def conditionals_of_n1(rows: int = 500, epsilon: float = 0.7) -> tuple[Any, CentralCurator]:
    schema = binary(*(child for child, _ in N1))
    values = np.random.default_rng(0).integers(0, 2, (rows, 5))
    ledger = Ledger(1.0, neighbours="replace")
    curator = CentralCurator(encode(table_of(schema, values), schema), ledger, SeededNoise(1))
    method = PrivBayes.paper(1.0)
    network, _ = measure_network(method, curator, N1, Budget(epsilon), rows=float(rows))
    return network, curator


def test_example_3_1_measures_three_tables() -> None:
    """Pr*[a, e, w], Pr*[a, w, t] and Pr*[w, t, i], at a third of eps2 each: Laplace noise of scale
    2 (d - k) / eps2.
    """
    _, curator = conditionals_of_n1()
    assert [entry.question for entry in curator.ledger.entries] == [
        "table of age x education x workclass",
        "table of age x workclass x title",
        "table of workclass x title x income",
    ]
    for entry in curator.ledger.entries:
        assert entry.amount == pytest.approx(0.7 / 3)
        assert entry.mechanism == f"discrete Laplace, scale {2 * (5 - 2) / 0.7:.6g}"


def test_example_3_1_derives_the_first_three_conditionals_from_the_first_table() -> None:
    """Pr*[a], Pr*[e | a] and Pr*[w | a, e] come from Pr*[a, e, w]; the other two from their own
    tables.
    """
    network, _ = conditionals_of_n1()
    a, e, w, t, i = network.nodes
    assert [(node.attribute, node.parents) for node in network] == N1
    assert a.table == pytest.approx(w.table.sum(axis=(1, 2)))
    assert e.table == pytest.approx(w.table.sum(axis=2))
    assert a.conditional == pytest.approx(w.table.sum(axis=(1, 2)) / w.table.sum())
    # The other tables know these margins too, with other noise: they were not what was used.
    assert t.table.sum(axis=(1, 2)) != pytest.approx(a.table)
    assert i.table.sum(axis=(1, 2)) != pytest.approx(w.table.sum(axis=(0, 1)))


def test_example_3_1_the_product_of_the_five_conditionals_is_a_distribution() -> None:
    network, _ = conditionals_of_n1()
    a, e, w, t, i = (node.conditional for node in network)
    whole = np.einsum("a,ae,aew,awt,wti->aewti", a, e, w, t, i)
    assert whole.sum() == pytest.approx(1)
    assert whole.sum(axis=(3, 4)) == pytest.approx(
        network["workclass"].table / network["workclass"].table.sum()
    )


# --------------------------------------------------------------------------- section 4


def scores(table: Any) -> tuple[float, float]:
    """I and F of a distribution that is given as whole numbers of rows, the child's two rows
    first.
    """
    counts = np.array(table)
    x, p = np.unravel_index(np.repeat(np.arange(counts.size), counts.ravel()), counts.shape)
    counter = MemoryCounter(
        {"x": x.astype(np.uint8), "p": p.astype(np.uint8)}, {}, {"x": 2, "p": counts.shape[1]}
    )
    values = [
        score_named(name).evaluate(counter, [marginal("x", "p")])[0] / counts.sum()
        for name in ("I", "F")
    ]
    return float(values[0]), float(values[1])


@pytest.mark.parametrize(
    "table", [[[5, 0, 0], [0, 5, 0]], [[5, 0, 0], [0, 2, 3]], [[0, 1, 4], [5, 0, 0]]]
)
def test_example_4_4_maximum_joint_distributions(table: Any) -> None:
    """X uniform and determined by its parents (lemma 4.3): I = 1, the most, and F = 0, the most.

    The first table is the example's; of its second only the first row is left in our text, so
    others stand here.
    """
    assert scores(table) == (pytest.approx(1), 0)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([[6, 0, 0], [0, 4, 0]], "X is not uniform"),
        ([[5, 1, 0], [0, 4, 0]], "a parent value has both values of X"),
    ],
)
def test_what_breaks_a_condition_of_lemma_4_3_is_no_maximum(table: Any, why: str) -> None:
    information, assignment = scores(table)
    assert information < 1, why
    assert assignment < 0, why


# The cells of table 3 are lost in our text. These have what the text says of them: (b) is a maximum
# joint distribution with one non-zero entry a column, at an L1 distance of 0.4 from (a).
TABLE_3A = np.array([[6, 0, 0, 0], [1, 1, 1, 1]])
TABLE_3B = np.array([[5, 0, 0, 0], [0, 2, 2, 1]])


def test_table_3_f_is_minus_half_of_the_distance_to_the_nearest_maximum() -> None:
    assert scores(TABLE_3B) == (pytest.approx(1), 0)
    assert np.abs(TABLE_3A - TABLE_3B).sum() / 10 == pytest.approx(0.4)
    assert scores(TABLE_3A)[1] == pytest.approx(-0.2)


def test_table_3_no_maximum_on_a_grid_is_nearer_than_0_4() -> None:
    """Equation 9 against the definition: every distribution of tenths with X uniform and determined
    by its parents.
    """
    nearest = np.inf
    for sides in itertools.product((0, 1), repeat=4):
        for masses in itertools.product(range(6), repeat=4):
            candidate = np.zeros((2, 4), dtype=int)
            candidate[list(sides), range(4)] = masses
            if (candidate.sum(axis=1) == 5).all():
                nearest = min(nearest, np.abs(candidate - TABLE_3A).sum() / 10)
    assert nearest == pytest.approx(0.4)


def test_f_lies_between_minus_a_half_and_zero() -> None:
    """Section 4.3: its range is 0.5. Least where X never changes, or where the parents tell nothing
    of a fair X ...
    """
    assert scores([[10, 0], [0, 0]])[1] == -0.5
    assert scores([[0, 0, 0, 0], [3, 3, 2, 2]])[1] == -0.5
    # ... which costs a half only with a single parent value; with two, one can be given to each
    # side.
    assert scores([[5], [5]])[1] == -0.5
    assert scores([[3, 2], [2, 3]])[1] == pytest.approx(-0.4)


# ------------------------------------ the thesis, examples 3.3 and 3.4

ROWS = [
    [1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0],
    [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0],
]  # fmt: skip
SCHEMA = binary("A", "B", "C", "D")


def information(rows: Any, child: int, parents: tuple[int, ...]) -> float:
    """Mutual information in bits, by plain counting."""
    pairs = [(row[child], tuple(row[p] for p in parents)) for row in np.array(rows).tolist()]
    n, bits = len(pairs), 0.0
    for x, p in set(pairs):
        both = pairs.count((x, p)) / n
        bits += both * np.log2(
            both / (sum(q[0] == x for q in pairs) / n * sum(q[1] == p for q in pairs) / n)
        )
    return bits


def greedy(rows: Any, schema: Schema, degree: int, seed: int) -> Model:
    """GreedyBayes with so much budget that the largest mutual information wins."""
    method = PrivBayes.paper(1e7, degree=degree, score="I")
    return method.fit(table_of(schema, rows), schema, noise=SeededNoise(seed))


def worth(model: Model, rows: Any) -> float:
    """The sum of mutual informations of a network, which is to be as large as can be."""
    place = {name: i for i, name in enumerate(model.schema.names)}
    return sum(
        information(
            rows, place[node.attribute], tuple(place[axis.attribute] for axis in node.parents)
        )
        for node in model.network
    )


def from_a(degree: int) -> list[Model]:
    models = [greedy(ROWS, SCHEMA, degree, seed) for seed in range(16)]
    return [model for model in models if model.network.nodes[0].attribute == "A"]


def test_example_3_3_chow_liu() -> None:
    """From A: first B, with I = 1, then C, from A or (it is the same column) B, with I = 0.236, not
    0.4 as printed.

    The thesis then has C -> D; D never changes, so every parent is worth the same to it: nothing,
    not 0.2 as printed.
    """
    assert information(ROWS, 2, (0,)) == pytest.approx(0.23645, abs=1e-5)
    models = from_a(1)
    assert models
    for model in models:
        order = [node.attribute for node in model.network]
        assert model.network["B"].parents == (Axis("A"),)
        assert model.network["C"].parents in (marginal("A"), marginal("B"))
        assert order[:3] == ["A", "B", "C"]
        assert len(model.network["D"].parents) == 1


def test_example_3_4_greedy_bayes() -> None:
    """From A: B given A; C given A and B, with I = 0.236 (printed 0.4); D given any two (printed: B
    and C, for 0.2).
    """
    assert information(ROWS, 2, (0, 1)) == pytest.approx(0.23645, abs=1e-5)
    models = from_a(2)
    assert models
    for model in models:
        assert [node.attribute for node in model.network] == ["A", "B", "C", "D"]
        assert model.network["B"].parents == marginal("A")
        assert model.network["C"].parents == marginal("A", "B")
        assert len(model.network["D"].parents) == 2
        assert worth(model, ROWS) == pytest.approx(1.23645, abs=1e-5)


def test_from_whichever_attribute_one_starts_the_tree_is_worth_the_same() -> None:
    models = [greedy(ROWS, SCHEMA, 1, seed) for seed in range(12)]
    assert len({model.network.nodes[0].attribute for model in models}) > 1
    for model in models:
        assert worth(model, ROWS) == pytest.approx(1.23645, abs=1e-5)


def heaviest_tree(weights: dict[frozenset[int], float]) -> set[frozenset[int]]:
    """Kruskal's maximum spanning tree."""
    group = {node: node for edge in weights for node in edge}
    tree = set()
    for edge in sorted(weights, key=lambda edge: -weights[edge]):
        one, other = (group[node] for node in edge)
        if one != other:
            tree.add(edge)
            group = {node: one if home == other else home for node, home in group.items()}
    return tree


@pytest.mark.parametrize("seed", range(4))
def test_with_degree_1_greedy_bayes_is_chow_liu(seed: int) -> None:
    """Section 4.1: with k = 1 the algorithm finds the tree of the largest total mutual
    information.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.random((400, 2))
    mix = rng.random((2, 6))
    rows = (hidden @ mix / mix.sum(axis=0) + rng.normal(0, 0.15, (400, 6)) > 0.5).astype(int)
    weights = {
        frozenset(pair): information(rows, pair[0], (pair[1],))
        for pair in itertools.combinations(range(6), 2)
    }
    schema = binary("a", "b", "c", "d", "e", "f")
    model = greedy(rows, schema, 1, seed)
    edges = {
        frozenset((schema.names.index(node.attribute), schema.names.index(axis.attribute)))
        for node in model.network
        for axis in node.parents
    }
    assert edges == heaviest_tree(weights)
