"""Tables that tests of side doors share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from outside_view import Row, neighbours_of, plain_rows, written

from understudy.data.tables import Table, read_table


@pytest.fixture(scope="session")
def table_with(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Table]:
    """The table with an odd row, or the plain one: read once for all methods."""

    @cache
    def read(neighbours: str, odd: Row | None = None) -> Table:
        folder = tmp_path_factory.mktemp("table")
        if odd is None:
            return read_table(written(folder / "t.csv", plain_rows()))
        return read_table(neighbours_of(neighbours, odd, folder)[1])

    return read
