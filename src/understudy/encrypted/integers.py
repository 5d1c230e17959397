"""Arithmetic on large whole numbers: by gmpy2 where it is installed, else by Python itself.

Neither is constant in time, with one exception: powers to a secret exponent are taken by gmpy2's
``powmod_sec``, whose steps do not depend on the exponent. Without gmpy2, how long a decryption
takes depends on the key and on what is decrypted. A service decrypts only what was blinded and
re-randomised by somebody else, so that its times tell of uniform numbers; who can measure the times
of many chosen ciphertexts may still learn of the key. So install gmpy2 where a service runs.
"""

from __future__ import annotations

import math
import secrets
from typing import Any

try:
    import gmpy2 as _gmpy2
except ImportError:
    _gmpy2 = None

gmpy2: Any = _gmpy2

PRIMALITY_ROUNDS = 40
"""Of Miller and Rabin's test: a number that is not prime passes one with probability 1/4."""

_SMALL = [p for p in range(3, 2000, 2) if all(p % q for q in range(3, math.isqrt(p) + 1, 2))]


def power(base: int, exponent: int, modulus: int) -> int:
    """``base ** exponent % modulus``."""
    if gmpy2 is not None:
        return int(gmpy2.powmod(base, exponent, modulus))
    return pow(base, exponent, modulus)


def secret_power(base: int, exponent: int, modulus: int) -> int:
    """The same for a positive exponent that is secret and a modulus that is odd."""
    if gmpy2 is not None:
        return int(gmpy2.powmod_sec(base, exponent, modulus))
    return pow(base, exponent, modulus)


def invert(number: int, modulus: int) -> int:
    """The inverse; ``ValueError`` where there is none."""
    return pow(number, -1, modulus)


def multiply_all(numbers: list[int], modulus: int) -> int:
    """The product."""
    if gmpy2 is not None:
        product = gmpy2.mpz(1)
        for number in numbers:
            product = product * number % modulus
        return int(product)
    found = 1
    for number in numbers:
        found = found * number % modulus
    return found


def is_probably_prime(number: int) -> bool:
    """Whether a number passes Miller and Rabin's test with random bases."""
    if number < 4:
        return number in (2, 3)
    if number % 2 == 0 or any(number % small == 0 and number != small for small in _SMALL):
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(PRIMALITY_ROUNDS):
        seen = power(secrets.randbelow(number - 3) + 2, odd, number)
        if seen in (1, number - 1):
            continue
        for _ in range(twos - 1):
            seen = seen * seen % number
            if seen == number - 1:
                break
        else:
            return False
    return True


def draw_prime(bits: int) -> int:
    """A random prime of that many bits, the two highest of which are 1."""
    while True:
        candidate = secrets.randbits(bits) | (3 << (bits - 2)) | 1
        if is_probably_prime(candidate):
            return candidate


def draw_unit(modulus: int) -> int:
    """A random number that has an inverse."""
    while True:
        found = secrets.randbelow(modulus)
        if math.gcd(found, modulus) == 1:
            return found
