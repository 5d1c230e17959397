"""Does it keep its promise? Tests that try to break the guarantee, and that can tell a broken one.

:func:`audit` measures what the curator's doors or a synthesizer lose on worst-case pairs of neighbouring tables, beside
what they claim. :mod:`~understudy.audit.blackbox` does the same for any function; :mod:`~understudy.audit.controls`
holds the broken methods that show that the audit sees what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from understudy.audit.blackbox import Evidence, black_box, tell_apart
from understudy.audit.bounds import CONFIDENCE, epsilon_bound, mu_bound
from understudy.audit.findings import AuditResult, Finding
from understudy.curator.budget import check_epsilon
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.synthesizers import Synthesizer

__all__ = [
    "CONFIDENCE",
    "SUBJECTS",
    "AuditResult",
    "Evidence",
    "Finding",
    "audit",
    "black_box",
    "epsilon_bound",
    "mu_bound",
    "tell_apart",
]

SUBJECTS = ("doors", "independent", "privbayes", "controls")

RUNS = 2000

CONTROL_RUNS = 4000
"""The controls are simulated at least so often: it takes no time, and each of them must be flagged."""

Told = Callable[[Finding], None]


def _tell_nobody(finding: Finding) -> None:
    pass


def audit(
    method: str | Synthesizer,
    epsilon: float = 1.0,
    *,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    seed: int | None = None,
    told: Told = _tell_nobody,
) -> AuditResult:
    """Measure what is lost on worst-case neighbours, beside what is claimed.

    Parameters
    ----------
    method
        "doors" (the curator's questions), "independent", "privbayes" (each in several settings), "controls" (the
        broken methods, which must all be flagged), or a synthesizer as you set it up.
    epsilon
        The claim; a synthesizer brings its own, and so do the controls.
    runs
        How often something is run on each table where the loss cannot be computed exactly.
    confidence
        Of the bounds from runs.
    seed
        Makes the runs repeatable, with noise of the same distributions from NumPy; by default the real noise is used.
    told
        Called with each finding as it comes.

    Examples
    --------
    >>> result = audit("doors", 1.0)
    >>> result.verdict, round(result.measured, 6)
    ('kept', 1.0)
    """
    if isinstance(method, str):
        check_epsilon(epsilon)
        if method not in SUBJECTS:
            raise InputError(f"There is no {method!r} to audit; known are {', '.join(SUBJECTS)}.")
        name = method
    else:
        name, epsilon = method.name, check_epsilon(method.epsilon)
    if isinstance(runs, bool) or not isinstance(runs, int) or not 10 <= runs <= 1_000_000:
        raise InputError(f"runs must be a whole number from 10 to 1,000,000, not {runs!r}.")
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence must be at least 0.5 and below 1, not {confidence!r}.")
    found = []
    for finding in _findings(method, epsilon, runs, confidence, seed):
        told(finding)
        found.append(finding)
    if name == "controls":
        smallest = min(finding.measured / finding.claimed for finding in found)
        verdict = "all flagged" if all(f.verdict == "broken" for f in found) else "some missed"
        return AuditResult(name, 1.0, smallest, confidence, verdict, tuple(found))
    verdict = "broken" if any(f.verdict == "broken" for f in found) else "kept"
    return AuditResult(name, epsilon, max(f.measured for f in found), confidence, verdict, tuple(found))


def _findings(
    method: str | Synthesizer, epsilon: float, runs: int, confidence: float, seed: int | None
) -> Iterator[Finding]:
    # Compilers and engines load when they are needed, as everywhere.
    from understudy.audit import controls, subjects

    if method == "doors":
        yield from subjects.doors(epsilon)
    elif method == "controls":
        for control in controls.controls():
            yield control.finding(max(runs, CONTROL_RUNS), confidence, seed)
    else:
        named = subjects.settings(method, epsilon) if isinstance(method, str) else {method.name: method}
        for name, synthesizer in named.items():
            yield subjects.fit_exactly(name, synthesizer)
        # What the models themselves give away; one setting is enough, since the exact values hold for all.
        name, synthesizer = next(iter(named.items()))
        yield subjects.fit_often(name, synthesizer, runs, confidence, seed)
