"""One question of a plan: some columns, asked by their joint index or by a parity of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.local.randomisers import CategoricalRandomiser, FiniteRandomiser, Randomiser

MAX_QUESTION_ANSWERS = 1 << 20
"""Of one question; beyond it a table of estimates drowns in noise and fills memory."""

MAX_LOCAL_WEIGHT = 1 << 32


@dataclass(frozen=True, kw_only=True)
class LocalQuestion:
    """What a person may be asked: one answer out of ``size``, randomised before it is sent.

    The joint index of the codes a, b, c of columns with A, B, C codes is (a B + b) C + c. A parity
    is one bit: for each column, whether its code is among those of ``odd``; then the sum of these
    modulo 2.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    """How many codes each column has."""
    randomisers: tuple[CategoricalRandomiser, ...]
    """One for each level of privacy that the plan offers."""
    weight: int = 1
    """How often it is asked, in proportion to the other questions of its wave."""
    wave: int = 1
    odd: tuple[tuple[int, ...], ...] | None = None
    """Of a parity: for each column the codes that count 1."""

    @property
    def size(self) -> int:
        """How many answers there are."""
        if self.odd is not None:
            return 2
        return math.prod(self.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its table of counts."""
        if self.odd is not None:
            return (2,)
        return self.sizes

    def answers(self, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """The true answers of persons whose columns have these codes: as private as they are."""
        columns = [np.asarray(codes[name], dtype=np.int64) for name in self.columns]
        if self.odd is None:
            return np.ravel_multi_index(tuple(columns), self.sizes).astype(np.int64)
        sides = [side[column] for side, column in zip(self._sides, columns, strict=True)]
        return np.bitwise_xor.reduce(sides).astype(np.int64)

    @cached_property
    def _sides(self) -> list[NDArray[np.int64]]:
        """Of a parity: for each column which code counts 1."""
        assert self.odd is not None
        sides = []
        for size, codes in zip(self.sizes, self.odd, strict=True):
            side = np.zeros(size, dtype=np.int64)
            side[list(codes)] = 1
            sides.append(side)
        return sides

    def parity_table(self) -> NDArray[np.int64]:
        """Of a parity: the answer of each cell of the columns' table, in the shape of ``sizes``."""
        table = np.zeros((), dtype=np.int64)
        for side in self._sides:
            table = np.bitwise_xor.outer(table, side)
        return table

    def __str__(self) -> str:
        named = " x ".join(self.columns)
        if self.odd is not None:
            return f"parity of {named}"
        return named

    def to_dict(self) -> dict[str, Any]:
        """The question as it stands in a plan; the sizes are the schema's."""
        document: dict[str, Any] = {
            "columns": list(self.columns),
            "weight": self.weight,
            "wave": self.wave,
            "randomisers": [randomiser.to_dict() for randomiser in self.randomisers],
        }
        if self.odd is not None:
            document["odd"] = [list(codes) for codes in self.odd]
        return document

    @classmethod
    def from_dict(cls, document: Any, schema: Schema) -> LocalQuestion:
        """Check an entry of a plan and build the question.

        Parameters
        ----------
        document
            As :meth:`to_dict` gives it.
        schema
            That of the plan.
        """
        known = {"columns", "weight", "wave", "randomisers", "odd"}
        if not isinstance(document, Mapping) or not known >= set(document):
            raise InputError(f"a question must be an object with {', '.join(sorted(known))}")
        columns = read_columns(document.get("columns"), schema)
        sizes = tuple(schema[name].size for name in columns)
        randomisers = document.get("randomisers")
        if not isinstance(randomisers, list) or not randomisers:
            raise InputError("a question needs a list of randomisers, one per level")
        question = cls(
            columns=columns,
            sizes=sizes,
            randomisers=tuple(map(_read_randomiser, randomisers)),
            weight=_whole(document.get("weight"), "weight", 0, MAX_LOCAL_WEIGHT),
            wave=_whole(document.get("wave"), "wave", 1, 100),
            odd=_read_odd(document.get("odd"), sizes),
        )
        question.check()
        return question

    def check(self) -> None:
        """Refuse a question that cannot be asked."""
        if self.size > MAX_QUESTION_ANSWERS:
            raise InputError(
                f"the question {self} has {self.size:,} answers; at most {MAX_QUESTION_ANSWERS:,} "
                "can be asked for: use fewer columns or coarser ones"
            )
        for randomiser in self.randomisers:
            if not isinstance(randomiser, FiniteRandomiser):
                # One forged report could say any number, and outweigh all others.
                raise InputError(f"the randomiser {randomiser} has reports without bounds")
            if randomiser.size != self.size:
                raise InputError(
                    f"a randomiser of the question {self} is for {randomiser.size:,} answers, and "
                    f"there are {self.size:,}"
                )


def read_columns(given: Any, schema: Schema) -> tuple[str, ...]:
    """The columns of a question, which must be modelled and differ."""
    if not isinstance(given, list) or not given or not all(isinstance(c, str) for c in given):
        raise InputError("a question needs a list of columns")
    for name in given:
        if name not in schema or not schema[name].modelled:
            raise InputError(f"a question is about {name!r}, which the schema gives no codes")
    if len(set(given)) < len(given):
        raise InputError(f"a question names a column twice ({', '.join(given)})")
    return tuple(given)


def _read_randomiser(given: Any) -> CategoricalRandomiser:
    randomiser = Randomiser.from_dict(given)
    if not isinstance(randomiser, CategoricalRandomiser):
        raise InputError(f"a question needs a randomiser of answers, not of numbers ({randomiser})")
    return randomiser


def _read_odd(given: Any, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...] | None:
    if given is None:
        return None
    if not isinstance(given, list) or len(given) != len(sizes):
        raise InputError('the "odd" of a parity must have a list of codes for each column')
    odd = []
    for codes, size in zip(given, sizes, strict=True):
        if not isinstance(codes, list):
            raise InputError('the "odd" of a parity must have a list of codes for each column')
        read = tuple(_whole(code, "code of a parity", 0, size - 1) for code in codes)
        if list(read) != sorted(set(read)) or not 0 < len(read) < size:
            raise InputError(
                'the "odd" of a parity must list some codes of a column, not all, in order'
            )
        odd.append(read)
    return tuple(odd)


def _whole(given: Any, what: str, least: int, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise InputError(f"the {what} must be a whole number from {least:,} to {most:,}")
    return given
