"""k-anonymity, l-diversity and t-closeness, on a table that can be worked out by hand and against
slow code.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from people import coded, people

from examples import integers, words
from understudy.anonymity import classes
from understudy.attacks.anonymity import k_anonymity, l_diversity, t_closeness
from understudy.data.encoding import Coded, encode
from understudy.data.schema import Schema
from understudy.data.tables import Table

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "sex": {"kind": "categorical", "values": ["f", "m"]},
            "illness": {"kind": "categorical", "values": ["flu", "gout", "none"]},
            "income": {"kind": "integer", "min": 0, "max": 2, "bins": 3},
        }
    }
)
TABLE = encode(
    Table(
        {
            "sex": words("f", "f", "f", "m"),
            "illness": words("flu", "flu", "gout", "none"),
            "income": integers(0, 1, 2, 0),
        }
    ),
    SCHEMA,
)


def test_by_hand() -> None:
    k = k_anonymity(TABLE, TABLE, ["sex"])
    assert (k.measured, k.beside, k.figures["share_below_5"]) == (1, 1, 1.0)
    diversity = l_diversity(TABLE, TABLE, ["sex"], "illness")
    assert (diversity.measured, diversity.figures["entropy"]) == (1, pytest.approx(1.0))
    # The man's group is all "none", which a quarter of the table is: three quarters of it must
    # move.
    assert t_closeness(TABLE, TABLE, ["sex"], "illness").measured == pytest.approx(0.75)
    # His income is 0; of the table half is 0, a quarter has one step to go and a quarter two, of
    # two steps in all.
    assert t_closeness(TABLE, TABLE, ["sex"], "income").measured == pytest.approx(0.25 / 2 + 0.25)
    assert {attack.verdict for attack in (k, diversity)} == {"not judged"}
    assert "no promise" in k.promised


def test_one_group_is_the_table() -> None:
    alike = Coded(SCHEMA, {name: np.zeros(7, dtype=np.uint8) for name in SCHEMA.names}, 7, ())
    assert k_anonymity(TABLE, alike, ["sex"]).measured == 7
    assert t_closeness(TABLE, alike, ["sex"], "income").measured == 0.0


@pytest.mark.parametrize("secret", ["ill", "weight"])
@pytest.mark.parametrize("cells", [1 << 22, 40])
def test_against_slow_code(secret: str, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "MAX_COUNTS", cells)  # some groups at a time, or few
    table, names = coded(people(400, 5)), ["grade", "town"]
    groups: dict[tuple[int, ...], list[int]] = {}
    for row in range(400):
        groups.setdefault(tuple(int(table.codes[name][row]) for name in names), []).append(row)
    size = table.schema[secret].size

    def shares(rows: list[int]) -> list[float]:
        held = [int(table.codes[secret][row]) for row in rows]
        return [held.count(code) / len(held) for code in range(size)]

    entropy = min(
        math.exp(-sum(share * math.log(share) for share in shares(rows) if share))
        for rows in groups.values()
    )
    overall, farthest = shares(list(range(400))), 0.0
    for rows in groups.values():
        apart = [one - other for one, other in zip(shares(rows), overall, strict=True)]
        if secret == "weight":
            farthest = max(
                farthest, sum(abs(sum(apart[: code + 1])) for code in range(size)) / (size - 1)
            )
        else:
            farthest = max(farthest, sum(map(abs, apart)) / 2)
    assert k_anonymity(table, table, names).measured == min(map(len, groups.values()))
    assert l_diversity(table, table, names, secret).figures["entropy"] == pytest.approx(entropy)
    assert t_closeness(table, table, names, secret).measured == pytest.approx(farthest)
