"""Certificates and keys: who is let in, and how mistakes with the files are told."""

from __future__ import annotations

import datetime as dt
import re
import socket
import ssl
import threading
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from understudy import InputError
from understudy.federation.identity import Certificate, Identity, Parties


def made(folder: Path, name: str, file: str | None = None) -> Identity:
    file = file or name
    return Identity.new(name).save(folder / f"{file}.pem", folder / f"{file}.key")


def certificate(name: str, issuer: str, key: object, signer: object, days: int = 9) -> bytes:
    """A certificate that Understudy would not make."""
    now = dt.datetime.now(dt.UTC)
    named = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, who)]) for who in (name, issuer)]
    builder = (
        x509.CertificateBuilder()
        .subject_name(named[0])
        .issuer_name(named[1])
        .public_key(key.public_key())  # type: ignore[attr-defined]
        .serial_number(7)
        .not_valid_before(now - dt.timedelta(days=20))
        .not_valid_after(now + dt.timedelta(days=days))
    )
    return builder.sign(signer, None).public_bytes(serialization.Encoding.PEM)  # type: ignore[arg-type]


# ---- files


def test_a_party_is_what_it_was_after_saving_and_loading(tmp_path: Path) -> None:
    north = made(tmp_path, "north")
    again = Identity.load(tmp_path / "north.pem", tmp_path / "north.key")
    assert again.certificate == north.certificate == Certificate.load(tmp_path / "north.pem")
    assert again.name == "north"
    assert re.fullmatch(r"([0-9a-f]{4}:){15}[0-9a-f]{4}", north.certificate.fingerprint)
    assert north.certificate.verify(again.sign(b"hello"), b"hello")
    assert not north.certificate.verify(again.sign(b"hello"), b"hallo")
    assert not north.certificate.verify(made(tmp_path, "south").sign(b"hello"), b"hello")


def test_the_key_is_its_owners_alone_and_nothing_is_overwritten(tmp_path: Path) -> None:
    made(tmp_path, "north")
    key, shown = tmp_path / "north.key", tmp_path / "north.pem"
    assert key.stat().st_mode & 0o777 == 0o600
    before = key.read_bytes(), shown.read_bytes()
    with pytest.raises(InputError, match=r"north\.key already; it is never overwritten"):
        made(tmp_path, "north")
    key.rename(tmp_path / "elsewhere.key")
    with pytest.raises(InputError, match=r"north\.pem already"):
        made(tmp_path, "north")
    assert not key.exists()
    assert ((tmp_path / "elsewhere.key").read_bytes(), shown.read_bytes()) == before


def test_a_key_does_not_show_in_print(tmp_path: Path) -> None:
    north = made(tmp_path, "north")
    body = (tmp_path / "north.key").read_text().splitlines()[1]
    assert body not in repr(north)
    assert "Ed25519" not in repr(north)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda f: (f / "north.key").chmod(0o640),
            "can be read by others; take it away from them: chmod 600",
        ),
        (lambda f: (f / "north.key").unlink(), "There is no key at"),
        (lambda f: (f / "north.key").write_text("hello"), "is not a private key"),
        (
            lambda f: (f / "north.pem").write_text("hello"),
            "is not a certificate; make one by understudy holder cert",
        ),
        (
            lambda f: (f / "north.pem").write_bytes((f / "north.pem").read_bytes() * 2),
            "holds 2 certificates",
        ),
        (lambda f: (f / "north.pem").write_bytes(b"x" * 99_999), "too large to be a certificate"),
        (
            lambda f: (f / "north.pem").write_bytes((f / "north.key").read_bytes()),
            "holds a private key",
        ),
        (
            lambda f: (f / "north.key").write_bytes(
                ec.generate_private_key(ec.SECP256R1()).private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                )
            ),
            "is not an Ed25519 key",
        ),
        (
            lambda f: (f / "north.pem").write_bytes((f / "south.pem").read_bytes()),
            "does not belong to the certificate",
        ),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, spoil: object, sentence: str) -> None:
    made(tmp_path, "north")
    made(tmp_path, "south")
    spoil(tmp_path)  # type: ignore[operator]
    with pytest.raises(InputError, match=sentence):
        Identity.load(tmp_path / "north.pem", tmp_path / "north.key")


def test_certificates_of_others_making(tmp_path: Path) -> None:
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    curve = ec.generate_private_key(ec.SECP256R1())
    for pem, sentence in (
        (certificate("north", "north", key, other), "not signed by its own key"),
        (certificate("north", "north", curve, key), "its key is not an Ed25519 key"),
        (certificate("two words", "two words", key, key), "does not name one party"),
        (
            certificate("north", "north", key, key, days=-2),
            r"ran out on 20..-..-..; its owner must make a new one",
        ),
    ):
        (tmp_path / "c.pem").write_bytes(pem)
        with pytest.raises(InputError, match=sentence):
            Certificate.load(tmp_path / "c.pem")


@pytest.mark.parametrize("name", ["", "two words", "a/b", "-north", "x" * 65, "nørth", "a\nb"])
def test_names_that_cannot_stand_in_a_log(name: str) -> None:
    with pytest.raises(InputError, match="cannot be a party's"):
        Identity.new(name)


@pytest.mark.parametrize("days", [1, 3650])
def test_the_fewest_and_the_most_days(days: int) -> None:
    assert Identity.new("north", days).name == "north"


@pytest.mark.parametrize("days", [0, -1, 3651, True, 1.5])
def test_days_that_make_no_sense(days: int) -> None:
    with pytest.raises(InputError, match="1 to 3650 days"):
        Identity.new("north", days)


# ---- TLS


def met(server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[bytes, str]:
    """The certificate that the server saw and what the client heard; an ``OSError`` where one
    refused the other.
    """
    ends = socket.socketpair()
    seen: list[bytes] = []

    def answer() -> None:
        try:
            with server.wrap_socket(ends[0], server_side=True) as channel:
                seen.append(channel.getpeercert(binary_form=True) or b"")
                channel.sendall(b"hello")
        except OSError:
            ends[0].close()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        with client.wrap_socket(ends[1]) as channel:
            heard = channel.recv(5)
            assert channel.version() == "TLSv1.3"
    finally:
        ends[1].close()
        thread.join()
    return seen[0], heard.decode()


def test_pinned_certificates_meet(tmp_path: Path) -> None:
    north, analyst, other = (made(tmp_path, name) for name in ("north", "analyst", "other"))
    server = north.tls([other.certificate, analyst.certificate], serving=True)
    assert met(server, analyst.tls([north.certificate], serving=False)) == (
        analyst.certificate.der,
        "hello",
    )


def test_all_other_certificates_are_refused(tmp_path: Path) -> None:
    north, analyst, other = (made(tmp_path, name) for name in ("north", "analyst", "other"))
    namesake = made(tmp_path, "analyst", "namesake")
    server = north.tls([analyst.certificate], serving=True)
    for stranger in (other, namesake):
        with pytest.raises(OSError, match="unknown ca"):
            met(server, stranger.tls([north.certificate], serving=False))
    with pytest.raises(OSError, match="verify failed"):
        met(server, analyst.tls([other.certificate], serving=False))
    nameless = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    nameless.check_hostname, nameless.verify_mode = False, ssl.CERT_NONE
    with pytest.raises(OSError, match="certificate required"):
        met(server, nameless)


def test_what_a_pinned_party_signs_for_another_is_refused(tmp_path: Path) -> None:
    north, analyst = made(tmp_path, "north"), made(tmp_path, "analyst")
    signer = serialization.load_pem_private_key((tmp_path / "analyst.key").read_bytes(), None)
    key = Ed25519PrivateKey.generate()
    chain = certificate("deputy", "analyst", key, signer) + (tmp_path / "analyst.pem").read_bytes()
    (tmp_path / "deputy.pem").write_bytes(chain)
    (tmp_path / "deputy.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.load_cert_chain(tmp_path / "deputy.pem", tmp_path / "deputy.key")
    with pytest.raises(OSError, match=r"unknown ca|bad certificate|certificate unknown"):
        met(north.tls([analyst.certificate], serving=True), client)


def test_tls_before_1_3_is_refused_on_either_side(tmp_path: Path) -> None:
    north, analyst = made(tmp_path, "north"), made(tmp_path, "analyst")

    def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
        return (
            north.tls([analyst.certificate], serving=True),
            analyst.tls([north.certificate], serving=False),
        )

    for place in (0, 1):
        both = contexts()
        old = both[place]
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(OSError, match=r"protocol version|unsupported protocol|EOF"):
            met(*both)
    both = contexts()
    for old in both:  # the two would understand each other
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(AssertionError, match=r"TLSv1\.2"):
        met(*both)


def test_a_party_that_was_never_saved_has_no_tls() -> None:
    north = Identity.new("north")
    with pytest.raises(InputError, match="save the identity first"):
        north.tls([north.certificate], serving=True)


# ---- the list of parties

GOOD = """
[[holder]]
name = "north"
address = "127.0.0.1:8443"
certificate = "north.pem"

[[holder]]
name = "south"
address = "[::1]:8444"
certificate = "south.pem"

[[analyst]]
name = "registry"
certificate = "registry.pem"
"""


@pytest.fixture
def parties(tmp_path: Path) -> Path:
    for name in ("north", "south", "registry"):
        made(tmp_path, name)
    (tmp_path / "parties.toml").write_text(GOOD)
    return tmp_path / "parties.toml"


def test_a_list_of_parties(parties: Path) -> None:
    found = Parties.load(parties)
    assert [(party.name, party.address) for party in found.holders] == [
        ("north", "127.0.0.1:8443"),
        ("south", "[::1]:8444"),
    ]
    assert [party.name for party in found.analysts] == ["registry"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "[[holder]]",
            "[[holders]]",
            r"has 'holders'; parties stand under \[\[holder\]\] and \[\[analyst\]\]",
        ),
        ("[[analyst]]", "[analyst]", r"write \[\[analyst\]\] with two brackets"),
        ('name = "north"', "", "lacks its name"),
        ('address = "127.0.0.1:8443"', "", "lacks its address"),
        ("certificate = ", "cert = ", "lacks its certificate"),
        (
            'name = "registry"',
            'name = "registry"\nport = 3',
            "registry has 'port'; known are name, certificate",
        ),
        ("127.0.0.1:8443", "https://127.0.0.1:8443", "the address of north must be host:port"),
        ("127.0.0.1:8443", "north", "the address of north must be host:port, such as"),
        (
            '"north.pem"',
            '"south.pem"',
            r"the holder north has the certificate of south \(south.pem\)",
        ),
        ('"north.pem"', '"nowhere.pem"', "There is no certificate at"),
        ("127.0.0.1:8443", "[::1]:8444", "two parties have the same address"),
        ("[[holder]]", "[[holder", "is not a list of parties in TOML"),
    ],
)
def test_lists_that_cannot_be_used(parties: Path, old: str, new: str, sentence: str) -> None:
    parties.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError, match=sentence):
        Parties.load(parties)


def test_a_party_stands_in_the_list_once(parties: Path) -> None:
    parties.write_text(GOOD + '[[analyst]]\nname = "north"\ncertificate = "north.pem"\n')
    with pytest.raises(InputError, match="two parties have the same name"):
        Parties.load(parties)
    parties.write_text('[[analyst]]\nname = "registry"\ncertificate = "registry.pem"\n')
    with pytest.raises(InputError, match="names no holder"):
        Parties.load(parties)
