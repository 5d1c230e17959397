"""Shamir's secret sharing: a secret in pieces, any ``enough`` of which tell all and any fewer of
which tell nothing.

The secret is the value at 0 of a random polynomial of degree enough - 1 over the integers modulo a
prime, the shares are its values at 1, 2, and so on. Any ``enough`` points determine the polynomial;
for fewer, every value at 0 is equally likely.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from understudy.errors import InputError

PRIME = 2**521 - 1
SECRET_BYTES = 32
SHARE_BYTES = 66
"""Enough for every number below the prime."""


def shares_of(secret: bytes, holders: int, enough: int) -> list[bytes]:
    """One share for each of the holders, who are numbered from 1."""
    if len(secret) != SECRET_BYTES or not 1 <= enough <= holders:
        raise ValueError("a secret of 32 bytes is shared among as many as are needed, or more")
    coefficients = [int.from_bytes(secret), *(secrets.randbelow(PRIME) for _ in range(enough - 1))]
    return [_value(coefficients, place).to_bytes(SHARE_BYTES) for place in range(1, holders + 1)]


def secret_of(shares: Mapping[int, bytes], enough: int) -> bytes:
    """The secret from at least ``enough`` shares, by the holders' numbers."""
    if len(shares) < enough:
        raise InputError(f"{enough} shares are needed, and there are {len(shares)}.")
    points = {place: int.from_bytes(share) for place, share in sorted(shares.items())[:enough]}
    secret = 0
    for place, value in points.items():
        # Lagrange's polynomial that is 1 at this place and 0 at the others, taken at 0.
        above = below = 1
        for other in points:
            if other != place:
                above = above * other % PRIME
                below = below * (other - place) % PRIME
        secret = (secret + value * above * pow(below, -1, PRIME)) % PRIME
    if secret >= 1 << (8 * SECRET_BYTES):
        raise InputError("The shares do not fit together: some holder sent a wrong one.")
    return secret.to_bytes(SECRET_BYTES)


def _value(coefficients: list[int], place: int) -> int:
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * place + coefficient) % PRIME
    return value
