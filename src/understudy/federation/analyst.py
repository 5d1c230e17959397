"""The analyst: asks all holders at once, adds up what they answer, and learns nothing but sums and
votes.

:class:`Federation` opens sessions over links; :class:`Session` runs rounds. A holder that gives no
answer, or garbage, is gone for the rest of the session: up to as many as the session's terms allow
may go. A holder that refuses stops the run with its own sentence.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Schema
from understudy.errors import InputError, UnderstudyError
from understudy.federation import HolderGone, HolderRefused, Link
from understudy.federation.delegates import box_name
from understudy.federation.masking import add_vectors, open_content, stream
from understudy.federation.messages import MAX_HEADER_BYTES, MAX_MESSAGE_BYTES, Message, digest
from understudy.federation.questions import MAX_NUMBERS
from understudy.federation.sharing import secret_of
from understudy.federation.terms import COLLUDERS, Terms, schema_digest
from understudy.privacy.budget import Neighbours
from understudy.release.callbacks import Notify, ignore_notes

MAX_SUM = 1 << 53
"""Counts, scores and noise of all holders stay below that; numbers with masks in them do, but once
in 1,000, not.
"""


class Federation:
    """Several holders, over links.

    Parameters
    ----------
    links
        A way to each holder.
    notify
        Called with a sentence when a holder drops out.

    Examples
    --------
    >>> with Federation(links) as federation:           # doctest: +SKIP
    ...     session = federation.open(schema, "secure", epsilon=1.0)
    """

    def __init__(self, links: Iterable[Link], notify: Notify = ignore_notes) -> None:
        self.links = {link.name: link for link in links}
        if not self.links:
            raise InputError("There must be a holder at least.")
        self._notify = notify
        self._pool = ThreadPoolExecutor(len(self.links), thread_name_prefix="holder")

    def __enter__(self) -> Federation:
        """Ready to ask."""
        return self

    def __exit__(self, *_: object) -> None:
        """No more questions."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def hello(self) -> dict[str, Message]:
        """Who is there; every holder must be, at the beginning."""
        found, gone = self.ask_all({name: Message("hello") for name in self.links})
        for sentence in gone.values():
            raise HolderGone(sentence)
        return found

    def open(
        self,
        schema: Schema,
        way: str,
        *,
        method: Mapping[str, Any] | None = None,
        epsilon: float,
        delta: float = 0.0,
        neighbours: Neighbours = "add_remove",
        dropouts: int = 0,
        colluders: int = COLLUDERS,
    ) -> Session:
        """Begin a session: the terms go to all holders, and each reserves the price or refuses.

        Parameters
        ----------
        schema
            The schema that all holders have.
        way
            "secure", "statistics", "voting" or "models".
        method
            The synthesizer's name and parameters, for the holders' ledgers and, in the way
            "models", for their use.
        epsilon, delta, neighbours
            The guarantee of the release.
        dropouts
            How many holders may drop out on the way.
        colluders
            How many holders may be in league with the analyst, or pry by themselves, without
            breaking the guarantee of secure sums; with 0 it does not hold against the holders.
        """
        terms = Terms(
            secrets.token_hex(16),
            schema_digest(schema),
            way,
            dict(method or {}),
            float(epsilon),
            float(delta),
            neighbours,
            tuple(sorted(self.links)),
            dropouts,
            colluders,
        )
        hello = self.hello()
        for name, answer in hello.items():
            if answer.content.get("name") != name:
                raise InputError(
                    f"The holder at the link {name} says that it is {answer.content.get('name')!r}."
                )
        session = Session(
            self, terms, all(answer.content.get("private") is True for answer in hello.values())
        )
        try:
            session.begin()
        except UnderstudyError:
            close = Message("close", {"session": terms.session}).to_bytes()
            for name in session.present:  # who has reserved already gets it back: nothing was asked
                with contextlib.suppress(UnderstudyError):
                    self._ask(name, close)
            raise
        return session

    # ---- talking

    def ask_all(self, messages: Mapping[str, Message]) -> tuple[dict[str, Message], dict[str, str]]:
        """Ask several holders at once; their answers, and why there is none of some.

        Raises
        ------
        HolderRefused
            Where one of them refuses.
        """
        encoded: dict[int, bytes] = {}  # most often all get the same
        for message in messages.values():
            if id(message) not in encoded:
                encoded[id(message)] = message.to_bytes()
        waiting = {
            name: self._pool.submit(self._ask, name, encoded[id(message)])
            for name, message in messages.items()
        }
        found: dict[str, Message] = {}
        gone: dict[str, str] = {}
        refused: HolderRefused | None = None
        for name, future in waiting.items():
            try:
                found[name] = future.result()
            except HolderGone as error:
                gone[name] = str(error)
            except HolderRefused as error:
                refused = refused or error
        if refused is not None:
            raise refused
        for sentence in gone.values():
            self._notify(sentence)
        return found, gone

    def _ask(self, name: str, message: bytes) -> Message:
        data = self.links[name].ask(message)
        try:
            answer = Message.from_bytes(data)
        except InputError as error:
            raise HolderGone(
                f"The holder {name} answered something that cannot be read."
            ) from error
        if answer.kind == "refused":
            sentence = str(
                answer.content.get("sentence", f"The holder {name} refused without a word.")
            )
            raise (
                HolderGone(sentence)
                if answer.content.get("gone") is True
                else HolderRefused(sentence)
            )
        return answer


class Session:
    """One release: its terms, who is still there, and rounds.

    Made by :meth:`Federation.open`.
    """

    def __init__(self, federation: Federation, terms: Terms, private: bool) -> None:
        self.terms = terms
        self.private = private
        self.rows: dict[str, int] = {}
        """How many rows each holder has, where that is public."""
        self._federation = federation
        self._gone: dict[str, str] = {}
        self._round = 0
        self._context = digest(terms.to_message().to_bytes())

    @property
    def present(self) -> list[str]:
        """The holders that have not dropped out."""
        return [name for name in self.terms.holders if name not in self._gone]

    def begin(self) -> None:
        """All holders agree to the terms and, for secure sums, on keys; nobody may be missing
        yet.
        """
        opened_by = self._all(self.terms.to_message(), "opened", everybody=True)
        if self.terms.neighbours == "replace":
            self.rows = {name: answer.get("rows", int) for name, answer in opened_by.items()}
        if self.terms.way == "secure":
            keys = {
                name: [answer.get("key", str), answer.get("signature", str)]
                for name, answer in opened_by.items()
            }
            self._all(
                Message("start", {"session": self.terms.session, "keys": keys}),
                "started",
                everybody=True,
            )

    def close(self) -> None:
        """The end: holders settle their ledgers. One that is gone keeps the whole price on its
        books.
        """
        message = Message("close", {"session": self.terms.session})
        self._federation.ask_all(dict.fromkeys(self.present, message))

    # ---- rounds

    def ask(
        self, what: str, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> dict[str, Message]:
        """A round in which every holder answers for itself."""
        return self._all(self._question(what, content, arrays), "answer")

    def add_up(
        self, what: str, size: int, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[NDArray[np.int64], int]:
        """A round in which nobody learns more than the sum; that, and over how many holders
        it is.
        """
        sums, present = self._sum(self._question(what, content, arrays), size)
        return sums.view(np.int64), len(present)

    def place_of_largest(
        self, size: int, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> int | None:
        """A round in which one holder finds the largest of noisy sums, and tells its place.

        The others seal their numbers for it, and the analyst carries what it cannot read. None, if
        the delegate drops out, or another when it is already agreed on whose numbers are in the
        sums.
        """
        terms, here = self.terms, self.present
        if 8 * size * len(terms.holders) > MAX_MESSAGE_BYTES - MAX_HEADER_BYTES:
            raise InputError(
                f"{size:,} candidates are too many for {len(terms.holders)} holders to choose from."
            )
        delegate = here[self._round % len(here)]  # in turn: nobody sees the sums of all choices
        sent = self._all(self._question("top", {**content, "delegate": delegate}, arrays), "sealed")
        if delegate not in sent:
            return None
        present, others = sorted(sent), [name for name in sorted(sent) if name != delegate]
        boxes = {box_name("numbers", name): sent[name].arrays["box"] for name in others}
        about = {"session": terms.session, "round": self._round}
        if len(present) < len(terms.holders):
            agree = Message("agree", {**about, "present": present})
            agreed = self._some(dict.fromkeys(present, agree), "agreed")
            signatures = {name: answer.get("signature", str) for name, answer in agreed.items()}
            if len(agreed) < len(present):
                return None
            seeds = self._some(
                dict.fromkeys(others, Message("reveal", {**about, "signatures": signatures})),
                "sealed",
            )
            if len(seeds) < len(others):
                return None
            boxes |= {
                box_name("seeds", name): answer.arrays["box"] for name, answer in seeds.items()
            }
        answers = self._some({delegate: Message("pick", about, boxes)}, "answer")
        if not answers:
            return None
        place: int = answers[delegate].get("place", int)
        if not 0 <= place < size:
            raise HolderGone(f"The holder {delegate} picked a candidate that was not there.")
        return place

    def _question(
        self, what: str, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Message:
        self._round += 1
        return Message(
            "ask",
            {"session": self.terms.session, "round": self._round, "what": what, **content},
            arrays,
        )

    def _sum(self, question: Message, size: int) -> tuple[NDArray[np.uint64], list[str]]:
        """The sum, and over whom it is."""
        if size > MAX_NUMBERS:
            raise InputError(
                f"Holders can add up {MAX_NUMBERS:,} numbers at a time, not {size:,}; ask for less."
            )
        if not self.terms.dropouts:
            masked = self._all(question, "masked", size)
            sums, present = _add_answers(masked, size), sorted(masked)
        else:
            sums, present = self._surviving_sum(question, size)
        signed = sums.view(np.int64)
        if ((signed < -MAX_SUM) | (signed > MAX_SUM)).any():
            raise HolderGone(
                "The masks of what the holders sent do not cancel: one of them sent something else "
                "than it was asked "
                "for; the run ends here."
            )
        return sums, present

    def _surviving_sum(self, question: Message, size: int) -> tuple[NDArray[np.uint64], list[str]]:
        """Shares, masked numbers, agreement, shares told; holders may drop out at each step."""
        terms, here = self.terms, {"session": self.terms.session, "round": self._round}
        shared = self._all(question, "shared")
        masking = sorted(shared)
        locked = {name: answer.get("shares", dict) for name, answer in shared.items()}
        delivered = {
            name: Message(
                "deliver",
                {
                    **here,
                    "shares": {peer: locked[peer].get(name) for peer in masking if peer != name},
                },
            )
            for name in masking
        }
        masked = self._some(delivered, "masked", size)
        present = sorted(masked)
        agreed = self._some(
            {name: Message("agree", {**here, "present": present}) for name in present}, "agreed"
        )
        signatures = {name: answer.get("signature", str) for name, answer in agreed.items()}
        reveal = Message("reveal", {**here, "signatures": signatures})
        revealed = self._some(dict.fromkeys(agreed, reveal), "revealed")
        places = {name: place for place, name in enumerate(terms.holders, 1)}

        def secret(kind: str, owner: str) -> bytes:
            told = {
                places[name]: _bytes(name, answer.get(kind, dict).get(owner))
                for name, answer in revealed.items()
            }
            return secret_of(told, terms.present)

        sums = _add_answers(masked, size)
        for name in present:
            sums -= stream(secret("own", name), size)
        seal = digest(question.to_bytes())
        for name in masking:
            if name in present:
                continue
            peers = [peer for peer in terms.holders if peer != name]
            seeds = open_content(
                secret("pair", name), _bytes(name, shared[name].content.get("box")), seal
            )
            for place, peer in enumerate(peers):
                if peer in present:  # take back what the peer added for the one that dropped out
                    mask = stream(seeds[32 * place : 32 * place + 32], size)
                    if peer < name:
                        sums = sums - mask
                    else:
                        sums = sums + mask
        return sums, present

    # ---- talking

    def _all(
        self, message: Message, kind: str, size: int | None = None, everybody: bool = False
    ) -> dict[str, Message]:
        return self._some(dict.fromkeys(self.present, message), kind, size, everybody)

    def _some(
        self,
        messages: Mapping[str, Message],
        kind: str,
        size: int | None = None,
        everybody: bool = False,
    ) -> dict[str, Message]:
        """Ask; who does not answer what was asked for is gone, and too many gone are the end."""
        found, gone = self._federation.ask_all(messages)
        for name in [name for name, answer in found.items() if not _proper(answer, kind, size)]:
            del found[name]
            gone[name] = f"The holder {name} answered something else than it was asked for."
        self._gone |= gone
        if gone and (everybody or len(self._gone) > self.terms.dropouts):
            if everybody:
                most = 0
            else:
                most = self.terms.dropouts
            if most:
                allowed = f"no more than {most} of the holders may drop out"
            else:
                allowed = "no holder may be missing"
            raise HolderGone(
                f"{next(iter(gone.values())).rstrip('.')}; {allowed}, so the run ends here."
            )
        return found


def _proper(answer: Message, kind: str, size: int | None) -> bool:
    """Whether an answer is of the kind, and with as many numbers, as was asked for."""
    if kind == "sealed":
        box = answer.arrays.get("box")
        return answer.kind == kind and box is not None and box.dtype == np.uint8
    numbers = answer.arrays.get("numbers")
    return answer.kind == kind and (
        size is None
        or (numbers is not None and numbers.dtype == np.uint64 and numbers.size == size)
    )


def _bytes(name: str, text: Any) -> bytes:
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError):
        raise HolderGone(
            f"The holder {name} told secrets that cannot be read; the run ends here."
        ) from None


def _add_answers(answers: Mapping[str, Message], size: int) -> NDArray[np.uint64]:
    return add_vectors((answer.arrays["numbers"] for answer in answers.values()), size)
