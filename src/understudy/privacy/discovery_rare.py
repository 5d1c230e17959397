"""Which columns hold words that are all too rare to be named."""

from __future__ import annotations

from collections.abc import Mapping

from understudy.counting.partition import Tally
from understudy.privacy.budget import Budget
from understudy.privacy.discovery_questions import Asker


def find_rare(
    asker: Asker, tallies: Mapping[str, Tally], needed: float, margin: float, cost: Budget
) -> list[str]:
    """The columns of which no word seems to be in enough rows.

    One row changes the count of the commonest word by at most one; words that are too rare to be
    kept count as one that almost is.

    Parameters
    ----------
    asker
        Who counts.
    tallies
        Exact counts of the columns.
    needed
        In how many rows a word must be to be named.
    margin
        By how many deviations of the noise more rows than that are called enough.
    cost
        The price of each count.
    """
    found = []
    for name, tally in tallies.items():
        count = max(tally.words.values(), default=0)
        most = [max(count, tally.fewest - 1)]
        asked = asker.histogram(f"commonest word of {name}", most, cost, 0.0)
        if asked.counts[0] < needed + margin * asked.deviation:
            found.append(name)
    return found
