"""Fixtures of the hub's tests."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from understudy.hub.opening import Hub

sys.path.append(str(Path(__file__).resolve().parent))

from browser_stories import Person
from core_hubs import make_hub
from web_hubs import WebHub, make_web_hub

from chromium import WIDTHS, open_chromium
from understudy.hub.web.serving import HubServer


def load_servers() -> ModuleType:
    """How the tests of engines start a PostgreSQL of their own."""
    path = Path(__file__).resolve().parents[1] / "engines" / "servers.py"
    spec = importlib.util.spec_from_file_location("engine_servers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["engine_servers"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server of the tests' own."""
    servers = load_servers()
    programs = servers.postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    with servers.running(programs) as server:
        yield server.url()


@contextlib.contextmanager
def new_database(server: str, template: str = "template1") -> Iterator[str]:
    """A database of its own on a server, and its URL."""
    import psycopg

    name = f"hub_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    yield server.rsplit("/", 1)[0] + f"/{name}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty database of its own."""
    with new_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(
    postgres_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The name of a database of today's layout, to make others from."""
    with new_database(postgres_server) as url:
        make_hub(tmp_path_factory.mktemp("template"), url).close()
        yield url.rsplit("/", 1)[1]


@pytest.fixture
def postgres_hub_url(postgres_server: str, postgres_template: str) -> Iterator[str]:
    """A database of today's layout, without rows."""
    with new_database(postgres_server, postgres_template) as url:
        yield url


@pytest.fixture
def sqlite_hub(tmp_path: Path) -> Iterator[Hub]:
    hub = make_hub(tmp_path / "hub")
    yield hub
    hub.close()


@pytest.fixture(params=["sqlite", "postgres"])
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hub]:
    """An empty hub, on each database."""
    url = None
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_hub_url")
    hub = make_hub(tmp_path / "hub", url)
    yield hub
    hub.close()


@pytest.fixture(scope="module")  # no longer: two at once are not possible in one process
def browser() -> Iterator[Any]:
    """A real browser."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with open_chromium() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Path(os.environ.get("UNDERSTUDY_SCREENSHOTS") or tmp_path_factory.mktemp("stories"))
    made.mkdir(parents=True, exist_ok=True)
    return made


@pytest.fixture(params=WIDTHS)
def open_hub(
    request: pytest.FixtureRequest, tmp_path: Path, browser: Any, folder: Path
) -> Iterator[tuple[WebHub, Any]]:
    """A hub that listens, and a way to sit down at a browser of this width."""
    web = make_web_hub(tmp_path / "hub")
    server = HubServer(web.site, "127.0.0.1", 0)
    contexts = []

    with server.running() as base:

        def sit_down(**options: Any) -> Person:
            size = {"width": request.param, "height": 900}
            context = browser.new_context(viewport=size, **options)
            contexts.append(context)
            return Person(context.new_page(), base, folder, request.param)

        yield web, sit_down
        for context in contexts:
            context.close()
    web.site.opened.close()
