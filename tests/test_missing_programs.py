"""The last line of a run names the programs for want of which tests were skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

HERE = Path(__file__).parent
TESTS = """
import pytest
def test_one(): pytest.skip("PostgreSQL's programs or psycopg are not installed")
def test_two(): pytest.skip("Java or pyspark are not installed")
@pytest.mark.skipif(True, reason="there is no Chromium here")
@pytest.mark.parametrize("width", [1, 2])
def test_three(width): pass
def test_four(): pytest.skip("for another reason")
"""


def last_line(folder: Path, *options: str) -> str:
    (folder / "conftest.py").write_text((HERE / "conftest.py").read_text())
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
    )
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize("options", [(), ("-n", "2", "--dist", "loadfile")])
def test_the_last_line_says_what_did_not_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "test_skipped.py").write_text(TESTS)
    assert last_line(tmp_path, *options) == (
        "NOT RUN: 1 without PostgreSQL, 1 without Java, 2 without Chromium; "
        "to run them: apt install postgresql default-jre-headless chromium"
    )


def test_nothing_is_said_where_all_ran(tmp_path: Path) -> None:
    (tmp_path / "test_run.py").write_text("def test_one(): pass\n")
    assert last_line(tmp_path).startswith("1 passed")
