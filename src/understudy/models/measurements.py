"""What a model was fitted to, and how it fared on tables that were kept apart from the fit.

A network that is fitted to many tables has larger tables than those: it does not show what was
measured. Error bars need to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from understudy.data.schema import Schema
from understudy.errors import InputError

MAX_MEASUREMENTS = 100_000
MAX_FACTOR = 1e6


@dataclass(frozen=True)
class MeasuredTable:
    """A table that was measured.

    Attributes
    ----------
    attributes
        Whose table, each at its finest level.
    deviation
        The standard deviation of the noise in each cell.
    joint
        Whether it is a part of one estimate, as others are: what it says of single attributes they
        say, too, and together they are no surer.
    """

    attributes: tuple[str, ...]
    deviation: float
    joint: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a model file."""
        document: dict[str, Any] = {
            "attributes": list(self.attributes),
            "deviation": self.deviation,
        }
        if self.joint:
            document["joint"] = True
        return document


@dataclass(frozen=True, kw_only=True)
class Holdout:
    """What tables that were kept apart from the fit say of the model's errors.

    Attributes
    ----------
    noise
        The variance of errors that noise explains, as a multiple of what the formula gives.
    misfit
        The variance of what no measured table tells of pairs of attributes, as a multiple of that
        of drawing rows: as large as normal intervals need it to hold what they say.
    larger
        The same of more than two attributes.
    one_way
        The variance of counts of one attribute, as a multiple of that of all their measurements:
        above 1 where the model is further from them than their noise.
    tables
        How many tables were kept apart.
    """

    noise: float
    misfit: float
    tables: int
    larger: float
    one_way: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """The tables that a model was fitted to, and the holdout, where there was one."""

    tables: tuple[MeasuredTable, ...] = ()
    holdout: Holdout | None = None

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a model file."""
        holdout = None
        if self.holdout is not None:
            holdout = {
                "noise": self.holdout.noise,
                "misfit": self.holdout.misfit,
                "larger": self.holdout.larger,
                "one_way": self.holdout.one_way,
                "tables": self.holdout.tables,
            }
        return {"tables": [table.to_dict() for table in self.tables], "holdout": holdout}

    @classmethod
    def from_dict(cls, document: Any, schema: Schema) -> Measurements:
        """Read it back, trusting nothing."""
        if document is None:
            return cls()
        if not isinstance(document, Mapping):
            raise InputError("its measurements are not an object")
        tables = document.get("tables")
        if not isinstance(tables, list) or len(tables) > MAX_MEASUREMENTS:
            raise InputError("its measured tables are not a list, or too long a one")
        return cls(
            tables=tuple(_table(entry, schema) for entry in tables),
            holdout=_holdout(document.get("holdout")),
        )


def _table(entry: Any, schema: Schema) -> MeasuredTable:
    if not isinstance(entry, Mapping):
        raise InputError("one of its measured tables is not an object")
    names, deviation = entry.get("attributes"), entry.get("deviation")
    if not isinstance(names, list) or not names or len({str(name) for name in names}) < len(names):
        raise InputError("one of its measured tables does not list attributes, each once")
    for name in names:
        if not isinstance(name, str) or name not in schema or not schema[name].modelled:
            raise InputError(f"a measured table names {name!r}, which the schema does not model")
    if not _is_number(deviation, 1e15):
        raise InputError("the deviation of a measured table is not a number at or above 0")
    return MeasuredTable(tuple(names), float(deviation), entry.get("joint") is True)


def _holdout(entry: Any) -> Holdout | None:
    if entry is None:
        return None
    if not isinstance(entry, Mapping):
        raise InputError("its holdout is not an object")
    factors: dict[str, float] = {}
    for name in ("noise", "misfit", "larger", "one_way"):
        factor = entry.get(name)
        if name == "larger" and name not in entry:
            factor = factors["misfit"]  # as older files have it
        if not _is_number(factor, MAX_FACTOR):
            raise InputError("a factor of its holdout is not a number at or above 0")
        factors[name] = float(factor)
    tables = entry.get("tables")
    if isinstance(tables, bool) or not isinstance(tables, int) or not 0 < tables < MAX_MEASUREMENTS:
        raise InputError("its holdout does not say how many tables it has")
    return Holdout(tables=tables, **factors)


def _is_number(given: Any, limit: float) -> TypeGuard[int | float]:
    return not isinstance(given, bool) and isinstance(given, int | float) and 0 <= given < limit
