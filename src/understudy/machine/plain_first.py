"""Plain NumPy while there is little to do, compiled kernels as soon as there is enough of it.

Importing numba and loading kernels that were compiled before takes about a second, and compiling
them many: on a new machine, in a container, with a home that cannot be written. A small table is
done in plain NumPy before that. So every kernel on the way of a release has a plain version that
gives the same result to the last bit, and the work that plain code has done is added up: once it
comes to about what the kernels would have cost, they take over. Which of them ran shows in nothing
but the time.

Time is what strangers see of a holder. What a call would take is judged by the sizes of its input,
the number of rows among them, so whoever answers strangers calls :func:`always_compile` first, and
then no number of rows decides anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

LOADING_SECONDS = 0.3
"""So much plain work, of one kind, is done before kernels are loaded that were compiled before."""

WORTH_SECONDS: float | None = None
"""Where it is given, so much is done before kernels are loaded or compiled, whichever it takes."""


class PlainFirst:
    """Some kernels, and how much work their plain versions have done.

    Parameters
    ----------
    load
        Imports the module of the kernels.
    source
        The file of that module.
    compiling
        CPU seconds that it takes to compile them: so much plain work is done before they are.
    """

    def __init__(self, load: Callable[[], Any], source: Path, *, compiling: float) -> None:
        self._load = load
        self._source = source
        self._compiling = compiling
        self._spent = 0.0

    def kernels_for(self, seconds: float) -> Any | None:
        """The module of the kernels, or None where plain code should do this piece of work.

        Parameters
        ----------
        seconds
            What the work takes in plain code, about. It must follow from the sizes of the input,
            not from a clock: the same run takes the same ways again.
        """
        self._spent += seconds
        if self._spent >= self._worth():
            return self._kernels
        return None

    @cached_property
    def _kernels(self) -> Any:
        return self._load()

    def _worth(self) -> float:
        if WORTH_SECONDS is not None:
            return WORTH_SECONDS
        if self._spent >= LOADING_SECONDS and self._compiled_before:
            return LOADING_SECONDS
        return self._compiling

    @cached_property
    def _compiled_before(self) -> bool:
        return is_compiled(self._source)


def is_compiled(source: Path) -> bool:
    """Whether numba seems to hold compiled kernels of a file: if that is wrong, it costs time.

    Where numba keeps them is told in :mod:`understudy.machine.compiled`.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        folders = list(Path(given).glob(f"{source.parent.name}_*"))
    else:
        users = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
        folders = [source.parent / "__pycache__", *users.glob(f"numba/{source.parent.name}_*")]
    return any(True for folder in folders for _ in folder.glob(f"{source.stem}.*.nbi"))


def always_compile() -> None:
    """Load kernels whatever there is to do, from now on, in this process."""
    global WORTH_SECONDS
    WORTH_SECONDS = 0.0


def thread_count() -> int:
    """How many threads kernels may use: ``NUMBA_NUM_THREADS``, else one per processor."""
    given = os.environ.get("NUMBA_NUM_THREADS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
