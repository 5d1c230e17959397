"""What whoever answers analysts says when it begins."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.cli.talk import Talk
    from understudy.federation.identity import Certificate
    from understudy.privacy.ledger import LedgerFile


def say_listening(
    talk: Talk,
    name: str,
    listener: socket.socket,
    analysts: Sequence[Certificate],
    ledger_file: LedgerFile,
    *,
    book: Path,
    journal: Path,
) -> None:
    """Where it listens, for whom, and what is left to spend."""
    left = ledger_file.left()
    host, port = listener.getsockname()[:2]
    names = ", ".join(analyst.name for analyst in analysts)
    talk.say(
        f"{name} listens at {host}:{port} for {names}; epsilon {left[0]:g}, delta {left[1]:g} left "
        f"in {book}; log: {journal}. Stop by Ctrl-C."
    )
