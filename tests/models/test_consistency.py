"""Tables that share attributes, made to agree: same margins, nothing negative, closer to the
truth.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from examples import schema_of
from understudy.data.marginals import Axis, Marginal, marginal
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.models.consistency import make_consistent, pool_margins
from understudy.models.parameters import repair_counts
from understudy.privacy.curator import Measurement
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.privbayes import PrivBayes

ROWS = 2000
SIZES = {"a": 3, "b": 4, "c": 5}
FAMILIES = [marginal("a", "b"), marginal("b", "c"), marginal("c", "a"), marginal("c")]


def schema() -> Schema:
    return schema_of(
        **{name: {"kind": "integer", "min": 0, "max": size - 1} for name, size in SIZES.items()}
    )


def truth(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(60, 0.3))
    return rng.multinomial(ROWS, shares).reshape(3, 4, 5)


def table_of(whole: Any, axes: Marginal) -> Any:
    """The exact table of a marginal, its sides in the marginal's order."""
    names = [axis.attribute for axis in axes]
    summed = whole.sum(axis=tuple(i for i, name in enumerate(SIZES) if name not in names))
    kept = [name for name in SIZES if name in names]
    table = summed.transpose([kept.index(name) for name in names])
    for place, axis in enumerate(axes):
        if axis.level:
            coarse = schema()[axis.attribute].generalisations[axis.level - 1]
            merged = np.zeros(
                (coarse.max() + 1, *np.moveaxis(table, place, 0).shape[1:]), dtype=table.dtype
            )
            np.add.at(merged, coarse, np.moveaxis(table, place, 0))
            table = np.moveaxis(merged, 0, place)
    return table


def measured(
    seed: int, scale: float, families: list[Marginal] = FAMILIES
) -> tuple[list[Measurement], list[Any]]:
    noise = SeededNoise(seed)
    exact = [table_of(truth(seed), axes) for axes in families]
    noisy = [noise.laplace(table.astype(np.int64), scale) for table in exact]
    return [
        Measurement(axes, t, "laplace", scale) for axes, t in zip(families, noisy, strict=True)
    ], exact


def margin(table: Any, axes: Marginal, name: str) -> Any:
    place = [axis.attribute for axis in axes].index(name)
    return table.sum(axis=tuple(i for i in range(table.ndim) if i != place))


@pytest.mark.parametrize("repair", ["project", "clip"])
@pytest.mark.parametrize("scale", [0.1, 5.0, 40.0, 400.0])
def test_tables_agree_on_what_they_share_and_could_be_real(repair: Any, scale: float) -> None:
    """Also where noise drowns the counts and repairing empties whole slices of a table."""
    for seed in range(10):
        tables = make_consistent(measured(seed, scale)[0], schema(), float(ROWS), repair)
        for table in tables:
            assert (table >= 0).all()
            assert table.sum() == pytest.approx(ROWS)
        for (one, first), (other, second) in itertools.combinations(
            zip(FAMILIES, tables, strict=True), 2
        ):
            for name in {axis.attribute for axis in one} & {axis.attribute for axis in other}:
                assert margin(first, one, name) == pytest.approx(
                    margin(second, other, name), abs=1e-6 * ROWS
                )


@pytest.mark.parametrize("repair", ["project", "clip"])
def test_a_coarser_margin_is_the_finer_one_merged(repair: Any) -> None:
    families = [marginal("a", "b"), (Axis("b", 1), Axis("c"))]
    for seed in range(5):
        fine, coarse = make_consistent(
            measured(seed, 20.0, families)[0], schema(), float(ROWS), repair
        )
        assert coarse.shape == (2, 5)
        merged = np.bincount([0, 0, 1, 1], weights=margin(fine, families[0], "b"))
        assert margin(coarse, families[1], "b") == pytest.approx(merged, abs=1e-6 * ROWS)


@pytest.mark.parametrize("repair", ["project", "clip"])
def test_agreeing_lowers_the_error_on_average(repair: Any) -> None:
    apart, together = 0.0, 0.0
    for seed in range(25):
        noisy, exact = measured(seed, 15.0)
        tables = make_consistent(noisy, schema(), float(ROWS), repair)
        for measurement, table, right in zip(noisy, tables, exact, strict=True):
            apart += float(np.abs(repair_counts(measurement.counts, ROWS, repair) - right).sum())
            together += float(np.abs(table - right).sum())
    assert together < 0.97 * apart


def test_tables_without_noise_stay_as_they_are() -> None:
    noisy, exact = measured(1, 0.01)
    for table, right in zip(
        make_consistent(noisy, schema(), float(ROWS), "project"), exact, strict=True
    ):
        assert table == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("rows", [0.0, 1.0])
def test_hardly_any_rows_are_no_trouble(rows: float) -> None:
    for table in make_consistent(measured(1, 30.0)[0], schema(), rows, "project"):
        assert table.sum() == pytest.approx(rows)
        assert (table >= 0).all()


def test_the_tables_of_a_consistent_model_agree() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 1500)
    columns = {
        "a": a,
        "b": (a + rng.integers(0, 2, 1500)) % 4,
        "c": (a * 2 + rng.integers(0, 2, 1500)) % 5,
    }
    table = Table({name: Column("integer", values) for name, values in columns.items()})
    method = PrivBayes(epsilon=0.5, degree=1, consistent=True, neighbours="replace")
    model = method.fit(table, schema(), noise=SeededNoise(2))
    margins: dict[str, list[Any]] = {}
    for node in model.network:
        axes = (*node.parents, Axis(node.attribute))
        for axis in axes:
            margins.setdefault(axis.attribute, []).append(margin(node.table, axes, axis.attribute))
    assert max(map(len, margins.values())) > 1
    for found in margins.values():
        for other in found[1:]:
            assert other == pytest.approx(found[0], abs=1e-3)


# --------------------------------------------------------------------------- for a target


@pytest.mark.parametrize("repair", ["project", "clip"])
@pytest.mark.parametrize("scale", [0.1, 40.0, 400.0])
def test_tables_with_the_target_agree_on_it_and_could_be_real(repair: Any, scale: float) -> None:
    for seed in range(10):
        tables = make_consistent(
            measured(seed, scale)[0], schema(), float(ROWS), repair, target="a"
        )
        with_it = [
            (axes, table) for axes, table in zip(FAMILIES, tables, strict=True) if Axis("a") in axes
        ]
        assert len(with_it) == 2
        assert margin(with_it[0][1], with_it[0][0], "a") == pytest.approx(
            margin(with_it[1][1], with_it[1][0], "a")
        )
        for table in tables:
            assert (table >= 0).all()
            assert table.sum() == pytest.approx(ROWS)


def test_for_a_target_a_rare_value_keeps_its_share() -> None:
    """Of 1000 rows 40 have the rare value; one cell of theirs stands out. Noise is that of one
    draw, made up here.
    """
    counts = np.array([[250, 230, 240, 240], [2, 1, 2, 35]]) + np.array(
        [[9, -12, 7, 3], [-8, 8, 6, -9]]
    )
    families = [Measurement((Axis("a"), Axis("b")), counts, "laplace", 6.0)]
    sized = schema_of(
        a={"kind": "integer", "min": 0, "max": 1}, b={"kind": "integer", "min": 0, "max": 3}
    )
    (table,) = make_consistent(families, sized, 1000.0, "project", target="a")
    assert table[1].sum() == pytest.approx(counts[1].sum() * 1000 / counts.sum(), rel=0.1)
    assert np.argmax(table[1]) == 3


def test_pooled_tables_have_the_margins_that_all_of_them_tell() -> None:
    noisy, _ = measured(3, 20.0)
    moved = pool_margins(noisy, schema())
    for name in SIZES:
        told = [margin(m.counts, m.marginal, name) for m in moved if Axis(name) in m.marginal]
        for one in told[1:]:
            assert one == pytest.approx(told[0], abs=5)  # counts are whole
    assert [m.scale for m in moved] == [m.scale for m in noisy]


def test_pooling_lowers_the_error_on_average() -> None:
    apart, together = 0.0, 0.0
    for seed in range(25):
        noisy, exact = measured(seed, 15.0)
        for before, after, right in zip(noisy, pool_margins(noisy, schema()), exact, strict=True):
            apart += float(((before.counts - right) ** 2).sum())
            together += float(((after.counts - right) ** 2).sum())
    assert together < 0.9 * apart
