"""``understudy anonymise``: k-anonymity and its kin, beside what they do not protect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from understudy.cli.checks import check_distinct
from understudy.cli.options import Quiet
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, grid_of, print_json, print_sentence, safe
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.anonymity.checking import Check
    from understudy.anonymity.reviewing import Review


class GroupingMethod(StrEnum):
    """How rows are put into groups."""

    mondrian = "mondrian"
    relaxed = "relaxed"
    lattice = "lattice"


class Counting(StrEnum):
    """How different values are counted."""

    distinct = "distinct"
    entropy = "entropy"
    recursive = "recursive"


class Ground(StrEnum):
    """How far values are apart."""

    auto = "auto"
    equal = "equal"
    ordered = "ordered"
    hierarchical = "hierarchical"
    difference = "difference"


@app.command(
    epilog=examples(
        "# groups of at least 5 rows with 2 different illnesses each",
        "understudy anonymise patients.csv --quasi age,sex,zip --sensitive illness --k 5 --l 2 "
        "-o out.csv",
        "# is this table already anonymous, and why not; nothing is written",
        "understudy anonymise patients.csv --quasi age,sex,zip --sensitive illness --check",
        "# with a report, beside a release with differential privacy",
        "understudy anonymise patients.csv --schema s.json --k 5 -o out.csv --report r.html "
        "--compare",
    )
)
@reads_files
def anonymise(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="The table, as a file.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where the anonymised table goes."),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", metavar="FILE", help="Roles, orders and taxonomies of columns."),
    ] = None,
    quasi: Annotated[
        str, typer.Option(metavar="NAMES", help="Columns that others may know about a person.")
    ] = "",
    sensitive: Annotated[
        str, typer.Option(metavar="NAMES", help="Columns that nobody should learn.")
    ] = "",
    identifier: Annotated[
        str, typer.Option(metavar="NAMES", help="Columns that name a person: left out.")
    ] = "",
    insensitive: Annotated[
        str, typer.Option(metavar="NAMES", help="Columns that are published as they are.")
    ] = "",
    k: Annotated[int, typer.Option("--k", help="The least rows of a group.")] = 5,
    least_values: Annotated[
        int | None, typer.Option("--l", help="The least values of a sensitive column in a group.")
    ] = None,
    closeness: Annotated[
        float | None,
        typer.Option("--t", help="How far a group may be from the whole table, from 0 to 1."),
    ] = None,
    diversity: Annotated[
        Counting, typer.Option(help="How values are counted for --l.")
    ] = Counting.distinct,
    ratio: Annotated[
        float, typer.Option("--c", help="For --diversity recursive: the largest ratio.")
    ] = 3.0,
    distance: Annotated[Ground, typer.Option(help="How --t is measured.")] = Ground.auto,
    method: Annotated[
        GroupingMethod,
        typer.Option(help="Groups of similar rows, or one level per column (lattice)."),
    ] = GroupingMethod.mondrian,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=HOW",
            help="For lattice: zip=prefix, age=5 (ranges of 5, 10, 20, ...) or "
            "job=levels.json; may be repeated.",
        ),
    ] = None,
    suppress: Annotated[
        float,
        typer.Option(metavar="SHARE", help="For lattice: the share of rows that may be left out."),
    ] = 0.0,
    check: Annotated[
        bool, typer.Option("--check", metavar="", help="Only tell what the table is, and why.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a page for the owner: losses and attacks."),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            metavar="",
            help="Beside it, make a release with differential privacy (epsilon 1) and compare.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="Print JSON.")] = False,
    reading: Any = None,
    quiet: Quiet = False,
) -> None:
    """Make a table k-anonymous, l-diverse or t-close. This is not differential privacy."""
    from understudy.anonymity.requirement import Requirement
    from understudy.anonymity.roles import Roles

    task = AnonymiseTask(
        table=table,
        roles=Roles(
            quasi_identifiers=_split(quasi),
            sensitive=_split(sensitive),
            identifiers=_split(identifier),
            insensitive=_split(insensitive),
        ),
        requirement=Requirement(
            k=k,
            l=least_values,
            diversity=diversity.value,
            c=ratio,
            t=closeness,
            distance=distance.value,
        ),
        schema=schema,
        reading=reading or {},
        as_json=as_json,
    )
    if check:
        if output is not None or compare:
            raise InputError("--check only looks; leave out --output and --compare, or --check.")
        task.print_check()
        return
    if output is None:
        raise InputError("Say where the anonymised table goes (-o FILE), or --check.")
    check_distinct(table, output, schema, report)
    talk = Talk(quiet)
    with talk.working("anonymising"):
        review = task.review(
            method=method.value,
            hierarchies=_read_hierarchies(hierarchy or []),
            max_suppressed=suppress,
            compare=compare,
        )
    review.release.write(output)
    if report is not None:
        from understudy.reports.anonymity import write_anonymity_report

        write_anonymity_report(report, review)
    task.print_review(review, talk)


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _read_hierarchies(given: list[str]) -> dict[str, Any]:
    from understudy.data.files import read_json

    found: dict[str, Any] = {}
    for text in given:
        name, equals, how = (part.strip() for part in text.rpartition("="))
        if not (name and equals and how):
            raise InputError(
                f"The hierarchy {text!r} is not of the form name=prefix, name=width or "
                "name=file.json."
            )
        try:
            found[name] = float(how)
        except ValueError:
            found[name] = how
            if how.endswith(".json"):
                found[name] = read_json(Path(how), "hierarchy")
    return found


@dataclass(frozen=True, kw_only=True)
class AnonymiseTask:
    """A table, its roles and what is asked of it."""

    table: Path
    roles: Any
    requirement: Any
    schema: Path | None
    reading: dict[str, Any]
    as_json: bool

    def print_check(self) -> None:
        """Tell what the table is."""
        from understudy.anonymity.checking import check_table

        found = check_table(self._read(), self.roles, self.requirement, schema=self.schema)
        if self.as_json:
            print_json({"check": found.to_dict(), "explanation": found.explain()})
            return
        _print_figures(Console(highlight=False), found)

    def review(self, **options: Any) -> Review:
        """Anonymise, attack and compare."""
        from understudy.anonymity.reviewing import review_release

        return review_release(
            self._read(), self.roles, self.requirement, schema=self.schema, **options
        )

    def _read(self) -> Any:
        from understudy.data.tables import read_table

        return read_table(self.table, **self.reading)

    def print_review(self, review: Review, talk: Talk) -> None:
        """Tell what was done, what it cost and what it does not protect."""
        if self.as_json:
            print_json(json.loads(json.dumps(review.to_dict())))
            return
        if talk.quiet:
            return
        release = review.release
        for note in release.notes:
            talk.say(note)
        console = Console(highlight=False)
        _print_figures(console, release.after)
        loss = release.loss
        print_sentence(
            console,
            f"Lost: {loss.generalisation:.1%} of what the quasi-identifiers told, "
            f"{release.suppressed:,} rows left out; {loss.class_size:.1f} rows in a group.",
        )
        grid = grid_of("what an attacker learns", "attack", "#before", "#after")
        for before, after in review.attacks:
            grid.add_row(safe(after.attack), f"{before.learned:.1%}", f"{after.learned:.1%}")
        if review.attacks:
            console.print(grid)
        for sentence in review.say_comparison():
            print_sentence(console, sentence)


def _print_figures(console: Console, check: Check) -> None:
    print_sentence(console, check.verdict)
    parts = [f"k = {check.k:,} over {check.groups:,} groups"]
    for figures in check.sensitive:
        parts.append(
            f"{figures.column}: l = {figures.distinct} (entropy {figures.entropy:.2f}), "
            f"t = {figures.distance:.3f}"
        )
    print_sentence(console, "; ".join(parts) + ".")
    for sentence in check.explain():
        print_sentence(console, f"- {sentence}")
