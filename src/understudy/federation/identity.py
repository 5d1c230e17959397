"""Who is who: certificates that each party makes for itself and the others pin.

Nobody signs for anybody else. Every party makes one key and one certificate signed by that key,
hands the certificate (never the key) to the others, and they accept exactly that certificate and no
other. The same key signs what a holder says to its peers through an analyst whom neither of them
trusts.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import ssl
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from understudy.data.files import existing_file, writable_file
from understudy.errors import InputError

DAYS = 825
"""For how long a certificate is good unless somebody says otherwise: a little over two years."""

MAX_FILE_BYTES = 1 << 16
"""No certificate and no key is larger than this many bytes."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")


def check_name(name: str) -> str:
    """Return a party's name if it can stand in certificates, files and logs as it is."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"The name {name!r} cannot be a party's: use 1 to 64 letters, digits, dots, dashes or "
            "underscores, such as north-hospital."
        )
    return name


@dataclass(frozen=True)
class Certificate:
    """What a party shows of itself: its name and its public key. Not secret."""

    name: str
    der: bytes = field(repr=False)

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate that :meth:`Identity.save` wrote."""
        path = existing_file(path, "certificate")
        return cls.from_pem(_content(path, "certificate").decode("utf-8", "replace"), str(path))

    @classmethod
    def from_pem(cls, text: str, source: str) -> Certificate:
        """Read the content of a certificate's file."""
        if "PRIVATE KEY" in text:
            raise InputError(
                f"{source} holds a private key, which is nobody's business but its owner's; name "
                "the certificate (.pem)."
            )
        try:
            found = x509.load_pem_x509_certificates(text.encode("utf-8", "replace"))
        except ValueError as error:
            raise InputError(
                f"{source} is not a certificate; make one by understudy holder cert."
            ) from error
        if len(found) != 1:
            raise InputError(
                f"{source} holds {len(found)} certificates; name a file with exactly one."
            )
        try:
            return cls.from_der(found[0].public_bytes(serialization.Encoding.DER))
        except ValueError as error:
            raise InputError(f"The certificate {source} cannot be used: {error}.") from error

    @classmethod
    def from_der(cls, der: bytes) -> Certificate:
        """Check a certificate and read its name; a ``ValueError`` says what is wrong with it."""
        found = x509.load_der_x509_certificate(der)
        names = [name.value for name in found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        if len(names) != 1 or not isinstance(names[0], str) or not _NAME.fullmatch(names[0]):
            raise ValueError("it does not name one party")
        key = found.public_key()
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError(
                "its key is not an Ed25519 key; make a certificate by understudy holder cert"
            )
        try:
            key.verify(found.signature, found.tbs_certificate_bytes)
        except InvalidSignature:
            raise ValueError("it was not signed by its own key") from None
        if found.not_valid_after_utc < dt.datetime.now(dt.UTC):
            raise ValueError(
                f"it ran out on {found.not_valid_after_utc:%Y-%m-%d}; its owner must make a new one"
            )
        return cls(names[0], der)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the certificate, to compare over the telephone."""
        digest = hashlib.sha256(self.der).hexdigest()
        return ":".join(digest[i : i + 4] for i in range(0, len(digest), 4))

    @property
    def pem(self) -> str:
        """The certificate as it stands in a file."""
        return ssl.DER_cert_to_PEM_cert(self.der)

    def verify(self, signature: bytes, message: bytes) -> bool:
        """Whether this party, and nobody else, signed the message."""
        key = x509.load_der_x509_certificate(self.der).public_key()
        assert isinstance(key, Ed25519PublicKey)
        try:
            key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True)
class Identity:
    """A party itself: its certificate and the key that goes with it, which stays at home."""

    certificate: Certificate
    _key: Ed25519PrivateKey = field(repr=False)
    _files: tuple[Path, Path] | None = None
    """Where certificate and key lie; a party that was only ever in memory has no use for TLS."""

    @classmethod
    def new(cls, name: str, days: int = DAYS) -> Identity:
        """Make a key and a certificate signed by it."""
        check_name(name)
        if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= 3650:
            raise InputError(f"A certificate is good for 1 to 3650 days, not {days!r}.")
        key = Ed25519PrivateKey.generate()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = dt.datetime.now(dt.UTC)
        # "ca" is false: whoever pins this certificate accepts it alone, and nothing that its owner
        # might sign with it.
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))  # clocks differ
            .not_valid_after(now + dt.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .add_extension(
                x509.ExtendedKeyUsage(
                    [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
                ),
                critical=False,
            )
            .sign(key, None)
        )
        return cls(Certificate(name, certificate.public_bytes(serialization.Encoding.DER)), key)

    @property
    def name(self) -> str:
        """The party's name."""
        return self.certificate.name

    def sign(self, message: bytes) -> bytes:
        """Sign a message so that all who pinned the certificate know whose it is."""
        return self._key.sign(message)

    def save(self, certificate: str | Path, key: str | Path) -> Identity:
        """Write two files: the certificate for everybody, the key for its owner's eyes. Neither is
        ever overwritten.
        """
        certificate, key = writable_file(certificate, "certificate"), writable_file(key, "key")
        for path in (key, certificate):
            if os.path.lexists(path):
                raise InputError(
                    f"There is a file at {path} already; it is never overwritten: choose another "
                    "name."
                )
        _write_new(key, self._pem(), 0o600)
        try:
            _write_new(certificate, self.certificate.pem.encode(), 0o644)
        except InputError:
            key.unlink()  # half an identity is of no use to anybody
            raise
        return replace(self, _files=(certificate, key))

    @classmethod
    def load(cls, certificate: str | Path, key: str | Path) -> Identity:
        """Read both files; they must belong together, and the key must be readable by its owner
        alone.
        """
        shown = Certificate.load(certificate)
        path = existing_file(key, "key")
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise InputError(
                f"The key {path} can be read by others; take it away from them: chmod 600 {path}"
            )
        try:
            found = serialization.load_pem_private_key(_content(path, "key"), None)
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{path} is not a private key; make one by understudy holder cert."
            ) from error
        if not isinstance(found, Ed25519PrivateKey):
            raise InputError(
                f"The key {path} is not an Ed25519 key; make one by understudy holder cert."
            )
        identity = cls(shown, found, (Path(certificate), path))
        if not shown.verify(identity.sign(b"does the key fit?"), b"does the key fit?"):
            raise InputError(
                f"The key {path} does not belong to the certificate {certificate}; name the pair."
            )
        return identity

    def tls(self, pinned: Sequence[Certificate], *, serving: bool) -> ssl.SSLContext:
        """TLS 1.3 in which this party shows its certificate and accepts the pinned ones, and no
        other.

        Names and addresses in certificates are not looked at: a pinned certificate says who it is
        by itself.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if serving else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata="".join(certificate.pem for certificate in pinned))
        if self._files is None:
            raise InputError("TLS takes certificate and key from files; save the identity first.")
        context.load_cert_chain(*self._files)
        return context

    def _pem(self) -> bytes:
        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


def _content(path: Path, what: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"The {what} {path} cannot be read: {error.strerror or error}.") from error
    if len(content) > MAX_FILE_BYTES:
        raise InputError(f"{path} is too large to be a {what}; is it the right file?")
    return content


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that must not be there yet, with its permissions from the first moment on."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError as error:
        raise InputError(
            f"There is a file at {path} already; it is never overwritten: choose another name."
        ) from error
    except OSError as error:
        raise InputError(f"{path} could not be written ({error.strerror}).") from error
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


# ------------------------------------- the file that names all parties


@dataclass(frozen=True)
class Party:
    """One entry of the file that names the parties."""

    certificate: Certificate
    address: str = ""
    """Where a holder listens, as host:port; analysts listen nowhere."""

    @property
    def name(self) -> str:
        """The party's name."""
        return self.certificate.name


@dataclass(frozen=True)
class Parties:
    """Who takes part: the holders, in an order that all agree on, and the analysts who may ask
    them.

    One file serves everybody, and holds nothing secret::

        [[holder]]
        name = "north"
        address = "north.example:8443"
        certificate = "north.pem"        # beside this file, or an absolute path

        [[analyst]]
        name = "registry"
        certificate = "registry.pem"

    Where holders upload encrypted tables and go offline, they stand under ``[[owner]]``, without an
    address, and there is one ``[[service]]`` with an address, which holds the key.
    """

    holders: tuple[Party, ...]
    analysts: tuple[Party, ...]
    owners: tuple[Party, ...] = ()
    services: tuple[Party, ...] = ()

    @classmethod
    def load(cls, path: str | Path) -> Parties:
        """Read the file and the certificates that it names."""
        path = existing_file(path, "list of parties")
        try:
            document = tomllib.loads(_content(path, "list of parties").decode())
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InputError(f"{path} is not a list of parties in TOML: {error}.") from error
        unknown = sorted(document.keys() - set(_KINDS))
        if unknown:
            raise InputError(
                f"{path} has {unknown[0]!r}; parties stand under [[holder]] and [[analyst]]."
            )
        parties = cls(
            *(
                tuple(read_party(entry, kind, path) for entry in _entries(document, kind, path))
                for kind in _KINDS
            )
        )
        everybody = parties.holders + parties.analysts + parties.owners + parties.services
        for what, values in (
            ("name", [party.name for party in everybody]),
            ("certificate", [party.certificate.fingerprint for party in everybody]),
            ("address", [party.address for party in (*parties.holders, *parties.services)]),
        ):
            twice = next((value for i, value in enumerate(values) if value in values[:i]), None)
            if twice is not None:
                raise InputError(
                    f"{path}: two parties have the same {what} ({twice}); every party has its own."
                )
        if not parties.holders and not parties.owners:
            raise InputError(
                f"{path} names no holder; add one under [[holder]] with name, address and "
                "certificate."
            )
        return parties


_KINDS = ("holder", "analyst", "owner", "service")
_LISTENING = ("holder", "service")


def _entries(document: dict[str, Any], kind: str, path: Path) -> list[dict[str, Any]]:
    entries = document.get(kind, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(
            f"{path}: write [[{kind}]] with two brackets each side, once for every {kind}."
        )
    return entries


def read_party(entry: dict[str, Any], kind: str, path: Path) -> Party:
    """An entry of a file that names parties."""
    wanted = ["name", "certificate"]
    if kind in _LISTENING:
        wanted.insert(1, "address")
    for name in wanted:
        if not isinstance(entry.get(name), str) or not entry[name]:
            raise InputError(f'{path}: a [[{kind}]] lacks its {name}; add {name} = "...".')
    unknown = sorted(entry.keys() - set(wanted))
    if unknown:
        raise InputError(
            f"{path}: the {kind} {entry['name']} has {unknown[0]!r}; known are {', '.join(wanted)}."
        )
    certificate = Certificate.load(path.parent / entry["certificate"])
    if certificate.name != check_name(entry["name"]):
        raise InputError(
            f"{path}: the {kind} {entry['name']} has the certificate of {certificate.name} "
            f"({entry['certificate']}); name the right file."
        )
    address = entry.get("address", "")
    if kind in _LISTENING and not _ADDRESS.fullmatch(address):
        raise InputError(
            f"{path}: the address of {entry['name']} must be host:port, such as "
            f"north.example:8443, not {address!r}."
        )
    return Party(certificate, address)
