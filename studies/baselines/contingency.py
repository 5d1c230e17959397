"""Contingency: noise on every cell of the one full table, from which all marginals are summed.

Sensitivity: a replaced row changes two cells by one each, so discrete Laplace noise of scale 2 /
epsilon on every cell is epsilon-private, and whatever is summed from the noisy table is too. Cost
grows with the domain, not with the rows: this is for binary tables of up to some 25 attributes, and
the paper runs it on NLTCS and ACS alone.

As in the paper, negative cells of the full table become 0 before anything is summed. On a domain
that is mostly empty that adds about scale / 2 to each of the empty cells, so the result is close to
uniform (the paper finds it so on ACS).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.consistency import Counts, clipped
from baselines.walsh import Projections
from understudy.privacy.mechanisms import Noise


def contingency(
    full: NDArray[np.int64], marginals: Projections, epsilon: float, noise: Noise
) -> Counts:
    """The marginals of the noisy full table, a row of cells each."""
    noisy = noise.laplace(full, 2 / epsilon)
    return marginals.tables(clipped(noisy, int(full.sum())))
