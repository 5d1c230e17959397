"""One release: check, discover, code, ask, learn, settle.

Everything that can be wrong with a table, a schema or a parameter is found before anything is
spent. From the reservation in the owner's ledger file on, whatever happens is on the books.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from understudy.counting.cuboids import CuboidCounter
from understudy.data.encoding import Coded
from understudy.data.schema import Schema, check_columns
from understudy.errors import InputError
from understudy.models.model import Model
from understudy.privacy.budget import DEFAULT_DELTA, Budget, Neighbours, exact, rounded_down
from understudy.privacy.central import CentralCurator
from understudy.privacy.curator import Curator
from understudy.privacy.discovery import Draft
from understudy.privacy.ledger import Ledger, LedgerFile, Unit
from understudy.privacy.mechanisms import Noise
from understudy.privacy.refinement import refine
from understudy.privacy.wording import list_public
from understudy.release.callbacks import ASKING, Notify, Progress, no_progress, warn_owner
from understudy.release.reservations import reserve
from understudy.release.sources import Source


class ReleaseMethod(Protocol):
    """What a release needs of a method."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def asks(self) -> bool:
        """Whether it asks anything about the rows."""

    @property
    def epsilon(self) -> float:
        """The privacy budget."""

    @property
    def delta(self) -> float:
        """The probability with which the guarantee may fail."""

    @property
    def neighbours(self) -> Neighbours:
        """Which tables count as neighbours."""

    @property
    def discovery(self) -> float:
        """The share of the budget for discovering the domain."""

    @property
    def refinement(self) -> float:
        """The share of the budget for what lies inside bins."""

    @property
    def person(self) -> str | None:
        """The column that says whose row it is."""

    @property
    def max_rows_per_person(self) -> int:
        """How many rows of a person count."""

    @property
    def named(self) -> frozenset[str]:
        """The columns that its parameters name."""

    def check(self, schema: Schema) -> None:
        """Refuse parameters that do not go with a schema."""

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Ask the curator, and make a model of the answers."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """One run of a method, from the rows of a source to a model.

    Parameters
    ----------
    method
        The method.
    source
        The private rows.
    schema
        What is public about them; without one the domain is discovered.
    ledger_file
        The owner's ledger file, if there is one.
    noise
        Where noise comes from; anything but the default is for tests and studies.
    notify, progress, explain
        Called with sentences for the owner, with progress, and with how an engine counted.
    """

    method: ReleaseMethod
    source: Source
    schema: Schema | None = None
    ledger_file: LedgerFile | None = None
    noise: Noise | None = None
    notify: Notify = warn_owner
    progress: Progress = no_progress
    explain: Notify | None = None

    def run(self) -> Model:
        """Check, then spend; returns the released model."""
        self._check_noise()
        self._check_unit()
        fingerprint = self._check_table()
        self._say_spellings()
        ledger = self._open_ledger()
        schema, rows = self.schema, None
        if schema is None:
            self._check_draft()
        else:
            rows = self._code(schema)
        self._check_price(ledger)
        with reserve(self.ledger_file, self.method.name, ledger, fingerprint, self.notify):
            if schema is None:
                schema = self._discover(ledger)
            refined = self._refine(schema, ledger)
            if rows is None:
                rows = self._code(refined)
            elif refined is not schema:
                rows, _ = self.source.code(refined)  # the notes were given above
            curator = CentralCurator(rows, ledger, self.noise)
            model = self.method.learn(curator, ledger.left, self.progress)
            if model.ledger is not ledger:
                raise TypeError(f"the method {self.method.name} made a model with other books")
        if self.explain is not None and isinstance(rows, CuboidCounter):
            for sentence in rows.explained():
                self.explain(sentence)
        return replace(model, library=self.source.library)

    # ---- checks: nothing is spent here

    def _check_noise(self) -> None:
        seeded = self.noise is not None and not self.noise.private
        if self.ledger_file is not None and seeded:
            raise InputError(
                "A release with seeded noise protects nobody; it does not belong into a ledger "
                "file."
            )

    def _check_unit(self) -> None:
        """The relation and the unit of protection must go together."""
        self._new_ledger(0.0, 0.0)

    def _check_table(self) -> str | None:
        """Refuse another table than the one that the ledger file is kept for."""
        if self.ledger_file is None:
            return None
        fingerprint = self.source.fingerprint(self.ledger_file.key())
        self.ledger_file.check_table(fingerprint)
        return fingerprint

    def _say_spellings(self) -> None:
        found = self.source.spellings()
        if found:
            self.notify(str(found))

    def _check_draft(self) -> None:
        """Columns that are named must be among those that discovery will ask about."""
        draft = self._draft
        check_columns(list(draft.kinds), draft.source)
        for name in sorted(self.method.named):
            if name not in draft.kinds:
                raise InputError(f"{draft.source} has no column {name!r}; check the name.")
            if draft.kinds[name] == "identifier":
                raise InputError(
                    f"{name!r} looks like an identifier, which is never read; "
                    f"give a schema if it is not."
                )

    # ---- the books

    def _open_ledger(self) -> Ledger:
        """The ledger of this release: pure without a delta, zCDP with one."""
        method = self.method
        self.progress("looking at the table", 0, 1)
        if self.schema is not None:
            if method.asks:
                epsilon, delta = (method.epsilon, method.delta)
            else:
                epsilon, delta = (0.0, 0.0)
            ledger = self._new_ledger(epsilon, delta)
        elif not method.epsilon:
            raise InputError(
                f"The method {method.name} needs a schema, or an epsilon to discover one with; "
                f"`understudy schema` drafts a schema."
            )
        elif not self._draft.needs_delta:
            ledger = self._new_ledger(method.epsilon, method.delta)
        else:
            ledger = self._ledger_for_categories()
        ledger.taken_as_public = list_public(
            schema_given=self.schema is not None,
            neighbours=method.neighbours,
            library=self.source.library,
        )
        return ledger

    def _ledger_for_categories(self) -> Ledger:
        """Categories that are not known beforehand take a delta, whatever the accounting is."""
        method = self.method
        if method.delta:
            return self._new_ledger(method.epsilon, method.delta, method.delta / 2)
        self.notify(
            f"There is no schema and there are categories to discover, which needs a delta: "
            f"{DEFAULT_DELTA:g} is used. Give a schema for pure differential privacy."
        )
        return replace(
            self._new_ledger(method.epsilon, DEFAULT_DELTA, DEFAULT_DELTA / 2),
            currency="epsilon",
            threshold_delta=DEFAULT_DELTA,
        )

    def _new_ledger(self, epsilon: float, delta: float, threshold_delta: float = 0.0) -> Ledger:
        method = self.method
        unit: Unit = "person"
        if method.person is None and method.max_rows_per_person == 1:
            unit = "row"
        return Ledger(
            epsilon,
            delta,
            method.neighbours,
            "rho" if delta else "epsilon",
            threshold_delta=threshold_delta,
            rows_per_person=method.max_rows_per_person,
            unit=unit,
        )

    def _check_price(self, ledger: Ledger) -> None:
        """The last check: whether the owner's ledger file would pay for it."""
        if self.ledger_file is not None:
            self.ledger_file.check_release(
                ledger.epsilon, ledger.delta, ledger.neighbours, ledger.unit
            )
        self.progress(ASKING, 0, 1)

    # ---- rows

    @cached_property
    def _draft(self) -> Draft:
        """What is taken as public about the columns where there is no schema."""
        return Draft(self.source.columns, self.method.person)

    def _discover(self, ledger: Ledger) -> Schema:
        """Discover the domain, for a share of the budget; a method that asks nothing gives it
        all.
        """
        share = ledger.budget
        if self.method.asks:
            rest = rounded_down(1 - exact(self.method.discovery))
            share, _ = ledger.budget.split(self.method.discovery, rest)
        delta = ledger.delta
        if ledger.currency == "rho":
            delta = ledger.threshold_delta
        self.progress("discovering the domain", 0, 1)
        return self._draft.discover(ledger, share, delta, self.noise)

    def _refine(self, schema: Schema, ledger: Ledger) -> Schema:
        """Learn what lies inside bins, for a share of the budget."""
        if not self.method.asks or not self.method.refinement:
            return schema
        rest = rounded_down(1 - exact(self.method.refinement))
        share, _ = ledger.budget.split(self.method.refinement, rest)
        self.progress("looking inside bins", 0, 1)
        return refine(schema, lambda fine: self.source.code(fine)[0], ledger, share, self.noise)

    def _code(self, schema: Schema) -> Coded | CuboidCounter:
        """Code the rows, once the method agrees to the schema."""
        self.progress("coding the rows", 0, 1)
        self.method.check(self.source.order(schema))
        rows, notes = self.source.code(schema)
        for note in notes:
            self.notify(note)
        return rows
