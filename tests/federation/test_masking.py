from __future__ import annotations

import itertools
import os
import sys

import numpy as np
import pytest

from understudy.errors import InputError
from understudy.federation import masking
from understudy.federation.masking import (
    PairKeys,
    add_vectors,
    open_content,
    pair_mask,
    seal_content,
    stream,
)


def met(names, contexts=None):
    keys = {name: PairKeys(name, (contexts or {}).get(name, b"context")) for name in names}
    for one, other in itertools.permutations(names, 2):
        keys[one].meet(other, keys[other].public)
    return keys


def masks(keys, *purpose, size=100):
    return {
        name: pair_mask(
            name, {peer: mine.seed(peer, *purpose) for peer in keys if peer != name}, size
        )
        for name, mine in keys.items()
    }


def test_masks_cancel_over_all_and_over_no_fewer():
    keys = met("abcd")
    found = masks(keys, "mask", "1", b"question")
    assert not add_vectors(found.values(), 100).any()
    for some in (1, 2, 3):
        for names in itertools.combinations("abcd", some):
            assert add_vectors((found[name] for name in names), 100).any()


def test_masks_look_random():
    """All 64 bits of a mask are ones half of the time: within seven deviations, which none of them
    exceeds but with a probability of 2e-10.
    """
    mask = masks(met("ab"), "x", size=20_000)["a"]
    ones = [int(((mask >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(64)]
    assert max(abs(one - 10_000) for one in ones) < 7 * np.sqrt(5_000)


@pytest.mark.parametrize("changed", [("mask", "2", b"question"), ("mask", "1", b"another")])
def test_another_round_or_question_has_other_masks(changed):
    keys = met("ab")
    assert (masks(keys, "mask", "1", b"question")["a"] != masks(keys, *changed)["a"]).all()


def test_holders_told_different_terms_share_no_secret():
    found = masks(met("ab", {"b": b"other terms"}), "mask")
    assert add_vectors(found.values(), 100).any()


def test_somebody_between_two_holders_shares_a_secret_with_neither_pair():
    """If an analyst put its own key in the place of b's, a's masks would cancel with the analyst's
    only.
    """
    a, b, analyst = (PairKeys(name, b"context") for name in ("a", "b", "b"))
    a.meet("b", analyst.public)
    b.meet("a", a.public)
    assert a.seed("b", "mask") != b.seed("a", "mask")


def test_a_key_that_is_none():
    with pytest.raises(InputError, match="key of b"):
        PairKeys("a", b"").meet("b", b"short")
    with pytest.raises(InputError, match="key of b"):
        PairKeys("a", b"").meet("b", bytes(32))  # of low order: the secret would be known to all


def test_streams():
    seed = os.urandom(32)
    assert (stream(seed, 10) == stream(seed, 20)[:10]).all()
    assert stream(seed, 0).size == 0
    assert (stream(seed, 10) != stream(os.urandom(32), 10)).all()


def test_what_is_sealed_is_read_with_the_key_in_its_place_only():
    key = os.urandom(32)
    box = seal_content(key, b"content", b"round 1")
    assert b"content" not in box
    assert open_content(key, box, b"round 1") == b"content"
    for other, about, changed in (
        (os.urandom(32), b"round 1", box),
        (key, b"round 2", box),
        (key, b"round 1", bytes([box[0] ^ 1]) + box[1:]),
    ):
        with pytest.raises(InputError, match="sealed"):
            open_content(other, changed, about)


def test_without_the_extra_a_sentence_says_what_to_install(monkeypatch):
    masking._cryptography.cache_clear()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.kdf.hkdf", None)
    with pytest.raises(InputError, match=r"install understudy\[federation\]"):
        PairKeys("a", b"context")
