"""What shuffling would add: the guarantee of all reports together, if nobody can tell whose is
whose.

Each report keeps its local epsilon whoever sees it. If a shuffler who does not work with the
collector takes off names, times and addresses and mixes the reports, then the whole of them is
private with a much smaller epsilon, for a small delta.
"""

from __future__ import annotations

import math

from understudy.errors import InputError

ASSUMPTION = (
    "that is, if a shuffler who does not work with the collector mixed the reports of each wave, "
    "all of them honest, and nothing else tells whose a report is"
)


def bound_shuffled(epsilon: float, reports: int, delta: float) -> float | None:
    """The epsilon of shuffled reports, or None where the theorem says nothing, or nothing better.

    Feldman, McMillan and Talwar 2021, theorem 3.1: for a delta in (0, 1) and a local epsilon of at
    most ln(n / (16 ln(2 / delta))), shuffled reports of n persons are (e, delta)-differentially
    private, where a person's values may change, with ::

        e <= ln(1 + (e^epsilon - 1) / (e^epsilon + 1)
             (8 sqrt(e^epsilon ln(4 / delta)) / sqrt(n) + 8 e^epsilon / n))

    Parameters
    ----------
    epsilon
        The local epsilon, which all persons have.
    reports
        How many persons reported, of whom nobody can be told from the others by what else is in a
        report. Forged reports hide nobody.
    delta
        The probability with which the shuffled guarantee may fail.

    Examples
    --------
    >>> round(bound_shuffled(4.0, 21_574, 1e-6), 2)
    0.93
    >>> bound_shuffled(4.0, 1_000, 1e-6) is None
    True
    """
    if not 0 < delta < 1:
        raise InputError(f"The delta of a shuffled guarantee must lie in (0, 1), not {delta!r}.")
    if not epsilon > 0 or reports < 1:
        return None
    if epsilon > math.log(reports) - math.log(16 * math.log(2 / delta)):
        return None
    power = math.exp(epsilon)
    spread = 8 * math.sqrt(power * math.log(4 / delta) / reports) + 8 * power / reports
    found = math.log1p((power - 1) / (power + 1) * spread)
    if found >= epsilon:
        return None
    return found
