"""The options that name a ledger file."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy.cli.ledger_options import LedgerOptions
from understudy.cli.talk import Talk
from understudy.errors import InputError


def test_a_table_is_the_same_or_has_new_rows(tmp_path: Path) -> None:
    options = LedgerOptions(path=tmp_path / "t.ledger", same_table=True, new_rows=True)
    with pytest.raises(InputError, match="not both"):
        options.open(Talk(True))


@pytest.mark.parametrize("said", ["same_table", "new_rows"])
def test_what_is_said_of_the_table_goes_with_a_ledger(said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="go with --ledger FILE"):
        LedgerOptions(**{said: True}).open(Talk(True))
    opened = LedgerOptions(path=tmp_path / "t.ledger", **{said: True}).open(Talk(True))
    assert opened is not None
    assert opened.accept == said


def test_without_a_name_there_is_no_ledger() -> None:
    assert LedgerOptions().open(Talk(True)) is None
