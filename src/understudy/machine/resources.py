"""How much memory this process may take, and what to do where that is little.

A process can be held to a number of bytes of address space (``ulimit -v``, a batch system). The
libraries underneath do not all take that well: OpenBLAS waits for ever for its buffers, and DuckDB
may crash when it gets no thread. So where there is a limit, fewer threads are started, and too
small a limit is refused before anything is loaded.
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path
from typing import Any

from understudy.errors import InputError

GIGABYTE = 1 << 30
LEAST_MEMORY = 2 * GIGABYTE
"""Address space in which all libraries start, with one thread each, and small tables fit."""

MEMORY_PER_THREAD = GIGABYTE
"""A stack, a heap of its own, and buffers of the libraries: a thread more for each of these."""

_POOLS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def memory_limit() -> int | None:
    """The bytes of memory that the system grants this process; ``None`` where it sets no limit."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def memory_left() -> int | None:
    """What is left of the limit."""
    limit = memory_limit()
    if limit is None:
        return None
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # a system without it
        used = 0
    return max(limit - used, 0)


def threads() -> int:
    """How many threads may work at once: one per processor, and fewer where memory is limited."""
    left, processors = memory_left(), os.cpu_count() or 1
    if left is None:
        return processors
    return max(1, min(processors, left // MEMORY_PER_THREAD - 1))


def prepare_for_little_memory() -> None:
    """Refuse a limit that is too small; under any other, keep the libraries' pools of threads
    small.

    To be called before the libraries are imported: they read the number of threads only then. What
    they need for themselves they take now, when it is there, and not after the rows are read.
    """
    limit = memory_limit()
    if limit is None:
        return
    if limit < LEAST_MEMORY:
        raise InputError(
            f"This process may use only {limit / GIGABYTE:.1f} GB of memory, and needs at least "
            f"{LEAST_MEMORY / GIGABYTE:.0f} GB; raise the limit (ulimit -v, ulimit -d)."
        )
    for pool in _POOLS:
        os.environ.setdefault(pool, str(threads()))
    import numba  # noqa: F401

    with contextlib.suppress(ImportError):  # an extra; numba loads it, late, where it is there
        import scipy.linalg.cython_blas  # noqa: F401


def engine_settings(**settings: Any) -> dict[str, Any]:
    """Settings for :func:`duckdb.connect`: where memory is limited, DuckDB is told, as it does not
    look itself.
    """
    left = memory_left()
    if left is None:
        return settings
    return {"threads": threads(), "memory_limit": f"{max(left // 2 >> 20, 1)}MB", **settings}


_SIGNS = (
    "can't start new thread",
    "Out of Memory Error",
    "annot allocate memory",
    "failed to map segment",
    "bad_alloc",
    "Resource temporarily unavailable",  # what C++ says of a thread that it cannot start
)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether memory or threads have run out, which every library says in its own words."""
    limited = memory_limit() is not None
    while error is not None:
        says_so = any(sign in str(error) for sign in _SIGNS)
        if isinstance(error, MemoryError) or (
            says_so and not isinstance(error, BlockingIOError)  # a file that another has locked
        ):
            return True
        if limited and isinstance(error, SystemError):  # the interpreter lost the MemoryError
            return True
        error = error.__cause__ or error.__context__
    return False
