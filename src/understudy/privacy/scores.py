"""Scores of candidates, by name, each with a proved sensitivity for each neighbour relation.

A candidate is a marginal whose first axis is the child X and whose other axes are its parents P.
Scores are in units of rows (n times the paper's), so that they and their sensitivities mean the
same at every table size. Logarithms are to the base 2.

Notation in the proofs: c_xp, c_x, c_p are counts, n their sum.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.counting.column_checks import MAX_ROWS
from understudy.data.marginals import Axis, Marginal, describe
from understudy.errors import InputError
from understudy.machine.plain_first import PlainFirst
from understudy.privacy import plain_scores
from understudy.privacy.budget import Neighbours

CELLS_AT_A_TIME = 1 << 22


class Score(Protocol):
    """A named function of exact counts with a known sensitivity."""

    @property
    def name(self) -> str:
        """How it is asked for."""

    def sensitivity(self, neighbours: Neighbours, rows: int | None, binary: bool) -> float:
        """Half of the range in which one row can move the scores of candidates, at least.

        A choice depends on differences of scores only: what moves all candidates alike does not
        show. So where one row moves a score by at least -1 and at most 1/2, say, three quarters are
        enough.

        ``rows`` is given where it is public; ``binary`` says that in every candidate the child has
        at most two values.
        """

    def check(self, children: Collection[int]) -> None:
        """Refuse candidates that the score is not defined for; ``children``: their numbers of
        values.
        """

    def evaluate(
        self, counter: Counter, candidates: Sequence[Marginal], neighbours: Neighbours = "replace"
    ) -> NDArray[np.float64]:
        """The exact scores of the candidates, in the units that go with a neighbour relation:
        private.
        """


@dataclass(frozen=True)
class Dependence:
    """n R(X, P), with R the total variation distance between Pr[X, P] and Pr[X] Pr[P].

    **replace: 3 (1 - 1/n).** R is the largest value over events S of Pr[S] - (Pr_X x Pr_P)[S]. Fix
    S and write the product as a double sum over pairs of rows: n^2 (Pr_X x Pr_P)[S] = sum over i, j
    of [(x_i, p_j) in S]. Changing row r touches one of the n terms of n Pr[S], and 2 (n - 1) + 1 of
    the n^2 pairs. The pair (r, r) and the single term r are one and the same indicator [(x_r, p_r)
    in S], with weights 1/n and -1/n^2: together they move by at most 1/n - 1/n^2. The other 2 (n -
    1) pairs move by at most 2 (n - 1) / n^2. So Pr[S] - product moves by at most (1/n)(1 - 1/n) +
    (2/n)(1 - 1/n) = (3/n)(1 - 1/n) for every S, hence so does the maximum.

    **add_remove: 2.** n R = max over S of (A - B/n), with A the number of rows in S and B the
    number of pairs (i, j) with (x_i, p_j) in S. A new row r adds a in {0, 1} to A and b + a to B,
    where b <= 2 n counts the new mixed pairs and (r, r) is in S exactly when row r is. The change
    is a - (B + b + a)/(n + 1) + B/n = a n/(n + 1) - b/(n + 1) + B/(n (n + 1)). It is at most 2 n/(n
    + 1), since B <= n^2, and at least -2 n/(n + 1). So it is below 2.
    """

    name: str = "R"

    def sensitivity(self, neighbours: Neighbours, rows: int | None, binary: bool) -> float:
        """3 (1 - 1/n) or 2, see above."""
        if neighbours == "add_remove":
            return 2.0
        return 3.0 * (1 - 1 / max(_public(rows), 2))

    def check(self, children: Collection[int]) -> None:
        """Any attributes will do."""

    def evaluate(
        self, counter: Counter, candidates: Sequence[Marginal], neighbours: Neighbours = "replace"
    ) -> NDArray[np.float64]:
        """Sum over cells of |n c_xp - c_x c_p| / (2 n); the sum is over integers, hence exact."""
        rows = max(counter.rows, 1)
        masses = []
        for flat, offsets, children in _tables(counter, candidates):
            seconds = plain_scores.dependence_seconds(len(children), len(flat))
            steps = _KERNELS.kernels_for(seconds) or plain_scores
            masses.append(steps.dependence_masses(flat, offsets, children, rows))
        return np.concatenate(masses) / (2 * rows)


@dataclass(frozen=True)
class PaperDependence(Dependence):
    """n R with the sensitivity that the paper proves under replace (theorem 5.3): 3 + 2/n, a little
    too large.
    """

    name: str = "R of the paper"

    def sensitivity(self, neighbours: Neighbours, rows: int | None, binary: bool) -> float:
        """As the paper has it."""
        if neighbours == "add_remove":
            return 2.0
        return 3.0 + 2 / max(_public(rows), 1)


@dataclass(frozen=True)
class Information:
    """n I(X, P), mutual information.

    **replace** (lemma 4.1 of the paper): log n + (n - 1) log(n/(n - 1)) where X or P is binary,
    otherwise 2 log((n + 1)/2) + (n - 1) log((n + 1)/(n - 1)).

    **add_remove: 1, for n I / L(n) with L(n) = log(n + 1) + log e.** One row moves n I by about log
    n, and n is private; divided by L it ranks candidates the same and moves by at most 1 whatever n
    is. Write n I = h(n) + sum h(c_xp) - sum h(c_x) - sum h(c_p) with h(t) = t log t. A new row in
    cell (x, p) changes it by g(n) + g(c_xp) - g(c_x) - g(c_p), where g(t) = h(t + 1) - h(t) rises,
    is concave, and g(0) = 0.

    From above: g(c_xp) <= g(c_x), so the change is at most g(n) - g(c_p) <= g(n) = log(n + 1) + n
    log(1 + 1/n) <= L(n). Dividing the larger score by the larger L(n + 1) only lowers it, so n I /
    L rises by at most 1.

    From below: c_x + c_p <= n + c_xp, so by concavity n I falls by at most 2 g((n + c_xp)/2) -
    g(c_xp) - g(n), which is largest where c_xp = 0: D = 2 g(n/2) - g(n). Since g(t) <= log(t + 1) +
    log e, and g(n) >= log(n + 1) + 1, D <= 2 log(n + 2) - 2 + 2 log e - log(n + 1) - 1. The larger
    divisor takes a further n I (1/L(n) - 1/L(n + 1)), which is at most log e / L(n + 1), since n I
    <= n log n and L(n + 1) - L(n) <= log e / (n + 1). Together at most (D + log e) / L(n + 1), and
    that is at most 1 where log((n + 2)/(n + 1)) <= 3 - 2 log e: for n >= 12. For smaller n the
    tests put D and n log n into the sum of the two as they are.
    """

    name: str = "I"

    def sensitivity(self, neighbours: Neighbours, rows: int | None, binary: bool) -> float:
        """See above."""
        if neighbours == "add_remove":
            return 1.0
        n = max(_public(rows), 2)
        # log1p, since n / (n - 1) is too near to 1 for its last digits to be right
        with_binary = math.log2(n) + (n - 1) * math.log1p(1 / (n - 1)) / math.log(2)
        general = 2 * math.log2((n + 1) / 2) + (n - 1) * math.log1p(2 / (n - 1)) / math.log(2)
        if binary:
            return with_binary
        return max(general, with_binary)

    def check(self, children: Collection[int]) -> None:
        """Any attributes will do."""

    def evaluate(
        self, counter: Counter, candidates: Sequence[Marginal], neighbours: Neighbours = "replace"
    ) -> NDArray[np.float64]:
        """Sum over cells of c_xp log(n c_xp / (c_x c_p)); where n is private, over L(n)."""
        rows = max(counter.rows, 1)
        bits = []
        for flat, offsets, children in _tables(counter, candidates):
            values = int(children.sum())
            seconds = plain_scores.information_seconds(len(children), len(flat), values)
            steps = _KERNELS.kernels_for(seconds) or plain_scores
            bits.append(steps.information_bits(flat, offsets, children, rows))
        return np.concatenate(bits) / (self.unit(rows) if neighbours == "add_remove" else 1.0)

    @staticmethod
    def unit(rows: float) -> float:
        """L(n), above."""
        return math.log2(rows + 1) + math.log2(math.e)


@dataclass(frozen=True)
class Assignment:
    """n F(X, P): minus half the distance, in rows, to the nearest distribution that determines a
    binary X from P.

    Give every value of P to one of the two values of X; K0 and K1 are the rows so collected. Then n
    F is minus the least, over assignments, of (n/2 - K0)+ + (n/2 - K1)+.

    **replace: 1.** Fix an assignment. Changing a row takes at most one from one of K0, K1 and adds
    at most one to one of them. Where it takes from one and adds to the other, one bracket grows by
    at most 1 and the other does not grow, and conversely; otherwise only one bracket moves, by at
    most 1. So does the least over assignments.

    **add_remove: 3/4.** A new row adds 1/2 to n/2 and at most one to one of K0, K1: the sum of the
    brackets grows by at most 1/2 + 1/2, and falls by at most 1/2 (the bracket whose K gained one).
    So n F moves by at least -1 and at most 1/2: a range of 3/2. A value of P that was never seen
    before can be given to either side without changing K0, K1.
    """

    name: str = "F"

    def sensitivity(self, neighbours: Neighbours, rows: int | None, binary: bool) -> float:
        """1 or 3/4, see above."""
        if neighbours == "add_remove":
            return 0.75
        return 1.0

    def check(self, children: Collection[int]) -> None:
        """Exactly two values: the kernel halves tables, and an odd number of cells has no half."""
        if any(size != 2 for size in children):
            raise InputError(
                "Score F is for attributes with two values; use R, or a binary or Gray encoding."
            )

    def evaluate(
        self, counter: Counter, candidates: Sequence[Marginal], neighbours: Neighbours = "replace"
    ) -> NDArray[np.float64]:
        """A dynamic programme over integer masses, exact."""
        self.check({counter.size(child) for child in {axes[0] for axes in candidates}})
        import numba

        threads = numba.get_num_threads()
        masses = [
            _load_kernels().assignment_masses(flat, offsets, threads)
            for flat, offsets, _ in _tables(counter, candidates)
        ]
        return np.concatenate(masses) / 2


@dataclass(frozen=True)
class Misfit:
    """|| c - e ||, the sum over cells of |c - e| where e is a public estimate of the table, passed
    with the question.

    Here all axes of a candidate are alike: none is a child.

    **add_remove: 1.** A new row adds one to one cell, whose distance moves by at most 1 either way;
    both ways happen in one question, since a row may come nearer to one candidate's estimate and
    away from another's.

    **replace: 2.** A changed row takes one from a cell and adds one to another (or leaves the table
    as it is).

    Estimates are rounded to whole multiples of one over ESTIMATE_GRID, and bounded, so that the
    sums are exact.
    """

    name: str = "misfit"

    def sensitivity(self, neighbours: Neighbours, rows: int | None, binary: bool) -> float:
        """1 or 2, see above."""
        if neighbours == "add_remove":
            return 1.0
        return 2.0

    def check(self, children: Collection[int]) -> None:
        """Any attributes will do."""

    def evaluate(
        self,
        counter: Counter,
        candidates: Sequence[Marginal],
        neighbours: Neighbours = "replace",
        estimates: Sequence[NDArray[np.float64]] | None = None,
    ) -> NDArray[np.float64]:
        """The distances between the tables and their estimates."""
        if estimates is None:
            raise InputError(
                "Score misfit compares tables with estimates; give an estimate for each candidate."
            )
        found = []
        done = 0
        for flat, offsets, children in _tables(counter, candidates):
            public = np.concatenate(
                [estimate.ravel() for estimate in estimates[done : done + len(children)]]
            )
            rounded = np.rint(public * ESTIMATE_GRID) / ESTIMATE_GRID
            found.append(np.add.reduceat(np.abs(flat - rounded), offsets[:-1]))
            done += len(children)
        return np.concatenate(found)

    def check_estimates(
        self,
        sizes: Mapping[Axis, int],
        candidates: Sequence[Marginal],
        estimates: Sequence[NDArray[Any]],
    ) -> None:
        """Refuse estimates that are not tables of the candidates' shapes."""
        if len(estimates) != len(candidates):
            raise InputError("There must be one estimate for each candidate.")
        for axes, estimate in zip(candidates, estimates, strict=True):
            if np.shape(estimate) != tuple([sizes[axis] for axis in axes]):
                raise InputError(
                    f"The estimate of {describe(axes)} does not have the shape of its table."
                )
        totals = np.add.reduceat(
            np.abs(np.concatenate([estimate.ravel() for estimate in estimates])),
            np.cumsum([0, *(estimate.size for estimate in estimates[:-1])]),
        )
        wrong = np.flatnonzero(~(totals <= MAX_ESTIMATE))  # what is not a number is wrong, too
        if len(wrong):
            raise InputError(
                f"The estimate of {describe(candidates[wrong[0]])} holds counts that cannot be."
            )


ESTIMATE_GRID = 1 << 10
MAX_ESTIMATE = 2.0**31
"""Counts add up to less than that too: so distances are exact, and stay so on the finer grid of a
choice.
"""


SCORES: dict[str, Score] = {
    score.name: score
    for score in (Information(), Assignment(), Dependence(), PaperDependence(), Misfit())
}


def score_named(name: str) -> Score:
    """The score of that name."""
    try:
        return SCORES[name]
    except KeyError:
        raise InputError(f"There is no score {name!r}; known are {', '.join(SCORES)}.") from None


def _public(rows: int | None) -> int:
    if rows is None:
        raise ValueError("under replace the number of rows is public and must be given")
    return rows


def check_rows(rows: int) -> None:
    """Refuse more rows than scores are right for: their squares must fit 64 bits."""
    if rows > MAX_ROWS:
        raise InputError(
            f"Scores are for tables of up to {MAX_ROWS:,} rows; take a sample of the rows."
        )


def _load_kernels() -> Any:
    from understudy.privacy import score_kernels

    return score_kernels


_KERNELS = PlainFirst(_load_kernels, Path(__file__).with_name("score_kernels.py"), compiling=1.2)


def _tables(
    counter: Counter, candidates: Sequence[Marginal]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """The candidates' tables in batches of bounded memory: (flat counts, where each starts, size of
    each child).
    """
    check_rows(counter.rows)
    sizes: dict[object, int] = {}
    batch: list[Marginal] = []
    children: list[int] = []
    cells = 0
    for axes in candidates:
        product = 1
        for axis in axes:
            if axis not in sizes:
                sizes[axis] = counter.size(axis)
            product *= sizes[axis]
        if batch and cells + product > CELLS_AT_A_TIME:
            yield (*counter.count_flat(batch), np.array(children, dtype=np.int64))
            batch, children, cells = [], [], 0
        batch.append(axes)
        children.append(sizes[axes[0]])
        cells += product
    if batch:
        yield (*counter.count_flat(batch), np.array(children, dtype=np.int64))
