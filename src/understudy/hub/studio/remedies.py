"""What a person can do, in the studio, about a release that stopped.

A stop names its remedies as options of the command line. Here they are buttons and pages.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """Something to do: a page to go to, or a button.

    Attributes
    ----------
    label, why
        What it is called, and what it does.
    address
        A page; empty for a button.
    action
        What the button asks for.
    """

    label: str
    why: str
    address: str = ""
    action: str = ""


_BY_OPTION = (
    (
        ("--schema", "schema --blank", "codebook"),
        Remedy(
            label="Describe more columns",
            why="What you say in public costs nothing: the budget then goes to the rows.",
            address="/columns",
        ),
    ),
    (
        ("--epsilon", "--discovery", "allowance", "left"),
        Remedy(
            label="Choose another budget",
            why="A larger epsilon finds more and protects less.",
            address="/budget",
        ),
    ),
    (
        ("fewer columns",),
        Remedy(
            label="Leave columns out",
            why="Fewer columns share the same budget.",
            address="/columns",
        ),
    ),
    (
        ("--keep-going",),
        Remedy(
            label="Go on all the same",
            why="Columns that are not found hold nothing then, or may be mistaken.",
            action="keep_going",
        ),
    ),
    (
        ("--same-table",),
        Remedy(
            label="It is the same table in another form",
            why="Other columns or another format, the same rows. Releases still add up.",
            action="same_table",
        ),
    ),
    (
        ("--new-rows",),
        Remedy(
            label="The table has new rows",
            why="Rows were added, removed or changed. Releases still add up.",
            action="new_rows",
        ),
    ),
)


def find_remedies(message: str) -> tuple[Remedy, ...]:
    """The remedies that a message names; where it names none, the pages to look at."""
    found = [
        remedy for options, remedy in _BY_OPTION if any(option in message for option in options)
    ]
    if not found:
        found = [
            Remedy(label="Look at the columns", why="What was said of them.", address="/columns"),
            Remedy(label="Look at the budget", why="What was chosen.", address="/budget"),
        ]
    return tuple(found)
