"""Fourier (Barak et al. 2007): noise on the Fourier coefficients that the wanted marginals are made
of.

Each attribute is written in ceil(log2 size) bits. A coefficient is the sum over rows of +1 or -1
(the parity of some bits), and a marginal needs those whose bits lie in its attributes. A
coefficient that several marginals need is measured once, which is what Fourier has over Laplace,
and what makes the marginals agree with each other.

Sensitivity: a replaced row changes each coefficient by at most 2, so m coefficients change by at
most 2m in L1 and discrete Laplace noise of scale 2m / epsilon on each is epsilon-private. The empty
parity is n, which is public. Barak et al. then solve a linear programme for non-negative counts; as
in the paper, each marginal is clipped and normalised instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from baselines.consistency import Counts, clipped
from baselines.walsh import walsh
from understudy.privacy.mechanisms import Noise

Names = tuple[str, ...]


def fourier(
    tables: Mapping[Names, NDArray[np.int64]], rows: int, epsilon: float, noise: Noise
) -> dict[Names, Counts]:
    """Noisy, then clipped and normalised tables; ``tables`` are the exact ones, by their
    attributes.
    """
    exact = coefficients(tables)
    size = sum(block.size for block in exact.values())
    flat = noise.laplace(
        np.concatenate([block.ravel() for block in exact.values()]), 2 * size / epsilon
    )
    pieces = np.split(flat, np.cumsum([block.size for block in exact.values()])[:-1])
    noisy = {
        names: piece.reshape(exact[names].shape) for names, piece in zip(exact, pieces, strict=True)
    }
    return {
        names: clipped(_table(names, table.shape, rows, noisy), rows)
        for names, table in tables.items()
    }


def coefficients(tables: Mapping[Names, NDArray[np.int64]]) -> dict[Names, NDArray[np.int64]]:
    """Each coefficient once: for every set of attributes in some table, those that use a bit of
    each of them.
    """
    found: dict[Names, NDArray[np.int64]] = {}
    for names, table in tables.items():
        new = [part for part in _parts(names) if part not in found]
        if new:
            whole = walsh(_padded(table))
            for part in new:
                found[part] = np.rint(whole[_block(names, part)]).astype(np.int64)
    return found


def _table(
    names: Names, shape: tuple[int, ...], rows: int, blocks: Mapping[Names, NDArray[np.int64]]
) -> NDArray[np.float64]:
    """A marginal from its coefficients."""
    whole = np.zeros([_power(size) for size in shape])
    whole[(0,) * len(shape)] = rows
    for part in _parts(names):
        whole[_block(names, part)] = blocks[part]
    return walsh(whole)[tuple(slice(size) for size in shape)] / whole.size


def _parts(names: Names) -> list[Names]:
    """The sets of some of the attributes, each in the order that they have here."""
    return [
        part for size in range(1, len(names) + 1) for part in itertools.combinations(names, size)
    ]


def _block(names: Names, part: Names) -> tuple[int | slice, ...]:
    """Where the coefficients lie that use a bit of each attribute of ``part`` and of no other."""
    return tuple(slice(1, None) if name in part else 0 for name in names)


def _padded(table: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.pad(table, [(0, _power(size) - size) for size in table.shape])


def _power(size: int) -> int:
    return 1 << (size - 1).bit_length()
