"""PrivBayes as the paper runs it, over a curator that remembers scores from run to run.

Scores are functions of the rows alone. A study fits the same rows again and again with other noise,
so they are worth keeping; what is released depends on them as before.

One limit keeps the study within minutes: degrees are those of theta-usefulness, but no larger than
those at which a network has ``MOST_PAIRS`` attribute-parent pairs to score. That is 4 on ACS, 2 on
the bits of Adult, 3 on those of BR2000, and none on NLTCS (the paper reports 40 minutes and more
for such networks). All methods that are compared have the same limit.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_parts.tables import Source, counter_of
from study import Options, Settings, seed_of
from understudy.counting.cuboids import CuboidCounter
from understudy.data.bits import Bits
from understudy.data.encoding import Coded, encode
from understudy.data.marginals import Axis
from understudy.data.tables import Table
from understudy.evaluation.marginals import marginals_of_order, total_variation
from understudy.models.model import Model
from understudy.privacy.answering import KnownScores
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import ChoiceRule, ExactCounts, Noise, SeededNoise
from understudy.privacy.scores import SCORES
from understudy.release.callbacks import no_progress
from understudy.synthesizers.privbayes import PrivBayes

MOST_PAIRS = 250_000
EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


class NoNoise(SeededNoise):
    """An unlimited budget: counts as they are, the best candidate."""

    def __init__(self) -> None:
        super().__init__(0)

    def laplace(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """The counts themselves."""
        return counts

    def choose(self, scores: NDArray[np.float64], scale: float, rule: ChoiceRule) -> int:
        """The best one."""
        return int(np.argmax(scores))


class TwoNoises(SeededNoise):
    """One noise for choices, another for tables."""

    def __init__(self, choices: Noise, tables: Noise) -> None:
        super().__init__(0)
        self.choices, self.tables = choices, tables

    def laplace(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """Noise of tables."""
        return self.tables.laplace(counts, scale)

    def choose(self, scores: NDArray[np.float64], scale: float, rule: ChoiceRule) -> int:
        """Noise of choices."""
        return self.choices.choose(scores, scale, rule)


class RememberingCurator(CentralCurator):
    """A central curator that is handed the scores which earlier ones computed."""

    def __init__(
        self, coded: Coded | CuboidCounter, ledger: Ledger, noise: Noise, scores: KnownScores
    ) -> None:
        super().__init__(coded, ledger, noise)
        self._rows.known_scores = scores

    def in_bits(self, bits: Bits) -> RememberingCurator:
        """The same rows in bits; scores are those of bits from here on."""
        coded = self._rows.split_into_bits(bits)
        return RememberingCurator(coded, self.ledger, self._noise, self._rows.known_scores)


_remembered: dict[str, Any] = {"key": None, "scores": None}


def _scores_for(*key: Any) -> KnownScores:
    """One set of scores at a time: they can fill half a gigabyte."""
    if _remembered["key"] != key:
        _remembered.update(key=key, scores=defaultdict(dict))
    scores: KnownScores = _remembered["scores"]
    return scores


def fitted(source: Source, epsilon: float, noise: Noise, **parameters: Any) -> Model:
    """PrivBayes to the letter, with the study's limit on degrees."""
    method = PrivBayes.paper(epsilon, **parameters)
    bits = method.encoding in ("binary", "gray")
    attributes = [a for a in source.rows.schema.modelled if a.size > 1]
    width = sum((a.size - 1).bit_length() for a in attributes) if bits else len(attributes)
    degree = None
    if bits or source.binary:
        assert method.theta is not None
        degree = useful_degree(source.rows.rows, width, (1 - method.beta) * epsilon, method.theta)
        method = PrivBayes.paper(
            epsilon, **parameters, degree=min(degree, affordable_degree(width))
        )
        degree = method.degree
    method.check(source.rows.schema)
    ledger = Ledger(epsilon, 0.0, "replace", "epsilon")
    scores = _scores_for(source.name, source.rows.rows, method.encoding, method.score, degree)
    curator = RememberingCurator(source.rows, ledger, noise, scores)
    return method.learn(curator, Budget(epsilon), no_progress)


def useful_degree(rows: int, attributes: int, epsilon: float, theta: float) -> int:
    """Lemma 4.8: the largest k for which n epsilon2 / ((d - k) 2^(k + 2)) is at least theta,
    or 0.
    """
    fit = [
        k
        for k in range(1, attributes)
        if rows * epsilon / ((attributes - k) * 2 ** (k + 2)) >= theta
    ]
    return max(fit, default=0)


def affordable_degree(attributes: int) -> int:
    """The largest degree at which there are no more pairs to score than a study has time for."""
    fits = (attributes * math.comb(attributes - 1, k) <= MOST_PAIRS for k in range(1, attributes))
    return sum(itertools.takewhile(bool, fits))


def rows_from(model: Model, source: Source, settings: Settings) -> Coded:
    """As many synthetic rows as the model was fitted on."""
    drawn = model.sample(source.rows.rows, seed=seed_of({"sample": settings}))
    assert isinstance(drawn, Table)
    return encode(drawn, source.rows.schema)


def synthetic(options: Options, source: Source, settings: Settings, **parameters: Any) -> Coded:
    """Rows of a PrivBayes fitted to the settings' epsilon."""
    model = fitted(source, settings["epsilon"], options.noise(settings), **parameters)
    return rows_from(model, source, settings)


def marginal_errors(source: Source, rows: Coded) -> dict[str, float]:
    """Mean total variation distance over all marginals of the paper's two orders."""
    schema = source.rows.schema
    return {
        f"Q{order}": float(
            np.mean(total_variation(source.rows, rows, marginals_of_order(schema, order, None)))
        )
        for order in source.orders
    }


def information(source: Source, model: Model) -> float:
    """The sum of mutual information of all attribute-parent pairs, in bits, in the real rows."""
    pairs = [(Axis(node.attribute), *node.parents) for node in model.network if node.parents]
    if not pairs:
        return 0.0
    return float(SCORES["I"].evaluate(counter_of(source.rows), pairs).sum()) / source.rows.rows


def routine(source: Source) -> dict[str, str]:
    """How the paper runs PrivBayes once it has found out: F on binary tables, Hierarchical-R on
    others.
    """
    return {"score": "F"} if source.binary else {"score": "R", "encoding": "hierarchical"}
