"""Domains discovered at a price: found where the data is clear, silent where it is rare, and always
in the ledger.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import booleans, dates, integers, schema_of, words
from understudy import (
    Adaptive,
    BudgetError,
    Independent,
    InputError,
    Ledger,
    LedgerFile,
    Marginals,
    PrivBayes,
    Random,
    Schema,
    Synthesizer,
)
from understudy.data.encoding import encode
from understudy.data.schema import Category, Identifier, Quantity, Text
from understudy.data.tables import Column, Table, read_table
from understudy.privacy.budget import Budget, exact, total
from understudy.privacy.discovery import Draft, _cells, _tail, discover
from understudy.privacy.mechanisms import SeededNoise, SystemNoise, table_scale

ROWS = 20_000


def clear_table(rows: int = ROWS) -> Table:
    rng = np.random.default_rng(0)
    wards = rng.choice(3, rows, p=[0.5, 0.3, 0.2]).astype(np.uint32)
    wards[:2] = 3  # two rows hold a value of their own
    gone = (rng.random(rows) < 0.1).astype(np.uint8)
    return Table(
        {
            "patient_id": Column("integer", np.arange(rows)),
            "age": Column("integer", rng.integers(18, 91, rows), missing=gone * np.uint8(2)),
            "debt": Column("real", -rng.exponential(100.0, rows)),
            "ward": Column("text", wards, ("north", "south", "west", "rare"), missing=gone),
            "smoker": Column("text", rng.integers(0, 2, rows).astype(np.uint8), ("False", "True")),
            "born": Column("date", rng.integers(-10_000, 10_000, rows)),
            "seen": Column(
                "datetime",
                rng.integers(1_500_000_000, 1_600_000_000, rows),
                format="%Y-%m-%dT%H:%M:%S",
            ),
        }
    )


def discovered(
    noise: Any, currency: Any = "epsilon", neighbours: Any = "add_remove"
) -> tuple[Schema, Ledger]:
    if currency == "rho":
        ledger = Ledger(2.0, 2e-9, neighbours, "rho", threshold_delta=1e-9)
    else:
        ledger = Ledger(2.0, 1e-9, neighbours, threshold_delta=1e-9)
    return discover(clear_table(), ledger, ledger.budget, 1e-9, noise), ledger


@pytest.mark.parametrize("make", [lambda: SeededNoise(0), SystemNoise])
@pytest.mark.parametrize("currency", ["epsilon", "rho"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_clear_data_is_found_out(make: Any, currency: Any, neighbours: Any) -> None:
    schema, ledger = discovered(make(), currency, neighbours)
    age, debt, ward, smoker, born = (
        schema[name] for name in ("age", "debt", "ward", "smoker", "born")
    )
    assert isinstance(schema["patient_id"], Identifier)
    assert isinstance(age, Quantity)
    assert age.edges[0] <= 16
    assert age.edges[-1] >= 128
    assert age.missing == "?"
    assert isinstance(debt, Quantity)
    assert debt.edges[0] <= -512
    assert isinstance(ward, Category)
    assert ward.values == ("north", "south", "west")  # "rare", with two rows, is not released
    assert ward.missing == ""
    assert ward.other == "other"
    assert isinstance(smoker, Category)
    assert (smoker.kind, smoker.values) == ("boolean", ("False", "True"))
    assert isinstance(born, Quantity)
    assert born.edges[0] <= -10_000 + 366
    assert schema["seen"].to_dict()["format"] == "%Y-%m-%dT%H:%M:%S"
    assert ledger.private == (make is SystemNoise)
    if (
        make is not SystemNoise
    ):  # in one histogram of twenty some cell of noise stands out and widens the bounds
        assert (age.edges[0], age.edges[-1]) == (16, 128)  # the powers of two around 18 ... 90
        assert debt.edges[0] >= -2048
        assert debt.edges[-1] <= 0.0
        assert born.write(born.edges[0]) == "1942-01-01"  # 10,000 days before 1970 it was August


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_the_costs_in_the_ledger_add_up_to_the_share(currency: Any) -> None:
    delta = 2e-9
    ledger = Ledger(1.0, delta, "add_remove", currency, threshold_delta=1e-9)
    share, _ = ledger.budget.split(0.1, 0.9)
    discover(clear_table(1000), ledger, share, 1e-9, SeededNoise(0))
    spent = total([entry.amount for entry in ledger.entries])
    assert exact(share.amount) * (1 - exact(1e-12)) <= spent <= exact(share.amount)
    assert [entry.question for entry in ledger.entries] == [
        "bounds of "
        "age", "bounds of "
                         "debt", "categories of "
                                           "ward", "missing values of "
                                                                 "smoker", "bounds of born",
        "bounds of seen",
    ]  # fmt: skip
    assert [entry.delta for entry in ledger.entries] == [0, 0, 1e-9, 0, 0, 0]


def test_delta_is_shared_among_the_columns_with_categories() -> None:
    table = Table({name: words(*["x"] * 500) for name in "abc"})
    ledger = Ledger(1.0, 1e-9, threshold_delta=1e-9)
    discover(table, ledger, ledger.budget, 1e-9, SeededNoise(0))
    assert total([entry.delta for entry in ledger.entries]) <= exact(1e-9)
    assert {entry.delta for entry in ledger.entries} == {3.33333333333333e-10}


def test_nothing_is_discovered_beyond_the_budget() -> None:
    ledger = Ledger(0.5)
    with pytest.raises(BudgetError):
        discover(Table({"a": integers(1, 2)}), ledger, Budget(0.6), 0.0, SeededNoise(0))
    assert ledger.entries == []


# --------------------------------------------------------------------------- thresholds


def laplace_tail(scale: float, threshold: float) -> float:
    """P(noise >= threshold), exactly."""
    start = math.ceil(threshold)
    p = math.exp(-1 / scale)
    return p**start / (1 + p) if start > 0 else 1 - p ** (1 - start) / (1 + p)


def gaussian_tail(scale: float, threshold: float) -> float:
    reach = math.ceil(60 * scale)
    weights = [math.exp(-(k**2) / (2 * scale**2)) for k in range(reach)]
    whole = 2 * math.fsum(weights) - 1
    return math.fsum(weights[math.ceil(threshold) :]) / whole


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("amount", [0.01, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_a_value_of_a_single_row_is_disclosed_with_probability_at_most_delta(
    delta: float, amount: float, neighbours: Any
) -> None:
    scale = table_scale(Budget(amount), neighbours)
    assert laplace_tail(scale, _tail(scale, False, delta)) <= delta
    scale = table_scale(Budget(amount, "rho"), neighbours)
    if scale < 100:
        assert gaussian_tail(scale, _tail(scale, True, delta)) <= delta


class NoNoise:
    """Noise that is none, to see thresholds at work."""

    private = False

    def laplace(self, counts: Any, scale: float) -> Any:
        return counts

    def gaussian(self, counts: Any, scale: float) -> Any:
        return counts

    def choose(self, scores: Any, scale: float, rule: Any) -> int:
        return 0


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_a_category_is_released_from_the_threshold_on(currency: Any) -> None:
    ledger = Ledger(1.0, 2e-6, "add_remove", currency, threshold_delta=1e-6)
    scale = table_scale(ledger.budget, "add_remove")
    threshold = math.ceil(1 + _tail(scale, currency == "rho", 1e-6))
    table = Table({"ward": words(*["below"] * (threshold - 1), *["above"] * threshold)})
    ward = discover(table, ledger, ledger.budget, 1e-6, NoNoise())["ward"]
    assert isinstance(ward, Category)
    assert ward.values == ("above",)
    assert ward.other == "other"


def test_a_value_that_is_called_other_keeps_its_name() -> None:
    table = Table({"ward": words(*["other"] * 900, *["x"] * 900)})
    ledger = Ledger(5.0, 1e-6, threshold_delta=1e-6)
    ward = discover(table, ledger, ledger.budget, 1e-6, NoNoise())["ward"]
    assert isinstance(ward, Category)
    assert (ward.values, ward.other) == (("other", "x"), "Other")


def test_a_name_is_found_for_the_rest_whatever_the_values_are_called() -> None:
    taken = ["other", "Other", "(other)", "_other_", "other2"]
    table = Table({"x": words(*(word for word in taken for _ in range(500)))})
    ledger = Ledger(5.0, 1e-6, threshold_delta=1e-6)
    found = discover(table, ledger, ledger.budget, 1e-6, NoNoise())["x"]
    assert isinstance(found, Category)
    assert found.other == "other3"


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["2024-01-31T08:00:00", "2024-02-01T23:59:59", ""], "%Y-%m-%dT%H:%M:%S"),
        (["2024-01-31T08:00:00", "2024-01-31 08:00:00"], ""),
        (["2024-01-31T08:00", "2024-01-31T08:00:00.5"], ""),
        (["2024-01-31 08:00", "0001-01-01 00:00:00.25", "9999-12-31 23:59"], ""),
    ],
)
def test_however_moments_are_written_the_discovered_schema_can_read_them(
    cells: list[str], form: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("when,x\n" + "".join(f"{cell},1\n" for cell in cells * 100))
    table = read_table(tmp_path / "t.csv")
    assert (table.columns["when"].kind, table.columns["when"].format) == ("datetime", form)
    ledger = Ledger(5.0)
    schema = discover(table, ledger, ledger.budget, 0.0, NoNoise())
    assert encode(table, schema).rows == 100 * len(cells)


@pytest.mark.parametrize(
    "cell", ["0000-01-01", "0000-01-01 00:00:00", "2020-01-01 24:00", "2020-01-01 23:60:00"]
)
def test_what_is_no_date_for_python_is_a_text(cell: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"when,x\n{cell},1\n2020-01-01,1\n")
    assert read_table(tmp_path / "t.csv").columns["when"].kind == "text"


@pytest.mark.parametrize(
    ("method", "complaint"),
    [
        (PrivBayes(epsilon=1.0, target="nope"), "has no column 'nope'; check the name"),
        (PrivBayes(epsilon=1.0, target="id"), "'id' looks like an identifier"),
        (Adaptive(epsilon=1.0, target="nope"), "has no column 'nope'"),
        (Adaptive(epsilon=1.0, workload=[("a", "nope")]), "has no column 'nope'"),
        (Marginals(epsilon=1.0, marginals=[("a", "id")]), "'id' looks like an identifier"),
    ],
)
def test_names_that_parameters_give_are_checked_before_discovery_is_paid_for(
    method: Synthesizer, complaint: str, tmp_path: Path
) -> None:
    ledger = LedgerFile.create(tmp_path / "t.ledger", 1.0, 1e-6)
    before = ledger.path.read_bytes()
    table = Table(
        {"id": integers(*range(50)), "a": integers(*[1, 2] * 25), "b": integers(*[3, 4] * 25)}
    )
    with pytest.raises(InputError, match=complaint):
        method.fit(table, ledger=ledger)
    assert ledger.path.read_bytes() == before


def test_a_column_where_every_value_is_rare_becomes_text() -> None:
    table = Table(
        {"name": words(*(f"person {i}" for i in range(2000))), "n": integers(*range(2000))}
    )
    ledger = Ledger(1.0, 1e-9, threshold_delta=1e-9)
    schema = discover(table, ledger, ledger.budget, 1e-9)
    assert isinstance(schema["name"], Text)
    assert "person" not in repr(schema.to_dict())


@pytest.mark.parametrize("kind", ["integer", "real", "date", "datetime"])
def test_the_cells_of_a_histogram_cover_their_range_without_gap_or_overlap(kind: str) -> None:
    cells = _cells(kind)
    assert all(low < high for low, high in cells)
    assert [high for _, high in cells[:-1]] == [low for low, _ in cells[1:]]


def test_few_rows_give_a_plain_domain_and_tell_nothing() -> None:
    ledger = Ledger(0.1)
    schema = discover(
        Table({"n": integers(123_456_789), "d": dates("1823-05-06")}),
        ledger,
        ledger.budget,
        0.0,
        NoNoise(),
    )
    n, d = schema["n"], schema["d"]
    assert isinstance(n, Quantity)
    assert isinstance(d, Quantity)
    assert (n.edges[0], n.edges[-1]) == (0, 128)
    assert (d.write(d.edges[0]), d.write(d.edges[-1])) == ("1600-01-01", "2201-01-01")


# ------------------------------------------ what comes out can be used


def test_a_discovered_schema_survives_a_file_and_encodes_the_table() -> None:
    schema, _ = discovered(SeededNoise(3))
    assert Schema.from_dict(schema.to_dict()) == schema
    coded = encode(clear_table(), schema)
    assert {
        outside.column: outside.count for outside in coded.outside if outside.column == "ward"
    } == {"ward": 2}


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0] * 500, 0, 1),
        ([-1] * 500, -1, 0),
        ([1] * 500, 1, 2),
        ([5] * 500 + [-5] * 500, -7, 8),
        ([2**52] * 500, 2**52, 2**53),
    ],
)
def test_bounds_are_powers_of_two_around_the_values(values: list[int], low: int, high: int) -> None:
    ledger = Ledger(50.0)
    n = discover(Table({"n": integers(*values)}), ledger, ledger.budget, 0.0, NoNoise())["n"]
    assert isinstance(n, Quantity)
    assert (n.edges[0], n.edges[-1]) == (low, high)
    assert all(b > a for a, b in zip(n.edges, n.edges[1:], strict=False))


# --------------------------------------------------------------------------- kinds


@pytest.mark.parametrize(
    ("name", "column", "kind"),
    [
        ("id", integers(1, 2), "identifier"),
        ("patient_id", words("a"), "identifier"),
        ("Patient ID", words("a"), "identifier"),
        ("uuid", words("a"), "identifier"),
        ("SSN", words("a"), "identifier"),
        ("index", integers(1), "identifier"),
        ("id", words(None), "identifier"),  # nothing is asked about it
        ("humid", integers(1), "integer"),
        ("idea", words("a"), "categorical"),
        ("x", words("true", "false"), "boolean"),
        ("x", words("TRUE"), "boolean"),
        ("x", words("", "TRUE"), "boolean"),  # an empty text is a missing one
        ("x", words("true", "maybe"), "categorical"),
        ("x", booleans(True), "boolean"),
        ("x", dates("2020-01-01"), "date"),
        ("x", Column("real", np.array([1.5])), "real"),
    ],
)
def test_kinds_are_told_from_type_and_name(name: str, column: Column, kind: str) -> None:
    assert Draft(Table({name: column})).kinds == {name: kind}


def test_only_categories_need_a_delta() -> None:
    assert not Draft(Table({"a": integers(1), "b": booleans(True), "id": words("x")})).needs_delta
    assert Draft(Table({"a": integers(1), "w": words("x")})).needs_delta


def test_a_column_without_values_is_refused_by_name() -> None:
    nothing = Column("empty", np.zeros(2, dtype=np.int64), missing=np.ones(2, dtype=np.uint8))
    with pytest.raises(InputError, match=r"column 'gone' holds no values"):
        Draft(Table({"a": integers(1, 2), "gone": nothing}))


@pytest.mark.parametrize(
    ("table", "method"),
    [
        (Table({"id": integers(1, 2)}), Independent(epsilon=1.0)),
        (
            Table({"a": Column("empty", np.zeros(1, np.int64), missing=np.ones(1, np.uint8))}),
            Independent(epsilon=1.0),
        ),
        (Table({"a": integers(1, 2)}), Random()),
    ],
    ids=[
        "identifiers only",
        "no values",
        "Random without epsilon",
    ],
)
def test_what_cannot_be_discovered_is_refused_before_anything_is_reserved(
    tmp_path: Path, table: Table, method: Any
) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 9.0, 1e-6)
    with pytest.raises(InputError):
        method.fit(table, ledger=book)
    assert book.read()["releases"] == []


# --------------------------------------------------------------------------- within a release


def test_discovery_takes_its_share_and_the_method_the_rest() -> None:
    told: list[str] = []
    model = Independent(epsilon=1.0, discovery=0.2, refinement=0).fit(
        clear_table(2000), noise=SeededNoise(0), notify=told.append
    )
    by_question = {entry.question: entry.amount for entry in model.ledger.entries}
    discovery = sum(v for k, v in by_question.items() if not k.startswith("table of"))
    assert discovery == pytest.approx(0.2)
    assert sum(by_question.values()) == pytest.approx(1.0)
    assert model.ledger.delta == 1e-9
    assert any("1e-09 is used" in sentence for sentence in told)


def test_no_delta_is_made_up_where_none_is_needed() -> None:
    model = Independent(epsilon=1.0).fit(Table({"a": integers(*range(100))}), noise=SeededNoise(0))
    assert model.ledger.delta == 0.0
    with_schema = Independent(epsilon=1.0).fit(
        Table({"w": words("x", "y")}),
        schema_of(w={"kind": "categorical", "values": ["x", "y"]}),
        noise=SeededNoise(0),
    )
    assert with_schema.ledger.delta == 0.0
