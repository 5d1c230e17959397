"""What the README shows is what happens."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from running import COMMAND
from understudy import LedgerFile, Model

pytestmark = pytest.mark.thorough

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


RELEASE_IN_SHELL, ASK_IN_SHELL = blocks("sh")
RELEASE_IN_PYTHON, ASK_IN_PYTHON = blocks("python")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"{20 + i % 70},{str(i % 4 == 0).lower()}\n" for i in range(3000))
    for name in ("patients.csv", "others.csv"):
        (tmp_path / name).write_text("age,smoker\n" + rows)
    schema = {"age": {"kind": "integer", "min": 0, "max": 99}, "smoker": {"kind": "boolean"}}
    (tmp_path / "patients.json").write_text(json.dumps({"attributes": schema}))
    return tmp_path


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done


def run_shell(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run commands; every file that they name for output must be there afterwards."""
    env = {**os.environ, "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-eu", "-c", code]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    written = re.findall(r"(?:-o|--model|--report) (\S+)", code)
    assert written
    for name in written:
        assert (folder / name).stat().st_size > 0
    return done


def test_five_lines_of_python(folder: Path) -> None:
    assert len(RELEASE_IN_PYTHON.splitlines()) == 5
    done = run_python(RELEASE_IN_PYTHON, folder)
    assert "epsilon = 1" in done.stdout
    assert (
        len(re.findall(r"^\d+ +\d+ +(?:True|False|true|false)$", done.stdout, flags=re.MULTILINE))
        == 5
    )


def test_three_lines_of_shell(folder: Path) -> None:
    assert len(RELEASE_IN_SHELL.splitlines()) == 3
    run_shell(RELEASE_IN_SHELL, folder)
    assert (folder / "synthetic.csv").read_text().startswith("age,smoker\n")
    assert isinstance(Model.load(folder / "model.json"), Model)
    assert (folder / "more.csv").read_text().count("\n") == 1001


def test_asking_and_learning_in_shell(folder: Path) -> None:
    done = run_shell(ASK_IN_SHELL, folder)
    [answer] = done.stdout.splitlines()
    assert re.fullmatch(r"[\d.]+ \([\d.]+ to [\d.]+\)", answer)
    assert LedgerFile(folder / "patients.ledger").left()[0] == pytest.approx(1.5)
    assert (folder / "predicted.csv").read_text().count("\n") == 3001


def test_asking_and_learning_in_python(folder: Path) -> None:
    done = run_python(ASK_IN_PYTHON, folder)
    assert re.fullmatch(
        r"\[[\d.]+ \([\d.]+ to [\d.]+\), [\d.]+% \([\d.]+% to [\d.]+%\)\]\n", done.stdout
    )
    assert (folder / "predicted.csv").read_text().count("\n") == 3001
