"""A plan says, in public, who is asked what: it is fixed before anybody answers.

Each person draws one question of the current wave on her own device, answers it at one of the
levels of privacy that the plan offers, and sends the randomised answer. The plan of a later wave
holds the questions of the earlier ones, which are not asked any more, so that all reports of a
survey are estimated together.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.files import read_json, write_json
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.local.questions import MAX_LOCAL_WEIGHT, LocalQuestion
from understudy.local.randomisers import best_randomiser
from understudy.privacy.budget import check_epsilon, exact

PLAN_FORMAT = "understudy local plan"
PLAN_VERSION = 1

ID_LETTERS = 16
MAX_QUESTIONS = 100_000
MAX_PLAN_LEVELS = 16
MAX_TEXT_LENGTH = 10_000
MAX_WAVES = 10


@dataclass(frozen=True, kw_only=True)
class CollectionPlan:
    """Who is asked what, in public.

    Parameters
    ----------
    schema
        What is public about the answers; constraints are for synthetic rows and are kept.
    epsilons
        The levels of privacy that a person may choose from, the usual one first. A report at a
        level is differentially private with that epsilon, whatever question it answers.
    questions
        What can be asked. The randomiser of a question at a level has at most the level's epsilon:
        less, where a question is more delicate than others.
    persons
        How many persons are expected, where that is known.
    title, wording
        For persons: what the survey is about, and how each column is asked for.
    earlier
        The ids of the plans of earlier waves.
    token_key
        Where a report counts only with a token: the public key of whoever gives them out (see
        :mod:`understudy.local.blind_tokens`).
    """

    schema: Schema
    epsilons: tuple[float, ...]
    questions: tuple[LocalQuestion, ...]
    persons: int | None = None
    title: str = ""
    wording: Mapping[str, str] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()
    token_key: str = ""

    def __post_init__(self) -> None:
        self._check_levels()
        self._check_waves()
        self._check_token_key()
        if not 1 <= len(self.questions) <= MAX_QUESTIONS:
            raise InputError(f"A plan must have 1 to {MAX_QUESTIONS:,} questions.")
        for question in self.questions:
            question.check()
            self._check_question(question)
        if not sum(self._weights):
            raise InputError("A plan must have a question of its last wave with a weight above 0.")

    def _check_levels(self) -> None:
        if not 1 <= len(self.epsilons) <= MAX_PLAN_LEVELS:
            raise InputError(f"A plan must offer 1 to {MAX_PLAN_LEVELS} levels of privacy.")
        for epsilon in self.epsilons:
            check_epsilon(epsilon)
        if len(set(self.epsilons)) < len(self.epsilons):
            raise InputError("A plan offers the same epsilon twice; each level has its own.")

    def _check_token_key(self) -> None:
        if not re.fullmatch("([0-9a-f]{64})?", self.token_key):
            raise InputError("The token_key of a plan must be 64 hexadecimal digits, or empty.")

    def _check_waves(self) -> None:
        if len(self.earlier) >= MAX_WAVES or not all(map(is_id, self.earlier)):
            raise InputError(
                f"The earlier waves of a plan must be at most {MAX_WAVES - 1} ids of plans."
            )

    def _check_question(self, question: LocalQuestion) -> None:
        for name, size in zip(question.columns, question.sizes, strict=True):
            if name not in self.schema or self.schema[name].size != size:
                raise InputError(f"The question {question} does not fit the plan's schema.")
        if question.wave > self.wave:
            raise InputError(
                f"The question {question} is of wave {question.wave}, and the plan has {self.wave}."
            )
        if len(question.randomisers) != len(self.epsilons):
            raise InputError(
                f"The question {question} must have a randomiser for each of the "
                f"{len(self.epsilons)} levels."
            )
        for randomiser, epsilon in zip(question.randomisers, self.epsilons, strict=True):
            if exact(randomiser.epsilon) > exact(epsilon):
                raise InputError(
                    f"A randomiser of the question {question} has epsilon "
                    f"{randomiser.epsilon:g}, above the level's {epsilon:g}."
                )

    @property
    def wave(self) -> int:
        """The wave that is asked by this plan."""
        return len(self.earlier) + 1

    @property
    def survey(self) -> str:
        """What all waves have in common: the id of the first one's plan."""
        return (*self.earlier, self.id)[0]

    @cached_property
    def id(self) -> str:
        """The start of the SHA-256 of the plan in its canonical form: sorted, ASCII, no spaces."""
        return hashlib.sha256(self.canonical()).hexdigest()[:ID_LETTERS]

    def canonical(self) -> bytes:
        """The one way in which a plan is written for its id."""
        return json.dumps(
            self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False
        ).encode("ascii")

    @cached_property
    def ids_by_wave(self) -> tuple[str, ...]:
        """The ids of the plans of all waves; reports bear the id of theirs."""
        return (*self.earlier, self.id)

    @cached_property
    def _weights(self) -> tuple[int, ...]:
        """How often each question is asked in the current wave."""
        return tuple(
            question.weight if question.wave == self.wave else 0 for question in self.questions
        )

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of persons of the current wave who get each question."""
        weights = np.array(self._weights, dtype=np.float64)
        return weights / weights.sum()

    @cached_property
    def draw_thresholds(self) -> tuple[int, ...]:
        """For each question but the last, the end of its part of the 64-bit words.

        A word draws the question whose number is the count of thresholds at or below the word. The
        draw does not depend on any answer, so nothing about privacy rests on its rounding.
        """
        whole = sum(self._weights)
        return tuple((total << 64) // whole for total in itertools.accumulate(self._weights[:-1]))

    def draw_questions(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The questions that random words draw."""
        # A threshold of 2^64 is above every word.
        ends = [end for end in self.draw_thresholds if end < 1 << 64]
        return np.searchsorted(np.array(ends, dtype=np.uint64), words, side="right")

    def level_of(self, epsilon: float | None) -> int:
        """The number of the level with this epsilon; the usual one without."""
        if epsilon is None:
            return 0
        if epsilon not in self.epsilons:
            offered = ", ".join(f"{one:g}" for one in self.epsilons)
            raise InputError(f"The plan does not offer epsilon {epsilon:g}; it offers {offered}.")
        return self.epsilons.index(epsilon)

    def next_wave(
        self, questions: Sequence[LocalQuestion], persons: int | None = None
    ) -> CollectionPlan:
        """The plan of the wave after this one, for other persons: what is asked then.

        Parameters
        ----------
        questions
            The new ones, whatever wave they name.
        persons
            How many persons are expected in that wave.
        """
        new = tuple(replace(question, wave=self.wave + 1) for question in questions)
        return replace(
            self,
            questions=(*self.questions, *new),
            earlier=(*self.earlier, self.id),
            persons=persons,
        )

    def limit_columns(self, limits: Mapping[str, float]) -> CollectionPlan:
        """The plan with less epsilon for questions about delicate columns, at each level.

        Parameters
        ----------
        limits
            By column, the most that a question about it may cost.
        """
        for name, epsilon in limits.items():
            check_epsilon(epsilon)
            if not self.schema[name].modelled:
                raise InputError(f"The column {name!r} is not asked about; leave its limit out.")
        return replace(
            self,
            questions=tuple(self._limit_question(question, limits) for question in self.questions),
        )

    def _limit_question(
        self, question: LocalQuestion, limits: Mapping[str, float]
    ) -> LocalQuestion:
        limit = min((limits[name] for name in question.columns if name in limits), default=None)
        if limit is None or question.wave < self.wave:
            return question
        randomisers = tuple(
            randomiser
            if randomiser.epsilon <= limit
            else best_randomiser(question.size, min(epsilon, limit))
            for randomiser, epsilon in zip(question.randomisers, self.epsilons, strict=True)
        )
        return replace(question, randomisers=randomisers)

    def to_dict(self) -> dict[str, Any]:
        """The plan as it stands in a file; ``from_dict`` reads it back."""
        document: dict[str, Any] = {
            "format": PLAN_FORMAT,
            "version": PLAN_VERSION,
            "title": self.title,
            "schema": self.schema.to_dict(),
            "epsilons": list(self.epsilons),
            "persons": self.persons,
            "wording": dict(self.wording),
            "earlier": list(self.earlier),
            "questions": [question.to_dict() for question in self.questions],
        }
        if self.token_key:  # only then, so that plans without keep their ids
            document["token_key"] = self.token_key
        return document

    @classmethod
    def from_dict(cls, document: Any, source: str = "The plan") -> CollectionPlan:
        """Check a parsed plan and build it.

        Parameters
        ----------
        document
            As :meth:`to_dict` gives it.
        source
            What to call it in messages.
        """
        check_format(document, PLAN_FORMAT, PLAN_VERSION, source)
        known = {"format", "version", "title", "schema", "epsilons", "persons", "wording"}
        known |= {"earlier", "questions", "token_key"}
        if unknown := set(document) - known:
            raise InputError(f"{source} has an unknown entry {sorted(map(str, unknown))[0]!r}.")
        schema = Schema.from_dict(document.get("schema"), f"{source}'s schema")
        try:
            return cls(
                schema=schema,
                epsilons=_read_epsilons(document.get("epsilons")),
                questions=_read_questions(document.get("questions"), schema),
                persons=_read_persons(document.get("persons")),
                title=_read_text(document.get("title", ""), "title"),
                wording=_read_wording(document.get("wording", {}), schema),
                earlier=_read_earlier(document.get("earlier", [])),
                token_key=_read_text(document.get("token_key", ""), "token_key"),
            )
        except InputError as error:
            raise InputError(f"{source} cannot be used: {str(error).rstrip('.')}.") from error

    @classmethod
    def load(cls, path: str | Path) -> CollectionPlan:
        """Read a plan from a file."""
        return cls.from_dict(read_json(path, "plan"), f"The plan {path}")

    def save(self, path: str | Path) -> None:
        """Write the plan to a file."""
        write_json(path, self.to_dict(), "plan", indent=1)


def is_id(text: Any) -> bool:
    """Whether something can be the id of a plan."""
    return (
        isinstance(text, str) and len(text) == ID_LETTERS and set(text) <= set("0123456789abcdef")
    )


def check_format(document: Any, format: str, version: int, source: str) -> None:
    """Refuse a document of another kind, or of another version."""
    if not isinstance(document, Mapping) or document.get("format") != format:
        raise InputError(f'{source} is not one: it must be an object with the format "{format}".')
    if document.get("version") != version:
        raise InputError(
            f"{source} has version {document.get('version')!r}, and this program reads version "
            f"{version}; use the program that wrote it, or a newer one."
        )


def _read_epsilons(given: Any) -> tuple[float, ...]:
    if not isinstance(given, list) or any(
        isinstance(one, bool) or not isinstance(one, int | float) for one in given
    ):
        raise InputError('"epsilons" must be a list of numbers')
    return tuple(float(one) for one in given)


def _read_questions(given: Any, schema: Schema) -> tuple[LocalQuestion, ...]:
    if not isinstance(given, list) or len(given) > MAX_QUESTIONS:
        raise InputError(f'"questions" must be a list of at most {MAX_QUESTIONS:,} objects')
    return tuple(LocalQuestion.from_dict(entry, schema) for entry in given)


def _read_persons(given: Any) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= 1 << 40:
        raise InputError('"persons" must be a whole number above 0, or null')
    return given


def _read_text(given: Any, what: str) -> str:
    if not isinstance(given, str) or len(given) > MAX_TEXT_LENGTH:
        raise InputError(f"the {what} must be a text of at most {MAX_TEXT_LENGTH:,} characters")
    return given


def _read_wording(given: Any, schema: Schema) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise InputError('"wording" must be an object of texts, one per column')
    for name in given:
        if name not in schema:
            raise InputError(f'"wording" is about {name!r}, which is no column of the schema')
    return {name: _read_text(text, f"wording of {name}") for name, text in given.items()}


def _read_earlier(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise InputError('"earlier" must be a list of ids of plans')
    return tuple(given)


def whole_weights(shares: Sequence[float]) -> tuple[int, ...]:
    """Shares of persons as the whole numbers that a plan holds, to nine digits of the largest."""
    largest = max(shares, default=0.0)
    if not largest > 0 or min(shares) < 0:
        raise InputError("The shares of questions must not be negative, nor all 0.")
    weights = [round(share / largest * 1e9) for share in shares]
    assert max(weights) <= MAX_LOCAL_WEIGHT
    return tuple(weights)


def plan_all_pairs(
    schema: Schema, epsilons: Sequence[float], persons: int | None = None
) -> CollectionPlan:
    """The simplest plan: every column and every pair of columns by their joint index, equally
    often.

    Parameters
    ----------
    schema
        What is public about the answers.
    epsilons
        The levels of privacy, the usual one first.
    persons
        How many persons are expected.
    """
    names = [attribute.name for attribute in schema.modelled]
    chosen = [(name,) for name in names] + list(itertools.combinations(names, 2))
    questions = tuple(ask_jointly(columns, schema, epsilons) for columns in chosen)
    return CollectionPlan(
        schema=schema, epsilons=tuple(epsilons), questions=questions, persons=persons
    )


def ask_jointly(columns: Sequence[str], schema: Schema, epsilons: Sequence[float]) -> LocalQuestion:
    """The question about the joint index of some columns, with the best randomiser at each level.

    Parameters
    ----------
    columns, schema
        Which columns, and what is public about them.
    epsilons
        The levels of privacy.
    """
    sizes = tuple(schema[name].size for name in columns)
    randomisers = tuple(best_randomiser(math.prod(sizes), epsilon) for epsilon in epsilons)
    return LocalQuestion(columns=tuple(columns), sizes=sizes, randomisers=randomisers)
