"""What the owner is told before discovery is paid for."""

from __future__ import annotations

import pytest

from understudy.privacy.budget import Budget
from understudy.privacy.discovery_budget import Outlook
from understudy.release.preflight import describe_outlook, round_up_for_people


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (0.2, 1),
        (9.5, 10),
        (10, 10),
        (10.1, 11),
        (99, 99),
        (99.5, 100),
        (101, 110),
        (12_345, 13_000),
    ],
)
def test_two_digits_are_told_and_never_too_few(number: float, told: int) -> None:
    assert round_up_for_people(number) == told
    assert isinstance(round_up_for_people(number), int)


def outlook(**changes: float) -> Outlook:
    prices = dict.fromkeys(("budget", "top_up", "second_look", "numbers"), Budget(0.0))
    facts = {"rows": 1234.0, "category_rows": 41.2, "strength": 10.0} | changes
    return Outlook(columns=7, **prices, **facts)


def test_the_sentence_says_how_many_rows_each_thing_needs() -> None:
    assert describe_outlook(outlook()) == (
        "In 7 columns and about 1,300 rows, a category needs about 42 rows to be seen, and a range "
        "of numbers about 5,600 rows to be found"
    )


def test_what_can_be_found_follows_from_rows_and_strength() -> None:
    """A strength of 45 finds ranges; words are found where a quarter of the rows shows them."""
    assert [outlook(strength=s).finds_ranges for s in (44.99, 45.0)] == [False, True]
    assert [outlook(rows=100.0, category_rows=c).finds_categories for c in (25.0, 25.01)] == [
        True,
        False,
    ]
