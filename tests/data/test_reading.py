"""One reader for all kinds of files: the same table whatever file it lies in, and one cell decides
nothing about the others.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import content, schema_of, words
from running import run
from understudy import Independent, InputError, Schema, Table, read_table
from understudy.data.encoding import encode
from understudy.data.frames import as_table
from understudy.engines.sources import open_rows
from understudy.privacy.mechanisms import SeededNoise

NAMES = ("age", "city", "dose", "day")
CELLS = [(30, "São Paulo", 1.5, "2020-01-31"), (41, "Zürich", None, "2020-02-01"), (7, "", 3.0, "")]


def as_csv(cells: list[tuple[Any, ...]] = CELLS, quote: str = '"') -> str:
    lines = [",".join(NAMES)]
    for row in cells:
        written = ["" if cell is None else str(cell) for cell in row]
        lines.append(",".join(f"{quote}{cell}{quote}" if "ü" in cell else cell for cell in written))
    return "\n".join(lines) + "\n"


def csv_in(encoding: str) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(as_csv().encode(encoding)) and None


def gzipped(path: Path) -> None:
    path.write_bytes(gzip.compress(as_csv().encode("utf-16")))


def json_lines(path: Path) -> None:
    rows = [json.dumps(dict(zip(NAMES, row, strict=True))) for row in CELLS]
    path.write_text("\n".join(rows) + "\n")


def database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE visits (age, city, dose, day)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", CELLS)
    connection.close()


def workbook(path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (NAMES, *CELLS):
        book.active.append(row)
    book.save(path)


def frame() -> Any:
    pandas = pytest.importorskip("pandas")
    rows = [(float(age), city, dose, day) for age, city, dose, day in CELLS]
    return pandas.DataFrame(rows, columns=list(NAMES))


def statistics(path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    write = pyreadstat.write_dta if path.suffix == ".dta" else pyreadstat.write_sav
    write(frame(), str(path))


def feather(path: Path) -> None:
    frame().to_feather(path)


def parquet(path: Path) -> None:
    frame().to_parquet(path)


FILES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "UTF-8": ("t.csv", csv_in("utf-8")),
    "UTF-8 with a byte order mark": ("t.csv", csv_in("utf-8-sig")),
    "UTF-16": ("t.csv", csv_in("utf-16")),
    "Windows-1252": ("t.csv", csv_in("cp1252")),
    "UTF-16, gzipped": ("t.csv.gz", gzipped),
    "Parquet": ("t.parquet", parquet),
    "Excel": ("t.xlsx", workbook),
    "SQLite": ("t.sqlite", database),
    "JSON lines": ("t.jsonl", json_lines),
    "Stata": ("t.dta", statistics),
    "SPSS": ("t.sav", statistics),
    "Feather": ("t.feather", feather),
}
SCHEMA = schema_of(
    age={"kind": "integer", "min": 0, "max": 99},
    city={"kind": "categorical", "values": ["São Paulo", "Zürich"], "missing": True},
    dose={"kind": "real", "min": 0, "max": 9, "missing": True},
    day={"kind": "date", "min": "2020-01-01", "max": "2020-12-31", "missing": True},
)


@pytest.mark.thorough
@pytest.mark.parametrize("case", FILES)
def test_the_same_cells_are_read_from_every_kind_of_file(tmp_path: Path, case: str) -> None:
    name, write = FILES[case]
    write(tmp_path / name)
    table = read_table(tmp_path / name)
    assert table.names == NAMES
    reference = tmp_path / "reference.csv"
    reference.write_text(as_csv())
    expected = encode(read_table(reference), SCHEMA)
    coded = encode(table, SCHEMA)
    assert {name: codes.tolist() for name, codes in coded.codes.items()} == {
        name: codes.tolist() for name, codes in expected.codes.items()
    }
    assert coded.outside == expected.outside == ()


@pytest.mark.thorough
@pytest.mark.parametrize("case", ["UTF-8", "UTF-16", "Windows-1252", "Excel", "SQLite"])
def test_the_command_line_and_python_read_the_same_table(tmp_path: Path, case: str) -> None:
    """By the file's fingerprint in a ledger: one that Python wrote is the command's, too."""
    name, write = FILES[case]
    path, ledger, schema = tmp_path / name, tmp_path / "ledger.json", tmp_path / "schema.json"
    write(path)
    SCHEMA.save(schema)
    assert run("ledger", "create", ledger, "--epsilon", 3).status == 0
    Independent(epsilon=1.0).fit(path, schema, ledger=ledger, notify=lambda _: None)
    by_command = run(
        *("synthesize", path, "--schema", schema, "--epsilon", 1, "--method", "independent"),
        *("--ledger", ledger, "-o", tmp_path / "out.csv"),
    )
    assert by_command.status == 0, by_command
    path.write_bytes((tmp_path / "out.csv").read_bytes())
    if path.suffix == ".csv":  # control: another table is refused
        other = run(
            *("synthesize", path, "--schema", schema, "--epsilon", 1, "--ledger", ledger),
            *("-o", tmp_path / "again.csv"),
        )
        assert other.status == 2, other


# --------------------------------------------------------------------------- encodings


@settings(
    max_examples=settings.default.max_examples // 2,  # each reads two files
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    lines=st.lists(st.binary(min_size=1, max_size=8), min_size=1, max_size=5),
    more=st.binary(min_size=1, max_size=8),
)
def test_how_a_line_is_read_depends_on_no_other(
    tmp_path: Path, lines: list[bytes], more: bytes
) -> None:
    """A byte that is not UTF-8 in one row would else change the words of all others."""
    harmless = bytes.maketrans(b'\x00\n\r,;\t|" ', b"xxxxxxxxx")

    def cells(some: list[bytes]) -> list[Any]:
        path = tmp_path / "t.csv"
        rows = [b"w" + line.translate(harmless) + b",x\n" for line in some]
        path.write_bytes(b"word,other\n" + b"".join(rows))
        return content(read_table(path))["word"]

    assert cells([*lines, more])[:-1] == cells(lines)


def test_an_encoding_that_was_not_said_is_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    for encoding, said in (("cp1252", "Windows-1252"), ("utf-16", "UTF-16"), ("utf-8", "")):
        path = tmp_path / "t.csv"
        path.write_bytes(as_csv().encode(encoding))
        told.clear()
        read_table(path, notify=told.append)
        assert [said in sentence for sentence in told] == ([True] if said else [])
        told.clear()
        read_table(path, notify=told.append, encoding=encoding)
        assert told == []


def test_bytes_that_an_encoding_does_not_know_end_no_run(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"word,x\n\xff\x81,1\nfine,2\n")
    assert content(read_table(path))["word"] == ["ÿ\x81", "fine"]
    assert content(read_table(path, encoding="utf-8"))["word"] == ["\ufffd\ufffd", "fine"]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_engines_read_encodings_quotes_and_marks_alike(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(as_csv([*CELLS, (-99, "nowhere", "n/a", "")], quote="'").encode("utf-16"))
    options: dict[str, Any] = {"quote": "'", "missing_marks": ("-99", "nowhere")}
    schema = schema_of(
        **{
            name: {**entry.to_dict(), "missing": True}
            for name, entry in zip(NAMES, SCHEMA, strict=True)
        }
    )
    model = Independent(epsilon=1e6).fit(
        path, schema, engine=engine, noise=SeededNoise(0), notify=lambda _: None, **options
    )
    sampled = model.sample(2000, seed=1)
    assert set(content(sampled)["city"]) == {"São Paulo", "Zürich", None}
    assert None in content(sampled)["age"]


def test_single_quotes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("'class','odor, if any'\n'p','a,b'\n'it''s',c\n")
    table = read_table(path, quote="'")
    assert content(table) == {"class": ["p", "it's"], "odor, if any": ["a,b", "c"]}


def test_the_command_line_takes_what_python_takes(tmp_path: Path) -> None:
    path, schema = tmp_path / "t.csv", tmp_path / "s.json"
    rows = "'p','caf\u00e9, or so'\n'e','nobody knows'\n" * 200
    path.write_bytes(rows.encode("latin-1"))
    attributes = {
        "column_1": {"kind": "categorical", "values": ["e", "p"]},
        "column_2": {"kind": "categorical", "values": ["café, or so"], "missing": True},
    }
    schema_of(**attributes).save(schema)
    options = ["--no-header", "--quote", "'", "--encoding", "latin-1"]
    done = run(
        *("synthesize", path, "--schema", schema, "--epsilon", 100, "--method", "independent"),
        *(*options, "--missing-marks", "nobody knows, n/a", "-o", tmp_path / "out.csv"),
    )
    assert done.status == 0, done
    assert "outside the domain" not in done.err
    missing = [cell is None for cell in content(read_table(tmp_path / "out.csv"))["column_2"]]
    assert 100 < sum(missing) < 300
    without = run("synthesize", path, "--schema", schema, *options, "-o", tmp_path / "b.csv")
    assert "200 values outside the domain" in without.err


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"encoding": "utf-9"}, "utf-9"),
        ({"encoding": "rot13"}, "rot13"),
        ({"quote": ""}, "quote"),
        ({"quote": "''"}, "quote"),
        ({"quote": ","}, "quote"),
        ({"missing_marks": "n/a"}, "missing_marks"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: Any, cause: str) -> None:
    (tmp_path / "t.csv").write_text(as_csv())
    with pytest.raises(InputError, match=cause):
        read_table(tmp_path / "t.csv", **options)


# --------------------------------------------------------------------------- missing marks


def test_marks_of_the_owners_own_are_missing_in_files_and_frames(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,city\n30, refused \n-99,here\n41,gone\n")
    marks = ("refused", "-99")
    assert content(read_table(path, missing_marks=marks)) == {
        "age": [30, None, 41],
        "city": [None, "here", "gone"],
    }
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [30, -99, 41], "city": ["refused", "here", "gone"]})
    table, _ = as_table(frame, missing_marks=marks)
    assert content(table) == {"age": [30, None, 41], "city": [None, "here", "gone"]}
    with open_rows(path, "duckdb", missing_marks=marks) as (rows, _):
        counts = rows.engine.numbers(f"SELECT count(age), count(city) FROM {rows.engine.relation}")
        assert [int(count[0]) for count in counts] == [2, 2]


def test_the_public_marks_are_missing_among_numbers() -> None:
    cells = words("1", "n/a", "unknown", "NULL", "none", ".", "-", "#N/A", None)
    coded = encode(
        Table({"x": cells}), schema_of(x={"kind": "integer", "min": 0, "max": 1, "missing": True})
    )
    assert coded.codes["x"].tolist() == [1] + [2] * 8
    assert coded.outside == ()


# --------------------------------------------------------------------------- several tables


def test_a_database_of_several_tables_asks_which(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    database(path)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (x)")
        connection.execute("INSERT INTO other VALUES (1)")
    connection.close()
    with pytest.raises(InputError, match=r"'other', 'visits'.*--table-name"):
        read_table(path)
    with pytest.raises(InputError, match="no table 'vists'"):
        read_table(path, table_name="vists")
    assert read_table(path, table_name="visits").rows == 3
    done = run(
        *("schema", path, "--table-name", "visits", "--blank", "-o", tmp_path / "schema.json")
    )
    assert done.status == 0, done


def test_a_key_that_only_a_later_line_has_is_no_column(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": [1, 2]}\n{"a": 2, "c": 3}\nnonsense\n[4]\n{"b": null}\n')
    assert content(read_table(path)) == {
        "a": [1, 2, None, None, None],
        "b": ["[1, 2]", None, None, None, None],
    }


def test_a_sheet_without_names_is_refused_like_a_csv_file(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append([39, "anna"])
    book.active.append([40, "bert"])
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match="--no-header"):
        read_table(tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx", header=False).names == ("column_1", "column_2")


def test_a_schema_file_keeps_formats_and_times(tmp_path: Path) -> None:
    schema = schema_of(
        price={"kind": "real", "min": 0, "max": 10, "format": "1.234,50 €"},
        at={"kind": "time", "min": "08:00", "max": "17:59", "bins": 10, "format": "%I:%M %p"},
    )
    schema.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.json") == schema
