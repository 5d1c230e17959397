"""Being stopped: Ctrl-C, an end that the system asks for, a terminal that goes away.

The first signal unwinds the program like any error, so that whoever has a temporary file removes
it; further ones are ignored meanwhile. What the ledger has reserved stays spent.
"""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN = 0.01  # seconds


class Stopped(KeyboardInterrupt):
    """A signal asks this process to end: for everybody in between, the same as Ctrl-C."""


@contextmanager
def stoppable() -> Iterator[None]:
    """While this lasts, a signal ends the program in one line on standard error and the usual exit
    status.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are not for other threads
        return
    received: list[int] = []

    def stop(number: int, frame: Any) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        if number != signal.SIGALRM:
            received.append(number)
        raise Stopped

    def stop_later(unraisable: Any) -> None:
        """Where the signal fell into code that cannot fail (a destructor), stop a moment later."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            signal.signal(signal.SIGALRM, stop)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            hook_before(unraisable)

    # A signal that is ignored (nohup, a background job) stays so.
    heeded = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, stop) for each in heeded}
    hook_before, sys.unraisablehook = sys.unraisablehook, stop_later
    try:
        yield
    except BaseException as error:
        # Libraries turn it into errors of their own (an import that fails, a query that was
        # interrupted).
        ended_well = isinstance(error, SystemExit) and not error.code
        if ended_well or not (received or isinstance(error, KeyboardInterrupt)):
            raise
        if received:
            number = received[0]
        else:
            number = signal.SIGINT
        sys.stderr.write(
            f"understudy: Stopped by {signal.Signals(number).name}; no file is half-written, and "
            f"what a ledger has reserved stays spent.\n"
        )
        raise SystemExit(128 + number) from None
    finally:
        sys.unraisablehook = hook_before
        for each, handler in before.items():
            signal.signal(each, handler)
