"""Messages over a pipe: a length, then the message, both bounded, and nobody waits for ever."""

from __future__ import annotations

import os
import select
import struct
import time

from understudy.errors import InputError
from understudy.federation.messages import Message

_LENGTH = struct.Struct("<I")


class PipeBroken(InputError):  # noqa: N818 - what happened
    """The other side sent what is no message, too much of it, or nothing in time."""


class Pipe:
    """Both ends that one side of a conversation has.

    Parameters
    ----------
    reading, writing
        File descriptors.
    max_bytes
        Of a message that is read.
    until
        When it ends, by :func:`time.monotonic`; ``None``: never.
    """

    def __init__(
        self, reading: int, writing: int, *, max_bytes: int, until: float | None = None
    ) -> None:
        self._reading = reading
        self._writing = writing
        self._max_bytes = max_bytes
        self._until = until
        if until is not None:
            os.set_blocking(reading, False)
            os.set_blocking(writing, False)

    def end_at(self, until: float) -> None:
        """Let it end at another time."""
        self._until = until

    def send(self, message: Message) -> None:
        """Send a message whole."""
        data = message.to_bytes()
        left = memoryview(_LENGTH.pack(len(data)) + data)
        while left:
            self._wait(self._writing, select.POLLOUT)
            try:
                left = left[os.write(self._writing, left[: 1 << 16]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise PipeBroken("The other side has hung up.") from error

    def receive(self) -> Message:
        """The next message."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if length > self._max_bytes:
            raise PipeBroken(f"A message has at most {self._max_bytes:,} bytes.")
        return Message.from_bytes(self._read(length))

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait(self._reading, select.POLLIN)
            try:
                part = os.read(self._reading, min(size - len(data), 1 << 16))
            except BlockingIOError:
                continue
            if not part:
                raise PipeBroken("The other side has hung up.")
            data += part
        return bytes(data)

    def _wait(self, handle: int, event: int) -> None:
        if self._until is None:
            return
        left = self._until - time.monotonic()
        poll = select.poll()
        poll.register(handle, event)
        if left <= 0 or not poll.poll(left * 1000):
            raise PipeBroken("The other side took too long.")
