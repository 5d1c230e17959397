"""A stranger's first hour: what CONTRIBUTING shows works as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import understudy

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not PAGE.is_file(), reason="the page is not here"),
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the method of the page in it, and nothing else changed."""
    folder = tmp_path_factory.mktemp("source")
    package = Path(understudy.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, folder / "understudy", ignore=ignored)
    text = PAGE.read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert example.count("\n") <= 40
    place = re.search(r"`src/(understudy/synthesizers/\w+\.py)`", text)
    assert place is not None
    (folder / place[1]).write_text(example, encoding="utf-8")
    return folder


def run(source: Path, folder: Path, *arguments: str) -> str:
    # Numba would compile everything again for this folder: slow, and not what is tested here.
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "NUMBA_DISABLE_JIT": "1",
        "COLUMNS": "200",
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_method_is_in_the_help_of_the_command(source: Path, tmp_path: Path) -> None:
    told = run(source, tmp_path, "-m", "understudy", "synthesize", "--help")
    assert "chain: how each column depends on the one before it" in told
    assert "--length" in told


def test_the_method_makes_rows(source: Path, tmp_path: Path) -> None:
    rows = "".join(f"{i % 2},{i % 3},{i % 2}\n" for i in range(300))
    (tmp_path / "patients.csv").write_text(f"a,b,c\n{rows}")
    command = ["synthesize", "patients.csv", "--epsilon", "50", "--method", "chain"]
    run(source, tmp_path, "-m", "understudy", *command, "-o", "synthetic.csv")
    assert len((tmp_path / "synthetic.csv").read_text().splitlines()) > 200


def test_the_method_is_public_and_is_audited(source: Path, tmp_path: Path) -> None:
    program = (
        "from understudy import Chain\n"
        "from understudy.auditing import audit_subjects\n"
        "print(Chain(epsilon=1.0).length, 'chain' in audit_subjects())\n"
    )
    assert run(source, tmp_path, "-c", program) == "1 True\n"


def test_the_method_enters_the_docs(source: Path, tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r})\n"
        "import docs_tables\n"
        "print(docs_tables.methods_table(), docs_tables.api_of_methods(), sep='\\n')\n"
    )
    written = run(source, tmp_path, "-c", program)
    assert "| `chain` | how each column depends on the one before it |" in written
    assert "::: understudy.synthesizers.chain.Chain" in written


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "examples/README.md", "README.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), target


def test_paths_that_are_named_exist() -> None:
    named = re.findall(r"`((?:src|tests|tools|docs|examples|\.ci)/[\w/.-]+)`", PAGE.read_text())
    promised = {"src/understudy/synthesizers/chain.py", "tests/synthesizers/test_chain.py"}
    missing = {path for path in named if not (ROOT / path).exists()}
    assert missing == promised
