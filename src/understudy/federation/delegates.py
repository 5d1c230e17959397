"""The largest of sums, found by one holder for all: where no holder is feared to be in league with
the analyst.

The others' numbers, under their pair masks, are sealed for the delegate with keys that only the two
know: the analyst carries them, and can neither read nor change them nor put its own in their place.
The delegate adds up by itself, over all holders or over those that the same agreement is about as
in any secure sum, who then seal for it, and for no one else, their pair seeds with those that
dropped out. It takes nothing from the analyst but what it is asked, which is bound into all those
keys. It learns the noisy sums, and tells the place of the largest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.federation.masking import SEED_BYTES, open_content, pair_mask, seal_content
from understudy.federation.messages import Message, SentArray
from understudy.federation.noise_shares import delegate_scale
from understudy.federation.secure_sums import SecureSum
from understudy.federation.session_keys import SessionKeys
from understudy.federation.terms import Terms
from understudy.privacy.budget import Budget
from understudy.privacy.mechanisms import Noise

MAX_OFFSET = 1 << 51
"""A delegate's sums are exact as floating-point numbers, which they must be below 2^53 for.

A score is no larger than the rows (MAX_HOLDER_ROWS, 2^31), and misfit than them and the largest
estimate (2^31) together; on the grid a score is multiplied by 1024 / (3/4) at most. So scores are
below 2^43, their sums over all holders (MAX_HOLDERS, 2^8) below 2^51, with offsets below 2^52, and
so is noise of the largest scale that is allowed, but for once in exp(2^23) times.
"""


@dataclass(frozen=True)
class Delegate:
    """Who finds the largest of sums, and how: public, and checked before anything is debited."""

    name: str
    offsets: NDArray[np.int64]
    choice_scale: float
    """Of the choice that the delegate makes; 0 where it takes the largest itself."""

    @classmethod
    def read_question(cls, asked: Message, terms: Terms, budget: Budget, size: int) -> Delegate:
        """As a question says."""
        name = asked.get("delegate", str)
        if terms.colluders:
            raise InputError(
                "A delegate sees noisy sums: only holders that are not feared to collude choose by "
                "one."
            )
        if name not in terms.holders:
            raise InputError("The delegate is not among the holders.")
        if "offsets" in asked.arrays:
            offsets = asked.array("offsets", "i8")
        else:
            offsets = np.zeros(size, dtype=np.int64)
        if (
            offsets.size != size
            or offsets.min(initial=0) < -MAX_OFFSET
            or offsets.max(initial=0) > MAX_OFFSET
        ):
            raise InputError(
                "Offsets must be whole numbers on the grid of the scores, one per candidate."
            )
        chosen = budget.currency == "rho" and budget.amount > 0
        return cls(name, offsets, delegate_scale(budget.amount) if chosen else 0.0)


class DelegatedSum(SecureSum):
    """A sum under way that the delegate alone will read.

    Parameters
    ----------
    keys, number, asked, numbers
        As for any secure sum.
    delegate
        Who reads it.
    noise
        The holder's own noise, for a choice that it makes as the delegate.
    """

    def __init__(
        self,
        keys: SessionKeys,
        number: int,
        asked: Message,
        numbers: NDArray[np.int64],
        delegate: Delegate,
        noise: Noise,
    ) -> None:
        super().__init__(keys, number, asked, numbers)
        self.delegate = delegate
        self.masked = self.present = self.terms.holders
        self._noise = noise
        self._delegated = delegate.name == self.name

    def begin(self) -> Message:
        """The numbers, under all pair masks, go to the delegate: it learns their sum, and the
        analyst nothing at all.

        No mask of the holder's own is needed, since only the delegate can open what is sealed for
        it.
        """
        if self.terms.dropouts:
            self.expects = {"agree": self.agree}
        else:
            self.expects = {}
        if self._delegated:  # its own numbers stay at home
            self.expects["pick"] = self.pick
            return Message("sealed", {}, {"box": np.empty(0, dtype=np.uint8)})
        masked = self.numbers + pair_mask(self.name, self.seeds, self.numbers.size)
        return self._seal("numbers", masked.astype("<u8").tobytes(), self.question)

    def agree(self, asked: Message) -> Message:
        """Sign whose numbers are in the sum, the delegate's among them."""
        if self.delegate.name not in asked.texts("present"):
            raise InputError("Without the delegate there is no sum to be told of in this round.")
        agreed = super().agree(asked)
        if self._delegated:
            self.expects = {"pick": self.pick}
        return agreed

    def reveal(self, asked: Message) -> Message:
        """Tell the delegate, and nobody else, the pair seeds with those that dropped out, once
        enough have signed.
        """
        self._check_signed(asked)
        self.expects = {}
        gone = b"".join(seed for peer, seed in self.seeds.items() if peer not in self.present)
        return self._seal("seeds", gone, self.statement())

    def pick(self, asked: Message) -> Message:
        """The delegate's part: the place of the largest sum, over all holders or those that all
        have agreed on.
        """
        others = [peer for peer in self.present if peer != self.name]
        gone = [peer for peer in self.terms.holders if peer not in self.present]
        boxes = [
            box_name(what, peer)
            for what in ("numbers", "seeds")[: 2 if gone else 1]
            for peer in others
        ]
        if sorted(asked.arrays) != sorted(boxes):
            raise InputError(
                "The delegate adds up what each holder in the sum has sealed for it, and nothing "
                "else."
            )
        size = self.numbers.size
        sums = self.numbers + pair_mask(
            self.name, {peer: self.seeds[peer] for peer in others}, size
        )
        for peer in others:
            sums += self._open_sealed(asked, peer, "numbers", self.question, 8 * size).view("<u8")
            if gone:  # take back what the peer added for those that dropped out
                seeds = self._open_sealed(
                    asked, peer, "seeds", self.statement(), SEED_BYTES * len(gone)
                )
                parts = [part.tobytes() for part in np.split(seeds, len(gone))]
                sums -= pair_mask(peer, dict(zip(gone, parts, strict=True)), size)
        self.expects = {}
        return Message(
            "answer", {"place": self._place(sums.view(np.int64) + self.delegate.offsets)}
        )

    def _place(self, sums: NDArray[np.int64]) -> int:
        if not self.delegate.choice_scale:
            return int(np.argmax(sums))
        # They lie within these bounds anyway, unless a holder sends what cannot be; bounding moves
        # nothing further.
        scores = np.clip(sums, -(1 << 53), 1 << 53).astype(np.float64)
        return self._noise.choose(scores, self.delegate.choice_scale, "exponential")

    def _seal(self, what: str, content: bytes, about: bytes) -> Message:
        """Something for the delegate's eyes; that it is from this holder, and for this, is all
        bound into the key.
        """
        key = self._box_key(self.delegate.name, what, self.name)
        return Message(
            "sealed", {}, {"box": np.frombuffer(seal_content(key, content, about), dtype=np.uint8)}
        )

    def _open_sealed(
        self, asked: Message, peer: str, what: str, about: bytes, size: int
    ) -> SentArray:
        """What a peer sealed for this holder, as bytes."""
        try:
            box = asked.array(box_name(what, peer), "u1").tobytes()
            content = open_content(self._box_key(peer, what, peer), box, about)
        except InputError:
            raise InputError(
                f"What {peer} sealed for {self.name} was changed on the way, or is not meant for "
                "this round."
            ) from None
        if len(content) != size:
            raise InputError(f"What {peer} sealed for {self.name} is not as long as it should be.")
        return np.frombuffer(content, dtype=np.uint8)

    def _box_key(self, peer: str, what: str, sender: str) -> bytes:
        return self.keys.seed(peer, "top", what, sender, str(self.number), self.question)


def box_name(what: str, peer: str) -> str:
    """What the analyst calls something that a holder sealed for the delegate."""
    return f"{what} of {peer}"
