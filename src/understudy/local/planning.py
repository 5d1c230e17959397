"""What to ask: which tables, of how many persons, and how far off the answers will be.

Everything here follows from the schema, epsilon and the number of persons: nobody has been asked
yet. One person answers one question at the full epsilon. A question about more columns at once
tells more tables, each with more noise; which is best depends on epsilon. So a few designs are
worked out and the one with the smallest expected error of pairs is taken:

- the joint index of every group of two, three, four or five columns, and
- parities of pairs, for columns with two codes: a single bit, for small epsilons,

each beside questions about single columns, for the share of persons that lowers the error most.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.local.collected import Collected
from understudy.local.effects import estimate_jointly
from understudy.local.plans import CollectionPlan, ask_jointly, whole_weights
from understudy.local.questions import LocalQuestion
from understudy.local.randomisers import best_randomiser
from understudy.models.joint.effects import AxisNames
from understudy.models.joint.tables import JointEstimate

DEFAULT_PERSONS = 10_000
"""Where nobody says how many persons there are."""

GROUP_SIZES = (2, 3, 4, 5)
MAX_DESIGN_QUESTIONS = 700
"""Where a design would have more questions, it has this many, such that all pairs are in some."""

MAX_GROUP_CELLS = 4096
"""Of a question about three columns or more."""

SINGLE_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1.0)
"""The shares of persons who are asked about a single column, of which the best is taken."""

LIKELY_MISFIT = {1: 0.3, 2: 0.1}
"""How far a table of one column is from an even one, and one of two columns from what each says by
itself: total variation distance. Chosen on made-up tables."""

MEAN_SIZE = math.sqrt(2 / math.pi)
"""The mean size of a normal error of variance 1."""


@dataclass(frozen=True, kw_only=True)
class PlanOutlook:
    """What a plan is expected to tell.

    Attributes
    ----------
    one_way, two_way
        The expected error of tables of single columns and of pairs: total variation distance, the
        mean over all of them.
    persons
        For how many persons that is.
    """

    one_way: float
    two_way: float
    persons: int

    def __str__(self) -> str:
        return (
            f"With {self.persons:,} persons, expect errors of about {self.one_way:.3f} in tables "
            f"of single columns and {self.two_way:.3f} in tables of pairs (total variation "
            "distance; 0 is exact, 1 is all wrong)."
        )


def plan_survey(
    schema: Schema, epsilons: Sequence[float], persons: int | None = None, **texts: Any
) -> CollectionPlan:
    """The plan with the smallest expected error of pairs.

    Parameters
    ----------
    schema
        What can be answered.
    epsilons
        The levels of privacy, the usual one first: the plan is best for that one.
    persons
        How many persons are expected.
    texts
        ``title`` and ``wording`` of the plan.

    Examples
    --------
    >>> schema = Schema.from_dict({"attributes": {name: {"kind": "boolean"} for name in "abcd"}})
    >>> plan = plan_survey(schema, [1.0], 5_000)
    >>> 0 < expect_errors(plan).two_way < 0.2
    True
    """
    names = [a.name for a in schema.modelled if a.size > 1]
    if not names:
        raise InputError("The schema has no column with two codes or more: nothing to ask.")
    expected = persons or DEFAULT_PERSONS
    designs = list(_designs(names, schema, tuple(epsilons)))
    errors = [design.find_share(expected) for design in designs]
    best = min(range(len(designs)), key=lambda place: errors[place])
    return CollectionPlan(
        schema=schema,
        epsilons=tuple(float(epsilon) for epsilon in epsilons),
        questions=designs[best].questions(errors[best][1]),
        persons=persons,
        **texts,
    )


def expect_errors(
    plan: CollectionPlan, persons: int | None = None, known: Mapping[int, float] | None = None
) -> PlanOutlook:
    """The errors to expect before anybody is asked, at the usual level of privacy.

    Effects of pairs are taken to be as large as those of made-up tables; where columns depend on
    each other more than that, errors are larger.

    Parameters
    ----------
    plan
        Who is asked what.
    persons
        How many persons answer; by default as many as the plan expects.
    known
        How many reports of earlier waves there are to each question, by its number.
    """
    expected = persons or plan.persons or DEFAULT_PERSONS
    known = known or {}
    sizes = {a.name: a.size for a in plan.schema.modelled if a.size > 1}
    asked = [
        (question, share + known.get(place, 0.0) / expected)
        for place, (question, share) in enumerate(
            zip(plan.questions, plan.shares.tolist(), strict=True)
        )
    ]
    return _outlook(_add_up(asked, sizes), sizes, expected)


@dataclass(frozen=True, kw_only=True)
class _Design:
    """Questions about single columns for a share of persons, and about groups for the others."""

    singles: tuple[LocalQuestion, ...]
    groups: tuple[LocalQuestion, ...]
    sizes: Mapping[str, int]

    def find_share(self, persons: int) -> tuple[float, float]:
        """The smallest error of pairs (of single columns where there are no pairs), and the share
        of persons for single columns that has it.
        """
        told = [
            _add_up([(question, 1 / len(questions)) for question in questions], self.sizes)
            for questions in (self.singles, self.groups)
        ]
        shares: Sequence[float] = SINGLE_SHARES
        if not self.groups:
            shares = (1.0,)
        found = []
        for share in shares:
            information = {
                part: share * told[0].get(part, 0.0) + (1 - share) * told[1].get(part, 0.0)
                for part in {**told[0], **told[1]}
            }
            outlook = _outlook(information, self.sizes, persons)
            found.append((outlook.two_way + 1e-3 * outlook.one_way, share))
        return min(found)

    def questions(self, share: float) -> tuple[LocalQuestion, ...]:
        """All of them, weighted."""
        asked: list[LocalQuestion] = []
        shares: list[float] = []
        for questions, part in ((self.singles, share), (self.groups, 1 - share)):
            if questions and part > 0:
                asked += questions
                shares += [part / len(questions)] * len(questions)
        weights = whole_weights(shares)
        return tuple(
            replace(question, weight=weight)
            for question, weight in zip(asked, weights, strict=True)
        )


def _designs(
    names: Sequence[str], schema: Schema, epsilons: tuple[float, ...]
) -> Iterator[_Design]:
    sizes = {name: schema[name].size for name in names}
    singles = tuple(ask_jointly((name,), schema, epsilons) for name in names)
    if len(names) == 1:
        yield _Design(singles=singles, groups=(), sizes=sizes)
        return
    for size in GROUP_SIZES:
        if size > len(names):
            break
        groups = _choose_groups(names, sizes, size)
        if groups:
            asked = tuple(ask_jointly(group, schema, epsilons) for group in groups)
            yield _Design(singles=singles, groups=asked, sizes=sizes)
    if set(sizes.values()) == {2}:
        pairs = itertools.combinations(names, 2)
        parities = tuple(_ask_parity(pair, epsilons) for pair in pairs)
        yield _Design(singles=singles, groups=parities, sizes=sizes)


def _choose_groups(names: Sequence[str], sizes: Mapping[str, int], size: int) -> list[AxisNames]:
    """Groups of a size such that every pair is in about as many of them; none where a table would
    be too large.
    """
    largest = math.prod(sorted(sizes.values())[-size:])
    if size > 2 and largest > MAX_GROUP_CELLS:
        return []
    if math.comb(len(names), size) <= max(MAX_DESIGN_QUESTIONS, math.comb(len(names), 2)):
        return list(itertools.combinations(names, size))
    rng = np.random.default_rng(size)  # public: it depends on the schema alone
    order = {name: place for place, name in enumerate(names)}
    asked: dict[frozenset[str], int] = {}
    groups: dict[AxisNames, None] = {}
    while len(groups) < MAX_DESIGN_QUESTIONS:
        group = _choose_least_asked(names, size, asked, rng)
        groups[tuple(sorted(group, key=order.__getitem__))] = None
        for pair in itertools.combinations(group, 2):
            asked[frozenset(pair)] = asked.get(frozenset(pair), 0) + 1
    return list(groups)


def _choose_least_asked(
    names: Sequence[str], size: int, asked: Mapping[frozenset[str], int], rng: np.random.Generator
) -> list[str]:
    """A group that grows by whichever column was asked least with those in it."""
    shuffled = [names[place] for place in rng.permutation(len(names))]
    pairs = itertools.combinations(shuffled, 2)
    group = list(min(pairs, key=lambda pair: asked.get(frozenset(pair), 0)))
    while len(group) < size:
        left = [name for name in shuffled if name not in group]
        group.append(
            min(left, key=lambda one: sum(asked.get(frozenset((one, g)), 0) for g in group))
        )
    return group


def _ask_parity(columns: Sequence[str], epsilons: Sequence[float]) -> LocalQuestion:
    """One bit: whether an odd number of columns with two codes have the second."""
    return LocalQuestion(
        columns=tuple(columns),
        sizes=(2,) * len(columns),
        randomisers=tuple(best_randomiser(2, epsilon) for epsilon in epsilons),
        odd=((1,),) * len(columns),
    )


# --------------------------------------------------------------------------- expected errors


def _add_up(
    asked: Sequence[tuple[LocalQuestion, float]], sizes: Mapping[str, int]
) -> dict[AxisNames, float]:
    """For each effect the inverse variance that one person adds, on average over questions."""
    information: dict[AxisNames, float] = {}
    known: dict[Any, float] = {}
    for question, share in asked:
        randomiser = question.randomisers[0]
        if randomiser not in known:
            even = 1 / randomiser.size
            sum_of_all = randomiser.total_variance + 1 - even
            known[randomiser] = sum_of_all / (randomiser.size - 1)
        for part, precision in _tell(question, known[randomiser], sizes):
            information[part] = information.get(part, 0.0) + share * precision
    return information


def _tell(
    question: LocalQuestion, variance: float, sizes: Mapping[str, int]
) -> Iterator[tuple[AxisNames, float]]:
    """The effects of one and two columns that a question tells, with the inverse variance that one
    report gives each, in each direction, where its table has this variance in each.
    """
    cells = question.size
    order = list(sizes)
    columns = tuple(sorted((c for c in question.columns if c in sizes), key=order.index))
    if question.odd is not None:
        # The difference of both shares, on a table of 2^k cells: see effects.
        yield columns, 2 ** len(columns) / (2 * variance)
        return
    for size in range(1, min(len(columns), 2) + 1):
        for part in itertools.combinations(columns, size):
            outside = cells / math.prod(sizes[name] for name in part)
            yield part, 1 / (variance * outside)


def _outlook(
    information: Mapping[AxisNames, float], sizes: Mapping[str, int], persons: int
) -> PlanOutlook:
    singles = {name: _error_of((name,), information, sizes, persons) for name in sizes}
    pairs = [
        _error_of(pair, information, sizes, persons) for pair in itertools.combinations(sizes, 2)
    ]
    return PlanOutlook(
        one_way=float(np.mean(list(singles.values()))),
        two_way=float(np.mean(pairs or list(singles.values()))),
        persons=persons,
    )


def _error_of(
    columns: AxisNames,
    information: Mapping[AxisNames, float],
    sizes: Mapping[str, int],
    persons: int,
) -> float:
    """The expected total variation distance of a table, from the variances of its effects.

    An effect of a pair that is told badly is taken as what single columns say, which is off by its
    likely spread; told by reports of some precision, it is off by the harmonic sum of both.
    """
    cells = math.prod(sizes[name] for name in columns)
    variance = 0.0
    for size in range(1, len(columns) + 1):
        for part in itertools.combinations(columns, size):
            part_cells = math.prod(sizes[name] for name in part)
            freedom = math.prod(sizes[name] - 1 for name in part)
            likely = (LIKELY_MISFIT[size] / (0.5 * MEAN_SIZE * part_cells)) ** 2
            precision = persons * information.get(part, 0.0) + freedom / part_cells / likely
            variance += freedom / part_cells / precision / (cells / part_cells) ** 2
    return min(0.5 * cells * MEAN_SIZE * math.sqrt(variance), 1.0)


# --------------------------------------------------------------------------- the second wave


def plan_next_wave(
    collected: Collected, persons: int | None = None, estimate: JointEstimate | None = None
) -> CollectionPlan:
    """The plan of another wave, for other persons: what the first one left most open.

    Pairs of columns are asked again, by their joint index, the more often the more they seem to
    depend on each other and the less is known of how: half of the persons are asked in proportion
    to the expected size of a pair's effect, half in proportion to its deviation.

    Parameters
    ----------
    collected
        The reports of the waves so far.
    persons
        How many other persons are expected.
    estimate
        The estimate from these reports; by default it is made here.
    """
    plan = collected.plan
    known = estimate or estimate_jointly(collected)
    pairs = list(itertools.combinations(known.sizes, 2))
    if not pairs:
        raise InputError("With a single column there is nothing left to ask in another wave.")
    sizes = [known.effect_size(pair) for pair in pairs]
    open_parts = [known.effect_deviation(pair) for pair in pairs]
    shares = [
        size / (sum(sizes) or 1.0) + deviation / (sum(open_parts) or 1.0)
        for size, deviation in zip(sizes, open_parts, strict=True)
    ]
    weights = whole_weights(shares)
    questions = [
        replace(ask_jointly(pair, plan.schema, plan.epsilons), weight=weight)
        for pair, weight in zip(pairs, weights, strict=True)
        if weight
    ]
    return plan.next_wave(questions, persons)
