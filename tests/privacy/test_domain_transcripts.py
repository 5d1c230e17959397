"""What discovery decides by: public odds, and which words belong to which domain (see
tests/transcripts.py).
"""

from __future__ import annotations

import zlib

import numpy as np

from transcripts import compare, digest, show
from understudy.counting.partition import Tally, ends_of
from understudy.data.formats import CANDIDATES
from understudy.privacy.discovery_scores import (
    bound_kind_failure,
    comma_odds,
    count_grids,
    count_kinds,
    count_ranges,
    grid_odds,
    kind_margin,
    kind_odds,
    range_odds,
)

KINDS_OF_NUMBERS = {
    "integer": [0, 7, -7, 12, 99, 100, 250, 999, -9999, 1234, 5000, 123456, 10**9],
    "real": [0, 0.5, -0.25, 1.2, 3.75, 12.345, 0.001, 1234.5, -99.9, 1e6, 123456.789],
    "date": [0, -400, 16_000, 19_999, 20_000, -80_000],
    "time": [0, 1, 59, 900, 3600, 45_296, 86_399],
    "datetime": [0, -1, 1_577_836_800, 1_577_838_600, 1_728_045_296],
}
"""Dates in days since 1970, times in seconds."""

ODD_WORDS = (
    *("", "NA", "n/a", "?", "<0.5", ">100", "<5", "007", "0012", "1.50", "3.000", "1,234"),
    *("1.234", "2,5", "yes", "no", "TRUE", "m", "F", "Monday", "Jan", "Berlin", "words", " x "),
    *("1e5", "1e300", "-0", "0.0", "20200131", "31.12.2020", "12/31/2020", "99991399"),
)


def test_what_speaks_for_each_domain_beforehand() -> None:
    """Public odds, which decide where cells do not tell."""
    lines = []
    for evidence in (3.0, 40.0, 500.0):
        lines += [
            f"evidence {evidence:g}: margin {show(kind_margin(evidence))}, "
            f"failure {show(bound_kind_failure(evidence))}, commas {show(comma_odds(evidence))}",
            f"kinds: {show(np.unique(kind_odds(evidence)))}, {digest(kind_odds(evidence))}",
        ]
        for kind in KINDS_OF_NUMBERS:
            steps = [grid_odds(form, evidence) for form in CANDIDATES if form.kind == kind]
            lines.append(f"steps of {kind}: {show(steps[0])}, {digest(steps)}")
            for step in (1.0, 0.01):
                odds = range_odds(kind, ends_of(kind), evidence, step)
                some = odds[:: max(len(odds) // 8, 1)]
                lines.append(f"ranges of {kind}, step {step:g}: {digest(odds)}, {show(some)}")
    compare("discovery-odds", lines)


def test_which_domains_words_belong_to() -> None:
    """Every format's way to write some numbers, and words that are often mistaken."""
    groups = {str(form): form.write(KINDS_OF_NUMBERS[form.kind]) for form in CANDIDATES}
    lines = []
    for name, words in {**groups, **{repr(word): [word] for word in ODD_WORDS}}.items():
        tally = Tally(1)
        distinct = list(dict.fromkeys(words))
        tally.add(distinct, range(1, len(distinct) + 1))
        counts = [count_kinds(tally), tally.missing, tally.limits]
        for place in sorted(tally.formats):
            ends = ends_of(CANDIDATES[place].kind)
            counts += [count_grids(tally, place), count_ranges(tally, place, ends)]
        digits = zlib.crc32(b"".join(part.astype("<i8").tobytes() for part in counts))
        lines.append(f"{name}: {tally.zeros} zeros, {len(tally.formats)} formats, {digits:08x}")
    compare("discovery-words", lines)
