"""Attribute inference: statistics are no breach, what is known of people in the table alone is."""

from __future__ import annotations

import numpy as np
import pytest
from people import SCHEMA, coded, people

from understudy.attacks import Attack, Promise
from understudy.attacks.attribute import attribute_inference
from understudy.data.encoding import Coded
from understudy.release.callbacks import no_progress

REAL, HOLDOUT, FRESH = (coded(people(600, seed)) for seed in (1, 2, 3))


def infer(
    synthetic: Coded,
    secret: str,
    *,
    holdout: Coded | None = HOLDOUT,
    promise: Promise | None = None,
) -> Attack:
    known = [name for name in SCHEMA.names if name != secret]
    rng = np.random.default_rng(0)
    return attribute_inference(REAL, synthetic, holdout, known, secret, promise, rng, no_progress)


def test_copies_give_the_secret_away() -> None:
    attack = infer(REAL, "ill")
    assert attack.verdict == "look at this"
    assert attack.measured is not None
    assert attack.measured > 0.85
    assert attack.beside is not None
    assert attack.beside < 0.8


def test_what_holds_for_everybody_is_statistics() -> None:
    attack = infer(FRESH, "grade")  # it follows from the age
    assert attack.verdict == "nothing seen"
    assert attack.measured is not None
    assert attack.measured > attack.figures["commonest_value"] + 0.1


def test_the_promise_bounds_the_difference() -> None:
    attack = infer(REAL, "weight", promise=Promise(0.1, neighbours="replace"))
    assert attack.verdict == "look at this"
    assert attack.measured is not None
    assert attack.allowed is not None
    assert attack.allowed < 0.5 < attack.measured
    assert infer(REAL, "weight", promise=Promise(5.0)).verdict == "within the promise"


def test_fresh_people_look_like_a_finding_as_often_as_stated() -> None:
    alarms = 0
    for seed in range(100):
        ours, theirs, fresh = (coded(people(100, 1000 * part + seed)) for part in (1, 2, 3))
        rng = np.random.default_rng(seed)
        attack = attribute_inference(
            ours, fresh, theirs, ["age", "grade"], "ill", None, rng, no_progress
        )
        assert attack.p_value is not None
        alarms += attack.p_value < 0.1
    assert 1 <= alarms <= 24  # 10 expected, deviation 3


@pytest.mark.parametrize("secret", ["ill", "weight"])
def test_without_a_holdout_nothing_is_judged(secret: str) -> None:
    attack = infer(REAL, secret, holdout=None)
    assert attack.verdict == "not judged"
    assert attack.beside is None
