"""Made-up texts: as the schema asks for them, and the same for the same seed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import booleans, content, schema_of, words
from understudy import Independent, InputError, Model, Schema, Table
from understudy.data import fakes
from understudy.data.encoding import decode
from understudy.data.fakes import number_texts
from understudy.privacy.mechanisms import SeededNoise


def texts(rows: int = 200, seed: int = 0, **entry: Any) -> list[str]:
    schema = schema_of(x={"kind": "text", **entry})
    rng = np.random.default_rng(seed)
    drawn: list[str] = content(decode({}, schema, rng, rows))["x"]
    return drawn


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"pattern": "###-##-####"}, r"[0-9]{3}-[0-9]{2}-[0-9]{4}"),
        ({"pattern": "^^ ??-\\#\\\\#"}, r"[A-Z]{2} [a-z]{2}-#\\[0-9]"),
        ({"pattern": "(+1) 555-01##"}, r"\(\+1\) 555-01[0-9]{2}"),
        ({"length": 7}, "[a-z]{7}"),
        ({"length": [2, 9]}, "[a-z]{2,9}"),
        ({"fake": "name"}, r"\S+ .*\S"),
        ({"fake": "email"}, r"\S+@example\.(com|org|net)"),
        ({"fake": "postcode", "locale": "de"}, "[0-9]{5}"),
        ({"replacement": "…"}, "…"),
    ],
)
def test_texts_are_as_the_schema_asks(entry: dict[str, Any], expected: str) -> None:
    pytest.importorskip("mimesis")
    drawn = texts(**entry)
    assert len(drawn) == 200
    assert all(re.fullmatch(expected, text) for text in drawn), drawn[:5]
    assert texts(**entry) == drawn
    if "replacement" not in entry:
        assert len(set(drawn)) > 60
        assert texts(seed=1, **entry) != drawn


def test_every_length_and_sign_is_drawn() -> None:
    drawn = texts(5000, length=[1, 4])
    assert {len(text) for text in drawn} == {1, 2, 3, 4}
    assert set("".join(drawn)) == set("abcdefghijklmnopqrstuvwxyz")
    assert set("".join(texts(5000, pattern="#"))) == set("0123456789")


@pytest.mark.parametrize("fake", sorted(fakes.FAKES))
def test_each_kind_of_fake_is_made(fake: str) -> None:
    pytest.importorskip("mimesis")
    assert all(isinstance(text, str) and text for text in texts(20, fake=fake))


def test_a_model_that_was_saved_makes_up_the_same_texts(tmp_path: Path) -> None:
    pytest.importorskip("mimesis")
    schema = schema_of(
        smoker={"kind": "boolean"},
        name={"kind": "text", "fake": "name"},
        phone={"kind": "text", "pattern": "###-####"},
    )
    table = Table(
        {"smoker": booleans(True, False), "name": words("a", "b"), "phone": words("1", "2")}
    )
    model = Independent(epsilon=1.0).fit(table, schema, noise=SeededNoise(0))
    model.save(tmp_path / "m.json")
    again = Model.load(tmp_path / "m.json")
    assert content(model.sample(500, seed=3)) == content(again.sample(500, seed=3))


def test_a_lacking_library_is_said_before_anything_is_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fakes, "find_spec", lambda _: None)
    schema = schema_of(a={"kind": "boolean"}, x={"kind": "text", "fake": "name"})
    table = Table({"a": booleans(True), "x": words("y")})
    with pytest.raises(InputError, match=r"understudy\[fakes\]"):
        Independent(epsilon=1.0).fit(table, schema)


@pytest.mark.parametrize(
    ("pattern", "number", "expected"),
    [
        ("P-######", 12, "P-000012"),
        ("P-##", 1234, "P-1234"),
        ("##-###-#", 12345, "01-234-5"),
        ("##-##", 123456, "1234-56"),
        ("#a#b", 7, "0a7b"),
    ],
)
def test_identifiers_fill_all_runs_of_a_pattern(pattern: str, number: int, expected: str) -> None:
    assert number_texts(pattern, np.array([number])) == (expected,)


@pytest.mark.parametrize(
    ("entry", "cause"),
    [
        ({"pattern": ""}, "for digits"),
        ({"pattern": "x\\"}, "for digits"),
        ({"pattern": 5}, "for digits"),
        ({"length": 0}, "whole number"),
        ({"length": [5, 2]}, "whole number"),
        ({"length": [5, 10**9]}, "whole number"),
        ({"fake": "nam"}, "did you mean 'name'"),
        ({"fake": "name", "locale": "xx"}, "'xx'"),
        ({"locale": "de"}, "goes with"),
        ({"fake": "name", "pattern": "#"}, "not several"),
    ],
)
def test_a_wrong_wish_is_refused(entry: dict[str, Any], cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        schema_of(x={"kind": "text", **entry})


@pytest.mark.parametrize(
    "entry",
    [
        {"pattern": "##"},
        {"length": [2, 9]},
        {"fake": "city", "locale": "de"},
        {"replacement": None},
    ],
)
def test_the_schema_file_keeps_the_wish(tmp_path: Path, entry: dict[str, Any]) -> None:
    schema = schema_of(x={"kind": "text", **entry})
    schema.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.json") == schema
    assert schema.to_dict()["attributes"]["x"] == {"kind": "text", **entry}
