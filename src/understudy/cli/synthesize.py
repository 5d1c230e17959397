"""``understudy synthesize``: from a sensitive table to a synthetic one."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.checks import check_distinct, check_ledger, check_output
from understudy.cli.options import (
    CountedBy,
    Delta,
    Epsilon,
    LedgerPath,
    Neighbour,
    Out,
    Partitions,
    Person,
    Quiet,
    Relation,
    Rows,
    RowsAnywhere,
    RowsPerPerson,
    SafeForSpreadsheets,
    SchemaFile,
    Seed,
    names_between,
    relation_of,
)
from understudy.cli.root import app, examples
from understudy.cli.sample import folder_of, write_rows
from understudy.cli.talk import Talk
from understudy.errors import InputError


class Method(Enum):
    """Synthesizers by name."""

    privbayes = "privbayes"
    correlated = "correlated"
    adaptive = "adaptive"
    mst = "mst"
    marginals = "marginals"
    perturbed_histogram = "perturbed-histogram"
    smoothed_histogram = "smoothed-histogram"
    independent = "independent"
    random = "random"


class Score(Enum):
    """Scores of attribute-parent pairs by name."""

    auto = "auto"
    mutual_information = "I"
    assignment = "F"
    dependence = "R"


class Encoding(Enum):
    """Encodings of PrivBayes by name."""

    auto = "auto"
    hierarchical = "hierarchical"
    vanilla = "vanilla"
    binary = "binary"
    gray = "gray"


_ROUNDS: Any = {"rich_help_panel": "Options of adaptive"}
_NETWORK: Any = {"rich_help_panel": "Options of privbayes and correlated"}
_TABLES: Any = {"rich_help_panel": "Options of marginals and smoothed-histogram"}


@app.command(
    epilog=examples(
        "# a budget of 1 pays for everything, finding out the domain included",
        "understudy synthesize patients.csv --epsilon 1 -o synthetic.csv",
        "# with what is public in a schema, the whole budget goes to the rows",
        "understudy synthesize patients.parquet --schema patients.json -o out.parquet",
        "# keep the model, to draw more rows later, and a report to send along",
        "understudy synthesize patients.csv --model m.json --report r.html -o out.csv",
        "# for somebody who will predict a column from the others",
        "understudy synthesize patients.csv --target readmitted -o out.csv",
        "# just the tables that you name",
        "understudy synthesize patients.csv --method marginals --marginal age,sex",
        "# rows that stay in a database",
        "understudy synthesize 'postgresql://me@db/d?table=patients' --schema s.json",
        "# as many rows as you like, in a folder of Parquet files",
        "understudy synthesize big.parquet --rows 1e9 --partitions 500 -o rows/",
    )
)
def synthesize(
    table: RowsAnywhere,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    output: Out = "-",
    schema: SchemaFile = None,
    method: Annotated[
        Method | None,
        typer.Option(
            metavar="METHOD",
            help="adaptive, the default: what the model gets most wrong is measured, in rounds; privbayes: how columns "
            "depend on each other, by a network; correlated: the same with --degree parents each; mst: a tree of "
            "pairs; marginals: the tables named by --marginal; perturbed-histogram: all columns in one table, if they "
            "are few; smoothed-histogram: a few rows drawn privately; independent: every column by itself; "
            "random: types only, free.",
        ),
    ] = None,
    neighbours: Neighbour = Relation.add_remove,
    person: Person = None,
    rows_per_person: RowsPerPerson = 1,
    rows: Rows = None,
    discovery: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of the budget for the domain when there is no schema."
        ),
    ] = 0.1,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the released model here.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a report of the release here (HTML)."),
    ] = None,
    ledger: LedgerPath = None,
    seed: Seed = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="A column to be predicted: accuracy goes to how others tell it.",
            **_ROUNDS,
        ),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,NAME", help="Columns to be accurate together; repeatable.", **_ROUNDS
        ),
    ] = None,
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Several times faster, a little less accurate.", **_ROUNDS),
    ] = False,
    degree: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Parents of each attribute; as many as are useful when not given.",
            **_NETWORK,
        ),
    ] = None,
    score: Annotated[
        Score | None,
        typer.Option(
            metavar="SCORE",
            help="R, I, F, or auto: F where all is binary, else R (--paper).",
            **_NETWORK,
        ),
    ] = None,
    encoding: Annotated[
        Encoding | None,
        typer.Option(
            metavar="ENCODING", help="auto, hierarchical, vanilla, binary or gray.", **_NETWORK
        ),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Share of the budget for the network's structure.", **_NETWORK
        ),
    ] = None,
    theta: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="How useful a table must be to be considered.", **_NETWORK
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper",
            help="PrivBayes as published, to the letter (neighbours: replace).",
            **_NETWORK,
        ),
    ] = False,
    marginal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,NAME",
            help="Columns that share a table (marginals); repeatable.",
            **_TABLES,
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Rows to draw privately (smoothed-histogram); fewer cost less each.",
            **_TABLES,
        ),
    ] = None,
    partitions: Partitions = None,
    safe_for_spreadsheets: SafeForSpreadsheets = False,
    engine: CountedBy = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Write the rows to a new table there: postgresql://... or spark://...",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", metavar="", help="Say how an engine counted the rows (for you only)."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Make a private synthetic table out of a sensitive one."""
    network = {
        "degree": degree,
        "score": None if score is None else score.value,
        "encoding": None if encoding is None else encoding.value,
        "beta": beta,
        "theta": theta,
    }
    run_synthesis(
        table,
        synthesizer_of(
            method,
            epsilon,
            delta,
            neighbours,
            discovery,
            person=person,
            max_rows_per_person=rows_per_person,
            paper=paper,
            marginals=[_named("marginal", text) for text in marginal] if marginal else None,
            target=target,
            workload=[_named("workload", text) for text in workload] if workload else None,
            fast=fast,
            draws=draws,
            **network,
        ),
        schema=schema,
        output=output,
        rows=rows,
        model=model,
        report=report,
        ledger=ledger,
        seed=seed,
        talk=Talk(quiet),
        engine=None if engine is None else engine.value,
        to=to,
        explain=explain,
        partitions=partitions,
        safe_for_spreadsheets=safe_for_spreadsheets,
    )


def _named(option: str, text: str) -> list[str]:
    names = names_between(text)
    if not names:
        raise InputError(
            f"--{option} {text!r} names no column; give names between commas, like --{option} age,sex."
        )
    return names


def run_synthesis(
    table: str | Path,
    synthesizer: Any,
    *,
    schema: Path | None,
    output: str,
    rows: int | None,
    model: Path | None,
    report: Path | None,
    ledger: Path | None,
    seed: int | None,
    talk: Talk,
    engine: str | None = None,
    to: str | None = None,
    explain: bool = False,
    partitions: int | None = None,
    safe_for_spreadsheets: bool = False,
) -> None:
    """Check everything that can be checked, then read, learn, draw and write; files appear only at the end."""
    from understudy.engines.sources import read_into_memory
    from understudy.engines.targets import check_target, write_to
    from understudy.engines.urls import is_url
    from understudy.files import writable_file
    from understudy.model import MOST_ROWS
    from understudy.reports.release import write_report
    from understudy.schema import Schema
    from understudy.tables import read_table

    if to is not None and safe_for_spreadsheets:
        raise InputError("--safe-for-spreadsheets is for CSV files; it does not go with --to.")
    if to is not None and (output != "-" or partitions is not None):
        raise InputError("The rows go to one place: give -o or --to, not both.")
    if partitions is not None:
        output = folder_of(output)
    check_output(output, safe_for_spreadsheets)
    table = str(table)
    check_distinct(None if is_url(table) else table, output, model, report, ledger, schema)
    if to is not None:
        check_target(to)
    for place, what in ((model, "model"), (report, "report")):
        if place is not None:
            writable_file(place, what)
    check_ledger(ledger)
    if rows is not None and not 0 <= rows <= MOST_ROWS:
        raise InputError(
            f"The number of rows must be a whole number from 0 to {MOST_ROWS:,}, not {rows!r}."
        )
    if seed is not None and seed < 0:
        raise InputError(f"The seed must be a whole number at or above 0, not {seed!r}.")
    public = Schema.load(schema) if schema is not None else None
    if synthesizer.name == "random" and rows is None and synthesizer.neighbours == "add_remove":
        raise InputError(
            "The random method measures nothing, not even the number of rows; say how many by --rows."
        )
    private: Any = table
    if read_into_memory(table, engine):
        with talk.working("reading"):
            unread = [a.name for a in public if not a.modelled] if public is not None else []
            skip = [name for name in unread if name != synthesizer.person]
            private, engine = read_table(table, skip), None
    notes: list[str] = []
    plan = notes.append if explain else None
    with talk.working("learning") as progress:
        released = synthesizer.fit(
            private,
            public,
            ledger=ledger,
            notify=notes.append,
            progress=progress,
            engine=engine,
            explain=plan,
        )
    for sentence in notes:  # only now: a run that is refused says why, and nothing else
        talk.note(sentence)
    # The budget is spent: the model goes first, so that a pipe that closes early does not lose it.
    if model is not None:
        released.save(model)
    if report is not None:
        write_report(released, report)
    if to is None:
        how_written = {"partitions": partitions, "safe_for_spreadsheets": safe_for_spreadsheets}
        write_rows(released, output, rows, seed, talk, **how_written)
    else:
        with talk.working("writing rows") as progress:
            write_to(released, to, rows, seed, lambda count: progress("writing rows", count, -1))
    talk.say(released.ledger.statement())
    if public is None:
        talk.say(
            "Taken as public: column names, their kinds, and how dates and truth values are written."
        )
        _say_undiscovered(released, talk)
    for what, path in (
        ("Synthetic table", to or (None if output == "-" else output)),
        ("Model", model),
        ("Report", report),
    ):
        if path is not None:
            talk.say(f"{what}: {path}")


def _say_undiscovered(released: Any, talk: Talk) -> None:
    """A column whose values all stayed below the threshold comes out as text; nobody should have to wonder why."""
    names = [attribute.name for attribute in released.schema if attribute.kind == "text"]
    if names:
        talk.say(
            f"No value of {', '.join(names)} is frequent enough to be told from the noise, so every row has [text] "
            f"there; list the values in a schema (understudy schema --blank), or give more budget."
        )


def synthesizer_of(
    method: Method | None,
    epsilon: float,
    delta: float,
    neighbours: Relation,
    discovery: float = 0.1,
    *,
    person: str | None = None,
    max_rows_per_person: int = 1,
    paper: bool = False,
    marginals: list[list[str]] | None = None,
    draws: int | None = None,
    target: str | None = None,
    workload: list[list[str]] | None = None,
    fast: bool = False,
    **network: Any,
) -> Any:
    """The method as the options set it up; where none is named, the one that the options go with."""
    from understudy.curator.budget import check_delta, check_epsilon
    from understudy.synthesizers.adaptive import Adaptive
    from understudy.synthesizers.independent import Independent
    from understudy.synthesizers.marginals import Marginals
    from understudy.synthesizers.mst import MST
    from understudy.synthesizers.perturbed_histogram import PerturbedHistogram
    from understudy.synthesizers.privbayes import PrivBayes
    from understudy.synthesizers.random import Random
    from understudy.synthesizers.smoothed_histogram import SmoothedHistogram

    common: dict[str, Any] = {
        "epsilon": check_epsilon(epsilon),
        "delta": check_delta(delta),
        "discovery": discovery,
        "person": person,
        "max_rows_per_person": max_rows_per_person,
    }
    given = {name: value for name, value in network.items() if value is not None}
    networks = (Method.privbayes, Method.correlated)
    every = {  # options that go with some methods only
        "marginal": (marginals is not None, (Method.marginals,)),
        "draws": (draws is not None, (Method.smoothed_histogram,)),
        "target": (target is not None, (Method.adaptive, *networks)),
        "workload": (workload is not None, (Method.adaptive,)),
        "fast": (fast, (Method.adaptive,)),
        "paper": (paper, networks),
        **dict.fromkeys(given, (True, networks)),
    }
    own = {option: methods for option, (asked, methods) in every.items() if asked}
    for option, methods in own.items():
        if method is None:
            method = next(
                (one for one in methods if all(one in others for others in own.values())),
                methods[0],
            )
        if method not in methods:
            names = _listed([one.value for one in methods])
            raise InputError(
                f"--{option} goes with the method{'s' if len(methods) > 1 else ''} {names}, not with {method.value}."
            )
    if method not in (Method.privbayes, Method.correlated):
        common["neighbours"] = relation_of(neighbours)
        if method is None or method is Method.adaptive:
            return (Adaptive.fast if fast else Adaptive)(
                target=target, workload=workload or (), **common
            )
        if method is Method.marginals:
            return Marginals(marginals=marginals or (), **common)
        if method is Method.smoothed_histogram:
            return SmoothedHistogram(draws=draws, **common)
        simple: dict[Method, Any] = {
            Method.mst: MST,
            Method.perturbed_histogram: PerturbedHistogram,
            Method.independent: Independent,
            Method.random: Random,
        }
        return simple[method](**common)
    if method is Method.correlated:
        given.setdefault("degree", 2)
    if target is not None:
        given["target"] = target
    if paper:
        return PrivBayes.paper(**common, **given)
    return PrivBayes(neighbours=relation_of(neighbours), **common, **given)


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
