"""Gradients under audit: sums of clipped vectors, whole runs with canaries, broken trainings.

*Exact*: one row whose vector has the full length is new; what goes into the noise of every step is
compared, and the losses of all steps are added up at the order of the ledger.

*Canaries*: rows that are made to be found. Each has a direction of its own, along which its vector
has the full length, and each is in the table or not by the toss of a coin. Whoever sees all noisy
sums of one run guesses which ones were in; how many guesses are right bounds epsilon from below,
by one single run (Steinke, Nasr and Jagielski 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.blackbox import Features
from understudy.auditing.bounds import CONFIDENCE
from understudy.auditing.control import Control
from understudy.auditing.doors import exact_loss
from understudy.auditing.findings import Finding, unit_at
from understudy.auditing.neighbours import Pair, table_of
from understudy.counting.row_functions import RowInputs, Singles
from understudy.data.encoding import encode
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.privacy.budget import epsilon_of
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, SystemNoise
from understudy.privacy.renyi import (
    best_order,
    bound_sampled_divergence,
    epsilon_at,
    find_multiplier,
    rho_at,
)
from understudy.privacy.vectors import VectorSum

DELTA = 1e-6
CANARIES = 400
GRADIENT_STEPS = 20

COLUMN = "row"


@dataclass(frozen=True, kw_only=True)
class CanaryVectors:
    """A vector along an axis of its own for each value of the one column."""

    values: int
    length: float = 1.0

    @property
    def inputs(self) -> RowInputs:
        """The column, as codes."""
        return RowInputs(coded=(COLUMN,))

    @property
    def width(self) -> int:
        """As many axes as values."""
        return self.values

    def check(self, schema: Schema) -> None:
        """The column must be there."""
        self.inputs.check(schema)

    def vectors(self, rows: Singles) -> Iterator[Singles]:
        """The codes are the vectors."""
        yield from np.float32(self.length) * rows

    def describe(self) -> str:
        """What is summed."""
        return f"canaries along {self.values:,} axes"


def canary_schema(values: int) -> Schema:
    """One column with this many values."""
    attribute = {"kind": "categorical", "values": list(range(values))}
    return Schema.from_dict({"attributes": {COLUMN: attribute}})


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """Noisy sums, one after the other, as a training asks for them.

    Parameters
    ----------
    epsilon
        What all of them together claim, at DELTA.
    rate
        The probability with which a row is in a step.
    steps
        How many sums.
    length
        How long vectors are before they are clipped to 1.
    """

    epsilon: float
    rate: float = 1.0
    steps: int = 3
    length: float = 10.0

    @property
    def order(self) -> int:
        """The order of the ledger."""
        return best_order(self.epsilon, DELTA, self.rate, self.steps, 1.0)

    @property
    def multiplier(self) -> float:
        """The noise that the steps need."""
        share = rho_at(self.order, self.epsilon, DELTA) / self.steps
        return find_multiplier(self.order, self.rate, share)

    def run(self, values: int, table: Table, noise: Noise) -> list[NDArray[np.float64]]:
        """Every answer."""
        ledger = Ledger(self.epsilon, DELTA, currency="rho", order=self.order)
        curator = CentralCurator(encode(table, canary_schema(values)), ledger, noise)
        asked = VectorSum(
            function=CanaryVectors(values=values, length=self.length),
            budget=ledger.budget.equally(self.steps)[0],
            clip=1.0,
            rate=self.rate,
        )
        curator.prepay(asked, self.steps)
        return [curator.answer(asked).values for _ in range(self.steps)]


def canary_pair() -> Pair:
    """One row more, of a value that no other has."""
    schema = canary_schema(3)
    rows = [(place % 2,) for place in range(20)]
    tables = table_of(schema, rows), table_of(schema, [*rows, (2,)])
    return Pair(*tables, schema, "add_remove", "one row more, of full length")


def gradient_findings(epsilon: float) -> Iterator[Finding]:
    """Sums of clipped vectors over all rows, and over samples: the exact loss of all steps."""
    pair = canary_pair()
    for rate, steps in ((1.0, 3), (0.25, 5), (0.02, 200)):
        training = TrainingRun(epsilon=epsilon, rate=rate, steps=steps)
        loss = exact_loss(partial(training.run, 3), pair, paths=1)
        name = f"clipped vectors, {steps} sums, rate {rate:g}"
        lost = loss.epsilon_at(training.order, DELTA)
        if loss.side_door:
            lost = math.inf
        yield Finding(name, pair.name, "exact", epsilon, lost, unit_at(DELTA))


# --------------------------------------------------------------------------- canaries


def find_canaries(
    training: TrainingRun,
    seed: int,
    noise: Noise | None = None,
    canaries: int = CANARIES,
    confidence: float = CONFIDENCE,
) -> float:
    """A lower bound of epsilon, from one run, by guessing which canaries were in the table."""
    coins = np.random.default_rng(seed).random(canaries) < 0.5
    table = table_of(canary_schema(canaries), [(int(c),) for c in np.flatnonzero(coins)])
    answers = training.run(canaries, table, noise or SystemNoise())
    return bound_guesses(np.sum(answers, axis=0), coins, confidence)


def bound_guesses(
    scores: Features, coins: NDArray[np.bool_], confidence: float, delta: float = DELTA
) -> float:
    """The largest epsilon, at a delta, that this many right guesses refute.

    The canaries of the highest scores are guessed to be in, those of the lowest to be out; several
    numbers of guesses are tried, at a share of the confidence each.
    """
    order, canaries = np.argsort(scores), len(coins)
    tried = [number for number in (10, 20, 40, 80, 160, 320) if 2 * number <= canaries]
    best = 0.0
    for each in tried:
        right = int(coins[order[-each:]].sum() + (~coins[order[:each]]).sum())
        level = (1 - confidence) / len(tried)
        best = max(best, _find_refuted_epsilon(right, 2 * each, canaries * delta, level))
    return best


def _find_refuted_epsilon(right: int, guesses: int, deltas: float, level: float) -> float:
    """The largest epsilon at which this many right guesses have a probability below the level;
    ``deltas`` is that of all canaries together.
    """
    low, high = 0.0, 50.0
    if _tail(right, guesses, deltas, low) > level:
        return 0.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        if _tail(right, guesses, deltas, middle) <= level:
            low = middle
        else:
            high = middle
    return low


def _tail(right: int, guesses: int, deltas: float, epsilon: float) -> float:
    """The probability of at least this many right guesses (theorem 5.2 of the paper), delta
    included.
    """
    share = 1 / (1 + math.exp(-epsilon))
    logs = [
        math.lgamma(guesses + 1)
        - math.lgamma(k + 1)
        - math.lgamma(guesses - k + 1)
        + k * math.log(share)
        + (guesses - k) * math.log1p(-share)
        for k in range(guesses + 1)
    ]
    masses = np.exp(logs)
    above = float(masses[right:].sum())
    below = np.cumsum(masses[:right][::-1])
    steps = np.arange(1, len(below) + 1)
    worst = 0.0
    if len(below):
        worst = float((below / steps).max())
    return above + 2 * deltas * worst


def canary_findings(epsilon: float, seed: int | None = None) -> Iterator[Finding]:
    """Whole runs, each by one run of it."""
    if seed is None:
        seed = int.from_bytes(np.random.default_rng().bytes(4))
    for rate in (1.0, 0.25):
        training = TrainingRun(epsilon=epsilon, rate=rate, steps=GRADIENT_STEPS)
        found = find_canaries(training, seed)
        name = f"whole run of {GRADIENT_STEPS} sums, rate {rate:g}"
        pair = f"{CANARIES} canaries"
        yield Finding(name, pair, "runs", epsilon, found, unit_at(DELTA), CONFIDENCE)


# --------------------------------------------------------------------------- broken trainings


@dataclass(frozen=True, kw_only=True)
class _UnclippedVectors(VectorSum):
    """Noise for vectors of length 1, and vectors as long as they are."""

    def scale(self, ledger: Ledger) -> float:
        """That of shorter vectors."""
        return replace_clip(self).scale(ledger) / self.clip


def replace_clip(question: VectorSum) -> VectorSum:
    """The question that the price was worked out for."""
    return VectorSum(
        function=question.function, budget=question.budget, clip=1.0, rate=question.rate
    )


def lose_without_clip(epsilon: float) -> float:
    """Gradients as long as they are, with noise for a length of 1."""
    training = TrainingRun(epsilon=epsilon)

    def run(table: Table, noise: Noise) -> object:
        ledger = Ledger(epsilon, DELTA, currency="rho", order=training.order)
        curator = CentralCurator(encode(table, canary_schema(3)), ledger, noise)
        asked = _UnclippedVectors(
            function=CanaryVectors(values=3, length=10.0), budget=ledger.budget, clip=10.0
        )
        return curator.answer(asked).values

    return exact_loss(run, canary_pair(), paths=1).epsilon_at(training.order, DELTA)


def lose_with_clip(epsilon: float) -> float:
    """The same with clipping."""
    training = TrainingRun(epsilon=epsilon, rate=0.25, steps=5)
    run: Callable[[Table, Noise], object] = partial(training.run, 3)
    return exact_loss(run, canary_pair(), paths=1).epsilon_at(training.order, DELTA)


def lose_by_shuffle(epsilon: float, rate: float = 0.01) -> float:
    """Batches by a shuffle, each row once an epoch, with the noise that Poisson samples need.

    Where the batches are known, or all other rows are, a row is in one step of an epoch for sure:
    that step loses what noise on all rows does.
    """
    training = TrainingRun(epsilon=epsilon, rate=rate, steps=round(1 / rate))
    return epsilon_of(1 / (2 * training.multiplier**2), DELTA)


def two_passes_loss(epsilon: float) -> float:
    """Two sums of one sample, priced as one: real and made-up rows told apart twice on the private
    batch.
    """
    training = TrainingRun(epsilon=epsilon, rate=0.25, steps=20)
    twice = training.multiplier / math.sqrt(2)
    divergence = bound_sampled_divergence(training.order, training.rate, twice)
    return epsilon_at(training.order, training.steps * divergence / training.order, DELTA)


def _label_by_a_network(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Synthetic images labelled by whoever learned from the real ones: a mean of each class, and
    made-up points that get the label of the nearer one. The points are private, the labels are not.
    """
    first = np.array([0.0] * 20 + [-20.0] * neighbour)
    second = np.ones(20)
    points = 0.3 + 0.0 * rng.random((runs, 1))
    nearer = np.abs(points - first.mean()) > np.abs(points - second.mean())
    return nearer.astype(np.float64)


def gradient_controls() -> tuple[Control, ...]:
    """Trainings that are broken on purpose."""
    full = "one row more, of full length"
    unit = unit_at(DELTA)
    return (
        Control(
            "DP-SGD without clipping",
            "DP-SGD",
            full,
            1.0,
            exact=lambda: lose_without_clip(1.0),
            unit=unit,
        ),
        Control(
            "shuffled batches accounted as Poisson samples",
            "DP-SGD",
            full,
            1.0,
            exact=lambda: lose_by_shuffle(1.0),
            unit=unit,
        ),
        Control(
            "two backward passes on one batch, paid once",
            "DP-SGD",
            full,
            1.0,
            exact=lambda: two_passes_loss(1.0),
            unit=unit,
        ),
        Control(
            "synthetic images labelled by a network trained on real ones",
            "thesis",
            "an extreme value",
            1.0,
            _label_by_a_network,
        ),
    )


def sound_gradient_controls(epsilon: float) -> tuple[Control, ...]:
    """The same, done right."""
    return (
        Control(
            "DP-SGD with clipping and Poisson samples",
            "sound",
            "one row more, of full length",
            epsilon,
            exact=lambda: lose_with_clip(epsilon),
            broken=False,
            unit=unit_at(DELTA),
        ),
    )
