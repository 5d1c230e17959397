"""Whole numbers, all equally likely."""

from __future__ import annotations

from understudy.privacy.exact_noise import WORD, WordSource, system_words


def number_below(bound: int, words: WordSource = system_words) -> int:
    """A whole number from 0 to ``bound - 1``, uniform: the first of the right length in range."""
    length = bound.bit_length()
    count = -(-length // WORD)
    while True:
        number = 0
        for word in words(count):
            number = number << WORD | int(word)
        number >>= count * WORD - length
        if number < bound:
            return number
