"""Fingerprints of tables in databases and clusters: the same rows in any order, and no others."""

from __future__ import annotations

from typing import Any

from servers import Server

from understudy.engines.fingerprints import engine_fingerprint
from understudy.engines.sources import open_rows

KEY = bytes(range(32))
ROWS: list[tuple[Any, ...]] = [(i % 7, ("x", "y:1", "", None)[i % 4], i / 4) for i in range(500)]
CHANGED = {
    "a row less": ROWS[1:],
    "a number": [(6, *ROWS[0][1:]), *ROWS[1:]],
    "a missing value": [*ROWS[:2], (2, None, 0.5), *ROWS[3:]],
}


def mark(place: Any) -> str:
    with open_rows(place) as (table, _):
        return engine_fingerprint(table, KEY)


def test_a_table_of_a_database(postgres: Server) -> None:
    def stored(rows: list[tuple[Any, ...]]) -> str:
        with postgres.connect() as connection:
            connection.execute("DROP TABLE IF EXISTS marked")
            connection.execute("CREATE TABLE marked (a BIGINT, b TEXT, c DOUBLE PRECISION)")
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO marked VALUES (%s, %s, %s)", rows)
        try:
            return mark(postgres.url("marked"))
        finally:
            with postgres.connect() as connection:
                connection.execute("DROP TABLE marked")

    assert stored(ROWS) == stored(ROWS[::-1])
    assert len({stored(ROWS), *map(stored, CHANGED.values())}) == 1 + len(CHANGED)
