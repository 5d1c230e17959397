"""The log of whoever computes: what was decided, computed and handed in, on disk before it happens.

One line of JSON each, chained by the digest of the line before it: a line that was changed or left
out shows. Nothing private is in it that the owner, whose file it is, does not have anyway.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from understudy.data.files import writable_file
from understudy.errors import InputError

START = "0" * 64
_LONGEST_LINE = 1 << 20


class NodeLog:
    """A file that only ever grows; where it cannot be written, nothing is computed.

    Parameters
    ----------
    path
        The file.
    notify
        Called with each line in words, for the owner's screen.
    """

    def __init__(self, path: str | Path, notify: Callable[[str], None] | None = None) -> None:
        self.path = writable_file(path, "log")
        self._notify = notify

    def __call__(self, event: str, **details: Any) -> None:
        """Write down what happens."""
        at = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        try:
            with open(self.path, "a+b", opener=_open_private) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                line = {"at": at, "event": event, **details, "previous": _last_digest(file)}
                file.write(json.dumps(line, ensure_ascii=True).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(
                f"The log {self.path} cannot be written ({error.strerror}); nothing is computed "
                "without it."
            ) from error
        if self._notify is not None:
            shown = {name: value for name, value in details.items() if _is_short(value)}
            words = ", ".join(f"{name} {value}" for name, value in shown.items())
            self._notify(f"{at[11:19]} {event}: {words}" if words else f"{at[11:19]} {event}")


def check_log(path: str | Path) -> int:
    """How many lines a log has; refuses one in which a line was changed, moved or left out."""
    before, count = START, 0
    with open(path, "rb") as file:
        for raw in file:
            count += 1
            try:
                chained = json.loads(raw)["previous"] == before
            except (ValueError, KeyError, TypeError):
                chained = False
            if not chained:
                raise InputError(f"The log {path} was changed at line {count}.")
            before = hashlib.sha256(raw.rstrip(b"\n")).hexdigest()
    return count


def _last_digest(file: Any) -> str:
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        return START
    file.seek(max(0, end - _LONGEST_LINE))
    tail = file.read()
    if not tail.endswith(b"\n"):
        # The power failed, or the disk was full, in the middle of a line. Nothing was done that it
        # tells of, since a line is on disk first: it goes.
        tail = tail[: tail.rfind(b"\n") + 1]
        file.truncate(max(0, end - _LONGEST_LINE) + len(tail))
        if not tail:
            return START
    last = tail[:-1].rpartition(b"\n")[2]
    return hashlib.sha256(last).hexdigest()


def _is_short(value: Any) -> bool:
    """Whether a detail goes on a line of the screen; all of them are in the file."""
    return value not in ("", None) and not isinstance(value, dict | list)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def describe_failure(error: BaseException) -> str:
    """Where something went wrong, without what it says: that may cite cells."""
    trace, place = error.__traceback__, ""
    for frame in _frames(trace):
        place = frame
    return f"{type(error).__name__}{place}"


def _frames(trace: Any) -> Iterator[str]:
    while trace is not None:
        code = trace.tb_frame.f_code
        yield f" in {code.co_name} ({Path(code.co_filename).name}:{trace.tb_lineno})"
        trace = trace.tb_next
