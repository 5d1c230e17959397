"""The holder: keeps rows, a ledger and its own counsel, and answers messages.

Everything that an analyst can do to a holder is to send it a message, and everything that leaves a holder is the
answer. The analyst is not trusted: the holder checks each message against what came before it. A session begins with
its terms; the whole price is reserved in the holder's ledger before anything is answered. Rounds are numbered. A
message that comes again, the same to the byte, gets the answer that it got (so that a link may repeat it); any other
message out of its order is refused.

**Where sums are secure** (see :mod:`understudy.federation.masking`), M holders take part, up to ``dropouts`` of them
may drop out and up to ``colluders`` may be in league with the analyst.

- A round's masks are derived from the digest of the question and of the session's terms: holders that were asked
  different things, or told different terms, have masks that do not cancel.
- Where no holder may drop out, no seed is ever told to anybody.
- Where holders may, a holder tells its shares of the own-mask seeds of those in the sum, and of the pair-seed keys of
  those that dropped out, once a round, and only after M - dropouts holders have signed that they speak of the same sum
  (the same question, the same holders in it). As M > 2 dropouts + colluders, no two different sums can gather so many
  signatures: an honest holder signs one only, and two sets of M - dropouts - colluders honest ones would overlap. So
  for one round all honest holders speak of one sum, of at least M - dropouts holders, and of no holder are both secrets
  told: M - dropouts shares are needed for one, and the honest ones all tell the same of the two.
- Where a delegate is to read the sum and nobody else, the others' numbers, under their pair masks, are sealed for it
  with keys that only the two know: the analyst carries them, and can neither read nor change them nor put its own in
  their place. The delegate adds up by itself, over all holders or over those that the same agreement is about, who then
  seal for it, and for no one else, their pair seeds with those that dropped out. It takes nothing from the analyst but
  what it is asked, which is bound into all those keys.
- So what can be read is one sum of M - dropouts holders at least, of which M - dropouts - colluders at least are
  honest: as many as the shares of the noise are sized for.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.curator import Measurement
from understudy.curator.budget import Budget, Neighbours, check_delta, check_epsilon, check_neighbours, exact, total
from understudy.curator.central import CentralCurator
from understudy.curator.ledger import Ledger, LedgerFile
from understudy.curator.mechanisms import Noise, SystemNoise, gaussian_scale, laplace_scale
from understudy.curator.scores import Misfit, score_named
from understudy.encoding import Coded
from understudy.errors import BudgetError, InputError, UnderstudyError
from understudy.federation import HolderGone
from understudy.federation.masking import SEED_BYTES, PairKeys, Signer, Verifier, opened, pair_mask, sealed, stream
from understudy.federation.messages import Array, Message, digest, refusal, unpacked
from understudy.federation.noise_shares import (
    SHARED_GRID,
    VEIL,
    ShareNoise,
    check_scale,
    delegated_scale,
    shared_grid,
    top_scale,
)
from understudy.federation.sharing import SHARE_BYTES, shares_of
from understudy.marginals import Marginal, describe
from understudy.networks.bits import Bits
from understudy.schema import Schema

Log = Callable[[Mapping[str, Any]], None]
"""Takes what was asked and answered, in a form that an auditor can read; nothing private is in it."""

_Kind = type | tuple[type, ...]

WAYS = ("secure", "statistics", "voting", "models")

MOST_NUMBERS = 1 << 24
"""The most cells that a holder counts for one table, and for all that it sends in one round."""

MOST_SESSIONS = 16
"""Of one analyst; a new one takes the place of the one that was not heard of for longest."""

MOST_HOLDERS = 1 << 8
MOST_ROWS = 1 << 31
LARGEST_OFFSET = 1 << 51
"""A delegate's sums are exact as floating-point numbers, which they must be below 2^53 for.

A score is no larger than the rows, and misfit than them and the largest estimate (2^31) together; on the grid a score
is multiplied by 1024 / (3/4) at most. So scores are below 2^43, their sums over all holders below 2^51, with offsets
below 2^52, and so is noise of the largest scale that is allowed, but for once in exp(2^23) times.
"""

MOST_LETTERS = 100
SMALLEST_AMOUNT = 1e-24


def schema_digest(schema: Schema) -> str:
    """What two parties compare to see that they speak of the same schema; the order of columns does not matter."""
    import json

    return digest(json.dumps(schema.to_dict(), sort_keys=True)).hex()


def no_log(entry: Mapping[str, Any]) -> None:
    """Write nothing down."""


# --------------------------------------------------------------------------- terms


@dataclass(frozen=True)
class Terms:
    """What a session is about; every holder sees the same, or their masks do not cancel."""

    session: str
    schema: str
    way: str
    method: Mapping[str, Any]
    epsilon: float
    delta: float
    neighbours: Neighbours
    holders: tuple[str, ...]
    dropouts: int
    colluders: int

    def __post_init__(self) -> None:
        for name in (self.session, *self.holders, str(self.method.get("name", ""))):
            if len(name) > MOST_LETTERS or not name.isprintable():  # they stand in logs and on screens
                raise InputError(f"Names in the terms of a session are plain text, {MOST_LETTERS} letters at most.")
        if self.way not in WAYS:
            raise InputError(f"There is no way {self.way!r}; known are {', '.join(WAYS)}.")
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_neighbours(self.neighbours)
        if not 1 <= len(self.holders) <= MOST_HOLDERS or list(self.holders) != sorted(set(self.holders)):
            raise InputError(f"Holders have different names, in their order, and are {MOST_HOLDERS} at most.")
        for what, number in (("drop out", self.dropouts), ("collude", self.colluders)):
            if type(number) is not int or not 0 <= number < len(self.holders):
                raise InputError(f"The number of holders that may {what} must be from 0 to all but one.")
        if self.way == "secure" and not len(self.holders) > 2 * self.dropouts + self.colluders:
            raise InputError(
                f"With {len(self.holders)} holders, of which {self.dropouts} may drop out and {self.colluders} "
                f"collude, no sum is secure: there must be more holders than twice the first and the second together."
            )

    @property
    def present(self) -> int:
        """How many holders there must be in every sum."""
        return len(self.holders) - self.dropouts

    @property
    def honest(self) -> int:
        """How many holders in every sum are certain to be honest: as many shares make the whole noise."""
        return len(self.holders) - self.dropouts - self.colluders

    @property
    def ledger(self) -> Ledger:
        """An empty ledger for the session."""
        return Ledger(self.epsilon, self.delta, self.neighbours, "rho" if self.delta else "epsilon", trust=self.trust)

    @property
    def trust(self) -> str:
        """Which assumption the guarantee rests on, in one sentence."""
        if self.way != "secure":
            return "Each holder adds its own noise: the guarantee rests on no assumption about anybody else."
        among = f"alone or together with up to {self.colluders} of the holders"
        if not self.colluders:
            among = "but not against the holders themselves, who know their shares of the noise"
        return (
            f"Secure sums over {len(self.holders)} holders, of whom up to {self.dropouts} may drop out: the guarantee "
            f"holds against the analyst and all readers, {among}."
        )

    def to_message(self) -> Message:
        """The message that opens the session."""
        return Message("open", {**vars(self), "method": dict(self.method), "holders": list(self.holders)})

    @classmethod
    def from_message(cls, message: Message) -> Terms:
        """What a message asks to open."""
        holders = message.get("holders", list)
        if not all(isinstance(name, str) for name in holders):
            raise InputError("Holders have names.")
        if set(message.content) != set(cls.__dataclass_fields__):
            raise InputError("The message 'open' holds other things than the terms of a session.")
        return cls(
            message.get("session", str),
            message.get("schema", str),
            message.get("way", str),
            message.get("method", dict),
            message.get("epsilon", (float, int)),
            message.get("delta", (float, int)),
            check_neighbours(message.get("neighbours", str)),
            tuple(holders),
            message.get("dropouts", int),
            message.get("colluders", int),
        )


def keys_statement(context: bytes, name: str, public: bytes) -> bytes:
    """What a holder signs about its key of a session."""
    return digest("understudy keys", context, name, public)


def keys_digest(publics: Mapping[str, bytes]) -> bytes:
    """All keys of a session together: a session that is opened again, in the same terms, has others."""
    return digest("understudy roster", *(part for entry in sorted(publics.items()) for part in entry))


def sum_statement(
    context: bytes, keys: bytes, number: int, question: bytes, masked: Sequence[str], present: Sequence[str]
) -> bytes:
    """What a holder signs about a sum: under which keys, whose masks are in it, and whose numbers."""
    names = *sorted(masked), *sorted(present)
    return digest("understudy sum", context, keys, str(number), question, str(len(masked)), *names)


# --------------------------------------------------------------------------- rows


class HolderRows(CentralCurator):
    """The holder's rows behind the doors of a central curator, and two more doors for sums with other holders."""

    def _scale(self, cost: Budget) -> float:
        """The scale of the noise in a table; refuses what cannot be drawn before anything is debited."""
        scale = super()._scale(cost)
        check_scale(self._noise, scale, cost.currency)
        return scale

    def size(self, budget: Budget) -> int:
        """The number of rows, with noise of the holder's own."""
        scale = self._scale(budget)
        self.ledger.debit("number of rows of this holder", budget, f"{self._distribution(budget)}, scale {scale:.6g}")
        own = self._noise.own if isinstance(self._noise, ShareNoise) else self._noise
        counts = np.array([self._rows], dtype=np.int64)
        return int((own.laplace if budget.currency == "epsilon" else own.gaussian)(counts, scale)[0])

    def shape(self, axes: Marginal) -> list[int]:
        """The shape of a table (public)."""
        return [self._sizes[axis] for axis in axes]

    def cells(self, marginals: Sequence[Marginal]) -> list[int]:
        """How many cells tables have (public); refuses what are no tables."""
        self._check(marginals)
        return [math.prod([self._sizes[axis] for axis in axes]) for axes in marginals]

    def scores(
        self,
        candidates: Sequence[Marginal],
        score: str,
        budget: Budget,
        most_rows: int | None,
        estimates: Sequence[NDArray[np.float64]] | None,
        top: bool,
    ) -> NDArray[np.int64]:
        """Scores on a grid, with shares of noise.

        Their sums are priced as so many numbers; where ``top``, as a choice: the place of one of them is all that
        anybody but a delegate learns.
        """
        named = score_named(score)
        if not all(candidates):
            raise InputError("There is nothing to choose from.")
        self._check(candidates)
        largest = max(self._sizes[axes[0]] for axes in candidates)
        named.check(largest)
        if isinstance(named, Misfit) != (estimates is not None):
            raise InputError("Estimates go with the score misfit, and it needs them.")
        if isinstance(named, Misfit) and estimates is not None:
            named.check_estimates(self._counter, candidates, estimates)
        if self.neighbours == "replace" and (type(most_rows) is not int or most_rows < self._rows):
            raise InputError("The question takes this holder to have fewer rows than it has told.")
        if not budget.amount > 0:
            raise InputError("A choice cannot be made for nothing; give it a share of the budget.")
        assert isinstance(self._noise, ShareNoise)
        rows = most_rows if self.neighbours == "replace" else None
        sensitivity = score_sensitivity(score, self.neighbours, rows, largest <= 2, top)
        scale = scores_scale(budget, len(candidates), top)
        check_scale(self._noise, scale, budget.currency)
        geometric = top and budget.currency == "epsilon"
        mechanism = f"{'geometric' if geometric else self._distribution(budget)} noise in shares"
        if top:
            mechanism = f"{'largest' if geometric else 'exponential'}, by a delegate, of sums with {mechanism}"
        told = "one" if top else "all"
        self.ledger.debit(f"{told} of {len(candidates)} sums of scores {score}", budget, mechanism)
        found = shared_grid(self._scores(named, candidates, estimates), sensitivity)
        return self._noise.geometric(found, scale) if geometric else self._noisy(found, budget, scale)


def score_sensitivity(score: str, neighbours: Neighbours, rows: int | None, binary: bool, top: bool) -> float:
    """By how much one row moves a score at most; to find the largest, half of the range in which it moves scores."""
    half_range = score_named(score).sensitivity(neighbours, rows, binary)
    # Scores that move by the same amount either way are moved by that half; score F falls by 1 and rises by 1/2.
    return half_range if top or score != "F" else 1.0


def scores_scale(budget: Budget, candidates: int, top: bool) -> float:
    """The scale of the noise in each gridded score."""
    if top:
        return top_scale(budget.amount) if budget.currency == "epsilon" else VEIL * delegated_scale(budget.amount)
    step = SHARED_GRID + 2
    if budget.currency == "epsilon":
        return laplace_scale(candidates * step, budget.amount)
    return gaussian_scale(float(np.nextafter(np.sqrt(candidates) * step, np.inf)), budget.amount)


# --------------------------------------------------------------------------- sessions


@dataclass(frozen=True)
class _Delegate:
    """Who finds the largest of sums, and how."""

    name: str
    offsets: NDArray[np.int64]
    choice_scale: float  # 0 where the largest itself is taken


@dataclass
class _Round:
    """A secure sum under way."""

    question: bytes
    numbers: NDArray[np.uint64]
    seeds: dict[str, bytes]
    own_seed: bytes = b""
    shares: dict[str, bytes] = field(default_factory=dict)
    masked: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    delegate: _Delegate | None = None
    expects: tuple[str, ...] = ()


@dataclass
class _Session:
    """What a holder knows of a session."""

    asker: str
    terms: Terms
    context: bytes
    ledger: Ledger
    coded: Coded
    noise: Noise
    rows: HolderRows
    number: str | None = None
    keys: PairKeys | None = None
    all_keys: bytes = b""
    round: int = 0
    work: _Round | None = None
    last: tuple[bytes, bytes] = (b"", b"")
    views: dict[str, HolderRows] = field(default_factory=dict)

    def view(self, bits: str | None) -> HolderRows:
        """The rows as they are, or taken apart into bits."""
        if bits is None:
            return self.rows
        if bits not in ("binary", "gray"):
            raise InputError(f"Attributes are taken apart as binary or gray, not {bits!r}.")
        if bits not in self.views:
            apart = Bits(self.rows.schema, bits == "gray")
            apart.check()
            split = Coded(apart.schema, apart.split(self.coded.codes), self.coded.rows, ())
            self.views[bits] = HolderRows(split, self.ledger, self.noise)
        return self.views[bits]


class Holder:
    """Keeps rows and answers messages.

    Parameters
    ----------
    name
        How others call it.
    coded
        The private rows.
    allowance, delta
        What all sessions together may cost while this holder runs; by default what the ledger file allows.
    ledger_file
        The ledger on disk that the price of each session is reserved in, before anything is answered.
    identity
        What the holder signs its keys with; secure sums need it.
    peers
        The pinned certificates of the other holders, by name.
    log
        Told what was asked and answered.
    noise
        Where noise comes from; anything but the default is for tests and studies.
    colluders
        How many of the other holders this one fears to be in league with the analyst: secure sums that guard against
        fewer are refused.
    ways
        The ways of working together that this holder accepts.
    neighbours
        The relation that the guarantee is for, in every session; by default that of the ledger file, or "add_remove".
        With "replace" the number of rows is public, and told to everybody who asks.
    """

    def __init__(
        self,
        name: str,
        coded: Coded,
        *,
        allowance: float | None = None,
        delta: float = 0.0,
        ledger_file: LedgerFile | None = None,
        identity: Signer | None = None,
        peers: Mapping[str, Verifier] | None = None,
        log: Log = no_log,
        noise: Noise | None = None,
        colluders: int = 0,
        ways: Sequence[str] = WAYS,
        neighbours: Neighbours | None = None,
    ) -> None:
        if allowance is None and ledger_file is None:
            raise InputError("A holder needs an allowance or a ledger file, so that it knows when to stop answering.")
        if coded.rows >= MOST_ROWS:
            raise InputError(f"A holder has fewer than {MOST_ROWS:,} rows; {name} has {coded.rows:,}.")
        if neighbours is None:
            neighbours = "add_remove" if ledger_file is None else ledger_file.read()["neighbours"]
        self.name = name
        self.neighbours = check_neighbours(neighbours)
        self.schema = coded.schema
        self.identity = identity
        self.peers = dict(peers or {})
        self._coded = coded
        self._allowance = None if allowance is None else (check_epsilon(allowance), check_delta(delta))
        self._file = ledger_file
        self._log = log
        self._noise = noise if noise is not None else SystemNoise()
        if ledger_file is not None and not self._noise.private:
            raise InputError("A holder with seeded noise protects nobody; it does not belong into a ledger file.")
        self._colluders = colluders
        self._ways = tuple(ways)
        self._spent: list[Terms] = []
        self._sessions: dict[str, _Session] = {}
        self._closed: dict[str, _Session] = {}
        self._schema_digest = schema_digest(coded.schema)
        self._lock = threading.Lock()

    def answer(self, message: bytes, asker: str = "") -> bytes:
        """Answer a message; what is wrong with it is told by the answer, in one sentence.

        Parameters
        ----------
        message
            What is asked.
        asker
            Who asks, as far as the link knows: nobody else is answered in a session that this one opened.
        """
        with self._lock:
            try:
                return self._answer(Message.from_bytes(message), message, asker)
            except HolderGone as error:
                self._log({"answered": "gone", "why": str(error)})
                return refusal(str(error), gone=True)
            except UnderstudyError as error:
                self._log({"answered": "refused", "why": str(error)})
                return refusal(str(error))
            except Exception as error:  # whatever it was, its text may hold something private: its place does not
                self._log({"answered": "refused", "why": f"{type(error).__name__} {_place(error)}"})
                return refusal(f"The holder {self.name} could not answer; its log says where it failed.")

    def _answer(self, asked: Message, raw: bytes, asker: str) -> bytes:
        if asked.kind == "hello":
            return self._hello().to_bytes()
        name = asked.get("session", str)
        seal = digest(raw)
        session = self._sessions.get(name) or self._closed.get(name)
        if session is not None and session.asker != asker:
            raise InputError("This session was opened by somebody else, who alone can go on with it.")
        if session is not None and session.last[0] == seal:
            self._log({"session": name, "asked": "again", "question": seal.hex(), "answered": "repeated"})
            return session.last[1]
        told = _told(asked)  # refuses what cannot be written down, before anything is debited
        if asked.kind == "open":
            session, reply = self._open(asked, raw, asker)
            told = {"terms": asked.content}
        elif session is None or name in self._closed:
            raise HolderGone(f"The holder {self.name} knows of no such session; it may have been started again since.")
        else:
            self._sessions[name] = self._sessions.pop(name)  # the last that was heard of
            reply = self._step(session, asked)
        answer = reply.to_bytes()
        if asked.kind == "ask":
            told |= {"currency": session.ledger.currency, "left": session.ledger.left.amount}
        entry = {"session": name, "asked": asked.kind, "question": seal.hex(), "answered": reply.kind, **told}
        self._log({**entry, "bytes": len(answer), "digest": digest(answer).hex()})
        session.last = seal, answer  # not before the log has it: what is told again was told once
        return answer

    def _step(self, session: _Session, asked: Message) -> Message:
        steps = {
            "start": self._start,
            "ask": self._ask,
            "deliver": self._deliver,
            "agree": self._agree,
            "reveal": self._reveal,
            "pick": self._pick,
            "close": self._close,
        }
        if asked.kind not in steps:
            raise InputError(f"A holder does not know what {asked.kind!r} means.")
        return steps[asked.kind](session, asked)

    def _hello(self) -> Message:
        """Who this is; nothing in it is private."""
        content = {"name": self.name, "schema": self._schema_digest, "ways": list(self._ways)}
        return Message("hello", {**content, "private": self._noise.private})

    # ---- a session begins and ends

    def _open(self, asked: Message, raw: bytes, asker: str) -> tuple[_Session, Message]:
        terms = Terms.from_message(asked)
        self._check_terms(terms)
        context = digest(raw)
        keys = PairKeys(self.name, context) if terms.way == "secure" else None
        number = self._reserve(terms)
        ledger = terms.ledger
        # From here on nothing is taken back: a session that goes wrong has cost what it was promised.
        noise: Noise = ShareNoise(terms.honest, self._noise) if terms.way == "secure" else self._noise
        rows = HolderRows(self._coded, ledger, noise)
        session = _Session(asker, terms, context, ledger, self._coded, noise, rows, number, keys)
        self._sessions[terms.session] = session
        theirs = [name for name, other in self._sessions.items() if other.asker == asker]
        if len(theirs) > MOST_SESSIONS:  # the first was left behind; its price stays on the books in full
            del self._sessions[theirs[0]]
        content: dict[str, Any] = {"name": self.name, "rows": None}
        if terms.neighbours == "replace":
            content["rows"] = self._coded.rows
        if keys is not None:
            assert self.identity is not None
            signature = self.identity.sign(keys_statement(context, self.name, keys.public))
            content |= {"key": keys.public.hex(), "signature": signature.hex()}
        return session, Message("opened", content)

    def _check_terms(self, terms: Terms) -> None:
        if terms.session in self._sessions or terms.session in self._closed:
            raise InputError("There is a session of that name already.")
        if terms.neighbours != self.neighbours:
            raise InputError(
                f"The holder {self.name} answers for neighbours {self.neighbours} only, and the session is for "
                f"the other neighbour relation."
            )
        if terms.way not in self._ways:
            raise InputError(f"The holder {self.name} does not take part in the way {terms.way!r}.")
        if terms.schema != self._schema_digest:
            raise InputError(f"The holder {self.name} has rows of another schema; compare the two files.")
        if self.name not in terms.holders:
            raise InputError(f"The holder {self.name} is not among those that are to take part.")
        if terms.way != "secure":
            return
        if terms.colluders < self._colluders:
            raise InputError(
                f"The holder {self.name} takes part only where sums are secure against {self._colluders} colluding "
                f"holders; the session guards against {terms.colluders}."
            )
        if self.identity is None:
            raise InputError(f"The holder {self.name} has no identity to sign its keys with; secure sums need one.")
        strangers = [name for name in terms.holders if name != self.name and name not in self.peers]
        if strangers:
            raise InputError(f"The holder {self.name} has no pinned certificate of {strangers[0]}.")

    def _reserve(self, terms: Terms) -> str | None:
        """Put the whole price on the books, before anything is answered."""
        refused = f"The holder {self.name} does not allow a release at epsilon {terms.epsilon:g}, delta {terms.delta:g}"
        if self._allowance is not None:
            for price, allowed in zip(("epsilon", "delta"), self._allowance, strict=True):
                spent = total([getattr(earlier, price) for earlier in [*self._spent, terms]])
                if spent > exact(allowed):
                    raise BudgetError(f"{refused}: it would overdraw its allowance.")
        number = None
        if self._file is not None:
            what = f"{terms.way}, {terms.method.get('name', 'tables')}, session {terms.session}"
            try:
                number = self._file.reserve(what, terms.epsilon, terms.delta, terms.neighbours)
            except UnderstudyError as error:
                # The file's own words name paths and amounts that are the holder's business alone.
                self._log({"answered": "refused", "why": str(error)})
                raise BudgetError(f"{refused}: its ledger does not allow it.") from None
        self._spent.append(terms)
        return number

    def _start(self, session: _Session, asked: Message) -> Message:
        """The keys of all holders, each signed by its owner."""
        terms, keys = session.terms, session.keys
        if keys is None or session.all_keys:
            raise InputError("This session has nothing to start, or has been started.")
        told = asked.get("keys", dict)
        if sorted(told) != list(terms.holders):
            raise InputError("There must be a key of each holder that takes part, and no other.")
        publics = {}
        for name, entry in told.items():
            public, signature = _pair_of_hex(entry)
            publics[name] = public
            if name == self.name:
                if public != keys.public:
                    raise InputError(f"The key that is said to be {self.name}'s is not.")
                continue
            if not self.peers[name].verify(signature, keys_statement(session.context, name, public)):
                raise InputError(f"The key of {name} is not signed by the certificate that {self.name} has pinned.")
            keys.meet(name, public)
        session.all_keys = keys_digest(publics)
        return Message("started")

    def _close(self, session: _Session, asked: Message) -> Message:
        """The end: what was asked is written into the ledger file."""
        if self._file is not None and session.number is not None:
            self._file.settle(session.number, session.ledger)
            session.number = None
        if not session.ledger.entries:
            self._spent.remove(session.terms)  # nothing was asked, so it costs nothing
        name = session.terms.session
        self._closed = dict([*self._closed.items(), (name, self._sessions.pop(name))][-MOST_SESSIONS:])
        session.keys, session.work, session.views = None, None, {}
        return Message("closed")

    # ---- rounds

    def _ask(self, session: _Session, asked: Message) -> Message:
        """A new round: debit, count, add noise; then answer, or begin a secure sum."""
        terms = session.terms
        number = asked.get("round", int)
        if number != session.round + 1:
            raise InputError(f"The next round is {session.round + 1}, not {number}.")
        if terms.way == "secure" and not session.all_keys:
            raise InputError("The holders have not agreed on keys yet.")
        what = asked.get("what", str)
        if what not in _QUESTIONS[terms.way]:
            raise InputError(f"In the way {terms.way!r} nobody asks for {what!r}.")
        _check_fields(asked, *_FIELDS[what])
        session.round, session.work = number, None
        if what == "model":
            return self._model(session)
        if what == "size":
            return Message("answer", {"size": session.view(None).size(_budget(session, asked))})
        rows = session.view(asked.content.get("bits"))
        marginals = unpacked(asked.get("names", list), asked.array("axes", "i8"), asked.array("lengths", "i8"))
        if not marginals:
            raise InputError("There is nothing to count.")
        cells = rows.cells(marginals)
        if (sum(cells) if what == "tables" else max(cells)) > MOST_NUMBERS:
            raise InputError(f"Tables of more than {MOST_NUMBERS:,} cells are not counted in one round; ask for less.")
        if what == "tables":
            weights = asked.array("weights", "f8").tolist() if "weights" in asked.arrays else None
            numbers = _flat(rows.measure(marginals, _budget(session, asked), weights))
            if terms.way == "secure":
                return self._begin_sum(session, asked, numbers)
            return Message("answer", {}, {"numbers": numbers})
        if len(set(marginals)) < len(marginals):
            raise InputError("A candidate stands twice in the question; each can be chosen once.")
        if what == "vote":
            return self._vote(session, asked, rows, marginals)
        delegate = self._delegate(session, asked, len(marginals)) if what == "top" else None
        estimates = self._estimates(rows, asked, marginals)
        budget, score, most = _budget(session, asked), asked.get("score", str), asked.content.get("most_rows")
        numbers = rows.scores(marginals, score, budget, most, estimates, what == "top")
        if delegate is not None:
            return self._begin_top(session, asked, numbers, delegate)
        return self._begin_sum(session, asked, numbers)

    def _vote(self, session: _Session, asked: Message, rows: HolderRows, marginals: list[Marginal]) -> Message:
        """The choice that this holder would make, by its own rows alone."""
        offsets = asked.array("offsets", "f8") * self._share(asked) if "offsets" in asked.arrays else None
        rule = asked.get("rule", str)
        if rule not in ("exponential", "permute_and_flip"):
            raise InputError(f"There is no rule {rule!r} to choose by.")
        vote = rows.choose(
            marginals,
            asked.get("score", str),
            _budget(session, asked),
            offsets,
            rule,
            self._estimates(rows, asked, marginals),
        )
        return Message("answer", {"vote": vote})

    def _model(self, session: _Session) -> Message:
        """A model of this holder's rows alone."""
        import json

        from understudy.federation.ways import method_of
        from understudy.synthesizers import no_progress

        method = method_of(session.terms.method)
        method.check(self.schema)
        model = method.learn(CentralCurator(self._coded, session.ledger, self._noise), session.ledger.left, no_progress)
        document = json.dumps(model.to_dict(), allow_nan=False).encode()
        return Message("answer", {}, {"model": np.frombuffer(document, dtype=np.uint8)})

    def _share(self, asked: Message) -> float:
        """Which share of all rows this holder has, or is taken to have: public."""
        share = asked.get("shares", dict).get(self.name)
        if not isinstance(share, float | int) or isinstance(share, bool) or not 0 <= share <= 1:
            raise InputError(f"The question does not say which share of all rows the holder {self.name} has.")
        return float(share)

    def _estimates(
        self, rows: HolderRows, asked: Message, marginals: Sequence[Marginal]
    ) -> list[NDArray[np.float64]] | None:
        """Public tables that come with a question, in this holder's proportion."""
        if "estimates" not in asked.arrays:
            return None
        flat: Array = asked.array("estimates", "f8") * self._share(asked)
        ends = np.cumsum(rows.cells(marginals))
        if ends[-1] != flat.size:
            raise InputError("The estimates do not have the shapes of the tables.")
        parts = np.split(flat, ends[:-1])
        return [part.reshape(rows.shape(axes)) for part, axes in zip(parts, marginals, strict=True)]

    # ---- secure sums

    def _begin_round(self, session: _Session, asked: Message, numbers: NDArray[np.int64]) -> tuple[PairKeys, _Round]:
        terms, keys = session.terms, session.keys
        assert keys is not None
        question = digest(asked.to_bytes())
        others = [name for name in terms.holders if name != self.name]
        seeds = {peer: keys.seed(peer, "mask", str(session.round), question) for peer in others}
        session.work = _Round(question, numbers.astype(np.int64).view(np.uint64), seeds)
        return keys, session.work

    def _begin_sum(self, session: _Session, asked: Message, numbers: NDArray[np.int64]) -> Message:
        terms = session.terms
        keys, work = self._begin_round(session, asked, numbers)
        if not terms.dropouts:
            return self._masked(work, work.seeds)
        # Two secrets of this round in shares: what undoes the own mask, and what undoes the pair masks.
        work.own_seed, key = os.urandom(32), os.urandom(32)
        places = len(terms.holders)
        both = zip(shares_of(work.own_seed, places, terms.present), shares_of(key, places, terms.present), strict=True)
        shared = dict(zip(terms.holders, (own + pair for own, pair in both), strict=True))
        work.shares[self.name] = shared.pop(self.name)
        purpose = str(session.round), work.question
        locked = {
            peer: sealed(keys.seed(peer, "shares", self.name, *purpose), share, work.question).hex()
            for peer, share in shared.items()
        }
        box = sealed(key, b"".join(work.seeds.values()), work.question)
        work.expects = ("deliver",)
        return Message("shared", {"shares": locked, "box": box.hex()})

    def _deliver(self, session: _Session, asked: Message) -> Message:
        """The others' shares come in, and the masked numbers go out."""
        terms, keys, work = self._working(session, asked, "deliver")
        shares = {self.name: work.shares[self.name]}
        for peer, locked in asked.get("shares", dict).items():
            if peer == self.name or peer not in terms.holders:
                raise InputError(f"{peer!r} has no share for the holder {self.name}.")
            key = keys.seed(peer, "shares", peer, str(session.round), work.question)
            shares[peer] = opened(key, _hex(locked), work.question)
            if len(shares[peer]) != 2 * SHARE_BYTES:
                raise InputError(f"The share of {peer} is no share.")
        self._check_enough(terms, list(shares))
        work.shares, work.masked = shares, tuple(sorted(shares))
        work.expects = ("agree",)
        return self._masked(work, {peer: work.seeds[peer] for peer in work.masked if peer != self.name})

    def _masked(self, work: _Round, seeds: Mapping[str, bytes]) -> Message:
        """What leaves the holder."""
        masked = work.numbers + pair_mask(self.name, seeds, work.numbers.size)
        if work.own_seed:
            masked += stream(work.own_seed, work.numbers.size)
        return Message("masked", {}, {"numbers": masked})

    def _agree(self, session: _Session, asked: Message) -> Message:
        """Sign whose numbers are in the sum: once a round, for one sum only."""
        terms, _, work = self._working(session, asked, "agree")
        present = asked.get("present", list)
        if present != sorted(set(present)) or not set(present) <= set(work.masked) or self.name not in present:
            raise InputError("A sum is over holders that sent their numbers, this one among them.")
        self._check_enough(terms, present)
        if work.delegate is not None and work.delegate.name not in present:
            raise InputError("Without the delegate there is no sum to be told of in this round.")
        work.present = tuple(present)
        work.expects = ("pick",) if self._is_delegate(work) else ("reveal",)
        assert self.identity is not None
        return Message("agreed", {"signature": self.identity.sign(self._sum_statement(session, work)).hex()})

    def _reveal(self, session: _Session, asked: Message) -> Message:
        """Tell the shares that open this one sum, once enough holders have signed that they mean the same.

        Where there is a delegate, tell it, and nobody else, the pair seeds with those that dropped out.
        """
        terms, keys, work = self._working(session, asked, "reveal")
        statement = self._sum_statement(session, work)
        signed = [self.name]
        for name, signature in asked.get("signatures", dict).items():
            if name in work.present and name != self.name and self.peers[name].verify(_hex(signature), statement):
                signed.append(name)
        if len(signed) < terms.present:
            raise InputError(
                f"Only {len(signed)} of the {terms.present} holders that are needed signed for this sum; nothing told."
            )
        work.expects = ()
        if work.delegate is not None:
            gone = b"".join(seed for peer, seed in work.seeds.items() if peer not in work.present)
            return self._sealed(session, keys, work, "seeds", gone, statement)
        own = {name: work.shares[name][:SHARE_BYTES].hex() for name in work.present}
        pair = {name: work.shares[name][SHARE_BYTES:].hex() for name in work.masked if name not in work.present}
        return Message("revealed", {"own": own, "pair": pair})

    def _working(self, session: _Session, asked: Message, step: str) -> tuple[Terms, PairKeys, _Round]:
        work = session.work
        if work is None or session.keys is None or asked.get("round", int) != session.round or step not in work.expects:
            raise InputError(f"This is not the time for {step!r}: the round is another, or at another step.")
        return session.terms, session.keys, work

    def _check_enough(self, terms: Terms, names: Sequence[str]) -> None:
        if len(names) < terms.present:
            raise InputError(f"{len(names)} holders are in the sum, and {terms.present} must be; nothing is told.")

    @staticmethod
    def _sum_statement(session: _Session, work: _Round) -> bytes:
        where = session.context, session.all_keys, session.round, work.question
        return sum_statement(*where, work.masked, work.present)

    # ---- the largest of sums

    def _delegate(self, session: _Session, asked: Message, size: int) -> _Delegate:
        """Who is to read the sums, and what it adds to them: public, and checked before anything is debited."""
        terms, name, currency = session.terms, asked.get("delegate", str), session.ledger.currency
        if terms.colluders:
            raise InputError("A delegate sees noisy sums: only holders that are not feared to collude choose by one.")
        if name not in terms.holders:
            raise InputError("The delegate is not among the holders.")
        offsets = asked.array("offsets", "i8") if "offsets" in asked.arrays else np.zeros(size, dtype=np.int64)
        if offsets.size != size or offsets.min() < -LARGEST_OFFSET or offsets.max() > LARGEST_OFFSET:
            raise InputError("Offsets must be whole numbers on the grid of the scores, one a candidate.")
        amount = _budget(session, asked).amount
        return _Delegate(name, offsets, delegated_scale(amount) if currency == "rho" and amount > 0 else 0.0)

    def _begin_top(self, session: _Session, asked: Message, numbers: NDArray[np.int64], delegate: _Delegate) -> Message:
        """The numbers, under all pair masks, go to the delegate: it learns their sum, and the analyst nothing at all.

        No mask of the holder's own is needed, since only the delegate can open what is sealed for it.
        """
        keys, work = self._begin_round(session, asked, numbers)
        work.delegate, work.masked, work.present = delegate, session.terms.holders, session.terms.holders
        steps = ("agree",) if session.terms.dropouts else ()
        if self._is_delegate(work):  # its own numbers stay at home
            work.expects = (*steps, "pick")
            return Message("sealed", {}, {"box": np.empty(0, dtype=np.uint8)})
        work.expects = steps
        masked = work.numbers + pair_mask(self.name, work.seeds, work.numbers.size)
        return self._sealed(session, keys, work, "numbers", masked.astype("<u8").tobytes(), work.question)

    def _is_delegate(self, work: _Round) -> bool:
        return work.delegate is not None and work.delegate.name == self.name

    def _sealed(
        self, session: _Session, keys: PairKeys, work: _Round, what: str, content: bytes, about: bytes
    ) -> Message:
        """Something for the delegate's eyes; that it is from this holder, and for this, is all bound into the key."""
        assert work.delegate is not None
        key = keys.seed(work.delegate.name, "top", what, self.name, str(session.round), work.question)
        return Message("sealed", {}, {"box": np.frombuffer(sealed(key, content, about), dtype=np.uint8)})

    def _opened(self, session: _Session, asked: Message, peer: str, what: str, about: bytes, size: int) -> Array:
        """What a peer sealed for this holder, as bytes."""
        assert session.keys is not None
        assert session.work is not None
        key = session.keys.seed(peer, "top", what, peer, str(session.round), session.work.question)
        try:
            content = opened(key, asked.array(box_name(what, peer), "u1").tobytes(), about)
        except InputError:
            raise InputError(
                f"What {peer} sealed for {self.name} was changed on the way, or is not meant for this round."
            ) from None
        if len(content) != size:
            raise InputError(f"What {peer} sealed for {self.name} is not as long as it should be.")
        return np.frombuffer(content, dtype=np.uint8)

    def _pick(self, session: _Session, asked: Message) -> Message:
        """The delegate's part: the place of the largest sum, over all holders or those that all have agreed on."""
        terms, _, work = self._working(session, asked, "pick")
        assert work.delegate is not None
        others = [peer for peer in work.present if peer != self.name]
        gone = [peer for peer in terms.holders if peer not in work.present]
        boxes = [box_name(what, peer) for what in ("numbers", "seeds")[: 2 if gone else 1] for peer in others]
        if sorted(asked.arrays) != sorted(boxes):
            raise InputError("The delegate adds up what each holder in the sum has sealed for it, and nothing else.")
        size = work.numbers.size
        sums = work.numbers + pair_mask(self.name, {peer: work.seeds[peer] for peer in others}, size)
        for peer in others:
            sums += self._opened(session, asked, peer, "numbers", work.question, 8 * size).view("<u8")
            if gone:  # take back what the peer added for those that dropped out
                statement = self._sum_statement(session, work)
                seeds = self._opened(session, asked, peer, "seeds", statement, SEED_BYTES * len(gone))
                parts = [part.tobytes() for part in np.split(seeds, len(gone))]
                sums -= pair_mask(peer, dict(zip(gone, parts, strict=True)), size)
        work.expects = ()
        found = sums.view(np.int64) + work.delegate.offsets
        if not work.delegate.choice_scale:
            return Message("answer", {"place": int(np.argmax(found))})
        # They lie within these bounds anyway, unless a holder sends what cannot be; bounding moves nothing further.
        scores = np.clip(found, -(1 << 53), 1 << 53).astype(np.float64)
        return Message("answer", {"place": self._noise.choose(scores, work.delegate.choice_scale, "exponential")})


def box_name(what: str, peer: str) -> str:
    """What the analyst calls something that a holder sealed for the delegate."""
    return f"{what} of {peer}"


_QUESTIONS = {
    "secure": ("tables", "vote", "scores", "top", "size"),
    "statistics": ("tables",),
    "voting": ("vote", "tables", "size"),
    "models": ("model",),
}
"""What may be asked, by way."""

_NUMBER, _NOTHING = (float, int), type(None)
_STEP: dict[str, _Kind] = {"session": str, "round": int}
_TABLES: dict[str, _Kind] = {**_STEP, "what": str, "names": list, "bits": (str, _NOTHING), "amount": _NUMBER}
_SCORED: dict[str, _Kind] = {**_TABLES, "score": str, "most_rows": (int, _NOTHING), "shares": dict}
_AXES = {"axes": "i8", "lengths": "i8"}
_FIELDS: dict[str, tuple[Mapping[str, _Kind], Mapping[str, str]]] = {
    "tables": (_TABLES, {**_AXES, "weights": "f8"}),
    "vote": ({**_SCORED, "rule": str}, {**_AXES, "offsets": "f8", "estimates": "f8"}),
    "scores": (_SCORED, {**_AXES, "estimates": "f8"}),
    "top": ({**_SCORED, "delegate": str}, {**_AXES, "offsets": "i8", "estimates": "f8"}),
    "size": ({**_STEP, "what": str, "amount": _NUMBER}, {}),
    "model": ({**_STEP, "what": str}, {}),
}
"""What a question may hold: nothing that is not read, so that what the log says of it is all that there is."""


def _check_fields(asked: Message, content: Mapping[str, _Kind], arrays: Mapping[str, str]) -> None:
    for name in (*(asked.content.keys() - content.keys()), *(asked.arrays.keys() - arrays.keys())):
        raise InputError(f"A question for {asked.content['what']} does not hold {name!r}.")
    for name in asked.content:
        asked.get(name, content[name])
    for name in asked.arrays:
        asked.array(name, arrays[name])


def _budget(session: _Session, asked: Message) -> Budget:
    amount = float(asked.get("amount", _NUMBER))
    if 0 < amount < SMALLEST_AMOUNT:
        raise InputError(f"Nothing is told for less than {SMALLEST_AMOUNT:g}; raise epsilon.")
    return Budget(amount, session.ledger.currency)


def _flat(found: Sequence[Measurement]) -> NDArray[np.int64]:
    return np.concatenate([np.atleast_1d(measurement.counts).ravel() for measurement in found]).astype(np.int64)


def _hex(text: Any) -> bytes:
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError):
        raise InputError("A message holds letters where it should hold bytes.") from None


def _pair_of_hex(entry: Any) -> tuple[bytes, bytes]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise InputError("A key comes with its signature.")
    return _hex(entry[0]), _hex(entry[1])


def _place(error: BaseException) -> str:
    """Where something failed: a file and a line of a program, nothing of what it worked on."""
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"at {os.path.basename(last.filename)}:{last.lineno}"


def _told(asked: Message) -> dict[str, Any]:
    """What an auditor wants to know of a question."""
    if asked.kind != "ask":
        return {}
    told = {name: asked.content.get(name) for name in ("round", "what", "amount", "score") if name in asked.content}
    if "names" in asked.content:
        tables = unpacked(asked.get("names", list), asked.array("axes", "i8"), asked.array("lengths", "i8"))
        told["tables"] = len(tables)
        if len(tables) <= 100:
            told["names"] = [describe(axes) for axes in tables]
    return told
