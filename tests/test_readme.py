"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from running import COMMAND
from understudy import Model

pytestmark = pytest.mark.thorough

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"{20 + i % 70},{str(i % 4 == 0).lower()}\n" for i in range(3000))
    (tmp_path / "patients.csv").write_text("age,smoker\n" + rows)
    return tmp_path


def test_five_lines_of_python(folder: Path) -> None:
    code = block("python")
    assert len(code.splitlines()) == 5
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "epsilon = 1" in done.stdout
    assert (
        len(re.findall(r"^\d+ +\d+ +(?:True|False|true|false)$", done.stdout, flags=re.MULTILINE))
        == 5
    )


def test_three_lines_of_shell(folder: Path) -> None:
    code = block("sh")
    assert len(code.splitlines()) == 3
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
    assert (folder / "synthetic.csv").read_text().startswith("age,smoker\n")
    assert isinstance(Model.load(folder / "model.json"), Model)
    assert (folder / "more.csv").read_text().count("\n") == 1001
