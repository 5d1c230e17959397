"""Backup and restore: nothing is lost, from one database to the other, while writers write."""

from __future__ import annotations

import io
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from core_hubs import Clock, add_dataset, add_user, finish_job, make_hub, request_synthesis

from understudy.errors import InputError
from understudy.hub import backup, budgets, jobs, trail, worker
from understudy.hub.keys import Keys
from understudy.hub.opening import LEDGERS, Hub, open_hub
from understudy.hub.records import read_release
from understudy.hub.roles import RuleSpec
from understudy.hub.tables import algorithms, metadata, releases
from understudy.privacy.ledger import LedgerFile

STANDING = RuleSpec(operation="synthesise", standing=True)


def fill(hub: Hub) -> tuple[str, str]:
    with hub.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user", attributes={"institution": "Ü"})
        dataset = add_dataset(c, owner, [STANDING], [user], epsilon=3.0, delta=1e-9).id
        values = {"name": "a", "version": "1", "package": b"\0\1\xff", "created_at": c.now}
        c.execute(sa.insert(algorithms).values(id="alg", provider=owner, **values))
        for _ in range(3):
            request_synthesis(c, user, dataset, 0.1)
        job = jobs.claim(c, "w")
        assert job is not None
    finish_job(hub, job, "w", b"released rows")
    return user, dataset


def rows_of(hub: Hub) -> dict[str, list[Any]]:
    with hub.db.reading() as c:
        return {
            table.name: [
                tuple(row)
                for row in c.execute(sa.select(table).order_by(*table.primary_key.columns))
            ]
            for table in metadata.sorted_tables
        }


def make_empty(folder: Path, url: str | None, keys: Keys) -> Hub:
    return open_hub(folder, database=url, keys=keys, create=True, clock=Clock())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("origin", "target"), [("sqlite", "sqlite"), ("sqlite", "postgres"), ("postgres", "sqlite")]
)
def test_everything_comes_back_on_either_database(
    origin: str, target: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    def url_of(kind: str) -> str | None:
        return request.getfixturevalue("postgres_url") if kind == "postgres" else None

    hub = make_hub(tmp_path / "hub", url_of(origin))
    user, dataset = fill(hub)
    made = backup.backup(hub, tmp_path / "hub.tar")
    url = url_of(target)
    restored = make_empty(tmp_path / "again", url, hub.keys)
    assert backup.restore(restored, tmp_path / "hub.tar") == made
    assert rows_of(restored) == rows_of(hub)
    assert trail.verify(restored.db, hub.keys.trail, [made.head])
    with restored.db.transaction() as c:
        release = c.first(sa.select(releases))
        assert release is not None
        request_synthesis(c, user, dataset, 0.1)  # counters go on
        assert budgets.check_sums(c) == []
    with restored.db.reading() as c:
        stored = read_release(c, release["id"]).files[0].object
    assert restored.vault.read(stored) == b"released rows"
    restored.close()
    hub.close()


def test_a_backup_while_writers_write_is_of_one_moment(sqlite_hub: Hub, tmp_path: Path) -> None:
    user, dataset = fill(sqlite_hub)
    stop = threading.Event()
    written: list[str] = []

    def write() -> None:
        while not stop.is_set():
            with sqlite_hub.db.transaction() as c:
                request_synthesis(c, user, dataset, 0.0001)
                job = jobs.claim(c, "w")
            assert job is not None
            written.append(finish_job(sqlite_hub, job, "w").id)

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(3):
        backup.backup(sqlite_hub, tmp_path / f"{number}.tar")
    stop.set()
    writer.join()
    assert written
    for number in range(3):
        restored = make_empty(tmp_path / f"again{number}", None, sqlite_hub.keys)
        backup.restore(restored, tmp_path / f"{number}.tar")
        with restored.db.reading() as c:
            files = c.rows(sa.text("SELECT object FROM release_files"))
        for row in files:
            restored.vault.read(row["object"])
        restored.close()


def test_a_backup_holds_no_key_and_is_for_its_owner_alone(hub: Hub, tmp_path: Path) -> None:
    fill(hub)
    path = tmp_path / "hub.tar"
    backup.backup(hub, path)
    content = path.read_bytes()
    for key in (hub.keys.trail, *hub.keys.masters.values()):
        assert key not in content
        assert key.hex().encode() not in content
    assert b"released rows" not in content
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="already"):
        backup.backup(hub, path)


def test_the_worker_s_ledgers_come_back(sqlite_hub: Hub, tmp_path: Path) -> None:
    _, dataset = fill(sqlite_hub)
    assert LEDGERS == worker.LEDGERS
    path = sqlite_hub.folder / LEDGERS / f"{dataset}.ledger"
    path.parent.mkdir()
    LedgerFile.create(path, epsilon=3.0)
    backup.backup(sqlite_hub, tmp_path / "hub.tar")
    restored = make_empty(tmp_path / "again", None, sqlite_hub.keys)
    backup.restore(restored, tmp_path / "hub.tar")
    again = LedgerFile(restored.folder / LEDGERS / path.name)
    assert again.read() == LedgerFile(path).read()
    restored.close()


def test_only_an_empty_hub_is_restored_into(sqlite_hub: Hub, tmp_path: Path) -> None:
    fill(sqlite_hub)
    backup.backup(sqlite_hub, tmp_path / "hub.tar")
    with pytest.raises(InputError, match="not empty"):
        backup.restore(sqlite_hub, tmp_path / "hub.tar")


def change_member(source: Path, target: Path, name: str, old: bytes, new: bytes) -> None:
    with tarfile.open(source) as read, tarfile.open(target, "w") as written:
        for member in read:
            file = read.extractfile(member)
            assert file is not None
            content = file.read()
            if member.name == name:
                assert old in content
                content = content.replace(old, new)
            member.size = len(content)
            written.addfile(member, io.BytesIO(content))


def test_what_is_damaged_is_refused_and_leaves_the_hub_empty(
    sqlite_hub: Hub, tmp_path: Path
) -> None:
    fill(sqlite_hub)
    good = tmp_path / "hub.tar"
    backup.backup(sqlite_hub, good)
    changed = tmp_path / "changed.tar"
    change_member(good, changed, "tables/debits.jsonl", b'"0.1"', b'"0.0"')
    cut = tmp_path / "cut.tar"
    cut.write_bytes(good.read_bytes()[:3000])
    rubbish = tmp_path / "rubbish"
    rubbish.write_bytes(b"x" * 5000)
    for path in (changed, cut, rubbish, tmp_path / "none"):
        restored = make_empty(tmp_path / f"again-{path.name}", None, sqlite_hub.keys)
        with pytest.raises(InputError):
            backup.restore(restored, path)
        assert rows_of(restored)["users"] == []
        assert [file for file in restored.vault.folder.rglob("*") if file.is_file()] == []
        restored.close()


def test_another_hub_s_keys_do_not_restore_it(sqlite_hub: Hub, tmp_path: Path) -> None:
    fill(sqlite_hub)
    backup.backup(sqlite_hub, tmp_path / "hub.tar")
    other = make_hub(tmp_path / "other")
    with pytest.raises(InputError, match="not written by the hub"):
        backup.restore(other, tmp_path / "hub.tar")
    other.close()
