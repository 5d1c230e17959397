"""A guarantee in words: the number that its epsilon stands for, what it is worth, what it rests on.

Ledger, command line, notebook and reports all speak through these functions, so that none of them
promises more than another.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence

from understudy.privacy.budget import Neighbours

WEAK_EPSILON = 2.0
"""Above it, a guarantee is called weak: what was even odds may become nearly nine to one."""

EMPTY_EPSILON = 8.0
"""From here on a guarantee says next to nothing by itself: the factor is in the thousands."""

MAX_WRITTEN_OUT = 20.0
MAX_POWER_OF_TEN = 1e6


def state_guarantee(epsilon: float, delta: float, change: str, protected: str = "row") -> str:
    """Say what a guarantee promises.

    Parameters
    ----------
    epsilon, delta
        The guarantee.
    change
        What makes two tables neighbours, as the subject of a sentence.
    protected
        Whom it protects: "row" or "person".

    Examples
    --------
    >>> print(state_guarantee(1.0, 0.0, "adding any one row"))  # doctest: +NORMALIZE_WHITESPACE
    Differentially private with epsilon = 1: adding any one row changes the probability of any
    outcome by a factor of at most 2.72.
    """
    name = f"epsilon = {epsilon:.6g}" + (f", delta = {delta:.3g}" if delta else "")
    if delta:
        further = f", and by a further probability of at most {delta:.3g}"
    else:
        further = ""
    said = (
        f"Differentially private with {name}: {change} changes the probability of any outcome "
        f"by a factor of at most {format_factor(epsilon)}{further}."
    )
    return f"{said} {judge_guarantee(epsilon, protected)}".rstrip()


def judge_guarantee(epsilon: float, protected: str = "row") -> str:
    """Say in plain words that a large epsilon promises little; nothing where it does not need
    saying.
    """
    if epsilon >= EMPTY_EPSILON:
        return f"By itself, this promises next to nothing about any one {protected}."
    if epsilon > WEAK_EPSILON:
        return "That is a weak promise."
    return ""


def format_factor(epsilon: float) -> str:
    """Write e^epsilon, rounded up, so that "at most" stays true.

    Examples
    --------
    >>> [format_factor(epsilon) for epsilon in (0.01, 1.0, 3.0, 10.0, 1000.0)]
    ['1.011', '2.72', '20.1', '22,027', '10^435']
    """
    if epsilon > MAX_POWER_OF_TEN:
        return f"e^{epsilon!r}"
    if epsilon > MAX_WRITTEN_OUT:
        return f"10^{math.ceil(epsilon / math.log(10))}"
    with decimal.localcontext(prec=50, rounding=decimal.ROUND_CEILING):
        factor = decimal.Decimal(epsilon).exp()
        # Three digits; near 1 enough of them to tell the factor from 1; thousands in full.
        last = min(factor.adjusted() - 2, (factor - 1).adjusted() - 1, 0)
        return f"{factor.quantize(decimal.Decimal(1).scaleb(last)):,}"


# --------------------------------------------------------------------------- what it rests on

SCHEMA = "the schema"
PART_OF_SCHEMA = "the schema, but for the columns that it leaves open"
COLUMNS = "the names and the order of the columns"
ROWS = "the number of rows"
LIBRARY = "the library of the data frame"


def list_public(
    *,
    schema_given: bool,
    neighbours: Neighbours = "add_remove",
    library: str = "table",
    some_discovered: bool = False,
) -> tuple[str, ...]:
    """List what a release takes as public: it was not paid for, and no noise protects it.

    Parameters
    ----------
    schema_given
        Whether the owner gave a schema; without one, all but names and order is discovered at a
        price.
    neighbours
        Under "replace", the number of rows is public.
    library
        Whose frame the table was; a synthetic one is of the same library.
    some_discovered
        Whether the schema left columns open, which are discovered.
    """
    if some_discovered:
        public = [PART_OF_SCHEMA, COLUMNS]
    elif schema_given:
        public = [SCHEMA, COLUMNS]
    else:
        public = [COLUMNS]
    if neighbours == "replace":
        public.append(ROWS)
    if library != "table":
        public.append(LIBRARY)
    return tuple(public)


def state_public(taken_as_public: Sequence[str]) -> str:
    """Say what was taken as public.

    Examples
    --------
    >>> state_public(list_public(schema_given=True))
    'Taken as public: the schema; the names and the order of the columns.'
    """
    if not taken_as_public:
        return ""
    return f"Taken as public: {'; '.join(taken_as_public)}."
