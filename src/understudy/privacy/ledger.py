"""The ledger: what was spent, on what, under which neighbour relation.

A :class:`Ledger` accompanies one release and travels in its model. A :class:`LedgerFile` is kept by
the owner of a table and holds the allowance that all releases of that table share. Both are debited
before an answer is computed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import hashlib
import json
import math
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from understudy.data import files
from understudy.data.files import parse_json, read_json, replace_content, writable_file
from understudy.errors import BudgetError, InputError
from understudy.privacy.budget import (
    Budget,
    Currency,
    Neighbours,
    check_delta,
    check_epsilon,
    check_neighbours,
    epsilon_of,
    exact,
    rho_of,
    round_down,
    rounded_up,
    total,
)
from understudy.privacy.group_privacy import GroupPromise, check_members, group_promise
from understudy.privacy.renyi import check_order, epsilon_at, rho_at
from understudy.privacy.wording import state_guarantee, state_public

Unit = Literal["row", "person"]
"""What a guarantee protects: a row, or a person with all rows of theirs."""

MAX_ROWS_PER_PERSON = 1_000_000

MAX_STOPS = 8
"""How many ways a release may have to end before its end: after the count of rows, and after
discovery, for each share of the budget that it may take.
"""

MAX_ENTRIES = 100_000
MAX_WORDING_LENGTH = 100_000
"""Of a ledger in a model file, and of a text in it, in characters."""


def check_rows_per_person(most: Any) -> int:
    """Return the largest number of rows that a person may have if it can be one."""
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MAX_ROWS_PER_PERSON:
        raise InputError(
            f"The rows per person must be a whole number from 1 to {MAX_ROWS_PER_PERSON:,}, not "
            f"{most!r}."
        )
    return most


@dataclass(frozen=True)
class Entry:
    """One question that was put to the private rows, and what it cost."""

    question: str
    amount: float
    delta: float = 0.0
    mechanism: str = ""


@dataclass
class Ledger:
    """What one release may spend, and has spent.

    Parameters
    ----------
    epsilon, delta
        The guarantee of the release.
    neighbours
        Which tables count as neighbours: "add_remove" (one row more or less) or "replace" (one row
        changed).
    currency
        What entries are counted in: "epsilon", or "rho" (zCDP), which needs a delta.
    threshold_delta
        The part of delta that is kept for questions that cost delta themselves (discovering
        categories).
    private
        False when the noise was seeded: then there is no guarantee at all, and everything that
        shows the ledger says so.
    rows_per_person
        How many rows one person has at most; every sensitivity is multiplied by it.
    unit
        Whether neighbours differ by a "row" or by all rows of a "person"; more than one row is a
        person's.
    trust
        Whom the guarantee trusts, in a sentence; empty for one trusted curator.
    taken_as_public
        What was read or given without a price, and is not protected
        (:func:`understudy.privacy.wording.list_public`).
    stop_delta
        The part of delta that is kept for ends before the end (:meth:`stop`), under zCDP.
    order
        Where questions to random samples of the rows are paid from it: the one order at which
        divergences are added up, as rho (:mod:`understudy.privacy.renyi`).
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = "add_remove"
    currency: Currency = "epsilon"
    threshold_delta: float = 0.0
    private: bool = True
    entries: list[Entry] = field(default_factory=list)
    rows_per_person: int = 1
    unit: Unit = "row"
    trust: str = ""
    taken_as_public: tuple[str, ...] = ()
    stop_delta: float = 0.0
    order: int | None = None
    stopped_at: Budget | None = field(default=None, init=False)
    _for_reading: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.epsilon != 0:  # a release that asks nothing costs nothing
            self.epsilon = check_epsilon(self.epsilon)
        self.delta = check_delta(self.delta)
        self.neighbours = check_neighbours(self.neighbours)
        if check_rows_per_person(self.rows_per_person) > 1:
            self.unit = "person"
        else:
            self.unit = _unit(self.unit)
        if self.unit == "person" and self.neighbours == "replace":
            raise InputError(
                "Protecting all rows of a person goes with neighbours add_remove, not with replace."
            )
        if exact(self.threshold_delta) + exact(self.stop_delta) > exact(self.delta):
            raise InputError("The delta kept for thresholds and stops is more than all of delta.")
        if self.currency == "rho" and self.conversion_delta <= 0:
            raise InputError("Accounting by zCDP needs a delta above 0.")
        self.budget = Budget(self._whole_amount(), self.currency)

    def _whole_amount(self) -> float:
        if self.order is not None:
            check_order(self.order)
            if self.currency != "rho":
                raise InputError("Accounting at an order needs a delta above 0.")
            return rho_at(self.order, self.epsilon, self.conversion_delta)
        if self.currency == "epsilon":
            return self.epsilon
        return rho_of(self.epsilon, self.conversion_delta)

    def _epsilon_of(self, rho: float) -> float:
        """What an amount of rho costs, at the ledger's order where it has one."""
        if self.order is None:
            return epsilon_of(rho, self.conversion_delta)
        return epsilon_at(self.order, rho, self.conversion_delta)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle gets: all there is to read, and nothing to spend. Two ledgers
        with what one has left would be money printed.
        """
        return {**self.__dict__, "entries": list(self.entries), "_for_reading": True}

    @property
    def conversion_delta(self) -> float:
        """The part of delta that turns rho into epsilon."""
        if self.currency == "epsilon":
            return 0.0
        kept = exact(self.threshold_delta) + exact(self.stop_delta)
        return round_down(exact(self.delta) - kept)

    @classmethod
    def for_discovery(
        cls, epsilon: float, delta: float, neighbours: Neighbours = "add_remove", **unit: Any
    ) -> Ledger:
        """One for a release that discovers its domain: half of delta is for thresholds of words,
        and an eighth for stops.
        """
        return cls(epsilon, delta, neighbours, "rho", delta / 2, stop_delta=delta / 8, **unit)

    @property
    def left(self) -> Budget:
        """What can still be asked for."""
        left = exact(self.budget.amount) - total([entry.amount for entry in self.entries])
        return Budget(round_down(left), self.currency)

    def debit(self, question: str, cost: Budget, mechanism: str, delta: float = 0.0) -> None:
        """Write a question down before it is answered; refuse it if it costs more than is left."""
        self.debit_all([(question, cost, mechanism)], delta)

    def debit_all(self, questions: Iterable[tuple[str, Budget, str]], delta: float = 0.0) -> None:
        """Write down questions that are asked together: all of them, or none where they cost more
        than is left.
        """
        new = []
        for question, cost, mechanism in questions:
            if cost.currency != self.currency:
                raise BudgetError(
                    f"The ledger counts in {self.currency}, but {question} is priced in "
                    f"{cost.currency}."
                )
            if not cost.amount >= 0 or not delta >= 0:
                raise BudgetError(f"The price of {question} is not a number at or above 0.")
            new.append(Entry(question, cost.amount, delta, mechanism))
        self._record(new)

    def _record(self, new: list[Entry]) -> None:
        if len(new) == 1:
            asked = new[0].question
        else:
            asked = f"A batch of {len(new)} questions"
        if self._for_reading:
            raise BudgetError(
                f"{asked} cannot be paid from a copy of a ledger, or from one that was read back "
                "from a model; debit the original. Nothing was asked."
            )
        cost_of_all = total([entry.amount for entry in new])
        if total([entry.amount for entry in self.entries]) + cost_of_all > exact(
            self.budget.amount
        ):
            raise BudgetError(
                f"{asked} costs {self.currency} {float(cost_of_all):g}, but only "
                f"{self.left.amount:g} of "
                f"{self.budget.amount:g} is left; nothing was asked."
            )
        # Under zCDP the rest of delta is spoken for by the conversion; under pure accounting
        # nothing else needs it.
        if self.currency == "rho":
            allowed = self.threshold_delta
        else:
            allowed = self.delta
        if total([entry.delta for entry in self.entries + new]) > exact(allowed):
            needed = float(total([entry.delta for entry in new]))
            raise BudgetError(
                f"{asked} needs delta {needed:g}, more than is left of {allowed:g}; nothing was "
                "asked."
            )
        self.entries.extend(new)

    def spent(self) -> tuple[float, float]:
        """The (epsilon, delta) that all entries together cost."""
        amounts = total([entry.amount for entry in self.entries])
        delta = total([entry.delta for entry in self.entries])
        if self.currency == "epsilon":
            return rounded_up(amounts), rounded_up(delta)
        if not amounts:
            return 0.0, rounded_up(delta)
        # The total rho was found by a search that stops at 12 digits: a full ledger costs what was
        # promised.
        if amounts == exact(self.budget.amount):
            epsilon = self.epsilon
        else:
            rho = rounded_up(amounts)
            epsilon = min(self.epsilon, self._epsilon_of(rho))
        return epsilon, rounded_up(delta + exact(self.conversion_delta))

    def promise(self) -> tuple[float, float]:
        """The (epsilon, delta) that the release is guaranteed to keep.

        Not what was spent on the way that this run happened to take: how much that is may itself
        depend on the rows (where nothing is left to choose, a choice costs nothing), so only the
        most that it could be is a promise.
        """
        if not self.entries:
            return (0.0, 0.0)
        if self.stopped_at is None:
            return (self.epsilon, self.delta)
        if self.currency == "epsilon":
            return self.spent()
        if not self.stop_delta:
            return (self.epsilon, self.delta)
        kept = round_down(exact(self.stop_delta) / MAX_STOPS)
        return (min(self.epsilon, epsilon_of(self.stopped_at.amount, kept)), self.delta)

    def for_group(self, members: int) -> GroupPromise:
        """What the release is guaranteed to keep for a group of rows, or of persons, together.

        Parameters
        ----------
        members
            How many are in the group.

        Examples
        --------
        >>> ledger = Ledger(epsilon=0.1)
        >>> ledger.debit("a count", Budget(0.1), "geometric")
        >>> print(ledger.for_group(10))  # doctest: +NORMALIZE_WHITESPACE
        Differentially private with epsilon = 1: adding or removing any 10 rows changes the
        probability of any outcome by a factor of at most 2.72.
        """
        members = check_members(members)
        epsilon, delta = self.promise()
        change = f"{self._verb()} any {members:,} {self.unit}s"
        if self.unit == "person":
            change = f"adding or removing all rows of any {members:,} persons"
        grouped = group_promise(epsilon, delta, members, change, self.unit)
        # Where all that is paid is rho, k neighbours on end make k^2 rho of it (Bun and Steinke
        # 2016), at the same delta.
        only_rho = self.currency == "rho" and not self.threshold_delta and not self.stop_delta
        if not only_rho or self.order is not None or not self.entries:
            return grouped
        rho = rounded_up(exact(self.budget.amount) * members**2)
        return replace(grouped, epsilon=epsilon_of(rho, self.delta), delta=self.delta)

    def _verb(self) -> str:
        if self.neighbours == "replace":
            return "changing"
        return "adding or removing"

    def parallel(
        self,
        question: str,
        parts: Sequence[str],
        cost: Budget,
        delta: float = 0.0,
        *,
        whole_persons: bool = False,
    ) -> dict[str, Ledger]:
        """Pay once for questions about disjoint parts of the rows: a ledger for each part, all of
        which together cost what one may.

        A row that is added or removed is in one part, so whatever is asked of the others does not
        depend on it: the dearest part is the price of all. You state that every row lies in at most
        one part, by a rule that looks at that row alone; the ledger keeps this statement, and every
        question to a part, at no further price.

        Parameters
        ----------
        question
            How the rows are divided, for the ledger.
        parts
            The names of the parts; they are public.
        cost, delta
            What may be asked of each part, debited here and now.
        whole_persons
            Where the ledger protects persons: that all rows of a person lie in one part.

        Examples
        --------
        >>> ledger = Ledger(epsilon=1.0)
        >>> parts = ledger.parallel("by salary", ["below 20k", "above 150k"], Budget(0.3))
        >>> for part in parts.values():
        ...     part.debit("a count", Budget(0.3), "geometric")
        >>> ledger.left
        Budget(amount=0.7, currency='epsilon')
        """
        names = list(parts)
        if len(names) < 2 or len(set(names)) < len(names) or not all(map(_is_wording, names)):
            raise InputError(
                "Parallel composition needs two parts or more, each with its own name."
            )
        if self.neighbours == "replace":
            raise InputError(
                "A row that is replaced may leave one part and join another, so parts do not cost "
                "what one does under neighbours replace; use add_remove."
            )
        if self.unit == "person" and not whole_persons:
            raise InputError(
                "A person's rows may lie in several parts; if all rows of a person always lie in "
                "one, say whole_persons=True."
            )
        stated = f"{question}, {len(names)} disjoint parts: {', '.join(names)}"
        self.debit(stated, cost, "parallel composition, the most that a part may cost", delta)
        return {name: _PartLedger.of(self, name, cost, delta) for name in names}

    def stop(self, price: Budget) -> None:
        """End the release at a point that was declared beforehand, and release nothing more.

        Whether it ends there follows from what was released until then, so it costs what could be
        asked until then, not more. But it must add up with whatever is released later.

        In pure epsilon it does: the loss of every outcome is at most the sum of the prices on its
        way, whatever was decided on it (a privacy filter).

        Under zCDP a price turns into an epsilon only up to a delta, and every way to end has an
        epsilon of its own. Let p and q be the probabilities of outcomes on two neighbours, and e(b)
        the epsilon of end b: of a place together with a price, of which there are at most
        ``MAX_STOPS``. Among the outcomes that end at b, p exceeds q e^e(b) by no more than the
        delta d(b) at which e(b) was computed, since leaving out outcomes makes that only smaller.
        So p is at most q e^e(b), whichever end it is, but for a part of sum d(b) in all: and this
        sum, not d(b), must be charged at each end. Hence a stop gives back epsilon and no delta,
        and what d(b) is for stops is set aside beforehand (``stop_delta``). Without that, a stop
        gives nothing back.

        Parameters
        ----------
        price
            The most that can have been asked until then.
        """
        asked = total([entry.amount for entry in self.entries])
        if price.currency != self.currency or asked > exact(price.amount):
            raise ValueError("more was asked than the stop's price")
        self.stopped_at = price

    def statement(self) -> str:
        """The guarantee in words, and what it takes as public."""
        if not self.private:
            return "NOT PRIVATE: the noise came from a seed, for tests and studies only."
        public = state_public(self.taken_as_public)
        if not self.entries:
            said = "No private row was read: the release is private without spending anything."
            return f"{said} {public}".rstrip()
        said = state_guarantee(*self.promise(), self._change(), self.unit)
        return " ".join(part for part in (said, public, self.trust) if part)

    def _change(self) -> str:
        """What makes two tables neighbours, as the subject of a sentence."""
        if self.unit == "person":
            most = self.rows_per_person
            return f"adding or removing all rows of any one person (at most {most:,})"
        if self.neighbours == "replace":
            return "changing any one row"
        return "adding or removing any one row"

    def to_dict(self) -> dict[str, Any]:
        """The ledger as it stands in a model."""
        epsilon, delta = self.spent()
        return {
            "private": self.private,
            "neighbours": self.neighbours,
            "unit": self.unit,
            "rows_per_person": self.rows_per_person,
            "guarantee": {"epsilon": self.epsilon, "delta": self.delta},
            "spent": {"epsilon": epsilon, "delta": delta},
            "currency": self.currency,
            "total": self.budget.amount,
            "threshold_delta": self.threshold_delta,
            "stop_delta": self.stop_delta,
            "entries": [asdict(entry) for entry in self.entries],
            "taken_as_public": list(self.taken_as_public),
            **self._optional_facts(),
        }

    def _optional_facts(self) -> dict[str, Any]:
        """What most ledgers do not have."""
        facts: dict[str, Any] = {}
        if self.trust:
            facts["trust"] = self.trust
        if self.order is not None:
            facts["order"] = self.order
        return facts

    @classmethod
    def from_dict(cls, document: Any) -> Ledger:
        """Read a ledger back from a model; the sums are computed again, not believed."""
        try:
            guarantee = document["guarantee"]
            ledger = cls(
                guarantee["epsilon"],
                guarantee["delta"],
                document["neighbours"],
                _one_of(document["currency"], ("epsilon", "rho")),
                check_delta(document["threshold_delta"]),
                _one_of(document["private"], (True, False)),
                rows_per_person=document.get("rows_per_person", 1),
                unit=document.get("unit", "row"),
                trust=document.get("trust", ""),
                taken_as_public=_check_public(document.get("taken_as_public", [])),
                stop_delta=check_delta(document.get("stop_delta", 0.0)),
                order=document.get("order"),
            )
            if not _is_wording(ledger.trust):
                raise TypeError("whom it trusts is not text")
            if ledger.unit != document.get("unit", "row"):
                raise ValueError("it protects rows, but a person has more than one")
            entries = []
            if len(document["entries"]) > MAX_ENTRIES:
                raise ValueError(f"it has more than {MAX_ENTRIES:,} entries")
            for entry in document["entries"]:
                question, mechanism, amount = (
                    entry["question"],
                    entry["mechanism"],
                    float(entry["amount"]),
                )
                if not _is_wording(question) or not _is_wording(mechanism):
                    raise TypeError("a question is not text")
                if not amount >= 0:
                    raise ValueError("a price is below 0")
                entries.append(Entry(question, amount, check_delta(entry["delta"]), mechanism))
            ledger._record(entries)
            ledger._for_reading = True
        except (KeyError, TypeError, ValueError, AttributeError, BudgetError) as error:
            raise InputError(f"its ledger is not in order ({error})") from error
        return ledger


class _PartLedger(Ledger):
    """The ledger of one of several disjoint parts; the whole's has been debited for all of them,
    and keeps every question, at no price.
    """

    _whole: Ledger
    _name: str

    @classmethod
    def of(cls, whole: Ledger, name: str, cost: Budget, delta: float) -> _PartLedger:
        part = cls(
            whole.epsilon,
            whole.delta,
            whole.neighbours,
            whole.currency,
            whole.threshold_delta,
            whole.private,
            rows_per_person=whole.rows_per_person,
            unit=whole.unit,
            stop_delta=whole.stop_delta,
            order=whole.order,
        )
        part.budget = cost
        part._whole, part._name, part._delta_left = whole, name, delta
        return part

    _delta_left: float

    def _record(self, new: list[Entry]) -> None:
        asked = total([entry.delta for entry in self.entries + new])
        if asked > exact(self._delta_left):
            raise BudgetError(
                f"The part {self._name} was given delta {self._delta_left:g}, and {float(asked):g} "
                "is asked for; nothing was asked."
            )
        super()._record(new)
        for entry in new:
            paid = f"{entry.mechanism}, {self.currency} {entry.amount:g} paid for all parts"
            line = Entry(f"{self._name}: {entry.question}", 0.0, 0.0, paid)
            self._whole._record([line])

    def promise(self) -> tuple[float, float]:
        raise InputError(
            "A part of a table has no promise of its own; the ledger of the whole states it."
        )

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "private" and not value and hasattr(self, "_whole"):
            self._whole.private = False


def _is_wording(text: Any) -> bool:
    if isinstance(text, str) and len(text) > MAX_WORDING_LENGTH:
        raise ValueError(
            f"it holds a text of {len(text):,} characters; at most {MAX_WORDING_LENGTH:,} are "
            "allowed"
        )
    return isinstance(text, str)


def _unit(unit: Any) -> Unit:
    if unit not in ("row", "person"):
        raise InputError(f"unit must be row or person, not {unit!r}.")
    checked: Unit = unit
    return checked


def _check_public(taken_as_public: Any) -> tuple[str, ...]:
    if not isinstance(taken_as_public, list) or not all(
        isinstance(item, str) for item in taken_as_public
    ):
        raise TypeError("what was taken as public is not a list of texts")
    return tuple(taken_as_public)


def _one_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
        raise ValueError(f"{value!r} is not one of {allowed}")
    return value


# --------------------------------------------------------------------------- the owner's file

LEDGER_VERSION = 1

KEY_BYTES = 32

WAIT_SECONDS = 30.0
"""How long somebody else may hold a ledger's lock before a release is refused."""

MAX_LEDGER_LINES = 1000
MAX_LEDGER_LETTERS = 100_000
"""How many questions of a release stand in a ledger file one by one, and how many letters they have
together; others are summed up. A release may ask very many, and the file must stay readable.
"""

FREE_SESSIONS = "free_sessions"
"""Where a ledger file keeps marks of sessions that cost nothing (:func:`mark_session`)."""

_NOTHING_ASKED = "nothing was asked"
_PRICE_STAYS = "the whole price stays on the books"
"""How errors end that come before anything is asked, and afterwards."""

Accepted = Literal["same_table", "new_rows"]
"""What the owner says of a table that a ledger does not know."""


class LedgerFile:
    """The allowance of one table, shared by all its releases, on disk.

    A release reserves its whole budget before it reads a row and costs all of it once it has asked
    anything; one that crashes stays on the books in full. The file is replaced in one step, flushed
    to disk, under a lock: at no moment does it say less than was spent. A file that is damaged is
    refused, never started afresh.

    Across releases (epsilon, delta) add up (basic composition), which is sound for every mix of
    methods.

    The file also remembers which table it is kept for, by a fingerprint under a secret key that
    stands in the file: without the file nobody can check a guess against it. A release of a table
    that it does not know is refused until the owner says what it is. Whatever that is, releases go
    on adding up: a person may be in both tables.

    Parameters
    ----------
    path
        The file, which :meth:`create` has started.
    accept
        What to do about a table that the ledger does not know. ``None``: refuse. "same_table": it
        is the same rows in another form (other columns, another format), and both forms are known
        from now on. "new_rows": rows were added, removed or changed, and only this table is known
        from now on.
    wait
        For how many seconds somebody else may hold the file's lock before a release is refused.
    notify
        Called with a sentence, once, when there is somebody to wait for.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.ledger"
    >>> ledger = LedgerFile.create(path, epsilon=3.0)
    >>> ledger.left()
    (3.0, 0.0)
    """

    def __init__(
        self,
        path: str | Path,
        *,
        accept: Accepted | None = None,
        wait: float = WAIT_SECONDS,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        if accept not in (None, "same_table", "new_rows"):
            raise InputError(f"accept must be same_table or new_rows, not {accept!r}.")
        if not 0 <= wait < math.inf:
            raise InputError(f"The seconds to wait must be a number at or above 0, not {wait!r}.")
        # One ledger must have one lock and one file, by whatever links it is reached.
        self.path = Path(path).resolve()
        self.accept = accept
        self.wait = wait
        self._notify = notify or (lambda _: None)
        self._new_key = secrets.token_bytes(KEY_BYTES)  # for a file of old that has none

    @classmethod
    def create(
        cls,
        path: str | Path,
        epsilon: float,
        delta: float = 0.0,
        neighbours: Neighbours = "add_remove",
        unit: Unit = "row",
    ) -> LedgerFile:
        """Start a ledger for a table; a file that is already there is left alone."""
        Ledger(epsilon, delta, neighbours, unit=unit)  # refuses what does not go together
        ledger = cls(writable_file(path, "ledger"))
        document = {
            "understudy_ledger": LEDGER_VERSION,
            "allowance": {"epsilon": check_epsilon(epsilon), "delta": check_delta(delta)},
            "neighbours": check_neighbours(neighbours),
            "unit": _unit(unit),
            "key": ledger._new_key.hex(),
            "tables": [],
            "releases": [],
        }
        with ledger._locked():
            if ledger.path.exists():
                raise InputError(
                    f"There is a ledger at {path} already; it is never started afresh."
                )
            ledger._write(document)
        return ledger

    def left(self) -> tuple[float, float]:
        """The (epsilon, delta) that can still be spent."""
        return _amount_left(self.read())

    def read(self) -> dict[str, Any]:
        """The whole ledger, checked."""
        return self._check_document(read_json(self.path, "ledger"))

    def _check_document(self, document: Any) -> dict[str, Any]:
        try:
            if document["understudy_ledger"] != LEDGER_VERSION:
                raise ValueError("it was written by another version of understudy")
            if document["check"] != _check(document):
                raise ValueError("its check sum does not match")
            _amount_left(document)
            check_neighbours(document["neighbours"])
            _unit(document.get("unit", "row"))
            _key(document)
            _tables(document)
            _free_sessions(document)
        except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
            raise InputError(
                f"The ledger {self.path} is damaged ({error}); nothing can be released until it is "
                "restored."
            ) from error
        assert isinstance(document, dict)
        return document

    def key(self) -> bytes:
        """The secret that fingerprints of tables are made with."""
        return _key(self.read()) or self._new_key

    def check_table(self, table: str) -> None:
        """Refuse a table that the ledger is not kept for, by its fingerprint; write nothing."""
        self._check_table(self.read(), table)

    def check_release(
        self, epsilon: float, delta: float, neighbours: Neighbours, unit: Unit = "row"
    ) -> None:
        """Refuse a release that :meth:`reserve` would refuse; nothing is written."""
        self._check_release(self.read(), epsilon, delta, neighbours, unit)

    def adopt_table(self, table: str) -> None:
        """Keep the ledger for a table from now on, if it is or may be; by its fingerprint."""
        with self._locked():
            document = self.read()
            if self._adopt_table(document, table):
                self._write(document)

    def reserve(
        self,
        release: str,
        epsilon: float,
        delta: float,
        neighbours: Neighbours,
        unit: Unit = "row",
        *,
        details: Mapping[str, str] | None = None,
        check: Callable[[Mapping[str, Any]], None] | None = None,
        table: str | None = None,
    ) -> str:
        """Put a release on the books, in full, before it reads a row; returns its number.

        Releases that protect persons add up whatever number of rows each of them lets a person
        have, since each protects whole persons; with releases that protect rows they do not.

        Parameters
        ----------
        release, epsilon, delta, neighbours, unit
            What is to be released, and at what price.
        details
            Kept with the release.
        check
            Given the ledger as it stands, while nobody else can write into it; may raise what it
            has against the release.
        table
            The fingerprint of the table under :meth:`key`; without one nobody asks which table it
            is.
        """
        with self._locked():
            document = self.read()
            self._check_release(document, epsilon, delta, neighbours, unit)
            if check is not None:
                check(document)
            if table is not None:
                self._adopt_table(document, table)
            number = secrets.token_hex(8)
            document["releases"].append(
                {
                    "number": number,
                    "release": release,
                    **(details or {}),
                    "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
                    "epsilon": epsilon,
                    "delta": delta,
                    "state": "reserved",
                }
            )
            self._write(document)
        return number

    def settle(self, number: str, ledger: Ledger) -> None:
        """Close a reservation, with the questions: in full if anything was asked, unless it stopped
        at a declared point; free of charge if nothing was.

        Of a session that cost nothing only a mark is kept: whoever opens and closes very many fills
        no file.
        """
        with self._locked(_PRICE_STAYS):
            document = self.read()
            waiting = (
                r
                for r in document["releases"]
                if r["number"] == number and r["state"] == "reserved"
            )
            entry = next(waiting, None)
            if entry is None:
                raise InputError(
                    f"The ledger {self.path} has no open reservation {number!r}; nothing was "
                    "changed."
                )
            promised = ledger.epsilon, ledger.delta, ledger.neighbours, ledger.unit
            if promised != (
                entry["epsilon"],
                entry["delta"],
                document["neighbours"],
                document.get("unit", "row"),
            ):
                raise InputError(
                    f"The reservation {number!r} is another release's; nothing was changed."
                )
            epsilon, delta = ledger.promise()
            entry.update(epsilon=epsilon, delta=delta)
            entry.update(state="settled", **_account(ledger.entries), currency=ledger.currency)
            if not ledger.entries and "session" in entry:
                document["releases"].remove(entry)
                document.setdefault(FREE_SESSIONS, []).append(mark_session(entry["session"]))
            self._write(document, _PRICE_STAYS)

    def holds_release(self, number: str) -> bool:
        """Whether a release stands on the books, settled or not."""
        return any(release["number"] == number for release in self.read()["releases"])

    def is_reserved(self, number: str) -> bool:
        """Whether a release stands on the books and is not settled."""
        return any(
            release["number"] == number and release["state"] == "reserved"
            for release in self.read()["releases"]
        )

    def _check_release(
        self, document: dict[str, Any], epsilon: float, delta: float, neighbours: str, unit: str
    ) -> None:
        if not 0 <= epsilon < math.inf or not 0 <= delta < 1:
            raise BudgetError(
                f"A release cannot cost epsilon {epsilon:g} and delta {delta:g}; nothing was asked."
            )
        if document["neighbours"] != neighbours:
            raise BudgetError(
                f"The ledger {self.path} is kept for neighbours {document['neighbours']}, and the "
                f"release is for {neighbours}; the two cannot be added up."
            )
        kept_for = document.get("unit", "row")
        if kept_for != unit:
            raise BudgetError(
                f"The ledger {self.path} is kept per {kept_for}, and the release protects each "
                f"{unit}; the two cannot be added up."
            )
        epsilon_left, delta_left = _amount_left(document)
        if exact(epsilon) > exact(epsilon_left) or exact(delta) > exact(delta_left):
            raise BudgetError(
                f"The release needs epsilon {epsilon:g} and delta {delta:g}, but the ledger "
                f"{self.path} has only epsilon {epsilon_left:g} and delta {delta_left:g} left; "
                f"nothing was asked."
            )

    def _check_table(self, document: dict[str, Any], table: str) -> None:
        """Refuse a table that is not known, unless the owner has said what it is."""
        known = _tables(document)
        # Where nothing was spent, there is nothing yet that this table's releases would have to be
        # added to.
        spent = any(r["epsilon"] or r["delta"] for r in document["releases"])
        if table in known or not known or not spent or self.accept is not None:
            return
        raise InputError(
            f"The ledger {self.path} is kept for another table, or this one has changed since: if "
            f"it is the same in "
            f"another form, say --same-table; if rows were added, removed or changed, --new-rows "
            f"(in Python "
            f"LedgerFile(..., accept='same_table' or 'new_rows')); releases go on adding up "
            f"either way. For a table of "
            f"other persons start another ledger. Nothing was asked."
        )

    def _adopt_table(self, document: dict[str, Any], table: str) -> bool:
        """Note in the document which table it is kept for; whether that is news."""
        self._check_table(document, table)
        known = _tables(document)
        if table in known:
            return False
        if _key(document) is None:
            document["key"] = self._new_key.hex()
        if self.accept == "same_table":
            kept = known
        else:
            kept = []
        document["tables"] = [*kept, table]
        return True

    @contextlib.contextmanager
    def _locked(self, outcome: str = _NOTHING_ASKED) -> Iterator[None]:
        """Hold the lock; ``outcome`` is what an error says of what has happened so far."""
        lock = self.path.with_name(self.path.name + ".lock")
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InputError(
                f"The ledger {self.path} cannot be locked ({error.strerror}); {outcome}."
            ) from error
        try:
            self._wait_for(handle, outcome)
            if not lock.exists() or not os.path.samestat(os.fstat(handle), lock.stat()):
                raise InputError(
                    f"The lock of the ledger {self.path} was taken away meanwhile; {outcome}."
                )
            if self.path.exists() and self.path.stat().st_nlink > 1:
                raise InputError(
                    f"The ledger {self.path} has two names, which would each count for themselves; "
                    "keep one."
                )
            _sign(handle, _myself())
            try:
                yield
            finally:
                _sign(handle, b"")
        finally:
            os.close(handle)

    def _wait_for(self, handle: int, outcome: str) -> None:
        """Take the lock; while somebody else has it, say who, and give up in the end."""
        until = time.monotonic() + self.wait
        pause, told = 0.001, False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                return
            if time.monotonic() >= until:
                advice = "wait longer by --wait SECONDS"
                if outcome == _NOTHING_ASKED:  # else a second try would be paid for again
                    advice = f"try again when it has ended, or {advice}"
                raise InputError(
                    f"The ledger {self.path} is locked by {_name_lock_owner(handle)}, which has "
                    "not let "
                    f"go of it for {self.wait:g} s; {advice}. {outcome.capitalize()}."
                )
            if pause >= _SHORT_PAUSE and not told:  # others hold it for a moment only
                told = True
                self._notify(
                    f"Waiting up to {self.wait:g} s for the ledger {self.path}, which is locked by "
                    f"{_name_lock_owner(handle)}."
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONG_PAUSE)

    def _write(self, document: dict[str, Any], outcome: str = _NOTHING_ASKED) -> None:
        """Replace the file in one step that survives a crash or a power cut at any moment."""
        document["check"] = _check(document)
        data = (json.dumps(document, indent=1) + "\n").encode()
        # A file that cannot be read again would take the whole account with it.
        if len(data) > files.MAX_DOCUMENT_BYTES:
            raise InputError(
                f"The ledger {self.path} is full: it would be larger than "
                f"{files.MAX_DOCUMENT_BYTES >> 20} MB, which cannot be read again; start another "
                "one "
                f"with what is left of the allowance. {outcome.capitalize()}."
            )
        self._check_document(parse_json(data, f"ledger {self.path}"))
        try:
            replace_content(self.path, data)
        except OSError as error:
            raise InputError(
                f"The ledger {self.path} cannot be written ({error.strerror}); {outcome}."
            ) from error


_SHORT_PAUSE, _LONG_PAUSE = 0.25, 0.5


def _myself() -> bytes:
    """Who holds a lock, for others who wait for it: never its arguments, which may name tables."""
    program = Path(sys.argv[0] if sys.argv else "").name.replace("__main__.py", "understudy")
    words = [program, *sys.argv[1:2]]
    command = " ".join(word for word in words if word.isprintable() and "/" not in word)
    signature = {"pid": os.getpid(), "host": socket.gethostname(), "command": command[:80]}
    return json.dumps(signature).encode()


def _sign(handle: int, signature: bytes) -> None:
    """Write into the lock who holds it; a disk that refuses that is no reason to fail."""
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, signature, 0)


def _name_lock_owner(handle: int) -> str:
    """Who holds a lock, as far as it says, in words."""
    try:
        signature = json.loads(os.pread(handle, 4096, 0))
        pid, host, command = (signature[name] for name in ("pid", "host", "command"))
        if host == socket.gethostname():
            os.kill(pid, 0)  # still there? else whoever holds the lock has not signed yet
    except PermissionError:
        pass  # it is there, and somebody else's
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return "another process, which does not say who it is"
    if command:
        name = f" ({command})"
    else:
        name = ""
    return f"process {pid} on {host}{name}"


def _key(document: dict[str, Any]) -> bytes | None:
    if "key" not in document:
        return None  # a file from before there were fingerprints
    key = bytes.fromhex(document["key"])
    if len(key) != KEY_BYTES:
        raise ValueError("its key has another length")
    return key


def _tables(document: dict[str, Any]) -> list[str]:
    tables = document.get("tables", [])
    if not isinstance(tables, list) or not all(isinstance(table, str) for table in tables):
        raise ValueError("its fingerprints are not texts")
    return tables


def _free_sessions(document: dict[str, Any]) -> list[str]:
    marks = document.get(FREE_SESSIONS, [])
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        raise ValueError("its marks of sessions are not texts")
    return marks


def mark_session(name: str) -> str:
    """What is kept of the name of a session that cost nothing, so that it is known again."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def _account(entries: list[Entry]) -> dict[str, Any]:
    """The questions of a release for the owner's file: the first one by one, the rest summed up by
    mechanism, exactly.
    """
    lines: list[Entry] = []
    letters = 0
    for entry in entries[:MAX_LEDGER_LINES]:
        letters += len(entry.question) + len(entry.mechanism)
        if letters > MAX_LEDGER_LETTERS:
            break
        lines.append(entry)
    account: dict[str, Any] = {"entries": [asdict(entry) for entry in lines]}
    rest: dict[str, list[Entry]] = {}
    for entry in entries[len(lines) :]:
        # Without the scale of the noise, which may be another for each question.
        rest.setdefault(entry.mechanism.partition(",")[0], []).append(entry)
    if rest:
        account["further"] = [
            {
                "mechanism": mechanism,
                "questions": len(alike),
                # As text: a sum may have more digits than a float.
                "amount": str(total([entry.amount for entry in alike])),
                "delta": str(total([entry.delta for entry in alike])),
            }
            for mechanism, alike in rest.items()
        ]
    return account


def _amount_left(document: dict[str, Any]) -> tuple[float, float]:
    left = []
    for currency in ("epsilon", "delta"):
        spent = [release[currency] for release in document["releases"]]
        if any(not isinstance(amount, int | float) or not amount >= 0 for amount in spent):
            raise ValueError("a release has no proper price")
        left.append(
            round_down(max(exact(document["allowance"][currency]) - total(spent), exact(0.0)))
        )
    return left[0], left[1]


def _check(document: dict[str, Any]) -> str:
    content = {name: value for name, value in document.items() if name != "check"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
