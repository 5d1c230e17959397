"""The page on many holders is true: its three shells are run, in order, as real processes."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from running import COMMAND

pytestmark = pytest.mark.thorough

PAGE = Path(__file__).resolve().parents[2] / "docs" / "federation.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="the docs are not here")
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    for port in ("8443", "8444"):  # which others may use
        text = text.replace(port, str(free_port()))
    blocks = re.findall(r'^```(\w+) title="([^"]*)"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)
    assert {title for language, title, _ in blocks if language == "sh"} == {
        "north",
        "south",
        "analyst",
    }
    with ExitStack() as running:
        for language, title, content in blocks:
            if language == "python":
                exec(compile(content, str(PAGE), "exec"), {})
            elif language in ("json", "toml"):
                Path(title).write_text(content)
            elif language == "sh" and " holder serve " in content:
                running.callback(ended, started(content, title))
            elif language == "sh":
                ran = subprocess.run(command(content), capture_output=True, text=True, check=False)
                assert ran.returncode == 0, (content, ran.stderr)
                if " federate " in content:
                    assert ran.stderr in text
            elif language == "console":
                line, refusal = content.removeprefix("$ ").split("\n", 1)
                ran = subprocess.run(command(line), capture_output=True, text=True, check=False)
                assert (ran.returncode, re.sub("north|south", "north", ran.stderr)) == (2, refusal)
    assert Path("synthetic.csv").read_text().count("\n") > 4000
    assert not Path("more.csv").exists()
    assert Path("north.log").read_text().count("\n") > 8


def command(line: str) -> list[str]:
    name, *arguments = shlex.split(line)
    assert name == "understudy", line
    return [str(COMMAND), *arguments]


def started(line: str, name: str) -> subprocess.Popen[bytes]:
    with Path(f"{name}.err").open("wb") as said:
        process = subprocess.Popen(
            command(line), stderr=said, env={**os.environ, "NUMBA_NUM_THREADS": "1"}
        )
    while " listens at " not in Path(f"{name}.err").read_text():
        assert process.poll() is None, Path(f"{name}.err").read_text()
        time.sleep(0.02)
    return process


def ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    assert process.wait() == 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
