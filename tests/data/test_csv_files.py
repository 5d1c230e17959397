"""CSV files that are not what they should be: in memory, in an engine, and in a folder of files."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from running import run
from understudy import Independent, InputError, read_table
from understudy.data.csv_files import MAX_ROW_BYTES
from understudy.engines.sources import open_rows


def names_in_memory(path: Path, header: bool | None) -> tuple[tuple[str, ...], int]:
    table = read_table(path, header=header)
    return table.names, table.rows


def names_in_engine(path: Path, header: bool | None) -> tuple[tuple[str, ...], int]:
    with open_rows(path, "duckdb", header=header) as (table, _):
        # Every cell is asked for: an engine reads the file when it must.
        cells = ", ".join(f"count({table.engine.dialect.quote_name(name)})" for name in table.names)
        count, *_ = table.engine.numbers(f"SELECT count(*), {cells} FROM {table.engine.relation}")
        return table.names, int(count[0])


def names_in_folder(path: Path, header: bool | None) -> tuple[tuple[str, ...], int]:
    folder = path.with_name("folder")
    folder.mkdir(exist_ok=True)
    (folder / path.name).write_bytes(path.read_bytes())
    return names_in_engine(folder, header)


Read = Callable[[Path, bool | None], tuple[tuple[str, ...], int]]
PLACES = pytest.mark.parametrize("read", [names_in_memory, names_in_engine, names_in_folder])

# --------------------------------------------------------------------------- the first line

ROWS = {
    "whole numbers": "39,State-gov,77516",
    "equal whole numbers": "0,1,0",
    "a number in text": "anna,female,37",
    "a negative number": "anna,-3",
    "a decimal": "anna,.5",
    "a decimal comma": "anna;0,5;x",
    "scientific": "anna,1.5e-07",
    "money": "anna,$1 000.50",
    "a share": "anna,12%",
    "a date": "anna,1980-03-12",
    "a European date": "anna,12.3.1980",
    "a date in words": "anna,12 March 1980",
    "a datetime": "anna,1980-03-12T10:00:00Z",
    "a time": "anna,10:30",
    "a telephone number": "anna,+49 (30) 123-456",
    "an interval": "anna,18-25",
    "a bound": "anna,<=50K",
    "a truth value": "anna,True",
    "an e-mail address": "anna,anna@example.org",
    "an identifier": "anna,123e4567-e89b-12d3-a456-426614174000",
    "a missing value": "anna,?",
    "another missing value": "anna,NA",
    "quoted": '"anna","37"',
    "with spaces": "anna, 37 ",
    "Arabic digits": "anna,٣٧",
}


@PLACES
@pytest.mark.parametrize("first", ROWS.values(), ids=ROWS.keys())
def test_a_first_line_that_looks_like_a_row_is_refused(
    tmp_path: Path, first: str, read: Read
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{first}\n{first}\n")
    with pytest.raises(InputError, match="seems to have no header") as refusal:
        read(path, None)
    said = str(refusal.value)
    assert "t.csv" in said
    assert "--no-header" in said
    assert "header=False" in said
    assert "anna" not in said.replace(str(tmp_path), "")
    names, rows = read(path, False)
    assert names == tuple(f"column_{i}" for i in range(1, len(names) + 1))
    assert rows == 2


@pytest.mark.parametrize("first", ["x,x,x", "f,F", "anna,,b"])
def test_names_that_cannot_be_names_have_the_remedy_too(tmp_path: Path, first: str) -> None:
    (tmp_path / "t.csv").write_text(f"{first}\n{first}\n")
    with pytest.raises(InputError, match="--no-header"):
        read_table(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv", header=False).rows == 2


@PLACES
@pytest.mark.parametrize(
    "first",
    [
        "age,workclass,fnlwgt",
        "a1,a2,2a",
        "x,y,t,f,m,n,no",
        "#,%,no.",
        "1st,2nd",
        "year_2019,2019_total",
        "größe,名前",
        "income >50K,e",
        "user@host",
        "date,time,true_value,na_count",
    ],
)
def test_a_first_line_of_names_is_taken_for_one(tmp_path: Path, first: str, read: Read) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{first}\n" + ",".join("1" for _ in first.split(",")) + "\n")
    assert read(path, None) == (tuple(first.split(",")), 1)


@PLACES
def test_names_that_are_numbers_can_be_forced(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "t.csv"
    path.write_text("country,2019,2020\nx,1,2\n")
    assert read(path, True) == (("country", "2019", "2020"), 1)


@pytest.mark.parametrize("first", ["age,sex", "30,f"])
def test_no_row_below_the_first_line_decides(tmp_path: Path, first: str) -> None:
    """Whether a file is refused depends on the line that holds the names, and on nothing else."""

    def refused(rows: str) -> bool:
        (tmp_path / "t.csv").write_text(f"{first}\n{rows}")
        try:
            read_table(tmp_path / "t.csv")
        except InputError:
            return True
        return False

    below = ["31,m\n", "age,sex\n", "30,f\n", "x,y\n" * 50, "31,m\nold,?\n"]
    assert {refused(rows) for rows in below} == {first == "30,f"}


@pytest.mark.parametrize("start", ["", "\ufeff"])
@PLACES
def test_the_first_line_of_a_file_without_names_is_a_row(
    tmp_path: Path, start: str, read: Read
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{start}30,f\n40,m\n", encoding="utf-8")
    assert read(path, False) == (("column_1", "column_2"), 2)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read_table(tmp_path / "t.csv.gz", header=False).columns["column_1"].kind == "integer"


def test_files_of_a_folder_have_the_same_number_of_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("30,f\n")
    (tmp_path / "b.csv").write_text("31,m\n")
    assert names_in_engine(tmp_path, False) == (("column_1", "column_2"), 2)
    (tmp_path / "c.csv").write_text("32,m,x\n")
    with pytest.raises(InputError, match=r"a\.csv and .*c\.csv"):
        names_in_engine(tmp_path, False)


def test_an_empty_first_line_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n30,f\n")
    with pytest.raises(InputError, match="begins with an empty line"):
        read_table(tmp_path / "t.csv", header=False)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_the_first_person_is_not_published(tmp_path: Path, engine: str) -> None:
    table, out = tmp_path / "t.csv", tmp_path / "out.csv"
    table.write_text("".join(f"{61 + i % 9},Zbigniew,{i % 2}\n" for i in range(300)))
    command = ["synthesize", table, "--engine", engine, "--method", "independent", "-o", out]
    ran = run(*command)
    assert (ran.status, ran.out) == (2, "")
    assert "--no-header" in ran.err
    assert "Zbigniew" not in ran.err
    assert not out.exists()
    ran = run(*command, "--no-header", "--epsilon", "50")
    assert ran.status == 0, ran.err
    assert out.read_text().splitlines()[0] == "column_1,column_2,column_3"
    model = Independent(epsilon=50.0).fit(table, header=False, engine=engine, notify=lambda _: None)
    assert model.schema.names == ("column_1", "column_2", "column_3")


def test_every_command_that_reads_a_table_can_be_told(tmp_path: Path) -> None:
    table, schema = tmp_path / "t.csv", tmp_path / "s.json"
    table.write_text("".join(f"{i % 9},{i % 2}\n" for i in range(300)))
    assert run("schema", table, "-o", schema).status == 2
    draft = ["schema", table, "--no-header", "--epsilon", "100", "-o", schema]
    assert run(*draft).status == 0
    out = tmp_path / "out.csv"
    command = ["synthesize", table, "--schema", schema, "--method", "independent", "-o", out]
    assert run(*command, "--no-header").status == 0
    assert run("evaluate", table, out, "--schema", schema).status == 2
    assert run("evaluate", table, out, "--schema", schema, "--no-header").status == 0
    assert run("attack", table, out, "--schema", schema, "--no-header").status in (0, 1)


# --------------------------------------------------------------------------- all lines

LONG = b"x" * (MAX_ROW_BYTES + 1)
FAULTS = {
    "a needless delimiter": (b"a,b\n1,2\n3,4,\n5,6\n", "line 3, has 3 values"),
    "two of them": (b"a,b\n1,2\n3,4,,\n5,6\n", "line 3, has 4 values"),
    "the same, other line ends": (b"a,b\r\n1,2\r\n3,4,\r\n", "line 3, has 3 values"),
    "at the end of the file": (b"a,b\n1,2\n3,4,", "line 3, has 3 values"),
    "quoted at the end of the file": (b'a,b\n1,2\n3,4,""', "line 3, has 3 values"),
    "an empty quoted value": (b'a,b\n1,2\n3,4,""\n5,6\n', "line 3, has 3 values"),
    "after a quoted line break": (b'a,b\n1,"2\n,"\n3,4,\n', "line 4, has 3 values"),
    "after a lone quote": (b'a,b\n1,5" pipe\n3,4,\n', "line 3, has 3 values"),
    "after a cell of 200 KB": (b'a,b\n1,"' + b"x" * 200_000 + b'"\n3,4,\n', "line 3, has 3"),
    "tabs": (b"a\tb\n1\t2\n3\t4\t\n", "line 3, has 3 values"),
    "across two blocks": (b"a,b\n" + b"1,2\n" * 262_143 + b"3,\n" + b"12,,\n", "has 3 values"),
    "a NUL byte far into the file": (
        b"a,b\n" + b"1,2\n" * 400_000 + b"3,x\x00y\n",
        "line 400002, holds a NUL byte",
    ),
    "a line without end": (b"a,b\n1,2\n3," + LONG + b"\n5,6\n", "line 3, is longer than 10 MB"),
    "a last line without end": (b"a,b\n1,2\n3," + LONG, "line 3, is longer than 10 MB"),
    "a first line without end": (LONG + b"\n1\n", "first line of more than 1 MB"),
    "a quoted value without end": (
        b'a,b\n1,2\n3,"' + b"x\n" * (MAX_ROW_BYTES // 2 + 1) + b'"\n5,6\n',
        "line 3, is longer than 10 MB; shorten it, or close the quote",
    ),
    "a quote left open": (b'a,b\n1,2\n3,"x\n5,6\n', "quoted value that is not closed"),
    "mixed line ends": (b"a,b\r\n1,2\n3,4\r\n", "make all its line ends alike"),
    "one value too few": (b"a,b\n1,2\n3\n", "line 3, has 1 value where"),
}


@PLACES
@pytest.mark.parametrize(("content", "said"), FAULTS.values(), ids=FAULTS.keys())
def test_a_faulty_line_is_refused_by_its_number(
    tmp_path: Path, content: bytes, said: str, read: Read
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as refusal:
        read(path, None)
    assert said in str(refusal.value)
    assert "t.csv" in str(refusal.value)
    if "quote" not in said:
        assert "quote" not in str(refusal.value).replace("check its quotes", "")


SOUND = {
    "empty last values": (b"a,b\n1,\n2,\n", 2),
    "empty quoted last values": (b'a,b\n1,""\n2,""\n', 2),
    "delimiters and line breaks in quotes": (b'a,b\n"x,\n,,\n",2\n3,\n', 2),
    "a lone quote": (b'a,b\n1,5" pipe\n3,\n', 2),
    "spaces before a quote": (b'a,b\n1, "x,"\n3,\n', 2),
    "one column": (b'a\n"x,"\ny\n', 2),
    "a cell of 200 KB": (b'a,b\n"' + b"x" * 200_000 + b'",\n', 1),
}


@PLACES
@pytest.mark.parametrize(("content", "rows"), SOUND.values(), ids=SOUND.keys())
def test_a_sound_file_is_not_refused(tmp_path: Path, content: bytes, rows: int, read: Read) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    assert read(tmp_path / "t.csv", None)[1] == rows


def test_the_file_of_a_folder_that_is_at_fault_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text('a,b\n1,2\n3,"x\n')
    with pytest.raises(InputError, match=r"b\.csv, line 3"):
        names_in_engine(tmp_path, None)
