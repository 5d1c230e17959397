"""The command ``understudy audit``."""

from __future__ import annotations

import pytest

from running import run
from understudy.auditing import audit_subjects


@pytest.mark.parametrize("columns", [80, 200])
def test_the_help_names_all_that_can_be_audited(columns: int) -> None:
    page = run("audit", "--help", columns=columns)
    assert page.status == 0
    words = "".join(page.out.split()).replace("│", "")
    for subject in audit_subjects():
        assert subject in words, subject
    assert "METHODS" not in words
