"""Texts that a collation may take for the same, and what becomes of them."""

from __future__ import annotations

from examples import schema_of
from understudy.engines import Engine
from understudy.engines.rows import EngineTable

VALUES = ("male", "MALE", "f")
OWNERS = ("ann", "ANN", "Ann", "bob", "bob", "Bob", "eve")
WORDS = (*["male"] * 5, *["f"] * 2)
WITH_ONE_MORE = ("zoe", "MALE")
_SCHEMA = schema_of(who={"kind": "identifier"}, x={"kind": "categorical", "values": list(VALUES)})


def words_counted(engine: Engine) -> dict[str, int]:
    """How often each value occurs in the column ``x``."""
    try:
        (found,) = EngineTable(engine).coded(_SCHEMA).grouped([("x",)])
        return dict(zip((VALUES[code] for code in found.codes["x"]), found.weights.tolist(), strict=True))
    finally:
        engine.close()


def persons_kept(engine: Engine) -> int:
    """How many rows are left, where each person of the column ``who`` keeps one."""
    try:
        return EngineTable(engine).coded(_SCHEMA, "who", 1).rows
    finally:
        engine.close()
