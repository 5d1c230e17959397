"""The crypto service: holds the key, and decrypts nothing but sums over all owners with its noise.

It holds no rows and no ciphertexts. An aggregator sends blinded ciphertexts of sums, with the
question that they are for; the service checks the question against the plan, its policy and its
ledger, debits, decrypts, takes off the masks of all owners, adds its own noise and answers. What it
decrypts is blinded by a uniform number, so that it learns nothing itself; what it answers has its
noise, so that the aggregator learns no more than the ledger says (:mod:`understudy.encrypted.masks`
has the proof).

Like a holder, it gives a message that comes again, the same to the byte, the answer that it got,
refuses messages out of their order, and closes at an exception that it did not raise on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.encrypted.masks import derive_masks, open_seed
from understudy.encrypted.paillier import PrivateKey
from understudy.encrypted.plans import EncryptionPlan, Item
from understudy.encrypted.questions import (
    EncryptedQuestion,
    PairScores,
    PricedItems,
    price_question,
)
from understudy.encrypted.uploads import seed_statement
from understudy.errors import InputError
from understudy.federation.allowance import Allowance, Reservation
from understudy.federation.masking import Verifier
from understudy.federation.messages import Message
from understudy.federation.noise_shares import ShareNoise
from understudy.federation.party import AnsweringParty, Log, no_log
from understudy.federation.questions import budget_of
from understudy.federation.session_keys import from_hex
from understudy.federation.terms import ENCRYPTED, Terms
from understudy.privacy.ledger import Ledger, LedgerFile
from understudy.privacy.mechanisms import Noise, SystemNoise, add_noise
from understudy.privacy.questions import Measure
from understudy.privacy.sum_wire import sum_from_wire

_ASKED = {"session", "round", "what", "amount", "names"}
_SUMMED = _ASKED | {"features", "moments", "ball", "missing", "split", "pooled"}
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "scores": (_ASKED - {"names"}, {"ciphertexts"}),
    "tables": (_ASKED, {"axes", "lengths", "weights", "ciphertexts"}),
    "sums": (_SUMMED, {"axes", "lengths", "points", "centres", "directions", "ciphertexts"}),
}
"""What may stand in a question, so that what the log says of it is all that there is."""


@dataclass(frozen=True, kw_only=True)
class ServicePolicy:
    """What a service agrees to.

    Parameters
    ----------
    ledger_file
        The ledger on disk that the price of each session is reserved in; without one, the plan's
        allowance holds for as long as the service runs.
    colluders
        1: sessions whose noise would not hold against the aggregator, or against the service
        itself, are refused. 0: they are accepted.
    session_share, analyst_share
        The largest share of the allowance that one session, and all sessions of one aggregator,
        may take.
    """

    ledger_file: LedgerFile | None = None
    colluders: int = 1
    session_share: float | Fraction = 1
    analyst_share: float | Fraction = 1


class CryptoService(AnsweringParty["_Session"]):
    """Holds a key and answers messages.

    Parameters
    ----------
    name
        How others call it.
    plan
        What was agreed on with the owners.
    key
        The private key of the plan.
    owners
        The pinned certificates of all owners, by name.
    policy
        What the service agrees to.
    log
        Told what was asked and answered.
    noise
        Where noise comes from; anything but the default is for tests and studies.
    """

    kind = "service"
    keeper = "whoever runs it"

    def __init__(
        self,
        name: str,
        plan: EncryptionPlan,
        key: PrivateKey,
        owners: Mapping[str, Verifier],
        *,
        policy: ServicePolicy | None = None,
        log: Log = no_log,
        noise: Noise | None = None,
    ) -> None:
        if key.public != plan.key:
            raise InputError(
                "The plan is for another key than the service has; name the right one."
            )
        for owner in plan.owners:
            if owner not in owners:
                raise InputError(
                    f"The service has no certificate of the owner {owner}; add it to the parties."
                )
        super().__init__(name, log)
        self.plan = plan
        self.key = key
        self.owners = {owner: owners[owner] for owner in plan.owners}
        self.policy = policy or ServicePolicy()
        self._noise: Noise = noise or SystemNoise()
        self._seals: dict[str, bytes] = {}
        """The sealed seed of each owner, once it is known: it does not change."""
        self._seeds: dict[str, bytes] = {}
        self._masks: dict[int, list[int]] = {}
        """The sums of all owners' masks, by item."""
        book = self.policy.ledger_file
        if book is not None and not self._noise.private:
            raise InputError(
                "A service with seeded noise protects nobody; it does not belong into a ledger "
                "file."
            )
        if book is not None:
            _check_book(book, plan)
        self._allowance = Allowance(
            name,
            epsilon=plan.epsilon,
            delta=plan.delta,
            ledger_file=book,
            session_share=self.policy.session_share,
            analyst_share=self.policy.analyst_share,
            notify=lambda why: self._write_down({"answered": "refused", "why": why}),
            kind="service",
        )

    def _hello(self) -> Message:
        return Message(
            "hello",
            {
                "name": self.name,
                "plan": self.plan.digest.hex(),
                "key": self.plan.key.fingerprint,
                "private": self._noise.private,
            },
        )

    # ---- a session

    def _open(self, asked: Message, raw: bytes, asker: str) -> tuple[_Session, Message]:
        terms = Terms.from_message(asked)
        self._check_terms(terms)
        reserved = self._allowance.reserve(terms, asker)
        session = _Session(asker, terms, reserved, ShareNoise(terms.honest, self._noise))
        self._admit(terms.session, session)
        return session, Message("opened", {"name": self.name})

    def _check_terms(self, terms: Terms) -> None:
        if terms.session in self._sessions or terms.session in self._ended:
            raise InputError("There is a session of that name already.")
        if terms.way != ENCRYPTED:
            raise InputError(f"A crypto service does not take part in the way {terms.way!r}.")
        if terms.schema != self.plan.digest.hex():
            raise InputError(f"The service {self.name} serves another plan; compare the two files.")
        if terms.holders != self.plan.owners:
            raise InputError(f"The service {self.name} answers for all owners of the plan only.")
        if terms.neighbours != self.plan.neighbours:
            raise InputError(
                f"The service {self.name} answers for neighbours {self.plan.neighbours} only."
            )
        if bool(terms.delta) != bool(self.plan.delta):
            raise InputError(
                "The plan counts in another currency: a session has a delta where the plan has "
                "one, and none where it has none."
            )
        if terms.colluders < self.policy.colluders:
            raise InputError(
                f"The service {self.name} wants noise that holds against aggregator and service "
                "themselves; ask with colluders 1, or have it fear nobody."
            )

    def _step(self, session: _Session, asked: Message) -> Message:
        if asked.kind == "start":
            return self._start(session, asked)
        if asked.kind == "ask":
            return self._ask(session, asked)
        if asked.kind == "close":
            return self._end(session)
        raise InputError(f"A crypto service does not know what {asked.kind!r} means.")

    def _start(self, session: _Session, asked: Message) -> Message:
        """Take the owners' sealed seeds, each signed by its owner for this plan."""
        told = asked.get("seeds", dict)
        if sorted(told) != list(self.plan.owners):
            raise InputError("There must be a sealed seed of each owner of the plan, and no other.")
        for owner, entry in told.items():
            self._take_seed(owner, entry)
        session.started = True
        return Message("started")

    def _take_seed(self, owner: str, entry: Any) -> None:
        if not isinstance(entry, list) or len(entry) != 2:
            raise InputError("A sealed seed comes with its owner's signature.")
        box, signature = from_hex(entry[0]), from_hex(entry[1])
        plan = self.plan.digest
        if not self.owners[owner].verify(signature, seed_statement(plan, owner, box)):
            raise InputError(f"The sealed seed of {owner} is not signed by its owner.")
        if self._seals.setdefault(owner, box) != box:
            raise InputError(
                f"{owner} uploaded twice, and the service knows the first upload; one plan takes "
                "one upload of each owner."
            )
        if owner not in self._seeds:
            self._seeds[owner] = open_seed(box, self.key.sealing, plan, owner)

    def _ask(self, session: _Session, asked: Message) -> Message:
        question = self._read(session, asked)
        ledger = session.ledger
        priced = price_question(self.plan, question, ledger, session.noise, session.terms.honest)
        key = self.plan.key
        data = asked.array("ciphertexts", "u1").tobytes()
        ciphertexts = key.from_bytes(data, priced.ciphertexts)
        ledger.debit_all(priced.lines)
        session.round += 1
        numbers = self._decrypt(priced, ciphertexts, session)
        plain = b"".join(number.to_bytes(key.plain_width, "big") for number in numbers)
        return Message("answer", {}, {"plaintexts": np.frombuffer(plain, np.uint8)})

    def _read(self, session: _Session, asked: Message) -> EncryptedQuestion:
        """The question, once everything in it is as it should be."""
        if not session.started:
            raise InputError("A session begins with the owners' sealed seeds.")
        if asked.get("round", int) != session.round + 1:
            raise InputError("Questions come one after the other; this one is out of its order.")
        what = asked.get("what", str)
        if what not in _FIELDS:
            raise InputError(f"A crypto service cannot be asked for {what!r}.")
        content, arrays = _FIELDS[what]
        for name in (*(asked.content.keys() - content), *(asked.arrays.keys() - arrays)):
            raise InputError(f"A question for {what} does not hold {name!r}.")
        budget = budget_of(asked, session.ledger.currency)
        if what == "scores":
            return PairScores(budget=budget)
        if what == "tables":
            return Measure.from_wire(asked, budget)
        return sum_from_wire(asked, budget, self.plan.domain)

    def _decrypt(self, priced: PricedItems, ciphertexts: list[int], session: _Session) -> list[int]:
        """Blinded sums, without masks and with this service's noise."""
        modulus = self.plan.key.modulus
        found: list[int] = []
        for item, scale, part in priced.split(ciphertexts):
            noise = item.packing.pack(self.draw_share(session, item, scale))
            masks = self._masks_of(item.number, item.ciphertexts)
            for ciphertext, mask, share in zip(part, masks, noise, strict=True):
                found.append((self.key.decrypt(ciphertext) - mask + share) % modulus)
        return found

    def draw_share(self, session: _Session, item: Item, scale: float) -> NDArray[np.int64]:
        """The service's noise for the cells of an item."""
        zeros = np.zeros(item.cells, dtype=np.int64)
        return add_noise(session.noise, zeros, session.ledger.currency, scale)

    def _masks_of(self, item: int, number: int) -> list[int]:
        if item not in self._masks:
            modulus = self.plan.key.modulus
            sums = [0] * number
            for owner, seed in self._seeds.items():
                masks = derive_masks(seed, self.plan.digest, owner, item, number, modulus)
                sums = [(a + b) % modulus for a, b in zip(sums, masks, strict=True)]
            self._masks[item] = sums
        return self._masks[item]

    def _end(self, session: _Session) -> Message:
        """What was asked is written into the ledger file."""
        self._allowance.settle(session.reservation, session.ledger)
        self._retire(session.terms.session)
        return Message("closed")


class _Session:
    """One release, as the service sees it."""

    def __init__(
        self, asker: str, terms: Terms, reservation: Reservation, noise: ShareNoise
    ) -> None:
        self.asker = asker
        self.terms = terms
        self.reservation = reservation
        self.noise = noise
        self.ledger: Ledger = terms.ledger
        if not noise.private:
            self.ledger.private = False
        self.started = False
        self.round = 0
        self.last: tuple[bytes, bytes] = (b"", b"")


def _check_book(book: LedgerFile, plan: EncryptionPlan) -> None:
    """The ledger is kept for this plan, with its allowance."""
    kept = book.read()
    allowance = kept["allowance"]
    if (allowance["epsilon"], allowance["delta"], kept["neighbours"]) != (
        plan.epsilon,
        plan.delta,
        plan.neighbours,
    ):
        raise InputError(
            f"The ledger {book.path} has another allowance than the plan, or other neighbours; "
            "each plan has a ledger of its own."
        )
    book.adopt_table(plan.digest.hex())
