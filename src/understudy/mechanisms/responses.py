"""Randomised response: every answer is true with some probability; nobody can tell which are."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.mechanisms.base import Mechanism
from understudy.mechanisms.uniform import number_below
from understudy.privacy.budget import exact
from understudy.privacy.exact_noise import WordSource, system_words
from understudy.privacy.exact_numbers import exp_minus
from understudy.privacy.ledger import Ledger

MAX_RESPONSES = 10_000

LIE_LOTS = 1 << 40
"""Lots of each untrue answer; those of the true one are rounded down to a whole number."""

MAX_RESPONSE_EPSILON = 100.0


@dataclass(frozen=True, kw_only=True)
class ResponseMechanism(Mechanism):
    """Answers that may be untrue. Which answers there are is public.

    A report protects what a person answered, not that they did: so the ledger must be kept under
    neighbours replace. The reports of many people cost epsilon once, since each person gives one.
    """

    def check_ledger(self, ledger: Ledger) -> None:
        """Refuse neighbours add_remove: how many reports there are is not hidden."""
        if ledger.neighbours != "replace":
            raise InputError(
                "Randomised response protects what a person answers, not whether they do; keep "
                'its ledger under neighbours replace: Ledger(1.0, neighbours="replace").'
            )

    @property
    @abstractmethod
    def all_answers(self) -> tuple[Any, ...]:
        """Every answer that can be given and reported."""

    @property
    @abstractmethod
    def lots(self) -> list[list[int]]:
        """For each true answer (lines), how many lots each report has; all lines have as many."""

    def probabilities(self) -> NDArray[np.float64]:
        """P(report | true answer): a line for each true answer."""
        whole = sum(self.lots[0])
        return np.array([[float(Fraction(lot, whole)) for lot in line] for line in self.lots])

    def report(self, answer: Any, ledger: Ledger, question: str) -> Any:
        """One person's answer, randomised.

        Parameters
        ----------
        answer
            The true one.
        ledger
            What is debited first.
        question
            What was asked, in a few words.
        """
        [place] = self._places([answer])
        self.debit(ledger, question)
        return self.all_answers[self.draw_place(place)]

    def report_all(self, answers: Sequence[Any], ledger: Ledger, question: str) -> list[Any]:
        """The answers of many people, one each, randomised one by one; this costs epsilon once.

        Parameters
        ----------
        answers
            The true ones. How many there are is public.
        ledger
            What is debited first.
        question
            What was asked, in a few words.
        """
        places = self._places(answers)
        self.debit(ledger, question)
        return [self.all_answers[self.draw_place(place)] for place in places]

    def _places(self, answers: Sequence[Any]) -> list[int]:
        known = {answer: place for place, answer in enumerate(self.all_answers)}
        try:
            return [known[answer] for answer in answers]
        except (KeyError, TypeError):
            raise InputError(
                "An answer is none of those that can be given; add one for anything else "
                f"(known are {', '.join(map(repr, self.all_answers[:10]))})."
            ) from None

    def draw_place(self, place: int, words: WordSource = system_words) -> int:
        """The report for a true answer, by a draw of one of all lots."""
        line = self.lots[place]
        lot = number_below(sum(line), words)
        for report, count in enumerate(line):
            if lot < count:
                return report
            lot -= count
        raise AssertionError("the lots do not add up")

    def estimate(self, reports: Sequence[Any]) -> dict[Any, float]:
        """How many people gave each answer, without bias: the reports' counts times the inverse of
        the probabilities. Estimates may be negative.
        """
        places = self._places(reports)
        counts = np.bincount(np.array(places, dtype=np.int64), minlength=len(self.all_answers))
        solved = np.linalg.solve(self.probabilities().T, counts.astype(np.float64))
        return dict(zip(self.all_answers, solved.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class RandomisedResponse(ResponseMechanism):
    """Symmetric randomised response: the truth with probability e^epsilon / (e^epsilon + k - 1),
    and each of the k - 1 other answers equally often.

    Chance is exact: an untrue answer has 2^40 lots and the true one floor(e^epsilon 2^40), so that
    the ratio of any two probabilities is at most e^epsilon.

    Parameters
    ----------
    epsilon
        What a report costs.
    answers
        Which answers there are; by default yes and no, as True and False.

    Examples
    --------
    >>> coin = RandomisedResponse(epsilon=1.0986)  # about ln 3
    >>> round(float(coin.probabilities()[0, 0]), 3)
    0.75
    """

    answers: tuple[Any, ...] = (True, False)

    def __post_init__(self) -> None:
        super().__post_init__()
        answers = tuple(self.answers)
        object.__setattr__(self, "answers", answers)
        if self.epsilon > MAX_RESPONSE_EPSILON:
            raise InputError(
                f"At epsilon {self.epsilon:g} every answer is true; randomised response goes up to "
                f"{MAX_RESPONSE_EPSILON:g}."
            )
        if not 2 <= len(answers) <= MAX_RESPONSES or len(set(answers)) < len(answers):
            raise InputError(
                f"Randomised response needs 2 to {MAX_RESPONSES:,} answers, each of them once."
            )

    @property
    def all_answers(self) -> tuple[Any, ...]:
        """Every answer that can be given and reported."""
        return self.answers

    @cached_property
    def true_lots(self) -> int:
        """Lots of the true answer: e^epsilon times those of an untrue one, rounded down."""
        bits = 200 + 2 * math.ceil(self.epsilon)
        _, high = exp_minus(exact(self.epsilon), bits)
        return (LIE_LOTS << bits) // high

    @cached_property
    def lots(self) -> list[list[int]]:
        """For each true answer, how many lots each report has."""
        places = range(len(self.answers))
        return [[self.true_lots if a == b else LIE_LOTS for b in places] for a in places]

    def count_variance(self, people: int, share: float = 0.0) -> float:
        """The variance of an estimated count, where ``share`` of all people gave the answer."""
        whole = self.true_lots + LIE_LOTS * (len(self.answers) - 1)
        honest, lie = self.true_lots / whole, LIE_LOTS / whole
        spread = share * honest * (1 - honest) + (1 - share) * lie * (1 - lie)
        return people * spread / (honest - lie) ** 2

    def describe(self) -> str:
        """As it stands in a ledger."""
        return f"randomised response over {len(self.answers)} answers"


@dataclass(frozen=True, kw_only=True)
class TwoCoinResponse(ResponseMechanism):
    """Randomised response with two coins: heads, tell the truth; tails, toss the same coin again
    and say True for heads, False for tails.

    With probability p of heads, True is said with probability p + (1 - p) p where it is true and
    (1 - p) p where it is not. So epsilon is ln(1 + 1 / (1 - p)) or, for p of 1/2 and more,
    ln(1 + p / (1 - p)^2): never below ln 2. The symmetric form is better at the same epsilon.

    Make one by :meth:`of_coin`.

    Examples
    --------
    >>> import math
    >>> fair = TwoCoinResponse.of_coin("1/2")
    >>> round(fair.epsilon, 4), round(math.exp(TwoCoinResponse.of_coin("4/5").epsilon), 6)
    (1.0986, 21.0)
    """

    heads: Fraction

    @classmethod
    def of_coin(cls, heads: Fraction | float | str) -> TwoCoinResponse:
        """The one whose coin shows heads with this probability: a fraction, or a decimal number."""
        try:
            probability = Fraction(str(heads))
        except (ValueError, ZeroDivisionError):
            probability = Fraction(0)
        if not Fraction(1, 10**6) <= probability <= 1 - Fraction(1, 10**6):
            raise InputError(
                f"The coin must show heads with a probability between 0 and 1, not {heads!r}."
            )
        return cls(epsilon=two_coin_epsilon(probability), heads=probability)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon < two_coin_epsilon(self.heads):
            raise InputError(
                f"A coin with heads {self.heads} costs epsilon {two_coin_epsilon(self.heads):.6g}, "
                f"more than {self.epsilon:g}; make it by TwoCoinResponse.of_coin."
            )

    @property
    def all_answers(self) -> tuple[Any, ...]:
        """Every answer that can be given and reported."""
        return (True, False)

    @cached_property
    def lots(self) -> list[list[int]]:
        """For each true answer, how many lots each report has, of the denominator squared."""
        heads, coin = self.heads.numerator, self.heads.denominator
        tails = coin - heads
        return [
            [heads * coin + tails * heads, tails * tails],
            [tails * heads, heads * coin + tails * tails],
        ]

    def describe(self) -> str:
        """As it stands in a ledger."""
        return f"randomised response by two coins, heads {self.heads}"


def two_coin_epsilon(heads: Fraction) -> float:
    """The epsilon of two coins, rounded up.

    Examples
    --------
    >>> round(two_coin_epsilon(Fraction(4, 5)), 2)
    3.04
    """
    tails = 1 - heads
    ratio = max(1 + 1 / tails, 1 + heads / tails**2)
    epsilon = math.log(ratio.numerator) - math.log(ratio.denominator)
    return round(epsilon * (1 + 1e-15) + 5e-15, 14)
