"""Marginals as numbers: how questions name tables where they are sent to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Axis, Marginal
from understudy.errors import InputError

Content = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


class Wire(Protocol):
    """A message that a question is read from; what it lacks, it refuses itself."""

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Its arrays."""

    def get(self, name: str, kind: type | tuple[type, ...]) -> Any:
        """An entry of the content that must be of a kind."""

    def array(self, name: str, form: str) -> NDArray[Any]:
        """An array that must be of a type."""


def pack_marginals(marginals: Sequence[Marginal]) -> tuple[list[str], Arrays]:
    """The attributes' names, once, and arrays that refer to them."""
    places: dict[str, int] = {}
    axes = [
        (places.setdefault(axis.attribute, len(places)) << 16) | axis.level
        for axes in marginals
        for axis in axes
    ]
    lengths = [len(axes) for axes in marginals]
    return list(places), {
        "axes": np.array(axes, dtype=np.int64),
        "lengths": np.array(lengths, dtype=np.int64),
    }


def unpack_marginals(
    names: Sequence[Any], axes: NDArray[Any], lengths: NDArray[Any]
) -> list[Marginal]:
    """The marginals again."""
    if (
        not all(isinstance(name, str) for name in names)
        or len(axes) != lengths.sum()
        or (lengths < 0).any()
    ):
        raise InputError("The message names tables in a way that cannot be read.")
    if len(axes) and not (axes.min() >= 0 and axes.max() >> 16 < len(names)):
        raise InputError("The message names tables in a way that cannot be read.")
    known = {
        number: Axis(names[number >> 16], number & 0xFFFF) for number in np.unique(axes).tolist()
    }
    flat = [known[number] for number in axes.tolist()]
    ends = np.cumsum(lengths).tolist()
    return [
        tuple(flat[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)
    ]


def read_marginals(wire: Wire) -> list[Marginal]:
    """The tables that a message is about."""
    return unpack_marginals(
        wire.get("names", list), wire.array("axes", "i8"), wire.array("lengths", "i8")
    )
