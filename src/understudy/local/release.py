"""From reports to a model: the methods that run on any curator, on a local one."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.local.collected import Collected
from understudy.local.curator import LocalCurator
from understudy.local.shuffling import ASSUMPTION, bound_shuffled
from understudy.models.constraining import check_constraints
from understudy.models.model import Model
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.release.callbacks import Progress, no_progress
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.registry import DEFAULT, Method, find_method, methods_for

ROUNDS_PER_COLUMN = 6.0
"""Rounds of the adaptive method for each column: chosen on made-up tables."""

PUBLIC = ("the plan, with its schema", "the number of reports, and who sent one")


def synthesize_reports(
    collected: Collected | str | Path,
    method: str | Synthesizer = DEFAULT,
    *,
    shuffled: float | None = None,
    progress: Progress = no_progress,
    **parameters: Any,
) -> Model:
    """Learn a model from the reports of a survey; rows are drawn from it as from any other.

    Parameters
    ----------
    collected
        The tables of a survey, or the file that ``understudy local collect`` wrote.
    method
        A method's name, or the method itself, whose epsilon must be the plan's.
    shuffled
        A delta: the ledger then also states the guarantee of shuffled reports, with its assumption.
    progress
        Called while learning.
    parameters
        Of the method, if it is given by name; epsilon is the plan's.
    """
    if isinstance(collected, str | Path):
        collected = Collected.load(collected)
    epsilon = local_epsilon(collected)
    if isinstance(method, Synthesizer):
        check_method(method, epsilon)
    else:
        method = _make(method, epsilon, parameters)
    schema = collected.plan.schema
    check_constraints(schema)
    method.check(schema)
    ledger = open_local_ledger(collected, shuffled)
    progress("estimating tables", 0, 1)
    curator = LocalCurator(collected, ledger)
    return method.learn(curator, Budget(epsilon), progress)


def local_epsilon(collected: Collected) -> float:
    """The largest epsilon at which anybody reported."""
    counts = collected.reports_by_level()
    used = [
        epsilon for epsilon, reports in zip(collected.plan.epsilons, counts, strict=True) if reports
    ]
    if not used:
        raise InputError("The tables hold no reports; collect some first.")
    return max(used)


def check_method(method: Synthesizer, epsilon: float) -> None:
    """Refuse a method that does not run on reports, or that is told another guarantee."""
    if "local" not in find_method(method.name).curators:
        known = ", ".join(one.name for one in methods_for("local"))
        raise InputError(
            f"The method {method.name} does not run on reports; those that do are {known}."
        )
    if method.epsilon != epsilon or method.delta:
        raise InputError(
            f"The reports have the local epsilon {epsilon:g} and no delta; the method says epsilon "
            f"{method.epsilon:g} and delta {method.delta:g}."
        )


def open_local_ledger(collected: Collected, shuffled: float | None = None) -> Ledger:
    """The books of a survey: each person's report, paid for before it was sent.

    Reports of different persons are about different persons, so that all of them cost what the
    most expensive one does.
    """
    epsilon = local_epsilon(collected)
    ledger = Ledger(epsilon, neighbours="replace", trust=_say_trust(collected, shuffled))
    ledger.taken_as_public = PUBLIC
    question = f"{collected.reports:,} reports, one per person (plan {collected.plan.id})"
    ledger.debit(question, Budget(epsilon), "randomised on each person's own device")
    return ledger


def _say_trust(collected: Collected, shuffled: float | None) -> str:
    said = [
        "Local differential privacy: no one but the person is trusted. Each of "
        f"{collected.reports:,} persons sent one report, which was randomised before it was sent."
    ]
    counts = collected.reports_by_level()
    used = [
        (epsilon, reports)
        for epsilon, reports in zip(collected.plan.epsilons, counts, strict=True)
        if reports
    ]
    if len(used) > 1:
        levels = ", ".join(f"{epsilon:g} ({reports:,} persons)" for epsilon, reports in used)
        said.append(f"Persons chose their local epsilon: {levels}.")
    if shuffled is not None:
        said.append(_say_shuffled(_groups_to_shuffle(collected), shuffled))
    return " ".join(said)


def _groups_to_shuffle(collected: Collected) -> list[tuple[float, int]]:
    """The local epsilon and the number of the reports that can hide among each other: those of one
    wave and one level. Wave and level stand in every report, so nobody hides among others.
    """
    plan, counts = collected.plan, Counter[tuple[int, int]]()
    for (question, level), tally in collected.tallies.items():
        counts[plan.questions[question].wave, level] += tally.reports
    return [(plan.epsilons[level], reports) for (_, level), reports in counts.items() if reports]


def _say_shuffled(groups: list[tuple[float, int]], delta: float) -> str:
    bounds = [bound_shuffled(epsilon, reports, delta) for epsilon, reports in groups]
    if any(bound is None for bound in bounds):
        return (
            "For shuffled reports the bound of Feldman, McMillan and Talwar (2021) says no more: "
            f"there are too few reports of one wave and level for this local epsilon and delta "
            f"{delta:g}."
        )
    worst = max(bound for bound in bounds if bound is not None)
    return (
        f"Shuffled, the reports are private with epsilon {_round_up(worst)} and delta {delta:g} "
        f"(Feldman, McMillan and Talwar 2021): {ASSUMPTION}."
    )


def _round_up(epsilon: float) -> str:
    """An epsilon to three digits that is not below it: a smaller one would promise too much."""
    shift = 2 - math.floor(math.log10(epsilon))
    return f"{math.ceil(epsilon * 10.0**shift) / 10.0**shift:.3g}"


def _make(name: str, epsilon: float, parameters: dict[str, Any]) -> Synthesizer:
    if "local" not in find_method(name).curators:
        known = ", ".join(one.name for one in methods_for("local"))
        raise InputError(f"The method {name} does not run on reports; those that do are {known}.")
    found = find_method(name)
    return found.make(**{"epsilon": epsilon, **suit_reports(found), **parameters})


def suit_reports(method: Method) -> dict[str, Any]:
    """The parameters that suit reports, unless the user sets them.

    Tables cost nothing, so that there may be more rounds. None can be kept apart from the fit, as
    all come from the same reports. Nothing inside bins was asked for.
    """
    suited: dict[str, Any] = {"neighbours": "replace", "refinement": 0.0}
    known = {parameter.name for parameter in method.parameters}
    wanted = {"rounds": ROUNDS_PER_COLUMN, "holdout": 0.0}
    return suited | {name: value for name, value in wanted.items() if name in known}
