"""A guard where memory is limited: libraries that run out of it may crash, which no Python code can
catch.

The command then runs in a process of its own, and this one says what happened if that dies.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from understudy.machine.resources import memory_limit

OUT_OF_MEMORY = (
    "There is not enough memory, or there are too many threads, for this table; use fewer columns "
    "or a larger machine, or raise the limits (ulimit -v, ulimit -u)."
)
_CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)
_NO_THREAD = 127  # how the C library ends a process that has no room for what a thread needs
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def guard_against_crashes() -> None:
    """Go on in a process of our own where memory is limited; this returns in that process alone."""
    if memory_limit() is None:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)  # until it is clear who heeds them
    command = os.fork()
    if command == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
        return

    def forward(number: int, frame: Any) -> None:
        os.kill(command, number)

    for each in _FORWARDED:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
    _, status = os.waitpid(command, 0)
    ended = os.waitstatus_to_exitcode(status)
    if -ended in _CRASHES or ended == _NO_THREAD:
        sys.stderr.write(f"understudy: {OUT_OF_MEMORY}\n")
        ended = 2
    # The command has written all that there is to write.
    os._exit(ended if ended >= 0 else 128 - ended)
