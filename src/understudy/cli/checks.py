"""What is checked before a row is read: mistakes on the command line cost nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.data.tables import Table


def check_output(output: str, safe_for_spreadsheets: bool = False) -> None:
    """The place for a table can be written, and its suffix is known; one that ends in a slash is a
    folder.
    """
    from understudy.data.files import writable_file
    from understudy.data.partitions import names_folder, writable_folder
    from understudy.data.spreadsheets import check_spreadsheet_output
    from understudy.data.tables import table_suffix

    if safe_for_spreadsheets:
        check_spreadsheet_output(output)
    if names_folder(output):
        writable_folder(output)
    elif output != "-":
        table_suffix(output)
        writable_file(output, "table")


def check_distinct(*paths: Path | str | None) -> None:
    """No file is named for two things: nothing is overwritten by mistake."""
    from understudy.data.files import show_name

    seen: set[Path] = set()
    for path in paths:
        if path is None or path == "-":
            continue
        place = Path(path).resolve()
        if place in seen:
            raise InputError(
                f"{show_name(path)} is named for two things at once; give each file a name of its "
                "own."
            )
        seen.add(place)


def frame_at(path: Path, reading: Any) -> Table | Path:
    """A table to be read by its name, unless the user says something about the file."""
    from understudy.data.read_options import ReadOptions
    from understudy.data.tables import read_table

    if ReadOptions(**reading) == ReadOptions():
        return path
    return read_table(path, **reading)


NO_LEDGER = (
    "No ledger: this release is counted nowhere, and further releases of the table add to it; "
    "understudy ledger create starts one."
)
