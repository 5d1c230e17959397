"""The command line, run inside the test's own process (quick) or in one of its own (real)."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import understudy.cli

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


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode()
