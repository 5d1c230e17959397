"""The ledger of one release: what it may spend, and has spent. It travels in its model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from understudy.errors import BudgetError, InputError
from understudy.privacy.budget import (
    Budget,
    Currency,
    Neighbours,
    check_delta,
    check_epsilon,
    check_neighbours,
    check_part_of_delta,
    epsilon_of,
    exact,
    rho_of,
    round_down,
    round_up,
    total,
)
from understudy.privacy.gaussian_privacy import gdp_epsilon_of, gdp_of, lone_loss, smooth_loss
from understudy.privacy.group_privacy import GroupPromise, check_members, group_promise
from understudy.privacy.ledger.claims import Claims
from understudy.privacy.ledger.entries import (
    MAX_ENTRIES,
    MAX_STOPS,
    STOP_RATIO,
    Entry,
    UnitName,
    check_max_rows_per_person,
    check_public,
    check_unit,
    is_wording,
    one_of,
)
from understudy.privacy.renyi import check_order, epsilon_at, rho_at
from understudy.privacy.wording import state_guarantee, state_public


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
        What entries are counted in: "epsilon", or, which needs a delta, "rho" (zCDP) or "gdp"
        (Gaussian differential privacy, exact for noise that one place adds).
    threshold_delta
        The part of delta that is kept for questions that cost delta themselves (discovering
        categories).
    private
        False when the noise was seeded: then there is no guarantee at all, and everything that
        shows the ledger says so.
    max_rows_per_person
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

    Attributes
    ----------
    claims
        Where a ledger file pays: how far the release has come, for one in several parts.
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = "add_remove"
    currency: Currency = "epsilon"
    threshold_delta: float = 0.0
    private: bool = True
    entries: list[Entry] = field(default_factory=list)
    max_rows_per_person: int = 1
    unit: UnitName = "row"
    trust: str = ""
    taken_as_public: tuple[str, ...] = ()
    stop_delta: float = 0.0
    order: int | None = None
    stopped_at: Budget | None = field(default=None, init=False)
    claims: Claims | None = field(default=None, init=False, repr=False, compare=False)
    _for_reading: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.epsilon != 0:  # a release that asks nothing costs nothing
            self.epsilon = check_epsilon(self.epsilon)
        self.delta = check_delta(self.delta)
        self.neighbours = check_neighbours(self.neighbours)
        if check_max_rows_per_person(self.max_rows_per_person) > 1:
            self.unit = "person"
        else:
            self.unit = check_unit(self.unit)
        if self.unit == "person" and self.neighbours == "replace":
            raise InputError(
                "Protecting all rows of a person goes with neighbours add_remove, not with replace."
            )
        if exact(self.threshold_delta) + exact(self.stop_delta) > exact(self.delta):
            raise InputError("The delta kept for thresholds and stops is more than all of delta.")
        if self.currency != "epsilon" and self.conversion_delta <= 0:
            raise InputError("Accounting by zCDP or in GDP needs a delta above 0.")
        self.budget = Budget(self._whole_amount(), self.currency)

    def _whole_amount(self) -> float:
        if self.order is not None:
            check_order(self.order)
            if self.currency != "rho":
                raise InputError("Accounting at an order is in rho, and needs a delta above 0.")
            return rho_at(self.order, self.epsilon, self.conversion_delta)
        if self.currency == "epsilon":
            return self.epsilon
        if self.currency == "gdp":
            return gdp_of(self.epsilon, self.conversion_delta)
        return rho_of(self.epsilon, self.conversion_delta)

    def epsilon_of(self, amount: float, delta: float) -> float:
        """The epsilon of a release that may spend an amount, in this ledger's currency."""
        if self.order is not None:
            return epsilon_at(self.order, amount, delta)
        if self.currency == "gdp":
            return gdp_epsilon_of(amount, delta)
        return epsilon_of(amount, delta)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle gets: all there is to read, and nothing to spend. Two ledgers
        with what one has left would be money printed.
        """
        copied = {"entries": list(self.entries), "claims": None, "_for_reading": True}
        return {**self.__dict__, **copied}

    @property
    def conversion_delta(self) -> float:
        """The part of delta that turns rho or GDP into epsilon."""
        if self.currency == "epsilon":
            return 0.0
        kept = exact(self.threshold_delta) + exact(self.stop_delta)
        return round_down(exact(self.delta) - kept)

    @classmethod
    def for_discovery(
        cls,
        epsilon: float,
        delta: float,
        neighbours: Neighbours = "add_remove",
        currency: Currency = "rho",
        **unit: Any,
    ) -> Ledger:
        """One for a release that discovers its domain: half of delta is for thresholds of words,
        and an eighth for stops.
        """
        return cls(epsilon, delta, neighbours, currency, delta / 2, stop_delta=delta / 8, **unit)

    @property
    def left(self) -> Budget:
        """What can still be asked for."""
        return Budget(round_down(self._exact_left()), self.currency)

    def _exact_left(self) -> Fraction:
        return exact(self.budget.amount) - total([entry.amount for entry in self.entries])

    def allow_loss(self, cost: Budget, parts: int = 1) -> Budget:
        """What a question that is not Gaussian may lose if it is asked next, for a price.

        In GDP that is an amount of rho, which depends on what is left
        (:mod:`understudy.privacy.gaussian_privacy`); otherwise it is the price itself.

        Parameters
        ----------
        cost
            The price.
        parts
            How many independent answers of one range, such as draws, the question consists of.
        """
        if cost.currency != "gdp":
            return cost
        smoothed = round_down(smooth_loss(exact(cost.amount), self._exact_left()))
        alone = round_down(parts * exact(lone_loss(round_down(exact(cost.amount) / parts))))
        return Budget(max(smoothed, alone), "rho")

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
        if self.stopped_at is not None:
            raise BudgetError(f"{asked} comes after the release was stopped; nothing was asked.")
        cost_of_all = total([entry.amount for entry in new])
        if total([entry.amount for entry in self.entries]) + cost_of_all > exact(
            self.budget.amount
        ):
            raise BudgetError(
                f"{asked} costs {self.currency} {float(cost_of_all):g}, but only "
                f"{self.left.amount:g} of {self.budget.amount:g} is left; nothing was asked."
            )
        # Under pure accounting nothing else needs the delta; otherwise the rest of it is spoken for
        # by the conversion.
        if self.currency == "epsilon":
            allowed = self.delta
        else:
            allowed = self.threshold_delta
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
            return round_up(amounts), round_up(delta)
        if not amounts:
            return 0.0, round_up(delta)
        # The total was found by a search that stops at 12 digits: a full ledger costs what was
        # promised.
        if amounts == exact(self.budget.amount):
            epsilon = self.epsilon
        else:
            epsilon = min(self.epsilon, self._epsilon_so_far(round_up(amounts)))
        return epsilon, round_up(delta + exact(self.conversion_delta))

    def _epsilon_so_far(self, amount: float) -> float:
        """What an amount costs if nothing more is asked.

        In GDP a choice is priced by what could be asked afterwards, so the price of a part is not
        that of all. But any amount of GDP is as much rho, and rho adds up whatever follows.
        """
        if self.order is None:
            return epsilon_of(amount, self.conversion_delta)
        return epsilon_at(self.order, amount, self.conversion_delta)

    def spent_by_zcdp(self) -> float:
        """The epsilon that all entries together cost by zCDP's conversion, at the same delta: for
        comparison where the ledger counts in GDP.
        """
        amounts = total([entry.amount for entry in self.entries])
        return epsilon_of(round_up(amounts), self.conversion_delta)

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
        # By zCDP in GDP as well, see _epsilon_so_far.
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
        # 2016), at the same delta; and k mu of mu-GDP (Dong, Roth and Su 2022).
        kept = self.currency == "epsilon" or self.threshold_delta or self.stop_delta
        if kept or self.order is not None or not self.entries:
            return grouped
        amount = round_up(exact(self.budget.amount) * members**2)
        return replace(grouped, epsilon=self.epsilon_of(amount, self.delta), delta=self.delta)

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
        depend on it: the most expensive part is the price of all. You state that every row lies in
        at most one part, by a rule that looks at that row alone; the ledger keeps this statement,
        and every question to a part, at no further price.

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
        if len(names) < 2 or len(set(names)) < len(names) or not all(map(is_wording, names)):
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

        With a delta, a price turns into an epsilon only up to that, and every price b has an
        epsilon e(b) of its own. Let p and q be the probabilities of outcomes on two neighbours.
        The outcomes that end at b are among those of a release that asks for no more than b. So p
        exceeds q e^e(b) there by no more than the delta d(b) at which e(b) was computed, since
        leaving out outcomes makes that only smaller. So p is at most q e^e(b), whichever price it
        is, but for a part of sum d(b) in all: and this sum, not d(b), must be charged at each end.
        Hence a stop gives back epsilon and no delta, and what d(b) is for stops is set aside
        beforehand (``stop_delta``). Without that, a stop gives nothing back. And prices must be
        few, while those of questions follow from noisy counts: they are rounded up to one of
        ``MAX_STOPS``.

        Parameters
        ----------
        price
            The most that can have been asked until then.
        """
        asked = total([entry.amount for entry in self.entries])
        if price.currency != self.currency or asked > exact(price.amount):
            raise ValueError("more was asked than the stop's price")
        part, most = exact(self.budget.amount), min(exact(price.amount), exact(self.budget.amount))
        for _ in range(MAX_STOPS - 1):
            if part * STOP_RATIO < most:
                break
            part *= STOP_RATIO
        self.stopped_at = Budget(round_up(part), price.currency)

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
            most = self.max_rows_per_person
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
            "rows_per_person": self.max_rows_per_person,
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
        if self.currency == "gdp":
            facts["spent_by_zcdp"] = {"epsilon": self.spent_by_zcdp()}
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
                one_of(document["currency"], ("epsilon", "rho", "gdp")),
                check_part_of_delta(document["threshold_delta"]),
                one_of(document["private"], (True, False)),
                max_rows_per_person=document.get("rows_per_person", 1),
                unit=document.get("unit", "row"),
                trust=document.get("trust", ""),
                taken_as_public=check_public(document.get("taken_as_public", [])),
                stop_delta=check_part_of_delta(document.get("stop_delta", 0.0)),
                order=document.get("order"),
            )
            if not is_wording(ledger.trust):
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
                if not is_wording(question) or not is_wording(mechanism):
                    raise TypeError("a question is not text")
                if not amount >= 0:
                    raise ValueError("a price is below 0")
                part = check_part_of_delta(entry["delta"])
                entries.append(Entry(question, amount, part, mechanism))
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
            max_rows_per_person=whole.max_rows_per_person,
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
