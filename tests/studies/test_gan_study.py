"""The study of GANs: what does not need torch."""

from __future__ import annotations

import numpy as np
import pytest

import gan
from gan_parts.leaks import area

pytestmark = pytest.mark.thorough


def test_the_area_of_a_coin_is_a_half() -> None:
    assert area(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 0.5
    assert area(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == 1.0


def test_a_gan_that_wins_would_be_said_to_win() -> None:
    rows = [
        {"method": method, "epsilon": 10.0, "student": score}
        for method, score in (("gan", 0.97), ("merf", 0.5), ("gaussian", 0.9))
    ]
    rows += [{"method": "real", "student": 0.98}, {"method": "gan, no noise", "student": 0.97}]
    assert [claim.held for claim in gan.conclude_images(rows)] == [True, True, False]
    rows[0]["student"] = 0.4
    assert [claim.held for claim in gan.conclude_images(rows)] == [True, False, True]


def test_leaks_are_compared_with_the_smaller_of_two() -> None:
    rows = [
        {"way": way, "epsilon": 1.0, "repeat": 0, "area": area, "refuted epsilon": bound}
        for way, area, bound in zip(gan.WAYS, (0.9, 0.7, 0.51), (2.0, 1.5, 0.0), strict=True)
    ]
    assert [claim.held for claim in gan.conclude_members(rows)] == [True, True]
    rows[1] |= {"area": 0.5, "refuted epsilon": 0.9}
    assert [claim.held for claim in gan.conclude_members(rows)] == [False, False]


def test_tables_say_who_is_ahead() -> None:
    rows = [
        {"table": "heart", "epsilon": 1.0, "method": m, "3-way error": e, "accuracy": 1 - e}
        for m, e in (("adaptive", 0.2), ("gan", 0.5), ("merf", 0.1))
    ]
    assert [claim.held for claim in gan.conclude_tables(rows)] == [False, False]
