"""While a job is computed: whoever hands it out hears what is being done, and can stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from understudy.errors import InputError

BEAT_SECONDS = 10.0
"""How often it is told that a job is still being computed."""

TICK_SECONDS = 0.5
"""How soon a new step is told."""

Tell = Callable[[str, int, int], bool]
"""Takes a step, how much of it is done, and of how much; whether the job is to go on."""


class JobStopped(InputError):  # noqa: N818 - what happened
    """The hub wants a job no more."""


class Beats:
    """Tells now and then how far a job is, and hears when it must stop.

    Parameters
    ----------
    tell
        How the hub is told; it raises nothing.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._latest = ("starting", 0, 0)
        self._stopped = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Beats:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def progress(self, step: str, done: int, steps: int) -> None:
        """Note what is being done; raises where the hub wants the job no more."""
        self._latest = (step, done, steps)
        if self._stopped.is_set():
            raise JobStopped("The hub wants the job no more.")

    def _beat(self) -> None:
        told, at = None, -BEAT_SECONDS
        while True:
            latest, now = self._latest, time.monotonic()
            if latest != told or now - at >= BEAT_SECONDS:
                told, at = latest, now
                if not self._tell(*latest):
                    self._stopped.set()
                    return
            if self._over.wait(TICK_SECONDS):
                return
