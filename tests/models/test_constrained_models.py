"""Constraints: every row keeps them, and what is drawn is the model given the constraints."""

from __future__ import annotations

import contextlib
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from constrained_tables import (
    LOANS,
    RULES,
    SCHEMA,
    broken_rules,
    coded_loans,
    loans,
    model_of,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_networks import by_enumeration, random_network

from examples import content
from running import run
from splits import split
from understudy import InputError, LedgerFile, Model, PrivBayes, Random, Schema
from understudy.data.encoding import encode
from understudy.data.marginals import Axis
from understudy.data.rules import Rules
from understudy.data.tables import Column, Table, read_table
from understudy.federation import federate
from understudy.models import constraining
from understudy.models.constraining import ModelRules, Restriction, check_constraints
from understudy.models.inference import make_evidence
from understudy.models.network import Network, Node
from understudy.models.query.conditions import read_conditions
from understudy.models.query.events import rows_deviation
from understudy.models.sampling import ancestral
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.registry import methods

# ------------------------------------------------ random models, random constraints


@st.composite
def constraints_on(draw, schema):
    """A few constraints that may share columns."""
    numbers = [a for a in schema if a.kind == "integer"]
    found = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["inequality", "bound", "forbidden", "when", "only"]))
        first, second = draw(st.permutations(schema.attributes))[:2]
        if kind == "inequality" and len(numbers) > 1:
            a, b = draw(st.permutations(numbers))[:2]
            sign = draw(st.sampled_from(["<", "<=", ">"]))
            found.append({"inequality": f"{a.name} + {draw(st.integers(-3, 3))} {sign} {b.name}"})
        elif kind == "bound" and numbers:
            a = draw(st.sampled_from(numbers))
            found.append({"inequality": f"{a.name} <= {draw(st.integers(0, 12))}"})
        elif kind == "when" and numbers:
            a = draw(st.sampled_from(numbers))
            limit = f"{a.name} >= {draw(st.integers(0, 12))}"
            found.append({"when": {first.name: draw(one_of(first))}, "then": limit})
        elif kind == "only":
            lines = [[draw(one_of(first)), draw(one_of(second))] for _ in range(4)]
            found.append({"combinations": [first.name, second.name], "only": lines})
        else:
            both = {first.name: draw(one_of(first)), second.name: draw(one_of(second))}
            found.append({"forbidden": both})
    return found


def one_of(attribute):
    if attribute.kind == "integer":
        return st.integers(0, int(attribute.edges[-1]) - 1)
    return st.sampled_from(attribute.values)


def constrained_schema(plain, data):
    document = plain.to_dict() | {"constraints": data.draw(constraints_on(plain))}
    with contextlib.suppress(InputError):  # forbids the only value of each column
        return Schema.from_dict(document)
    assume(False)


def allowed_by_enumeration(schema, names):
    """Which codes leave room for all constraints, trying all values of all bins."""
    rules = Rules(schema.constraints.rules, schema)
    loose = [n for n in rules.names if schema[n].kind == "integer"]
    allowed = np.zeros([schema[name].size for name in names], dtype=bool)
    seen: dict[tuple[int, ...], bool] = {}
    for row in np.ndindex(allowed.shape):
        codes = dict(zip(names, row, strict=True))
        key = tuple(codes[name] for name in rules.names)
        if key not in seen:
            seen[key] = has_room(rules, loose, codes, schema)
        allowed[row] = seen[key]
    return allowed


def has_room(rules, loose, codes, schema):
    choices = []
    for name in loose:
        attribute = schema[name]
        if codes[name] == attribute.values_size:
            choices.append([float("nan")])
        else:
            low, high = attribute.edges[codes[name]], attribute.edges[codes[name] + 1]
            choices.append(list(np.arange(low, high, dtype=float)))
    lines = np.array([[0.0, *line] for line in itertools.product(*choices)])[:, 1:]
    values = {name: np.full(len(lines), np.nan) for name in rules.names}
    values |= {name: lines[:, place] for place, name in enumerate(loose)}
    own = {name: np.full(len(lines), codes[name]) for name in rules.names}
    return bool(rules.holds(values, own).any())


@pytest.mark.thorough
@settings(max_examples=60)
@given(st.integers(0, 10_000), st.data())
def test_the_distribution_is_the_models_given_the_constraints(seed, data):
    network, plain = random_network(seed, attributes=4, degree=2)
    schema = constrained_schema(plain, data)
    names = [node.attribute for node in network]
    allowed = allowed_by_enumeration(schema, names)
    if not allowed.any():
        with pytest.raises(InputError, match="no row can keep all constraints"):
            check_constraints(schema)
        return
    check_constraints(schema)
    model = model_of(network, schema)
    expected = by_enumeration(model.network, schema) * allowed
    assume(expected.sum() > 1e-9)
    expected /= expected.sum()
    found = model.marginal(*names).table / model.rows
    np.testing.assert_allclose(found, expected, atol=1e-9)
    table = model.sample(300, seed=seed)
    codes = encode(table, schema).codes
    assert (expected[tuple(codes[name] for name in names)] > 0).all()
    rules = Rules(schema.constraints.rules, schema)
    values = {name: number_column(table.columns[name]) for name in rules.names}
    assert rules.holds(values, {name: codes[name] for name in rules.names}).all()


def number_column(column):
    if column.kind == "text":
        return np.full(len(column), np.nan)
    return (
        np.where(column.missing > 0, np.nan, column.values)
        if column.missing is not None
        else (column.values.astype(float))
    )


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.data())
def test_conditions_on_rows_are_rules_too(seed, data):
    network, plain = random_network(seed, attributes=3, degree=2)
    schema = constrained_schema(plain, data)
    names = [node.attribute for node in network]
    low, high = sorted(data.draw(st.tuples(st.integers(0, 5), st.integers(0, 8))))
    ranged = [name for name in names if schema[name].kind == "integer"]
    assume(ranged)
    subsets = read_conditions({ranged[0]: (low, high)}, schema)
    limit = {"inequality": f"{low} <= {ranged[0]} <= {high}"}
    narrow = plain.to_dict() | {
        "constraints": [*schema.constraints.to_list(), limit]
        + [{"forbidden": {ranged[0]: None}}] * (schema[ranged[0]].missing is not None)
    }
    allowed = allowed_by_enumeration(Schema.from_dict(narrow), names)
    shares = {ranged[0]: subsets[ranged[0]].shares()}
    expected = by_enumeration(network, schema, shares) * allowed
    assume(expected.sum() > 1e-9)
    model = model_of(network, schema)
    evidence = {ranged[0]: make_evidence(ranged[0], shares[ranged[0]])}
    rules, found = ModelRules(network, schema, None).apply_conditions(subsets, evidence, exact=True)
    order = [node.attribute for node in found.network]
    table = by_enumeration(found.network, schema).transpose([order.index(name) for name in names])
    np.testing.assert_allclose(table, expected / expected.sum(), atol=1e-9)
    drawn = model.sample(200, seed=seed, given={ranged[0]: (low, high)})
    codes = encode(drawn, schema).codes
    values = {name: number_column(drawn.columns[name]) for name in rules.names}
    assert rules.holds(values, {name: codes[name] for name in rules.names}).all()
    wanted = drawn.columns[ranged[0]].values
    assert ((wanted >= low) & (wanted <= high)).all()


@settings(max_examples=10)
@given(st.integers(0, 10_000), st.data())
def test_rejection_draws_from_the_same_distribution(seed, data):
    network, plain = random_network(seed, attributes=3, degree=2, zeros=0.0)
    schema = constrained_schema(plain, data)
    restriction = Restriction(Rules(schema.constraints.rules, schema))
    names = [node.attribute for node in network]
    allowed = allowed_by_enumeration(schema, names)
    assume(allowed.any())
    expected = by_enumeration(network, schema) * allowed
    assume(expected.sum() > 0.02)
    expected /= expected.sum()
    left = constraining.Constrained(network, {}, tuple(restriction.tables), ())
    rng = np.random.default_rng(seed)
    codes = left.draw(lambda n, r: ancestral(network, schema, n, r), 20_000, rng)
    places = np.ravel_multi_index([codes[name] for name in names], expected.shape)
    counts = np.bincount(places, minlength=expected.size) / 20_000
    assert 0.5 * np.abs(counts - expected.ravel()).sum() < 0.05


def two_quantities(constraint, bins=1, **more):
    entry = {"kind": "integer", "min": 0, "max": 9, "bins": bins} | more
    return Schema.from_dict(
        {"attributes": {"a": entry, "b": entry}, "constraints": [{"inequality": constraint}]}
    )


@pytest.mark.parametrize("constraint", ["a <= b", "a < b", "a + b <= 9", "2 * a > b + 3"])
def test_values_inside_bins_are_spread_evenly_over_those_that_keep_the_rule(constraint):
    schema = two_quantities(constraint)
    network = Network(tuple(Node(name, (), np.ones(1)) for name in "ab"))
    table = model_of(network, schema).sample(60_000, seed=3)
    a, b = table.columns["a"].values, table.columns["b"].values
    kept = {
        "a <= b": lambda a, b: a <= b,
        "a < b": lambda a, b: a < b,
        "a + b <= 9": lambda a, b: a + b <= 9,
        "2 * a > b + 3": lambda a, b: 2 * a > b + 3,
    }[constraint]
    expected = np.array([[kept(x, y) for y in range(10)] for x in range(10)], dtype=float)
    expected *= 60_000 / expected.sum()
    counts = np.bincount(a * 10 + b, minlength=100).reshape(10, 10)
    assert (counts[expected == 0] == 0).all()
    cells = expected > 0
    chi_square = ((counts - expected)[cells] ** 2 / expected[cells]).sum()
    assert chi_square < cells.sum() + 6 * np.sqrt(2 * cells.sum())


def test_a_thin_slice_of_wide_bins_is_found():
    entry = {"kind": "integer", "min": 0, "max": 10**9, "bins": 1}
    schema = Schema.from_dict(
        {
            "attributes": dict.fromkeys("abc", entry),
            "constraints": [{"inequality": "a < b < c"}, {"inequality": "c <= a + 2"}],
        }
    )
    network = Network(tuple(Node(name, (), np.ones(1)) for name in "abc"))
    columns = model_of(network, schema).sample(2_000, seed=1).columns
    a, b, c = (columns[name].values for name in "abc")
    assert (b == a + 1).all()
    assert (c == a + 2).all()
    assert len(np.unique(a)) > 1_900


def test_reals_on_different_grids_keep_their_order():
    schema = Schema.from_dict(
        {
            "attributes": {
                "a": {"kind": "real", "min": 0, "max": 1, "bins": 7, "decimals": 1},
                "b": {"kind": "real", "min": 0, "max": 1, "bins": 3, "decimals": 4},
            },
            "constraints": [{"inequality": "a < b"}],
        }
    )
    network = Network((Node("a", (), np.ones(7)), Node("b", (), np.ones(3))))
    columns = model_of(network, schema).sample(20_000, seed=1).columns
    assert (columns["a"].values < columns["b"].values).all()


# ------------------------------------------------ a table of our own, every method


REFUSING = ("gan", "gaussian", "merf")
"""Gaussians and generators keep no rules, and say so before anything is asked."""

EVERY = [name for name in sorted(methods()) if "histogram" not in name and name not in REFUSING]


@pytest.mark.parametrize("name", REFUSING)
def test_gaussians_and_generators_refuse_rules(name):
    with pytest.raises(InputError, match="cannot keep constraints"):
        methods()[name].make(epsilon=2.0).fit(loans(200), schema=SCHEMA)


@pytest.mark.parametrize("name", EVERY)
def test_every_method_keeps_every_rule(name):
    method = methods()[name].make(epsilon=2.0) if name != "random" else Random()
    if name == "marginals":
        method = replace(method, marginals=[("value", "mortgage"), ("school", "years")])
    model = method.fit(loans(2_000), schema=SCHEMA, noise=SeededNoise(1))
    table = model.sample(5_000, seed=2)
    assert table.names == tuple(LOANS)
    assert broken_rules(table) == {}
    assert content(
        Model.from_dict(json.loads(json.dumps(model.to_dict()))).sample(300, seed=2)
    ) == (content(model.sample(300, seed=2)))


@pytest.mark.parametrize("name", ["perturbed-histogram", "smoothed-histogram"])
def test_histograms_keep_rules(name):
    schema = two_quantities("a < b", bins=4)
    rng = np.random.default_rng(1)
    values = np.sort(rng.integers(0, 10, (500, 2)), axis=1)
    table = Table({"a": Column("integer", values[:, 0]), "b": Column("integer", values[:, 1])}, "T")
    method = methods()[name].make(epsilon=1.0)
    columns = method.fit(table, schema=schema, noise=SeededNoise(1)).sample(400, seed=1).columns
    assert (columns["a"].values < columns["b"].values).all()


@pytest.mark.parametrize("encoding", ["vanilla", "hierarchical", "binary", "gray"])
def test_bits_and_levels_keep_rules(encoding):
    method = PrivBayes(epsilon=2.0, encoding=encoding)
    model = method.fit(loans(1_000), schema=SCHEMA, noise=SeededNoise(1))
    assert broken_rules(model.sample(3_000, seed=2)) == {}


def test_marginals_stay_what_they_were():
    real = loans(20_000)
    rules = [rule for rule in RULES if "formula" not in rule]
    attributes = {name: entry for name, entry in LOANS.items() if name != "payment"}
    table = Table({n: c for n, c in real.columns.items() if n != "payment"}, "The loans")
    plain = Schema.from_dict({"attributes": attributes})
    constrained = Schema.from_dict({"attributes": attributes, "constraints": rules})
    method = methods()["mst"].make(epsilon=5.0)
    errors = []
    for schema in (plain, constrained):
        model = method.fit(table, schema=schema, noise=SeededNoise(4))
        synthetic = encode(model.sample(20_000, seed=5), plain)
        coded = encode(table, plain)
        errors.append(
            max(distance(coded.codes[name], synthetic.codes[name]) for name in attributes)
        )
    # Two in a hundred of the real rows break a rule: as much may move, and a little noise.
    assert errors[1] < errors[0] + 0.03


def distance(a, b):
    size = int(max(a.max(), b.max())) + 1
    shares = [np.bincount(codes, minlength=size) / len(codes) for codes in (a, b)]
    return 0.5 * np.abs(shares[0] - shares[1]).sum()


@pytest.fixture(scope="module")
def released():
    return PrivBayes(epsilon=3.0).fit(loans(3_000), schema=SCHEMA, noise=SeededNoise(1))


@pytest.mark.parametrize("method", ["exact", "rejection", "weighting"])
def test_conditions_and_rules_hold_together(released, method):
    wanted = {"value": (61_000, 83_000), "school": ["none", "college"], "years": (2, 12)}
    table = released.sample(500, seed=1, given=wanted, method=method)
    assert broken_rules(table) == {}
    assert (
        (table.columns["value"].values >= 61_000) & (table.columns["value"].values <= 83_000)
    ).all()
    assert ((table.columns["years"].values >= 2) & (table.columns["years"].values <= 12)).all()


@pytest.mark.parametrize("bins", [1, 3])
def test_conditions_and_rules_share_a_bin(bins):
    schema = two_quantities("a < b", bins=bins)
    network = Network(tuple(Node(name, (), np.ones(bins)) for name in "ab"))
    columns = model_of(network, schema).sample(400, seed=1, given={"b": (1, 2)}).columns
    assert (columns["a"].values < columns["b"].values).all()
    assert set(columns["b"].values.tolist()) == {1, 2}
    with pytest.raises(InputError, match="probability is zero"):
        model_of(network, schema).sample(400, seed=1, given={"b": 0})


def test_a_condition_against_the_rules_is_refused(released):
    with pytest.raises(InputError, match="probability is zero"):
        released.sample(10, seed=1, given={"school": "college", "years": (0, 10)})


def test_queries_know_the_rules(released):
    assert released.query("count where sex = 'm' and pregnant = true").value == 0
    share = released.query("share where school = 'college' and years >= 9").value
    assert share == pytest.approx(released.query("share where school = 'college'").value)
    table = released.sample(40_000, seed=9)
    drawn = (table.columns["years"].values <= 8).mean()
    # Queries take values as spread evenly inside bins; here the bins are cut at 9.
    assert released.query("share where years < 9").value == pytest.approx(drawn, abs=0.01)
    whole = released.marginal("state", "region")
    assert whole.table.sum() == pytest.approx(released.rows)
    assert whole.table[0, 1] == whole.deviation[0, 1] == 0
    mean = released.query("mean years")
    assert mean.value == pytest.approx(table.columns["years"].values.mean(), abs=0.3)
    assert mean.error > 0


@pytest.mark.thorough
def test_noise_in_the_answer_is_that_of_a_ratio():
    schema = Schema.from_dict(
        {
            "attributes": {
                "a": {"kind": "categorical", "values": ["x", "y", "z"]},
                "b": {"kind": "categorical", "values": [1, 5]},
            },
            "constraints": [{"forbidden": {"a": "z", "b": 5}}],
        }
    )
    rng = np.random.default_rng(0)
    counts, children = np.array([400.0, 300, 300]), np.array([[100.0, 300], [200, 100], [60, 240]])

    def model(noise_a=0.0, noise_b=0.0):
        nodes = (
            Node("a", (), counts + noise_a, 5.0),
            Node("b", (Axis("a"),), children + noise_b, 5.0),
        )
        return model_of(Network(nodes), schema)

    noisy = [model(rng.normal(0, 5, 3), rng.normal(0, 5, (3, 2))) for _ in range(400)]
    for query in ("share where b = 1", "mean b", "mean b where a = 'z' or a = 'y'"):
        told = model().query(query)
        drawn = [one.query(query).value for one in noisy]
        assert np.std(drawn) == pytest.approx(told.noise, rel=0.15)
        assert np.mean(drawn) == pytest.approx(told.value, abs=0.2 * told.noise)
    told = model().query("share where b = 1")
    estimate = model().marginal("b")
    expected = np.hypot(1000 * told.noise, told.value * rows_deviation(model()))
    assert estimate.deviation[0] == pytest.approx(expected)


@pytest.mark.thorough
def test_files_partitions_and_chunks_give_the_same_rows(released, tmp_path, monkeypatch):
    monkeypatch.setattr("understudy.models.model.CHUNK", 128)
    whole = content(released.sample(1_000, seed=6))
    released.write(tmp_path / "rows.csv", 1_000, 6)
    released.write(tmp_path / "folder", 1_000, 6, partitions=3)
    files = sorted((tmp_path / "folder").glob("*.parquet"))
    assert len(files) == 3
    for written in ([tmp_path / "rows.csv"], files):
        found = [value for file in written for value in content(read_table(file))["value"]]
        assert found == list(whole["value"])
    parts = [
        next(released.chunks(1_000, 6, first=place, last=place + 1))
        for place in reversed(range(released.chunk_count(1_000)))
    ]
    rows = [content(part)["value"] for part in reversed(parts)]
    assert [value for part in rows for value in part] == list(whole["value"])


def test_the_command_line_keeps_rules(released, tmp_path):
    released.save(tmp_path / "model.json")
    drawn = tmp_path / "rows.csv"
    options = ["--rows", 300, "--seed", 3, "--given", "value=61000..83000"]
    ran = run("sample", tmp_path / "model.json", *options, "-o", drawn)
    assert ran.status == 0, ran.err
    table = read_table(drawn)
    assert table.rows == 300
    value, mortgage = table.columns["value"].values, table.columns["mortgage"]
    assert ((value >= 61_000) & (value <= 83_000)).all()
    assert ((mortgage.values <= value) | (mortgage.missing > 0)).all()
    shown = run("show", tmp_path / "model.json").out
    assert "mortgage <= value" in shown
    assert "computed" in shown
    answer = run("query", tmp_path / "model.json", "count where sex = 'm' and pregnant = true")
    assert answer.out.strip() == "0"


# ------------------------------------------------ what cannot be, and what was not learned


@pytest.mark.parametrize(
    "constraints",
    [
        [{"inequality": "a < b"}, {"inequality": "b < a"}],
        [{"inequality": "a > 100"}],
        [{"inequality": "a <= 3"}, {"when": {"b": {"min": 0}}, "then": "a >= 5"}],
        [{"forbidden": {"a": {"min": 0}}}],
    ],
)
def test_a_contradiction_is_refused_before_anything_is_spent(constraints, tmp_path):
    entry = {"kind": "integer", "min": 0, "max": 9, "bins": 3}
    schema = Schema.from_dict({"attributes": {"a": entry, "b": entry}, "constraints": constraints})
    file = LedgerFile.create(tmp_path / "ledger.json", 1.0)
    before = (tmp_path / "ledger.json").read_text()
    table = Table({name: Column("integer", np.arange(9)) for name in "ab"}, "T")
    with pytest.raises(InputError, match="no row can keep all constraints"):
        PrivBayes(epsilon=1.0).fit(table, schema=schema, ledger=file)
    assert (tmp_path / "ledger.json").read_text() == before


def test_rows_are_drawn_where_the_noise_left_the_rules_none():
    schema = two_quantities("a < b", bins=2)
    network = Network((Node("a", (), np.array([0.0, 9])), Node("b", (), np.array([9.0, 0]))))
    columns = model_of(network, schema).sample(50, seed=1).columns
    assert (columns["a"].values < columns["b"].values).all()


@pytest.mark.thorough
def test_thousands_of_combinations_are_looked_up():
    codes = [f"{number:05}" for number in range(3_000)]
    schema = Schema.from_dict(
        {
            "attributes": {
                "zip": {"kind": "categorical", "values": codes},
                "city": {"kind": "integer", "min": 0, "max": 299, "bins": 300},
            },
            "constraints": [
                {
                    "dependency": "zip -> city",
                    "mapping": {code: number % 300 for number, code in enumerate(codes)},
                }
            ],
        }
    )
    network = Network((Node("zip", (), np.ones(3_000)), Node("city", (), np.ones(300))))
    columns = model_of(network, schema).sample(20_000, seed=1).columns
    assert (columns["zip"].values % 300 == columns["city"].values).all()


def test_what_is_too_large_is_left_to_rejection(monkeypatch):
    monkeypatch.setattr(constraining, "MAX_CONSTRAINED_CELLS", 20)
    monkeypatch.setattr(constraining, "MAX_JOINT_CELLS", 8)
    schema = Schema.from_dict(
        {
            "attributes": {
                name: {"kind": "integer", "min": 0, "max": 9, "bins": 5} for name in "abcd"
            },
            "constraints": [{"inequality": "a < b < c < d"}],
        }
    )
    network = Network(tuple(Node(name, (), np.ones(5)) for name in "abcd"))
    model = model_of(network, schema)
    columns = model.sample(2_000, seed=1).columns
    a, b, c, d = (columns[name].values for name in "abcd")
    assert ((a < b) & (b < c) & (c < d)).all()
    with pytest.raises(InputError, match="too large for an exact answer"):
        model.query("share where a < 3")
    check_constraints(schema)
    impossible = schema.to_dict() | {"constraints": [{"inequality": "a < b < c < a"}]}
    with pytest.raises(InputError, match="none of 65,536 rows that were tried keeps"):
        check_constraints(Schema.from_dict(impossible))


def test_changes_that_would_break_a_rule_are_undone():
    schema = two_quantities("a < b", bins=5)
    network = Network(tuple(Node(name, (), np.ones(5)) for name in "ab"))
    constrained = ModelRules(network, schema, None).constrained
    before = {"a": np.array([0, 1, 2]), "b": np.array([4, 3, 2])}
    after = before | {"a": np.array([4, 4, 1])}
    found = constrained.undo(before, after)
    np.testing.assert_array_equal(found["a"], [4, 1, 1])  # 8 < 9 is possible, 8 < 7 is not
    np.testing.assert_array_equal(found["b"], before["b"])


def test_a_dependency_is_learned_from_the_model():
    entries = {
        "school": LOANS["school"],
        "level": LOANS["level"],
        "years": LOANS["years"],
    }
    constraints = [{"dependency": "school -> level"}, {"dependency": "school -> years"}]
    schema = Schema.from_dict({"attributes": entries, "constraints": constraints})
    table = Table({name: loans().columns[name] for name in entries}, "T")
    model = PrivBayes(epsilon=2.0).fit(table, schema=schema, noise=SeededNoise(1))
    mapping = dict(map(tuple, model.schema.constraints.entries[0]["mapping"]))
    assert mapping == {"none": 0, "primary": 1, "secondary": 2, "college": 3}
    drawn = model.sample(2_000, seed=1).columns
    pairs = set(zip(drawn["school"].values, drawn["level"].values, strict=True))
    assert len(pairs) == 4
    years = set(zip(drawn["school"].values, drawn["years"].values, strict=True))
    assert len(years) == 4
    assert Model.from_dict(model.to_dict()) == model


# ------------------------------------------------ for the owner's eyes


def test_rows_that_break_a_rule_are_told_to_the_owner_and_to_nobody_else():
    table, clean = loans(2_000), loans(2_000)
    mortgage = clean.columns["mortgage"]
    columns = dict(clean.columns)
    columns["mortgage"] = replace(
        mortgage, values=np.minimum(mortgage.values, clean.columns["value"].values)
    )
    clean = Table(columns, "The loans")
    notes = {True: [], False: []}
    models = {}
    for dirty, rows in ((True, table), (False, clean)):
        method = PrivBayes(epsilon=1.0)
        model = method.fit(rows, schema=SCHEMA, noise=SeededNoise(1), notify=notes[dirty].append)
        models[dirty] = model.to_dict()
    absent = mortgage.missing > 0
    broken = int(((mortgage.values > clean.columns["value"].values) & ~absent).sum())
    assert [note for note in notes[True] if "mortgage <= value" in note] == [
        f"The constraint mortgage <= value is broken in {broken:,} rows of the real table; no "
        "synthetic row will do so. If it is no rule, take it out of the schema"
    ]
    assert not [note for note in notes[False] if "constraint" in note]
    assert models[True]["ledger"] == models[False]["ledger"]
    assert models[True]["schema"]["constraints"] == models[False]["schema"]["constraints"] == RULES
    assert str(broken) not in json.dumps(models[True]["method"])


@pytest.mark.parametrize("way", ["secure", "voting", "models"])
def test_federated_models_keep_rules(way):
    from memory_holders import holders_of

    parts = split(coded_loans(3_000), "equal", 3)
    method = PrivBayes(epsilon=4.0, degree=1)
    model = federate(holders_of(parts), SCHEMA, method, way=way)
    assert broken_rules(model.sample(1_000, seed=1)) == {}


def test_each_holder_would_learn_a_mapping_of_its_own():
    from memory_holders import holders_of

    entries = [*RULES[:-2], {"dependency": "school -> level"}]
    attributes = {name: entry for name, entry in LOANS.items() if name != "payment"}
    schema = Schema.from_dict({"attributes": attributes, "constraints": entries})
    table = Table({n: c for n, c in loans(600).columns.items() if n != "payment"}, "T")
    parts = split(encode(table, schema), "equal", 3)
    with pytest.raises(InputError, match="learn a mapping of its own"):
        federate(holders_of(parts), schema, PrivBayes(epsilon=1.0), way="models")


def test_an_engine_tells_rows_that_break_a_rule_by_their_codes(tmp_path):
    from understudy.data.tables import write_table

    path = tmp_path / "loans.parquet"
    write_table(path, iter([loans(2_000)]))
    notes = []
    model = PrivBayes(epsilon=1.0, degree=1).fit(
        str(path), schema=SCHEMA, engine="duckdb", noise=SeededNoise(1), notify=notes.append
    )
    assert any("mortgage <= value is broken in at least" in note for note in notes)
    assert broken_rules(model.sample(1_000, seed=1)) == {}
