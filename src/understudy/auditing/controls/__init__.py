"""Negative controls: broken methods that the audit must flag, and sound counterparts that it must
not.

Each is a few lines that make one mistake which was made in practice: in the thesis, in the Aalborg
project, in the book's listings (E1 to E36 in the notes) or in another tool. They protect nobody:
never use them.

A control is audited in one of two ways. *Runs*: it is simulated many times on two neighbouring
inputs, and the test of :mod:`understudy.auditing.blackbox` bounds epsilon. *Exact*: the loss is
computed from its outcome probabilities.
"""

from __future__ import annotations

from understudy.auditing.collusion import collusion_controls, sound_collusion_controls
from understudy.auditing.control import Control
from understudy.auditing.controls.accounting import accounting_controls
from understudy.auditing.controls.book import book_controls
from understudy.auditing.controls.mechanisms import mechanism_controls, sound_mechanism_controls
from understudy.auditing.controls.other_tools import tool_controls
from understudy.auditing.controls.projects import project_controls
from understudy.auditing.controls.randomisers import randomiser_controls, sound_randomiser_controls
from understudy.auditing.controls.releases import release_controls
from understudy.auditing.controls.sound import own_sound_controls
from understudy.auditing.gradients import gradient_controls, sound_gradient_controls


def controls() -> tuple[Control, ...]:
    """All broken methods."""
    return (
        *project_controls(),
        *book_controls(),
        *tool_controls(),
        *release_controls(),
        *accounting_controls(),
        *gradient_controls(),
        *mechanism_controls(),
        *randomiser_controls(),
        *collusion_controls(),
    )


def sound_controls(epsilon: float = 1.0) -> tuple[Control, ...]:
    """The same done right, for the audit to leave alone."""
    return (
        *own_sound_controls(epsilon),
        *sound_gradient_controls(epsilon),
        *sound_mechanism_controls(epsilon),
        *sound_randomiser_controls(epsilon),
        *sound_collusion_controls(epsilon),
    )
