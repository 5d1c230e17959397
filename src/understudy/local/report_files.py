"""Which files hold the reports of a survey."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from understudy.errors import InputError

REPORT_SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".parquet")
"""Of the files of a folder that are read as reports."""


def report_files(sources: Iterable[str | Path]) -> list[Path]:
    """The files of reports, by name: those of folders, at any depth, by their suffix."""
    found: list[Path] = []
    for source in map(Path, sources):
        if source.is_dir():
            inside = sorted(
                path
                for path in source.rglob("*")
                if path.is_file()
                and path.name.endswith(REPORT_SUFFIXES)
                and not path.name.startswith(".")
            )
            if not inside:
                raise InputError(
                    f"The folder {source} holds no reports: no file ends in "
                    f"{', '.join(REPORT_SUFFIXES)}."
                )
            found += inside
        elif source.is_file():
            found.append(source)
        else:
            raise InputError(f"There are no reports at {source}; check the name.")
    return list(dict.fromkeys(found))
