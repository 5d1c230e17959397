"""Reports as they travel: lines of JSON, or rows of Parquet.

    {"v":1,"p":"9f86d081884c7d65","q":17,"e":0,"r":"5","n":"0e4c..."}

v is the version of the format, p the id of the plan, q the number of the question that was drawn, e
the number of the level of privacy, r the randomised answer (whole numbers in hexadecimal, joined by
points), n a number of 128 random bits that is used for this report alone: it tells a report that
arrives twice from two reports. Where a plan asks for tokens there is also t, which proves that the
issuer has given out the number. There is nothing else in a report: no time, no name, no address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.columns import Column, Table
from understudy.data.files import new_file, writable_file, write_whole
from understudy.data.writing import write_parquet
from understudy.errors import InputError

REPORT_VERSION = 1

NUMBER_BYTES = 16
"""Of the number of a report: random, or a token."""

REPORT_COLUMNS = ("version", "plan", "question", "level", "report", "number", "token")
"""Of a Parquet file of reports."""

REPORT_LINE = re.compile(
    rb'^\{"v":1,"p":"([0-9a-f]{16})","q":([0-9]{1,6}),"e":([0-9]{1,2}),'
    rb'"r":"([0-9a-f.]+)","n":"([0-9a-f]{32})"(?:,"t":"([0-9a-f]{32})")?\}$',
    re.MULTILINE,
)
"""A report as we write it. Other ways to write the same JSON are read too, more slowly."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One randomised answer: all that leaves a person's device."""

    plan: str
    question: int
    level: int
    answer: tuple[int, ...]
    number: str
    token: str = ""
    """What proves that the number was given out, where that is asked for."""

    def to_json(self) -> str:
        """The report as a line, without its end."""
        line = _write_line(
            self.plan, self.question, self.level, write_answer(self.answer), self.number
        )
        if self.token:
            return f'{line[:-1]},"t":"{self.token}"}}'
        return line


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Reports of many persons to one question at one level."""

    plan: str
    question: int
    level: int
    answers: NDArray[np.int64]
    """A line of whole numbers for each report."""
    numbers: NDArray[np.uint64]
    """Two words for each report."""

    def __len__(self) -> int:
        return len(self.answers)

    def lines(self) -> Iterator[str]:
        """The reports as lines of JSON, without their ends."""
        for answer, number in zip(self.answer_texts(), self.number_texts(), strict=True):
            yield _write_line(self.plan, self.question, self.level, answer, number)

    def number_texts(self) -> list[str]:
        """The numbers as they are written."""
        letters = 2 * NUMBER_BYTES
        numbers = self.numbers.astype("<u8", copy=False).tobytes().hex()
        return [numbers[start : start + letters] for start in range(0, len(numbers), letters)]

    def answer_texts(self) -> list[str]:
        """The answers as they are written."""
        columns = [[f"{number:x}" for number in column] for column in self.answers.T.tolist()]
        if len(columns) == 1:
            return columns[0]
        return [".".join(line) for line in zip(*columns, strict=True)]


def _write_line(plan: str, question: int, level: int, answer: str, number: str) -> str:
    return f'{{"v":1,"p":"{plan}","q":{question},"e":{level},"r":"{answer}","n":"{number}"}}'


def write_answer(answer: Sequence[int]) -> str:
    """A randomised answer as text."""
    return ".".join(f"{number:x}" for number in answer)


def read_line(line: bytes) -> tuple[Any, ...]:
    """Plan, question, level, answer, number and token of a report, whichever way its JSON is
    written.

    Raises a :class:`Rejection` where the line is not a report of this version.

    Parameters
    ----------
    line
        Without its end.
    """
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        if line.startswith(b"{") and not line.endswith(b"}"):
            raise Rejection("truncated") from None
        raise Rejection("junk") from None
    if not isinstance(document, dict) or "v" not in document:
        raise Rejection("junk")
    if document["v"] != REPORT_VERSION or isinstance(document["v"], bool | float):
        raise Rejection("other version")
    names = set(document) - {"t"}
    if names == {"v", "p", "q", "r", "n"}:
        raise Rejection("no level")
    if names != {"v", "p", "q", "e", "r", "n"}:
        raise Rejection("junk")
    return *(document[name] for name in "pqern"), document.get("t", "")


class Rejection(Exception):  # noqa: N818
    """A report does not count; the message is the reason, one of ``REASONS``."""


REASONS = {
    "junk": "not a report at all",
    "too long": "a line far longer than any report",
    "truncated": "cut short",
    "other version": "of another version of the format",
    "other plan": "of another plan",
    "no such question": "for a question that the plan does not ask in that wave",
    "no level": "without its level of privacy",
    "no such level": "at a level of privacy that the plan does not offer",
    "impossible answer": "with an answer that cannot be",
    "no token": "without a token that was given out",
    "duplicated": "the same report once more",
    "conflicting": "with a number that another report bears: none of them counts",
    "unreadable file": "a file that cannot be read",
}
"""Why a report does not count."""


def write_reports(path: str | Path, batches: Iterable[Batch]) -> int:
    """Write reports to a file, JSON lines or Parquet by its suffix; returns how many.

    Parameters
    ----------
    path
        Ends in .jsonl or .parquet.
    batches
        The reports; they are written batch by batch, so that their order tells nothing but the
        question.
    """
    path = writable_file(path, "file of reports")
    if path.suffix == ".parquet":
        with write_whole(path) as beside:
            return write_parquet(beside, [_as_table(list(batches))])
    if path.suffix != ".jsonl":
        raise InputError(f"Reports are written to .jsonl or .parquet, not to {path.name}.")
    written = 0
    with write_whole(path) as beside, new_file(beside) as file:
        for batch in batches:
            if len(batch):
                file.write(("\n".join(batch.lines()) + "\n").encode())
                written += len(batch)
    return written


def _as_table(batches: Sequence[Batch]) -> Table:
    sizes = [len(batch) for batch in batches]
    rows = np.arange(sum(sizes))
    answers = [text for batch in batches for text in batch.answer_texts()]
    plans = tuple(dict.fromkeys(batch.plan for batch in batches))
    numbers = [number for batch in batches for number in batch.number_texts()]

    def repeat(values: list[int]) -> NDArray[np.int64]:
        return np.repeat(np.array(values, dtype=np.int64), sizes)

    return Table(
        {
            "version": Column("integer", repeat([REPORT_VERSION] * len(batches))),
            "plan": Column("text", repeat([plans.index(b.plan) for b in batches]), words=plans),
            "question": Column("integer", repeat([batch.question for batch in batches])),
            "level": Column("integer", repeat([batch.level for batch in batches])),
            "report": Column("text", rows, words=tuple(answers)),
            "number": Column("text", rows, words=tuple(numbers)),
            "token": Column("text", np.zeros(len(rows), dtype=np.int64), words=("",)),
        }
    )
