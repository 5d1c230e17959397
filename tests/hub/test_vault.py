"""Encryption at rest: what was changed is refused before it is decrypted."""

from __future__ import annotations

import io
import os
import random
from pathlib import Path

import pytest
import sqlalchemy as sa
from core_hubs import add_dataset, add_user, make_hub
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import InputError
from understudy.hub import vault as vaults
from understudy.hub.errors import NotFound, Unavailable
from understudy.hub.keys import load_keys, make_keys, read_keys, save_keys, write_keys
from understudy.hub.opening import Hub, open_hub
from understudy.hub.tables import vault_keys, vault_objects
from understudy.hub.vault import TAG_BYTES, VAULT_CHUNK, Tampered, Vault

HEADER = len(vaults.VAULT_MAGIC) + vaults.SALT_BYTES
SECRET = b"Ann Example, 44, diabetes\n"


@pytest.fixture
def two(sqlite_hub: Hub) -> tuple[Hub, str, str]:
    with sqlite_hub.db.transaction() as c:
        owner = add_user(c, "owner")
        first, second = (add_dataset(c, owner, name=name).id for name in ("D1", "D2"))
    return sqlite_hub, first, second


def path_of(hub: Hub, dataset: str, stored: str) -> Path:
    return hub.folder / "vault" / dataset / stored


@pytest.fixture
def no_decryption(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise AssertionError("it was decrypted before it was checked")

    monkeypatch.setattr(vaults, "_decrypt", refuse)


@pytest.mark.parametrize(
    "size",
    [0, 1, VAULT_CHUNK - 1, VAULT_CHUNK, VAULT_CHUNK + 1, 3 * VAULT_CHUNK, 3 * VAULT_CHUNK + 7],
)
def test_what_is_stored_comes_back(two: tuple[Hub, str, str], size: int) -> None:
    hub, dataset, _ = two
    content = random.Random(size).randbytes(size)
    for form in (content, io.BytesIO(content), iter([content[:10], content[10:]])):
        stored = hub.vault.put(dataset, "rows", form)
        assert hub.vault.read(stored.id) == content
        assert stored.size == size


def test_nothing_plain_reaches_the_disk(two: tuple[Hub, str, str]) -> None:
    hub, dataset, _ = two
    hub.vault.put(dataset, "rows", SECRET * 5000)
    hub.close()
    for path in hub.folder.rglob("*"):
        if path.is_file():
            assert SECRET not in path.read_bytes(), path
    assert len(list((hub.folder / "vault").rglob("*"))) == 2


def test_the_same_rows_never_look_the_same(two: tuple[Hub, str, str]) -> None:
    """No deterministic encryption: equal content, equal place, other bytes throughout."""
    hub, dataset, _ = two
    paths = [
        path_of(hub, dataset, hub.vault.put(dataset, "rows", SECRET * 100).id) for _ in range(2)
    ]
    one, other = (path.read_bytes()[HEADER:] for path in paths)
    assert len(one) == len(other)
    equal = sum(a == b for a, b in zip(one, other, strict=True))
    assert equal < len(one) / 50  # one in 256 by chance


def flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.usefixtures("no_decryption")
def test_a_tampered_file_is_refused_before_it_is_decrypted(two: tuple[Hub, str, str]) -> None:
    hub, dataset, _ = two
    stored = hub.vault.put(dataset, "rows", random.Random(1).randbytes(2 * VAULT_CHUNK + 100))
    path = path_of(hub, dataset, stored.id)
    whole = path.read_bytes()
    block = VAULT_CHUNK + TAG_BYTES
    chunks = [whole[HEADER + i : HEADER + i + block] for i in range(0, len(whole) - HEADER, block)]
    assert len(chunks) == 3
    changes = {
        "flipped": [flip(whole, at) for at in (0, len(vaults.VAULT_MAGIC), HEADER, len(whole) - 1)],
        "truncated": [whole[:-1], whole[: HEADER + block], whole[:HEADER], whole[:5], b""],
        "longer": [whole + b"\0", whole + chunks[0]],
        "reordered": [whole[:HEADER] + chunks[1] + chunks[0] + chunks[2]],
        "left out": [whole[:HEADER] + chunks[0] + chunks[2]],
    }
    for name, versions in changes.items():
        for version in versions:
            path.write_bytes(version)
            with pytest.raises(Tampered):
                hub.vault.read(stored.id)
            assert name
    path.unlink()
    with pytest.raises(Tampered, match="is gone"):
        hub.vault.read(stored.id)


@pytest.mark.usefixtures("no_decryption")
def test_files_cannot_be_swapped(two: tuple[Hub, str, str]) -> None:
    """Not between files of a data set, nor between data sets, not even with their HMACs."""
    hub, first, second = two
    mine = hub.vault.put(first, "rows", b"a" * 100)
    for other in (
        hub.vault.put(first, "rows", b"b" * 100),
        hub.vault.put(second, "rows", b"c" * 9),
    ):
        foreign = path_of(hub, other.dataset, other.id).read_bytes()
        kept = path_of(hub, first, mine.id).read_bytes()
        path_of(hub, first, mine.id).write_bytes(foreign)
        with pytest.raises(Tampered):
            hub.vault.read(mine.id)
        with hub.db.transaction() as c:
            macs = {
                row["id"]: row["mac"]
                for row in c.rows(sa.select(vault_objects.c.id, vault_objects.c.mac))
            }
            is_mine = vault_objects.c.id == mine.id
            c.execute(sa.update(vault_objects).where(is_mine).values(mac=macs[other.id]))
        with pytest.raises(Tampered):
            hub.vault.read(mine.id)
        with hub.db.transaction() as c:
            c.execute(sa.update(vault_objects).where(is_mine).values(mac=macs[mine.id]))
        path_of(hub, first, mine.id).write_bytes(kept)


def test_chunks_are_bound_to_their_places_too(two: tuple[Hub, str, str]) -> None:
    """Whoever changes a file between the check and the reading meets AES-GCM."""
    key, name, rest = b"k" * 32, "d/f", random.Random(2).randbytes(2 * VAULT_CHUNK + 5)
    cipher = vaults.AESGCM(key)
    parts = list(vaults._encrypt(cipher, b"s" * 32, name, vaults.read_chunks(rest)))[1:]
    assert b"".join(vaults._decrypt(io.BytesIO(b"".join(parts)), cipher, name)) == rest
    for wrong in (parts[:2], parts[1:], [parts[1], parts[0], parts[2]], [parts[0], parts[2]]):
        with pytest.raises(Tampered):
            list(vaults._decrypt(io.BytesIO(b"".join(wrong)), cipher, name))
    with pytest.raises(Tampered):
        list(vaults._decrypt(io.BytesIO(b"".join(parts)), cipher, "d/g"))


def test_keys_of_data_sets_cannot_be_swapped(two: tuple[Hub, str, str]) -> None:
    hub, first, second = two
    stored = hub.vault.put(first, "rows", b"a")
    hub.vault.put(second, "rows", b"b")
    with hub.db.transaction() as c:
        of = vault_keys.c.dataset
        wrapped = c.value(sa.select(vault_keys.c.wrapped).where(of == second))
        c.execute(sa.update(vault_keys).where(of == first).values(wrapped=wrapped))
    with pytest.raises(Tampered, match="key of a data set"):
        hub.vault.read(stored.id)


def test_the_master_key_is_rotated(two: tuple[Hub, str, str]) -> None:
    hub, first, second = two
    stored = [hub.vault.put(dataset, "rows", SECRET) for dataset in (first, second)]
    old = hub.keys
    new = old.with_new_master()
    assert hub.vault.rotate(new) == 2
    alone = Vault(hub.db, hub.vault.folder, new.without_old_masters())
    assert [alone.read(each.id) for each in stored] == [SECRET, SECRET]
    with pytest.raises(InputError, match="is not among the hub's keys"):
        Vault(hub.db, hub.vault.folder, old).read(stored[0].id)


def test_a_process_that_missed_the_rotation_wraps_nothing_by_the_old_key(
    two: tuple[Hub, str, str],
) -> None:
    hub, first, second = two
    late = Vault(hub.db, hub.vault.folder, hub.keys)
    hub.vault.rotate(hub.keys.with_new_master())
    with pytest.raises(Unavailable, match="restart"):
        late.put(first, "rows", SECRET)
    hub.vault.put(second, "rows", SECRET)


def test_leftovers_are_swept_and_what_is_named_stays(two: tuple[Hub, str, str]) -> None:
    from understudy.hub import datasets

    hub, dataset, _ = two
    kept, left = (hub.vault.put(dataset, "rows", SECRET) for _ in range(2))
    with hub.db.transaction() as c:
        owner = datasets.read_dataset(c, dataset).owner
        datasets.store_rows(c, owner, dataset, kept.id)
    assert hub.vault.sweep(older_than_seconds=60) == 0
    assert hub.vault.sweep(older_than_seconds=-1) == 1
    assert hub.vault.read(kept.id) == SECRET
    with pytest.raises(NotFound):
        hub.vault.read(left.id)


def test_a_full_disk_leaves_nothing_half_written(
    two: tuple[Hub, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, dataset, _ = two

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match="No space left on device"):
        hub.vault.put(dataset, "rows", SECRET)
    monkeypatch.undo()
    assert [path for path in (hub.folder / "vault").rglob("*") if path.is_file()] == []


# --------------------------------------------------------------------------- keys


def test_keys_beside_the_data_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "hub"
    for place in (folder / "hub.keys", folder / "deep" / "er" / "hub.keys"):
        with pytest.raises(InputError, match="lie in the folder of the data that they open"):
            open_hub(folder, keys=place, create=True)
        assert not place.exists()
    link = tmp_path / "link"
    folder.mkdir(exist_ok=True)
    link.symlink_to(folder)
    with pytest.raises(InputError, match="lie in the folder"):
        open_hub(folder, keys=link / "hub.keys", create=True)
    other = tmp_path / "elsewhere"
    other.mkdir()
    with pytest.raises(InputError, match="lie in the folder"):
        open_hub(folder, database=str(other / "x.sqlite"), keys=other / "k", create=True)
    open_hub(folder, keys=tmp_path / "safe" / "hub.keys", create=True).close()
    assert (tmp_path / "safe" / "hub.keys").stat().st_mode & 0o777 == 0o600


def test_keys_come_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = make_keys()
    save_keys(keys, tmp_path / "k")
    assert load_keys(tmp_path / "k") == keys
    monkeypatch.setenv("UNDERSTUDY_HUB_KEYS", write_keys(keys))
    assert load_keys() == keys
    assert keys.trail.hex() not in repr(keys)
    (tmp_path / "k").chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        load_keys(tmp_path / "k")


@settings(max_examples=30)
@given(st.text(max_size=200))
def test_what_is_no_key_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InputError) as error:
        read_keys(text, "the file")
    assert str(error.value) == "The keys in the file cannot be read; restore them."


def test_another_hub_s_keys_do_not_open_it(tmp_path: Path) -> None:
    hub = make_hub(tmp_path / "hub")
    with hub.db.transaction() as c:
        dataset = add_dataset(c, add_user(c, "owner")).id
    stored = hub.vault.put(dataset, "rows", SECRET)
    hub.close()
    other = open_hub(tmp_path / "hub", keys=make_keys())
    with pytest.raises(InputError, match="is not among the hub's keys"):
        other.vault.read(stored.id)
