"""Negative controls: broken methods that the audit must flag, and sound counterparts that it must
not.

Each is a few lines that make one mistake which was made in practice: in the thesis, in the Aalborg
project, in the book's listings (E1 to E36 in the notes) or in another tool. They protect nobody:
never use them.

A control is audited in one of two ways. *Runs*: it is simulated many times on two neighbouring
inputs, and the test of :mod:`understudy.auditing.blackbox` bounds epsilon. *Exact*: the loss is
computed from its outcome probabilities.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.blackbox import Features
from understudy.auditing.bounds import choice_losses, laplace_loss, renyi_rho
from understudy.auditing.control import (
    Control,
    Simulate,
    draw_laplace,
    noisy_table,
    released_exactly,
)
from understudy.auditing.doors import exact_loss
from understudy.auditing.gradients import gradient_controls, sound_gradient_controls
from understudy.auditing.mechanism_controls import mechanism_controls, sound_mechanism_controls
from understudy.auditing.neighbours import (
    Pair,
    odd_cell_pairs,
    refinement_pairs,
    worst_pairs,
)
from understudy.auditing.randomiser_controls import (
    randomiser_controls,
    sound_randomiser_controls,
)
from understudy.auditing.sums import clipped_loss, unclipped_loss, uncounted_loss
from understudy.data.encoding import encode
from understudy.data.marginals import Marginal, marginal
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.mechanisms.distributions import choice_log_probabilities, laplace_tail
from understudy.models.model import Model
from understudy.privacy.budget import Budget, Neighbours
from understudy.privacy.central import CentralCurator
from understudy.privacy.curator import Measurement
from understudy.privacy.discovery import discover
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, Rule, gaussian_scale
from understudy.privacy.questions import Measure
from understudy.privacy.refinement import refine
from understudy.synthesizers.independent import Independent

EMPTY, ONE = (20.0, 20.0, 0.0), (20.0, 20.0, 1.0)
"""A histogram with an empty cell, and with its only row."""

# --------------------------------------------------------------------------- the thesis


def _noise_on_the_loss(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Gradient descent on a squared loss with noise added to its value: the gradient, and so the
    weight, has none.
    """
    rows = np.array([0.0] * 40 + [1.0] * neighbour)
    weight = np.full(runs, 0.5)
    for _ in range(50):
        loss = ((rows[:, None] - weight) ** 2).mean(axis=0) + rng.laplace(size=runs)
        assert loss.shape == weight.shape  # shown, and thrown away
        weight = weight - 0.1 * 2 * (weight - rows.mean())
    return weight


def _noise_in_a_layer(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Noise on a layer's outputs while training, gradients not clipped: an extreme row outweighs
    all noise.
    """
    rows = np.array([1.0] * 40 + [1000.0] * neighbour)
    weight = np.zeros(runs)
    outputs = weight[:, None] * rows + rng.laplace(size=(runs, len(rows)))
    return weight - 0.01 * ((outputs - rows) * rows).mean(axis=1)


def _add_noise_to_observed(exact: Features, noise: Features) -> Features:
    """Noise for cells that hold a row; the others stay 0."""
    return np.where(exact > 0, exact + noise, 0.0)


def _bins_from_the_data(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """A noisy histogram of four bins between the smallest and the largest value of the data."""
    rows = np.array([1.0, 2.0, 3.0, 4.0] * 10 + [1000.0] * neighbour)
    counts, edges = np.histogram(rows, 4)
    noisy = counts + draw_laplace(rng, 1.0, (runs, 4))
    return np.column_stack([noisy, np.broadcast_to(edges, (runs, 5))])


# --------------------------------------------------------------------------- the Aalborg project


def _noisy_conditionals(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Pr[x | p] with Laplace noise of scale 2 / (n epsilon), which joint probabilities need, for a
    p of one row.
    """
    if neighbour:
        shares = np.array([0.0, 1.0])
    else:
        shares = np.array([1.0, 0.0])
    return shares + rng.laplace(scale=2 / 40, size=(runs, 2))


def smoothed_histogram_loss(
    bins: float, assumed: float, rows: int = 1000, drawn: int = 100, alpha: float = 1.0
) -> float:
    """The loss of drawing rows from a smoothed histogram whose smoothing was worked out for
    ``assumed`` bins.

    Wasserman and Zhou (2010): ``drawn`` rows from (1 - d) f + d over m bins lose drawn * log(1 + (1
    - d) m / (n d)).
    """
    d = assumed / (rows * math.expm1(alpha / drawn) + assumed)
    return drawn * math.log1p((1 - d) * bins / (rows * d))


# --------------------------------------------------------------------------- the book


def _one_draw(exact: Features, noise: Features) -> Features:
    """One noise draw for the whole table: differences between cells are exact."""
    return exact + noise[:, :1]


def _positive(exact: Features, noise: Features) -> Features:
    return exact + np.abs(noise)


def _until_it_passes(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Noise drawn again until the answer passes a test against the truth: within 2."""
    exact = 40.0 + neighbour
    tries = draw_laplace(rng, 1.0, (runs, 60))
    passes = np.abs(tries) <= 2
    return exact + tries[np.arange(runs), passes.argmax(axis=1)]


def _direct_encoding(listing: bool) -> Simulate:
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


def up_and_down_loss(low: float, high: float, scale: float, rule: Rule) -> float:
    """The loss of a choice where one row lifts one candidate from low to high and takes many others
    down.
    """
    one, many = np.array([1.0] + [0.0] * FALLING), np.array([0.0] + [1.0] * FALLING)
    scores, other = low + (high - low) * many, low + (high - low) * one
    return float(np.abs(choice_losses(scores, other, scale, rule)).max())


FALLING = 500
"""With this many candidates that fall, the exponential mechanism loses nearly all that it may."""


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


def wrapped_squares_rho(number: int = (1 << 32) + 1, claimed: float = 0.5) -> float:
    """What a sum costs in rho where a row's number, of which noise goes by the square, was squared
    in 64 bits: 2^32 squared is 0 there.
    """
    wrapped = int((np.array([number]) ** 2)[0])
    scale = gaussian_scale(math.sqrt(wrapped), claimed)
    return number**2 / (2 * scale**2)


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


# --------------------------------------------------------------------------- peers


def _real_values_as_categories(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """Numbers taken for categories: every synthetic income is some real one."""
    incomes = np.array([10.0, 20.0, 30.0] * 13 + [123.45] * neighbour)
    values, counts = np.unique(incomes, return_counts=True)
    noisy = np.maximum(counts + draw_laplace(rng, 1.0, (runs, len(values))), 1.0)
    chosen = (noisy.cumsum(axis=1) / noisy.sum(axis=1)[:, None] < rng.random((runs, 1))).sum(axis=1)
    return values[chosen]


def _information(table: Sequence[Sequence[int]], base: float = 2.0) -> tuple[float, float]:
    """Mutual information of a table, and the same divided by the root of the entropies' product."""
    joint = np.array(table, dtype=np.float64) / np.sum(table)

    def entropy(shares: NDArray[np.float64]) -> float:
        positive = shares[shares > 0]
        return float(-(positive * np.log(positive)).sum() / math.log(base))

    x, p = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0))
    plain = x + p - entropy(joint.ravel())
    return plain, plain / math.sqrt(x * p) if x * p > 0 else 0.0


def _information_sensitivity(rows: int, base: float) -> float:
    return (math.log(rows) + (rows - 1) * math.log(rows / (rows - 1))) / rows / math.log(base)


def information_choice_loss(
    normalised: bool, base: float, sensitivity_base: float, rows: int = 10_000
) -> float:
    """The exponential mechanism at epsilon 1 over pairs, one of which gains what the others lose by
    one row.
    """
    constant, odd = [[rows, 0], [0, 0]], [[rows - 1, 0], [0, 1]]
    which = int(normalised)
    low, high = _information(constant, base)[which], _information(odd, base)[which]
    scale = 2 * _information_sensitivity(rows, sensitivity_base)
    return up_and_down_loss(low, high, scale, "exponential")


def _seed_zero(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """The same noise in every run: whoever knows the seed takes it off again."""
    noise = draw_laplace(np.random.default_rng(0), 1.0, (1, 3))
    return np.broadcast_to(np.array(ONE if neighbour else EMPTY) + noise, (runs, 3))


def _categories_from_the_data(neighbour: bool, runs: int, rng: np.random.Generator) -> Features:
    """A histogram over the categories that occur: as many cells as there are."""
    counts = np.array([20.0, 20.0, 1.0] if neighbour else [20.0, 20.0])
    return counts + draw_laplace(rng, 1.0, (runs, len(counts)))


def _choice_rho(scale: float, rule: Rule) -> float:
    """The rho of a choice between two candidates of which one gains 1 and the other loses 1."""
    return max(
        renyi_rho(
            choice_log_probabilities(np.array([start, 0.0]), scale, rule),
            choice_log_probabilities(np.array([start - 1, 1.0]), scale, rule),
        )
        for start in np.linspace(0.0, 2.0, 9)
    )


# ---- broken curators, run through the recording doors


class _SpendsTwice(CentralCurator):
    """Measures everything twice and writes it down once."""

    def measure(
        self, marginals: Sequence[Marginal], budget: Budget, weights: Sequence[float] | None = None
    ) -> list[Measurement]:
        first = super().measure(marginals, budget, weights)
        self.ledger.entries.clear()
        super().measure(marginals, budget, weights)
        return first


class _SplitsOverFewer(CentralCurator):
    """Gives each table what it would get if there were one table fewer."""

    def measure(
        self, marginals: Sequence[Marginal], budget: Budget, weights: Sequence[float] | None = None
    ) -> list[Measurement]:
        measured = super().measure(marginals[:-1], budget, weights)
        self.ledger.entries.clear()
        return [
            *measured,
            *super().measure(marginals[-1:], budget.equally(len(marginals) - 1)[0], weights),
        ]


class _HalfTheNoise(Measure):
    """Tables with half of the noise that they need."""

    def scales(self, ledger: Ledger) -> list[float]:
        return [scale / 2 for scale in super().scales(ledger)]


class _OneCellOfTwo(CentralCurator):
    """Under replace a row changes two cells; the noise is for one."""

    def measure(
        self, marginals: Sequence[Marginal], budget: Budget, weights: Sequence[float] | None = None
    ) -> list[Measurement]:
        question = _HalfTheNoise(marginals=marginals, budget=budget, weights=weights)
        measured: list[Measurement] = self.answer(question)
        return measured


def curator_loss(make: type[CentralCurator], pair: Pair, epsilon: float = 1.0) -> float:
    """The exact loss of one histogram an attribute, asked of a curator."""

    def run(table: Table, noise: Noise) -> None:
        assert pair.schema is not None
        curator = make(
            encode(table, pair.schema), Ledger(epsilon, neighbours=pair.neighbours), noise
        )
        curator.measure([marginal(name) for name in pair.schema.names], Budget(epsilon))

    return exact_loss(run, pair).epsilon


def fit_loss(epsilon: float, exact_rows: bool) -> float:
    """The exact loss of a whole fit; with ``exact_rows`` their number stands in the model, beside
    its noisy tables.
    """
    pair = _constant("add_remove")

    def run(table: Table, noise: Noise) -> Model:
        model = Independent(epsilon=epsilon).fit(table, pair.schema, noise=noise)
        if exact_rows:
            return replace(model, method={**model.method, "fitted_on": table.rows})
        return model

    return exact_loss(run, pair).epsilon


def types_loss(epsilon: float, private_types: bool) -> float:
    """The exact loss of a release of rows; with ``private_types`` in the types of the private
    columns.

    One missing value makes a column of integers one of floats in pandas.
    """
    schema = Schema.from_dict({"attributes": {"n": {"kind": "integer", "min": 0, "max": 3}}})
    values = np.arange(40) % 4
    missing = np.zeros(41, dtype=np.uint8)
    missing[-1] = 1
    pair = Pair(
        Table({"n": Column("integer", values)}),
        Table({"n": Column("integer", np.append(values, 0), missing=missing)}),
        schema,
        name=ONE_MISSING,
    )

    def run(table: Table, noise: Noise) -> NDArray[np.int64] | NDArray[np.float64]:
        model = Independent(epsilon=epsilon).fit(table, schema, noise=noise, notify=lambda _: None)
        released: NDArray[np.int64] = model.sample(20, seed=0).columns["n"].values
        if private_types and table.columns["n"].missing is not None:
            return released.astype(np.float64)
        return released

    return exact_loss(run, pair).epsilon


def kinds_loss(epsilon: float, read_for_free: bool) -> float:
    """The exact loss of discovery; with ``read_for_free`` all cells tell whether a column is one of
    numbers.
    """
    pair = odd_cell_pairs("add_remove")[0]

    def run(table: Table, noise: Noise) -> object:
        ledger = Ledger(epsilon, 1e-12, threshold_delta=1e-12)
        schema = discover(table, ledger, ledger.budget, 1e-12, noise)
        if read_for_free:
            return schema, all(word.isdigit() for word in table.columns["x"].words)
        return schema

    return exact_loss(run, pair).epsilon


def refinement_loss(epsilon: float, exact_step: bool) -> float:
    """The exact loss of learning the inside of bins; with ``exact_step`` the step is the coarsest
    one that all numbers lie on, read off the rows.
    """
    pair = refinement_pairs("add_remove")[0]
    schema = pair.schema
    assert schema is not None

    def run(table: Table, noise: Noise) -> Schema:
        known = schema
        if exact_step:
            amounts = table.columns["amount"].values
            step = next(step for step in (1000, 100, 10, 1) if not (amounts % step).any())
            document = schema.to_dict()
            document["attributes"]["amount"] |= {"step": step}
            known = Schema.from_dict(document)
        ledger = Ledger(epsilon, neighbours=pair.neighbours)
        return refine(known, partial(encode, table), ledger, ledger.budget, noise)

    return exact_loss(run, pair).epsilon


ODD_CELL = "a text among numbers"

ONE_MISSING = "one more row, with a missing value"


def _constant(neighbours: Neighbours) -> Pair:
    return worst_pairs(neighbours)[0]


# --------------------------------------------------------------------------- the list


def controls() -> tuple[Control, ...]:
    """All broken methods."""
    one_more, only_row = "one row more", "an empty cell gains its only row"
    constant, extreme = "a constant column gains one value", "an extreme value"
    up_down = "one score up, one down"
    one_configuration = "a parent configuration with one row"
    return (
        Control(
            "bins from the smallest and largest value", "thesis", extreme, 1.0, _bins_from_the_data
        ),
        Control(
            "noise on a network's loss, not on what is released",
            "thesis",
            constant,
            1.0,
            _noise_on_the_loss,
        ),
        Control(
            "noise in a layer, gradients not clipped", "thesis", extreme, 1.0, _noise_in_a_layer
        ),
        Control(
            "conditional probabilities, noise for joint ones",
            "Aalborg",
            one_configuration,
            1.0,
            _noisy_conditionals,
        ),
        Control(
            "smoothed histogram with m = 1/100 for 100",
            "Aalborg",
            only_row,
            1.0,
            exact=lambda: smoothed_histogram_loss(100, 0.01),
        ),
        Control(
            "one noise draw for a whole table",
            "book E1",
            only_row,
            1.0,
            noisy_table(EMPTY, ONE, 1.0, _one_draw),
        ),
        Control(
            "only observed cells get noise",
            "book E2, synthcity",
            only_row,
            1.0,
            noisy_table(EMPTY, ONE, 1.0, _add_noise_to_observed),
        ),
        Control(
            "the number of rows is exact",
            "book E3, smartnoise-synth",
            one_more,
            1.0,
            released_exactly(40, 41, 1.0),
        ),
        Control(
            "a table and the number of rows, paid once",
            "book E3",
            one_more,
            1.0,
            noisy_table((40, 40), (41, 41), 1.0),
        ),
        Control("half of the noise", "book", only_row, 1.0, noisy_table(EMPTY, ONE, 0.5)),
        Control(
            "noise that is never negative",
            "book",
            only_row,
            1.0,
            noisy_table(EMPTY, ONE, 1.0, _positive),
        ),
        Control(
            "exponential mechanism that ignores epsilon",
            "book E12",
            up_down,
            0.1,
            exact=_exponential_that_ignores_epsilon,
        ),
        Control(
            "direct encoding that never says one value",
            "book E5",
            "one value changed",
            1.0,
            _direct_encoding(True),
        ),
        Control("Piecewise sampler with a point mass", "book E6", "from 1 to -1", 1.0, _piecewise),
        Control(
            "Duchi's sampler for an even number of dimensions",
            "book E8",
            "all signs may change",
            1.0,
            exact=lambda: duchi_loss(4, 1.0),
        ),
        Control("variance, sensitivity in the wrong unit", "book E9", extreme, 1.0, _variance),
        Control(
            "9 numbers with Laplace noise for the L2 norm",
            "book E11",
            "all 9 change by a third",
            1.0,
            exact=lambda: laplace_loss(np.zeros(9), np.full(9, 1 / 3), 1.0),
        ),
        Control("Wishart noise on second moments", "book E10", only_row, 1.0, _wishart),
        Control(
            "scaled by the smallest and largest value",
            "book E13",
            extreme,
            1.0,
            _scale_by_the_data,
        ),
        Control(
            "noise drawn again until a test passes", "book E14", one_more, 1.0, _until_it_passes
        ),
        Control(
            "means of groups that are formed from the data",
            "book E16",
            one_more,
            1.0,
            exact=group_means_loss,
        ),
        Control("the last column is copied", "book E17", "one row changed", 1.0, _copy_last_column),
        Control(
            "noise kept in a file beside the result",
            "book E19",
            only_row,
            1.0,
            noisy_table(EMPTY, ONE, 1.0, _noise_written_down),
        ),
        Control(
            "two columns drawn again, the others as they are",
            "book E20",
            "one row changed",
            1.0,
            _two_columns_redrawn,
        ),
        Control(
            "exact means of groups", "book E23", one_more, 1.0, released_exactly(30.0, 31.5, 1.0)
        ),
        Control("sensitivity from the highest salary", "book E24", extreme, 1.0, _largest_salary),
        Control(
            "counts and sums, each at all of epsilon",
            "book E25",
            one_more,
            1.0,
            exact=lambda: laplace_loss(np.array([40, 20]), np.array([41, 21]), 1.0),
        ),
        Control("Laplace noise in floating point", "book E34", one_more, 1.0, _floating_point),
        Control(
            "normalised information, sensitivity of the plain one",
            "dpmm",
            up_down,
            1.0,
            exact=lambda: information_choice_loss(True, 2, math.e),
        ),
        Control(
            "information in bits, sensitivity in nats",
            "dpmm",
            up_down,
            1.0,
            exact=lambda: information_choice_loss(False, 2, math.e),
        ),
        Control(
            "preprocessing paid on top of epsilon",
            "dpmm",
            one_more,
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
            released_exactly(37.0, 41.0, 1.0),
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
            up_down,
            1.0,
            released_exactly(0.0, 1.0, 1.0),
        ),
        Control(
            "noise n times too small",
            "synthcity, book E15",
            only_row,
            1.0,
            noisy_table(EMPTY, ONE, 1 / 40),
        ),
        Control(
            "budget spent twice",
            "DataSynthesizer",
            constant,
            1.0,
            exact=lambda: curator_loss(_SpendsTwice, _constant("add_remove")),
        ),
        Control("noise from seed 0", "DataSynthesizer, reprosyn", only_row, 1.0, _seed_zero),
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
            released_exactly(0, 1 / 40, 1.0),
        ),
        Control(
            "exact largest value", "DataSynthesizer", extreme, 1.0, released_exactly(79, 119, 1.0)
        ),
        Control(
            "split over fewer columns than are measured",
            "DataSynthesizer",
            constant,
            1.0,
            exact=lambda: curator_loss(_SplitsOverFewer, _constant("add_remove")),
        ),
        Control(
            "noise for one cell where two change",
            "DataSynthesizer",
            "one row replaced",
            1.0,
            exact=lambda: curator_loss(_OneCellOfTwo, _constant("replace")),
        ),
        Control(
            "the exact number of rows stands in the model",
            "a temptation of ours",
            constant,
            1.0,
            exact=lambda: fit_loss(1.0, True),
        ),
        Control(
            "rows in the types of the private frame",
            "a slip of ours",
            ONE_MISSING,
            1.0,
            exact=lambda: types_loss(1.0, True),
        ),
        Control(
            "a step that all numbers lie on, read off the rows",
            "a temptation of ours",
            "one amount beside the grid",
            1.0,
            exact=lambda: refinement_loss(1.0, True),
        ),
        Control(
            "scores called monotonic that are not",
            "dpsynth",
            up_down,
            0.125,
            exact=lambda: _choice_rho(1.0, "exponential"),
            unit="rho",
        ),
        Control(
            "permute-and-flip at the price of the exponential",
            "a temptation of ours",
            up_down,
            0.125,
            exact=lambda: _choice_rho(2.0, "permute_and_flip"),
            unit="rho",
        ),
        Control(
            "a sum whose squares wrap around in 64 bits",
            "understudy",
            one_more,
            0.5,
            exact=wrapped_squares_rho,
            unit="rho",
        ),
        Control(
            "several rows of a person, noise for one",
            "a temptation of ours",
            "3 rows of one person",
            1.0,
            exact=lambda: laplace_loss(np.array([0]), np.array([3]), 1.0),
        ),
        Control(
            "categories named above 5, whatever delta is",
            "a temptation of ours",
            "a unique category",
            1e-6,
            exact=lambda: laplace_tail(5 - 1, 1.0),
            unit="delta",
        ),
        Control(
            "sums of numbers that are not clipped",
            "a temptation of ours",
            extreme,
            1.0,
            exact=lambda: unclipped_loss(1.0),
        ),
        Control(
            "second moments, noise for as many as features",
            "a temptation of ours",
            extreme,
            1.0,
            exact=lambda: uncounted_loss(1.0),
        ),
        Control(
            "the kind of a column told from all of its cells",
            "ours, before it was paid for",
            ODD_CELL,
            1.0,
            exact=lambda: kinds_loss(1.0, True),
        ),
        *gradient_controls(),
        *mechanism_controls(),
        *randomiser_controls(),
    )


def sound_controls(epsilon: float = 1.0) -> tuple[Control, ...]:
    """The same done right, for the audit to leave alone."""
    only_row, up_down = "an empty cell gains its only row", "one score up, one down"
    scale = 1 / epsilon

    def sound(
        name: str,
        pair: str,
        simulate: Simulate | None = None,
        exact: Callable[[], float] | None = None,
    ) -> Control:
        return Control(name, "sound", pair, epsilon, simulate, exact, broken=False)

    return (
        sound("fresh noise in every cell", only_row, noisy_table(EMPTY, ONE, scale)),
        sound(
            "a table and the number of rows, half each",
            only_row,
            noisy_table((40, 40), (41, 41), 2 * scale),
        ),
        sound(
            "rounded and clipped afterwards",
            only_row,
            noisy_table(EMPTY, ONE, scale, lambda c, z: np.maximum(c + z, 0)),
        ),
        sound(
            "replaced row, noise for two cells",
            "one row replaced",
            noisy_table((20, 20), (19, 21), 2 * scale),
        ),
        sound(
            "exponential mechanism",
            up_down,
            exact=lambda: up_and_down_loss(0.0, 1.0, 2 * scale, "exponential"),
        ),
        sound(
            "permute-and-flip",
            up_down,
            exact=lambda: up_and_down_loss(0.0, 1.0, 2 * scale, "permute_and_flip"),
        ),
        sound(
            "smoothed histogram with m = 100",
            only_row,
            exact=lambda: smoothed_histogram_loss(100, 100, alpha=epsilon),
        ),
        sound(
            "one histogram an attribute, from our curator",
            "a constant column gains one value",
            exact=lambda: curator_loss(CentralCurator, _constant("add_remove"), epsilon),
        ),
        sound(
            "one histogram an attribute, one row replaced",
            "a constant column gains one value",
            exact=lambda: curator_loss(CentralCurator, _constant("replace"), epsilon),
        ),
        sound(
            "a whole fit, all of it from noisy tables",
            "a constant column gains one value",
            exact=lambda: fit_loss(epsilon, False),
        ),
        sound(
            "a step by noisy counts",
            "one amount beside the grid",
            exact=lambda: refinement_loss(epsilon, False),
        ),
        sound(
            "rows in the types that the schema says",
            ONE_MISSING,
            exact=lambda: types_loss(epsilon, False),
        ),
        sound(
            "sums and second moments of clipped numbers",
            "an extreme value",
            exact=lambda: clipped_loss(epsilon),
        ),
        sound(
            "the kind of a column chosen at a price",
            ODD_CELL,
            exact=lambda: kinds_loss(epsilon, False),
        ),
        *(
            (
                sound(
                    "direct encoding over all values", "one value changed", _direct_encoding(False)
                ),
                sound(
                    "information in bits, sensitivity in bits",
                    up_down,
                    exact=lambda: information_choice_loss(False, 2, 2),
                ),
            )
            if epsilon == 1
            else ()
        ),
        *sound_gradient_controls(epsilon),
        *sound_mechanism_controls(epsilon),
        *sound_randomiser_controls(epsilon),
    )
