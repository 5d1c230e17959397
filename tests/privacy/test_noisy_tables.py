"""What noisy counts say by themselves: where noise ends, and where a shape begins."""

from __future__ import annotations

import math

import numpy as np
import pytest

from understudy.privacy.noisy_tables import NoisyTable, find_missing_cells, find_weekdays


class Clear(NoisyTable):
    """Counts of which those above 10 are not noise alone."""

    def stands_out(self, cells: int, false_alarm: float = 0.05) -> float:
        return 10.0


@pytest.mark.parametrize(
    ("counts", "enough"),
    [
        ([14, 14, 14, 14, 14, 10], True),  # 80 in all
        ([14, 14, 14, 14, 14, 9], False),
        ([15, 0, 0], True),  # 15 in one cell
        ([14, 0, 0], False),
    ],
)
def test_a_shape_needs_many_rows_or_one_large_cell(counts: list[int], enough: bool) -> None:
    assert Clear(np.array(counts), 1.0, gaussian=False).enough_rows() == enough


def test_what_stands_out_follows_from_the_tail_of_the_noise() -> None:
    """Of n cells with noise alone, one exceeds it with probability 1/20 at most."""
    for cells, taken in [(1, 2), (2, 2), (100, 100)]:
        laplace = NoisyTable(np.zeros(1), 3.0, gaussian=False).stands_out(cells)
        assert taken * math.exp(-laplace / 3.0) == pytest.approx(0.05)
        gaussian = NoisyTable(np.zeros(1), 3.0, gaussian=True).stands_out(cells, 0.01)
        assert taken * math.exp(-(gaussian**2) / 18) == pytest.approx(0.01)
    assert NoisyTable(np.zeros(1), 3.0, gaussian=True).deviation == 3.0
    assert NoisyTable(np.zeros(1), 3.0, gaussian=False).deviation == pytest.approx(3 * 2**0.5)


def test_weekdays_count_where_one_is_far_from_the_others() -> None:
    for last, told in [(123, False), (124, True)]:  # 19.7 and 20.6 above a seventh of all
        table = Clear(np.array([100] * 6 + [last]), 1.0, gaussian=False)
        assert bool(find_weekdays(table)) == told
    far = Clear(np.array([100] * 6 + [800]), 1.0, gaussian=False)
    assert find_weekdays(far) == (0.0714,) * 6 + (0.5716,)
    # Half of all dates are put on the first of a month: these are any weekday alike.
    assert find_weekdays(far, 0.5) == (0.0,) * 6 + (1.0,)
    assert find_weekdays(Clear(np.zeros(7), 1.0, gaussian=False)) == ()


def test_missing_cells_are_told_only_where_more_rows_lack_several_than_chance_has_it() -> None:
    by_chance = np.array([1000, 100, 5, 0, 0, 0])
    assert find_missing_cells(NoisyTable(by_chance, 1.0, gaussian=True)) == ()
    together = np.array([1000, 0, 0, 0, 0, 250])
    shares = find_missing_cells(NoisyTable(together, 1.0, gaussian=True))
    assert shares == (0.8, 0.0, 0.0, 0.0, 0.0, 0.2)
    assert find_missing_cells(NoisyTable(together, 1000.0, gaussian=True)) == ()
    assert find_missing_cells(NoisyTable(np.zeros(6), 1.0, gaussian=True)) == ()
