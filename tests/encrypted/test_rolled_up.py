"""Tables that lie in measured ones: their counts, and the noise that they are said to have."""

from __future__ import annotations

import numpy as np

from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.encrypted.choices import roll_up
from understudy.privacy.curator import Measurement
from understudy.privacy.domain import Domain

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "a": {"kind": "categorical", "values": ["x", "y"]},
            "b": {
                "kind": "categorical",
                "values": ["p", "q", "r"],
                "taxonomy": [["p", "q"], "r"],
            },
        }
    }
)


def test_noise_of_a_rolled_up_table_is_that_of_as_many_cells_as_are_added_up() -> None:
    """On average, rounded up."""
    counts = np.arange(6).reshape(2, 3)
    home = Measurement(marginal("a", "b"), counts, "gaussian", 3.0)
    domain = Domain(SCHEMA)
    for axes, expected, cells in [
        (marginal("a", "b"), [[0, 1, 2], [3, 4, 5]], 1),
        (marginal("b", "a"), [[0, 3], [1, 4], [2, 5]], 1),
        (marginal("a"), [3, 12], 3),
        (marginal("b"), [3, 5, 7], 2),
        (marginal("a", ("b", 1)), [[1, 2], [7, 5]], 2),
        (marginal(("b", 1)), [8, 7], 3),
    ]:
        found = roll_up(domain, axes, home)
        assert found.counts.tolist() == expected
        assert found.deviation == 3.0 * cells**0.5
