"""What an attack found, beside what it would find by chance and beside what epsilon promises."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.promise import Promise
from understudy.errors import InputError

AttackVerdict = Literal["nothing seen", "within the promise", "look at this", "not judged"]

FALSE_FINDING_RATE = 0.01
"""An attack that finds nothing looks like a finding as often as this, by chance."""

SHUFFLES = 2000
"""How often a test shuffles who is who."""

_Z = NormalDist().inv_cdf(1 - FALSE_FINDING_RATE)


@dataclass(frozen=True)
class Attack:
    """One attack and what came of it. For the owner's eyes only.

    Attributes
    ----------
    name
        Which attack.
    found
        What was found, in a sentence.
    unit
        What the next three numbers count.
    measured
        What the attack reached.
    beside
        What it is compared with: the same attack on people who are not in the table, or the real
        table's figure.
    allowed
        The most that epsilon lets it reach; ``None`` where no epsilon was given, or where it makes
        no promise.
    promised
        What epsilon promises, in a sentence.
    verdict
        "nothing seen": no more than by chance. "within the promise": more, but not more than
        epsilon allows. "look at this": more than by chance and more than epsilon allows, or no
        epsilon was given; or nearly all rows are copies. "not judged": a figure that is no test, or
        nothing to compare it with.
    p_value
        How often chance alone does as much; ``None`` where nothing was tested.
    figures
        Everything else that was counted.
    """

    name: str
    found: str
    unit: str
    measured: float | None
    beside: float | None
    allowed: float | None
    promised: str
    verdict: AttackVerdict
    p_value: float | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain JSON values."""
        return asdict(self)

    @classmethod
    def without_comparison(
        cls, name: str, found: str, unit: str, measured: float, figures: Mapping[str, Any]
    ) -> Attack:
        """A finding that cannot be judged, as there is no holdout to compare it with."""
        promised = (
            "Epsilon bounds how much better this works for people in the table than for others."
        )
        return cls(name, found, unit, measured, None, None, promised, "not judged", figures=figures)


@dataclass(frozen=True, kw_only=True)
class HoldoutComparison:
    """How well an attack works on people in the table, against people in a holdout.

    Attributes
    ----------
    inside, outside
        The shares that were reached.
    deviations
        Their standard deviations.
    promise
        The guarantee, if any.
    """

    inside: float
    outside: float
    deviations: tuple[float, float]
    promise: Promise | None

    @property
    def deviation(self) -> float:
        """The standard deviation of the difference."""
        return math.hypot(*self.deviations)

    @property
    def p_value(self) -> float:
        """How often chance alone gives such a difference."""
        return by_chance(self.inside - self.outside, self.deviation)

    @property
    def outside_at_most(self) -> float:
        """What the share outside may be, chance considered."""
        return min(1.0, self.outside + reach(self.deviations[1]))

    @property
    def allowed(self) -> float | None:
        """The largest share inside that goes with the promise."""
        if self.promise is None:
            return None
        return self.promise.most(self.outside_at_most)

    @property
    def verdict(self) -> AttackVerdict:
        """Whether the difference is chance, and if not, whether it goes with the promise."""
        return give_verdict(self.p_value, self.inside - reach(self.deviations[0]), self.allowed)

    def attack(
        self, name: str, found: str, unit: str, promised: str, figures: Mapping[str, Any]
    ) -> Attack:
        """The finding; `promised` says what the promise allows, where there is one."""
        if self.promise is None:
            promised = "No epsilon was given, so nothing is promised."
        return Attack(
            name=name,
            found=found,
            unit=unit,
            measured=self.inside,
            beside=self.outside,
            allowed=self.allowed,
            promised=promised,
            verdict=self.verdict,
            p_value=self.p_value,
            figures={**figures, "deviation": self.deviation},
        )


@dataclass(frozen=True)
class Attacks:
    """All attacks on one synthetic table. For the owner's eyes only.

    Attributes
    ----------
    attacks
        One for each attack.
    promise
        The guarantee that they were held against, if any.
    rows
        The number of rows of the "real", the "synthetic" and the "holdout" table (0: there is
        none).
    notes
        What else the owner should know: what was sampled, values outside the domain.
    """

    attacks: tuple[Attack, ...]
    promise: Promise | None
    rows: Mapping[str, int]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Attack]:
        return iter(self.attacks)

    def __getitem__(self, name: str) -> Attack:
        for attack in self.attacks:
            if attack.name == name:
                return attack
        raise InputError(
            f"There is no attack {name!r}; there are {', '.join(a.name for a in self.attacks)}."
        )

    @property
    def verdict(self) -> AttackVerdict:
        """The gravest of all."""
        order: tuple[AttackVerdict, ...] = ("look at this", "within the promise", "nothing seen")
        verdicts = {attack.verdict for attack in self.attacks}
        return next((verdict for verdict in order if verdict in verdicts), "not judged")

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return {
            "for": "the owner of the table, not for release",
            "verdict": self.verdict,
            "promise": None if self.promise is None else asdict(self.promise),
            "rows": dict(self.rows),
            "attacks": [attack.to_dict() for attack in self.attacks],
            "notes": list(self.notes),
        }


def give_verdict(p_value: float, lowest: float, allowed: float | None) -> AttackVerdict:
    """The verdict on a test: by its p-value, and where that is small, by what surely was reached
    against the bound.
    """
    if p_value >= FALSE_FINDING_RATE:
        return "nothing seen"
    if allowed is None or lowest > allowed:
        return "look at this"
    return "within the promise"


def by_chance(excess: float, deviation: float) -> float:
    """How often chance alone gives at least this excess, by the normal distribution."""
    if deviation <= 0:
        if excess > 0:
            return 0.0
        return 1.0
    return 1 - NormalDist().cdf(excess / deviation)


def rank_among_shuffled(found: float, shuffled: NDArray[np.float64]) -> float:
    """How often chance alone gives at least what was found, by what shuffling gave; what was found
    is one of them.
    """
    as_large = shuffled >= found - 1e-9  # sums of shares in another order
    return (1 + int(as_large.sum())) / (1 + len(shuffled))


def reach(deviation: float) -> float:
    """How far chance may carry a figure of that standard deviation, one-sided, at the level of the
    tests.
    """
    return _Z * deviation


def share_deviation(share: float, of: int) -> float:
    """The standard deviation of a share of this many; never 0, since a few hits more or less are
    always possible.
    """
    smoothed = (share * of + 1) / (of + 2)
    return math.sqrt(smoothed * (1 - smoothed) / of)
