"""Triggers that keep the trail and the journal of debits as they were written.

They stop our own mistakes, and a person with a database client who is in a hurry. Who owns the
database can drop them: against that, the trail is chained and its heads leave with each release.
"""

from __future__ import annotations

import sqlalchemy as sa

KEPT = ("trail", "debits")


def create_triggers(connection: sa.Connection) -> None:
    """Guard each table that is only added to."""
    for table in KEPT:
        for statement in _statements(table, connection.dialect.name):
            connection.execute(sa.text(statement))


def _statements(table: str, dialect: str) -> list[str]:
    message = f"{table} is only added to"
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER IF NOT EXISTS {table}_no_{verb} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
            for verb in ("update", "delete")
        ]
    function = f"{table}_is_kept"
    return [
        f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{message}'; END $$",
        f"CREATE OR REPLACE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {function}()",
        f"CREATE OR REPLACE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
    ]
