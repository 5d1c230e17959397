"""PrivGene (Zhang, Xiao, Yang, Zhang, Winslett 2013): a genetic algorithm whose survivors are
chosen privately.

A population of weight vectors; in each round m' of them are chosen by the enhanced exponential
mechanism and give a new population by crossover and mutation; in the last round one is chosen.
Everything but the choices is public. Rounds share epsilon evenly and so do the choices of a round.

The fitness of a vector is minus the sum over rows of its bounded hinge loss, min(hinge, 2) / 2,
which lies in [0, 1].

Sensitivity, enhanced: let g(t, w) be the loss of row t. When t is replaced by t', the fitness of w
changes by g(t, w) - g(t', w). What an exponential mechanism leaks depends only on how differently
two candidates change: if fitness changes by something within an interval of length R, choosing with
probability proportional to exp(epsilon f / R) is epsilon-private (numerator and normaliser move by
at most R together). Here R is at most twice the largest g(t, w) - g(t, w') over t, w, w', so at
most 2; and since the loss has slope at most 1/2 in w.x and a row has one value of each attribute,
also at most the sum over attributes of the largest distance between candidates' weights of a value.
The candidates are public, so R is taken from them: the closer they are, the less a choice costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.mechanisms import Noise

POPULATION = 200
SURVIVORS = 10
ROUNDS = 8
MUTATION = 0.5
COOLING = 0.9

Vectors = NDArray[np.float64]


def privgene(
    rows: Any,
    labels: NDArray[np.bool_],
    counts: NDArray[np.int64],
    groups: NDArray[np.intp],
    epsilon: float,
    noise: Noise,
    rng: np.random.Generator,
) -> Vectors:
    """The weights.

    Parameters
    ----------
    rows
        Distinct rows, a matrix of 0 and 1 with one 1 for each group.
    labels, counts
        The label of each, and how many rows it stands for.
    groups
        The attribute that each column belongs to; the intercept is a group of its own.
    rng
        For what is public: the first population, crossover and mutation.
    """
    signs = np.where(labels, 1.0, -1.0)
    population = rng.uniform(-1, 1, (POPULATION, len(groups)))
    step = MUTATION
    each = epsilon / ROUNDS
    for last in [False] * (ROUNDS - 1) + [True]:
        margins = signs[:, None] * np.asarray(rows @ population.T)
        fitness = -(counts @ bounded_hinge(margins))
        width = spread(population, groups)
        wanted = 1 if last else SURVIVORS
        survivors = population[chosen(fitness, width, wanted, each, noise)]
        if last:
            break
        population = _offspring(survivors, step, rng)
        step *= COOLING
    return survivors[0]


def bounded_hinge(margins: Vectors) -> Vectors:
    """Between 0 and 1, with slope at most 1/2."""
    return np.clip(1 - margins, 0.0, 2.0) / 2


def spread(population: Vectors, groups: NDArray[np.intp]) -> float:
    """R: how differently two candidates' fitness can change when a row is replaced."""
    ranges = np.ptp(population, axis=0)
    widest = np.zeros(int(groups.max()) + 1)
    np.maximum.at(widest, groups, ranges)
    return float(min(2.0, widest.sum()))


def chosen(fitness: Vectors, width: float, wanted: int, epsilon: float, noise: Noise) -> list[int]:
    """Different places, each chosen with an equal share of epsilon."""
    left = list(range(len(fitness)))
    found = []
    for _ in range(wanted):
        place = (
            noise.choose(fitness[left], width * wanted / epsilon, "exponential") if width > 0 else 0
        )
        found.append(left.pop(place))
    return found


def _offspring(parents: Vectors, step: float, rng: np.random.Generator) -> Vectors:
    """Pairs of parents swap their tails at a random place; then one weight of each child moves."""
    pairs = rng.integers(0, len(parents), (POPULATION, 2))
    length = parents.shape[1]
    cut = rng.integers(0, length + 1, POPULATION)
    children = np.where(
        np.arange(length) < cut[:, None], parents[pairs[:, 0]], parents[pairs[:, 1]]
    )
    place = rng.integers(0, length, POPULATION)
    moved = children[np.arange(POPULATION), place] + rng.uniform(-step, step, POPULATION)
    children[np.arange(POPULATION), place] = np.clip(moved, -1, 1)
    return children
