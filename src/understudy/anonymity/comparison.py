"""The same table three ways: as it is, anonymised, and released with differential privacy.

Two questions are asked of each. *What does somebody learn* who knows a person's quasi-identifiers:
how often the best guess of the sensitive value is right, beside guessing without any release.
*What is left for an analyst*: how far the shares of all pairs of values are from the real ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.anonymity.classes import EquivalenceClasses, find_classes
from understudy.anonymity.microdata import ColumnValues, Microdata
from understudy.anonymity.publishing import Anonymised
from understudy.anonymity.roles import Roles
from understudy.data.columns import Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_COMPARED_BINS = 16
"""Numbers are compared in at most this many bins of equally many real rows."""


@dataclass(frozen=True, kw_only=True)
class ComparedTable:
    """One of the three tables.

    Attributes
    ----------
    name
        Which.
    guessed
        The share of people whose sensitive value is guessed right; by the first sensitive column.
    sure
        The share of people whose true value is learned for certain, as far as the table goes.
    pair_error
        The mean total variation distance of all pairs of columns from the real table.
    """

    name: str
    guessed: float | None
    sure: float | None
    pair_error: float


@dataclass(frozen=True, kw_only=True)
class GuaranteeComparison:
    """The anonymised table beside the one with differential privacy."""

    baseline: float | None
    """How often the most frequent sensitive value of the table is right."""
    anonymised: ComparedTable
    private: ComparedTable
    epsilon: float
    delta: float


def compare_releases(
    table: Table,
    microdata: Microdata,
    release: Anonymised,
    private: Table,
    *,
    epsilon: float,
    delta: float,
) -> GuaranteeComparison:
    """Ask the same of an anonymised table and of a synthetic one. For the owner's eyes.

    Parameters
    ----------
    table, microdata
        The real table, and how it was read.
    release
        The anonymised one.
    private
        Synthetic rows with the same columns.
    epsilon, delta
        What the synthetic rows promise.
    """
    roles = release.roles
    names = (*roles.quasi_identifiers, *roles.sensitive)
    real = {name: _bin(microdata[name], microdata[name].codes) for name in names}
    anonymised = _draw_cells(microdata, release, names)
    synthetic = {name: _bin(microdata[name], _place(private, microdata[name])) for name in names}
    return GuaranteeComparison(
        baseline=_baseline(microdata, roles),
        anonymised=ComparedTable(
            name="anonymised",
            guessed=_guess_by_group(microdata, release.groups, roles),
            sure=_sure_by_group(microdata, release.groups, roles),
            pair_error=_pair_error(real, anonymised),
        ),
        private=ComparedTable(
            name="differential privacy",
            guessed=_guess_by_rows(real, synthetic, roles),
            sure=None,
            pair_error=_pair_error(real, synthetic),
        ),
        epsilon=epsilon,
        delta=delta,
    )


def _bin(values: ColumnValues, codes: Ints) -> Ints:
    """Categories as they are, numbers by bins of equally many real rows."""
    if values.size <= MAX_COMPARED_BINS or values.numbers is None:
        return codes
    mass = np.cumsum(values.shares) - values.shares / 2
    bins = np.minimum((mass * MAX_COMPARED_BINS).astype(np.int64), MAX_COMPARED_BINS - 1)
    return bins[codes]


def _place(table: Table, values: ColumnValues) -> Ints:
    """The cells of another table as places among the values of this one; numbers go to the nearest
    and strangers to the last.
    """
    from understudy.anonymity.microdata import read_microdata

    other = read_microdata(table, (values.name,))[values.name]
    if values.numbers is not None and other.numbers is not None:
        there = np.isfinite(values.numbers)
        middle = (values.numbers[there][1:] + values.numbers[there][:-1]) / 2
        places = np.searchsorted(middle, np.nan_to_num(other.numbers))
        places = np.where(np.isfinite(other.numbers), places, values.size - 1)
    else:
        known = {name: place for place, name in enumerate(values.names)}
        places = np.array([known.get(name, values.size - 1) for name in other.names])
    return places[other.codes]


def _draw_cells(table: Microdata, release: Anonymised, names: Sequence[str]) -> dict[str, Ints]:
    """One table that the anonymised one could stand for: in each group (or for each label) the
    values of a column are dealt out again, as an analyst would who knows no more.
    """
    rng = np.random.default_rng(0)
    kept = np.flatnonzero(release.groups >= 0)
    drawn = {}
    for name in names:
        values = table[name]
        codes = values.codes[kept]
        if name in release.roles.quasi_identifiers:
            labels = release.groups[kept]
            if name in release.levels:
                labels = values.hierarchy.levels[release.levels[name]].places[codes]
            codes = _shuffle_within(labels, codes, rng)
        drawn[name] = _bin(values, codes)
    return drawn


def _shuffle_within(labels: Ints, codes: Ints, rng: np.random.Generator) -> Ints:
    order = np.lexsort((rng.random(len(labels)), labels))
    stable = np.argsort(labels, kind="stable")
    shuffled = np.empty_like(codes)
    shuffled[stable] = codes[order]
    return shuffled


def _pair_error(real: dict[str, Ints], other: dict[str, Ints]) -> float:
    errors = []
    for one, two in itertools.combinations(real, 2):
        width = 1 + max(int(real[two].max(initial=0)), int(other[two].max(initial=0)))
        cells = [found[one] * width + found[two] for found in (real, other)]
        size = 1 + max(int(found.max(initial=0)) for found in cells)
        shares = [np.bincount(found, minlength=size) / max(len(found), 1) for found in cells]
        errors.append(float(np.abs(shares[0] - shares[1]).sum() / 2))
    return float(np.mean(errors)) if errors else 0.0


def _baseline(table: Microdata, roles: Roles) -> float | None:
    if not roles.sensitive:
        return None
    return float(table[roles.sensitive[0]].shares.max())


def _counts_by_group(
    table: Microdata, groups: Ints, roles: Roles
) -> tuple[EquivalenceClasses, Floats]:
    values = table[roles.sensitive[0]]
    kept = groups >= 0
    classes = find_classes([groups[kept]], [int(groups.max(initial=0)) + 1])
    counts = np.concatenate([*classes.tabulate(values.codes[kept], values.size)])
    return classes, counts


def _guess_by_group(table: Microdata, groups: Ints, roles: Roles) -> float | None:
    """Everybody is guessed to have what is most frequent in her group; who was left out, what is
    most frequent in the table.
    """
    if not roles.sensitive:
        return None
    _, counts = _counts_by_group(table, groups, roles)
    values = table[roles.sensitive[0]]
    left_out = values.codes[groups < 0] == values.shares.argmax()
    return float((counts.max(axis=1).sum() + left_out.sum()) / table.rows)


def _sure_by_group(table: Microdata, groups: Ints, roles: Roles) -> float | None:
    if not roles.sensitive:
        return None
    classes, counts = _counts_by_group(table, groups, roles)
    return float(classes.sizes[(counts > 0).sum(axis=1) == 1].sum() / table.rows)


def _guess_by_rows(real: dict[str, Ints], synthetic: dict[str, Ints], roles: Roles) -> float | None:
    """Everybody is guessed to have what is most frequent among synthetic rows that agree with her
    on the quasi-identifiers; where there are none, what is most frequent in all.
    """
    if not roles.sensitive:
        return None
    secret = roles.sensitive[0]
    names, rows = roles.quasi_identifiers, len(real[secret])
    both = [np.concatenate([real[name], synthetic[name]]) for name in names]
    classes = find_classes(both, [int(codes.max(initial=0)) + 1 for codes in both]).of_row
    size = 1 + max(int(real[secret].max()), int(synthetic[secret].max(initial=0)))
    groups = int(classes.max(initial=0)) + 1
    overall = np.bincount(synthetic[secret], minlength=size).argmax()
    pairs, counts = np.unique(classes[rows:] * size + synthetic[secret], return_counts=True)
    best = np.full(groups, overall)
    order = np.argsort(counts, kind="stable")
    best[pairs[order] // size] = pairs[order] % size
    return float((best[classes[:rows]] == real[secret]).mean())
