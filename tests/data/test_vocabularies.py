"""Vocabularies by name: looked up when a schema is read, each value in one spelling."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from understudy import InputError, Schema
from understudy.data.schema import Category
from understudy.data.vocabularies import list_vocabularies, resolve_vocabulary

NAMES = sorted(list_vocabularies())
PARTS = {"iso-3166-2": ":DE"}


def column(**entry: Any) -> Category:
    attribute = Schema.from_dict({"attributes": {"c": {"kind": "categorical", **entry}}})["c"]
    assert isinstance(attribute, Category)
    return attribute


def needs(name: str) -> None:
    package = list_vocabularies()[name].package
    if package:
        pytest.importorskip(package)


@pytest.mark.parametrize("name", NAMES)
def test_every_vocabulary_makes_a_column(name: str) -> None:
    needs(name)
    values = column(vocabulary=name + PARTS.get(name, "")).values
    assert len(values) >= 2
    assert len({str(value).casefold().strip() for value in values}) == len(values)


def test_a_model_holds_the_values() -> None:
    pytest.importorskip("pycountry")
    country = column(vocabulary="iso-3166-1", missing=True)
    assert len(country.values) == 249
    assert {"DE", "NO", "US"} <= set(country.values)
    entry = json.loads(json.dumps(country.to_dict()))
    assert "vocabulary" not in entry
    assert entry["values"] == list(country.values)


def test_months_have_an_order_that_can_be_refused() -> None:
    assert column(vocabulary="months").ordered
    assert column(vocabulary="months").values[:2] == ("January", "February")
    assert not column(vocabulary="months", ordered=False).ordered
    assert not column(vocabulary="sex").ordered


def test_other_languages() -> None:
    pytest.importorskip("babel")
    assert column(vocabulary="months:de").values[2] == "März"
    assert column(vocabulary="weekdays:fr").values[0] == "lundi"


def test_states() -> None:
    pytest.importorskip("pycountry")
    assert len(column(vocabulary="us-states").values) == 51


def test_digits_are_numbers_unless_they_have_zeros_in_front() -> None:
    pytest.importorskip("pycountry")
    assert column(vocabulary="iso-5218").values == (0, 1, 2, 9)
    assert "004" in column(vocabulary="iso-3166-1-numeric").values


@pytest.mark.parametrize(
    ("entry", "cause"),
    [
        ({"vocabulary": "mnths"}, "no vocabulary 'mnths'; did you mean 'months'"),
        ({"vocabulary": "iso-3166"}, "did you mean 'iso-3166-1'"),
        ({"vocabulary": "qqqqqq"}, "understudy schema --vocabularies lists them"),
        ({"vocabulary": "sex:de"}, "'sex' has no parts; leave out ':de'"),
        ({"vocabulary": "months", "values": ["a"]}, 'either "values" or a "vocabulary"'),
        ({"vocabulary": 7}, "must be a name"),
        ({"vocabulary": ""}, "no vocabulary ''"),
    ],
)
def test_refused(entry: dict[str, Any], cause: str) -> None:
    with pytest.raises(InputError, match="column 'c': .*" + cause):
        column(**entry)


def test_an_unknown_part_is_refused() -> None:
    pytest.importorskip("pycountry")
    pytest.importorskip("babel")
    with pytest.raises(InputError, match="a country's two letters"):
        resolve_vocabulary("iso-3166-2:XX")
    with pytest.raises(InputError, match="no language 'xx'"):
        resolve_vocabulary("months:xx")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycountry", None)
    with pytest.raises(InputError, match=r"needs the package pycountry; pip install .understudy\["):
        column(vocabulary="iso-4217")
