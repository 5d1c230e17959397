"""Synthesizers: each file is a short account of one method. :class:`Synthesizer` holds what they share, the way from
a table to a model.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from understudy.counting.columns import Columns
from understudy.counting.cuboids import CuboidCounter
from understudy.curator import Curator
from understudy.curator.budget import (
    DEFAULT_DELTA,
    Budget,
    Neighbours,
    check_delta,
    check_epsilon,
    check_neighbours,
    exact,
    rounded_down,
)
from understudy.curator.central import CentralCurator
from understudy.curator.contributions import Spellings, bounded, person_column, spellings
from understudy.curator.discovery import discover, drafted_kinds, needs_delta
from understudy.curator.fingerprints import fingerprint
from understudy.curator.ledger import Ledger, LedgerFile, check_rows_per_person
from understudy.curator.mechanisms import Noise
from understudy.curator.wording import list_public
from understudy.encoding import Coded, encode
from understudy.engines.columns import EngineColumns
from understudy.engines.fingerprints import engine_fingerprint
from understudy.engines.rows import EngineTable
from understudy.engines.sources import opened
from understudy.errors import InputError, UnderstudyError
from understudy.frames import Frame, Library
from understudy.model import Model
from understudy.schema import Schema, check_columns
from understudy.synthesizers.parameters import (
    ColumnName,
    Optional,
    Share,
    as_plain_value,
    parameters_of,
)
from understudy.tables import Table

Notify = Callable[[str], None]
"""Takes a sentence meant for the owner of the table, and for nobody else."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many steps are done, and of how many."""


ASKING = "asking"
"""What ``progress`` is told right before anything is spent, when the owner was told all notes."""


class OwnerWarning(UserWarning):
    """Something that the owner of the table should know; it may tell of private rows, so it is not for release."""


def warn_owner(sentence: str) -> None:
    """The default way to notify: a Python warning."""
    warnings.warn(sentence, OwnerWarning, stacklevel=2)


def no_progress(what: str, done: int, steps: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, kw_only=True)
class Synthesizer(ABC):
    """A method: parameters in the constructor, which does nothing else; ``fit`` gives a model.

    Parameters
    ----------
    epsilon
        The privacy budget of everything that the release reads off the rows. Smaller is more private; 1 is a common
        choice.
    delta
        0 for pure differential privacy. Above 0 the accounting is by zCDP with Gaussian noise, which buys more
        accuracy; choose it far below one over the number of rows.
    neighbours
        "add_remove" (one row more or less; the number of rows is private) or "replace" (one row changed; it is public).
    discovery
        The share of the budget that goes to discovering the domain when no schema is given.
    person
        The column that says whose row it is. Of each person at most ``max_rows_per_person`` rows count, chosen at
        random; the guarantee then covers all rows of a person together. The column itself is read for nothing else,
        unless the schema models it. Without it every row is taken to be another person's.
    max_rows_per_person
        How many rows a person may have; all noise grows in proportion. Without ``person`` nothing is left out: you
        vouch that nobody has more.
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = "add_remove"
    discovery: float = 0.1
    person: str | None = None
    max_rows_per_person: int = 1

    name: ClassVar[str]
    """What the method is called on the command line and in models; given by the registry."""
    asks: ClassVar[bool] = True
    """Whether the method asks anything about private rows, so that there is something to audit."""
    only_measures: ClassVar[bool] = False
    """Whether the method asks for noisy tables alone, so that with a delta all noise is Gaussian."""
    audit_rows: ClassVar[int | None] = None
    """How many rows the tables have that the audit runs it on; by default the audit's own number."""

    def __post_init__(self) -> None:
        """Refuse parameters that no table could make sense of."""
        self._check_guarantee()
        for declared in parameters_of(type(self)):
            declared.check(getattr(self, declared.name))
        self.check_parameters()

    def _check_epsilon(self) -> None:
        check_epsilon(self.epsilon)

    def _check_guarantee(self) -> None:
        self._check_epsilon()
        check_delta(self.delta)
        check_neighbours(self.neighbours)
        check_rows_per_person(self.max_rows_per_person)
        if not Share().allows(self.discovery):
            raise InputError(f"discovery must be {Share()}, not {self.discovery!r}.")
        if not Optional(ColumnName()).allows(self.person):
            raise InputError(f"person must be {ColumnName()}, not {self.person!r}.")

    def check_parameters(self) -> None:  # noqa: B027 - some methods have nothing to add
        """Refuse values that are each allowed but do not go together."""

    @abstractmethod
    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """The method itself: ask the curator, build a model. Everything private stays behind the curator."""

    @property
    def named(self) -> frozenset[str]:
        """The columns that the parameters name."""
        return frozenset()

    def check(self, schema: Schema) -> None:  # noqa: B027 - some methods have nothing to add
        """Refuse parameters that do not go with the schema; called before anything is debited."""

    def fit(
        self,
        table: Frame,
        schema: Schema | str | Path | None = None,
        *,
        ledger: LedgerFile | str | Path | None = None,
        noise: Noise | None = None,
        notify: Notify = warn_owner,
        progress: Progress = no_progress,
        engine: str | None = None,
        explain: Notify | None = None,
        header: bool | None = None,
    ) -> Model:
        """Learn a model from private rows.

        Parameters
        ----------
        table
            A :class:`Table`, a pandas or polars DataFrame, an Arrow table, or the path of a CSV or Parquet file. Where
            the rows are elsewhere: a polars LazyFrame, a Spark DataFrame, an ibis table, a folder or pattern of files,
            or a URL, ``postgresql://user@host/database?table=NAME`` or ``spark://host:port?table=NAME``.
        schema
            What is public about the table. Without one the domain is discovered at the cost of a share of the budget.
        ledger
            The owner's ledger file, when several releases share one allowance. It is kept for one
            table; another one, or one that changed, is refused unless the :class:`LedgerFile`
            accepts it.
        noise
            Where noise comes from. Only tests and studies give one; the model then says that it is not private.
        notify
            Called with sentences for the owner's eyes (values outside the domain, say).
        progress
            Called while learning.
        engine
            For files, who counts: "memory", "duckdb" or "spark"; by default memory where they fit, else duckdb.
        explain
            Called with sentences that tell how an engine counts the rows; for the owner's eyes.
        header
            Whether the first line of CSV files holds names; see :func:`read_table`.
        """
        schema = Schema.load(schema) if isinstance(schema, str | Path) else schema
        with opened(table, engine, notify, header=header) as (rows, library):
            return self._fit(rows, library, schema, ledger, noise, notify, progress, explain)

    def _fit(
        self,
        rows: Table | EngineTable,
        library: Library,
        schema: Schema | None,
        ledger: LedgerFile | str | Path | None,
        noise: Noise | None,
        notify: Notify,
        progress: Progress,
        explain: Notify | None,
    ) -> Model:
        self._check_person(rows)
        file = LedgerFile(ledger) if isinstance(ledger, str | Path) else ledger
        if file is not None and noise is not None and not noise.private:
            raise InputError(
                "A release with seeded noise protects nobody; it does not belong into a ledger "
                "file."
            )
        mark = None
        if file is not None:
            mark = fingerprint_of(rows, file.key())
            file.check_table(mark)
        self._say_spellings(rows, notify)
        if self.person is not None and isinstance(rows, Table):
            rows, left_out = bounded(rows, self.person, self.max_rows_per_person)
            if left_out:
                notify(str(left_out))
        # What discovery sees of the rows; with a schema nobody looks there.
        columns = (
            rows
            if isinstance(rows, Table)
            else EngineColumns(rows, self.person, self.max_rows_per_person)
        )
        if isinstance(rows, EngineTable):
            progress("looking at the columns" if schema is None else "coding the rows", 0, 1)
        book = self._ledger(columns, schema, notify)
        book.taken_as_public = list_public(
            schema_given=schema is not None, neighbours=self.neighbours, library=library
        )
        # With a schema everything that can be wrong with the input is found here, before a debit.
        coded = None if schema is None else self._encoded(rows, schema, notify)
        if schema is None:
            self._check_named(columns)
        shares = self._discovery_shares() if schema is None else (0.0, 1.0)
        price = book.epsilon, book.delta, book.neighbours, book.unit
        if file is not None:
            file.check_release(*price)
        progress(ASKING, 0, 1)
        number = None
        if file is not None:
            number = file.reserve(self.name, *price, table=mark)
        try:
            if coded is None:
                share, _ = book.budget.split(*shares)
                delta = book.threshold_delta if book.currency == "rho" else book.delta
                progress("discovering the domain", 0, 1)
                coded = self._encoded(
                    rows, discover(columns, book, share, delta, noise, self.person), notify
                )
            curator = CentralCurator(coded, book, noise)
            model = replace(self.learn(curator, book.left, progress), library=library)
            if explain is not None and isinstance(coded, CuboidCounter):
                for sentence in coded.explained():
                    explain(sentence)
        except UnderstudyError:
            # Refused: what was asked until then is in the book. Any other end leaves the reservation in full.
            if file is not None and number is not None:
                file.settle(number, book)
            raise
        if file is not None and number is not None:
            file.settle(number, book)
        return model

    def _say_spellings(self, rows: Table | EngineTable, notify: Notify) -> None:
        if self.person is None:
            return
        if found := spellings_of(rows, self.person):
            notify(str(found))

    def _discovery_shares(self) -> tuple[float, float]:
        return self.discovery, rounded_down(1 - exact(self.discovery))

    def _check_person(self, rows: Table | EngineTable) -> None:
        """Refuse what makes no sense before a row is looked at."""
        if self.person is not None:
            if isinstance(rows, Table):
                person_column(rows, self.person)
            else:
                rows.check_person(self.person)
        Ledger(0.0, 0.0, self.neighbours, **self._protected)

    @property
    def _protected(self) -> dict[str, Any]:
        """What the ledger is to be kept for."""
        unit = "row" if self.person is None and self.max_rows_per_person == 1 else "person"
        return {"rows_per_person": self.max_rows_per_person, "unit": unit}

    def _check_named(self, columns: Table | Columns) -> None:
        """Refuse names of columns that cannot be modelled, before discovery is paid for: names and kinds are public."""
        kinds = drafted_kinds(columns, self.person)
        check_columns(list(kinds), columns.source)
        for name in sorted(self.named):
            if name not in kinds:
                raise InputError(f"{columns.source} has no column {name!r}; check the name.")
            if kinds[name] == "identifier":
                raise InputError(
                    f"{name!r} looks like an identifier, which is never read; give a schema if it is not."
                )

    def _ledger(self, columns: Table | Columns, schema: Schema | None, notify: Notify) -> Ledger:
        """Pure when no delta is given, zCDP otherwise; categories to discover need some delta anyway."""
        check_epsilon(self.epsilon)
        delta = check_delta(self.delta)
        unit = self._protected
        if schema is not None or not needs_delta(columns, self.person):
            return Ledger(
                self.epsilon, delta, self.neighbours, "rho" if delta else "epsilon", **unit
            )
        if delta:
            return Ledger(
                self.epsilon, delta, self.neighbours, "rho", threshold_delta=delta / 2, **unit
            )
        notify(
            f"There is no schema and there are categories to discover, which needs a delta: {DEFAULT_DELTA:g} is used. "
            f"Give a schema for pure differential privacy."
        )
        return Ledger(
            self.epsilon,
            DEFAULT_DELTA,
            self.neighbours,
            "epsilon",
            threshold_delta=DEFAULT_DELTA,
            **unit,
        )

    def _encoded(
        self, rows: Table | EngineTable, schema: Schema, notify: Notify
    ) -> Coded | CuboidCounter:
        if isinstance(rows, Table):
            coded = encode(rows, schema)
            self.check(coded.schema)
            for outside in coded.outside:
                notify(str(outside))
            return coded
        self.check(rows.ordered(schema))
        inside = rows.coded(schema, self.person, self.max_rows_per_person)
        if inside.left_out:
            notify(str(inside.left_out))
        for outside in inside.outside:
            notify(str(outside))
        return CuboidCounter(inside)

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as the model tells them."""
        told = {name: as_plain_value(value) for name, value in self.get_params().items()}
        return {"name": self.name, **told}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them (``deep`` changes nothing)."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **changes: Any) -> Self:
        """A copy with other parameters; the method itself never changes."""
        unknown = sorted(changes.keys() - self.get_params().keys())
        if unknown:
            raise InputError(f"The method {self.name} has no parameter {unknown[0]!r}.")
        return replace(self, **changes)

    @classmethod
    def audit_settings(cls, audited: AuditedGuarantee) -> dict[str, Synthesizer]:
        """The settings in which the audit attacks the method, by name."""
        plain = cls(epsilon=audited.epsilon)
        return {
            cls.name: plain,
            f"{cls.name}, replace": replace(plain, neighbours="replace"),
            f"{cls.name}, {audited.delta_name}": replace(plain, delta=audited.delta),
            f"{cls.name}, {audited.person_name}": audited.for_persons(plain),
        }


@dataclass(frozen=True, kw_only=True)
class AuditedGuarantee:
    """The guarantee whose claims an audit tests."""

    epsilon: float
    delta: float
    person: str
    """The column that tells whose row it is, in the audit's tables of persons."""
    max_rows_per_person: int

    @property
    def delta_name(self) -> str:
        """How settings with a delta are called."""
        return f"delta {self.delta:g}"

    @property
    def person_name(self) -> str:
        """How settings that protect persons are called."""
        return f"{self.max_rows_per_person} rows per person"

    def for_persons(self, method: Synthesizer) -> Synthesizer:
        """A method that protects all rows of a person."""
        return replace(method, person=self.person, max_rows_per_person=self.max_rows_per_person)


def fingerprint_of(rows: Table | EngineTable, key: bytes) -> str:
    """The fingerprint of a table, wherever its rows are."""
    if isinstance(rows, Table):
        return fingerprint(rows, key)
    return engine_fingerprint(rows, key)


def spellings_of(rows: Table | EngineTable, person: str) -> Spellings:
    """How many persons a column tells apart, and how many if spelling mattered less."""
    return spellings(rows, person) if isinstance(rows, Table) else rows.spellings(person)
