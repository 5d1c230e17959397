"""From a table to synthetic rows, for the commands that end there: what is read, and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.cli.checks import NO_LEDGER, check_distinct, check_output
from understudy.cli.sample import folder_of, write_rows
from understudy.cli.talk import Talk
from understudy.cli.unread_columns import Unread, load_public_facts
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.data.forms import Form
    from understudy.data.schema import Schema
    from understudy.models.model import Model
    from understudy.privacy.ledger import LedgerFile
    from understudy.synthesizers import Synthesizer


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What is read."""

    table: str
    schema: Path | None = None
    unread: Unread = field(default_factory=dict)
    engine: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """What is written, and where."""

    output: str = "-"
    to: str | None = None
    rows: int | None = None
    seed: int | None = None
    model: Path | None = None
    report: Path | None = None
    title: str = ""
    contact: str = ""
    partitions: int | None = None
    safe_for_spreadsheets: bool = False
    delimiter: str = ","

    @property
    def place(self) -> str:
        """The file or folder that the rows go to."""
        if self.partitions is not None:
            return folder_of(self.output)
        return self.output

    def check(self) -> None:
        """Refuse what could not be written, before anything is read."""
        from understudy.data.files import writable_file
        from understudy.data.streams import check_seed
        from understudy.models.documents import check_wanted_rows
        from understudy.release.targets import check_target

        if self.report is None and (self.title or self.contact):
            raise InputError("--title and --contact are for the report; give --report too.")
        if self.to is not None and self.safe_for_spreadsheets:
            raise InputError("--safe-for-spreadsheets is for CSV files; it does not go with --to.")
        if self.to is not None and (self.output != "-" or self.partitions is not None):
            raise InputError("The rows go to one place: give -o or --to, not both.")
        check_output(self.place, self.safe_for_spreadsheets)
        if self.to is not None:
            check_target(self.to)
        for path, what in ((self.model, "model"), (self.report, "report")):
            if path is not None:
                writable_file(path, what)
        if self.rows is not None:
            check_wanted_rows(self.rows)
        check_seed(self.seed)

    def write(self, released: Model, talk: Talk) -> None:
        """Write everything; the model goes first, so that a pipe that closes early does not lose
        what the budget was spent on.
        """
        from understudy.release.targets import write_to

        if self.model is not None:
            released.save(self.model)
        if self.report is not None:
            from understudy.reports.release import write_report

            write_report(released, self.report, title=self.title, contact=self.contact)
        if self.to is None:
            write_rows(
                released,
                self.place,
                self.rows,
                self.seed,
                talk,
                partitions=self.partitions,
                safe_for_spreadsheets=self.safe_for_spreadsheets,
                delimiter=self.delimiter,
            )
            return
        with talk.working("writing rows") as progress:
            write_to(
                released,
                self.to,
                self.rows,
                self.seed,
                lambda count: progress("writing rows", count, -1),
            )

    def say_places(self, talk: Talk) -> None:
        """Name what was written."""
        rows = self.to
        if rows is None and self.output != "-":
            rows = self.place
        places = (("Synthetic table", rows), ("Model", self.model), ("Report", self.report))
        for what, path in places:
            if path is not None:
                talk.say(f"{what}: {path}")


def run_synthesis(
    synthesizer: Synthesizer,
    inputs: Inputs,
    outputs: Outputs,
    *,
    ledger: LedgerFile | None,
    talk: Talk,
    explain: bool = False,
) -> None:
    """Check everything that can be checked, then read, learn, draw and write; files appear only at
    the end.
    """
    from understudy.data.schema import Schema
    from understudy.engines.headers import read_delimiter

    outputs.check()
    _check_books(inputs, outputs, ledger)
    schema = load_public_facts(inputs.schema, inputs.unread)
    if (
        synthesizer.name == "random"
        and outputs.rows is None
        and synthesizer.neighbours == "add_remove"
    ):
        raise InputError(
            "The random method measures nothing, not even the number of rows; say how many by "
            "--rows."
        )
    outputs = replace(outputs, delimiter=read_delimiter(inputs.table, **inputs.reading))
    released = _learn(synthesizer, inputs, schema, ledger=ledger, talk=talk, explain=explain)
    outputs.write(released, talk)
    talk.say(released.ledger.statement())
    if ledger is None:
        talk.say(NO_LEDGER)
    if not isinstance(schema, Schema):
        _say_undiscovered(released, schema, talk)
    outputs.say_places(talk)


def _check_books(inputs: Inputs, outputs: Outputs, ledger: LedgerFile | None) -> None:
    """No file is two things at once, and the ledger can be read, before a row is."""
    from understudy.engines.urls import is_url

    table = None
    if not is_url(inputs.table):
        table = inputs.table
    book = None
    if ledger is not None:
        book = ledger.path
    check_distinct(table, outputs.place, outputs.model, outputs.report, book, inputs.schema)
    if ledger is not None:
        ledger.read()


def _learn(
    synthesizer: Synthesizer,
    inputs: Inputs,
    schema: Schema | Form | None,
    *,
    ledger: LedgerFile | None,
    talk: Talk,
    explain: bool,
) -> Model:
    """Fit the method, and say what the owner should know once nothing can be refused any more."""
    from understudy.release.callbacks import ASKING

    notes: list[str] = []
    plan = None
    if explain:
        plan = notes.append

    def say_notes() -> None:
        talk.notes(notes)
        notes.clear()

    with talk.working("reading and learning") as show:

        def progress(stage: str, done: int, steps: int) -> None:
            if stage == ASKING:  # not before: a run that is refused says why, and nothing else
                say_notes()
            else:
                show(stage, done, steps)

        released = synthesizer.fit(
            inputs.table,
            schema,
            ledger=ledger,
            notify=notes.append,
            progress=progress,
            engine=inputs.engine,
            explain=plan,
            **inputs.reading,
        )
    say_notes()
    return released


def _say_undiscovered(released: Any, form: Form | None, talk: Talk) -> None:
    """A column in which nothing was found comes out as text; nobody should have to wonder why."""
    said: Mapping[str, Any] = {}
    if form is not None:
        said = form.entries
    names = [
        attribute.name
        for attribute in released.schema
        if attribute.kind == "text" and said.get(attribute.name, {}).get("kind") != "text"
    ]
    if names:
        talk.say(
            f"{', '.join(names)}: [text], or nothing, in every row; nothing was seen there but "
            "empty cells, free text or noise. If there is more, describe the column in a schema "
            "(understudy schema --blank)."
        )
