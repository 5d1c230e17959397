"""A hub with pages, accounts and data sets, for tests of pages and API."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from argon2 import PasswordHasher
from core_hubs import prepare_folder
from starlette.testclient import TestClient

from understudy.hub import accounts, credentials, datasets
from understudy.hub.accounts import User
from understudy.hub.datasets import DatasetSpec
from understudy.hub.keys import make_keys
from understudy.hub.opening import open_hub
from understudy.hub.passwords import Passwords
from understudy.hub.records import Dataset
from understudy.hub.roles import RoleSpec, RuleSpec
from understudy.hub.web.app import make_app
from understudy.hub.web.state import Site

PASSWORD = "four words are long"
SCHEMA = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 99, "bins": 10},
        "sex": {"kind": "categorical", "values": ["female", "male"]},
        "smoker": {"kind": "categorical", "values": ["no", "yes"]},
    }
}
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""As a password in a test costs nothing."""

HASH = CHEAP.hash(PASSWORD)


@dataclass
class WebHub:
    """A hub, its application, and those who use it."""

    site: Site
    people: dict[str, User] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.app = make_app(self.site)

    def client(self, name: str | None = None) -> Browser:
        """A browser; signed in where a name is given."""
        browser = Browser(TestClient(self.app, base_url="http://127.0.0.1:8000"))
        if name is not None:
            browser.sign_in(name)
        return browser

    def api(self, name: str) -> TestClient:
        """A program with somebody's token."""
        if name not in self.tokens:
            with self.site.db.transaction() as c:
                _, self.tokens[name] = credentials.add_token(c, self.people[name], "test")
        headers = {"authorization": f"Bearer {self.tokens[name]}"}
        return TestClient(self.app, base_url="http://127.0.0.1:8000", headers=headers)

    def add(self, *names: str, administrator: bool = False) -> None:
        """Add accounts."""
        with self.site.db.transaction() as c:
            for name in names:
                self.people[name] = accounts.add_user(
                    c,
                    actor="hub",
                    name=name,
                    display=name.capitalize(),
                    password_hash=HASH,
                    administrator=administrator,
                )

    def register(
        self, owner: str, members: tuple[str, ...] = (), standing: bool = False, **spec: Any
    ) -> Dataset:
        """A data set whose role R1 may do everything."""
        operations = ("synthesise", "ask", "learn", "download", "query")
        rules = [
            RuleSpec(operation=name, standing=standing and name in ("synthesise", "ask", "learn"))
            for name in operations
        ]
        role = RoleSpec(name="R1", members=[self.people[m].id for m in members], rules=rules)
        values: dict[str, Any] = {
            "name": "Patients",
            "schema": SCHEMA,
            "purpose": "Research on smoking",
            "epsilon": 3.0,
            "delta": 1e-6,
            "mode": "stored",
            "about_rows": 1000,
            "roles": [role],
        }
        with self.site.db.transaction() as c:
            return datasets.register(c, self.people[owner].id, DatasetSpec(**(values | spec)))


class Browser:
    """What a browser does with forms: cookies, the hidden fields of the page, redirects."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def sign_in(self, name: str, password: str = PASSWORD) -> Any:
        return self.send("/signin", {"name": name, "password": password})

    def get(self, address: str) -> Any:
        return self.client.get(address)

    def send(
        self,
        page: str,
        fields: dict[str, Any],
        *,
        action: str | None = None,
        files: dict[str, Any] | None = None,
        follow: bool = True,
    ) -> Any:
        """Load a page, and send its form."""
        shown = self.client.get(page).text
        found = re.search(r'name="csrf" value="([^"]+)"', shown)
        code = found.group(1) if found else ""
        data = {"csrf": code, "key": secrets.token_urlsafe(12), **fields}
        return self.client.post(action or page, data=data, files=files, follow_redirects=follow)


def make_web_hub(folder: Path, **settings: Any) -> WebHub:
    """An empty hub with pages."""
    prepare_folder(folder)
    opened = open_hub(folder, keys=make_keys(), create=True)
    site = Site(opened=opened, passwords=Passwords(CHEAP), **settings)
    return WebHub(site=site)
