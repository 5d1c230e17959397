"""Rows drawn from a model that holds a generator: the label from its network, the rest made of
random numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import decode, make_quantity_column
from understudy.data.marginals import Marginal, marginal
from understudy.data.schema import Quantity, Schema
from understudy.data.streams import draw_uniforms
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.models.confining import confine_values
from understudy.models.gaussian_rows import NearestValues, draw_normals
from understudy.models.generators import Generator
from understudy.models.network import Network, Node
from understudy.models.query.subsets import Subset
from understudy.models.sampling import MIN_TRIES, TRIES_PER_ROW, CodesByName, Sampler, Spread

GENERATED_ROWS_AT_A_TIME = 1 << 10
"""What a network of pictures needs stays small."""

MAX_DRAWN = 8_000
"""Rows that tell how often each value comes up."""


class GeneratorRows:
    """A network and a generator made ready for drawing.

    Parameters
    ----------
    network
        Of all columns; what it says of the columns that the generator makes is not used.
    generator
        What makes rows.
    schema
        What the columns are.
    subsets
        Conditions that all rows fulfil: rows are drawn until enough of them do.
    """

    def __init__(
        self,
        network: Network,
        generator: Generator,
        schema: Schema,
        subsets: Mapping[str, Subset],
    ) -> None:
        self._generator, self._schema = generator, schema
        others = tuple(node for node in network if node.attribute not in generator.columns)
        made = set(generator.columns)
        self._sampler = Sampler(Network(others), schema_without(schema, made)) if others else None
        self._subsets = dict(subsets)
        self._shares = {name: subset.shares() for name, subset in subsets.items()}
        self._grids = {name: _grid(schema, name) for name in generator.scaled}

    def draw(self, first: int, rows: int, rng: np.random.Generator, spread: Spread) -> Table:
        """Draw rows, the first of which has the number ``first``."""
        codes, numbers = self._draw_fitting(rows, rng, spread)
        table = decode(codes, self._schema, rng, rows, first)
        columns = dict(confine_values(table, codes, self._subsets, rng).columns)
        for name, values in numbers.items():
            columns[name] = self._column(name, values)
        return Table(columns, table.source)

    def _column(self, name: str, values: NDArray[np.float64]) -> Column:
        attribute = self._schema[name]
        assert isinstance(attribute, Quantity)
        return make_quantity_column(attribute, self._grids[name].nearest(values))

    def _draw_fitting(
        self, rows: int, rng: np.random.Generator, spread: Spread
    ) -> tuple[CodesByName, dict[str, NDArray[np.float64]]]:
        kept: list[GeneratedBatch] = []
        tried = found = 0
        while found < rows or not kept:
            wanted = rows
            if tried:
                wanted = int(min(1.1 * (rows - found) * tried / max(found, 1) + 64, 1 << 16))
            batch = self._draw_batch(wanted, rng, spread if not tried else "independent")
            fits = np.ones(wanted, dtype=bool)
            for name, shares in self._shares.items():
                fits &= draw_uniforms(rng, wanted) < shares[batch.codes[name]]
            tried, found = tried + wanted, found + int(fits.sum())
            kept.append(batch.choose(np.flatnonzero(fits)))
            if found < rows and tried >= max(MIN_TRIES, TRIES_PER_ROW * rows):
                raise InputError(
                    f"Only {found:,} of {tried:,} rows drawn fit the condition; widen it."
                )
        return _join(kept, rows)

    def _draw_batch(self, rows: int, rng: np.random.Generator, spread: Spread) -> GeneratedBatch:
        codes: CodesByName = {}
        if self._sampler is not None:
            codes = self._sampler.draw(rows, rng, spread)
        parts = []
        for start in range(0, max(rows, 1), GENERATED_ROWS_AT_A_TIME):
            some = slice(start, min(start + GENERATED_ROWS_AT_A_TIME, rows))
            labels = None
            if self._generator.label is not None:
                labels = codes[self._generator.label][some]
            parts.append(make_batch(self._generator, self._schema, labels, rng, some))
        made = GeneratedBatch.join(parts)
        return GeneratedBatch(codes={**codes, **made.codes}, numbers=made.numbers)


@dataclass(frozen=True, kw_only=True)
class GeneratedBatch:
    """Rows as codes; of numbers that are not cut into bins both the codes and the numbers."""

    codes: CodesByName
    numbers: dict[str, NDArray[np.float64]]

    def choose(self, places: NDArray[np.int64]) -> GeneratedBatch:
        """Some of the rows."""
        return GeneratedBatch(
            codes={name: codes[places] for name, codes in self.codes.items()},
            numbers={name: numbers[places] for name, numbers in self.numbers.items()},
        )

    @classmethod
    def join(cls, parts: list[GeneratedBatch]) -> GeneratedBatch:
        """One after the other."""
        codes = {n: np.concatenate([part.codes[n] for part in parts]) for n in parts[0].codes}
        numbers = {n: np.concatenate([part.numbers[n] for part in parts]) for n in parts[0].numbers}
        return cls(codes=codes, numbers=numbers)


def make_batch(
    generator: Generator,
    schema: Schema,
    labels: NDArray[Any] | None,
    rng: np.random.Generator,
    some: slice,
) -> GeneratedBatch:
    """Rows of the columns that a generator makes."""
    rows = some.stop - some.start
    latent = draw_normals(rng, rows * generator.latent).reshape(rows, generator.latent)
    given = None
    if labels is not None:
        assert generator.label is not None
        given = np.zeros((rows, schema[generator.label].size), dtype=np.float32)
        given[np.arange(rows), labels] = 1
    outputs = generator.make(latent.astype(np.float32), given).astype(np.float64)
    codes: CodesByName = {}
    numbers: dict[str, NDArray[np.float64]] = {}
    for place, name in enumerate(generator.scaled):
        numbers[name] = _unscale(schema, name, outputs[:, place])
        codes[name] = _bins(schema, name, numbers[name])
    start = len(generator.scaled)
    for name in generator.coded:
        end = start + schema[name].size
        codes[name] = _draw_codes(outputs[:, start:end], rng)
        start = end
    return GeneratedBatch(codes=codes, numbers=numbers)


def network_of(
    generator: Generator, schema: Schema, label: Node | None, rows: float, most: int = MAX_DRAWN
) -> Network:
    """What the network says of the columns that a generator makes: how often each code comes up
    with each label, by rows that are drawn for that. It costs nothing.
    """
    rng = np.random.default_rng(0)
    drawn = int(min(max(4 * rows, 256), most))
    parents: Marginal = ()
    nodes: list[Node] = []
    lines, labels = 1, None
    if label is not None and generator.label is not None:
        nodes.append(label)
        parents, lines = marginal(label.attribute), schema[label.attribute].size
        shares = label.table.ravel() / max(label.table.sum(), 1e-12)
        labels = rng.choice(lines, drawn, p=_proper(shares))
    parts = []
    for start in range(0, drawn, GENERATED_ROWS_AT_A_TIME):
        some = slice(start, min(start + GENERATED_ROWS_AT_A_TIME, drawn))
        given = None
        if labels is not None:
            given = labels[some]
        parts.append(make_batch(generator, schema, given, rng, some))
    codes = GeneratedBatch.join(parts).codes
    for name in generator.columns:
        size = schema[name].size
        flat = codes[name].astype(np.int64)
        if labels is not None:
            flat = flat + size * labels
        counts = np.bincount(flat, minlength=size * lines) * np.float64(rows / drawn)
        nodes.append(Node(name, parents, counts.reshape((lines, size)[-1 - len(parents) :])))
    return Network(tuple(nodes))


def schema_without(schema: Schema, made: set[str]) -> Schema:
    """The columns that a generator does not make."""
    return Schema(tuple(attribute for attribute in schema if attribute.name not in made))


def _proper(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    positive = np.maximum(shares, 0)
    if not positive.any():
        positive = np.ones_like(positive)
    return positive / positive.sum()


def _grid(schema: Schema, name: str) -> NearestValues:
    attribute = schema[name]
    assert isinstance(attribute, Quantity)
    return NearestValues(attribute)


def _unscale(schema: Schema, name: str, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
    attribute = schema[name]
    assert isinstance(attribute, Quantity)
    low, high = float(attribute.edges[0]), float(attribute.edges[-1])
    if attribute.whole:
        high -= 1
    return low + (np.clip(scaled, -1, 1) + 1) * ((high - low) / 2)


def _bins(schema: Schema, name: str, numbers: NDArray[np.float64]) -> NDArray[np.uint32]:
    attribute = schema[name]
    assert isinstance(attribute, Quantity)
    edges = np.asarray(attribute.edges[1:-1], dtype=np.float64)
    return np.searchsorted(edges, numbers, side="right").astype(np.uint32)


def _draw_codes(scores: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.uint32]:
    """A code for each line, by the softmax of its scores."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    ends = np.cumsum(weights, axis=1)
    chosen = draw_uniforms(rng, len(scores))[:, None] * ends[:, -1:]
    return np.minimum((ends < chosen).sum(axis=1), scores.shape[1] - 1).astype(np.uint32)


def _join(
    kept: list[GeneratedBatch], rows: int
) -> tuple[CodesByName, dict[str, NDArray[np.float64]]]:
    """The first rows of all batches together."""
    whole = GeneratedBatch.join(kept).choose(np.arange(rows))
    return whole.codes, whole.numbers
