"""The shapes of words: which formats can be meant at all, before any word is read.

A shape has 0 for each digit and a for each letter: "05 Jan 2020" is "00 aaa 0000". A column has few
of them, so that most formats are ruled out at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_DIGITS = str.maketrans("123456789", "000000000")
_LETTERS = re.compile(r"[^\W\d_]")
_MAX_LENGTH = 60
# No format has more words, or longer ones, than "Wednesday, September 30, 2020 11:59:59 PM".
_POSSIBLE = re.compile(r"[^a]*(?:a{1,9}[^a]+){0,4}(?:a{1,9})?")
_TOKEN = re.compile(r"\\.|\{[0-9,]+\}|\[[^\]]*\]|\(\?:|.")


def shapes_of(words: Sequence[str]) -> dict[str, list[int]]:
    """For each shape that may belong to a number, a date or a time, where the words have it."""
    found: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        if len(word) > _MAX_LENGTH or word.isalpha():
            continue
        shape = word.translate(_DIGITS)
        if "0" in shape:
            found.setdefault(shape, []).append(place)
    merged: dict[str, list[int]] = {}
    for shape, places in found.items():
        bare = _LETTERS.sub("a", shape)
        if _POSSIBLE.fullmatch(bare):
            merged.setdefault(bare, []).extend(places)
    return merged


@lru_cache(maxsize=4096)
def shape_pattern(pattern: str) -> re.Pattern[str]:
    """Given the pattern of some words, one of their shapes."""
    return re.compile("".join(_shape(token) for token in _TOKEN.findall(pattern)))


def _shape(token: str) -> str:
    if token.startswith("[") and any(sign.isdigit() for sign in token):
        return "0"
    if token.startswith("[") and any(sign.isalpha() for sign in token):
        return "a"
    if len(token) == 1 and token.isdigit():
        return "0"
    if len(token) == 1 and token.isalpha():
        return "a"
    return token
