"""Whether kernels or plain NumPy count: plain work adds up, and kernels take over once it is much.

Kernels are imported when they are called for: numba alone takes most of a second.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from understudy.machine.plain_first import PlainFirst


def load_kernels() -> Any:
    """The kernels that count rows."""
    from understudy.counting import kernels

    return kernels


def load_merging() -> Any:
    """Those that decide which tables are counted."""
    from understudy.counting import merging_kernels

    return merging_kernels


def load_distinct() -> Any:
    """Those that find equal rows."""
    from understudy.counting import distinct_kernels

    return distinct_kernels


COUNTING_KERNELS = PlainFirst(load_kernels, Path(__file__).with_name("kernels.py"), compiling=4.0)
