"""Files that ask for too much are refused in a short sentence, before the work is done; what is
allowed is quick.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples import integers, schema_of, words
from golden.golden import FOLDER
from running import run
from understudy import Independent, InputError, Model, Schema
from understudy.cli import show
from understudy.data.attribute_reading import MAX_CODES, MAX_TEXT_LENGTH
from understudy.data.schema import MAX_ATTRIBUTES, MAX_NAME_LENGTH
from understudy.data.tables import Table
from understudy.errors import MAX_MESSAGE_LENGTH
from understudy.privacy.ledger import MAX_ENTRIES
from understudy.privacy.mechanisms import SeededNoise

LONG = "x" * 1_000_000
ONE_BOOLEAN = {"kind": "boolean"}
MANY_VALUES = list(range(60_000))


def wide(columns: int) -> dict[str, Any]:
    return {"attributes": {f"c{place}": ONE_BOOLEAN for place in range(columns)}}


def wide_model(columns: int) -> dict[str, Any]:
    """A chain of columns, the worst that can be shown as a tree."""
    document: dict[str, Any] = golden()
    document["schema"] = wide(columns)
    document["network"] = [
        {"attribute": f"c{place}", "parents": [[f"c{place - 1}", 0]], "counts": [4, 3, 2, 1]}
        for place in range(columns)
    ]
    document["network"][0] = {"attribute": "c0", "parents": [], "counts": [2, 1]}
    return document


def golden() -> Any:
    return json.loads((FOLDER / "independent.json").read_text(encoding="utf-8"))["model"]


# --------------------------------------------------------------------------- schemas

TOO_MUCH: dict[str, tuple[dict[str, Any], str]] = {
    "columns": (wide(MAX_ATTRIBUTES + 1), "10,001 columns; at most 10,000"),
    "a name": (
        {"attributes": {LONG: ONE_BOOLEAN}},
        "1,000,000 characters long; at most 1,000 are allowed",
    ),
    "bins": (
        {
            "attributes": {
                f"c{place}": {"kind": "integer", "min": 0, "max": 10**6, "bins": 65_536}
                for place in range(2_000)
            }
        },
        "bins and values together; at most 4,194,304",
    ),
    "values": (
        {
            "attributes": {
                f"c{place}": {"kind": "categorical", "values": MANY_VALUES}
                for place in range(MAX_CODES // len(MANY_VALUES) + 1)
            }
        },
        "bins and values together; at most 4,194,304",
    ),
    "a value": (
        {"attributes": {"c": {"kind": "categorical", "values": ["a", LONG]}}},
        "a text of 1,000,000 characters",
    ),
    "a leaf": (
        {
            "attributes": {
                "c": {"kind": "categorical", "values": ["a", "b"], "taxonomy": [["a"], ["b", LONG]]}
            }
        },
        "a text of 1,000,000 characters",
    ),
} | {
    f"the option {option}": (
        {"attributes": {"c": {"kind": kind, option: LONG}}},
        "a text of 1,000,000 characters",
    )
    for kind, option in [
        ("text", "replacement"),
        ("identifier", "pattern"),
        ("date", "format"),
        ("date", "min"),
        ("boolean", "missing"),
        ("categorical", "other"),
        (LONG, "min"),
        ("boolean", LONG),
    ]
}


@pytest.mark.thorough
@pytest.mark.parametrize(("document", "cause"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_a_schema_that_asks_for_too_much_is_refused(document: dict[str, Any], cause: str) -> None:
    with pytest.raises(InputError) as refusal:
        Schema.from_dict(document)
    assert cause in str(refusal.value)
    assert len(str(refusal.value)) < 400


@pytest.mark.thorough
def test_plan_refuses_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "wide.json"
    path.write_text(json.dumps(TOO_MUCH["bins"][0]))
    ran = run("plan", "--schema", path, "--rows", 1000)
    assert ran.status == 2
    assert "at most 4,194,304 can be modelled. Use fewer bins." in ran.err
    assert len(ran.err) < 400


def test_what_is_at_the_limits_is_taken() -> None:
    name, text = "n" * MAX_NAME_LENGTH, "t" * MAX_TEXT_LENGTH
    schema = schema_of(**{name: {"kind": "categorical", "values": [text, "u"], "missing": True}})
    assert Schema.from_dict(schema.to_dict()) == schema
    assert len(Schema.from_dict(wide(MAX_ATTRIBUTES))) == MAX_ATTRIBUTES


# --------------------------------------------------------------------------- models


def _long_question(document: Any) -> None:
    document["ledger"]["entries"][0]["question"] = LONG


def _long_trust(document: Any) -> None:
    document["ledger"]["trust"] = LONG


def _many_entries(document: Any) -> None:
    document["ledger"]["entries"] = [{}] * (MAX_ENTRIES + 1)


def _long_method(document: Any) -> None:
    document["method"]["name"] = LONG


def _many_columns(document: Any) -> None:
    document["schema"] = wide(100_000)


def _long_bits(document: Any) -> None:
    document["bits"] = LONG


def _long_version(document: Any) -> None:
    document["understudy_model"] = LONG


def _long_attribute(document: Any) -> None:
    document["network"][0]["attribute"] = LONG


HUGE = [
    _long_question, _long_trust, _many_entries, _long_method, _many_columns, _long_bits,
    _long_version, _long_attribute,
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("enlarge", HUGE, ids=lambda change: change.__name__.strip("_"))
def test_a_model_that_asks_for_too_much_is_refused(
    tmp_path: Path, enlarge: Callable[[Any], None]
) -> None:
    document = golden()
    enlarge(document)
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    for command in (["show", path], ["sample", path, "--rows", 5], ["query", path, "count"]):
        ran = run(*command)
        assert (ran.status, ran.out) == (2, "")
        assert "m.json" in ran.err
        assert "Traceback" not in ran.err
        assert len(ran.err) < MAX_MESSAGE_LENGTH + 100


@pytest.mark.thorough
def test_a_wide_model_is_shown_in_part(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(wide_model(show.MAX_LINES + 5)))
    ran = run("show", path)
    assert ran.status == 0
    assert ran.out.count("The first 1,000 of 1,005") == 2  # the attributes and the network
    assert "c999" in ran.out
    assert "c1000" not in ran.out


def test_a_network_too_large_for_a_picture_is_refused(tmp_path: Path) -> None:
    """Every attribute has the first one as a parent too: edges pass 0 + 1 + ... + 499 layers."""
    document = wide_model(500)
    for node in document["network"][2:]:
        node["parents"].append(["c0", 0])
        node["counts"] *= 2
    path, picture = tmp_path / "m.json", tmp_path / "n.svg"
    path.write_text(json.dumps(document))
    ran = run("show", path, "--plot", picture)
    assert ran.status == 2
    assert "too large for a picture" in ran.err
    assert not picture.exists()


# --------------------------------------------- tables without a schema


@pytest.mark.parametrize(
    ("names", "cause"),
    [
        ([f"c{place}" for place in range(MAX_ATTRIBUTES + 1)], "10,001 columns"),
        (["a", LONG], "1,000,000 characters long"),
    ],
)
def test_columns_that_no_model_could_hold_are_refused_before_anything_is_spent(
    names: list[str], cause: str
) -> None:
    table = Table({name: integers(1, 2) for name in names})
    with pytest.raises(InputError, match=cause):
        Independent(epsilon=1.0).fit(table, noise=SeededNoise(0), notify=lambda _: None)


def test_discovered_values_are_never_too_long_for_a_model() -> None:
    kept, dropped = "a" * MAX_TEXT_LENGTH, "b" * (MAX_TEXT_LENGTH + 1)
    table = Table({"c": words(*[kept, dropped, "d"] * 300)})
    fit = Independent(epsilon=50.0, delta=0.01).fit
    model = fit(table, noise=SeededNoise(0), notify=lambda _: None)
    assert Model.from_dict(model.to_dict()) == model
    assert set(model.schema["c"].values) == {kept, "d"}  # type: ignore[attr-defined]
