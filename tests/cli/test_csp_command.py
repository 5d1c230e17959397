"""``understudy csp`` and ``federate --way encrypted``: what they write, and what they refuse.

The whole way, with a service in a process of its own, is run by the page's test.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from running import run
from understudy.encrypted.plans import EncryptionPlan
from understudy.encrypted.uploads import Upload
from understudy.privacy.ledger import LedgerFile

SCHEMA = {
    "attributes": {
        "sex": {"kind": "categorical", "values": ["f", "m"]},
        "ward": {"kind": "categorical", "values": ["eye", "heart", "lung"]},
    }
}
PARTIES = """
[[owner]]
name = "north"
certificate = "north.pem"

[[owner]]
name = "south"
certificate = "south.pem"

[[service]]
name = "service"
address = "127.0.0.1:1"
certificate = "service.pem"

[[analyst]]
name = "hub"
certificate = "hub.pem"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates, a key, a plan and two tables, made once."""
    place = tmp_path_factory.mktemp("csp")
    for name in ("north", "south", "hub", "service", "other"):
        assert run("holder", "cert", name, "--folder", place).status == 0
    assert run("csp", "key", "tables", "--folder", place).status == 0
    (place / "parties.toml").write_text(PARTIES)
    (place / "schema.json").write_text(json.dumps(SCHEMA))
    rng = np.random.default_rng(0)
    for name in ("north", "south"):
        lines = [f"{'fm'[a]},{('eye', 'heart', 'lung')[b]}" for a, b in rng.integers(0, 2, (50, 2))]
        (place / f"{name}.csv").write_text("sex,ward\n" + "\n".join(lines) + "\n")
    ran = run(
        *("csp", "plan", "--schema", place / "schema.json", "--public-key", place / "tables.json"),
        *("--peers", place / "parties.toml", "--allowance", 2, "-o", place / "plan.json"),
    )
    assert ran.status == 0, ran.err
    assert "3 tables, 12 numbers in 4 ciphertexts" in ran.err
    return place


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def encrypt(name: str, output: Path, *more: object, cert: str = "") -> object:
    return run(
        *("csp", "encrypt", f"{name}.csv", "--plan", "plan.json"),
        *("--cert", f"{cert or name}.pem", "-o", output, *more),
    )


def test_a_key_is_never_overwritten(here):
    ran = run("csp", "key", "tables")
    assert ran.status == 2
    assert "already" in ran.err


def test_an_upload_says_nothing_of_the_rows(here, tmp_path):
    ran = encrypt("north", tmp_path / "north.json")
    assert ran.status == 0, ran.err
    plan = EncryptionPlan.load("plan.json")
    upload = Upload.load(tmp_path / "north.json", plan)
    assert upload.owner == "north"
    assert set(json.loads((tmp_path / "north.json").read_text())) == {
        *("understudy_upload", "plan", "owner", "seed", "items", "signature", "seed_signature"),
    }
    again = encrypt("north", tmp_path / "north.json")
    assert again.status == 2
    assert "one upload of each owner" in again.err


def test_the_plans_allowance_goes_onto_the_owners_ledger(here, tmp_path):
    book = LedgerFile.create(tmp_path / "north.ledger", 3.0)
    ran = encrypt("north", tmp_path / "a.json", "--ledger", tmp_path / "north.ledger")
    assert ran.status == 0, ran.err
    assert book.left() == (1.0, 0.0)
    ran = encrypt("north", tmp_path / "b.json", "--ledger", tmp_path / "north.ledger")
    assert ran.status == 2
    assert "only epsilon 1" in ran.err
    assert not (tmp_path / "b.json").exists()


def test_who_is_not_in_the_plan_uploads_nothing(here, tmp_path):
    ran = encrypt("north", tmp_path / "x.json", cert="other")
    assert ran.status == 2
    assert "does not name other" in ran.err
    assert not (tmp_path / "x.json").exists()


def federate(*more: object) -> object:
    return run(
        *("federate", "--holders", "parties.toml", "--cert", "hub.pem"),
        *("--method", "independent", "-o", "out.csv", *more),
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--way", "encrypted"], "needs --plan FILE and --uploads FOLDER"),
        (["--plan", "plan.json"], "go with --way encrypted"),
        ([], "--schema FILE is missing"),
        (["--schema", "schema.json"], "names no holder"),
        (
            ["--way", "encrypted", "--plan", "plan.json", "--uploads", "nowhere"],
            "There is no folder nowhere",
        ),
        (
            [
                *("--way", "encrypted", "--plan", "plan.json", "--uploads", "."),
                *("--schema", "schema.json"),
            ],
            "leave --schema out",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(here, options, sentence):
    ran = federate(*options)
    assert ran.status == 2
    assert sentence in ran.err
    assert not Path("out.csv").exists()


def test_a_missing_upload_and_a_service_that_is_not_there(here, tmp_path):
    encrypt("north", tmp_path / "north.json")
    asked = ("--way", "encrypted", "--plan", "plan.json", "--uploads", tmp_path)
    ran = federate(*asked)
    assert ran.status == 2
    assert "The upload of south is missing" in ran.err
    encrypt("south", tmp_path / "south.json")
    ran = federate(*asked)
    assert ran.status == 2
    assert "The service service cannot be reached" in ran.err
    assert not Path("out.csv").exists()


def test_a_service_of_another_key_does_not_start(here, tmp_path):
    assert run("csp", "key", "fresh", "--folder", tmp_path).status == 0
    ran = run(
        *("csp", "serve", "--plan", "plan.json", "--private-key", tmp_path / "fresh.secret"),
        *("--cert", "service.pem", "--peers", "parties.toml", "--listen", "127.0.0.1:0"),
        *("--ledger", tmp_path / "l", "--log", tmp_path / "log"),
    )
    assert ran.status == 2
    assert "another key than the service has" in ran.err
