"""Mechanisms debit before they draw, refuse what makes no sense in one sentence, and then debit
nothing.
"""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import understudy.mechanisms as mechanisms
from understudy import BudgetError, InputError, Ledger
from understudy.mechanisms import (
    Exponential,
    GaussianMechanism,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    RandomisedResponse,
    SparseVector,
    Staircase,
    TwoCoinResponse,
    Vector,
    Wishart,
    compose,
    compose_zcdp,
    for_group,
)
from understudy.privacy.mechanisms import SeededNoise

Use = Callable[[Ledger], Any]

USES: dict[str, tuple[Use, str]] = {
    "geometric": (lambda e: Geometric(epsilon=0.5).release(3, e, "q"), "add_remove"),
    "Laplace": (lambda e: Laplace(epsilon=0.5).release(3.5, e, "q"), "add_remove"),
    "Gaussian": (
        lambda e: GaussianMechanism(epsilon=0.5, delta=1e-6).release(3.5, e, "q"),
        "add_remove",
    ),
    "staircase": (lambda e: Staircase(epsilon=0.5).release(3.5, e, "q"), "add_remove"),
    "vector": (lambda e: Vector(epsilon=0.5).release([1.0, 2.0], e, "q"), "add_remove"),
    "exponential": (lambda e: Exponential(epsilon=0.5).choose({"a": 1}, e, "q"), "add_remove"),
    "permute-and-flip": (
        lambda e: PermuteAndFlip(epsilon=0.5).choose({"a": 1}, e, "q"),
        "add_remove",
    ),
    "noisy max": (lambda e: NoisyMax(epsilon=0.5).choose({"a": 1}, e, "q"), "add_remove"),
    "sparse vector": (lambda e: SparseVector(epsilon=0.5, threshold=1).start(e, "q"), "add_remove"),
    "randomised response over 2": (
        lambda e: RandomisedResponse(epsilon=0.5).report(True, e, "q"),
        "replace",
    ),
    "randomised response by two coins": (
        lambda e: TwoCoinResponse.of_coin("1/2").report(True, e, "q"),
        "replace",
    ),
}
ALL = pytest.mark.parametrize(("use", "neighbours"), USES.values(), ids=USES.keys())


def test_every_mechanism_is_used_here() -> None:
    classes = [getattr(mechanisms, name) for name in mechanisms.__all__]
    kinds = {
        one.__name__
        for one in classes
        if isinstance(one, type) and issubclass(one, mechanisms.Mechanism)
    }
    assert len(kinds - {"Mechanism"}) == len(USES)


@ALL
def test_a_release_stands_in_the_ledger(use: Use, neighbours: Any) -> None:
    ledger = Ledger(2.0, 1e-5, neighbours)
    use(ledger)
    [entry] = ledger.entries
    assert entry.question == "q"
    assert entry.amount in (0.5, TwoCoinResponse.of_coin("1/2").epsilon)
    assert ledger.private
    assert Ledger.from_dict(ledger.to_dict()).entries == ledger.entries


@ALL
def test_a_ledger_in_rho_is_debited_in_rho(use: Use, neighbours: Any) -> None:
    ledger = Ledger(20.0, 1e-6, neighbours, "rho")
    use(ledger)
    assert 0 < ledger.entries[0].amount <= 1.0986123**2 / 2
    assert ledger.entries[0].delta == 0


@ALL
def test_what_is_left_is_asked_first(
    use: Use, neighbours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the ledger refuses, no noise is drawn: it would be for nothing, or for free."""

    def draw(*_: Any, **__: Any) -> Any:
        raise AssertionError("noise was drawn")

    for name in ("laplace", "gaussian", "geometric", "system_words"):
        monkeypatch.setattr(f"understudy.privacy.exact_noise.{name}", draw)
    monkeypatch.setattr("understudy.privacy.mechanisms.SystemNoise.choose", draw)
    for module in ("staircase", "uniform", "responses", "vector", "exact_reals"):
        monkeypatch.setattr(f"understudy.mechanisms.{module}.system_words", draw)
    ledger = Ledger(0.4, 1e-5, neighbours)
    with pytest.raises(BudgetError, match="nothing was asked"):
        use(ledger)
    assert not ledger.entries


def test_the_ledger_says_which_mechanism_at_which_scale() -> None:
    ledger = Ledger(1.0, 1e-6)
    Geometric(epsilon=0.1, sensitivity=2).release(7, ledger, "a count")
    GaussianMechanism(epsilon=0.5, delta=1e-6).release(7, ledger, "a mean")
    assert [entry.mechanism for entry in ledger.entries] == [
        "geometric, sensitivity 2, scale 20",
        "Gaussian, sensitivity 1, scale 8.05763, on a grid of 9.53674e-07",
    ]
    assert ledger.spent() == (0.6, 1e-6)


def test_seeded_noise_is_told_to_the_ledger() -> None:
    ledger = Ledger(1.0)
    Geometric(epsilon=1.0).release(7, ledger, "a count", noise=SeededNoise(1))
    assert not ledger.private


def test_arrays_keep_their_shape() -> None:
    counts = np.arange(6).reshape(2, 3)
    noisy = Geometric(epsilon=50.0).release(counts, Ledger(50.0), "a table")
    assert noisy.tolist() == counts.tolist()
    means = Laplace(epsilon=50.0, size=3).release([1.5, 2.5, 3.5], Ledger(50.0), "means")
    assert means == pytest.approx([1.5, 2.5, 3.5], abs=1.5)


BAD: dict[str, tuple[Use, str]] = {
    "epsilon of 0": (lambda e: Laplace(epsilon=0), "epsilon must be"),
    "epsilon too small to serve": (lambda e: Laplace(epsilon=1e-12), "too wide to be drawn"),
    "epsilon too large for a response": (
        lambda e: RandomisedResponse(epsilon=101.0),
        "every answer is true",
    ),
    "no delta": (lambda e: GaussianMechanism(epsilon=1.0), "needs a delta above 0"),
    "delta of 1": (lambda e: GaussianMechanism(epsilon=1.0, delta=1.0), "delta must be"),
    "no delta for rho": (lambda e: GaussianMechanism.for_rho(0.1, 0.0), "needs a delta above 0"),
    "rho of text": (lambda e: GaussianMechanism.for_rho("1", 0.1), "rho must be"),  # type: ignore[arg-type]
    "no sensitivity": (lambda e: Laplace(epsilon=1.0, sensitivity=0.0), "from public bounds"),
    "endless sensitivity": (lambda e: Vector(epsilon=1.0, sensitivity=math.inf), "public bounds"),
    "half a count": (
        lambda e: Geometric(epsilon=1.0, sensitivity=0.5),  # type: ignore[arg-type]
        "a whole number",
    ),
    "a mean as a count": (lambda e: Geometric(epsilon=1.0).release(2.5, e, "q"), "whole numbers"),
    "a text": (lambda e: Laplace(epsilon=1.0).release("7", e, "q"), "given 1 text"),
    "a truth value": (lambda e: Geometric(epsilon=1.0).release(True, e, "q"), "1 truth value came"),
    "not a number": (lambda e: Laplace(epsilon=1.0).release(math.nan, e, "q"), "no sensitivity"),
    "two numbers for one": (
        lambda e: Laplace(epsilon=1.0).release([1, 2], e, "q"),
        "its size",
    ),
    "a vector too long": (lambda e: Vector(epsilon=1.0, size=20_000), "Gaussian noise takes"),
    "size of 0": (lambda e: Laplace(epsilon=1.0, size=0), "size must be"),
    "a stair too wide": (lambda e: Staircase(epsilon=1.0, width=1.5), "width must"),
    "no candidates": (lambda e: Exponential(epsilon=1.0).choose({}, e, "q"), "needs candidates"),
    "a score that is no number": (
        lambda e: Exponential(epsilon=1.0).choose({"a": math.inf}, e, "q"),
        "no sensitivity",
    ),
    "counts that are not whole": (
        lambda e: NoisyMax(epsilon=1.0).choose({"a": 0.5}, e, "q"),  # type: ignore[dict-item]
        "whole numbers",
    ),
    "one answer": (lambda e: RandomisedResponse(epsilon=1.0, answers=("a",)), "needs 2 to"),
    "answers twice": (lambda e: RandomisedResponse(epsilon=1.0, answers=("a", "a")), "once"),
    "an answer not known": (
        lambda e: RandomisedResponse(epsilon=1.0).report("maybe", e, "q"),
        "none of those",
    ),
    "a coin of one side": (lambda e: TwoCoinResponse.of_coin(1), "between 0 and 1"),
    "a coin of words": (lambda e: TwoCoinResponse.of_coin("often"), "between 0 and 1"),
    "a width that another price buys": (
        lambda e: GaussianMechanism(epsilon=0.1, delta=1e-9, multiplier=1e-3),
        "costs more than epsilon 0.1",
    ),
    "a width that is no number": (
        lambda e: GaussianMechanism(epsilon=0.1, delta=1e-9, multiplier=float("nan")),
        "costs more than",
    ),
    "a threshold of text": (
        lambda e: SparseVector(epsilon=1.0, threshold="5"),  # type: ignore[arg-type]
        "public whole number",
    ),
    "a threshold beyond all counts": (
        lambda e: SparseVector(epsilon=1.0, threshold=1 << 70).start(e, "q"),
        "up to 2.60",
    ),
    "a rho below 0 to take others off": (lambda e: compose_zcdp([-1.0, 2.0], 1e-6), "at or above"),
    "a rho that is no number": (lambda e: compose_zcdp([float("nan")], 1e-6), "at or above 0"),
    "zCDP without a delta": (lambda e: compose_zcdp([0.1], 0.0), "above 0 only"),
    "an infinite price": (lambda e: compose([(float("inf"), 0.0)]), "finite number"),
    "nothing to compose": (lambda e: compose([]), "nothing to compose"),
    "none above": (lambda e: SparseVector(epsilon=1.0, threshold=5, max_above=0), "max_above"),
    "no ledger": (
        lambda e: Geometric(epsilon=1.0).release(5, None, "q"),  # type: ignore[call-overload]
        "needs a ledger",
    ),
    "no question": (lambda e: Geometric(epsilon=1.0).release(5, e, ""), "what is asked"),
    "Wishart": (lambda e: Wishart(epsilon=1.0), "not differentially private"),
    "zCDP at no delta": (lambda e: compose_zcdp([0.1], 2.0), "delta must be"),
}


@pytest.mark.parametrize(("use", "said"), BAD.values(), ids=BAD.keys())
def test_what_makes_no_sense_is_refused_in_a_sentence(use: Use, said: str) -> None:
    ledger = Ledger(1.0, neighbours="replace" if "answer" in said else "add_remove")
    with pytest.raises(InputError, match=said) as refused:
        use(ledger)
    assert not ledger.entries
    assert str(refused.value).endswith((".", ")."))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("copy", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_session_is_in_one_place(copy: Any) -> None:
    """Copies would each say once that a count is above the threshold, at the price of one."""
    session = SparseVector(epsilon=1.0, threshold=5).start(Ledger(1.0), "alarms")
    with pytest.raises(InputError, match="cannot be copied"):
        copy(session)
    with pytest.raises(InputError, match="not of several"):
        session.is_above([1, 2])  # type: ignore[arg-type]


def test_the_promise_to_a_group_says_of_what() -> None:
    assert ": a change of any 2 rows changes the probability" in str(for_group(0.1, 1e-6, 2))
