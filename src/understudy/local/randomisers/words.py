"""The random words that a report is made of.

A report is a function of the true value and of a stream of random bytes, and of nothing else. The
stream is read as 64-bit words, eight bytes each, the least significant byte first. The reports of
many persons are made one after the other from one stream. So a client in another language makes the
same report from the same bytes, and can be tested on that.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError

WORD_BITS = 64
WHOLE = 1 << WORD_BITS
"""How many words there are: a probability is a number of them."""

READ_AHEAD = (1, 256)
"""How many words are read where one is needed: of a stream that ends, and of an endless one."""

MANY_BYTES = 1 << 12
"""From here on bytes come from OpenSSL, which is ten times faster."""

UInts = NDArray[np.uint64]

Read = Callable[[int], bytes]
"""Gives this many fresh bytes."""


def system_bytes(count: int) -> bytes:
    """Random bytes that nobody can know.

    A few of them, such as one person's, come from the operating system. Very many, for whole tables
    of persons, come from OpenSSL's generator, which the operating system seeds
    (docs/decisions/045-random-bytes.md).
    """
    if count < MANY_BYTES:
        return os.urandom(count)
    try:
        import ssl
    except ImportError:  # Python may be built without OpenSSL
        return os.urandom(count)
    return ssl.RAND_bytes(count)


class Words:
    """A stream of 64-bit words.

    Parameters
    ----------
    read
        Where bytes come from; by default :func:`system_bytes`. Anything else is for tests and
        studies: its reports protect nobody.
    endless
        Whether more may be read than will be used.

    Examples
    --------
    >>> [hex(word) for word in Words.of_bytes(bytes(range(16))).take(2).tolist()]
    ['0x706050403020100', '0xf0e0d0c0b0a0908']
    """

    def __init__(self, read: Read = system_bytes, *, endless: bool = True) -> None:
        self._read = read
        self.endless = endless
        self._words_read = 0
        self._left: UInts = np.empty(0, dtype=np.uint64)
        self._next: list[int] = []  # the words before those, the first one last

    @classmethod
    def of_bytes(cls, stream: bytes) -> Words:
        """The words of given bytes, for test vectors."""
        place = 0

        def read(count: int) -> bytes:
            nonlocal place
            if place + count > len(stream):
                raise InputError(
                    f"A report needs more than the {len(stream)} bytes of the stream; give more."
                )
            place += count
            return stream[place - count : place]

        return cls(read, endless=False)

    @classmethod
    def of_seed(cls, seed: int) -> Words:
        """Words that can be repeated, for studies and tests."""
        return cls(np.random.default_rng(seed).bytes)

    @property
    def private(self) -> bool:
        """Whether nobody can know these words: they are the system's."""
        return self._read is system_bytes

    @property
    def used(self) -> int:
        """How many words were used so far."""
        return self._words_read - len(self._left) - len(self._next)

    def take(self, count: int) -> UInts:
        """The next words."""
        self._collect()
        missing = count - len(self._left)
        if missing > 0:
            fresh = np.frombuffer(self._read(missing * WORD_BITS // 8), dtype="<u8")
            self._words_read += missing
            self._left = np.concatenate([self._left, fresh.astype(np.uint64, copy=False)])
        words, self._left = self._left[:count], self._left[count:]
        return words

    def next(self) -> int:
        """The next word."""
        if not self._next:
            ahead = max(len(self._left), READ_AHEAD[self.endless])
            self._next = self.take(ahead).tolist()[::-1]
        return self._next.pop()

    def give_back(self, words: UInts) -> None:
        """Put words that were taken, and not used, back at the front."""
        self._collect()
        self._left = np.concatenate([words, self._left])

    def _collect(self) -> None:
        if self._next:
            ahead = np.array(self._next[::-1], dtype=np.uint64)
            self._left = np.concatenate([ahead, self._left])
            self._next = []

    def below(self, bound: int) -> int:
        """A whole number from 0 to ``bound - 1``, all exactly equally likely.

        Each gets 2^64 // bound of all words; a word that is left over (fewer than ``bound`` of 2^64
        are) is thrown away, and the next one is read.
        """
        share = WHOLE // bound
        while True:
            number = self.next() // share
            if number < bound:
                return number

    def take_32(self, count: int) -> NDArray[np.uint32]:
        """The next 32-bit words: of each 64-bit word the lower half, then the upper one. An odd
        half at the end is thrown away.
        """
        words = self.take(-(-count // 2))
        return words.astype("<u8", copy=False).view("<u4").astype(np.uint32, copy=False)[:count]
