"""``understudy hub backup``, ``restore``, ``rotate`` and ``crate``: what an operator does now and
then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.hub import (
    DEFAULT_FOLDER,
    DatabaseUrl,
    DataFolder,
    KeysFile,
    check_packages,
    hub_app,
    open_existing_hub,
)
from understudy.cli.root import examples
from understudy.cli.talk import print_sentence
from understudy.errors import InputError


@hub_app.command(epilog=examples("understudy hub backup hub-2026-11-17.tar --data hub-data"))
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The archive to write.")],
    data: DataFolder = DEFAULT_FOLDER,
    database: DatabaseUrl = None,
    keys: KeysFile = None,
) -> None:
    """Write the whole hub into one archive, while it runs; the keys are not in it."""
    with open_existing_hub(data, database, keys) as hub:
        from understudy.hub import backup as backups

        made = backups.backup(hub, file)
    print_sentence(
        Console(highlight=False),
        f"{file}: {made.rows:,} rows, {made.files:,} encrypted files, up to entry "
        f"{made.head.number:,} of the trail. Keep the keys elsewhere.",
    )


@hub_app.command(epilog=examples("understudy hub restore hub-2026-11-17.tar --data new-data"))
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An archive of a backup.")],
    data: DataFolder = DEFAULT_FOLDER,
    database: DatabaseUrl = None,
    keys: KeysFile = None,
) -> None:
    """Fill a new, empty hub from a backup, on either kind of database, and check it."""
    check_packages()
    from understudy.hub import backup as backups
    from understudy.hub.keys import load_keys
    from understudy.hub.opening import open_hub

    if not file.is_file():
        raise InputError(f"There is no backup at {file}; check the name.")
    secrets = load_keys(keys, apart_from=[data])  # those of the backup: none are made here
    hub = open_hub(data, database=database, keys=secrets, create=True)
    made = backups.restore(hub, file)
    hub.close()
    print_sentence(
        Console(highlight=False),
        f"Restored as of {made.made_at}: {made.rows:,} rows and {made.files:,} files; trail and "
        "sums are right. What was spent after that moment, this hub does not know: compare the "
        "heads of later releases, and lower the budgets of stored data sets by what is missing.",
    )


@hub_app.command(epilog=examples("understudy hub rotate --data hub-data"))
def rotate(
    data: DataFolder = DEFAULT_FOLDER,
    database: DatabaseUrl = None,
    keys: KeysFile = None,
) -> None:
    """Make a new master key, wrap every data set's key by it, and drop the old one."""
    check_packages()
    from understudy.hub.keys import default_keys_path, load_keys, save_keys
    from understudy.hub.opening import open_hub

    path = keys or default_keys_path()
    if not path.exists():
        raise InputError(f"There are no keys at {path}; name their file with --keys.")
    old = load_keys(path)
    hub = open_hub(data, database=database, keys=path)
    new = old.with_new_master()
    # Saved first: whatever stops us from here on, one of the keys in the file opens everything.
    save_keys(new, path)
    count = hub.vault.rotate(new)
    save_keys(new.without_old_masters(), path)
    hub.close()
    print_sentence(
        Console(highlight=False),
        f"The keys of {count:,} data sets are wrapped by the new master key {new.master_id}. "
        "Restart the hub and its workers; backups from before need the old keys.",
    )


@hub_app.command(epilog=examples("understudy hub crate ID use-of-patients.zip --data hub-data"))
def crate(
    dataset: Annotated[str, typer.Argument(metavar="ID", help="The data set's id.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The zip file to write.")],
    data: DataFolder = DEFAULT_FOLDER,
    database: DatabaseUrl = None,
    keys: KeysFile = None,
) -> None:
    """Write who used a data set, why and with what result, as a Five Safes RO-Crate."""
    with open_existing_hub(data, database, keys) as hub:
        from understudy.hub.crate import write_crate
        from understudy.hub.records import read_dataset

        with hub.db.reading() as c:
            owner = read_dataset(c, dataset).owner
        write_crate(hub, owner, dataset, file)
