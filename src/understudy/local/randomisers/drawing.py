"""Reports that take different numbers of words, one after the other: in plain Python while there
are few of them, compiled as soon as there are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from understudy.local.randomisers.words import UInts, Words
from understudy.machine.plain_first import PlainFirst

PERSONS_AT_A_TIME = 1 << 14
SPARE = 64
"""Words beyond those that a batch takes on average."""


def _load_kernels() -> Any:
    from understudy.local.randomisers import kernels

    return kernels


KERNELS = PlainFirst(_load_kernels, Path(__file__).with_name("kernels.py"), compiling=2.5)


def draw_in_batches(
    persons: int,
    words_each: int,
    words: Words,
    draw_one: Callable[[int], None],
    draw_many: Callable[[Any, int, int, UInts], tuple[int, int]],
) -> None:
    """Draw the reports of all persons, in order.

    Parameters
    ----------
    persons
        How many.
    words_each
        How many words a report takes, about.
    words
        Where these come from.
    draw_one
        Draws the report at a place, in plain Python.
    draw_many
        Draws those from a place to another with the kernels, from words of which it may not need
        all, or need more: it returns how many reports are done and how many words they took.
    """
    done, spare = 0, SPARE
    while done < persons:
        end = min(done + PERSONS_AT_A_TIME, persons)
        kernels = KERNELS.kernels_for(1.2e-6 * (end - done) * words_each)
        if kernels is None or not words.endless:
            for place in range(done, end):
                draw_one(place)
            done = end
            continue
        taken = words.take((end - done) * words_each + spare)
        ready, used = draw_many(kernels, done, end, taken)
        words.give_back(taken[used:])
        done += ready
        if not ready:
            spare *= 2
