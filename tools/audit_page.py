"""Writes the measured tables of docs/audit.md and docs/attacks.md again.

    python tools/audit_page.py [--runs RUNS] [--processes N] [--again] [NAME ...]

A table stands between two comments, ``<!-- audit:NAME -->`` and ``<!-- /audit -->``; the text
around it is left alone. Without names all tables are written, each as soon as it is made. What was
made is kept in ``.audit``, so that a run that was stopped goes on where it was: a table that was
made with the same code and as many runs is not made again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from understudy.auditing import CONFIDENCE, CONTROL_RUNS, audit, audit_subjects
from understudy.auditing.findings import Finding, markdown, number, overall

EPSILONS = (0.1, 1.0, 5.0)
ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
"""Published tables, where they are at hand."""

PAGES = (ROOT / "docs" / "audit.md", ROOT / "docs" / "attacks.md")
KEPT = ROOT / ".audit"

RUNS = 2000
"""A claim of 5 can be refuted: with 1,850 on each table no bound exceeds 4.998, with 2,000 5.08."""

LONGEST = ("membership", "discovery", "gaussian", "adaptive", "privbayes", "mst")
"""These are begun first, so that no process waits for another at the end."""


def tables(runs: int) -> dict[str, Callable[[], str]]:
    """What makes each table."""
    many = max(runs, CONTROL_RUNS)
    compared = {
        name: partial(_side_by_side, name, runs) for name in audit_subjects() if name != "controls"
    }
    return {
        **compared,
        "membership": _membership,
        "controls": lambda: (
            audit("controls", runs=many, notify=partial(_say, "controls")).markdown() + _note(many)
        ),
        "sound": lambda: markdown(_sound(many)) + _note(many),
    }


def _side_by_side(subject: str, runs: int) -> str:
    """One line a finding, one column an epsilon: what was measured there, and the claim where it is
    not epsilon.
    """
    found: dict[tuple[str, str, str], dict[float, Finding]] = {}
    for epsilon in EPSILONS:
        for finding in audit(subject, epsilon, runs=runs, notify=partial(_say, subject)).details:
            found.setdefault((finding.subject, finding.test, finding.unit), {})[epsilon] = finding
    lines = [
        "| subject | test | unit | "
        + " | ".join(f"claimed epsilon {epsilon:g}" for epsilon in EPSILONS)
        + " | |",
        "|---|---|---|" + "--:|" * len(EPSILONS) + "---|",
    ]
    for key, by_epsilon in found.items():
        cells = [_cell(by_epsilon.get(epsilon)) for epsilon in EPSILONS]
        lines.append("| " + " | ".join([*key, *cells, _verdict(by_epsilon)]) + " |")
    runs_are_made = any(test == "runs" for _, test, _ in found)
    return "\n".join(lines) + "\n" + (_note(runs) if runs_are_made else "")


def _verdict(by_epsilon: dict[float, Finding]) -> str:
    """That of all epsilons together, and where there are too few runs to tell."""
    verdict = overall(by_epsilon.values())
    too_few = [
        f"{epsilon:g}"
        for epsilon, finding in by_epsilon.items()
        if finding.verdict == "too few runs"
    ]
    if verdict == "kept" and too_few:
        return f"{verdict}; too few runs at {', '.join(too_few)}"
    return verdict


def _cell(finding: Finding | None) -> str:
    if finding is None:
        return ""
    if finding.unit.startswith("epsilon"):
        return f"{finding.measured:.4f}"
    return f"{number(finding.measured)} of {number(finding.claimed)}"


def _note(runs: int) -> str:
    return f'\n"Runs": {runs:,} on each table, bounds at {CONFIDENCE:.1%} confidence.\n'


def _sound(runs: int) -> list[Finding]:
    from understudy.auditing.controls import sound_controls

    return [control.finding(runs) for epsilon in EPSILONS for control in sound_controls(epsilon)]


def real_tables() -> dict[str, tuple[Any, Any]]:
    """The demo's table, and a published one where it is at hand."""
    from understudy.data.demo import demo_frame, demo_schema

    sys.path.append(str(ROOT / "studies"))
    from published import published

    found: dict[str, tuple[Any, Any]] = {
        "Fair's survey (the demo)": (demo_frame(), demo_schema()),
    }
    if DATA.is_dir():
        found["Adult"] = published("adult", DATA)
    return found


def _membership() -> str:
    """The membership game with its defaults, at epsilon 1, on each table that is at hand."""
    from understudy import PrivBayes
    from understudy.attacks import membership

    lines = [
        "| table | PrivBayes: advantage | worst off | epsilon allows | control |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, (table, schema) in real_tables().items():
        game = membership(PrivBayes(epsilon=1.0), table, schema)
        assert game.control is not None
        worst = max(target.advantage for target in game.targets)
        measured = f"{game.attack.measured:.3f} ± {2 * game.attack.figures['deviation']:.3f}"
        lines.append(
            f"| {name} | {measured} | {worst:.2f} | {game.attack.allowed:.3f} "
            f"| {game.control.measured:.3f} |"
        )
    return "\n".join(lines) + "\n"


# ---- one table after the other


@dataclass(frozen=True, kw_only=True)
class Made:
    """A table, and what it was made with."""

    name: str
    text: str
    runs: int
    code: str
    """The digest of the code that made it."""
    seconds: float
    """Of CPU."""

    @property
    def failed(self) -> bool:
        """Whether a guarantee was found broken, or a broken control passed."""
        verdicts = {
            line.rsplit("|", 2)[1].strip() for line in self.text.splitlines() if "|" in line
        }
        if self.name == "controls":
            return bool(verdicts & {"kept", "too few runs"})
        return bool(verdicts & {"broken", "wasteful"})


def digest_code() -> str:
    """What tells two states of the code apart: of the package, and of this file."""
    digest = hashlib.sha256()
    for path in (*sorted((ROOT / "src").rglob("*.py")), Path(__file__).resolve()):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def make_table(name: str, runs: int, code: str) -> Made:
    """Make a table, and say what it took."""
    started = time.process_time()
    text = tables(runs)[name]()
    spent = round(time.process_time() - started, 1)
    return Made(name=name, text=text, runs=runs, code=code, seconds=spent)


def load_made(kept: Path) -> dict[str, Made]:
    """The tables that were made before."""
    files = sorted(kept.glob("*.json"))
    return {path.stem: Made(**json.loads(path.read_text(encoding="utf-8"))) for path in files}


def make_tables(
    names: Collection[str], runs: int, kept: Path, *, processes: int = 1, again: bool = False
) -> Iterator[Made]:
    """The tables of these names, each as soon as it is there.

    Those that were made before with the same code and as many runs come first.
    """
    code = digest_code()
    before = load_made(kept)
    left = []
    for name in names:
        made = before.get(name)
        if made is not None and (made.code, made.runs) == (code, runs) and not again:
            yield made
        else:
            left.append(name)
    left.sort(key=lambda name: LONGEST.index(name) if name in LONGEST else len(LONGEST))
    for made in _compute(left, runs, code, processes):
        kept.mkdir(exist_ok=True)
        path = kept / f"{made.name}.json"
        path.with_suffix(".part").write_text(json.dumps(asdict(made)), encoding="utf-8")
        path.with_suffix(".part").rename(path)
        yield made


def _compute(names: Sequence[str], runs: int, code: str, processes: int) -> Iterator[Made]:
    if processes == 1 or len(names) < 2:
        for name in names:
            yield make_table(name, runs, code)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        pending = [pool.submit(make_table, name, runs, code) for name in names]
        try:
            for future in as_completed(pending):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _place(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- audit:{name} -->\n).*?(<!-- /audit -->)", re.DOTALL)


def write_table(page: Path, name: str, text: str) -> None:
    """Put a table into its place on a page, if the page has one."""
    before = page.read_text(encoding="utf-8")
    after = _place(name).sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", before)
    if after != before:
        page.write_text(after, encoding="utf-8")


def regenerate(
    pages: Sequence[Path],
    runs: int,
    names: Sequence[str] = (),
    *,
    kept: Path = KEPT,
    processes: int = 1,
    again: bool = False,
) -> list[Made]:
    """Replace the tables of some pages (those named, or all), where they are, by new ones."""
    texts = [page.read_text(encoding="utf-8") for page in pages]
    wanted = [
        name
        for name in tables(runs)
        if (not names or name in names) and any(_place(name).search(text) for text in texts)
    ]
    done: list[Made] = []
    for made in make_tables(wanted, runs, kept, processes=processes, again=again):
        done.append(made)
        for page in pages:
            write_table(page, made.name, made.text)
            write_table(page, "costs", tell_costs(load_made(kept)))
        told = f"{made.name}: {made.seconds:,.0f} CPU seconds, table {len(done)} of {len(wanted)}"
        print(told, file=sys.stderr, flush=True)
    return done


def tell_costs(kept: dict[str, Made]) -> str:
    """Which table was made by which code, with how many runs, and what it took."""
    lines = ["| table | made by code | runs | CPU seconds |", "|---|---|--:|--:|"]
    for name in tables(RUNS):
        if name in kept:
            made = kept[name]
            lines.append(f"| {name} | `{made.code}` | {made.runs:,} | {made.seconds:,.0f} |")
    total = sum(made.seconds for made in kept.values())
    return "\n".join([*lines, f"| all | | | {total:,.0f} |"]) + "\n"


def _say(subject: str, finding: Finding) -> None:
    """Tell each finding as it comes, so that nobody thinks that it stands still."""
    what = f"{subject}: {finding.subject}, {finding.test}, claimed {number(finding.claimed)}"
    print(f"  {what}: {finding.verdict}", file=sys.stderr, flush=True)


def main() -> int:
    """Write the tables of both pages; fails where a guarantee was found broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("names", nargs="*", help="tables to write; all when none is named")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs on each table")
    parser.add_argument("--processes", type=int, default=1, help="tables made at a time")
    parser.add_argument("--again", action="store_true", help="also those that were made before")
    given = parser.parse_args()
    done = regenerate(PAGES, given.runs, given.names, processes=given.processes, again=given.again)
    failed = [made.name for made in done if made.failed]
    if failed:
        print(f"not as it should be: {', '.join(failed)}", file=sys.stderr)
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main())
