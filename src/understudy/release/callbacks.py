"""What a long run calls on its way: sentences for the owner, and progress."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from understudy.data.encoding import Outside

Notify = Callable[[str], None]
"""Takes a sentence meant for the owner of the table, and for nobody else."""

Progress = Callable[[str, int, int], None]
"""Takes what is being done, how many steps are done, and of how many."""

ASKING = "asking"
"""What ``progress`` is given right before anything is spent, when the owner has had all notes."""


class OutsideNote(str):
    """The sentence on values outside a domain, with what it is about: many of them make a table.

    Attributes
    ----------
    outside
        The column, how many values, and what they count as.
    source
        The table that holds them; empty where there is but one.
    """

    outside: Outside
    source: str

    def __new__(cls, outside: Outside, source: str = "") -> OutsideNote:
        """The note of some values."""
        sentence = str(outside)
        if source:
            sentence = f"{source}: {outside}."
        note = super().__new__(cls, sentence)
        note.outside = outside
        note.source = source
        return note


class OwnerWarning(UserWarning):
    """Something that the owner of the table should know; it may tell of private rows."""


def warn_owner(sentence: str) -> None:
    """The default way to notify: a Python warning."""
    warnings.warn(sentence, OwnerWarning, stacklevel=2)


def ignore_notes(sentence: str) -> None:
    """Tells nobody: of a table that is made up, or whose owner has heard it before."""


def no_progress(what: str, done: int, steps: int) -> None:
    """Show nothing."""
