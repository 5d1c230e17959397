"""Does it keep its promise? Tests that try to break the guarantee, and that can tell a broken one.

:func:`audit` measures what something loses on neighbouring tables, beside what it claims: the
curator's doors, a synthesizer, or any function of yours. :mod:`~understudy.auditing.controls` holds
the broken methods that show that the audit sees what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from understudy.auditing.blackbox import Evidence, black_box, tell_apart
from understudy.auditing.bounds import CONFIDENCE, epsilon_bound, mu_bound
from understudy.auditing.doors import ExactLoss, exact_loss
from understudy.auditing.findings import AuditResult, Finding, overall, unit_at
from understudy.auditing.neighbours import Pair
from understudy.errors import InputError
from understudy.privacy.budget import check_delta, check_epsilon

if TYPE_CHECKING:
    from understudy.synthesizers import Synthesizer

__all__ = [
    "CONFIDENCE",
    "AuditResult",
    "Evidence",
    "ExactLoss",
    "Finding",
    "Pair",
    "audit",
    "audit_subjects",
    "black_box",
    "epsilon_bound",
    "exact_loss",
    "mu_bound",
    "tell_apart",
]


def audit_subjects() -> tuple[str, ...]:
    """The names of everything that can be audited."""
    from understudy.synthesizers.registry import methods

    audited = [
        name for name, method in methods().items() if method.kind.asks and not method.defaults
    ]
    others = ("learners", "local", "collusion", "controls")
    return ("doors", "discovery", "mechanisms", "ask", *audited, *others)


RUNS = 2000

CONTROL_RUNS = 4000
"""The controls are simulated at least so often: it takes no time, and each of them must be
flagged.
"""

NotifyFinding = Callable[[Finding], None]


def _tell_nobody(finding: Finding) -> None:
    pass


def audit(
    subject: str | Synthesizer | Callable[[Any], Any],
    epsilon: float = 1.0,
    *,
    delta: float = 0.0,
    pair: Pair | tuple[Any, Any] | None = None,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    seed: int | None = None,
    notify: NotifyFinding = _tell_nobody,
) -> AuditResult:
    """Measure what is lost on neighbouring tables, beside what is claimed.

    Parameters
    ----------
    subject
        The name of what to audit: "doors" (the curator's questions), "discovery" (runs without a
        schema), "mechanisms" (each of :mod:`understudy.mechanisms`), "ask" (questions to the rows),
        a synthesizer's name (in several settings), "learners", "local" (randomisers), "collusion"
        (one party of encrypted sums, with all owners but one) or "controls" (the broken methods,
        which must all be flagged). Or a synthesizer as you set it up. Or any
        function, from a mechanism to a whole run, that takes a table and returns numbers, a model
        or a synthetic table.
    epsilon
        The claim; a synthesizer brings its own, and so do the controls.
    delta
        That of the claim of a function.
    pair
        The neighbouring tables. A synthesizer has worst-case pairs of its own and takes a
        :class:`Pair` instead; a function needs a pair, which may be two things of whatever kind it
        takes.
    runs
        How often something is run on each table where the loss cannot be computed exactly. The
        larger the claim, the more it takes to refute it; where there are too few, the verdict says
        so.
    confidence
        Of the bounds from runs.
    seed
        Makes the runs repeatable, with noise of the same distributions from NumPy; by default the
        real noise is used. A function has its own noise.
    notify
        Called with each finding as it comes.

    Examples
    --------
    >>> result = audit("doors", 1.0)
    >>> result.verdict, round(result.measured, 6)
    ('kept', 1.0)
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> audit(lambda count: count + rng.laplace(scale=0.5), 1.0, pair=(10, 11), runs=4000).verdict
    'broken'
    """
    name, epsilon = _claim(subject, epsilon, pair)
    check_delta(delta)
    if isinstance(runs, bool) or not isinstance(runs, int) or not 10 <= runs <= 1_000_000:
        raise InputError(f"runs must be a whole number from 10 to 1,000,000, not {runs!r}.")
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence must be at least 0.5 and below 1, not {confidence!r}.")
    found = []
    for finding in _findings(subject, epsilon, delta, pair, runs, confidence, seed):
        notify(finding)
        found.append(finding)
    if name == "controls":
        smallest = min(f.measured / f.claimed for f in found if not f.least)
        if all(f.verdict in ("broken", "wasteful") for f in found):
            verdict = "all flagged"
        else:
            verdict = "some missed"
        return AuditResult(name, 1.0, smallest, confidence, verdict, tuple(found))
    measured = max(f.measured for f in found if f.unit.startswith("epsilon"))
    return AuditResult(name, epsilon, measured, confidence, overall(found), tuple(found))


def _claim(subject: Any, epsilon: float, pair: Pair | tuple[Any, Any] | None) -> tuple[str, float]:
    """What is audited and what it claims, if that makes sense."""
    if isinstance(subject, str):
        known = audit_subjects()
        if subject not in known:
            raise InputError(f"There is no {subject!r} to audit; known are {', '.join(known)}.")
        if pair is not None:
            raise InputError(
                "A pair goes with a synthesizer or a function; what has a name has pairs of its "
                "own."
            )
        return subject, check_epsilon(epsilon)
    if hasattr(subject, "fit"):
        if pair is not None and not isinstance(pair, Pair):
            raise InputError("A synthesizer needs a Pair: Pair(table, other, schema, neighbours).")
        if pair is not None and pair.neighbours != subject.neighbours:
            raise InputError(
                f"The pair is one under {pair.neighbours}, the synthesizer's is "
                f"{subject.neighbours}."
            )
        return subject.name, check_epsilon(subject.epsilon)
    if not callable(subject):
        raise InputError(f"A name, a synthesizer or a function can be audited, not {subject!r}.")
    if pair is None:
        raise InputError("A function needs a pair to be run on: pair=(table, neighbour).")
    return getattr(subject, "__name__", "function"), check_epsilon(epsilon)


def _findings(
    subject: Any,
    epsilon: float,
    delta: float,
    pair: Pair | tuple[Any, Any] | None,
    runs: int,
    confidence: float,
    seed: int | None,
) -> Iterator[Finding]:
    # Compilers and engines load when they are needed, as everywhere.
    from understudy.auditing import asking, controls, discovery, learners, mechanisms, randomisers
    from understudy.auditing.gradients import canary_findings
    from understudy.auditing.questions import doors
    from understudy.auditing.subjects import fit_exactly, fit_often, settings_of

    if subject == "doors":
        yield from doors(epsilon)
        yield from canary_findings(epsilon, seed)
    elif subject == "discovery":
        yield from discovery.discovery(epsilon, runs, confidence, seed)
    elif subject == "mechanisms":
        yield from mechanisms.audit_mechanisms(epsilon, runs, confidence, seed)
    elif subject == "learners":
        yield from learners.audit_learners(epsilon, runs, confidence, seed)
    elif subject == "local":
        yield from randomisers.audit_randomisers(epsilon, runs, confidence, seed)
    elif subject == "collusion":
        from understudy.auditing.collusion import audit_collusion

        yield from audit_collusion(epsilon, runs, confidence, seed)
    elif subject == "ask":
        yield from asking.answers(epsilon)
    elif subject == "controls":
        for control in controls.controls():
            yield control.finding(max(runs, CONTROL_RUNS), confidence, seed)
    elif isinstance(subject, str):
        named = settings_of(subject, epsilon)
        for name, synthesizer in named.items():
            yield from fit_exactly(name, synthesizer)
        for name, synthesizer in named.items():
            yield from fit_often(name, synthesizer, runs, confidence, seed)
    elif hasattr(subject, "fit"):
        given = pair if isinstance(pair, Pair) else None
        yield from fit_exactly(subject.name, subject, None if given is None else (given,))
        yield from fit_often(subject.name, subject, runs, confidence, seed, given)
    else:
        assert pair is not None
        yield _run_function(subject, epsilon, delta, pair, runs, confidence)


def _run_function(
    function: Any,
    epsilon: float,
    delta: float,
    pair: Pair | tuple[Any, Any],
    runs: int,
    confidence: float,
) -> Finding:
    """What many runs of a function on both tables of a pair show."""
    from understudy.auditing.subjects import features

    name = "the given pair"
    if isinstance(pair, Pair):
        name, pair = pair.name, (pair.table, pair.other)
    table, other = pair

    def run(table: Any) -> Any:
        return features(function(table))

    found = black_box(run, table, other, runs, confidence, delta)
    return Finding(
        getattr(function, "__name__", "function"),
        name,
        "runs",
        epsilon,
        found.epsilon,
        unit_at(delta),
        confidence,
        limit=found.epsilon_limit,
    )
