"""The holder: keeps rows, a ledger and its own counsel, and answers messages.

Everything that an analyst can do to a holder is to send it a message, and everything that leaves a
holder is the answer. The analyst is not trusted: the holder checks each message against what came
before it. A session begins with its terms (:mod:`understudy.federation.terms`); the whole price is
reserved in the holder's ledger before anything is answered. Rounds are numbered
(:mod:`understudy.federation.holder_session`). A message that comes again, the same to the byte,
gets the answer that it got (so that a link may repeat it); any other message out of its order is
refused.

What a holder refuses on purpose it refuses before it reads a row. Whatever else goes wrong may
depend on the rows, and then whether it does tells of them. So a holder that meets an exception that
it did not raise on purpose, or cannot write its log, closes: from then on everybody gets one
sentence, the same whatever the cause was, until its owner starts it again.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.data.encoding import Coded
from understudy.errors import InputError, UnderstudyError
from understudy.federation import HolderGone
from understudy.federation.allowance import Allowance
from understudy.federation.holder_rows import MAX_HOLDER_ROWS
from understudy.federation.holder_session import HolderSession
from understudy.federation.masking import Signer, Verifier
from understudy.federation.messages import Message, digest, refusal
from understudy.federation.questions import in_words
from understudy.federation.session_keys import SessionKeys
from understudy.federation.terms import COLLUDERS, WAYS, Terms, schema_digest
from understudy.privacy.budget import Neighbours, check_neighbours
from understudy.privacy.ledger import LedgerFile
from understudy.privacy.mechanisms import Noise, SystemNoise

__all__ = ["WAYS", "Holder", "HolderPolicy"]

Log = Callable[[Mapping[str, Any]], None]
"""Takes what was asked and answered, in a form that an auditor can read; nothing private is
in it.
"""

MAX_SESSIONS = 16
"""Of one analyst; a new one takes the place of the one that was not heard of for longest."""


def no_log(entry: Mapping[str, Any]) -> None:
    """Write nothing down."""


@dataclass(frozen=True, kw_only=True)
class HolderPolicy:
    """What a holder agrees to.

    Parameters
    ----------
    allowance, delta
        What all sessions together may cost while this holder runs; by default what the ledger file
        allows.
    ledger_file
        The ledger on disk that the price of each session is reserved in, before anything is
        answered.
    colluders
        How many of the other holders this one fears to pry, by themselves or in league with the
        analyst: secure sums that guard against fewer are refused.
    ways
        The ways of working together that this holder accepts.
    neighbours
        The relation that the guarantee is for, in every session; by default that of the ledger
        file, or "add_remove". With "replace" the number of rows is public, and told to everybody
        who asks.
    session_share, analyst_share
        The largest share of the allowance, epsilon and delta alike, that one session may take, and
        that all sessions of one analyst may take together.
    """

    allowance: float | None = None
    delta: float = 0.0
    ledger_file: LedgerFile | None = None
    colluders: int = COLLUDERS
    ways: Sequence[str] = WAYS
    neighbours: Neighbours | None = None
    session_share: float | Fraction = 1
    analyst_share: float | Fraction = 1

    def relation(self) -> Neighbours:
        """The neighbours that the guarantee is for."""
        if self.neighbours is not None:
            return check_neighbours(self.neighbours)
        if self.ledger_file is None:
            return "add_remove"
        return check_neighbours(self.ledger_file.read()["neighbours"])


class Holder:
    """Keeps rows and answers messages.

    Parameters
    ----------
    name
        How others call it.
    coded
        The private rows.
    policy
        What the holder agrees to.
    identity
        What the holder signs its keys with; secure sums need it.
    peers
        The pinned certificates of the other holders, by name.
    log
        Told what was asked and answered.
    noise
        Where noise comes from; anything but the default is for tests and studies.
    """

    def __init__(
        self,
        name: str,
        coded: Coded,
        policy: HolderPolicy,
        *,
        identity: Signer | None = None,
        peers: Mapping[str, Verifier] | None = None,
        log: Log = no_log,
        noise: Noise | None = None,
    ) -> None:
        self._allowance = Allowance(
            name,
            epsilon=policy.allowance,
            delta=policy.delta,
            ledger_file=policy.ledger_file,
            session_share=policy.session_share,
            analyst_share=policy.analyst_share,
            tell_owner=lambda why: self._write_down({"answered": "refused", "why": why}),
        )
        if coded.rows >= MAX_HOLDER_ROWS:
            raise InputError(
                f"A holder has fewer than {MAX_HOLDER_ROWS:,} rows; {name} has {coded.rows:,}."
            )
        self.name = name
        self.neighbours = policy.relation()
        self.schema = coded.schema
        self.identity = identity
        self.peers = dict(peers or {})
        self._coded = coded
        self._log = log
        if noise is not None:
            self._noise = noise
        else:
            self._noise = SystemNoise()
        if policy.ledger_file is not None and not self._noise.private:
            raise InputError(
                "A holder with seeded noise protects nobody; it does not belong into a ledger file."
            )
        self._colluders = policy.colluders
        self._ways = tuple(policy.ways)
        self._sessions: dict[str, HolderSession] = {}
        self._ended: dict[str, HolderSession] = {}
        self._closed = False
        self._schema_digest = schema_digest(coded.schema)
        self._lock = threading.Lock()

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
                return self._closed_answer()
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
        return self._closed_answer()

    def _closed_answer(self) -> bytes:
        return refusal(
            f"The holder {self.name} has closed; its log says where it failed, and its owner must "
            f"start it again.",
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

    def _answer(self, asked: Message, raw: bytes, asker: str) -> bytes:
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
                f"The holder {self.name} knows of no such session; it may have been started again "
                "since."
            )
        else:
            self._sessions[name] = self._sessions.pop(name)  # the last that was heard of
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

    def _step(self, session: HolderSession, asked: Message) -> Message:
        if asked.kind == "start":
            return session.start(asked)
        if asked.kind == "ask":
            return session.ask(asked)
        if asked.kind in ("deliver", "agree", "reveal", "pick"):
            return session.go_on(asked)
        if asked.kind == "close":
            return self._end(session)
        raise InputError(f"A holder does not know what {asked.kind!r} means.")

    def _hello(self) -> Message:
        """Who this is; nothing in it is private."""
        content = {"name": self.name, "schema": self._schema_digest, "ways": list(self._ways)}
        return Message("hello", {**content, "private": self._noise.private})

    # ---- a session begins and ends

    def _open(self, asked: Message, raw: bytes, asker: str) -> tuple[HolderSession, Message]:
        terms = Terms.from_message(asked)
        self._check_terms(terms)
        keys = None
        if terms.way == "secure":
            assert self.identity is not None
            keys = SessionKeys(self.name, terms, digest(raw), self.identity, self.peers)
        reserved = self._allowance.reserve(terms, asker)
        # From here on nothing is taken back: a session that goes wrong has cost what it was
        # promised.
        session = HolderSession(self.name, asker, terms, self._coded, self._noise, keys, reserved)
        self._sessions[terms.session] = session
        theirs = [name for name, other in self._sessions.items() if other.asker == asker]
        if (
            len(theirs) > MAX_SESSIONS
        ):  # the first was left behind; its price stays on the books in full
            del self._sessions[theirs[0]]
        content: dict[str, Any] = {"name": self.name, "rows": None}
        if terms.neighbours == "replace":
            content["rows"] = self._coded.rows
        if keys is not None:
            content |= keys.announced()
        return session, Message("opened", content)

    def _check_terms(self, terms: Terms) -> None:
        if terms.session in self._sessions or terms.session in self._ended:
            raise InputError("There is a session of that name already.")
        if terms.neighbours != self.neighbours:
            raise InputError(
                f"The holder {self.name} answers for neighbours {self.neighbours} only, and the "
                "session is for "
                f"the other neighbour relation."
            )
        if terms.way not in self._ways:
            raise InputError(f"The holder {self.name} does not take part in the way {terms.way!r}.")
        if terms.schema != self._schema_digest:
            raise InputError(
                f"The holder {self.name} has rows of another schema; compare the two files."
            )
        if self.name not in terms.holders:
            raise InputError(f"The holder {self.name} is not among those that are to take part.")
        if terms.way != "secure":
            return
        if terms.colluders < self._colluders:
            raise InputError(
                f"The holder {self.name} fears that {self._colluders} of the others may collude, "
                "and the session "
                f"guards against {terms.colluders}; ask with colluders {self._colluders}, or have "
                "it fear fewer."
            )
        if self.identity is None:
            raise InputError(
                f"The holder {self.name} has no identity to sign its keys with; secure sums need "
                "one."
            )
        strangers = [name for name in terms.holders if name != self.name and name not in self.peers]
        if strangers:
            raise InputError(f"The holder {self.name} has no pinned certificate of {strangers[0]}.")

    def _end(self, session: HolderSession) -> Message:
        """What was asked is written into the ledger file."""
        self._allowance.settle(session.reservation, session.ledger)
        name = session.terms.session
        self._ended = dict([*self._ended.items(), (name, self._sessions.pop(name))][-MAX_SESSIONS:])
        session.end()
        return Message("closed")


def _kind_and_place(error: BaseException) -> str:
    """What failed and where; not the error's own words, which may hold something private."""
    import traceback

    while error.__cause__ is not None:
        error = error.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"
    else:
        place = ""
    return f"{type(error).__name__}{place}"
