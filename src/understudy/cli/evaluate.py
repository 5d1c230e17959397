"""``understudy evaluate``: how close a synthetic table is to the real one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from understudy.cli.attack import (
    adversary_of,
    promise_of,
    quasi_identifiers_option,
    run_attacks,
    secret_option,
)
from understudy.cli.checks import check_distinct, frame_at
from understudy.cli.options import QuietResult, names_between
from understudy.cli.reading import reads_files
from understudy.cli.root import app, examples
from understudy.cli.talk import Talk, grid_of, print_json, safe
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.attacks import Attacks
    from understudy.data.schema import Schema
    from understudy.evaluation import Evaluation
    from understudy.evaluation.model_results import LearningTask
    from understudy.evaluation.result import BrokenRule, ColumnComparison

_COLOURS = {"good": "green", "fair": "yellow", "poor": "red", "unknown": "dim"}
_ATTACKS: Any = {"rich_help_panel": "Attacks (any of these adds them)"}
MAX_SHOWN_RULES, MIN_SUMMED_UP = 10, 5
_WARNING = "For you, not for release: this was computed from the real rows, without noise."


@app.command(
    epilog=examples(
        "# a summary on the screen",
        "understudy evaluate patients.csv synthetic.csv --schema patients.json",
        "# a report with pictures, and what can be learned about a column",
        "understudy evaluate patients.csv synthetic.csv --model m.json --target smoker -o "
        "report.html",
        "# attacks too, judged by rows that were set aside beforehand",
        "understudy evaluate used.csv synthetic.csv --holdout others.csv --secret smoker -o "
        "report.html",
    )
)
@reads_files
def evaluate(
    real: Annotated[
        Path, typer.Argument(metavar="REAL", help="The sensitive table: CSV or Parquet.")
    ],
    synthetic: Annotated[
        Path, typer.Argument(metavar="SYNTHETIC", help="The synthetic table: CSV or Parquet.")
    ],
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Which columns are identifiers and text, and how cells are read.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write a report with pictures here (HTML)."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", metavar="", help="Print everything as JSON.")
    ] = False,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="A column that should be learned from the others; repeatable."
        ),
    ] = None,
    learners: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="What to learn it with: fast, thesis, all, or names between commas.",
        ),
    ] = "fast",
    order: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            help="Compare tables of this many columns; repeatable. 1, 2 and 3 when not given.",
        ),
    ] = None,
    max_marginals: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Tables of an order that are compared, a sample if there are more; 0: all.",
        ),
    ] = 600,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The released model: its schema, network and guarantee are used."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="For samples, splits and learners.")] = 0,
    holdout: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Rows set aside at random, not used, to judge by.", **_ATTACKS
        ),
    ] = None,
    quasi_identifiers: Annotated[str, quasi_identifiers_option(**_ATTACKS)] = "",
    secret: Annotated[str | None, secret_option(**_ATTACKS)] = None,
    reading: Any = None,
    quiet: QuietResult = False,
) -> None:
    """Compare a synthetic table with the real one, for you and not for release."""
    from understudy.data.files import writable_file
    from understudy.evaluation import evaluate as compare
    from understudy.models.model import Model

    for table in (real, synthetic):  # which may be one file: a table has no distance from itself
        check_distinct(table, schema, model, holdout, output)
    if output is not None:
        writable_file(output, "report")
    _check_extra()
    if seed < 0 or max_marginals < 0:
        wrong, given = "max-marginals", max_marginals
        if seed < 0:
            wrong, given = "seed", seed
        raise InputError(f"--{wrong} must be a whole number at or above 0, not {given}.")
    talk = Talk(quiet)
    released = None
    if model is not None:
        released = Model.load(model)
    with talk.working("comparing") as progress:
        rows = frame_at(real, reading)
        found = compare(
            rows,
            synthetic,
            schema,
            target=target,
            learners=learners if learners in ("fast", "thesis", "all") else names_between(learners),
            orders=tuple(dict.fromkeys(order or ())) or None,
            max_marginals=max_marginals or None,
            seed=seed,
            model=released,
            progress=progress,
        )
    attacks = None
    if holdout is not None or quasi_identifiers or secret is not None:
        promise = None
        public: Path | Schema | None = schema
        if released is not None:
            promise = promise_of(released, talk)
            public = schema or released.schema
        known = adversary_of(holdout, quasi_identifiers, secret, reading)
        attacks = run_attacks(rows, synthetic, public, talk, promise=promise, seed=seed, **known)
    if output is not None:
        from understudy.reports.owner import write_owner_report

        write_owner_report(found, output, model=released, attacks=attacks)
    if as_json:
        document = {"for": "the owner of the table, not for release", **found.to_dict()}
        if attacks is not None:
            document["attacks"] = attacks.to_dict()
        print_json(document)
    elif output is None:
        _show(found, attacks)
    if not as_json:
        talk.notes(_notes(found, attacks))
    if output is not None:
        for start, uses, _ in _verdict_lines(found):
            talk.say(f"{start}: {', '.join(uses)}")
        talk.say(f"Report, for you and not for release: {output}")


def write_owner_page(
    real: Path, synthetic: Path, model: Path, output: Path, targets: Sequence[str], talk: Talk
) -> bool:
    """Write the owner's report of a model's rows; False, and nothing done, where the extra is not
    installed.
    """
    from understudy.evaluation import evaluate as compare
    from understudy.models.model import Model
    from understudy.reports.owner import write_owner_report

    if _find_lacking_packages():
        return False
    released = Model.load(model)
    with talk.working("comparing") as progress:
        found = compare(real, synthetic, target=targets, model=released, progress=progress)
    write_owner_report(found, output, model=released)
    return True


def _find_lacking_packages() -> list[str]:
    needed = {"sklearn": "scikit-learn", "scipy": "scipy", "xgboost": "xgboost"}
    return [name for module, name in needed.items() if find_spec(module) is None]


def _check_extra() -> None:
    lacking = _find_lacking_packages()
    if lacking:
        raise InputError(
            f"An evaluation needs {', '.join(lacking)}; install it by `pip install "
            '"understudy[evaluation]"`. Without '
            "it, `understudy attack` works, and in Python "
            "understudy.evaluation.marginals.marginal_errors."
        )


# --------------------------------------------------------------------------- on the screen


def _notes(found: Evaluation, attacks: Attacks | None) -> dict[str, None]:
    """What did not fit, what failed and what was left out; a sentence that comes up twice is said
    once.
    """
    learning = (f"Learning {task.target}: {note}" for task in found.learning for note in task.notes)
    return dict.fromkeys(
        (*found.shape.notes, *learning, *(() if attacks is None else attacks.notes))
    )


def _show(found: Evaluation, attacks: Attacks | None) -> None:
    console = Console(highlight=False)
    console.print(_WARNING, style="bold")
    _show_verdict(found, console)
    shape = found.shape
    grid = grid_of(
        f"{shape.synthetic_rows:,} synthetic rows against {shape.real_rows:,} real ones",
        "",
        "why, the worst first",
    )
    for finding in found.findings:
        grid.add_row(f"[{_COLOURS[finding.grade]}]{finding.grade}[/]", safe(finding.sentence))
    console.print(grid)
    console.print(_columns(found))
    _show_rules(found.rules, console)
    for task in found.learning:
        console.print(_make_learning_grid(task))
    if attacks is not None:
        grid = grid_of("Attacks", "attack", "what was found", "verdict")
        for attack in attacks:
            grid.add_row(safe(attack.name), safe(attack.found), attack.verdict)
        console.print(grid)
    console.print(
        "Distance: total variation, 0 (equal) to 1. KS: Kolmogorov-Smirnov by value, and by bin. "
        "With pictures: -o report.html",
        style="dim",
    )


def _show_verdict(found: Evaluation, console: Console) -> None:
    for start, uses, colour in _verdict_lines(found):
        console.print(f"[bold {colour}]{start}:[/] {safe(', '.join(uses))}")


def _verdict_lines(found: Evaluation) -> list[tuple[str, Sequence[str], str]]:
    """What the table is fit for and what not, each with its colour."""
    verdict = found.verdict
    lines = (
        ("Fit for", verdict.fit_for or ("nothing",), "green" if verdict.fit_for else "red"),
        ("Too few rows to tell", verdict.undecided, "dim"),
        ("Not for", verdict.not_for, "red"),
    )
    return [line for line in lines if line[1]]


def _columns(found: Evaluation) -> Any:
    """The columns, the furthest first; of many that are alike but for a number, only that one."""
    missing = any(column.real_missing or column.synthetic_missing for column in found.columns)
    headings = ["column", "kind", "#distance", "#KS", "#KS, bins"]
    if missing:
        headings.append("#missing (real)")
    grid = grid_of("Columns", *headings)
    for column, more in _sum_up(found.columns):
        kind, name = column.kind, safe(column.name)
        if column.lost:
            kind = f"[red]lost ({column.state})[/]"
        if more:
            name += f" [dim](+{more} alike)[/]"
        distances = (column.kolmogorov_smirnov, column.kolmogorov_smirnov_binned)
        cells = ["" if distance is None else f"{distance:.3f}" for distance in distances]
        if missing:
            cells.append(f"{column.synthetic_missing:.1%} ({column.real_missing:.1%})")
        grid.add_row(name, kind, f"{column.total_variation:.3f}", *cells)
    return grid


def _sum_up(columns: Iterable[ColumnComparison]) -> Iterator[tuple[ColumnComparison, int]]:
    """The columns, the furthest first, and how many each stands for: of columns such as q1 to q20
    that are close to the real ones, the furthest stands for the others.
    """
    from understudy.evaluation.grades import GOOD_DISTANCE

    alike: dict[tuple[str, ...], list[ColumnComparison]] = {}
    for column in sorted(columns, key=lambda column: -column.total_variation):
        key: tuple[str, ...] = (column.name, "")
        if column.total_variation <= GOOD_DISTANCE and not column.lost and _stem(column.name):
            key = (_stem(column.name), column.kind, "numbered")
        alike.setdefault(key, []).append(column)
    lines = []
    for group in alike.values():
        if len(group) < MIN_SUMMED_UP:
            lines += [(column, 0) for column in group]
        else:
            lines.append((group[0], len(group) - 1))
    yield from sorted(lines, key=lambda line: -line[0].total_variation)


def _stem(name: str) -> str:
    """What stands before the number of a column, ``item_`` of ``item_07``; empty without one."""
    return name.rstrip("0123456789") if name[-1:].isdecimal() else ""


def _show_rules(rules: tuple[BrokenRule, ...], console: Console) -> None:
    """Rules that real rows keep and synthetic rows break, and what to write into a schema."""
    from understudy.evaluation.grades import percent
    from understudy.evaluation.rules import REMEDY, broken_rules, write_constraints

    broken = broken_rules(rules)
    if not broken:
        return
    grid = grid_of("Rules that real rows keep", "rule", "#broken", "#real")
    for rule in broken[:MAX_SHOWN_RULES]:
        grid.add_row(safe(rule.text), percent(rule.synthetic), percent(rule.real))
    console.print(grid)
    if len(broken) > MAX_SHOWN_RULES:
        console.print(f"and {len(broken) - MAX_SHOWN_RULES} more: -o report.html or --json")
    console.print(REMEDY)
    console.print(safe(write_constraints(broken[:MAX_SHOWN_RULES])), soft_wrap=True)


def _make_learning_grid(task: LearningTask) -> Any:
    measure = task.measures[0]
    grid = grid_of(
        f"Learning {safe(task.target)}: {measure} on real rows",
        "learner",
        "#from synthetic",
        "#from real",
    )
    for scores in task.learners:
        ways = (scores.synthetic_to_real, scores.real_to_real)
        grid.add_row(safe(scores.learner), *(_score(way.get(measure), measure) for way in ways))
    commonest = _score(task.majority.get(measure), measure)
    grid.add_section()
    grid.add_row(task.floor, commonest, commonest)
    return grid


def _score(value: float | None, measure: str) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    if measure == "r2" and value < -0.0005:
        return "no fit"
    return f"{value:.3f}"
