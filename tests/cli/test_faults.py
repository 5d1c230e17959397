"""What goes wrong around the program, not in its input: each ends in a line, never in a
traceback.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import understudy
from understudy import Independent, Schema, read_table
from understudy.cli import _sentence_of
from understudy.cli.talk import prepare_screen
from understudy.machine import resources
from understudy.machine.resources import LEAST_MEMORY
from understudy.privacy.ledger import LedgerFile

SOURCE = Path(understudy.__file__).parents[1]
GIGABYTE = 1 << 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    towns = ["Zürich", "Łódź", "Bern"]
    rows = "".join(f"{18 + i % 60},{towns[i % 3]}\n" for i in range(600))
    (tmp_path / "people.csv").write_text("âge,town\n" + rows, encoding="utf-8")
    attributes = {
        "âge": {"kind": "integer", "min": 0, "max": 120, "bins": 8},
        "town": {"kind": "categorical", "values": towns},
    }
    (tmp_path / "schema.json").write_text(json.dumps({"attributes": attributes}), encoding="utf-8")
    schema = Schema.load(tmp_path / "schema.json")
    model = Independent(epsilon=1.0).fit(read_table(tmp_path / "people.csv"), schema)
    model.save(tmp_path / "m.json")
    model.write(tmp_path / "synthetic.csv", 300, 1)
    LedgerFile.create(tmp_path / "l.ledger", 3.0)
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "NUMBA_NUM_THREADS": "1", **more}


def understudy_in(folder: Path, *arguments: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    how.setdefault("env", environment())
    return subprocess.run(
        [sys.executable, "-m", "understudy", *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
        **how,
    )


SYNTHESIZE = ("synthesize", "people.csv", "--schema", "schema.json", "--method", "independent")
PAID = (*SYNTHESIZE, "-o", "out.csv", "--ledger", "l.ledger")


# --------------------------------------------------------------------------- no place for a cache


@pytest.fixture
def sealed(tmp_path: Path) -> dict[str, str]:
    """A copy of the package where nothing compiled can be kept, and no home: not even for root."""
    copy = tmp_path / "source"
    shutil.copytree(
        SOURCE / "understudy", copy / "understudy", ignore=shutil.ignore_patterns("__pycache__")
    )
    for package in [copy / "understudy", *(copy / "understudy").rglob("*/")]:
        (package / "__pycache__").write_text("a file, not a folder")
    nowhere = tmp_path / "people.csv" / "home"
    env = environment(PYTHONPATH=str(copy), HOME=str(nowhere), XDG_CACHE_HOME=str(nowhere))
    env.pop("NUMBA_CACHE_DIR", None)
    return env


SAMPLE = ("sample", "m.json", "--rows", "5", "--seed", "1")


def sample_by_kernels(folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """What is done for many rows, on a few."""
    script = (
        "from understudy.cli import main\n"
        "from understudy.machine.plain_first import always_compile\n"
        "always_compile()\n"
        "main()\n"
    )
    command = [sys.executable, "-c", script, *SAMPLE]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)


@pytest.mark.thorough
def test_without_a_place_for_compiled_code_it_runs_and_says_so_once(
    folder: Path, sealed: dict[str, str]
) -> None:
    few = understudy_in(folder, *SAMPLE, env=sealed)
    assert (few.returncode, few.stderr) == (0, b"")
    ran = sample_by_kernels(folder, sealed)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == few.stdout
    assert len(ran.stdout.splitlines()) == 6
    assert ran.stderr.count(b"\n") == 1
    assert b"set NUMBA_CACHE_DIR to a folder of your own" in ran.stderr
    # Every module with kernels takes the same way.
    sources = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py")]
    compiled = [path for path in sources if "numba import njit" in (SOURCE / path).read_text()]
    assert compiled == [Path("understudy/machine/compiled.py")]
    modules = [path for path in sources if path.stem.endswith("kernels")]
    assert len(modules) >= 10
    script = "".join(f"import {'.'.join(path.with_suffix('').parts)}\n" for path in modules)
    imported = subprocess.run(
        [sys.executable, "-c", script], env=sealed, capture_output=True, check=False
    )
    assert imported.returncode == 0, imported.stderr
    assert imported.stderr.count(b"UncachedWarning") == 1


@pytest.mark.thorough
def test_a_folder_of_ones_own_is_used(folder: Path, sealed: dict[str, str]) -> None:
    cache = folder / "cache"
    env = {**sealed, "NUMBA_CACHE_DIR": str(cache)}
    ran = sample_by_kernels(folder, env)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert list(cache.rglob("*.nbi"))


# --------------------------------------------------------------------------- little memory


@pytest.mark.thorough
@pytest.mark.parametrize("gigabytes", [0.6, 1, 1.5, 2, 3, 6])
def test_little_memory_ends_well_or_in_a_sentence(folder: Path, gigabytes: float) -> None:
    limit = int(gigabytes * GIGABYTE)
    ran = understudy_in(
        folder,
        *PAID,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        env={k: v for k, v in environment().items() if k != "NUMBA_NUM_THREADS"},
    )
    assert ran.returncode == (0 if limit >= LEAST_MEMORY else 2), ran.stderr
    spent = [release["epsilon"] for release in LedgerFile(folder / "l.ledger").read()["releases"]]
    if ran.returncode:
        assert ran.stderr.count(b"\n") == 1
        assert b"needs at least 2 GB; raise the limit" in ran.stderr
    assert (folder / "out.csv").exists() == (ran.returncode == 0)
    assert spent == ([1.0] if ran.returncode == 0 else [])


SQUEEZE = """
import importlib, resource, sys
from pathlib import Path
where, slack, *sys.argv[1:] = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.RLIM_INFINITY))
import understudy.cli
from understudy.machine.resources import prepare_for_little_memory
run = understudy.cli._run
def run_squeezed():
    prepare_for_little_memory()
    module, *path, name = where.split(":")
    owner = importlib.import_module(module)
    for part in path:
        owner = getattr(owner, part)
    work = getattr(owner, name)
    def squeezed(*arguments, **named):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = used + (int(slack) << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        return work(*arguments, **named)
    setattr(owner, name, squeezed)
    run()
understudy.cli._run = run_squeezed
understudy.cli.main()
"""
MOMENTS = {
    "understudy.data.tables:read_table": [],
    "understudy.privacy.ledger:LedgerFile:reserve": [],
    "understudy.privacy.central:CentralCurator:__init__": [1.0],
    "understudy.models.model:write_table": [1.0],
}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
@pytest.mark.parametrize("megabytes", [0, pytest.param(16, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("moment", MOMENTS)
def test_memory_that_runs_out_midway(folder: Path, moment: str, megabytes: int) -> None:
    """Libraries crash then (LLVM, DuckDB), or wait for ever; the ledger has what was reserved."""
    ran = subprocess.run(
        [sys.executable, "-c", SQUEEZE, moment, str(megabytes), *PAID],
        cwd=folder,
        capture_output=True,
        check=False,
        env=environment(),
    )
    assert ran.returncode in (0, 2), ran.stderr
    assert b"Traceback" not in ran.stderr
    assert ran.stderr.count(b"\n") <= 3
    if ran.returncode == 2:
        assert b"understudy: There is not enough memory" in ran.stderr
        assert not (folder / "out.csv").exists()
    spent = [release["epsilon"] for release in LedgerFile(folder / "l.ledger").read()["releases"]]
    assert spent in (MOMENTS[moment], [1.0])


COMPILED = SQUEEZE.replace(
    "understudy.cli.main()",
    """from understudy.machine.plain_first import always_compile
always_compile()
understudy.cli.main()
""",
)
"""What is done for many rows, on a few."""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
@pytest.mark.thorough
@pytest.mark.parametrize("megabytes", [0, 16, 64])
def test_memory_that_runs_out_while_code_is_compiled(folder: Path, megabytes: int) -> None:
    """LLVM ends the process where it gets no memory; the one that waits for it says so."""
    moment = "understudy.counting.memory:MemoryCounter:__init__"
    ran = subprocess.run(
        [sys.executable, "-c", COMPILED, moment, str(megabytes), *PAID],
        cwd=folder,
        capture_output=True,
        check=False,
        env=environment(NUMBA_CACHE_DIR=str(folder / "nothing compiled")),
    )
    assert ran.returncode == 2, ran.stderr
    assert b"Traceback" not in ran.stderr
    assert b"understudy: There is not enough memory" in ran.stderr
    assert not (folder / "out.csv").exists()
    spent = [release["epsilon"] for release in LedgerFile(folder / "l.ledger").read()["releases"]]
    assert spent == [1.0]


def test_an_error_that_the_interpreter_lost_is_one_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where memory ends inside Python itself; without a limit such an error is a fault of ours."""
    lost = SystemError("error return without exception set")
    assert _sentence_of(lost) is None
    monkeypatch.setattr(resources, "memory_limit", lambda: 3 * GIGABYTE)
    assert str(_sentence_of(lost)).startswith("There is not enough memory")
    assert _sentence_of(KeyError("a")) is None


# ------------------------------------------ a terminal without Unicode

ASCII = (
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
)
PRINTING: tuple[Sequence[str], ...] = (
    ("--help",),
    ("show", "m.json"),
    ("query", "m.json", "count where town = 'Bern'", "share"),
    ("schema", "people.csv", "--blank"),
    ("plan", "--schema", "schema.json", "--rows", "600"),
    ("ledger", "show", "l.ledger"),
    ("evaluate", "people.csv", "synthetic.csv", "--schema", "schema.json"),
    ("query", "nö.json", "count"),
)


@pytest.mark.parametrize(
    ("how", "arguments"),
    [(how, each) for how in ASCII for each in (PRINTING if how is ASCII[0] else PRINTING[1:3])],
    ids=str,
)
@pytest.mark.thorough
def test_ascii(folder: Path, how: dict[str, str], arguments: Sequence[str]) -> None:
    env = {k: v for k, v in environment().items() if not k.startswith(("LC_", "LANG", "PYTHONI"))}
    ran = understudy_in(folder, *arguments, env={**env, **how})
    assert ran.returncode == (2 if arguments[1:2] == ("nö.json",) else 0), ran.stderr
    assert (ran.stdout + ran.stderr).isascii()
    assert b"Traceback" not in ran.stderr
    if arguments[0] == "schema":
        assert list(json.loads(ran.stdout)["attributes"]) == ["âge", "town"]
    if arguments[0] == "show":
        widths = {len(line) for line in ran.stdout.splitlines() if line.startswith(b"| ")}
        assert len(widths) <= 2  # two tables, each with straight sides
        assert rb"Z\xfcrich" in ran.stdout


def test_whatever_is_written_to_an_ascii_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees and arrows too, and names of files that are no text."""
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    prepare_screen()
    screen.write("├─ a → b ± 1…\n└─ Łódź \udcff ⠋")
    assert isinstance(screen.buffer, io.BytesIO)
    expected = rb"|- a -> b +- 1..." + b"\n" + rb"`- \u0141\xf3d\u017a \udcff *"
    assert screen.buffer.getvalue() == expected


@pytest.mark.thorough
def test_files_stay_utf8(folder: Path) -> None:
    env = environment(PYTHONIOENCODING="ascii")
    ran = understudy_in(folder, *SYNTHESIZE, "-o", "out.csv", "--report", "r.html", env=env)
    assert ran.returncode == 0, ran.stderr
    assert "Zürich" in (folder / "out.csv").read_text(encoding="utf-8")
    assert "Zürich" in (folder / "r.html").read_text(encoding="utf-8")


# --------------------------------------------------------------------------- signals

# The signal is sent when the program gets somewhere, by itself: no test depends on the clock.
AT = """
import importlib, os, signal, sys, threading
number, where, *sys.argv[1:] = sys.argv[1:]
def strike():
    os.kill(os.getpid(), int(number))
if where.startswith("import:"):
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == where[7:]:
                sys.meta_path.remove(self)
                strike()
    sys.meta_path.insert(0, Finder())
from understudy.cli import main
if not where.startswith("import:"):
    module, *path, name = where.split(":")
    owner = importlib.import_module(module)
    for part in path:
        owner = getattr(owner, part)
    work = getattr(owner, name)
    def struck(*arguments, **named):
        strike()
        return work(*arguments, **named)
    setattr(owner, name, struck)
main()
"""
HEAR_SIGHUP = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
"""For a process under nohup, which is born deaf to it."""

OTHERS = (signal.SIGTERM, signal.SIGHUP)
PLACES = {
    "import:rich": None,
    "import:typer": None,
    "import:understudy.release": None,
    "import:numpy": None,
    "import:duckdb": None,
    "understudy.data.reading:_Loader:_load_csv": None,
    "understudy.privacy.ledger:LedgerFile:_write": None,
    "understudy.synthesizers.independent:Independent:learn": 1.0,
    "understudy.data.writing:_register": 1.0,
}


@pytest.mark.parametrize(
    ("place", "number"),
    [
        *(
            # While libraries are loaded, nothing private is read and nothing is booked.
            pytest.param(place, signal.SIGINT, marks=pytest.mark.thorough)
            for place in PLACES
            if place.startswith("import:")
        ),
        *((place, signal.SIGINT) for place in PLACES if not place.startswith("import:")),
        *zip(list(PLACES)[-4:], 2 * OTHERS, strict=True),
    ],
)
def test_a_signal_ends_in_one_line(folder: Path, place: str, number: signal.Signals) -> None:
    scratch = folder / "scratch"
    scratch.mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", HEAR_SIGHUP + AT, str(int(number)), place, *PAID],
        cwd=folder,
        capture_output=True,
        check=False,
        env=environment(TMPDIR=str(scratch)),
    )
    assert ran.returncode == 128 + number, ran.stderr
    assert ran.stderr.count(b"\n") == 1
    assert ran.stderr.startswith(f"understudy: Stopped by {number.name};".encode())
    assert list(scratch.iterdir()) == []
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
    assert not (folder / "out.csv").exists()
    releases = LedgerFile(folder / "l.ledger").read()["releases"]
    assert [release["epsilon"] for release in releases] == ([1.0] if PLACES[place] else [])


def test_a_real_signal_from_outside(folder: Path) -> None:
    """While the command waits for its input, which never comes."""
    os.mkfifo(folder / "fifo.csv")
    with subprocess.Popen(
        [sys.executable, "-m", "understudy", "synthesize", "fifo.csv"],
        cwd=folder,
        stderr=subprocess.PIPE,
        env=environment(),
        # Tests may run under nohup, and a signal that is ignored stays so.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    ) as process:
        while process.poll() is None and not _heeds(process.pid, signal.SIGHUP):
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 129, said
    assert said.count(b"\n") == 1


def _heeds(process: int, number: int) -> bool:
    status = Path(f"/proc/{process}/status").read_text()
    caught = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


def test_a_signal_that_is_ignored_stays_so(folder: Path) -> None:
    """As by nohup."""
    ran = subprocess.run(
        [sys.executable, "-c", AT, str(int(signal.SIGHUP)), "import:numpy", *PAID],
        cwd=folder,
        capture_output=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        env=environment(),
    )
    assert ran.returncode == 0, ran.stderr
