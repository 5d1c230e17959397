"""CKKS beside Paillier: the same sums to the last digit, and nothing after the point."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from understudy.compression.dpdpca import Protocol, add_encrypted_noise, decompose, encrypt_sums
from understudy.encrypted.ckks import (
    FLOOD,
    MAX_OWNERS,
    MAX_SUM_BITS,
    CkksKey,
    PrivateCkksKey,
    VectorPacking,
    draw_fractions,
)
from understudy.encrypted.paillier import PrivateKey
from understudy.errors import InputError
from understudy.privacy.mechanisms import SeededNoise


def test_without_tenseal_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tenseal", None)
    with pytest.raises(InputError, match=r"understudy\[ckks\]"):
        PrivateCkksKey.generate()


def test_numbers_that_are_too_large_are_refused():
    packing = VectorPacking()
    with pytest.raises(InputError, match="bits"):
        packing.pack(np.array([1 << MAX_SUM_BITS]))
    with pytest.raises(InputError, match="lower the number of rows"):
        CkksKey(b"").make_packing(MAX_SUM_BITS + 2)
    with pytest.raises(InputError, match="more or fewer"):
        packing.unpack([np.zeros(3)], 4)


def test_fractions_are_small_and_on_both_sides():
    drawn = np.array(draw_fractions(1000))
    assert np.abs(drawn).max() <= FLOOD
    assert drawn.min() < 0 < drawn.max()
    assert len(set(drawn)) == 1000
    assert MAX_OWNERS * FLOOD < 0.1


@pytest.fixture(scope="module")
def key() -> PrivateCkksKey:
    pytest.importorskip("tenseal")
    return PrivateCkksKey.generate()


def test_sums_are_exact(key):
    rng = np.random.default_rng(0)
    packing = key.public.make_packing(40)
    rows = rng.integers(-(1 << 38), 1 << 38, (5, 5000))
    uploads = [key.public.encrypt_all(packing.pack(row)) for row in rows]
    sums = [key.public.add(column) for column in zip(*uploads, strict=True)]
    found = packing.unpack([key.decrypt(one) for one in sums], 5000)
    assert (found == rows.sum(axis=0)).all()


def test_nothing_after_the_point_is_told(key):
    """Though each ciphertext has a random fraction in it, and another one each time."""
    [one], [other] = (key.public.encrypt_all([np.array([1.0, -2.0])]) for _ in range(2))
    assert one != other
    raw = [np.array(_decrypt_raw(key, data)) for data in (one, other)]
    assert 0 < np.abs(raw[0] - [1, -2]).max() < 2 * FLOOD
    assert (raw[0] != raw[1]).any()
    assert key.decrypt(one).tolist() == key.decrypt(other).tolist() == [1.0, -2.0]


def _decrypt_raw(key: PrivateCkksKey, data: bytes) -> list[float]:
    import tenseal

    decrypted: list[float] = tenseal.ckks_vector_from(key._context, data).decrypt()
    return decrypted


def test_other_keys_and_changed_ciphertexts_are_refused(key):
    [data] = key.public.encrypt_all([np.arange(10.0)])
    other = PrivateCkksKey.generate()
    with pytest.raises(InputError, match=r"another key|no ciphertext"):
        other.decrypt(data)
    changed = bytearray(data)
    changed[len(data) // 2] ^= 255
    with pytest.raises(InputError, match=r"changed|no ciphertext"):
        key.decrypt(bytes(changed))
    with pytest.raises(InputError, match="no ciphertext"):
        key.decrypt(b"x")
    [shorter] = key.public.encrypt_all([np.arange(9.0)])
    with pytest.raises(InputError, match="different lengths"):
        key.public.add([data, shorter])
    with pytest.raises(InputError, match="secret key"):
        _ = CkksKey(key._context.serialize(save_secret_key=True)).context


def test_dpdpca_finds_the_same_with_either_scheme(key):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3, 200, 4)) * [0.5, 0.3, 0.1, 0.05]
    paillier = PrivateKey.generate()
    found = []
    for private in (key, paillier):
        protocol = Protocol(
            key=private.public, features=4, epsilon=5.0, delta=1e-6, max_rows=10_000
        )
        uploads = [encrypt_sums(protocol, part) for part in rows]
        sums = add_encrypted_noise(protocol, uploads, SeededNoise(7))
        found.append(decompose(protocol, private, sums, 2))
    assert np.allclose(found[0].components, found[1].components, atol=1e-12)
    assert np.allclose(found[0].values, found[1].values, atol=1e-12)
