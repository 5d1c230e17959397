"""Parameters of methods, declared once: what a value may be, and what it is for.

A method declares each parameter as a field of its dataclass:

    degree: int | None = parameter(None, Optional(WholeNumber(0)), "Parents of each attribute.")

The constructor checks values against the declaration, the command line makes an option of it, and
error messages quote it.
"""

from __future__ import annotations

import csv
import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from understudy.errors import InputError

_T = TypeVar("_T")


class Constraint(ABC):
    """What the value of a parameter may be."""

    metavar = "VALUE"
    repeatable = False
    """Whether its option may stand several times on a command line."""

    @abstractmethod
    def __str__(self) -> str:
        """What the value must be, as it ends the sentence "degree must be ..."."""

    @abstractmethod
    def allows(self, value: Any) -> bool:
        """Whether a value is allowed."""

    @abstractmethod
    def parse(self, text: str) -> Any:
        """The value that a text on the command line means; ``ValueError`` where it means none."""


@dataclass(frozen=True)
class RealNumber(Constraint):
    """A finite number between two others; ``above`` and ``below`` are not allowed themselves."""

    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    metavar = "NUMBER"

    def __str__(self) -> str:
        bounds = (
            (self.low, "at or above"),
            (self.above, "above"),
            (self.high, "at most"),
            (self.below, "below"),
        )
        told = [f"{words} {bound:,g}" for bound, words in bounds if bound is not None]
        return " ".join(["a number", " and ".join(told)]).strip()

    def allows(self, value: Any) -> bool:
        """Whether a value is a number within the bounds."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return (
            math.isfinite(value)
            and (self.low is None or value >= self.low)
            and (self.above is None or value > self.above)
            and (self.high is None or value <= self.high)
            and (self.below is None or value < self.below)
        )

    def parse(self, text: str) -> float:
        """A decimal number."""
        return float(text)


@dataclass(frozen=True)
class Proportion(Constraint):
    """A share of a whole that leaves something to others."""

    metavar = "SHARE"

    def __str__(self) -> str:
        return "a share between 0 and 1"

    def allows(self, value: Any) -> bool:
        """Whether a value lies between 0 and 1, the ends not included."""
        return RealNumber(above=0, below=1).allows(value)

    def parse(self, text: str) -> float:
        """A decimal number."""
        return float(text)


@dataclass(frozen=True)
class WholeNumber(Constraint):
    """A whole number from ``low``, up to ``high`` where there is one."""

    low: int
    high: int | None = None
    metavar = "N"

    def __str__(self) -> str:
        if self.high is None:
            return f"a whole number at or above {self.low:,}"
        return f"a whole number from {self.low:,} to {self.high:,}"

    def allows(self, value: Any) -> bool:
        """Whether a value is a whole number within the bounds; truth values are not."""
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return self.low <= value and (self.high is None or value <= self.high)

    def parse(self, text: str) -> int:
        """A whole number."""
        return int(text)


@dataclass(frozen=True)
class Choice(Constraint):
    """One of a few words."""

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    @property
    def metavar(self) -> str:  # type: ignore[override]
        """The words themselves, where they are few enough for a help page."""
        listed = "|".join(self.words)
        if len(listed) <= 16:
            return listed
        return "WORD"

    def __str__(self) -> str:
        if len(self.words) == 2:
            return " or ".join(self.words)
        return f"one of {', '.join(self.words)}"

    def allows(self, value: Any) -> bool:
        """Whether a value is one of the words."""
        return isinstance(value, str) and value in self.words

    def parse(self, text: str) -> str:
        """The word itself."""
        return text


@dataclass(frozen=True)
class Flag(Constraint):
    """True or False."""

    metavar = "yes|no"

    def __str__(self) -> str:
        return "True or False"

    def allows(self, value: Any) -> bool:
        """Whether a value is a truth value."""
        return isinstance(value, bool)

    def parse(self, text: str) -> bool:
        """Yes or no."""
        words = {"yes": True, "true": True, "no": False, "false": False}
        if text.lower() not in words:
            raise ValueError(text)
        return words[text.lower()]


@dataclass(frozen=True)
class FileName(Constraint):
    """The path of a file."""

    metavar = "FILE"

    def __str__(self) -> str:
        return "the path of a file"

    def allows(self, value: Any) -> bool:
        """Whether a value is text."""
        return isinstance(value, str) and bool(value)

    def parse(self, text: str) -> str:
        """The text itself."""
        return text


@dataclass(frozen=True)
class ColumnName(Constraint):
    """The name of a column."""

    metavar = "COLUMN"

    def __str__(self) -> str:
        return "the name of a column"

    def allows(self, value: Any) -> bool:
        """Whether a value can be a name."""
        return isinstance(value, str) and value != ""

    def parse(self, text: str) -> str:
        """The name itself."""
        return text


@dataclass(frozen=True)
class ColumnGroups(Constraint):
    """Groups of names of columns, each of at least ``least`` names."""

    least: int = 1
    metavar = "NAME,NAME"
    repeatable = True

    def __str__(self) -> str:
        number = {1: "one or more names", 2: "two or more different names"}[self.least]
        return f"a list of groups, each of {number} of columns"

    def allows(self, value: Any) -> bool:
        """Whether a value is a list of such groups."""
        return isinstance(value, list | tuple) and all(map(self._is_group, value))

    def _is_group(self, group: Any) -> bool:
        if not isinstance(group, list | tuple) or not all(isinstance(name, str) for name in group):
            return False
        return len(set(group)) >= self.least

    def parse(self, text: str) -> list[str]:
        """Names between commas; one that holds a comma itself stands in quotes."""
        cells = next(csv.reader([text], skipinitialspace=True), [])
        names = [cell.strip() for cell in cells if cell.strip()]
        if not names:
            raise ValueError(text)
        return names


@dataclass(frozen=True)
class Optional(Constraint):
    """``None``, or a value that another constraint allows."""

    constraint: Constraint

    @property
    def metavar(self) -> str:  # type: ignore[override]
        """That of the other constraint."""
        return self.constraint.metavar

    def __str__(self) -> str:
        return str(self.constraint)

    def allows(self, value: Any) -> bool:
        """Whether a value is ``None`` or allowed."""
        return value is None or self.constraint.allows(value)

    def parse(self, text: str) -> Any:
        """As the other constraint does."""
        return self.constraint.parse(text)


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A declared parameter."""

    name: str
    constraint: Constraint
    summary: str
    default: Any
    option: str | None
    """Its option on the command line without the dashes; ``None`` where it has none."""


def parameter(default: _T, constraint: Constraint, summary: str, *, option: str | None = "") -> _T:
    """Declare a parameter as a field of a method's dataclass.

    Parameters
    ----------
    default
        The value where none is given.
    constraint
        What the value may be.
    summary
        What it is for: one sentence, which help pages print.
    option
        The name of its option on the command line where it is not the parameter's own; ``None`` for
        parameters that only Python sets.
    """
    declared = {"constraint": constraint, "summary": summary, "option": option}
    field: _T = dataclasses.field(default=default, metadata={"parameter": declared})
    return field


def shared_parameter(default: _T, constraint: Constraint) -> _T:
    """Declare a parameter that all methods have: commands have options of their own for these."""
    field: _T = dataclasses.field(default=default, metadata={"constraint": constraint})
    return field


def check_values(method: Any) -> None:
    """Refuse values that are not allowed, of shared parameters and of the method's own.

    A class that gives a parameter another default need not declare it again.
    """
    declared: dict[str, Constraint] = {}
    for kind in reversed(type(method).__mro__):
        for field in vars(kind).get("__dataclass_fields__", {}).values():
            metadata = field.metadata.get("parameter", field.metadata)
            if "constraint" in metadata:
                declared[field.name] = metadata["constraint"]
    for name, constraint in declared.items():
        value = getattr(method, name)
        if not constraint.allows(value):
            raise InputError(f"{name} must be {constraint}, not {value!r}.")


def file_parameters(kind: type) -> frozenset[str]:
    """The parameters of a method that name files of the machine that it runs on: whoever sets them
    has that machine write, read and remove there.
    """
    found = set()
    for declared in parameters_of(kind):
        constraint = declared.constraint
        if isinstance(constraint, Optional):
            constraint = constraint.constraint
        if isinstance(constraint, FileName):
            found.add(declared.name)
    return frozenset(found)


def repair_parameter() -> Any:
    """The parameter ``repair``, which several methods have."""
    return parameter(
        "project",
        Choice("project", "clip"),
        "How noisy counts become possible ones: to the nearest table, or negative ones to 0.",
        option=None,
    )


def parameters_of(kind: type) -> Iterator[Parameter]:
    """The declared parameters of a method, in their order."""
    for field in dataclasses.fields(kind):
        declared = field.metadata.get("parameter")
        if declared is None:
            continue
        option = declared["option"]
        if option == "":
            option = field.name.replace("_", "-")
        yield Parameter(
            name=field.name,
            constraint=declared["constraint"],
            summary=declared["summary"],
            default=field.default,
            option=option,
        )


def as_plain_value(value: Any) -> Any:
    """A parameter's value as JSON has it: tuples as lists."""
    if isinstance(value, list | tuple):
        return [as_plain_value(part) for part in value]
    return value
