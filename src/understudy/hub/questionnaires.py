"""A questionnaire from a schema, or from lines that a person types.

A line is ``name = values``, with the question's wording behind two dashes if it has one::

    smoker = yes|no            -- Do you smoke?
    age = 18..100              -- How old are you?
    country = vocabulary iso-3166-1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.data.codebooks.two_columns import read_values
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.local.planning import plan_survey
from understudy.local.plans import CollectionPlan

MAX_ITEMS = 60
"""Of one survey: more answers than this nobody gives."""

MAX_PAGE_QUESTIONS = 2_000
"""That a person's page holds."""


@dataclass(frozen=True, kw_only=True)
class Questionnaire:
    """What is asked: the schema of the answers, and the wording of each item."""

    schema: Schema
    wording: Mapping[str, str] = field(default_factory=dict)

    def plan(
        self, epsilons: Sequence[float], persons: int, title: str, token_key: str = ""
    ) -> CollectionPlan:
        """Who is asked what, such that the expected error is smallest.

        Parameters
        ----------
        epsilons
            The levels of privacy that persons may choose from, the usual one first.
        persons
            How many are expected.
        title
            What the survey is about.
        token_key
            The public key of whoever gives out tokens, where they are needed.
        """
        items = [one for one in self.schema.modelled if one.size > 1]
        if len(items) > MAX_ITEMS:
            raise InputError(f"A survey has at most {MAX_ITEMS} items, and this one {len(items)}.")
        made = plan_survey(
            self.schema,
            epsilons,
            persons,
            title=title,
            wording=dict(self.wording),
            token_key=token_key,
        )
        if len(made.questions) > MAX_PAGE_QUESTIONS:
            raise InputError("The survey asks too much at once; use fewer or coarser items.")
        return made


def read_questionnaire(given: Any) -> Questionnaire:
    """A questionnaire from a schema's document, or from typed lines.

    Parameters
    ----------
    given
        A text of lines, or a parsed schema, in which "wording" may name the items' questions.
    """
    if isinstance(given, str):
        return _read_lines(given)
    if not isinstance(given, Mapping):
        raise InputError("A questionnaire is a schema, or lines such as smoker = yes|no.")
    document = dict(given)
    wording = document.pop("wording", {})
    schema = Schema.from_dict(document, "The questionnaire")
    if not isinstance(wording, Mapping) or not all(
        name in schema and isinstance(text, str) for name, text in wording.items()
    ):
        raise InputError('"wording" must have a text for some of the columns.')
    return Questionnaire(schema=schema, wording=dict(wording))


def _read_lines(text: str) -> Questionnaire:
    entries: dict[str, Any] = {}
    wording: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        said, _, words = line.partition("--")
        name, equals, values = (part.strip() for part in said.partition("="))
        if not name or not equals or not values:
            raise InputError(f"Line {number}: write an item as name = yes|no, or age = 18..100.")
        if name in entries:
            raise InputError(f"Line {number}: there is an item {name[:40]!r} already.")
        entry = read_values(name, values).entry()
        single = len(entry.get("values") or (0, 1)) < 2
        if not entry.get("kind") or single:
            raise InputError(
                f"Line {number}: {values[:40]!r} is neither a list such as yes|no nor a range "
                "such as 0..120."
            )
        entries[name] = {key: value for key, value in entry.items() if value is not None}
        if words.strip():
            wording[name] = words.strip()
    if not entries:
        raise InputError("There is no item yet; write one in each line, such as smoker = yes|no.")
    return Questionnaire(
        schema=Schema.from_dict({"attributes": entries}, "The questionnaire"), wording=wording
    )
