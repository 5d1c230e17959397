"""Work that takes a while, in a thread of its own, with progress that a page can show."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from understudy.errors import UnderstudyError
from understudy.release.callbacks import ASKING, Progress

TaskState = Literal["running", "done", "stopped", "failed"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Step:
    """How far a task is."""

    state: TaskState = "running"
    stage: str = "starting"
    done: int = 0
    steps: int = 1
    message: str = ""
    """Why it stopped, in a sentence for the owner."""
    asked: bool = False
    """Whether anything was asked about the rows."""

    @property
    def share(self) -> float:
        """The part of the current stage that is done, from 0 to 1."""
        return min(max(self.done / max(self.steps, 1), 0.0), 1.0)


class Task:
    """Work in a thread of its own.

    Parameters
    ----------
    work
        Given somewhere to report progress to; what it returns is the task's result.
    """

    def __init__(self, work: Callable[[Progress], Any]) -> None:
        self._work = work
        self._step = Step()
        self._lock = threading.Lock()
        self.result: Any = None
        self.notes: list[str] = []
        """Sentences for the owner's eyes."""
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def step(self) -> Step:
        """How far it is."""
        with self._lock:
            return self._step

    def start(self) -> Task:
        """Begin."""
        self._thread.start()
        return self

    def wait(self, seconds: float | None = None) -> Step:
        """Wait until it has ended, or for some seconds."""
        self._thread.join(seconds)
        return self.step

    def _run(self) -> None:
        try:
            self.result = self._work(self._progress)
        except UnderstudyError as error:
            notes = getattr(error, "__notes__", ())
            self._end("stopped", " ".join([str(error), *notes]))
        except MemoryError:
            self._end("failed", "There is not enough memory for this.")
        except Exception as error:
            # A traceback may hold values of private rows: the kind of the error must do.
            _log.error("A task has failed: %s", type(error).__name__)
            self._end("failed", f"Something went wrong inside ({type(error).__name__}).")
        else:
            self._end("done", "")

    def _progress(self, stage: str, done: int, steps: int) -> None:
        with self._lock:
            asked = self._step.asked or stage == ASKING
            if stage == ASKING:
                stage = self._step.stage
            self._step = replace(self._step, stage=stage, done=done, steps=steps, asked=asked)

    def _end(self, state: TaskState, message: str) -> None:
        with self._lock:
            self._step = replace(self._step, state=state, message=message)
