"""Compressive privacy: projections that keep what one task needs and lose what another does.

Two families with one interface. :class:`ExactPCA`, :class:`ExactDCA` and :class:`ExactMDR` read the
rows and **have no guarantee**; they warn when they are fitted. :class:`PrivatePCA`,
:class:`PrivateDCA` and :class:`PrivateMDR` ask a curator for noisy sums, so that the projection is
differentially private. Either way the projection is what is protected: rows that are projected with
it are still somebody's rows.
"""

from understudy.compression.exact import ExactDCA, ExactMDR, ExactPCA, NotPrivateWarning
from understudy.compression.private import PrivateDCA, PrivateMDR, PrivatePCA

__all__ = [
    "ExactDCA",
    "ExactMDR",
    "ExactPCA",
    "NotPrivateWarning",
    "PrivateDCA",
    "PrivateMDR",
    "PrivatePCA",
]
