"""Texts that a collation may take for the same, and what becomes of them."""

from __future__ import annotations

from examples import schema_of
from understudy.engines import Engine
from understudy.engines.rows import EngineTable

VALUES = ("male", "MALE", "f")
OWNERS = ("ann", "ANN", "Ann", "bob", "bob", "Bob", "eve")
WORDS = (*["male"] * 5, *["f"] * 2)
WITH_ONE_MORE = ("zoe", "MALE")
ONE_EACH = {"male": 4, "f": 2}  # bob has two rows that are equal
_SCHEMA = schema_of(who={"kind": "identifier"}, x={"kind": "categorical", "values": list(VALUES)})


def words_counted(engine: Engine, person: str | None = None) -> dict[str, int]:
    """How often each value occurs in the column ``x``, where each person keeps one row, if it is
    said who they are.
    """
    try:
        (found,) = EngineTable(engine).encode(_SCHEMA, person, 1).group([("x",)])
        return dict(
            zip((VALUES[code] for code in found.codes["x"]), found.weights.tolist(), strict=True)
        )
    finally:
        engine.close()
