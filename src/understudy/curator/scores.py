"""Scores of candidates, by name, each with a proved sensitivity for each neighbour relation.

A candidate is a marginal whose first axis is the child X and whose other axes are its parents P. Scores are in units
of rows (n times the paper's), so that they and their sensitivities mean the same at every table size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.counting import Counter
from understudy.curator.budget import Neighbours
from understudy.errors import InputError
from understudy.marginals import Marginal


class Score(Protocol):
    """A named function of exact counts with a known sensitivity."""

    @property
    def name(self) -> str:
        """How it is asked for."""

    def sensitivity(self, neighbours: Neighbours, rows: int | None) -> float:
        """How much one row can change the score; ``rows`` is given where it is public."""

    def evaluate(self, counter: Counter, candidates: Sequence[Marginal]) -> NDArray[np.float64]:
        """The exact scores of the candidates: private."""


@dataclass(frozen=True)
class Dependence:
    """n R(X, P), with R the total variation distance between Pr[X, P] and Pr[X] Pr[P].

    **Sensitivity, replace: 3 (1 - 1/n).** R is the largest value over events S of Pr[S] - (Pr_X x Pr_P)[S]. Fix S and
    write the product as a double sum over pairs of rows: n^2 (Pr_X x Pr_P)[S] = sum over i, j of [(x_i, p_j) in S].
    Changing row r touches one term of the n terms of n Pr[S], and 2 (n - 1) + 1 of the n^2 pairs. The pair (r, r) and
    the single term r are one and the same indicator [(x_r, p_r) in S], with weights 1/n and -1/n^2: together they
    move by at most 1/n - 1/n^2. The other 2 (n - 1) pairs move by at most 2 (n - 1) / n^2. So Pr[S] - product moves
    by at most (1/n)(1 - 1/n) + (2/n)(1 - 1/n) = (3/n)(1 - 1/n) for every S, hence so does the maximum.

    **Sensitivity, add_remove: 2.** Let f(n) = n R = max over S of (A - B/n), with A the number of rows in S and B the
    number of pairs (i, j) with (x_i, p_j) in S. A new row r adds a in {0, 1} to A and b + a to B, where b <= 2 n
    counts the new mixed pairs and (r, r) is in S exactly when row r is. The change is a - (B + b + a)/(n + 1) + B/n =
    a n/(n + 1) - b/(n + 1) + B/(n (n + 1)). It is at most n/(n + 1) + n/(n + 1) since B <= n^2 and at least -2 n/(n +
    1). So |change| <= 2 n/(n + 1) < 2.
    """

    name: str = "R"

    def sensitivity(self, neighbours: Neighbours, rows: int | None) -> float:
        """3 (1 - 1/n) or 2, see above."""
        if neighbours == "add_remove":
            return 2.0
        assert rows is not None
        return 3.0 * (1 - 1 / max(rows, 2))

    def evaluate(self, counter: Counter, candidates: Sequence[Marginal]) -> NDArray[np.float64]:
        """Sum over cells of |n c_xp - c_x c_p| / (2 n); the sum is over integers, hence exact."""
        rows = max(counter.rows, 1)
        scores = np.empty(len(candidates))
        for place, table in enumerate(counter.count(candidates)):
            joint = table.reshape(table.shape[0], -1)
            gaps = np.abs(rows * joint - np.outer(joint.sum(axis=1), joint.sum(axis=0)))
            scores[place] = gaps.sum() / (2 * rows)
        return scores


SCORES: dict[str, Score] = {score.name: score for score in (Dependence(),)}


def score_named(name: str) -> Score:
    """The score of that name."""
    try:
        return SCORES[name]
    except KeyError:
        raise InputError(f"There is no score {name!r}; known are {', '.join(SCORES)}.") from None
