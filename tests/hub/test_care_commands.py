"""``understudy hub backup``, ``restore``, ``rotate`` and ``crate``."""

from __future__ import annotations

from pathlib import Path

import pytest
from core_hubs import add_dataset, add_user
from typer.testing import CliRunner

from understudy.cli.hub import hub_app
from understudy.hub.keys import load_keys, make_keys, save_keys
from understudy.hub.opening import open_hub

RUN = CliRunner()


@pytest.fixture
def kept(tmp_path: Path) -> tuple[list[str], str, str]:
    """Options of a hub with rows in its vault; the data set, and the rows."""
    save_keys(make_keys(), tmp_path / "keys" / "hub.keys")
    hub = open_hub(tmp_path / "data", keys=tmp_path / "keys" / "hub.keys", create=True)
    with hub.db.transaction() as c:
        dataset = add_dataset(c, add_user(c, "owner")).id
    stored = hub.vault.put(dataset, "rows", b"rows")
    hub.close()
    options = ["--data", str(tmp_path / "data"), "--keys", str(tmp_path / "keys" / "hub.keys")]
    return options, dataset, stored.id


def run(*arguments: str) -> str:
    result = RUN.invoke(hub_app, list(arguments))
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_a_hub_is_backed_up_and_restored(kept: tuple[list[str], str, str], tmp_path: Path) -> None:
    options, _, stored = kept
    said = run("backup", str(tmp_path / "hub.tar"), *options)
    assert "1 encrypted files" in said
    again = ["--data", str(tmp_path / "again"), *options[2:]]
    assert "Restored as of" in run("restore", str(tmp_path / "hub.tar"), *again)
    hub = open_hub(tmp_path / "again", keys=tmp_path / "keys" / "hub.keys")
    assert hub.vault.read(stored) == b"rows"
    hub.close()


def test_a_backup_that_is_not_there_makes_no_hub(
    kept: tuple[list[str], str, str], tmp_path: Path
) -> None:
    options = ["--data", str(tmp_path / "again"), *kept[0][2:]]
    result = RUN.invoke(hub_app, ["restore", str(tmp_path / "nothing.tar"), *options])
    assert result.exit_code != 0
    assert "There is no backup at" in str(result.exception)
    assert not (tmp_path / "again").exists()


def test_the_master_key_is_rotated(kept: tuple[list[str], str, str], tmp_path: Path) -> None:
    options, _, stored = kept
    path = tmp_path / "keys" / "hub.keys"
    before = load_keys(path)
    assert "keys of 1 data sets" in run("rotate", *options)
    after = load_keys(path)
    assert len(after.masters) == 1
    assert after.master_id != before.master_id
    assert (after.trail, after.cookies) == (before.trail, before.cookies)
    hub = open_hub(tmp_path / "data", keys=path)
    assert hub.vault.read(stored) == b"rows"
    hub.close()


def test_a_crate_is_written(kept: tuple[list[str], str, str], tmp_path: Path) -> None:
    options, dataset, _ = kept
    run("crate", dataset, str(tmp_path / "use.zip"), *options)
    assert (tmp_path / "use.zip").stat().st_size > 500
