"""The language of queries: ``count where age >= 44 and age < 55 and sex = 'Female'``.

    query      = ("count" | "share" | "mean" ATTRIBUTE) ["where" condition]
    condition  = conjunction {"or" conjunction}
    conjunction= negation {"and" negation}
    negation   = "not" negation | "(" condition ")" | comparison
    comparison = ATTRIBUTE ("=" | "!=" | "<>" | "<" | "<=" | ">" | ">=") VALUE
               | ATTRIBUTE ["not"] "in" "(" VALUE {"," VALUE} ")"
               | ATTRIBUTE ["not"] "between" VALUE "and" VALUE
               | ATTRIBUTE "is" ["not"] "missing"

An attribute is a plain word or stands in "double quotes"; a value is a number, 'text in single
quotes' (a date too, as '2020-01-31'), true or false. A quote inside quotes is written twice. A
missing value compares with nothing: it fits neither ``age < 40`` nor ``age >= 40`` nor ``age !=
40``, but ``not (age < 40)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Attribute, Schema
from understudy.errors import InputError
from understudy.models.query.conditions import Subset, between, compare_values, is_missing, one_of

MAX_QUERY_LENGTH = 20_000
MAX_QUERY_DEPTH = 64

Kind = Literal["count", "share", "mean"]
KEYWORDS = frozenset(
    (
        "count",
        "share",
        "mean",
        "where",
        "and",
        "or",
        "not",
        "in",
        "between",
        "is",
        "missing",
        "true",
        "false",
    )
)


# --------------------------------------------------------------------------- what a query says


@dataclass(frozen=True)
class Atom:
    """A condition on one attribute."""

    subset: Subset

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """Itself."""
        return (self,)

    def truth(self, atoms: Mapping[Atom, NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Where it holds, looked up."""
        return atoms[self]


@dataclass(frozen=True)
class Compound:
    """All of some conditions (``and``), or any (``or``), or, with one part, its opposite
    (``not``).
    """

    word: Literal["and", "or", "not"]
    parts: tuple[Condition, ...]

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The conditions on single attributes that it is made of."""
        return tuple(atom for part in self.parts for atom in part.atoms)

    def truth(self, atoms: Mapping[Atom, NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Where it holds, given where its atoms do (arrays that broadcast)."""
        found = self.parts[0].truth(atoms)
        if self.word == "not":
            return ~found
        for part in self.parts[1:]:
            if self.word == "and":
                found = found & part.truth(atoms)
            else:
                found = found | part.truth(atoms)
        return found


Condition = Atom | Compound


@dataclass(frozen=True)
class Query:
    """What is asked for, of what attribute (for a mean), of which rows (all, without a
    condition).
    """

    kind: Kind
    attribute: Attribute | None
    condition: Condition | None

    @property
    def names(self) -> set[str]:
        """The attributes that it is about."""
        atoms: Sequence[Atom] = ()
        if self.condition is not None:
            atoms = self.condition.atoms
        found = {atom.subset.attribute.name for atom in atoms}
        if self.attribute is not None:
            found.add(self.attribute.name)
        return found


def parse(text: str, schema: Schema) -> Query:
    """Read a query; attributes and values are those of the schema."""
    if not isinstance(text, str):
        raise InputError(
            f'A query is text such as "count where age >= 44", not {type(text).__name__}.'
        )
    if len(text) > MAX_QUERY_LENGTH:
        raise InputError(
            f"The query is longer than {MAX_QUERY_LENGTH:,} characters; ask several shorter ones."
        )
    return _Parser(text, schema).query()


# --------------------------------------------------------------------------- words

_TOKENS = re.compile(
    r"""\s*(?:
      (?P<number> [+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? (?![\w.]) )
    | (?P<text> '(?:[^']|'')*' )
    | (?P<name> "(?:[^"]|"")*" )
    | (?P<word> [^\W\d][\w.]*(?:-[\w.]+)* )
    | (?P<sign> <=|>=|!=|<>|==|[=<>(),] )
    | (?P<end> \Z )
    )""",
    re.VERBOSE,
)


class _Token(NamedTuple):
    kind: str
    text: str
    place: int

    @property
    def keyword(self) -> str:
        if self.kind == "word":
            return self.text.casefold()
        return ""


def _tokens(text: str) -> list[_Token]:
    tokens, place = [], 0
    while True:
        found = _TOKENS.match(text, place)
        if found is None:
            place += len(text[place:]) - len(text[place:].lstrip())
            if text[place] in "'\"":
                what = "this quote is never closed"
            else:
                what = f"{text[place : place + 12]!r} is not understood"
            raise InputError(f"The query cannot be read at character {place + 1}: {what}.")
        kind = str(found.lastgroup)
        tokens.append(_Token(kind, found.group(kind), found.start(kind)))
        if kind == "end":
            return tokens
        place = found.end()


# --------------------------------------------------------------------------- grammar


class _Parser:
    """Recursive descent, a method for each line of the grammar."""

    def __init__(self, text: str, schema: Schema) -> None:
        self.schema = schema
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0

    def query(self) -> Query:
        word = self.now.keyword
        if word not in ("count", "share", "mean"):
            self.expected("count, share or mean")
        self.at += 1
        kind: Kind = word  # type: ignore[assignment]
        attribute = None
        if kind == "mean":
            attribute = self.attribute()
        condition = None
        if self.took("where"):
            condition = self.condition()
        if self.now.kind != "end":
            self.expected("where" if condition is None else "and, or, or the end")
        return Query(kind, attribute, condition)

    def condition(self) -> Condition:
        parts = [self.conjunction()]
        while self.took("or"):
            parts.append(self.conjunction())
        if len(parts) == 1:
            return parts[0]
        return Compound("or", tuple(parts))

    def conjunction(self) -> Condition:
        parts = [self.negation()]
        while self.took("and"):
            parts.append(self.negation())
        if len(parts) == 1:
            return parts[0]
        return Compound("and", tuple(parts))

    def negation(self) -> Condition:
        self.depth += 1
        if self.depth > MAX_QUERY_DEPTH:
            raise InputError(
                f"The query is nested more than {MAX_QUERY_DEPTH} deep; write it flatter."
            )
        if self.took("not"):
            found: Condition = Compound("not", (self.negation(),))
        elif self.took_sign("("):
            found = self.condition()
            self.sign(")")
        else:
            found = Atom(self.comparison())
        self.depth -= 1
        return found

    def comparison(self) -> Subset:
        attribute = self.attribute()
        token = self.now
        if token.kind == "sign" and token.text in ("=", "==", "!=", "<>", "<", "<=", ">", ">="):
            self.at += 1
            operator = {"==": "=", "<>": "!="}.get(token.text, token.text)
            return self.sense(attribute, compare_values, operator, self.value())
        if self.took("is"):
            negated = self.took("not")
            self.word("missing")
            if negated:
                return Subset(attribute).without()
            return self.sense(attribute, is_missing)
        negated = self.took("not")
        if self.took("in"):
            subset = self.sense(attribute, one_of, self.values())
        elif self.took("between"):
            low = self.value()
            self.word("and")
            subset = self.sense(attribute, between, low, self.value())
        else:
            self.expected(
                "in or between"
                if negated
                else "a comparison such as =, <, in, between or is missing"
            )
        if negated:
            return subset.without()
        return subset

    def attribute(self) -> Attribute:
        token = self.now
        if token.kind == "name":
            name = token.text[1:-1].replace('""', '"')
        elif token.kind == "word" and token.keyword not in KEYWORDS:
            name = token.text
        else:
            self.expected("the name of an attribute")
        self.at += 1
        try:
            attribute = self.schema[name]
        except InputError as error:
            raise self.bad(token, str(error)) from None
        if not attribute.modelled:
            raise self.bad(
                token, f"{name!r} is {attribute.kind} and not modelled, so nothing is known of it."
            )
        return attribute

    def values(self) -> list[Any]:
        self.sign("(")
        values = [self.value()]
        while self.took_sign(","):
            values.append(self.value())
        self.sign(")")
        return values

    def value(self) -> Any:
        token = self.now
        self.at += 1
        if token.kind == "text":
            return token.text[1:-1].replace("''", "'")
        if token.kind == "number":
            return float(token.text)
        if token.keyword in ("true", "false"):
            return token.keyword == "true"
        self.at -= 1
        if token.kind in ("word", "name"):
            plain = token.text.strip('"')
            raise self.bad(token, f"text stands in single quotes; write '{plain}'.")
        return self.expected("a value: a number or 'text'")

    # ---- small steps

    @property
    def now(self) -> _Token:
        return self.tokens[self.at]

    def took(self, keyword: str) -> bool:
        found = self.now.keyword == keyword
        self.at += found
        return found

    def took_sign(self, sign: str) -> bool:
        found = self.now.kind == "sign" and self.now.text == sign
        self.at += found
        return found

    def word(self, keyword: str) -> None:
        if not self.took(keyword):
            self.expected(keyword)

    def sign(self, sign: str) -> None:
        if not self.took_sign(sign):
            self.expected(sign)

    def sense(self, attribute: Attribute, build: Any, *arguments: Any) -> Subset:
        """Build a subset; what is wrong with a value is told with its place."""
        token = self.tokens[self.at - 1]
        try:
            return build(attribute, *arguments)
        except InputError as error:
            raise self.bad(token, str(error)) from None

    def expected(self, what: str) -> NoReturn:
        token = self.now
        if token.kind == "end":
            found = "the query ends there"
        else:
            found = f"found {token.text!r}"
        raise self.bad(token, f"expected {what}, but {found}.")

    def bad(self, token: _Token, cause: str) -> InputError:
        return InputError(f"The query cannot be read at character {token.place + 1}: {cause}")
