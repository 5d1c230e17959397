"""What is checked before a row is read: mistakes on the command line cost nothing."""

from __future__ import annotations

from pathlib import Path

from understudy.errors import InputError


def check_output(output: str, safe_for_spreadsheets: bool = False) -> None:
    """The place for a table can be written, and its suffix is known; one that ends in a slash is a folder."""
    from understudy.files import writable_file
    from understudy.partitions import names_folder, writable_folder
    from understudy.spreadsheets import check_spreadsheet_output
    from understudy.tables import table_suffix

    if safe_for_spreadsheets:
        check_spreadsheet_output(output)
    if names_folder(output):
        writable_folder(output)
    elif output != "-":
        table_suffix(output)
        writable_file(output, "table")


def check_distinct(*paths: Path | str | None) -> None:
    """No file is named for two things: nothing is overwritten by mistake."""
    from understudy.files import shown

    seen: set[Path] = set()
    for path in paths:
        if path is None or path == "-":
            continue
        place = Path(path).resolve()
        if place in seen:
            raise InputError(
                f"{shown(path)} is named for two things at once; give each file a name of its own."
            )
        seen.add(place)


def check_ledger(ledger: Path | None) -> None:
    """A ledger that is missing or damaged is found before a row is read."""
    from understudy.curator.ledger import LedgerFile

    if ledger is not None:
        LedgerFile(ledger).read()
