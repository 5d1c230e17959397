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

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.attacks.membership_game import (
    GameOutcome,
    GameRules,
    Knows,
    MembershipGame,
    ReleaseTable,
    Target,
    set_up_game,
)
from understudy.attacks.promise import Promise
from understudy.attacks.shadow_classifier import check_scikit_learn
from understudy.attacks.verdicts import Attack, give_verdict
from understudy.data.frames import Frame, as_table
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.privacy.mechanisms import SeededNoise
from understudy.release.callbacks import Progress, ignore_notes, no_progress
from understudy.synthesizers import Synthesizer

COPIES = 4
"""The control hands out rows of the table, this many times as many as it has."""


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
    game = set_up_game(people, public, rules, seed)
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


# --------------------------------------------------------------------------- what is attacked


def _release_rows(
    synthesizer: Synthesizer, public: Schema, otherwise: int, seed: int | None
) -> ReleaseTable:
    noise = None
    if seed is not None:
        noise = SeededNoise(seed)

    def release(table: Table, rng: np.random.Generator) -> Frame:
        model = synthesizer.fit(table, public, noise=noise, notify=ignore_notes)
        # Private draws are released as they are. A method that measures nothing does not know how
        # many rows there are, and must not be told here.
        knows_how_many = model.draws is not None or model.rows is not None
        return model.sample(None if knows_how_many else otherwise, int(rng.integers(1 << 31)))

    return release


def _copies(rows: int) -> ReleaseTable:
    """The control: real rows, drawn with replacement, always the same number."""

    def release(table: Table, rng: np.random.Generator) -> Table:
        return table.take(rng.integers(table.rows, size=COPIES * rows))

    return release


def _read(table: Frame, schema: Schema | str | Path | None) -> tuple[Table, Schema]:
    rows = as_table(table)[0]
    if schema is not None:
        return rows, Schema.load(schema) if isinstance(schema, str | Path) else schema
    from understudy.evaluation.comparison import compare_tables

    side = compare_tables(rows, rows)
    return side.real.table, side.schema


# --------------------------------------------------------------------------- the finding


def _make_attack(
    name: str, outcome: GameOutcome, promise: Promise | None, game: MembershipGame
) -> Attack:
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
