"""Compilation of kernels by numba, in one place: kept on disk between runs where that is possible.

Numba keeps machine code beside the source, in the user's cache folder, or where ``NUMBA_CACHE_DIR``
says, and raises an error where none of them can be written: an install that is read-only, run by
somebody without a home. Kernels are then compiled at every run. A folder that others can write to
is never used instead: what numba keeps is read as a pickle, so whoever plants a file there runs
code as this user.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from numba import njit

KernelFunction = TypeVar("KernelFunction", bound=Callable[..., Any])


class UncachedWarning(UserWarning):
    """Kernels are compiled at every run, because there is no place to keep them."""


def kernel(**options: Any) -> Callable[[KernelFunction], KernelFunction]:
    """Compile a function by :func:`numba.njit`; ``options`` are numba's own."""

    def compile_function(function: KernelFunction) -> KernelFunction:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            _say_uncached()
            return njit(**options)(function)

    return compile_function


@cache
def _say_uncached() -> None:
    """Say it once, not once per kernel."""
    warnings.warn(
        "There is no folder for compiled code that can be written, so every run compiles it "
        "again, which takes a while; set NUMBA_CACHE_DIR to a folder of your own.",
        UncachedWarning,
        stacklevel=2,
    )
