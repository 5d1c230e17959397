"""What is released: the same from file to file, safe to open, repeatable by seed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import content, every_kind_schema, every_kind_table, schema_of, small_schema
from understudy import Independent, InputError, Model, read_table
from understudy.data import files
from understudy.data.tables import Column, Table
from understudy.models import model as model_module
from understudy.privacy.mechanisms import SeededNoise


def fitted(rows: int = 400, **parameters: Any) -> Model:
    rng = np.random.default_rng(0)
    table = Table(
        {
            "a": Column("boolean", rng.random(rows) < 0.3),
            "b": Column("integer", rng.integers(0, 3, rows)),
            "c": Column("integer", rng.integers(0, 8, rows)),
        }
    )
    return Independent(**{"epsilon": 1.0, **parameters}).fit(
        table, small_schema(), noise=SeededNoise(0)
    )


def every_kind_model() -> Model:
    table, schema = every_kind_table(), every_kind_schema()
    return Independent(epsilon=1.0).fit(table, schema, noise=SeededNoise(0), notify=lambda _: None)


# --------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "make", [fitted, every_kind_model, lambda: fitted(delta=1e-6, neighbours="replace")]
)
@pytest.mark.parametrize("name", ["m.json", "m.json.gz"])
def test_a_model_survives_a_file(tmp_path: Path, make: Callable[[], Model], name: str) -> None:
    model = make()
    model.save(tmp_path / name)
    again = Model.load(tmp_path / name)
    assert again.to_dict() == model.to_dict()
    assert again.schema == model.schema
    assert again.ledger == model.ledger
    assert again.rows == model.rows
    assert content(again.sample(100, seed=3)) == content(model.sample(100, seed=3))


def test_a_large_model_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "GZIP_ABOVE", 1000)
    fitted().save(tmp_path / "m.json")
    assert gzip.decompress((tmp_path / "m.json").read_bytes()).startswith(b"{")
    assert Model.load(tmp_path / "m.json").to_dict() == fitted().to_dict()


def test_a_model_file_is_plain_json_with_released_values_only(tmp_path: Path) -> None:
    every_kind_model().save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    assert {"understudy_model", "method", "rows", "ledger", "schema", "network"} <= set(document)
    text = (tmp_path / "m.json").read_text()
    for private in ("attic", "likes tea", "secret"):
        assert private not in text


def test_a_model_of_a_newer_version_says_so() -> None:
    with pytest.raises(InputError, match=r"newer understudy \(format 4\); update understudy first"):
        Model.from_dict({**fitted().to_dict(), "understudy_model": 4})


def _at(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        *above, last = path.split(".")
        place: Any = document
        for name in above:
            place = place[int(name)] if isinstance(place, list) else place[name]
        place[int(last) if isinstance(place, list) else last] = value

    change.__name__ = f"{path} = {value!r}"[:60]
    return change


HOSTILE = [
    _at("understudy_model", 0),
    _at("understudy_model", "1"),
    _at("understudy_model", None),
    _at("understudy_model", [1]),
    _at("schema", None),
    _at("schema", {"attributes": {}}),
    _at("schema.attributes.a.kind", "object"),
    _at("schema.attributes.c.bins", 7),
    _at("schema.attributes.c.max", 2**60),
    _at("schema.attributes.d", {"kind": "boolean"}),
    _at("ledger", None),
    _at("ledger.entries.0.amount", 99.0),
    _at("ledger.entries.0.question", ["a"]),
    _at("ledger.guarantee.epsilon", -1),
    _at("ledger.neighbours", "<script>"),
    _at("ledger.private", "no"),
    _at("ledger.currency", "rho"),
    _at("network", {}),
    _at("network.0.attribute", "__class__"),
    _at("network.0.counts", [1e300, 1e300]),
    _at("network.0.counts", [-5, 5]),
    _at("network.0.parents", [["a", 0]]),
    _at("method", "independent"),
    _at("method", {}),
    _at("method", {"name": 5}),
    _at("rows", -1),
    _at("rows", 1.5),
    _at("rows", True),
    _at("rows", 10**13),
    _at("rows", "many"),
    _at("bits", "octal"),
    _at("bits", ["gray"]),
]


@pytest.mark.parametrize("tamper", HOSTILE, ids=lambda change: change.__name__)
def test_a_hostile_model_is_refused_in_a_sentence(
    tmp_path: Path, tamper: Callable[[dict[str, Any]], None]
) -> None:
    document = fitted().to_dict()
    tamper(document)
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError) as refusal:
        Model.load(path)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("document", [None, [], "model", 7, {}, {"attributes": {}}])
def test_what_is_no_model_is_refused(document: Any) -> None:
    with pytest.raises(InputError, match="is not a model of understudy"):
        Model.from_dict(document)


@pytest.mark.parametrize("name", ["understudy_model", "schema", "ledger", "network", "method"])
def test_a_model_that_lacks_a_part_is_refused(name: str) -> None:
    document = fitted().to_dict()
    del document[name]
    with pytest.raises(InputError):
        Model.from_dict(document)


# --------------------------------------------------------------------------- rows


def test_a_seed_makes_rows_repeatable_and_another_seed_other_rows() -> None:
    model = every_kind_model()
    first = content(model.sample(300, seed=1))
    assert content(model.sample(300, seed=1)) == first
    assert content(model.sample(300, seed=2)) != first


def test_without_a_seed_rows_are_fresh() -> None:
    model = fitted()
    assert content(model.sample(300)) != content(model.sample(300))


@pytest.mark.parametrize("chunk", [64, 100, 1000])
def test_streamed_rows_equal_those_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(model_module, "CHUNK", chunk)
    model = every_kind_model()
    model.sample(350, seed=4).write(tmp_path / "memory.csv")
    drawn: list[int] = []
    assert model.write(tmp_path / "stream.csv", 350, 4, drawn.append) == 350
    assert sum(drawn) == 350
    assert len(drawn) == -(-350 // chunk)
    assert (tmp_path / "stream.csv").read_bytes() == (tmp_path / "memory.csv").read_bytes()
    model.write(tmp_path / "stream.parquet", 350, 4)
    model.sample(350, seed=4).write(tmp_path / "memory.parquet")
    assert content(read_table(tmp_path / "stream.parquet")) == content(
        read_table(tmp_path / "memory.parquet")
    )


def test_identifiers_go_on_from_chunk_to_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "CHUNK", 10)
    ids = content(every_kind_model().sample(35, seed=0))["id"]
    assert ids == [f"P-{number:04d}" for number in range(1, 36)]


def test_no_chunk_is_larger_than_it_should_be_however_many_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model_module, "CHUNK", 128)
    sizes = [chunk.rows for chunk in fitted().chunks(1000, seed=0)]
    assert sizes == [128] * 7 + [104]


def test_the_beginning_of_a_very_long_stream_comes_at_once() -> None:
    stream = fitted().chunks(10**11, seed=0)
    assert next(stream).rows == model_module.CHUNK


def test_as_many_rows_as_the_original_are_drawn_unless_told_otherwise() -> None:
    model = fitted(neighbours="replace")
    assert model.sample(seed=0).rows == 400
    assert model.sample(7, seed=0).rows == 7
    empty = model.sample(0, seed=0)
    assert (empty.rows, empty.names) == (0, ("a", "b", "c"))


@pytest.mark.parametrize("rows", [-1, 1.5, True, "5", 10**13])
def test_a_number_of_rows_that_is_none_is_refused(rows: Any) -> None:
    with pytest.raises(InputError, match="number of rows must be a whole number"):
        fitted().sample(rows)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "5"])
def test_a_seed_that_is_none_is_refused(seed: Any) -> None:
    with pytest.raises(InputError, match="seed must be a whole number"):
        fitted().sample(5, seed=seed)


def test_a_failed_stream_leaves_no_file(tmp_path: Path) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted().write(tmp_path / "t.csv", 100, 0, stop)
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------- looks


def test_the_card_escapes_what_comes_from_files() -> None:
    schema = schema_of(
        **{"<script>alert(1)</script>": {"kind": "boolean"}, "a&b": {"kind": "identifier"}}
    )
    table = Table(
        {
            "<script>alert(1)</script>": Column("boolean", np.array([True])),
            "a&b": Column("integer", np.array([1])),
        }
    )
    model = Independent(epsilon=1.0).fit(table, schema)
    hostile = Model.from_dict(
        {**model.to_dict(), "method": {"name": "<img src=x onerror=alert(1)>"}}
    )
    card = hostile._repr_html_()
    assert "<script>" not in card
    assert "<img" not in card
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in card
    assert "a&amp;b" in card


def test_the_card_tells_method_rows_and_guarantee() -> None:
    card = fitted(neighbours="replace")._repr_html_()
    assert "independent" in card
    assert "400" in card
    assert "NOT PRIVATE" in card
