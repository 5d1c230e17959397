"""The first questions of an interview, about the table, and the last one."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.data.interview.guesses import guess_from_name
from understudy.data.interview.questions import InterviewQuestion


def unit_question() -> InterviewQuestion:
    """Whether rows or persons are protected."""
    return InterviewQuestion(
        fact="unit",
        text="Who is protected: can one person have several rows in this table?",
        help="The guarantee is about what you name here.",
        options=(
            ("row", "no: each person has one row at most, or rows are not of persons"),
            ("person", "yes: a column says whose row it is"),
        ),
    )


def person_question(names: Sequence[str]) -> InterviewQuestion:
    """Which column tells persons apart."""
    likely = [name for name in names if guess_from_name(name).kind == "identifier"]
    return InterviewQuestion(
        fact="person",
        text="Which column says whose row it is?",
        help="Its values are never published.",
        options=tuple((name, "") for name in [*likely, *(n for n in names if n not in likely)]),
        suggestion=next(iter(likely), ""),
    )


def rows_question() -> InterviewQuestion:
    """How many rows of a person count."""
    return InterviewQuestion(
        fact="max_rows_per_person",
        text="How many rows of one person count, at most?",
        help="The noise grows with this number; rows of a person beyond it are left out.",
        suggestion="1",
    )


def last_question(waiting: Sequence[str], columns: int) -> InterviewQuestion:
    """Whether to write the schema, or what to do with columns that are still open."""
    if not waiting:
        return InterviewQuestion(
            fact="done",
            text=f"All {columns} columns are described. Write the schema?",
            help="Or choose columns to change what you said.",
            options=(("write", "write the schema"),),
            suggestion="write",
        )
    shown = ", ".join(waiting[:5])
    if len(waiting) > 5:
        shown += " ..."
    return InterviewQuestion(
        fact="open",
        text=f"Still open: {len(waiting)} of {columns} columns ({shown}). What about them?",
        options=(
            ("again", "go through them now"),
            ("leave out", "leave them out of the synthetic table"),
            ("draft", "write a draft with these left open"),
        ),
        suggestion="again",
    )
