"""Where an interview is."""

from __future__ import annotations

from dataclasses import dataclass, field

from understudy.data.forms import ColumnFacts


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Who is protected: single rows, or all rows of a person."""

    person: str | None = None
    max_rows_per_person: int = 1


@dataclass
class State:
    """Where an interview is."""

    entries: dict[str, ColumnFacts]
    unit: str | None = None
    person: str | None = None
    max_rows_per_person: int | None = None
    skipped: set[str] = field(default_factory=set)
    chosen: tuple[str, ...] = ()
    """The columns that are asked about."""
    entry: ColumnFacts = field(default_factory=dict)
    """What is known of them, as far as it was asked."""
    facts: tuple[str, ...] = ()
    """What is still to be asked of them."""
    ended: bool = False

    @property
    def unit_known(self) -> bool:
        """Whether the questions about the table are answered."""
        return self.unit == "row" or self.max_rows_per_person is not None
