"""A session as a holder sees it: rounds in their order, each a question that is debited, counted
and answered.
"""

from __future__ import annotations

import json

import numpy as np

from understudy.data.bits import Bits
from understudy.data.encoding import Coded
from understudy.errors import InputError, UnderstudyError
from understudy.federation.allowance import Reservation
from understudy.federation.delegates import Delegate, DelegatedSum
from understudy.federation.holder_rows import HolderRows
from understudy.federation.messages import Message
from understudy.federation.noise_shares import ShareNoise
from understudy.federation.questions import budget_of, check_question
from understudy.federation.secure_sums import SecureSum
from understudy.federation.session_keys import SessionKeys
from understudy.federation.terms import Terms
from understudy.privacy.budget import Budget
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import Noise
from understudy.privacy.questions import Choose, Measure
from understudy.privacy.sum_wire import sum_from_wire
from understudy.privacy.vector_wire import vectors_from_wire


class HolderSession:
    """What a holder knows of a session.

    Parameters
    ----------
    holder
        The holder's name.
    asker
        Who opened it, and alone can go on with it.
    terms
        What it is about.
    coded
        The holder's rows.
    noise
        The holder's own noise.
    keys
        What secure sums are made with.
    reservation
        Its price, on the holder's books.
    """

    def __init__(
        self,
        holder: str,
        asker: str,
        terms: Terms,
        coded: Coded,
        noise: Noise,
        keys: SessionKeys | None,
        reservation: Reservation,
    ) -> None:
        self.holder = holder
        self.asker = asker
        self.terms = terms
        self.ledger = terms.ledger
        self.keys = keys
        self.reservation = reservation
        self.round = 0
        self.sum: SecureSum | None = None
        self.last = b"", b""
        """Digest of the last message, and its answer."""
        self._coded = coded
        self._own = noise
        if terms.way == "secure":
            self._noise: Noise = ShareNoise(terms.honest, noise)
        else:
            self._noise = noise
        self._rows = HolderRows(coded, self.ledger, self._noise)
        self._views: dict[str, HolderRows] = {}

    def start(self, asked: Message) -> Message:
        """The keys of all holders, each signed by its owner."""
        if self.keys is None or self.keys.roster:
            raise InputError("This session has nothing to start, or has been started.")
        self.keys.meet(asked.get("keys", dict))
        return Message("started")

    def end(self) -> None:
        """Forget what is secret."""
        self.keys, self.sum, self._views = None, None, {}

    # ---- rounds

    def ask(self, asked: Message) -> Message:
        """A new round: debit, count, add noise; then answer, or begin a secure sum."""
        debited = len(self.ledger.entries)
        try:
            return self._ask(asked)
        except UnderstudyError as error:
            # A method refuses by what it was told with noise; anybody else, before a row is read.
            if self.terms.way != "models" and len(self.ledger.entries) > debited:
                raise RuntimeError("refused after rows were read") from error
            raise

    def _ask(self, asked: Message) -> Message:
        number = asked.get("round", int)
        if number != self.round + 1:
            raise InputError(f"The next round is {self.round + 1}, not {number}.")
        if self.keys is not None and not self.keys.roster:
            raise InputError("The holders have not agreed on keys yet.")
        what = check_question(asked, self.terms.way)
        self.round, self.sum = number, None
        if what == "model":
            return self._model()
        budget = budget_of(asked, self.ledger.currency)
        if what == "size":
            return Message("answer", {"size": self._rows.size(budget)})
        if what == "sums":
            return self._sums(asked, budget)
        if what == "vectors":
            return self._vectors(asked, budget)
        rows = self._view(asked.content.get("bits"))
        if what == "tables":
            return self._tables(asked, rows, budget)
        if what == "vote":
            return self._vote(asked, rows, budget)
        return self._scores(asked, rows, budget)

    def go_on(self, asked: Message) -> Message:
        """The next step of a secure sum."""
        if self.sum is None:
            raise InputError(f"This is not the time for {asked.kind!r}: no sum is under way.")
        return self.sum.step(asked)

    # ---- answers

    def _tables(self, asked: Message, rows: HolderRows, budget: Budget) -> Message:
        """Noisy counts, in the open or in a sum."""
        numbers = rows.measure(Measure.from_wire(asked, budget))
        if self.keys is None:
            return Message("answer", {}, {"numbers": numbers})
        return self._begin(SecureSum(self.keys, self.round, asked, numbers))

    def _sums(self, asked: Message, budget: Budget) -> Message:
        """Noisy sums of numbers, in the open or in a sum over holders."""
        numbers = self._rows.sum(sum_from_wire(asked, budget, self._rows.domain))
        if self.keys is None:
            return Message("answer", {}, {"numbers": numbers})
        return self._begin(SecureSum(self.keys, self.round, asked, numbers))

    def _vectors(self, asked: Message, budget: Budget) -> Message:
        """A noisy sum of clipped vectors of a sample of this holder's rows, in a sum over
        holders.
        """
        numbers = self._rows.sum_vectors(vectors_from_wire(asked, budget))
        assert self.keys is not None
        return self._begin(SecureSum(self.keys, self.round, asked, numbers))

    def _vote(self, asked: Message, rows: HolderRows, budget: Budget) -> Message:
        """The choice that this holder would make, by its own rows alone."""
        share = self._share(asked, "offsets", "estimates")
        question = Choose.from_wire(asked, budget, rows.domain, share)
        return Message("answer", {"vote": rows.choose(question)})

    def _scores(self, asked: Message, rows: HolderRows, budget: Budget) -> Message:
        """Noisy scores, to be told as sums, or to a delegate who tells the place of the largest."""
        assert self.keys is not None
        share = self._share(asked, "estimates")
        question = Choose.scores_from_wire(asked, budget, rows.domain, share)
        most_rows = asked.content.get("most_rows")
        if asked.content["what"] != "top":
            numbers = rows.score(question, most_rows, top=False)
            return self._begin(SecureSum(self.keys, self.round, asked, numbers))
        delegate = Delegate.read_question(asked, self.terms, budget, len(question.candidates))
        numbers = rows.score(question, most_rows, top=True)
        return self._begin(DelegatedSum(self.keys, self.round, asked, numbers, delegate, self._own))

    def _begin(self, under_way: SecureSum) -> Message:
        self.sum = under_way
        return under_way.begin()

    def _model(self) -> Message:
        """A model of this holder's rows alone."""
        from understudy.federation.ways import method_of
        from understudy.release.callbacks import no_progress

        method = method_of(self.terms.method)
        method.check(self._coded.schema)
        curator = CentralCurator(self._coded, self.ledger, self._own, collapse=False)
        model = method.learn(curator, self.ledger.left, no_progress)
        document = json.dumps(model.to_dict(), allow_nan=False).encode()
        return Message("answer", {}, {"model": np.frombuffer(document, dtype=np.uint8)})

    # ---- what questions refer to

    def _view(self, bits: str | None) -> HolderRows:
        """The rows as they are, or taken apart into bits."""
        if bits is None:
            return self._rows
        if bits not in ("binary", "gray"):
            raise InputError(f"Attributes are taken apart as binary or gray, not {bits!r}.")
        if bits not in self._views:
            apart = Bits(self._coded.schema, bits == "gray")
            apart.check()
            self._views[bits] = self._rows.in_bits(apart)
        return self._views[bits]

    def _share(self, asked: Message, *needed_for: str) -> float:
        """Which share of all rows this holder has, or is taken to have: public, and told where it
        is needed.
        """
        if asked.arrays.keys().isdisjoint(needed_for):
            return 1.0
        share = asked.get("shares", dict).get(self.holder)
        if not isinstance(share, float | int) or isinstance(share, bool) or not 0 <= share <= 1:
            raise InputError(
                f"The question does not say which share of all rows the holder {self.holder} has."
            )
        return float(share)
