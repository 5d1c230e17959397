"""Texts that a spreadsheet would run as formulas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from examples import integers, words
from running import run
from understudy import Independent, Model, Schema, Table
from understudy.data.spreadsheets import disarm_formulas
from understudy.data.tables import Column

FORMULAS = ("=cmd()", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    values = ["=cmd()", "-3", "plain"]
    schema = Schema.from_dict(
        {
            "attributes": {
                "=name": {"kind": "categorical", "values": values},
                "age": {"kind": "integer", "min": -4, "max": -1},
            }
        }
    )
    table = Table(
        {
            "=name": words(*(values[i % 3] for i in range(60))),
            "age": integers(*(-1 - i % 4 for i in range(60))),
        }
    )
    path = tmp_path / "m.json"
    Independent(epsilon=100.0).fit(table, schema, notify=lambda _: None).save(path)
    return path


def test_texts_that_start_like_formulas_get_an_apostrophe() -> None:
    kept = ("plain", "-3", "+4.5e3", "-", "a=b", "")
    table = Table({"@x": words(*FORMULAS, *kept), "n": integers(*([-1] * 13))})
    safe = disarm_formulas(table)
    assert safe.names == ("'@x", "n")
    assert set(safe.columns["'@x"].words) == {f"'{text}" for text in FORMULAS} | {
        word for word in table.columns["@x"].words if word in kept
    }
    np.testing.assert_array_equal(safe.columns["n"].values, -1)
    assert (
        disarm_formulas(Table({"c": Column("text", np.zeros(1, int), ("a",), mark="=x")}))
        .columns["c"]
        .mark
        == "'=x"
    )


def test_on_the_command_line_only_on_request(model: Path, tmp_path: Path) -> None:
    as_is = run("sample", model, "--rows", 50, "--seed", 1)
    safe = run("sample", model, "--rows", 50, "--seed", 1, "--safe-for-spreadsheets")
    assert (as_is.status, safe.status) == (0, 0)
    assert "\n=cmd()," in as_is.out
    lines = safe.out.splitlines()
    assert lines[0] == "'=name,age"
    assert {line.split(",")[0] for line in lines[1:]} == {"'=cmd()", "-3", "plain"}
    assert {line.split(",")[1] for line in lines[1:]} <= {"-1", "-2", "-3", "-4"}
    Model.load(model).write(tmp_path / "p.csv", 50, 1, safe_for_spreadsheets=True)
    assert (tmp_path / "p.csv").read_text() == safe.out


@pytest.mark.parametrize(
    "output", [("-o", "out.parquet"), ("-o", "out/"), ("-o", "out", "--partitions", "2")]
)
def test_parquet_needs_none(
    model: Path, output: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("sample", model, "--rows", 5, "--safe-for-spreadsheets", *output)
    assert ran.status == 2
    assert "is Parquet, where a text is never a formula" in ran.err
    assert sorted(tmp_path.iterdir()) == [model]


def test_synthesize_refuses_before_it_spends(model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n=x\n=y\n" * 1)
    table = ["synthesize", tmp_path / "t.csv", "--safe-for-spreadsheets"]
    schema = tmp_path / "s.json"
    schema.write_text('{"attributes": {"a": {"kind": "categorical", "values": ["=x", "=y"]}}}')
    assert run(*table, "-o", tmp_path / "o.parquet").status == 2
    assert "does not go with --to" in run(*table, "--to", "spark://h:1?table=t").err
    ran = run(*table, "--schema", schema, "--method", "independent", "--rows", 20)
    assert {line[:2] for line in ran.out.splitlines()[1:]} == {"'="}
