"""DPDPCA: differentially private PCA over many owners with an untrusted user (Wang and Chang 2018).

*Owners* encrypt R = sum x x', v = sum x and N under the key of a *user*; a *proxy* adds ciphertexts
up and adds encrypted noise; the user decrypts the noisy sums and decomposes S = R - v v' / N.

What the published protocol leaves open is put right (decision 036): N has noise as well, rows are
shortened to length 1, the noise is the exact discrete Gaussian of zero-concentrated privacy for any
epsilon, all three sums that the user sees are paid for, and the user never sees anything without
noise, so nothing needs blinding. **Discretisation**: entries of R, v and N are whole numbers of
1 / 2^20 of what one row adds at most; the sensitivities have the rounding in them.

The noise is the proxy's alone. So epsilon holds against the user and everybody else, not against
the proxy, if that reads the result: :mod:`understudy.encrypted` is for those who mind.

:func:`fit_serial` is PrivateLocalPCA (Imtiaz et al.): owner after owner adds its own noise and
passes its leading directions on. Nobody encrypts; everybody waits for everybody, and each owner's
noise is the whole of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.compression.projections import Matrix, Projection, project_pca, scatter_of
from understudy.data.schema import Schema
from understudy.encrypted.ckks import CkksKey, PrivateCkksKey
from understudy.encrypted.paillier import PrivateKey, PublicKey
from understudy.encrypted.plans import EncryptionPlan
from understudy.encrypted.uploads import count_items
from understudy.errors import InputError
from understudy.learners.asking import nearest_psd
from understudy.learners.design import numbers_column, quantity
from understudy.privacy.budget import Budget, rho_of
from understudy.privacy.features import Number
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import Noise, SystemNoise, add_noise
from understudy.privacy.sums import Sum, Sums, read_sums
from understudy.release.sources import MemorySource

from understudy.data.columns import Table  # isort: skip
from understudy.data.encoding import Coded  # isort: skip

QUESTION_SHARES = {"counts": 0.05, "sums": 0.2, "moments": 0.75}
"""How the budget is split over N, v and R."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """What owners, proxy and user agree on.

    Parameters
    ----------
    key
        The user's public key: Paillier's, or CKKS's, which is quicker, larger and approximate.
    features
        How many columns rows have.
    epsilon, delta
        The guarantee for each row.
    max_rows
        The most rows of all owners together.
    """

    key: PublicKey | CkksKey
    features: int
    epsilon: float
    delta: float
    max_rows: int = 1_000_000

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise InputError("The noise is Gaussian, so delta must be above 0.")

    @property
    def budget(self) -> Budget:
        """The whole price, in rho."""
        return Budget(rho_of(self.epsilon, self.delta), "rho")

    @property
    def question(self) -> Sum:
        """N, v and R of rows that are shortened to length 1."""
        numbers = [Number(f"x{place}", -1.0, 1.0, unit=1.0) for place in range(self.features)]
        return Sum(
            features=numbers,
            budget=self.budget,
            moments="products",
            ball=1.0,
            missing="centre",
            shares=QUESTION_SHARES,  # type: ignore[arg-type]
        )

    @property
    def plan(self) -> EncryptionPlan:
        """The same as a plan, whose packing and grids are used."""
        names = tuple(f"x{place}" for place in range(self.features))
        return EncryptionPlan(
            schema=Schema(tuple(quantity(name, -1.0, 1.0) for name in names)),
            key=self.key,  # type: ignore[arg-type]  # of CKKS: no service, the same methods
            owners=("all", "owners"),  # who they are does not matter here
            epsilon=self.epsilon,
            delta=self.delta,
            max_rows=self.max_rows,
            sums=(self.question,),
            collection="dpdpca",
        )


Ciphertexts = list[list[Any]]
"""Of N, v and R, one list each; whole numbers of Paillier's, bytes of CKKS's."""


def encrypt_sums(protocol: Protocol, rows: Matrix) -> Ciphertexts:
    """An owner's part."""
    plan = protocol.plan
    numbers = count_items(plan, _code(plan, rows))
    return [
        plan.key.encrypt_all(item.packing.pack(part))
        for item, part in zip(plan.items, numbers, strict=True)
    ]


def add_encrypted_noise(
    protocol: Protocol, uploads: Sequence[Ciphertexts], noise: Noise | None = None
) -> Ciphertexts:
    """The proxy's part: encrypted sums, with encrypted noise for the whole guarantee."""
    plan, question = protocol.plan, protocol.question
    scales = question.scales(plan.blocks(0))
    found: Ciphertexts = []
    for item, scale in zip(plan.items, scales.values(), strict=True):
        zeros = np.zeros(item.cells, dtype=np.int64)
        drawn = item.packing.pack(add_noise(noise or SystemNoise(), zeros, "rho", scale))
        columns = zip(*(upload[item.number] for upload in uploads), strict=True)
        shares = plan.key.encrypt_all(drawn)
        found.append(
            [plan.key.add([*column, share]) for column, share in zip(columns, shares, strict=True)]
        )
    return found


def decompose(
    protocol: Protocol, private: PrivateKey | PrivateCkksKey, sums: Ciphertexts, components: int
) -> Projection:
    """The user's part: decrypt what has noise, and decompose it."""
    plan, question = protocol.plan, protocol.question
    blocks = plan.blocks(0)
    noisy: dict[str, NDArray[np.int64]] = {}
    for item, (part, block), column in zip(plan.items, blocks.items(), sums, strict=True):
        plain: list[Any] = [private.decrypt(one) for one in column]
        numbers = item.packing.unpack(plain, item.cells)
        noisy[part] = numbers.reshape(-1, len(block.magnitudes))
    answer = read_sums(
        question,
        plan.domain,
        noisy,  # type: ignore[arg-type]
        blocks,
        question.scales(blocks),
    )
    return project_pca(nearest_psd(read_scatter(answer)), components)


def read_scatter(answer: Sums) -> Matrix:
    """S from noisy N, v and R."""
    assert answer.counts is not None
    assert answer.sums is not None
    assert answer.moments is not None
    rows = max(float(answer.counts.values), 1.0)
    return scatter_of(rows, answer.sums.values, answer.moments.values)


def fit_serial(
    owners: Sequence[Matrix], protocol: Protocol, components: int, noise: Noise | None = None
) -> Projection:
    """PrivateLocalPCA: one owner after the other adds its noise and passes directions on."""
    from understudy.privacy.central import CentralCurator

    passed = np.zeros((protocol.features, protocol.features))
    for rows in owners:
        plan = protocol.plan
        ledger = Ledger(protocol.epsilon, protocol.delta, currency="rho")
        curator = CentralCurator(_code(plan, rows), ledger, noise)
        scatter = nearest_psd(read_scatter(curator.answer(protocol.question)) + passed)
        leading = project_pca(scatter, components)
        passed = (leading.components.T * np.maximum(leading.values, 0.0)) @ leading.components
    return project_pca(passed, components)


def _code(plan: EncryptionPlan, rows: Matrix) -> Coded:
    columns = {f"x{place}": numbers_column(column) for place, column in enumerate(rows.T)}
    coded, _ = MemorySource(Table(columns, "X"), "table", None, 1).code(plan.schema)
    return coded
