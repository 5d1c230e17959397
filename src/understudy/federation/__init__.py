"""Many holders, no trusted party: rows that never leave home.

*Holders* each keep rows of one public schema. An *analyst* whom nobody trusts wants one synthetic
table of all rows. They talk over *links*: bytes out, bytes back. A *session* is one release; it
goes in *rounds*, each of which asks all holders one question. Each holder keeps its own ledger,
decides for itself, and sends nothing that is exact.

- Agreed on by all: ``terms`` of a session, ``questions`` that may be asked, ``messages`` as bytes.
- A holder: ``holder`` (ledger, log, sessions), ``holder_session`` (rounds and answers),
  ``holder_rows`` (counting).
- Secure sums: ``session_keys``, ``masking``, ``sharing`` of secrets, ``noise_shares``,
  ``secure_sums`` (the steps), and ``delegates`` (the largest of sums, which one holder finds for
  all).
- The analyst: ``analyst`` (asking, adding up), ``ways`` (from a session to a model).
- Over a network: ``identity`` (certificates), ``server``, ``client``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from understudy.errors import UnderstudyError

if TYPE_CHECKING:
    from understudy.federation.analyst import Federation
    from understudy.federation.holder import Holder, HolderPolicy
    from understudy.federation.ways import federate

__all__ = [
    "Federation",
    "Holder",
    "HolderGone",
    "HolderPolicy",
    "HolderRefused",
    "Link",
    "MemoryLink",
    "federate",
]

_HOMES = {
    "Federation": "analyst",
    "Holder": "holder",
    "HolderPolicy": "holder",
    "federate": "ways",
}


class HolderGone(UnderstudyError):  # noqa: N818 - what happened, in the words of this package
    """A holder gave no answer, or none that can be understood."""


class HolderRefused(UnderstudyError):  # noqa: N818
    """A holder answered that it will not; the message is its own sentence."""


class Link(Protocol):
    """A way to a holder."""

    @property
    def name(self) -> str:
        """The holder's name."""

    def ask(self, message: bytes) -> bytes:
        """Carry a message to the holder and its answer back.

        Raises
        ------
        HolderGone
            Where there is no answer.
        """


class MessageAnswerer(Protocol):
    """Whoever answers messages: a :class:`understudy.federation.holder.Holder`."""

    @property
    def name(self) -> str:
        """The holder's name."""

    def answer(self, message: bytes) -> bytes:
        """Answer a message; what is wrong with it is told by the answer, never by an exception."""


class MemoryLink:
    """A way to a holder in the same process, for studies and tests.

    ``heard``, where given, is called with every message and every answer, in bytes, as a wire would
    carry them.
    """

    def __init__(self, holder: MessageAnswerer, heard: Any = None) -> None:
        self.holder = holder
        self._heard = heard

    @property
    def name(self) -> str:
        """The holder's name."""
        return self.holder.name

    def ask(self, message: bytes) -> bytes:
        """Hand a message to the holder."""
        answer = self.holder.answer(message)
        if self._heard is not None:
            self._heard(message, answer)
        return answer


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'understudy.federation' has no attribute {name!r}")
    return getattr(import_module(f"understudy.federation.{_HOMES[name]}"), name)
