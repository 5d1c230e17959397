"""The published tables, read and cut as the benchmarks do it: figures can then be compared."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from published import published

__all__ = ["published"]
