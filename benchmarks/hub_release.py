"""From a request to the released table: Adult, at an agent, approved by a standing rule.

    python benchmarks/hub_release.py [--data ../shared/data] [--repeats 3] [--method adaptive]

Hub and agent are processes of their own on this machine, and speak HTTP. The time is from sending
the request to having downloaded the synthetic table, by the clock, since processes wait for each
other; the load of the machine stands beside it. The schema is made from the table's own values
here, which a real owner would take from a codebook.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx

sys.path.append(str(Path(__file__).resolve().parent))

from hub_site import People, Place, add_agent, add_people, ended, make_place
from understudy.data.tables import read_table

TARGET = 15.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--method", default="adaptive")
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    rows = options.data / "adult.csv"
    with tempfile.TemporaryDirectory() as folder:
        place = make_place(Path(folder))
        hub = place.open()
        people = add_people(hub)
        schema = describe(rows)
        dataset = add_agent(place, hub, people, rows, schema, 100.0)
        hub.close()
        processes = place.start("hub"), place.start("agent")
        with ended(*processes):
            place.wait_for_hub()
            wait_for_agent(place, dataset)
            before = cpu_seconds(processes)
            spec = {"epsilon": options.epsilon, "method": options.method}
            seconds = [
                release(place, people, dataset, spec, f"release-{number}")
                for number in range(options.repeats)
            ]
            busy = (cpu_seconds(processes) - before) / options.repeats
    load = os.getloadavg()[0]
    shown = ", ".join(f"{one:.1f}" for one in seconds)
    print(f"request to released table, {options.method}: {shown} s (load {load:.1f})")
    print(f"of the processor, hub and agent together: {busy:.1f} s per release")
    middle = statistics.median(seconds)
    print(f"median {middle:.1f} s, to reach {TARGET:g} s: {middle / TARGET:.2f} of it")


def cpu_seconds(processes: Iterable[subprocess.Popen[bytes]]) -> float:
    """What processes have used of the processor."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def describe(path: Path) -> dict[str, Any]:
    """A schema of the table."""
    table = read_table(path)
    attributes: dict[str, Any] = {}
    for name, column in table.columns.items():
        if column.kind == "text":
            attributes[name] = {"kind": "categorical", "values": sorted(column.words)}
        else:
            low, high = int(column.values.min()), int(column.values.max())
            attributes[name] = {"kind": "integer", "min": low, "max": high}
        if column.missing is not None and column.missing.any():
            attributes[name]["missing"] = True
    return {"attributes": attributes}


def wait_for_agent(place: Place, dataset: str) -> None:
    """Until the agent was heard of at the hub."""
    from understudy.hub.tables import agents

    hub = place.open()
    try:
        for _ in range(6000):
            with hub.db.reading() as c:
                if c.value(agents.select().with_only_columns(agents.c.seen_at)) is not None:
                    return
            time.sleep(0.01)
    finally:
        hub.close()
    raise SystemExit("the agent was not heard of")


def release(place: Place, people: People, dataset: str, spec: dict[str, Any], key: str) -> float:
    """Seconds from the request to the table."""
    headers = {"authorization": f"Bearer {people.token}"}
    with httpx.Client(base_url=f"{place.url}/api/v1", headers=headers, timeout=60) as client:
        begin = time.perf_counter()
        sent = client.post(
            f"/datasets/{dataset}/requests",
            json={"operation": "synthesise", "spec": spec, "reason": "benchmark", "key": key},
        )
        sent.raise_for_status()
        request = sent.json()["id"]
        while True:
            found = client.get(f"/requests/{request}").json()
            job = found.get("job") or {}
            if job.get("state") == "done":
                break
            if job.get("state") not in ("queued", "running"):
                raise SystemExit(f"the job ended otherwise: {found}")
            time.sleep(0.1)
        listed = client.get(f"/datasets/{dataset}/releases").json()
        newest = listed["items"][0]["id"]
        table = client.get(f"/releases/{newest}/files/synthetic.csv")
        table.raise_for_status()
        assert table.text.count("\n") > 40_000
        return time.perf_counter() - begin


if __name__ == "__main__":
    main()
