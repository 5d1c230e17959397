"""The lock of an owner's file: one writer at a time, and who it is."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from understudy.errors import InputError

NOTHING_ASKED = "nothing was asked"
PRICE_STAYS = "the whole price stays on the books"
"""How errors end that come before anything is asked, and afterwards."""

_SHORT_PAUSE, _LONG_PAUSE = 0.25, 0.5


@contextlib.contextmanager
def hold_lock(
    path: Path, wait: float, notify: Callable[[str], None], outcome: str
) -> Iterator[None]:
    """Hold the lock of a file; ``outcome`` is what an error says of what has happened so far.

    Parameters
    ----------
    path
        The file that is locked.
    wait
        For how many seconds somebody else may hold it.
    notify
        Called with a sentence, once, when there is somebody to wait for.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(
            f"The ledger {path} cannot be locked ({error.strerror}); {outcome}."
        ) from error
    try:
        _wait_for(handle, path, wait, notify, outcome)
        if not lock.exists() or not os.path.samestat(os.fstat(handle), lock.stat()):
            raise InputError(f"The lock of the ledger {path} was taken away meanwhile; {outcome}.")
        if path.exists() and path.stat().st_nlink > 1:
            raise InputError(
                f"The ledger {path} has two names, which would each count for themselves; keep one."
            )
        _sign(handle, _myself())
        try:
            yield
        finally:
            _sign(handle, b"")
    finally:
        os.close(handle)


def _wait_for(
    handle: int, path: Path, wait: float, notify: Callable[[str], None], outcome: str
) -> None:
    """Take the lock; while somebody else has it, say who, and give up in the end."""
    until = time.monotonic() + wait
    pause, told = 0.001, False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            return
        if time.monotonic() >= until:
            advice = "wait longer by --wait SECONDS"
            if outcome == NOTHING_ASKED:  # else a second try would be paid for again
                advice = f"try again when it has ended, or {advice}"
            raise InputError(
                f"The ledger {path} is locked by {_name_lock_owner(handle)}, which has not let go "
                f"of it for {wait:g} s; {advice}. {outcome.capitalize()}."
            )
        if pause >= _SHORT_PAUSE and not told:  # others hold it for a moment only
            told = True
            notify(
                f"Waiting up to {wait:g} s for the ledger {path}, which is locked by "
                f"{_name_lock_owner(handle)}."
            )
        time.sleep(pause)
        pause = min(2 * pause, _LONG_PAUSE)


def _myself() -> bytes:
    """Who holds a lock, for others who wait for it: never its arguments, which may name tables."""
    program = Path(sys.argv[0] if sys.argv else "").name.replace("__main__.py", "understudy")
    words = [program, *sys.argv[1:2]]
    command = " ".join(word for word in words if word.isprintable() and "/" not in word)
    signature = {"pid": os.getpid(), "host": socket.gethostname(), "command": command[:80]}
    return json.dumps(signature).encode()


def _sign(handle: int, signature: bytes) -> None:
    """Write into the lock who holds it; a disk that refuses that is no reason to fail."""
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, signature, 0)


def _name_lock_owner(handle: int) -> str:
    """Who holds a lock, as far as it says, in words."""
    try:
        signature = json.loads(os.pread(handle, 4096, 0))
        pid, host, command = (signature[name] for name in ("pid", "host", "command"))
        if host == socket.gethostname():
            os.kill(pid, 0)  # still there? else whoever holds the lock has not signed yet
    except PermissionError:
        pass  # it is there, and somebody else's
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return "another process, which does not say who it is"
    if command:
        name = f" ({command})"
    else:
        name = ""
    return f"process {pid} on {host}{name}"
