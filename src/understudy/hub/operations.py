"""What a job does: synthesise, ask or learn, with a price that is known before a row is read.

A request describes the operation by a *spec*, a plain JSON object. It is read strictly, checked
against the data set's schema, priced and previewed without a row: by the hub when it is asked for,
and again by whoever computes it. Running it goes through the same functions that the command line
uses, with the owner's ledger file, and leaves a folder of files that may leave the owner.
What all of them have in common is in :mod:`understudy.hub.operation_runs`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, cast

from understudy.asking.api import ask_with
from understudy.asking.run import MAX_QUESTIONS_ASKED, check_questions, expect_answers
from understudy.asking.run import AnswerTerms as AskTerms
from understudy.data.files import write_json, write_text
from understudy.data.frames import Frame
from understudy.data.schema import Schema
from understudy.engines.urls import is_url
from understudy.errors import InputError
from understudy.hub.foreign.confinement import python_folders
from understudy.hub.operation_runs import (
    ANSWERS_NAME,
    MODEL_NAME,
    REPORT_NAME,
    ROWS_NAME,
    OperationRun,
    Protected,
    Run,
    TermsOfUse,
)
from understudy.models.constraining import check_constraints
from understudy.models.documents import MAX_ROWS_PER_SAMPLE
from understudy.models.model import Model
from understudy.privacy.budget import Currency, check_delta, check_epsilon
from understudy.privacy.ledger import Ledger, LedgerFile
from understudy.privacy.plan import plan
from understudy.reports.release import report
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.parameters import file_parameters
from understudy.synthesizers.registry import DEFAULT, find_method

OPERATIONS = ("synthesise", "ask", "learn")
"""What costs budget; everything else that a hub offers is free."""

MAX_ROWS_PER_RELEASE = 5_000_000
"""Synthetic rows that a hub keeps of one release; a model gives more on the user's own machine."""

ROW_FORMATS = ("csv", "parquet")

MAX_SPEC_CHARACTERS = 100_000

_SHARED_PARAMETERS = (
    "epsilon",
    "delta",
    "neighbours",
    "person",
    "max_rows_per_person",
    "keep_going",
    "discovery",
)
"""Parameters of methods that the request or the data set says elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Synthesise(OperationRun):
    """A synthetic table, by a method of the registry or by a foreign algorithm."""

    name: ClassVar[str] = "synthesise"

    epsilon: float
    delta: float = 0.0
    method: str = DEFAULT
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rows: int | None = None
    format: str = "csv"
    algorithm: str | None = None
    """The digest of a foreign algorithm's archive; ``method`` is then the name that it gives."""

    def __post_init__(self) -> None:
        _check_price(self)
        _check_parameters(self.parameters)
        if not isinstance(self.method, str) or not 0 < len(self.method) <= 100:
            raise InputError("The method of a request is the name of one.")
        if self.format not in ROW_FORMATS:
            raise InputError(
                f"Rows are written as {' or '.join(ROW_FORMATS)}, not {self.format!r}."
            )
        if self.rows is not None and (
            type(self.rows) is not int or not 0 <= self.rows <= MAX_ROWS_PER_RELEASE
        ):
            raise InputError(
                f"A release has from 0 to {MAX_ROWS_PER_RELEASE:,} synthetic rows, not "
                f"{self.rows!r}; its model gives as many more as you like."
            )
        if self.algorithm is not None and not is_digest(self.algorithm):
            raise InputError("An algorithm is named by the SHA-256 of its archive, in hexadecimal.")

    def check(self, schema: Schema, protected: Protected) -> None:
        """Refuse parameters that do not go with the schema."""
        check_constraints(schema)
        if self.algorithm is not None:
            _check_accounting(self, protected, "gdp")
            return
        method = self._make(protected, {})
        method.check(schema)
        if method.asks and method.renyi_order is None:
            _check_accounting(self, protected, method.accounting)
        if method.name == "random" and self.rows is None:
            raise InputError("The random method measures nothing; say how many rows it is to draw.")

    def price(self) -> tuple[float, float]:
        """All of it, unless the method asks nothing."""
        if self.algorithm is None and not find_method(self.method).kind.asks:
            return (0.0, 0.0)
        return (self.epsilon, self.delta)

    def preview(self, schema: Schema, protected: Protected, rows: int | None) -> dict[str, Any]:
        """The errors that :func:`understudy.plan` expects."""
        if rows is None:
            return {}
        planned = plan(
            schema,
            rows,
            self.epsilon,
            self.delta,
            protected.neighbours,
            protected.max_rows_per_person,
        )
        return {
            "rows": planned.rows,
            "tables": [asdict(table) for table in planned.tables],
            "rounds": planned.rounds and asdict(planned.rounds),
            "network": planned.network and asdict(planned.network),
        }

    def to_dict(self) -> dict[str, Any]:
        """The spec."""
        return {**_plain_fields(self), "parameters": dict(self.parameters)}

    def compute(self, run: Run) -> Model:
        """Fit the method."""
        method = self._make(run.protected, run.methods)
        return method.fit(
            run.rows,
            run.schema,
            ledger=run.ledger_file,
            notify=run.notify,
            progress=run.progress,
            engine=self._engine(run.rows),
        )

    def write(self, made: Any, folder: Path, use: TermsOfUse, seed: int | None) -> Ledger:
        """The model, rows that are drawn from it, and the report."""
        model: Model = made
        model.save(folder / MODEL_NAME)
        rows = self.rows
        if rows is None and model.draws is None and model.rows is not None:
            rows = min(model.rows, MAX_ROWS_PER_RELEASE)  # a model may say anything
        model.write(folder / f"{ROWS_NAME}.{self.format}", rows, seed)
        write_text(folder / REPORT_NAME, report(model, use.about()), "report")
        return model.ledger

    def make_method(self, protected: Protected) -> Synthesizer:
        """The method of the registry that was asked for."""
        return self._make(protected, {})

    def _engine(self, rows: Frame) -> str | None:
        """How long an engine takes depends on the rows, and strangers have clocks: what they ask
        is answered from memory.
        """
        if self.algorithm is None:
            return None
        if isinstance(rows, str) and is_url(rows):
            raise InputError(
                "A foreign algorithm needs rows in memory, and these are in a database; take a "
                "method of ours, or give a file."
            )
        if not isinstance(rows, str | Path):
            return None
        place = Path(rows).resolve()
        if any(place.is_relative_to(folder) for folder in python_folders()):
            raise InputError(
                "The rows lie among the files of Python, which a foreign algorithm can read; move "
                "them elsewhere."
            )
        return "memory"

    def _make(self, protected: Protected, others: Mapping[str, type[Synthesizer]]) -> Synthesizer:
        given = dict(self.parameters)
        for name in _SHARED_PARAMETERS:
            if name in given:
                raise InputError(f"{name!r} is not a parameter of the method in a request.")
        shared = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": protected.neighbours,
            "person": protected.person,
            "max_rows_per_person": protected.max_rows_per_person,
        }
        if self.algorithm is not None:
            if self.algorithm not in others:
                raise InputError("The algorithm of the request is not here.")
            foreign = cast(Any, others[self.algorithm])
            return cast(Synthesizer, foreign(method=self.method, parameters_given=given, **shared))
        method = find_method(self.method)
        known = {one.name for one in fields(method.kind)} - file_parameters(method.kind)
        for name in given:
            if name not in known:
                raise InputError(f"The method {method.name} has no parameter {name!r} in a hub.")
        if not method.kind.asks:
            shared["epsilon"] = 0.0
        return method.make(
            **{name: _as_parameter(value) for name, value in given.items()}, **shared
        )


@dataclass(frozen=True, kw_only=True)
class Ask(OperationRun):
    """Questions with a price, answered from the rows."""

    name: ClassVar[str] = "ask"

    epsilon: float
    delta: float = 0.0
    questions: tuple[str, ...]
    bounds: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_price(self)
        questions = self.questions
        if (
            not isinstance(questions, list | tuple)
            or not 1 <= len(questions) <= MAX_QUESTIONS_ASKED
        ):
            raise InputError(
                f"Ask at least one question, and at most {MAX_QUESTIONS_ASKED} at once."
            )
        if not all(isinstance(text, str) and len(text) <= 10_000 for text in questions):
            raise InputError("Questions are texts of at most 10,000 characters.")
        object.__setattr__(self, "questions", tuple(questions))
        if not isinstance(self.bounds, Mapping):
            raise InputError("Bounds are an object: a pair of numbers for a column.")

    def check(self, schema: Schema, protected: Protected) -> None:
        """Refuse what cannot be asked."""
        check_questions(self.questions, self._terms(protected), schema, self._bounds())

    def price(self) -> tuple[float, float]:
        """All answers together."""
        return (self.epsilon, self.delta)

    def preview(self, schema: Schema, protected: Protected, rows: int | None) -> dict[str, Any]:
        """What the answers will be worth."""
        expected = expect_answers(self.questions, self._terms(protected), schema, self._bounds())
        return {"answers": [one.to_dict() for one in expected]}

    def to_dict(self) -> dict[str, Any]:
        """The spec."""
        return {
            **_plain_fields(self),
            "questions": list(self.questions),
            "bounds": {name: list(pair) for name, pair in self.bounds.items()},
        }

    def _terms(self, protected: Protected) -> AskTerms:
        return AskTerms(
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=protected.neighbours,
            person=protected.person,
            max_rows_per_person=protected.max_rows_per_person,
        )

    def _bounds(self) -> dict[str, Any] | None:
        bounds = {}
        for name, pair in self.bounds.items():
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise InputError(f"The bounds of {name!r} must be two numbers, not {pair!r}.")
            bounds[name] = (pair[0], pair[1])
        return bounds or None

    def compute(self, run: Run) -> dict[str, Any]:
        """Ask the questions."""
        answers, ledger = ask_with(
            run.rows,
            list(self.questions),
            self._terms(run.protected),
            schema=run.schema,
            bounds=self._bounds(),
            ledger=run.ledger_file,
            notify=run.notify,
            progress=run.progress,
        )
        return {
            "understudy_answers": 1,
            "answers": [one.to_dict() for one in answers],
            "ledger": ledger.to_dict(),
        }

    def write(self, made: Any, folder: Path, use: TermsOfUse, seed: int | None) -> Ledger:
        """The answers."""
        write_json(folder / ANSWERS_NAME, made, "answers")
        return Ledger.from_dict(made["ledger"])


@dataclass(frozen=True, kw_only=True)
class Learn(OperationRun):
    """A learner, fitted to the rows."""

    name: ClassVar[str] = "learn"

    epsilon: float
    delta: float = 0.0
    learner: str
    target: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_price(self)
        _check_parameters(self.parameters)
        if not isinstance(self.learner, str):
            raise InputError("The learner of a request is the name of one.")
        if self.target is not None and not isinstance(self.target, str):
            raise InputError("The target of a request is the name of a column.")

    def check(self, schema: Schema, protected: Protected) -> None:
        """Refuse a learner that does not go with the schema."""
        learner = self._make(None)
        if self.target is not None and self.target not in schema:
            raise InputError(f"The data set has no column {self.target!r}; check the name.")
        learner.check(schema, self.target)
        _check_accounting(self, protected, "rho")

    def price(self) -> tuple[float, float]:
        """All that the fit may ask."""
        return (self.epsilon, self.delta)

    def preview(self, schema: Schema, protected: Protected, rows: int | None) -> dict[str, Any]:
        """What is fitted; how well depends on the rows, which nobody reads for that."""
        features = [one.name for one in schema.modelled if one.name != self.target]
        return {"features": features, "target": self.target}

    def to_dict(self) -> dict[str, Any]:
        """The spec."""
        return {**_plain_fields(self), "parameters": dict(self.parameters)}

    def _make(self, ledger_file: LedgerFile | None) -> Any:
        from understudy.learners.training import NOT_KEPT, find_learner

        kind = find_learner(self.learner)
        known = kind().get_params(deep=False).keys() - {*NOT_KEPT, "epsilon", "delta"}
        for name in self.parameters:
            if name not in known:
                raise InputError(f"The learner {self.learner} has no parameter {name!r}.")
        given = {name: _as_parameter(value) for name, value in self.parameters.items()}
        return kind(epsilon=self.epsilon, delta=self.delta, ledger=ledger_file, **given)

    def compute(self, run: Run) -> Any:
        """Fit the learner."""
        from understudy.learners.training import ProtectedUnit, learn

        return learn(
            self._make(run.ledger_file),
            run.rows,
            run.schema,
            target=self.target,
            unit=ProtectedUnit(**vars(run.protected)),
            notify=run.notify,
            progress=run.progress,
        )

    def write(self, made: Any, folder: Path, use: TermsOfUse, seed: int | None) -> Ledger:
        """The fitted learner."""
        made.save(folder / MODEL_NAME)
        ledger: Ledger = made.ledger
        return ledger


_KINDS: Mapping[str, type[OperationRun]] = {kind.name: kind for kind in (Synthesise, Ask, Learn)}


def read_operation(name: Any, spec: Any) -> OperationRun:
    """Read the spec of an operation, strictly; needs no row and no schema.

    Parameters
    ----------
    name
        "synthesise", "ask" or "learn".
    spec
        What is asked for, as a JSON object.

    Examples
    --------
    >>> read_operation("ask", {"epsilon": 0.5, "questions": ["count where age >= 44"]}).price()
    (0.5, 0.0)
    """
    if not isinstance(name, str) or name not in _KINDS:
        raise InputError(f"There is no operation {name!r} with a price; use {_list(OPERATIONS)}.")
    if not isinstance(spec, Mapping):
        raise InputError("What is asked for must be a JSON object.")
    kind: Any = _KINDS[name]
    known = [one.name for one in fields(kind)]
    for entry in spec:
        if entry not in known:
            raise InputError(f"A request to {name} has no entry {entry!r}; known: {_list(known)}.")
    try:
        text = json.dumps(spec, allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
        json.loads(text, parse_int=_moderate_int)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("What is asked for must be plain JSON.") from error
    if size > MAX_SPEC_CHARACTERS:
        raise InputError(f"A request has at most {MAX_SPEC_CHARACTERS:,} characters.")
    try:
        read: OperationRun = kind(**spec)
    except TypeError as error:
        raise InputError(f"The request to {name} is not complete or not plain: {error}.") from None
    return read


def check_spec(
    name: str, spec: Mapping[str, Any], schema: Schema, protected: Protected | None = None
) -> OperationRun:
    """Read a spec and refuse what cannot be done with the schema; reads no row."""
    operation = read_operation(name, spec)
    operation.check(schema, protected or Protected())
    return operation


def price(name: str, spec: Mapping[str, Any]) -> tuple[float, float]:
    """The whole (epsilon, delta) of an operation."""
    return read_operation(name, spec).price()


def preview(
    name: str,
    spec: Mapping[str, Any],
    schema: Schema,
    protected: Protected | None = None,
    rows: int | None = None,
) -> dict[str, Any]:
    """What to expect of an operation, from public facts alone."""
    protected = protected or Protected()
    operation = check_spec(name, spec, schema, protected)
    return operation.preview(schema, protected, rows)


def is_digest(text: Any) -> bool:
    """Whether a text is a SHA-256 in lower-case hexadecimal."""
    return isinstance(text, str) and len(text) == 64 and not set(text) - set("0123456789abcdef")


def _moderate_int(digits: str) -> int:
    """A whole number that every part of us can hold."""
    number = int(digits)
    if number.bit_length() > 63:
        raise ValueError("a whole number is too large")
    return number


def _check_price(operation: OperationRun) -> None:
    for name in ("epsilon", "delta"):
        given = getattr(operation, name)
        if (
            isinstance(given, bool)
            or not isinstance(given, int | float)
            or not math.isfinite(given)
        ):
            raise InputError(f"{name} must be a number, not {given!r}.")
        object.__setattr__(operation, name, float(given))
    check_epsilon(operation.epsilon)
    check_delta(operation.delta)


def _check_accounting(operation: Any, protected: Protected, accounting: Currency) -> None:
    """Refuse what no ledger could account for: whoever computes would find out too late."""
    currency: Currency = accounting if operation.delta else "epsilon"
    Ledger(operation.epsilon, operation.delta, protected.neighbours, currency, unit=protected.unit)


def _check_parameters(parameters: Any) -> None:
    if not isinstance(parameters, Mapping) or not all(isinstance(name, str) for name in parameters):
        raise InputError("Parameters are an object of names and values.")


def _as_parameter(value: Any) -> Any:
    """A parameter as a constructor takes it: JSON knows lists, methods tuples."""
    if isinstance(value, list):
        return tuple(_as_parameter(part) for part in value)
    return value


def _plain_fields(operation: Any) -> dict[str, Any]:
    return {one.name: getattr(operation, one.name) for one in fields(operation)}


def _list(names: Any) -> str:
    return ", ".join(names)


assert MAX_ROWS_PER_RELEASE <= MAX_ROWS_PER_SAMPLE
