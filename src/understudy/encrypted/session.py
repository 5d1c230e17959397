"""The aggregator's side: stored ciphertexts, added up, with noise and blinding, and a service to
ask.

The aggregator has no key. For each question it adds its own noise to the encrypted sums, and to
each of them a uniform number modulo n under fresh randomness. So the service decrypts a uniform
number, and the randomness of what it decrypts, which a key holder can work out, is uniform too.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.encrypted.paillier import split_numbers
from understudy.encrypted.plans import NOISE_TAIL, EncryptionPlan, Item
from understudy.encrypted.questions import (
    EncryptedQuestion,
    PairScores,
    PricedItems,
    price_question,
)
from understudy.encrypted.uploads import Upload
from understudy.errors import InputError, UnderstudyError
from understudy.federation import HolderGone, HolderRefused, Link
from understudy.federation.masking import Verifier
from understudy.federation.messages import Message
from understudy.federation.noise_shares import ShareNoise
from understudy.federation.terms import COLLUDERS, ENCRYPTED, Terms
from understudy.privacy.mechanisms import Noise, SystemNoise, add_noise
from understudy.privacy.questions import Measure
from understudy.privacy.sum_wire import sum_to_wire
from understudy.privacy.wire import Arrays, Content


class ServiceGone(HolderGone):
    """The service gave no answer, or none that can be understood."""


class Store:
    """The uploads of all owners of a plan, checked, and their encrypted sums.

    Parameters
    ----------
    plan
        What was agreed on.
    uploads
        One of each owner.
    owners
        The owners' certificates, by name.
    """

    def __init__(
        self, plan: EncryptionPlan, uploads: Iterable[Upload], owners: Mapping[str, Verifier]
    ) -> None:
        self.plan = plan
        self.uploads: dict[str, Upload] = {}
        for upload in uploads:
            upload.check(plan, owners)
            if upload.owner in self.uploads:
                raise InputError(
                    f"There are two uploads of {upload.owner}; a plan takes one of each owner."
                )
            self.uploads[upload.owner] = upload
        missing = [owner for owner in plan.owners if owner not in self.uploads]
        if missing:
            raise InputError(
                f"The upload of {missing[0]} is missing; sums are over all owners of the plan."
            )
        self._sums: dict[int, list[int]] = {}

    def sums(self, item: Item) -> list[int]:
        """The encrypted sums of an item, over all owners."""
        if item.number not in self._sums:
            columns = zip(*(one.items[item.number] for one in self.uploads.values()), strict=True)
            self._sums[item.number] = [self.plan.key.add(column) for column in columns]
        return self._sums[item.number]

    def seeds(self) -> dict[str, list[str]]:
        """The sealed seeds, for the service."""
        return {
            owner: [one.seed.hex(), one.seed_signature.hex()]
            for owner, one in sorted(self.uploads.items())
        }


class EncryptedSession:
    """One release from encrypted uploads.

    Parameters
    ----------
    link
        The way to the service.
    store
        The uploads.
    method
        The method's name and parameters, for the service's ledger.
    epsilon, delta
        The guarantee of the release.
    colluders
        1: the aggregator and the service each add the whole noise, so that the guarantee holds
        against either of them, together with all owners but one. 0: each adds half of it, and the
        guarantee does not hold against the two, who know their own halves.
    noise
        Where the aggregator's noise comes from; anything but the default is for studies.
    """

    def __init__(
        self,
        link: Link,
        store: Store,
        *,
        method: Mapping[str, Any] | None = None,
        epsilon: float,
        delta: float = 0.0,
        colluders: int = COLLUDERS,
        noise: Noise | None = None,
    ) -> None:
        self._link = link
        self.store = store
        self.plan = store.plan
        self.terms = Terms(
            secrets.token_hex(16),
            self.plan.digest.hex(),
            ENCRYPTED,
            dict(method or {}),
            float(epsilon),
            float(delta),
            self.plan.neighbours,
            self.plan.owners,
            0,
            colluders,
        )
        self.own_noise: Noise = noise or SystemNoise()
        """The aggregator's, before it is taken in shares; a curator's tosses are made with it."""
        self._noise = ShareNoise(self.terms.honest, self.own_noise)
        self._round = 0
        self.ciphertexts = 0
        """How many were decrypted for this session."""
        self.ledger = self.terms.ledger
        hello = self._ask(Message("hello"), "hello")
        if hello.content.get("plan") != self.plan.digest.hex():
            raise InputError(f"The service {link.name} serves another plan; compare the two files.")
        self.ledger.private = self.own_noise.private and hello.content.get("private") is True
        self._ask(self.terms.to_message(), "opened")
        try:
            start = {"session": self.terms.session, "seeds": store.seeds()}
            self._ask(Message("start", start), "started")
        except UnderstudyError:
            with contextlib.suppress(UnderstudyError):
                self.close()  # nothing was asked yet, so the price goes back
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # The service settles its ledger whatever happened; one that is gone keeps the whole price.
        with contextlib.suppress(UnderstudyError):
            self.close()

    def close(self) -> None:
        """The end: the service settles its ledger."""
        self._ask(Message("close", {"session": self.terms.session}), "closed")

    def add_up(self, question: EncryptedQuestion) -> tuple[list[NDArray[np.int64]], PricedItems]:
        """The noisy sums of the items that a question is about, once it is paid for."""
        priced = price_question(self.plan, question, self.ledger, self._noise, self.terms.honest)
        self.ledger.debit_all(priced.lines)
        key = self.plan.key
        sent: list[int] = []
        blinds: list[int] = []
        for item, scale in zip(priced.items, priced.scales, strict=True):
            noise = item.packing.pack(self.draw_share(item, scale))
            for ciphertext, share in zip(self.store.sums(item), noise, strict=True):
                blind = secrets.randbelow(key.modulus)
                blinds.append(blind)
                sent.append(key.add([ciphertext, key.encrypt(share + blind)]))
        answer = self._ask(self._message(question, key.to_bytes(sent)), "answer")
        data = answer.array("plaintexts", "u1").tobytes()
        self.ciphertexts += len(sent)
        try:
            told = split_numbers(data, key.plain_width, len(sent))
        except InputError as error:
            raise ServiceGone(
                f"The service {self._link.name} answered something else than it was asked for; "
                "the run ends here."
            ) from error
        plain = [(number - blind) % key.modulus for number, blind in zip(told, blinds, strict=True)]
        return [_read(item, scale, part) for item, scale, part in priced.split(plain)], priced

    def draw_share(self, item: Item, scale: float) -> NDArray[np.int64]:
        """The aggregator's noise for the cells of an item."""
        zeros = np.zeros(item.cells, dtype=np.int64)
        return add_noise(self._noise, zeros, self.ledger.currency, scale)

    def _message(self, question: EncryptedQuestion, ciphertexts: bytes) -> Message:
        self._round += 1
        content: Content
        arrays: Arrays
        if isinstance(question, PairScores):
            what, content, arrays = "scores", {"amount": question.budget.amount}, {}
        elif isinstance(question, Measure):
            what, (content, arrays) = "tables", question.to_wire()
        else:
            what, (content, arrays) = "sums", sum_to_wire(question)
        head = {"session": self.terms.session, "round": self._round, "what": what}
        sent = np.frombuffer(ciphertexts, np.uint8)
        return Message("ask", {**head, **content}, {**arrays, "ciphertexts": sent})

    def _ask(self, message: Message, kind: str) -> Message:
        name = self._link.name
        try:
            data = self._link.ask(message.to_bytes())
        except HolderGone as error:
            sentence = str(error).replace("The holder", "The service", 1).rstrip(".")
            raise ServiceGone(
                f"{sentence}; what was asked stays on the ledgers, and the run ends here."
            ) from error
        try:
            answer = Message.from_bytes(data)
        except InputError as error:
            raise ServiceGone(
                f"The service {name} answered something that cannot be read."
            ) from error
        if answer.kind == "refused":
            sentence = str(answer.content.get("sentence", f"The service {name} refused."))
            if answer.content.get("gone") is True:
                raise ServiceGone(sentence)
            raise HolderRefused(sentence)
        if answer.kind != kind:
            raise ServiceGone(f"The service {name} answered something else than it was asked for.")
        return answer


def _read(item: Item, scale: float, plain: Any) -> NDArray[np.int64]:
    """The numbers of an item; refuses what no sum with noise can be."""
    try:
        numbers = item.packing.unpack(plain, item.cells)
    except InputError as error:
        raise InputError(f"In {item.name}: {error} The run ends here.") from None
    room = item.largest + 2 * NOISE_TAIL * max(scale, 1.0)
    if numbers.size and int(np.abs(numbers).max()) > room:
        raise InputError(
            f"In {item.name} there are numbers that all rows of the plan cannot add up to: an "
            "owner uploaded something else than the plan asks for. The run ends here."
        )
    return numbers
