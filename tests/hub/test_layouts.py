"""Layouts of the database: from nothing, and from the first one with rows in it."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from core_hubs import SCHEMA, Clock, make_hub, request_synthesis

from understudy.errors import InputError
from understudy.hub import budgets, jobs, migrations, tables, trail
from understudy.hub.amounts import Price
from understudy.hub.database import Database
from understudy.hub.keys import make_keys
from understudy.hub.opening import Hub, open_hub
from understudy.hub.records import read_dataset, read_release, read_request

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def test_the_layouts_lead_to_the_tables_of_today(hub: Hub) -> None:
    with hub.db.engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, tables.metadata) == []
        assert migrations.read_layout(connection) == migrations.LAYOUT


def test_the_layout_of_today_is_the_last_one() -> None:
    config = Config()
    config.set_main_option("script_location", "understudy.hub:migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == migrations.LAYOUT


def fill_first_layout(db: Database, key: bytes) -> None:
    """A hub as the first layout had it: two users, a job that is done, one that waits."""
    found = sa.MetaData()
    with db.engine.begin() as connection:
        found.reflect(connection)

        def add(table: str, **values: Any) -> None:
            # As the first version wrote it: text, whatever the driver makes of the types.
            columns = ", ".join(f'"{name}"' for name in values)
            marks = ", ".join(f":{name}" for name in values)
            statement = sa.text(f'INSERT INTO "{table}" ({columns}) VALUES ({marks})')
            connection.execute(statement, values)

        at = "2026-01-01 00:00:00+00:00" if not db.is_sqlite else "2026-01-01 00:00:00.000000"
        for name in ("owner", "ann", "bob"):
            add("users", id=name, name=name, created_at=at)
        add(
            "datasets",
            id="d1",
            owner="owner",
            name="D1",
            schema=json.dumps(SCHEMA),
            mode="stored",
            total_epsilon="1",
            spent_epsilon="0.3",
            created_at=at,
            changed_at=at,
        )
        add("roles", id="role", dataset="d1", name="R1", created_at=at)
        add("members", role="role", user="ann", granted_at=at)
        add("rules", id="rule", role="role", operation="synthesise", standing=True, created_at=at)
        for number, (user, epsilon, state) in enumerate(
            [("ann", "0.1", "done"), ("ann", "0.1", "queued"), ("bob", "0.1", "queued")]
        ):
            add(
                "requests",
                id=f"r{number}",
                user=user,
                dataset="d1",
                operation="synthesise",
                spec=json.dumps({"epsilon": 0.1}),
                epsilon=epsilon,
                state="approved",
                key=f"key number {number}",
                created_at=at,
            )
            add(
                "jobs",
                id=f"j{number}",
                request=f"r{number}",
                dataset="d1",
                user=user,
                operation="synthesise",
                spec=json.dumps({"epsilon": 0.1}),
                epsilon=epsilon,
                state=state,
                place=number,
                created_at=at,
            )
            add("debits", dataset="d1", user=user, request=f"r{number}", epsilon=epsilon, at=at)
        add("releases", id="e1", dataset="d1", job="j0", user="ann", title="T", created_at=at)
        digest = ""
        for number in (1, 2):
            entry = {
                "number": number,
                "at": NOW.isoformat(timespec="milliseconds"),
                "actor": "owner",
                "action": "do",
                "object": "d1",
                "details": "{}",
                "salt": "00",
            }
            content = trail.digest_content(entry)
            digest = trail.chain(digest, content)
            mac = trail.sign(key, digest)
            add("trail", **entry, content=content, digest=digest, mac=mac)
        head = sa.text("UPDATE trail_head SET number = 2, digest = :digest, mac = :mac")
        connection.execute(head, {"digest": digest, "mac": mac})


@pytest.fixture(params=["sqlite", "postgres"])
def first(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str | None, Any]:
    """A filled database of the first layout: folder, URL and keys."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    keys = make_keys()
    folder = tmp_path / "hub"
    folder.mkdir()
    db = Database(url or folder / "hub.sqlite", trail_key=keys.trail)
    with db.engine.begin() as connection:
        migrations.upgrade(connection, "0001")
    fill_first_layout(db, keys.trail)
    db.close()
    return folder, url, keys


def test_a_filled_database_of_the_first_layout_is_upgraded(
    first: tuple[Path, str | None, Any],
) -> None:
    folder, url, keys = first
    hub = open_hub(folder, database=url, keys=keys, clock=Clock())
    with hub.db.transaction() as c:
        assert budgets.check_sums(c) == []
        assert budgets.read_left(c, "d1") == Price.of(0.7)
        assert budgets.read_spent_by(c, "d1", "ann") == Price(Fraction(2, 10), Fraction(0))
        dataset = read_dataset(c, "d1")
        assert (dataset.releases, dataset.listed, dataset.per_user) == (1, True, None)
        assert read_release(c, "e1").files == ()
        assert read_request(c, "r1").key == "key number 1"
        job = jobs.claim(c, "w")
        assert job is not None
        assert job.id == "j1"
        assert request_synthesis(c, "ann", "d1", 0.5).state == "approved"
        assert c.value(sa.select(tables.datasets.c.columns)) == 1
    assert trail.verify(hub.db, keys.trail)
    hub.close()
    again = open_hub(folder, database=url, keys=keys)
    with again.db.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []
    again.close()


def test_a_database_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    hub = make_hub(tmp_path)
    with hub.db.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0999'"))
    hub.close()
    with pytest.raises(InputError, match="layout 0999"):
        open_hub(tmp_path, keys=hub.keys)


def test_a_failed_upgrade_changes_nothing(
    first: tuple[Path, str | None, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url, keys = first
    db = Database(url or folder / "hub.sqlite", trail_key=keys.trail)
    with monkeypatch.context() as patch:
        # The last step of the way: whatever came before it must be undone.
        patch.setattr("understudy.hub.amounts.read_amount", lambda _: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            db.migrate()
    with db.engine.connect() as connection:
        assert migrations.read_layout(connection) == "0001"
        assert not sa.inspect(connection).has_table("user_budgets")
    db.migrate()
    db.close()
