"""White box: the exact privacy loss of a run, from what goes into its noise.

A synthesizer learns about rows only through noise: :class:`~understudy.curator.mechanisms.Noise` is the last thing
between an exact count and the world. :class:`RecordingNoise` stands in its place, writes down what goes in, and gives
pre-set answers. Two runs on neighbouring tables with the same answers ask the same questions; from the two records the
loss of every question is computed exactly, and the losses of the questions add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.audit.bounds import choice_log_probabilities, choice_losses, gaussian_rho, laplace_loss, renyi_rho
from understudy.audit.neighbours import Pair
from understudy.curator.mechanisms import Counts, Noise, Rule, SeededNoise
from understudy.tables import Table

Run = Callable[[Table, Noise], object]
"""Does what is audited, on a table, with the given noise; what it returns is not looked at."""

MOST_CANDIDATES = 3000
"""Choices among more candidates than this are not worked out exactly."""


@dataclass(frozen=True)
class Question:
    """What went into the noise once, and what came out."""

    kind: str
    """"laplace", "gaussian", "exponential" or "permute_and_flip"."""
    inputs: NDArray[np.float64]
    scale: float
    answer: NDArray[np.int64] | int


class RecordingNoise:
    """Notes what goes into it and gives pre-set answers, then answers drawn with a seed. It protects nobody."""

    private = False

    def __init__(self, answers: list[NDArray[np.int64] | int] | None = None, seed: int = 0) -> None:
        self.questions: list[Question] = []
        self._answers = answers or []
        self._rest = SeededNoise(seed)

    def laplace(self, counts: Counts, scale: float) -> Counts:
        """A table."""
        return self._table("laplace", counts, scale)

    def gaussian(self, counts: Counts, scale: float) -> Counts:
        """A table."""
        return self._table("gaussian", counts, scale)

    def choose(self, scores: NDArray[np.float64], scale: float, rule: Rule) -> int:
        """A choice."""
        known = self._known()
        answer = self._rest.choose(scores, scale, rule) if known is None else int(known)
        self.questions.append(Question(rule, np.array(scores, dtype=np.float64), scale, answer))
        return answer

    def _table(self, kind: str, counts: Counts, scale: float) -> Counts:
        known = self._known()
        drawn = self._rest.laplace(counts, scale) if kind == "laplace" else self._rest.gaussian(counts, scale)
        answer = drawn if known is None or np.shape(known) != counts.shape else np.asarray(known)
        self.questions.append(Question(kind, counts.astype(np.float64), scale, answer))
        return answer.copy()

    def _known(self) -> NDArray[np.int64] | int | None:
        place = len(self.questions)
        return self._answers[place] if place < len(self._answers) else None


@dataclass(frozen=True)
class Loss:
    """The exact loss of a run on a pair of tables.

    Attributes
    ----------
    epsilon
        The largest log-ratio of the outcomes' probabilities; infinite where the runs part ways without a question
        to blame, and where there is Gaussian noise.
    rho
        The loss in zCDP.
    doors
        How many questions told the tables apart.
    side_door
        Whether the two runs asked different questions although they got the same answers.
    """

    epsilon: float
    rho: float
    doors: int
    side_door: bool = False


def exact_loss(run: Run, pair: Pair, seed: int = 0) -> Loss:
    """The loss of a run, on the path of answers that is worst for choices, question by question."""
    answers: list[NDArray[np.int64] | int] = []
    at = 0
    while True:
        here = _record(run, pair.table, answers, seed)
        there = _record(run, pair.other, [question.answer for question in here], seed)
        if not _same_questions(here, there):
            return Loss(math.inf, math.inf, len(here), side_door=True)
        answers = [question.answer for question in here]
        # The next choice whose worst answer has not been given yet decides how the run goes on.
        for at in range(at, len(here)):  # noqa: B020
            worst = _worst_answer(here[at], there[at])
            if worst is not None and worst != here[at].answer:
                answers = [*answers[:at], worst]
                break
        else:
            return _total(here, there)
        at += 1


def _record(run: Run, table: Table, answers: list[NDArray[np.int64] | int], seed: int) -> list[Question]:
    noise = RecordingNoise(answers, seed)
    run(table, noise)
    return noise.questions


def _same_questions(here: list[Question], there: list[Question]) -> bool:
    return len(here) == len(there) and all(
        (a.kind, a.scale, a.inputs.shape) == (b.kind, b.scale, b.inputs.shape) for a, b in zip(here, there, strict=True)
    )


def _is_choice(question: Question) -> bool:
    return question.kind in ("exponential", "permute_and_flip")


def _losses(a: Question, b: Question) -> NDArray[np.float64]:
    rule: Rule = "exponential" if a.kind == "exponential" else "permute_and_flip"
    if len(a.inputs) > MOST_CANDIDATES:
        raise ValueError(f"a choice among more than {MOST_CANDIDATES:,} candidates; audit a smaller table")
    return choice_losses(a.inputs, b.inputs, a.scale, rule)


def _worst_answer(a: Question, b: Question) -> int | None:
    if not _is_choice(a) or np.array_equal(a.inputs, b.inputs):
        return None
    losses = _losses(a, b)
    best = float(np.max(np.abs(losses)))
    assert isinstance(a.answer, int)
    return a.answer if abs(losses[a.answer]) >= best * (1 - 1e-12) else int(np.argmax(np.abs(losses)))


def _total(here: list[Question], there: list[Question]) -> Loss:
    forward = backward = rho = 0.0
    doors = 0
    for a, b in zip(here, there, strict=True):
        if np.array_equal(a.inputs, b.inputs):
            continue
        doors += 1
        if a.kind == "laplace":
            loss = laplace_loss(a.inputs, b.inputs, a.scale)
            forward, backward, rho = forward + loss, backward + loss, rho + loss**2 / 2
        elif a.kind == "gaussian":
            forward = backward = math.inf
            rho += gaussian_rho(a.inputs, b.inputs, a.scale)
        else:
            losses = _losses(a, b)
            forward, backward = forward + float(losses.max()), backward + float(-losses.min())
            rule: Rule = "exponential" if a.kind == "exponential" else "permute_and_flip"
            rho += renyi_rho(*(choice_log_probabilities(q.inputs, q.scale, rule) for q in (a, b)))
    return Loss(max(forward, backward), rho, doors)
