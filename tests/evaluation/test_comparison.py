"""Two tables under one schema: what is read off them, what is handled, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from examples import integers, reals, words
from understudy.data.schema import Category, Quantity, Schema
from understudy.data.tables import Column, Table, read_table
from understudy.errors import InputError
from understudy.evaluation import evaluate
from understudy.evaluation.comparison import MAX_COMPARED_CATEGORIES, common_schema, compare_tables


def table(**columns: Column) -> Table:
    return Table(columns)


def attribute_of(real: Column, synthetic: Column) -> object:
    return common_schema(table(x=real), table(x=synthetic))["x"]


# --------------------------------------------------------------------------- the common schema


def test_categories_are_those_of_either_table() -> None:
    found = attribute_of(words("b", "a"), words("a", "c"))
    assert isinstance(found, Category)
    assert found.values == ("a", "b", "c")
    assert found.missing is None


def test_a_value_may_be_missing_where_one_is_in_either_table() -> None:
    found = attribute_of(words("b", "a"), words("a", None))
    assert isinstance(found, Category)
    assert found.missing == ""


def test_few_whole_numbers_get_a_bin_each() -> None:
    found = attribute_of(integers(3, 5, 5), integers(4, 9, 3))
    assert isinstance(found, Quantity)
    assert found.edges == (3, 4, 5, 9, 10)


def test_bins_hold_about_equally_many_values_and_all_of_them() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.lognormal(0, 2, 5000), rng.lognormal(0, 2, 500)
    found = attribute_of(reals(*left), reals(*right))
    assert isinstance(found, Quantity)
    assert found.edges[0] == min(left.min(), right.min())
    assert found.edges[-1] == max(left.max(), right.max())
    pooled = (
        np.histogram(left, found.edges)[0] / 5000 + np.histogram(right, found.edges)[0] / 500
    ) / 2
    assert len(pooled) == 16
    assert pooled.sum() == pytest.approx(1)
    assert np.abs(pooled - 1 / 16).max() < 0.002


@pytest.mark.parametrize("column", [integers(7, 7), reals(0.5, 0.5)])
def test_a_constant_column_has_one_bin(column: Column) -> None:
    found = attribute_of(column, column)
    assert isinstance(found, Quantity)
    assert found.size == 1


def test_numbers_beyond_exact_floats_are_told_apart() -> None:
    times = np.arange(40) * 10**12
    one, other = integers(*(times + 17 * 10**17)), integers(*(times + 12 * 10**17))
    tables = compare_tables(table(x=one), table(x=other))
    assert tables.schema["x"].kind == "real"
    assert np.isin(tables.synthetic.codes("x"), tables.real.codes("x")).mean() < 0.05
    assert len(set(tables.real.codes("x"))) == 8
    assert tables.notes == ()


def test_few_real_numbers_get_a_bin_each() -> None:
    tables = compare_tables(table(x=reals(0.5, 0.5, 2.5)), table(x=reals(1.5, 1.5, 2.5)))
    assert (tables.real.codes("x").tolist(), tables.synthetic.codes("x").tolist()) == (
        [0, 0, 2],
        [1, 1, 2],
    )
    assert attribute_of(reals(1e17), reals(1e17)).size == 1  # type: ignore[attr-defined]


def test_whole_and_other_numbers_are_numbers() -> None:
    assert attribute_of(integers(1, 2), reals(1.5, 2.5)).kind == "real"  # type: ignore[attr-defined]


def test_a_column_without_values_on_one_side_is_all_missing_there() -> None:
    empty = Column("empty", np.zeros(2, dtype=np.int64), missing=np.ones(2, dtype=np.uint8))
    tables = compare_tables(
        table(x=integers(1, 2), y=integers(1, 2)), table(x=empty, y=integers(1, 2))
    )
    attribute = tables.schema["x"]
    assert tables.synthetic.codes("x").tolist() == [attribute.values_size] * 2
    assert np.isnan(tables.synthetic.numbers(attribute)).all()  # type: ignore[arg-type]


def test_infinite_numbers_count_at_the_edge() -> None:
    numbers = reals(1.0, np.inf, 3.0)
    tables = compare_tables(table(x=numbers), table(x=numbers))
    assert tables.real.numbers(tables.schema["x"]).tolist() == [1.0, 3.0, 3.0]  # type: ignore[arg-type]


def test_identifiers_and_free_text_are_left_out() -> None:
    many = words(*(f"note {number}" for number in range(MAX_COMPARED_CATEGORIES + 1)))
    numbers = integers(*range(MAX_COMPARED_CATEGORIES + 1))
    one = table(patient_id=numbers, note=many, age=numbers)
    tables = compare_tables(one, one)
    assert tables.left_out == ("patient_id", "note")
    assert tables.schema.names == ("age",)


def test_files_are_read_alike_whatever_their_order_of_columns(tmp_path) -> None:
    (tmp_path / "real.csv").write_text("a,b\nx,1\ny,?\n")
    (tmp_path / "other.csv").write_text("b,a\n2,y\n1,x\n")
    tables = compare_tables(tmp_path / "real.csv", tmp_path / "other.csv")
    assert tables.schema.names == ("a", "b")
    assert tables.real.codes("b").tolist() == [0, 2]
    assert tables.synthetic.codes("b").tolist() == [1, 0]
    assert tables.synthetic.codes("a").tolist() == [1, 0]


# --------------------------------------------------------------------------- with a schema

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "id": {"kind": "identifier"},
            "age": {"kind": "integer", "min": 0, "max": 9, "bins": 10},
            "note": {"kind": "text", "replacement": None},
        }
    }
)


def test_what_a_schema_leaves_out_need_not_be_there() -> None:
    tables = compare_tables(
        table(id=integers(1, 2), age=integers(3, 4), note=words("a", "b")),
        table(age=integers(3, 12)),
        SCHEMA,
    )
    assert tables.left_out == ("id", "note")
    assert tables.schema.names == ("age",)
    assert tables.notes == (
        "The synthetic table: age: 1 value outside the domain counted as 9; "
        "if the public bounds are wider than the schema says, fix it.",
    )


def test_a_model_s_network_is_judged_by_its_schema_and_its_rows_by_real_values(tmp_path) -> None:
    pytest.importorskip("xgboost")
    from understudy import Independent

    schema = Schema.from_dict(
        {"attributes": {"x": {"kind": "integer", "min": 0, "max": 3, "bins": 2}}}
    )
    real = table(x=integers(*([0, 1, 2, 3] * 20)))
    model = Independent(epsilon=100).fit(real, schema)
    found = evaluate(real, model.sample(80, seed=0), model=model)
    assert found.columns[0].labels == ("0", "1", "2", "3")  # the real values, not the model's bins
    assert found.network is not None
    assert found.network.real == 0


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("real", "synthetic", "sentence"),
    [
        (
            table(a=integers(1), b=integers(1)),
            table(c=integers(1)),
            "The real table and the synthetic table have no column in common; give two tables of "
            "the same columns.",
        ),
        (
            table(a=integers(1)),
            table(a=integers()),
            "The synthetic table has no rows; there is nothing to compare.",
        ),
        (table(id=integers(1)), table(id=integers(1)), "There is no column to compare"),
    ],
)
def test_tables_that_cannot_be_compared_are_refused(
    real: Table, synthetic: Table, sentence: str
) -> None:
    with pytest.raises(InputError) as refusal:
        evaluate(real, synthetic)
    assert sentence in str(refusal.value)


def test_an_empty_synthetic_file_is_refused_by_name(tmp_path) -> None:
    (tmp_path / "real.csv").write_text("a\n1\n")
    (tmp_path / "synthetic.csv").write_text("a\n")
    with pytest.raises(InputError, match=r"synthetic\.csv has no rows"):
        evaluate(tmp_path / "real.csv", tmp_path / "synthetic.csv")


def test_a_wrong_column_is_named_with_its_file(tmp_path) -> None:
    (tmp_path / "real.csv").write_text("age\n1\n")
    (tmp_path / "synthetic.csv").write_text("age,sex\n1,f\n")
    real, synthetic = read_table(tmp_path / "real.csv"), read_table(tmp_path / "synthetic.csv")
    schema = Schema((SCHEMA["age"],))
    with pytest.raises(
        InputError, match=r"synthetic\.csv has a column 'sex' that the schema does not describe"
    ):
        compare_tables(real, synthetic, schema)
    with pytest.raises(
        InputError, match=r"real\.csv has no column 'sex', which the table .*synthetic\.csv has"
    ):
        compare_tables(real, synthetic)


def test_a_cell_that_cannot_be_read_is_outside_the_domain() -> None:
    found = compare_tables(table(age=integers(1)), table(age=words("old")), SCHEMA)
    assert found.synthetic.outside == {"age": 1.0}
