"""What answers by group have in common: where there is one group, its answer is theirs."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar


class HasInterval(Protocol):
    """An answer, as far as its interval goes."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


AnswerT = TypeVar("AnswerT", bound=HasInterval)


class OneAnswer(Generic[AnswerT]):
    """Answers by group that are read like one answer where there is one group."""

    answers: tuple[AnswerT, ...]

    @property
    def low(self) -> float:
        """The lower end of the interval, where there is one group."""
        return self._only.low

    @property
    def high(self) -> float:
        """The upper end of the interval, where there is one group."""
        return self._only.high

    @property
    def _only(self) -> AnswerT:
        if len(self.answers) != 1:
            raise ValueError("there is an answer for each group; see answers")
        return self.answers[0]
