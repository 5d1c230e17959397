"""A party that answers messages, one at a time, and closes where it meets what nobody foresaw.

A holder of rows and a crypto service have this in common. What a party refuses on purpose, it
refuses in a sentence. Any other exception may depend on what is private, and then whether it comes
tells of it: so the party closes, and from then on everybody gets one sentence, the same whatever
the cause was. The same where its log cannot be written.
"""

from __future__ import annotations

import contextlib
import os
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from understudy.errors import InputError, UnderstudyError
from understudy.federation import HolderGone
from understudy.federation.messages import Message, digest, refusal
from understudy.federation.questions import in_words
from understudy.privacy.ledger import Ledger

Log = Callable[[Mapping[str, Any]], None]
"""Takes what was asked and answered, in a form that an auditor can read; nothing private is
in it.
"""


def no_log(entry: Mapping[str, Any]) -> None:
    """Write nothing down."""


MAX_SESSIONS = 16
"""Of one analyst; a new one takes the place of the one that has been silent for longest."""


class PartySession(Protocol):
    """One release, as a party sees it."""

    asker: str
    ledger: Ledger
    last: tuple[bytes, bytes]
    """The digest of the last message, and its answer."""


AnySession = TypeVar("AnySession", bound=PartySession)


class AnsweringParty(ABC, Generic[AnySession]):
    """Answers messages until it closes.

    A message that comes again, the same to the byte, gets the answer that it got.

    Parameters
    ----------
    name
        How others call it.
    log
        Told what was asked and answered.
    """

    kind: ClassVar[str]
    """What it is called in sentences."""
    keeper: ClassVar[str]
    """Who starts it again."""

    def __init__(self, name: str, log: Log) -> None:
        self.name = name
        self._log = log
        self._lock = threading.Lock()
        self._closed = False
        self._sessions: dict[str, AnySession] = {}
        self._ended: dict[str, AnySession] = {}

    def answer(self, message: bytes, asker: str = "") -> bytes:
        """Answer a message; what is wrong with it is told by the answer, in one sentence.

        Parameters
        ----------
        message
            What is asked.
        asker
            Who asks, as far as the link knows: nobody else is answered in a session that this one
            opened.
        """
        with self._lock:
            if self._closed:
                return self._refuse_as_closed()
            try:
                return self._answer_or_refuse(message, asker)
            except BaseException as error:
                closed = self.close(error)
                if not isinstance(error, Exception):
                    raise
                return closed

    def close(self, error: BaseException) -> bytes:
        """Answer nobody any more; returns what everybody is told from now on."""
        self._closed = True
        with contextlib.suppress(Exception):  # the log may be what failed
            self._log({"answered": "nothing", "why": _kind_and_place(error)})
        return self._refuse_as_closed()

    @abstractmethod
    def _hello(self) -> Message:
        """Who this is; nothing in it is private."""

    @abstractmethod
    def _open(self, asked: Message, raw: bytes, asker: str) -> tuple[AnySession, Message]:
        """A new session, once its price is reserved."""

    @abstractmethod
    def _step(self, session: AnySession, asked: Message) -> Message:
        """The answer to a message of a session."""

    def _answer(self, asked: Message, raw: bytes, asker: str) -> bytes:
        """The answer to a message that could be read."""
        if asked.kind == "hello":
            return self._hello().to_bytes()
        name = asked.get("session", str)
        seal = digest(raw)
        session = self._sessions.get(name) or self._ended.get(name)
        if session is not None and session.asker != asker:
            raise InputError(
                "This session was opened by somebody else, who alone can go on with it."
            )
        if session is not None and session.last[0] == seal:
            self._write_down(
                {"session": name, "asked": "again", "question": seal.hex(), "answered": "repeated"}
            )
            return session.last[1]
        told = in_words(asked)  # refuses what cannot be written down, before anything is debited
        if asked.kind == "open":
            session, reply = self._open(asked, raw, asker)
            told = {"terms": asked.content}
        elif session is None or name in self._ended:
            raise HolderGone(
                f"The {self.kind} {self.name} knows of no such session; it may have been started "
                "again since."
            )
        else:
            self._sessions[name] = self._sessions.pop(name)  # the last to be heard from
            reply = self._step(session, asked)
        answer = reply.to_bytes()
        if asked.kind == "ask":
            told |= {"currency": session.ledger.currency, "left": session.ledger.left.amount}
        entry = {
            "session": name,
            "asked": asked.kind,
            "question": seal.hex(),
            "answered": reply.kind,
            **told,
        }
        self._write_down({**entry, "bytes": len(answer), "digest": digest(answer).hex()})
        session.last = seal, answer  # not before the log has it: what is told again was told once
        return answer

    def _admit(self, name: str, session: AnySession) -> None:
        """Keep a new session; of too many, the asker's first was left behind, and its price stays
        on the books in full.
        """
        self._sessions[name] = session
        theirs = [name for name, other in self._sessions.items() if other.asker == session.asker]
        if len(theirs) > MAX_SESSIONS:
            del self._sessions[theirs[0]]

    def _retire(self, name: str) -> None:
        """Remember a session that has ended: its last answer may be asked for again."""
        self._ended = dict([*self._ended.items(), (name, self._sessions.pop(name))][-MAX_SESSIONS:])

    def _refuse_as_closed(self) -> bytes:
        return refusal(
            f"The {self.kind} {self.name} has closed; its log says where it failed, and "
            f"{self.keeper} must start it again.",
            gone=True,
        )

    def _answer_or_refuse(self, message: bytes, asker: str) -> bytes:
        try:
            return self._answer(Message.from_bytes(message), message, asker)
        except UnderstudyError as error:
            gone = isinstance(error, HolderGone)
            self._write_down({"answered": "gone" if gone else "refused", "why": str(error)})
            return refusal(str(error), gone=gone)

    def _write_down(self, entry: Mapping[str, Any]) -> None:
        """Log something; a log that cannot be written is no reason to refuse, but to close."""
        try:
            self._log(entry)
        except UnderstudyError as error:
            raise RuntimeError("the log failed") from error


def _kind_and_place(error: BaseException) -> str:
    """What failed and where; not the error's own words, which may hold something private."""
    while error.__cause__ is not None:
        error = error.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"
    else:
        place = ""
    return f"{type(error).__name__}{place}"
