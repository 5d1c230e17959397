"""``understudy local``: a survey in which nobody is trusted, from its plan to its tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import local_tokens  # noqa: F401  (adds commands of its own)
from understudy.cli.checks import check_distinct
from understudy.cli.local_app import PlanFile, local_app
from understudy.cli.options import Quiet
from understudy.cli.root import examples
from understudy.cli.talk import Talk
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.local.collected import Collected
    from understudy.local.plans import CollectionPlan

ReportLevel = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER", help="Which of the plan's levels of privacy; by default the first."
    ),
]


@local_app.command(
    "plan",
    epilog=examples(
        "understudy local plan survey.json --epsilon 2 --persons 20000 -o plan.json",
        "# persons may choose between two levels of privacy",
        "understudy local plan survey.json --epsilon 2 --epsilon 0.5 -o plan.json",
        "# a second wave, for other persons: what the first one left open",
        "understudy local plan --after tables.json --persons 5000 -o plan2.json",
    ),
)
def local_plan(
    schema: Annotated[
        Path | None, typer.Argument(metavar="[SCHEMA]", help="What can be answered.")
    ] = None,
    epsilon: Annotated[
        list[float] | None,
        typer.Option(metavar="NUMBER", help="What a report costs; give several for a choice."),
    ] = None,
    after: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLES", help="Plan another wave, for other persons, after these tables."
        ),
    ] = None,
    persons: Annotated[
        int | None, typer.Option(metavar="N", help="About how many persons will answer.")
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The plan; - for the screen.")
    ] = "-",
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="What the survey is about, for persons.")
    ] = "",
    wording: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="JSON: for each column, the question as persons read it."
        ),
    ] = None,
    issuer: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Reports need a token of the issuer with this key."),
    ] = None,
    delicate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            help="Questions about this column cost at most so much; repeatable.",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Plan who is asked what, from public facts alone."""
    from understudy.data.files import read_json
    from understudy.data.schema import Schema
    from understudy.local.planning import expect_errors, plan_survey
    from understudy.local.plans import CollectionPlan

    check_distinct(schema, wording, output, after)
    if after is not None:
        made = _plan_next_wave(schema, epsilon, persons, after)
    elif schema is None or not epsilon:
        raise InputError("Give SCHEMA and --epsilon, or the tables of an earlier wave by --after.")
    else:
        made = plan_survey(Schema.load(schema), epsilon, persons)
    texts: dict[str, Any] = {}
    if title:
        texts["title"] = title
    if wording is not None:
        texts["wording"] = read_json(wording, "wording")
    if issuer is not None:
        from understudy.local.blind_tokens import TokenIssuer

        texts["token_key"] = TokenIssuer.load(issuer).public_key
    made = CollectionPlan.from_dict(made.to_dict() | texts).limit_columns(
        _read_limits(delicate or [])
    )
    if output == "-":
        from understudy.cli.talk import print_json

        print_json(made.to_dict())
    else:
        made.save(output)
    talk = Talk(quiet)
    talk.say(_describe_plan(made))
    talk.say(str(expect_errors(made)))
    if len(made.epsilons) > 1:
        talk.say(
            f"That is if all of them choose epsilon {made.epsilons[0]:g}, the level that you named "
            "first."
        )


def _read_limits(given: list[str]) -> dict[str, float]:
    """The most that questions about some columns may cost."""
    limits = {}
    for entry in given:
        name, _, number = entry.rpartition("=")
        try:
            limits[name] = float(number)
        except ValueError:
            name = ""
        if not name:
            raise InputError(f"--delicate needs a column and its epsilon: {entry}=0.5.")
    return limits


def _plan_next_wave(
    schema: Path | None, epsilon: list[float] | None, persons: int | None, after: Path
) -> CollectionPlan:
    from understudy.local.collected import Collected
    from understudy.local.planning import plan_next_wave

    if schema is not None or epsilon:
        raise InputError("--after takes schema and epsilon from the earlier wave; leave them out.")
    return plan_next_wave(Collected.load(after), persons)


def _describe_plan(plan: CollectionPlan) -> str:
    levels = " or ".join(f"{epsilon:g}" for epsilon in plan.epsilons)
    said = f"Plan {plan.id}: {len(plan.questions):,} questions, each person draws one, "
    return f"{said}at local epsilon {levels}."


@local_app.command(
    "answer", epilog=examples("understudy local answer plan.json < person.json > report.jsonl")
)
def local_answer(
    plan: PlanFile,
    epsilon: ReportLevel = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Your own ledger of answers; by default in your home folder."
        ),
    ] = None,
    allowance: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="Epsilon of all surveys together, when the ledger is started."
        ),
    ] = None,
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="The one-use token that you were given.")
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", metavar="", help="Give the report that you gave before; free."),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Answer a survey: your answers, as JSON, on standard input; a randomised report comes out.

    Nothing else leaves this device. The report is booked before it is shown.
    """
    from understudy.local.answering import answer_plan
    from understudy.local.booking import AnswerBook, agree_to_level, default_path
    from understudy.local.persons import encode_person
    from understudy.local.plans import CollectionPlan
    from understudy.local.tokens import check_token

    talk = Talk(quiet)
    survey = CollectionPlan.load(plan)
    book = AnswerBook(ledger or default_path(), allowance)
    if again:
        _print_again(survey, book)
        return
    book.check(survey)
    level = agree_to_level(survey, epsilon)
    if token is not None:
        token = check_token(token, issued=bool(survey.token_key))
    elif survey.token_key:
        raise InputError("This survey counts reports with a token only; give yours by --token.")
    codes, notes = encode_person(_read_person(), survey.schema)
    for note in notes:
        talk.say(note)
    report = answer_plan(survey, codes, level=level, token=token)
    book.book(survey, report)
    sys.stdout.write(report.to_json() + "\n")
    talk.say(
        f"Booked in {book.path}: epsilon {survey.epsilons[level]:g}; {book.read_left():g} is left "
        "for other surveys."
    )


def _print_again(plan: CollectionPlan, book: Any) -> None:
    booked = book.find(plan)
    if booked is None:
        raise InputError(
            f"You have not answered this survey yet, as far as {book.path} knows; leave out "
            "--again."
        )
    sys.stdout.write(booked["report"] + "\n")


def _read_person() -> dict[str, Any]:
    from understudy.data.files import MAX_DOCUMENT_BYTES, parse_json

    given = parse_json(sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1), "person on standard input")
    if not isinstance(given, dict):
        raise InputError(
            'Your answers must be a JSON object, such as {"age": 34, "smoker": "yes"}; nothing was '
            "booked or sent."
        )
    return given


@local_app.command(
    "simulate",
    epilog=examples("understudy local simulate plan.json people.csv -o reports/all.jsonl"),
)
def local_simulate(
    plan: PlanFile,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A row for each person.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Reports: .jsonl or .parquet.")
    ],
    epsilon: ReportLevel = None,
    quiet: Quiet = False,
) -> None:
    """Answer for every row of a table, to try a survey out: nothing is booked."""
    from understudy.data.tables import read_table
    from understudy.local.answering import answer_for_all
    from understudy.local.plans import CollectionPlan
    from understudy.local.reports import write_reports

    check_distinct(plan, table, output)
    survey = CollectionPlan.load(plan)
    batches = answer_for_all(survey, read_table(table), levels=survey.level_of(epsilon))
    count = write_reports(output, batches)
    Talk(quiet).say(f"{count:,} simulated reports: {output}")


@local_app.command(
    "collect",
    epilog=examples(
        "understudy local collect plan.json reports/ -o tables.json",
        "# how far could a hundredth of forged reports move an estimate?",
        "understudy local collect plan.json reports/ --poisoned 0.01 -o tables.json",
    ),
)
def local_collect(
    plan: PlanFile,
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORTS...", help="Files of reports, or folders of them."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The tables of all reports.")
    ],
    tokens: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The list of tokens; reports without one do not count."),
    ] = None,
    issuer: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The key of the issuer whose tokens the plan asks for."),
    ] = None,
    poisoned: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Tell how far this share of forged reports could pull."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Add up reports, whoever sent them; those that cannot be counted are told by reason."""
    from understudy.data.files import writable_file
    from understudy.local.collecting import collect_reports
    from understudy.local.plans import CollectionPlan

    check_distinct(plan, tokens, issuer, output, *(path for path in reports if not path.is_dir()))
    if poisoned is not None and not 0 <= poisoned < 1:
        raise InputError(f"--poisoned must be a share from 0 to below 1, not {poisoned:g}.")
    writable_file(output, "tables")
    survey = CollectionPlan.load(plan)
    collected = collect_reports(survey, reports, _read_tokens(tokens, issuer))
    if not collected.reports:
        raise InputError(
            f"None of the reports counts ({_reasons(collected) or 'there are none'}); is "
            f"{plan} the plan that was answered?"
        )
    collected.save(output)
    talk = Talk(quiet)
    reports_counted = f"{collected.reports:,} reports"
    if collected.reports == 1:
        reports_counted = "1 report"
    talk.say(f"{reports_counted} counted: {output}")
    if collected.rejected:
        talk.say(f"{sum(collected.rejected.values()):,} not counted: {_reasons(collected)}.")
    _say_crowded(collected, talk)
    if poisoned is not None:
        _say_poisoned(collected, poisoned, talk)


def _read_tokens(tokens: Path | None, issuer: Path | None) -> Any:
    from understudy.local.blind_tokens import TokenIssuer
    from understudy.local.tokens import Tokens

    if tokens is not None and issuer is not None:
        raise InputError("Give either --tokens or --issuer: a survey has tokens of one kind.")
    if tokens is not None:
        return Tokens.load(tokens)
    if issuer is not None:
        return TokenIssuer.load(issuer)
    return None


def _reasons(collected: Collected) -> str:
    from understudy.local.reports import REASONS

    return "; ".join(
        f"{count:,} {reason} ({REASONS[reason]})"
        for reason, count in sorted(collected.rejected.items())
    )


def _say_crowded(collected: Collected, talk: Talk) -> None:
    from understudy.local.poisoning import find_crowded_questions

    crowded = find_crowded_questions(collected)
    if crowded:
        named = ", ".join(str(collected.plan.questions[place]) for place in crowded[:5])
        talk.say(
            f"{len(crowded):,} questions have far more reports than drawing by lot gives "
            f"({named}): somebody may have chosen them."
        )


def _say_poisoned(collected: Collected, share: float, talk: Talk) -> None:
    from understudy.local.poisoning import bound_poisoning

    bounds = bound_poisoning(collected, share)
    drawn = max(bounds, key=lambda bound: bound.drawn)
    chosen = max(bounds, key=lambda bound: bound.chosen)
    questions = collected.plan.questions
    talk.say(
        f"If {share:.4g} of the reports are forged, no estimated share of an answer is moved by "
        f"more than {drawn.drawn:.3g} ({questions[drawn.question]}) where forgers draw their "
        f"question like all others; by no more than {chosen.chosen:.3g} "
        f"({questions[chosen.question]}) where all of them choose the same one."
    )


@local_app.command(
    "page",
    epilog=examples(
        "understudy local page plan.json -o survey.html",
        "# reports are posted to an address of yours",
        "understudy local page plan.json --post https://survey.example.org/reports -o survey.html",
    ),
)
def local_page(
    plan: PlanFile,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The page.")],
    post: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where reports are posted to, once the person agrees."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write the survey as one web page that needs no network and no other file."""
    from understudy.local.page import write_page
    from understudy.local.plans import CollectionPlan

    check_distinct(plan, output)
    write_page(CollectionPlan.load(plan), output, post)
    Talk(quiet).say(f"Page: {output}; open it in any browser, also from a file.")
