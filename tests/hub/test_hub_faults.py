"""What goes wrong around the hub: disks, databases, two processes at once."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from core_hubs import Clock, add_dataset, add_user, make_hub, open_again, request_synthesis

from understudy.errors import InputError
from understudy.hub import budgets, database, requests, trail
from understudy.hub.amounts import Price
from understudy.hub.database import Database, read_url
from understudy.hub.errors import Unavailable
from understudy.hub.keys import Keys, make_keys
from understudy.hub.opening import Hub, open_hub
from understudy.hub.roles import RuleSpec

STANDING = RuleSpec(operation="synthesise", standing=True)


def start(hub: Hub) -> tuple[str, str]:
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        return user, add_dataset(c, owner, [STANDING], [user]).id


def test_an_exception_undoes_debit_trail_and_job_together(hub: Hub) -> None:
    user, dataset = start(hub)

    def fail_late() -> None:
        with hub.db.transaction() as c:
            request_synthesis(c, user, dataset, 0.5)
            assert budgets.read_left(c, dataset) == Price.of(0.5)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_late()
    with hub.db.reading() as c:
        assert budgets.read_left(c, dataset) == Price.of(1.0)
        assert budgets.check_sums(c) == []
    assert trail.verify(hub.db, hub.keys.trail)


def test_a_full_disk_changes_nothing(sqlite_hub: Hub) -> None:
    user, dataset = start(sqlite_hub)

    @sa.event.listens_for(sqlite_hub.db.engine, "begin")
    def fill(connection: sa.Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")

    def ask_on() -> None:
        for _ in range(1000):
            with sqlite_hub.db.transaction() as c:
                request_synthesis(c, user, dataset, 0.0005)

    with pytest.raises(Unavailable, match="disk of the hub's database is full"):
        ask_on()
    sa.event.remove(sqlite_hub.db.engine, "begin", fill)
    with sqlite_hub.db.reading() as c:
        assert budgets.check_sums(c) == []
    assert trail.verify(sqlite_hub.db, sqlite_hub.keys.trail)


def test_a_database_that_goes_away_in_a_transaction(
    tmp_path: Path, postgres_url: str, postgres_server: str
) -> None:
    hub = make_hub(tmp_path, postgres_url)
    user, dataset = start(hub)
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
    name = postgres_url.rsplit("/", 1)[1]
    key = "sent once more"

    def ask_while_it_goes() -> None:
        with hub.db.transaction() as c:
            request_synthesis(c, user, dataset, 0.5, key=key)
            with psycopg.connect(postgres_server, autocommit=True) as other:
                other.execute(end, [name])

    with pytest.raises(Unavailable, match="send the same form again"):
        ask_while_it_goes()
    with hub.db.transaction() as c:
        assert budgets.read_left(c, dataset) == Price.of(1.0)
        request_synthesis(c, user, dataset, 0.5, key=key)
    with hub.db.transaction() as c:
        request_synthesis(c, user, dataset, 0.5, key=key)
        assert budgets.read_left(c, dataset) == Price.of(0.5)
    assert trail.verify(hub.db, hub.keys.trail)
    hub.close()


def test_nobody_there_is_one_sentence_without_a_password(tmp_path: Path) -> None:
    url = "postgresql://owner:secret@127.0.0.1:1/hub"
    with pytest.raises(Unavailable) as error:
        open_hub(tmp_path, database=url, keys=make_keys())
    assert "secret" not in str(error.value)


def test_a_writer_that_waits_too_long_is_told_so(
    sqlite_hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WRITER_WAIT_SECONDS", 0.05)
    impatient = open_again(sqlite_hub)
    with sqlite_hub.db.transaction() as c:
        trail.append(c, "a", "b", "c")
        with pytest.raises(Unavailable, match="busy"), impatient.transaction():
            pass
        with impatient.reading() as other:  # readers wait for nobody, and see what is committed
            assert trail.read_head(other).number == 0
    impatient.close()


def _open_and_close(folder: Path, keys: Keys, url: str | None) -> None:
    hub = open_hub(folder, database=url, keys=keys)
    with hub.db.transaction() as c:
        trail.append(c, "a process", "start", "hub")
    hub.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_hubs_that_start_at_the_same_time_make_one_database(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    keys = make_keys()
    forks = multiprocessing.get_context("fork")
    arguments = (tmp_path, keys, url)
    crowd = [forks.Process(target=_open_and_close, args=arguments) for _ in range(4)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join()
        assert process.exitcode == 0
    hub = open_hub(tmp_path, database=url, keys=keys)
    verdict = trail.verify(hub.db, keys.trail)
    assert (verdict.good, verdict.entries) == (True, 4)
    hub.close()


def test_a_clock_set_back_changes_no_order_and_no_sum(tmp_path: Path) -> None:
    clock = Clock()
    hub = make_hub(tmp_path, clock=clock)
    user, dataset = start(hub)
    for _ in range(3):
        clock.turn(-1000)
        with hub.db.transaction() as c:
            request_synthesis(c, user, dataset, 0.3)
    with hub.db.reading() as c:
        assert budgets.read_left(c, dataset) == Price.of(0.1)
    assert trail.verify(hub.db, hub.keys.trail)


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "://"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(InputError):
        read_url(url)


def test_a_reading_transaction_cannot_write(hub: Hub) -> None:
    with pytest.raises(AssertionError), hub.db.reading() as c:
        trail.append(c, "a", "b", "c")


def test_a_short_key_of_the_trail_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="16 bytes"):
        Database(tmp_path / "x", trail_key=b"short")


def test_a_transaction_inside_another_is_a_mistake_that_shows_at_once(hub: Hub) -> None:
    def nest() -> None:
        with hub.db.transaction(), hub.db.transaction():
            pass

    with pytest.raises(AssertionError, match="inside another"):
        nest()
    with hub.db.transaction() as c:
        trail.append(c, "a", "b", "c")


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_characters_that_cannot_be_stored_are_bad_input(hub: Hub, text: str) -> None:
    user, dataset = start(hub)

    def ask() -> None:
        with hub.db.transaction() as c:
            requests.submit(c, user, dataset, "synthesise", {"epsilon": 0.1}, text, "a new key")

    if hub.db.is_sqlite and "\0" in text:
        ask()  # SQLite keeps it
        return
    with pytest.raises(InputError, match="cannot be stored"):
        ask()


def test_numbers_that_json_does_not_have_are_bad_input(hub: Hub) -> None:
    user, dataset = start(hub)
    spec = {"epsilon": 0.1, "parameters": {"x": float("nan")}}
    with hub.db.transaction() as c, pytest.raises(InputError, match="plain JSON"):
        requests.submit(c, user, dataset, "synthesise", spec, "why", "a new key")
