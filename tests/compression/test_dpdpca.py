"""DPDPCA: owners, proxy, user; and PrivateLocalPCA beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "encrypted"))

from encrypted_parties import private_key

from understudy.compression.dpdpca import (
    Protocol,
    add_encrypted_noise,
    decompose,
    encrypt_sums,
    fit_serial,
)
from understudy.compression.projections import project_pca, scatter_of
from understudy.errors import InputError
from understudy.privacy.mechanisms import SystemNoise

FEATURES = 4


def owners(number: int = 3, rows: int = 3000):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(number):
        x = rng.normal(size=(rows, FEATURES)) * [1.0, 0.6, 0.3, 0.1]
        found.append(x / np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True)))
    return found


def protocol(**more) -> Protocol:
    settings = {"features": FEATURES, "epsilon": 1.0, "delta": 1e-6, "max_rows": 100_000} | more
    return Protocol(key=private_key().public, **settings)


@pytest.fixture(scope="module")
def exact():
    rows = np.vstack(owners())
    return project_pca(scatter_of(len(rows), rows.sum(axis=0), rows.T @ rows), 2)


def test_the_user_finds_the_components_of_all_rows(exact):
    agreed = protocol()
    uploads = [encrypt_sums(agreed, rows) for rows in owners()]
    found = decompose(agreed, private_key(), add_encrypted_noise(agreed, uploads), 2)
    for mine, theirs in zip(found.components, exact.components, strict=True):
        assert abs(mine @ theirs) > 0.98


def test_serial_owners_find_them_too(exact):
    found = fit_serial(owners(), protocol(), 2)
    for mine, theirs in zip(found.components, exact.components, strict=True):
        assert abs(mine @ theirs) > 0.95


def test_everything_that_the_user_decrypts_has_noise(exact):
    """N, v and R: the noise that the proxy adds is of the scale that the whole price asks for."""
    agreed = protocol()
    seen = []

    class Listening(SystemNoise):
        def gaussian(self, counts, scale):
            noise = super().gaussian(counts, scale)
            seen.append((scale, noise))
            return noise

    uploads = [encrypt_sums(agreed, rows) for rows in owners(2, 50)]
    add_encrypted_noise(agreed, uploads, Listening())
    scales = agreed.question.scales(agreed.plan.blocks(0))
    assert [scale for scale, _ in seen] == list(scales.values())
    assert [noise.size for _, noise in seen] == [1, FEATURES, FEATURES * (FEATURES + 1) // 2]
    assert all(noise.any() for _, noise in seen[1:])


def test_longer_rows_are_shortened():
    """The sensitivity rests on rows of length 1 at most; the published one assumes it silently."""
    agreed = protocol(epsilon=50.0, delta=0.1)
    long = [np.full((400, FEATURES), 0.9)] * 2
    uploads = [encrypt_sums(agreed, rows) for rows in long]
    found = decompose(agreed, private_key(), add_encrypted_noise(agreed, uploads), 1)
    assert found.values[0] < 30  # all rows are alike, so there is no scatter


def test_noise_without_a_delta_is_refused():
    with pytest.raises(InputError, match="delta"):
        protocol(delta=0.0)
