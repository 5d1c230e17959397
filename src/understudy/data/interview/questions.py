"""The questions of an interview, and how answers are read. No terminal, no web page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.data.codebooks.facts import QUANTITIES, WHOLE_DAY, read_range, write_bound
from understudy.data.codebooks.two_columns import read_values
from understudy.data.fake_kinds import FAKES
from understudy.data.forms import ColumnFacts, lacks
from understudy.data.interview.guesses import Guess
from understudy.errors import InputError

MAX_LISTED = 1000
"""A range of whole numbers up to this long may stand for a list of values."""


@dataclass(frozen=True, kw_only=True)
class InterviewQuestion:
    """One question.

    Attributes
    ----------
    fact
        What it asks for, by name.
    text, help
        The question in words, and what can be answered.
    options
        What can be chosen, with a word on each; empty where the answer is free.
    suggestion
        What an empty answer means; empty where there must be one.
    columns
        The columns that it is about; none where it is about the table.
    """

    fact: str
    text: str
    help: str = ""
    options: tuple[tuple[str, str], ...] = ()
    suggestion: str = ""
    columns: tuple[str, ...] = ()

    def choose(self, given: str) -> str:
        """The option that an answer means: by its number, its name, or how the name begins."""
        names = [name for name, _ in self.options]
        text = given.strip()
        if text in names:
            return text
        if text.isdecimal() and 1 <= int(text) <= len(names):
            return names[int(text) - 1]
        begun = [name for name in names if text and name.lower().startswith(text.lower())]
        if len(begun) == 1:
            return begun[0]
        if len(names) > 12:
            raise InputError(f"{text!r} is none of the {len(names)} columns; type its name.")
        raise InputError(f"{text!r} is none of the answers: {', '.join(names)}.")


KIND_CHOICES = (
    ("integer", "whole numbers: counts, ages, years"),
    ("real", "other numbers: amounts, measurements"),
    ("categorical", "one of a list of values"),
    ("boolean", "yes or no"),
    ("date", "days"),
    ("datetime", "points in time"),
    ("time", "times of day"),
    ("identifier", "tells rows or persons apart"),
    ("text", "free text; replaced"),
)

FACTS: dict[str, tuple[str, ...]] = {
    "integer": ("range", "missing"),
    "real": ("range", "missing"),
    "date": ("range", "format", "missing"),
    "datetime": ("range", "format", "missing"),
    "time": ("range", "format", "missing"),
    "categorical": ("values", "other", "missing"),
    "boolean": ("spelling", "missing"),
    "identifier": ("pattern",),
    "text": ("replacement",),
}
"""What is asked of a column after its kind."""

Options = tuple[tuple[str, str], ...]

DATE_FORMATS: Options = (
    ("ISO", "2024-12-31"),
    ("%d/%m/%Y", "31/12/2024"),
    ("%m/%d/%Y", "12/31/2024"),
    ("%d.%m.%Y", "31.12.2024"),
    ("%Y%m%d", "20241231"),
)
MOMENT_FORMATS: Options = (
    ("ISO", "2024-12-31 23:59:59"),
    ("%d/%m/%Y %H:%M", "31/12/2024 23:59"),
    ("%m/%d/%Y %H:%M", "12/31/2024 23:59"),
    ("%d.%m.%Y %H:%M", "31.12.2024 23:59"),
)

TIME_FORMATS: Options = (
    ("ISO", "23:59:59"),
    ("%H:%M", "23:59"),
    ("%I:%M %p", "11:59 PM"),
)


def facts_to_ask(entry: Mapping[str, Any], *, all_facts: bool) -> tuple[str, ...]:
    """What is asked of a column of which something is known: what is open, or everything."""
    kind = entry.get("kind")
    if kind is None or all_facts:
        return ("kind",)
    if "values" in lacks(entry):
        return ("values", "other")
    if lacks(entry):
        return ("range",)
    return ()


def column_question(
    fact: str, columns: Sequence[str], entry: Mapping[str, Any], guess: Guess
) -> InterviewQuestion:
    """The question for a fact about some columns, of which ``entry`` is known already."""
    make = _QUESTIONS[fact]
    text, rest = make(entry, guess)
    return InterviewQuestion(fact=fact, text=text, columns=tuple(columns), **rest)


Made = tuple[str, dict[str, Any]]


def _kind(entry: Mapping[str, Any], guess: Guess) -> Made:
    return "What does it hold?", {
        "options": KIND_CHOICES,
        "suggestion": entry.get("kind") or guess.kind or "",
    }


def _range(entry: Mapping[str, Any], guess: Guess) -> Made:
    suggestion = ""
    if entry.get("min") is not None and entry.get("max") is not None:
        suggestion = f"{entry['min']}..{entry['max']}"
        if entry.get("step") is not None:
            suggestion += f" step {entry['step']}"
    elif guess.kind == entry["kind"]:
        suggestion = guess.range
    example = "0..120"
    if entry["kind"] == "time":
        example = "08:00..18:00"
        suggestion = suggestion or "..".join(WHOLE_DAY)
    if entry["kind"] in ("date", "datetime"):
        example = "2020-01-01..2024-12-31"
    return "What are the smallest and the largest value that can occur?", {
        "help": f"As {example}{_say_step(entry['kind'])}. A public fact, not one read off the "
        "data; rather too wide than too narrow: what lies outside counts at the nearest end.",
        "suggestion": suggestion,
    }


def _say_step(kind: str) -> str:
    if kind == "integer":
        return ", or 0..50000 step 100 where all are multiples of 100"
    if kind == "real":
        return ", or 0..500 step 0.5 where all are multiples of a half"
    return ""


def _values(entry: Mapping[str, Any], guess: Guess) -> Made:
    suggestion = ""
    if entry.get("vocabulary"):
        suggestion = f"vocabulary {entry['vocabulary']}"
    elif entry.get("values"):
        suggestion = "|".join(str(value) for value in entry["values"])
    fits = ""
    if guess.vocabularies:
        fits = f" Perhaps: {', '.join(f'vocabulary {name}' for name in guess.vocabularies)}."
    return "Which values can occur?", {
        "help": "As yes|no|unknown, or 1..5, or vocabulary NAME. List what can occur, not what "
        f"does occur.{fits}",
        "suggestion": suggestion,
    }


def _other(entry: Mapping[str, Any], guess: Guess) -> Made:
    return "And if a cell holds none of these?", {
        "help": "Other cells count as a value of their own, or as the last one listed.",
        "options": (("other", "it counts as other"), ("none", "there are no such cells")),
        "suggestion": "other",
    }


def _spelling(entry: Mapping[str, Any], guess: Guess) -> Made:
    values = entry.get("values") or ("false", "true")
    return "How are no and yes written?", {
        "help": "As no|yes, or 0|1: the one for no first.",
        "suggestion": "|".join(str(value) for value in values),
    }


def _format(entry: Mapping[str, Any], guess: Guess) -> Made:
    options = {"date": DATE_FORMATS, "time": TIME_FORMATS}.get(entry["kind"], MOMENT_FORMATS)
    return "How are they written?", {
        "help": "Choose one, or give a format as for strftime.",
        "options": options,
        "suggestion": entry.get("format") or "ISO",
    }


def _missing(entry: Mapping[str, Any], guess: Guess) -> Made:
    given = entry.get("missing", True)
    suggestion = {True: "yes", False: "no"}.get(given, given)
    return "Can cells be empty?", {
        "help": "yes, no, or the mark that stands for a missing value, such as ? or -9.",
        "suggestion": str(suggestion),
    }


def _pattern(entry: Mapping[str, Any], guess: Guess) -> Made:
    return "How do they look?", {
        "help": "A pattern with runs of #, such as P-######; plain for numbers.",
        "suggestion": entry.get("pattern") or "plain",
    }


def _replacement(entry: Mapping[str, Any], guess: Guess) -> Made:
    return "What should synthetic rows have there?", {
        "help": "A text that every row gets, a pattern such as ###-##-####, or something made up: "
        f"{', '.join(FAKES)}.",
        "options": (("[text]", "a mark"), ("nothing", "leave the column out")),
        "suggestion": entry.get("fake") or entry.get("pattern") or "[text]",
    }


_QUESTIONS = {
    "kind": _kind,
    "range": _range,
    "values": _values,
    "other": _other,
    "spelling": _spelling,
    "format": _format,
    "missing": _missing,
    "pattern": _pattern,
    "replacement": _replacement,
}


# --------------------------------------------------------------------------- answers


def read_answer(question: InterviewQuestion, given: str, entry: Mapping[str, Any]) -> ColumnFacts:
    """What an answer about columns adds to their entry; an error says what was not understood."""
    text = given.strip() or question.suggestion
    if not text:
        raise InputError("There is no suggestion here; type an answer, or skip.")
    if question.fact == "kind":
        return {"kind": question.choose(text)}
    if question.fact == "range":
        return _read_bounds(text, entry["kind"])
    if question.fact == "values":
        return _read_list(text)
    if question.fact == "spelling":
        found = _read_list(text)
        if len(found.get("values") or ()) != 2:
            raise InputError("Give two values with a bar between them, the one for no first.")
        return found
    return _READERS[question.fact](question, text)


def _read_bounds(text: str, kind: str) -> ColumnFacts:
    assert kind in QUANTITIES
    text, stepped, after = text.partition(" step ")
    ends = read_range(text)
    if ends is None and len(text.split()) == 2:
        ends = read_range("..".join(text.split()))
    if ends is None:
        raise InputError(f"{text[:40]!r} is no range; write it as 0..120.")
    low, high = write_bound(kind, ends[0], upper=False), write_bound(kind, ends[1], upper=True)
    if low is None or high is None:
        raise InputError(f"{text[:40]!r} is no range of {kind} values.")
    entry: ColumnFacts = {"min": low, "max": high}
    if stepped:
        entry["step"] = _read_step(after.strip(), kind)
    return entry


def _read_step(text: str, kind: str) -> float:
    if kind not in ("integer", "real"):
        raise InputError(f"Values of kind {kind} take no step here; give the range alone.")
    try:
        if kind == "integer":
            return int(text)
        return float(text)
    except ValueError:
        raise InputError(f"{text[:40]!r} is no step; write it as 0..50000 step 100.") from None


def _read_list(text: str) -> ColumnFacts:
    ends = read_range(text)
    if ends is not None:
        low, high = (write_bound("integer", end, upper=False) for end in ends)
        if low is None or high is None or not 0 <= high - low < MAX_LISTED:
            raise InputError("That is a range, not a list of values; choose another kind for it.")
        return {"values": list(range(low, high + 1))}
    if ".." in text and "|" not in text:  # A00..K09 would be one value, which no cell holds
        raise InputError(f"{text[:40]!r} is no list of values; write each, as yes|no|unknown.")
    entry = read_values("", text).entry()
    if "vocabulary" in entry:
        return {"vocabulary": entry["vocabulary"]}
    if not entry.get("values"):
        raise InputError(f"{text[:40]!r} is no list of values; write them as yes|no|unknown.")
    return {"values": entry["values"]}


def _read_other(question: InterviewQuestion, text: str) -> ColumnFacts:
    if question.choose(text) == "other":
        return {"other": "other"}
    return {}


def _read_format(question: InterviewQuestion, text: str) -> ColumnFacts:
    if "%" not in text:
        text = question.choose(text)
    if text == "ISO":
        return {}
    return {"format": text}


def _read_missing(question: InterviewQuestion, text: str) -> ColumnFacts:
    if text.lower() in ("no", "n"):
        return {}
    if text.lower() in ("yes", "y"):
        return {"missing": True}
    return {"missing": text}


def _read_pattern(question: InterviewQuestion, text: str) -> ColumnFacts:
    if text == "plain":
        return {}
    return {"pattern": text}


def _read_replacement(question: InterviewQuestion, text: str) -> ColumnFacts:
    if text in ("1", "2"):
        text = question.choose(text)
    if text == "nothing":
        return {"replacement": None}
    if text in FAKES:
        return {"fake": text}
    if "#" in text:
        return {"pattern": text}
    return {"replacement": text}


_READERS = {
    "other": _read_other,
    "format": _read_format,
    "missing": _read_missing,
    "pattern": _read_pattern,
    "replacement": _read_replacement,
}


REPLACED = {
    "range": ("min", "max", "edges", "bins", "step"),
    "values": ("values", "vocabulary", "taxonomy", "ordered", "other"),
    "spelling": ("values",),
    "other": ("other",),
    "format": ("format",),
    "missing": ("missing",),
    "pattern": ("pattern",),
    "replacement": ("replacement", "pattern", "length", "fake", "locale"),
}
"""What an answer takes the place of."""


def may_have_others(entry: ColumnFacts) -> bool:
    """Whether "other" can be one of the values: it is a text."""
    values = entry.get("values") or [0]
    return isinstance(values[0], str) and "other" not in values
