"""Tables in and out of files: what was written is what is read, and nothing half-written stays
behind.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import booleans, content, dates, datetimes, integers, reals, values_of, words
from understudy import InputError, read_table
from understudy.data.tables import MARKS, Column, Table, write_table

SUFFIXES = ["csv", "csv.gz", "tsv", "tsv.gz", "parquet"]


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def raw(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


# --------------------------------------------------------------------------- round trips

EXACT = {
    "binary": "a,b,c\n0,1,1\n1,0,0\n",
    "negative and long integers": "n\n-5\n999999999999999999\n0\n",
    "text with all that needs quotes": 'a,b\n"x, y","she said ""hi"""\n"two\nlines",plain\n',
    "unicode": "größe,名前\nπ,☃\n😀,é\n",
    "leading zeros": "zip,n\n00123,1\n98765,2\n",
    "spaces": "a,b\n x,y \nz,w\n",
    "missing texts": "a,b\nx,\n,y\n",
    "missing numbers": "a,b\n1,\n,2\n",
    "a column without values": "a,b\n1,\n2,\n",
    "dates": "d,n\n2020-02-29,1\n1899-12-31,2\n,3\n",
    "datetimes": "t,n\n2020-02-29 23:59:59,1\n1969-12-31 00:00:01,2\n,3\n",
    "datetimes with a T": "t,n\n2020-02-29T23:59:59,1\n1969-12-31T00:00:01,2\n",
    "reals": "r,n\n0.5,1\n-2.25,2\n1.0,3\n",
    "booleans as text": "a,b\ntrue,False\nfalse,True\n",
    "question marks among texts": "a,b\n?,x\nu,y\n",
    "one column": "a\nx\ny\n",
    "hostile names": 'select,"a""b",\'; drop\n1,2,3\n',
}


@pytest.mark.parametrize("text", EXACT.values(), ids=EXACT.keys())
def test_a_text_file_comes_back_byte_for_byte(tmp_path: Path, text: str) -> None:
    read_table(written(tmp_path / "in.csv", text)).write(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes().decode() == text


@pytest.mark.parametrize("suffix", ["csv.gz", "tsv", "tsv.gz"])
def test_a_text_file_comes_back_byte_for_byte_by_way_of_another_format(
    tmp_path: Path, suffix: str
) -> None:
    text = "a,b\n" + '"x, y","she said ""hi"""\n"two\nlines",plain\n"tab\there",\n,00123\n'
    read_table(written(tmp_path / "in.csv", text)).write(tmp_path / f"between.{suffix}")
    read_table(tmp_path / f"between.{suffix}").write(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes().decode() == text.replace(
        '"tab\there"', "tab\there"
    )


def test_a_binary_survey_comes_back_byte_for_byte(tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(0, 2, (2000, 16))
    text = (
        ",".join(f"q{i}" for i in range(16))
        + "\n"
        + "".join(",".join(map(str, row)) + "\n" for row in bits)
    )
    read_table(written(tmp_path / "in.csv", text)).write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == text


@pytest.mark.thorough
@pytest.mark.data
@pytest.mark.parametrize("name", ["nltcs", "adult"])
def test_real_tables_come_back_byte_for_byte(data: Path, tmp_path: Path, name: str) -> None:
    read_table(data / f"{name}.csv").write(tmp_path / "out.csv")
    lines = (data / f"{name}.csv").read_bytes().replace(b"\r\n", b"\n")
    assert (tmp_path / "out.csv").read_bytes() == lines


@pytest.mark.data
def test_a_real_table_with_missing_marks_comes_back_with_every_value(
    data: Path, tmp_path: Path
) -> None:
    table = read_table(data / "heart.csv")
    table.write(tmp_path / "out.csv")
    assert content(read_table(tmp_path / "out.csv")) == content(table)


def every_column() -> Table:
    return Table(
        {
            "n": integers(1, None, -3),
            "r": reals(0.1, None, -1e-7),
            "b": booleans(True, None, False),
            "d": dates("2020-02-29", None, "1901-01-01"),
            "t": datetimes("2020-02-29 01:02:03", None, "1969-12-31 23:59:59"),
            "w": words("x", None, 'quote " and\nline'),
        }
    )


def test_parquet_keeps_every_kind_and_every_missing_value(tmp_path: Path) -> None:
    every_column().write(tmp_path / "t.parquet")
    again = read_table(tmp_path / "t.parquet")
    assert content(again) == content(every_column())
    assert {n: c.kind for n, c in again.columns.items()} == {
        n: c.kind for n, c in every_column().columns.items()
    }


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_keeps_the_values(tmp_path: Path, suffix: str) -> None:
    every_column().write(tmp_path / f"t.{suffix}")
    again = content(read_table(tmp_path / f"t.{suffix}"))
    if suffix != "parquet":
        again["b"] = [{"true": True, "false": False, None: None}[flag] for flag in again["b"]]
    assert again == content(every_column())


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), min_size=1, max_size=5)


@pytest.mark.thorough
@settings(max_examples=12)
@given(texts=st.lists(cells, min_size=1, max_size=20), suffix=st.sampled_from(SUFFIXES))
def test_any_text_survives_any_format(texts: list[str], suffix: str, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("any") / f"t.{suffix}"
    texts = ["anchor: text", *texts]
    Table({"x": words(*texts), "n": integers(*range(len(texts)))}).write(path)
    assert values_of(read_table(path).columns["x"]) == texts


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_missing_marks_are_written_as_the_schema_has_them(tmp_path: Path, suffix: str) -> None:
    gone = np.array([0, 1], dtype=np.uint8)
    table = Table(
        {
            "n": Column("integer", np.array([7, 0]), missing=gone, mark="?"),
            "w": Column("text", np.array([0, 0]), ("x",), missing=gone, mark="NA"),
            "b": Column("boolean", np.array([True, False]), missing=gone, mark="?"),
            "d": Column("date", np.array([0, 0]), missing=gone, mark="-", format="%d/%m/%Y"),
        }
    )
    table.write(tmp_path / f"t.{suffix}")
    if suffix == "csv":
        assert (tmp_path / "t.csv").read_text() == "n,w,b,d\n7,x,true,01/01/1970\n?,NA,?,-\n"
    else:
        assert content(read_table(tmp_path / "t.parquet")) == {
            "n": [7, None],
            "w": ["x", "NA"],
            "b": [True, None],
            "d": [0, None],
        }


def test_an_empty_table_is_a_header(tmp_path: Path) -> None:
    table = Table(
        {
            "a": Column("integer", np.zeros(0, dtype=np.int64)),
            "b": Column("text", np.zeros(0, int), ("x",)),
        }
    )
    for suffix in ("csv", "csv.gz"):
        table.write(tmp_path / f"t.{suffix}")
        assert raw(tmp_path / f"t.{suffix}") == b"a,b\n"


# --------------------------------------------------------------------------- spellings of CSV


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,x\n2,y\n",
        "a,b\n1,x\n2,y",
        "a,b\r\n1,x\r\n2,y\r\n",
        "\ufeffa,b\n1,x\n2,y\n",
        "\ufeffa;b\r\n1;x\r\n2;y\r\n",
        "a;b\n1;x\n2;y\n",
        "a\tb\n1\tx\n2\ty\n",
        "a|b\n1|x\n2|y\n",
        '"a","b"\n"1","x"\n"2","y"\n',
        "a,b\n 1 ,x\n2,y\n",
        "a,b\n+1,x\n2,y\n",
    ],
)
def test_every_common_way_of_writing_csv_is_read(tmp_path: Path, text: str) -> None:
    assert content(read_table(written(tmp_path / "t.csv", text))) == {"a": [1, 2], "b": ["x", "y"]}


def test_a_packed_file_is_read_like_a_plain_one(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv.gz", gzip.compress("\ufeffa;b\r\n1;x\r\n2;y\r\n".encode()))
    assert content(read_table(path)) == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(
    "name", ["a*b.csv", "t[0].csv", "wh?t.csv", "it's.csv", "{a,b}.csv", "ü ☃.csv", "a;b.CSV"]
)
def test_file_names_are_names_and_not_patterns(tmp_path: Path, name: str) -> None:
    written(tmp_path / "aXb.csv", "wrong\n9\n")
    written(tmp_path / "t0.csv", "wrong\n9\n")
    written(tmp_path / "what.csv", "wrong\n9\n")
    table = read_table(written(tmp_path / name, "right\n1\n"))
    assert content(table) == {"right": [1]}
    table.write(tmp_path / f"out-{name}")
    assert (tmp_path / f"out-{name}").read_text() == "right\n1\n"


def test_a_folder_with_glob_characters_is_read_and_written(tmp_path: Path) -> None:
    folder = tmp_path / "x[1]*"
    folder.mkdir()
    for suffix in SUFFIXES:
        Table({"a": integers(1, 2)}).write(folder / f"t.{suffix}")
        assert content(read_table(folder / f"t.{suffix}")) == {"a": [1, 2]}


def test_a_gzip_of_several_parts_is_read_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv.gz", gzip.compress(b"a\n1\n") + gzip.compress(b"2\n3\n"))
    assert content(read_table(path)) == {"a": [1, 2, 3]}


def test_an_empty_line_in_a_single_column_is_a_missing_value(tmp_path: Path) -> None:
    assert content(read_table(written(tmp_path / "t.csv", "a\n1\n\n3\n"))) == {"a": [1, None, 3]}


# --------------------------------------------------------------------------- kinds


KINDS = [
    (["1", "-2", "0"], "integer"),
    (["1", "2.5"], "real"),
    (["1e3", ".5", "5."], "real"),
    (["1", "1e5"], "real"),
    (["1234567890123456789012", "1"], "real"),
    (["01", "2"], "text"),
    (["00.5", "2"], "text"),
    (["1", "x"], "text"),
    (["true", "false"], "text"),
    (["2020-01-01", "1999-12-31"], "date"),
    (["2020-01-01", "1999-13-31"], "text"),
    (["2020-01-01", "2020-01-01 10:00"], "text"),
    (["2020-01-01 10:00", "2020-01-01T10:00:05.5"], "datetime"),
    (["2020-01-01 25:00:00"], "text"),
    (["1/2/2020"], "text"),
    (["inf", "1.5"], "text"),
    (["0x10"], "text"),
    (["1_000"], "text"),
    (["?", "NA"], "text"),
    (["", ""], "empty"),
]


def test_the_kind_of_a_column_is_the_narrowest_that_all_values_fit(tmp_path: Path) -> None:
    columns = [(values * 6)[:6] for values, _ in KINDS]
    text = ",".join(f"c{i}" for i in range(len(columns))) + "\n"
    text += "".join(",".join(row) + "\n" for row in zip(*columns, strict=True))
    table = read_table(written(tmp_path / "t.csv", text))
    told = [
        (values, column.kind)
        for (values, _), column in zip(KINDS, table.columns.values(), strict=True)
    ]
    assert told == KINDS


def test_the_last_of_very_many_values_counts_as_much_as_the_first(tmp_path: Path) -> None:
    text = "x,n\n" + "".join(f"{i},{i}\n" for i in range(30_000)) + "oops,1\n"
    table = read_table(written(tmp_path / "t.csv", text))
    assert table.columns["x"].kind == "text"
    assert table.columns["n"].kind == "integer"
    assert table.rows == 30_001


def test_each_missing_mark_among_numbers_is_remembered(tmp_path: Path) -> None:
    names = ",".join(f"c{i}" for i in range(len(MARKS)))
    text = "\n".join(
        [names, ",".join(["1"] * len(MARKS)), ",".join(MARKS), ",".join(["3"] * len(MARKS)), ""]
    )
    table = read_table(written(tmp_path / "t.csv", text))
    for place, column in enumerate(table.columns.values(), start=1):
        assert column.kind == "integer"
        assert values_of(column) == [1, None, 3]
        assert column.missing is not None
        assert column.missing.tolist() == [0, place, 0]


@pytest.mark.parametrize(
    "values", [["2020-01-01", "?"], ["2020-01-01 00:00:00", "NA"], ["1.5", "nan"]]
)
def test_missing_marks_among_dates_and_reals_are_seen(tmp_path: Path, values: list[str]) -> None:
    column = read_table(written(tmp_path / "t.csv", "x\n" + "\n".join(values) + "\n")).columns["x"]
    assert values_of(column)[1] is None
    assert column.kind in ("date", "datetime", "real")


def test_datetimes_are_whole_seconds_rounded_down(tmp_path: Path) -> None:
    text = "t\n1970-01-01 00:00:01.999\n1969-12-31 23:59:59.5\n"
    assert values_of(read_table(written(tmp_path / "t.csv", text)).columns["t"]) == [1, -1]


@pytest.mark.parametrize(
    ("sql", "kind", "values"),
    [
        ("SELECT 200::UTINYINT AS x UNION ALL SELECT NULL", "integer", [200, None]),
        ("SELECT 'NaN'::DOUBLE AS x UNION ALL SELECT 0.5", "real", [None, 0.5]),
        ("SELECT 1.25::DECIMAL(9, 2) AS x", "real", [1.25]),
        ("SELECT true AS x UNION ALL SELECT NULL", "boolean", [True, None]),
        ("SELECT DATE '1969-12-31' AS x", "date", [-1]),
        ("SELECT TIMESTAMP '1970-01-01 00:01:00.5' AS x", "datetime", [60]),
        ("SELECT 'a' AS x UNION ALL SELECT ''", "text", ["a", None]),
        ("SELECT [1, 2] AS x", "text", ["[1, 2]"]),
        ("SELECT TIME '10:00:00' AS x", "text", ["10:00:00"]),
        ("SELECT NULL::VARCHAR AS x", "empty", [None]),
    ],
)
def test_parquet_types_become_kinds(tmp_path: Path, sql: str, kind: str, values: list[Any]) -> None:
    with duckdb.connect() as engine:
        engine.execute(f"COPY ({sql}) TO '{tmp_path / 't.parquet'}' (FORMAT parquet)")
    column = read_table(tmp_path / "t.parquet").columns["x"]
    assert column.kind == kind
    assert sorted(values_of(column), key=str) == sorted(values, key=str)


# --------------------------------------------------------------------------- skipped columns


def test_skipped_columns_are_there_but_unread(tmp_path: Path) -> None:
    table = read_table(
        written(tmp_path / "t.csv", "id,a,notes\n918273645,1,secret\n18,2,hidden\n"),
        skip=["id", "notes"],
    )
    assert table.names == ("id", "a", "notes")
    assert values_of(table.columns["a"]) == [1, 2]
    assert "secret" not in repr(table)
    assert "918273645" not in repr(table)  # no folder of a test is called that


# --------------------------------------------------------------------------- chunks


def chunked(sizes: list[int]) -> Iterator[Table]:
    first = 0
    for size in sizes:
        numbers = list(range(first, first + size))
        labels = [f"row {n}" for n in numbers]
        gone = np.array([n % 7 == 0 for n in numbers], dtype=np.uint8)
        yield Table(
            {
                "n": Column(
                    "integer", np.array(numbers), missing=gone if gone.any() else None, mark="?"
                ),
                "w": Column("text", np.arange(size), tuple(labels)),
            }
        )
        first += size


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_chunks_make_the_same_file_as_one_table(tmp_path: Path, suffix: str) -> None:
    many, one = tmp_path / f"many.{suffix}", tmp_path / f"one.{suffix}"
    assert write_table(many, chunked([100, 1, 250, 49])) == 400
    assert write_table(one, chunked([400])) == 400
    assert content(read_table(many)) == content(read_table(one))
    assert read_table(many).rows == 400
    if suffix != "parquet":
        assert raw(many) == raw(one)


def test_very_many_different_texts_are_written_too(tmp_path: Path) -> None:
    for suffix in ("csv", "parquet"):
        write_table(tmp_path / f"t.{suffix}", chunked([12_000]))
        assert values_of(read_table(tmp_path / f"t.{suffix}").columns["w"])[-1] == "row 11999"


# --------------------------------------------------------------------------- failures


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("before", [None, b"what was there"])
def test_a_writer_that_fails_half_way_leaves_everything_as_it_was(
    tmp_path: Path, suffix: str, before: bytes | None
) -> None:
    path = tmp_path / f"t.{suffix}"
    if before is not None:
        path.write_bytes(before)

    def failing() -> Iterator[Table]:
        yield from chunked([10, 10])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_table(path, failing())
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == (
        {} if before is None else {path.name: before}
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("understudy.data.writing._write_csv", full)
    monkeypatch.setattr("understudy.data.writing.write_parquet", full)
    with pytest.raises(InputError, match="No space left on device"):
        Table({"a": integers(1)}).write(tmp_path / f"t.{suffix}")
    assert list(tmp_path.iterdir()) == []


BROKEN = [
    ("t.csv", b"", "is empty"),
    ("t.csv", b"\n1,2\n", "no header"),
    ("t.csv", b"a,,c\n1,2,3\n", "no name for column 2"),
    ("t.csv", b"a,a\n1,2\n", "two columns named 'a'"),
    ("t.csv", b"a,A\n1,2\n", "two columns named 'A'"),
    ("t.csv", b"a,b\n1,2\n3\n", "line 3"),
    ("t.csv", b"a,b\n1,2\n3,4,5\n", "line 3"),
    ("t.csv", b'a,b\n1,"2\n3,4\n', "quote"),
    ("t.csv", b"a\x00b\n1\n", "not a text file"),
    ("t.csv.gz", b"a,b\n1,2\n", "gzipped"),
    ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:-20], "unpacked"),
    ("t.parquet", b"a,b\n1,2\n", "cannot be read as Parquet"),
    ("t.parquet", b"PAR1 and then nonsense PAR1", "cannot be read as Parquet"),
    ("t.xlsx", b"a,b\n1,2\n", "cannot be read as a workbook"),
    ("t.doc", b"a,b\n1,2\n", "must end in .csv"),
    ("t", b"a,b\n1,2\n", "must end in .csv"),
]


@pytest.mark.parametrize(
    ("name", "text", "cause"), BROKEN, ids=[f"{name} {cause}" for name, _, cause in BROKEN]
)
def test_a_broken_file_is_refused_by_name_and_cause(
    tmp_path: Path, name: str, text: bytes, cause: str
) -> None:
    path = written(tmp_path / name, text)
    with pytest.raises(InputError) as refusal:
        read_table(path)
    assert str(path) in str(refusal.value)
    assert cause in str(refusal.value)


@pytest.mark.parametrize("where", ["missing/t.csv", "folder.csv", "t.doc"])
def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path, where: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=r"t\.|folder"):
        Table({"a": integers(1)}).write(tmp_path / where)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.csv"]


def test_a_table_shows_no_value_of_its_own() -> None:
    table = Table({"age": Column("integer", np.array([41, 42])), "n": Column("real", np.ones(2))})
    assert repr(table) == "<Table of 2 rows, 2 columns (age: integer, n: real)>"


def test_a_parquet_file_with_damaged_pages_is_refused(tmp_path: Path) -> None:
    """Its columns are read one by one, long after its footer."""
    path = tmp_path / "t.parquet"
    query = "SELECT 'a' || (i % 7) AS word, i AS number FROM range(5000) t(i)"
    duckdb.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 60 + whole[64:])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_table(path)
