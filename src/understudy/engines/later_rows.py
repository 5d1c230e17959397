"""Rows inside an engine of which a coded copy is made only where one is needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.counting.cuboids import Cuboid
from understudy.counting.sums import Summer
from understudy.data.schema import Schema
from understudy.engines.rows import EngineRows, EngineTable, explain_change
from understudy.engines.sums import EngineSummer


class LaterRows:
    """Rows inside an engine that are coded when a table is first counted: sums need no copy."""

    def __init__(self, table: EngineTable, schema: Schema) -> None:
        self._table = table
        self.schema = schema.order_as(table.names, table.source)
        found = table.engine.numbers(f"SELECT count(*) FROM {table.engine.relation}")
        self.rows = int(found[0][0])
        table.check_rows(self.rows)

    @cached_property
    def _coded(self) -> EngineRows:
        coded = self._table.encode(self.schema)
        if coded.rows != self.rows:
            raise explain_change(self._table.source)
        return coded

    @property
    def most_groups(self) -> int:
        """How many groups are worth fetching at once."""
        return self._table.engine.most_groups

    @property
    def distinct(self) -> int:
        """How many distinct rows there are, at most."""
        return self._coded.distinct

    def group(self, sets: Sequence[tuple[str, ...]]) -> list[Cuboid]:
        """A cuboid for each set of attributes, in one pass over the rows."""
        return self._coded.group(sets)

    def missing_cells(self) -> NDArray[np.int64]:
        """How many rows have 0, 1, 2, ... missing cells."""
        return self._coded.missing_cells()

    def summer(self) -> Summer:
        """What sums over the rows."""
        return EngineSummer(self._table, self.schema, None, 1, self.rows)

    def explain(self) -> list[str]:
        """How the rows were coded, in sentences for the owner."""
        return self._coded.explain()
