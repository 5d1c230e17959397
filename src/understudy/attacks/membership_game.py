"""The membership game: shadow models with and without a target's row, and fresh fits that judge
what was learned from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.advantage import bound_advantage, chance_by_shuffling
from understudy.attacks.features import Floats, random_queries, table_features, target_features
from understudy.attacks.rows import Ints
from understudy.attacks.shadow_classifier import train_best_classifier
from understudy.attacks.verdicts import FALSE_FINDING_RATE
from understudy.auditing.bounds import epsilon_bound
from understudy.data.encoding import Coded, encode
from understudy.data.frames import Frame, as_table
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.errors import InputError

ReleaseTable = Callable[[Table, np.random.Generator], Frame]
"""Makes a synthetic table out of a real one."""

Knows = Literal["rows", "population"]

SHADOW_ROWS = 1000
"""Shadow models are fitted on tables of this many rows: quick, and easier to attack than large
ones.
"""

MIN_MEMBERSHIP_ROWS = 20


@dataclass(frozen=True)
class Target:
    """How the game went for one person.

    Attributes
    ----------
    place
        The number of the person's row in the table, from 0.
    kind
        "rare": among the rows with the rarest values; "random": any row.
    advantage
        True less false alarms on fresh fits: 0 is guessing, 1 is certainty.
    auc
        The area under the curve of true against false alarms; 0.5 is guessing.
    true_alarms, false_alarms, fits
        Alarms on this many fresh fits with, and as many without the row.
    epsilon
        A lower bound on epsilon, at the delta that is promised, that these alarms show; with a
        confidence of 99.5 % for all targets together.
    looked_at
        The features that told most while learning.
    """

    place: int
    kind: str
    advantage: float
    auc: float
    true_alarms: int
    false_alarms: int
    fits: int
    epsilon: float
    looked_at: str


@dataclass(frozen=True, kw_only=True)
class GameRules:
    """The rules of the membership game.

    It takes 2 * shadows * (targets + 1) fits, and the control as many draws.

    Parameters
    ----------
    targets
        How many people are attacked: half of them the rows with the rarest values, the other half
        any rows.
    shadows
        Fits with and without the row of each target for learning, and as many for judging.
    rows
        Rows of the tables that are fitted, drawn from the table once.
    knows
        "rows": the adversary knows every row but the target's, as differential privacy supposes.
        "population": only other people of the same population; learning and judging draw their
        tables from two halves of the table.
    control
        Whether to attack copies of the rows, too, to see whether the attack can see.
    """

    targets: int = 6
    shadows: int = 100
    rows: int = SHADOW_ROWS
    knows: Knows = "rows"
    control: bool = True

    def __post_init__(self) -> None:
        for name, least in (("targets", 1), ("shadows", 10), ("rows", MIN_MEMBERSHIP_ROWS)):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not least <= value <= 1_000_000:
                raise InputError(
                    f"{name} must be a whole number from {least} to 1,000,000, not {value!r}."
                )
        if self.knows not in get_args(Knows):
            raise InputError(
                f"knows must be one of {', '.join(get_args(Knows))}, not {self.knows!r}."
            )


@dataclass(frozen=True)
class GameOutcome:
    """How the game went, over all targets."""

    targets: tuple[Target, ...]
    advantage: float
    at_least: float
    """What the advantage surely is, with a confidence of about 99.5 %."""
    deviation: float
    p_value: float


@dataclass(frozen=True)
class ShadowLook:
    """What the adversary sees in one synthetic table."""

    table: dict[str, Floats]
    targets: dict[int, Floats]

    def at(self, target: int) -> dict[str, Floats]:
        """The features for one target."""
        return self.table | {"target": self.targets[target]}


@dataclass(frozen=True)
class MembershipGame:
    """Who is attacked, in which tables."""

    people: Table
    schema: Schema
    """Of the attributes that are looked at."""
    targets: tuple[dict[str, int], ...]
    places: tuple[int, ...]
    kinds: tuple[str, ...]
    rest: tuple[Ints, Ints]
    """From which rows the tables are drawn, for learning and for judging."""
    rows: int
    shadows: int
    queries: NDArray[np.bool_]
    rng: np.random.Generator

    @property
    def fits(self) -> int:
        """How many tables are fitted."""
        return 2 * self.shadows * (len(self.targets) + 1)

    def play(
        self, release: ReleaseTable, stand_in: bool, delta: float, progress: Callable[[int], None]
    ) -> GameOutcome:
        """Attack what ``release`` makes of tables with and without each target's row."""
        counter = itertools.count(1)

        def look(places: Ints, targets: Sequence[int]) -> ShadowLook:
            synthetic = as_table(release(self.people.take(places), self.rng))[0]
            progress(next(counter))
            rows = _encode_rows(synthetic, self.schema)
            return ShadowLook(
                table_features(rows),
                {t: target_features(rows, self.targets[t], self.queries) for t in targets},
            )

        numbers = range(len(self.targets))
        learning = self._looks(
            look, self.rest[0], stand_in, [numbers, *([number] for number in numbers)]
        )
        judging = self._looks(look, self.rest[1], stand_in, [numbers] * (len(numbers) + 1))
        games = [self._judge_target(number, learning, judging, delta) for number in numbers]
        targets, alarms = (
            tuple(target for target, _ in games),
            np.stack([alarm for _, alarm in games]),
        )
        advantage = float(np.mean([target.advantage for target in targets]))
        return GameOutcome(
            targets, advantage, *bound_advantage(alarms), chance_by_shuffling(alarms, self.rng)
        )

    def _looks(
        self,
        look: Callable[[Ints, Sequence[int]], ShadowLook],
        rest: Ints,
        stand_in: bool,
        looked_for: Sequence[Sequence[int]],
    ) -> list[list[ShadowLook]]:
        """Looks at synthetic tables: first those without any target's row, then with the first
        one's, and so on.

        In each of these groups certain targets are looked for.
        """
        # Under "replace" somebody else, always the same, has the place that the target would have.
        if stand_in:
            other, rest = (rest[:1], rest[1:])
        else:
            other, rest = (rest[:0], rest)

        def look_from_shadow(extra: Ints, targets: Sequence[int]) -> ShadowLook:
            if len(rest) <= self.rows:
                drawn = rest
            else:
                drawn = self.rng.choice(rest, self.rows, replace=False)
            return look(np.concatenate([drawn, extra]), targets)

        groups = [other, *(np.array([place]) for place in self.places)]
        return [
            [look_from_shadow(extra, targets) for _ in range(self.shadows)]
            for extra, targets in zip(groups, looked_for, strict=True)
        ]

    def _judge_target(
        self,
        number: int,
        learning: list[list[ShadowLook]],
        judging: list[list[ShadowLook]],
        delta: float,
    ) -> tuple[Target, Floats]:
        """How the game went for a target, and its alarms on all fits for judging: a line for each
        group of them.
        """
        from sklearn.metrics import roc_auc_score

        with_row, without = (
            [look.at(number) for look in learning[group]] for group in (number + 1, 0)
        )
        name, classify = train_best_classifier((with_row, without), int(self.rng.integers(1 << 31)))
        scores = np.stack([classify([look.at(number) for look in looks]) for looks in judging])
        alarms = (scores > 0.5).astype(np.float64)
        hits, others = int(alarms[number + 1].sum()), int(alarms[0].sum())
        fits = self.shadows
        target = Target(
            self.places[number],
            self.kinds[number],
            (hits - others) / fits,
            float(roc_auc_score(np.repeat([1, 0], fits), scores[[number + 1, 0]].ravel())),
            hits,
            others,
            fits,
            # Half of what may go wrong is left to the advantage.
            epsilon_bound(
                hits, fits, others, fits, 1 - FALSE_FINDING_RATE / 2 / len(self.targets), delta
            ),
            name,
        )
        return target, alarms


def set_up_game(
    people: Table, public: Schema, rules: GameRules, seed: int | None
) -> MembershipGame:
    """Pick the targets, and the rows that their tables are drawn from."""
    rng = np.random.default_rng(seed)
    schema = Schema(public.modelled)
    coded = _encode_rows(people, schema)
    fewest = rules.targets + MIN_MEMBERSHIP_ROWS
    if coded.rows < fewest:
        raise InputError(
            f"{people.source} has {coded.rows:,} rows; attacking {rules.targets} people takes at "
            f"least {fewest:,}."
        )
    places, kinds = _targets(coded, rules.targets, rng)
    left = rng.permutation(np.setdiff1d(np.arange(coded.rows), places))
    if rules.knows == "rows":
        kept = left[: rules.rows]
        rest = kept, kept
        rows = len(kept)
    else:
        half = len(left) // 2
        rest = left[:half], left[half : 2 * half]
        rows = min(rules.rows, max(half // 2, 1))  # of each half another sample every time
    chosen = tuple({a.name: int(coded.codes[a.name][place]) for a in schema} for place in places)
    queries = random_queries(len(schema), rng)
    return MembershipGame(
        people=people,
        schema=schema,
        targets=chosen,
        places=tuple(map(int, places)),
        kinds=kinds,
        rest=rest,
        rows=rows,
        shadows=rules.shadows,
        queries=queries,
        rng=rng,
    )


def _targets(coded: Coded, targets: int, rng: np.random.Generator) -> tuple[Ints, tuple[str, ...]]:
    """Rows whose values are rarest, taken attribute by attribute, then any others."""
    rarity = np.zeros(coded.rows)
    for name, codes in coded.codes.items():
        rarity -= np.log(np.bincount(codes, minlength=coded.schema[name].size)[codes] / coded.rows)
    rare = (targets + 1) // 2
    order = np.argsort(-rarity, kind="stable")
    chosen = np.concatenate([order[:rare], rng.choice(order[rare:], targets - rare, replace=False)])
    return chosen.astype(np.int64), ("rare",) * rare + ("random",) * (targets - rare)


def _encode_rows(table: Table, schema: Schema) -> Coded:
    """The attributes that are looked at, in the order of the schema; identifiers and text are
    not.
    """
    absent = next((name for name in schema.names if name not in table.columns), None)
    if absent is not None:
        raise InputError(
            f"{table.source} has no column {absent!r}, which the schema describes; add it or drop "
            "it there."
        )
    return encode(Table({name: table.columns[name] for name in schema.names}, table.source), schema)
