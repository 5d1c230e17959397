"""``understudy holder``: certificates, and what is said when a holder cannot be started."""

from __future__ import annotations

import csv
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from running import Ran, run
from understudy import LedgerFile

SCHEMA: dict[str, Any] = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 89, "bins": 9},
        "smoker": {"kind": "boolean"},
        "ward": {"kind": "categorical", "values": ["eye", "heart"]},
    }
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: rows, a schema, certificates of two holders and an analyst, and the list
    of them.
    """
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "north.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "smoker", "ward"])
        rows.writerows(
            [i % 90, str(i % 3 == 0).lower(), ("eye", "heart")[i % 2]] for i in range(60)
        )
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    for name in ("north", "south", "registry"):
        assert run("holder", "cert", name).status == 0
    (tmp_path / "parties.toml").write_text(
        '[[holder]]\nname = "north"\naddress = "127.0.0.1:8443"\ncertificate = "north.pem"\n'
        '[[holder]]\nname = "south"\naddress = "127.0.0.1:8444"\ncertificate = "south.pem"\n'
        '[[analyst]]\nname = "registry"\ncertificate = "registry.pem"\n'
    )
    return tmp_path


def serve(**changed: object) -> Ran:
    options: dict[str, object] = {
        "table": "north.csv",
        "schema": "schema.json",
        "allowance": 2,
        "cert": "north.pem",
        "peers": "parties.toml",
        "listen": "127.0.0.1:0",
        **changed,
    }
    given = [
        part
        for name, value in options.items()
        if value is not None
        for part in (f"--{name}", value)
    ]
    return run("holder", "serve", *given)


def test_a_certificate_and_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("holder", "cert", "north", "--days", 30)
    assert ran.status == 0
    assert "Certificate: north.pem. Send it to everybody who takes part." in ran.err
    assert "never send it to anybody" in ran.err
    assert (tmp_path / "north.key").stat().st_mode & 0o777 == 0o600
    again = run("holder", "cert", "north")
    assert (again.status, again.err) == (
        2,
        "understudy: There is a file at north.key already; it is never overwritten: choose another "
        "name.\n",
    )
    (tmp_path / "elsewhere").mkdir()
    assert run("holder", "cert", "north", "--folder", "elsewhere", "-q").err == ""
    assert run("holder", "cert", "no/where").status == 2


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"table": "south.csv"}, "There is no table at south.csv; check the name."),
        ({"schema": "s.json"}, "There is no schema at s.json; check the name."),
        ({"cert": "west.pem"}, "There is no certificate at west.pem; check the name."),
        (
            {"key": "south.key"},
            "The key south.key does not belong to the certificate north.pem; name the pair.",
        ),
        (
            {"key": "north.csv"},
            "north.csv is named for two things at once; give each file a name of its own.",
        ),
        ({"peers": "p.toml"}, "There is no list of parties at p.toml; check the name."),
        ({"listen": "8443"}, "--listen must be host:port, such as 127.0.0.1:8443, not '8443'."),
        ({"session-share": 2}, "--session-share must be a number above 0 and at most 1, not 2.0."),
        ({"analyst-share": 0}, "--analyst-share must be a number above 0 and at most 1, not 0.0."),
        ({"allowance": 0}, "epsilon must be a finite number above 0"),
        (
            {"allowance": None},
            "There is no ledger at north.ledger yet; start it by --allowance EPSILON.",
        ),
        (
            {"cert": "registry.pem"},
            "parties.toml does not name the holder registry, whose certificate this is; add it.",
        ),
    ],
)
def test_what_keeps_a_holder_from_starting(
    folder: Path, changed: dict[str, object], sentence: str
) -> None:
    ran = serve(**changed)
    assert ran.status == 2, ran
    assert ran.err.startswith("understudy: ")
    assert sentence.removesuffix(".") in ran.err
    assert not (folder / "north.ledger").exists()


def test_a_key_that_others_can_read(folder: Path) -> None:
    (folder / "north.key").chmod(0o644)
    assert "can be read by others; take it away from them: chmod 600 north.key" in serve().err


def test_a_list_that_pins_another_certificate(folder: Path) -> None:
    (folder / "north.pem").rename("old.pem")
    (folder / "north.key").rename("old.key")
    run("holder", "cert", "north")
    text = (folder / "parties.toml").read_text()
    (folder / "parties.toml").write_text(text.replace("north.pem", "old.pem"))
    assert "parties.toml has another certificate for north than the one of --cert" in serve().err
    (folder / "parties.toml").write_text(text.partition("[[analyst]]")[0])
    assert "names no analyst whom to answer; add one under [[analyst]]" in serve().err


def test_a_port_that_is_taken(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        assert f"{address} is taken by another process" in serve(listen=address).err


def test_a_schema_that_does_not_fit(folder: Path) -> None:
    other = {
        "attributes": {**SCHEMA["attributes"], "weight": {"kind": "real", "min": 0, "max": 200}}
    }
    (folder / "schema.json").write_text(json.dumps(other))
    assert "has no column 'weight', which the schema describes" in serve().err


def test_a_ledger_keeps_the_allowance_that_it_was_started_with(folder: Path) -> None:
    LedgerFile.create("north.ledger", 3.0)
    ran = serve()
    assert ran.status == 2
    assert (
        "was started with epsilon 3, delta 0 and neighbours add_remove, which stays so" in ran.err
    )
    (folder / "north.ledger").write_text("{}")
    assert "is damaged" in serve(allowance=None).err


def test_without_the_extra_one_sentence_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setattr(
        "understudy.cli.holder.find_spec", lambda name: None if name == "uvicorn" else name
    )
    sentence = (
        "understudy: Many holders together need uvicorn; install it by `pip install "
        "understudy[federation]`.\n"
    )
    assert serve().err == sentence
    assert run("holder", "cert", "west").err == sentence


def test_the_core_install_offers_the_commands_without_loading_the_extra() -> None:
    script = (
        "import sys, understudy.cli\n"
        "sys.argv = ['understudy', 'holder', '--help']\n"
        "try: understudy.cli.main()\n"
        "finally: assert not {'cryptography', 'fastapi', 'httpx', 'uvicorn'} & set(sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "serve" in ran.stdout
