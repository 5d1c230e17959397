"""A PostgreSQL server for tests: on loopback, with a data folder of its own."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

USER = "owner"


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server on loopback."""

    port: int

    def url(self, table: str = "", user: str = USER) -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/postgres" + (
            f"?table={table}" if table else ""
        )

    def connect(self, **options: Any) -> Any:
        import psycopg

        return psycopg.connect(self.url(), autocommit=True, **options)


@contextlib.contextmanager
def running(programs: Path) -> Iterator[Server]:
    """A server that is stopped, and whose folder is gone, at the end."""
    folder = Path(tempfile.mkdtemp(prefix="understudy-postgres-"))
    folder.chmod(0o755)
    port = _free_port()
    prefix = _as_somebody(folder)
    options = (
        f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    )
    try:
        _run(
            [
                *prefix,
                programs / "initdb",
                "-D",
                folder / "data",
                "-A",
                "trust",
                "-U",
                USER,
                "--no-sync",
            ]
        )
        _run(
            [
                *prefix,
                programs / "pg_ctl",
                "-D",
                folder / "data",
                "-w",
                "-l",
                folder / "log",
                "-o",
                options,
                "start",
            ]
        )
        try:
            yield Server(port)
        finally:
            _run([*prefix, programs / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def postgres_programs() -> Path | None:
    """The folder of PostgreSQL's programs, if they are installed."""
    found = shutil.which("initdb")
    folders = (
        [Path(found).parent]
        if found
        else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    )
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def _as_somebody(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as root: then somebody else starts it, and owns the folder."""
    if os.geteuid() != 0:
        return []
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            somebody = pwd.getpwnam(name)
            os.chown(folder, somebody.pw_uid, somebody.pw_gid)
            return ["runuser", "-u", name, "--"]
    pytest.skip("PostgreSQL does not run as root, and there is no other user")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(command: list[Any]) -> None:
    # Output goes to a file: a server that inherits a pipe would keep it open.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            [str(part) for part in command], stdout=output, stderr=output, cwd="/", check=False
        )
        output.seek(0)
        assert done.returncode == 0, output.read().decode()


# --------------------------------------------------------------------------- Spark


QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For programs in Java that run for seconds: compiling them well takes longer."""


@contextlib.contextmanager
def spark_master(folder: Path) -> Iterator[str]:
    """A standalone Spark master and a worker, processes of their own on loopback; its URL."""
    port = _free_port()
    url = f"spark://127.0.0.1:{port}"
    environment = os.environ | {
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
    }
    master = ["master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", 0]
    worker = [
        "worker.Worker",
        "--host",
        "127.0.0.1",
        "--webui-port",
        0,
        "--cores",
        1,
        "--memory",
        "1g",
        url,
    ]
    with contextlib.ExitStack() as stack:
        log = stack.enter_context((folder / "log").open("wb"))
        for command in (master, worker):
            words = [_spark_class(), *(str(word) for word in command)]
            words[1] = f"org.apache.spark.deploy.{words[1]}"
            started = subprocess.Popen(words, stdout=log, stderr=log, env=environment, cwd=folder)
            stack.callback(_ended, started)
        yield url


def spark_environment(folder: Path) -> dict[str, str]:
    """The environment of a process that computes on the master, with settings for small tables."""
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": QUICK,
        "spark.executor.memory": "512m",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.ui.enabled": "false",
    }
    (folder / "conf").mkdir()
    lines = "".join(f"{name} {value}\n" for name, value in settings.items())
    (folder / "conf" / "spark-defaults.conf").write_text(lines)
    return os.environ | {
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }


def _spark_class() -> str:
    import pyspark

    return str(Path(pyspark.__file__).parent / "bin" / "spark-class")


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
