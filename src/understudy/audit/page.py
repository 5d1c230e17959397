"""Regenerates the tables of docs/audit.md: ``python -m understudy.audit.page docs/audit.md [RUNS]``.

A table stands between two comments, ``<!-- audit:NAME -->`` and ``<!-- /audit -->``; the text around it is left alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from understudy.audit import CONFIDENCE, CONTROL_RUNS, audit
from understudy.audit.findings import Finding, markdown

EPSILONS = (0.1, 1.0, 5.0)


def tables(runs: int) -> dict[str, Callable[[], str]]:
    """What makes each table."""
    return {
        "doors": lambda: _side_by_side("doors", runs),
        "independent": lambda: _side_by_side("independent", runs),
        "privbayes": lambda: _side_by_side("privbayes", runs),
        "controls": lambda: audit("controls", runs=max(runs, CONTROL_RUNS)).markdown() + _note(max(runs, CONTROL_RUNS)),
        "sound": lambda: markdown(_sound(max(runs, CONTROL_RUNS))) + _note(max(runs, CONTROL_RUNS)),
    }


def _side_by_side(subject: str, runs: int) -> str:
    """One line a finding, one column an epsilon: what was measured there."""
    results = [audit(subject, epsilon, runs=runs).details for epsilon in EPSILONS]
    lines = [
        "| subject | test | " + " | ".join(f"claimed {epsilon:g}" for epsilon in EPSILONS) + " | |",
        "|---|---|" + "--:|" * len(EPSILONS) + "---|",
    ]
    for same in zip(*results, strict=True):
        verdict = "broken" if any(finding.verdict == "broken" for finding in same) else "kept"
        cells = " | ".join(f"{finding.measured:.4f}" for finding in same)
        lines.append(f"| {same[0].subject} | {same[0].test} | {cells} | {verdict} |")
    return "\n".join(lines) + "\n" + (_note(runs) if subject != "doors" else "")


def _note(runs: int) -> str:
    return f'\n"Runs": {runs:,} on each table, bounds at {CONFIDENCE:.1%} confidence.\n'


def _sound(runs: int) -> list[Finding]:
    from understudy.audit.controls import sound_controls

    return [control.finding(runs) for epsilon in EPSILONS for control in sound_controls(epsilon)]


def regenerate(page: Path, runs: int) -> None:
    """Replace the tables of a page, where they are, by new ones, each as soon as it is done."""
    for name, make in tables(runs).items():
        place = re.compile(rf"(<!-- audit:{name} -->\n).*?(<!-- /audit -->)", re.DOTALL)
        if place.search(page.read_text(encoding="utf-8")):
            new = rf"\g<1>\n{make()}\n\g<2>"
            page.write_text(place.sub(new, page.read_text(encoding="utf-8")), encoding="utf-8")
            print(f"{name}: done", file=sys.stderr)


if __name__ == "__main__":
    regenerate(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5000)
