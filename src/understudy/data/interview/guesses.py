"""What the name of a column suggests. Names are public; cells are not looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Guess:
    """A suggestion, for the person who answers to accept or not."""

    kind: str | None = None
    range: str = ""
    vocabularies: tuple[str, ...] = ()
    """Vocabularies that may fit."""


_IDENTIFIERS = "id ids uuid guid ssn identifier rownames rownumber index key mrn nhs"
_TEXTS = (
    "name firstname lastname surname forename address street email mail phone telephone mobile "
    "comment comments note notes description text remark remarks url website memo diary"
)
_CATEGORIES = (
    "type status category class group level grade code race ethnicity marital education region "
    "city district department job occupation profession sector industry religion color colour "
    "diagnosis treatment brand model product reason outcome result species"
)
_COUNTS = "count number num qty quantity children visits pregnancies siblings rooms times"
_AMOUNTS = "price amount income salary wage cost costs revenue balance loan debt tax value"
_FLAGS = "is has was had flag yn bool boolean"

_GUESSES: tuple[tuple[str, Guess], ...] = (
    (_IDENTIFIERS, Guess(kind="identifier")),
    (
        "country nation nationality",
        Guess(kind="categorical", vocabularies=("iso-3166-1", "iso-3166-1-alpha-3", "countries")),
    ),
    ("language lang", Guess(kind="categorical", vocabularies=("iso-639-1", "languages"))),
    ("currency", Guess(kind="categorical", vocabularies=("iso-4217",))),
    ("state", Guess(kind="categorical", vocabularies=("us-states", "us-state-names"))),
    ("sex gender", Guess(kind="categorical", vocabularies=("sex", "sex-letters", "iso-5218"))),
    ("weekday dow", Guess(kind="categorical", vocabularies=("weekdays", "weekdays-short"))),
    ("bloodgroup", Guess(kind="categorical", vocabularies=("blood-groups",))),
    ("icd icd10", Guess(kind="categorical", vocabularies=("icd-10-chapters", "icd-10-blocks"))),
    (_FLAGS, Guess(kind="boolean")),
    ("dob birthdate birthday born", Guess(kind="date", range="1900-01-01..2030-12-31")),
    ("datetime timestamp", Guess(kind="datetime", range="1970-01-01..2030-12-31")),
    ("date admitted discharged", Guess(kind="date", range="1970-01-01..2030-12-31")),
    ("age ages", Guess(kind="integer", range="0..120")),
    ("year yob yr", Guess(kind="integer", range="1900..2030")),
    ("month", Guess(kind="integer", range="1..12", vocabularies=("months", "months-short"))),
    ("day", Guess(kind="integer", range="1..31", vocabularies=("weekdays",))),
    ("hour", Guess(kind="integer", range="0..23")),
    ("minute", Guess(kind="integer", range="0..59")),
    ("percent percentage pct", Guess(kind="real", range="0..100")),
    ("probability share ratio fraction proportion", Guess(kind="real", range="0..1")),
    ("latitude lat", Guess(kind="real", range="-90..90")),
    ("longitude lon lng", Guess(kind="real", range="-180..180")),
    ("bmi", Guess(kind="real", range="0..100")),
    ("weight", Guess(kind="real", range="0..300")),
    ("height", Guess(kind="real", range="0..250")),
    ("pulse heartrate systolic diastolic", Guess(kind="integer", range="0..300")),
    ("pressure", Guess(kind="integer", range="0..300")),
    ("temperature", Guess(kind="real")),
    (_COUNTS, Guess(kind="integer")),
    ("score rating", Guess(kind="integer")),
    (_AMOUNTS, Guess(kind="real")),
    (_CATEGORIES, Guess(kind="categorical")),
    (_TEXTS, Guess(kind="text")),
)
_BY_WORD = {word: guess for words, guess in reversed(_GUESSES) for word in words.split()}


def guess_from_name(name: str) -> Guess:
    """What a column of this name may hold: by its last word that is known, or a flag in front."""
    words = re.findall(r"[a-z]+\d*|\d+", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower())
    if len(words) > 1 and words[0] in _FLAGS.split():
        return Guess(kind="boolean")
    for joined in ("".join(words), *reversed(words), *(w.rstrip("0123456789") for w in words)):
        if joined in _BY_WORD:
            return _BY_WORD[joined]
    return Guess()


def name_family(name: str) -> str:
    """The name with its numbers left out: columns such as ``q1`` and ``q2`` are of one family."""
    return re.sub(r"\d+", "#", name)
