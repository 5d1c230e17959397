"""The errors that a person sees: one sentence, what is wrong and what to do."""

from __future__ import annotations


class UnderstudyError(Exception):
    """Something the user can mend; its message is a full sentence for that person."""


class InputError(UnderstudyError):
    """A file, table, schema, model or parameter cannot be used as it is."""


class BudgetError(UnderstudyError):
    """A question would cost more than is left; no private row was touched to answer it."""
