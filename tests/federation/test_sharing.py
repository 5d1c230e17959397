from __future__ import annotations

import itertools
import os

import pytest

from understudy.errors import InputError
from understudy.federation.sharing import PRIME, secret_of, shares_of


@pytest.mark.parametrize(("holders", "enough"), [(1, 1), (3, 2), (5, 4), (5, 5), (7, 1)])
def test_any_so_many_shares_tell_the_secret(holders, enough):
    secret = os.urandom(32)
    shares = dict(enumerate(shares_of(secret, holders, enough), 1))
    for some in itertools.combinations(shares, enough):
        assert secret_of({place: shares[place] for place in some}, enough) == secret
    assert secret_of(shares, enough) == secret


def test_too_few_are_refused():
    shares = dict(enumerate(shares_of(bytes(32), 5, 4), 1))
    with pytest.raises(InputError, match="4 shares are needed"):
        secret_of({place: shares[place] for place in (1, 2, 3)}, 4)


def test_fewer_shares_fit_every_secret():
    """With one share less than enough there is, for any other secret, a last share that would give
    just that one.
    """
    secret, other = os.urandom(32), os.urandom(32)
    shares = [int.from_bytes(share) for share in shares_of(secret, 3, 3)]
    # At 0: 3 y1 - 3 y2 + y3, by Lagrange at 1, 2, 3.
    assert (3 * shares[0] - 3 * shares[1] + shares[2]) % PRIME == int.from_bytes(secret)
    last = (int.from_bytes(other) - 3 * shares[0] + 3 * shares[1]) % PRIME
    told = {1: shares[0], 2: shares[1], 3: last}
    assert secret_of({place: share.to_bytes(66) for place, share in told.items()}, 3) == other


def test_shares_are_made_anew():
    assert shares_of(bytes(32), 3, 2) != shares_of(bytes(32), 3, 2)


def test_wrong_shares_do_not_fit():
    shares = dict(enumerate(shares_of(os.urandom(32), 3, 2), 1))
    shares[1] = (int.from_bytes(shares[1]) ^ (1 << 500)).to_bytes(66)
    with pytest.raises(InputError, match="do not fit together"):
        secret_of(shares, 2)


def test_a_secret_that_is_just_too_long_does_not_fit():
    assert secret_of({1: ((1 << 256) - 1).to_bytes(66)}, 1) == b"\xff" * 32
    with pytest.raises(InputError, match="do not fit together"):
        secret_of({1: (1 << 256).to_bytes(66)}, 1)


@pytest.mark.parametrize("wrong", [(bytes(31), 3, 2), (bytes(32), 3, 4), (bytes(32), 3, 0)])
def test_what_cannot_be_shared(wrong):
    with pytest.raises(ValueError, match="shared among"):
        shares_of(*wrong)
