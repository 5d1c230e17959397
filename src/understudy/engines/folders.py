"""Private folders for coded copies, which are removed even if the run that made them is killed: by
the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "understudy-coded-"
_NEW = "understudy-new-"
_LOCK = "lock"


class PrivateFolder:
    """A new folder that only this user can open; those that killed runs left behind are removed
    first.

    Whoever uses a folder holds a lock on a file in it, which the system lets go of when the process
    ends, however that comes about. The number of a process would not tell: it may belong to another
    by now, or to one in a container.
    """

    def __init__(self) -> None:
        home = Path(tempfile.gettempdir())
        for left in home.glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):
                if left.lstat().st_uid == os.getuid():
                    _remove_unused(left)
        # It gets the name by which others look for it once it is locked: they must not take it for
        # left behind.
        new = Path(tempfile.mkdtemp(prefix=_NEW, dir=home))
        self._lock = os.open(new / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = new.rename(home / (PREFIX + new.name.removeprefix(_NEW)))

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _remove_unused(folder: Path) -> None:
    """Remove a folder unless its lock is held."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:  # whoever began to remove it did not come to the end
        shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
