"""Many whole numbers in one plaintext, with room for sums and noise.

Numbers v_0, v_1, ... stand in slots of b bits: v_0 + v_1 2^b + v_2 2^(2 b) + ... Sums of plaintexts
are then sums slot by slot, negative ones too, for as long as every sum stays between -2^(b - 1) and
2^(b - 1). One that does not carries over into the next slot. That spoils what is read and reveals
nothing more: whatever is read is a function of the sums with their noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError

MAX_SLOT_BITS = 63
"""Sums are read into numbers of 64 bits."""


@dataclass(frozen=True, kw_only=True)
class Packing:
    """How numbers stand in plaintexts.

    Parameters
    ----------
    modulus
        That of the key.
    slot_bits
        The bits of a slot.
    """

    modulus: int
    slot_bits: int

    def __post_init__(self) -> None:
        if not 2 <= self.slot_bits <= MAX_SLOT_BITS:
            raise InputError(
                f"A slot has 2 to {MAX_SLOT_BITS} bits, not {self.slot_bits}: lower the number of "
                "rows or the steps of the plan."
            )

    @property
    def slots(self) -> int:
        """How many numbers a plaintext holds: a bit is left over for the sign of the whole."""
        return (self.modulus.bit_length() - 2) // self.slot_bits

    def count(self, numbers: int) -> int:
        """How many plaintexts that many numbers need."""
        return -(-numbers // self.slots)

    def pack(self, numbers: NDArray[np.int64]) -> list[int]:
        """Numbers in plaintexts, modulo n; what does not fit its slot carries over."""
        flat = numbers.ravel().tolist()
        packed = []
        for start in range(0, len(flat), self.slots):
            whole = 0
            for number in reversed(flat[start : start + self.slots]):
                whole = (whole << self.slot_bits) + number
            packed.append(whole % self.modulus)
        return packed

    def unpack(self, plaintexts: Sequence[int], numbers: int) -> NDArray[np.int64]:
        """The numbers again.

        Raises
        ------
        InputError
            Where the plaintexts hold more than these numbers: they are no sum of packed ones.
        """
        if len(plaintexts) != self.count(numbers):
            raise InputError("There are more or fewer plaintexts than the numbers need.")
        half, mask = 1 << (self.slot_bits - 1), (1 << self.slot_bits) - 1
        found: list[int] = []
        for plaintext in plaintexts:
            rest = plaintext % self.modulus
            if rest > self.modulus // 2:
                rest -= self.modulus
            for _ in range(min(self.slots, numbers - len(found))):
                number = ((rest + half) & mask) - half
                found.append(number)
                rest = (rest - number) >> self.slot_bits
            if rest:
                raise InputError(
                    "What was decrypted is no sum of packed numbers: a ciphertext was changed, "
                    "moved or made with another key."
                )
        return np.array(found, dtype=np.int64)
