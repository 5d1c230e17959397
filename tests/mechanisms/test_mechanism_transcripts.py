"""Every figure that a mechanism states, what it debits, and what it releases with repeatable noise
(see tests/transcripts.py).
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from transcripts import compare, list_defaults, record, show
from understudy import Ledger
from understudy.errors import UnderstudyError
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
    compose,
    compose_disjoint,
    compose_zcdp,
    for_group,
)

EPSILONS = (0.3, 2.0)
ADDING: list[Any] = [
    *(Geometric(epsilon=e, sensitivity=s) for e in EPSILONS for s in (1, 3)),
    *(Laplace(epsilon=e, sensitivity=s, size=n) for e in EPSILONS for s, n in ((1.0, 1), (0.3, 4))),
    *(GaussianMechanism(epsilon=e, delta=1e-6, sensitivity=s, size=n)
      for e in EPSILONS for s, n in ((1.0, 1), (0.3, 4))),
    *(GaussianMechanism.for_rho(rho, delta=1e-6, size=2) for rho in (0.01, 1.0)),
    *(Staircase(epsilon=e, sensitivity=2.0, width=w) for e in EPSILONS for w in (None, 0.25, 1)),
]  # fmt: skip
CHOOSING: list[Any] = [
    *(kind(epsilon=e, sensitivity=2.0, monotone=monotone)
      for kind in (Exponential, PermuteAndFlip) for e in EPSILONS for monotone in (False, True)),
    *(NoisyMax(epsilon=e) for e in EPSILONS),
]  # fmt: skip
ANSWERING: list[Any] = [
    *(RandomisedResponse(epsilon=e, answers=range(n)) for e in EPSILONS for n in (2, 5)),
    *(TwoCoinResponse.of_coin(coin) for coin in ("1/4", "1/2", "4/5")),
]  # fmt: skip
OTHERS: list[Any] = [
    *(Vector(epsilon=e, sensitivity=0.5, size=n) for e in EPSILONS for n in (2, 9)),
    *(SparseVector(epsilon=e, threshold=50, max_above=n, monotone=monotone)
      for e in EPSILONS for n in (1, 3) for monotone in (False, True)),
]  # fmt: skip
SCORES = {"a": 3.0, "b": 2.0, "c": -1.5}


def figures(mechanism: Any) -> list[str]:
    """All that it states by itself."""
    lines = [type(mechanism).__name__, f"  {mechanism.describe()}"]
    for name in dir(mechanism):
        value = None if name.startswith("_") else getattr(mechanism, name)
        if isinstance(value, Fraction):
            value = float(value)
        if isinstance(value, bool | int | float | str | list | tuple):
            lines.append(f"  {name}: {show(value)}")
    for currency in ("epsilon", "rho", "gdp"):
        try:
            cost, delta = mechanism.price(currency)
        except UnderstudyError as refused:
            lines.append(f"  in {currency}: {refused}")
        else:
            lines.append(f"  in {currency}: {show(cost.amount)}, delta {show(delta)}")
    return lines


def test_what_adding_mechanisms_state() -> None:
    lines = []
    for mechanism in ADDING:
        spread = mechanism.deviation * np.linspace(-3, 3, 7)
        lines += [*figures(mechanism), f"  density {show(mechanism.density(spread))}"]
    compare("mechanisms-adding", lines)


def test_what_choosing_mechanisms_state() -> None:
    lines = []
    for mechanism in CHOOSING:
        scores = SCORES
        if isinstance(mechanism, NoisyMax):
            scores = {name: round(2 * score) for name, score in SCORES.items()}
        lines += [*figures(mechanism), f"  chances {show(mechanism.probabilities(scores))}"]
    compare("mechanisms-choosing", lines)


def test_what_answering_mechanisms_state() -> None:
    lines = []
    for mechanism in ANSWERING:
        lines += [*figures(mechanism), f"  chances {show(mechanism.probabilities())}"]
        if isinstance(mechanism, RandomisedResponse):
            variances = [mechanism.count_variance(100, share) for share in (0.0, 0.3)]
            lines.append(f"  variances {show(variances)}")
    compare("mechanisms-answering", lines)


def test_what_other_mechanisms_state() -> None:
    compare("mechanisms-others", itertools.chain.from_iterable(map(figures, OTHERS)))


def test_what_is_released() -> None:
    """By mechanisms that take their noise from a curator's source."""
    ledger = Ledger(100.0, 1e-3)
    lines: list[str] = []
    with record() as noise:
        for mechanism in ADDING:
            if isinstance(mechanism, Staircase):
                continue
            value: Any = np.arange(getattr(mechanism, "size", 1)) * 3
            given = value if isinstance(mechanism, Geometric) else value + 0.25
            lines.append(show(mechanism.release(given, ledger, "q", noise=noise)))
        for mechanism in CHOOSING:
            scores = {name: round(2 * score) for name, score in SCORES.items()}
            lines.append(mechanism.choose(scores, ledger, "q", noise=noise))
        session = OTHERS[-1].start(ledger, "q", noise=noise)
        counts = iter([0, 60, 0, 90, 51, 200, 300])
        while not session.ended:
            lines.append(show(session.is_above(next(counts))))
    compare("mechanisms-released", [*noise.lines, *lines, show(ledger.spent())])


def test_what_composition_states() -> None:
    prices = [(0.1, 0.0), (0.25, 1e-6), (0.5, 1e-7)]
    lines = [
        show(compose(prices)),
        show(compose_disjoint(prices)),
        *(show(compose_zcdp([0.01, rho], 1e-6)) for rho in (0.0, 0.2)),
        *(str(for_group(0.4, delta, members)) for delta in (0.0, 1e-8) for members in (1, 2, 7)),
    ]
    compare("mechanisms-composed", lines)


@pytest.mark.parametrize("mechanism", ADDING, ids=lambda each: type(each).__name__)
def test_the_density_of_noise_adds_up_to_one_and_has_the_variance(mechanism: Any) -> None:
    """Of noise that is spread over many steps of its grid; of whole numbers, by all of them."""
    if isinstance(mechanism, Geometric):
        noise, width = np.arange(-400, 401), 1.0
    else:
        noise = np.linspace(-30, 30, 600_001) * mechanism.deviation
        width = noise[1] - noise[0]
    chances = mechanism.density(noise) * width
    assert chances.sum() == pytest.approx(1, rel=1e-3)
    assert chances @ noise**2 == pytest.approx(mechanism.variance, rel=1e-2)


def test_defaults() -> None:
    compare("defaults-of-mechanisms", list_defaults("understudy.mechanisms"))
