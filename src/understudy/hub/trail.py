"""The trail: what was done, by whom, to what; only added to, each entry chained to the last.

Each entry carries the SHA-256 of its content, a SHA-256 digest over that and the digest of the
entry before it, and an HMAC over that digest. So an export can show an owner her own entries and,
of all others, only the SHA-256 of their content (salted, so that nobody can guess it), and the
chain can still be checked. The head (number, digest and HMAC of the last entry) leaves the hub with
each release. What a check proves depends on what the checker has:

- *Heads alone* (an owner, from releases that she kept, and an export): everything up to the last of
  her heads is as it was when that release was made. Not even the operator can change, drop or
  reorder an entry before it: another past would need the same SHA-256 digest. Entries after her
  last head can be made up.
- *The key as well* (the operator): every entry to the end was written by the hub. Who holds the key
  can write another past, so the key convinces nobody but its holder: it guards against those who
  reach the database and not the key.
- *Neither*: that nobody made a mistake.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from understudy.errors import InputError
from understudy.hub.database import Database, Transaction
from understudy.hub.tables import trail, trail_head

TRAIL_VERSION = 1
SIGNED_FIELDS = ("number", "at", "actor", "action", "object", "details", "salt")
"""What an entry says."""

MAX_DETAILS = 20_000
"""Letters of the details of one entry."""


@dataclass(frozen=True, kw_only=True)
class TrailEntry:
    """One line of the trail."""

    number: int
    at: str
    actor: str
    action: str
    object: str
    details: str
    salt: str
    content: str
    digest: str
    mac: str


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """An entry that an export does not show."""

    number: int
    content: str


@dataclass(frozen=True, kw_only=True)
class Head:
    """The last entry's number and digest: they stand for everything up to there."""

    number: int
    digest: str
    mac: str


@dataclass(frozen=True, kw_only=True)
class TrailVerdict:
    """What a check of a trail found.

    Parameters
    ----------
    good
        Whether nothing speaks against the trail.
    entries
        How many there are.
    signed
        Whether the signatures were checked against the key.
    heads
        How many heads of releases were compared.
    findings
        What speaks against it, one sentence each.
    """

    good: bool
    entries: int
    signed: bool
    heads: int
    findings: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.good


def append(
    c: Transaction,
    actor: str,
    action: str,
    object: str,
    details: Mapping[str, Any] | None = None,
) -> Head:
    """Add an entry; it stands or falls with the transaction. Nothing private belongs in it."""
    if not c.writes:
        raise AssertionError("a transaction that reads cannot add to the trail")
    text = write_details(details or {})
    if len(text) > MAX_DETAILS:
        raise InputError("The details of this step are too long for the trail; shorten them.")
    last = read_head(c)
    entry = {
        "number": last.number + 1,
        "at": c.now.isoformat(timespec="milliseconds"),
        "actor": actor,
        "action": action,
        "object": object,
        "details": text,
        "salt": secrets.token_hex(16),
    }
    content = digest_content(entry)
    digest = chain(last.digest, content)
    head = Head(number=last.number + 1, digest=digest, mac=sign(c.trail_key, digest))
    c.execute(sa.insert(trail).values(**entry, content=content, digest=digest, mac=head.mac))
    c.execute(sa.update(trail_head).where(trail_head.c.id == 1).values(**asdict(head)))
    return head


_HEAD = sa.select(trail_head.c.number, trail_head.c.digest, trail_head.c.mac).where(
    trail_head.c.id == 1
)


def read_head(c: Transaction) -> Head:
    """The head of the trail."""
    row = c.first(_HEAD)
    if row is None:
        raise InputError("The database has no trail; it was not made by the hub.")
    return Head(**row)


def read_entries(
    c: Transaction,
    *,
    objects: Sequence[str] | None = None,
    after: int = 0,
    limit: int | None = None,
) -> list[TrailEntry]:
    """Entries in order, of some objects or of all, after a number."""
    query = sa.select(trail).where(trail.c.number > after).order_by(trail.c.number).limit(limit)
    if objects is not None:
        query = query.where(trail.c.object.in_(objects))
    return [TrailEntry(**row) for row in c.rows(query)]


def export(c: Transaction, objects: Collection[str] | None = None) -> dict[str, Any]:
    """The trail as a document that can be checked elsewhere; without the key.

    Parameters
    ----------
    c
        The transaction.
    objects
        Show the entries of these alone, and of others the digest of their content; ``None``: all.
    """
    entries: list[dict[str, Any]] = []
    for entry in read_entries(c):
        if objects is None or entry.object in objects:
            entries.append(asdict(entry))
        else:
            entries.append({"number": entry.number, "content": entry.content})
    return {
        "understudy_trail": TRAIL_VERSION,
        "head": asdict(read_head(c)),
        "entries": entries,
    }


def verify(
    source: Database | Mapping[str, Any],
    key: bytes | None = None,
    heads: Iterable[Head] = (),
) -> TrailVerdict:
    """Check a trail, in the database or in an export.

    Parameters
    ----------
    source
        The database, or an export's document.
    key
        The secret of the trail; without it digests and links are checked, and not who wrote them.
    heads
        Heads that left the hub with releases: each must be in the trail at its number.
    """
    if isinstance(source, Database):
        with source.reading() as c:
            source = export(c)
    entries, last = _read_document(source)
    kept = list(heads)
    digests, findings = _check_entries(entries, key)
    if last.number != len(entries) or last.digest != digests[len(entries)]:
        findings.append(f"The head is not that of the last entry, {len(entries)}.")
    if key is not None and entries and not _is_signed(key, last.digest, last.mac):
        findings.append("The head was not written by the hub: its signature is not the key's.")
    for head in kept:
        if not 0 <= head.number <= len(entries):
            findings.append(f"A release names entry {head.number}, which the trail has lost.")
        elif digests[head.number] != head.digest:
            findings.append(f"A release names entry {head.number}, and it was written differently.")
    return TrailVerdict(
        good=not findings,
        entries=len(entries),
        signed=key is not None,
        heads=len(kept),
        findings=tuple(findings),
    )


def digest_content(entry: Mapping[str, Any]) -> str:
    """The SHA-256 of what an entry says."""
    return hashlib.sha256(write_details(entry).encode()).hexdigest()


def chain(previous: str, content: str) -> str:
    """The digest of an entry: over the digest before it, and its content's."""
    return hashlib.sha256(f"{previous}\n{content}".encode()).hexdigest()


def sign(key: bytes, digest: str) -> str:
    """The HMAC over an entry's digest."""
    return hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()


def write_details(details: Mapping[str, Any]) -> str:
    """Details in the one form in which they are signed."""
    return json.dumps(
        details, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False
    )


def _is_signed(key: bytes, digest: str, mac: str) -> bool:
    return hmac.compare_digest(sign(key, digest).encode(), mac.encode())


def _check_entries(
    entries: Sequence[TrailEntry | Hidden], key: bytes | None
) -> tuple[list[str], list[str]]:
    """The digests, computed from the content on, and what speaks against the entries."""
    digests, findings = [""], []
    for number, entry in enumerate(entries, start=1):
        if entry.number != number:
            findings.append(f"Entry {number} is missing; entry {entry.number} is in its place.")
            break
        content, digest = entry.content, ""
        if isinstance(entry, TrailEntry):
            said = asdict(entry)
            content = digest_content({name: said[name] for name in SIGNED_FIELDS})
        digest = chain(digests[-1], content)
        if isinstance(entry, TrailEntry):
            if (content, digest) != (entry.content, entry.digest):
                findings.append(f"Entry {number} was changed after it was written.")
            if key is not None and not _is_signed(key, entry.digest, entry.mac):
                findings.append(f"Entry {number} was not written by the hub: wrong signature.")
        digests.append(digest)
    digests += [""] * (len(entries) + 1 - len(digests))
    return digests, findings


def _read_document(document: Mapping[str, Any]) -> tuple[list[TrailEntry | Hidden], Head]:
    try:
        if document["understudy_trail"] != TRAIL_VERSION:
            raise InputError("The trail was written by another version of understudy.")
        entries = [_read_entry(entry) for entry in document["entries"]]
        head = read_head_document(document["head"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError("That is not the export of a trail; make one on the hub.") from error
    return entries, head


def read_head_document(document: Mapping[str, Any]) -> Head:
    """A head as a release or an export carries it."""
    number, digest, mac = document["number"], document["digest"], document["mac"]
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError("a head's number is a number")
    return Head(number=number, digest=str(digest), mac=str(mac))


def _read_entry(entry: Mapping[str, Any]) -> TrailEntry | Hidden:
    kind = Hidden if set(entry) == {"number", "content"} else TrailEntry
    texts = {name: entry[name] for name in kind.__dataclass_fields__ if name != "number"}
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("an entry's fields are text")
    if isinstance(entry["number"], bool) or not isinstance(entry["number"], int):
        raise ValueError("an entry's number is a number")
    return kind(number=entry["number"], **texts)
