from __future__ import annotations

import numpy as np
import pytest
from memory_holders import rows

from splits import split
from understudy.errors import InputError

pytestmark = pytest.mark.thorough

WHOLE = rows(1000)


def all_rows(parts):
    return sorted(
        row
        for part in parts
        for row in zip(*(part.codes[name].tolist() for name in "abc"), strict=True)
    )


@pytest.mark.parametrize("how", ["equal", "random", "class", "attribute", "central"])
def test_every_row_has_one_holder(how):
    parts = split(WHOLE, how, 5, target="b", seed=3)
    assert all_rows(parts) == all_rows([WHOLE])
    assert sum(part.rows for part in parts) == WHOLE.rows
    assert all(part.rows == len(part.codes["a"]) > 0 for part in parts)


def test_sizes():
    assert [part.rows for part in split(WHOLE, "equal", 3)] == [334, 333, 333]
    uneven = [part.rows for part in split(WHOLE, "random", 5, seed=1)]
    assert len(uneven) == 5
    assert len(set(uneven)) > 1
    assert len(split(WHOLE, "central")) == 1


def test_by_values():
    for place, part in enumerate(split(WHOLE, "class", target="c")):
        assert (part.codes["c"] == place).all()
    names = {len(split(WHOLE, "attribute", seed=seed)) for seed in range(20)}
    assert names == {2, 3, 4}


def test_a_seed_repeats():
    one, other = split(WHOLE, "random", seed=5), split(WHOLE, "random", seed=5)
    assert all((a.codes["c"] == b.codes["c"]).all() for a, b in zip(one, other, strict=True))
    assert [p.rows for p in one] != [p.rows for p in split(WHOLE, "random", seed=6)]
    assert not np.array_equal(
        split(WHOLE, seed=1)[0].codes["c"], split(WHOLE, seed=2)[0].codes["c"]
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"how": "fair"},
        {"how": "class"},
        {"how": "class", "target": "z"},
        {"holders": 0},
        {"holders": 2000},
    ],
)
def test_what_cannot_be_split(wrong):
    with pytest.raises(InputError):
        split(WHOLE, **wrong)
