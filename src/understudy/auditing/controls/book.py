"""Mistakes of a book's listings (E1 to E36 in the notes)."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.blackbox import Features
from understudy.auditing.bounds import laplace_loss
from understudy.auditing.control import (
    Control,
    Simulate,
    draw_laplace,
    noisy_table,
    simulate_exact_release,
)
from understudy.auditing.controls.choices import up_and_down_loss
from understudy.auditing.controls.pairs import (
    EMPTY,
    EXTREME,
    ONE_MORE,
    ONLY_ROW,
    UP_DOWN,
    WITH_ONLY_ROW,
)


def _one_draw(exact: Features, noise: Features) -> Features:
    """One noise draw for the whole table: differences between cells are exact."""
    return exact + noise[:, :1]


def _positive(exact: Features, noise: Features) -> Features:
    return exact + np.abs(noise)


def _add_noise_to_observed(exact: Features, noise: Features) -> Features:
    """Noise for cells that hold a row; the others stay 0."""
    return np.where(exact > 0, exact + noise, 0.0)


def _until_it_passes(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Noise drawn again until the answer passes a test against the truth: within 2."""
    exact = 40.0 + neighbour
    tries = draw_laplace(rng, 1.0, (runs, 60))
    passes = np.abs(tries) <= 2
    return exact + tries[np.arange(runs), passes.argmax(axis=1)]


def direct_encoding(listing: bool) -> Simulate:
    """Randomised response over 14 values: a lie is the truth and an offset, 1 ... 13, or 0 ... 12
    as in the listing.
    """
    values, epsilon = 14, 1.0

    def simulate(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
        if neighbour:
            truth = 3
        else:
            truth = 4
        honest = rng.random(runs) < math.exp(epsilon) / (math.exp(epsilon) + values - 1)
        offset = rng.integers(0, values - 1, runs) + (not listing)
        return np.where(honest, truth, (truth + offset) % values)

    return simulate


def _piecewise(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """The Piecewise mechanism with its tail on the left or right by a fair coin, however long: a
    point mass at C.
    """
    epsilon, truth = 1.0, -1.0 if neighbour else 1.0
    half = math.exp(epsilon / 2)
    edge = (half + 1) / (half - 1)
    left = (edge + 1) / 2 * truth - (edge - 1) / 2
    right = left + edge - 1
    inside = rng.random(runs) < half / (half + 1)
    tail = np.where(
        rng.random(runs) < 0.5, rng.uniform(-edge, left, runs), rng.uniform(right, edge, runs)
    )
    return np.where(inside, rng.uniform(left, right, runs), tail)


def _variance(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """A variance with the sensitivity n (u - l) / (n + 1) for values up to u = 100,000: wrong
    unit.
    """
    rows = np.array([0.0] * 40 + [100_000.0] * neighbour)
    return rows.var() + rng.laplace(scale=40 * 100_000 / 41, size=runs)


def _largest_salary(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """A mean whose sensitivity is taken from the highest value in the data."""
    rows = np.array([10.0] * 40 + [10_000.0] * neighbour)
    return rows.mean() + rng.laplace(scale=rows.max() / len(rows), size=runs)


def _exponential_that_ignores_epsilon() -> float:
    """Claimed 0.1; the mechanism was built once, for epsilon 1."""
    return up_and_down_loss(0.0, 1.0, 2.0, "exponential")


def duchi_loss(dimensions: int, epsilon: float) -> float:
    """Duchi's sampler as the book writes it: signs that agree with the truth or tie, or that
    disagree or tie.

    For an even number of dimensions both sets hold the ties, so that a tie is more likely than
    either.
    """
    signs = np.array(list(itertools.product((-1, 1), repeat=dimensions)))

    def log_probabilities(truth: NDArray[np.int64]) -> NDArray[np.float64]:
        agree, against = signs @ truth >= 0, signs @ truth <= 0
        honest = math.exp(epsilon) / (1 + math.exp(epsilon))
        return np.log(honest * agree / agree.sum() + (1 - honest) * against / against.sum())

    first = log_probabilities(signs[0])
    return max(float(np.abs(first - log_probabilities(truth)).max()) for truth in signs)


def _copy_last_column(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Every feature with noise, but the index runs one short: the last one is the real row's."""
    row = np.array([1.0, 1.0, 1.0] if neighbour else [0.0, 0.0, 0.0])
    noisy = row + draw_laplace(rng, 3.0, (runs, 3))
    noisy[:, 2] = row[2]
    return noisy


def _wishart(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Second moments with Wishart noise, which is never negative: a moment below 1 says that the
    row is not there.
    """
    moments = np.diag([40.0, 1.0 * neighbour])
    directions = rng.normal(scale=math.sqrt(3 / 2), size=(runs, 2, 3))
    return (moments + directions @ directions.transpose(0, 2, 1)).reshape(runs, 4)


def _scale_by_the_data(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Values scaled to 0 ... 1 by the smallest and largest of the data, then a noisy count of those
    above 1/2.
    """
    rows = np.array([1.0, 2.0, 3.0, 4.0] * 10 + [1000.0] * neighbour)
    scaled = (rows - rows.min()) / (rows.max() - rows.min())
    return np.count_nonzero(scaled > 0.5) + draw_laplace(rng, 1.0, (runs,))


def group_means_loss(size: int = 5, groups: int = 8) -> float:
    """Noisy means of groups of neighbouring values, at a sensitivity of what one row can do if
    groups stand still.

    One row more at the lower end, and every group passes one row on to the next.
    """
    values = np.arange(size * groups, dtype=np.float64)
    moved = np.concatenate([[-1.0], values[:-1]])
    means, moved_means = (rows.reshape(groups, size).mean(axis=1) for rows in (values, moved))
    return laplace_loss(means, moved_means, (size - 1) / size)


def _noise_written_down(exact: Features, noise: Features) -> Features:
    """The noise stands in a file beside the result."""
    return np.column_stack([exact + noise, noise])


def _two_columns_redrawn(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Two columns drawn again from their distributions, the others left as they are."""
    return np.column_stack(
        [rng.integers(0, 2, (runs, 2)), np.full(runs, 90.0 if neighbour else 30.0)]
    )


def _floating_point(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Laplace noise in floating point (Mironov 2012): a sum with 1 has no digits beyond the 53rd,
    noise alone does.
    """
    return float(neighbour) + rng.laplace(size=runs)


def book_controls() -> tuple[Control, ...]:
    """Of the book, some of them in other tools, too."""
    return (
        Control(
            "one noise draw for a whole table",
            "book E1",
            ONLY_ROW,
            1.0,
            noisy_table(EMPTY, WITH_ONLY_ROW, 1.0, _one_draw),
        ),
        Control(
            "only observed cells get noise",
            "book E2, synthcity",
            ONLY_ROW,
            1.0,
            noisy_table(EMPTY, WITH_ONLY_ROW, 1.0, _add_noise_to_observed),
        ),
        Control(
            "the number of rows is exact",
            "book E3, smartnoise-synth",
            ONE_MORE,
            1.0,
            simulate_exact_release(40, 41, 1.0),
        ),
        Control(
            "a table and the number of rows, paid once",
            "book E3",
            ONE_MORE,
            1.0,
            noisy_table((40, 40), (41, 41), 1.0),
        ),
        Control("half of the noise", "book", ONLY_ROW, 1.0, noisy_table(EMPTY, WITH_ONLY_ROW, 0.5)),
        Control(
            "noise that is never negative",
            "book",
            ONLY_ROW,
            1.0,
            noisy_table(EMPTY, WITH_ONLY_ROW, 1.0, _positive),
        ),
        Control(
            "exponential mechanism that ignores epsilon",
            "book E12",
            UP_DOWN,
            0.1,
            exact=_exponential_that_ignores_epsilon,
        ),
        Control(
            "direct encoding that never says one value",
            "book E5",
            "one value changed",
            1.0,
            direct_encoding(True),
        ),
        Control("Piecewise sampler with a point mass", "book E6", "from 1 to -1", 1.0, _piecewise),
        Control(
            "Duchi's sampler for an even number of dimensions",
            "book E8",
            "all signs may change",
            1.0,
            exact=lambda: duchi_loss(4, 1.0),
        ),
        Control("variance, sensitivity in the wrong unit", "book E9", EXTREME, 1.0, _variance),
        Control(
            "9 numbers with Laplace noise for the L2 norm",
            "book E11",
            "all 9 change by a third",
            1.0,
            exact=lambda: laplace_loss(np.zeros(9), np.full(9, 1 / 3), 1.0),
        ),
        Control("Wishart noise on second moments", "book E10", ONLY_ROW, 1.0, _wishart),
        Control(
            "scaled by the smallest and largest value",
            "book E13",
            EXTREME,
            1.0,
            _scale_by_the_data,
        ),
        Control(
            "noise drawn again until a test passes", "book E14", ONE_MORE, 1.0, _until_it_passes
        ),
        Control(
            "means of groups that are formed from the data",
            "book E16",
            ONE_MORE,
            1.0,
            exact=group_means_loss,
        ),
        Control("the last column is copied", "book E17", "one row changed", 1.0, _copy_last_column),
        Control(
            "noise kept in a file beside the result",
            "book E19",
            ONLY_ROW,
            1.0,
            noisy_table(EMPTY, WITH_ONLY_ROW, 1.0, _noise_written_down),
        ),
        Control(
            "two columns drawn again, the others as they are",
            "book E20",
            "one row changed",
            1.0,
            _two_columns_redrawn,
        ),
        Control(
            "exact means of groups",
            "book E23",
            ONE_MORE,
            1.0,
            simulate_exact_release(30.0, 31.5, 1.0),
        ),
        Control("sensitivity from the highest salary", "book E24", EXTREME, 1.0, _largest_salary),
        Control(
            "counts and sums, each at all of epsilon",
            "book E25",
            ONE_MORE,
            1.0,
            exact=lambda: laplace_loss(np.array([40, 20]), np.array([41, 21]), 1.0),
        ),
        Control("Laplace noise in floating point", "book E34", ONE_MORE, 1.0, _floating_point),
    )
