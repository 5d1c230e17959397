"""The page on encrypted tables is true: its three shells are run, in order, as real processes."""

from __future__ import annotations

import re
import shlex
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from running import COMMAND

pytestmark = pytest.mark.thorough

PAGE = Path(__file__).resolve().parents[2] / "docs" / "encrypted.md"


def command(line: str) -> list[str]:
    name, *arguments = shlex.split(line)
    assert name == "understudy", line
    return [str(COMMAND), *arguments]


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def start(line: str, port: int) -> subprocess.Popen[bytes]:
    with Path("service.err").open("wb") as log:
        process = subprocess.Popen([*command(line), "--listen", f"127.0.0.1:{port}"], stderr=log)
    for _ in range(600):
        if b"listens at" in Path("service.err").read_bytes():
            return process
        assert process.poll() is None, Path("service.err").read_text()
        time.sleep(0.1)
    raise AssertionError("the service did not start")


@pytest.mark.skipif(not PAGE.is_file(), reason="the docs are not here")
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    port = free_port()
    text = PAGE.read_text(encoding="utf-8").replace("8450", str(port))
    blocks = re.findall(r'^```(\w+) title="([^"]*)"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)
    assert {title for language, title, _ in blocks if language == "sh"} == {
        "owner",
        "service",
        "hub",
    }
    service = None
    try:
        for language, title, content in blocks:
            if language == "python":
                exec(compile(content, str(PAGE), "exec"), {})
            elif language in ("json", "toml"):
                Path(title).write_text(content)
            elif language == "console":
                line, refusal = content.removeprefix("$ ").split("\n", 1)
                ran = subprocess.run(command(line), capture_output=True, text=True, check=False)
                assert (ran.returncode, ran.stderr) == (2, refusal)
            elif " csp serve " in content:
                gathered = Path("uploads")
                gathered.mkdir()
                for path in tmp_path.glob("uploads-*.json"):  # the owners have gone offline
                    path.rename(gathered / path.name)
                for path in ("north.csv", "south.csv", "north.key", "south.key"):
                    Path(path).unlink()
                service = start(content, port)
            else:
                ran = subprocess.run(command(content), capture_output=True, text=True, check=False)
                assert ran.returncode == 0, (content, ran.stderr)
        assert Path("synthetic.csv").read_text().count("\n") > 4000
        assert not Path("more.csv").exists()
        assert '"asked": "ask"' in Path("plan.log").read_text()
        assert Path("tables.secret").stat().st_mode & 0o077 == 0
    finally:
        if service is not None:
            service.send_signal(signal.SIGTERM)
            assert service.wait(30) == 0
