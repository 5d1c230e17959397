"""White box: the exact privacy loss of a run, from what goes into its noise.

A synthesizer learns about rows only through noise: :class:`~understudy.privacy.mechanisms.Noise` is
the last thing between an exact count and the world. :class:`PausedRun` stands in its place: the run
stands still at every question until it is answered. Two runs, on neighbouring tables, are led along
one path: what both put into a question is compared, both get the same answer, and the log-ratio of
that answer's two probabilities is computed exactly. Along the path these add up to the loss of an
outcome that can really happen, so a loss above the claim refutes it. All that is told apart is told
by the questions: runs that got the same answers and yet return different things have a side door.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.auditing.bounds import draw_log_probabilities, gaussian_rho, renyi_rho
from understudy.auditing.neighbours import Pair
from understudy.auditing.profiles import Outcomes, joint_epsilon
from understudy.data.frames import Frame
from understudy.mechanisms.distributions import choice_log_probabilities
from understudy.privacy.mechanisms import ChoiceRule, ExactCounts, Noise
from understudy.privacy.renyi import bound_sampled_divergence, epsilon_at

RunWithNoise = Callable[[Frame, Noise], object]
"""Does what is audited, on a table, with the given noise, and returns what is released (or nothing,
where only what goes into the noise is of interest). That depends on the noise's answers: no other
dice may be thrown."""

MAX_EXACT_CANDIDATES = {"exponential": 100_000, "permute_and_flip": 3000}
"""Choices among more candidates than this are not worked out exactly."""

FOLLOWED_PATHS = 4
"""How many paths are followed from either table: the greedy one, and others that leave it at
random.
"""

STRAY = 0.25
"""How often, on the other paths, an answer is drawn as it would really be instead of the one that
tells most.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RecordedQuestion:
    """What goes into the noise once.

    Attributes
    ----------
    kind
        "laplace", "gaussian", "exponential", "permute_and_flip" or "draw".
    inputs
        Exact counts or scores.
    scale
        That of the noise or the choice; for draws, what is added to each cell.
    draws
        The number of draws.
    rate
        The probability with which each row took part; the inputs are those of all rows together.
    """

    kind: str
    inputs: Floats
    scale: float
    draws: int = 0
    rate: float = 1.0

    def same(self, other: RecordedQuestion) -> bool:
        """Whether the other run asks the same, whatever its counts are."""
        return (self.kind, self.scale, self.draws, self.rate, self.inputs.shape) == (
            other.kind,
            other.scale,
            other.draws,
            other.rate,
            other.inputs.shape,
        )

    def log_probabilities(self) -> Floats:
        """Of each candidate or, for one draw, of each cell."""
        if self.kind == "draw":
            return draw_log_probabilities(self.inputs.ravel(), self.scale)
        most = MAX_EXACT_CANDIDATES[self.kind]
        if len(self.inputs) > most:
            raise ValueError(f"a choice among more than {most:,} candidates; audit a smaller table")
        if self.kind == "exponential":
            rule: ChoiceRule = "exponential"
        else:
            rule = "permute_and_flip"
        return choice_log_probabilities(self.inputs, self.scale, rule)


class _Abandoned(BaseException):
    """Ends a paused run; not an Exception, so that nothing swallows it."""


class PausedRun:
    """A run that stands still at every question; it is its own noise, and protects nobody.

    It has a thread to itself, but only one of all threads ever works: the others wait.
    """

    private = False
    returned: object = None
    _rate = 1.0

    def __init__(self, run: RunWithNoise, table: Frame) -> None:
        self._asked: SimpleQueue[RecordedQuestion | BaseException | None] = SimpleQueue()
        self._answers: SimpleQueue[ExactCounts | int | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, args=(run, table), daemon=True)

    def _work(self, run: RunWithNoise, table: Frame) -> None:
        import numba

        numba.set_num_threads(1)  # tiny tables: threads would wait for each other most of the time
        try:
            self.returned = run(table, self)
            self._asked.put(None)
        except BaseException as error:
            self._asked.put(error)

    def begin(self) -> RecordedQuestion | None:
        """The first question, or none."""
        self._thread.start()
        return self._next()

    def answer(self, answer: ExactCounts | int) -> RecordedQuestion | None:
        """Give the answer to a question; the next one, or none."""
        self._answers.put(answer)
        return self._next()

    def abandon(self) -> None:
        """End the run where it stands, unless it has ended."""
        if self._thread.is_alive():
            self._answers.put(None)
            self._thread.join()

    def _next(self) -> RecordedQuestion | None:
        asked = self._asked.get()
        if isinstance(asked, BaseException):
            raise asked
        return asked

    def _ask(self, question: RecordedQuestion) -> ExactCounts | int:
        self._asked.put(question)
        answer = self._answers.get()
        if answer is None:
            raise _Abandoned
        return answer

    # ---- noise

    def laplace(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """A table."""
        return np.array(
            self._ask(RecordedQuestion("laplace", counts.astype(np.float64), scale)), dtype=np.int64
        )

    def rounded_gaussian(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """A table with rounded noise."""
        return self.gaussian(counts, scale)

    def gaussian(self, counts: ExactCounts, scale: float) -> ExactCounts:
        """A table, or the sum of a sample that was drawn right before."""
        rate, self._rate = self._rate, 1.0
        question = RecordedQuestion("gaussian", counts.astype(np.float64), scale, rate=rate)
        return np.array(self._ask(question), dtype=np.int64)

    def choose(self, scores: Floats, scale: float, rule: ChoiceRule) -> int:
        """A choice."""
        return int(self._ask(RecordedQuestion(rule, np.array(scores, dtype=np.float64), scale)))

    def draw(self, counts: ExactCounts, draws: int, smoothing: Fraction) -> ExactCounts:
        """Draws."""
        question = RecordedQuestion("draw", counts.astype(np.float64), float(smoothing), draws)
        return np.array(self._ask(question), dtype=np.int64)

    def sample(self, rows: int, rate: Fraction) -> NDArray[np.int64]:
        """All rows: what tells the tables apart is then in the noise that follows, and what the
        sampling takes off its loss is worked out from the rate.
        """
        self._rate = float(rate)
        return np.arange(rows)


@dataclass(frozen=True)
class ExactLoss:
    """The exact loss of a run on a pair of tables.

    Attributes
    ----------
    epsilon
        The log-ratio of an outcome's two probabilities; infinite where the runs part ways without a
        question to blame, and where there is Gaussian noise.
    rho
        What the questions on the way lose in zCDP, together.
    doors
        How many questions told the tables apart.
    gaussian
        Whether nothing but tables with Gaussian noise was asked for (a toss asks nothing).
    sampled
        For the questions that a sample of the rows was asked: rate, and scale by distance.
    side_door
        Whether the two runs asked different questions, or returned different things, although they
        got the same answers.
    squares
        The squared distances of tables with Gaussian noise over their scales, together.
    chosen
        The log-probabilities of the outcomes of choices, and of single draws, on both tables.
    """

    epsilon: float
    rho: float
    doors: int
    gaussian: bool = False
    side_door: bool = False
    sampled: tuple[tuple[float, float], ...] = ()
    squares: float = 0.0
    chosen: tuple[Outcomes, ...] = ()

    def joint_epsilon(self, delta: float) -> float:
        """What the questions on the way lose together at a delta, exactly."""
        return joint_epsilon(self.squares, self.chosen, delta)

    def epsilon_at(self, order: int, delta: float) -> float:
        """What the questions on the way lose together, where divergences are added up at an
        order.
        """
        of_samples = [bound_sampled_divergence(order, *one) / order for one in self.sampled]
        return epsilon_at(order, self.rho + sum(of_samples), delta)

    @property
    def mu(self) -> float | None:
        """The loss in Gaussian differential privacy, where all noise is Gaussian: squares of
        distance by scale add up.

        For one table that is its L2 distance over the scale (Dong, Roth and Su 2022), hence the
        root of 2 rho: the mu of continuous noise. That of discrete noise is a little larger at
        small scales (by 5 % at scale 1, 0.6 % at 3); rho, in which the guarantee is kept, is exact.
        """
        if self.gaussian and not self.side_door:
            return math.sqrt(2 * self.rho)
        return None


def exact_loss(
    run: RunWithNoise, pair: Pair, paths: int = FOLLOWED_PATHS, seed: int = 0
) -> ExactLoss:
    """The largest loss on several paths of answers, from either of the two tables.

    On the first path every answer is the one that tells most, given those before it. Which
    candidate is tossed, and the noise of tables beyond what tells the tables apart, comes from a
    seed; the other paths also leave the first one at random choices, since what tells less now may
    lead to questions that tell more.
    """
    found = []
    for direction, (table, other) in enumerate(
        ((pair.table, pair.other), (pair.other, pair.table))
    ):
        for path in range(paths):
            rng = np.random.default_rng([seed, direction, path])
            found.append(
                _follow(PausedRun(run, table), PausedRun(run, other), rng, STRAY if path else 0.0)
            )
            if found[-1].side_door:
                return found[-1]
    most = max(found, key=lambda loss: loss.epsilon)
    rho = max(found, key=lambda loss: loss.rho)
    sampled = max(found, key=lambda loss: sum(1 / ratio**2 for _, ratio in loss.sampled))
    return ExactLoss(
        most.epsilon,
        rho.rho,
        max(most.doors, rho.doors),
        all(loss.gaussian for loss in found),
        sampled=sampled.sampled,
        squares=rho.squares,
        chosen=rho.chosen,
    )


def _follow(here: PausedRun, there: PausedRun, rng: np.random.Generator, stray: float) -> ExactLoss:
    """Lead both runs along one path."""
    epsilon = rho = 0.0
    doors, gaussian = 0, True
    sampled: list[tuple[float, float]] = []
    squares = 0.0
    chosen: list[Outcomes] = []
    try:
        asked, other = here.begin(), there.begin()
        while asked is not None and other is not None and asked.same(other):
            answer, loss, loss_rho = _answer(asked, other, rng, stray)
            gaussian = gaussian and (asked.kind == "gaussian" or not asked.inputs.any())
            if not np.array_equal(asked.inputs, other.inputs):
                doors, epsilon, rho = doors + 1, epsilon + loss, rho + loss_rho
                if asked.kind == "gaussian":
                    squares += 2 * loss_rho
                elif asked.kind != "laplace":
                    pair = asked.log_probabilities(), other.log_probabilities()
                    chosen += [pair] * max(asked.draws, 1)
                if asked.rate < 1:
                    distance = float(np.linalg.norm(asked.inputs - other.inputs))
                    sampled.append((asked.rate, asked.scale / distance))
            asked, other = here.answer(answer), there.answer(answer)
    finally:
        here.abandon()
        there.abandon()
    if asked is not None or other is not None or not _alike(here.returned, there.returned):
        return ExactLoss(math.inf, math.inf, doors, side_door=True)
    gaussian = gaussian and not sampled
    return ExactLoss(
        epsilon,
        rho,
        doors,
        gaussian,
        sampled=tuple(sampled),
        squares=squares,
        chosen=tuple(chosen),
    )


def _alike(one: Any, other: Any) -> bool:
    """Whether two runs returned the same, looked at as far down as it goes."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        same = one.dtype == other.dtype and one.shape == other.shape
        return same and all(map(_alike, one.ravel().tolist(), other.ravel().tolist()))
    if hasattr(one, "to_dict"):  # a model, a schema or a ledger, as it stands in a file
        one, other = one.to_dict(), other.to_dict()
    elif is_dataclass(one):
        one, other = (
            {field.name: getattr(part, field.name) for field in fields(one)}
            for part in (one, other)
        )
    if isinstance(one, Mapping):
        return _alike(list(one.items()), list(other.items()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other) or (one != one and other != other)


def _answer(
    a: RecordedQuestion, b: RecordedQuestion, rng: np.random.Generator, stray: float
) -> tuple[ExactCounts | int, float, float]:
    """An answer to a question, the log-ratio of its probabilities, and the question's rho."""
    if a.kind == "laplace":
        # Beyond the nearer of two counts the probabilities differ by all that they can:
        # exp(distance / scale).
        side = np.where(
            a.inputs == b.inputs, rng.choice([-1, 1], a.inputs.shape), np.sign(a.inputs - b.inputs)
        )
        noise = np.rint(rng.exponential(a.scale, a.inputs.shape))
        loss = float(np.abs(a.inputs - b.inputs).sum()) / a.scale
        return (a.inputs + side * noise).astype(np.int64), loss, loss**2 / 2
    if a.kind == "gaussian":
        noisy = a.inputs + np.rint(rng.normal(0.0, a.scale, a.inputs.shape))
        rho = 0.0  # that of a sample goes by the order, see Loss.sampled
        if a.rate == 1:
            rho = gaussian_rho(a.inputs, b.inputs, a.scale)
        return noisy.astype(np.int64), math.inf, rho
    log_p, log_q = a.log_probabilities(), b.log_probabilities()
    losses = log_p - log_q
    shares = np.exp(log_p - log_p.max())
    shares /= shares.sum()
    real = np.array_equal(a.inputs, b.inputs) or rng.random() < stray
    if real:
        place = rng.choice(len(losses), p=shares)
    else:
        place = _largest(losses, rng)
    if a.kind != "draw":
        return (
            int(place),
            float(losses[place]),
            0.0 if real and not losses.any() else renyi_rho(log_p, log_q),
        )
    if real:
        drawn = rng.multinomial(a.draws, shares)
    else:
        drawn = np.where(np.arange(len(losses)) == place, a.draws, 0)
    return drawn.reshape(a.inputs.shape), float(drawn @ losses), a.draws * renyi_rho(log_p, log_q)


def _largest(losses: Floats, rng: np.random.Generator) -> int:
    """The place of the largest; of equally large ones, any."""
    return int(rng.choice(np.flatnonzero(losses >= losses.max() - 1e-12 * np.abs(losses).max())))
