"""The notebooks in examples run from top to bottom, quickly, and hold no outputs and no data."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.thorough

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
CPU_SECONDS = 20


def cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return found


def code(notebook: Path) -> str:
    """Its code as one program; the last line of a cell is only looked at in a notebook."""
    sources = ["".join(c["source"]) for c in cells(notebook) if c["cell_type"] == "code"]
    return "\n\n".join(sources)


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "01-first-release",
        "02-federation",
        "03-engine",
        "04-evaluate-and-decide",
    ]
    assert {path.suffix for path in FOLDER.iterdir()} <= {".ipynb", ".md"}


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_clean(notebook: Path) -> None:
    assert notebook.stat().st_size < 20_000
    for cell in cells(notebook):
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
    # Only what stands at the top of the package is public.
    assert set(re.findall(r"from (understudy\S*) import", code(notebook))) == {"understudy"}
    compile(code(notebook), notebook.name, "exec")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        [sys.executable, "-c", code(notebook)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ran.returncode == 0, ran.stderr
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < CPU_SECONDS, f"{notebook.name} took {used:.1f} CPU seconds"
