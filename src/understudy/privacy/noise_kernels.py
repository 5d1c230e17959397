"""The inner loop of drawing noise, compiled by numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.machine.compiled import kernel
from understudy.privacy.exact_noise import GUIDE, TIE, WORD

Array = Any  # numba infers the element types


@kernel(nogil=True)
def search(words: Array, firsts: Array, guide: Array, found: Array) -> int:
    """What :func:`understudy.privacy.exact_noise.search` says, word by word.

    ``guide`` tells how many of `firsts` lie below the least word that begins with the same GUIDE
    bits.
    """
    ties = 0
    for i in range(len(words)):
        word = words[i]
        place = int(guide[word >> np.uint32(WORD - GUIDE)])
        while place < len(firsts) and firsts[place] < word:
            place += 1
        if place < len(firsts) and firsts[place] == word:
            place = TIE
            ties += 1
        found[i] = place
    return ties
