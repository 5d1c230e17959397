"""Backup and restore of a whole hub: its tables, its vault and its worker's ledgers, without keys.

A backup is one archive: the rows of all tables as they were at one moment, as JSON lines, the
encrypted files that those rows name, and the ledger files of stored data sets. Writers go on
meanwhile. It does not depend on the database, so a hub that has outgrown SQLite is restored into
PostgreSQL.

A restored hub remembers what was spent up to the moment of its backup, and no more. Agents keep
ledgers of their own and refuse what is spent already; the worker's ledgers are in the backup and as
old as it is, so :func:`restore` says from when it is.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import io
import json
import os
import re
import secrets
import tarfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub import budgets, trail
from understudy.hub.amounts import read_amount, write_amount
from understudy.hub.column_kinds import Amount, Time
from understudy.hub.database import Transaction
from understudy.hub.errors import Unavailable
from understudy.hub.migrations import LAYOUT
from understudy.hub.opening import LEDGERS, Hub
from understudy.hub.tables import metadata, trail_head, users, vault_objects

BACKUP_VERSION = 1
MANIFEST = "backup.json"
ROWS_PER_BACKUP = 500
_KEPT_FILE = re.compile(r"vault/[a-z2-7]{16}/[a-z2-7]{16}|ledgers/[a-z2-7]{16}\.ledger")


@dataclass(frozen=True, kw_only=True)
class Backup:
    """What an archive holds."""

    made_at: str
    layout: str
    head: trail.Head
    rows: int
    files: int


def backup(hub: Hub, path: str | Path) -> Backup:
    """Write an archive, whole or not at all, while the hub goes on."""
    path = Path(path)
    if path.exists():
        raise InputError(f"There is a file {path} already; name another for the backup.")
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                made = _write_archive(hub, archive)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise Unavailable(f"The backup cannot be written to {path} ({error.strerror}).") from error
    finally:
        partial.unlink(missing_ok=True)
    return made


def restore(hub: Hub, path: str | Path) -> Backup:
    """Fill an empty hub from an archive, check it, or leave the hub empty.

    The trail must verify with the hub's key and the sums must agree with the journal.
    """
    with hub.db.reading() as c:
        if c.first(sa.select(users.c.id).limit(1)) is not None:
            raise InputError("This hub is not empty; restore into a new folder and database.")
    files: list[Path] = []
    try:
        with tarfile.open(path, mode="r:") as archive:
            made = _read_manifest(archive)
            _restore_files(hub, archive, made, files)
            with hub.db.transaction() as c:
                _restore_tables(c, archive, made)
                _check(c, hub)
        files.clear()
    except (tarfile.TarError, KeyError, ValueError, TypeError, UnicodeError) as error:
        raise InputError(f"{path} is not a backup of a hub, or is damaged.") from error
    except OSError as error:
        raise InputError(f"The backup {path} cannot be read ({error.strerror}).") from error
    finally:
        for file in files:
            file.unlink(missing_ok=True)
    return _describe(made)


# --------------------------------------------------------------------------- writing


def _write_archive(hub: Hub, archive: tarfile.TarFile) -> Backup:
    rows = 0
    digests: dict[str, str] = {}
    with hub.db.reading() as c:
        head = trail.read_head(c)
        for table in metadata.sorted_tables:
            content, count = _dump(c, table)
            name = f"tables/{table.name}.jsonl"
            digests[name] = hashlib.sha256(content).hexdigest()
            _add(archive, name, content)
            rows += count
        stored = c.rows(sa.select(vault_objects.c.id, vault_objects.c.dataset))
        made_at = c.now
    # Files are written before the rows that name them, and never changed: after the snapshot,
    # everything that it names is there, unless it was swept because nothing used it.
    files = 0
    for row in stored:
        source = hub.vault.folder / row["dataset"] / row["id"]
        if source.exists():
            archive.add(source, f"vault/{row['dataset']}/{row['id']}", recursive=False)
            files += 1
    # The worker's ledgers last: they may know of more than the rows do, never of less.
    for source in sorted((hub.folder / LEDGERS).glob("*.ledger")):
        _add(archive, f"{LEDGERS}/{source.name}", source.read_bytes())
        files += 1
    document = {
        "understudy_hub_backup": BACKUP_VERSION,
        "made_at": made_at.isoformat(timespec="seconds"),
        "layout": LAYOUT,
        "head": asdict(head),
        "rows": rows,
        "files": files,
        "sha256": digests,
    }
    _add(archive, MANIFEST, json.dumps(document, indent=2).encode())
    return _describe(document)


def _dump(c: Transaction, table: sa.Table) -> tuple[bytes, int]:
    lines = []
    for row in c.execute(sa.select(table).order_by(*table.primary_key.columns)):
        values = {
            column.name: _to_json(column, value)
            for column, value in zip(table.columns, row, strict=True)
        }
        lines.append(json.dumps(values, separators=(",", ":")))
    return "".join(f"{line}\n" for line in lines).encode(), len(lines)


def _to_json(column: sa.Column[Any], value: Any) -> Any:
    if isinstance(value, Fraction):
        return write_amount(value)
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(column.type, sa.JSON) and value is None:
        return None
    return value


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = 0o600
    archive.addfile(entry, io.BytesIO(content))


# --------------------------------------------------------------------------- reading


def _read_manifest(archive: tarfile.TarFile) -> dict[str, Any]:
    document = json.loads(_read_member(archive, MANIFEST))
    if document["understudy_hub_backup"] != BACKUP_VERSION or document["layout"] != LAYOUT:
        raise InputError(
            f"The backup has layout {document['layout']}, and this version has {LAYOUT}; restore "
            "it with the version of understudy that made it, then upgrade."
        )
    return dict(document)


def _read_member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise ValueError("not a plain file")
    return file.read()


def _restore_files(
    hub: Hub, archive: tarfile.TarFile, document: dict[str, Any], made: list[Path]
) -> None:
    """Write the files of vault and worker; what is there already is left alone and refused."""
    for member in archive:
        if _KEPT_FILE.fullmatch(member.name) is None:
            continue  # a table; or a name that the hub would never have given
        source = archive.extractfile(member)
        if source is None:
            raise ValueError("not a plain file")
        target = hub.folder / member.name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with target.open("xb") as file:
            made.append(target)
            while block := source.read(1 << 20):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
    if len(made) != document["files"]:
        raise InputError("The backup lacks files, and was not restored.")


def _restore_tables(c: Transaction, archive: tarfile.TarFile, document: dict[str, Any]) -> None:
    c.execute(sa.delete(trail_head))  # an empty hub has a head of its own
    for table in metadata.sorted_tables:
        name = f"tables/{table.name}.jsonl"
        content = _read_member(archive, name)
        if hashlib.sha256(content).hexdigest() != document["sha256"][name]:
            raise InputError(f"The backup is damaged in {name}, and was not restored.")
        for batch in _batches(table, content):
            c.execute(sa.insert(table), batch)
    if c.connection.dialect.name == "postgresql":
        _count_on(c)


def _batches(table: sa.Table, content: bytes) -> Iterator[list[dict[str, Any]]]:
    lines = content.decode().splitlines()
    for start in range(0, len(lines), ROWS_PER_BACKUP):
        yield [
            {
                name: _from_json(table.columns[name], value)
                for name, value in json.loads(line).items()
            }
            for line in lines[start : start + ROWS_PER_BACKUP]
        ]


def _from_json(column: sa.Column[Any], value: Any) -> Any:
    if value is None:
        return sa.null() if isinstance(column.type, sa.JSON) else None
    if isinstance(column.type, Amount):
        return read_amount(value)
    if isinstance(column.type, Time):
        return dt.datetime.fromisoformat(value)
    if isinstance(column.type, sa.LargeBinary):
        return base64.b64decode(value)
    return value


def _count_on(c: Transaction) -> None:
    """PostgreSQL's own counters go on after the last number that was restored."""
    for table in metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None:
            continue
        last = c.value(sa.select(sa.func.max(column)))
        if last is not None:
            place = sa.func.pg_get_serial_sequence(table.name, column.name)
            c.execute(sa.select(sa.func.setval(place, last)))


def _check(c: Transaction, hub: Hub) -> None:
    verdict = trail.verify(trail.export(c), hub.keys.trail)
    for finding in (*verdict.findings, *budgets.check_sums(c)):
        raise InputError(f"The backup is not sound, and was not restored: {finding}")


def _describe(document: dict[str, Any]) -> Backup:
    return Backup(
        made_at=str(document["made_at"]),
        layout=str(document["layout"]),
        head=trail.read_head_document(document["head"]),
        rows=int(document["rows"]),
        files=int(document["files"]),
    )
