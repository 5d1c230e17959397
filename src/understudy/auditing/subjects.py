"""What is audited: whole fits of the synthesizers, and how what they lose is told."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from understudy.auditing.blackbox import black_box
from understudy.auditing.bounds import CONFIDENCE
from understudy.auditing.doors import ExactLoss, RunWithNoise, exact_loss
from understudy.auditing.findings import Finding, mu_of, unit_at
from understudy.auditing.neighbours import (
    NEIGHBOUR_ROWS,
    PERSON,
    Pair,
    choice_pair,
    extreme_pair,
    extreme_person_pair,
    person_pairs,
    small_pair,
    worst_pairs,
)
from understudy.data.frames import Frame
from understudy.data.tables import Table
from understudy.errors import InputError
from understudy.models.model import Model
from understudy.privacy.budget import Currency, Neighbours, epsilon_of
from understudy.privacy.mechanisms import (
    Noise,
    SeededNoise,
)
from understudy.release.callbacks import ignore_notes
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.registry import find_method

DELTA = 1e-6
"""The delta of the settings that have one."""

ROWS_PER_PERSON = 3
"""The rows per person of the settings in which people have several."""

RELATIONS: tuple[Neighbours, ...] = ("add_remove", "replace")


# --------------------------------------------------------------------------- exact losses


def exact_findings(
    subject: str,
    claimed: float,
    run_on: Callable[[Pair], RunWithNoise],
    pairs: Sequence[Pair],
    delta: float = 0.0,
    order: int | None = None,
    currency: Currency = "rho",
) -> Iterator[Finding]:
    """The pair on which most is lost, in epsilon, and in mu where all noise is Gaussian."""
    found = [(exact_loss(run_on(pair), pair), pair.name) for pair in pairs]
    losses = [(_in_epsilon(loss, delta, order, currency), loss, name) for loss, name in found]
    lost, loss, name = max(losses, key=lambda one: round(one[0], 9))
    yield Finding(subject, name, "exact", claimed, lost, unit_at(delta))
    # Without a schema a part of delta goes to the threshold, so the claim is not one in mu.
    if delta and loss.mu is not None and all(pair.schema is not None for pair in pairs):
        yield Finding(subject, name, "exact", mu_of(claimed, delta, currency), loss.mu, "mu")


def _in_epsilon(loss: ExactLoss, delta: float, order: int | None, currency: Currency) -> float:
    if loss.side_door or not delta:
        return loss.epsilon
    if order is not None:
        return loss.epsilon_at(order, delta)
    if loss.sampled:
        return math.inf  # a sample has no rho
    if currency == "gdp":
        return loss.joint_epsilon(delta)
    return epsilon_of(loss.rho, delta)


# --------------------------------------------------------------------------- synthesizers


def settings_of(method: str, epsilon: float) -> dict[str, Synthesizer]:
    """The settings in which a method is audited, by name."""
    audited = AuditedGuarantee(
        epsilon=epsilon, delta=DELTA, person=PERSON, max_rows_per_person=ROWS_PER_PERSON
    )
    return find_method(method).kind.audit_settings(audited)


def all_pairs(method: Synthesizer) -> tuple[Pair, ...]:
    """The pairs on which a synthesizer's loss is computed."""
    if method.person is not None:
        return person_pairs(method.max_rows_per_person)
    relation = method.neighbours
    return (*worst_pairs(relation), choice_pair("R", relation), choice_pair("F", relation))


def fit_exactly(
    name: str, method: Synthesizer, pairs: Sequence[Pair] | None = None
) -> Iterator[Finding]:
    """The exact loss of a whole fit, on the pair on which it loses most."""

    def run_on(pair: Pair) -> RunWithNoise:
        def fit(table: Table, noise: Noise) -> object:
            try:
                return method.fit(table, pair.schema, noise=noise, notify=ignore_notes)
            except InputError as stop:  # where discovery finds nothing: an outcome as any other
                return str(stop)

        return fit

    yield from exact_findings(
        name,
        method.epsilon,
        run_on,
        pairs or all_pairs(method),
        method.delta,
        method.renyi_order,
        method.accounting,
    )


def run_pair(method: Synthesizer) -> Pair:
    """The pair on which a synthesizer is run many times."""
    columns = 1 + (getattr(method, "degree", None) or 1)
    if method.needs_numbers and method.person:
        return extreme_person_pair(method.max_rows_per_person)
    if method.needs_numbers:
        return extreme_pair(method.neighbours)
    if method.person:
        max_rows_per_person = method.max_rows_per_person
    else:
        max_rows_per_person = 0
    return small_pair(
        method.neighbours, columns, max_rows_per_person, method.audit_rows or NEIGHBOUR_ROWS
    )


def fit_often(
    name: str,
    method: Synthesizer,
    runs: int,
    confidence: float = CONFIDENCE,
    seed: int | None = None,
    pair: Pair | None = None,
) -> Iterator[Finding]:
    """Lower bounds from fitting many times and looking at the models."""
    if pair is None:
        pair = run_pair(method)
    noise = None
    if seed is not None:
        noise = SeededNoise(seed)

    def run(table: Frame) -> NDArray[np.float64]:
        try:
            model = method.fit(table, pair.schema, noise=noise, notify=ignore_notes)
        except InputError:  # a stop is an outcome, too
            return np.zeros(1)
        return model_features(model)

    with one_thread():
        found = black_box(run, pair.table, pair.other, runs, confidence, method.delta)
    unit, limit = unit_at(method.delta), found.epsilon_limit
    yield Finding(
        name, pair.name, "runs", method.epsilon, found.epsilon, unit, confidence, limit=limit
    )
    if method.delta and method.only_measures:
        claimed = mu_of(method.epsilon, method.delta, method.accounting)
        limit = found.mu_limit
        yield Finding(name, pair.name, "runs", claimed, found.mu, "mu", confidence, limit=limit)


@contextmanager
def one_thread() -> Iterator[None]:
    """Tiny tables, many times over: threads would wait for each other most of the time."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(threads)


def features(outcome: Any) -> Any:
    """What is looked at in an outcome: numbers as they are, and what can be counted in a model or a
    table.
    """
    if isinstance(outcome, Model):
        return model_features(outcome)
    if isinstance(outcome, Table):
        return _table_features(outcome)
    return outcome


COMMONEST = 3
"""How many of the commonest values of a column are counted by themselves."""

CLASSES = 11
"""Values fall into this many classes by their words, each of which is counted: few enough to be
many rows each.
"""


def _table_features(table: Table) -> NDArray[np.float64]:
    """Its number of rows, for each column what it holds, and for each two columns side by side how
    they go together.
    """
    found, upper = [float(table.rows)], []
    for column in table.columns.values():
        if column.words:
            values = np.array(column.words)[column.values]
        else:
            values = column.values
        if column.missing is not None:
            values = values[column.missing == 0]
        known, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        found += [float(len(column.words)), float(len(values)), float(len(known))]
        numbers = column.values.astype(np.float64)
        if len(numbers):
            found += [float(numbers.min()), float(numbers.max()), float(numbers.mean())]
        else:
            found += [0.0] * 3
        found += np.sort(np.pad(counts, (0, COMMONEST)))[::-1][:COMMONEST].astype(float).tolist()
        classes = [zlib.crc32(str(value).encode()) % CLASSES for value in known]
        found += np.bincount(np.array(classes, dtype=np.int64), counts, CLASSES).tolist()
        half = np.zeros(table.rows, dtype=np.int64)
        half[slice(None) if column.missing is None else column.missing == 0] = 2 * places >= len(
            known
        )
        upper.append(half)
    for one, other in itertools.pairwise(upper):
        found += np.bincount(2 * one + other, minlength=4).astype(float).tolist()
    return np.array(found)


def model_features(model: Model) -> NDArray[np.float64]:
    """What is looked at in a model: its number of rows and of questions, and for each attribute its
    number of parents, its counts, and the first and last count of its table, where the odd row of
    most pairs comes from and goes to.
    """
    found: list[float] = [float(model.rows or 0), float(len(model.ledger.entries))]
    for node in sorted(model.network, key=lambda node: node.attribute):
        one_way = node.table.sum(axis=tuple(range(node.table.ndim - 1)))
        ends = node.table.flat[0], node.table.flat[-1]
        found += [float(len(node.parents)), *map(float, one_way), *map(float, ends)]
    return np.array(found)
