"""One question in a ledger, and what may stand in one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from understudy.errors import InputError
from understudy.privacy.budget import total

UnitName = Literal["row", "person"]
"""What a guarantee protects: a row, or a person with all rows of theirs."""

MAX_ROWS_PER_PERSON = 1_000_000

MAX_STOPS, STOP_RATIO = 64, Fraction(9, 10)
"""A release that ends before its end pays for one of this many parts of its budget: all of it, this
share, this share of that, and so on.
"""

MAX_ENTRIES = 100_000
MAX_WORDING_LENGTH = 100_000
"""Of a ledger in a model file, and of a text in it, in characters."""


MAX_LEDGER_LINES = 1000
MAX_LEDGER_LETTERS = 100_000
"""How many questions of a release stand in a ledger file one by one, and how many letters they have
together; others are summed up. A release may ask very many, and the file must stay readable.
"""


def check_max_rows_per_person(most: Any) -> int:
    """Return the largest number of rows that a person may have if it can be one."""
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MAX_ROWS_PER_PERSON:
        raise InputError(
            f"The rows per person must be a whole number from 1 to {MAX_ROWS_PER_PERSON:,}, not "
            f"{most!r}."
        )
    return most


@dataclass(frozen=True)
class Entry:
    """One question that was put to the private rows, and what it cost."""

    question: str
    amount: float
    delta: float = 0.0
    mechanism: str = ""


def is_wording(text: Any) -> bool:
    """Whether it is a text, and no longer than one may be."""
    if isinstance(text, str) and len(text) > MAX_WORDING_LENGTH:
        raise ValueError(
            f"it holds a text of {len(text):,} characters; at most {MAX_WORDING_LENGTH:,} are "
            "allowed"
        )
    return isinstance(text, str)


def check_unit(unit: Any) -> UnitName:
    """Return what a guarantee protects if it can be that."""
    if unit not in ("row", "person"):
        raise InputError(f"unit must be row or person, not {unit!r}.")
    checked: UnitName = unit
    return checked


def check_public(taken_as_public: Any) -> tuple[str, ...]:
    """Return what was taken as public if it is texts."""
    if not isinstance(taken_as_public, list) or not all(
        isinstance(item, str) for item in taken_as_public
    ):
        raise TypeError("what was taken as public is not a list of texts")
    return tuple(taken_as_public)


def one_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    """Return a value if it is one of these."""
    if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
        raise ValueError(f"{value!r} is not one of {allowed}")
    return value


def list_questions(entries: list[Entry]) -> dict[str, Any]:
    """The questions of a release for the owner's file: the first one by one, the rest summed up by
    mechanism, exactly.
    """
    lines: list[Entry] = []
    letters = 0
    for entry in entries[:MAX_LEDGER_LINES]:
        letters += len(entry.question) + len(entry.mechanism)
        if letters > MAX_LEDGER_LETTERS:
            break
        lines.append(entry)
    account: dict[str, Any] = {"entries": [asdict(entry) for entry in lines]}
    rest: dict[str, list[Entry]] = {}
    for entry in entries[len(lines) :]:
        # Without the scale of the noise, which may be another for each question.
        rest.setdefault(entry.mechanism.partition(",")[0], []).append(entry)
    if rest:
        account["further"] = [
            {
                "mechanism": mechanism,
                "questions": len(alike),
                # As text: a sum may have more digits than a float.
                "amount": str(total([entry.amount for entry in alike])),
                "delta": str(total([entry.delta for entry in alike])),
            }
            for mechanism, alike in rest.items()
        ]
    return account
