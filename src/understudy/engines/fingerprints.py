"""Which table is this, inside an engine? See :mod:`understudy.privacy.fingerprints`.

The engine sums keyed digests of its rows in one pass: MD5 of all columns that can be modelled, as
the engine writes them as texts. So the same rows in another order have the same fingerprint, but
not in another engine or in memory.
"""

from __future__ import annotations

import hashlib
import hmac

from understudy.engines.persons import join_texts
from understudy.engines.rows import EngineTable
from understudy.privacy.fingerprints import seal

_DIGITS = (
    8  # hexadecimal ones of a digest that make a number: sums of a billion rows fit into 63 bits
)
_SUMS = 4


def engine_fingerprint(table: EngineTable, key: bytes) -> str:
    """The fingerprint of a table inside an engine."""
    engine, dialect = table.engine, table.engine.dialect
    names = sorted(name for name in table.names if engine.types[name][1])
    # The engine may log its queries: it gets a key of its own, and never sees the fingerprint.
    secret = hmac.new(key, b"rows inside an engine", hashlib.sha256).hexdigest()
    text = dialect.types["text"]
    parts = [dialect.literal(secret)]
    for name in names:
        value = f"CAST({dialect.quote_name(name)} AS {text})"
        length = f"CAST(length({value}) AS {text})"
        parts.append(f"CASE WHEN {value} IS NULL THEN '-' ELSE concat({length}, ':', {value}) END")
    digests = f"SELECT md5({join_texts(parts)}) AS d FROM {engine.relation}"
    numbers = [
        dialect.hexadecimal(f"substr(d, {1 + _DIGITS * i}, {_DIGITS})") for i in range(_SUMS)
    ]
    sums = ", ".join(f"CAST(COALESCE(sum({number}), 0) AS BIGINT)" for number in numbers)
    found = engine.numbers(f"SELECT count(*), {sums} FROM ({digests}) t")
    listed = "".join(f"{len(name)}:{name}" for name in sorted(table.names))
    return seal(key, dialect.name, [int(column[0]) for column in found], listed)
