"""A column that tells rows apart is named, whatever it is called."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from understudy.data.tables import Column, Table
from understudy.evaluation import evaluate
from understudy.evaluation.original import compare_originals
from understudy.evaluation.result import OwnValues

pytest.importorskip("xgboost")

ROWS = 1000
RNG = np.random.default_rng(0)
LEVEL = Column("integer", RNG.integers(0, 9, ROWS))


def text(values: Sequence[object]) -> Column:
    words = tuple(sorted({str(value) for value in values}))
    place = {word: at for at, word in enumerate(words)}
    return Column("text", np.array([place[str(value)] for value in values]), words)


def own(real: Column, synthetic: Column, name: str = "reading") -> tuple[OwnValues, ...]:
    tables = (Table({name: column, "level": LEVEL}) for column in (real, synthetic))
    return compare_originals(*tables).own_values


def test_numbers_that_synthetic_rows_share_are_named() -> None:
    real = Column("integer", RNG.permutation(10 * ROWS)[:ROWS])
    (found,) = own(real, Column("integer", RNG.integers(0, 500, ROWS)))
    assert found.name == "reading"
    assert (found.real_shared, found.kind) == (0, "integer")
    assert found.shared > 0.8
    assert own(real, Column("integer", RNG.permutation(10 * ROWS)[:ROWS] + 10**6)) == ()


def test_words_of_real_rows_are_poor() -> None:
    real = text([f"{place:x}-c" for place in range(ROWS)])
    made = text([f"{place:x}-c" for place in range(ROWS // 2, ROWS // 2 + ROWS)])
    (found,) = own(real, made)
    assert (found.shared, found.held) == (0, 0.5)
    tables = [Table({"reading": column, "level": LEVEL}) for column in (real, made)]
    told = [each for each in evaluate(*tables).findings if "value of its own" in each.sentence]
    assert [each.grade for each in told] == ["poor"]
    assert told[0].sentence == (
        "Nearly every real row has a value of its own in reading; 0 % of the synthetic rows share "
        "theirs, and 50.0 % hold that of a real row. If it is an identifier, synthesize with "
        "--identifier reading."
    )


def test_amounts_that_are_alike_by_chance_are_not_named() -> None:
    one, other = (Column("integer", RNG.integers(0, 30_000, ROWS)) for _ in range(2))
    assert own(one, other) == ()
    some = np.arange(ROWS)
    some[:200] //= 2  # a fifth of the rows share their value
    assert own(Column("integer", some), LEVEL) == ()
    values = RNG.normal(size=ROWS)
    assert own(Column("real", values), Column("real", values.round(1))) == ()


def test_what_the_name_tells_and_what_became_one_text_is_told_elsewhere() -> None:
    numbers = Column("integer", np.arange(ROWS))
    assert own(numbers, numbers, "patient_nr") == ()
    assert own(numbers, numbers) != ()
    assert own(text(range(ROWS)), text(["[text]"] * ROWS)) == ()
    few = Column("integer", np.arange(20))
    level = Column("integer", np.arange(20) % 3)
    tables = [Table({"reading": few, "level": level}) for _ in range(2)]
    assert compare_originals(*tables).own_values == ()
