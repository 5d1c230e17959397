"""The errors that a person sees: one sentence, what is wrong and what to do."""

from __future__ import annotations

MAX_MESSAGE_LENGTH = 2000


class UnderstudyError(Exception):
    """Something the user can fix; its message is a full sentence for that person.

    What is cited in it may come from a hostile file and be of any length: the middle of a long
    message is left out.
    """

    def __init__(self, message: object = "") -> None:
        message = str(message)
        if len(message) > MAX_MESSAGE_LENGTH:
            half = MAX_MESSAGE_LENGTH // 2
            message = f"{message[:half]} ... {message[-half:]}"
        super().__init__(message)


class InputError(UnderstudyError):
    """A file, table, schema, model or parameter cannot be used as it is."""


class BudgetError(UnderstudyError):
    """A question would cost more than is left; no private row was touched to answer it."""
