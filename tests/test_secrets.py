"""What nobody may guess is new each time: noise, samples, keys, masks, shares, tokens and names.

A constant in the place of any of these draws would pass most tests of what is made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.data.tables import Column, Table
from understudy.federation.sharing import shares_of
from understudy.local.randomisers import words
from understudy.local.tokens import make_tokens
from understudy.mechanisms.exact_reals import Uniform
from understudy.mechanisms.uniform import number_below
from understudy.privacy import exact_noise
from understudy.privacy.contributions import limit_rows_per_person
from understudy.privacy.ledger import LedgerFile
from understudy.privacy.mechanisms import ChoiceRule, SystemNoise

NOISE, ZEROS = SystemNoise(), np.zeros(40, dtype=np.int64)
TIMES = 4
"""Two of so many are alike by chance less often than once in 10^9 times, in all of these."""


def kept_rows() -> Any:
    """Which of a person's rows count: one of two, of 40 persons."""
    persons, rows = np.repeat(np.arange(40), 2), np.arange(80)
    table = Table({"who": Column("integer", persons), "row": Column("integer", rows)})
    return limit_rows_per_person(table, "who", 1)[0].columns["row"].values


def choose(rule: ChoiceRule) -> list[int]:
    """Places among equal candidates."""
    return [NOISE.choose(np.zeros(40), 1.0, rule) for _ in range(20)]


DRAWN: dict[str, Callable[[], Any]] = {
    "words": lambda: exact_noise.system_words(4),
    "bytes of a device": lambda: words.system_bytes(16),
    "bytes of many devices": lambda: words.system_bytes(words.MANY_BYTES),
    "Laplace noise": lambda: NOISE.laplace(ZEROS, 20.0),
    "Gaussian noise": lambda: NOISE.gaussian(ZEROS, 20.0),
    "rounded noise": lambda: NOISE.rounded_gaussian(ZEROS, 20.0),
    "a share of noise": lambda: exact_noise.polya(40, 20.0, Fraction(1, 2)),
    "choices": lambda: choose("permute_and_flip"),
    "exponential choices": lambda: choose("exponential"),
    "draws": lambda: NOISE.draw(np.zeros((30, 30), dtype=np.int64), 200, Fraction(1)),
    "a sample": lambda: NOISE.sample(200, Fraction(1, 2)).tolist(),
    "rows of a person": kept_rows,
    "a number": lambda: number_below(1 << 64),
    "a real number": lambda: str(Uniform()(64).low),
    "shares of a secret": lambda: shares_of(bytes(32), 3, 2)[0],
    "tokens": lambda: make_tokens(2),
}


@pytest.mark.parametrize("name", DRAWN)
def test_it_is_another_one_each_time(name: str) -> None:
    assert len({str(np.array(DRAWN[name]()).tolist()) for _ in range(TIMES)}) == TIMES


def test_ledgers_have_keys_and_releases_numbers_of_their_own(tmp_path: Path) -> None:
    ledgers = [LedgerFile.create(tmp_path / str(place), epsilon=1.0) for place in range(2)]
    keys = {ledger.key() for ledger in ledgers}
    numbers = {ledger.reserve("x", 0.1, 0.0, "add_remove") for ledger in ledgers for _ in "ab"}
    assert (len(keys), len(numbers)) == (2, 4)
    assert {len(key) for key in keys} == {32}
