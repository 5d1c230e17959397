"""The audit of the mechanisms: each loses what it is paid for, and one that is built wrong is
seen.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from understudy.auditing import Finding, audit
from understudy.auditing.mechanisms import MIN_SPENT_SHARE, audit_mechanisms
from understudy.mechanisms import Staircase, additive, choosing, gaussian, sparse
from understudy.mechanisms.responses import LIE_LOTS, RandomisedResponse
from understudy.mechanisms.vector import Vector
from understudy.privacy.mechanisms import choice_scale, laplace_scale

EPSILONS = (0.1, 1.0, 5.0)
FEW = 20
"""Runs where only what is exact is of interest."""


def exact_findings(epsilon: float = 1.0) -> list[Finding]:
    found = audit_mechanisms(epsilon, FEW, seed=1)
    return [finding for finding in found if finding.test == "exact"]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_mechanism_loses_what_it_claims(epsilon: float) -> None:
    found = exact_findings(epsilon)
    for finding in found:
        assert finding.verdict == "kept", finding
        assert finding.measured >= MIN_SPENT_SHARE * finding.claimed, finding
    assert len(found) >= 18


def test_runs_see_no_more_than_is_claimed() -> None:
    result = audit("mechanisms", 1.0, runs=200, seed=1)
    assert result.verdict == "kept"
    assert result.measured <= 1.0 + 1e-9
    assert sum(finding.test == "runs" for finding in result.details) >= 9


def less(scale: Any, factor: float) -> Any:
    return lambda *given, **named: factor * scale(*given, **named)


MISTAKES: dict[str, tuple[Any, str, Any, str]] = {
    "half of the noise in numbers": (additive, "laplace_scale", less(laplace_scale, 0.5), "broken"),
    "twice the noise in numbers": (additive, "laplace_scale", less(laplace_scale, 2), "wasteful"),
    "choices too sharp": (choosing, "choice_scale", less(choice_scale, 0.9), "broken"),
    "choices too blunt": (choosing, "choice_scale", less(choice_scale, 1.5), "wasteful"),
    "a noisy maximum too sharp": (choosing, "laplace_scale", less(laplace_scale, 0.9), "broken"),
    "a threshold too sharp": (sparse, "laplace_scale", less(laplace_scale, 0.9), "broken"),
    "a stair too many": (Staircase, "reach", property(lambda self: 1 << 19), "broken"),
    "a vector in the wrong unit": (
        Vector,
        "scale",
        property(lambda self: Fraction(1, 20)),
        "broken",
    ),
    "too many true answers": (
        RandomisedResponse,
        "true_lots",
        property(lambda self: 3 * LIE_LOTS),
        "broken",
    ),
    "Gaussian noise by the classical formula": (
        gaussian,
        "gaussian_multiplier",
        lambda epsilon, delta, size=1: 0.9 * 4.2,
        "broken",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_that_is_built_wrong_is_seen(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, wrong, verdict = MISTAKES[mistake]
    monkeypatch.setattr(where, name, wrong)
    assert verdict in {finding.verdict for finding in exact_findings()}
