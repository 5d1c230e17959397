"""Checking one report as it arrives, before it is kept.

What passes here is what :class:`understudy.local.collecting.Collector` counts; a report that would
not count is refused with its reason, so that whoever sent it can do something about it.
"""

from __future__ import annotations

import numpy as np

from understudy.local.blind_tokens import TokenIssuer
from understudy.local.collecting import check_issuer, read_answers
from understudy.local.plans import CollectionPlan
from understudy.local.reports import NUMBER_BYTES, REPORT_LINE, Rejection, Report, read_line

MAX_CHECKED_BYTES = 1 << 16


class ReportCheck:
    """Checks reports of one survey.

    Parameters
    ----------
    plan
        What was asked; reports of its earlier waves count as well.
    issuer
        Who gives out tokens, where the plan asks for them.
    """

    def __init__(self, plan: CollectionPlan, issuer: TokenIssuer | None = None) -> None:
        check_issuer(plan, issuer)
        self.plan = plan
        self._issuer = issuer
        self._waves = {name.encode(): wave for wave, name in enumerate(plan.ids_by_wave, start=1)}

    def read(self, line: bytes) -> Report:
        """The report in a line; raises a :class:`Rejection` with the reason where there is none.

        Parameters
        ----------
        line
            Without its end.
        """
        if len(line) > MAX_CHECKED_BYTES:
            raise Rejection("too long")
        found = REPORT_LINE.fullmatch(line)
        if found is None:
            read_line(line)  # tells what is wrong with it
            raise Rejection("junk")  # JSON of a report, not written as reports are
        plan, question, level, answer, number, token = found.groups()
        wave = self._waves.get(plan)
        if wave is None:
            raise Rejection("other plan")
        place, height = int(question), int(level)
        if place >= len(self.plan.questions) or not self._is_asked(place, wave):
            raise Rejection("no such question")
        if height >= len(self.plan.epsilons):
            raise Rejection("no such level")
        randomiser = self.plan.questions[place].randomisers[height]
        read = read_answers([answer], randomiser.width)
        if read[0, 0] < 0 or not bool(randomiser.is_possible(np.maximum(read, 0))[0]):
            raise Rejection("impossible answer")
        if self._issuer is not None and not self._issuer.own([number], [token or b""])[0]:
            raise Rejection("no token")
        assert len(number) == 2 * NUMBER_BYTES
        return Report(
            plan=plan.decode(),
            question=place,
            level=height,
            answer=tuple(read[0].tolist()),
            number=number.decode(),
        )

    def _is_asked(self, place: int, wave: int) -> bool:
        """Whether a question was asked in a wave."""
        question = self.plan.questions[place]
        return question.wave == wave and question.weight > 0
