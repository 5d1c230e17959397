"""Made-up texts for columns of text and of identifiers: none of them comes from the data.

Every text is drawn from the stream that the rows are drawn from, so that a seed gives the same ones
in one piece, in partitions, and on the executors of a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.columns import Column
from understudy.data.fake_kinds import FAKES
from understudy.data.schema import Schema, Text
from understudy.data.streams import draw_key, draw_uniforms
from understudy.errors import InputError

_DIGITS = "0123456789"
_SMALL = "abcdefghijklmnopqrstuvwxyz"
_SIGNS = {"#": _DIGITS, "?": _SMALL, "^": _SMALL.upper()}
_PIECE = re.compile(r"\\(.)|([#?^])|(.)", re.DOTALL)
_SAFE_DOMAINS = ["example.com", "example.org", "example.net"]  # nobody's, by RFC 2606


def check_fakes(schema: Schema | None) -> None:
    """Refuse a schema that asks for made-up names where the library for them is not installed."""
    for attribute in schema or ():
        if not isinstance(attribute, Text) or attribute.fake is None:
            continue
        if find_spec("mimesis") is None:
            raise InputError(
                f"The column {attribute.name!r} is to hold a made-up {attribute.fake}, which needs "
                'a library that is not installed: pip install "understudy[fakes]".'
            )


def fake_texts(attribute: Text, rng: np.random.Generator, rows: int) -> Column | None:
    """A column of texts as the schema asks for them; None where it is left out."""
    if attribute.pattern is not None:
        return _distinct(_from_pattern(attribute.pattern, rng, rows))
    if attribute.length is not None:
        return _distinct(_letters(attribute.length, rng, rows))
    if attribute.fake is not None:
        return _distinct(_make_up(attribute, rng, rows))
    if attribute.replacement is None:
        return None
    return Column("text", np.zeros(rows, dtype=np.uint8), (attribute.replacement,))


def number_texts(pattern: str, numbers: NDArray[np.int64]) -> tuple[str, ...]:
    """A pattern's runs of # filled with each number, as if they were one run."""
    parts = re.split("(#+)", pattern)
    width = pattern.count("#")
    return tuple(_fill(parts, f"{number:0{width}d}") for number in numbers.tolist())


def _fill(parts: list[str], digits: str) -> str:
    """What is too long for the runs goes into the first of them."""
    place = len(digits) - sum(len(part) for part in parts[1::2])
    filled = [parts[0], digits[: place + len(parts[1])]]
    place += len(parts[1])
    for run, after in zip(parts[3::2], parts[2::2], strict=False):
        filled += [after, digits[place : place + len(run)]]
        place += len(run)
    return "".join([*filled, parts[-1]])


def _from_pattern(pattern: str, rng: np.random.Generator, rows: int) -> list[str]:
    pieces = [escaped or plain or _SIGNS[sign] for escaped, sign, plain in _PIECE.findall(pattern)]
    columns = [_choose(piece, rng, rows) for piece in pieces]
    return ["".join(signs) for signs in zip(*columns, strict=True)]


def _choose(signs: str, rng: np.random.Generator, rows: int) -> list[str]:
    if len(signs) == 1:
        return [signs] * rows
    places = (draw_uniforms(rng, rows) * len(signs)).astype(np.int64)
    chosen: list[str] = np.array(list(signs))[places].tolist()
    return chosen


def _letters(length: tuple[int, int], rng: np.random.Generator, rows: int) -> list[str]:
    low, high = length
    lengths = low + (draw_uniforms(rng, rows) * (high - low + 1)).astype(np.int64)
    ends = np.cumsum(lengths).tolist()
    letters = "".join(_choose(_SMALL, rng, int(lengths.sum())))
    return [letters[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _make_up(attribute: Text, rng: np.random.Generator, rows: int) -> list[str]:
    check_fakes(Schema((attribute,)))
    make = _maker(attribute, int(draw_key(rng)))
    return [make() for _ in range(rows)]


def _maker(attribute: Text, seed: int) -> Callable[[], str]:
    import mimesis

    assert attribute.fake is not None
    provider, method = FAKES[attribute.fake]
    generic: Any = getattr(mimesis, provider)(locale=mimesis.Locale(attribute.locale), seed=seed)
    make: Callable[..., str] = getattr(generic, method)
    if attribute.fake == "email":
        return lambda: make(domains=_SAFE_DOMAINS)
    return make


def _distinct(texts: list[str]) -> Column:
    words = sorted(set(texts))
    places = {word: place for place, word in enumerate(words)}
    values = np.fromiter((places[text] for text in texts), dtype=np.uint32, count=len(texts))
    return Column("text", values, tuple(words))
