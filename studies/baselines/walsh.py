"""The Walsh-Hadamard transform, in which a marginal of a table of bits needs only the coefficients
of its own bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 8


@lru_cache(maxsize=16)
def hadamard(bits: int) -> NDArray[np.float64]:
    """The matrix of (-1)^popcount(i & j), for numbers of this many bits; its square is 2^bits times
    the identity.
    """
    matrix = np.ones((1, 1))
    for _ in range(bits):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def walsh(table: NDArray[Any]) -> NDArray[np.float64]:
    """The transform along every axis, each of which has a power of two cells."""
    if table.size <= 1 << BLOCK:  # the transform of all bits at once
        return (hadamard(table.size.bit_length() - 1) @ table.ravel()).reshape(table.shape)
    found: NDArray[np.float64] = table.astype(np.float64)
    for axis, size in enumerate(table.shape):
        found = np.moveaxis(
            np.tensordot(hadamard(size.bit_length() - 1), found, (1, axis)), 0, axis
        )
    return found


class Projections:
    """All wanted marginals of an array over {0, 1}^d at once.

    A marginal of k bits is made of the 2^k coefficients whose bits lie in it. They are found for
    all marginals together by a transform that keeps only coefficients of few bits: it goes by
    blocks of eight bits, each one a multiplication.

    Parameters
    ----------
    bits
        d; bit 0 is the first attribute, and the most significant one of a place in the array.
    marginals
        The attributes of each, all of one order.
    """

    def __init__(self, bits: int, marginals: Sequence[tuple[int, ...]]) -> None:
        self.order = len(marginals[0])
        starts = range(0, bits, BLOCK)
        self.widths = [min(BLOCK, bits - start) for start in starts]
        self.kept = [
            np.array([mask for mask in range(1 << width) if mask.bit_count() <= self.order])
            for width in self.widths
        ]
        place = [{int(mask): i for i, mask in enumerate(kept)} for kept in self.kept]
        wheres = []
        for attributes in marginals:
            for chosen in range(1 << self.order):
                masks = [0] * len(self.widths)
                for i, attribute in enumerate(attributes):
                    if chosen >> (self.order - 1 - i) & 1:
                        block = attribute // BLOCK
                        masks[block] |= 1 << (self.widths[block] - 1 - attribute % BLOCK)
                wheres.append([place[block][mask] for block, mask in enumerate(masks)])
        shape = tuple(len(kept) for kept in self.kept)
        self.gather = np.ravel_multi_index(tuple(np.array(wheres).T), shape).reshape(
            len(marginals), -1
        )

    def tables(self, full: NDArray[Any]) -> NDArray[np.float64]:
        """The marginals as rows of 2^k cells, the first attribute the most significant."""
        found: NDArray[np.float64] = full.astype(np.float64, copy=False).reshape(-1, 1)
        for width, kept in zip(reversed(self.widths), reversed(self.kept), strict=True):
            rest = found.shape[1]
            found = found.reshape(-1, 1 << width, rest)
            # (outer, block, rest) to (outer, kept, rest): the transform of this block, few bits
            # only.
            found = np.matmul(hadamard(width)[kept], found).reshape(-1, len(kept) * rest)
        coefficients = found.ravel()[self.gather]
        return coefficients @ hadamard(self.order) / (1 << self.order)


def histogram(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The full contingency table of binary columns, the first the most significant bit of a
    place.
    """
    places = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        places = places * 2 + column
    return np.bincount(places, minlength=1 << len(columns))
