"""Bad input: one clear sentence, exit status 2, no traceback, nothing written, nothing debited."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from running import Ran, run, run_really
from understudy import Independent, LedgerFile

HEADER = b"age,sex,weight,admitted\n"
ROWS = b"".join(
    f"{20 + i % 60},{'fm'[i % 2]},{50 + i % 40}.5,20{10 + i % 10}-03-0{1 + i % 9}\n".encode()
    for i in range(60)
)
SCHEMA: dict[str, Any] = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 99},
        "sex": {"kind": "categorical", "values": ["f", "m"]},
        "weight": {"kind": "real", "min": 0, "max": 150},
        "admitted": {"kind": "date", "min": "2000-01-01", "max": "2029-12-31"},
    }
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table, its schema and its ledger, all in order."""
    (tmp_path / "patients.csv").write_bytes(HEADER + ROWS)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    LedgerFile.create(tmp_path / "books.ledger", epsilon=3.0, delta=1e-6)
    return tmp_path


@pytest.fixture(scope="module")
def good_model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("model")
    (place / "patients.csv").write_bytes(HEADER + ROWS)
    (place / "schema.json").write_text(json.dumps(SCHEMA))
    return Independent(epsilon=1.0).fit(place / "patients.csv", place / "schema.json").to_dict()


def everything(folder: Path) -> dict[str, bytes | None]:
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in folder.rglob("*")
    }


def refused(folder: Path, arguments: list[object], *said: str, really: bool = False) -> Ran:
    """Run the command: it must fail as promised and leave the folder byte for byte as it was,
    ledger included.
    """
    before = everything(folder)
    ran = run_really(*arguments) if really else run(*arguments)
    assert ran.status == 2, ran
    assert "Traceback" not in ran.err
    assert ran.out == ""
    assert everything(folder) == before
    if ran.err.startswith("Usage:"):  # the option parser's own complaint
        assert "Error" in ran.err
    else:
        assert ran.err.startswith("understudy: ")
        assert ran.err.endswith("\n")
        assert ran.err.count("\n") == 1, ran.err
        assert ran.err.removesuffix("\n").isprintable()
        assert "  " not in ran.err
        assert ran.err.rstrip().endswith((".", "?")), ran.err
    for words in said:
        assert words in " ".join(ran.err.replace("│", " ").split()), ran.err
    return ran


def synthesis(
    folder: Path, *, table: str = "patients.csv", schema: str | None = "schema.json"
) -> list[object]:
    """A run that asks for everything there is to write."""
    return [
        *("synthesize", folder / table, "-o", folder / "out.csv"),
        *(
            "--model",
            folder / "model.json",
            "--report",
            folder / "report.html",
            "--ledger",
            folder / "books.ledger",
        ),
        *(() if schema is None else ("--schema", folder / schema)),
    ]


def test_the_runs_below_fail_for_their_own_reason(folder: Path) -> None:
    ran = run(*synthesis(folder))
    assert (ran.status, ran.out) == (0, "")
    for name in ("out.csv", "model.json", "report.html"):
        assert (folder / name).stat().st_size > 0
    assert LedgerFile(folder / "books.ledger").left()[0] == 2.0


# --------------------------------------------------------------------------- tables

TABLES: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "empty": ("t.csv", b"", ("t.csv", "is empty")),
    "blank lines": ("t.csv", b"\n\n\n", ("t.csv", "no header")),
    "two columns of one name": (
        "t.csv",
        b"age,sex,age,weight\n1,f,2,3\n",
        ("two columns named 'age'",),
    ),
    "two columns that differ in case": (
        "t.csv",
        b"age,sex,AGE,weight\n1,f,2,3\n",
        ("'AGE'", "like 'age'"),
    ),
    "a column without a name": (
        "t.csv",
        b"age,,weight,admitted\n1,f,2,2020-01-01\n",
        ("column 2",),
    ),
    "a column too few": ("t.csv", b"age,sex,weight\n1,f,2.5\n", ("no column 'admitted'", "schema")),
    "a column too many": (
        "t.csv",
        b"age,sex,weight,admitted,ward\n1,f,2,2020-01-01,a\n",
        ("column 'ward'", "schema"),
    ),
    "a short row": (
        "t.csv",
        HEADER + ROWS + b"30,f,60\n",
        ("t.csv", "line 62", "3 values", "4 columns"),
    ),
    "a long row": (
        "t.csv",
        HEADER + b"30,f,60,2020-01-01,x\n" + ROWS,
        ("t.csv", "line 2", "5 values", "4 columns"),
    ),
    "an unclosed quote": ("t.csv", HEADER + b'30,"f,60,2020-01-01\n' + ROWS, ("t.csv", "quote")),
    "an unclosed quote in the header": ("t.csv", b'"age,sex,weight,admitted\n' + ROWS, ("t.csv",)),
    "binary junk": ("t.csv", bytes(range(256)) * 20, ("t.csv", "text")),
    "an unknown suffix": ("t.doc", HEADER + ROWS, ("t.doc", ".csv", ".parquet", ".xlsx")),
    "not a workbook": ("t.xlsx", HEADER + ROWS, ("t.xlsx", "workbook")),
    "not a database": ("t.sqlite", HEADER + ROWS, ("t.sqlite", "SQLite")),
    "not a Stata file": ("t.dta", HEADER + ROWS, ("t.dta", "Stata")),
    "not a Feather file": ("t.feather", HEADER + ROWS, ("t.feather", "Feather")),
    "not JSON lines": ("t.jsonl", HEADER + ROWS, ("t.jsonl", "JSON object")),
    "no suffix": ("t", HEADER + ROWS, (".csv",)),
    "not gzipped": ("t.csv.gz", HEADER + ROWS, ("t.csv.gz", "gzip")),
    "gzip cut short": ("t.csv.gz", gzip.compress(HEADER + ROWS)[:-40], ("t.csv.gz",)),
    "gzip damaged": ("t.csv.gz", gzip.compress(HEADER + ROWS)[:60] + b"junk" * 30, ("t.csv.gz",)),
    "an empty gzip": ("t.csv.gz", gzip.compress(b""), ("t.csv.gz",)),
    "not Parquet": ("t.parquet", HEADER + ROWS, ("t.parquet", "Parquet")),
    "Parquet cut short": ("t.parquet", b"PAR1" + bytes(200), ("t.parquet", "Parquet")),
    "Parquet with a false footer": (
        "t.parquet",
        b"PAR1" + bytes(200) + b"\xff\xff\x00\x00PAR1",
        ("t.parquet",),
    ),
}


@pytest.mark.parametrize("case", TABLES)
def test_table(folder: Path, case: str) -> None:
    name, content, said = TABLES[case]
    (folder / name).write_bytes(content)
    refused(folder, synthesis(folder, table=name), *said)


UNREADABLE = {
    "text in an integer column": (b"old,f,60,2020-01-01\n", "age: 1 value"),
    "text in a real column": (b"30,f,heavy,2020-01-01\n", "weight: 1 value"),
    "not a date": (b"30,f,60,2020-02-31\n", "admitted: 1 value"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_cell_that_cannot_be_read_is_noted_and_ends_no_run(folder: Path, case: str) -> None:
    row, said = UNREADABLE[case]
    (folder / "t.csv").write_bytes(HEADER + ROWS + row)
    ran = run(*synthesis(folder, table="t.csv"))
    assert ran.status == 0, ran
    assert said in ran.err
    assert "cannot be read as" in ran.err


UNDISCOVERABLE: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "identifiers only": (b"id,patient_id\n1,2\n3,4\n", ("identifiers",)),
}


@pytest.mark.parametrize("command", ["synthesize", "schema"])
@pytest.mark.parametrize("case", UNDISCOVERABLE)
def test_table_without_a_schema(folder: Path, case: str, command: str) -> None:
    content, said = UNDISCOVERABLE[case]
    (folder / "t.csv").write_bytes(content)
    arguments = synthesis(folder, table="t.csv", schema=None)
    if command == "schema":
        arguments = [
            "schema",
            folder / "t.csv",
            "-o",
            folder / "new.json",
            "--ledger",
            folder / "books.ledger",
        ]
    refused(folder, arguments, *said)


@pytest.mark.parametrize("command", ["synthesize", "schema", "sample", "show"])
def test_no_such_file(folder: Path, command: str) -> None:
    refused(folder, [command, folder / "nobody.csv"], "nobody.csv", "check the name")


@pytest.mark.parametrize("command", ["synthesize", "schema", "sample", "show"])
def test_a_folder_where_a_file_belongs(folder: Path, command: str) -> None:
    (folder / "rows.csv").mkdir()
    refused(folder, [command, folder / "rows.csv"], "rows.csv", "folder")


def test_a_name_too_long(folder: Path) -> None:
    refused(folder, ["synthesize", folder / ("x" * 300 + ".csv")], "too long")


# --------------------------------------------------------------------------- parameters

PARAMETERS: dict[str, tuple[list[object], tuple[str, ...]]] = {
    "epsilon 0": (["--epsilon", 0], ("epsilon", "above 0", "0.0")),
    "epsilon negative": (["--epsilon", "-1"], ("epsilon", "-1.0")),
    "epsilon nan": (["--epsilon", "nan"], ("epsilon", "nan")),
    "epsilon infinite": (["--epsilon", "inf"], ("epsilon", "inf")),
    "epsilon text": (["--epsilon", "little"], ("--epsilon",)),
    "delta 1": (["--delta", 1], ("delta", "below 1", "1.0")),
    "delta negative": (["--delta", "-0.1"], ("delta", "-0.1")),
    "delta nan": (["--delta", "nan"], ("delta", "nan")),
    "delta text": (["--delta", "none"], ("--delta",)),
    "rows negative": (["--rows", "-1"], ("rows", "-1")),
    "rows text": (["--rows", "many"], ("--rows",)),
    "rows broken": (["--rows", "1.5"], ("--rows",)),
    "rows beyond measure": (["--rows", 10**13], ("rows", "10000000000000")),
    "seed negative": (["--seed", "-1"], ("seed", "-1")),
    "seed text": (["--seed", "abc"], ("--seed",)),
    "method unknown": (["--method", "magic"], ("--method", "magic", "independent")),
    "neighbours unknown": (["--neighbours", "both"], ("--neighbours", "both", "add_remove")),
    "option unknown": (["--frobnicate"], ("--frobnicate",)),
    "one argument too many": (["again.csv"], ("again.csv",)),
    "random without a number of rows": (["--method", "random"], ("random", "--rows")),
    "more than the ledger has left": (
        ["--epsilon", "3.5"],
        ("epsilon 3.5", "books.ledger", "epsilon 3 "),
    ),
    "more delta than the ledger has left": (["--delta", "1e-5"], ("delta 1e-05", "books.ledger")),
    "another relation than the ledger's": (
        ["--neighbours", "replace"],
        ("add_remove", "replace", "books.ledger"),
    ),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameter(folder: Path, case: str) -> None:
    arguments, said = PARAMETERS[case]
    refused(folder, [*synthesis(folder), *arguments], *said)


def test_overdraft_without_a_schema_says_one_thing_only(folder: Path) -> None:
    refused(
        folder, [*synthesis(folder, schema=None), "--epsilon", 4], "epsilon 4", "nothing was asked"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan", "--rows", "0"], "above 0"),
        (["plan", "--rows", "100", "--epsilon", "0"], "epsilon"),
        (["plan", "--rows", "100", "--delta", "2"], "delta"),
        (["plan"], "--rows"),
    ],
)
def test_plan(folder: Path, arguments: list[object], said: str) -> None:
    refused(folder, [*arguments, "--schema", folder / "schema.json"], said)


@pytest.mark.parametrize("value", ["0", "nan"])
def test_demo_leaves_no_folder(folder: Path, value: str) -> None:
    refused(folder, ["demo", "-o", folder / "demo", "--epsilon", value], "epsilon")


def test_demo_into_a_file(folder: Path) -> None:
    refused(folder, ["demo", "-q", "-o", folder / "patients.csv"], "patients.csv", "folder")


def test_schema_needs_a_delta_for_categories(folder: Path) -> None:
    arguments = ["schema", folder / "patients.csv", "-o", folder / "new.json", "--delta", "0"]
    refused(folder, arguments, "words", "--delta")


# --------------------------------------------------------------------------- places to write to

OUTPUTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "no such folder": ("nowhere/out.csv", ("nowhere", "folder")),
    "a folder": ("place.csv", ("place.csv", "folder")),
    "below a file": ("patients.csv/out.csv", ("patients.csv", "folder")),
    "where nobody can write": ("/proc/self/out.csv", ("/proc/self/out.csv",)),
    "a name too long": ("x" * 260 + ".csv", ("too long",)),
    "an unknown suffix": ("out.xlsx", ("out.xlsx", ".parquet")),
    "the table itself": ("patients.csv", ("patients.csv", "two things")),
    "the table itself, by another way": (
        "place.csv/../patients.csv",
        ("patients.csv", "two things"),
    ),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_output(folder: Path, case: str) -> None:
    name, said = OUTPUTS[case]
    (folder / "place.csv").mkdir()
    refused(folder, [*synthesis(folder), "-o", folder / name], *said)


@pytest.mark.parametrize("option", ["--model", "--report"])
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("nowhere/x", "nowhere"),
        ("/proc/self/x", "/proc/self/x"),
        (".", "folder"),
        ("out.csv", "two things"),
        ("books.ledger", "two things"),
        ("schema.json", "two things"),
    ],
)
def test_other_outputs(folder: Path, option: str, place: str, said: str) -> None:
    refused(folder, [*synthesis(folder), option, folder / place], said)


def test_output_of_sample_and_schema(folder: Path, good_model: dict[str, Any]) -> None:
    (folder / "m.json").write_text(json.dumps(good_model))
    refused(folder, ["sample", folder / "m.json", "-o", folder / "nowhere" / "x.csv"], "nowhere")
    refused(folder, ["sample", folder / "m.json", "-o", "/proc/self/x.csv"], "/proc/self/x.csv")
    refused(folder, ["sample", folder / "m.json", "-o", folder / "x.txt"], "x.txt")
    refused(folder, ["sample", folder / "m.json", "--rows", "-1", "-o", folder / "x.csv"], "-1")
    refused(folder, ["sample", folder / "m.json", "--seed", "-1", "-o", folder / "x.csv"], "-1")
    refused(
        folder, ["schema", folder / "patients.csv", "-o", "/proc/self/x.json"], "/proc/self/x.json"
    )
    refused(
        folder, ["schema", folder / "patients.csv", "-o", folder / "patients.csv"], "two things"
    )


# --------------------------------------------------------------------------- schemas


def schema_with(name: str, **changes: Any) -> str:
    document = copy.deepcopy(SCHEMA)
    entry = document["attributes"].setdefault(name, {})
    entry.update(changes)
    return json.dumps(
        {
            "attributes": {
                **document["attributes"],
                name: {k: v for k, v in entry.items() if v != "gone"},
            }
        }
    )


SCHEMAS: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "empty": ("", ("schema", "JSON", "line 1")),
    "not JSON": ("{'attributes': 1}", ("schema", "JSON", "line 1, column 2")),
    "not UTF-8": (b'{"attributes": {"\xe9": 1}}', ("UTF-8",)),
    "a list": ("[]", ("attributes",)),
    "a number": ("17", ("attributes",)),
    "no attributes": ('{"attributes": {}}', ("at least one column",)),
    "an unknown entry": ('{"attributes": {"a": {"kind": "text"}}, "colour": 1}', ("colour",)),
    "attributes as a list": ('{"attributes": ["age"]}', ("attributes",)),
    "a column as text": ('{"attributes": {"age": "integer"}}', ("column 'age'",)),
    "an unknown kind": (schema_with("age", kind="number"), ("column 'age'", "number", "integer")),
    "a kind that is no text": (schema_with("age", kind=["integer"]), ("column 'age'",)),
    "an unknown option": (
        schema_with("age", maxx=3),
        ("column 'age'", "maxx", "did you mean 'max'"),
    ),
    "no bounds": (schema_with("age", max="gone"), ("column 'age'", '"max"')),
    "bounds the wrong way round": (schema_with("age", min=100), ("column 'age'", "below")),
    "more bins than values": (schema_with("age", bins=1000), ("column 'age'", "1000 bins")),
    "no bins": (schema_with("age", bins=0), ("column 'age'", "bins")),
    "bins without measure": (schema_with("weight", bins=10**9), ("column 'weight'", "bins")),
    "NaN": ('{"attributes": {"age": {"kind": "real", "min": NaN, "max": 1}}}', ("NaN",)),
    "a number too large": (
        '{"attributes": {"age": {"kind": "real", "min": 0, "max": 1e999}}}',
        ("1e999",),
    ),
    "a number too long": (schema_with("age", max=10**400), ("401 digits",)),
    "bounds beyond what is exact": (schema_with("age", max=10**17), ("column 'age'", "2^53")),
    "a key twice": (
        '{"attributes": {"age": {"kind": "text"}, "age": {"kind": "text"}}}',
        ("'age'", "twice"),
    ),
    "a value twice": (schema_with("sex", values=["f", "m", "f"]), ("column 'sex'", "'f'", "twice")),
    "no values": (schema_with("sex", values=[]), ("column 'sex'", "values")),
    "values of mixed kinds": (schema_with("sex", values=["f", 1]), ("column 'sex'",)),
    "a taxonomy with a gap": (
        schema_with("sex", taxonomy=[["f"], "x"]),
        ("column 'sex'", "taxonomy", "'m'"),
    ),
    "a taxonomy that is no tree": (
        schema_with("sex", taxonomy={"f": 1}),
        ("column 'sex'", "taxonomy"),
    ),
    "not a date": (schema_with("admitted", min="yesterday"), ("column 'admitted'", "yesterday")),
    "a format that nothing is written by": (
        schema_with("admitted", format="%Q"),
        ("column 'admitted'", "'%Q'"),
    ),
    "a missing mark that is a value": (schema_with("sex", missing="f"), ("column 'sex'", "'f'")),
    "half a character": ('{"attributes": {"\\ud800": {"kind": "boolean"}}}', ("half a character",)),
    "nested without end": ("[" * 100_000, ("nested",)),
    "terminal escape codes": ('{"attributes": {"\\u001b[31m": {"kind": "x"}}}', ("kind 'x'",)),
    "the column of another table": (
        '{"attributes": {"height": {"kind": "boolean"}}}',
        ("'height'", "patients.csv"),
    ),
    "nothing to model": (
        json.dumps({"attributes": {name: {"kind": "text"} for name in SCHEMA["attributes"]}}),
        ("no column to model",),
    ),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_schema(folder: Path, case: str) -> None:
    content, said = SCHEMAS[case]
    (folder / "bad.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(folder, synthesis(folder, schema="bad.json"), *said)


def test_no_schema_there(folder: Path) -> None:
    refused(folder, synthesis(folder, schema="nobody.json"), "no schema", "nobody.json")
    refused(folder, ["plan", "--schema", folder / "nobody.json", "--rows", 10], "nobody.json")


# --------------------------------------------------------------------------- models

Change = Callable[[dict[str, Any]], Any]


def put(*path: Any) -> Change:
    """Put the last item where the others lead."""
    *way, last, value = path

    def change(model: dict[str, Any]) -> None:
        place: Any = model
        for step in way:
            place = place[step]
        place[last] = value

    return change


def drop(*path: Any) -> Change:
    *way, last = path

    def change(model: dict[str, Any]) -> None:
        place: Any = model
        for step in way:
            place = place[step]
        del place[last]

    return change


def cycle(model: dict[str, Any]) -> None:
    first, second = model["network"][:2]
    first["parents"], second["parents"] = [[second["attribute"], 0]], [[first["attribute"], 0]]


def huge_table(model: dict[str, Any]) -> None:
    for name in ("age", "weight"):
        model["schema"]["attributes"][name] = {"kind": "real", "min": 0, "max": 1, "bins": 65536}
    nodes = {node["attribute"]: node for node in model["network"]}
    nodes["age"]["counts"] = [1] * 65536
    nodes["weight"]["parents"] = [["age", 0]]


MODELS: dict[str, tuple[Change, tuple[str, ...]]] = {
    "a newer version": (put("understudy_model", 99), ("newer", "99", "update")),
    "a strange version": (put("understudy_model", "one"), ("'one'",)),
    "not a model": (drop("understudy_model"), ("not a model",)),
    "no schema": (drop("schema"), ("schema",)),
    "no ledger": (drop("ledger"), ("ledger",)),
    "no network": (drop("network"), ("network",)),
    "no method": (drop("method"), ("method",)),
    "a method that is no text": (put("method", "name", 7), ("method",)),
    "rows below 0": (put("rows", -5), ("-5",)),
    "rows as text": (put("rows", "many"), ("many",)),
    "an attribute missing": (drop("network", 1), ("lacks the attribute 'sex'",)),
    "an attribute twice": (lambda m: m["network"].append(m["network"][0]), ("'age' twice",)),
    "an unknown attribute": (put("network", 0, "attribute", "ghost"), ("'ghost'",)),
    "a table too short": (put("network", 1, "counts", [1.0]), ("'sex'", "2 counts")),
    "a table too long": (put("network", 1, "counts", [1.0] * 3), ("'sex'", "2 counts")),
    "a negative count": (put("network", 1, "counts", [1.0, -1.0]), ("'sex'", "count")),
    "a count that is text": (put("network", 1, "counts", ["1", "2"]), ("'sex'", "number")),
    "counts without measure": (put("network", 1, "counts", [1e300, 1e300]), ("'sex'", "count")),
    "a cycle": (cycle, ("'age'", "parents")),
    "its own parent": (put("network", 1, "parents", [["sex", 0]]), ("'sex'", "come before")),
    "a parent at no level": (put("network", 1, "parents", [["age", 99]]), ("'age'", "level 99")),
    "a huge table": (huge_table, ("4294967296 counts",)),
    "a huge domain": (put("schema", "attributes", "age", "bins", 2**40), ("column 'age'", "bins")),
    "negative noise": (put("network", 0, "deviation", -1), ("deviation",)),
    "a ledger that adds up to more": (put("ledger", "entries", 0, "amount", 5.0), ("ledger",)),
    "a ledger of nothing": (put("ledger", "guarantee", "epsilon", -1), ("ledger",)),
    "a ledger with text for numbers": (put("ledger", "entries", 0, "amount", "much"), ("ledger",)),
    "an unknown relation": (put("ledger", "neighbours", "friends"), ("friends",)),
    "private by hearsay": (put("ledger", "private", "yes"), ("ledger", "yes")),
    "nested without end": (put("method", "deep", "PLACEHOLDER"), ("nested",)),
}


@pytest.mark.parametrize("case", MODELS)
def test_model(folder: Path, good_model: dict[str, Any], case: str) -> None:
    change, said = MODELS[case]
    model = copy.deepcopy(good_model)
    change(model)
    text = json.dumps(model).replace('"PLACEHOLDER"', "[" * 100_000 + "]" * 100_000)
    (folder / "m.json").write_text(text)
    refused(folder, ["show", folder / "m.json"], "m.json", *said)
    refused(folder, ["sample", folder / "m.json", "-o", folder / "out.csv"], "m.json", *said)


@pytest.mark.parametrize("keep", [0, 1, 0.5, 0.999])
@pytest.mark.parametrize("packed", [False, True])
def test_model_cut_short(
    folder: Path, good_model: dict[str, Any], keep: float, packed: bool
) -> None:
    data = json.dumps(good_model).encode()
    data = gzip.compress(data) if packed else data
    (folder / "m.json").write_bytes(data[: int(len(data) * keep)] if keep != 1 else data[:1])
    refused(folder, ["show", folder / "m.json"], "m.json")


def test_model_that_unpacks_without_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.data.files.MAX_DOCUMENT_BYTES", 1 << 20)
    (folder / "m.json").write_bytes(gzip.compress(b" " * (10 << 20)))
    refused(folder, ["show", folder / "m.json"], "larger")


@pytest.mark.parametrize("name", ["patients.csv", "books.ledger", "schema.json"])
def test_another_file_as_a_model(folder: Path, name: str) -> None:
    refused(folder, ["show", folder / name], name)


def test_names_with_escape_codes_do_no_harm(folder: Path, good_model: dict[str, Any]) -> None:
    model = copy.deepcopy(good_model)
    model["method"]["name"] = "\x1b[2J\x1b]0;owned\x07[bold]x[/]"
    model["ledger"]["entries"][0]["question"] = "\x1b[31mred[/nothing]"
    (folder / "m.json").write_text(json.dumps(model))
    ran = run("show", folder / "m.json")
    assert ran.status == 0
    assert not set(ran.out + ran.err) & {"\x1b", "\x07"}
    assert "[bold]x[/]" in ran.out


def test_any_junk_in_a_model_is_met_with_a_sentence(
    folder: Path, good_model: dict[str, Any]
) -> None:
    """Whatever stands wherever: it is shown, or refused in one sentence."""
    rng = random.Random(20170)
    junk = [
        None,
        True,
        False,
        -1,
        0,
        1,
        2**62,
        -0.5,
        1e300,
        "",
        "x",
        "age",
        "\x00",
        [],
        {},
        [[]],
        {"kind": "text"},
    ]
    places = [way for way, _ in _ways(good_model, ())]
    path = folder / "m.json"
    for _ in range(60):
        model = copy.deepcopy(good_model)
        *way, last = rng.choice(places)
        place: Any = model
        for step in way:
            place = place[step]
        if rng.random() < 0.2:
            del place[last]
        else:
            place[last] = copy.deepcopy(rng.choice(junk))
        path.write_text(json.dumps(model))
        for arguments in (["show", path], ["sample", path, "--rows", 3]):
            ran = run(*arguments)
            said = ran.err.startswith("understudy: ") and ran.err.count("\n") == 1
            assert ran.status == 0 or (ran.status == 2 and said and ran.out == ""), ran


def _ways(value: Any, way: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], Any]]:
    items = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value))
        if isinstance(value, list)
        else []
    )
    found = [((*way, key), item) for key, item in items[:6]]
    return found + [deeper for key, item in items[:6] for deeper in _ways(item, (*way, key))]


# --------------------------------------------------------------------------- ledgers

LEDGERS: dict[str, tuple[Callable[[bytes], bytes] | None, tuple[str, ...]]] = {
    "missing": (None, ("no ledger", "check the name")),
    "empty": (lambda data: b"", ("ledger", "JSON")),
    "cut short": (lambda data: data[:-20], ("ledger",)),
    "an allowance written in by hand": (
        lambda data: data.replace(b"3.0", b"9.0"),
        ("damaged", "check sum"),
    ),
    "another version": (
        lambda data: data.replace(b'ledger": 1', b'ledger": 2'),
        ("another version",),
    ),
    "a list": (lambda data: b"[]", ("damaged",)),
    "a table": (lambda data: HEADER + ROWS, ("ledger",)),
}


@pytest.mark.parametrize("case", LEDGERS)
def test_ledger(folder: Path, case: str) -> None:
    spoil, said = LEDGERS[case]
    arguments = synthesis(folder)
    if spoil is None:
        arguments += ["--ledger", folder / "nobody.ledger"]
    else:
        path = folder / "books.ledger"
        path.write_bytes(spoil(path.read_bytes()))
    refused(folder, arguments, *said)
    refused(
        folder,
        ["schema", folder / "patients.csv", "-o", folder / "s.json", *arguments[-2:]]
        if spoil is None
        else ["ledger", "show", folder / "books.ledger"],
        *said,
    )


def test_ledger_is_never_started_afresh(folder: Path) -> None:
    arguments = ["ledger", "create", folder / "books.ledger", "--epsilon", 100]
    refused(folder, arguments, "books.ledger", "already", "never started afresh")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--epsilon", "0"], "epsilon"),
        (["--epsilon", "inf"], "epsilon"),
        (["--epsilon", "1", "--delta", "1"], "delta"),
        ([], "--epsilon"),
    ],
)
def test_ledger_of_nothing(folder: Path, arguments: list[object], said: str) -> None:
    refused(folder, ["ledger", "create", folder / "new.ledger", *arguments], said)


def test_ledger_where_nobody_can_write(folder: Path) -> None:
    refused(
        folder,
        ["ledger", "create", "/proc/self/new.ledger", "--epsilon", 1],
        "/proc/self/new.ledger",
    )
    refused(
        folder, ["ledger", "create", folder / "nowhere" / "new.ledger", "--epsilon", 1], "nowhere"
    )


def test_schema_beyond_the_allowance(folder: Path) -> None:
    arguments = ["schema", folder / "patients.csv", "--epsilon", 5, "-o", folder / "s.json"]
    refused(folder, [*arguments, "--ledger", folder / "books.ledger"], "epsilon 5", "books.ledger")


# ----------------------------------------------- the installed command

REALLY: dict[str, list[object]] = {
    "missing": ["synthesize", "nobody.csv"],
    "ragged": ["synthesize", "ragged.csv", "--schema", "schema.json", "-o", "out.csv"],
    "epsilon": ["synthesize", "patients.csv", "--epsilon", "nan", "-o", "out.csv"],
    "unwritable": [
        "synthesize",
        "patients.csv",
        "-o",
        "/proc/self/out.csv",
        "--ledger",
        "books.ledger",
    ],
    "overdrawn": [
        "synthesize",
        "patients.csv",
        "--epsilon",
        "9",
        "-o",
        "out.csv",
        "--ledger",
        "books.ledger",
    ],
    "model": ["show", "patients.csv"],
    "option": ["synthesize", "patients.csv", "--epsilon", "much"],
}


@pytest.mark.thorough  # what they say is tested in this process
@pytest.mark.parametrize("case", REALLY)
def test_the_installed_command(folder: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.chdir(folder)
    (folder / "ragged.csv").write_bytes(HEADER + b"1,2\n")
    refused(folder, REALLY[case], really=True)
