"""Whether a column that looks like an identifier is one: for the owner of the real table."""

from __future__ import annotations

from understudy.counting.columns import count_words
from understudy.data.tables import MARKS, Column
from understudy.privacy.discovery_budget import MAX_GROUPS


def tells_rows_apart(column: Column) -> bool:
    """Whether hardly any rows share a value; of a school there are few, and they say something."""
    words, counts = count_words(column)
    rows = int(counts.sum())
    distinct = sum(word.strip() not in MARKS for word in words)
    return distinct >= MAX_GROUPS * rows
