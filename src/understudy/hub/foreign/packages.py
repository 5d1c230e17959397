"""The package of a foreign algorithm: a wheel of plain Python, signed by its provider.

A package is known by the SHA-256 of its bytes. The provider signs that with an Ed25519 key, whose
public half is registered at the hub; owners allow packages one by one.
"""

from __future__ import annotations

import configparser
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from understudy.errors import InputError
from understudy.synthesizers.registry import ENTRY_POINTS

MAX_PACKAGE_BYTES = 10 << 20
MAX_UNPACKED_BYTES = 50 << 20
MAX_PACKAGE_FILES = 2000

SIGNATURE_PREFIX = b"understudy-algorithm-1:"
"""What stands before the digest in what is signed, so that the signature is good for nothing
else.
"""

KEY_BYTES, SIGNATURE_BYTES = 32, 64

_PLAIN = (".py", ".pyi", ".txt", ".md", ".json", ".csv", ".toml", ".typed")
_METADATA = ("METADATA", "RECORD", "WHEEL", "LICENSE", "entry_points.txt", "top_level.txt")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package that was looked into, and not run.

    Parameters
    ----------
    name, version, summary
        What its metadata says.
    modules
        What registers methods when it is imported, by the names of the entry points.
    data
        The archive.
    """

    name: str
    version: str
    summary: str
    modules: Mapping[str, str]
    data: bytes

    @property
    def digest(self) -> str:
        """How the package is known."""
        return digest_of(self.data)

    def unpack(self, folder: Path) -> None:
        """Write its files into an empty folder that nobody writes to afterwards."""
        with zipfile.ZipFile(io.BytesIO(self.data)) as archive:
            for entry in _files(archive):
                path = folder / entry.filename
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(entry))
                path.chmod(0o444)


def digest_of(data: bytes) -> str:
    """The SHA-256 of an archive, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def read_package(data: bytes) -> Package:
    """Look into an archive that may be hostile; nothing in it is run.

    Raises
    ------
    InputError
        Where it is not a wheel of plain Python with methods in it.
    """
    if len(data) > MAX_PACKAGE_BYTES:
        raise InputError(f"A package has at most {MAX_PACKAGE_BYTES >> 20} MB.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = {entry.filename: entry for entry in _files(archive)}
            metadata = _read(archive, names, "METADATA")
            entries = _read(archive, names, "entry_points.txt")
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise InputError(
            "The package is not a wheel that can be opened; build it again."
        ) from error
    headers = HeaderParser().parsestr(metadata)
    name, version = headers.get("Name") or "", headers.get("Version") or ""
    if not _NAME.fullmatch(name) or not _NAME.fullmatch(version):
        raise InputError("The package does not say its name and version as wheels do.")
    summary = " ".join((headers.get("Summary") or "").split())[:300]
    return Package(
        name=name, version=version, summary=summary, modules=_modules(entries), data=data
    )


def _files(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    """The files of an archive, each refused if it could do harm by being unpacked."""
    entries = archive.infolist()
    if (
        len(entries) > MAX_PACKAGE_FILES
        or sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES
    ):
        raise InputError(
            f"A package has at most {MAX_PACKAGE_FILES:,} files and {MAX_UNPACKED_BYTES >> 20} MB "
            "unpacked."
        )
    if len({entry.filename for entry in entries}) < len(entries):
        raise InputError("The package holds two files of one name.")
    for entry in entries:
        if entry.is_dir():
            continue
        path = PurePosixPath(entry.filename)
        safe = all(re.fullmatch(r"[\w.+-]+", part) and part != ".." for part in path.parts)
        link = (entry.external_attr >> 16) & 0o170000 not in (0, 0o100000)
        if path.is_absolute() or not safe or link or entry.flag_bits & 0x1:
            raise InputError("The package holds a file whose name or kind is not plain.")
        in_metadata = path.parts[0].endswith(".dist-info")
        if path.suffix not in _PLAIN and not (in_metadata and path.name in _METADATA):
            raise InputError(
                f"The package holds {entry.filename[:100]!r}; only plain Python and text can be "
                "offered, no compiled code."
            )
        yield entry


def _read(archive: zipfile.ZipFile, names: Mapping[str, zipfile.ZipInfo], which: str) -> str:
    found = [name for name in names if re.fullmatch(rf"[\w.+-]+\.dist-info/{which}", name)]
    if len(found) != 1:
        raise InputError(f"The package has no {which}, or several; build it as a wheel.")
    return archive.read(names[found[0]]).decode()


def _modules(entries: str) -> dict[str, str]:
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    try:
        parser.read_string(entries)
        found = dict(parser[ENTRY_POINTS])
    except (configparser.Error, KeyError) as error:
        raise InputError(
            f"The package has no entry point in the group {ENTRY_POINTS}; it offers no method."
        ) from error
    for module in found.values():
        if not _MODULE.fullmatch(module):
            raise InputError("An entry point of the package names no module.")
    return found


# --------------------------------------------------------------------------- signatures


def sign_package(data: bytes, key: Ed25519PrivateKey) -> str:
    """The provider's signature of an archive, in hexadecimal."""
    return key.sign(SIGNATURE_PREFIX + digest_of(data).encode()).hex()


def check_signature(data: bytes, signature: str, public_key: str) -> None:
    """Refuse an archive that the holder of a key did not sign.

    Parameters
    ----------
    data
        The archive.
    signature, public_key
        Both in hexadecimal.
    """
    try:
        key, signed = bytes.fromhex(public_key), bytes.fromhex(signature)
        if (len(key), len(signed)) != (KEY_BYTES, SIGNATURE_BYTES):
            raise ValueError("another length")
        Ed25519PublicKey.from_public_bytes(key).verify(
            signed, SIGNATURE_PREFIX + digest_of(data).encode()
        )
    except (InvalidSignature, ValueError, TypeError) as error:
        raise InputError(
            "The package is not signed by the key that its provider has registered; it is not run."
        ) from error


def public_key_of(key: Ed25519PrivateKey) -> str:
    """The public half of a key, in hexadecimal."""
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
