"""A session as a holder sees it: rounds in their order, each a question that is debited, counted and answered."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.curator import Measurement
from understudy.curator.budget import Budget
from understudy.curator.central import CentralCurator
from understudy.curator.mechanisms import Noise
from understudy.encoding import Coded
from understudy.errors import InputError, UnderstudyError
from understudy.federation.allowance import Reservation
from understudy.federation.delegates import Delegate, DelegatedSum
from understudy.federation.holder_rows import HolderRows
from understudy.federation.messages import Array, Message
from understudy.federation.noise_shares import ShareNoise
from understudy.federation.questions import MOST_NUMBERS, budget_of, checked, tables_of
from understudy.federation.secure_sums import SecureSum
from understudy.federation.session_keys import SessionKeys
from understudy.federation.terms import Terms
from understudy.marginals import Marginal
from understudy.networks.bits import Bits

LARGEST_WEIGHT = 1 << 53


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
        self._noise: Noise = ShareNoise(terms.honest, noise) if terms.way == "secure" else noise
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
        what = checked(asked, self.terms.way)
        self.round, self.sum = number, None
        if what == "model":
            return self._model()
        budget = budget_of(asked, self.ledger.currency)
        if what == "size":
            return Message("answer", {"size": self._rows.size(budget)})
        rows, marginals = self._view(asked.content.get("bits")), tables_of(asked)
        self._check_cells(rows, marginals, what)
        if what == "tables":
            return self._tables(asked, rows, marginals, budget)
        if len(set(marginals)) < len(marginals):
            raise InputError("A candidate stands twice in the question; each can be chosen once.")
        if what == "vote":
            return self._vote(asked, rows, marginals, budget)
        return self._scores(asked, rows, marginals, budget)

    def go_on(self, asked: Message) -> Message:
        """The next step of a secure sum."""
        if self.sum is None:
            raise InputError(f"This is not the time for {asked.kind!r}: no sum is under way.")
        return self.sum.step(asked)

    # ---- answers

    def _tables(
        self, asked: Message, rows: HolderRows, marginals: Sequence[Marginal], budget: Budget
    ) -> Message:
        """Noisy counts, in the open or in a sum."""
        weights = _weights(asked, len(marginals))
        numbers = _flat(rows.measure(marginals, budget, weights))
        if self.keys is None:
            return Message("answer", {}, {"numbers": numbers})
        return self._begin(SecureSum(self.keys, self.round, asked, numbers))

    def _vote(
        self, asked: Message, rows: HolderRows, marginals: Sequence[Marginal], budget: Budget
    ) -> Message:
        """The choice that this holder would make, by its own rows alone."""
        offsets = (
            asked.array("offsets", "f8") * self._share(asked) if "offsets" in asked.arrays else None
        )
        rule = asked.get("rule", str)
        if rule not in ("exponential", "permute_and_flip"):
            raise InputError(f"There is no rule {rule!r} to choose by.")
        score, estimates = asked.get("score", str), self._estimates(rows, asked, marginals)
        return Message(
            "answer", {"vote": rows.choose(marginals, score, budget, offsets, rule, estimates)}
        )

    def _scores(
        self, asked: Message, rows: HolderRows, marginals: Sequence[Marginal], budget: Budget
    ) -> Message:
        """Noisy scores, to be told as sums, or to a delegate who tells the place of the largest."""
        assert self.keys is not None
        top = asked.content["what"] == "top"
        delegate = Delegate.asked_for(asked, self.terms, budget, len(marginals)) if top else None
        score, most = asked.get("score", str), asked.content.get("most_rows")
        numbers = rows.scores(
            marginals, score, budget, most, self._estimates(rows, asked, marginals), top
        )
        if delegate is None:
            return self._begin(SecureSum(self.keys, self.round, asked, numbers))
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
        model = method.learn(
            CentralCurator(self._coded, self.ledger, self._own), self.ledger.left, no_progress
        )
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
            apart = Bits(self._rows.schema, bits == "gray")
            apart.check()
            split = Coded(apart.schema, apart.split(self._coded.codes), self._coded.rows, ())
            self._views[bits] = HolderRows(split, self.ledger, self._noise)
        return self._views[bits]

    @staticmethod
    def _check_cells(rows: HolderRows, marginals: Sequence[Marginal], what: str) -> None:
        if not marginals:
            raise InputError("There is nothing to count.")
        cells = rows.cells(marginals)
        if (sum(cells) if what == "tables" else max(cells)) > MOST_NUMBERS:
            raise InputError(
                f"Tables of more than {MOST_NUMBERS:,} cells are not counted in one round; ask for less."
            )

    def _share(self, asked: Message) -> float:
        """Which share of all rows this holder has, or is taken to have: public."""
        share = asked.get("shares", dict).get(self.holder)
        if not isinstance(share, float | int) or isinstance(share, bool) or not 0 <= share <= 1:
            raise InputError(
                f"The question does not say which share of all rows the holder {self.holder} has."
            )
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


def _weights(asked: Message, tables: int) -> list[float] | None:
    """How a question splits its price over tables."""
    if "weights" not in asked.arrays:
        return None
    weights: list[float] = asked.array("weights", "f8").tolist()
    if len(weights) != tables or not all(0 < weight <= LARGEST_WEIGHT for weight in weights):
        raise InputError(
            f"There must be a weight for each table, above 0 and at most {LARGEST_WEIGHT:,}."
        )
    return weights


def _flat(found: Sequence[Measurement]) -> NDArray[np.int64]:
    return np.concatenate(
        [np.atleast_1d(measurement.counts).ravel() for measurement in found]
    ).astype(np.int64)
