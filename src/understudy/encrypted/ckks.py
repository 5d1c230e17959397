"""CKKS through TenSEAL: a second scheme with the interface of :mod:`understudy.encrypted.paillier`.

**Approximate, and why that must not be seen.** CKKS decrypts to numbers that are a little off, and
by how much depends on what was encrypted: who is shown such numbers can learn of the key and of the
plaintexts (Li and Micciancio 2021). So nothing unrounded leaves :class:`PrivateCkksKey`: plaintexts
are whole numbers, the error of a sum is far below a half, and what is decrypted is rounded. It is
then exactly the sum of whole numbers with the exact noise that was added before. What is further
off than :data:`MAX_ERROR` is refused.

**What the key holder sees.** It can look at the error itself, which holds traces of how each
owner's numbers were rounded when encoded. Each encryption therefore adds a random fraction, some
2^40 times larger than these traces (noise flooding). That is statistical, and not the exact
guarantee that the rest has; with Paillier there is nothing to see.

There is no arithmetic modulo a number here, so that neither masks nor blinding are possible: a
crypto service does not take such keys. They are for DPDPCA
(:mod:`understudy.compression.dpdpca`), whose proxy adds the noise and is trusted to do so.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError

SLOTS = 4096
DEGREE = 2 * SLOTS
MODULUS_BITS = (60, 60, 60)
"""180 bits in all; 218 are 128-bit secure at this degree (HomomorphicEncryption.org)."""

SCALE = 2.0**60
MAX_SUM_BITS = 44
"""Of a sum: beyond, floating point has too few digits for what comes after the point."""

FLOOD = 2.0**-10
"""The random fraction in each encryption, on either side of 0; those of 100 owners stay small."""

MAX_OWNERS = 100
MAX_ERROR = 0.25

CkksSlots = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class VectorPacking:
    """How numbers stand in plaintexts: one in each slot of a vector."""

    slots: int = SLOTS

    def count(self, numbers: int) -> int:
        """How many plaintexts that many numbers need."""
        return -(-numbers // self.slots)

    def pack(self, numbers: NDArray[np.int64]) -> list[CkksSlots]:
        """Whole numbers in vectors."""
        flat = numbers.ravel()
        if flat.size and int(np.abs(flat).max()) >= 1 << MAX_SUM_BITS:
            raise InputError(f"A number has more than {MAX_SUM_BITS} bits, which CKKS cannot hold.")
        starts = range(0, len(flat), self.slots)
        return [flat[start : start + self.slots].astype(np.float64) for start in starts]

    def unpack(self, plaintexts: Sequence[CkksSlots], numbers: int) -> NDArray[np.int64]:
        """The whole numbers again."""
        if len(plaintexts) != self.count(numbers):
            raise InputError("There are more or fewer plaintexts than the numbers need.")
        flat = np.concatenate([*plaintexts, np.empty(0)])
        if len(flat) != numbers:
            raise InputError("There are more or fewer numbers in the plaintexts than asked for.")
        return flat.astype(np.int64)


@dataclass(frozen=True)
class CkksKey:
    """What everybody may have: encrypts and adds."""

    data: bytes = field(repr=False)
    """TenSEAL's context, without the secret key."""

    @cached_property
    def context(self) -> Any:
        """The context, read."""
        found = load_tenseal().context_from(self.data)
        if found.has_secret_key():
            raise InputError("This holds the secret key, which is its owner's alone.")
        return found

    def make_packing(self, slot_bits: int) -> VectorPacking:
        """How numbers of that many bits are put into plaintexts."""
        if slot_bits > MAX_SUM_BITS + 1:
            raise InputError(
                f"CKKS holds numbers of {MAX_SUM_BITS} bits; lower the number of "
                "rows, or use Paillier."
            )
        return VectorPacking()

    def encrypt_all(self, vectors: Iterable[CkksSlots]) -> list[bytes]:
        """An encryption of each vector of whole numbers."""
        return [self._encrypt(vector) for vector in vectors]

    def add(self, ciphertexts: Iterable[bytes]) -> bytes:
        """An encryption of the sum."""
        found = [self._read(one) for one in ciphertexts]
        if len(found) > MAX_OWNERS + 1:
            raise InputError(f"Sums by CKKS are over {MAX_OWNERS} owners at most.")
        sizes = {one.size() for one in found}
        if len(sizes) != 1:
            raise InputError("Ciphertexts of different lengths cannot be added up.")
        return bytes(reduce(lambda a, b: a + b, found).serialize())

    def _encrypt(self, vector: CkksSlots) -> bytes:
        make = load_tenseal().ckks_vector
        numbers = make(self.context, vector.tolist())
        return bytes((numbers + make(self.context, draw_fractions(len(vector)))).serialize())

    def _read(self, data: bytes) -> Any:
        try:
            return load_tenseal().ckks_vector_from(self.context, data)
        except (ValueError, RuntimeError) as error:
            raise InputError("That is no ciphertext of this key; ask for it again.") from error


@dataclass(frozen=True)
class PrivateCkksKey:
    """What the key holder alone has."""

    _context: Any = field(repr=False)

    @classmethod
    def generate(cls) -> PrivateCkksKey:
        """Make a key."""
        tenseal = load_tenseal()
        context = tenseal.context(
            tenseal.SCHEME_TYPE.CKKS,
            poly_modulus_degree=DEGREE,
            coeff_mod_bit_sizes=list(MODULUS_BITS),
        )
        context.global_scale = SCALE
        return cls(context)

    @cached_property
    def public(self) -> CkksKey:
        """The part for everybody."""
        return CkksKey(bytes(self._context.serialize(save_secret_key=False)))

    def decrypt(self, ciphertext: bytes) -> CkksSlots:
        """The whole numbers; never what comes after the point."""
        try:
            vector = load_tenseal().ckks_vector_from(self._context, ciphertext)
            found = np.array(vector.decrypt(), dtype=np.float64)
        except (ValueError, RuntimeError) as error:
            raise InputError("That is no ciphertext of this key; ask for it again.") from error
        whole = np.rint(found)
        off = float(np.abs(found - whole).max(initial=0))
        largest = float(np.abs(whole).max(initial=0))
        # Nor what is no number.
        if not (off <= MAX_ERROR and largest < 2.0**MAX_SUM_BITS * MAX_OWNERS):
            raise InputError(
                "What was decrypted is no sum of whole numbers: a ciphertext was changed, or made "
                "with another key."
            )
        return whole


def draw_fractions(number: int) -> list[float]:
    """Uniform fractions on either side of 0, from the system's randomness."""
    words = np.frombuffer(secrets.token_bytes(8 * number), dtype=np.uint64) >> np.uint64(11)
    drawn: list[float] = ((words.astype(np.float64) / 2.0**52 - 1.0) * FLOOD).tolist()
    return drawn


def load_tenseal() -> Any:
    """TenSEAL, where it is installed."""
    try:
        import tenseal
    except ImportError as error:
        raise InputError('CKKS needs TenSEAL: pip install "understudy[ckks]".') from error
    return tenseal
