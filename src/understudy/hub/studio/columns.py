"""All columns at once: what is known of each in a line, and how a changed line is answered.

A line is read off the interview and written back through it, so that a page of a hundred columns
and a single question say the same. Lines hold names, declared types and answers: no cell is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from understudy.data.forms import ColumnFacts, lacks
from understudy.data.interview import Interview
from understudy.data.interview.guesses import guess_from_name
from understudy.data.interview.questions import (
    DATE_FORMATS,
    FACTS,
    KIND_CHOICES,
    MOMENT_FORMATS,
    TIME_FORMATS,
    column_question,
)
from understudy.errors import InputError

MAIN_FACT = {kind: facts[0] for kind, facts in FACTS.items()}
"""What a line's text is about, for each kind: a range, a list of values, a pattern."""

HINTS = {
    "integer": "0..120",
    "real": "0..1000",
    "categorical": "yes|no|unknown",
    "boolean": "no|yes",
    "date": "2020-01-01..2024-12-31",
    "datetime": "2020-01-01..2024-12-31",
    "time": "08:00..18:00",
    "identifier": "P-######",
    "text": "[text]",
}
"""An example of that text."""

WRITTEN = {
    kind: (formats[0][1], formats[1][0])
    for kind, formats in (
        ("date", DATE_FORMATS),
        ("time", TIME_FORMATS),
        ("datetime", MOMENT_FORMATS),
    )
}
"""Of dates and times: what ISO looks like, and another format as an example."""

LEFT_OUT: ColumnFacts = {"kind": "text", "replacement": None}


@dataclass(frozen=True, kw_only=True)
class ColumnLine:
    """What is known of a column, as one line of a form.

    Attributes
    ----------
    name, declared
        Its name, and the kind that its type declares, if it does.
    kind
        What it holds; empty where that is open.
    facts
        Its range, its values, its pattern: what :data:`MAIN_FACT` names.
    missing
        Whether cells can be empty: yes, no, or the mark that stands for it.
    format
        Of dates and times: how they are written.
    state
        ``described``, ``open``, ``later``, ``left out`` or ``person``.
    suggested
        Whether kind and facts are what its name suggests, not what anybody said.
    """

    name: str
    declared: str = ""
    kind: str = ""
    facts: str = ""
    missing: str = ""
    format: str = ""
    state: str = "open"
    suggested: bool = False

    @property
    def hint(self) -> str:
        """An example of the facts."""
        return HINTS.get(self.kind, "")

    def same_answers(self, other: ColumnLine) -> bool:
        """Whether another line says the same of the column."""
        return (self.kind, self.facts, self.missing, self.format) == (
            other.kind,
            other.facts,
            other.missing,
            other.format,
        )


def column_lines(interview: Interview) -> list[ColumnLine]:
    """A line for each column: what was said of it, else what its name suggests."""
    skipped, person = interview.skipped_columns, interview.unit.person
    return [
        _line(name, entry, interview.declared[name], later=name in skipped, person=name == person)
        for name, entry in interview.form.entries.items()
    ]


def _line(
    name: str, entry: ColumnFacts, declared: str | None, *, later: bool, person: bool
) -> ColumnLine:
    state = "described"
    if person:
        state = "person"
    elif lacks(entry):
        state = "later" if later else "open"
    elif entry == LEFT_OUT:
        state = "left out"
    shown, suggested = entry, False
    if entry.get("kind") is None:
        shown, suggested = _suggest(name, declared), True
    kind = shown.get("kind") or ""
    if not kind:
        return ColumnLine(name=name, declared=declared or "", state=state)
    said = {fact: _suggestion(fact, name, shown) for fact in FACTS[kind]}
    facts = said[MAIN_FACT[kind]]
    if state == "left out":
        facts = "nothing"
    return ColumnLine(
        name=name,
        declared=declared or "",
        kind=kind,
        facts=facts,
        missing=said.get("missing", ""),
        format=said.get("format", ""),
        state=state,
        suggested=suggested,
    )


def _suggest(name: str, declared: str | None) -> ColumnFacts:
    """What the declared type and the name suggest; of a declared text, the name says what it is."""
    guess = guess_from_name(name)
    kind = declared
    if declared in (None, "text"):
        kind = guess.kind or (declared and "categorical")
    return {"kind": kind}


def _suggestion(fact: str, name: str, entry: ColumnFacts) -> str:
    said = column_question(fact, (name,), entry, guess_from_name(name)).suggestion
    if fact == "missing" and "missing" not in entry and "kind" in entry and not lacks(entry):
        return "no"
    return said


def describe_columns(interview: Interview, names: Sequence[str], line: ColumnLine) -> None:
    """Answer the interview's questions about some columns with what a line says.

    An answer that is not understood is refused, and nothing about the columns changes.
    """
    others = tuple(name for name in names if name != interview.unit.person)
    if not line.kind:
        raise InputError("Say what the column holds first.")
    entry = interview.form.entries[others[0]] if others else {}
    answers = _answers(line, entry)
    interview.select_columns(list(names))
    interview.answer(line.kind)
    for _ in FACTS[line.kind]:
        question = interview.question
        if question is None or question.columns != others:
            return
        interview.answer(answers.get(question.fact, ""))


def _answers(line: ColumnLine, entry: ColumnFacts) -> Mapping[str, str]:
    """What a line answers to each question."""
    answers = {MAIN_FACT[line.kind]: line.facts, "missing": line.missing, "format": line.format}
    if entry.get("values") and "other" not in entry:
        answers["other"] = "none"  # as it was said before
    return answers


def leave_out(interview: Interview, names: Sequence[str]) -> None:
    """Leave columns out of the synthetic table."""
    describe_columns(interview, names, ColumnLine(name="", kind="text", facts="nothing"))


def take_suggestions(interview: Interview, names: Sequence[str]) -> list[str]:
    """Describe the columns as their names suggest, as far as that says enough.

    Returns the names of those that stay open: their names do not say enough.
    """
    rest = []
    lines = {line.name: line for line in column_lines(interview)}
    for name in names:
        line = lines[name]
        if line.state not in ("open", "later"):
            continue
        try:
            describe_columns(interview, [name], line)
        except InputError:
            rest.append(name)
    return rest


def list_kinds() -> tuple[tuple[str, str], ...]:
    """What a column can hold, with a word on each."""
    return KIND_CHOICES
