"""The audit of local randomisers: each loses what it claims; one that is built wrong is seen."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from understudy.auditing import Finding, audit
from understudy.auditing.controls.randomisers import (
    coin_tail_bias,
    coin_tail_loss,
    compute_repetition_bias,
    offset_loss,
    uneven_signs_loss,
    wrong_sign_bias,
)
from understudy.auditing.randomisers import audit_randomisers
from understudy.local.randomisers import direct, duchi, hadamard, hashing, subset, unary, windows
from understudy.local.randomisers.words import WHOLE

FEW = 20
"""Runs where only what is exact is of interest."""


def exact_findings(epsilon: float) -> list[Finding]:
    return [f for f in audit_randomisers(epsilon, FEW, seed=1) if f.test == "exact"]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_every_randomiser_loses_what_it_claims_and_has_no_bias(epsilon: float) -> None:
    found = exact_findings(epsilon)
    assert {finding.verdict for finding in found} == {"kept"}
    losses = [f for f in found if f.unit == "epsilon" and f.subject != "threshold histogram"]
    assert len(losses) == 16
    assert all(f.measured == pytest.approx(epsilon, rel=1e-6) for f in losses)
    assert sum(f.unit == "bias" for f in found) == 11


def test_runs_see_no_more_than_is_claimed() -> None:
    result = audit("local", 1.0, runs=400, seed=1)
    assert result.verdict == "kept"
    assert sum(finding.test == "runs" for finding in result.details) == 17


def too_honest(share_words: Any) -> Any:
    """Words for a tenth more than is allowed."""
    return lambda matching, others, ratio: share_words(matching, others, ratio * Fraction(11, 10))


MISTAKES: dict[str, tuple[Any, str, Any, str]] = {
    "direct encoding too honest": (
        direct,
        "direct_words",
        lambda size, epsilon: (WHOLE - (size - 1) * (WHOLE // 8 // size), WHOLE // 8 // size),
        "direct",
    ),
    "unary encoding with all of epsilon per bit": (
        unary,
        "symmetric_words",
        lambda epsilon, words=unary.symmetric_words: words(2 * epsilon),
        "symmetric unary",
    ),
    "optimal unary encoding without the 1": (
        unary,
        "optimal_words",
        lambda epsilon: (WHOLE // 2, int(WHOLE / math.exp(epsilon + 1))),
        "optimal unary",
    ),
    "hashing with the buckets of another epsilon": (
        hashing,
        "direct_words",
        lambda size, epsilon: direct.direct_words(size, epsilon * 1.1),
        "optimal hashing",
    ),
    "subsets too honest": (
        subset,
        "exp_of",
        lambda epsilon: Fraction(math.exp(1.1 * epsilon)),
        "subset selection",
    ),
    "Hadamard response too honest": (
        hadamard,
        "share_words",
        too_honest(hadamard.share_words),
        "hadamard",
    ),
    "a window too honest": (windows, "share_words", too_honest(windows.share_words), "piecewise"),
    "Duchi's coin as if there were no ties": (
        duchi,
        "agree_words",
        lambda dimensions, epsilon: int(WHOLE * math.exp(epsilon) / (1 + math.exp(epsilon))),
        "duchi, 2 numbers",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_randomiser_that_is_built_wrong_is_seen(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, replacement, subject = MISTAKES[mistake]
    for cached in (windows.piecewise_window, windows.square_wave_window):
        cached.cache_clear()
    monkeypatch.setattr(module, name, replacement)
    found = exact_findings(1.0)
    for cached in (windows.piecewise_window, windows.square_wave_window):
        cached.cache_clear()
    broken = {f.subject for f in found if f.verdict == "broken" and f.unit == "epsilon"}
    assert subject in broken
    assert len(broken) <= 4


def test_the_books_listings_lose_what_the_notes_say() -> None:
    assert math.isinf(offset_loss(14, 0.1, 0))
    assert offset_loss(14, 0.1, 1) == pytest.approx(0.1)
    assert coin_tail_loss(0.99, -0.99, 1.0) == pytest.approx(5.3, abs=0.05)
    assert math.isinf(coin_tail_loss(1.0, -1.0, 1.0))
    assert coin_tail_bias(0.5, 1.0) == pytest.approx(0.53, abs=0.005)
    assert coin_tail_bias(1.0, 1.0) == pytest.approx(1.06, abs=0.005)
    assert compute_repetition_bias(5, 5) == pytest.approx(0.328, abs=0.001)
    wrong = 1 - math.exp(0.75 * 2.5) / 2
    assert wrong == pytest.approx(-2.26, abs=0.005)
    assert wrong_sign_bias(5.0, 0.25) > 1
    assert wrong_sign_bias(5.0, 1.0) == pytest.approx(0, abs=1e-12)
    losses = [uneven_signs_loss(dimensions, 1.0) for dimensions in (2, 4, 6)]
    assert losses == pytest.approx([2.10, 1.79, 1.65], abs=0.005)
