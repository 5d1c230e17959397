"""Binary and Gray encodings: there and back, one bit between neighbours, nothing outside the
domain.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import every_kind_schema, every_kind_table, schema_of
from understudy import InputError, Model, OwnerWarning
from understudy.data.bits import Bits
from understudy.data.encoding import encode
from understudy.data.schema import Schema
from understudy.data.tables import Column, Table
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.privbayes import PrivBayes


def of_sizes(*sizes: int) -> Schema:
    return schema_of(
        **{f"x{i}": {"kind": "categorical", "values": list(range(n))} for i, n in enumerate(sizes)}
    )


@pytest.mark.parametrize("gray", [False, True])
@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=4), seed=st.integers(0, 1000))
def test_codes_come_back_from_their_bits(gray: bool, sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    schema = of_sizes(*sizes)
    bits = Bits(schema, gray)
    codes = {a.name: rng.integers(0, a.size, 50).astype(np.uint16) for a in schema}
    split = bits.split(codes)
    assert list(split) == list(bits.schema.names)
    assert len(split) == sum((size - 1).bit_length() for size in sizes)
    assert all(set(np.unique(values)) <= {0, 1} for values in split.values())
    joined = bits.join(split, 50)
    for name, values in codes.items():
        assert np.array_equal(joined[name], values)


@pytest.mark.parametrize("size", [2, 3, 8, 37, 256])
def test_in_gray_code_neighbouring_values_differ_in_one_bit(size: int) -> None:
    split = Bits(of_sizes(size), gray=True).split({"x0": np.arange(size)})
    table = np.array(list(split.values())).T
    assert (np.abs(np.diff(table.astype(int), axis=0)).sum(axis=1) == 1).all()


def test_the_codes_of_the_paper_s_figure_2() -> None:
    """Eight bins of age: 30 to 40 is the fourth, 011 in binary and 010 in Gray code."""
    codes = {"x0": np.array([0, 3, 7])}
    binary = np.array(list(Bits(of_sizes(8)).split(codes).values())).T
    gray = np.array(list(Bits(of_sizes(8), gray=True).split(codes).values())).T
    assert binary.tolist() == [[0, 0, 0], [0, 1, 1], [1, 1, 1]]
    assert gray.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("gray", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 37, 64, 65, 1000])
def test_every_number_that_bits_can_make_stands_for_a_code(gray: bool, size: int) -> None:
    bits = Bits(of_sizes(size), gray)
    code_of = bits.code_of(bits.whole["x0"])
    assert len(code_of) == 1 << (size - 1).bit_length()
    assert code_of.max() == size - 1
    assert set(code_of.tolist()) == set(range(size))


def test_a_number_beyond_the_domain_loses_its_first_bit() -> None:
    bits = Bits(of_sizes(37))
    assert bits.code_of(bits.whole["x0"])[40] == 8


def test_an_attribute_keeps_its_name_where_one_bit_is_enough_and_has_none_if_nothing_varies() -> (
    None
):
    assert Bits(of_sizes(2, 5, 1)).schema.names == ("x0", "x1 bit 1", "x1 bit 2", "x1 bit 3")


def test_a_column_with_the_name_of_a_bit_is_refused_before_a_debit() -> None:
    schema = schema_of(
        a={"kind": "categorical", "values": [0, 1, 2]}, **{"a bit 2": {"kind": "boolean"}}
    )
    with pytest.raises(
        InputError, match="'a bit 2' bears the name of a bit of another column; rename it"
    ):
        Bits(schema).check()
    table = Table(
        {
            "a": Column("integer", np.array([0, 1])),
            "a bit 2": Column("boolean", np.array([True, False])),
        }
    )
    for encoding in ("binary", "gray"):
        with pytest.raises(InputError, match="rename it"):
            PrivBayes(epsilon=1.0, encoding=encoding).fit(table, schema)  # type: ignore[arg-type]
    PrivBayes(epsilon=1.0, encoding="vanilla").fit(table, schema)


@pytest.mark.parametrize("encoding", ["binary", "gray"])
def test_a_model_over_bits_is_saved_loaded_and_sampled_inside_the_domain(
    encoding: Any, tmp_path: Path
) -> None:
    schema = every_kind_schema()
    with pytest.warns(OwnerWarning):
        model = PrivBayes(epsilon=1.0, encoding=encoding).fit(
            every_kind_table(), schema, noise=SeededNoise(1)
        )
    assert model.bits == Bits(model.schema, encoding == "gray")
    model.save(tmp_path / "m.json")
    loaded = Model.load(tmp_path / "m.json")
    assert loaded.bits == model.bits
    assert [node.attribute for node in loaded.network] == [node.attribute for node in model.network]
    # Five rows at epsilon 1 are nearly pure noise, so numbers beyond the domains do come up.
    sample = loaded.sample(3000, seed=1)
    assert isinstance(sample, Table)
    again = encode(sample, schema)
    assert again.outside == ()
    assert all(again.codes[a.name].max() < a.size for a in again.schema.modelled)
