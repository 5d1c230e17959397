"""A holder's part in a secure sum: numbers go in, and what leaves can be read in the sum over all
holders alone.

M holders take part, up to ``dropouts`` of them may drop out and up to ``colluders`` may be in
league with the analyst.

- A round's masks (:mod:`understudy.federation.masking`) are derived from the digest of the question
  and of the session's terms: holders that were asked different things, or told different terms,
  have masks that do not cancel.
- Where no holder may drop out, no seed is ever told to anybody.
- Where holders may, a holder tells its shares of the own-mask seeds of those in the sum, and of the
  pair-seed keys of those that dropped out, once a round, and only after M - dropouts holders have
  signed that they speak of the same sum (the same question, the same holders in it). As M > 2
  dropouts + colluders, no two different sums can gather this many signatures: an honest holder
  signs one only, and two sets of M - dropouts - colluders honest ones would overlap. So for one
  round all honest holders speak of one sum, of at least M - dropouts holders, and of no holder are
  both secrets told: M - dropouts shares are needed for one, and the honest ones all tell the same
  of the two.
- So what can be read is one sum of M - dropouts holders at least, of which M - dropouts - colluders
  at least are honest: as many as the shares of the noise are sized for.

Where one holder is to read the sum and nobody else, see :mod:`understudy.federation.delegates`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.federation.masking import open_content, pair_mask, seal_content, stream
from understudy.federation.messages import Message, digest
from understudy.federation.session_keys import SessionKeys, from_hex
from understudy.federation.sharing import SHARE_BYTES, shares_of


class SecureSum:
    """One round's sum under way, as one holder sees it: a step for each message, in their order.

    Parameters
    ----------
    keys
        The holder's keys of the session.
    number
        Of the round.
    asked
        The question, whose digest is in all that is derived for the round.
    numbers
        What the holder adds to the sum: counts or scores, with its share of the noise.
    """

    def __init__(
        self, keys: SessionKeys, number: int, asked: Message, numbers: NDArray[np.int64]
    ) -> None:
        self.name = keys.name
        self.terms = keys.terms
        self.keys = keys
        self.number = number
        self.question = digest(asked.to_bytes())
        self.numbers = numbers.astype(np.int64).view(np.uint64)
        self.seeds = {
            peer: keys.seed(peer, "mask", str(number), self.question) for peer in keys.others
        }
        self.masked: tuple[str, ...] = ()
        """Whose masks are in the sum."""
        self.present: tuple[str, ...] = ()
        """Whose numbers are."""
        self.expects: dict[str, Callable[[Message], Message]] = {}
        """The kinds of messages that may come next, and what answers them."""
        self._own_seed = b""
        self._shares: dict[str, bytes] = {}

    def step(self, asked: Message) -> Message:
        """Go on, where the message is the one for it."""
        if asked.get("round", int) != self.number or asked.kind not in self.expects:
            raise InputError(
                f"This is not the time for {asked.kind!r}: the round is another, or at another "
                "step."
            )
        return self.expects[asked.kind](asked)

    def begin(self) -> Message:
        """The masked numbers or, where holders may drop out, shares of two secrets of this round.

        One undoes the mask of the holder's own, the other the pair masks.
        """
        if not self.terms.dropouts:
            return self._mask(self.seeds)
        self._own_seed, key = os.urandom(32), os.urandom(32)
        places, enough = len(self.terms.holders), self.terms.present
        both = zip(
            shares_of(self._own_seed, places, enough), shares_of(key, places, enough), strict=True
        )
        shared = dict(zip(self.terms.holders, (own + pair for own, pair in both), strict=True))
        self._shares[self.name] = shared.pop(self.name)
        locked = {
            peer: seal_content(self._share_key(peer, self.name), share, self.question).hex()
            for peer, share in shared.items()
        }
        box = seal_content(key, b"".join(self.seeds.values()), self.question)
        self.expects = {"deliver": self.deliver}
        return Message("shared", {"shares": locked, "box": box.hex()})

    def deliver(self, asked: Message) -> Message:
        """The others' shares come in, and the masked numbers go out."""
        shares = {self.name: self._shares[self.name]}
        for peer, locked in asked.get("shares", dict).items():
            if peer == self.name or peer not in self.terms.holders:
                raise InputError(f"{peer!r} has no share for the holder {self.name}.")
            shares[peer] = open_content(
                self._share_key(peer, peer), from_hex(locked), self.question
            )
            if len(shares[peer]) != 2 * SHARE_BYTES:
                raise InputError(f"The share of {peer} is no share.")
        self._check_enough(list(shares))
        self._shares, self.masked = shares, tuple(sorted(shares))
        self.expects = {"agree": self.agree}
        return self._mask({peer: self.seeds[peer] for peer in self.masked if peer != self.name})

    def agree(self, asked: Message) -> Message:
        """Sign whose numbers are in the sum: once a round, for one sum only."""
        present = asked.texts("present")
        if (
            present != sorted(set(present))
            or not set(present) <= set(self.masked)
            or self.name not in present
        ):
            raise InputError("A sum is over holders that sent their numbers, this one among them.")
        self._check_enough(present)
        self.present = tuple(present)
        self.expects = {"reveal": self.reveal}
        return Message("agreed", {"signature": self.keys.sign(self.statement()).hex()})

    def reveal(self, asked: Message) -> Message:
        """Tell the shares that open this one sum, once enough holders have signed that they mean
        the same.
        """
        self._check_signed(asked)
        self.expects = {}
        own = {name: self._shares[name][:SHARE_BYTES].hex() for name in self.present}
        pair = {
            name: self._shares[name][SHARE_BYTES:].hex()
            for name in self.masked
            if name not in self.present
        }
        return Message("revealed", {"own": own, "pair": pair})

    def statement(self) -> bytes:
        """What is signed about the sum."""
        return self.keys.about_sum(self.number, self.question, self.masked, self.present)

    def _mask(self, seeds: Mapping[str, bytes]) -> Message:
        """What leaves the holder."""
        masked = self.numbers + pair_mask(self.name, seeds, self.numbers.size)
        if self._own_seed:
            masked += stream(self._own_seed, self.numbers.size)
        return Message("masked", {}, {"numbers": masked})

    def _share_key(self, peer: str, sender: str) -> bytes:
        return self.keys.seed(peer, "shares", sender, str(self.number), self.question)

    def _check_enough(self, names: Sequence[str]) -> None:
        if len(names) < self.terms.present:
            raise InputError(
                f"{len(names)} holders are in the sum, and {self.terms.present} must be; nothing "
                "is told."
            )

    def _check_signed(self, asked: Message) -> None:
        """Enough holders have signed for the sum that this one signed for."""
        statement = self.statement()
        signed = [self.name]
        for name, signature in asked.get("signatures", dict).items():
            if (
                name in self.present
                and name != self.name
                and self.keys.has_signed(name, signature, statement)
            ):
                signed.append(name)
        needed = self.terms.present
        if len(signed) < needed:
            raise InputError(
                f"Only {len(signed)} of the {needed} holders that are needed signed for this sum; "
                "nothing told."
            )
