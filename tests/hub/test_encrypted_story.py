"""Owners, the hub and the crypto service as processes, from certificates to a released table."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from web_hubs import make_web_hub

from running import run
from understudy.data.schema import Schema
from understudy.hub.client import Client
from understudy.hub.errors import Conflict
from understudy.hub.keys import save_keys
from understudy.privacy.ledger import LedgerFile

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "sex": {"kind": "categorical", "values": ["f", "m"]},
            "ward": {"kind": "categorical", "values": ["eye", "heart", "lung"]},
        }
    }
)
OWNERS = ("north", "south")
WARDS = ("eye", "heart", "lung")
PARTIES = """
[[owner]]
name = "north"
certificate = "north.pem"

[[owner]]
name = "south"
certificate = "south.pem"

[[service]]
name = "service"
address = "127.0.0.1:{port}"
certificate = "service.pem"

[[analyst]]
name = "hub"
certificate = "hub.pem"
"""
SETTINGS = """
[aggregator]
certificate = "hub.pem"
key = "hub.key"

[services.service]
address = "127.0.0.1:{port}"
certificate = "service.pem"
"""


def find_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def start(folder: Path, *arguments: Any, said: str) -> subprocess.Popen[bytes]:
    """A process that has said that it listens."""
    command = [sys.executable, "-m", "understudy", *map(str, arguments)]
    log = folder / f"{arguments[0]}-{arguments[1]}.txt"
    with log.open("wb") as file:
        process = subprocess.Popen(command, stderr=file, cwd=folder, env=dict(os.environ))
    until = time.monotonic() + 120
    while said not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)
    return process


def call(*arguments: Any) -> None:
    ran = run(*arguments)
    assert ran.status == 0, ran.err


@pytest.mark.thorough
def test_owners_hub_and_service_as_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two owners encrypt, deliver and are gone; a user asks the hub; the service dies and comes
    back.
    """
    monkeypatch.chdir(tmp_path)
    port, web = find_port(), find_port()
    for name in (*OWNERS, "hub", "service"):
        call("holder", "cert", name)
    call("csp", "key", "tables")
    (tmp_path / "parties.toml").write_text(PARTIES.format(port=port))
    (tmp_path / "worker.toml").write_text(SETTINGS.format(port=port))
    SCHEMA.save(tmp_path / "schema.json")
    call(
        *("csp", "plan", "--schema", "schema.json", "--public-key", "tables.json"),
        *("--peers", "parties.toml", "--allowance", 2, "--max-rows", 10_000, "-o", "plan.json"),
    )
    rng = np.random.default_rng(0)
    for name in OWNERS:
        lines = [f"{'fm'[a]},{WARDS[b]}" for a, b in rng.integers(0, 2, (400, 2))]
        Path(f"{name}.csv").write_text("sex,ward\n" + "\n".join(lines) + "\n")
    made = make_web_hub(tmp_path / "data")
    made.add("olga", "uma")
    dataset = made.register(
        "olga",
        ("uma",),
        standing=True,
        schema=SCHEMA.to_dict(),
        mode="encrypted",
        epsilon=2.0,
        delta=0.0,
    ).id
    for name in ("olga", "uma"):
        made.api(name)
    hub = made.site.opened
    save_keys(hub.keys, tmp_path / "keys")
    hub.close()
    address = f"http://127.0.0.1:{web}"
    at = ("--dataset", dataset, "--address", address)
    serving = ("csp", "serve", "--plan", "plan.json", "--private-key", "tables.secret")
    serving += ("--cert", "service.pem", "--peers", "parties.toml", "--listen", f"127.0.0.1:{port}")
    running = [
        start(
            tmp_path,
            *("hub", "serve", "--data", "data", "--keys", "keys", "--port", web),
            *("--sources", "worker.toml"),
            said="The hub is open",
        )
    ]
    try:
        monkeypatch.setenv("UNDERSTUDY_HUB_TOKEN", made.tokens["olga"])
        call("hub", "collect", "--plan", "plan.json", "--peers", "parties.toml", *at)
        monkeypatch.setenv("UNDERSTUDY_HUB_TOKEN", made.tokens["uma"])
        for name in OWNERS:
            given = ("--plan", "plan.json", "--cert", f"{name}.pem", "--ledger", f"{name}.ledger")
            LedgerFile.create(tmp_path / f"{name}.ledger", 2.0, 0.0)
            call("csp", "encrypt", f"{name}.csv", *given, "-o", f"upload-{name}.json")
            call("hub", "deliver", f"upload-{name}.json", *at)
            Path(f"{name}.csv").unlink()
        with Client(address) as user:
            asked = user.synthesise(dataset, epsilon=0.5, reason="a paper", method="mst")
            with pytest.raises(Conflict, match="cannot be reached"):
                user.wait(asked["id"], 120, 0.2)
            running.append(start(tmp_path, *serving, said="listens"))
            asked = user.synthesise(dataset, epsilon=0.5, reason="a paper", method="mst")
            released = user.wait(asked["id"], 120, 0.2)
            path = user.download(released["id"], "synthetic.csv", tmp_path / "synthetic.csv")
            assert len(path.read_text().splitlines()) == pytest.approx(800, abs=300)
            running[1].kill()
            running[1].wait()
            running[1] = start(tmp_path, *serving, said="listens")
            more = user.synthesise(dataset, epsilon=1.0, reason="another", method="independent")
            user.wait(more["id"], 120, 0.2)
            left = user.dataset(dataset)["left"]["epsilon"]
        assert float(left) == pytest.approx(0.5)
        assert LedgerFile(tmp_path / "plan.ledger").left()[0] == pytest.approx(0.5)
        told = [json.loads(line) for line in (tmp_path / "plan.log").read_text().splitlines()]
        assert {"open", "ask", "close"} <= {line.get("asked") for line in told}
    finally:
        for process in running:
            process.terminate()
            process.wait(timeout=20)
