"""What is released: a model in one JSON file, safe to open, from which any number of rows can be drawn.

A model holds the schema, the network with its noisy tables and the ledger: released values only. Sampling from it is
post-processing, so it costs nothing, and a seed makes it repeatable.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from understudy.curator.ledger import Ledger
from understudy.encoding import decode
from understudy.errors import InputError
from understudy.files import read_json, write_json
from understudy.frames import Frame, Likeness, like
from understudy.networks.network import Network
from understudy.networks.sampling import ancestral
from understudy.schema import Schema
from understudy.tables import Column, Table, write_table

MODEL_VERSION = 1
CHUNK = 1 << 18
"""Rows drawn at a time. Each chunk has random numbers of its own: it does not matter who draws which chunk."""

MOST_ROWS = 10**12


@dataclass(frozen=True)
class Model:
    """A released model.

    Attributes
    ----------
    method
        The synthesizer's name and parameters.
    schema
        What the columns are.
    network
        Attribute-parent pairs with tables.
    ledger
        What the release spent, on what.
    rows
        How many rows the original has: exact where public, an estimate from noisy tables otherwise, ``None`` where
        nothing was measured.

    Examples
    --------
    >>> model = Model.load("patients.model.json")           # doctest: +SKIP
    >>> model.sample(1000, seed=1).write("synthetic.csv")   # doctest: +SKIP
    """

    method: Mapping[str, Any]
    schema: Schema
    network: Network
    ledger: Ledger
    rows: int | None = None
    likeness: Likeness = field(default_factory=Likeness, compare=False, repr=False)

    # ---- rows

    def sample(self, rows: int | None = None, seed: int | None = None) -> Frame:
        """Draw synthetic rows, as the kind of frame that the model was fitted on (a :class:`Table` after loading).

        Parameters
        ----------
        rows
            How many; as many as the original has when not given.
        seed
            Makes the rows repeatable. It has no bearing on privacy: the noise is in the model already.
        """
        return like(_joined(list(self.chunks(rows, seed))), self.likeness)

    def write(
        self,
        path: str | Path,
        rows: int | None = None,
        seed: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Draw synthetic rows into a CSV or Parquet file, a chunk at a time; returns how many."""
        chunks = self.chunks(rows, seed)

        def counted() -> Iterator[Table]:
            for chunk in chunks:
                yield chunk
                if progress is not None:
                    progress(chunk.rows)

        return write_table(path, counted())

    def chunks(self, rows: int | None = None, seed: int | None = None) -> Iterator[Table]:
        """Synthetic rows in chunks, for streaming."""
        rows = self._rows_wanted(rows)
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            raise InputError(f"The seed must be a whole number at or above 0, not {seed!r}.")
        entropy = np.random.SeedSequence(seed).entropy
        return (self._chunk(first, min(CHUNK, rows - first), entropy) for first in range(0, max(rows, 1), CHUNK))

    def _chunk(self, first: int, rows: int, entropy: Any) -> Table:
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(first // CHUNK,)))
        codes = ancestral(self.network, self.schema, rows, rng)
        return decode(codes, self.schema, rng, rows, first)

    def _rows_wanted(self, rows: int | None) -> int:
        if rows is None:
            rows = self.rows
        if rows is None:
            raise InputError("This model does not know how many rows the original has; say how many you want.")
        if isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows <= MOST_ROWS:
            raise InputError(f"The number of rows must be a whole number from 0 to {MOST_ROWS:,}, not {rows!r}.")
        return rows

    # ---- files

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file (gzipped when it is large)."""
        write_json(path, self.to_dict(), "model")

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a model file; nothing in it is executed, and everything in it is checked."""
        return cls.from_dict(read_json(path, "model"), f"The model {path}")

    def to_dict(self) -> dict[str, Any]:
        """The model as it stands in a file."""
        return {
            "understudy_model": MODEL_VERSION,
            "method": dict(self.method),
            "rows": self.rows,
            "ledger": self.ledger.to_dict(),
            "schema": self.schema.to_dict(),
            "network": self.network.to_list(),
        }

    @classmethod
    def from_dict(cls, document: Any, source: str = "The model") -> Model:
        """Check a parsed model file and build the model."""
        if not isinstance(document, Mapping) or "understudy_model" not in document:
            raise InputError(f"{source} is not a model of understudy; is it the right file?")
        version = document["understudy_model"]
        if isinstance(version, int) and version > MODEL_VERSION:
            raise InputError(f"{source} was written by a newer understudy (format {version}); update understudy first.")
        if version is not MODEL_VERSION and version != MODEL_VERSION:
            raise InputError(f"{source} has a format that is not known: {version!r}.")
        try:
            schema = Schema.from_dict(document.get("schema"), "its schema")
            ledger = Ledger.from_dict(document.get("ledger"))
            network = Network.from_list(document.get("network"), schema)
        except InputError as error:
            cause = str(error).rstrip(".")
            raise InputError(f"{source} cannot be used: {cause}.") from error
        method, rows = document.get("method"), document.get("rows")
        if not isinstance(method, Mapping) or not isinstance(method.get("name"), str):
            raise InputError(f"{source} cannot be used: it does not say by which method it was made.")
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows <= MOST_ROWS):
            raise InputError(f"{source} cannot be used: its number of rows is {rows!r}.")
        return cls(dict(method), schema, network, ledger, rows)

    # ---- looks

    def _repr_html_(self) -> str:
        """A card for notebooks."""
        lines = "".join(
            f"<tr><td>{html.escape(a.name)}</td><td>{a.kind}</td><td>{a.size if a.modelled else '–'}</td></tr>"
            for a in self.schema
        )
        rows = "unknown" if self.rows is None else f"{self.rows:,}"
        return (
            f"<div><b>Understudy model</b> by {html.escape(str(self.method['name']))}, rows: {rows}<br>"
            f"{html.escape(self.ledger.statement())}"
            f"<table><thead><tr><th>attribute</th><th>kind</th><th>values</th></tr></thead><tbody>{lines}</tbody></table></div>"
        )


def _joined(chunks: list[Table]) -> Table:
    if len(chunks) == 1:
        return chunks[0]
    columns: dict[str, Column] = {}
    for name, first in chunks[0].columns.items():
        parts = [chunk.columns[name] for chunk in chunks]
        if any(part.missing is not None for part in parts):
            absent = [np.zeros(len(p), dtype=np.uint8) if p.missing is None else p.missing for p in parts]
            missing = np.concatenate(absent)
        else:
            missing = None
        values, words = [part.values for part in parts], first.words
        if any(part.words != words for part in parts):  # identifiers: every row has a word of its own
            starts = np.cumsum([0, *(len(part.words) for part in parts)])
            values = [v.astype(np.int64) + start for v, start in zip(values, starts, strict=False)]
            words = tuple(word for part in parts for word in part.words)
        columns[name] = replace(first, values=np.concatenate(values), words=words, missing=missing)
    return Table(columns, chunks[0].source)
