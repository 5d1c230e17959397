"""``understudy federate``: what an analyst sees, with holders that listen in threads of this
process.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from running import Ran, run
from understudy import Model, Schema, read_table
from understudy.data.encoding import Coded
from understudy.federation.holder import Holder, HolderPolicy
from understudy.federation.identity import Identity
from understudy.federation.merged_models import MergedModels
from understudy.federation.server import AuditLog, make_holder_app, make_server, open_listener

SCHEMA = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 79, "bins": 4},
        "smoker": {"kind": "boolean"},
        "ward": {"kind": "categorical", "values": ["eye", "heart", "lung"]},
    }
}
NAMES = ("north", "south", "west")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the files of an analyst whose three holders listen."""
    folder = tmp_path_factory.mktemp("analyst")
    schema = Schema.from_dict(SCHEMA)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    known = {
        name: Identity.new(name).save(folder / f"{name}.pem", folder / f"{name}.key")
        for name in (*NAMES, "registry", "stranger")
    }
    analysts, entries, running = [known["registry"].certificate], [], []
    for seed, name in enumerate(NAMES):
        rng = np.random.default_rng(seed)
        codes = {a.name: rng.integers(0, a.size, 200).astype(np.uint8) for a in schema}
        holder = Holder(
            name,
            Coded(schema, codes, 200, ()),
            HolderPolicy(allowance=100.0, delta=0.01),
            identity=known[name],
            peers={other: known[other].certificate for other in NAMES},
            log=AuditLog(folder / f"{name}.log"),
        )
        listener = open_listener("127.0.0.1:0")
        server = make_server(make_holder_app(holder, analysts), known[name], analysts)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        running.append((server, thread))
        port = listener.getsockname()[1]
        entries.append(
            f'[[holder]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ncertificate = '
            f'"{name}.pem"\n'
        )
    (folder / "parties.toml").write_text("\n".join(entries))
    yield folder
    for server, _ in running:
        server.should_exit = True
    for _, thread in running:
        thread.join()


@pytest.fixture
def folder(served: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(served)
    return served


def federate(*options: object, cert: str = "registry.pem") -> Ran:
    return run(
        "federate", "--holders", "parties.toml", "--schema", "schema.json", "--cert", cert, *options
    )


def test_a_table_and_a_model(folder: Path) -> None:
    ran = federate("-o", "out.csv", "--model", "model.json", "--seed", 1)
    assert ran.status == 0, ran.err
    assert "Differentially private with epsilon = 1: adding or removing any one row" in ran.err
    assert (
        "Secure sums over 3 holders, of whom up to 0 may drop out: the guarantee holds against"
        in ran.err
    )
    assert ran.err.endswith("Synthetic table: out.csv\nModel: model.json\n")
    model = Model.load("model.json")
    assert read_table("out.csv").rows == model.rows
    assert abs(model.rows - 600) < 300
    assert model.method["federation"]["holders"] == 3
    assert run("show", "model.json").status == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--way", "statistics", "--degree", 1),
        ("--way", "voting"),
        ("--method", "independent", "--delta", 1e-6, "--colluders", 2),
        ("--structure", "tables"),
    ],
)
def test_ways_and_methods(folder: Path, options: tuple[object, ...]) -> None:
    ran = federate(*options, "--rows", 50)
    assert ran.status == 0, ran.err
    assert ran.out.startswith("age,smoker,ward\n")
    assert ran.out.count("\n") == 51


def test_models_of_all_holders(folder: Path) -> None:
    ran = federate("--way", "models", "-o", "merged.csv", "--model", "merged.json", "--quiet")
    assert (ran.status, ran.err) == (0, "")
    merged = MergedModels.load("merged.json")
    assert len(merged.models) == 3
    assert read_table("merged.csv").rows == merged.rows


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--rows", -1), "The number of rows must be a whole number from 0 to"),
        (("--seed", -1), "The seed must be a whole number at or above 0"),
        (("--patience", 0), "--patience must be a number of seconds above 0, not 0.0."),
        (("--epsilon", 0), "epsilon must be a finite number above 0"),
        (
            ("--degree", 2, "--method", "mst"),
            "--degree goes with the methods privbayes and correlated, not with mst.",
        ),
        (("-o", "schema.json"), "is not a kind of table that is known here"),
        (("--model", "parties.toml"), "parties.toml is named for two things at once"),
        (
            ("--way", "statistics", "--method", "mst"),
            "Structure comes from tables in the method privbayes only.",
        ),
        (
            ("--dropouts", 1),
            "Sums that are secure where 1 may drop out and 1 collude need 4 holders at least, and "
            "there are 3: ask "
            "more holders, or lower dropouts (each takes two) or colluders (each takes one).",
        ),
        (
            ("--colluders", 0),
            "fears that 1 of the others may collude, and the session guards against 0; ask with",
        ),
        (("--epsilon", 5000), "does not allow a release at epsilon 5000, delta 0"),
    ],
)
def test_mistakes_end_in_a_sentence(
    folder: Path, options: tuple[object, ...], sentence: str
) -> None:
    ran = federate(*options)
    assert (ran.status, ran.out) == (2, ""), ran
    assert ran.err.startswith("understudy: ")
    assert ran.err.count("\n") == 1
    assert sentence in ran.err


def test_a_stranger_is_not_answered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.federation.client.RECONNECTION_PAUSES", ())
    ran = federate(cert="stranger.pem")
    assert ran.status == 2
    assert (
        "hangs up without an answer; its owner's log, or list of [[analyst]]s, may say why"
        in ran.err
    )


def test_a_pinned_certificate_that_is_another_holders(folder: Path) -> None:
    text = (folder / "parties.toml").read_text()
    swapped = text.replace("north", "x").replace("south", "north").replace("x", "south")
    (folder / "swapped.toml").write_text(swapped)
    ran = run(
        "federate", "--holders", "swapped.toml", "--schema", "schema.json", "--cert", "registry.pem"
    )
    assert ran.status == 2
    assert (
        "shows another certificate than the one you pinned; compare fingerprints with its owner"
        in ran.err
    )


def test_without_the_extra_one_sentence_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.setattr(
        "understudy.cli.holder.find_spec", lambda name: None if name == "httpx" else name
    )
    assert federate().err == (
        "understudy: Many holders together need httpx; install it by `pip install "
        "understudy[federation]`.\n"
    )
