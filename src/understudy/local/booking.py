"""A person's own ledger: which surveys she has answered, at what price, and with which report.

Two reports to one survey tell more than one. So a report is booked, on disk, before it is shown or
sent, and a second one is refused. The same report can be given again at no price: whoever gets it
twice knows no more.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.errors import InputError
from understudy.local.plans import CollectionPlan
from understudy.local.reports import Report
from understudy.privacy.ledger import Ledger, LedgerFile

ALLOWANCE = 10.0
"""Epsilon of all surveys together, where the person says nothing else."""


MAX_UNNAMED_EPSILON = 5.0
"""A person who says nothing agrees to no more: at epsilon 5 a report is up to 148 times as likely
under her answers as under others."""


def agree_to_level(plan: CollectionPlan, epsilon: float | None) -> int:
    """The number of the level of privacy that a person agrees to, or a refusal.

    Parameters
    ----------
    plan
        Whoever made it may offer levels that protect hardly.
    epsilon
        What the person says; without it the plan's first level counts, unless that is too large.
    """
    level = plan.level_of(epsilon)
    first = plan.epsilons[level]
    if epsilon is None and first > MAX_UNNAMED_EPSILON:
        raise InputError(
            f"This survey asks for epsilon {first:g}, at which a report may be "
            f"{math.exp(first):,.0f} times as likely under your answers as under others; if you "
            f"agree to that, say --epsilon {first:g}."
        )
    return level


def default_path() -> Path:
    """Where a person's ledger is kept: in the folder for data of programs."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "understudy" / "answers.ledger"


class AnswerBook:
    """The ledger of one person, on her own device.

    Parameters
    ----------
    path
        The file; it is started when the first survey is answered.
    allowance
        Epsilon of all surveys together, for a file that is started.
    """

    def __init__(self, path: str | Path, allowance: float | None = None) -> None:
        self.path = Path(path)
        self._allowance = allowance

    def find(self, plan: CollectionPlan) -> Mapping[str, Any] | None:
        """What is booked for a survey, whichever of its waves was answered."""
        if not self.path.exists():
            return None
        return _find(LedgerFile(self.path).read(), plan)

    def check(self, plan: CollectionPlan) -> None:
        """Refuse a survey that was answered."""
        _refuse_second(self.find(plan), self.path)

    def book(self, plan: CollectionPlan, report: Report) -> None:
        """Book a report that has not left the device yet, or refuse it.

        Parameters
        ----------
        plan
            What is answered.
        report
            It is kept with the booking, so that it can be given again.
        """
        ledger = self._open()
        epsilon = plan.epsilons[report.level]
        number = ledger.reserve(
            "local answer",
            epsilon,
            0.0,
            "replace",
            details={"survey": plan.survey, "plan": plan.id, "report": report.to_json()},
            check=lambda document: _refuse_second(_find(document, plan), self.path),
        )
        account = Ledger(epsilon, neighbours="replace")
        mechanism = plan.questions[report.question].randomisers[report.level].kind
        account.debit(f"survey {plan.survey}", account.budget, mechanism)
        ledger.settle(number, account)

    def read_left(self) -> float:
        """Epsilon that further surveys may cost."""
        return self._open().left()[0]

    def _open(self) -> LedgerFile:
        if self.path.exists():
            if self._allowance is not None:
                raise InputError(
                    f"The ledger {self.path} has its allowance already; leave out --allowance."
                )
            return LedgerFile(self.path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"The ledger {self.path} cannot be started ({error.strerror}); name another place "
                "by --ledger."
            ) from error
        allowance = ALLOWANCE
        if self._allowance is not None:
            allowance = self._allowance
        self._allowance = None
        return LedgerFile.create(self.path, allowance, neighbours="replace")


def _find(document: Mapping[str, Any], plan: CollectionPlan) -> Mapping[str, Any] | None:
    booked = (entry for entry in document["releases"] if entry.get("survey") == plan.survey)
    return next(booked, None)


def _refuse_second(booked: Mapping[str, Any] | None, path: Path) -> None:
    if booked is None:
        return
    raise InputError(
        f"You have answered this survey already, at epsilon {booked['epsilon']:g} ({path}); a "
        "second report would tell more about you. To send the same one again, which tells nothing "
        "more, say --again."
    )
