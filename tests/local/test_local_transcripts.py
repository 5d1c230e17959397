"""What randomisers make of a stream of words, and what is estimated from it (see
tests/transcripts.py).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from limits import assert_limits
from transcripts import compare, digest, list_defaults, show
from understudy.local.randomisers import (
    BinaryResponse,
    CategoricalRandomiser,
    FiniteRandomiser,
    MeanRandomiser,
    Randomiser,
    Words,
    best_randomiser,
)
from understudy.local.randomisers.base import RANDOMISER_KINDS

PERSONS = 60
MODULES = ("randomisers", "answering", "booking", "plans")


def randomisers() -> list[Randomiser]:
    """Of every kind some, at a small and at a large epsilon."""
    found: list[Any] = []
    for (_, kind), epsilon in itertools.product(sorted(RANDOMISER_KINDS.items()), (0.5, 4.0)):
        made: Any = kind
        if issubclass(kind, CategoricalRandomiser):
            sizes = (2,) if kind is BinaryResponse else (2, 5, 40)
            found += [made(size=size, epsilon=epsilon) for size in sizes]
        elif issubclass(kind, MeanRandomiser):
            found += [
                made(low=-1.0, high=3.0, epsilon=epsilon, dimensions=size) for size in (1, 2, 5)
            ]
        else:
            found.append(made(low=-1.0, high=3.0, epsilon=epsilon, bins=8))
    return found


def values_for(randomiser: Any) -> Any:
    """Made-up answers of all persons."""
    if isinstance(randomiser, CategoricalRandomiser):
        return np.arange(PERSONS) ** 2 % randomiser.size
    dimensions = getattr(randomiser, "dimensions", 1)
    numbers = np.linspace(-1, 3, PERSONS)
    if dimensions == 1:
        return numbers
    return np.stack([np.roll(numbers, place) for place in range(dimensions)], axis=1)


def lines_of(randomiser: Any) -> list[str]:
    reports = randomiser.perturb(values_for(randomiser), Words.of_seed(7))
    tally = randomiser.tally(reports)
    lines = [
        f"{show(randomiser.to_dict())}: width {randomiser.width}, loss {show(randomiser.loss)}",
        f"  reports {digest(reports)}, tally {digest(tally)}",
        f"  estimate {show(randomiser.estimate(tally, PERSONS).ravel()[:6])}, "
        f"{digest(randomiser.estimate(tally, PERSONS))}",
        f"  variance {show(np.ravel(randomiser.variance(PERSONS))[:6])}, "
        f"{digest(randomiser.variance(PERSONS))}",
    ]
    if isinstance(randomiser, FiniteRandomiser):
        codes = randomiser.encode(values_for(randomiser))[:5].tolist()
        chances = [
            randomiser.probability(report, code)
            for report, code in itertools.product(reports[:3].tolist(), codes)
        ]
        lines.append(f"  probabilities {digest([float(chance) for chance in chances])}")
    if isinstance(randomiser, MeanRandomiser):
        lines.append(f"  said {digest(np.nan_to_num(randomiser.decode(reports), nan=-9.0))}")
    return lines


def test_what_randomisers_report_and_what_is_estimated() -> None:
    compare("local-randomisers", [line for one in randomisers() for line in lines_of(one)])


def test_which_randomiser_is_best() -> None:
    lines = [
        f"{size} values, epsilon {epsilon:g}: {show(best_randomiser(size, epsilon).to_dict())}"
        for size in (2, 3, 5, 12, 100, 2000, 1 << 17)
        for epsilon in (0.1, 1.0, 2.5, 5.0)
    ]
    compare("local-best", lines)


@pytest.mark.parametrize("randomiser", randomisers(), ids=lambda one: show(one.to_dict()))
def test_numbers_of_persons_and_tallies_are_checked(randomiser: Any) -> None:
    tally = randomiser.tally(randomiser.perturb(values_for(randomiser), Words.of_seed(7)))
    assert_limits(
        lambda persons: randomiser.estimate(tally, persons), [PERSONS], [-1, True, 2.0, None]
    )
    assert_limits(randomiser.variance, [0, 1], [-1, True, 2.0, None])
    assert_limits(
        lambda given: randomiser.estimate(given, PERSONS),
        [tally],
        [tally[:-1], np.append(tally, 0), tally.astype(np.float64), "x", None],
    )


def test_defaults() -> None:
    compare("defaults-of-local", list_defaults(*(f"understudy.local.{name}" for name in MODULES)))
