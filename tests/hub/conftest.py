"""Fixtures of the hub's tests."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from understudy.hub.opening import Hub

sys.path.append(str(Path(__file__).resolve().parent))

from core_hubs import make_hub


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


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server of the tests' own."""
    servers = load_servers()
    programs = servers.postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    with servers.running(programs) as server:
        yield server.url()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty database of its own."""
    import secrets

    import psycopg

    name = f"hub_{secrets.token_hex(6)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield postgres_server.rsplit("/", 1)[0] + f"/{name}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


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
        url = request.getfixturevalue("postgres_url")
    hub = make_hub(tmp_path / "hub", url)
    yield hub
    hub.close()
