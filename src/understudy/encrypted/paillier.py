"""Additive encryption (Paillier 1999): the product of ciphertexts is the encryption of a sum.

With n = p q, a number m modulo n is encrypted as (1 + m n) r^n modulo n^2, r a random unit. Who
does not know p and q cannot tell encryptions of two numbers apart, if n-th powers modulo n^2 look
like any other units (the decisional composite residuosity assumption). Whoever sees a ciphertext
can make others of it: add to it, multiply it. So a ciphertext alone proves nothing, and what is
done with one stands in :mod:`understudy.encrypted.masks`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from understudy.data.files import existing_file, read_json, writable_file, write_json
from understudy.encrypted.integers import (
    draw_prime,
    draw_unit,
    invert,
    is_probably_prime,
    multiply_all,
    power,
    secret_power,
)
from understudy.encrypted.packing import Packing
from understudy.errors import InputError

MIN_BITS, MAX_BITS = 2048, 8192
"""Of the modulus n. 2,048 bits are as hard to break as a symmetric key of 112."""

PAILLIER_VERSION = 1


@dataclass(frozen=True)
class PublicKey:
    """What everybody needs to encrypt.

    Parameters
    ----------
    modulus
        n, a product of two primes.
    sealing
        The service's X25519 key, for which seeds of masks are sealed.
    """

    modulus: int
    sealing: bytes = b""

    def __post_init__(self) -> None:
        if not isinstance(self.modulus, int) or not MIN_BITS <= self.bits <= MAX_BITS:
            raise InputError(
                f"The modulus of a key must have {MIN_BITS:,} to {MAX_BITS:,} bits; make a key by "
                "understudy csp key."
            )
        if math.gcd(self.modulus, _PRIMORIAL) != 1 or power(2, self.modulus - 1, self.modulus) == 1:
            raise InputError(
                "The modulus of the key is no product of two large primes; get the key again."
            )
        if len(self.sealing) not in (0, 32):
            raise InputError("The key has no proper sealing key; get the key again.")

    @property
    def bits(self) -> int:
        """How many bits the modulus has."""
        return self.modulus.bit_length()

    @property
    def width(self) -> int:
        """How many bytes a ciphertext takes."""
        return (2 * self.bits + 7) // 8

    @property
    def plain_width(self) -> int:
        """How many bytes a plaintext takes."""
        return (self.bits + 7) // 8

    @cached_property
    def square(self) -> int:
        """n^2, the modulus of ciphertexts."""
        return self.modulus * self.modulus

    @property
    def fingerprint(self) -> str:
        """A hash of the key, to compare over the telephone."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def make_packing(self, slot_bits: int) -> Packing:
        """How numbers of that many bits are put into plaintexts."""
        return Packing(modulus=self.modulus, slot_bits=slot_bits)

    def encrypt(self, number: int) -> int:
        """An encryption of a whole number, which counts modulo n."""
        blind = power(draw_unit(self.modulus), self.modulus, self.square)
        return self._with(blind, number)

    def encrypt_all(self, numbers: Iterable[int]) -> list[int]:
        """An encryption of each number."""
        return [self.encrypt(number) for number in numbers]

    def add(self, ciphertexts: Iterable[int]) -> int:
        """An encryption of the sum; its randomness follows from theirs."""
        return multiply_all(list(ciphertexts), self.square)

    def shift(self, ciphertext: int, number: int) -> int:
        """Add a number that everybody may know; the randomness stays as it is."""
        return self._with(ciphertext, number)

    def check(self, ciphertexts: Iterable[int]) -> None:
        """Refuse what is no ciphertext of this key."""
        product = 1
        for ciphertext in ciphertexts:
            if not 0 < ciphertext < self.square:
                raise InputError(
                    "A ciphertext is larger than the key allows; was it made with another key?"
                )
            product = product * ciphertext % self.modulus
        if math.gcd(product, self.modulus) != 1:
            raise InputError("A ciphertext has no inverse, which no encryption gives.")

    def to_bytes(self, ciphertexts: Iterable[int]) -> bytes:
        """Ciphertexts one after the other, each of the same width."""
        return b"".join(ciphertext.to_bytes(self.width, "big") for ciphertext in ciphertexts)

    def from_bytes(self, data: bytes, number: int) -> list[int]:
        """Ciphertexts, which must be that many; checked."""
        found = split_numbers(data, self.width, number)
        self.check(found)
        return found

    def _with(self, ciphertext: int, number: int) -> int:
        return ciphertext * (1 + number % self.modulus * self.modulus) % self.square

    def to_dict(self) -> dict[str, Any]:
        """The key as it stands in a file."""
        return {
            "understudy_public_key": PAILLIER_VERSION,
            "scheme": "paillier",
            "bits": self.bits,
            "modulus": f"{self.modulus:x}",
            "sealing": self.sealing.hex(),
        }

    @classmethod
    def from_dict(cls, document: Any, source: str = "The file") -> PublicKey:
        """Check a parsed file and read the key."""
        fields = _fields(document, "understudy_public_key", source)
        if set(fields) != {"understudy_public_key", "scheme", "bits", "modulus", "sealing"}:
            raise InputError(f"{source} holds other things than a public key; get it again.")
        key = cls(_hex_number(fields["modulus"], source), _hex_bytes(fields["sealing"], source))
        if fields["bits"] != key.bits:
            raise InputError(f"{source} says {fields['bits']!r} bits, and its key has {key.bits}.")
        return key

    def save(self, path: str | Path) -> None:
        """Write the key to a JSON file."""
        write_json(path, self.to_dict(), "public key", indent=1)

    @classmethod
    def load(cls, path: str | Path) -> PublicKey:
        """Read what :meth:`save` wrote."""
        return cls.from_dict(read_json(path, "public key"), str(path))


@dataclass(frozen=True)
class PrivateKey:
    """What the key holder alone has."""

    p: int = field(repr=False)
    q: int = field(repr=False)
    sealing: bytes = field(default=b"", repr=False)
    """The X25519 private key that opens seeds of masks."""

    def __post_init__(self) -> None:
        sizes = self.p.bit_length(), self.q.bit_length()
        if self.p == self.q or sizes[0] != sizes[1] or not 2 * sizes[0] >= MIN_BITS:
            raise InputError("The two primes of a private key must differ and be equally long.")
        if not is_probably_prime(self.p) or not is_probably_prime(self.q):
            raise InputError("The private key is damaged: its numbers are not prime.")

    @classmethod
    def generate(cls, bits: int = MIN_BITS) -> PrivateKey:
        """A new key, whose modulus has this many bits."""
        if not isinstance(bits, int) or bits % 2 or not MIN_BITS <= bits <= MAX_BITS:
            raise InputError(
                f"A key has an even number of bits from {MIN_BITS:,} to {MAX_BITS:,}, not {bits!r}."
            )
        p = draw_prime(bits // 2)
        q = p
        while q == p:
            q = draw_prime(bits // 2)
        # Of equally long primes neither divides the other less 1, so the scheme is sound.
        return cls(p, q, secrets.token_bytes(32))

    @cached_property
    def public(self) -> PublicKey:
        """What everybody may have."""
        sealing = b""
        if self.sealing:
            from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

            key = X25519PrivateKey.from_private_bytes(self.sealing)
            sealing = key.public_key().public_bytes_raw()
        return PublicKey(self.p * self.q, sealing)

    def decrypt(self, ciphertext: int) -> int:
        """The number, from 0 to n - 1: modulo p and q by themselves, then put together."""
        m_p = self._modulo(ciphertext, self.p)
        m_q = self._modulo(ciphertext, self.q)
        return (m_q + self.q * ((m_p - m_q) * self._q_inverse % self.p)) % (self.p * self.q)

    def _modulo(self, ciphertext: int, prime: int) -> int:
        """The number modulo one of the primes: (1 + m n)^(p - 1) is 1 + m n (p - 1) modulo p^2, and
        r^(n (p - 1)) is 1.
        """
        square = prime * prime
        seen = secret_power(ciphertext % square, prime - 1, square)
        return (seen - 1) // prime * self._factors[prime] % prime

    @cached_property
    def _factors(self) -> dict[int, int]:
        n = self.p * self.q
        return {
            prime: invert((n // prime) * (prime - 1) % prime, prime) for prime in (self.p, self.q)
        }

    @cached_property
    def _q_inverse(self) -> int:
        return invert(self.q, self.p)

    def to_dict(self) -> dict[str, Any]:
        """The key as it stands in a file, for its owner's eyes only."""
        return {
            "understudy_private_key": PAILLIER_VERSION,
            "scheme": "paillier",
            "p": f"{self.p:x}",
            "q": f"{self.q:x}",
            "sealing": self.sealing.hex(),
        }

    @classmethod
    def from_dict(cls, document: Any, source: str = "The file") -> PrivateKey:
        """Check a parsed file and read the key."""
        fields = _fields(document, "understudy_private_key", source)
        if set(fields) != {"understudy_private_key", "scheme", "p", "q", "sealing"}:
            raise InputError(
                f"{source} holds other things than a private key; is it the right one?"
            )
        sealing = _hex_bytes(fields["sealing"], source)
        if len(sealing) not in (0, 32):
            raise InputError(f"{source} has no proper sealing key; restore the file.")
        return cls(_hex_number(fields["p"], source), _hex_number(fields["q"], source), sealing)

    def save(self, path: str | Path) -> None:
        """Write the key to a file that nobody else can read; one that is there is left alone."""
        path = writable_file(path, "private key")
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError as error:
            raise InputError(
                f"There is a file at {path} already; it is never overwritten: choose another name."
            ) from error
        with os.fdopen(handle, "wb") as file:
            file.write(json.dumps(self.to_dict(), indent=1).encode())
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def load(cls, path: str | Path) -> PrivateKey:
        """Read what :meth:`save` wrote; others must not be able to read it too."""
        path = existing_file(path, "private key")
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise InputError(
                f"The key {path} can be read by others; take it away from them: chmod 600 {path}"
            )
        return cls.from_dict(read_json(path, "private key"), str(path))


def split_numbers(data: bytes, width: int, number: int) -> list[int]:
    """Whole numbers of the same width, which must be that many."""
    if len(data) != number * width:
        raise InputError(
            f"There must be {number:,} numbers of {width:,} bytes, and there are "
            f"{len(data):,} bytes."
        )
    return [int.from_bytes(data[i : i + width], "big") for i in range(0, len(data), width)]


_PRIMORIAL = math.prod(p for p in range(2, 2000) if all(p % q for q in range(2, math.isqrt(p) + 1)))

MAX_HEX = MAX_BITS // 4


def _fields(document: Any, mark: str, source: str) -> dict[str, Any]:
    if not isinstance(document, dict) or document.get(mark) != PAILLIER_VERSION:
        raise InputError(f"{source} is no key of this version of understudy; is it the right file?")
    if document.get("scheme") != "paillier":
        raise InputError(f"{source} is a key of another scheme; known is paillier.")
    return document


def _hex_number(text: Any, source: str) -> int:
    if not isinstance(text, str) or not 0 < len(text) <= MAX_HEX:
        raise InputError(f"{source} holds a number that cannot be read; get it again.")
    try:
        return int(text, 16)
    except ValueError:
        raise InputError(f"{source} holds a number that cannot be read; get it again.") from None


def _hex_bytes(text: Any, source: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError):
        raise InputError(f"{source} holds bytes that cannot be read; get it again.") from None
