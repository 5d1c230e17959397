"""Holders as processes on this machine: how long a release takes, and how long a round.

    python benchmarks/federation_processes.py [--data ../shared/data] [--holders 5] [--repeats 5]

Adult's 45,222 complete rows are dealt out evenly to the holders, each of which is ``understudy
holder serve`` with TLS, a ledger and a log; the release is ``understudy federate``, from its start
to its end, the start of Python included. A round is one securely summed question for 100 tables of
1000 cells. Wall seconds, since processes wait for each other; the load of the machine stands beside
them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich.console import Console

from understudy import PrivBayes, Schema, Table
from understudy.data.encoding import Coded, encode
from understudy.data.marginals import Marginal, marginal
from understudy.data.tables import Column, read_table
from understudy.evaluation.marginals import marginals_of_order, total_variation
from understudy.federation.analyst import Federation, Session
from understudy.federation.client import HttpLink
from understudy.federation.identity import Identity, Parties
from understudy.privacy.wire import pack_marginals

sys.path.append(str(Path(__file__).resolve().parents[1] / "studies"))

from published import published

COMMAND = Path(sys.executable).with_name("understudy")
WAYS: dict[str, list[str]] = {
    "secure": ["--colluders", "0"],
    "secure, 1 may drop out": ["--colluders", "0", "--dropouts", "1"],
    "secure, 1 may collude": ["--colluders", "1"],
    "secure, delta 1e-9": ["--colluders", "0", "--delta", "1e-9"],
    "statistics": ["--way", "statistics"],
    "voting": ["--way", "voting"],
    "models": ["--way", "models"],
}
TABLES, CELLS = 100, 1000
RELEASE_TARGET, ROUND_TARGET = 20.0, 1.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="where the published tables lie"
    )
    parser.add_argument("--holders", type=int, default=5, help="how many processes hold rows")
    parser.add_argument(
        "--repeats", type=int, default=5, help="runs that figures are the median of"
    )
    parser.add_argument(
        "--only", nargs="+", choices=("releases", "rounds"), default=("releases", "rounds")
    )
    parser.add_argument(
        "--ways", nargs="+", choices=tuple(WAYS), default=tuple(WAYS), help="which releases to time"
    )
    arguments = parser.parse_args()
    say = Console(highlight=False, soft_wrap=True)
    for name in arguments.only:
        measure: Callable[[argparse.Namespace, Console], None] = {
            "releases": releases,
            "rounds": rounds,
        }[name]
        measure(arguments, say)


def releases(arguments: argparse.Namespace, say: Console) -> None:
    """``understudy federate`` on Adult, every way; the error of three-way tables beside it."""
    table, schema = published("adult", arguments.data)
    real = encode(table, schema)
    three_way = marginals_of_order(real.schema, 3, 600)
    with town(table, schema, arguments.holders) as folder:
        central = [
            _error(real, PrivBayes(epsilon=1.0).fit(table, schema).sample(table.rows), three_way)
        ]
        say.print(f"central, in this process: error {central[0]:.4f} (one run)")
        for way in arguments.ways:
            seconds, errors = [], []
            for _ in range(arguments.repeats):
                started = time.perf_counter()
                subprocess.run(
                    [
                        *(
                            COMMAND,
                            "federate",
                            "--holders",
                            "parties.toml",
                            "--schema",
                            "schema.json",
                        ),
                        *(
                            "--cert",
                            "analyst.pem",
                            "--rows",
                            str(table.rows),
                            "-q",
                            "-o",
                            "out.csv",
                            *WAYS[way],
                        ),
                    ],
                    cwd=folder,
                    check=True,
                )
                seconds.append(time.perf_counter() - started)
                errors.append(_error(real, read_table(folder / "out.csv"), three_way))
            target = f" (target {RELEASE_TARGET:g})" if way == "secure" else ""
            say.print(
                f"{way}, {arguments.holders} holders: {statistics.median(seconds):.2f} s{target}, "
                "worst "
                f"{max(seconds):.2f}; error {statistics.fmean(errors):.4f}; load "
                f"{os.getloadavg()[0]:.1f}"
            )


def _error(real: Coded, synthetic: Table, three_way: Sequence[Marginal]) -> float:
    return statistics.fmean(total_variation(real, encode(synthetic, real.schema), three_way))


def rounds(arguments: argparse.Namespace, say: Console) -> None:
    """One secure sum over 100 tables of 1000 cells."""
    names = [f"a{i}" for i in range(10)]
    ten = {"kind": "categorical", "values": [str(value) for value in range(10)]}
    schema = Schema.from_dict({"attributes": dict.fromkeys(names, ten)})
    rng = np.random.default_rng(1)
    values = tuple(str(value) for value in range(10))
    table = Table(
        {
            name: Column("text", rng.integers(0, 10, 50_000).astype(np.uint8), values)
            for name in names
        }
    )
    asked = [
        marginal(*group) for group in itertools.islice(itertools.combinations(names, 3), TABLES)
    ]
    about, arrays = pack_marginals(asked)
    with town(table, schema, arguments.holders) as folder:
        identity = Identity.load(folder / "analyst.pem", folder / "analyst.key")
        links = [
            HttpLink(holder, identity) for holder in Parties.load(folder / "parties.toml").holders
        ]
        for dropouts in (0, 1):
            with Federation(links) as federation:
                session = federation.open(
                    schema, "secure", epsilon=100.0, dropouts=dropouts, colluders=0
                )
                seconds = [_timed(session, about, arrays) for _ in range(arguments.repeats + 1)][1:]
                session.close()
            say.print(
                f"round of {TABLES} tables of {CELLS} cells, {arguments.holders} holders, "
                f"{dropouts} may drop out: "
                f"{statistics.median(seconds):.3f} s (target {ROUND_TARGET:g}), worst "
                f"{max(seconds):.3f}; load "
                f"{os.getloadavg()[0]:.1f}"
            )


def _timed(session: Session, about: list[str], arrays: dict[str, np.ndarray]) -> float:
    started = time.perf_counter()
    session.add_up("tables", TABLES * CELLS, {"names": about, "amount": 1.0}, arrays)
    return time.perf_counter() - started


@contextmanager
def town(table: Table, schema: Schema, holders: int) -> Iterator[Path]:
    """A folder with the files of all parties, the holders at work."""
    names = [f"holder{place}" for place in range(holders)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        schema.save(folder / "schema.json")
        for name in (*names, "analyst"):
            Identity.new(name).save(folder / f"{name}.pem", folder / f"{name}.key")
        order = np.random.default_rng(1).permutation(table.rows)
        for name, rows in zip(names, np.array_split(order, holders), strict=True):
            _some(table, rows).write(folder / f"{name}.csv")
        write_parties(folder, dict.fromkeys(names, 9))
        processes = {name: started(folder, name) for name in names}
        try:
            write_parties(
                folder,
                {
                    name: _port(folder / f"{name}.err", process)
                    for name, process in processes.items()
                },
            )
            yield folder
        finally:
            for process in processes.values():
                process.terminate()
            for process in processes.values():
                process.wait()


def _some(table: Table, rows: np.ndarray) -> Table:
    columns = {
        name: Column(column.kind, column.values[rows], column.words)
        for name, column in table.columns.items()
    }
    return Table(columns)


def write_parties(folder: Path, ports: dict[str, int]) -> None:
    entries = [
        f'[[holder]]\nname = "{name}"\naddress = "127.0.0.1:{port + (place if port == 9 else 0)}"\n'
        f'certificate = "{name}.pem"\n'
        for place, (name, port) in enumerate(ports.items())
    ]
    analyst = '[[analyst]]\nname = "analyst"\ncertificate = "analyst.pem"\n'
    (folder / "parties.toml").write_text("\n".join([*entries, analyst]))


def started(folder: Path, name: str) -> subprocess.Popen[bytes]:
    options = [
        "--table",
        f"{name}.csv",
        "--schema",
        "schema.json",
        "--cert",
        f"{name}.pem",
        "--peers",
        "parties.toml",
    ]
    allowance = [
        "--allowance",
        "10000",
        "--delta",
        "0.01",
        "--colluders",
        "0",
        "--listen",
        "127.0.0.1:0",
    ]
    with (folder / f"{name}.err").open("wb") as said:
        return subprocess.Popen(
            [COMMAND, "holder", "serve", *options, *allowance], cwd=folder, stderr=said
        )


def _port(said: Path, process: subprocess.Popen[bytes]) -> int:
    while " listens at 127.0.0.1:" not in said.read_text():
        if process.poll() is not None:
            raise SystemExit(said.read_text())
        time.sleep(0.05)
    return int(said.read_text().partition(" listens at 127.0.0.1:")[2].split(" ")[0])


if __name__ == "__main__":
    main()
