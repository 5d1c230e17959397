"""What all operations of a hub have in common: whom they protect, what running one takes, and the
folder of files that it leaves.
"""

from __future__ import annotations

import os
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from understudy.data.files import write_json
from understudy.data.frames import Frame
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.privacy.budget import Neighbours, check_neighbours
from understudy.privacy.ledger import Ledger, LedgerFile, UnitName, check_max_rows_per_person
from understudy.release.callbacks import Notify, Progress, no_progress
from understudy.reports.release import About
from understudy.synthesizers import Synthesizer

MODEL_NAME, ROWS_NAME, LEDGER_NAME, REPORT_NAME, USE_NAME, ANSWERS_NAME = (
    "model.json",
    "synthetic",
    "ledger.json",
    "report.html",
    "use.json",
    "answers.json",
)
"""The files of a release; that of the rows ends in their format."""


@dataclass(frozen=True, kw_only=True)
class Protected:
    """Whom all releases of a data set protect.

    Parameters
    ----------
    neighbours
        "add_remove" or "replace"; the same for all releases of a data set.
    person
        The column that says whose row it is.
    max_rows_per_person
        How many rows of a person count.
    """

    neighbours: Neighbours = "add_remove"
    person: str | None = None
    max_rows_per_person: int = 1

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        check_max_rows_per_person(self.max_rows_per_person)

    @property
    def unit(self) -> UnitName:
        """A row, or a person with all rows of theirs."""
        if self.person is None and self.max_rows_per_person == 1:
            return "row"
        return "person"


@dataclass(frozen=True, kw_only=True)
class TermsOfUse:
    """What travels with every release: what the data may be used for, and whom to ask."""

    title: str = ""
    purpose: str = ""
    conditions: str = ""
    contact: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As it stands in ``use.json``."""
        return {"understudy_use": 1, **asdict(self)}

    def about(self) -> About:
        """As a report tells it."""
        return About(
            title=self.title,
            contact=self.contact,
            purpose=self.purpose,
            conditions=self.conditions,
        )


@dataclass(frozen=True, kw_only=True)
class ReleaseFiles:
    """What an operation leaves: files that may go out, and what they cost.

    Parameters
    ----------
    folder
        Where they are.
    names
        Their names in it.
    ledger
        What was spent.
    """

    folder: Path
    names: tuple[str, ...]
    ledger: Ledger

    def paths(self) -> dict[str, Path]:
        """The files by their names."""
        return {name: self.folder / name for name in self.names}


@dataclass(frozen=True, kw_only=True)
class Run:
    """What running an operation takes beside its spec.

    Parameters
    ----------
    rows
        The private rows: a file, a frame, or a URL.
    schema
        The data set's schema.
    protected
        Whom the guarantee protects.
    ledger_file
        The ledger of whoever computes.
    folder
        Where the files go; it is new, and appears only when all of them are written.
    use
        What travels with the release.
    progress, notify
        Called with progress, and with sentences for the owner's eyes alone.
    methods
        Methods that are not in the registry: those of foreign algorithms, by digest.
    seed
        By which synthetic rows are drawn from the model; it has no bearing on privacy.
    """

    rows: Frame
    schema: Schema
    ledger_file: LedgerFile
    folder: Path
    protected: Protected = field(default_factory=Protected)
    use: TermsOfUse = field(default_factory=TermsOfUse)
    progress: Progress = no_progress
    notify: Notify = lambda sentence: None
    methods: Mapping[str, type[Synthesizer]] = field(default_factory=dict)
    seed: int | None = None


class OperationRun(ABC):
    """One of the operations, read from a spec."""

    name: ClassVar[str]
    epsilon: float
    delta: float

    @abstractmethod
    def check(self, schema: Schema, protected: Protected) -> None:
        """Refuse what cannot be done with the schema; reads no row."""

    @abstractmethod
    def price(self) -> tuple[float, float]:
        """The whole (epsilon, delta), debited before it starts."""

    @abstractmethod
    def preview(self, schema: Schema, protected: Protected, rows: int | None) -> dict[str, Any]:
        """What to expect of it; ``rows`` is a public guess of how many there are."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The spec, with all that was left out."""

    @abstractmethod
    def compute(self, run: Run) -> Any:
        """Ask the rows: a model, or the document of answers."""

    @abstractmethod
    def write(self, made: Any, folder: Path, use: TermsOfUse, seed: int | None) -> Ledger:
        """Write what was made, and what follows from it, into a folder."""

    def run(self, run: Run) -> ReleaseFiles:
        """Compute and write; the folder appears whole or not at all."""
        self.check(run.schema, run.protected)
        if run.folder.exists():
            raise InputError(f"There is something at {run.folder} already; name a new folder.")
        beside = run.folder.with_name(f".{secrets.token_hex(4)}.{run.folder.name}")
        beside.mkdir(mode=0o700, parents=True)
        try:
            made = self.compute(run)
            run.progress("writing the release", 0, 1)
            ledger = write_release(self, made, beside, run.use, run.seed)
            names = tuple(sorted(path.name for path in beside.iterdir()))
            os.replace(beside, run.folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        return ReleaseFiles(folder=run.folder, names=names, ledger=ledger)


def write_release(
    operation: OperationRun, made: Any, folder: Path, use: TermsOfUse, seed: int | None = None
) -> Ledger:
    """Write all files of a release into a folder: those of the operation, the ledger, the use."""
    ledger = operation.write(made, folder, use, seed)
    write_json(folder / LEDGER_NAME, ledger.to_dict(), "ledger")
    write_json(folder / USE_NAME, use.to_dict(), "use", indent=2)
    return ledger
