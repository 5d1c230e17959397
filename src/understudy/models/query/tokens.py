"""The words of a query: numbers, texts, names and signs, each with its place."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

from understudy.errors import InputError

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
"""No names of attributes, unless in double quotes. Other words of the grammar are told by where
they stand.
"""

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


class QueryToken(NamedTuple):
    """A word, number, text or sign of a query, and where it stands."""

    kind: str
    text: str
    place: int

    @property
    def keyword(self) -> str:
        """A plain word, whatever its case; empty for all else."""
        if self.kind == "word":
            return self.text.casefold()
        return ""


def split_tokens(text: str) -> list[QueryToken]:
    """A query as tokens, the last of them its end."""
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
        tokens.append(QueryToken(kind, found.group(kind), found.start(kind)))
        if kind == "end":
            return tokens
        place = found.end()


class TokenReader:
    """Reads a query token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = split_tokens(text)
        self.at = 0

    @property
    def now(self) -> QueryToken:
        """The token that is next."""
        return self.tokens[self.at]

    def took(self, keyword: str) -> bool:
        """Whether a plain word is next; it is then read."""
        found = self.now.keyword == keyword
        self.at += found
        return found

    def took_sign(self, sign: str) -> bool:
        """Whether a sign is next; it is then read."""
        found = self.now.kind == "sign" and self.now.text == sign
        self.at += found
        return found

    def word(self, keyword: str) -> None:
        """Read a plain word."""
        if not self.took(keyword):
            self.refuse_next(keyword)

    def sign(self, sign: str) -> None:
        """Read a sign."""
        if not self.took_sign(sign):
            self.refuse_next(sign)

    def name(self) -> str:
        """The name of an attribute."""
        token = self.now
        if token.kind == "name":
            name = token.text[1:-1].replace('""', '"')
        elif token.kind == "word" and token.keyword not in KEYWORDS:
            name = token.text
        else:
            self.refuse_next("the name of an attribute")
        self.at += 1
        return name

    def values(self) -> list[Any]:
        """Several values in parentheses."""
        self.sign("(")
        values = [self.value()]
        while self.took_sign(","):
            values.append(self.value())
        self.sign(")")
        return values

    def value(self) -> Any:
        """A number, a text, true or false."""
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
        return self.refuse_next("a value: a number or 'text'")

    def refuse_next(self, what: str) -> NoReturn:
        """Refuse what is next."""
        token = self.now
        if token.kind == "end":
            found = "the query ends there"
        else:
            found = f"found {token.text!r}"
        raise self.bad(token, f"expected {what}, but {found}.")

    def bad(self, token: QueryToken, cause: str) -> InputError:
        """What to say of a token."""
        return InputError(f"The query cannot be read at character {token.place + 1}: {cause}")
