"""Limits of sessions: the last value that is allowed is taken, and the next one is refused."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from memory_holders import SCHEMA

from limits import above, assert_limits, below
from understudy.federation import HolderPolicy
from understudy.federation.allowance import check_share
from understudy.federation.holder_rows import _limit_cells
from understudy.federation.identity import Identity, _content
from understudy.federation.messages import Message
from understudy.federation.noise_shares import (
    ShareNoise,
    check_scale,
    gaussian_share,
)
from understudy.federation.questions import budget_of
from understudy.federation.sharing import secret_of, shares_of
from understudy.federation.terms import COLLUDERS, Terms, schema_digest
from understudy.privacy.mechanisms import SystemNoise


def terms(number: int = 4, **changes: Any) -> Terms:
    """The terms of a session of this many holders."""
    given: dict[str, Any] = {
        "session": "s1",
        "schema": schema_digest(SCHEMA),
        "way": "secure",
        "method": {"name": "x"},
        "epsilon": 1.0,
        "delta": 0.0,
        "neighbours": "add_remove",
        "holders": tuple(f"h{place:03}" for place in range(number)),
        "dropouts": 0,
        "colluders": 0,
    }
    return Terms(**(given | changes))


def price(amount: float) -> None:
    budget_of(Message("ask", {"amount": amount}), "epsilon")


def rejoin(given: int, enough: int) -> None:
    shares = dict(enumerate(shares_of(bytes(32), 5, enough), 1))
    secret_of({place: shares[place] for place in range(1, given + 1)}, enough)


LIMITS = {
    "holders": (terms, [1, 256], [0, 257]),
    "names of holders": (
        lambda names: terms(holders=names),
        [("a", "b")],
        [("b", "a"), ("a", "a"), ("x" * 101,), ("a\n",)],
    ),
    "letters of a name": (lambda length: terms(session="x" * length), [100], [101]),
    "name of the method": (lambda name: terms(method={"name": name}), ["x" * 100], ["x" * 101]),
    "way": (lambda way: terms(way=way), ["secure", "voting"], ["", "other"]),
    "dropouts": (lambda number: terms(way="voting", dropouts=number), [0, 3], [-1, 4, True, 1.0]),
    "colluders": (lambda number: terms(colluders=number), [0, 3], [-1, 4, True, 1.0]),
    "holders for dropouts": (
        lambda number: terms(number, dropouts=1, colluders=1),
        [4, 5],
        [3],
    ),
    "colluders of an encrypted session": (
        lambda number: terms(way="encrypted", colluders=number),
        [0, 1],
        [2],
    ),
    "dropouts of an encrypted session": (
        lambda number: terms(way="encrypted", dropouts=number),
        [0],
        [1],
    ),
    "epsilon": (lambda epsilon: terms(epsilon=epsilon), [1e-12], [0.0, -1.0]),
    "delta": (lambda delta: terms(delta=delta), [0.0, 0.5], [1.0, -0.1]),
    "relation": (
        lambda relation: terms(neighbours=relation),
        ["add_remove", "replace"],
        ["", "other"],
    ),
    "name of a party": (Identity.new, ["a"], ["", "a" * 101, "a\n"]),
    "price": (price, [0.0, 1e-24, 1e12], [below(1e-24), above(1e12)]),
    "share of an allowance": (
        lambda share: check_share("x", share),
        [1e-9, 1, Fraction(1, 2)],
        [0, above(1.0), -0.5, "1"],
    ),
    "days of a certificate": (
        lambda days: Identity.new("a", days),
        [1, 3650],
        [0, 3651, True, 1.0],
    ),
    "cells of a round": (_limit_cells, [1 << 24], [(1 << 24) + 1]),
    "scale of shares of Laplace noise": (
        lambda scale: check_scale(ShareNoise(2, SystemNoise()), scale, "epsilon"),
        [2.0**24],
        [above(2.0**24)],
    ),
    "scale of shares of Gaussian noise": (
        lambda scale: check_scale(ShareNoise(2, SystemNoise()), scale, "rho"),
        [2.0**36],
        [above(2.0**36)],
    ),
    "scale of a holder's own noise": (
        lambda scale: check_scale(SystemNoise(), scale, "epsilon"),
        [2.0**36],
        [above(2.0**36)],
    ),
    "bytes of a secret": (lambda size: shares_of(os.urandom(size), 3, 2), [32], [31, 33, 0]),
    "shares that are needed": (lambda enough: shares_of(bytes(32), 3, enough), [1, 3], [0, 4]),
    "shares that are given": (lambda given: rejoin(given, 3), [3, 4, 5], [2, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_value_is_taken_and_the_next_is_not(name: str) -> None:
    assert_limits(*LIMITS[name])


def test_a_file_of_a_certificate_has_64_kilobytes_at_most(tmp_path: Any) -> None:
    path = tmp_path / "certificate"

    def read(size: int) -> None:
        path.write_bytes(bytes(size))
        assert len(_content(path, "certificate")) == size

    assert_limits(read, [0, 1 << 16], [(1 << 16) + 1])


def test_one_holder_is_feared_where_nobody_says_otherwise() -> None:
    assert COLLUDERS == HolderPolicy(allowance=1.0).colluders == 1


def test_who_is_present_and_who_is_honest() -> None:
    """Shares of as many holders make the whole noise."""
    asked = terms(9, dropouts=2, colluders=3)
    assert (asked.present, asked.honest) == (7, 4)
    assert [terms(way="encrypted", colluders=n).honest for n in (0, 1)] == [2, 1]


def test_a_secret_in_wrong_shares_is_refused() -> None:
    """Three numbers below the prime whose polynomial is no secret of 32 bytes at 0."""
    largest = (1 << 256) - 1
    fits = {place: largest.to_bytes(66) for place in (1, 2, 3)}
    assert secret_of(fits, 3) == largest.to_bytes(32)
    with pytest.raises(Exception, match="do not fit together"):
        secret_of({place: (largest + 1).to_bytes(66) for place in (1, 2, 3)}, 3)


def test_shares_of_gaussian_noise_are_never_less_than_they_must_be() -> None:
    assert gaussian_share(7.0, 1) == 7.0
    for enough in (2, 5):
        for scale in (10.0, 1000.0):
            assert gaussian_share(scale, enough) >= scale / enough**0.5
    assert np.isclose(gaussian_share(1000.0, 4), 500.0)
    assert gaussian_share(1.0, 4) >= 2.0  # smaller shares do not add up to the noise
