"""Sound counterparts of what is broken here, for the audit to leave alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from understudy.auditing.control import Control, Simulate, noisy_table
from understudy.auditing.controls.book import direct_encoding
from understudy.auditing.controls.choices import information_choice_loss, up_and_down_loss
from understudy.auditing.controls.curators import curator_loss
from understudy.auditing.controls.pairs import (
    CONSTANT,
    EMPTY,
    EXTREME,
    NO_MARK,
    ODD_CELL,
    ONE_MISSING,
    ONLY_ROW,
    THIRD_NUMBER,
    UP_DOWN,
    WITH_ONLY_ROW,
    constant_pair,
)
from understudy.auditing.controls.projects import compute_histogram_loss
from understudy.auditing.controls.releases import (
    beside_loss,
    fit_loss,
    kinds_loss,
    numbers_loss,
    refinement_loss,
    types_loss,
)
from understudy.auditing.sums import lose_with_bounds
from understudy.privacy.central import CentralCurator


def own_sound_controls(epsilon: float) -> tuple[Control, ...]:
    """The same done right, for the audit to leave alone."""
    scale = 1 / epsilon

    def sound(
        name: str,
        pair: str,
        simulate: Simulate | None = None,
        exact: Callable[[], float] | None = None,
    ) -> Control:
        return Control(name, "sound", pair, epsilon, simulate, exact, broken=False)

    return (
        sound("fresh noise in every cell", ONLY_ROW, noisy_table(EMPTY, WITH_ONLY_ROW, scale)),
        sound(
            "a table and the number of rows, half each",
            ONLY_ROW,
            noisy_table((40, 40), (41, 41), 2 * scale),
        ),
        sound(
            "rounded and clipped afterwards",
            ONLY_ROW,
            noisy_table(EMPTY, WITH_ONLY_ROW, scale, lambda c, z: np.maximum(c + z, 0)),
        ),
        sound(
            "replaced row, noise for two cells",
            "one row replaced",
            noisy_table((20, 20), (19, 21), 2 * scale),
        ),
        sound(
            "exponential mechanism",
            UP_DOWN,
            exact=lambda: up_and_down_loss(0.0, 1.0, 2 * scale, "exponential"),
        ),
        sound(
            "permute-and-flip",
            UP_DOWN,
            exact=lambda: up_and_down_loss(0.0, 1.0, 2 * scale, "permute_and_flip"),
        ),
        sound(
            "smoothed histogram with m = 100",
            ONLY_ROW,
            exact=lambda: compute_histogram_loss(100, 100, alpha=epsilon),
        ),
        sound(
            "one histogram an attribute, from our curator",
            CONSTANT,
            exact=lambda: curator_loss(CentralCurator, constant_pair("add_remove"), epsilon),
        ),
        sound(
            "one histogram an attribute, one row replaced",
            CONSTANT,
            exact=lambda: curator_loss(CentralCurator, constant_pair("replace"), epsilon),
        ),
        sound(
            "a whole fit, all of it from noisy tables",
            CONSTANT,
            exact=lambda: fit_loss(epsilon, False),
        ),
        sound(
            "a step by noisy counts",
            "one amount beside the grid",
            exact=lambda: refinement_loss(epsilon, False),
        ),
        sound(
            "rows in the types that the schema says",
            ONE_MISSING,
            exact=lambda: types_loss(epsilon, False),
        ),
        sound(
            "sums and second moments of clipped numbers",
            EXTREME,
            exact=lambda: lose_with_bounds(epsilon),
        ),
        sound(
            "the kind of a column chosen at a price",
            ODD_CELL,
            exact=lambda: kinds_loss(epsilon, False),
        ),
        sound(
            "words beside a vocabulary, each row in one cell",
            NO_MARK,
            exact=lambda: beside_loss(epsilon, False),
        ),
        sound(
            "numbers that many rows share, each row in one cell",
            THIRD_NUMBER,
            exact=lambda: numbers_loss(epsilon, False),
        ),
        *(
            (
                sound(
                    "direct encoding over all values", "one value changed", direct_encoding(False)
                ),
                sound(
                    "information in bits, sensitivity in bits",
                    UP_DOWN,
                    exact=lambda: information_choice_loss(False, 2, 2),
                ),
            )
            if epsilon == 1
            else ()
        ),
    )
