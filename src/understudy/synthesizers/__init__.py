"""Synthesizers: each file is a short account of one method; :class:`Synthesizer` is what they
share.

A method has parameters, and learns a model from what a curator answers. The way from a table to a
model is :mod:`understudy.release`'s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self, Unpack

from understudy.data.fakes import check_fakes
from understudy.data.forms import Form, load_facts
from understudy.data.frames import Frame
from understudy.data.read_options import Reading, join_reading
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.models.model import Model
from understudy.privacy.budget import (
    Budget,
    Currency,
    Neighbours,
    check_delta,
    check_epsilon,
    check_neighbours,
)
from understudy.privacy.curator import Curator
from understudy.privacy.ledger import LedgerFile, check_max_rows_per_person
from understudy.privacy.mechanisms import Noise
from understudy.release.callbacks import Notify, Progress, no_progress, warn_owner
from understudy.release.pipeline import Release
from understudy.release.reservations import Journal
from understudy.release.sources import open_source
from understudy.synthesizers.parameters import (
    ColumnName,
    Flag,
    Optional,
    Proportion,
    RealNumber,
    as_plain_value,
    check_values,
    shared_parameter,
)


@dataclass(frozen=True, kw_only=True)
class Synthesizer(ABC):
    """A method: parameters in the constructor, which does nothing else; ``fit`` gives a model.

    Parameters
    ----------
    epsilon
        The privacy budget of everything that the release reads off the rows. Smaller is more
        private; 1 is a common choice.
    delta
        0 for pure differential privacy. Above 0 the accounting is by zCDP with Gaussian noise,
        which buys more accuracy; choose it far below one over the number of rows.
    neighbours
        "add_remove" (one row more or less; the number of rows is private) or "replace" (one row
        changed; it is public).
    discovery
        The share of the budget that goes to discovering the domain when no schema is given; by
        default what it needs, a tenth to a third.
    keep_going
        Without a schema, a release stops where discovery could find too little, or finds nothing in
        some column; true: it goes on all the same.
    refinement
        The share of the budget that goes to what lies inside bins: steps, spikes, the shape, and
        where bins are cut if the schema does not say so. 0 asks nothing; values are then spread
        evenly inside bins.
    person
        The column that says whose row it is. Of each person at most ``max_rows_per_person`` rows
        count, chosen at random; the guarantee then covers all rows of a person together. The column
        itself is read for nothing else, unless the schema models it. Without it every row is taken
        to be another person's.
    max_rows_per_person
        How many rows a person may have; all noise grows in proportion. Without ``person`` nothing
        is left out: you vouch that nobody has more.
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = "add_remove"
    discovery: float | None = shared_parameter(None, Optional(Proportion()))
    keep_going: bool = shared_parameter(False, Flag())
    refinement: float = shared_parameter(0.1, RealNumber(low=0, below=1))
    person: str | None = shared_parameter(None, Optional(ColumnName()))
    max_rows_per_person: int = 1

    name: ClassVar[str]
    """What the method is called on the command line and in models; given by the registry."""
    asks: ClassVar[bool] = True
    """Whether the method asks anything about private rows, so that there is something to audit."""
    only_measures: ClassVar[bool] = False
    """Whether the method asks for noisy tables alone, so that with a delta all noise is
    Gaussian.
    """
    wants_delta: ClassVar[bool] = False
    """Whether the method asks so much that with many columns who gives no delta is told what that
    costs.
    """
    for_strangers: ClassVar[bool] = False
    """Whether code that is not trusted hears the answers: it has a clock, so how long they take
    must not go by how many rows differ.
    """
    needs_numbers: ClassVar[bool] = False
    """Whether the method models numbers, so that the audit's tables must have some."""
    audit_rows: ClassVar[int | None] = None
    """How many rows the tables have that the audit runs it on; by default the audit's own
    number.
    """

    def __post_init__(self) -> None:
        """Refuse parameters that no table could make sense of."""
        self._check_guarantee()
        check_values(self)
        self._check_shares()
        self.check_parameters()

    def _check_epsilon(self) -> None:
        check_epsilon(self.epsilon)

    def _check_guarantee(self) -> None:
        self._check_epsilon()
        check_delta(self.delta)
        check_neighbours(self.neighbours)
        check_max_rows_per_person(self.max_rows_per_person)

    def _check_shares(self) -> None:
        """What is asked before the method must leave something to it."""
        if self.discovery is not None and self.discovery + self.refinement >= 1:
            raise InputError(
                f"discovery {self.discovery!r} and refinement {self.refinement!r} leave nothing of "
                "the budget for the method; make one of them smaller."
            )

    def check_parameters(self) -> None:  # noqa: B027 - some methods have nothing to add
        """Refuse values that are each allowed but do not go together."""

    @abstractmethod
    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """The method itself: ask the curator, build a model. Everything private stays behind the
        curator.
        """

    @property
    def renyi_order(self) -> int | None:
        """The order that divergences are added up at, where random samples of the rows are asked
        about; else none.
        """
        return None

    @property
    def accounting(self) -> Currency:
        """What a ledger of one place counts in where there is a delta: GDP is exact, but random
        samples have no price in it.
        """
        if self.renyi_order is None:
            return "gdp"
        return "rho"

    def journal(self) -> Journal | None:
        """What the method remembers of an early end, where it can go on after one."""
        return None

    @property
    def named(self) -> frozenset[str]:
        """The columns that the parameters name."""
        return frozenset()

    def check(self, schema: Schema) -> None:  # noqa: B027 - some methods have nothing to add
        """Refuse parameters that do not go with the schema; called before anything is debited."""

    def fit(
        self,
        table: Frame,
        schema: Schema | Form | str | Path | None = None,
        *,
        ledger: LedgerFile | str | Path | None = None,
        noise: Noise | None = None,
        notify: Notify = warn_owner,
        progress: Progress = no_progress,
        engine: str | None = None,
        explain: Notify | None = None,
        **reading: Unpack[Reading],
    ) -> Model:
        """Learn a model from private rows.

        Parameters
        ----------
        table
            A :class:`Table`, a pandas or polars DataFrame, an Arrow table, or the path of a CSV or
            Parquet file. Where the rows are elsewhere: a polars LazyFrame, a Spark DataFrame, an
            ibis table, a folder or pattern of files, or a URL,
            ``postgresql://user@host/database?table=NAME`` or ``spark://host:port?table=NAME``.
        schema
            What is public about the table. Without one the domain is discovered at the cost of a
            share of the budget; where facts are still ``null`` in the file, just those columns.
        ledger
            The owner's ledger file, when several releases share one allowance. It is kept for one
            table; another one, or one that changed, is refused unless the :class:`LedgerFile`
            accepts it.
        noise
            Where noise comes from. Only tests and studies give one; the model then says that it is
            not private.
        notify
            Called with sentences for the owner's eyes (values outside the domain, say).
        progress
            Called while learning.
        engine
            For files, who counts: "memory", "duckdb" or "spark"; by default memory where they fit,
            else duckdb.
        explain
            Called with sentences that tell how an engine counts the rows; for the owner's eyes.
        reading
            What you say about a file: ``header``, ``encoding``, ``quote``, ``missing_marks``,
            ``table_name``; see :func:`read_table`.
        """
        if isinstance(schema, str | Path):
            schema = load_facts(schema)
        if isinstance(schema, Form):
            check_fakes(schema.read_known_part())
        else:
            check_fakes(schema)  # before anything is spent
        file = ledger
        if isinstance(file, str | Path):
            file = LedgerFile(file)
        if schema is not None and isinstance(table, str | Path):
            reading = join_reading(schema.reading, reading)
        progress("reading", 0, 1)
        with open_source(
            table,
            engine=engine,
            skip=self._unread(schema, file),
            person=self.person,
            max_rows_per_person=self.max_rows_per_person,
            notify=notify,
            **reading,
        ) as source:
            return Release(
                method=self,
                source=source,
                schema=schema,
                ledger_file=file,
                noise=noise,
                notify=notify,
                progress=progress,
                explain=explain,
            ).run()

    def _unread(self, schema: Schema | Form | None, ledger_file: LedgerFile | None) -> list[str]:
        """The columns of a file that nobody needs; a ledger file knows a table by all its
        columns.
        """
        if not isinstance(schema, Schema) or ledger_file is not None:
            return []
        unread = [attribute.name for attribute in schema if not attribute.modelled]
        return [name for name in unread if name != self.person]

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
