"""One projection over many owners: by secure sums and by encryption, with the same call."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "encrypted"))

from encrypted_parties import gather

from understudy.compression import ExactDCA, PrivateDCA, PrivateMDR, PrivatePCA
from understudy.compression.owners import Holders, Uploads, fit_owners
from understudy.data.schema import Schema
from understudy.encrypted.learning import find_questions
from understudy.encrypted.plans import join_questions
from understudy.errors import InputError
from understudy.federation import Holder, HolderPolicy
from understudy.federation.identity import Identity
from understudy.federation.opening import open_rows

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            **{name: {"kind": "real", "min": -8, "max": 8} for name in ("s", "u", "p")},
            "work": {"kind": "categorical", "values": ["no", "yes"]},
            "sex": {"kind": "categorical", "values": ["f", "m"]},
        }
    }
)
OWNERS = 3


def rows(seed: int, number: int = 2000):
    rng = np.random.default_rng(seed)
    work, sex = rng.integers(0, 2, (2, number))
    X = rng.normal(size=(number, 3)) * [2.5, 1, 1] + np.column_stack([0 * work, 3 * work, 3 * sex])
    frame = pandas.DataFrame(np.round(np.clip(X, -8, 8), 3), columns=["s", "u", "p"])
    frame["work"] = np.array(["no", "yes"])[work]
    frame["sex"] = np.array(["f", "m"])[sex]
    return open_rows(frame, SCHEMA, notify=lambda _: None)[0]


def learners(epsilon: float):
    return {
        "pca": (PrivatePCA(1, epsilon=epsilon, utility="work", privacy="sex"), None),
        "dca": (PrivateDCA(1, epsilon=epsilon, privacy="sex"), "work"),
        "mdr": (PrivateMDR(1, epsilon=epsilon, privacy="sex"), "work"),
    }


LARGEST = {"pca": 0, "dca": 1, "mdr": 1}


@pytest.fixture(scope="module")
def offline() -> Uploads:
    asked = [find_questions(one[0], SCHEMA, one[1]) for one in learners(5.0).values()]
    questions = join_questions([question for one in asked for question in one.sums])
    parties = gather(
        [rows(seed) for seed in range(OWNERS)], SCHEMA, tables=(), sums=questions, epsilon=1000.0
    )
    return Uploads(link=parties.link, store=parties.store)


@pytest.fixture(scope="module")
def online() -> Holders:
    identities = [Identity.new(f"h{place}") for place in range(OWNERS)]
    peers = {identity.name: identity.certificate for identity in identities}
    holders = [
        Holder(
            identity.name,
            rows(seed),
            HolderPolicy(allowance=1000.0),
            identity=identity,
            peers=peers,
        )
        for seed, identity in enumerate(identities)
    ]
    return Holders(links=holders, schema=SCHEMA)


@pytest.mark.parametrize("name", ["pca", "dca", "mdr"])
@pytest.mark.parametrize("way", ["online", "offline"])
def test_owners_find_the_projection_of_all_rows(name, way, request):
    learner, target = learners(5.0)[name]
    fitted = fit_owners(request.getfixturevalue(way), learner, target)
    assert fitted is learner
    assert int(np.abs(fitted.components_[0]).argmax()) == LARGEST[name]
    assert fitted.ledger_.spent()[0] <= 5.0


def test_without_noise_owners_are_not_asked(offline):
    with pytest.raises(InputError, match="nobody may see"):
        fit_owners(offline, ExactDCA(1), "work")
