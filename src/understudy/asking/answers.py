"""Answers to questions about private rows, each with an interval, and what they cost."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

from understudy.data.schema import Attribute, Quantity
from understudy.models.query.one_answer import OneAnswer
from understudy.models.query.syntax import QueryKind

RANKS: tuple[QueryKind, ...] = ("median", "quantile", "min", "max")
"""Functions whose answer is a value of the column."""

MAX_GROUP_LINES = 30
"""Groups that are shown."""

_MAX_WRITTEN = 1e15
"""Numbers from here on are written with an exponent."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer for one group of rows, or for all.

    Attributes
    ----------
    group
        What the group, or the condition that is counted, is called; empty where there is one
        answer.
    value
        The answer; ``None`` for the smallest and largest value, which are told as a range only.
    error
        One standard deviation of the noise in it; ``None`` where noise is not what is added (in a
        quantile, in a range).
    low, high
        An interval that holds the exact answer with a probability of at least 95 %.
    """

    group: tuple[str, ...] = ()
    value: float | None
    error: float | None
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Answers(OneAnswer[Answer]):
    """The answer to a question.

    Attributes
    ----------
    question, kind
        What was asked.
    group_by
        By which columns the rows were grouped.
    answers
        One for each group; just one without groups.
    epsilon, delta
        The guarantee of the whole release that the question was part of.
    mechanism
        How it was answered, as in the ledger.
    note
        What else is to be known about the answer.
    """

    question: str
    kind: QueryKind
    answers: tuple[Answer, ...]
    group_by: tuple[str, ...] = ()
    attribute: Attribute | None = None
    epsilon: float = 0.0
    delta: float = 0.0
    mechanism: str = ""
    note: str = ""

    @property
    def value(self) -> float | None:
        """The value of the only answer."""
        return self._only.value

    @property
    def error(self) -> float | None:
        """The standard deviation of the noise in the only answer."""
        return self._only.error

    def __repr__(self) -> str:
        lines = [self.line(answer) for answer in self.answers[:MAX_GROUP_LINES]]
        if self.group_by or len(self.answers) > 1:
            names = [", ".join(answer.group) for answer in self.answers[:MAX_GROUP_LINES]]
            widest = max(map(len, names), default=0)
            lines = [
                f"{name.ljust(widest)}  {line}" for name, line in zip(names, lines, strict=True)
            ]
        left = len(self.answers) - MAX_GROUP_LINES
        if left > 0:
            lines.append(f"and {left:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{html.escape(', '.join(answer.group) or self.question)}</td>"
            f"<td style='text-align:right'>{html.escape(self.line(answer))}</td></tr>"
            for answer in self.answers[:MAX_GROUP_LINES]
        )
        left = len(self.answers) - MAX_GROUP_LINES
        if left > 0:
            body += f"<tr><td>and {left:,} more</td><td></td></tr>"
        return f"<table><tbody>{body}</tbody></table>"

    def line(self, answer: Answer) -> str:
        """One answer in words: its value, and the interval."""
        interval = f"{self.write(answer.low, answer)} to {self.write(answer.high, answer)}"
        if answer.value is None:
            return interval
        return f"{self.write(answer.value, answer)} ({interval})"

    def write(self, number: float, answer: Answer) -> str:
        """A number as it is shown beside the interval of an answer."""
        if self._is_moment:
            return str(self._plain(number))
        of_rows = self.kind in ("count", "labels")
        if of_rows or (self.kind in RANKS and self._is_whole):
            return f"{number:,.0f}"
        if self.kind == "share":
            width = max(100 * (answer.high - answer.low), 1e-9)
            return f"{100 * number:,.{_places(width)}f}%"
        if max(abs(answer.low), abs(answer.high)) >= _MAX_WRITTEN:
            return f"{number:.6g}"
        return f"{number:,.{_places(answer.high - answer.low)}f}"

    @property
    def _is_whole(self) -> bool:
        return isinstance(self.attribute, Quantity) and self.attribute.whole

    @property
    def _is_moment(self) -> bool:
        return isinstance(self.attribute, Quantity) and self.attribute.is_moment

    def to_dict(self) -> dict[str, Any]:
        """The answer for JSON."""
        listed = [
            {
                "group": list(answer.group),
                "value": self._plain(answer.value),
                "error": answer.error,
                "low": self._plain(answer.low),
                "high": self._plain(answer.high),
            }
            for answer in self.answers
        ]
        return {
            "question": self.question,
            "kind": self.kind,
            "group_by": list(self.group_by),
            "answers": listed,
            "confidence": 0.95,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "mechanism": self.mechanism,
            "note": self.note,
        }

    def _plain(self, number: float | None) -> float | str | None:
        if number is None or not self._is_moment:
            return number
        assert isinstance(self.attribute, Quantity)
        return self.attribute.write(round(number))


def _places(width: float) -> int:
    """Places after the point that an interval of some width is worth."""
    if not width > 0:
        return 2
    return min(max(1 - math.floor(math.log10(width)), 0), 6)


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What an answer will be worth, told before anything is spent, from public facts alone.

    Attributes
    ----------
    question
        What is asked.
    mechanism
        How it will be answered.
    error
        Half the width of the interval, where that depends on the noise alone; of a sum of rounded
        numbers, the part of it that does.
    error_times_rows
        Half the width times the number of rows, where the answer is divided by that.
    ranks
        Of a quantile: how many rows lie, at most, between an end of the interval and the rank that
        is asked for.
    sentence
        The same in words.
    """

    question: str
    mechanism: str
    error: float | None = None
    error_times_rows: float | None = None
    ranks: float | None = None
    sentence: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What is expected, for JSON."""
        names = ("question", "mechanism", "error", "error_times_rows", "ranks", "sentence")
        return {name: getattr(self, name) for name in names}
