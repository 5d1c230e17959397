"""The audit of encrypted sums: what one party in league with all owners but one can find out.

The aggregator and the service each add noise. One of them, together with all owners but one, takes
off all that these know: the other owners' counts and its own noise, which is the same as adding
none. What is left are the last owner's counts with the other party's noise: the exact loss follows
from the law of that noise, and lower bounds from real sums of the whole protocol, in which each
cell is an experiment of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.blackbox import tell_apart
from understudy.auditing.bounds import CONFIDENCE
from understudy.auditing.control import Control
from understudy.auditing.findings import Finding, unit_at
from understudy.errors import InputError
from understudy.federation.noise_shares import gaussian_share
from understudy.federation.terms import ENCRYPTED, Terms
from understudy.privacy.budget import Budget, Neighbours, epsilon_of, rho_of
from understudy.privacy.mechanisms import count_touched_cells, table_scale

RELATIONS: tuple[Neighbours, ...] = ("add_remove", "replace")
OWNERS = ("first", "last")
DELTA = 1e-6
REACH = 400
"""Outcomes on either side that are compared."""

ONE_ROW = "one row more with the last owner"


def audit_collusion(
    epsilon: float, runs: int, confidence: float = CONFIDENCE, seed: int | None = None
) -> Iterator[Finding]:
    """All findings; ``seed`` is not used, since parties have noise of their own."""
    for relation in RELATIONS:
        name = f"one party with all owners but one, Laplace, {relation}"
        yield Finding(name, ONE_ROW, "exact", epsilon, laplace_loss(epsilon, relation, 1))
        name = f"one party with all owners but one, Gaussian, {relation}"
        lost = gaussian_loss(epsilon, relation, 1)
        yield Finding(name, ONE_ROW, "exact", epsilon, lost, unit_at(DELTA))
    if find_spec("cryptography") is None:
        raise InputError('Runs of encrypted sums need: pip install "understudy[encrypted]".')
    from understudy.auditing.collusion_runs import COLLUDING_PARTIES, run_cells

    for party in COLLUDING_PARTIES:
        before, after = (run_cells(party, epsilon, 1, runs, rows) for rows in (2, 3))
        found = tell_apart(before, after, confidence)
        yield Finding(
            f"{party} with all owners but one",
            ONE_ROW,
            "runs",
            epsilon,
            found.epsilon,
            confidence=confidence,
            limit=found.epsilon_limit,
        )


def collusion_controls() -> tuple[Control, ...]:
    """Half of the noise by each party, which does not hold against one that knows its half."""
    return (
        Control(
            "half of the noise by each party, one of which knows its half",
            "a temptation of ours",
            ONE_ROW,
            1.0,
            exact=lambda: laplace_loss(1.0, "add_remove", 0),
        ),
    )


def sound_collusion_controls(epsilon: float) -> tuple[Control, ...]:
    """The whole noise by each."""
    return (
        Control(
            "the whole noise by each party, one of which knows its own",
            "sound",
            ONE_ROW,
            epsilon,
            exact=lambda: laplace_loss(epsilon, "add_remove", 1),
            broken=False,
        ),
    )


# --------------------------------------------------------------------------- the law of a share


def laplace_loss(epsilon: float, relation: Neighbours, colluders: int) -> float:
    """The largest log-ratio over outcomes where a cell has a row more, with one party's share of
    discrete Laplace noise in it; a replaced row changes two cells.
    """
    law = share_log_pmf(table_scale(Budget(epsilon), relation, 1), _shares(colluders))
    return count_touched_cells(relation) * float(np.abs(np.diff(law)).max())


def gaussian_loss(epsilon: float, relation: Neighbours, colluders: int) -> float:
    """The same with Gaussian noise, in epsilon at :data:`DELTA`; rho is the squared distance over
    twice the variance.
    """
    rho = rho_of(epsilon, DELTA)
    scale = gaussian_share(table_scale(Budget(rho, "rho"), relation, 1), _shares(colluders))
    return epsilon_of(count_touched_cells(relation) / (2 * scale**2), DELTA)


def share_log_pmf(scale: float, shares: int) -> NDArray[np.float64]:
    """The law of one share of discrete Laplace noise, of which this many make the whole: the
    difference of two Polya variables.

    The sum over the two that give k has terms p(j + k) p(j), which fall by e^(-2/scale) each, and
    are added up until nothing is left of them.
    """
    reach = min(REACH, math.ceil(300 * scale))  # beyond, floating point has too few digits
    tail = math.ceil(40 * scale) + 40
    places = np.arange(reach + tail)
    part = 1 / shares
    gammas = np.array([math.lgamma(k + part) - math.lgamma(k + 1.0) for k in places])
    # The factor (1 - q)^part / gamma(part) is the same everywhere, and drops out of all ratios.
    one = np.exp(gammas - places / scale)
    half = np.array([float((one[k : k + tail] * one[:tail]).sum()) for k in range(reach)])
    logs = np.log(half)
    return np.concatenate([logs[:0:-1], logs])


def _shares(colluders: int) -> int:
    """How many shares make the whole noise, by the terms of a session."""
    return Terms("s", "", ENCRYPTED, {}, 1.0, 0.0, "add_remove", OWNERS, 0, colluders).honest
