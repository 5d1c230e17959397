"""Answers with error bars, for pages: numbers, intervals, and where the bar begins and ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from understudy.models.model import Model
from understudy.models.query.functions import GroupedAnswer

MAX_SHOWN = 200
"""Groups that a page lists; the API gives all."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One answer.

    Parameters
    ----------
    label, value, interval
        What was asked, the answer, and its 95 % interval, as people read them.
    bar
        Begin of the interval, place of the answer, width of the interval: in thousandths.
    """

    label: str
    value: str
    interval: str
    bar: tuple[int, int, int] | None = None


def show_answers(model: Model, query: str) -> tuple[str, list[Shown]]:
    """The answer of a model to a query: a heading, and a line per group."""
    answer = model.query(query)
    if isinstance(answer, GroupedAnswer):
        heading = ", ".join(answer.group_by) or "Condition"
        lines = [
            (", ".join(str(part) for part in group), one)
            for group, one in zip(answer.groups, answer.answers, strict=True)
        ]
    else:
        heading, lines = "Query", [(answer.query, answer)]
    numbers = [(label, one.value, one.low, one.high) for label, one in lines[:MAX_SHOWN]]
    return heading, show_numbers(numbers)


def show_stored(document: Any) -> list[Shown]:
    """The answers that a priced question brought; the file comes from an agent, so that anything
    may stand in it.
    """
    if not isinstance(document, dict) or not isinstance(document.get("answers"), list):
        return []
    numbers = []
    for one in document["answers"][:MAX_SHOWN]:
        if not isinstance(one, dict):
            continue
        question = str(one.get("question", one.get("query", "")))[:500]
        groups = one.get("groups")
        parts = one.get("answers")
        if isinstance(groups, list) and isinstance(parts, list):
            for group, part in zip(groups, parts, strict=False):
                if isinstance(part, dict):
                    label = ", ".join(str(x) for x in group) if isinstance(group, list) else group
                    numbers.append((f"{question}: {label}"[:500], *_numbers(part)))
        else:
            numbers.append((question, *_numbers(one)))
    return show_numbers(numbers)


def show_numbers(numbers: list[tuple[str, Any, Any, Any]]) -> list[Shown]:
    """Lines with bars on one scale."""
    ends = [end for _, value, low, high in numbers for end in (value, low, high) if _finite(end)]
    start, stop = min([0.0, *ends]), max([0.0, *ends])
    width = stop - start or 1.0
    shown = []
    for label, value, low, high in numbers:
        bar = None
        interval = ""
        if _finite(low) and _finite(high):
            interval = f"{write_number(low)} to {write_number(high)}"
            if _finite(value):
                places = [round(1000 * (end - start) / width) for end in (low, value, high)]
                bar = (places[0], min(places[1], 996), max(2, places[2] - places[0]))
        shown.append(Shown(label=label, value=write_number(value), interval=interval, bar=bar))
    return shown


def write_number(number: Any) -> str:
    """A number as people read it."""
    if not _finite(number):
        return "not known" if number is None or isinstance(number, float) else str(number)[:100]
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.4g}"


def _numbers(one: dict[str, Any]) -> tuple[Any, Any, Any]:
    return one.get("value"), one.get("low"), one.get("high")


def _finite(number: Any) -> bool:
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return math.isfinite(number) and abs(number) < 1e300
