"""Rows that an owner sends: encrypted as they come in, never in the clear on the disk."""

from __future__ import annotations

import csv
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import anyio.from_thread
from fastapi import Request
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.hub import datasets
from understudy.hub.access import check
from understudy.hub.accounts import User
from understudy.hub.names import MANAGE
from understudy.hub.policy import Operation
from understudy.hub.records import Dataset, read_dataset
from understudy.hub.web.state import Site

MAX_FIELD_BYTES = 10_000
MAX_HEADER = 1_000_000
BROKEN = "The form did not arrive whole; load the page again and send it from there."


def check_takes_rows(hub: Site, user: User, dataset: str) -> None:
    """Refuse whoever does not own the data set, and data sets whose rows stay with their owner."""
    with hub.db.reading() as c:
        check(c, user.id, Operation(name=MANAGE), dataset)
        datasets.check_stored(read_dataset(c, dataset))


def keep_rows(hub: Site, user: User, dataset: str, content: Iterator[bytes]) -> Dataset:
    """Encrypt rows into the vault, and take them as the data set's; a table that lacks columns of
    the schema is refused.
    """
    first = next(content, b"")
    with hub.db.reading() as c:
        schema = read_dataset(c, dataset).schema
    check_columns(first, Schema.from_dict(dict(schema), "The schema").names)
    stored = hub.vault.put(dataset, "rows", chain([first], content))
    with hub.db.transaction() as c:
        return datasets.store_rows(c, user.id, dataset, stored.id)


def check_columns(first: bytes, wanted: Iterable[str]) -> None:
    """Refuse a CSV file whose first line, where the first piece holds it, does not name all columns
    of the schema: a job would find that out after its price is paid.
    """
    if not first:
        raise InputError("There is no file, or it is empty; choose the table with the rows.")
    if first.startswith(b"PAR1"):
        return
    if first.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            first = zlib.decompressobj(wbits=31).decompress(first, MAX_HEADER)
    line, end, _ = first[:MAX_HEADER].partition(b"\n")
    if not end:
        return
    text = line.decode("utf-8-sig", "replace")
    mark = max(",;\t|", key=lambda one: (text.count(one), one == ","))
    named = {name.strip() for name in next(csv.reader([text], delimiter=mark), [])}
    missing = [name for name in wanted if name not in named]
    if missing:
        more = f" and {len(missing) - 3:,} more" if len(missing) > 3 else ""
        raise InputError(
            f"The first line of the table does not name {', '.join(missing[:3])}{more}, as the "
            "schema does; send a table with all columns of the schema. Nothing was stored."
        )


def pull_chunks(stream: AsyncIterator[bytes]) -> Iterator[bytes]:
    """What a stream gives, for the thread that encrypts: little of it is in memory at a time."""

    async def read_chunk() -> bytes | None:
        return await anext(stream, None)

    while (chunk := anyio.from_thread.run(read_chunk)) is not None:
        yield chunk


class StreamedForm:
    """A form whose last field is a file, read as it comes in: first the fields, then the file.

    Parameters
    ----------
    request
        Whose body it is.
    """

    def __init__(self, request: Request) -> None:
        kind, options = parse_options_header(request.headers.get("content-type", ""))
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise InputError(BROKEN)
        self.fields: dict[str, str] = {}
        self.has_file = False
        self._stream = request.stream()
        self._ready: deque[bytes] = deque()
        self._header, self._value = b"", b""
        self._name = ""
        self._field = b""
        self._parser = MultipartParser(
            options[b"boundary"],
            {
                "on_part_begin": self._begin_part,
                "on_header_field": self._add_header,
                "on_header_value": self._add_value,
                "on_header_end": self._end_header,
                "on_part_data": self._add_data,
                "on_part_end": self._end_part,
            },
        )

    async def read_fields(self) -> dict[str, str]:
        """The fields before the file."""
        while not self.has_file and await self._read_more():
            pass
        return self.fields

    async def read_file(self) -> AsyncIterator[bytes]:
        """The file, piece by piece."""
        while True:
            while self._ready:
                yield self._ready.popleft()
            if not await self._read_more():
                return

    async def _read_more(self) -> bool:
        chunk = await anext(self._stream, None)
        if not chunk:
            return chunk is not None and await self._read_more()
        try:
            self._parser.write(chunk)
        except MultipartParseError:
            raise InputError(BROKEN) from None
        return True

    def _begin_part(self) -> None:
        if self.has_file:  # nothing is read behind it
            raise InputError(BROKEN)
        self._name, self._field = "", b""

    def _add_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            options: dict[bytes, Any] = parse_options_header(self._value)[1]
            self._name = options.get(b"name", b"").decode("utf-8", "replace")
            self.has_file = b"filename" in options
        self._header, self._value = b"", b""

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        if self.has_file:
            self._ready.append(data[start:end])
            return
        self._field += data[start:end]
        if len(self._field) > MAX_FIELD_BYTES:
            raise InputError(BROKEN)

    def _end_part(self) -> None:
        if not self.has_file:
            self.fields[self._name] = self._field.decode("utf-8", "replace")
