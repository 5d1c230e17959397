"""Where a release stops before its budget is wasted: what it has paid for, and what it says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from understudy.errors import InputError
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.release.preflight import (
    check_found,
    check_outlook,
    check_present,
    check_words,
    describe_price,
)

COUNTED, FOUND = Budget(0.25), Budget(0.75)
"""What could be asked until columns are counted, and until they are described."""


def discovery(asked: tuple[str, ...] = ("a", "b"), **draft: Any) -> Any:
    """Two columns are asked about, and 0.2 of epsilon 1 is spent."""
    ledger = Ledger(1.0)
    ledger.debit("number of rows", Budget(0.2), "m")
    known = {"known": {}, "words": frozenset(), **draft}
    return SimpleNamespace(
        draft=SimpleNamespace(source="t.csv", asked=asked, **known),
        asker=SimpleNamespace(ledger=ledger),
        count_price=COUNTED,
        price=FOUND,
        rows=1234.0,
        hopeful=(),
        texts=(),
        empty_columns=(),
    )


def stops_at(price: Budget | None, check: Any, run: Any, *given: Any, **options: Any) -> str:
    """Run a check, which stops at a price, or goes on; returns what it says."""
    ledger = run.asker.ledger
    if price is None:
        check(*given, run, **options)
        assert ledger.promise() == (1.0, 0.0)
        ledger.debit("something else", Budget(0.1), "m")
        return ""
    with pytest.raises(InputError) as caught:
        check(*given, run, **options)
    assert ledger.promise() == (0.2, 0.0)
    assert ledger.stopped_at is not None
    assert ledger.stopped_at.amount >= price.amount > ledger.stopped_at.amount * 0.9
    said = str(caught.value)
    assert "None" not in said
    return said


def outlook(categories: bool, ranges: bool) -> Any:
    facts = {"rows": 90.0, "columns": 2, "category_rows": 30.0, "range_rows": 40.0}
    return SimpleNamespace(finds_categories=categories, finds_ranges=ranges, **facts)


@pytest.mark.parametrize("keep_going", [False, None, True])
@pytest.mark.parametrize(
    ("categories", "ranges", "words", "fits"),
    [
        (True, True, (), True),
        (False, True, (), False),
        (True, False, (), False),
        (True, False, ("a",), False),
        (True, False, ("a", "b"), True),
        (False, False, ("a", "b"), False),
    ],
)
def test_an_outlook_that_finds_nothing(
    categories: bool, ranges: bool, words: tuple[str, ...], fits: bool, keep_going: bool | None
) -> None:
    run = discovery(words=frozenset(words))
    price = None if fits or keep_going else COUNTED
    told = outlook(categories, ranges)
    said = stops_at(price, check_outlook, run, told, keep_going=keep_going)
    if price:
        assert "epsilon 0.2" in said
        assert ("--keep-going" in said) == (keep_going is False)


@pytest.mark.parametrize("keep_going", [False, None, True])
@pytest.mark.parametrize("uncertain", [(), ("a",), ("a", "b")])
def test_columns_with_too_few_cells(uncertain: tuple[str, ...], keep_going: bool | None) -> None:
    price = COUNTED if uncertain and not keep_going else None
    said = stops_at(price, check_present, discovery(), uncertain, keep_going=keep_going)
    if price:
        assert "about 1,300 rows" in said
        assert f"what {', '.join(uncertain)} hold{'s' * (len(uncertain) == 1)}." in said
        alone = len(uncertain) == 2  # nothing would be left
        assert ("--text a" in said) == (keep_going is False and not alone)


@pytest.mark.parametrize(
    ("hopeless", "known", "keep_going", "stops"),
    [
        ((), {}, False, False),
        (("a",), {}, False, True),
        (("a",), {}, None, True),
        (("a",), {}, True, False),
        (("a", "b"), {}, True, True),
        (("a", "b"), {"c": 1}, True, False),
        (("a", "b"), {"c": 1}, False, True),
    ],
)
def test_words_that_are_all_rare(
    hopeless: tuple[str, ...], known: Any, keep_going: bool | None, stops: bool
) -> None:
    run, price = discovery(known=known), COUNTED if stops else None
    run.hopeful = tuple(name for name in ("a", "b") if name not in hopeless)
    said = stops_at(price, check_words, run, hopeless, keep_going=keep_going)
    alone = len(hopeless) == 2 and not known
    assert ("--text a" in said) == (stops and keep_going is not None and not alone)


@pytest.mark.parametrize(
    ("empty", "modelled", "keep_going", "stops"),
    [
        ((), (), False, False),
        ((), ("b",), True, False),
        (("a",), ("b",), False, True),
        (("a",), ("b",), None, True),
        (("a",), ("b",), True, False),
        (("a", "b"), (), True, True),
    ],
)
def test_columns_that_come_back_empty_cost_all_of_discovery(
    empty: tuple[str, ...], modelled: tuple[str, ...], keep_going: bool | None, stops: bool
) -> None:
    found = SimpleNamespace(empty=empty, schema=SimpleNamespace(modelled=modelled))
    price = FOUND if stops else None
    said = stops_at(price, check_found, discovery(), found, keep_going=keep_going)
    assert (f"nothing in {', '.join(empty)} stands out" in said) == stops


def test_a_count_that_is_public_is_free() -> None:
    assert describe_price(Ledger(1.0)) == "which is free where their number is public"
