"""Arithmetic over columns, as constraints write it: read by a parser of our own, never evaluated as
code.

    comparison = sum ("<" | "<=" | ">" | ">=") sum {("<" | "<=" | ">" | ">=") sum}
    formula    = COLUMN "=" sum
    dependency = COLUMN "->" COLUMN
    sum        = term {("+" | "-") term}
    term       = sign {("*" | "/") sign}
    sign       = "-" sign | atom
    atom       = NUMBER | 'DATE' | COLUMN | FUNCTION "(" sum {"," sum} ")" | "(" sum ")"

A column is written as it is called, also with spaces or hyphens in its name, or in "double quotes".
A date stands in 'single quotes' and counts in the unit of the rule's columns: days, or seconds
where they are datetimes. Functions are abs, ceil, floor, max, min and round.
"""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from understudy.data.time_formats import EPOCH
from understudy.errors import InputError

MAX_EXPRESSION_LENGTH = 2_000
MAX_EXPRESSION_DEPTH = 64

Numbers = NDArray[np.float64]
EXPRESSION_FUNCTIONS: dict[str, tuple[int, int, Callable[..., Any]]] = {
    "abs": (1, 1, np.abs),
    "ceil": (1, 1, np.ceil),
    "floor": (1, 1, np.floor),
    "max": (2, 16, lambda *parts: np.maximum.reduce(np.broadcast_arrays(*parts))),
    "min": (2, 16, lambda *parts: np.minimum.reduce(np.broadcast_arrays(*parts))),
    "round": (1, 1, np.rint),
}
"""By name: how many arguments at least, at most, and what is computed."""

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


@dataclass(frozen=True)
class Linear:
    """A sum of columns, each times a number, and a constant."""

    terms: Mapping[str, float]
    constant: float

    def plus(self, other: Linear, factor: float = 1.0) -> Linear:
        """The sum of this form and ``factor`` times another."""
        terms = dict(self.terms)
        for name, weight in other.terms.items():
            terms[name] = terms.get(name, 0.0) + factor * weight
        kept = {name: weight for name, weight in terms.items() if weight}
        return Linear(kept, self.constant + factor * other.constant)


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: float

    def evaluate(self, columns: Mapping[str, Numbers]) -> Any:
        """The number."""
        return self.value

    def linear(self) -> Linear | None:
        """A constant form."""
        return Linear({}, self.value)


@dataclass(frozen=True)
class Reference:
    """The value of a column."""

    name: str

    def evaluate(self, columns: Mapping[str, Numbers]) -> Any:
        """The column."""
        return columns[self.name]

    def linear(self) -> Linear | None:
        """One term."""
        return Linear({self.name: 1.0}, 0.0)


@dataclass(frozen=True)
class BinaryOperation:
    """Two expressions joined by +, -, * or /."""

    sign: str
    left: Expression
    right: Expression

    def evaluate(self, columns: Mapping[str, Numbers]) -> Any:
        """Computed as written, in double precision; a division by zero is not finite."""
        with np.errstate(all="ignore"):
            return _OPERATIONS[self.sign](self.left.evaluate(columns), self.right.evaluate(columns))

    def linear(self) -> Linear | None:
        """The form, where there is one."""
        left, right = self.left.linear(), self.right.linear()
        if left is None or right is None:
            return None
        if self.sign in ("+", "-"):
            return left.plus(right, 1.0 if self.sign == "+" else -1.0)
        if self.sign == "*" and not left.terms:
            return Linear({}, 0.0).plus(right, left.constant)
        if self.sign == "*" and not right.terms:
            return Linear({}, 0.0).plus(left, right.constant)
        if self.sign == "/" and not right.terms and right.constant:
            return Linear({}, 0.0).plus(left, 1 / right.constant)
        return None


@dataclass(frozen=True)
class Call:
    """A function of expressions."""

    function: str
    arguments: tuple[Expression, ...]

    def evaluate(self, columns: Mapping[str, Numbers]) -> Any:
        """The function of the evaluated arguments."""
        with np.errstate(all="ignore"):
            return EXPRESSION_FUNCTIONS[self.function][2](
                *(part.evaluate(columns) for part in self.arguments)
            )

    def linear(self) -> Linear | None:
        """No function is linear."""
        return None


Expression = Constant | Reference | BinaryOperation | Call


@dataclass(frozen=True)
class Inequality:
    """Two expressions of which one is smaller."""

    left: Expression
    strict: bool
    right: Expression

    def holds(self, columns: Mapping[str, Numbers]) -> Any:
        """Where it holds, both sides computed as written."""
        left, right = self.left.evaluate(columns), self.right.evaluate(columns)
        if self.strict:
            return np.less(left, right)
        return np.less_equal(left, right)


# --------------------------------------------------------------------------- reading

_TOKENS = re.compile(
    r"""\s*(?:
      (?P<number> (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})? (?![\w.]) )
    | (?P<text> '[^']*' )
    | (?P<name> "(?:[^"]|"")*" )
    | (?P<word> [^\W\d]\w* )
    | (?P<sign> ->|<=|>=|==|[-+*/()=<>,] )
    | (?P<end> \Z )
    )""",
    re.VERBOSE,
)


class ExpressionParser:
    """Reads one text, by recursive descent.

    Parameters
    ----------
    text
        What is to be read.
    kinds
        The kind of each column that may be named.
    fail
        Makes the error from its cause: whoever reads the schema knows what to call it.
    """

    def __init__(
        self, text: str, kinds: Mapping[str, str], fail: Callable[[str], InputError]
    ) -> None:
        self._fail = fail
        if len(text) > MAX_EXPRESSION_LENGTH:
            raise fail(f"it is longer than {MAX_EXPRESSION_LENGTH:,} characters; shorten it")
        self._kinds = kinds
        self._tokens = self._split(text)
        self._at = 0
        self._depth = 0
        self.names = {name for kind, name, _ in self._tokens if kind == "column"}

    def comparisons(self) -> tuple[Inequality, ...]:
        """One comparison, or a chain of them (``a <= b <= c``)."""
        sides, signs = [self._sum()], []
        while self._now[1] in ("<", "<=", ">", ">=") and self._now[0] == "sign":
            signs.append(self._take())
            sides.append(self._sum())
        if self._now[1] in ("=", "=="):
            raise self._fail('it holds "="; write a column that follows from others as a "formula"')
        if not signs:
            self._refuse_next("one of <, <=, > and >=")
        self._finish()
        found = []
        for sign, left, right in zip(signs, sides[:-1], sides[1:], strict=True):
            if sign.startswith(">"):
                left, right = right, left
            found.append(Inequality(left, len(sign) == 1, right))
        return tuple(found)

    def formula(self) -> tuple[str, Expression]:
        """A column and what it is computed from."""
        name = self._column()
        if self._now[1] != "=":
            self._refuse_next("=")
        self._take()
        found = self._sum()
        self._finish()
        return name, found

    def dependency(self) -> tuple[str, str]:
        """A column, and one that follows from it."""
        first = self._column()
        if self._now[1] != "->":
            self._refuse_next("->")
        self._take()
        second = self._column()
        self._finish()
        return first, second

    # ---- the grammar

    def _sum(self) -> Expression:
        found = self._term()
        while self._now[0] == "sign" and self._now[1] in "+-":
            found = BinaryOperation(self._take(), found, self._term())
        return found

    def _term(self) -> Expression:
        found = self._read_signed()
        while self._now[0] == "sign" and self._now[1] in "*/":
            found = BinaryOperation(self._take(), found, self._read_signed())
        return found

    def _read_signed(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_EXPRESSION_DEPTH:
            raise self._fail(
                f"it is nested more than {MAX_EXPRESSION_DEPTH} levels deep; simplify it"
            )
        if self._now[:2] == ("sign", "-"):
            self._take()
            found: Expression = BinaryOperation("-", Constant(0.0), self._read_signed())
        else:
            found = self._atom()
        self._depth -= 1
        return found

    def _atom(self) -> Expression:
        kind, text, _ = self._now
        if kind == "number":
            return Constant(float(self._take()))
        if kind == "text":
            return Constant(self._moment(self._take()))
        if kind == "column":
            return Reference(self._take())
        if kind == "function":
            return self._call()
        if text == "(":
            self._take()
            found = self._sum()
            self._close()
            return found
        self._refuse_next("a column, a number or (")

    def _call(self) -> Expression:
        name = self._take()
        self._take()
        arguments = [self._sum()]
        while self._now[1] == ",":
            self._take()
            arguments.append(self._sum())
        self._close()
        fewest, most, _ = EXPRESSION_FUNCTIONS[name]
        if not fewest <= len(arguments) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise self._fail(f"{name} takes {wanted} values, not {len(arguments)}")
        return Call(name, tuple(arguments))

    def _close(self) -> None:
        if self._now[1] != ")":
            self._refuse_next(")")
        self._take()

    def _column(self) -> str:
        if self._now[0] != "column":
            self._refuse_next("a column")
        return self._take()

    def _finish(self) -> None:
        if self._now[0] != "end":
            self._refuse_next("its end")

    def _moment(self, text: str) -> float:
        try:
            moment = dt.datetime.fromisoformat(text).replace(tzinfo=None)
        except ValueError:
            raise self._fail(
                f'{text!r} is not an ISO date such as "2020-01-31"; a column goes without single '
                "quotes"
            ) from None
        since = moment - EPOCH
        if any(self._kinds[name] == "datetime" for name in self.names):
            return float(since.days * 86400 + since.seconds)
        return float(since.days)

    # ---- words

    @property
    def _now(self) -> tuple[str, str, int]:
        return self._tokens[self._at]

    def _take(self) -> str:
        text = self._now[1]
        self._at += 1
        return text

    def _refuse_next(self, what: str) -> NoReturn:
        kind, text, place = self._now
        found = "it ends" if kind == "end" else f"there is {text!r}"
        raise self._fail(f"{what} was expected at character {place + 1}, where {found}")

    def _split(self, text: str) -> list[tuple[str, str, int]]:
        tokens: list[tuple[str, str, int]] = []
        place = 0
        while not tokens or tokens[-1][0] != "end":
            place += len(text[place:]) - len(text[place:].lstrip())
            name = _longest_name(text, place, self._kinds)
            if name and not tokens_call(text, place + len(name), name):
                tokens.append(("column", name, place))
                place += len(name)
                continue
            found = _TOKENS.match(text, place)
            if found is None:
                raise self._fail(f"{text[place : place + 12]!r} at character {place + 1} is odd")
            kind = str(found.lastgroup)
            tokens.append(self._token(kind, found.group(kind), text, found.start(kind)))
            place = found.end()
        return tokens

    def _token(self, kind: str, word: str, text: str, place: int) -> tuple[str, str, int]:
        if kind == "text":
            return "text", word[1:-1], place
        if kind == "word" and tokens_call(text, place + len(word), word):
            return "function", word, place
        if kind == "name":
            word = word[1:-1].replace('""', '"')
            if word in self._kinds:
                return "column", word, place
        if kind in ("word", "name"):
            close = difflib.get_close_matches(word, list(self._kinds), n=1)
            hint = f"; did you mean {close[0]!r}" if close else "; describe it or drop the rule"
            raise self._fail(f"there is no column {word!r}{hint}")
        return kind, word, place


def tokens_call(text: str, place: int, word: str) -> bool:
    """Whether a word that ends at a place is a function that is called there."""
    return word in EXPRESSION_FUNCTIONS and text[place:].lstrip().startswith("(")


def _longest_name(text: str, place: int, names: Collection[str]) -> str:
    """The longest name of a column that stands at a place by itself, not as a part of a word."""
    found = ""
    for name in names:
        if len(name) > len(found) and _stands_at(text, place, name):
            found = name
    return found


def _stands_at(text: str, place: int, name: str) -> bool:
    if not text.startswith(name, place) or not re.match(r"[^\W\d]", name):
        return False
    after = text[place + len(name) : place + len(name) + 1]
    return not re.match(r"\w", after)
