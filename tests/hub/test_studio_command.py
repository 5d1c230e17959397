"""``understudy studio`` as a process: what it prints, how it is reached, how it ends."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from studio_stories import write_patients

from running import run


@pytest.mark.thorough
def test_it_opens_on_this_machine_and_ends_by_a_signal(tmp_path: Path) -> None:
    table = write_patients(tmp_path / "patients.csv", rows=20)
    command = [sys.executable, "-m", "understudy", "studio", str(table), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as studio:
        assert studio.stderr is not None
        said = ""
        while "works once" not in said:
            line = studio.stderr.readline()
            assert line, said
            said += line.strip() + " "
        found = re.search(r"http://127\.0\.0\.1:\d+/start/\S+", said.replace("\n", ""))
        assert found is not None, said
        page = httpx.get(found[0], follow_redirects=True)
        assert page.status_code == 200
        assert "Who is protected" in page.text
        studio.send_signal(signal.SIGINT)
        assert studio.wait(20) == 128 + signal.SIGINT
    assert not (tmp_path / "patients-studio").exists()  # nothing was answered


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.csv"], "one file"),
        (["patients.csv", "--same-table"], "--ledger"),
        (["patients.csv", "--ledger", "none.ledger"], "none.ledger"),
        (["patients.csv", "--schema", "none.json"], "none.json"),
    ],
)
def test_mistakes_end_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    write_patients(tmp_path / "patients.csv", rows=5)
    monkeypatch.chdir(tmp_path)
    ran = run("studio", *arguments, "--no-browser")
    assert ran.status == 2
    assert said in " ".join(ran.err.split())
