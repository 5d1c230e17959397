"""The audit of every public mechanism: exactly, over all of its outcomes, on inputs as far apart as
neighbours can be; and by runs of what is really drawn.

What is exact comes from two sides. The probabilities that a mechanism states are compared on two
inputs. And where its noise passes through a curator's doors, the doors are watched: what goes into
them, at which scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.blackbox import black_box
from understudy.auditing.bounds import CONFIDENCE
from understudy.auditing.doors import exact_loss
from understudy.auditing.findings import Finding, unit_at
from understudy.auditing.neighbours import Pair
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
)
from understudy.mechanisms.additive import AdditiveMechanism
from understudy.mechanisms.gaussian import log_normal_cdf
from understudy.mechanisms.grid import put_on_grid
from understudy.mechanisms.responses import two_coin_epsilon
from understudy.privacy.budget import epsilon_of
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, SeededNoise

DELTA = 1e-6
MIN_SPENT_SHARE = 0.8
"""The share of its price that a mechanism must lose in the worst case: else it is too noisy."""

FALLING_SCORES = 400
"""Candidates that fall while one rises; counts that are said to be below a threshold."""


def audit_mechanisms(
    epsilon: float, runs: int, confidence: float = CONFIDENCE, seed: int | None = None
) -> Iterator[Finding]:
    """All findings about all mechanisms."""
    yield from _compare_stated_losses(epsilon)
    yield from _watch_doors(epsilon)
    yield from _runs(epsilon, runs, confidence, seed)


# --------------------------------------------------------------------------- stated probabilities


def _compare_stated_losses(epsilon: float) -> Iterator[Finding]:
    apart = "as far apart as can be"
    for added in (
        Geometric(epsilon=epsilon),
        Laplace(epsilon=epsilon, sensitivity=0.1),
        Staircase(epsilon=epsilon, sensitivity=0.1),
    ):
        yield _exact(_name(added), apart, epsilon, largest_loss(added, added.sensitivity))
    yield _gaussian_delta(epsilon)
    up_down = "one score up, all others down"
    low, high = _one_up_all_down()
    for choice in (
        Exponential(epsilon=epsilon),
        PermuteAndFlip(epsilon=epsilon),
        NoisyMax(epsilon=epsilon),
    ):
        yield _exact(_name(choice), up_down, epsilon, _choice_loss(choice, low, high))
    rises = "all scores but one rise"
    some, more = ({**dict.fromkeys(range(FALLING_SCORES), up), 0: 0} for up in (0, 1))
    for monotone in (
        Exponential(epsilon=epsilon, monotone=True),
        PermuteAndFlip(epsilon=epsilon, monotone=True),
        NoisyMax(epsilon=epsilon, monotone=True),
    ):
        name = f"{_name(monotone)}, monotone"
        yield _exact(name, rises, epsilon, _choice_loss(monotone, some, more))
    another = "another answer"
    response = RandomisedResponse(epsilon=epsilon, answers=tuple("abcd"))
    yield _exact("randomised response", another, epsilon, _response_loss(response.lots))
    coins = _coins(epsilon)
    if coins is not None:
        yield _exact("two coins", another, epsilon, _response_loss(coins.lots))
    yield _exact("vector", apart, epsilon, _vector_loss(epsilon))
    yield _exact("sparse vector", "counts below rise, one falls", epsilon, _sparse_loss(epsilon))


def _one_up_all_down() -> tuple[dict[int, int], dict[int, int]]:
    """Scores of which the first rises by one, and very many others fall by one."""
    low, high = ({**dict.fromkeys(range(FALLING_SCORES), 1 - up), 0: up} for up in (0, 1))
    return low, high


def largest_loss(mechanism: AdditiveMechanism, sensitivity: float) -> float:
    """The largest log-ratio of an outcome of added noise, where inputs are a sensitivity apart."""
    reach = int(put_on_grid(sensitivity, mechanism.step)[0])
    places = np.concatenate(
        [np.linspace(-20 * reach, 20 * reach, 2001).astype(np.int64), np.arange(-40, 41)]
    )
    moved = mechanism.log_pmf(places) - mechanism.log_pmf(places - reach)
    return float(np.abs(moved).max())


def _gaussian_delta(epsilon: float) -> Finding:
    """The delta that noise of the drawn width needs at epsilon, by the formula for continuous
    noise: at a million steps to the sensitivity that of discrete noise has the same first digits.
    """
    mechanism = GaussianMechanism(epsilon=epsilon, delta=DELTA, sensitivity=0.1)
    width = mechanism.scale * float(mechanism.step) / mechanism.sensitivity
    kept = math.exp(log_normal_cdf(0.5 / width - epsilon * width))
    lost = math.exp(epsilon + log_normal_cdf(-0.5 / width - epsilon * width))
    name, apart = "Gaussian", "as far apart as can be"
    return Finding(name, apart, "exact", DELTA, kept - lost, "delta", least=MIN_SPENT_SHARE)


def _choice_loss(mechanism: Any, here: dict[int, int], there: dict[int, int]) -> float:
    chances, others = mechanism.probabilities(here), mechanism.probabilities(there)
    return max(abs(math.log(chances[place] / others[place])) for place in here)


def _response_loss(lots: list[list[int]]) -> float:
    """The largest ratio of the lots of one report under two true answers."""
    ratios = [
        max(Fraction(one[place], other[place]) for place in range(len(one)))
        for one in lots
        for other in lots
    ]
    worst = max(ratios)
    return math.log(worst.numerator) - math.log(worst.denominator)


def _coins(epsilon: float) -> TwoCoinResponse | None:
    """Two coins that cost just less than epsilon; below ln 2 there are none."""
    heads = [Fraction(part, 1000) for part in range(1, 1000)]
    affordable = [each for each in heads if two_coin_epsilon(each) <= epsilon]
    if not affordable:
        return None
    return TwoCoinResponse.of_coin(max(affordable))


def _vector_loss(epsilon: float) -> float:
    mechanism = Vector(epsilon=epsilon, sensitivity=0.1, size=9)
    direction = np.full(9, 0.1 / 3)
    answers = np.linspace(-20, 20, 401)[:, None] * direction
    moved = mechanism.log_density(answers) - mechanism.log_density(answers - direction)
    return float(np.abs(moved).max())


def _sparse_loss(epsilon: float) -> float:
    """Many counts at the threshold that are said to be below it, and one far below that is said to
    be above.
    """
    mechanism = SparseVector(epsilon=epsilon, threshold=0)
    far = -math.ceil(20 / epsilon)
    answers = np.array([False] * FALLING_SCORES + [True])
    here = np.array([1] * FALLING_SCORES + [far])
    there = np.array([0] * FALLING_SCORES + [far + 1])
    return abs(mechanism.log_probability(here, answers) - mechanism.log_probability(there, answers))


# --------------------------------------------------------------------------- watched doors


def _watch_doors(epsilon: float) -> Iterator[Finding]:
    """What really goes into the noise, and at which scale."""
    low, high = _one_up_all_down()
    asked: dict[str, tuple[Callable[[Any, Ledger, Noise], object], Any, Any]] = {
        "geometric": (
            lambda value, ledger, noise: Geometric(epsilon=epsilon).release(
                value, ledger, "q", noise=noise
            ),
            10,
            11,
        ),
        "Laplace, 4 numbers": (
            lambda value, ledger, noise: Laplace(epsilon=epsilon, sensitivity=2.0, size=4).release(
                value, ledger, "q", noise=noise
            ),
            [0.25, 0.5, 0.75, 1.0],
            [0.75, 1.0, 1.25, 1.5],
        ),
        "exponential": (
            lambda value, ledger, noise: Exponential(epsilon=epsilon).choose(
                value, ledger, "q", noise=noise
            ),
            low,
            high,
        ),
        "permute-and-flip": (
            lambda value, ledger, noise: PermuteAndFlip(epsilon=epsilon).choose(
                value, ledger, "q", noise=noise
            ),
            low,
            high,
        ),
    }
    for name, (ask, here, there) in asked.items():
        loss = _watch(ask, here, there, Ledger(epsilon))
        yield _exact(f"{name}, as asked", "far apart", epsilon, loss.epsilon)
    yield _gaussian_in_rho(epsilon)


def _gaussian_in_rho(epsilon: float) -> Finding:
    rho = Ledger(epsilon, DELTA, currency="rho").budget.amount
    mechanism = GaussianMechanism.for_rho(rho, DELTA, size=4)

    def ask(value: Any, ledger: Ledger, noise: Noise) -> object:
        return mechanism.release(value, ledger, "q", noise=noise)

    ledger = Ledger(epsilon, DELTA, currency="rho")
    loss = _watch(ask, [0.0] * 4, [0.5] * 4, ledger)
    measured = epsilon_of(loss.rho, DELTA)
    name = "Gaussian, 4 numbers, zCDP, as asked"
    return Finding(
        name, "far apart", "exact", epsilon, measured, unit_at(DELTA), least=MIN_SPENT_SHARE
    )


def _watch(ask: Callable[[Any, Ledger, Noise], object], here: Any, there: Any, like: Ledger) -> Any:
    def run(value: Any, noise: Noise) -> object:
        ledger = Ledger(like.epsilon, like.delta, like.neighbours, like.currency)
        return ask(value, ledger, noise)

    return exact_loss(run, Pair(here, there))


# --------------------------------------------------------------------------- runs


@dataclass(frozen=True)
class _Repeated:
    """Something to run many times, on either of two inputs."""

    name: str
    run: Callable[[Any], Any]
    inputs: tuple[Any, Any]
    delta: float = 0.0


def _runs(epsilon: float, runs: int, confidence: float, seed: int | None) -> Iterator[Finding]:
    for repeated in _make_repeated(epsilon, seed):
        found = black_box(repeated.run, *repeated.inputs, runs, confidence, repeated.delta)
        yield Finding(
            repeated.name,
            "far apart",
            "runs",
            epsilon,
            found.epsilon,
            unit_at(repeated.delta),
            confidence,
            limit=found.epsilon_limit,
        )


def _make_repeated(epsilon: float, seed: int | None) -> list[_Repeated]:
    noise = None
    if seed is not None:
        noise = SeededNoise(seed)
    geometric, laplace = Geometric(epsilon=epsilon), Laplace(epsilon=epsilon)
    gaussian = GaussianMechanism(epsilon=epsilon, delta=DELTA)
    stairs, vector = Staircase(epsilon=epsilon), Vector(epsilon=epsilon, size=2)
    choice, noisy = Exponential(epsilon=epsilon), NoisyMax(epsilon=epsilon)
    response = RandomisedResponse(epsilon=epsilon)
    sparse = SparseVector(epsilon=epsilon, threshold=0)

    def ledger(delta: float = 0.0) -> Ledger:
        return Ledger(epsilon, delta)

    def answer_counts(counts: list[int]) -> NDArray[np.float64]:
        session = sparse.start(ledger(), "q", noise=noise)
        said = np.full(len(counts), -1.0)
        for place, count in enumerate(counts):
            said[place] = session.is_above(count)
            if session.ended:
                break
        return said

    low, high = ({"a": up, "b": 1 - up} for up in (0, 1))
    return [
        _Repeated("geometric", lambda x: geometric.release(x, ledger(), "q", noise=noise), (0, 1)),
        _Repeated("Laplace", lambda x: laplace.release(x, ledger(), "q", noise=noise), (0.0, 1.0)),
        _Repeated(
            "Gaussian",
            lambda x: gaussian.release(x, ledger(DELTA), "q", noise=noise),
            (0.0, 1.0),
            DELTA,
        ),
        _Repeated("staircase", lambda x: stairs.release(x, ledger(), "q"), (0.0, 1.0)),
        _Repeated("vector", lambda x: vector.release(x, ledger(), "q"), ([0.0, 0.0], [0.6, 0.8])),
        _Repeated(
            "exponential",
            lambda x: choice.choose(x, ledger(), "q", noise=noise) == "a",
            (low, high),
        ),
        _Repeated(
            "noisy max", lambda x: noisy.choose(x, ledger(), "q", noise=noise) == "a", (low, high)
        ),
        _Repeated(
            "randomised response",
            lambda x: response.report(x, Ledger(epsilon, neighbours="replace"), "q"),
            (True, False),
        ),
        _Repeated("sparse vector", answer_counts, ([1, 1, 1, -1], [0, 0, 0, 0])),
    ]


def _exact(name: str, pair: str, claimed: float, measured: float) -> Finding:
    return Finding(name, pair, "exact", claimed, measured, least=MIN_SPENT_SHARE)


def _name(mechanism: Any) -> str:
    return str(mechanism.describe().partition(",")[0])
