"""The language of queries: ``count where age >= 44 and age < 55 and sex = 'Female'``.

    query      = function ["where" condition] ["group" "by" group {"," group}]
    function   = "count" | "share" | "histogram" group {"," group}
               | "count" "each" condition {"," condition} ["at" "most" NUMBER]
               | ("sum" | "mean" | "variance" | "std" | "median" | "min" | "max") ATTRIBUTE [bounds]
               | "quantile" NUMBER ATTRIBUTE [bounds]
    bounds     = "from" VALUE "to" VALUE
    group      = ATTRIBUTE ["in" "(" VALUE {"," VALUE} ")" | bounds "by" NUMBER]
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

from typing import Any

from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.errors import InputError
from understudy.models.query.groups import group_by_domain, group_by_steps, group_by_values
from understudy.models.query.subsets import Subset, between, compare_values, is_missing, one_of
from understudy.models.query.syntax import Atom as Atom
from understudy.models.query.syntax import Compound as Compound
from understudy.models.query.syntax import Condition as Condition
from understudy.models.query.syntax import Label, QueryGroup
from understudy.models.query.syntax import Query as Query
from understudy.models.query.syntax import QueryKind as QueryKind
from understudy.models.query.tokens import QueryToken, TokenReader
from understudy.models.query.written_values import read_bounds

MAX_QUERY_LENGTH = 20_000
MAX_QUERY_DEPTH = 64
MAX_LABELS = 100

OF_NUMBERS: tuple[QueryKind, ...] = ("sum", "mean", "variance", "std")
FUNCTION_NAMES = ("count", "share", "histogram", *OF_NUMBERS, "median", "quantile", "min", "max")


def parse(text: str, schema: Schema) -> Query:
    """Read a query; attributes and values are those of the schema."""
    check_length(text)
    return Parser(text, schema).query()


def check_length(text: str) -> None:
    """Refuse what is no text, or too much of it."""
    if not isinstance(text, str):
        raise InputError(
            f'A query is text such as "count where age >= 44", not {type(text).__name__}.'
        )
    if len(text) > MAX_QUERY_LENGTH:
        raise InputError(
            f"The query is longer than {MAX_QUERY_LENGTH:,} characters; ask several shorter ones."
        )


# --------------------------------------------------------------------------- grammar


class Parser(TokenReader):
    """Recursive descent, a method for each line of the grammar."""

    def __init__(self, text: str, schema: Schema) -> None:
        super().__init__(text)
        self.schema = schema
        self.depth = 0

    def query(self) -> Query:
        """The whole of it."""
        word = self.now.keyword
        if word not in FUNCTION_NAMES:
            self.refuse_next(f"{', '.join(FUNCTION_NAMES[:-1])} or {FUNCTION_NAMES[-1]}")
        self.at += 1
        asked = self.function(word)
        condition = None
        if self.took("where"):
            condition = self.condition()
        if not asked.get("groups") and self.took("group"):
            self.word("by")
            asked["groups"] = self.groups()
        if self.now.kind != "end":
            self.refuse_next(_words_after(condition, asked))
        return Query(condition=condition, **asked)

    def function(self, word: str) -> dict[str, Any]:
        """What is asked for, without conditions and groups."""
        if word == "histogram":
            return {"kind": "count", "groups": self.groups()}
        if word == "count" and self.took("each"):
            return self.labels()
        if word in ("count", "share"):
            return {"kind": word}
        asked: dict[str, Any] = {"kind": word}
        if word == "quantile":
            asked["level"] = self.level()
        place = self.now
        asked["attribute"] = attribute = self.attribute()
        self.check_function(word, attribute, place)
        if self.took("from"):
            asked["bounds"] = self.bounds(attribute)
        return asked

    def check_function(self, word: str, attribute: Attribute, place: QueryToken) -> None:
        """Refuse a function of what has no numbers, or no order."""
        numbers = isinstance(attribute, Category) and not isinstance(attribute.domain[0], str)
        if isinstance(attribute, Quantity):
            numbers = word not in OF_NUMBERS or not attribute.is_moment
        if not numbers:
            raise self.bad(
                place, f"a {word} is of numbers; {attribute.name!r} is {attribute.kind}."
            )

    def level(self) -> float:
        """The level of a quantile."""
        token = self.now
        if token.kind != "number" or not 0 < float(token.text) < 1:
            raise self.bad(
                token, "a quantile has a level between 0 and 1, then a name: quantile 0.9 age."
            )
        self.at += 1
        return float(token.text)

    def bounds(self, attribute: Attribute) -> tuple[float, float]:
        """Public bounds, in the unit of the attribute."""
        low = self.value()
        self.word("to")
        return self.sense(attribute, read_bounds, low, self.value())

    def labels(self) -> dict[str, Any]:
        """Conditions that are counted each by itself."""
        found = [self.label()]
        while self.took_sign(","):
            found.append(self.label())
        most, token = len(found), self.now
        if most > MAX_LABELS:
            raise self.bad(token, f"at most {MAX_LABELS} conditions are counted at once.")
        if self.took("at"):
            self.word("most")
            token = self.now
            given = self.value()
            if not isinstance(given, float) or given not in range(1, most + 1):
                raise self.bad(token, f"at most a whole number of them counts, from 1 to {most}.")
            most = int(given)
        return {"kind": "labels", "labels": tuple(found), "max_labels": most}

    def label(self) -> Label:
        """One of the conditions that are counted at once."""
        start = self.now.place
        condition = self.condition()
        return Label(self.text[start : self.now.place].strip(), condition)

    def groups(self) -> tuple[QueryGroup, ...]:
        """By what rows are grouped."""
        found = [self.group()]
        while self.took_sign(","):
            found.append(self.group())
        return tuple(found)

    def group(self) -> QueryGroup:
        """An attribute, and which groups it makes."""
        attribute = self.attribute()
        if self.took("in"):
            return self.sense(attribute, group_by_values, self.values())
        if not self.took("from"):
            return self.group_by_domain(attribute)
        low = self.value()
        self.word("to")
        high = self.value()
        self.word("by")
        return self.sense(attribute, group_by_steps, low, high, self.value())

    def condition(self) -> Condition:
        """Conditions of which any must hold."""
        parts = [self.conjunction()]
        while self.took("or"):
            parts.append(self.conjunction())
        if len(parts) == 1:
            return parts[0]
        return Compound("or", tuple(parts))

    def conjunction(self) -> Condition:
        """Conditions that must all hold."""
        parts = [self.negation()]
        while self.took("and"):
            parts.append(self.negation())
        if len(parts) == 1:
            return parts[0]
        return Compound("and", tuple(parts))

    def negation(self) -> Condition:
        """A condition, its opposite, or some in parentheses."""
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
        """A condition on one attribute."""
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
                return self.without(Subset(attribute))
            return self.sense(attribute, is_missing)
        negated = self.took("not")
        if self.took("in"):
            subset = self.sense(attribute, one_of, self.values())
        elif self.took("between"):
            low = self.value()
            self.word("and")
            subset = self.sense(attribute, between, low, self.value())
        else:
            self.refuse_next(_comparisons(self.now, negated=negated))
        if negated:
            return self.without(subset)
        return subset

    def attribute(self) -> Attribute:
        """An attribute of the schema that has codes."""
        token = self.now
        name = self.name()
        try:
            attribute = self.schema[name]
        except InputError as error:
            raise self.bad(token, str(error)) from None
        if not attribute.modelled:
            raise self.bad(
                token, f"{name!r} is {attribute.kind} and not modelled, so nothing is known of it."
            )
        return attribute

    def group_by_domain(self, attribute: Attribute) -> QueryGroup:
        """The groups that the schema knows."""
        return group_by_domain(attribute)

    def without(self, subset: Subset) -> Subset:
        """The values of an attribute that are not in a subset."""
        return subset.without()

    def sense(self, attribute: Attribute, build: Any, *arguments: Any) -> Any:
        """Build what values stand for; what is wrong with a value is told with its place."""
        token = self.tokens[self.at - 1]
        try:
            return build(attribute, *arguments)
        except InputError as error:
            raise self.bad(token, str(error)) from None


def _words_after(condition: Condition | None, asked: dict[str, Any]) -> str:
    """What may follow the part of a query that was read."""
    if asked.get("groups"):
        return "the end"
    if condition is None:
        return "where, group by or the end"
    return "and, or, group by or the end"


def _comparisons(token: QueryToken, *, negated: bool) -> str:
    """What may follow the name of an attribute in a condition."""
    if negated:
        return "in or between"
    known = "a comparison such as =, <, in, between or is missing"
    if token.kind == "word":
        return f'{known} (a name of several words stands in double quotes, "like this")'
    return known
