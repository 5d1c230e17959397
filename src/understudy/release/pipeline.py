"""One release: check, discover, code, ask, learn, settle.

Everything that can be wrong with a table, a schema or a parameter is found before anything is
spent. From the reservation in the owner's ledger file on, whatever happens is on the books.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from understudy.counting.cuboids import CuboidCounter
from understudy.data.encoding import Coded
from understudy.data.forms import Form
from understudy.data.schema import Schema, check_columns
from understudy.errors import InputError
from understudy.machine.plain_first import always_compile
from understudy.models.constraining import check_constraints
from understudy.models.model import Model
from understudy.privacy.budget import (
    DEFAULT_DELTA,
    Budget,
    Currency,
    Neighbours,
    exact,
    round_down,
)
from understudy.privacy.central import CentralCurator
from understudy.privacy.curator import Curator
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.identifiers import is_owner
from understudy.privacy.ledger import Ledger, LedgerFile, UnitName
from understudy.privacy.mechanisms import Noise
from understudy.privacy.refinement import refine
from understudy.privacy.wording import list_public
from understudy.release.callbacks import ASKING, Notify, Progress, no_progress, warn_owner
from understudy.release.preflight import (
    check_found,
    check_outlook,
    check_present,
    check_words,
    describe_left_out,
)
from understudy.release.reservations import Journal, goes_on, reserve
from understudy.release.sources import Source

MANY_COLUMNS = 12
"""From this many columns on, a delta keeps more relations at the same epsilon."""


class ReleaseMethod(Protocol):
    """What a release needs of a method."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def asks(self) -> bool:
        """Whether it asks anything about the rows."""

    @property
    def wants_delta(self) -> bool:
        """Whether it asks so much that a delta makes a difference."""

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
    def discovery(self) -> float | None:
        """The share of the budget for discovering the domain; None: by need."""

    @property
    def keep_going(self) -> bool | None:
        """Whether to go on where discovery finds little or nothing; None: that is not offered."""

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
    def renyi_order(self) -> int | None:
        """The order that its ledger adds divergences up at; None: GDP, zCDP, or pure epsilon."""

    @property
    def accounting(self) -> Currency:
        """What its ledger counts in where there is a delta."""

    def journal(self) -> Journal | None:
        """What it remembers of an early end, where it can go on after one."""

    @property
    def for_strangers(self) -> bool:
        """Whether somebody with a clock hears the answers, who must not tell rows from it."""

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
        What is public about them; without one the domain is discovered. Of a form, what it leaves
        open is discovered.
    ledger_file
        The owner's ledger file, if there is one.
    noise
        Where noise comes from; anything but the default is for tests and studies.
    notify, progress, explain
        Called with sentences for the owner, with progress, and with how an engine counted.
    """

    method: ReleaseMethod
    source: Source
    schema: Schema | Form | None = None
    ledger_file: LedgerFile | None = None
    noise: Noise | None = None
    notify: Notify = warn_owner
    progress: Progress = no_progress
    explain: Notify | None = None

    def run(self) -> Model:
        """Check, then spend; returns the released model."""
        self._check_noise()
        self._check_unit()
        self._check_journal()
        fingerprint = self._check_table()
        self._say_spellings()
        ledger = self._open_ledger()
        schema, rows = self.schema, None
        if isinstance(schema, Schema):
            self._check_schema(schema)
            rows = self._code(schema)  # whatever is wrong with the rows shows here
        else:
            self._check_draft()
        self._check_price(ledger)
        books = self.ledger_file, self.method.name, ledger, fingerprint, self.notify
        with reserve(*books, self._journal):
            if not isinstance(schema, Schema):
                schema = self._discover(ledger)
                self._check_schema(schema)
            refined = self._refine(schema, ledger)
            if rows is None:
                rows = self._code(refined)
            elif refined is not schema:
                rows, _ = self.source.code(refined)  # the owner was told already
            collapse = True
            if self.method.for_strangers:
                # Loading kernels takes a second, and when they are loaded goes by the rows.
                collapse = False
                always_compile()
            curator = CentralCurator(rows, ledger, self.noise, collapse=collapse)
            model = self.method.learn(curator, ledger.left, self.progress)
            if model.ledger is not ledger:
                raise TypeError(f"the method {self.method.name} made a model with other books")
        if self.explain is not None and isinstance(rows, CuboidCounter):
            for sentence in rows.explain():
                self.explain(sentence)
        if isinstance(model, Model):  # a learner makes another kind, which gives no rows
            evenly = {"even_values": True, "even_tables": True}
            model = replace(model, method={**model.method, **evenly})
        return replace(model, library=self.source.library)

    # ---- checks: nothing is spent here

    def _check_journal(self) -> None:
        """A release that goes on is paid for once: what is asked before the method learns would be
        asked again, and its answer is in no state.
        """
        if self._journal is None:
            return
        if not isinstance(self.schema, Schema) or self.method.refinement:
            raise InputError(
                "A run that can go on from a checkpoint needs a whole schema and refinement 0: "
                "discovery and refinement would be asked again, unpaid. Give --schema, or leave "
                "the checkpoint out."
            )

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
        if isinstance(self.schema, Form):
            self.schema.check_names(draft.names, draft.source)
        check_columns(draft.asked and draft.names, draft.source)
        for name in sorted(self.method.named):
            if name not in draft.names:
                raise InputError(f"{draft.source} has no column {name!r}; check the name.")
            if name in draft.identifiers:
                raise InputError(
                    f"{name!r} looks like an identifier, which is never read; "
                    f"give a schema if it is not."
                )
        self._say_rows_are_protected()

    def _say_rows_are_protected(self) -> None:
        """Whose rows they are decides what the guarantee is worth; told by names alone."""
        method, draft = self.method, self._draft
        owners = [name for name in draft.names if name in draft.identifiers and is_owner(name)]
        if owners and method.person is None and method.max_rows_per_person == 1:
            self.notify(
                f"{', '.join(owners)} may say whose row it is, and each row is protected by "
                "itself. If somebody can have several rows, name that column with --person and "
                "--max-rows-per-person (in Python person= and max_rows_per_person=)."
            )

    def _check_schema(self, schema: Schema) -> None:
        """The rules of the schema must leave room, and the method agree to it."""
        if not schema.modelled:
            raise InputError(
                f"{self.source.columns.source} has no column to model: the schema holds only "
                "identifiers and text."
            )
        check_constraints(schema)
        self.method.check(self.source.order(schema))

    # ---- the books

    def _open_ledger(self) -> Ledger:
        """The ledger of this release: pure without a delta."""
        method = self.method
        self.progress("looking at the table", 0, 1)
        if isinstance(self.schema, Schema):
            if method.asks:
                epsilon, delta = (method.epsilon, method.delta)
            else:
                epsilon, delta = (0.0, 0.0)
            ledger = self._new_ledger(epsilon, delta)
            self._say_what_purity_costs(self.schema)
        elif not method.epsilon:
            raise InputError(
                f"The method {method.name} needs a schema, or an epsilon to discover one with; "
                f"`understudy schema` drafts a schema."
            )
        else:
            ledger = self._ledger_for_discovery()
        ledger.taken_as_public = list_public(
            schema_given=self.schema is not None,
            some_discovered=bool(self._open_columns),
            neighbours=method.neighbours,
            library=self.source.library,
        )
        return ledger

    def _say_what_purity_costs(self, schema: Schema | Form) -> None:
        """Many tables at once cost far less with a delta: who gave none should know, by public
        facts alone and before anything is spent.
        """
        if not isinstance(schema, Schema) or not self.method.wants_delta or self.method.delta:
            return
        columns = sum(attribute.size > 1 for attribute in schema.modelled)
        if columns >= MANY_COLUMNS:
            self.notify(
                f"Pure differential privacy is what you get without a delta. In {columns} columns "
                f"it loses relations between them unless rows are many; --delta "
                f"{DEFAULT_DELTA:g} (in Python delta={DEFAULT_DELTA:g}) keeps more of them."
            )

    def _ledger_for_discovery(self) -> Ledger:
        """Words that are not known beforehand take a delta, and what holds words is not known
        either.
        """
        method = self.method
        delta = method.delta
        if not delta:
            delta = DEFAULT_DELTA
            lack = "There is no schema, and to discover one"
            if self._open_columns:
                lack = "Not all columns are described, and to discover what the others hold"
            self.notify(
                f"{lack} takes a delta: {DEFAULT_DELTA:g} is used. "
                f"Give a schema for pure differential privacy."
            )
        return Ledger.for_discovery(
            method.epsilon, delta, method.neighbours, method.accounting, **self._unit()
        )

    def _new_ledger(self, epsilon: float, delta: float) -> Ledger:
        currency: Currency = "epsilon"
        unit = self._unit()
        if delta:
            currency = self.method.accounting
        else:
            unit["order"] = None
        return Ledger(epsilon, delta, self.method.neighbours, currency, **unit)

    def _unit(self) -> dict[str, Any]:
        """What is protected, as a ledger has it."""
        method = self.method
        unit: UnitName = "person"
        if method.person is None and method.max_rows_per_person == 1:
            unit = "row"
        return {
            "max_rows_per_person": method.max_rows_per_person,
            "unit": unit,
            "order": method.renyi_order,
        }

    def _check_price(self, ledger: Ledger) -> None:
        """The last check: whether the owner's ledger file would pay for it."""
        paid = goes_on(self.ledger_file, self._journal)
        if self.ledger_file is not None and not paid:
            self.ledger_file.check_release(
                ledger.epsilon, ledger.delta, ledger.neighbours, ledger.unit
            )
        self.progress(ASKING, 0, 1)

    @cached_property
    def _journal(self) -> Journal | None:
        return self.method.journal()

    # ---- rows

    @cached_property
    def _draft(self) -> Draft:
        """What is taken as public about the columns where there is no schema."""
        columns, person = self.source.columns, self.method.person
        if not isinstance(self.schema, Form):
            return Draft(columns, person)
        known = {attribute.name: attribute for attribute in self.schema.read_known_part()}
        return Draft(columns, person, known, self.schema.columns_of_words())

    @property
    def _open_columns(self) -> tuple[str, ...]:
        """The columns that a form leaves to discovery."""
        if not isinstance(self.schema, Form):
            return ()
        return self._draft.asked

    def _discover(self, ledger: Ledger) -> Schema:
        """Discover the domain, for a share of the budget; a method that asks nothing gives it
        all.
        """
        share = None
        if not self.method.asks:
            share = 1.0
        elif self.method.discovery is not None:
            share = self.method.discovery
        self.progress("discovering the domain", 0, 1)
        facts = self._draft, ledger, ledger.budget, ledger.threshold_delta
        discovery = Discovery(*facts, self.noise, share=share)
        keep_going = self.method.keep_going
        check_outlook(discovery.count_rows(), discovery, keep_going=keep_going)
        check_present(discovery.count_present(), discovery, keep_going=keep_going)
        hopeless = [*discovery.find_hopeless()]
        left_out = (*discovery.empty_columns, *discovery.texts)
        hopeless += [name for name in left_out if name in self.method.named]
        check_words(hopeless, discovery, keep_going=keep_going)
        for sentence in describe_left_out(discovery):
            self.notify(sentence)
        found = discovery.find()
        check_found(found, discovery, keep_going=keep_going)
        return found.schema

    def _refine(self, schema: Schema, ledger: Ledger) -> Schema:
        """Learn what lies inside bins, for a share of the budget."""
        if not self.method.asks or not self.method.refinement:
            return schema
        rest = round_down(1 - exact(self.method.refinement))
        share, _ = ledger.budget.split(self.method.refinement, rest)
        self.progress("looking inside bins", 0, 1)
        discovered: tuple[str, ...] = ()
        if not isinstance(self.schema, Schema):
            discovered = (*self._draft.asked, *self._draft.perhaps_groups)
        code = self.source.code
        facts = ledger, share, self.noise
        return refine(schema, lambda fine: code(fine)[0], *facts, discovered=discovered)

    def _code(self, schema: Schema) -> Coded | CuboidCounter:
        """Code the rows, and tell the owner what the domain does not hold."""
        self.progress("coding the rows", 0, 1)
        rows, notes = self.source.code(schema)
        for note in notes:
            self.notify(note)
        return rows
