"""What a guarantee for one is worth for a group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from understudy.errors import InputError
from understudy.privacy.budget import exact, round_up
from understudy.privacy.wording import state_guarantee


@dataclass(frozen=True)
class GroupPromise:
    """What is guaranteed to a group of rows or persons together; as text, a sentence."""

    members: int
    epsilon: float
    delta: float
    change: str = ""
    unit: str = "row"

    def __str__(self) -> str:
        if not self.epsilon and not self.delta:
            return "No private row was read: the release is private without spending anything."
        return state_guarantee(self.epsilon, self.delta, self.change, f"group of {self.unit}s")


def group_promise(
    epsilon: float, delta: float, members: int, change: str = "", unit: str = "row"
) -> GroupPromise:
    """What (epsilon, delta) for one is worth for a group of k: (k epsilon, delta (e^(k epsilon)
    - 1) / (e^epsilon - 1)).

    The members join one after another. Each step multiplies probabilities by e^epsilon and adds
    delta, which the later steps multiply: delta (1 + e^epsilon + ... + e^((k - 1) epsilon)).
    """
    members = check_members(members)
    if not change:
        change = f"a change of any {members:,} {unit}s"
    together = round_up(exact(epsilon) * members)
    if not delta:
        return GroupPromise(members, together, 0.0, change, unit)
    if together > 500:
        factor = math.inf
    elif epsilon:
        factor = math.expm1(together) / math.expm1(epsilon)
    else:
        factor = float(members)
    return GroupPromise(members, together, min(delta * factor * (1 + 1e-12), 1.0), change, unit)


def check_members(members: Any) -> int:
    """Return the size of a group if it can be one."""
    if isinstance(members, bool) or not isinstance(members, int) or not 1 <= members <= 10**9:
        raise InputError(f"A group has a whole number of members from 1 on, not {members!r}.")
    return members
