"""Writes the measured tables of docs/audit.md and docs/attacks.md again.

    python tools/audit_page.py [--runs RUNS] [NAME ...]

A table stands between two comments, ``<!-- audit:NAME -->`` and ``<!-- /audit -->``; the text
around it is left alone. Without names all tables are written.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from understudy.auditing import CONFIDENCE, CONTROL_RUNS, audit, audit_subjects
from understudy.auditing.findings import Finding, markdown, number, overall

EPSILONS = (0.1, 1.0, 5.0)
ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
"""Published tables, where they are at hand."""


def tables(runs: int) -> dict[str, Callable[[], str]]:
    """What makes each table."""
    many = max(runs, CONTROL_RUNS)
    compared = {
        name: partial(_side_by_side, name, runs) for name in audit_subjects() if name != "controls"
    }
    return {
        **compared,
        "membership": _membership,
        "controls": lambda: audit("controls", runs=many).markdown() + _note(many),
        "sound": lambda: markdown(_sound(many)) + _note(many),
    }


def _side_by_side(subject: str, runs: int) -> str:
    """One line a finding, one column an epsilon: what was measured there, and the claim where it is
    not epsilon.
    """
    found: dict[tuple[str, str, str], dict[float, Finding]] = {}
    for epsilon in EPSILONS:
        for finding in audit(subject, epsilon, runs=runs).details:
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


def regenerate(page: Path, runs: int, names: Sequence[str] = ()) -> None:
    """Replace the tables of a page (those named, or all), where they are, by new ones, each as soon
    as it is done.
    """
    for name, make in tables(runs).items():
        place = re.compile(rf"(<!-- audit:{name} -->\n).*?(<!-- /audit -->)", re.DOTALL)
        if (not names or name in names) and place.search(page.read_text(encoding="utf-8")):
            started = time.process_time()
            new = rf"\g<1>\n{make()}\n\g<2>"
            page.write_text(place.sub(new, page.read_text(encoding="utf-8")), encoding="utf-8")
            spent = time.process_time() - started
            print(f"{name}: done in {spent:.0f} CPU seconds", file=sys.stderr, flush=True)


def main() -> None:
    """Write the tables of both pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tables to write; all when none is named")
    parser.add_argument("--runs", type=int, default=2000, help="runs on each table")
    given = parser.parse_args()
    for page in (ROOT / "docs" / "audit.md", ROOT / "docs" / "attacks.md"):
        regenerate(page, given.runs, given.names)


if __name__ == "__main__":
    main()
