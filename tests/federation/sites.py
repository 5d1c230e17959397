"""Holders as real processes on this machine, and an analyst who asks them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from running import COMMAND
from understudy import LedgerFile
from understudy.federation.client import HttpLink
from understudy.federation.identity import Identity, Parties

SCHEMA: dict[str, Any] = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 79, "bins": 4},
        "sex": {"kind": "categorical", "values": ["f", "m"]},
        "smoker": {"kind": "boolean"},
        "ward": {"kind": "categorical", "values": ["eye", "heart", "lung"]},
    }
}


def patients(path: Path, rows: int, seed: int) -> None:
    """Made-up patients; smokers are found on the lung ward."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "sex", "smoker", "ward"])
        for _ in range(rows):
            smoker = rng.random() < 0.3
            ward = "lung" if smoker and rng.random() < 0.8 else ("eye", "heart")[rng.integers(2)]
            writer.writerow([rng.integers(80), "fm"[rng.integers(2)], str(smoker).lower(), ward])


@dataclass
class Site:
    """One holder's process, its files and its address."""

    folder: Path
    name: str
    process: subprocess.Popen[bytes] | None = None
    port: int = 0
    options: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=lambda: [str(COMMAND)])

    def start(self) -> None:
        """Start it; :meth:`wait` until it listens."""
        with (self.folder / f"{self.name}.err").open("wb") as said:
            self.process = subprocess.Popen(
                [
                    *self.command,
                    "holder",
                    "serve",
                    *self.options,
                    "--listen",
                    f"127.0.0.1:{self.port}",
                ],
                cwd=self.folder,
                stderr=said,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )

    def wait(self) -> None:
        assert self.process is not None
        while " listens at 127.0.0.1:" not in self.said:
            assert self.process.poll() is None, self.said
            time.sleep(0.02)
        self.port = int(self.said.partition(" listens at 127.0.0.1:")[2].split(" ")[0])

    @property
    def said(self) -> str:
        return (self.folder / f"{self.name}.err").read_text()

    def send(self, what: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(what)

    def stop(self, what: signal.Signals = signal.SIGTERM) -> int:
        """End the process and say how it ended."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)  # it may have been stopped
            self.process.send_signal(what)
        return self.process.wait()

    @property
    def releases(self) -> list[dict[str, Any]]:
        """What its ledger says."""
        releases: list[dict[str, Any]] = LedgerFile(self.folder / f"{self.name}.ledger").read()[
            "releases"
        ]
        return releases

    @property
    def log(self) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in (self.folder / f"{self.name}.log").read_text().splitlines()
        ]


class Town:
    """A folder with the files of several holders and an analyst."""

    def __init__(
        self, folder: Path, names: Sequence[str], rows: int = 300, allowance: float = 100.0
    ) -> None:
        self.folder = folder
        (folder / "schema.json").write_text(json.dumps(SCHEMA))
        self.identities = {
            name: Identity.new(name).save(folder / f"{name}.pem", folder / f"{name}.key")
            for name in (*names, "registry")
        }
        self.sites = {name: Site(folder, name) for name in names}
        for seed, (name, site) in enumerate(self.sites.items()):
            patients(folder / f"{name}.csv", rows, seed)
            site.options = [
                *("--table", f"{name}.csv", "--schema", "schema.json", "--cert", f"{name}.pem"),
                *(
                    "--peers",
                    "parties.toml",
                    "--allowance",
                    str(allowance),
                    "--delta",
                    "0.001",
                    "--colluders",
                    "0",
                ),
            ]
        self.write_parties()

    def write_parties(self) -> None:
        """The list of all parties, with the ports of those that listen already."""
        entries = [
            f'[[holder]]\nname = "{site.name}"\naddress = "127.0.0.1:{site.port or 9 + place}"\n'
            f'certificate = "{site.name}.pem"\n'
            for place, site in enumerate(self.sites.values())
        ]
        entries.append('[[analyst]]\nname = "registry"\ncertificate = "registry.pem"\n')
        (self.folder / "parties.toml").write_text("\n".join(entries))

    def start(self) -> None:
        for site in self.sites.values():
            site.start()
        for site in self.sites.values():
            site.wait()
        self.write_parties()

    def stop(self) -> None:
        for site in self.sites.values():
            if site.process is not None:
                site.stop(signal.SIGKILL)

    def links(self, patience: float = 60.0) -> list[HttpLink]:
        holders = Parties.load(self.folder / "parties.toml").holders
        return [HttpLink(holder, self.identities["registry"], patience) for holder in holders]
