"""A worker of the hub, as a process, that computes on Spark by URL."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from agent_hubs import make_site, write_rows

from conftest import load_servers
from understudy import read_table
from understudy.hub.keys import VARIABLE, write_keys

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        shutil.which("java") is None or importlib.util.find_spec("pyspark") is None,
        reason="Java or pyspark are not installed",
    ),
]


def test_rows_on_a_cluster_are_computed_where_they_are(tmp_path: Path) -> None:
    servers = load_servers()
    site = make_site(tmp_path, mode="stored", source="warehouse")
    read_table(write_rows(tmp_path / "rows.csv", 2000)).write(tmp_path / "rows.parquet")
    synthesis, question = site.submit(), site.submit("ask", questions=["count where sick = 'yes'"])
    environment = servers.spark_environment(tmp_path) | {VARIABLE: write_keys(site.hub.keys)}
    with servers.spark_master(tmp_path) as master:
        url = f"{master}?table=parquet.`{tmp_path}/rows.parquet`"
        (tmp_path / "sources.toml").write_text(f"[sources]\nwarehouse = '{url}'\n")
        command = [sys.executable, "-m", "understudy", "hub", "worker"]
        command += ["--data", str(site.hub.folder), "--sources", str(tmp_path / "sources.toml")]
        with (tmp_path / "worker.out").open("wb") as output:
            worker = subprocess.Popen(
                command, env=environment, stdout=output, stderr=output, start_new_session=True
            )
            try:
                end = time.monotonic() + 1200
                while site.job(question).state in ("queued", "running"):
                    assert time.monotonic() < end, (tmp_path / "worker.out").read_text()
                    time.sleep(0.2)
            finally:
                os.killpg(worker.pid, signal.SIGKILL)  # with the Java beside it
                worker.wait()
    log = (site.hub.folder / "worker.log").read_text()
    assert site.job(synthesis).state == "done", log
    assert site.job(question).state == "done", log
    release = site.release(question)
    assert release is not None
    [answer] = release.summary["answers"]
    assert abs(answer["answers"][0]["value"] - 667) < 100, (
        "as many as there are, give or take noise"
    )
    assert "parquet" not in log, "where the rows are is the operator's business"
