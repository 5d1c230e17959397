"""How marginals and columns are laid out in flat arrays, for plain code and kernels alike."""

from __future__ import annotations

from typing import Any, NamedTuple

Array = Any  # numba infers the element types; see each docstring


class Axes(NamedTuple):
    """What is known of every axis."""

    sizes: Array
    """int64 (axes,): how many values it has."""
    base: Array
    """int64 (axes,): the axis of the same attribute at level 0."""
    maps: Array
    """uint32: the code at an axis of base code v is ``maps[map_start[axis] + v]``."""
    map_start: Array
    """int64 (axes,)"""


class MarginalLayout(NamedTuple):
    """The marginals to count, one after the other, and the places of their tables."""

    axes: Array
    """int64: marginal m has the axes ``axes[starts[m]:starts[m + 1]]``."""
    starts: Array
    """int64 (marginals + 1,)"""
    begins: Array
    """int64 (marginals,): its table, in C order, is ``flat[begins[m]:ends[m]]``."""
    ends: Array
    """int64 (marginals,)"""


class MergedTables(NamedTuple):
    """Tables that several marginals are summed from."""

    masks: Array
    """uint64 (tables, words): the axes of each."""
    members: Array
    """int64: table t serves the marginals ``members[starts[t]:starts[t + 1]]``."""
    starts: Array
    """int64 (tables + 1,)"""


class CodeColumns(NamedTuple):
    """Rows as columns of codes, in one matrix per code width."""

    narrow: Array
    """uint8 (columns, rows): axes of up to 256 values."""
    middle: Array
    """uint16 (columns, rows): up to 65,536 values."""
    wide: Array
    """uint32 (columns, rows): all others."""
    place: Array
    """int64 (axes,): which column of its matrix an axis is."""
    weights: Array
    """uint32 (rows,): how often each row stands in the data; empty when each stands once."""


class PackedColumns(NamedTuple):
    """Binary columns, 64 rows to a word."""

    words: Array
    """uint64 (columns, words): row r is one bit of word r // 64; bits past the last row are 0."""
    place: Array
    """int64 (axes,): which column an axis is."""
    known: Array
    """int64 (columns, columns): counts for single columns and pairs, or -1. Filled as they are met,
    and kept between calls. Threads may share it, as they can only write the same number twice.
    """
