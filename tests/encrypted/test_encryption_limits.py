"""Limits of plans and keys: the last value that is allowed is taken, the next one is refused."""

from __future__ import annotations

import hashlib
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from encrypted_parties import SCHEMA, draw_rows, private_key

from limits import assert_limits
from understudy import Adaptive, Independent, PrivBayes
from understudy.data.marginals import marginal
from understudy.data.schema import Schema
from understudy.encrypted.masks import derive_masks
from understudy.encrypted.packing import Packing
from understudy.encrypted.paillier import PrivateKey, PublicKey, _hex_number
from understudy.encrypted.plans import EncryptionPlan, list_tables
from understudy.encrypted.questions import PairScores
from understudy.encrypted.session import _read
from understudy.encrypted.uploads import make_upload
from understudy.encrypted.ways import fit_to_plan, tells_all_pairs
from understudy.errors import InputError
from understudy.federation.identity import Identity
from understudy.federation.messages import digest
from understudy.privacy.budget import Budget
from understudy.privacy.domain import Domain
from understudy.privacy.features import Indicator
from understudy.privacy.mechanisms import gaussian_scale, laplace_scale
from understudy.privacy.sums import Sum


def plan(**changes: Any) -> EncryptionPlan:
    given: dict[str, Any] = {
        "schema": SCHEMA,
        "key": private_key().public,
        "owners": ("o0", "o1"),
        "epsilon": 1.0,
        "tables": list_tables(SCHEMA, 2),
    }
    return EncryptionPlan(**(given | changes))


def owners(number: int) -> None:
    plan(owners=tuple(f"o{place:03}" for place in range(number)))


def check(ciphertext: int) -> None:
    private_key().public.check([1, ciphertext])


LIMITS = {
    "owners": (owners, [2, 256], [0, 1, 257]),
    "names of owners": (lambda names: plan(owners=names), [("a", "b")], [("b", "a"), ("a", "a")]),
    "rows": (
        lambda rows: plan(max_rows=rows),
        [1, (1 << 31) - 1],
        [0, 1 << 31, 1.0],
    ),
    "tables": (
        lambda tables: plan(tables=tables),
        [(marginal("a"),), (marginal("a"), marginal("a", "b"))],
        [(), (marginal("a", "b"), marginal("b", "a")), (marginal("a"), marginal("a"))],
    ),
    "scores": (
        lambda tables: plan(tables=tables, scores=True),
        [(marginal("a", "b"),)],
        [(marginal("a"),)],
    ),
    "rows of an owner": (
        lambda rows: make_upload(
            plan(tables=(marginal("a"),), max_rows=5), "o0", draw_rows(rows), Identity.new("o0")
        ),
        [0, 5],
        [6],
    ),
    "owner of an upload": (
        lambda name: make_upload(
            plan(tables=(marginal("a"),)), name, draw_rows(1), Identity.new("o0")
        ),
        ["o1"],
        ["o2"],
    ),
    "epsilon": (lambda epsilon: plan(epsilon=epsilon), [1.0], [0.0, math.nan]),
    "delta": (lambda delta: plan(delta=delta), [0.0, 1e-3], [1.0, -1.0]),
    "relation": (lambda relation: plan(neighbours=relation), ["replace"], ["", "other"]),
    "columns of tables": (
        lambda name: plan(tables=(marginal(name),)),
        ["a"],
        ["nobody"],
    ),
    "sums": (
        lambda code: plan(sums=(Sum(features=[Indicator("a", (code,))], budget=Budget(1.0)),)),
        [0],
        [2],
    ),
    "bits of a slot": (
        lambda bits: Packing(modulus=1 << 2048, slot_bits=bits),
        [2, 63],
        [1, 64],
    ),
    "bits of a new key": (PrivateKey.generate, [], [2046, 2049, 8194, 2048.0]),
    "bits of a modulus": (PublicKey, [], [(1 << 2047) - 1, (1 << 8192) + 1, 3.0]),
    "sealing key": (
        lambda sealing: PublicKey(private_key().public.modulus, sealing),
        [b"", bytes(32)],
        [bytes(31), bytes(33)],
    ),
    "digits of a number": (
        lambda length: _hex_number("f" * length, "x"),
        [1, 2048],
        [0, 2049],
    ),
    "number in digits": (lambda text: _hex_number(text, "x"), ["0f"], ["0g", 5, None]),
    "price of scores": (
        lambda amount: PairScores(budget=Budget(amount)).check(Domain(SCHEMA)),
        [5e-324],
        [0.0, -1.0, math.nan],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_value_is_taken_and_the_next_is_not(name: str) -> None:
    assert_limits(*LIMITS[name])


def test_a_ciphertext_lies_between_0_and_the_square_of_the_modulus() -> None:
    key = private_key()
    square = key.public.modulus**2
    assert_limits(check, [1, square - 1], [0, -1, square, key.p, key.q * 7])


def test_numbers_fill_the_slots_of_a_plaintext() -> None:
    """A bit is left over for the sign of the whole."""
    for bits, slots in [(2, 1023), (63, 32), (31, 66)]:
        packing = Packing(modulus=(1 << 2048) - 1, slot_bits=bits)
        assert packing.slots == slots
        assert [packing.count(number) for number in (0, 1, slots, slots + 1)] == [0, 1, 1, 2]


def test_masks_are_drawn_from_16_bytes_more_than_the_modulus_has() -> None:
    """So they are uniform up to 2^-128, and others for every item, owner and plan."""
    modulus = (1 << 64) + 13
    masks = derive_masks(b"s", b"p", "o", 0, 200, modulus)
    assert len(set(masks)) == 200
    assert max(masks) < modulus
    assert max(masks) > modulus * 0.9
    start = digest("understudy masks", b"s", b"p", "o", "0")
    stream = hashlib.shake_256(start).digest(3 * 25)  # 65 bits take 9 bytes, and 16 more
    assert masks[:3] == [int.from_bytes(stream[i : i + 25]) % modulus for i in (0, 25, 50)]
    for other in (
        derive_masks(b"t", b"p", "o", 0, 200, modulus),
        derive_masks(b"s", b"q", "o", 0, 200, modulus),
        derive_masks(b"s", b"p", "x", 0, 200, modulus),
        derive_masks(b"s", b"p", "o", 1, 200, modulus),
    ):
        assert not set(other) & set(masks)


def test_a_method_keeps_to_the_tables_of_the_plan() -> None:
    """To the largest of them: tables of three columns with those of one and two."""
    small, large = (plan(tables=list_tables(SCHEMA, size)) for size in (2, 3))
    assert fit_to_plan(Adaptive(epsilon=1.0, order=3), small).order == 2
    assert fit_to_plan(Adaptive(epsilon=1.0, order=3), large).order == 3
    assert fit_to_plan(Adaptive(epsilon=1.0, order=2), large).order == 2
    assert fit_to_plan(Adaptive(epsilon=1.0, order=3), large).holdout == 0.0
    for degree, fitted in [(None, (1, 2)), (1, (1, 1)), (2, (1, 2))]:
        method = PrivBayes(epsilon=1.0, degree=degree)
        assert tuple(fit_to_plan(method, asked).degree for asked in (small, large)) == fitted
        assert fit_to_plan(method, large).encoding == "vanilla"
    one = Independent(epsilon=1.0)
    assert fit_to_plan(one, small) == one


def test_a_plan_tells_all_pairs_or_it_does_not() -> None:
    assert tells_all_pairs(plan())
    assert not tells_all_pairs(plan(tables=list_tables(SCHEMA, 2)[:-1]))
    assert not tells_all_pairs(plan(tables=list_tables(SCHEMA, 3)))


def test_all_tables_are_of_columns_with_more_than_one_value() -> None:
    entries = {**SCHEMA.to_dict()["attributes"], "d": {"kind": "categorical", "values": ["x"]}}
    schema = Schema.from_dict({"attributes": entries})
    one, two = [("a",), ("b",), ("c",)], [("a", "b"), ("a", "c"), ("b", "c")]
    for order, names in [(0, []), (1, one), (2, one + two), (3, [*one, *two, ("a", "b", "c")])]:
        found = [tuple(axis.attribute for axis in table) for table in list_tables(schema, order)]
        assert found == names
    assert list_tables(schema, 9) == list_tables(schema, 3)


def test_a_method_needs_tables() -> None:
    sums = Sum(features=[Indicator("a", (0,))], budget=Budget(1.0), shares={"sums": 1.0})
    with pytest.raises(InputError, match="has no tables"):
        fit_to_plan(Independent(epsilon=1.0), plan(tables=(), sums=(sums,)))


@pytest.mark.parametrize(
    ("bits", "width", "plain"), [(2048, 512, 256), (2050, 513, 257), (2052, 513, 257)]
)
def test_numbers_take_as_many_bytes_as_they_need(bits: int, width: int, plain: int) -> None:
    """Of a ciphertext twice the bits of the modulus, rounded up to whole bytes."""
    key = SimpleNamespace(bits=bits)
    assert PublicKey.width.fget(key) == width  # type: ignore[attr-defined]
    assert PublicKey.plain_width.fget(key) == plain  # type: ignore[attr-defined]


def test_numbers_that_all_rows_cannot_add_up_to_are_refused() -> None:
    """48 deviations of the noise of two parties beyond the largest sum, and of a scale of 1."""

    def read(number: int, scale: float) -> Any:
        packing = SimpleNamespace(unpack=lambda *_: np.array([0, number]))
        item: Any = SimpleNamespace(name="x", cells=2, largest=1000, packing=packing)
        return _read(item, scale, None)

    for sign in (1, -1):
        assert_limits(lambda n, sign=sign: read(sign * n, 0.5), [0, 1096], [1097])
        assert_limits(lambda n, sign=sign: read(sign * n, 2.0), [1192], [1193])


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_a_row_moves_all_scores_and_the_root_is_rounded_up(neighbours: Any) -> None:
    asked = plan(neighbours=neighbours, scores=True)
    assert len(asked.pairs) == 3
    moved = asked.score_move
    assert PairScores(budget=Budget(0.3)).scale(asked) == laplace_scale(3 * moved, 0.3)
    scale = PairScores(budget=Budget(0.3, "rho")).scale(asked)
    assert gaussian_scale(moved * 3**0.5, 0.3) < scale
    assert scale < gaussian_scale(moved * 3**0.5 * (1 + 3e-12), 0.3)
