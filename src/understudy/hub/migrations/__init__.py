"""The layouts that the hub's database has had, and the way from each to the next."""

from __future__ import annotations

import sqlalchemy as sa

from understudy.errors import InputError

LAYOUT = "0004"
"""Today's layout."""

_LOCK = 0x756E646572737475
"""Hubs that start at the same time upgrade one after the other, on PostgreSQL by this lock."""


def upgrade(connection: sa.Connection, target: str = LAYOUT) -> None:
    """Bring a database from nothing, or from any earlier layout, to today's; in the caller's
    transaction, which no other hub writes beside.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    found = read_layout(connection)
    if found == target:
        return
    if found is not None and found > LAYOUT:
        raise InputError(
            f"The database has layout {found}, and this version knows those up to {LAYOUT}; "
            "install the version of understudy that wrote it."
        )
    # Alembic takes a moment to load, and is needed once per version.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "understudy.hub:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def read_layout(connection: sa.Connection) -> str | None:
    """The layout of a database; none if it is empty."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    version = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    return None if version is None else str(version)
