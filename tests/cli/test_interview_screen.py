"""The interview on the screen: driven by keys without a terminal, and once in a real one."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import DataTable, Input, Static

from running import run
from understudy import Schema
from understudy.cli.interview import InterviewApp
from understudy.data.forms import Form
from understudy.data.interview import Interview, resume_interview
from understudy.errors import InputError

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

NAMES = ("patient_id", "age", "sex", *(f"score_{i}" for i in range(1, 41)), "[b]odd[/]\x1b")


def new_interview(names: tuple[str, ...] = NAMES) -> Interview:
    return Interview(Form({name: {"kind": None} for name in names}), {"age": "integer"})


def drive(
    app: InterviewApp, steps: Callable[[Any], Awaitable[None]], size: tuple[int, int] = (100, 30)
) -> None:
    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await steps(pilot)

    asyncio.run(main())


def text_of(app: InterviewApp, part: str) -> str:
    return str(app.query_one(f"#{part}", Static).render())


async def type_line(pilot: Any, line: str) -> None:
    pilot.app.query_one(Input).value = line
    await pilot.press("enter")
    await pilot.pause()


def test_forty_columns_in_one_go(tmp_path: Path) -> None:
    saved = tmp_path / "s.json.interview"
    app = InterviewApp(new_interview(), saved, "patients.csv")

    async def steps(pilot: Any) -> None:
        await pilot.press(*"person", "enter")
        assert "Which column says whose row" in text_of(app, "question")
        await pilot.press("enter")  # patient_id, by its name
        await type_line(pilot, "2")
        assert text_of(app, "about") == "age (declared as integer)"
        await pilot.press("ctrl+t")
        await pilot.pause()
        await type_line(pilot, "cat")
        await type_line(pilot, "F|M")
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert text_of(app, "about").startswith("40 columns at once: score_1, score_2")
        await type_line(pilot, "integer")
        await type_line(pilot, "nonsense")
        assert "is no range" in text_of(app, "complaint")
        await type_line(pilot, "0..10")
        await pilot.press("ctrl+b")
        await pilot.pause()
        assert "smallest" in text_of(app, "question")
        await type_line(pilot, "0..20")
        await type_line(pilot, "no")
        assert "43 of 44 columns described" in text_of(app, "progress")
        await type_line(pilot, "text")
        await type_line(pilot, "")
        assert "All 44 columns" in text_of(app, "question")
        await pilot.press("enter")
        await pilot.pause()

    drive(app, steps)
    assert app.return_value is True
    schema = app.interview.form.to_schema()
    assert len(schema) == 44
    assert schema["score_40"].to_dict()["max"] == 20
    assert app.interview.unit.max_rows_per_person == 2
    assert resume_interview(saved, new_interview()).finished


def test_columns_are_chosen_in_the_list() -> None:
    app = InterviewApp(new_interview(), None, "patients.csv")

    async def steps(pilot: Any) -> None:
        await type_line(pilot, "row")
        grid = app.query_one(DataTable)
        grid.focus()
        grid.move_cursor(row=1)
        await pilot.press("space", "space", "enter")
        await pilot.pause()
        assert text_of(app, "about") == "2 columns at once: age, sex"
        await pilot.press("ctrl+g")
        await type_line(pilot, "score_1*")
        assert text_of(app, "about").startswith("11 columns at once")
        await pilot.press("ctrl+g", "escape")
        await type_line(pilot, "boolean")
        await type_line(pilot, "")
        await type_line(pilot, "no")
        await pilot.press("ctrl+g")
        await type_line(pilot, "score_2*")
        await pilot.press("ctrl+l")
        await type_line(pilot, "score_1")
        assert app.interview.form.entries["score_29"]["kind"] == "boolean"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.interview.skipped_columns

    drive(app, steps)


def test_what_is_on_the_screen_fits_and_is_plain() -> None:
    app = InterviewApp(new_interview(), None, "a[b]c\x1b.csv")

    async def steps(pilot: Any) -> None:
        await type_line(pilot, "row")
        await pilot.press("ctrl+g")
        await type_line(pilot, "*odd*")
        assert text_of(app, "about") == "[b]odd[/]�"
        assert app.query_one(DataTable).row_count == 44
        assert app.query_one(Input).region.bottom <= 24  # the line to type on can be seen
        svg = app.export_screenshot()
        assert "\x1b" not in svg

    drive(app, steps, size=(80, 24))


def test_leaving_saves(tmp_path: Path) -> None:
    saved = tmp_path / "s.json.interview"
    app = InterviewApp(new_interview(), saved, "patients.csv")

    async def steps(pilot: Any) -> None:
        await type_line(pilot, "row")
        await pilot.press("ctrl+q")
        await pilot.pause()

    drive(app, steps)
    assert app.return_value is False
    question = resume_interview(saved, new_interview()).question
    assert question is not None
    assert question.columns == ("patient_id",)
    with pytest.raises(InputError, match="about other columns; remove it"):
        resume_interview(saved, new_interview(("a", "b")))


def test_refused_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b\n1,2\n")
    ran = run("schema", "t.csv", "--interactive", "-o", "s.json", columns=1000)
    assert (ran.status, "needs a terminal" in ran.err) == (2, True)
    ran = run("schema", "t.csv", "--interactive", columns=1000)
    assert (ran.status, "by -o FILE" in ran.err) == (2, True)


def test_in_a_real_terminal(tmp_path: Path) -> None:
    """The command itself, in a pseudo-terminal, from the table to the schema file."""
    (tmp_path / "t.csv").write_text("who,age,smoker\n1,SECRET77,yes\n")
    shown = in_terminal(
        [sys.executable, "-m", "understudy", "schema", "t.csv", "-i", "-o", "s.json"],
        tmp_path,
        [
            ("Who is protected", "person\r"),
            ("Which column says", "who\r"),
            ("How many rows", "3\r"),
            ("What does it hold", "\r"),
            ("smallest", "\r"),
            ("cells be empty", "no\r"),
            ("What does it hold", "boolean\r"),
            ("no and yes", "no|yes\r"),
            ("cells be empty", "no\r"),
            ("Write the schema", "\r"),
        ],
    )
    assert "SECRET77" not in shown
    assert re.search(
        r"understudy\s+synthesize\s+t.csv\s+--schema\s+s.json\s+--person\s+who\s+--max-rows-per-person"
        r"\s+3",
        shown,
    )
    assert json.loads((tmp_path / "s.json").read_text()) == {
        "attributes": {
            "who": {"kind": "identifier"},
            "age": {"kind": "integer", "min": 0, "max": 120},
            "smoker": {"kind": "boolean", "values": ["no", "yes"]},
        }
    }
    assert len(Schema.load(tmp_path / "s.json")) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.json", "t.csv"]


def in_terminal(command: list[str], folder: Path, talk: list[tuple[str, str]]) -> str:
    """What a program shows in a terminal to someone who types when they have read a prompt."""
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    program = subprocess.Popen(
        command, cwd=folder, env=env, stdin=slave, stdout=slave, stderr=slave, close_fds=True
    )
    os.close(slave)
    shown = unread = ""
    deadline = time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            ready, _, _ = select.select([master], [], [], 0.1)
            if ready:
                try:
                    data = os.read(master, 1 << 16).decode(errors="replace")
                except OSError:  # the terminal is closed
                    break
                if not data:
                    break
                shown += data
                unread += data
            plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", unread)
            if talk and talk[0][0] in plain:
                unread = ""
                os.write(master, talk.pop(0)[1].encode())
        assert program.wait(timeout=20) == 0, shown[-3000:]
    finally:
        program.kill()
        os.close(master)
    assert not talk, f"never asked: {talk[0][0]}"
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
