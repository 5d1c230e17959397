"""The hub's secrets: the master key of the vault, the key of the trail, the key of cookies.

They come from a file or from the environment, and never lie in the folder of the database: who
copies that folder must not have what opens it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from understudy.errors import InputError

KEYS_VERSION = 1
KEY_BYTES = 32
VARIABLE = "UNDERSTUDY_HUB_KEYS"
"""Of the environment: the document of the keys itself, for containers that have no files."""


@dataclass(frozen=True, kw_only=True)
class Keys:
    """Secrets; the first master key wraps what is new, the others open what is old."""

    masters: Mapping[str, bytes] = field(repr=False)
    trail: bytes = field(repr=False)
    cookies: bytes = field(repr=False)

    @property
    def master_id(self) -> str:
        """The id of the master key in use."""
        return next(iter(self.masters))

    def with_new_master(self) -> Keys:
        """The same with a new master key in front; the old ones still open what they wrapped."""
        return replace(self, masters=_new_master() | dict(self.masters))

    def without_old_masters(self) -> Keys:
        """The same with the first master key alone."""
        return replace(self, masters={self.master_id: self.masters[self.master_id]})


def make_keys() -> Keys:
    """New secrets from the operating system."""
    return Keys(
        masters=_new_master(),
        trail=secrets.token_bytes(KEY_BYTES),
        cookies=secrets.token_bytes(KEY_BYTES),
    )


def default_keys_path() -> Path:
    """Where keys are if nobody says: with the settings of the person who runs the hub."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "understudy" / "hub.keys"


def load_keys(
    path: Path | None = None, *, apart_from: Sequence[Path] = (), create: bool = False
) -> Keys:
    """Read the keys from the environment or a file.

    Parameters
    ----------
    path
        The file; ``None``: the environment's keys, or else the default place.
    apart_from
        The folders of the database and the vault, in which keys are refused.
    create
        Whether to make the file if there is none.
    """
    text = os.environ.get(VARIABLE)
    if path is None and text:
        return read_keys(text, f"the environment variable {VARIABLE}")
    path = (path or default_keys_path()).resolve()
    if any(path.is_relative_to(folder.resolve()) for folder in apart_from):
        raise InputError(
            f"The keys {path} lie in the folder of the data that they open; move them elsewhere, "
            "on another disk or in a secret store."
        )
    if create and not path.exists():
        save_keys(make_keys(), path)
    try:
        mode = path.stat().st_mode
        document = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"The keys {path} cannot be read ({error.strerror}).") from None
    if os.name == "posix" and mode & 0o077:
        raise InputError(f"Others can read the keys {path}; run: chmod 600 {path}")
    return read_keys(document, str(path))


def read_keys(text: str, place: str) -> Keys:
    """The keys of a document."""
    try:
        document = json.loads(text)
        if document["understudy_hub_keys"] != KEYS_VERSION:
            raise ValueError("another version")
        masters = {str(entry["id"]): _read_key(entry["key"]) for entry in document["masters"]}
        if not masters:
            raise ValueError("no master key")
        trail, cookies = _read_key(document["trail"]), _read_key(document["cookies"])
    except (KeyError, TypeError, ValueError):
        # The cause is not repeated: it may hold a secret.
        raise InputError(f"The keys in {place} cannot be read; restore them.") from None
    return Keys(masters=masters, trail=trail, cookies=cookies)


def write_keys(keys: Keys) -> str:
    """The document of the keys."""
    masters = [{"id": name, "key": key.hex()} for name, key in keys.masters.items()]
    document = {
        "understudy_hub_keys": KEYS_VERSION,
        "masters": masters,
        "trail": keys.trail.hex(),
        "cookies": keys.cookies.hex(),
    }
    return json.dumps(document, indent=2) + "\n"


def save_keys(keys: Keys, path: Path) -> None:
    """Write the keys for their owner's eyes only, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(write_keys(keys))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _new_master() -> dict[str, bytes]:
    return {secrets.token_hex(4): secrets.token_bytes(KEY_BYTES)}


def _read_key(text: Any) -> bytes:
    key = bytes.fromhex(text)
    if len(key) != KEY_BYTES:
        raise ValueError("a key of another length")
    return key
