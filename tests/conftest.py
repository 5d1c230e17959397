"""Fixtures that all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadlines: the machine may be busy, and no test depends on the clock.
settings.register_profile(
    "understudy", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("understudy")

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"


@pytest.fixture
def data() -> Path:
    """The folder of real tables; tests that want it are skipped where it is not (and carry the marker ``data``)."""
    if not DATA.is_dir():
        pytest.skip(f"the real tables are not at {DATA}")
    return DATA
