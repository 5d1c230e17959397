"""The comparison with peers: each run is watched, and whatever goes wrong with a peer is a row of
the table.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import peers
from peers import (
    Contender,
    Peer,
    Result,
    environment,
    plain,
    read_codes,
    table_of,
    tried,
    watched,
    written,
)
from published import published
from understudy.data.encoding import Coded, encode

pytestmark = pytest.mark.thorough

REPORT = """print("ready", flush=True); print('{"wall": 1.5, "cpu": 1.0}')"""


@pytest.fixture
def real(tmp_path: Path) -> Coded:
    """400 made-up rows of four columns with two codes each, in a folder as the published tables
    have.
    """
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 400)
    columns = np.column_stack(
        [first, first, rng.integers(0, 2, 400), np.zeros(400, dtype=np.int64)]
    )
    np.savetxt(
        tmp_path / "nltcs.csv", columns, fmt="%d", delimiter=",", header="a,b,c,d", comments=""
    )
    return plain(encode(*published("nltcs", tmp_path)))


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], list[object]]:
    """A command that runs a piece of Python."""

    def command(text: str) -> list[object]:
        path = tmp_path / "script.py"
        path.write_text(text)
        return [sys.executable, path]

    return command


# ---- watching


def test_a_run_reports_its_times(script: Callable[[str], list[object]]) -> None:
    result = watched(script(REPORT), 60)
    assert (result.problem, result.wall, result.cpu) == ("", 1.5, 1.0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_of_the_processes_that_it_started_counts(
    script: Callable[[str], list[object]],
) -> None:
    child = "held = bytearray(b'x' * 150_000_000); print('both', flush=True); input()"
    text = "import subprocess, sys\nheld = bytearray(b'x' * 100_000_000)\n"
    command = [
        str(part) for part in script(f"{text}subprocess.run([sys.executable, '-c', {child!r}])")
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "both\n"
        megabytes, seconds = peers.session(process.pid)
        process.communicate("\n")
    assert 250_000_000 / 2**20 < megabytes < 500
    assert seconds > 0


@pytest.mark.parametrize("before", ["", "print('ready', flush=True)\n"])
def test_a_run_that_takes_too_long_is_ended(
    script: Callable[[str], list[object]], before: str
) -> None:
    result = watched(script(before + "import time; time.sleep(60)"), 0.5)
    assert result.problem == "ended at the cap of 0.5 s"


def test_a_run_that_fails_leaves_its_last_words(script: Callable[[str], list[object]]) -> None:
    assert (
        watched(script("raise ValueError('no such thing')"), 60).problem
        == "failed: ValueError: no such thing"
    )


# ---- what a contender writes


def test_codes_come_back(tmp_path: Path, real: Coded) -> None:
    job = written(real, tmp_path, 1.0)
    back = read_codes(job.source, real)
    assert all((back.codes[name] == real.codes[name]).all() for name in real.codes)
    result = peers.judged(Result(), peers.Job(job.source, job.source, job.sizes, 400, 1.0), real)
    assert result.errors == (0, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,c\n0,0,0\n", "its columns are a, b, c"),
        ("a,b,c,d\n0,0,0,2\n", "column d holds codes outside"),
        ("a,b,c,d\n0,-1,0,0\n", "column b holds codes outside"),
        ("a,b,c,d\n0,0.5,0,0\n", "column b holds something else"),
        ("a,b,c,d\n0,nan,0,0\n", "column b holds something else"),
        ("a,b,c,d\n0,zero,0,0\n", "zero"),
    ],
)
def test_what_is_not_codes_is_a_row_of_its_own(
    tmp_path: Path, real: Coded, text: str, words: str
) -> None:
    job = written(real, tmp_path, 1.0)
    job.target.write_text(text)
    assert words in peers.judged(Result(), job, real).problem


# ---- contenders


def test_understudy_as_a_contender(tmp_path: Path, real: Coded) -> None:
    chosen = next(
        contender for contender in peers.CONTENDERS if contender.method == "PrivBayes, default"
    )
    result = tried(chosen, Path(sys.executable), written(real, tmp_path, 100.0), real, 120, 1)
    assert result.problem == ""
    assert result.guarantee == "epsilon 100; add_remove"
    assert max(result.errors) < 0.1


def test_every_peer_says_why_it_gives_what_it_gives() -> None:
    for contender in peers.CONTENDERS:
        assert (contender.tool in peers.PEERS) == bool(contender.reason)
    assert {contender.tool for contender in peers.CONTENDERS} == {"Understudy", *peers.PEERS}


def test_a_peer_that_cannot_be_installed_is_a_row(
    tmp_path: Path, real: Coded, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (("--no-index", "--find-links", str(tmp_path), "no-such-package-at-all"),)
    monkeypatch.setitem(peers.PEERS, "dpmm", Peer("9", "no_such_module", steps))
    found = environment("dpmm", tmp_path / "venvs", Console(quiet=True))
    assert isinstance(found, str)
    assert found.startswith("cannot be installed:")
    contender = next(contender for contender in peers.CONTENDERS if contender.tool == "dpmm")
    result = tried(contender, found, written(real, tmp_path, 1.0), real, 60, 3)
    assert result.problem == found


def test_the_table_has_a_row_for_everybody() -> None:
    one = Contender("Understudy", "a", lambda job: [], "as its ledger says")
    two = Contender("dpmm", "b", lambda job: [], "none", "because")
    results = [
        Result("", (0.1, 0.2), 1.0, 2.0, 300.0, "epsilon 1; replace"),
        Result("ended at the cap of 9 s", (), 9.0),
    ]
    lines = table_of([one, two], results)
    assert (
        lines[2] == "| Understudy, a | 0.1000 | 0.2000 | 1.00 | 2.00 | 300 | epsilon 1; replace |"
    )
    assert lines[3] == "| dpmm 0.1.9, b | ended at the cap of 9 s |  | 9.00 |  |  | none |"


def test_figures_are_means_and_a_problem_is_not_averaged_away() -> None:
    both = [Result("", (0.1, 0.2), 1.0, 2.0, 300.0), Result("", (0.3, 0.4), 3.0, 4.0, 200.0)]
    mean = Result.mean(both)
    assert mean.errors == pytest.approx((0.2, 0.3))
    assert (mean.wall, mean.cpu, mean.peak) == (2.0, 3.0, 300.0)
    assert Result.mean([both[0], Result("failed: x")]).problem == "failed: x"


def test_the_command_prints_the_table(
    tmp_path: Path, real: Coded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "CONTENDERS", peers.CONTENDERS[:1])
    monkeypatch.setattr(
        sys, "argv", ["peers.py", "--data", str(tmp_path), "--only", "Understudy", "--epsilon", "2"]
    )
    peers.main()
    out = capsys.readouterr().out
    assert "nltcs: 400 rows, 4 columns; epsilon 2" in out
    assert "epsilon 2; add_remove" in out
