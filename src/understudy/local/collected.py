"""What was collected: for each question and level the number of reports and their tally.

A tally is made of whole numbers that add up over chunks, files and collections, so a table of
estimates does not depend on the order in which reports came. Estimates and their variances follow
from the tallies and from the plan, which travels with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.data.files import read_json, write_json
from understudy.errors import InputError
from understudy.local.plans import CollectionPlan, check_format
from understudy.local.questions import LocalQuestion
from understudy.local.randomisers import CategoricalRandomiser

TABLES_FORMAT = "understudy local tables"
TABLES_VERSION = 1

MAX_REPORTS = 1 << 40

Combination = Literal["inverse_variance", "sum"]


@dataclass(frozen=True, kw_only=True)
class ReportTally:
    """The reports to one question at one level, added up."""

    reports: int
    support: NDArray[np.int64]
    """As the randomiser's ``tally`` gives it."""

    def __add__(self, other: ReportTally) -> ReportTally:
        return ReportTally(
            reports=self.reports + other.reports, support=self.support + other.support
        )

    @classmethod
    def of(cls, randomiser: CategoricalRandomiser, reports: NDArray[Any]) -> ReportTally:
        """Add up reports, all of which must be possible."""
        return cls(reports=len(reports), support=np.asarray(randomiser.tally(reports)))


@dataclass(frozen=True, kw_only=True)
class EstimatedShares:
    """The share of persons with each answer to a question: unbiased, so some may be negative."""

    question: LocalQuestion
    reports: int
    shares: NDArray[np.float64]
    noise_variances: NDArray[np.float64]
    """What the randomisers add, of each share."""
    sampling_variances: NDArray[np.float64]
    """What asking only some persons adds, as if these were drawn from very many."""

    @property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of each share, by both causes."""
        return np.sqrt(self.noise_variances + self.sampling_variances)


@dataclass(frozen=True, kw_only=True)
class Collected:
    """All reports of a survey, added up: public, as each report is randomised.

    Two collections of one plan add up exactly. A report that is in both counts twice then, since
    nothing of a single report is kept.
    """

    plan: CollectionPlan
    tallies: Mapping[tuple[int, int], ReportTally]
    """By question and level; pairs without a report may be left out."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """How many reports were not counted, by reason."""

    @property
    def reports(self) -> int:
        """How many reports were counted."""
        return sum(tally.reports for tally in self.tallies.values())

    def reports_by_level(self) -> tuple[int, ...]:
        """How many reports were counted at each level of the plan."""
        counts = [0] * len(self.plan.epsilons)
        for (_, level), tally in self.tallies.items():
            counts[level] += tally.reports
        return tuple(counts)

    def levels_of(self, question: int) -> Iterator[tuple[int, ReportTally]]:
        """The levels at which a question was answered, with the tallies."""
        for level in range(len(self.plan.epsilons)):
            tally = self.tallies.get((question, level))
            if tally is not None and tally.reports:
                yield level, tally

    def __add__(self, other: Collected) -> Collected:
        """Both together; they must be of one plan, or of two waves of one survey."""
        if self.plan.id != other.plan.id:
            if self.plan.wave < other.plan.wave:
                return self.lift(other.plan) + other
            return self + other.lift(self.plan)
        tallies = dict(self.tallies)
        for place, tally in other.tallies.items():
            if place in tallies:
                tallies[place] = tallies[place] + tally
            else:
                tallies[place] = tally
        rejected = Counter(self.rejected)
        rejected.update(other.rejected)
        return Collected(plan=self.plan, tallies=tallies, rejected=dict(rejected))

    def lift(self, plan: CollectionPlan) -> Collected:
        """What was collected, as a part of a later wave of the same survey."""
        if self.plan.id not in plan.ids_by_wave:
            raise InputError(
                f"The tables are of the plan {self.plan.id}, which is neither {plan.id} nor an "
                "earlier wave of it; tables of different surveys do not add up."
            )
        if plan.questions[: len(self.plan.questions)] != self.plan.questions:
            raise InputError(f"The plan {plan.id} has other questions than its earlier wave.")
        return Collected(plan=plan, tallies=self.tallies, rejected=self.rejected)

    def estimate(
        self, question: int, combination: Combination = "inverse_variance"
    ) -> EstimatedShares | None:
        """The shares of the answers to a question; None where nobody was asked.

        Where persons chose different levels, each level is estimated by itself, with the
        probabilities of its own randomiser. Weights by inverse variance give the most precise
        average, which is unbiased as long as the choice of a level has nothing to do with the
        answer. The sum weighs each level by its persons: less precise, and right in any case.

        The weights depend on public numbers alone (on variances at even answers), never on the
        estimates, which would bias the average.

        Parameters
        ----------
        question
            Its number in the plan.
        combination
            "inverse_variance" or "sum".
        """
        asked = self.plan.questions[question]
        levels = list(self.levels_of(question))
        if not levels:
            return None
        randomisers = [asked.randomisers[level] for level, _ in levels]
        reports = [tally.reports for _, tally in levels]
        weights = level_weights(randomisers, reports, combination)
        shares = np.zeros(asked.size)
        for (_, tally), randomiser, weight in zip(levels, randomisers, weights, strict=True):
            counts = np.asarray(randomiser.estimate(tally.support, tally.reports))
            shares += weight * counts / tally.reports
        likely = np.clip(shares, 0.0, 1.0)
        noise = np.zeros(asked.size)
        sampling = np.zeros(asked.size)
        for randomiser, count, weight in zip(randomisers, reports, weights, strict=True):
            noise += weight**2 * _variances(randomiser, count, likely)
            sampling += weight**2 * likely * (1 - likely) / count
        return EstimatedShares(
            question=asked,
            reports=sum(reports),
            shares=shares,
            noise_variances=noise,
            sampling_variances=sampling,
        )

    def to_dict(self) -> dict[str, Any]:
        """The tables as they stand in a file."""
        return {
            "format": TABLES_FORMAT,
            "version": TABLES_VERSION,
            "plan": self.plan.to_dict(),
            "rejected": {reason: self.rejected[reason] for reason in sorted(self.rejected)},
            "tables": [
                {
                    "question": question,
                    "level": level,
                    "reports": tally.reports,
                    "tally": tally.support.tolist(),
                }
                for (question, level), tally in sorted(self.tallies.items())
                if tally.reports
            ],
        }

    @classmethod
    def from_dict(cls, document: Any, source: str = "The tables") -> Collected:
        """Check a parsed file of tables and build the collection.

        Parameters
        ----------
        document
            As :meth:`to_dict` gives it.
        source
            What to call it in messages.
        """
        check_format(document, TABLES_FORMAT, TABLES_VERSION, source)
        plan = CollectionPlan.from_dict(document.get("plan"), f"The plan in {source}")
        entries, rejected = document.get("tables"), document.get("rejected", {})
        tallies: dict[tuple[int, int], ReportTally] = {}
        try:
            if not isinstance(entries, list) or not isinstance(rejected, Mapping):
                raise ValueError("its tables must be a list, and what was rejected an object")
            for entry in entries:
                place, tally = _read_table(entry, plan)
                if place in tallies:
                    raise ValueError(f"question {place[0]} at level {place[1]} is there twice")
                tallies[place] = tally
            counts = {str(reason): _count(count) for reason, count in rejected.items()}
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{source} cannot be used: {error}.") from error
        return cls(plan=plan, tallies=tallies, rejected=counts)

    @classmethod
    def load(cls, path: str | Path) -> Collected:
        """Read tables from a file."""
        return cls.from_dict(read_json(path, "tables"), f"the tables {path}")

    def save(self, path: str | Path) -> None:
        """Write the tables to a file."""
        write_json(path, self.to_dict(), "tables")


def level_weights(
    randomisers: list[CategoricalRandomiser], reports: list[int], combination: Combination
) -> NDArray[np.float64]:
    """How much each level counts in an average: together 1.

    Parameters
    ----------
    randomisers, reports
        Of each level: its randomiser and the number of reports.
    combination
        By inverse variance at even answers, or by the number of persons.
    """
    if combination == "sum":
        weights = np.array(reports, dtype=np.float64)
    else:
        weights = np.array(
            [
                1 / even_variance(randomiser, count)
                for randomiser, count in zip(randomisers, reports, strict=True)
            ]
        )
    return weights / weights.sum()


def even_variance(randomiser: CategoricalRandomiser, reports: int) -> float:
    """The mean variance of an estimated share, sampling included, when all answers are as
    frequent.
    """
    even = np.full(randomiser.size, 1 / randomiser.size)
    noise = _variances(randomiser, reports, even)
    return float(np.mean(noise + even * (1 - even) / reports))


def _variances(
    randomiser: CategoricalRandomiser, reports: int, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The variance that the randomiser gives to each share."""
    return np.asarray(randomiser.variance(reports, shares * reports)) / reports**2


def _read_table(entry: Any, plan: CollectionPlan) -> tuple[tuple[int, int], ReportTally]:
    question, level = entry["question"], entry["level"]
    if not _is_whole(question) or not 0 <= question < len(plan.questions):
        raise ValueError("it has a table of a question that the plan does not have")
    if not _is_whole(level) or not 0 <= level < len(plan.epsilons):
        raise ValueError("it has a table of a level that the plan does not have")
    randomiser = plan.questions[question].randomisers[level]
    reports, support = _count(entry["reports"]), entry["tally"]
    if not isinstance(support, list) or not all(map(_is_whole, support)):
        raise ValueError("a tally must be a list of whole numbers")
    if len(support) != randomiser.size:
        raise ValueError(
            f"the tally of question {question} has {len(support):,} numbers, not "
            f"{randomiser.size:,}"
        )
    if any(abs(count) > reports for count in support):
        raise ValueError(f"the tally of question {question} has more than its reports")
    tally = np.array(support, dtype=np.int64)
    if not randomiser.is_possible_tally(tally, reports):
        raise ValueError(f"no {reports:,} reports have the tally of question {question}")
    return (question, level), ReportTally(reports=reports, support=tally)


def _count(given: Any) -> int:
    if not _is_whole(given) or not 0 <= given <= MAX_REPORTS:
        raise ValueError("a number of reports must be a whole number that is not negative")
    return int(given)


def _is_whole(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)
