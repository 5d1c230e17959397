"""Masks: what the service takes off the sum over all owners, each of them once.

An owner adds to each of its plaintexts a uniform number modulo n that only the service can derive
as well, from a seed that is sealed for the service, and encrypts the result. The service takes the
masks of all owners of the plan off what it decrypts.

**Nothing is told but sums over all owners with the service's noise, whatever the aggregator sends
to be decrypted.** Let u_i = x_i + m_i be what owner i encrypted. Even if the aggregator could
decrypt all it has, it would have u_i, which are uniform and independent of x_i. Say it sends some
ciphertext of y, made from whatever it has. It is told y - sum m_i + z, z being the service's noise:
that is (y - sum u_i) + (sum x_i + z), of which it knows the first part already. So each answer
tells as much as sum x_i + z does, for which the ledger was debited; a ciphertext that was
multiplied, left out, taken twice, moved or changed tells no more than that, and reads as nonsense.
An owner that copies another's ciphertexts or seed gains nothing either: masks are derived under the
name of the owner, and signed for by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from understudy.errors import InputError
from understudy.federation.masking import SEED_BYTES, open_content, seal_content
from understudy.federation.messages import digest

SPARE_BYTES = 16
"""Drawn beyond the length of the modulus, so that what is left of it is uniform up to 2^-128."""

SEALED_BYTES = 32 + SEED_BYTES + 16
"""A public key, the seed, and what proves that nobody changed it."""


def derive_masks(
    seed: bytes, plan: bytes, owner: str, item: int, number: int, modulus: int
) -> list[int]:
    """The masks of an owner's ciphertexts of one item of a plan."""
    width = (modulus.bit_length() + 7) // 8 + SPARE_BYTES
    start = digest("understudy masks", seed, plan, owner, str(item))
    stream = hashlib.shake_256(start).digest(width * number)
    return [
        int.from_bytes(stream[i : i + width], "big") % modulus
        for i in range(0, width * number, width)
    ]


def add_masks(numbers: Sequence[int], masks: Sequence[int], modulus: int) -> list[int]:
    """Plaintexts under their masks."""
    return [(number + mask) % modulus for number, mask in zip(numbers, masks, strict=True)]


def seal_seed(seed: bytes, sealing: bytes, plan: bytes, owner: str) -> bytes:
    """A seed that the service alone can read, for one plan and one owner."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    if len(sealing) != 32:
        raise InputError("The service's key has no part to seal for; make one by csp key.")
    own = X25519PrivateKey.generate()
    public = own.public_key().public_bytes_raw()
    shared = own.exchange(X25519PublicKey.from_public_bytes(sealing))
    about = digest("understudy seed", plan, owner)
    return public + seal_content(digest(shared, public, sealing), seed, about)


def open_seed(box: bytes, sealing: bytes, plan: bytes, owner: str) -> bytes:
    """The seed; refuses what was sealed for another plan, owner or service."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    if len(box) != SEALED_BYTES:
        raise InputError(f"The sealed seed of {owner} has a wrong length.")
    own = X25519PrivateKey.from_private_bytes(sealing)
    try:
        shared = own.exchange(X25519PublicKey.from_public_bytes(box[:32]))
    except ValueError:
        raise InputError(f"The sealed seed of {owner} cannot be opened.") from None
    key = digest(shared, box[:32], own.public_key().public_bytes_raw())
    about = digest("understudy seed", plan, owner)
    try:
        return open_content(key, box[32:], about)
    except InputError:
        raise InputError(
            f"The seed of {owner} was sealed for another plan, owner or service; ask for its file "
            "again."
        ) from None
