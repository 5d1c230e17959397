"""The holder: keeps rows and a ledger, and answers messages.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.data.encoding import Coded
from understudy.errors import InputError
from understudy.federation.allowance import Allowance
from understudy.federation.holder_rows import MAX_HOLDER_ROWS
from understudy.federation.holder_session import HolderSession
from understudy.federation.masking import Signer, Verifier
from understudy.federation.messages import Message, digest
from understudy.federation.party import AnsweringParty, Log, no_log
from understudy.federation.session_keys import SessionKeys
from understudy.federation.terms import COLLUDERS, WAYS, Terms, schema_digest
from understudy.privacy.budget import Neighbours, check_neighbours
from understudy.privacy.ledger import LedgerFile
from understudy.privacy.mechanisms import Noise, SystemNoise

__all__ = ["WAYS", "Holder", "HolderPolicy"]


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


class Holder(AnsweringParty[HolderSession]):
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

    kind = "holder"
    keeper = "its owner"

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
        super().__init__(name, log)
        self._allowance = Allowance(
            name,
            epsilon=policy.allowance,
            delta=policy.delta,
            ledger_file=policy.ledger_file,
            session_share=policy.session_share,
            analyst_share=policy.analyst_share,
            notify=lambda why: self._write_down({"answered": "refused", "why": why}),
        )
        if coded.rows >= MAX_HOLDER_ROWS:
            raise InputError(
                f"A holder has fewer than {MAX_HOLDER_ROWS:,} rows; {name} has {coded.rows:,}."
            )
        self.neighbours = policy.relation()
        self.schema = coded.schema
        self.identity = identity
        self.peers = dict(peers or {})
        self._coded = coded
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
        self._schema_digest = schema_digest(coded.schema)

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
        self._admit(terms.session, session)
        content: dict[str, Any] = {"name": self.name, "rows": None}
        if terms.neighbours == "replace":
            content["rows"] = self._coded.rows
        if keys is not None:
            content |= keys.announce()
        return session, Message("opened", content)

    def _check_terms(self, terms: Terms) -> None:
        if terms.session in self._sessions or terms.session in self._ended:
            raise InputError("There is a session of that name already.")
        if terms.neighbours != self.neighbours:
            raise InputError(
                f"The holder {self.name} answers for neighbours {self.neighbours} only, and the "
                "session is for the other neighbour relation."
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
                f"and the session guards against {terms.colluders}; ask with colluders "
                f"{self._colluders}, or have it fear fewer."
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
        self._retire(session.terms.session)
        session.end()
        return Message("closed")
