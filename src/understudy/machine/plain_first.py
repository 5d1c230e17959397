"""Plain NumPy while there is little to do, compiled kernels as soon as there is enough of it.

Importing numba takes half a second, loading kernels that were compiled before about as much again,
and compiling them many seconds: on a new machine, in a container, with a home that cannot be
written. A small table is done in plain NumPy before that. So every kernel on the way of a release
has a plain version that gives the same result to the last bit, and the work that plain code has
done is added up: once it comes to what the kernels would have cost, they take over. At worst that
doubles the time; which of them ran shows in nothing but the time.

Time is what strangers see of a holder. What a call would take is judged by the sizes of its input,
the number of rows among them, so whoever answers strangers calls :func:`always_compile` first, and
then no number of rows decides anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

WORTH_SECONDS = 1.0
"""So much plain work, of one kind, is done before its kernels are loaded."""


class PlainFirst:
    """Some kernels, and how much work their plain versions have done.

    Parameters
    ----------
    load
        Imports the module of the kernels.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
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
        if self._spent >= WORTH_SECONDS:
            return self._load()
        return None


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
