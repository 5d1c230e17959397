"""What a command does not use it does not import: which modules are loaded, not how long it
takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

HEAVY = frozenset(
    {
        *("numpy", "numba", "duckdb", "opendp", "scipy", "sklearn", "pandas", "polars", "pyarrow"),
        *("statsmodels", "fastapi", "uvicorn", "httpx", "cryptography", "psycopg", "pyspark"),
        *("understudy.evaluation", "understudy.reports", "understudy.federation"),
        *("understudy.auditing", "understudy.attacks", "understudy.synthesizers"),
    }
)

PROGRAM = """
import json, sys
from understudy.cli import main
try:
    main()
except SystemExit as stop:
    if stop.code:
        raise
with open("modules.json", "w") as file:
    json.dump(sorted(sys.modules), file)
"""

MODEL = ("--model", "m.json")

SCHEMA = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 99},
        "sex": {"kind": "categorical", "values": ["f", "m"]},
    }
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small table with its schema, and a model of it."""
    place = tmp_path_factory.mktemp("start")
    rows = "".join(f"{20 + i % 60},{'fm'[i % 2]}\n" for i in range(100))
    (place / "t.csv").write_text("age,sex\n" + rows)
    (place / "s.json").write_text(json.dumps(SCHEMA))
    loaded(place, "synthesize", "t.csv", "--schema", "s.json", "-o", "out.csv", *MODEL)
    return place


def loaded(folder: Path, *command: str, before: str = "") -> set[str]:
    """The heavy modules that a command loads, in a process of its own."""
    return HEAVY & all_loaded(folder, *command, before=before)


def all_loaded(folder: Path, *command: str, before: str = "") -> set[str]:
    source = str(Path(__file__).resolve().parents[2] / "src")
    ran = subprocess.run(
        [sys.executable, "-c", before + PROGRAM, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return set(json.loads((folder / "modules.json").read_text()))


@pytest.mark.parametrize("command", ["--help", "--version", "plan --help", "evaluate --help"])
def test_help_loads_nothing_heavy(folder: Path, command: str) -> None:
    assert loaded(folder, *command.split()) == set()


OTHER_COMMANDS = {"understudy.cli.ask", "understudy.cli.evaluate", "understudy.cli.federate"}


def test_a_command_loads_no_other_and_help_loads_all(folder: Path) -> None:
    one = all_loaded(folder, "ledger", "create", "one.ledger", "--epsilon", "3")
    assert "understudy.cli.ledger" in one
    assert not one & OTHER_COMMANDS
    assert all_loaded(folder, "--help") >= OTHER_COMMANDS


EACH_COMMAND = """
import typer
from understudy.cli.root import _Commands, app, load_command
shared = {"membership"}  # stands in a file with another command, for which all are loaded
for name in sorted(_Commands.ORDER, key=lambda name: name in shared):
    load_command([name])
    assert name in typer.main.get_command(app).commands, name
"""


def test_every_command_enters_itself_when_it_is_named() -> None:
    subprocess.run([sys.executable, "-c", EACH_COMMAND], check=True)


SMALL = {"numpy", "duckdb", "opendp", "understudy.synthesizers"}


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("synthesize t.csv -o out.csv --epsilon 100 --delta 1e-6 --keep-going", SMALL),
        ("synthesize t.csv --schema s.json -o out.csv", SMALL),
        ("synthesize t.csv --schema s.json -o out.csv --method privbayes", SMALL),
        ("synthesize t.csv --schema s.json -o out.csv --method mst --delta 1e-6", SMALL),
        ("synthesize t.csv --schema s.json -o out.csv --method independent", SMALL),
        (
            "synthesize t.csv --schema s.json -o out.csv --report r.html",
            SMALL | {"understudy.reports", "understudy.evaluation"},
        ),
        ("sample m.json --rows 1000 -o more.csv", {"numpy", "duckdb", "opendp"}),
        ("show m.json", {"numpy", "opendp"}),
        ("query m.json count", {"numpy", "opendp"}),
        ("plan --schema s.json --rows 1000", {"numpy", "opendp"}),
        ("schema t.csv --blank", {"numpy", "duckdb"}),
        ("ledger create l.ledger --epsilon 3", set()),
    ],
)
def test_a_small_task_loads_no_compiler_and_nothing_else_that_it_does_not_use(
    folder: Path, command: str, needed: set[str]
) -> None:
    assert loaded(folder, *command.split()) <= needed


def test_a_small_evaluation_loads_no_compiler(folder: Path) -> None:
    found = loaded(folder, "evaluate", "t.csv", "out.csv", "--schema", "s.json")
    assert "understudy.evaluation" in found
    assert not found & {"numba", "fastapi", "understudy.federation", "understudy.synthesizers"}


def test_where_kernels_are_worth_it_they_are_loaded(folder: Path) -> None:
    """The control: what is looked for is there when it is used."""
    before = "from understudy.machine.plain_first import always_compile\nalways_compile()\n"
    command = ("sample", "m.json", "--rows", "5", "-o", "more.csv")
    assert "numba" in loaded(folder, *command, before=before)


def test_loading_a_command_searches_for_no_garbage(folder: Path) -> None:
    before = "import gc, atexit\natexit.register(lambda: print(gc.get_stats()[0]['collections']))\n"
    program = before + PROGRAM
    ran = subprocess.run(
        [sys.executable, "-c", program, "show", "m.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(ran.stdout.split()[-1]) < 20
