"""What a door is put in front of, where no holder is needed."""

from __future__ import annotations

from collections.abc import Callable


class Answering:
    """Answers by a function, and remembers by what it was closed."""

    def __init__(self, answer: Callable[[bytes, str], bytes]) -> None:
        self._answer = answer
        self.closed_by: list[BaseException] = []

    def answer(self, message: bytes, asker: str) -> bytes:
        return b"closed" if self.closed_by else self._answer(message, asker)

    def close(self, error: BaseException) -> bytes:
        self.closed_by.append(error)
        return b"closed"
