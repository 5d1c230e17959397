"""Whether discovery is worth its price, told before it is paid; and whether it found enough for the
rest of the budget to be worth spending.

Both refusals follow from released values alone: the noisy number of rows, and what was found.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from understudy.errors import InputError
from understudy.privacy.discovery import Discovered, Discovery
from understudy.privacy.discovery_budget import Outlook
from understudy.privacy.ledger import Ledger

SCHEMA_REMEDY = "give a schema (--schema; `understudy schema --from` makes one of a codebook)"
REMEDIES = f"{SCHEMA_REMEDY}, a larger --discovery or --epsilon, or fewer columns"
DRAFT_REMEDIES = (
    "say what is public (--interactive, --from a codebook, or --blank for a form), or give a "
    "larger --epsilon or fewer columns"
)
"""What helps where the schema itself is being drafted."""


def describe_outlook(outlook: Outlook) -> str:
    """What discovery can find, in a sentence."""
    rows, category_rows, range_rows = (
        f"{round_up_for_people(number):,}"
        for number in (outlook.rows, outlook.category_rows, outlook.range_rows)
    )
    return (
        f"In {outlook.columns:,} columns and about {rows} rows, a category needs about "
        f"{category_rows} rows to be seen, and a range of numbers about {range_rows} rows to be "
        "found"
    )


def check_outlook(
    outlook: Outlook,
    discovery: Discovery,
    *,
    keep_going: bool | None = False,
    remedies: str = REMEDIES,
) -> None:
    """Stop where discovery would give junk: only the noisy number of rows has been paid for.

    ``keep_going`` is ``None`` where nobody can ask for it; ``remedies`` are those of the command.
    """
    draft, ledger = discovery.draft, discovery.asker.ledger
    only_words = draft.words.issuperset(draft.asked)
    if keep_going or (outlook.finds_categories and (only_words or outlook.finds_ranges)):
        return
    ledger.stop(discovery.count_price)
    raise InputError(
        f"{draft.source} has too few rows to discover what its columns hold at this budget. "
        f"{describe_outlook(outlook)}. Only the count of rows was paid for "
        f"({describe_price(ledger)}); "
        f"{_remedies(keep_going, 'all the same with --keep-going', remedies)}."
    )


def check_present(
    uncertain: Sequence[str],
    discovery: Discovery,
    *,
    keep_going: bool | None = False,
    remedies: str = REMEDIES,
) -> None:
    """Stop where a column has too few cells to tell its kind: counts alone have been paid for."""
    if not uncertain or keep_going:
        return
    draft, ledger = discovery.draft, discovery.asker.ledger
    ledger.stop(discovery.count_price)
    going_on = "with --keep-going: what such a column holds may then be mistaken"
    helps = _remedies(keep_going, going_on, remedies)
    if keep_going is not None and remedies == REMEDIES and set(draft.asked) - set(uncertain):
        helps = f"{_say_unread(uncertain)}; else {helps}"  # remarks in few rows are never more
    rows = round_up_for_people(discovery.rows)
    raise InputError(
        f"{draft.source}: about {rows:,} rows, less empty cells, are too few to tell at "
        f"this budget what {', '.join(uncertain)} {_holds(uncertain)}. Only counts "
        f"were paid for ({describe_price(ledger)}); "
        f"{helps}."
    )


def _say_unread(columns: Sequence[str]) -> str:
    """How to name columns that no budget finds anything in."""
    unread = " ".join(f"--text {shlex.quote(name)}" for name in columns)
    return (
        f"where a column holds free text or identifiers, say so ({unread}, or --identifier) and "
        "it is never read"
    )


def _holds(columns: Sequence[str]) -> str:
    if len(columns) == 1:
        return "holds"
    return "hold"


def check_words(
    hopeless: Sequence[str], discovery: Discovery, *, keep_going: bool | None = False
) -> None:
    """Stop where the words of a column are all too rare to be named: counts and kinds have been
    paid for, no words yet. Where no other column is left, there is nothing to go on with.
    """
    draft, ledger = discovery.draft, discovery.asker.ledger
    others = bool(discovery.hopeful or draft.known)
    if not others:
        gone = {*hopeless, *discovery.texts, *discovery.empty_columns}
        hopeless = [name for name in draft.asked if name in gone]
    if not hopeless or (keep_going and others):
        return
    ledger.stop(discovery.count_price)
    raise InputError(
        f"{draft.source}: no word of {', '.join(hopeless)} is in enough rows to be named. Only "
        f"counts and kinds were paid for ({describe_price(ledger)}); "
        f"{_remedies_for_empty(hopeless, keep_going, others=others)}."
    )


def describe_left_out(discovery: Discovery) -> list[str]:
    """Sentences about columns that a release goes on without, since no budget would find more."""
    said = []
    if discovery.empty_columns:
        names = ", ".join(discovery.empty_columns)
        said.append(f"{names}: empty in every row, as far as can be told; so in synthetic rows.")
    if discovery.texts:
        names = ", ".join(discovery.texts)
        said.append(
            f"{names}: most rows hold a word of their own, as free text and identifiers do; [text] "
            "in synthetic rows. --identifier numbers such a column instead; dates and numbers in "
            "an unusual notation need a format in a schema."
        )
    return said


def check_found(
    found: Discovered, discovery: Discovery, *, keep_going: bool | None = False
) -> None:
    """Stop where a column came back empty: the method's share of the budget is not spent. Where all
    did, there is nothing to go on with.
    """
    if not found.empty or (keep_going and found.schema.modelled):
        return
    draft, ledger = discovery.draft, discovery.asker.ledger
    ledger.stop(discovery.price)
    raise InputError(
        f"{draft.source}: {name_empty(found)} Only discovery was paid for "
        f"({describe_price(ledger)}); "
        f"{_remedies_for_empty(found.empty, keep_going, others=bool(found.schema.modelled))}."
    )


def _remedies_for_empty(columns: Sequence[str], keep_going: bool | None, *, others: bool) -> str:
    """What helps where columns came back empty.

    Most of them hold identifiers or free text: no budget finds words that are all rare.
    """
    if keep_going is None:
        return _remedies(None, "")
    if not others:
        return REMEDIES
    going_on = "with --keep-going: such a column then holds [text], or nothing, in every row"
    return f"{_say_unread(columns)}; else {_remedies(keep_going, going_on)}"


def _remedies(keep_going: bool | None, going_on: str, remedies: str = REMEDIES) -> str:
    """What helps, among the options that the command has."""
    if keep_going is None:
        return f"{SCHEMA_REMEDY}, a larger --epsilon, or fewer columns"
    return f"{remedies}, or go on {going_on}"


def describe_price(ledger: Ledger) -> str:
    """What a stopped release cost; every further run adds to it."""
    epsilon, delta = ledger.promise()
    if not epsilon:
        return "which is free where their number is public"
    return f"epsilon {epsilon:.2g}, delta {delta:.2g}; runs add up"


def name_empty(found: Discovered) -> str:
    """Which columns came back empty, in a sentence."""
    names = ", ".join(found.empty)
    return f"nothing in {names} stands out of the noise."


def round_up_for_people(number: float) -> int:
    """Two digits of a number are enough."""
    if number < 10:
        return math.ceil(number)
    unit = 10 ** (math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit
