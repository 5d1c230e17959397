"""Masks that vanish in the sum: what each holder sends looks like noise, and only the total can be
read.

For every pair of holders there is a secret that only the two know (X25519, with keys that each
signs and the other checks against a pinned certificate: the analyst carries the keys, and cannot
put its own in their place). From it both derive, for each round and question, the same stream of
64-bit numbers (HKDF, ChaCha20). One adds it, the other subtracts it, modulo 2^64. Over all holders
these masks cancel.

Where holders may drop out, their partners' masks would stay. So (Bonawitz et al. 2017) each holder
also adds a mask of its own, and shares two secrets of each round among all: the seed of its own
mask, and the key to a sealed list of its pair seeds of that round. Of a holder whose numbers are in
the sum the first is told, of one that dropped out the second; never both of one holder, see
:mod:`understudy.federation.secure_sums`. Where one holder is to read the sum and nobody else,
masked numbers are sealed for it instead, and no mask of a holder's own is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.federation.messages import digest

MaskedNumbers = NDArray[np.uint64]

SEED_BYTES = 32


class Signer(Protocol):
    """A holder's own identity."""

    def sign(self, message: bytes) -> bytes:
        """Sign so that all who pinned the certificate know whose it is."""


class Verifier(Protocol):
    """A pinned certificate."""

    def verify(self, signature: bytes, message: bytes) -> bool:
        """Whether its owner, and nobody else, signed the message."""


class PairKeys:
    """What one holder shares with each of the others in one session; new for every session.

    Parameters
    ----------
    name
        The holder's own name.
    context
        What the session is, as all must see it (a digest): holders that were told different things
        share no secrets.
    """

    def __init__(self, name: str, context: bytes) -> None:
        self.name = name
        self._context = context
        self._key = _cryptography().PrivateKey.generate()
        self.public: bytes = self._key.public_key().public_bytes_raw()
        self._secrets: dict[str, bytes] = {}

    def meet(self, peer: str, public: bytes) -> None:
        """Agree on a secret with a peer, whose public key has been verified."""
        tools = _cryptography()
        try:
            shared = self._key.exchange(tools.PublicKey.from_public_bytes(public))
        except ValueError:
            raise InputError(
                f"The key of {peer} is none that secrets can be agreed on with."
            ) from None
        ends = sorted([(self.name, self.public), (peer, public)])
        info = digest("pair", *(part for end in ends for part in end))
        self._secrets[peer] = tools.HKDF(tools.SHA256(), SEED_BYTES, self._context, info).derive(
            shared
        )

    def seed(self, peer: str, *purpose: bytes | str) -> bytes:
        """A secret for one purpose that only this holder and the peer can derive."""
        tools = _cryptography()
        seed: bytes = tools.HKDFExpand(tools.SHA256(), SEED_BYTES, digest(*purpose)).derive(
            self._secrets[peer]
        )
        return seed


def stream(seed: bytes, size: int) -> MaskedNumbers:
    """As many 64-bit numbers from a seed as are asked for; without the seed they look random."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    encryptor = Cipher(algorithms.ChaCha20(seed, bytes(16)), None).encryptor()
    return np.frombuffer(encryptor.update(bytes(8 * size)), dtype="<u8").astype(
        np.uint64, copy=False
    )


def pair_mask(name: str, seeds: Mapping[str, bytes], size: int) -> MaskedNumbers:
    """All pair masks of a holder together: of two holders the first by name adds, the other
    subtracts.
    """
    mask = np.zeros(size, dtype=np.uint64)
    for peer, seed in seeds.items():
        if name < peer:
            mask += stream(seed, size)
        else:
            mask -= stream(seed, size)
    return mask


def add_vectors(vectors: Iterable[MaskedNumbers], size: int) -> MaskedNumbers:
    """The sum modulo 2^64."""
    total = np.zeros(size, dtype=np.uint64)
    for vector in vectors:
        total += vector
    return total


def seal_content(key: bytes, content: bytes, about: bytes) -> bytes:
    """Content that can be read only with the key, and not be changed or moved to another place at
    all.

    Each key seals one content only, so the nonce can be all zeros.
    """
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(key).encrypt(bytes(12), content, about)


def open_content(key: bytes, content: bytes, about: bytes) -> bytes:
    """What was sealed."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(bytes(12), content, about)
    except InvalidTag:
        raise InputError(
            "Something that was sealed was changed on the way, or is not meant for this round."
        ) from None


@cache
def _cryptography() -> Any:
    """The parts of the package cryptography that are used; it comes with an extra."""
    try:
        from cryptography.hazmat.primitives.asymmetric.x25519 import (
            X25519PrivateKey,
            X25519PublicKey,
        )
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
    except ImportError:
        raise InputError(
            "Secure sums need the package cryptography; install understudy[federation]."
        ) from None
    return SimpleNamespace(
        PrivateKey=X25519PrivateKey,
        PublicKey=X25519PublicKey,
        SHA256=SHA256,
        HKDF=HKDF,
        HKDFExpand=HKDFExpand,
    )
