"""At most this many rows of each person, inside an engine; :mod:`understudy.privacy.contributions`
says why.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from understudy.data.tables import MARKS
from understudy.engines.dialects import Dialect
from understudy.engines.encoding import Raw

_SPACES = "".join(chr(i) for i in range(0x3001) if chr(i).isspace())
_COMMA = "','"
_ARGUMENTS = 100  # the most that a function takes in PostgreSQL


def whose(dialect: Dialect, raw: Raw) -> str:
    """Whose row it is, by a column; NULL where the column does not tell."""
    if raw.kind == "real":
        # As it stands in the table: a decimal number has more digits than the real that it would
        # be cast to, and two persons would be one.
        nan = f"CAST('NaN' AS {dialect.types['real']})"
        return f"CASE WHEN {raw.sql} <> {nan} THEN {dialect.quote_name(raw.name)} END"
    if raw.kind != "text":
        return raw.sql
    spaces = dialect.literal(_SPACES)
    marks = ", ".join(dialect.literal(mark) for mark in MARKS)
    return f"CASE WHEN trim(BOTH {spaces} FROM {raw.sql}) NOT IN ({marks}) THEN {raw.sql} END"


def limit_rows_per_person(
    dialect: Dialect, query: str, names: Sequence[str], most: int, texts: Sequence[str] = ()
) -> str:
    """The rows of a query that count, without those that are nobody's (NULL in ``p``).

    The rows of each person are numbered in an order that is random, and the same if the query is
    made again: that of a keyed digest of their values and, for equal rows, of which of them it is.
    It does not matter which of equal rows is called the first. So an engine that loses part of an
    answer and works it out again keeps the same rows of the same person.

    Parameters
    ----------
    dialect
        The SQL of the engine.
    query
        Has columns ``names``, none of them NULL, and ``p``.
    names
        The columns to keep.
    most
        How many rows a person may have.
    texts
        Those among ``names`` that hold texts.
    """
    listed = ", ".join(names)
    alike = (
        f"SELECT *, row_number() OVER (PARTITION BY p, {listed} ORDER BY p) AS c FROM "
        f"({query}) a WHERE p IS NOT NULL"
    )
    text = dialect.types["text"]
    # A text is digested by itself: it may hold what stands between two values.
    written = [
        f"md5({name})" if name in texts else f"CAST({name} AS {text})"
        for name in ("p", *names, "c")
    ]
    key = dialect.literal(secrets.token_hex(16))
    digest = f"md5({join_texts([key, *(part for value in written for part in (_COMMA, value))])})"
    ranked = f"SELECT *, row_number() OVER (PARTITION BY p ORDER BY {digest}) AS k FROM ({alike}) b"
    return f"SELECT {listed} FROM ({ranked}) k WHERE k <= {int(most)}"


def join_texts(texts: Sequence[str]) -> str:
    """Texts one after the other, whatever their number; none of them is NULL."""
    while len(texts) > _ARGUMENTS:
        texts = [join_texts(texts[i : i + _ARGUMENTS]) for i in range(0, len(texts), _ARGUMENTS)]
    return f"concat({', '.join(texts)})"
