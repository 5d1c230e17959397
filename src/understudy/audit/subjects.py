"""What is audited: the curator's doors, one by one, and whole fits of the synthesizers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numba
import numpy as np
from numpy.typing import NDArray

from understudy.audit.blackbox import black_box
from understudy.audit.bounds import CONFIDENCE, choice_losses
from understudy.audit.doors import Loss, Run, exact_loss
from understudy.audit.findings import Finding
from understudy.audit.neighbours import Pair, choice_pair, small_pair, worst_pairs
from understudy.curator.budget import Budget, Neighbours, epsilon_of
from understudy.curator.central import CentralCurator
from understudy.curator.ledger import Ledger
from understudy.curator.mechanisms import Noise, Rule, SeededNoise, choice_scale, gridded
from understudy.encoding import encode
from understudy.marginals import marginal
from understudy.model import Model
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.independent import Independent
from understudy.synthesizers.privbayes import PrivBayes
from understudy.tables import Table

DELTA = 1e-6
"""The delta of the settings that have one."""

RELATIONS: tuple[Neighbours, ...] = ("add_remove", "replace")
RULES: tuple[Rule, ...] = ("permute_and_flip", "exponential")


def all_pairs(neighbours: Neighbours) -> tuple[Pair, ...]:
    """Every pair of tables for a relation."""
    return (*worst_pairs(neighbours), choice_pair("R", neighbours), choice_pair("F", neighbours))


def _quiet(sentence: str) -> None:
    """What is told to the owner of a made-up table is of no interest."""


# --------------------------------------------------------------------------- doors


def doors(epsilon: float) -> Iterator[Finding]:
    """Every kind of question to the curator, by itself, on the pair on which it loses most."""
    for relation in RELATIONS:
        door = _table_door if relation == "add_remove" else _row_door
        yield _worst(f"tables, Laplace, {relation}", epsilon, door(epsilon, 0.0), worst_pairs(relation))
        yield _worst(f"tables, Gaussian, {relation}", epsilon, door(epsilon, DELTA), worst_pairs(relation), DELTA)
    for rule in RULES:
        yield _any_scores(epsilon, rule)
    for score in ("F", "I", "R"):
        for relation in RELATIONS:
            pairs = [choice_pair(score, relation)]
            yield _worst(f"choice by {score}, {relation}", epsilon, _choice_door(epsilon, score), pairs)


def _worst(
    subject: str, claimed: float, run_on: Callable[[Pair], Run], pairs: Sequence[Pair], delta: float = 0.0
) -> Finding:
    """The pair on which most is lost."""
    with _one_thread():
        losses = [(_in_epsilon(exact_loss(run_on(pair), pair), delta), pair.name) for pair in pairs]
    measured, name = max(losses, key=lambda found: round(found[0], 9))
    return Finding(subject, name, "exact", claimed, measured, f"epsilon at delta {delta:g}" if delta else "epsilon")


def _in_epsilon(loss: Loss, delta: float) -> float:
    if loss.side_door or not delta:
        return loss.epsilon
    return epsilon_of(loss.rho, delta)


def _table_door(epsilon: float, delta: float) -> Callable[[Pair], Run]:
    """Three tables, the number of rows among them."""

    def run(pair: Pair, table: Table, noise: Noise) -> None:
        curator = _curator(pair, table, epsilon, delta, noise)
        names = curator.schema.names
        curator.measure([(), marginal(names[0]), marginal(names[0], names[1])], curator.ledger.budget)

    return lambda pair: partial(run, pair)


def _row_door(epsilon: float, delta: float) -> Callable[[Pair], Run]:
    """One histogram an attribute: a replaced row changes two cells of each."""

    def run(pair: Pair, table: Table, noise: Noise) -> None:
        curator = _curator(pair, table, epsilon, delta, noise)
        curator.measure([marginal(name) for name in curator.schema.names], curator.ledger.budget)

    return lambda pair: partial(run, pair)


def _choice_door(epsilon: float, score: str) -> Callable[[Pair], Run]:
    """The first two attributes, or the last two at a handicap, so that the better one is certain to stay so."""

    def run(pair: Pair, table: Table, noise: Noise) -> None:
        curator = _curator(pair, table, epsilon, 0.0, noise)
        curator.choose([marginal("a", "b"), marginal("c", "d")], score, Budget(epsilon), np.array([0.0, -1000.0]))

    return lambda pair: partial(run, pair)


def _curator(pair: Pair, table: Table, epsilon: float, delta: float, noise: Noise) -> CentralCurator:
    ledger = Ledger(epsilon, delta, pair.neighbours, "rho" if delta else "epsilon")
    return CentralCurator(encode(table, pair.schema), ledger, noise)


def _any_scores(epsilon: float, rule: Rule) -> Finding:
    """Scores that move by all that their sensitivity allows: one up, very many down."""
    one = np.array([1.0] + [0.0] * 500)
    losses = choice_losses(gridded(one, 1.0), gridded(1 - one, 1.0), choice_scale(epsilon, "epsilon"), rule)
    name = f"choice, {rule.replace('_', '-')}"
    return Finding(name, "one score up, all others down", "exact", epsilon, float(np.abs(losses).max()))


# --------------------------------------------------------------------------- synthesizers


def settings(method: str, epsilon: float) -> dict[str, Synthesizer]:
    """The settings in which a synthesizer is audited."""
    if method == "independent":
        plain = Independent(epsilon=epsilon)
        return {
            "independent": plain,
            "independent, replace": replace(plain, neighbours="replace"),
            f"independent, delta {DELTA:g}": replace(plain, delta=DELTA),
        }
    default = PrivBayes(epsilon=epsilon)
    return {
        "privbayes": default,
        "privbayes, degree 1": replace(default, degree=1),
        "privbayes, degree 2, replace": replace(default, degree=2, neighbours="replace"),
        "privbayes, bits, score F": replace(default, degree=1, encoding="binary", score="F"),
        "privbayes, score I, replace": replace(default, degree=1, score="I", neighbours="replace"),
        "privbayes, the paper": PrivBayes.paper(epsilon),
        "privbayes, the paper, degree 1": PrivBayes.paper(epsilon, degree=1),
        f"privbayes, degree 1, delta {DELTA:g}": replace(default, degree=1, delta=DELTA),
    }


def fit_exactly(name: str, method: Synthesizer) -> Finding:
    """The exact loss of a whole fit, on the pair on which it loses most."""

    def run_on(pair: Pair) -> Run:
        return lambda table, noise: method.fit(table, pair.schema, noise=noise, notify=_quiet)

    return _worst(name, method.epsilon, run_on, all_pairs(method.neighbours), method.delta)


def fit_often(
    name: str, method: Synthesizer, runs: int, confidence: float = CONFIDENCE, seed: int | None = None
) -> Finding:
    """A lower bound from fitting many times and looking at the models."""
    pair = small_pair(method.neighbours)
    noise = None if seed is None else SeededNoise(seed)

    def run(table: Table) -> NDArray[np.float64]:
        return model_features(method.fit(table, pair.schema, noise=noise, notify=_quiet))

    with _one_thread():
        found = black_box(run, pair.table, pair.other, runs, confidence, method.delta)
    unit = f"epsilon at delta {method.delta:g}" if method.delta else "epsilon"
    return Finding(name, pair.name, "runs", method.epsilon, found.epsilon, unit, confidence)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Tiny tables, many times over: threads would wait for each other most of the time."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(threads)


def model_features(model: Model) -> NDArray[np.float64]:
    """What is looked at in a model: its number of rows, and for each attribute its counts and number of parents."""
    features: list[float] = [float(model.rows or 0), float(len(model.ledger.entries))]
    for node in sorted(model.network, key=lambda node: node.attribute):
        one_way = node.table.sum(axis=tuple(range(node.table.ndim - 1)))
        features += [float(len(node.parents)), *map(float, one_way)]
    return np.array(features)
