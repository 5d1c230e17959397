"""Whole releases of which an auditor answers every question: one holder's rows differ, all else is
the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from understudy.auditing.doors import RecordedQuestion, exact_loss
from understudy.data.encoding import encode
from understudy.federation import Holder, HolderPolicy, MemoryLink, federate
from understudy.federation.delegates import DelegatedSum
from understudy.federation.holder_rows import HolderRows
from understudy.federation.identity import Identity
from understudy.federation.noise_shares import ShareNoise
from understudy.privacy.budget import epsilon_of
from understudy.privacy.mechanisms import SeededNoise

IDENTITIES = [Identity.new(f"h{place}") for place in range(3)]
PEERS = {identity.name: identity.certificate for identity in IDENTITIES}


class Fellow(SeededNoise):
    """The dice of the holders whose rows do not differ: the same in every run. They know who
    answers for all.
    """

    def __init__(self, seed, whole):
        super().__init__(seed)
        self.whole = whole


class WholeNoise(ShareNoise):
    """All of the honest holders' noise added by the one whose rows differ: the same law, in one
    place.

    What a delegate reads is told by nobody, so the noise of its sums is accounted for where it
    makes its choice.
    """

    unread = False
    """Whether a delegate alone reads the numbers."""

    def __init__(self, enough, own):
        self.enough, self.own, self.private = enough, own, own.private

    def laplace(self, counts, scale):
        return counts if isinstance(self.own, Fellow) else self.own.laplace(counts, scale)

    def gaussian(self, counts, scale):
        if self.unread:  # what hides the sums from the delegate, the same in both runs
            return self.own.gaussian(counts, scale) if isinstance(self.own, Fellow) else counts
        return counts if isinstance(self.own, Fellow) else self.own.gaussian(counts, scale)

    def geometric(self, scores, scale):
        getattr(self.own, "whole", self.own).geometric_scale = scale
        return scores


@dataclass(frozen=True)
class Largest(RecordedQuestion):
    """Which of several sums is the largest, with geometric noise in each."""

    def log_probabilities(self):
        return largest_log_probabilities(self.inputs, self.scale)


def largest_log_probabilities(sums, scale):
    """Exact log-probabilities of the place of the largest sum with geometric noise, of equal ones
    the first.

    With noise k, sum i is the largest with probability Product over j of 1 - q^(k + a_j), where a_j
    is how far it is ahead of sum j, and one more for a later j; from the smallest k on at which
    none of these is negative. The product is a polynomial in q^k, whose powers have geometric
    series.
    """
    sums, places = np.asarray(sums, dtype=np.float64), np.arange(len(sums))
    found = []
    for place in places:
        ahead = np.delete(sums[place] - sums + (places > place), place)
        least = max(0.0, -ahead.min())
        factors = np.ones(1)
        for part in np.exp(-(ahead + least) / scale):
            factors = np.convolve(factors, [1.0, -part])
        series = np.expm1(-1 / scale) / np.expm1(-np.arange(1, len(factors) + 1) / scale)
        found.append(np.log(factors @ series) - least / scale)
    return np.array(found)


_score, _place = HolderRows.score, DelegatedSum._place


def _unread_scores(self, question, most_rows, top):
    self._noise.unread = top
    try:
        return _score(self, question, most_rows, top)
    finally:
        self._noise.unread = False


def _place_asked(self, sums):
    """What all have added together decides here, whoever the delegate is."""
    self._noise = getattr(self._noise, "whole", self._noise)
    if self.delegate.choice_scale:
        return _place(self, sums)
    return self._noise._ask(
        Largest("largest", sums.astype(np.float64), self._noise.geometric_scale)
    )


def loss_of(act, pair, neighbours, paths=1):
    """The exact loss, on a pair of tables, of what an analyst does with links to three holders.

    The first holder has the table, the others always the same rows and dice. What the analyst is
    told must be the same where the answers are, and so must the number of bytes on each line.
    """

    def run(table, noise):
        tables = [
            encode(table, pair.schema),
            encode(pair.table, pair.schema),
            encode(pair.other, pair.schema),
        ]
        wire = {identity.name: [] for identity in IDENTITIES}
        links = []
        for place, (identity, coded) in enumerate(zip(IDENTITIES, tables, strict=True)):
            holder = Holder(
                identity.name,
                coded,
                HolderPolicy(allowance=1e6, delta=0.5, colluders=0, neighbours=neighbours),
                identity=identity,
                peers=PEERS,
                noise=Fellow(place, noise) if place else noise,
            )
            heard = wire[identity.name]
            links.append(
                MemoryLink(
                    holder, lambda asked, told, heard=heard: heard.append((len(asked), len(told)))
                )
            )
        return {"told": act(links), "wire": wire}

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("understudy.federation.holder_session.ShareNoise", WholeNoise)
        patched.setattr(HolderRows, "score", _unread_scores)
        patched.setattr(DelegatedSum, "_place", _place_asked)
        return exact_loss(run, pair, paths)


def release_loss(pair, method, way, paths=1, **agreed):
    """The exact loss of a whole release."""

    def release(links):
        return federate(links, pair.schema, method, way, noise=SeededNoise(9), **agreed).to_dict()

    return loss_of(release, pair, method.neighbours, paths)


def largest_loss(method, way, pairs, paths=1, **agreed):
    """The largest epsilon, at the method's delta, over several pairs; no release has a side
    door.
    """
    losses = [release_loss(pair, method, way, paths, **agreed) for pair in pairs]
    assert not any(loss.side_door for loss in losses)
    if method.delta:
        return max(epsilon_of(loss.rho, method.delta) for loss in losses)
    return max(loss.epsilon for loss in losses)
