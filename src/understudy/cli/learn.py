"""``understudy learn``: from a sensitive table to a model that predicts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.checks import NO_LEDGER, check_distinct
from understudy.cli.ledger_options import NO_LEDGER_FILE, LedgerOptions, uses_ledger
from understudy.cli.options import (
    CountedBy,
    Delta,
    DiscoveryShare,
    Epsilon,
    KeepGoing,
    MaxRowsPerPerson,
    Neighbour,
    Person,
    Quiet,
    Relation,
    RowsAnywhere,
    SchemaFile,
    relation_of,
)
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk
from understudy.cli.unread_columns import load_public_facts, takes_unread_columns
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.learners.estimator import Learner


class LearnerName(StrEnum):
    """What can be learned."""

    logistic = "logistic"
    gaussian_nb = "gaussian-nb"
    categorical_nb = "categorical-nb"
    linear = "linear"
    ridge = "ridge"
    kmeans = "kmeans"
    pca = "pca"


class SolverName(StrEnum):
    """How a logistic regression is fitted."""

    objective = "objective"
    output = "output"
    moments = "moments"


@app.command(
    epilog=examples(
        "understudy learn patients.csv --schema p.json --target sick -o model.json",
        "# a regression, on a ledger that all releases of the table share",
        "understudy learn p.csv --schema p.json --target cost --model linear --ledger p.ledger",
        "# rows that stay in a database: a solver that only asks",
        "understudy learn 'postgresql://me@db/d?table=p' --schema p.json --target sick "
        "--solver moments",
    )
)
@reads_files
@takes_unread_columns
@uses_ledger
def learn(
    table: RowsAnywhere,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that is to be predicted.")
    ] = None,
    model: Annotated[
        LearnerName, typer.Option("--model", help="What to learn.")
    ] = LearnerName.logistic,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Where the model goes (JSON).")
    ] = Path("model.json"),
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.0,
    schema: SchemaFile = None,
    unread: Any = None,
    discovery: DiscoveryShare = None,
    keep_going: KeepGoing = False,
    solver: Annotated[
        SolverName | None,
        typer.Option(help="Of a logistic regression; moments runs wherever the rows are."),
    ] = None,
    clusters: Annotated[
        int | None, typer.Option(metavar="K", help="Of kmeans: how many; by default 8.")
    ] = None,
    components: Annotated[
        int | None, typer.Option(metavar="K", help="Of pca: how many; by default all.")
    ] = None,
    row_norm: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Rows are shortened to this length; see the docs."),
    ] = None,
    neighbours: Neighbour = Relation.add_remove,
    person: Person = None,
    max_rows_per_person: MaxRowsPerPerson = 1,
    ledger: LedgerOptions = NO_LEDGER_FILE,
    engine: CountedBy = None,
    quiet: Quiet = False,
    reading: Any = None,
) -> None:
    """Train a model on a sensitive table, privately."""
    from understudy.data.files import writable_file

    talk = Talk(quiet)
    learner = _make_learner(
        model,
        epsilon=epsilon,
        delta=delta,
        solver=None if solver is None else solver.value,
        n_clusters=clusters,
        n_components=components,
        row_norm=row_norm,
    )
    from understudy.learners import DiscoveryTerms, ProtectedUnit
    from understudy.learners import learn as train

    writable_file(output, "model")
    books = ledger.open(talk)
    check_distinct(str(table), output, ledger.path, schema)
    if books is not None:
        books.read()
        learner.set_params(ledger=books)
    notes: list[str] = []
    with talk.working("reading and learning") as progress:
        trained = train(
            learner,
            str(table),
            load_public_facts(schema, unread or {}),
            target=target,
            discovery=DiscoveryTerms(share=discovery, keep_going=keep_going),
            unit=ProtectedUnit(
                neighbours=relation_of(neighbours) or "add_remove",
                person=person,
                max_rows_per_person=max_rows_per_person,
            ),
            engine=None if engine is None else engine.value,
            notify=notes.append,
            progress=progress,
            **(reading or {}),
        )
    trained.save(output)
    talk.notes(notes)
    talk.say(trained.ledger.statement())
    if books is None:
        talk.say(NO_LEDGER)
    talk.say(f"Model: {output}")


_OPTIONS = {
    "solver": "--solver",
    "n_clusters": "--clusters",
    "n_components": "--components",
    "row_norm": "--row-norm",
}


def _make_learner(model: LearnerName, **given: Any) -> Learner:
    """The learner with the options that were given; those of another are refused."""
    try:
        from understudy.learners.training import find_learner
    except ImportError as error:
        raise InputError(str(error)) from error
    kind = find_learner(model.value)
    known = kind().get_params(deep=False)
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in known:
            raise InputError(f"{_OPTIONS[name]} does not go with --model {model.value}.")
    return kind(**chosen)
