"""The domain: what tables there are, and what is said of those that are none."""

from __future__ import annotations

import pytest

from examples import every_kind_schema, small_schema
from understudy import InputError
from understudy.data.marginals import Axis, marginal
from understudy.privacy.domain import Domain


def test_sizes_by_level() -> None:
    domain = Domain(small_schema())
    axes = marginal("b", ("c", 1))
    assert domain.sizes[Axis("c")] == 8
    assert (domain.shape(axes), domain.cells(axes)) == ((3, 4), 12)
    assert (domain.shape(()), domain.cells(())) == ((), 1)


def test_what_is_never_read_is_no_part_of_it() -> None:
    domain = Domain(every_kind_schema())
    assert "id" not in {axis.attribute for axis in domain.sizes}
    with pytest.raises(InputError, match="'id' is of kind identifier: it is never read"):
        domain.check([marginal("age"), marginal("id")])


def test_the_first_of_several_wrong_tables_is_named() -> None:
    domain = Domain(small_schema())
    wrong = [marginal("a", "a"), marginal("z"), marginal(("b", 5))]
    for first in range(3):
        with pytest.raises(InputError) as refused:
            domain.check([marginal("a"), *wrong[first:], *wrong[:first]])
        assert ("names an attribute twice", "no attribute 'z'", "level 5")[first] in str(
            refused.value
        )


def test_a_table_that_was_refused_once_is_refused_again() -> None:
    domain = Domain(small_schema())
    for _ in range(2):
        domain.check([marginal("a")])
        with pytest.raises(InputError):
            domain.check([marginal("a"), marginal("z")])
