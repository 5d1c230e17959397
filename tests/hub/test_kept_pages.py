"""The catalogue's page is shown again only while nothing has happened."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from web_hubs import WebHub, make_web_hub

from understudy.hub import accounts, credentials, datasets, requests, roles
from understudy.hub.errors import Refused, Unavailable
from understudy.hub.roles import RoleSpec
from understudy.hub.web import kept
from understudy.hub.web.app import make_app
from understudy.hub.web.kept import KeptAnswer, KeptPages

PAGE = KeptAnswer([], b"x")


def test_what_happens_is_seen_at_once_and_nobody_sees_anothers_page(tmp_path: Path):
    hub = make_web_hub(tmp_path)
    hub.add("olga", "uma")
    first = hub.register("olga", name="Alpha")
    hidden = hub.register("olga", name="Secret", listed=False)
    olga, uma = hub.client("olga"), hub.client("uma")
    for _ in range(2):
        assert "Secret" in olga.get("/datasets").text
        assert "Secret" not in uma.get("/datasets").text
        assert "Alpha" in uma.get("/datasets").text
    owner = hub.people["olga"].id
    with hub.site.db.transaction() as c:
        role = RoleSpec(name="R2", members=[hub.people["uma"].id])
        made = roles.set_role(c, owner, hidden.id, role)
    assert "Secret" in uma.get("/datasets").text
    with hub.site.db.transaction() as c:
        roles.drop_role(c, owner, hidden.id, made.id)
        datasets.close(c, owner, first.id)
    shown = uma.get("/datasets").text
    assert "Secret" not in shown
    assert "closed" in shown
    assert "Nothing found" in uma.get("/datasets?q=zzz").text
    assert "You are signed in" in uma.get("/datasets?said=in").text
    assert "You are signed in" not in uma.get("/datasets").text


def test_a_page_is_made_once_while_nothing_happens(tmp_path: Path, monkeypatch):
    hub = make_web_hub(tmp_path)
    hub.add("uma")
    made = []
    read = datasets.catalogue
    monkeypatch.setattr(datasets, "catalogue", lambda *args: made.append(1) or read(*args))
    uma = hub.client("uma")
    before = len(made)
    pages = [uma.get("/datasets?page=3").text for _ in range(3)]
    assert len(made) == before + 1
    assert len(set(pages)) == 1
    uma.get("/datasets?page=2")
    assert len(made) == before + 2


def test_pages_are_forgotten_by_age_and_number(monkeypatch):
    now = [0.0]
    pages = KeptPages(lambda: now[0])
    pages.keep(("s", "/"), 1, PAGE)
    assert pages.find(("s", "/"), 1) == PAGE
    assert pages.find(("s", "/"), 2) is None
    assert pages.find(("t", "/"), 1) is None
    now[0] = kept.MAX_SECONDS + 1
    assert pages.find(("s", "/"), 1) is None
    monkeypatch.setattr(kept, "MAX_PAGES", 2)
    for name in "abc":
        pages.keep((name, "/"), 1, PAGE)
    assert [pages.find((name, "/"), 1) for name in "abc"] == [None, PAGE, PAGE]


def open_page(app: Any, cookies: str, address: str = "/datasets") -> Any:
    """A page for whoever has these cookies; a redirect is not followed."""
    client = TestClient(app, base_url="http://127.0.0.1:8000")
    return client.get(address, headers={"cookie": cookies}, follow_redirects=False)


def start_session(hub: WebHub, name: str) -> str:
    with hub.site.db.transaction() as c:
        return credentials.start_session(c, hub.people[name].id)


def make_hub_with_secret(folder: Path) -> WebHub:
    hub = make_web_hub(folder)
    hub.add("olga", "uma")
    hub.register("olga", name="Alpha")
    hub.register("olga", name="Secret", listed=False)
    return hub


def test_a_kept_page_is_what_would_be_made_with_its_headers(tmp_path: Path):
    hub = make_hub_with_secret(tmp_path)
    cookies = f"visit=v; session={start_session(hub, 'olga')}"
    first, second = open_page(hub.app, cookies), open_page(hub.app, cookies)
    assert "Secret" in second.text
    assert first.content == second.content
    assert first.headers == second.headers
    assert "default-src 'none'" in second.headers["content-security-policy"]
    assert second.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("how", ["signs out", "is locked", "new password", "too late"])
def test_a_session_that_is_over_gets_no_kept_page(tmp_path: Path, how: str, monkeypatch):
    hub = make_hub_with_secret(tmp_path)
    secret = start_session(hub, "olga")
    cookies = f"visit=v; session={secret}"
    for _ in range(2):
        assert open_page(hub.app, cookies).status_code == 200
    if how == "too late":
        later = hub.site.db.clock() + credentials.SESSION_LASTS
        monkeypatch.setattr(hub.site.db, "clock", lambda: later)
    else:
        olga = hub.people["olga"].id
        with hub.site.db.transaction() as c:
            if how == "signs out":
                credentials.end_session(c, secret)
            elif how == "is locked":
                accounts.set_active(c, "hub", olga, False)
            else:
                accounts.set_password(c, olga, olga, "x")
    over = open_page(hub.app, cookies)
    assert over.status_code == 303
    assert over.headers["location"].startswith("/signin")
    assert "Secret" not in over.text


def test_of_two_sessions_in_one_browser_the_same_counts_everywhere(tmp_path: Path):
    hub = make_hub_with_secret(tmp_path)
    olga, uma = start_session(hub, "olga"), start_session(hub, "uma")
    for _ in range(2):
        for first, second in ((olga, uma), (uma, olga)):
            shown = open_page(hub.app, f"visit=v; session={first}; session={second}").text
            signed_in_as = "Olga" if "Signed in as Olga" in shown else "Uma"
            assert ("Secret" in shown) == (signed_in_as == "Olga")


def test_while_the_database_is_away_no_kept_page_is_sent(tmp_path: Path, monkeypatch):
    hub = make_hub_with_secret(tmp_path)
    cookies = f"visit=v; session={start_session(hub, 'olga')}"
    assert open_page(hub.app, cookies).status_code == 200

    def fail() -> None:
        raise Unavailable("The hub's database does not answer.")

    monkeypatch.setattr(hub.site.db, "reading", fail)
    away = open_page(hub.app, cookies)
    assert away.status_code == 503
    assert "Secret" not in away.text


@pytest.mark.parametrize("seed", range(3))
def test_two_hubs_show_each_viewer_what_would_be_made_for_them(tmp_path: Path, seed: int):
    """Anything may happen in one process: both send what a hub that keeps nothing makes."""

    class Nothing(KeptPages):
        def find(self, key: Any, head: int) -> None:
            return None

    hub = make_web_hub(tmp_path)
    hub.add("olga", "oskar", "uma", "ute")
    hub.add("ada", administrator=True)
    sets = [hub.register(owner, name=f"Set {owner}") for owner in ("olga", "oskar")]
    sets.append(hub.register("olga", name="Hidden", listed=False, members=("uma",)))
    apps = [make_app(hub.site) for _ in range(2)]
    plain = make_app(hub.site)
    for one in plain.user_middleware:
        if "pages" in one.kwargs:
            one.kwargs["pages"] = Nothing()
    names = list(hub.people)
    cookies = {name: f"visit=v; session={start_session(hub, name)}" for name in names}
    rng = random.Random(seed)
    for step in range(25):
        happen(hub, sets, rng, step)
        for _ in range(4):
            name, page = rng.choice(names), rng.choice(["", "?page=2", "?q=hid", "?q=Set"])
            shown = open_page(rng.choice(apps), cookies[name], f"/datasets{page}")
            made = open_page(plain, cookies[name], f"/datasets{page}")
            assert shown.status_code == made.status_code
            assert shown.content == made.content


def happen(hub: WebHub, sets: list[Any], rng: random.Random, step: int) -> None:
    """Something that a page of the catalogue may show, or nothing."""
    dataset = rng.choice(sets)
    user = hub.people[rng.choice(["uma", "ute"])].id
    with suppress(Refused), hub.site.db.transaction() as c:  # a closed data set takes no request
        match rng.randrange(6):
            case 0:
                role = RoleSpec(name=f"R{rng.randrange(3)}", members=[user])
                roles.set_role(c, dataset.owner, dataset.id, role)
            case 1:
                role = RoleSpec(name="by place", attributes={"place": ["a"]})
                roles.set_role(c, dataset.owner, dataset.id, role)
                place = {"place": rng.choice("ab")}
                accounts.change_user(c, hub.people["ada"], user, attributes=place)
            case 2:
                datasets.close(c, dataset.owner, dataset.id)
            case 3:
                datasets.reopen(c, dataset.owner, dataset.id)
            case 4:
                requests.submit(c, user, sets[0].id, "access", {}, "why", f"key {step:08}")
