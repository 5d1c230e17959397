"""The commands of the hub: accounts, the check of a trail, and a server as operators start it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner
from web_hubs import make_web_hub

from understudy.cli.commands import app
from understudy.hub.keys import make_keys, save_keys
from understudy.hub.opening import open_hub

RUN = CliRunner()


def run(*words: str) -> tuple[int, str]:
    result = RUN.invoke(app, ["hub", *words])
    return result.exit_code, result.output + str(result.exception or "")


@pytest.fixture
def place(tmp_path: Path) -> list[str]:
    """A hub on disk, and the options that name it."""
    keys = tmp_path / "keys"
    save_keys(make_keys(), keys)
    open_hub(tmp_path / "data", keys=keys, create=True).close()
    return ["--data", str(tmp_path / "data"), "--keys", str(keys)]


def test_accounts_are_added_listed_and_closed(place: list[str]) -> None:
    code, link = run("user", "add", "Bob@Example.org", "--display", "Bob", *place)
    assert code == 0
    assert re.search(r"/link/[\w-]{40,}$", link.strip())
    again, said = run("user", "add", "bob@example.org", *place)
    assert again != 0
    assert "taken" in said
    code, listed = run("user", "list", *place)
    assert "bob@example.org" in listed
    assert run("user", "close", "bob@example.org", *place)[0] == 0
    assert "closed" in run("user", "list", *place)[1]
    assert run("user", "link", "nobody", *place)[0] != 0
    assert "must be one of" in run("user", "remove", "bob", *place)[1]


def test_a_trail_is_checked_with_and_without_its_hub(place: list[str], tmp_path: Path) -> None:
    from understudy.hub import trail

    run("user", "add", "bob", *place)
    code, said = run("verify", *place)
    assert code == 0
    assert "every signature" in said
    hub = open_hub(Path(place[1]), keys=Path(place[3]))
    with hub.db.reading() as c:
        export = trail.export(c)
    hub.close()
    path = tmp_path / "trail.json"
    path.write_text(json.dumps(export))
    assert run("verify", str(path))[0] == 0
    export["entries"][0]["action"] = "something else"
    path.write_text(json.dumps(export))
    code, said = run("verify", str(path))
    assert code == 1
    assert "changed" in said
    path.write_text("{}")
    code, said = run("verify", str(path))
    assert code not in (0, 1) or "not the export" in said
    assert "either" in run("verify")[1]


def test_a_hub_is_not_opened_for_all_without_a_word(tmp_path: Path) -> None:
    code, said = run("serve", "--data", str(tmp_path / "x"), "--address", "hub.example.org")
    assert code != 0
    assert "must begin with" in said


def test_a_port_that_is_taken_is_told_at_once(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, said = run("demo", "--port", port)
        keys = str(tmp_path / "keys")
        served = run("serve", "--port", port, "--data", str(tmp_path / "hub"), "--keys", keys)
    assert code != 0
    assert "choose another --port" in said
    assert served[0] != 0
    assert "choose another --port" in served[1]
    assert not (tmp_path / "hub").exists()
    assert not (tmp_path / "keys").exists()


@pytest.mark.thorough
def test_a_hub_starts_prints_its_first_link_and_ends(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "understudy", "hub", "serve", "--port", str(port)]
    command += ["--data", str(tmp_path / "data"), "--keys", str(tmp_path / "keys")]
    log = tmp_path / "log"
    with log.open("w") as file:
        server = subprocess.Popen(command, stderr=file, env=dict(os.environ))
    try:
        for _ in range(600):
            if "Ctrl-C" in log.read_text():
                break
            time.sleep(0.1)
        link = re.search(r"http://127.0.0.1:\d+/link/[\w-]+", log.read_text())
        assert link is not None
        assert httpx.get(link.group(0)).status_code == 200
        assert httpx.get(f"http://127.0.0.1:{port}/health").json() == {"status": "ok"}
        shown = httpx.get(f"http://127.0.0.1:{port}/link/notasecret{'x' * 30}")
        assert shown.status_code == 404
    finally:
        server.terminate()
        assert server.wait(timeout=30) is not None
    assert "notasecret" not in log.read_text()


@pytest.mark.thorough
def test_the_demo_has_requests_in_every_state(tmp_path: Path) -> None:
    import sqlalchemy as sa
    from web_hubs import CHEAP

    from understudy.hub.demo import make_demo
    from understudy.hub.passwords import Passwords
    from understudy.hub.tables import jobs, requests

    said: list[str] = []
    demo = make_demo(tmp_path / "demo", said.append, Passwords(CHEAP))
    with demo.hub.db.reading() as c:
        asked = {row["state"] for row in c.rows(sa.select(requests.c.state))}
        worked = {row["state"] for row in c.rows(sa.select(jobs.c.state))}
    assert asked == {"waiting", "approved", "refused", "withdrawn"}
    assert worked >= {"running", "done", "failed", "interrupted", "cancelled"}
    demo.hub.close()


def test_an_empty_hub_says_what_to_do(tmp_path: Path) -> None:
    web = make_web_hub(tmp_path / "hub")
    assert "one-time link" in web.client().get("/signin").text
    web.add("ada", administrator=True)
    ada = web.client("ada")
    for path, words in (
        ("/datasets", "Register a data set"),
        ("/requests", "Find a data set in the catalogue"),
        ("/mine", "Register one"),
        ("/algorithms", "offer it below"),
        ("/users", "Add an account"),
    ):
        assert words in ada.get(path).text, path
    web.site.opened.close()
