"""A hub on disk: its database, its vault and its keys, opened together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from understudy.errors import InputError
from understudy.hub.database import Clock, Database, read_clock, read_url
from understudy.hub.keys import Keys, load_keys
from understudy.hub.vault import Vault

DATABASE = "hub.sqlite"
VAULT = "vault"
LEDGERS = "ledgers"
"""Where the worker keeps the ledger files of stored data sets."""


@dataclass(frozen=True, kw_only=True)
class Hub:
    """An opened hub."""

    folder: Path
    db: Database
    vault: Vault
    keys: Keys

    def close(self) -> None:
        """Close its connections."""
        self.db.close()


def open_hub(
    folder: str | Path,
    *,
    database: str | None = None,
    keys: Keys | Path | None = None,
    create: bool = False,
    clock: Clock = read_clock,
) -> Hub:
    """Open a hub, and bring its tables to today's layout.

    Parameters
    ----------
    folder
        Where the database (unless it is PostgreSQL) and the vault are.
    database
        A URL of PostgreSQL's, or of another file; ``None``: ``hub.sqlite`` in the folder.
    keys
        The keys, or their file; ``None``: from the environment or the default place.
    create
        Whether to start a hub, and keys, where there is none.
    clock
        Where the time comes from.
    """
    folder = Path(folder)
    if create:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not folder.is_dir():
        raise InputError(f"There is no hub at {folder}; start one with: understudy hub serve")
    url = read_url(database or folder / DATABASE)
    if not isinstance(keys, Keys):
        places = [folder]
        if url.get_backend_name() == "sqlite":
            places.append(Path(str(url.database)).parent)
        keys = load_keys(keys, apart_from=places, create=create)
    db = Database(str(url.render_as_string(hide_password=False)), trail_key=keys.trail, clock=clock)
    db.migrate()
    return Hub(folder=folder, db=db, vault=Vault(db, folder / VAULT, keys), keys=keys)
