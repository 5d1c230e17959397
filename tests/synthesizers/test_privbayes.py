"""PrivBayes: the paper's budgets to the digit, known structures found, bad input refused before a
debit.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from examples import coded, schema_of, small_schema, words
from understudy import InputError, Ledger, LedgerFile, Model
from understudy.data.encoding import encode
from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.privacy.budget import Budget, exact, total
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SeededNoise
from understudy.release.callbacks import no_progress
from understudy.synthesizers.privbayes import PrivBayes
from understudy.synthesizers.privbayes_search import Search

# --------------------------------------------------------------------------- tables


def of_sizes(*sizes: int) -> Schema:
    return schema_of(
        **{f"x{i}": {"kind": "categorical", "values": list(range(n))} for i, n in enumerate(sizes)}
    )


def random_table(rows: int, *sizes: int, seed: int = 0) -> Table:
    """Columns that all lean on one hidden number."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows)
    values = [
        np.minimum((hidden + rng.random(rows)) / 2 * size, size - 1).astype(np.int64)
        for size in sizes
    ]
    return Table({f"x{i}": Column("integer", column) for i, column in enumerate(values)})


def fitted(method: PrivBayes, rows: int, *sizes: int, seed: int = 1) -> Model:
    return method.fit(random_table(rows, *sizes), of_sizes(*sizes), noise=SeededNoise(seed))


def choices(model: Model) -> list[Any]:
    return [entry for entry in model.ledger.entries if entry.question.startswith("choice")]


def measured(model: Model) -> list[Any]:
    return [entry for entry in model.ledger.entries if entry.question.startswith("table")]


def scale_of(entry: Any) -> float:
    return float(entry.mechanism.split("scale ")[1])


class Recorder:
    """A curator that notes what it is asked."""

    def __init__(self, method: PrivBayes, table: Table, schema: Schema, seed: int = 0) -> None:
        ledger = Ledger(
            method.epsilon, method.delta, method.neighbours, "rho" if method.delta else "epsilon"
        )
        self.inner = CentralCurator(encode(table, schema), ledger, SeededNoise(seed))
        self.calls: list[tuple[str, int]] = []
        self.seen_rows: list[int | None] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @property
    def rows(self) -> int | None:
        self.seen_rows.append(self.inner.rows)
        return self.inner.rows

    def measure(self, marginals: Any, *rest: Any) -> Any:
        self.calls.append(("measure", len(marginals)))
        return self.inner.measure(marginals, *rest)

    def choose(self, candidates: Any, *rest: Any) -> int:
        self.calls.append(("choose", len(candidates)))
        return self.inner.choose(candidates, *rest)

    def learn(self, method: PrivBayes) -> Model:
        return method.learn(self, self.inner.ledger.left, no_progress)  # type: ignore[arg-type]


def search(method: PrivBayes, rows: float, *sizes: int) -> Search:
    """The first phase as it stands before anything is asked: only public facts enter."""
    return search_over(method, rows, of_sizes(*sizes))


def search_over(method: PrivBayes, rows: float, schema: Schema) -> Search:
    ledger = Ledger(method.epsilon, neighbours=method.neighbours)
    curator: Any = SimpleNamespace(schema=schema, neighbours=method.neighbours, ledger=ledger)
    names = [attribute.name for attribute in schema.modelled if attribute.size > 1]
    return Search(method, curator, names, rows, ledger.budget)


# --------------------------------------------------------------------------- theta-usefulness


@pytest.mark.parametrize(("rows", "attributes", "degree"), [(21574, 16, 6), (47461, 23, 7)])
def test_the_degree_of_nltcs_and_acs_at_epsilon_1_is_the_papers(
    rows: int, attributes: int, degree: int
) -> None:
    """The largest k with n eps2 / ((d - k) 2^(k + 2)) >= 4 (lemma 4.8)."""
    useful = [
        k for k in range(1, attributes) if rows * 0.7 / ((attributes - k) * 2 ** (k + 2)) >= 4
    ]
    assert max(useful) == degree
    found = search(PrivBayes.paper(1.0), rows, *[2] * attributes)
    assert found.fixed
    assert found.degree == degree


@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.2, 1.6, 10.0])
@pytest.mark.parametrize("theta", [1.0, 4.0, 12.0])
def test_the_degree_follows_the_formula(epsilon: float, theta: float) -> None:
    d, n = 9, 3000
    useful = [k for k in range(1, d) if n * 0.7 * epsilon / ((d - k) * 2 ** (k + 2)) >= theta]
    assert search(PrivBayes.paper(epsilon, theta=theta), n, *[2] * d).degree == max(
        useful, default=0
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_bound_on_cells_follows_the_formula(epsilon: float) -> None:
    """A pair is eligible where its cells are at most n eps2 / (2 d theta)."""
    found = search(PrivBayes.paper(epsilon), 5000, 3, 4, 5, 2)
    assert not found.fixed
    assert found.bound == pytest.approx(5000 * 0.7 * epsilon / (2 * 4 * 4))


def test_under_add_remove_noise_is_half_as_large_so_the_bound_is_twice_as_large() -> None:
    replace, add_remove = (
        search(PrivBayes(epsilon=1.0, neighbours=relation), 5000, 3, 4, 5, 2).bound  # type: ignore[arg-type]
        for relation in ("replace", "add_remove")
    )
    assert add_remove == pytest.approx(2 * replace)


def test_fixed_tables_of_larger_attributes_are_theta_useful_too() -> None:
    """Where attributes have sixteen values a table of three has 4096 cells, not 8."""
    found = search(PrivBayes.paper(1.0, tables="fixed"), 20_000, *[16] * 6)
    assert found.degree == 1
    assert 20_000 * 0.7 / (2 * 5 * 16**2) >= 4 > 20_000 * 0.7 / (2 * 4 * 16**3)


# --------------------------------------------------------------------------- the ledger


@pytest.mark.parametrize(("epsilon", "rows"), [(1.0, 600), (0.3, 1300), (2.7, 100)])
def test_algorithms_1_and_2_spend_what_the_paper_says(epsilon: float, rows: int) -> None:
    d = 6
    k = search(PrivBayes.paper(epsilon), rows, *[2] * d).degree
    assert k is not None
    assert 0 < k < d - 1
    model = fitted(PrivBayes.paper(epsilon), rows, *[2] * d)
    assert [entry.amount for entry in choices(model)] == pytest.approx(
        [0.3 * epsilon / (d - 1)] * (d - 1)
    )
    assert {entry.mechanism for entry in choices(model)} == {"exponential"}
    assert all(entry.question.endswith("score F") for entry in choices(model))
    assert [entry.amount for entry in measured(model)] == pytest.approx(
        [0.7 * epsilon / (d - k)] * (d - k)
    )
    for entry in measured(model):
        assert entry.mechanism.startswith("discrete Laplace")
        assert scale_of(entry) == pytest.approx(2 * (d - k) / (0.7 * epsilon), rel=1e-5)
    assert total([entry.amount for entry in model.ledger.entries]) <= exact(epsilon)
    assert [len(node.parents) for node in model.network] == [min(i, k) for i in range(d)]


@pytest.mark.parametrize(("epsilon", "rows"), [(1.0, 3000), (0.3, 20_000), (2.7, 1500)])
def test_algorithms_3_and_4_spend_what_the_paper_says(epsilon: float, rows: int) -> None:
    d, sizes = 5, (3, 4, 2, 3, 2)
    model = fitted(PrivBayes.paper(epsilon), rows, *sizes)
    assert [entry.amount for entry in choices(model)] == pytest.approx(
        [0.3 * epsilon / (d - 1)] * (d - 1)
    )
    assert all(entry.question.endswith("score R of the paper") for entry in choices(model))
    assert [entry.amount for entry in measured(model)] == pytest.approx([0.7 * epsilon / d] * d)
    for entry in measured(model):
        assert scale_of(entry) == pytest.approx(2 * d / (0.7 * epsilon), rel=1e-5)
    assert total([entry.amount for entry in model.ledger.entries]) <= exact(epsilon)
    bound = rows * 0.7 * epsilon / (2 * d * 4)
    assert all(node.table.size <= bound for node in model.network if node.parents)


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.1, 1 / 3, 1.0])
def test_no_release_spends_more_than_it_was_given_and_hardly_less(
    neighbours: Any, delta: float, epsilon: float
) -> None:
    for method in (
        PrivBayes(epsilon=epsilon, delta=delta, neighbours=neighbours),
        PrivBayes(epsilon=epsilon, delta=delta, neighbours=neighbours, degree=2, beta=0.45),
    ):
        model = fitted(method, 5000, 3, 2, 4, 2)
        spent = total([entry.amount for entry in model.ledger.entries])
        assert spent <= exact(model.ledger.budget.amount)
        assert spent >= exact(model.ledger.budget.amount) * Fraction(999, 1000)
        assert model.ledger.spent()[0] <= epsilon
        assert model.ledger.spent()[1] <= delta


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_beta_is_the_share_of_the_structure(beta: float) -> None:
    model = fitted(PrivBayes.paper(1.0, beta=beta, degree=1), 2000, 2, 2, 2, 2)
    assert sum(entry.amount for entry in choices(model)) == pytest.approx(beta)
    assert sum(entry.amount for entry in measured(model)) == pytest.approx(1 - beta)


@pytest.mark.parametrize(
    ("method", "rows", "sizes"),
    [
        (PrivBayes.paper(0.01), 50, (2, 2, 2, 2)),  # k = 0
        (PrivBayes.paper(1.0, degree=0), 5000, (2, 2, 2)),
        (PrivBayes.paper(0.1), 100, (3, 4, 5)),  # nothing eligible
        (
            PrivBayes.paper(1.0),
            1000,
            (2, 100, 100),
        ),  # two small ones would fit, but there is only one
        (PrivBayes(epsilon=0.01, neighbours="replace"), 30, (3, 4, 5)),
        (PrivBayes.paper(1.0), 500, (7,)),  # one column
    ],
)
def test_where_nobody_can_have_a_parent_all_of_the_budget_goes_to_tables(
    method: PrivBayes, rows: int, sizes: tuple[int, ...]
) -> None:
    model = fitted(method, rows, *sizes)
    assert choices(model) == []
    assert len(measured(model)) == len(sizes)
    assert sum(entry.amount for entry in measured(model)) == pytest.approx(method.epsilon)
    assert model.network.degree == 0


def test_a_choice_without_alternatives_costs_nothing_and_the_tables_get_its_share() -> None:
    model = fitted(PrivBayes(epsilon=1.0, neighbours="replace", degree=1), 500, 3, 2)
    assert [(entry.question[:5], entry.amount) for entry in model.ledger.entries] == [
        ("table", 1.0)
    ]


# --------------------------------------------------------------------------- a target


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_with_a_target_and_one_parent_nothing_is_chosen_and_tables_get_everything(
    neighbours: Any,
) -> None:
    model = fitted(
        PrivBayes(epsilon=1.0, neighbours=neighbours, degree=1, target="x2"), 500, 3, 2, 4, 5
    )
    assert choices(model) == []
    parents = {node.attribute: node.parents for node in model.network}
    assert parents == {"x2": (), **dict.fromkeys(("x0", "x1", "x3"), (Axis("x2"),))}
    assert sum(entry.amount for entry in model.ledger.entries) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"degree": 2},
        {"candidates": "all"},
        {"candidates": "maximal"},
        {"encoding": "hierarchical"},
        {"delta": 1e-6},
    ],
)
def test_with_a_target_every_attribute_has_it_as_a_parent(parameters: Any) -> None:
    model = fitted(PrivBayes(epsilon=5.0, target="x3", **parameters), 4000, 3, 2, 4, 3, 2)
    nodes = list(model.network)
    assert (nodes[0].attribute, nodes[0].parents) == ("x3", ())
    assert all(Axis("x3") in node.parents for node in nodes[1:])
    assert any(len(node.parents) > 1 for node in nodes[1:])
    assert all(len(node.parents) <= parameters.get("degree", 4) for node in nodes)
    assert total([entry.amount for entry in model.ledger.entries]) <= exact(
        model.ledger.budget.amount
    )


@pytest.mark.parametrize("candidates", ["all", "maximal"])
def test_an_attribute_too_large_to_stand_with_the_target_goes_without(candidates: Any) -> None:
    method = PrivBayes(epsilon=1.0, neighbours="replace", candidates=candidates, target="x0")
    parents = {node.attribute: node.parents for node in fitted(method, 1000, 4, 3, 100).network}
    assert Axis("x0") in parents["x1"]
    assert Axis("x0") not in parents["x2"]


def test_a_target_of_one_value_changes_nothing() -> None:
    aimed = fitted(PrivBayes(epsilon=1.0, target="x0"), 500, 1, 3, 4)
    other = fitted(PrivBayes(epsilon=1.0), 500, 1, 3, 4)
    assert aimed.to_dict()["network"] == other.to_dict()["network"]


def test_a_target_is_told_better_by_the_model() -> None:
    """Two classes, one rare; what tells them is spread thin over many attributes."""
    rng = np.random.default_rng(3)
    rare = rng.random(4000) < 0.2
    columns = {"y": rare.astype(np.int64)}
    for place in range(8):
        columns[f"x{place}"] = np.where(rng.random(4000) < 0.4, 3 * rare, rng.integers(0, 4, 4000))
    table = Table({name: Column("integer", values) for name, values in columns.items()})
    schema = schema_of(
        **{
            name: {"kind": "categorical", "values": list(range(2 if name == "y" else 4))}
            for name in columns
        }
    )

    def error(method: PrivBayes) -> float:
        """How far the model's tables of the target and one other attribute are from the real ones,
        summed.
        """
        off = 0.0
        for seed in range(3):
            rows = encode(
                method.fit(table, schema, noise=SeededNoise(seed)).sample(4000, seed), schema
            )
            real = encode(table, schema)
            for name in list(columns)[1:]:
                pairs = [
                    np.bincount(4 * of.codes["y"].astype(int) + of.codes[name], minlength=8)
                    for of in (real, rows)
                ]
                off += float(np.abs(pairs[0] - pairs[1]).sum())
        return off

    assert error(PrivBayes(epsilon=0.5, degree=1, target="y")) < 0.7 * error(
        PrivBayes(epsilon=0.5, degree=1)
    )


# -------------------------------------------- mechanisms and relations


def test_the_paper_is_exponential_the_default_permutes_and_flips_and_a_delta_is_gaussian() -> None:
    def mechanisms(method: PrivBayes) -> tuple[set[str], set[str]]:
        model = fitted(method, 3000, 3, 2, 4)
        return {e.mechanism for e in choices(model)}, {
            e.mechanism.split(",")[0] for e in measured(model)
        }

    assert mechanisms(PrivBayes.paper(1.0)) == ({"exponential"}, {"discrete Laplace"})
    assert mechanisms(PrivBayes(epsilon=1.0)) == ({"permute and flip"}, {"discrete Laplace"})
    assert mechanisms(PrivBayes(epsilon=1.0, delta=1e-6)) == (
        {"exponential"},
        {"rounded Gaussian"},
    )
    assert mechanisms(PrivBayes(epsilon=1.0, rule="exponential")) == (
        {"exponential"},
        {"discrete Laplace"},
    )


@pytest.mark.parametrize(
    "method",
    [PrivBayes(epsilon=1.0), PrivBayes(epsilon=1.0, degree=1), PrivBayes(epsilon=1.0, degree=2)],
)
def test_under_add_remove_the_number_of_rows_is_measured_and_never_seen(method: PrivBayes) -> None:
    recorder = Recorder(method, random_table(700, 3, 2, 4), of_sizes(3, 2, 4))
    model = recorder.learn(method)
    assert recorder.seen_rows
    assert set(recorder.seen_rows) == {None}
    assert recorder.calls[0] == ("measure", 1)
    assert model.ledger.entries[0].question == "table of (rows)"
    assert model.rows is not None
    assert abs(model.rows - 700) < 100


@pytest.mark.parametrize(
    "method", [PrivBayes.paper(1.0), PrivBayes(epsilon=1.0, neighbours="replace")]
)
def test_under_replace_the_number_of_rows_is_public_and_exact(method: PrivBayes) -> None:
    recorder = Recorder(method, random_table(700, 3, 2, 4), of_sizes(3, 2, 4))
    model = recorder.learn(method)
    assert set(recorder.seen_rows) == {700}
    assert model.rows == 700
    assert "table of (rows)" not in {entry.question for entry in model.ledger.entries}
    assert all(node.table.sum() == pytest.approx(700) for node in model.network)


@pytest.mark.parametrize(
    "method",
    [
        PrivBayes.paper(1.0),
        PrivBayes.paper(1.0, degree=2),
        PrivBayes(epsilon=1.0, neighbours="replace"),
        PrivBayes(epsilon=1.0, degree=2),
    ],
)
def test_how_often_the_doors_are_used_does_not_depend_on_the_rows(method: PrivBayes) -> None:
    """All rows alike, or all different: as many questions of each kind, in the same order."""
    d, sizes = 5, (2, 3, 2, 3, 2)
    alike = random_table(1000, *sizes)
    flat = Table({name: Column("integer", np.zeros(1000, dtype=np.int64)) for name in alike.names})
    neighbour = Table(
        {name: Column("integer", np.append(c.values[:-1], 0)) for name, c in alike.columns.items()}
    )
    kinds = []
    for table in (alike, neighbour, flat):
        recorder = Recorder(method, table, of_sizes(*sizes))
        recorder.learn(method)
        kinds.append([kind for kind, _ in recorder.calls])
    rows_first = ["measure"] if method.neighbours == "add_remove" else []
    assert kinds == [[*rows_first, *["choose"] * (d - 1), "measure"]] * 3


def test_a_seeded_curator_repeats_the_model_and_says_that_it_is_not_private() -> None:
    one, same, other = (
        fitted(PrivBayes(epsilon=1.0), 2000, 3, 2, 4, 2, seed=seed) for seed in (5, 5, 6)
    )
    assert one.network.to_list() == same.network.to_list()
    assert one.ledger == same.ledger
    assert one.network.to_list() != other.network.to_list()
    assert not one.ledger.private
    assert one.ledger.statement().startswith("NOT PRIVATE")
    private = PrivBayes(epsilon=1.0).fit(random_table(100, 3, 2), of_sizes(3, 2))
    assert private.ledger.private
    assert "epsilon = 1:" in private.ledger.statement()


def test_the_first_attribute_is_drawn_uniformly() -> None:
    runs, d = 2000, 4
    method = PrivBayes.paper(1.0, degree=1)
    recorder = Recorder(method, random_table(60, *[2] * d), of_sizes(*[2] * d))
    recorder.inner.choose = lambda *_: 0  # type: ignore[method-assign]
    phase = Search(method, recorder, recorder.schema.names, 60.0, Budget(1.0))  # type: ignore[arg-type]
    firsts = Counter(phase.greedy_bayes(no_progress)[0][0] for _ in range(runs))
    expected = runs / d
    assert len(firsts) == d
    assert (
        sum((count - expected) ** 2 / expected for count in firsts.values()) < 16.27
    )  # 3 degrees, one in a thousand


# --------------------------------------------------------------------------- structure


def test_a_given_degree_is_the_number_of_parents() -> None:
    for degree in (1, 2, 3):
        model = fitted(PrivBayes(epsilon=1.0, degree=degree), 1000, 3, 2, 2, 4, 2)
        assert [len(node.parents) for node in model.network] == [min(i, degree) for i in range(5)]
    assert fitted(PrivBayes(epsilon=1.0, degree=2), 1000, 3, 2, 2, 4).network.degree == 2


def test_a_derived_table_is_the_sum_over_the_one_that_was_measured() -> None:
    model = fitted(PrivBayes.paper(1.0, degree=2), 2000, *[2] * 5)
    first, second, third = model.network.nodes[:3]
    assert len(measured(model)) == 3
    names = [axis.attribute for axis in third.parents]
    to_second = third.table.sum(axis=2)
    if names != [first.attribute, second.attribute]:
        to_second = to_second.T
    assert second.table == pytest.approx(to_second)
    assert first.table == pytest.approx(to_second.sum(axis=1))
    assert second.deviation == pytest.approx(third.deviation * math.sqrt(2))
    assert first.deviation == pytest.approx(third.deviation * 2)


def test_the_network_is_acyclic_complete_and_within_the_bound() -> None:
    for seed in range(3):
        model = fitted(PrivBayes(epsilon=2.0), 3000, 3, 2, 4, 2, 5, seed=seed)
        placed: set[str] = set()
        for node in model.network:
            assert {axis.attribute for axis in node.parents} <= placed
            placed.add(node.attribute)
        assert placed == set(model.schema.names)


def chain_table(rows: int, seed: int = 0) -> tuple[Table, Schema]:
    """A chain x0 - x1 - ... - x4 of attributes with 2 to 3 values, each much like the one
    before.
    """
    rng = np.random.default_rng(seed)
    sizes = [3, 2, 3, 2, 3]
    values = [rng.integers(0, sizes[0], rows)]
    for size in sizes[1:]:
        copied = np.minimum(values[-1], size - 1)
        values.append(np.where(rng.random(rows) < 0.8, copied, rng.integers(0, size, rows)))
    return Table({f"x{i}": Column("integer", column) for i, column in enumerate(values)}), of_sizes(
        *sizes
    )


def three_way_error(model: Model, table: Table, schema: Schema) -> float:
    """Mean total variation distance over the 3-way marginals, between the table and rows drawn from
    the model.
    """
    drawn = model.sample(40_000, seed=0)
    assert isinstance(drawn, Table)
    real, synthetic = encode(table, schema), encode(drawn, schema)
    names = schema.names
    gaps = []
    for i in range(len(names)):
        for j in range(i):
            for k in range(j):
                shape = tuple(schema[names[a]].size for a in (i, j, k))
                shares = []
                for side in (real, synthetic):
                    places = np.ravel_multi_index([side.codes[names[a]] for a in (i, j, k)], shape)
                    shares.append(np.bincount(places, minlength=math.prod(shape)) / side.rows)
                gaps.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(gaps))


@pytest.mark.parametrize("score", ["I", "R"])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_with_hardly_any_noise_a_chain_is_found_and_its_distribution_reproduced(
    score: Any, neighbours: Any
) -> None:
    table, schema = chain_table(20_000)
    method = PrivBayes(epsilon=1e5, degree=1, score=score, neighbours=neighbours)
    for seed in range(3):
        model = method.fit(table, schema, noise=SeededNoise(seed))
        edges = {
            frozenset((node.attribute, axis.attribute))
            for node in model.network
            for axis in node.parents
        }
        assert edges == {frozenset((f"x{i}", f"x{i + 1}")) for i in range(4)}
    assert three_way_error(model, table, schema) < 0.012


def test_a_tree_of_binary_attributes_is_found_by_score_f() -> None:
    """A star whose rays are weak copies of a fair centre: F prefers the pairs that are closest to
    determined.
    """
    rng = np.random.default_rng(1)
    centre = rng.integers(0, 2, 10_000)
    rays = [np.where(rng.random(10_000) < keep, centre, 1 - centre) for keep in (0.9, 0.85, 0.8)]
    table = Table({f"x{i}": Column("integer", column) for i, column in enumerate([centre, *rays])})
    model = PrivBayes.paper(1e5, degree=1).fit(table, of_sizes(2, 2, 2, 2), noise=SeededNoise(0))
    edges = {
        frozenset((node.attribute, axis.attribute))
        for node in model.network
        for axis in node.parents
    }
    assert edges == {frozenset(("x0", f"x{i}")) for i in (1, 2, 3)}


# --------------------------------------------------------------------------- encodings

MIXED = schema_of(
    age={"kind": "integer", "min": 0, "max": 79, "bins": 8},
    height={"kind": "real", "min": 1.0, "max": 2.0, "bins": 5, "missing": True},
    work={
        "kind": "categorical",
        "values": ["farm", "mine", "shop", "bank", "none"],
        "taxonomy": [["farm", "mine"], ["shop", "bank"], "none"],
    },
    smoker={"kind": "boolean"},
    same={"kind": "categorical", "values": ["x"]},
)


def mixed_table(rows: int = 2000) -> Table:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 80, rows)
    work = np.where(age < 16, 4, np.minimum(age // 20, 3)).astype(np.uint32)
    return Table(
        {
            "age": Column("integer", age),
            "height": Column("real", 1.0 + np.minimum(age, 20) / 25 + rng.random(rows) * 0.2),
            "work": Column("text", work, ("farm", "mine", "shop", "bank", "none")),
            "smoker": Column("boolean", (rng.random(rows) < 0.3) & (age > 16)),
            "same": words(*["x"] * rows),
        }
    )


@pytest.mark.parametrize("encoding", ["vanilla", "hierarchical", "binary", "gray", "auto"])
@pytest.mark.parametrize("make", [PrivBayes, PrivBayes.paper])
def test_every_encoding_works_from_table_to_sample(
    encoding: Any, make: Any, tmp_path: Path
) -> None:
    model = make(epsilon=2.0, encoding=encoding).fit(mixed_table(), MIXED, noise=SeededNoise(3))
    model.save(tmp_path / "m.json")
    again = encode(Model.load(tmp_path / "m.json").sample(2000, seed=1), MIXED)  # type: ignore[arg-type]
    real = encode(mixed_table(), MIXED)
    assert again.outside == ()
    for attribute in MIXED.modelled:
        shares = [
            np.bincount(t.codes[attribute.name], minlength=attribute.size) / 2000
            for t in (real, again)
        ]
        assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.1, attribute.name
    levels = {axis.level for node in model.network for axis in node.parents}
    assert levels <= {0} if encoding in ("vanilla", "binary", "gray") else levels


def test_with_a_small_bound_parents_are_generalised() -> None:
    model = PrivBayes.paper(0.5, encoding="hierarchical").fit(
        mixed_table(), MIXED, noise=SeededNoise(3)
    )
    assert max(axis.level for node in model.network for axis in node.parents) > 0


def test_auto_is_hierarchical_where_something_can_be_generalised_and_vanilla_otherwise() -> None:
    def sizes(schema: Schema) -> Any:
        return search_over(PrivBayes(epsilon=1.0, neighbours="replace"), 1000.0, schema).sizes

    assert sizes(MIXED)["age"] == (8, 4, 2)
    assert sizes(MIXED)["work"] == (5, 3)
    assert sizes(of_sizes(4, 3)) == {"x0": (4,), "x1": (3,)}
    assert search(PrivBayes.paper(1.0), 100, 2, 2, 2)._score() == "F"
    assert search(PrivBayes.paper(1.0), 100, 2, 3, 2)._score() == "R of the paper"
    assert search(PrivBayes(epsilon=1.0), 100, 2, 2, 2)._score() == "R"


# --------------------------------------------------------------------------- narrow tables


@pytest.mark.parametrize("make", [PrivBayes, PrivBayes.paper])
@pytest.mark.parametrize("sizes", [(1,), (1, 1), (3,), (1, 3), (1, 2, 1, 3), (2, 2), (5, 2)])
@pytest.mark.parametrize("encoding", ["vanilla", "gray"])
def test_one_column_two_columns_and_constant_columns(
    make: Any, sizes: tuple[int, ...], encoding: Any
) -> None:
    model = fitted(make(epsilon=1.0, encoding=encoding), 300, *sizes)
    assert len(model.schema) == len(sizes)
    sample = model.sample(50, seed=0)
    assert isinstance(sample, Table)
    for i, size in enumerate(sizes):
        assert set(sample.columns[f"x{i}"].values.tolist()) <= set(range(size))
    constant = {f"x{i}" for i, size in enumerate(sizes) if size == 1}
    asked = {part for entry in model.ledger.entries for part in entry.question.split()}
    assert not constant & asked


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("score", ["I", "R"])
@pytest.mark.parametrize("make", [PrivBayes, PrivBayes.paper])
def test_hardly_any_rows_give_a_model_all_the_same(rows: int, score: Any, make: Any) -> None:
    model = fitted(make(epsilon=1.0, degree=1, score=score), rows, 3, 3, 3)
    sample = model.sample(5, seed=0)
    assert isinstance(sample, Table)
    assert sample.rows == 5


# --------------------------------------------------------------------------- bad input

BAD: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 0}, "epsilon must be"),
    ({"epsilon": math.nan}, "epsilon must be"),
    ({"epsilon": "1"}, "epsilon must be"),
    ({"delta": 1.0}, "delta must be"),
    ({"neighbours": "swap"}, "neighbours must be"),
    ({"beta": 0}, "beta must be"),
    ({"beta": 1}, "beta must be"),
    ({"beta": math.nan}, "beta must be"),
    ({"beta": "half"}, "beta must be"),
    ({"theta": 0}, "theta must be"),
    ({"theta": math.inf}, "theta must be"),
    ({"penalty": -1}, "penalty must be"),
    ({"table_power": 2}, "table_power must be"),
    ({"score": "Z"}, "score must be one of auto, I, F, R, not 'Z'"),
    ({"encoding": "morse"}, "encoding must be one of"),
    ({"tables": "round"}, "tables must be one of"),
    ({"candidates": "some"}, "candidates must be one of"),
    ({"repair": "glue"}, "repair must be project or clip"),
    ({"rule": "dice"}, "rule must be permute_and_flip or exponential"),
    ({"consistent": "yes"}, "consistent must be True or False"),
    ({"degree": -1}, "degree must be a whole number"),
    ({"degree": 1.5}, "degree must be a whole number"),
    ({"degree": True}, "degree must be a whole number"),
    ({"degree": 2, "tables": "bounded"}, "degree goes with fixed tables"),
    ({"degree": 3}, "A degree of 3 needs 4 attributes with more than one value; there are 3"),
    ({"score": "F"}, "Score F is for attributes with two values"),
    ({"target": 3}, "target must be the name of a column"),
    ({"target": "x0", "encoding": "gray"}, "A target goes with attributes as they are"),
    ({"target": "x0", "degree": 0}, "With a degree of 0 no attribute has the target as a parent"),
    ({"target": "y"}, "There is no column 'y' that is modelled"),
]


@pytest.mark.parametrize(("parameters", "complaint"), BAD)
def test_bad_parameters_are_refused_in_one_sentence_and_nothing_is_debited(
    parameters: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    ledger = LedgerFile.create(tmp_path / "t.ledger", 5.0, 0.1)
    before = ledger.path.read_bytes()
    table = random_table(200, 2, 3, 4)
    with pytest.raises(InputError, match=complaint) as refused:
        PrivBayes(**{"epsilon": 1.0, **parameters}).fit(table, of_sizes(2, 3, 4), ledger=ledger)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")
    assert ledger.path.read_bytes() == before


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [c for c in BAD if not c[1].startswith(("A degree of", "Score F", "There is no"))],
)
def test_parameters_that_are_bad_for_every_table_are_refused_before_a_domain_is_discovered(
    parameters: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    ledger = LedgerFile.create(tmp_path / "t.ledger", 5.0, 0.1)
    before = ledger.path.read_bytes()
    with pytest.raises(InputError, match=complaint):
        PrivBayes(**{"epsilon": 1.0, **parameters}).fit(random_table(200, 2, 3, 4), ledger=ledger)
    assert ledger.path.read_bytes() == before


@pytest.mark.parametrize(
    ("sizes", "degree", "complaint"),
    [
        ([2] * 60, 10, "over 2,000,000 parent sets to choose from; give a smaller degree"),
        ([300] * 4, 3, "A degree of 3 would need tables of up to 8,100,000,000 cells"),
    ],
)
def test_a_degree_that_no_table_supports_is_refused_before_a_debit(
    sizes: list[int], degree: int, complaint: str, tmp_path: Path
) -> None:
    ledger = LedgerFile.create(tmp_path / "t.ledger", 5.0)
    before = ledger.path.read_bytes()
    with pytest.raises(InputError, match=complaint):
        PrivBayes(epsilon=1.0, degree=degree).fit(
            random_table(50, *sizes), of_sizes(*sizes), ledger=ledger
        )
    assert ledger.path.read_bytes() == before


@pytest.mark.parametrize("parameters", [{}, {"tables": "bounded"}])
def test_more_attributes_than_can_be_enumerated_are_refused_before_anything_is_asked(
    parameters: Any,
) -> None:
    """To the letter, with so much budget that theta-usefulness allows a dozen parents among
    sixty.
    """
    method = PrivBayes.paper(1e5, **parameters)
    recorder = Recorder(method, random_table(200, *[2] * 60), of_sizes(*[2] * 60))
    with pytest.raises(InputError, match="parent sets to choose from; give a smaller degree"):
        recorder.learn(method)
    assert recorder.calls == []
    assert recorder.inner.ledger.entries == []


def test_the_default_looks_at_fewer_parents_where_there_are_very_many_attributes() -> None:
    model = fitted(PrivBayes(epsilon=1e4), 100, *[2] * 60)
    assert 1 <= model.network.degree < 10


def test_a_taxonomy_that_does_not_cover_the_domain_is_refused() -> None:
    with pytest.raises(
        InputError, match="column 'w': the taxonomy does not cover the value 'c'; add it as a leaf"
    ):
        schema_of(w={"kind": "categorical", "values": ["a", "b", "c"], "taxonomy": [["a"], ["b"]]})


def test_the_curator_of_other_tests_works_here_too() -> None:
    """On rows of kinds boolean, categorical and integer the dependent pair a, b is found."""
    ledger = Ledger(200.0, neighbours="replace")
    curator = CentralCurator(coded(3000), ledger, SeededNoise(0))
    method = PrivBayes(epsilon=200.0, neighbours="replace", degree=1)
    model = method.learn(curator, ledger.left, no_progress)
    edges = {
        frozenset((node.attribute, axis.attribute))
        for node in model.network
        for axis in node.parents
    }
    assert frozenset("ab") in edges
    assert small_schema().names == model.schema.names
    assert all(axis == Axis(axis.attribute) for node in model.network for axis in node.parents)
