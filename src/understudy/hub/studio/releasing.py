"""Work that takes a while: a release, and the comparison with the real table. One at a time each,
in a thread of its own, with progress that a page can show.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from understudy.data.files import write_json
from understudy.data.interview import Unit
from understudy.data.read_options import ReadOptions
from understudy.data.tables import read_table
from understudy.errors import UnderstudyError
from understudy.hub.studio.choices import Choices, Places
from understudy.models.model import Model
from understudy.privacy.ledger import LedgerFile
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
            _log.error("A task of the studio has failed: %s", type(error).__name__)
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


def release_table(
    places: Places,
    choices: Choices,
    unit: Unit,
    form: Mapping[str, Any],
    *,
    progress: Progress,
    notify: Callable[[str], None],
) -> Model:
    """Release as ``understudy synthesize`` does, and write everything into the studio's folder.

    Parameters
    ----------
    places, choices, unit
        What is read and written, at which price, and who is protected.
    form
        What is public about the table, as it stands in a file.
    progress, notify
        Called on the way, and with sentences for the owner.
    """
    places.folder.mkdir(parents=True, exist_ok=True)
    write_json(places.schema, form, "schema", indent=2)
    ledger = None
    if places.ledger is not None:
        ledger = LedgerFile(places.ledger, accept=choices.accept, notify=notify)
    model = choices.make_method(unit).fit(
        places.table,
        places.schema,
        ledger=ledger,
        notify=notify,
        progress=progress,
        **places.reading,
    )
    # The model first: what the budget was spent on is not lost if the rest cannot be written.
    model.save(places.model)
    write_json(places.account, model.ledger.to_dict(), "ledger", indent=1)
    from understudy.reports.release import write_report

    write_report(model, places.report, title=choices.title, contact=choices.contact)
    wanted = max(choices.rows or model.draws or model.rows or 1, 1)
    written = 0

    def count_rows(count: int) -> None:
        nonlocal written
        written += count
        progress("drawing synthetic rows", written, wanted)

    progress("drawing synthetic rows", 0, wanted)
    model.write(places.rows, choices.rows, None, count_rows)
    return model


def compare_with_real(places: Places, model: Model, progress: Progress) -> str:
    """The owner's report: computed from the real rows, so that it is kept in memory alone."""
    from understudy.evaluation import evaluate
    from understudy.reports.owner import owner_report

    real: Any = Path(places.table)
    if ReadOptions(**places.reading) != ReadOptions():
        real = read_table(places.table, **places.reading)
    found = evaluate(real, places.rows, model.schema, model=model, progress=progress)
    return str(owner_report(found, model=model))
