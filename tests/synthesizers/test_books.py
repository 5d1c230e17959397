"""A method cannot keep other books than those of the release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from examples import every_kind_schema, every_kind_table
from understudy import Independent, Ledger, LedgerFile


class OtherBooks(Independent):
    """Tells of a ledger that nobody wrote into."""

    def learn(self, curator: Any, budget: Any, progress: Any) -> Any:
        return replace(super().learn(curator, budget, progress), ledger=Ledger(1.0))


def test_a_model_with_other_books_is_not_released(tmp_path: Path) -> None:
    file = LedgerFile.create(tmp_path / "t.ledger", 3.0, 0.0)
    with pytest.raises(TypeError, match="other books"):
        OtherBooks(epsilon=1.0).fit(every_kind_table(), every_kind_schema(), ledger=file)
    assert file.left() == (2.0, 0.0)  # the whole price stays
