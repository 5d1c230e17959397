"""Synthetic CSV files are delimited as the sensitive one is, which its header alone decides."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from running import run
from understudy.engines.headers import read_delimiter

SCHEMA = """{"attributes": {
    "age": {"kind": "integer", "min": 0, "max": 99},
    "sex": {"kind": "categorical", "values": ["F", "M"]}
}}"""


def make_table(mark: str) -> str:
    """A table with a delimiter."""
    return f"age{mark}sex\n" + "".join(f"{i % 90}{mark}{'FM'[i % 2]}\n" for i in range(300))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(SCHEMA)
    return tmp_path


@pytest.mark.parametrize("mark", [",", ";", "|", "\t"])
@pytest.mark.parametrize("output", ["out.csv", "-"])
def test_rows_come_out_as_they_came_in(mark: str, output: str, folder: Path) -> None:
    (folder / "t.csv").write_text(make_table(mark))
    ran = run("synthesize", "t.csv", "--schema", "s.json", "--method", "independent", "-o", output)
    assert ran.status == 0, ran.err
    made = ran.out
    if output != "-":
        made = (folder / output).read_text()
    lines = made.splitlines()
    assert lines[0] == f"age{mark}sex"
    assert lines[1].count(mark) == 1


@pytest.mark.parametrize(("output", "mark"), [("out.tsv", "\t"), ("out.csv.gz", ";")])
def test_a_tsv_file_stays_one_and_packed_files_follow(output: str, mark: str, folder: Path) -> None:
    (folder / "t.csv.gz").write_bytes(gzip.compress(make_table(";").encode()))
    command = ("synthesize", "t.csv.gz", "--schema", "s.json", "--method", "independent")
    assert run(*command, "-o", output).status == 0
    made = (folder / output).read_bytes()
    if output.endswith(".gz"):
        made = gzip.decompress(made)
    assert made.startswith(f"age{mark}sex".encode())


def test_rows_have_no_say(folder: Path) -> None:
    table = folder / "t.csv"
    for row in ("1;F\n", "1,2;a,b,c\n", '"1\t\t\t";|||\n', ""):
        table.write_text("age;sex\n" + row)
        assert read_delimiter(str(table)) == ";"
    table.write_text("1;F\n2;M\n")
    assert read_delimiter(str(table), header=False) == ","


def test_an_encoding_that_is_given_is_used(folder: Path) -> None:
    table = folder / "t.csv"
    table.write_text("größe;sex\n1;F\n", encoding="utf-16")
    assert read_delimiter(str(table)) == ";"
    table.write_text("größe;sex\n1;F\n", encoding="latin-1")
    assert read_delimiter(str(table), encoding="latin-1") == ";"


def test_other_tables_give_a_comma(folder: Path) -> None:
    assert read_delimiter("postgresql://host/db?table=t") == ","
    assert read_delimiter(str(folder / "not_there.csv")) == ","
    (folder / "t.tsv").write_text(make_table("\t"))
    assert read_delimiter(str(folder / "t.tsv")) == ","
