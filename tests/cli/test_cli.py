"""What a person can do in the shell."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import subprocess
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from running import COMMAND, Ran, run, run_really
from understudy import Independent, LedgerFile, Model, Schema, __version__, read_table
from understudy.privacy.mechanisms import SeededNoise
from understudy.reports.release import report

NAMES = ["id", "age", "sex", "smoker", "weight", "admitted", "seen", "ward"]
KINDS = ["text", "integer", "text", "text", "real", "date", "datetime", "text"]
SCHEMA: dict[str, Any] = {
    "attributes": {
        "id": {"kind": "identifier", "pattern": "P-####"},
        "age": {"kind": "integer", "min": 0, "max": 95},
        "sex": {"kind": "categorical", "values": ["f", "m"]},
        "smoker": {"kind": "boolean"},
        "weight": {"kind": "real", "min": 40, "max": 120, "decimals": 1},
        "admitted": {"kind": "date", "min": "2010-01-01", "max": "2019-12-31"},
        "seen": {"kind": "datetime", "min": "2020-01-01", "max": "2020-12-31"},
        "ward": {"kind": "categorical", "values": ["eye", "heart, lung"], "missing": True},
    }
}
ROWS = 600


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: patients.csv and its schema.json."""
    with (tmp_path / "patients.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(NAMES)
        for i in range(ROWS):
            day = f"20{10 + i % 10}-0{1 + i % 9}-15"
            moment = f"2020-0{1 + i % 9}-15 12:{i % 60:02d}:00"
            ward = ("eye", "heart, lung", "")[i % 3]
            rows.writerow(
                [
                    f"P-{i:04d}",
                    i % 90,
                    "fm"[i % 2],
                    str(i % 5 == 0).lower(),
                    50.5 + i % 40,
                    day,
                    moment,
                    ward,
                ]
            )
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fine(*arguments: object, columns: int = 100) -> Ran:
    ran = run(*arguments, columns=columns)
    assert ran.status == 0, ran
    return ran


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


# --------------------------------------------------------------------------- synthesize


def test_csv_to_csv(folder: Path) -> None:
    ran = fine(
        "synthesize", "patients.csv", "--schema", "schema.json", "--rows", 300, "-o", "out.csv"
    )
    assert ran.out == ""
    assert "epsilon = 1:" in ran.err
    assert "Synthetic table: out.csv" in ran.err
    made = read_table("out.csv")
    assert list(made.names) == NAMES
    assert [column.kind for column in made.columns.values()] == KINDS
    rows = rows_of((folder / "out.csv").read_text())[1:]
    assert len(rows) == 300
    assert {row[0] for row in rows} == {f"P-{i:04d}" for i in range(1, 301)}
    assert {row[7] for row in rows} == {"eye", "heart, lung", ""}
    assert all(re.fullmatch(r"\d+\.\d", row[4]) for row in rows)


def test_csv_to_parquet(folder: Path) -> None:
    fine("synthesize", "patients.csv", "--schema", "schema.json", "--rows", 50, "-o", "out.parquet")
    described = duckdb.sql("DESCRIBE SELECT * FROM 'out.parquet'").fetchall()
    assert [row[0] for row in described] == NAMES
    kinds = ["VARCHAR", "BIGINT", "VARCHAR", "BOOLEAN", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]
    assert [row[1] for row in described] == kinds


def test_parquet_to_packed_csv(folder: Path) -> None:
    duckdb.sql("COPY (FROM read_csv('patients.csv')) TO 'patients.parquet'")
    fine(
        "synthesize",
        "patients.parquet",
        "--schema",
        "schema.json",
        "--rows",
        50,
        "-o",
        "out.csv.gz",
    )
    rows = rows_of(gzip.decompress((folder / "out.csv.gz").read_bytes()).decode())
    assert rows[0] == NAMES
    assert len(rows) == 51


def test_without_a_schema(folder: Path) -> None:
    ran = fine("synthesize", "patients.csv", "--epsilon", 50, "-o", "out.csv", "--model", "m.json")
    assert "takes a delta: 1e-09 is used" in ran.err
    assert "delta = 1e-09" in ran.err
    assert "Taken as public" in ran.err
    made = read_table("out.csv")
    assert list(made.names) == NAMES
    assert [column.kind for column in made.columns.values()] == ["integer", *KINDS[1:]]
    assert Model.load("m.json").ledger.promise() == (50.0, 1e-9)


def test_too_few_rows_stop_the_release(folder: Path) -> None:
    """With the exit status of any refusal, and the count of rows on the books."""
    fine("ledger", "create", "books", "--epsilon", 2, "--delta", 1e-6)
    options = ["--epsilon", 0.1, "-o", "out.csv", "--ledger", "books"]
    ran = run("synthesize", "patients.csv", *options)
    assert ran.status == 2
    assert "too few rows" in ran.err
    assert "--keep-going" in ran.err
    assert not Path("out.csv").exists()
    assert 1.95 < LedgerFile("books").left()[0] < 2
    fine("synthesize", "patients.csv", *options, "--keep-going")
    assert Path("out.csv").exists()


def test_a_stopped_draft_names_options_that_it_has(folder: Path) -> None:
    ran = run("schema", "patients.csv", "--epsilon", 0.01)
    assert ran.status == 2
    assert "(--interactive, --from a codebook, or --blank for a form)" in ran.err
    assert "--schema" not in ran.err
    assert "--discovery" not in ran.err


def test_a_column_that_is_called_free_text_is_no_surprise(folder: Path) -> None:
    """Nor is it one that nothing was found in."""
    fine("schema", "patients.csv", "--blank", "-o", "form.json")
    form = json.loads(Path("form.json").read_text())
    form["attributes"][NAMES[0]]["kind"] = "text"
    Path("form.json").write_text(json.dumps(form))
    options = ["--epsilon", 100, "--keep-going", "-o", "out.csv"]
    ran = fine("synthesize", "patients.csv", "--schema", "form.json", *options)
    assert f"{NAMES[0]}: [text]" not in ran.err


def test_standard_output_holds_rows_only(folder: Path) -> None:
    ran = fine("synthesize", "patients.csv", "--schema", "schema.json", "--rows", 7, "-o", "-")
    rows = rows_of(ran.out)
    assert rows[0] == NAMES
    assert len(rows) == 8
    assert "Differentially private" in ran.err


def test_quiet(folder: Path) -> None:
    everything = ["--model", "m.json", "--report", "r.html", "-o", "out.csv", "--quiet"]
    ran = fine("synthesize", "patients.csv", "--keep-going", *everything)
    assert (ran.out, ran.err) == ("", "")
    assert all(Path(name).stat().st_size for name in ("m.json", "r.html", "out.csv"))
    assert fine("sample", "m.json", "--rows", 3, "-o", "more.csv", "-q").err == ""
    assert fine("schema", "patients.csv", "--keep-going", "-o", "s.json", "-q").err == ""


def test_model_report_and_ledger(folder: Path) -> None:
    fine("ledger", "create", "books", "--epsilon", 2, "--delta", 1e-6)
    options = ["--schema", "schema.json", "--epsilon", 0.5, "--ledger", "books"]
    for turn in range(2):
        files = [f"m{turn}.json", f"r{turn}.html", f"o{turn}.csv"]
        ran = fine(
            "synthesize",
            "patients.csv",
            *options,
            "--model",
            files[0],
            "--report",
            files[1],
            "-o",
            files[2],
        )
        assert f"Model: {files[0]}" in ran.err
        assert f"Report: {files[1]}" in ran.err
    assert LedgerFile("books").left() == (1.0, 1e-6)
    model = Model.load("m0.json")
    assert model.ledger.spent()[0] == pytest.approx(0.5)
    # There are too few rows to cut bins; about weekdays noise is taken for a finding at times.
    given = Schema.from_dict(SCHEMA)
    assert model.schema.names == given.names
    for attribute in given:
        found = model.schema[attribute.name]
        assert (type(found), found.kind) == (type(attribute), attribute.kind)
        assert getattr(found, "edges", ()) == getattr(attribute, "edges", ())
    page = Path("r0.html").read_text()
    assert "<script" not in page
    assert "heart, lung" in page
    shown = fine("ledger", "show", "books").out
    assert shown.count("settled") == 2
    assert "adaptive" in shown


def test_gaussian_noise_and_replace(folder: Path) -> None:
    options = [
        "--schema",
        "schema.json",
        "--delta",
        "1e-6",
        "--neighbours",
        "replace",
        "--model",
        "m.json",
    ]
    ran = fine("synthesize", "patients.csv", *options, "-o", "out.csv")
    assert "delta = 1e-06: changing any one row" in ran.err
    assert len(rows_of(Path("out.csv").read_text())) == ROWS + 1
    assert "gdp" in fine("show", "m.json").out


def test_a_long_ledger_is_summed_up_unless_each_question_is_wanted(folder: Path) -> None:
    """A question per column: how many the default asks depends on noise."""
    names = [f"c{place}" for place in range(45)]
    (folder / "wide.csv").write_text(
        "".join(",".join(line) + "\n" for line in (names, *[["yes"] * 45, ["no"] * 45] * 30))
    )
    schema = {"attributes": {name: {"kind": "boolean"} for name in names}}
    (folder / "wide.json").write_text(json.dumps(schema))
    method = ("--schema", "wide.json", "--method", "independent")
    fine("synthesize", "wide.csv", *method, "--model", "m.json", "-o", "o.csv")
    each, sums = fine("show", "m.json", "--ledger").out, fine("show", "m.json").out
    assert "questions, summed up; --ledger lists each." in sums
    assert "table of 1 column:" in sums
    assert len(sums.splitlines()) < len(each.splitlines())
    totals = [
        line.split() for out in (each, sums) for line in out.splitlines() if "together" in line
    ]
    assert totals[0] == totals[1]


def test_random(folder: Path) -> None:
    fine("ledger", "create", "books", "--epsilon", 2)
    options = ["--schema", "schema.json", "--method", "random", "--rows", 20, "--ledger", "books"]
    ran = fine("synthesize", "patients.csv", *options, "-o", "out.csv")
    assert "No private row was read" in ran.err
    assert LedgerFile("books").left() == (2.0, 0.0)


def test_values_outside_the_domain_are_told_to_the_owner_only(folder: Path) -> None:
    narrow = json.loads(json.dumps(SCHEMA))
    narrow["attributes"]["age"]["max"] = 49
    Path("narrow.json").write_text(json.dumps(narrow))
    files = ["--schema", "narrow.json", "--model", "m.json", "--report", "r.html", "-o", "out.csv"]
    ran = fine("synthesize", "patients.csv", *files)
    assert re.search(r"for you, not for release\): age: \d+ values outside the domain", ran.err)
    for name in ("m.json", "r.html"):
        assert "outside" not in Path(name).read_text()


# --------------------------------------------------------------------------- sample


def test_a_seed_repeats_the_sampling_and_never_the_noise(folder: Path) -> None:
    models = []
    for name in ("a.json", "b.json"):
        fine(
            "synthesize",
            "patients.csv",
            "--schema",
            "schema.json",
            "--seed",
            1,
            "--model",
            name,
            "-o",
            "out.csv",
        )
        models.append(json.loads(Path(name).read_text())["network"])
    assert models[0] != models[1]
    first, again, other = (
        fine("sample", "a.json", "--rows", 40, "--seed", seed).out for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other
    assert fine("sample", "a.json", "--rows", 40).out != fine("sample", "a.json", "--rows", 40).out
    fine("sample", "a.json", "--rows", 40, "--seed", 5, "-o", "rows.csv")
    assert Path("rows.csv").read_text() == first


def test_sample_as_many_rows_as_the_model_knows_of(folder: Path) -> None:
    options = [
        "--schema",
        "schema.json",
        "--neighbours",
        "replace",
        "--model",
        "m.json",
        "-o",
        "out.csv",
    ]
    fine("synthesize", "patients.csv", *options)
    assert len(rows_of(fine("sample", "m.json").out)) == ROWS + 1
    assert rows_of(fine("sample", "m.json", "--rows", 0).out) == [NAMES]


# --------------------------------------------------------------------------- schema


def test_schema_discovered(folder: Path) -> None:
    ran = fine("schema", "patients.csv", "--epsilon", 20, "-o", "s.json")
    assert "epsilon = 20, delta = 1e-09" in ran.err
    assert "Taken as public" in ran.err
    drafted = Schema.load("s.json")
    assert list(drafted.names) == NAMES
    # Noise is real here, and neighbouring kinds are taken for each other now and then.
    kinds = [
        {"identifier"},
        {"integer", "real"},
        {"categorical"},
        {"boolean", "categorical"},
        {"real"},
        {"date", "datetime"},
        {"datetime"},
        {"categorical"},
    ]
    for attribute, kind in zip(drafted, kinds, strict=True):
        assert attribute.kind in kind
    assert '"f"' in Path("s.json").read_text()
    fine("synthesize", "patients.csv", "--schema", "s.json", "-o", "out.csv")


def test_schema_is_paid_for(folder: Path) -> None:
    fine("ledger", "create", "books", "--epsilon", 2, "--delta", 1e-8)
    ran = fine("schema", "patients.csv", "--epsilon", 0.5, "--ledger", "books", "--keep-going")
    assert list(json.loads(ran.out)["attributes"]) == NAMES
    left = LedgerFile("books").left()
    assert left[0] == pytest.approx(1.5)
    assert left[1] == pytest.approx(9e-9)


def test_schema_blank(folder: Path) -> None:
    ran = fine("schema", "patients.csv", "--blank")
    document = json.loads(ran.out)["attributes"]
    assert document["age"] == document["sex"] == {"kind": None}
    assert "Nothing was spent" in ran.err


# -------------------------------------------- show, plan, ledger, demo


def test_show(folder: Path) -> None:
    fine(
        "synthesize",
        "patients.csv",
        "--schema",
        "schema.json",
        "--model",
        "m.json",
        "-o",
        "out.csv",
        "-q",
    )
    for columns in (30, 46, 80, 200):
        ran = fine("show", "m.json", columns=columns)
        assert max(map(len, ran.out.splitlines())) <= columns
        assert "epsilon = 1" in " ".join(ran.out.split())
        if columns < 80:
            continue
        for words in (
            "admitted",
            "2010-01-01 to 2019-12-31",
            "eye, heart, lung, missing",
            "generated",
            "table of ",
        ):
            assert words in ran.out


def test_plan(folder: Path) -> None:
    ran = fine("plan", "--schema", "schema.json", "--rows", 50_000, "--epsilon", 1)
    assert "nothing was spent" in ran.out
    assert "about 50,000 rows" in ran.out
    shown = [line for line in ran.out.splitlines() if "weight" in line]
    assert len(shown) == 1
    assert "16" in shown[0]
    gaussian = fine("plan", "--schema", "schema.json", "--rows", 50_000, "--delta", 1e-6).out
    assert "gdp" in gaussian


def test_ledger(folder: Path) -> None:
    ran = fine("ledger", "create", "books", "--epsilon", 3, "--neighbours", "replace")
    assert "--ledger books" in ran.err
    shown = fine("ledger", "show", "books").out
    assert "replace" in shown
    assert "allowance" in shown


@pytest.mark.thorough
def test_demo(folder: Path) -> None:
    ran = fine("demo", "-o", "shown")
    assert ran.out == ""
    assert "What to do next" in ran.err
    files = {"survey.csv", "schema.json", "synthetic.csv", "model.json", "report.html"}
    if find_spec("sklearn") is not None:  # the owner's report needs the extra
        files.add("owner-report.html")
    assert {path.name for path in Path("shown").iterdir()} == files
    for name in ("synthetic.csv", "model.json", "report.html"):
        assert f"shown/{name}" in ran.err
    survey, made = read_table("shown/survey.csv"), read_table("shown/synthetic.csv")
    assert survey.names == made.names
    assert [c.kind for c in survey.columns.values()] == [c.kind for c in made.columns.values()]
    assert abs(survey.rows - made.rows) < 1000


# --------------------------------------------------------------------------- the report


@pytest.mark.parametrize("seeded", [False, True])
def test_report_of_hostile_names(folder: Path, seeded: bool) -> None:
    evil = '"><script>alert(1)</script>&\x1b'
    values = [f"{evil} {i}" for i in range(40)]
    attributes = {
        evil: {"kind": "categorical", "values": values, "missing": True},
        "count": {"kind": "integer", "min": 0, "max": 99, "bins": 50, "missing": "NA"},
        "size": {"kind": "real", "edges": [0, 0.1, 1, 10]},
        "grade": {"kind": "categorical", "values": list(range(30)), "ordered": True},
        "same": {"kind": "categorical", "values": ["x"]},
        f"{evil} note": {"kind": "text", "replacement": evil},
    }
    frame = pd.DataFrame(
        {
            evil: [*values, None, None],
            "count": [*range(41), None],
            "size": [0.5] * 42,
            "grade": [1] * 42,
            "same": ["x"] * 42,
            f"{evil} note": ["secret"] * 42,
        }
    )
    noise = SeededNoise(1) if seeded else None
    page = report(
        Independent(epsilon=1.0).fit(
            frame, Schema.from_dict({"attributes": attributes}), noise=noise
        )
    )
    assert "<script" not in page
    assert "\x1b" not in page
    assert "secret" not in page
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import""", page)
    assert page.count("<figure>") == 5
    assert "missing" in page
    assert "28 more values" in page
    assert ("Do not publish" in page) == seeded
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []


class _Tags(HTMLParser):
    """Every tag that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


# --------------------------------------------------------------------------- help

COMMANDS = [
    [],
    ["synthesize"],
    ["schema"],
    ["sample"],
    ["show"],
    ["plan"],
    ["demo"],
    ["ledger"],
    ["ledger", "create"],
    ["ledger", "show"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("columns", [80, 120])
def test_help_teaches_by_example(command: list[str], columns: int) -> None:
    ran = fine(*command, "--help", columns=columns)
    examples = ran.out[ran.out.index("Example") :]
    lines = [
        line.strip() for line in examples.splitlines() if line.strip().startswith("understudy ")
    ]
    assert lines
    # No example is broken in two: each can be copied as it stands.
    beginnings = ("understudy ", "#", "Example")
    assert all(
        line.strip().startswith(beginnings) for line in examples.splitlines() if line.strip()
    )
    assert any(line.startswith(" ".join(["understudy", *command])) for line in lines)
    assert "completion" not in ran.out


def test_a_summary_is_broken_where_the_screen_ends() -> None:
    """Not where a line of the source does: with a wide screen each is one line."""
    told = fine("--help", columns=220).out
    lines = told[told.index("─ Commands") : told.index("Examples")].splitlines()
    names = [line.split()[1] for line in lines if line.startswith("│")]
    assert {"synthesize", "schema", "query"} <= set(names)
    assert len(names) == len(set(names))
    assert all(f"understudy {name} " in fine(name, "--help").out for name in names)


def test_brackets_in_the_help_of_an_option_are_shown() -> None:
    told = " ".join(fine("synthesize", "--help", columns=220).out.split())
    assert "never read, [text] in synthetic rows" in told


def test_options_that_few_need_stand_below_those_that_most_do() -> None:
    told = fine("synthesize", "--help").out
    panels = ["Options ", "What columns hold", "Who is protected", "The table's ledger"]
    places = [told.index(f"─ {panel}") for panel in panels]
    assert places == sorted(places)
    assert places[0] < told.index("--epsilon") < places[1] < told.index("--identifier")


def test_the_examples_in_the_help_are_in_order(folder: Path) -> None:
    """The options that they show exist."""
    for command in COMMANDS:
        if command in ([], ["ledger"]):  # those show the commands below them
            continue
        text = fine(*command, "--help").out
        known = set(re.findall(r"(?<!\w)--?[a-z]+", text[: text.index("Example")]))
        for line in text[text.index("Example") :].splitlines():
            if line.strip().startswith(" ".join(["understudy", *command])):
                assert set(re.findall(r"(?<!\w)--?[a-z]+", line)) <= known


def test_version() -> None:
    assert fine("--version").out == f"understudy {__version__}\n"


# ----------------------------------------------- the installed command


def test_a_real_process(folder: Path) -> None:
    ran = run_really("synthesize", "patients.csv", "--schema", "schema.json", "--rows", 4)
    assert ran.status == 0
    assert len(rows_of(ran.out)) == 5
    assert "\x1b" not in ran.err


@pytest.mark.thorough
def test_a_reader_that_has_seen_enough(folder: Path) -> None:
    fine(
        "synthesize",
        "patients.csv",
        "--schema",
        "schema.json",
        "--model",
        "m.json",
        "-o",
        "out.csv",
        "-q",
    )
    line = f"set -o pipefail; {COMMAND} sample m.json --rows 100000 | head -1"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, ",".join(NAMES) + "\n", "")


@pytest.mark.thorough
def test_a_reader_that_has_seen_enough_does_not_cost_the_model(folder: Path) -> None:
    line = (
        f"{COMMAND} synthesize patients.csv --schema schema.json --rows 100000 --model m.json "
        "-q | head -1"
    )
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == (",".join(NAMES) + "\n", "")
    assert Model.load("m.json").rows is not None


@pytest.mark.thorough
def test_a_reader_that_reads_nothing_does_not_cost_the_picture(folder: Path) -> None:
    learn = ("synthesize", "patients.csv", "--schema", "schema.json", "--model", "m.json")
    fine(*learn, "-o", "out.csv", "-q")
    reader, writer = os.pipe()
    os.close(reader)  # every line that is printed breaks the pipe
    try:
        done = subprocess.run(
            [COMMAND, "show", "m.json", "--plot", "network.svg"],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writer)
    assert Path("network.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")
    assert "Traceback" not in done.stderr


def test_a_full_disk(folder: Path) -> None:
    fine(
        "synthesize",
        "patients.csv",
        "--schema",
        "schema.json",
        "--model",
        "m.json",
        "-o",
        "out.csv",
        "-q",
    )
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [COMMAND, "sample", "m.json", "--rows", "9"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"understudy: The rows cannot be written to standard output")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.thorough
def test_progress_on_a_terminal(folder: Path) -> None:
    """A pseudo-terminal of 80 columns: the bar moves on standard error and is gone in the end."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    env = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color"}
    command = [COMMAND, "synthesize", "patients.csv", "--schema", "schema.json", "--rows", "9"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, env=env) as process:
        os.close(slave)
        screen = b""
        while True:
            try:
                piece = os.read(master, 1 << 16)
            except OSError:  # Linux says so when the other side has closed
                break
            if not piece:
                break
            screen += piece
        assert process.stdout is not None
        assert len(process.stdout.read().splitlines()) == 10
    os.close(master)
    assert process.returncode == 0
    for words in (b"reading", b"measuring tables", "━".encode(), b"Differentially private"):
        assert words in screen


# --------------------------------------------------------------------------- what a release names


def test_a_report_names_the_data_set_and_the_contact(folder: Path) -> None:
    command = ("synthesize", "patients.csv", "--schema", "schema.json", "-o", "out.csv", "-q")
    names = ("--title", "People <2020>", "--contact", "data@example.org")
    ran = run(*command, "--report", "r.html", *names)
    assert ran.status == 0, ran.err
    page = Path("r.html").read_text(encoding="utf-8")
    assert "<h1>People &lt;2020&gt;</h1>" in page
    assert "Contact: <b>data@example.org</b>" in page
    refused = run(*command, *names)
    assert refused.status == 2
    assert "--title and --contact are for the report; give --report too." in refused.err


def test_ledger_create_says_what_delta_the_next_release_will_need(folder: Path) -> None:
    without = run("ledger", "create", "none.ledger", "--epsilon", "3").err
    assert "without a schema it needs 1e-09" in without.replace("\n", " ")
    assert "This ledger has 0, so give every release a schema" in without.replace("\n", " ")
    some = run("ledger", "create", "some.ledger", "--epsilon", "3", "--delta", "5e-9").err
    assert "This ledger has enough for 5 of these." in some.replace("\n", " ")
