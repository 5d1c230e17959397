"""One release of answers: read the questions, check, price, reserve, ask, settle.

Everything that can be wrong with a question, a column or a budget is found before anything is
spent, and depends on nothing private.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from understudy.asking.answers import Answers, Expected
from understudy.asking.domains import (
    PublicBounds,
    check_columns,
    check_mapping,
    hide_other_columns,
    infer_schema,
    join_found,
    raw_form,
    raw_schema,
    read_question,
)
from understudy.asking.functions import Function, Priced
from understudy.asking.preparing import prepare
from understudy.counting.cuboids import CuboidCounter
from understudy.data.cells import unreadable_remedy
from understudy.data.encoding import Coded
from understudy.data.forms import Form
from understudy.data.schema import Category, Identifier, Quantity, Schema
from understudy.errors import InputError
from understudy.models.query.raw import REST, RawQuantity
from understudy.models.query.syntax import Query
from understudy.privacy.budget import Budget, Currency, Neighbours, check_delta, check_epsilon
from understudy.privacy.central import CentralCurator
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.ledger import Ledger, LedgerFile, UnitName, check_max_rows_per_person
from understudy.privacy.mechanisms import Noise
from understudy.privacy.wording import list_public
from understudy.release.callbacks import (
    ASKING,
    Notify,
    OutsideNote,
    Progress,
    no_progress,
    warn_owner,
)
from understudy.release.preflight import (
    check_found,
    check_outlook,
    check_present,
    check_words,
)
from understudy.release.reservations import reserve
from understudy.release.sources import Source

MAX_QUESTIONS_ASKED = 100


@dataclass(frozen=True, kw_only=True)
class AnswerTerms:
    """What answers may cost, and what they protect.

    Parameters
    ----------
    epsilon, delta
        The guarantee of all answers together; the budget is split evenly over them.
    neighbours
        Which tables count as neighbours.
    person, max_rows_per_person
        Which column says whose row it is, and how many rows of each person count.
    discovery
        The share of the budget for finding out bounds and groups that nobody gives; ``None``: they
        must be given.
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = "add_remove"
    person: str | None = None
    max_rows_per_person: int = 1
    discovery: float | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_max_rows_per_person(self.max_rows_per_person)
        if self.discovery is not None and not 0 < self.discovery < 1:
            raise InputError(f"discovery must be a share between 0 and 1, not {self.discovery!r}.")
        if self.discovery is not None and not self.delta:
            raise InputError(
                "Finding out bounds and groups takes a delta, such as 1e-9: give one (--delta)."
            )
        self.new_ledger()  # refuses what does not go together

    def new_ledger(self) -> Ledger:
        """The ledger of all answers: pure without a delta, zCDP with one."""
        unit: UnitName = "person"
        if self.person is None and self.max_rows_per_person == 1:
            unit = "row"
        protection: dict[str, Any] = {"max_rows_per_person": self.max_rows_per_person, "unit": unit}
        if self.discovery is not None:
            return Ledger.for_discovery(self.epsilon, self.delta, self.neighbours, **protection)
        currency: Currency = "epsilon"
        if self.delta:
            currency = "rho"
        return Ledger(self.epsilon, self.delta, self.neighbours, currency, **protection)


def expect_answers(
    questions: Sequence[str],
    terms: AnswerTerms,
    schema: Schema | Form | None = None,
    bounds: PublicBounds | None = None,
) -> list[Expected]:
    """What answers will be worth; no table is opened, nothing is spent."""
    raw = make_raw_schema(questions, schema, bounds)
    queries = [read_question(text, raw) for text in questions]
    ledger = terms.new_ledger()
    costs = ledger.budget.equally(len(questions))
    return [
        prepare(Priced(text=text, query=query, budget=cost, ledger=ledger)).expect()
        for text, query, cost in zip(questions, queries, costs, strict=True)
    ]


def check_questions(
    questions: Sequence[str],
    terms: AnswerTerms,
    schema: Schema | Form | None = None,
    bounds: PublicBounds | None = None,
) -> None:
    """Refuse what cannot be asked, before a table is opened."""
    if terms.discovery is None:
        expect_answers(questions, terms, schema, bounds)
        return
    raw = make_raw_schema(questions, schema, bounds)
    for text in questions:
        read_question(text, raw)


def make_raw_schema(
    questions: Sequence[str], schema: Schema | Form | None, bounds: PublicBounds | None
) -> Schema:
    """The columns that questions name, as far as they are public."""
    if not questions or len(questions) > MAX_QUESTIONS_ASKED:
        raise InputError(f"Ask at least one question, and at most {MAX_QUESTIONS_ASKED} at once.")
    check_mapping(bounds)
    if schema is None:
        return infer_schema(questions, bounds)
    if isinstance(schema, Form):
        return raw_form(schema, questions, bounds)
    return raw_schema(schema, bounds)


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Questions to the rows of a source.

    Parameters
    ----------
    questions
        The questions.
    terms
        The price and what is protected.
    source
        The private rows.
    schema, bounds
        What is public about them.
    ledger_file
        The owner's ledger file, if there is one.
    noise
        Where noise comes from; anything but the default is for tests and studies.
    notify, progress
        Called with sentences for the owner, and with progress.
    announce
        Called with what the answers will be worth, before anything is spent.
    """

    questions: Sequence[str]
    terms: AnswerTerms
    source: Source
    schema: Schema | Form | None = None
    bounds: PublicBounds | None = None
    ledger_file: LedgerFile | None = None
    noise: Noise | None = None
    notify: Notify = warn_owner
    progress: Progress = no_progress
    announce: Callable[[list[Expected]], None] = field(default=lambda expected: None)

    def run(self) -> list[Answers]:
        """Check, then spend."""
        queries = self._read(self._raw)
        self._check_noise()
        fingerprint = self._fingerprint()
        self._check_spelling()
        ledger = self.ledger
        lacking = self._columns_to_discover(queries)
        functions: list[Function] = []
        rows: list[Coded | CuboidCounter] = []
        if not lacking:
            functions = self._prepare(queries, ledger.budget)
            rows = self._code(functions)
            self.announce([function.expect() for function in functions])
        if self.ledger_file is not None:
            self.ledger_file.check_release(
                ledger.epsilon, ledger.delta, ledger.neighbours, ledger.unit
            )
        self.progress(ASKING, 0, 1)
        with reserve(self.ledger_file, "ask", ledger, fingerprint, self.notify):
            if lacking:
                queries = self._read(self._discover(lacking))
                functions = self._prepare(queries, ledger.left)
                rows = self._code(functions)
                self.announce([function.expect() for function in functions])
            return [
                self._answer(function, coded)
                for function, coded in zip(functions, rows, strict=True)
            ]

    # ---- checks: nothing is spent here

    @cached_property
    def ledger(self) -> Ledger:
        """What the answers may cost, and have cost."""
        ledger = self.terms.new_ledger()
        ledger.taken_as_public = list_public(
            schema_given=self.schema is not None,
            some_discovered=self.schema is not None and self.terms.discovery is not None,
            neighbours=self.terms.neighbours,
        )
        if self.bounds:
            ledger.taken_as_public += (f"the bounds of {', '.join(self.bounds)}",)
        ledger.taken_as_public += ("the questions",)
        return ledger

    @cached_property
    def _raw(self) -> Schema:
        raw = make_raw_schema(self.questions, self.schema, self.bounds)
        check_columns(raw, self._names, self.source.columns.source)
        if isinstance(self.schema, Form):
            self.schema.check_names(self._names, self.source.columns.source)
        elif self.schema is not None:
            self.source.order(self.schema)
        return raw

    @cached_property
    def _names(self) -> Sequence[str]:
        return tuple(self.source.columns.names)

    def _read(self, raw: Schema) -> list[Query]:
        return [read_question(text, raw) for text in self.questions]

    def _check_noise(self) -> None:
        seeded = self.noise is not None and not self.noise.private
        if self.ledger_file is not None and seeded:
            raise InputError(
                "Answers with seeded noise protect nobody; they do not belong into a ledger file."
            )

    def _fingerprint(self) -> str | None:
        """Refuse another table than the one that the ledger file is kept for."""
        if self.ledger_file is None:
            return None
        fingerprint = self.source.fingerprint(self.ledger_file.key())
        self.ledger_file.check_table(fingerprint)
        return fingerprint

    def _check_spelling(self) -> None:
        found = self.source.spellings()
        if found:
            self.notify(str(found))

    def _columns_to_discover(self, queries: Sequence[Query]) -> list[str]:
        """The columns whose bounds or groups nobody gave."""
        if self.terms.discovery is None:
            return []
        lacking: dict[str, None] = {}
        for query in queries:
            for group in query.groups:
                if not group.cells:
                    lacking[group.attribute.name] = None
            attribute = query.attribute
            if isinstance(attribute, RawQuantity) and not (query.bounds or attribute.bounds):
                lacking[attribute.name] = None
        if not lacking:
            raise InputError(
                "All bounds and groups are given, so there is nothing to discover; leave out "
                "--discovery (in Python discovery=)."
            )
        return list(lacking)

    def _prepare(self, queries: Sequence[Query], budget: Budget) -> list[Function]:
        costs = budget.equally(len(queries))
        rows = None
        if self.terms.neighbours == "replace":
            rows = self._public_rows()
        return [
            prepare(Priced(text=text, query=query, budget=cost, ledger=self.ledger, rows=rows))
            for text, query, cost in zip(self.questions, queries, costs, strict=True)
        ]

    def _public_rows(self) -> int:
        """Under replace the number of rows is public."""
        coded, _ = self.source.code(self._any_column())
        return coded.rows

    def _any_column(self) -> Schema:
        """A schema by which rows can be counted, and no more."""
        any_value = Category(self._names[0], "categorical", "", (REST,), other=REST)
        return hide_other_columns([any_value], self._names)

    def _code(self, functions: Sequence[Function]) -> list[Coded | CuboidCounter]:
        """The rows, coded for each question."""
        coded = []
        for place, function in enumerate(functions):
            self.progress("coding the rows", place, len(functions))
            attributes = [codes.coded for codes in function.layout.codes.values()]
            schema = self._any_column()
            if attributes:
                schema = hide_other_columns(attributes, self._names)
            rows, notes = self.source.code(schema)
            coded.append(rows)
            self._tell_unreadable(schema, notes)
        left_out = self.source.describe_left_out()
        if left_out is not None:
            self.notify(left_out)
        return coded

    def _tell_unreadable(self, schema: Schema, notes: Sequence[str]) -> None:
        """Tell the owner of cells that are not what the question takes them for, such as dates in
        another format: no answer shows it. What lies beyond bounds is where a question puts it.
        """
        for note in notes:
            if not isinstance(note, OutsideNote):
                continue
            attribute = schema[note.outside.column]
            remedy = note.outside.remedy
            if isinstance(attribute, Quantity) and remedy == unreadable_remedy(attribute):
                self.notify(note)

    # ---- from here on everything is paid for

    def _discover(self, lacking: Sequence[str]) -> Schema:
        """Find out bounds and groups, for a share of the budget."""
        ledger, share = self.ledger, self.terms.discovery
        hidden = {
            name: Identifier(name, "identifier") for name in self._names if name not in lacking
        }
        draft = Draft(self.source.columns, self.terms.person, hidden)
        self.progress("discovering the domain", 0, 1)
        facts = draft, ledger, ledger.budget, ledger.threshold_delta
        discovery = Discovery(*facts, self.noise, share=share)
        check_outlook(discovery.count_rows(), discovery, keep_going=None)
        check_present(discovery.count_present(), discovery, keep_going=None)
        hopeless = discovery.find_hopeless()
        left_out = (*discovery.empty_columns, *discovery.texts)
        check_words((*hopeless, *left_out), discovery, keep_going=None)
        found = discovery.find()
        check_found(found, discovery, keep_going=None)
        return join_found(self._raw, found.schema)

    def _answer(self, function: Function, coded: Coded | CuboidCounter) -> Answers:
        curator = CentralCurator(coded, self.ledger, self.noise)
        heard = [curator.answer(question) for question in function.questions()]
        query = function.query
        return Answers(
            question=function.priced.text,
            kind=query.kind,
            answers=tuple(function.read(heard)),
            group_by=tuple(group.attribute.name for group in query.groups),
            attribute=query.attribute,
            epsilon=self.ledger.epsilon,
            delta=self.ledger.delta,
            mechanism=function.mechanism,
            note=function.note,
        )
