"""The perturbed histogram: one noisy joint table, all dependence kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from examples import schema_of, small_schema
from understudy import InputError, Table
from understudy.data.encoding import encode
from understudy.data.tables import Column
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.perturbed_histogram import PerturbedHistogram

ROWS = 20_000


def parity_table() -> Table:
    """Any two of the attributes are independent; all three together are not. Only a joint table can
    tell.
    """
    rng = np.random.default_rng(0)
    a, b = rng.random(ROWS) < 0.5, rng.integers(0, 3, ROWS)
    return Table(
        {
            "a": Column("boolean", a),
            "b": Column("integer", b),
            "c": Column("integer", (4 * a + 2 * b) % 6 + a),
        }
    )


def joint(frame: Any) -> Any:
    codes = encode(frame, small_schema()).codes
    place = np.ravel_multi_index(tuple(codes[name] for name in "abc"), (2, 3, 8))
    return np.bincount(place, minlength=48).reshape(2, 3, 8)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("repair", ["project", "clip"])
def test_the_whole_joint_distribution_is_kept(neighbours: Any, delta: float, repair: Any) -> None:
    method = PerturbedHistogram(epsilon=1.0, delta=delta, neighbours=neighbours, repair=repair)
    model = method.fit(parity_table(), small_schema(), noise=SeededNoise(1))
    truth = joint(parity_table())
    assert np.abs(model.network["c"].table - truth).sum() / 2 / ROWS < 0.01
    assert [entry.question for entry in model.ledger.entries] == ["table of a x b x c"]
    assert model.ledger.spent() == (pytest.approx(1.0), delta)
    assert model.rows == pytest.approx(ROWS, rel=0.01)
    assert (model.rows == ROWS) == (neighbours == "replace")
    assert np.abs(joint(model.sample(ROWS, seed=1)) - truth).sum() / 2 / ROWS < 0.02


def test_any_number_of_rows_can_be_drawn_and_the_model_can_be_asked() -> None:
    model = PerturbedHistogram(epsilon=1.0).fit(
        parity_table(), small_schema(), noise=SeededNoise(1)
    )
    assert model.sample(3).rows == 3
    truth = joint(parity_table())[1, 1:].sum()
    answer = model.query("count where a = true and b >= 1")
    assert abs(answer.value - truth) < 6 * answer.error
    assert 0 < answer.error < 30


def test_error_bars_tell_the_error() -> None:
    truth = joint(parity_table())[0, :, 2:5].sum()
    models = [
        PerturbedHistogram(epsilon=0.2, neighbours="replace").fit(
            parity_table(), small_schema(), noise=SeededNoise(s)
        )
        for s in range(60)
    ]
    answers = [model.query("count where a = false and c >= 2 and c < 5") for model in models]
    missed = np.sqrt(np.mean([(answer.value - truth) ** 2 for answer in answers]))
    # First-order bars leave the repair out, which lowers the error (most cells are empty here): too
    # long, never short.
    assert (
        0.2 * np.mean([a.error for a in answers])
        < missed
        < 1.3 * np.mean([a.error for a in answers])
    )


def test_what_it_cannot_do_is_said_before_a_debit() -> None:
    schema = schema_of(
        **{name: {"kind": "integer", "min": 0, "max": 99, "bins": 100} for name in "abcdef"}
    )
    table = Table({name: Column("integer", np.arange(9)) for name in "abcdef"})
    with pytest.raises(InputError, match=r"a x b x c x d x \.\.\. has 1,000,000,000,000 cells"):
        PerturbedHistogram(epsilon=1.0).fit(table, schema)
    with pytest.raises(InputError, match="repair must be project or clip"):
        PerturbedHistogram(epsilon=1.0, repair="mend").fit(parity_table(), small_schema())  # type: ignore[arg-type]


def test_a_table_of_constants_still_has_a_number_of_rows() -> None:
    schema = schema_of(a={"kind": "categorical", "values": ["x"]})
    table = Table({"a": Column("text", np.zeros(500, dtype=np.uint32), ("x",))})
    model = PerturbedHistogram(epsilon=1.0).fit(table, schema)
    assert model.rows == pytest.approx(500, abs=40)
    assert model.sample().rows == model.rows
