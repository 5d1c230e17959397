"""At which epsilons what is exact is looked at, and along which paths."""

from __future__ import annotations

from functools import partial

import pytest

import understudy.auditing.subjects
from understudy.auditing.doors import exact_loss

EPSILONS = (0.1, 1.0, 5.0)


def follow_the_greedy_path(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several paths of answers are followed at an epsilon of 1, elsewhere one."""
    if epsilon != 1:
        follow_one_path(monkeypatch)


def follow_one_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The greedy path, and no other: enough to see what loses too much on it."""
    followed = partial(exact_loss, paths=1)
    monkeypatch.setattr(understudy.auditing.subjects, "exact_loss", followed)


ENOUGH = 60
"""Runs that can refute an epsilon of 1: with fewer the verdict is "too few runs", and no test here
would pass.
"""
