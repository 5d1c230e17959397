"""One session of the studio: a file, an interview about it, choices, and what was released.

Pages only translate: every step is a method here, under one lock. Nothing here reads a row but the
release and the owner's comparison, which a person starts.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.data.files import remove, write_json
from understudy.data.forms import Form, lacks
from understudy.data.interview import Interview, resume_interview
from understudy.data.schema import check_columns
from understudy.engines.headers import read_columns
from understudy.engines.urls import is_url
from understudy.errors import InputError
from understudy.hub.studio.choices import Choices, Places, command_line, read_choices
from understudy.hub.studio.columns import (
    ColumnLine,
    column_lines,
    describe_columns,
    leave_out,
    take_suggestions,
)
from understudy.hub.studio.outlook import ReleaseOutlook, expect, price_of
from understudy.hub.studio.releasing import compare_with_real, release_table
from understudy.hub.tasks import Step, Task
from understudy.privacy.ledger import LedgerFile

DOWNLOADS = ("rows", "model", "report", "account", "schema")
"""What a download may be: each is made from the released model or from public facts alone."""


class Studio:
    """A file, and all that is done with it.

    Parameters
    ----------
    places
        The table, and the folder for what comes out of it.
    known
        What is known of the columns already (a schema, or a draft of one).
    accept
        What to do about a table that the ledger does not know.
    """

    def __init__(self, places: Places, known: Form | None = None, accept: Any = None) -> None:
        if is_url(places.table) or not Path(places.table).is_file():
            raise InputError(f"The studio takes one file; there is none at {places.table}.")
        if places.ledger is not None:
            LedgerFile(places.ledger).read()
        declared = read_columns(places.table, **places.reading)
        check_columns(tuple(declared), f"The table {places.table}")
        form = Form({name: {"kind": None} for name in declared})
        if known is not None:
            form = form.fill_from(known).check()
        self.places = places
        self.choices = Choices(accept=accept)
        self.interview = resume_interview(places.interview, Interview(form, declared))
        self.lock = threading.RLock()
        self.release: Task | None = None
        self.comparison: Task | None = None
        self._released: Choices | None = None
        self._offer = ""
        self._taken = ""

    # ---- what is public about the columns

    def answer(self, given: str) -> None:
        """Answer the question that is asked."""
        with self.lock:
            self.interview.answer(given)
            self._save()

    def back(self) -> None:
        """Take back what was done last."""
        with self.lock:
            self.interview.back()
            self._save()

    def skip(self) -> None:
        """Leave the columns that are asked about for later."""
        with self.lock:
            self.interview.skip()
            self._save()

    def accept_suggestions(self) -> None:
        """Take all suggestions for the columns that are asked about."""
        with self.lock:
            self.interview.accept()
            self._save()

    def same_as(self, name: str) -> None:
        """Describe the columns that are asked about like another one."""
        with self.lock:
            self.interview.same_as(name)
            self._save()

    def ask_about(self, names: Sequence[str]) -> None:
        """Ask about these columns, once for all of them."""
        with self.lock:
            self._reopen()
            self.interview.select_columns(names)
            self._save()

    def lines(self) -> list[ColumnLine]:
        """What is known of each column."""
        with self.lock:
            return column_lines(self.interview)

    def change_lines(self, given: Mapping[str, ColumnLine]) -> dict[str, str]:
        """Describe the columns whose lines differ from what is known.

        Returns what was not understood, by column; those stay as they were.
        """
        with self.lock:
            now = {line.name: line for line in column_lines(self.interview)}
            changed = {
                name: line
                for name, line in given.items()
                if name in now and now[name].state != "person" and not line.same_answers(now[name])
            }
            if changed:
                self._reopen()
            problems: dict[str, str] = {}
            for name, line in changed.items():
                # The facts of another kind that were suggested are not an answer to this one.
                if line.kind != now[name].kind and line.facts == now[name].facts:
                    line = replace(line, facts="")
                try:
                    describe_columns(self.interview, [name], line)
                except InputError as error:
                    problems[name] = str(error)
            self._save()
            return problems

    def describe(self, names: Sequence[str], line: ColumnLine) -> None:
        """Describe several columns alike."""
        with self.lock:
            self._reopen()
            describe_columns(self.interview, names, line)
            self._save()

    def leave_out(self, names: Sequence[str]) -> None:
        """Leave columns out of the synthetic table."""
        with self.lock:
            self._reopen()
            leave_out(self.interview, names)
            self._save()

    def take_suggestions(self, names: Sequence[str]) -> list[str]:
        """Describe columns as their names suggest; returns those whose names say too little."""
        with self.lock:
            self._reopen()
            rest = take_suggestions(self.interview, names)
            self._save()
            return rest

    def finish_columns(self, what: str) -> None:
        """End the interview: with all columns described, or with some left out or open.

        Parameters
        ----------
        what
            ``write``; for open columns ``leave out``, or ``draft`` to discover them at a price.
        """
        with self.lock:
            self._reopen()
            if not self.unit_known:
                raise InputError("First say who is protected.")
            open_columns = self.interview.open_columns
            if open_columns:
                if what not in ("leave out", "draft"):
                    raise InputError(
                        f"{len(open_columns)} columns are open: describe them, leave them out, or "
                        "let them be discovered at a price."
                    )
                self._skip_all()
                self.interview.answer(what)
            if not self.interview.finished:
                self._skip_all()
                self.interview.answer("write")
            self._save()

    @property
    def unit_known(self) -> bool:
        """Whether the questions about the table are answered."""
        question = self.interview.question
        return question is None or question.fact not in ("unit", "person", "max_rows_per_person")

    @property
    def described(self) -> bool:
        """Whether the interview is over."""
        return self.interview.finished

    def _skip_all(self) -> None:
        while (question := self.interview.question) is not None and question.columns:
            self.interview.skip()

    def _reopen(self) -> None:
        if self.interview.finished:
            self.interview.back()

    def _save(self) -> None:
        self.places.folder.mkdir(parents=True, exist_ok=True)
        write_json(self.places.interview, self.interview.to_dict(), "saved interview")

    # ---- the budget

    def choose(self, given: Mapping[str, str]) -> None:
        """Take what a form says about the release."""
        with self.lock:
            self.choices = read_choices(given, self.choices)

    def expect(self, given: Mapping[str, str] | None = None) -> ReleaseOutlook:
        """What the choices would buy, or others that are only tried."""
        with self.lock:
            tried = read_choices(given or {}, self.choices)
            return expect(self.interview.form, self.interview.unit, tried)

    def price(self) -> tuple[float, float]:
        """The (epsilon, delta) that the release will cost."""
        with self.lock:
            return price_of(self.interview.form, self.choices)

    def read_left(self) -> tuple[float, float] | None:
        """What the ledger file has left; None without one."""
        if self.places.ledger is None:
            return None
        return LedgerFile(self.places.ledger).left()

    def start_ledger(self, epsilon: str, delta: str) -> None:
        """Start a ledger file for the table, in the studio's folder."""
        with self.lock:
            if self.places.ledger is not None:
                raise InputError(f"There is a ledger already: {self.places.ledger}.")
            allowed = read_choices({"epsilon": epsilon, "delta": delta}, Choices())
            self.places.folder.mkdir(parents=True, exist_ok=True)
            unit: Any = "row" if self.interview.unit.person is None else "person"
            path = self.places.folder / "table.ledger"
            LedgerFile.create(path, allowed.epsilon, allowed.delta, unit=unit)
            self.places = replace(self.places, ledger=path)

    # ---- the release

    def make_offer(self) -> str:
        """A key for the page that shows the price: it pays for one release."""
        with self.lock:
            if not self.described:
                raise InputError("First describe the columns.")
            self._offer = secrets.token_urlsafe(16)
            return self._offer

    def take_offer(self, key: str) -> Task:
        """Release at the price that was shown; the same key again is the same release.

        Parameters
        ----------
        key
            Of the page that the person has clicked on.
        """
        with self.lock:
            if self.release is not None and secrets.compare_digest(key, self._taken):
                return self.release
            if self.running:
                raise InputError("A release is running; wait until it has ended.")
            if not self._offer or not secrets.compare_digest(key, self._offer):
                raise InputError("This page is out of date; look at the price again.")
            self._taken, self._offer = key, ""
            self.comparison = None
            self._released = self.choices
            self.release = self._start_release(self.choices)
            return self.release

    def _start_release(self, choices: Choices) -> Task:
        places, unit = self.places, self.interview.unit
        form = self.interview.form.to_dict()

        def work(progress: Any) -> Any:
            return release_table(
                places, choices, unit, form, progress=progress, notify=task.notes.append
            )

        task = Task(work)
        return task.start()

    @property
    def running(self) -> bool:
        """Whether a release is going on."""
        return self.release is not None and self.release.step.state == "running"

    @property
    def released(self) -> bool:
        """Whether there is something to show."""
        return self.release is not None and self.release.step.state == "done"

    @property
    def step(self) -> Step | None:
        """How far the release is."""
        return self.release.step if self.release is not None else None

    def keep_going(self) -> None:
        """Choose to go on where discovery finds little."""
        with self.lock:
            self.choices = replace(self.choices, keep_going=True)

    def accept_table(self, accept: Any) -> None:
        """Say what a table that the ledger does not know is."""
        with self.lock:
            if accept not in ("same_table", "new_rows"):
                raise InputError("A table is the same, or has new rows.")
            self.choices = replace(self.choices, accept=accept)

    def command(self) -> str:
        """The command line that does the same."""
        return command_line(self.places, self._released or self.choices, self.interview.unit)

    def compare(self) -> Task:
        """Compare the synthetic rows with the real ones, once; for the owner's eyes."""
        with self.lock:
            if self.release is None or not self.released:
                raise InputError("There is nothing to compare yet.")
            if self.comparison is None or self.comparison.step.state in ("stopped", "failed"):
                places, model = self.places, self.release.result
                self.comparison = Task(
                    lambda progress: compare_with_real(places, model, progress)
                ).start()
            return self.comparison

    def forget(self) -> None:
        """Throw the saved answers away: the schema holds them."""
        remove(self.places.interview)

    def open_columns(self) -> tuple[str, ...]:
        """The columns that lack something."""
        entries = self.interview.form.entries
        return tuple(name for name, entry in entries.items() if lacks(entry))
