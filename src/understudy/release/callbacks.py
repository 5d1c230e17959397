"""What a long run calls on its way: sentences for the owner, and progress."""

from __future__ import annotations

import warnings
from collections.abc import Callable

Notify = Callable[[str], None]
"""Takes a sentence meant for the owner of the table, and for nobody else."""

Progress = Callable[[str, int, int], None]
"""Takes what is being done, how many steps are done, and of how many."""

ASKING = "asking"
"""What ``progress`` is given right before anything is spent, when the owner has had all notes."""


class OwnerWarning(UserWarning):
    """Something that the owner of the table should know; it may tell of private rows."""


def warn_owner(sentence: str) -> None:
    """The default way to notify: a Python warning."""
    warnings.warn(sentence, OwnerWarning, stacklevel=2)


def no_progress(what: str, done: int, steps: int) -> None:
    """Show nothing."""
