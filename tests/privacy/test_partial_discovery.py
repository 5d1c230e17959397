"""Discovery of what a schema leaves open: the columns that it describes cost nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy import Independent, InputError, Model, Table
from understudy.data.forms import Form
from understudy.data.schema import Quantity
from understudy.data.tables import Column

ROWS = 3000


@pytest.fixture
def table() -> Table:
    rng = np.random.default_rng(5)
    return Table(
        {
            "age": Column("integer", rng.integers(18, 90, ROWS)),
            "sex": Column("text", rng.integers(0, 2, ROWS), ("f", "m")),
            "ward": Column("text", rng.integers(0, 3, ROWS), ("x", "y", "z")),
            "who_id": Column("integer", np.arange(ROWS)),
        }
    )


def release(table: Table, form: Form, epsilon: float = 10.0) -> Model:
    method = Independent(epsilon=epsilon, delta=1e-6)
    return method.fit(table, form, notify=lambda _: None)


def questions(model: Model) -> list[str]:
    return [entry.question for entry in model.ledger.entries]


AGE = {"kind": "integer", "min": 0, "max": 120}
SEX = {"kind": "categorical", "values": ["f", "m"]}
WHO = {"kind": "identifier"}


def test_only_what_is_open_is_asked(table: Table) -> None:
    form = Form({"age": AGE, "sex": SEX, "ward": {"kind": None}, "who_id": WHO})
    model = release(table, form)
    asked = [q for q in questions(model) if q.startswith(("kind of", "words of", "range of"))]
    assert asked
    assert all("ward" in question for question in asked)
    assert model.schema.names == table.names
    age = model.schema["age"]
    assert isinstance(age, Quantity)
    assert (age.edges[0], age.edges[-1]) == (0, 121)
    assert set(model.schema["ward"].to_dict()["values"]) == {"x", "y", "z"}
    assert model.ledger.taken_as_public[0].startswith("the schema, but for the columns")


def test_a_known_kind_is_not_asked_for(table: Table) -> None:
    words = {"kind": "categorical", "values": None}
    form = Form({"age": AGE, "sex": words, "ward": words, "who_id": WHO})
    model = release(table, form)
    assert not [question for question in questions(model) if question.startswith("kind of")]
    assert set(model.schema["sex"].to_dict()["values"]) == {"f", "m"}


def test_a_known_kind_does_not_depend_on_the_cells(table: Table) -> None:
    """Words stay words whatever a column holds: its kind is a public fact now."""
    form = Form(
        {"age": {"kind": "categorical", "values": None}, "sex": SEX, "ward": SEX, "who_id": WHO}
    )
    assert release(table, form, 100.0).schema["age"].kind == "categorical"


def test_columns_that_the_form_does_not_name_are_open(table: Table) -> None:
    model = release(table, Form({"age": AGE, "ward": {"kind": None}}))
    assert "kind of sex" in questions(model)
    assert model.schema["who_id"].kind == "identifier"


def test_a_form_of_another_table_is_refused_for_nothing(table: Table) -> None:
    with pytest.raises(InputError, match="no column 'x', which the schema describes"):
        release(table, Form({"age": {"kind": None}, "x": AGE}))


def test_a_file_with_nulls_is_a_form(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"attributes": {"ward": {"kind": "categorical", "values": null}}}')
    model = Independent(epsilon=10.0, delta=1e-6).fit(table, path, notify=lambda _: None)
    assert "kind of ward" not in questions(model)
    assert "kind of age" in questions(model)
