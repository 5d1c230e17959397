"""What a command costs before it does anything: CPU seconds of small commands in fresh processes.

    python benchmarks/start_up.py [--runs N] [--imports]

A table of 100 rows and five columns is synthesized with an empty folder for compiled code (cold)
and again with the same one (warm); then come commands that read the model. Printed is the median of
the user and system time of the process, and which large packages it loaded. ``--imports`` prints
instead what was imported longest, by ``python -X importtime``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

COMMANDS = {
    "--help": "--help",
    "synthesize, cold": "synthesize t.csv --epsilon 100 --keep-going -o out.csv --quiet",
    "synthesize, warm": "synthesize t.csv --epsilon 100 --keep-going -o out.csv --model m.json -q",
    "privbayes, cold": "synthesize t.csv --method privbayes --epsilon 100 --keep-going -o out.csv "
    "--quiet",
    "show": "show m.json",
    "sample": "sample m.json --rows 100 -o more.csv --quiet",
    "plan": "plan --schema s.json --rows 100",
}

LARGE = ("numpy", "duckdb", "opendp", "numba", "scipy", "sklearn", "pandas", "pyarrow", "polars")

PROGRAM = """
import json, sys
from understudy.cli import main
try:
    main()
finally:
    with open("modules.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each command")
    parser.add_argument("--imports", action="store_true", help="what was imported longest")
    arguments = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _write_table(place)
        for name, command in COMMANDS.items():
            words = command.split()
            if arguments.imports:
                print(f"{name}:\n{_imports(place, words)}", flush=True)
                continue
            cold = name.endswith("cold")
            caches = [place / f"{name}-{run if cold else 0}" for run in range(arguments.runs)]
            if not cold:
                _cpu_seconds(place, words, caches[0])
            used = [_cpu_seconds(place, words, cache) for cache in caches]
            loaded = set(json.loads((place / "modules.json").read_text()))
            large = ", ".join(package for package in LARGE if package in loaded)
            print(f"{name:<18} {statistics.median(used):5.2f} s   {large}", flush=True)


def _write_table(folder: Path) -> None:
    rng = random.Random(1)
    lines = ["age,sex,income,city,seen"]
    for _ in range(100):
        city, month = rng.choice(["York", "Leeds", "Hull"]), rng.randint(1, 12)
        income = round(rng.lognormvariate(10, 1), 2)
        lines.append(f"{rng.randint(18, 90)},{rng.choice('mf')},{income},{city},2020-{month:02}-15")
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    age = {"kind": "integer", "min": 0, "max": 120}
    (folder / "s.json").write_text(json.dumps({"attributes": {"age": age}}), encoding="utf-8")


def _cpu_seconds(folder: Path, words: Sequence[str], cache: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=folder,
        env=_environment(cache),
        capture_output=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _imports(folder: Path, words: Sequence[str]) -> str:
    """Milliseconds by package, the largest first."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", PROGRAM, *words],
        cwd=folder,
        env=_environment(folder / "cache"),
        capture_output=True,
        text=True,
        check=True,
    )
    spent: Counter[str] = Counter()
    for line in ran.stderr.splitlines():
        parts = line.removeprefix("import time:").split("|")
        if len(parts) == 3 and parts[0].strip().isdecimal():
            spent[parts[2].strip().split(".")[0]] += int(parts[0])
    lines = [f"{sum(spent.values()) / 1000:8.0f} ms in all"]
    lines += [f"{used / 1000:8.0f} ms {package}" for package, used in spent.most_common(8)]
    return "\n".join(lines)


def _environment(cache: Path) -> dict[str, str]:
    """With bytecode, as an installed package has it, but compiled code where it is told."""
    given = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**given, "NUMBA_CACHE_DIR": str(cache)}


if __name__ == "__main__":
    main()
