"""The options that name a table's ledger file, for every command that spends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli.option_groups import take_group
from understudy.cli.options import LedgerPath, NewRows, SameTable, Wait
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.cli.talk import Talk
    from understudy.privacy.ledger import Accepted, LedgerFile


@dataclass(frozen=True, kw_only=True)
class LedgerOptions:
    """A table's ledger file, if one is named, and what the owner says of the table."""

    path: Path | None = None
    same_table: bool = False
    new_rows: bool = False
    wait: float = 30.0

    def open(self, talk: Talk) -> LedgerFile | None:
        """The ledger file; what it has to say goes to the owner."""
        from understudy.privacy.ledger import LedgerFile

        accept = self._accept()
        if self.path is None:
            if accept is not None:
                raise InputError("--same-table and --new-rows go with --ledger FILE.")
            return None
        return LedgerFile(self.path, accept=accept, wait=self.wait, notify=talk.say)

    def _accept(self) -> Accepted | None:
        if self.same_table and self.new_rows:
            raise InputError(
                "A table is the same or has new rows: give --same-table or --new-rows, not both."
            )
        if self.same_table:
            return "same_table"
        if self.new_rows:
            return "new_rows"
        return None


NO_LEDGER_FILE = LedgerOptions()

uses_ledger = take_group(
    "ledger",
    {
        "ledger": (LedgerPath, None),
        "same_table": (SameTable, False),
        "new_rows": (NewRows, False),
        "wait": (Wait, 30.0),
    },
    lambda given: LedgerOptions(path=given.pop("ledger"), **given),
)
"""Let a command take these options, and have them as ``ledger``."""
