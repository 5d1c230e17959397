"""What tests of encrypted tables share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from understudy.encrypted import paillier


@pytest.fixture(scope="module")
def small_keys() -> Iterator[None]:
    """Keys of half the length: for what depends on the protocol and not on the size of its numbers.
    An operation then takes a seventh of the time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paillier, "MIN_BITS", paillier.MIN_BITS // 2)
        yield
