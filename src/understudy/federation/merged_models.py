"""The models of several holders as one release: their rows are drawn in proportion, and merged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.data.files import read_json, write_json
from understudy.data.schema import Schema
from understudy.data.streams import check_seed, chunk_randomness, draw_uniforms
from understudy.data.tables import Table, write_table
from understudy.errors import InputError
from understudy.models.chunks import count_rows, join_tables
from understudy.models.documents import check_wanted_rows
from understudy.models.model import Model, as_in_file
from understudy.models.parameters import round_to_total
from understudy.privacy.ledger import Ledger


@dataclass(frozen=True)
class MergedModels:
    """The models of several holders: rows are drawn from each in proportion to its rows, and
    merged.
    """

    method: Mapping[str, Any]
    schema: Schema
    models: tuple[Model, ...]
    ledger: Ledger

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", as_in_file(self.method))
        if any(model.schema.constraints != self.schema.constraints for model in self.models):
            raise InputError(
                "The model of a holder keeps other constraints than the schema; make it again from "
                "the same schema."
            )

    @property
    def rows(self) -> int:
        """How many rows the originals have together: exact where public, estimated otherwise."""
        return sum(model.rows or 0 for model in self.models)

    def sample(self, rows: int | None = None, seed: int | None = None) -> Table:
        """Draw synthetic rows, in random order."""
        parts = [model.sample(count, part) for model, count, part in self._parts(rows, seed)]
        whole = join_tables([part for part in parts if isinstance(part, Table)])
        entropy = np.random.SeedSequence(seed).entropy
        rng = chunk_randomness(entropy, len(self.models))
        order = np.argsort(draw_uniforms(rng, whole.rows), kind="stable")
        return whole.take(order)

    def write(
        self,
        path: str | Path,
        rows: int | None = None,
        seed: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Draw synthetic rows into a CSV or Parquet file, one holder's after the other's; returns
        how many.
        """
        parts = self._parts(rows, seed)
        chunks = itertools.chain.from_iterable(
            model.chunks(count, part) for model, count, part in parts
        )
        return write_table(path, count_rows(chunks, progress))

    def save(self, path: str | Path) -> None:
        """Write all models to one JSON file."""
        write_json(path, self.to_dict(), "model")

    def to_dict(self) -> dict[str, Any]:
        """The models as they stand in a file."""
        return {
            "understudy_merged": 1,
            "method": dict(self.method),
            "ledger": self.ledger.to_dict(),
            "schema": self.schema.to_dict(),
            "models": [model.to_dict() for model in self.models],
        }

    @classmethod
    def load(cls, path: str | Path) -> MergedModels:
        """Read what :meth:`save` wrote."""
        return cls.from_dict(read_json(path, "model"), str(path))

    @classmethod
    def from_dict(cls, document: Any, source: str = "The file") -> MergedModels:
        """Check a parsed file and build the models."""
        if not isinstance(document, Mapping) or document.get("understudy_merged") != 1:
            raise InputError(
                f"{source} does not hold merged models of understudy; is it the right file?"
            )
        models, method = document.get("models"), document.get("method")
        if not isinstance(models, list) or not models or not isinstance(method, Mapping):
            raise InputError(f"{source} lacks its models or how they were made; get it again.")
        return cls(
            method,
            Schema.from_dict(document.get("schema"), f"The schema in {source}"),
            tuple(Model.from_dict(model, f"A model in {source}") for model in models),
            Ledger.from_dict(document.get("ledger")),
        )

    def _parts(self, rows: int | None, seed: int | None) -> list[tuple[Model, int, int | None]]:
        """How many rows of each model: in proportion, whole, together as many as asked for."""
        sizes = np.array([float(model.rows or 0) for model in self.models])
        if sizes.sum() <= 0:
            sizes = np.ones(len(sizes))
        wanted = self.rows if rows is None else rows
        check_wanted_rows(wanted)
        check_seed(seed)
        counts = round_to_total(wanted * sizes / sizes.sum())
        seeds = [None if seed is None else _part_seed(seed, place) for place in range(len(sizes))]
        return list(zip(self.models, counts.tolist(), seeds, strict=True))


def _part_seed(seed: int, place: int) -> int:
    """A seed for each part, none of which is another part's at another seed (as seed + place would
    be).
    """
    return int(np.random.SeedSequence([seed, place]).generate_state(1, np.uint64)[0])
