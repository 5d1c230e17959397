"""``understudy ask``: answers from private rows, each at a price."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from understudy.cli.checks import NO_LEDGER, check_distinct
from understudy.cli.ledger_options import NO_LEDGER_FILE, LedgerOptions, uses_ledger
from understudy.cli.options import (
    CountedBy,
    Delta,
    Epsilon,
    MaxRowsPerPerson,
    Neighbour,
    Person,
    Quiet,
    Relation,
    RowsAnywhere,
    relation_of,
)
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, grid_of, print_json, print_sentence, safe
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.asking.answers import Answers, Expected
    from understudy.privacy.ledger import LedgerFile


@app.command(
    epilog=examples(
        "# how many, at a price of 1 from the table's ledger",
        'understudy ask patients.csv "count where age >= 44" --epsilon 1 --ledger p.ledger',
        "# what an answer would be worth; nothing is read, nothing is spent",
        'understudy ask patients.csv "mean age from 0 to 120" --epsilon 0.1 --plan',
        "# with a schema, groups and bounds are known",
        'understudy ask patients.csv "median age group by sex" --schema patients.json',
        "# several questions share the price",
        'understudy ask patients.csv "count" "share where sex = \'f\'" --epsilon 0.5',
    )
)
@reads_files
@uses_ledger
def ask(
    table: RowsAnywhere,
    questions: Annotated[
        list[str],
        typer.Argument(
            metavar="QUESTION...",
            help="count, share, mean NAME, median NAME, histogram NAME, ..., then: where "
            "CONDITION, group by NAME.",
        ),
    ],
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="Schema file: public bounds, groups and formats; null where nobody knows.",
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            "--bounds", metavar="NAME=LOW..HIGH", help="Public bounds of a column; may be repeated."
        ),
    ] = None,
    discovery: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the budget for bounds and groups that are not given; needs a delta.",
        ),
    ] = None,
    neighbours: Neighbour = Relation.add_remove,
    person: Person = None,
    max_rows_per_person: MaxRowsPerPerson = 1,
    ledger: LedgerOptions = NO_LEDGER_FILE,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", metavar="", help="Tell what the answers would be worth; spend nothing."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="Print JSON.")] = False,
    engine: CountedBy = None,
    reading: Any = None,
    quiet: Quiet = False,
) -> None:
    """Answer questions from private rows, each priced before, booked and with an interval."""
    from understudy.asking.run import AnswerTerms

    asked = AskArguments(
        questions=questions,
        terms=AnswerTerms(
            epsilon=epsilon,
            delta=delta,
            neighbours=relation_of(neighbours),
            person=person,
            max_rows_per_person=max_rows_per_person,
            discovery=discovery,
        ),
        schema=_load_schema(schema),
        bounds=_read_bounds(bounds or []),
        as_json=as_json,
    )
    if plan:
        asked.print_plan()
        return
    talk = Talk(quiet)
    book = ledger.open(talk)
    _check_books(table, book, schema)
    asked.run(
        table,
        book,
        talk,
        engine=None if engine is None else engine.value,
        **(reading or {}),
    )


def _load_schema(path: Any) -> Any:
    from understudy.data.forms import load_facts

    if path is None:
        return None
    return load_facts(path)


def _read_bounds(given: list[str]) -> dict[str, tuple[str, str]]:
    """Bounds as on the command line: ``age=17..90``."""
    bounds = {}
    for text in given:
        name, equals, ends = text.rpartition("=")
        low, dots, high = ends.partition("..")
        if not (name.strip() and equals and low.strip() and dots and high.strip()):
            raise InputError(f"The bounds {text!r} are not of the form name=low..high.")
        bounds[name.strip()] = low.strip(), high.strip()
    return bounds


def _check_books(table: str, ledger: LedgerFile | None, schema: Any) -> None:
    """No file is two things at once, and the ledger can be read, before a row is."""
    from understudy.engines.urls import is_url

    if ledger is None:
        return
    rows = None
    if not is_url(table):
        rows = table
    check_distinct(rows, ledger.path, schema)
    ledger.read()


@dataclass(frozen=True, kw_only=True)
class AskArguments:
    """Questions, their price and what is public."""

    questions: list[str]
    terms: Any
    schema: Any
    bounds: dict[str, tuple[str, str]]
    as_json: bool

    def print_plan(self) -> None:
        """What the answers would be worth."""
        from understudy.asking.run import expect_answers

        if self.terms.discovery is not None:
            raise InputError("What is to be discovered cannot be planned; leave out --discovery.")
        expected = expect_answers(self.questions, self.terms, self.schema, self.bounds)
        if self.as_json:
            print_json([one.to_dict() for one in expected])
            return
        console = Console(highlight=False)
        for one in expected:
            print_sentence(console, say_expected(one))
        price = f"epsilon {self.terms.epsilon:g}"
        if self.terms.delta:
            price += f", delta {self.terms.delta:g}"
        print_sentence(console, f"Price: {price}. Nothing was read, nothing was spent.")

    def run(self, table: str, ledger: LedgerFile | None, talk: Talk, **options: Any) -> None:
        """Ask, and print the answers."""
        from understudy.asking.api import ask_with
        from understudy.release.callbacks import ASKING

        notes: list[str] = []
        expected: list[Expected] = []

        def say_notes() -> None:
            talk.notes(notes)
            notes.clear()
            for one in expected:
                talk.say(f"expected: {say_expected(one)}")
            expected.clear()

        with talk.working("asking") as show:

            def progress(stage: str, done: int, steps: int) -> None:
                if stage == ASKING:  # not before: a run that is refused says why, and nothing else
                    say_notes()
                else:
                    show(stage, done, steps)

            answers, book = ask_with(
                table,
                self.questions,
                self.terms,
                schema=self.schema,
                bounds=self.bounds,
                ledger=ledger,
                notify=notes.append,
                progress=progress,
                announce=expected.extend,
                **options,
            )
        say_notes()
        self._print(answers)
        talk.say(book.statement())
        if ledger is None:
            talk.say(NO_LEDGER)

    def _print(self, answers: list[Answers]) -> None:
        if self.as_json:
            print_json([answer.to_dict() for answer in answers])
            return
        console = Console(highlight=False)
        for answer in answers:
            if answer.group_by or len(answer.answers) > 1:
                console.print(_make_grid(answer))
                continue
            label = ""
            if len(answers) > 1:
                label = f"{answer.question}: "
            print_sentence(console, f"{label}{answer!r}")


def say_expected(expected: Expected) -> str:
    """What an answer will be worth, in a sentence."""
    return f"{expected.question}: {expected.sentence}; {expected.mechanism}"


def _make_grid(answer: Answers) -> Any:
    """The answers of all groups, line by line."""
    names = answer.group_by
    if answer.kind == "labels":
        names = (*names, "condition")
    grid = grid_of(answer.question, *names, "#answer", "#95% interval")
    for found in answer.answers:
        value = ""
        if found.value is not None:
            value = answer.write(found.value, found)
        interval = f"{answer.write(found.low, found)} to {answer.write(found.high, found)}"
        grid.add_row(*map(safe, found.group), safe(value), safe(interval))
    return grid
