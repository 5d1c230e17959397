"""``understudy hub sign``: a provider's signature of an algorithm's package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli.hub import check_packages, hub_app
from understudy.cli.root import examples
from understudy.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@hub_app.command(epilog=examples("understudy hub sign dist/understudy_chain-1.0-py3-none-any.whl"))
def sign(
    package: Annotated[
        Path, typer.Argument(metavar="PACKAGE", help="A wheel of plain Python with methods.")
    ],
    key: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Your private key; made if there is none."),
    ] = Path("provider.key"),
) -> None:
    """Sign the package of an algorithm, to offer it at a hub."""
    check_packages()
    from understudy.data.files import existing_file
    from understudy.hub.foreign.packages import (
        MAX_PACKAGE_BYTES,
        public_key_of,
        read_package,
        sign_package,
    )

    path = existing_file(package, "package")
    if path.stat().st_size > MAX_PACKAGE_BYTES:
        raise InputError(f"A package has at most {MAX_PACKAGE_BYTES >> 20} MB.")
    data = path.read_bytes()
    read = read_package(data)
    private = load_or_make_key(key)
    typer.echo(f"package:    {read.name} {read.version}, methods {', '.join(read.modules)}")
    typer.echo(f"algorithm:  {read.digest}")
    typer.echo(f"public key: {public_key_of(private)}")
    typer.echo(f"signature:  {sign_package(data, private)}")


def load_or_make_key(path: Path) -> Ed25519PrivateKey:
    """The provider's key, readable by its owner alone."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if not path.exists():
        made = Ed25519PrivateKey.generate()
        text = made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise InputError(f"The key {path} cannot be written ({error.strerror}).") from error
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        return made
    if path.stat().st_mode & 0o077:
        raise InputError(f"Others can read the key {path}; run: chmod 600 {path}")
    try:
        found = serialization.load_pem_private_key(path.read_bytes(), None)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} is not a key that can be signed with.") from error
    if not isinstance(found, Ed25519PrivateKey):
        raise InputError(f"{path} is a key of another kind; an Ed25519 key is needed.")
    return found
