"""Keys, ciphertexts and packed numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from encrypted_parties import private_key
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.encrypted import integers
from understudy.encrypted.packing import Packing
from understudy.encrypted.paillier import PrivateKey, PublicKey
from understudy.errors import InputError

ORACLES = Path(sys.prefix) / "oracles"


@pytest.fixture(scope="module")
def key() -> PrivateKey:
    return private_key()


def test_the_product_of_ciphertexts_is_the_sum(key):
    public = key.public
    numbers = [5, -17, 2**1500, -(2**1400)]
    found = key.decrypt(public.add(public.encrypt_all(numbers)))
    assert found == sum(numbers) % public.modulus
    assert key.decrypt(public.shift(public.encrypt(4), -9)) == public.modulus - 5


def test_a_number_is_encrypted_differently_each_time(key):
    assert len({key.public.encrypt(7) for _ in range(5)}) == 5


def test_it_works_without_gmpy2(key, monkeypatch):
    by_gmpy2 = key.public.encrypt(11)
    monkeypatch.setattr(integers, "gmpy2", None)
    assert key.decrypt(key.public.add([key.public.encrypt(31), by_gmpy2])) == 42


@pytest.mark.parametrize("bits", [8, 9, 64, 129])
def test_primes_are_as_long_as_asked_and_so_are_their_products(bits):
    primes = [integers.draw_prime(bits) for _ in range(20)]
    assert {prime.bit_length() for prime in primes} == {bits}
    assert {(p * q).bit_length() for p in primes for q in primes} == {2 * bits}


def test_phe_reads_what_we_encrypt_and_we_what_phe_encrypts(key, monkeypatch):
    if not (ORACLES / "phe").is_dir():
        pytest.skip("phe is not among the oracles that make test installs")
    monkeypatch.syspath_prepend(str(ORACLES))
    import phe

    theirs = phe.PaillierPublicKey(key.public.modulus)
    private = phe.PaillierPrivateKey(theirs, key.p, key.q)
    assert private.raw_decrypt(key.public.encrypt(123456789)) == 123456789
    assert key.decrypt(theirs.raw_encrypt(987654321)) == 987654321


@pytest.mark.parametrize("number", [0, -1, 2**5000])
def test_what_is_no_ciphertext_is_refused(key, number):
    with pytest.raises(InputError, match="ciphertext"):
        key.public.check([number])


def test_a_ciphertext_with_a_factor_of_the_modulus_is_refused(key):
    with pytest.raises(InputError, match="no inverse"):
        key.public.check([key.public.encrypt(1), key.p])


def test_keys_go_through_files(key, tmp_path):
    key.save(tmp_path / "csp.key")
    key.public.save(tmp_path / "csp.json")
    assert PrivateKey.load(tmp_path / "csp.key") == key
    assert PublicKey.load(tmp_path / "csp.json") == key.public
    assert (tmp_path / "csp.key").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="never overwritten"):
        key.save(tmp_path / "csp.key")
    (tmp_path / "csp.key").chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        PrivateKey.load(tmp_path / "csp.key")


@pytest.mark.parametrize(
    "change",
    [
        {"modulus": "ff"},
        {"modulus": "zz"},
        {"modulus": 12},
        {"modulus": f"{(1 << 2048) - 2:x}"},
        {"modulus": f"{(1 << 2203) - 1:x}"},  # a prime
        {"bits": 4096},
        {"scheme": "rsa"},
        {"sealing": "00"},
        {"understudy_public_key": 2},
        {"more": 1},
    ],
)
def test_a_public_key_that_is_none_is_refused(key, change):
    with pytest.raises(InputError):
        PublicKey.from_dict({**key.public.to_dict(), **change})


def test_a_private_key_of_numbers_that_are_not_prime_is_refused(key):
    document = json.loads(json.dumps(key.to_dict()))
    document["p"] = f"{key.p + 2 if integers.is_probably_prime(key.p + 4) else key.p + 4:x}"
    with pytest.raises(InputError, match="not prime"):
        PrivateKey.from_dict(document)


@pytest.mark.parametrize("bits", [1024, 2047, 10_000, "2048"])
def test_a_key_of_another_length_is_refused(bits):
    with pytest.raises(InputError, match="bits"):
        PrivateKey.generate(bits)


# ---- packing


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_sums_of_packed_numbers_are_sums(data):
    modulus = private_key().public.modulus
    bits = data.draw(st.integers(3, 63))
    packing = Packing(modulus=modulus, slot_bits=bits)
    half = 1 << (bits - 2)
    lists = data.draw(
        st.lists(st.lists(st.integers(1 - half, half - 1), min_size=3, max_size=90), max_size=1)
    )
    for numbers in lists:
        one = np.array(numbers, dtype=np.int64)
        other = -one[::-1]
        sums = [
            (a + b) % modulus for a, b in zip(packing.pack(one), packing.pack(other), strict=True)
        ]
        assert (packing.unpack(sums, len(one)) == one + other).all()


def test_what_is_no_sum_of_packed_numbers_is_refused():
    packing = Packing(modulus=private_key().public.modulus, slot_bits=40)
    with pytest.raises(InputError, match="no sum"):
        packing.unpack([1 << 200], 3)


def test_a_plaintext_holds_more_than_thirty_numbers_of_sums(key):
    assert Packing(modulus=key.public.modulus, slot_bits=48).slots >= 30
