"""What the owner chooses of a release, and the command line that does the same."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from understudy.data.interview import Unit
from understudy.errors import InputError
from understudy.privacy.budget import check_delta, check_epsilon
from understudy.privacy.ledger import Accepted
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.registry import DEFAULT, find_method, methods_for

MAX_SYNTHETIC_ROWS = 10**9


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The budget of a release, its method, and how the result is called.

    Attributes
    ----------
    epsilon, delta
        The price.
    method
        Its name in the registry.
    about_rows
        About how many rows the table has: a public guess, for the plan alone.
    rows
        How many synthetic rows are drawn; as many as the original where not given.
    keep_going
        Go on where discovery finds little.
    accept
        What to do about a table that the ledger does not know.
    title, contact
        For the report.
    """

    epsilon: float = 1.0
    delta: float = 0.0
    method: str = DEFAULT
    about_rows: int = 10_000
    rows: int | None = None
    keep_going: bool = False
    accept: Accepted | None = None
    title: str = ""
    contact: str = ""

    def check(self) -> Choices:
        """Return the choices; an error names the one that cannot be."""
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        if self.method not in {method.name for method in methods_for("central")}:
            raise InputError(f"There is no method {self.method[:40]!r}.")
        if self.method == "random" and self.rows is None:
            raise InputError(
                "The random method measures nothing, not even the number of rows; say how many."
            )
        for number, what in ((self.about_rows, "rows to plan for"), (self.rows, "synthetic rows")):
            if number is not None and not 1 <= number <= MAX_SYNTHETIC_ROWS:
                raise InputError(f"The number of {what} must be from 1 to {MAX_SYNTHETIC_ROWS:,}.")
        return self

    def make_method(self, unit: Unit) -> Synthesizer:
        """The method, as the command line would make it."""
        return find_method(self.method).make(
            epsilon=self.epsilon,
            delta=self.delta,
            keep_going=self.keep_going,
            person=unit.person,
            max_rows_per_person=unit.max_rows_per_person,
        )


def read_choices(given: Mapping[str, str], now: Choices) -> Choices:
    """What a form says, on top of what was chosen before."""
    changes: dict[str, Any] = {}
    for name in ("epsilon", "delta"):
        if name in given:
            changes[name] = _number(given[name], name)
    for name in ("about_rows", "rows"):
        if name in given:
            changes[name] = _whole(given[name], name)
    if changes.get("about_rows", 0) is None:
        raise InputError("Say about how many rows the table has; a guess will do.")
    for name in ("method", "title", "contact"):
        if name in given:
            changes[name] = given[name].strip()[:200]
    return replace(now, **changes).check()


def _number(text: str, what: str) -> float:
    try:
        return float(text.strip() or "0")
    except ValueError:
        raise InputError(f"The {what} must be a number, not {text[:20]!r}.") from None


def _whole(text: str, what: str) -> int | None:
    bare = text.replace(",", "").replace("_", "").replace(" ", "")
    if not bare:
        return None
    if not bare.isascii() or not bare.isdigit() or len(bare) > 12:
        named = what.replace("_", " ")
        raise InputError(f"For {named}, give a whole number above 0, not {text[:20]!r}.")
    return int(bare)


@dataclass(frozen=True, kw_only=True)
class Places:
    """Which files a release reads and writes."""

    table: str
    folder: Path
    ledger: Path | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def interview(self) -> Path:
        """Where the answers are kept until the release."""
        return self.folder / "interview.json"

    @property
    def schema(self) -> Path:
        """What is public about the table."""
        return self.folder / "schema.json"

    @property
    def model(self) -> Path:
        """The released model."""
        return self.folder / "model.json"

    @property
    def rows(self) -> Path:
        """The synthetic rows."""
        return self.folder / "synthetic.csv"

    @property
    def report(self) -> Path:
        """The report that may go out with them."""
        return self.folder / "report.html"

    @property
    def account(self) -> Path:
        """The ledger of the release."""
        return self.folder / "ledger.json"


def command_line(places: Places, choices: Choices, unit: Unit) -> str:
    """The command that does the same as the studio's button."""
    words = ["understudy", "synthesize", places.table]
    words += ["--schema", str(places.schema), "--epsilon", repr(choices.epsilon)]
    if choices.delta:
        words += ["--delta", repr(choices.delta)]
    if choices.method != DEFAULT:
        words += ["--method", choices.method]
    if unit.person is not None:
        words += ["--person", unit.person, "--max-rows-per-person", str(unit.max_rows_per_person)]
    if choices.keep_going:
        words.append("--keep-going")
    words += _reading_words(places.reading)
    if places.ledger is not None:
        words += ["--ledger", str(places.ledger)]
        if choices.accept is not None:
            words.append({"same_table": "--same-table", "new_rows": "--new-rows"}[choices.accept])
    if choices.rows is not None:
        words += ["--rows", str(choices.rows)]
    words += ["--model", str(places.model), "--report", str(places.report)]
    for option, text in (("--title", choices.title), ("--contact", choices.contact)):
        if text:
            words += [option, text]
    return shlex.join([*words, "-o", str(places.rows)])


def _reading_words(reading: Mapping[str, Any]) -> list[str]:
    """How the file is read, as options."""
    words = []
    if reading.get("header") is not None:
        words.append("--header" if reading["header"] else "--no-header")
    for name in ("encoding", "table_name"):
        if reading.get(name):
            words += [f"--{name.replace('_', '-')}", str(reading[name])]
    if reading.get("quote", '"') != '"':
        words += ["--quote", str(reading["quote"])]
    if reading.get("missing_marks"):
        words += ["--missing-marks", ",".join(reading["missing_marks"])]
    return words
