"""Random: uniform over the domain, and free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import content, every_kind_schema, every_kind_table, integers, small_schema, words
from understudy import InputError, LedgerFile, Random, Table
from understudy.data.encoding import encode
from understudy.data.tables import Column
from understudy.privacy.mechanisms import SeededNoise


def test_with_a_schema_nothing_is_asked_and_nothing_spent() -> None:
    model = Random().fit(every_kind_table(), every_kind_schema(), notify=lambda _: None)
    assert model.ledger.entries == []
    assert model.ledger.spent() == (0.0, 0.0)
    assert "No private row was read" in model.ledger.statement()


def test_the_model_is_the_same_whatever_the_rows_are() -> None:
    one = Table({"a": words("true"), "b": integers(0), "c": integers(0)})
    many = Table({"a": words(*["false"] * 9), "b": integers(*[2] * 9), "c": integers(*range(9))})
    models = [Random().fit(table, small_schema(), notify=lambda _: None) for table in (one, many)]
    assert models[0].to_dict() == models[1].to_dict()
    assert content(models[0].sample(50, seed=1)) == content(models[1].sample(50, seed=1))


@pytest.mark.parametrize(("neighbours", "rows"), [("add_remove", None), ("replace", 5)])
def test_the_number_of_rows_is_known_only_where_it_is_public(
    neighbours: Any, rows: int | None
) -> None:
    model = Random(neighbours=neighbours).fit(
        every_kind_table(), every_kind_schema(), notify=lambda _: None
    )
    assert model.rows == rows
    if rows is None:
        with pytest.raises(InputError, match="say how many you want"):
            model.sample()
    else:
        assert model.sample().rows == rows


def test_rows_are_uniform_over_the_domain() -> None:
    model = Random().fit(
        Table({"a": words("true"), "b": integers(0), "c": integers(0)}), small_schema()
    )
    coded = encode(model.sample(24_000, seed=0), small_schema())
    for attribute in coded.schema.modelled:
        counts = np.bincount(coded.codes[attribute.name], minlength=attribute.size)
        expected = 24_000 / attribute.size
        assert np.abs(counts - expected).max() < 6 * np.sqrt(expected)


def test_without_a_schema_the_whole_budget_goes_to_discovery() -> None:
    table = Table({"n": Column("integer", np.random.default_rng(0).integers(0, 50, 5000))})
    model = Random(epsilon=0.5).fit(table, noise=SeededNoise(0))
    asked = [entry.question for entry in model.ledger.entries]
    assert asked[:4] == ["number of rows", "cells of n", "kind of n", "range of n"]
    assert asked[4:] == ["grid of n", "values of n"]
    assert model.ledger.left.amount < 1e-9 * model.ledger.budget.amount
    assert all(0 <= value < 128 for value in content(model.sample(500, seed=0))["n"])


def test_a_release_that_costs_nothing_takes_nothing_from_the_ledger(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    Random().fit(every_kind_table(), every_kind_schema(), ledger=book, notify=lambda _: None)
    assert book.left() == (1.0, 0.0)
    assert book.read()["releases"][0]["state"] == "settled"
