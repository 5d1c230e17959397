"""What a synthetic table is fit for: findings with their grades, uses, a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grade = Literal["good", "fair", "poor", "unknown"]
"""Unknown is what too few rows leave open."""


@dataclass(frozen=True)
class GradedFinding:
    """One finding in a plain sentence, with a grade; ``subject`` names the part of the evaluation
    it sums up.
    """

    subject: str
    grade: Grade
    sentence: str


@dataclass(frozen=True)
class Use:
    """Something that a synthetic table may serve for.

    Attributes
    ----------
    name
        What it is.
    fit
        Whether the table is fit for it; ``None`` where too few rows leave that open.
    rule
        What it takes.
    because
        What speaks against it; empty where nothing does.
    """

    name: str
    fit: bool | None
    rule: str
    because: str = ""


@dataclass(frozen=True)
class Verdict:
    """What the synthetic table is fit for, and what not, by stated rules."""

    uses: tuple[Use, ...] = ()

    @property
    def fit_for(self) -> tuple[str, ...]:
        """What it can be used for."""
        return tuple(use.name for use in self.uses if use.fit)

    @property
    def not_for(self) -> tuple[str, ...]:
        """What it must not be used for."""
        return tuple(use.name for use in self.uses if use.fit is False)

    @property
    def undecided(self) -> tuple[str, ...]:
        """What there are too few rows to tell about."""
        return tuple(use.name for use in self.uses if use.fit is None)

    @property
    def sentence(self) -> str:
        """``Fit for: software tests, exploring. Not for: ...``."""
        parts = [f"Fit for: {', '.join(self.fit_for) or 'nothing'}."]
        if self.undecided:
            parts.append(f"Too few rows to tell: {', '.join(self.undecided)}.")
        if self.not_for:
            parts.append(f"Not for: {', '.join(self.not_for)}.")
        return " ".join(parts)
