"""Mistakes of other tools."""

from __future__ import annotations

import math

import numpy as np

from understudy.auditing.blackbox import Features
from understudy.auditing.bounds import laplace_loss
from understudy.auditing.control import Control, draw_laplace, noisy_table, simulate_exact_release
from understudy.auditing.controls.choices import information_choice_loss
from understudy.auditing.controls.curators import (
    OneCellOfTwo,
    SpendsTwice,
    SplitsOverFewer,
    curator_loss,
)
from understudy.auditing.controls.pairs import (
    CONSTANT,
    EMPTY,
    EXTREME,
    ONE_MORE,
    ONLY_ROW,
    UP_DOWN,
    WITH_ONLY_ROW,
    constant_pair,
)


def _real_values_as_categories(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Numbers taken for categories: every synthetic income is some real one."""
    incomes = np.array([10.0, 20.0, 30.0] * 13 + [123.45] * neighbour)
    values, counts = np.unique(incomes, return_counts=True)
    noisy = np.maximum(counts + draw_laplace(rng, 1.0, (runs, len(values))), 1.0)
    chosen = (noisy.cumsum(axis=1) / noisy.sum(axis=1)[:, None] < rng.random((runs, 1))).sum(axis=1)
    return values[chosen]


def _seed_zero(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """The same noise in every run: whoever knows the seed takes it off again."""
    noise = draw_laplace(np.random.default_rng(0), 1.0, (1, 3))
    return np.broadcast_to(np.array(WITH_ONLY_ROW if neighbour else EMPTY) + noise, (runs, 3))


def _categories_from_the_data(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """A histogram over the categories that occur: as many cells as there are."""
    counts = np.array([20.0, 20.0, 1.0] if neighbour else [20.0, 20.0])
    return counts + draw_laplace(rng, 1.0, (runs, len(counts)))


def tool_controls() -> tuple[Control, ...]:
    """Of other tools."""
    return (
        Control(
            "normalised information, sensitivity of the plain one",
            "dpmm",
            UP_DOWN,
            1.0,
            exact=lambda: information_choice_loss(True, 2, math.e),
        ),
        Control(
            "information in bits, sensitivity in nats",
            "dpmm",
            UP_DOWN,
            1.0,
            exact=lambda: information_choice_loss(False, 2, math.e),
        ),
        Control(
            "preprocessing paid on top of epsilon",
            "dpmm",
            ONE_MORE,
            1.0,
            exact=lambda: (
                laplace_loss(np.array([40]), np.array([41]), 1.0)
                + laplace_loss(np.zeros(1), np.ones(1), 10.0)
            ),
        ),
        Control(
            "a real value fills the gaps",
            "dpmm",
            "one row changed",
            1.0,
            simulate_exact_release(37.0, 41.0, 1.0),
        ),
        Control(
            "numbers taken for categories",
            "synthcity",
            "a unique value",
            1.0,
            _real_values_as_categories,
        ),
        Control(
            "edges by a threshold on exact scores",
            "synthcity",
            UP_DOWN,
            1.0,
            simulate_exact_release(0.0, 1.0, 1.0),
        ),
        Control(
            "noise n times too small",
            "synthcity, book E15",
            ONLY_ROW,
            1.0,
            noisy_table(EMPTY, WITH_ONLY_ROW, 1 / 40),
        ),
        Control(
            "budget spent twice",
            "DataSynthesizer",
            CONSTANT,
            1.0,
            exact=lambda: curator_loss(SpendsTwice, constant_pair("add_remove")),
        ),
        Control("noise from seed 0", "DataSynthesizer, reprosyn", ONLY_ROW, 1.0, _seed_zero),
        Control(
            "categories from the data",
            "smartnoise-synth, dpmm",
            "a unique category",
            1.0,
            _categories_from_the_data,
        ),
        Control(
            "exact share of missing values",
            "DataSynthesizer",
            "one value missing",
            1.0,
            simulate_exact_release(0, 1 / 40, 1.0),
        ),
        Control(
            "exact largest value",
            "DataSynthesizer",
            EXTREME,
            1.0,
            simulate_exact_release(79, 119, 1.0),
        ),
        Control(
            "split over fewer columns than are measured",
            "DataSynthesizer",
            CONSTANT,
            1.0,
            exact=lambda: curator_loss(SplitsOverFewer, constant_pair("add_remove")),
        ),
        Control(
            "noise for one cell where two change",
            "DataSynthesizer",
            "one row replaced",
            1.0,
            exact=lambda: curator_loss(OneCellOfTwo, constant_pair("replace")),
        ),
    )
