"""The question ``sum``: noisy sums of clipped features, and their second moments.

Examples
--------
From a table or a file, with public bounds:

>>> import pandas
>>> from understudy import Ledger, open_curator
>>> from understudy.privacy.budget import Budget
>>> from understudy.privacy.features import Number
>>> table = pandas.DataFrame({"age": [31, 52, 47], "income": [1500.0, 3200.5, 2800.0]})
>>> public = {"age": (0, 100), "income": (0, 10_000)}
>>> with open_curator(table, public, Ledger(1.0)) as curator:
...     answer = curator.sum(
...         [Number("age", centre=50), Number("income")], Budget(1.0), moments="products"
...     )
>>> answer.sums.values.shape, answer.moments.values.shape
((2,), (2, 2))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from understudy.counting.directions import Directions
from understudy.counting.sums import MAX_STEPS, ExactSums, Moments, Nearest, Summation
from understudy.data.marginals import Axis, Marginal, describe
from understudy.errors import InputError
from understudy.privacy.budget import Budget, Neighbours
from understudy.privacy.domain import Domain
from understudy.privacy.features import FEATURE_STEPS, Feature, GridFeature, put_on_grid
from understudy.privacy.mechanisms import (
    MAX_CHOICE_SCALE,
    describe_noise,
    distribution_of,
    noise_deviation,
)
from understudy.privacy.questions import LedgerLine, Question
from understudy.privacy.sum_answers import Noisy as Noisy
from understudy.privacy.sum_answers import Sums as Sums
from understudy.privacy.sum_sensitivity import Block, Part, find_blocks

MissingRule = Literal["complete", "centre"]
PARTS: tuple[Part, ...] = ("counts", "sums", "moments")

MAX_FEATURES = 2_000
MAX_POINTS = 10_000
MAX_SHARE = 1_000_000
MAX_SUMS = 1 << 22
"""Sums of all groups together."""


class SumOptions(TypedDict, total=False):
    """What can be said about sums beside the features, see :class:`Sum`."""

    moments: Moments
    by: Marginal
    nearest: Sequence[Sequence[float]] | None
    centres: NDArray[np.float64] | None
    ball: float | None
    missing: MissingRule
    shares: Mapping[Part, float] | None
    directions: NDArray[np.float64] | None
    pooled: bool


@dataclass(frozen=True, kw_only=True)
class Sum(Question):
    """Noisy sums of features over the rows, and second moments of them.

    Parameters
    ----------
    features
        What is summed: clipped numbers, less their centres, and indicators.
    budget
        The price of the whole question.
    moments
        "squares" also asks for the sum of the square of each feature, "products" for those of the
        products of any two.
    by
        A small public marginal: sums are taken for each of its cells, at the price of one, since a
        row is in one cell.
    nearest
        Public or released points, a number for each feature (in the units of the columns): sums are
        taken for the rows that each point is the nearest to. Distances are Euclidean, in the
        features' units.
    centres
        For each group a value for each feature that is taken off in that group, instead of the
        features' own centres: means that were released before, say. Clipped to the bounds.
    ball
        A public bound on the length of a row's vector of features, each less its centre and divided
        by its unit; longer rows are shortened to it. Without it every feature has its own bounds
        alone, and all sums of a kind have noise in proportion to their bounds. The noise then grows
        with the number of features, and with a ball with its radius.
    missing
        A row in which the number of a feature is missing or cannot be read does not count at all
        ("complete"), or that number counts as its centre ("centre").
    shares
        How the budget is split over "counts" (of the rows that count), "sums" and "moments"; what
        has no share is not asked for. By default sums and moments in equal parts, and no counts.
    directions
        Released directions, a line each with a number for each feature: what is summed are then the
        components along these of each row, every feature less its centre and in its unit. They need
        a ball, to which the vector of components is shortened.
    pooled
        Groups serve to find their centres alone, and all rows are summed together.
    """

    features: Sequence[Feature]
    budget: Budget
    moments: Moments = "none"
    by: Marginal = ()
    nearest: Sequence[Sequence[float]] | None = None
    centres: NDArray[np.float64] | None = None
    ball: float | None = None
    missing: MissingRule = "complete"
    shares: Mapping[Part, float] | None = None
    directions: NDArray[np.float64] | None = None
    pooled: bool = False

    def about(self, centres: NDArray[np.float64]) -> Sum:
        """The same question about other centres of the groups."""
        return replace(self, centres=centres)

    def check(self, domain: Domain) -> None:
        """Refuse features that the schema does not allow, and what does not go with them."""
        if not 1 <= len(self.features) <= MAX_FEATURES:
            raise InputError(f"There must be 1 to {MAX_FEATURES:,} features to sum.")
        if len(set(self.features)) < len(self.features):
            raise InputError("A feature stands twice in the question; name each once.")
        if self.moments not in ("none", "squares", "products"):
            raise InputError(f"There are no moments {self.moments!r}; say squares or products.")
        if self.missing not in ("complete", "centre"):
            raise InputError(f"There is no rule {self.missing!r}; say complete or centre.")
        domain.check([self.by])
        self._check_ball()
        self._check_directions()
        self._check_shares()
        self._check_size(domain)
        self.summation(domain)

    def _check_size(self, domain: Domain) -> None:
        """Refuse what would take too much room, before any of it is taken."""
        width = len(self.features)
        if self.directions is not None:
            width = len(self.directions)
        cells = width
        if self.moments == "products":
            cells = width * (width + 1) // 2
        if self._groups(domain) * cells > MAX_SUMS:
            raise InputError(
                f"The question asks for more than {MAX_SUMS:,} sums; take fewer features or groups."
            )
        coded = [feature for feature in self.features if feature.column in domain.schema]
        codes = sum(domain.sizes.get(Axis(feature.column), 0) for feature in coded)
        if codes > MAX_SUMS:
            raise InputError(
                "The features have more values than can be listed; take columns of fewer values."
            )

    def _check_ball(self) -> None:
        if self.ball is not None and not 1e-6 <= self.ball <= 1e6:
            raise InputError(
                f"The ball must have a radius from 0.000001 to 1,000,000, not {self.ball!r}."
            )

    def _check_directions(self) -> None:
        if self.directions is None:
            return
        if self.ball is None:
            raise InputError("Directions need a ball, which bounds what a row adds along them.")
        shape, width = np.shape(self.directions), len(self.features)
        if len(shape) != 2 or shape[1] != width or not 1 <= shape[0] <= width:
            raise InputError(f"There must be 1 to {width:,} directions of {width:,} numbers.")
        if not np.isfinite(self.directions).all() or np.abs(self.directions).max() > 1:
            raise InputError("Directions must be of numbers from -1 to 1.")

    def _check_shares(self) -> None:
        shares = self.split
        if not shares or not set(shares) <= set(PARTS):
            raise InputError(f"Shares are of {', '.join(PARTS)}, at least one of them.")
        if not all(1 / MAX_SHARE <= share <= MAX_SHARE for share in shares.values()):
            raise InputError(
                f"Shares of the budget must be numbers above 0, from 1 / {MAX_SHARE:,} to "
                f"{MAX_SHARE:,}."
            )
        if ("moments" in shares) != (self.moments != "none"):
            raise InputError("Moments need a share of the budget, and a word which they are.")
        if not all(cost.amount > 0 for cost in self.costs.values()):
            raise InputError("Sums cannot be had for nothing; give them a share of the budget.")

    @property
    def split(self) -> Mapping[Part, float]:
        """The weight of each part that is asked for."""
        if self.shares is not None:
            return self.shares
        if self.moments == "none":
            return {"sums": 1.0}
        return {"sums": 1.0, "moments": 1.0}

    @property
    def costs(self) -> dict[Part, Budget]:
        """The price of each part."""
        split = {part: self.split[part] for part in PARTS if part in self.split}
        return dict(zip(split, self.budget.split(*split.values()), strict=True))

    def on_grid(self, domain: Domain) -> list[GridFeature]:
        """The features, each on its grid."""
        ball_step = None
        if self.ball is not None:
            ball_step = self.ball / FEATURE_STEPS
        return [put_on_grid(feature, domain.schema, ball_step) for feature in self.features]

    def summation(self, domain: Domain) -> Summation:
        """What is summed, in whole numbers."""
        features = self.on_grid(domain)
        radius = None
        if self.ball is not None:
            radius = FEATURE_STEPS
        summation = Summation(
            terms=tuple(feature.term for feature in features),
            moments=self.moments,
            by=tuple(self.by),
            nearest=self._nearest(features),
            centres=self._centres(features, domain),
            radius=radius,
            complete=self.missing == "complete",
            directions=self._directions(),
            pooled=self.pooled,
        )
        _check_steps(summation)
        return summation

    def _centres(
        self, features: Sequence[GridFeature], domain: Domain
    ) -> tuple[tuple[int, ...], ...]:
        if self.centres is None:
            return ()
        shape = (*self.cell_shape(domain), len(features))
        centres = np.asarray(self.centres, dtype=np.float64)
        if centres.shape != shape or not np.isfinite(centres).all():
            raise InputError("Centres must be finite numbers, one per group and feature.")
        lines = centres.reshape(-1, len(features)).tolist()
        return tuple(
            tuple(feature.steps_to(number) for number, feature in zip(line, features, strict=True))
            for line in lines
        )

    def _directions(self) -> Directions | None:
        if self.directions is None:
            return None
        return Directions.of(self.directions)

    def _nearest(self, features: Sequence[GridFeature]) -> Nearest | None:
        if self.nearest is None:
            return None
        if len(self.nearest) > MAX_POINTS:
            raise InputError(f"Rows are told apart by {MAX_POINTS:,} points at most; take fewer.")
        points = [tuple(float(number) for number in point) for point in self.nearest]
        if not points or not all(
            len(point) == len(features) and np.isfinite(point).all() for point in points
        ):
            raise InputError("Points must have a finite number for each feature, all of them.")
        return Nearest(
            points=tuple(
                tuple(
                    (number - feature.centre) / feature.step
                    for number, feature in zip(point, features, strict=True)
                )
                for point in points
            ),
            weights=tuple(feature.step / feature.unit for feature in features),
        )

    def group_shape(self, domain: Domain) -> tuple[int, ...]:
        """The shape of the groups that are summed by themselves."""
        if self.pooled:
            return ()
        return self.cell_shape(domain)

    def cell_shape(self, domain: Domain) -> tuple[int, ...]:
        """The cells of the marginal, then the points."""
        shape = domain.shape(self.by)
        if self.nearest is None:
            return shape
        return (*shape, len(self.nearest))

    def _groups(self, domain: Domain) -> int:
        return int(np.prod(self.group_shape(domain), dtype=np.float64))

    def blocks(
        self, domain: Domain, neighbours: Neighbours, max_rows_per_person: int
    ) -> dict[Part, Block]:
        """The sensitivities of the parts that are asked for."""
        blocks = find_blocks(self.summation(domain), neighbours, max_rows_per_person)
        return {part: blocks[part] for part in self.costs}

    def scales(self, blocks: Mapping[Part, Block]) -> dict[Part, float]:
        """The scale of the noise in each part, in steps of its grid; refuses too little budget."""
        costs = self.costs
        scales = {part: block.scale(costs[part]) for part, block in blocks.items()}
        for part, scale in scales.items():
            if scale > MAX_CHOICE_SCALE:
                raise InputError(
                    f"{part.capitalize()} for {costs[part].amount:g} of {self.budget.currency} "
                    "would have noise that teaches nothing; give them more budget."
                )
        return scales

    def ledger_lines(
        self, blocks: Mapping[Part, Block], scales: Mapping[Part, float], how: str = ""
    ) -> Iterator[LedgerLine]:
        """A line for each part; ``how`` says more about the noise."""
        for part, cost in self.costs.items():
            noise = describe_noise(cost.currency, scales[part])
            noise = f"{noise} in steps of which the bound has {blocks[part].steps:,}"
            yield self._describe(part), cost, f"{noise}, {how}" if how else noise

    def _describe(self, part: Part) -> str:
        columns = list(dict.fromkeys(feature.column for feature in self.features))
        names = ", ".join(columns[:8])
        if len(columns) > 8:
            names += f" and {len(columns) - 8:,} more"
        features = f"{len(self.features):,} features"
        if len(self.features) == 1:
            features = "1 feature"
        what = {
            "counts": "counts of rows with",
            "sums": f"sums of {features} of",
            "moments": f"{self.moments} of {features} of",
        }[part]
        groups = ""
        if self.by:
            groups = f" by {describe(self.by)}"
        if self.nearest is not None:
            groups += f", by the nearest of {len(self.nearest):,} points"
        return f"{what} {names}{groups}{self._describe_coordinates()}"

    def _describe_coordinates(self) -> str:
        told = ""
        if self.centres is not None:
            told += ", about the centres of groups"
        if self.directions is not None:
            told += f", along {len(self.directions):,} directions"
        if self.pooled:
            told += ", all groups together"
        return told


def _check_steps(summation: Summation) -> None:
    """Refuse numbers that are too large to be summed exactly, or for their squares to be."""
    largest = [max(-least, greatest) for least, greatest in summation.ranges]
    if summation.radius is None and max(largest) > MAX_STEPS:
        raise InputError(
            f"A feature is more than {MAX_STEPS:,} steps away from its centre; give it a larger "
            "step."
        )
    squares = float(sum(steps**2 for steps in largest))
    if summation.directions is not None:
        squares *= max(summation.directions.stretch, 1.0) ** 2
    if squares >= 1 << 52:
        raise InputError(
            "The ball is too small for the bounds of the features; give it a larger radius."
        )


def exact_parts(exact: ExactSums, blocks: Mapping[Part, Block]) -> dict[Part, NDArray[np.int64]]:
    """Exact sums on the grids of their blocks: a line for each group."""
    found = {"counts": exact.counts[:, None], "sums": exact.sums, "moments": exact.moments}
    return {part: block.to_grid(found[part]) for part, block in blocks.items()}


def read_sums(
    question: Sum,
    domain: Domain,
    noisy: Mapping[Part, NDArray[np.int64]],
    blocks: Mapping[Part, Block],
    scales: Mapping[Part, float],
) -> Sums:
    """The answer in the units of the columns; the scales are those of all noise."""
    features = question.on_grid(domain)
    steps = np.array([feature.step for feature in features])
    summation = question.summation(domain)
    centres = np.array([feature.centre for feature in features])
    if summation.centres:
        shape = question.cell_shape(domain)
        centres = (centres + np.array(summation.centres) * steps).reshape(*shape, -1)
    if question.directions is not None and question.ball is not None:
        steps = np.full(summation.width, question.ball / FEATURE_STEPS)
    units: dict[Part, NDArray[np.float64]] = {
        "counts": np.ones(1),
        "sums": steps,
        "moments": np.array([steps[i] * steps[j] for i, j in summation.pairs]),
    }
    distribution = distribution_of(question.budget.currency)
    shape = question.group_shape(domain)

    def read(part: Part) -> Noisy | None:
        if part not in noisy:
            return None
        unit = units[part] * blocks[part].units
        scale = unit * scales[part]
        deviation = unit * noise_deviation(distribution, scales[part])
        arrays = [noisy[part] * unit, scale, deviation]
        if part == "counts":
            arrays = [array[..., 0] for array in arrays]
        elif part == "moments" and question.moments == "products":
            arrays = [_square(array, len(steps)) for array in arrays]
        values = arrays[0].reshape((*shape, *arrays[0].shape[1:]))
        return Noisy(values, arrays[1], arrays[2])

    return Sums(
        features=tuple(question.features),
        centres=centres,
        distribution=distribution,
        counts=read("counts"),
        sums=read("sums"),
        moments=read("moments"),
    )


def _square(flat: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Symmetric matrices of which the upper triangles stand one row after the other."""
    upper = np.triu_indices(size)
    square = np.empty((*flat.shape[:-1], size, size))
    square[..., upper[0], upper[1]] = flat
    square[..., upper[1], upper[0]] = flat
    return square
