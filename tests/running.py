"""The command line, run inside the test's own process (quick) or in one of its own (real)."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main

import understudy.cli
from understudy.cli.root import app

COMMAND = Path(sys.executable).with_name("understudy")


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


def run(*arguments: object, columns: int = 100) -> Ran:
    """What the installed command does, without the second that a new process takes."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)
    )
    with (
        mock.patch.object(sys, "argv", ["understudy", *map(str, arguments)]),
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", err),
        mock.patch.dict("os.environ", {"COLUMNS": str(columns)}),
        mock.patch.object(typer.main, "get_command", _get_command),
    ):
        try:
            understudy.cli.main()
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    return Ran(status, _text(out), _text(err))


def run_really(*arguments: object, env: Mapping[str, str] | None = None) -> Ran:
    """The installed command, in a process of its own."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, timeout=120, check=False, env=env
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


_make_command = typer.main.get_command
_commands: dict[tuple[object, ...], Any] = {}


def _get_command(wanted: typer.Typer) -> Any:
    """The command with its options, made once: a process has one command to make, but here all are
    loaded, and making them took longer than most tests.
    """
    if wanted is not app:
        return _make_command(wanted)
    key = (os.environ.get("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"), *_count_commands(app))
    if key not in _commands:
        _commands[key] = _make_command(app)
    return _commands[key]


def _count_commands(group: typer.Typer) -> Iterator[int]:
    """How many commands have entered themselves by now, in each group."""
    yield len(group.registered_commands)
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from _count_commands(inner.typer_instance)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode()
