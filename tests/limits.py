"""Limits, as tests of them write them out: the last value that is taken, and the next one, which is
refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from understudy.errors import UnderstudyError


def below(number: float) -> float:
    """The next smaller number."""
    return math.nextafter(number, -math.inf)


def above(number: float) -> float:
    """The next larger number."""
    return math.nextafter(number, math.inf)


def assert_limits(
    check: Callable[[Any], Any], inside: Iterable[Any], outside: Iterable[Any]
) -> None:
    """Try the values inside of a limit and those outside."""
    for value in inside:
        check(value)
    for value in outside:
        with pytest.raises((UnderstudyError, ValueError, OverflowError)):
            check(value)
