"""Encryption at rest: rows and releases in files that only the hub's keys open.

Each data set has a key, wrapped by the master key. Each file has keys of its own, derived from the
data set's key, a random salt, and the ids of data set and file. The content is encrypted in chunks
by AES-GCM; a chunk's nonce is its number and whether it is the last, so chunks cannot be left out,
reordered or added. Over the whole encrypted file there is an HMAC-SHA256 that stands in the
database and is compared before anything is decrypted.

Nothing here is deterministic or keeps an order: such encryption shows which cells are equal, or
which are larger.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import hmac
import io
import itertools
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import sqlalchemy as sa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from understudy.errors import InputError
from understudy.hub.database import Database, Transaction
from understudy.hub.errors import NotFound, Unavailable
from understudy.hub.keys import KEY_BYTES, Keys
from understudy.hub.names import new_id
from understudy.hub.tables import (
    datasets,
    deliveries,
    release_files,
    settings,
    vault_keys,
    vault_objects,
)

VAULT_MAGIC = b"understudy vault 1\n"
SALT_BYTES = 32
VAULT_CHUNK = 1 << 16
TAG_BYTES = 16
NONCE_BYTES = 12
MASTER = "master key"
"""The setting that says which master key wraps what is new, once it was rotated."""


class Tampered(InputError):  # noqa: N818 (what was found)
    """A stored file is not what the hub wrote; it was not decrypted."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A file in the vault."""

    id: str
    dataset: str
    kind: str
    size: int
    sha256: str


class Vault:
    """Encrypted files in a folder, with their keys' wrappings and HMACs in the database."""

    def __init__(self, db: Database, folder: str | Path, keys: Keys) -> None:
        self.db = db
        self.folder = Path(folder)
        self._keys = keys

    def put(self, dataset: str, kind: str, content: bytes | BinaryIO | Iterable[bytes]) -> Stored:
        """Encrypt and store; at no moment is there a plain file."""
        with self.db.transaction() as c:
            key = self._dataset_key(c, dataset, create=True)
        name = new_id()
        path = self._path(dataset, name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            plain = _Counted(read_chunks(content))
            mac = _write_file(path, key, f"{dataset}/{name}", plain)
        except OSError as error:
            raise Unavailable(
                f"The hub cannot store the file ({error.strerror}), and nothing was changed; its "
                "operator must make room."
            ) from error
        stored = Stored(id=name, dataset=dataset, kind=kind, size=plain.size, sha256=plain.digest())
        with self.db.transaction() as c:
            c.execute(
                sa.insert(vault_objects).values(
                    id=name, dataset=dataset, kind=kind, size=plain.size, mac=mac, created_at=c.now
                )
            )
        return stored

    def open(self, stored: str) -> Iterator[bytes]:
        """The plain bytes, chunk by chunk, once the whole file's HMAC is right."""
        with self.db.reading() as c:
            row = c.first(sa.select(vault_objects).where(vault_objects.c.id == stored))
            if row is None:
                raise NotFound("There is no such file.")
            key = self._dataset_key(c, row["dataset"])
        name = f"{row['dataset']}/{stored}"
        return _read_file(self._path(row["dataset"], stored), key, name, row["mac"])

    def read(self, stored: str) -> bytes:
        """All the plain bytes."""
        return b"".join(self.open(stored))

    def rotate(self, keys: Keys) -> int:
        """Wrap every data set's key by the first master of ``keys``; how many were."""
        with self.db.transaction() as c:
            names = [row["dataset"] for row in c.rows(sa.select(vault_keys.c.dataset))]
            for dataset in names:
                key = self._dataset_key(c, dataset)
                wrapped = _wrap(keys.masters[keys.master_id], dataset, key)
                c.execute(
                    sa.update(vault_keys)
                    .where(vault_keys.c.dataset == dataset)
                    .values(master=keys.master_id, wrapped=wrapped)
                )
            c.execute(sa.delete(settings).where(settings.c.name == MASTER))
            c.execute(sa.insert(settings).values(name=MASTER, value=keys.master_id))
        self._keys = keys
        return len(names)

    def sweep(self, older_than_seconds: float = 86_400) -> int:
        """Remove files that nothing in the database names; what a broken upload left behind."""
        with self.db.transaction() as c:
            before = c.now - dt.timedelta(seconds=older_than_seconds)
            released = sa.select(release_files.c.object)
            rows = sa.select(datasets.c.rows_object).where(datasets.c.rows_object.is_not(None))
            orphans = c.rows(
                sa.select(vault_objects).where(
                    vault_objects.c.created_at < before,
                    vault_objects.c.id.not_in(released),
                    vault_objects.c.id.not_in(rows),
                    vault_objects.c.id.not_in(sa.select(deliveries.c.object)),
                )
            )
            for row in orphans:
                c.execute(sa.delete(vault_objects).where(vault_objects.c.id == row["id"]))
        for row in orphans:
            self._path(row["dataset"], row["id"]).unlink(missing_ok=True)
        return len(orphans)

    def _path(self, dataset: str, name: str) -> Path:
        return self.folder / dataset / name

    def _dataset_key(self, c: Transaction, dataset: str, *, create: bool = False) -> bytes:
        row = c.first(sa.select(vault_keys).where(vault_keys.c.dataset == dataset))
        if row is not None:
            master = self._keys.masters.get(row["master"])
            if master is None:
                raise InputError(
                    f"The master key {row['master']} that opens this data set is not among the "
                    "hub's keys; put it back."
                )
            return _unwrap(master, dataset, row["wrapped"])
        if not create:
            raise NotFound("There is no such file.")
        key = secrets.token_bytes(KEY_BYTES)
        master_id = self._keys.master_id
        current = c.value(sa.select(settings.c.value).where(settings.c.name == MASTER))
        if current is not None and current != master_id:
            # What this process would wrap by the old master, nobody could open once that is gone.
            raise Unavailable("The hub's master key was rotated; restart this process.")
        wrapped = _wrap(self._keys.masters[master_id], dataset, key)
        c.execute(
            sa.insert(vault_keys).values(
                dataset=dataset, master=master_id, wrapped=wrapped, created_at=c.now
            )
        )
        return key


def read_chunks(content: bytes | BinaryIO | Iterable[bytes]) -> Iterator[bytes]:
    """The content in chunks of one size; the last is shorter, and empty if it must be."""
    if isinstance(content, bytes | bytearray):
        content = io.BytesIO(content)
    pieces = (
        iter(lambda: content.read(VAULT_CHUNK), b"") if hasattr(content, "read") else iter(content)
    )
    rest = bytearray()
    for piece in pieces:
        rest += piece
        while len(rest) > VAULT_CHUNK:
            yield bytes(rest[:VAULT_CHUNK])
            del rest[:VAULT_CHUNK]
    yield bytes(rest)


# --------------------------------------------------------------------------- files


class _Counted:
    """Chunks on their way: how many bytes there were, and their digest."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self._digest = hashlib.sha256()
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self._digest.update(chunk)
            self.size += len(chunk)
            yield chunk

    def digest(self) -> str:
        return self._digest.hexdigest()


def _write_file(path: Path, key: bytes, name: str, chunks: Iterable[bytes]) -> str:
    """Write an encrypted file, whole or not at all; its HMAC."""
    salt = secrets.token_bytes(SALT_BYTES)
    cipher_key, mac_key = _derive(key, salt, name)
    mac = hmac.new(mac_key, digestmod=hashlib.sha256)
    partial = path.with_name(f".{path.name}")
    try:
        with partial.open("xb") as file:
            for block in _encrypt(AESGCM(cipher_key), salt, name, chunks):
                mac.update(block)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return mac.hexdigest()


def _encrypt(cipher: AESGCM, salt: bytes, name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    yield VAULT_MAGIC + salt
    pieces = iter(chunks)
    chunk = next(pieces, b"")
    for number in itertools.count():
        following = next(pieces, None)
        last = following is None
        yield cipher.encrypt(_nonce(number, last=last), chunk, name.encode())
        if following is None:
            return
        chunk = following


def _read_file(path: Path, key: bytes, name: str, expected: str) -> Iterator[bytes]:
    try:
        file = path.open("rb")
    except OSError:
        raise Tampered("A stored file is gone; restore it from a backup.") from None
    with file:
        header = file.read(len(VAULT_MAGIC) + SALT_BYTES)
        cipher_key, mac_key = _derive(key, header[len(VAULT_MAGIC) :], name)
        mac = hmac.new(mac_key, header, hashlib.sha256)
        while block := file.read(1 << 20):
            mac.update(block)
        if not hmac.compare_digest(mac.hexdigest(), expected):
            raise Tampered(
                "A stored file is not what the hub wrote, and was not decrypted; restore it from a "
                "backup."
            )
        file.seek(len(header))
        yield from _decrypt(file, AESGCM(cipher_key), name)


def _decrypt(file: BinaryIO, cipher: AESGCM, name: str) -> Iterator[bytes]:
    block = file.read(VAULT_CHUNK + TAG_BYTES)
    for number in itertools.count():
        following = file.read(VAULT_CHUNK + TAG_BYTES)
        try:
            plain = cipher.decrypt(_nonce(number, last=not following), block, name.encode())
        except InvalidTag:
            raise Tampered("A stored file was changed while it was read.") from None
        yield plain
        if not following:
            return
        block = following


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(NONCE_BYTES - 1, "big") + bytes([last])


def _derive(key: bytes, salt: bytes, name: str) -> tuple[bytes, bytes]:
    info = b"understudy vault file " + name.encode()
    both = HKDF(hashes.SHA256(), 2 * KEY_BYTES, salt, info).derive(key)
    return both[:KEY_BYTES], both[KEY_BYTES:]


def _wrap(master: bytes, dataset: str, key: bytes) -> str:
    nonce = secrets.token_bytes(NONCE_BYTES)
    return (nonce + AESGCM(master).encrypt(nonce, key, b"key of " + dataset.encode())).hex()


def _unwrap(master: bytes, dataset: str, wrapped: str) -> bytes:
    with contextlib.suppress(ValueError, InvalidTag):
        blob = bytes.fromhex(wrapped)
        nonce, sealed = blob[:NONCE_BYTES], blob[NONCE_BYTES:]
        return AESGCM(master).decrypt(nonce, sealed, b"key of " + dataset.encode())
    raise Tampered("The key of a data set was changed in the database; restore it from a backup.")
