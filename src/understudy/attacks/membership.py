"""Membership inference with shadow models: tell from a synthetic table whether somebody's row was
in the real one.

The game: a coin decides whether the target's row goes into the table; a synthesizer is fitted and
synthetic rows are drawn; the adversary sees them and guesses the coin. To learn how, the adversary
fits the synthesizer many times with and without the row (shadow models), and trains a classifier on
what the synthetic tables look like. Fresh fits judge it. The setting is that of Stadler, Oprisanu
and Troncoso (2022).

Here the coin is exactly the one that differential privacy speaks of, so its promise can be put
beside the outcome: the advantage (true alarms less false ones) is at most (exp(epsilon) - 1 + 2
delta) / (exp(epsilon) + 1), for any adversary.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.advantage import bound_advantage, chance_by_shuffling
from understudy.attacks.features import Floats, random_queries, table_features, target_features
from understudy.attacks.promise import Promise
from understudy.attacks.rows import Ints
from understudy.attacks.shadow_classifier import check_scikit_learn, train_best_classifier
from understudy.attacks.verdicts import FALSE_FINDING_RATE, Attack, give_verdict
from understudy.auditing.bounds import epsilon_bound
from understudy.data.encoding import Coded, encode
from understudy.data.frames import Frame, as_table
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.errors import InputError
from understudy.privacy.mechanisms import SeededNoise
from understudy.release.callbacks import Progress, no_progress
from understudy.synthesizers import Synthesizer

ReleaseTable = Callable[[Table, np.random.Generator], Frame]
"""Makes a synthetic table out of a real one."""

Knows = Literal["rows", "population"]

SHADOW_ROWS = 1000
"""Shadow models are fitted on tables of this many rows: quick, and easier to attack than large
ones.
"""

COPIES = 4
"""The control hands out rows of the table, this many times as many as it has."""

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


@dataclass(frozen=True)
class Membership:
    """The outcome of the game, and of the same game against copies of the rows. For the owner's
    eyes only.

    Attributes
    ----------
    attack
        What was found.
    control
        What the same adversary finds where the "synthetic" rows are copies of real ones: if not
        much, an attack that sees nothing means nothing.
    targets
        The game for each target.
    promise
        The guarantee of the synthesizer, if it gives one.
    rows, shadows, knows
        The setting: rows of each table, fits on each side for learning and as many for judging,
        what the adversary knows.
    """

    attack: Attack
    control: Attack | None
    targets: tuple[Target, ...]
    promise: Promise | None
    rows: int
    shadows: int
    knows: Knows

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return {
            "for": "the owner of the table, not for release",
            "attack": self.attack.to_dict(),
            "control": None if self.control is None else self.control.to_dict(),
            "targets": [asdict(target) for target in self.targets],
            "promise": None if self.promise is None else asdict(self.promise),
            "rows": self.rows,
            "shadows": self.shadows,
            "knows": self.knows,
        }


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


_RULES = GameRules()


def membership(
    synthesizer: Synthesizer | ReleaseTable,
    table: Frame,
    schema: Schema | str | Path | None = None,
    rules: GameRules = _RULES,
    *,
    promise: Promise | None = None,
    seed: int | None = None,
    progress: Progress = no_progress,
) -> Membership:
    """Play the membership game against a synthesizer. Needs scikit-learn (``pip install
    understudy[evaluation]``).

    Parameters
    ----------
    synthesizer
        What is attacked: a synthesizer as you set it up, or a function that takes a table and a
        random generator and returns a synthetic table.
    table
        The real table.
    schema
        What the columns are. Without one it is read off the table, for this attack alone.
    rules
        How many people are attacked, how often, and what the adversary knows.
    promise
        The guarantee of a function; a synthesizer brings its own.
    seed
        Makes the game repeatable, with noise of the same distributions from NumPy; by default the
        real noise is used.
    progress
        Called while playing.

    Examples
    --------
    >>> from understudy import PrivBayes
    >>> method = PrivBayes(epsilon=1.0)
    >>> played = membership(method, "patients.csv", "patients.json")  # doctest: +SKIP
    >>> played.attack.verdict  # doctest: +SKIP
    'nothing seen'
    """
    check_scikit_learn()
    people, public = _read(table, schema)
    game = _set_up(people, public, rules, seed)
    if isinstance(synthesizer, Synthesizer):
        promise = Promise(synthesizer.epsilon, synthesizer.delta, synthesizer.neighbours)
        name, release = synthesizer.name, _release_rows(synthesizer, public, game.rows, seed)
    else:
        name, release = getattr(synthesizer, "__name__", "the function"), synthesizer
    stand_in = promise is not None and promise.neighbours == "replace"
    steps = game.fits * (2 if rules.control else 1)

    def report(done: int, what: str) -> None:
        progress(what, done, steps)

    if promise is None:
        delta = 0.0
    else:
        delta = promise.delta
    outcome = game.play(release, stand_in, delta, lambda done: report(done, f"attacking {name}"))
    checked = None
    if rules.control:
        copies = game.play(
            _copies(game.rows),
            stand_in,
            0.0,
            lambda done: report(game.fits + done, "attacking copies"),
        )
        checked = _make_attack("copies", copies, None, game)
    found = _make_attack(name, outcome, promise, game)
    return Membership(
        found, checked, outcome.targets, promise, game.rows, rules.shadows, rules.knows
    )


# --------------------------------------------------------------------------- the game


@dataclass(frozen=True)
class _Outcome:
    targets: tuple[Target, ...]
    advantage: float
    at_least: float
    """What the advantage surely is, with a confidence of about 99.5 %."""
    deviation: float
    p_value: float


@dataclass(frozen=True)
class _Look:
    """What the adversary sees in one synthetic table."""

    table: dict[str, Floats]
    targets: dict[int, Floats]

    def at(self, target: int) -> dict[str, Floats]:
        return self.table | {"target": self.targets[target]}


@dataclass(frozen=True)
class _Game:
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
        return 2 * self.shadows * (len(self.targets) + 1)

    def play(
        self, release: ReleaseTable, stand_in: bool, delta: float, report: Callable[[int], None]
    ) -> _Outcome:
        counter = itertools.count(1)

        def look(places: Ints, targets: Sequence[int]) -> _Look:
            synthetic = as_table(release(_rows_of(self.people, places), self.rng))[0]
            report(next(counter))
            rows = _encode_rows(synthetic, self.schema)
            return _Look(
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
        return _Outcome(
            targets, advantage, *bound_advantage(alarms), chance_by_shuffling(alarms, self.rng)
        )

    def _looks(
        self,
        look: Callable[[Ints, Sequence[int]], _Look],
        rest: Ints,
        stand_in: bool,
        looked_for: Sequence[Sequence[int]],
    ) -> list[list[_Look]]:
        """Looks at synthetic tables: first those without any target's row, then with the first
        one's, and so on.

        In each of these groups certain targets are looked for.
        """
        # Under "replace" somebody else, always the same, has the place that the target would have.
        if stand_in:
            other, rest = (rest[:1], rest[1:])
        else:
            other, rest = (rest[:0], rest)

        def look_from_shadow(extra: Ints, targets: Sequence[int]) -> _Look:
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
        self, number: int, learning: list[list[_Look]], judging: list[list[_Look]], delta: float
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


def _set_up(people: Table, public: Schema, rules: GameRules, seed: int | None) -> _Game:
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
    return _Game(
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


# --------------------------------------------------------------------------- what is attacked


def _release_rows(
    synthesizer: Synthesizer, public: Schema, otherwise: int, seed: int | None
) -> ReleaseTable:
    noise = None
    if seed is not None:
        noise = SeededNoise(seed)

    def release(table: Table, rng: np.random.Generator) -> Frame:
        model = synthesizer.fit(table, public, noise=noise, notify=_quiet)
        # Private draws are released as they are. A method that measures nothing does not know how
        # many rows there are, and must not be told here.
        knows_how_many = model.draws is not None or model.rows is not None
        return model.sample(None if knows_how_many else otherwise, int(rng.integers(1 << 31)))

    return release


def _quiet(sentence: str) -> None:
    """The owner has heard it before, from the release itself."""


def _copies(rows: int) -> ReleaseTable:
    """The control: real rows, drawn with replacement, always the same number."""

    def release(table: Table, rng: np.random.Generator) -> Table:
        return _rows_of(table, rng.integers(table.rows, size=COPIES * rows))

    return release


# --------------------------------------------------------------------------- tables


def _read(table: Frame, schema: Schema | str | Path | None) -> tuple[Table, Schema]:
    rows = as_table(table)[0]
    if schema is not None:
        return rows, Schema.load(schema) if isinstance(schema, str | Path) else schema
    from understudy.evaluation.comparison import compare_tables

    side = compare_tables(rows, rows)
    return side.real.table, side.schema


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


def _rows_of(table: Table, places: Ints) -> Table:
    return Table(
        {name: _cells(column, places) for name, column in table.columns.items()}, table.source
    )


def _cells(column: Column, places: Ints) -> Column:
    missing = None
    if column.missing is not None:
        missing = column.missing[places]
    raw = None
    if column.raw is not None:
        raw = _cells(column.raw, places)
    return replace(column, values=column.values[places], missing=missing, raw=raw)


# --------------------------------------------------------------------------- the finding


def _make_attack(name: str, outcome: _Outcome, promise: Promise | None, game: _Game) -> Attack:
    targets = outcome.targets
    shown = max(target.epsilon for target in targets)
    worst = max(targets, key=lambda target: target.advantage)
    allowed = None
    if promise is not None:
        allowed = promise.advantage
    promised = "No epsilon is claimed, so nothing is promised."
    if promise is not None:
        promised = (
            f"At {promise} no adversary gets further than an advantage of {allowed:.3f}, which is "
            f"{promise.accuracy:.1%} right guesses, on any person."
        )
    # An epsilon is refuted by what one target shows, or by the advantage over all, which also
    # refutes a large one.
    refuted = promise is not None and shown > promise.epsilon
    verdict = give_verdict(outcome.p_value, math.inf if refuted else outcome.at_least, allowed)
    if promise is not None and promise.delta:
        at_delta = f" at delta {promise.delta:g}"
    else:
        at_delta = ""
    by_kind = {
        kind: float(np.mean([t.advantage for t in targets if t.kind == kind]))
        for kind in sorted({t.kind for t in targets})
    }
    return Attack(
        f"membership, {name}",
        "Whether a person's row was in the table is guessed with an advantage of "
        f"{outcome.advantage:.3f} on average "
        f"(chance: ± {2 * outcome.deviation:.3f}) over {len(targets)} people, "
        f"{worst.advantage:.3f} for the worst off; "
        f"tables of {game.rows:,} rows. That shows an epsilon of at least {shown:.2f}{at_delta}, "
        "and an advantage of "
        f"at least {max(0.0, outcome.at_least):.3f}.",
        "advantage: true less false alarms",
        outcome.advantage,
        0.0,
        allowed,
        promised,
        verdict,
        outcome.p_value,
        {
            "deviation": outcome.deviation,
            "advantage_at_least": outcome.at_least,
            "largest": worst.advantage,
            "accuracy": (1 + outcome.advantage) / 2,
            "auc": float(np.mean([target.auc for target in targets])),
            "epsilon_lower_bound": shown,
            **{f"advantage_{kind}": value for kind, value in by_kind.items()},
        },
    )
