"""Each check of a mechanism refuses what it is there for: those that no other test meets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from understudy import InputError, Ledger
from understudy.mechanisms.choosing import NoisyMax
from understudy.mechanisms.gaussian import GaussianMechanism
from understudy.mechanisms.responses import TwoCoinResponse

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "counts that lie too far apart": (
        lambda: NoisyMax(epsilon=1.0).probabilities({"a": 0, "b": 1 << 23}),
        "too far apart for exact probabilities",
    ),
    "a choice without candidates": (
        lambda: NoisyMax(epsilon=1.0).choose({}, Ledger(1.0), "which"),
        "needs candidates with their counts",
    ),
    "a choice from a list": (
        lambda: NoisyMax(epsilon=1.0).choose([1, 2], Ledger(1.0), "which"),  # type: ignore[arg-type]
        "needs candidates with their counts",
    ),
    "noise that is too wide to be drawn": (
        lambda: GaussianMechanism(epsilon=1e-9, delta=1e-9, sensitivity=1.0, size=10**6),
        "too wide to be drawn",
    ),
    "a coin that costs more": (
        lambda: TwoCoinResponse(epsilon=1.0, heads=Fraction(4, 5)),
        "more than 1; make it by",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    act, sentence = REFUSED[what]
    with pytest.raises(InputError, match=sentence):
        act()
