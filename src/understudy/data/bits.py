"""Attributes taken apart into bits: the binary and Gray encodings of the paper.

An attribute of l values becomes ceil(log2 l) attributes of two values, most significant bit first.
In Gray code neighbouring values differ in one bit only. A network over bits may draw a number that
is no code (40 of a 6-bit attribute with 37 values); its most significant bit is then dropped, which
always gives a code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Category, Schema
from understudy.errors import InputError


@dataclass(frozen=True)
class Bits:
    """The bits of the attributes of a schema."""

    whole: Schema
    gray: bool = False

    @cached_property
    def schema(self) -> Schema:
        """One attribute of two values for each bit; attributes with a single value have none."""
        names = [name for attribute in self.whole.modelled for name in self.names(attribute)]
        return Schema(tuple(Category(name, "categorical", None, (0, 1)) for name in names))

    def check(self) -> None:
        """Refuse a table in which a column bears the name of another one's bit."""
        names = [name for attribute in self.whole.modelled for name in self.names(attribute)]
        for name, times in Counter(names).items():
            if times > 1:
                raise InputError(
                    f"The column {name!r} bears the name of a bit of another column; rename it."
                )

    @staticmethod
    def names(attribute: Attribute) -> list[str]:
        """The names of an attribute's bits, most significant first."""
        width = (attribute.size - 1).bit_length()
        if width == 1:
            return [attribute.name]
        return [f"{attribute.name} bit {place + 1}" for place in range(width)]

    def split(self, codes: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.uint8]]:
        """Codes to bits."""
        bits: dict[str, NDArray[np.uint8]] = {}
        for attribute in self.whole.modelled:
            numbers: NDArray[Any] = codes[attribute.name].astype(np.uint32)
            if self.gray:
                numbers = numbers ^ (numbers >> 1)
            names = self.names(attribute)
            for place, name in enumerate(names):
                bits[name] = ((numbers >> (len(names) - 1 - place)) & 1).astype(np.uint8)
        return bits

    def join(self, bits: Mapping[str, NDArray[Any]], rows: int) -> dict[str, NDArray[Any]]:
        """Bits to codes."""
        codes: dict[str, NDArray[Any]] = {}
        for attribute in self.whole.modelled:
            numbers: NDArray[Any] = np.zeros(rows, dtype=np.uint32)
            for name in self.names(attribute):
                numbers = (numbers << 1) | bits[name]
            codes[attribute.name] = self.code_of(attribute)[numbers]
        return codes

    def code_of(self, attribute: Attribute) -> NDArray[Any]:
        """For each number that the attribute's bits can make, the code that it stands for."""
        width = (attribute.size - 1).bit_length()
        numbers = np.arange(1 << width, dtype=np.uint32)
        if self.gray:
            for shift in (1, 2, 4, 8, 16):
                numbers = numbers ^ (numbers >> np.uint32(shift))
        beyond = numbers >= attribute.size
        numbers[beyond] -= np.uint32(1 << max(width - 1, 0))
        return numbers.astype(np.min_scalar_type(max(attribute.size - 1, 0)))
