"""The state machine of an interview: what is asked next, and what an answer changes."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.data.files import read_json
from understudy.data.forms import ColumnFacts, Form, NameIndex, lacks
from understudy.data.interview.guesses import guess_from_name, name_family
from understudy.data.interview.questions import (
    FACTS,
    REPLACED,
    InterviewQuestion,
    column_question,
    facts_to_ask,
    may_have_others,
    read_answer,
)
from understudy.data.interview.state import State, Unit
from understudy.data.interview.table_questions import (
    last_question,
    person_question,
    rows_question,
    unit_question,
)
from understudy.data.schema import Schema
from understudy.errors import InputError

INTERVIEW_VERSION = 1
MAX_ACTIONS = 200_000


class Interview:
    """Asks what is public about the columns of a table, one question at a time.

    All that was done is kept as a list of actions, so that a step can be taken back, and an
    interview be saved and taken up again.

    Parameters
    ----------
    form
        The columns, and what is known of them already; only what is open is asked.
    declared
        The kinds that the columns' types declare, where they do. Only for show and suggestions.

    Examples
    --------
    >>> interview = Interview(Form({"age": {"kind": None}}))
    >>> interview.question.fact
    'unit'
    >>> for answer in ("row", "integer", "0..120", "no", "write"):
    ...     interview.answer(answer)
    >>> interview.form.to_dict()
    {'attributes': {'age': {'kind': 'integer', 'min': 0, 'max': 120}}}
    """

    def __init__(self, form: Form, declared: Mapping[str, str | None] | None = None) -> None:
        if not form.entries:
            raise InputError("There is no column to ask about.")
        self.declared = {name: (declared or {}).get(name) for name in form.entries}
        self._first = form
        self._index = NameIndex(form.entries)
        self._actions: list[tuple[str, str]] = []
        self._state = self._begin()

    # ---- what there is to show

    @property
    def question(self) -> InterviewQuestion | None:
        """What is asked now; ``None`` when the interview is over."""
        state = self._state
        if state.ended:
            return None
        if not state.unit_known:
            return self._table_question()
        if state.facts:
            guess = guess_from_name(state.chosen[0])
            entry = state.entry
            if entry.get("kind") is None and self.declared[state.chosen[0]]:
                entry = {**entry, "kind": self._find_declared_kind(state.chosen[0])}
            return column_question(state.facts[0], state.chosen, entry, guess)
        return last_question(self.open_columns, len(self._index.names))

    @property
    def finished(self) -> bool:
        """Whether the last question is answered."""
        return self._state.ended

    @property
    def form(self) -> Form:
        """What is known of the columns by now."""
        return Form(dict(self._state.entries), self._first.source, self._first.other)

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return Unit(
            person=self._state.person, max_rows_per_person=self._state.max_rows_per_person or 1
        )

    @property
    def open_columns(self) -> tuple[str, ...]:
        """The columns that lack something."""
        return tuple(name for name, entry in self._state.entries.items() if lacks(entry))

    @property
    def skipped_columns(self) -> frozenset[str]:
        """The columns that were left for later."""
        return frozenset(self._state.skipped)

    # ---- what can be done

    def answer(self, given: str) -> None:
        """Answer the question; an empty answer takes the suggestion.

        An answer that is not understood is refused, and the question stays.
        """
        self._act("answer", given)

    def select(self, pattern: str) -> None:
        """Ask about other columns: all facts, once for all of them.

        Parameters
        ----------
        pattern
            Names or patterns with commas between them (``age, score_*``), ``type:integer`` for
            declared kinds, ``kind:real`` for what is known or suggested, ``open``, ``skipped`` or
            ``all``.
        """
        self._act("select", pattern)

    def select_columns(self, names: Sequence[str]) -> None:
        """Ask about exactly these columns."""
        self._act("columns", json.dumps(list(names)))

    def same_as(self, name: str) -> None:
        """Describe the columns that are asked about like another one."""
        self._act("same", name)

    def skip(self) -> None:
        """Leave the columns that are asked about for later."""
        self._act("skip", "")

    def accept(self) -> None:
        """Take all suggestions for the columns that are asked about, as far as there are any."""
        self._act("accept", "")

    def back(self) -> None:
        """Take back what was done last."""
        if not self._actions:
            raise InputError("This is the first question.")
        actions = self._actions[:-1]
        self._actions, self._state = [], self._begin()
        for what, given in actions:
            self._act(what, given)

    # ---- save and resume

    def to_dict(self) -> dict[str, Any]:
        """The interview as it stands in a file; ``from_dict`` takes it up again."""
        return {
            "version": INTERVIEW_VERSION,
            "declared": self.declared,
            "form": self._first.to_dict(),
            "actions": [list(action) for action in self._actions],
        }

    @classmethod
    def from_dict(cls, document: Any, source: str = "The interview") -> Interview:
        """Take up a saved interview: what was done is done again, and checked like any answer."""
        try:
            if document["version"] != INTERVIEW_VERSION or len(document["actions"]) > MAX_ACTIONS:
                raise ValueError
            form, declared = Form.from_dict(document["form"], source), document["declared"]
            actions = [(str(what), str(given)) for what, given in document["actions"]]
            interview = cls(form, dict(declared))
            for what, given in actions:
                interview._act(what, given)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{source} is no saved interview, or a damaged one.") from error
        return interview

    # ---- steps

    def _begin(self) -> State:
        return State(entries={name: dict(e) for name, e in self._first.entries.items()})

    def _act(self, what: str, given: str) -> None:
        steps = {
            "answer": self._answer,
            "select": self._select,
            "columns": self._select_columns,
            "same": self._same_as,
            "skip": self._skip,
            "accept": self._accept,
        }
        if what not in steps or len(self._actions) >= MAX_ACTIONS:
            raise ValueError(what)
        before = copy.copy(self._state)
        before.entries, before.skipped = dict(before.entries), set(before.skipped)
        try:
            steps[what](given)
        except InputError:
            self._state = before
            raise
        self._actions.append((what, given))

    def _answer(self, given: str) -> None:
        question, state = self.question, self._state
        if question is None:
            raise InputError("The interview is over.")
        if question.columns:
            self._answer_about_columns(question, given)
        elif question.fact in ("open", "done"):
            self._answer_last(question.choose(given.strip() or question.suggestion))
        else:
            self._answer_about_unit(question, given.strip() or question.suggestion)
        if state.unit_known and not state.facts and not state.ended:
            self._next_columns()

    def _answer_about_columns(self, question: InterviewQuestion, given: str) -> None:
        state = self._state
        if question.fact == "kind":
            kind = read_answer(question, given, state.entry)["kind"]
            if state.entry.get("kind") != kind:
                state.entry = {"kind": kind}
            state.facts = FACTS[kind]
            return
        found = read_answer(question, given, state.entry)
        kept = {k: v for k, v in state.entry.items() if k not in REPLACED[question.fact]}
        entry = {**kept, **found}
        facts = state.facts[1:]
        if facts[:1] == ("other",) and not may_have_others(entry):
            facts = facts[1:]
        if not lacks(entry):
            Schema.from_dict({"attributes": {state.chosen[0]: entry}}, "The answer")
        state.entry, state.facts = entry, facts
        if not facts:
            self._describe(state.chosen, entry)

    def _describe(self, names: tuple[str, ...], entry: ColumnFacts) -> None:
        state = self._state
        for name in names:
            if name != state.person:
                state.entries[name] = dict(entry)
        state.skipped -= set(names)
        state.chosen, state.facts, state.entry = (), (), {}

    def _select(self, pattern: str) -> None:
        found = self._find(pattern)
        if not found:
            raise InputError(f"No column matches {pattern[:60]!r}.")
        self._choose(found)

    def _select_columns(self, names: str) -> None:
        given = json.loads(names)
        if not given or not all(name in self.declared for name in given):
            raise InputError("One of the columns is not there.")
        self._choose(tuple(dict.fromkeys(given)))

    def _choose(self, names: tuple[str, ...]) -> None:
        state = self._state
        if not state.unit_known:
            raise InputError("First say who is protected; then choose columns.")
        if state.ended:
            raise InputError("The interview is over.")
        others = tuple(name for name in names if name != state.person)
        if not others:
            raise InputError(f"{state.person!r} says whose row it is; that cannot be changed here.")
        self._ask_about(others, all_facts=True)

    def _find(self, pattern: str) -> tuple[str, ...]:
        state, text = self._state, pattern.strip()
        if text == "all":
            return self._index.names
        if text == "open":
            return self.open_columns
        if text == "skipped":
            return tuple(name for name in self._index.names if name in state.skipped)
        if text.startswith("type:"):
            kind = text.removeprefix("type:").strip()
            return tuple(name for name, known in self.declared.items() if known == kind)
        if text.startswith("kind:"):
            kind = text.removeprefix("kind:").strip()
            return tuple(name for name in self._index.names if self._likely_kind(name) == kind)
        found: dict[str, None] = {}
        for part in text.split(","):
            found.update(dict.fromkeys(self._index.find(part.strip())))
        whole = self._index.find(text)  # a name may hold a comma
        return tuple(found) or whole

    def _same_as(self, name: str) -> None:
        state = self._state
        if not state.facts:
            raise InputError("Choose columns first, then say which one they are like.")
        found = self._index.find(name.strip())
        if len(found) != 1:
            raise InputError(f"There is no column {name[:60]!r}.")
        if lacks(state.entries[found[0]]):
            raise InputError(f"{found[0]!r} is not described itself yet.")
        self._describe(state.chosen, state.entries[found[0]])
        self._next_columns()

    def _skip(self, _: str) -> None:
        state = self._state
        if not state.facts:
            raise InputError("This question cannot be skipped.")
        state.skipped |= set(state.chosen)
        state.chosen, state.facts, state.entry = (), (), {}
        self._next_columns()

    def _accept(self, _: str) -> None:
        state = self._state
        if not state.facts:
            raise InputError("Suggestions are accepted for columns; answer this one.")
        chosen = state.chosen
        taken = 0
        while state.chosen == chosen and state.facts:
            question = self.question
            if question is None or not question.suggestion:
                break
            self._answer("")
            taken += 1
        if not taken:
            raise InputError("There is no suggestion here; type an answer, or skip.")

    # ---- which columns next

    def _next_columns(self) -> None:
        """Ask about the next open column, and those of its family that are open too."""
        state = self._state
        waiting = [name for name in self.open_columns if name not in state.skipped]
        if not waiting:
            return
        first = waiting[0]
        family, entry = name_family(first), state.entries[first]
        alike = tuple(
            name
            for name in waiting
            if name_family(name) == family
            and state.entries[name] == entry
            and self.declared[name] == self.declared[first]
        )
        self._ask_about(alike, all_facts=False)

    def _ask_about(self, names: tuple[str, ...], *, all_facts: bool) -> None:
        state = self._state
        state.chosen = names
        state.entry = dict(state.entries[names[0]])
        state.facts = facts_to_ask(state.entry, all_facts=all_facts)

    def _likely_kind(self, name: str) -> str | None:
        known = self._state.entries[name].get("kind")
        return known or self._find_declared_kind(name) or guess_from_name(name).kind

    def _find_declared_kind(self, name: str) -> str | None:
        if self.declared[name] == "text":
            return guess_from_name(name).kind or "categorical"
        return self.declared[name]

    # ---- the table

    def _table_question(self) -> InterviewQuestion:
        if self._state.unit is None:
            return unit_question()
        if self._state.person is None:
            return person_question(self._index.names)
        return rows_question()

    def _answer_about_unit(self, question: InterviewQuestion, given: str) -> None:
        state = self._state
        if question.fact == "unit":
            state.unit = question.choose(given)
        elif question.fact == "person":
            found = self._index.find(given)
            if len(found) == 1:
                given = found[0]
            state.person = question.choose(given)
            state.entries[state.person] = {"kind": "identifier"}
        else:
            if not given.isdecimal() or not 1 <= int(given[:9]) < 10**6:
                raise InputError(f"{given[:20]!r} is not a whole number at or above 1.")
            state.max_rows_per_person = int(given)

    def _answer_last(self, chosen: str) -> None:
        state = self._state
        if chosen == "again":
            state.skipped = set()
        elif chosen == "leave out":
            for name in self.open_columns:
                state.entries[name] = {"kind": "text", "replacement": None}
        else:
            state.ended = True


def resume_interview(saved: Path, new: Interview) -> Interview:
    """The interview that was saved, if there is one and it is about the same columns."""
    if not saved.exists():
        return new
    source = f"The saved interview {saved}"
    found = Interview.from_dict(read_json(saved, "saved interview"), source)
    if found.declared != new.declared:
        raise InputError(f"{source} is about other columns; remove it to begin again.")
    return found
