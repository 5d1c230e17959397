"""Completion in a shell: commands, and options of methods too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from running import run

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

DOCS = Path(__file__).resolve().parents[2] / "docs"


def complete(line: str) -> list[str]:
    """What bash would offer at the end of the line."""
    asked = {
        "_UNDERSTUDY_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
    }
    program = "import sys; sys.argv[0] = 'understudy'; from understudy.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **asked},
        timeout=60,
        check=False,
    )
    assert ran.stderr == ""
    return ran.stdout.split()


def test_commands_are_completed() -> None:
    assert complete("understudy synth") == ["synthesize"]


def test_options_of_methods_are_completed() -> None:
    assert complete("understudy synthesize --attr") == ["--attribute-encoding"]


def test_it_is_documented() -> None:
    tutorial = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    assert "understudy --install-completion" in tutorial
    assert "understudy --show-completion" in tutorial


def test_the_script_can_be_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    ran = run("--show-completion", "bash")
    assert ran.status == 0
    assert "complete_bash" in ran.out
