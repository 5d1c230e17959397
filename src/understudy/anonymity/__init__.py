"""k-anonymity, l-diversity and t-closeness: groups of rows that cannot be told apart.

None of this is differential privacy. A table that is k-anonymous can still tell what somebody
wants to know (all rows of a group may share the sensitive value), and two such tables together can
tell more than either. It is here because rules ask for it, beside what it does not protect.
"""

from __future__ import annotations

from understudy.anonymity.anatomy import anatomise
from understudy.anonymity.checking import Check, check_table
from understudy.anonymity.microaggregation import microaggregate
from understudy.anonymity.noise import add_noise, multiply_noise, reconstruct_distribution
from understudy.anonymity.publishing import Anonymised, anonymise
from understudy.anonymity.randomising import post_randomise
from understudy.anonymity.requirement import Requirement
from understudy.anonymity.roles import Roles
from understudy.anonymity.suppression import suppress_cells, suppress_rows
from understudy.anonymity.swapping import swap_values

__all__ = [
    "Anonymised",
    "Check",
    "Requirement",
    "Roles",
    "add_noise",
    "anatomise",
    "anonymise",
    "check_table",
    "microaggregate",
    "multiply_noise",
    "post_randomise",
    "reconstruct_distribution",
    "suppress_cells",
    "suppress_rows",
    "swap_values",
]
