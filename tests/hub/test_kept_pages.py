"""The catalogue's page is shown again only while nothing has happened."""

from __future__ import annotations

from pathlib import Path

from web_hubs import make_web_hub

from understudy.hub import datasets, roles
from understudy.hub.roles import RoleSpec
from understudy.hub.web import kept
from understudy.hub.web.kept import KeptPages


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
    pages.keep(("s", "/"), 1, b"x")
    assert pages.find(("s", "/"), 1) == b"x"
    assert pages.find(("s", "/"), 2) is None
    assert pages.find(("t", "/"), 1) is None
    now[0] = kept.MAX_SECONDS + 1
    assert pages.find(("s", "/"), 1) is None
    monkeypatch.setattr(kept, "MAX_PAGES", 2)
    for name in "abc":
        pages.keep((name, "/"), 1, b"x")
    assert [pages.find((name, "/"), 1) for name in "abc"] == [None, b"x", b"x"]
