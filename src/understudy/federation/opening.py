"""From what a holder names to its rows: by the same way as a release's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Unpack

from understudy.data.encoding import Coded
from understudy.data.frames import Frame
from understudy.data.read_options import Reading
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.release.callbacks import Notify
from understudy.release.sources import MemorySource, open_source


def open_rows(
    frame: Frame, schema: Schema, *, notify: Notify, **reading: Unpack[Reading]
) -> tuple[Coded, MemorySource]:
    """A holder's rows as codes, in the order of the schema and not of the file; and where they come
    from.

    A holder answers from memory: how long an engine takes depends on the rows, and strangers have
    clocks.
    """
    engine = None
    if isinstance(frame, str | Path):
        engine = "memory"
    with open_source(frame, engine=engine, notify=notify, **reading) as source:
        if not isinstance(source, MemorySource):
            raise InputError(
                "A holder keeps its rows in memory; these are elsewhere, so give a file or a frame."
            )
        coded, notes = source.code(schema)
    for note in notes:
        notify(note)
    # The order of a holder's columns is its own; messages go by the schema's.
    return replace(coded, schema=schema), source
