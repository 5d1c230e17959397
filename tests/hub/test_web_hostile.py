"""What people try who mean harm: each attempt is refused, in a sentence, and nothing leaks."""

from __future__ import annotations

import html
import io
import json
import logging
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from web_hubs import PASSWORD, WebHub, make_web_hub

from understudy.hub import credentials, jobs
from understudy.hub import requests as asking
from understudy.hub.records import Dataset, ReleaseFile, read_job_of
from understudy.hub.releases import ReleaseSpec
from understudy.hub.web.limits import MAX_BODY

XSS = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebHub]:
    made = make_web_hub(tmp_path_factory.mktemp("hostile") / "hub")
    made.add("owner", "uma", "eve")
    made.add("ada", administrator=True)
    yield made
    made.site.opened.close()


@pytest.fixture(scope="module")
def dataset(web: WebHub) -> Dataset:
    return web.register("owner", ("uma",), epsilon=1000.0)


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.bad: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attributes}
        scripts = tag == "script" and "src" not in names
        if scripts or tag == "img" or any(name.startswith("on") for name in names):
            self.bad.append(str(self.get_starttag_text()))


def assert_harmless(text: str) -> None:
    """No element and no attribute came out of what was typed, and no template ran."""
    assert Elements(text).bad == []
    assert "alert(1)&gt;49" not in text


def test_the_check_itself_sees_harm() -> None:
    assert Elements(f"<p>{XSS}</p>").bad
    assert Elements('<p title="" onclick="x">').bad


# --------------------------------------------------------------------------- text that is code


def test_code_in_the_texts_of_a_data_set_is_text(web: WebHub) -> None:
    owner = web.client("owner")
    schema = {"attributes": {XSS[:60]: {"kind": "categorical", "values": [XSS, "b"]}}}
    fields = {
        "schema_text": json.dumps(schema),
        "mode": "stored",
        "epsilon": "1",
        "delta": "0",
        "listed": "yes",
        **dict.fromkeys(("name", "description", "purpose", "conditions", "contact"), XSS),
    }
    made = owner.send("/datasets/new", fields)
    assert made.status_code == 200, made.text
    assert_harmless(made.text)
    dataset = str(made.url).split("/")[-1].partition("?")[0]
    uma = web.client("uma")
    for path in ("/datasets", f"/datasets/{dataset}", f"/datasets/{dataset}/access", "/trail"):
        for who in (owner, uma):
            shown = who.get(path).text
            assert_harmless(shown)
    assert html.escape("<script>alert(1)", quote=False) in uma.get(f"/datasets/{dataset}").text


def test_code_in_a_request_and_its_decision_is_text(web: WebHub, dataset: Dataset) -> None:
    eve, owner = web.client("eve"), web.client("owner")
    sent = eve.send(f"/datasets/{dataset.id}/access", {"reason": XSS})
    assert_harmless(sent.text)
    path = "/requests/" + str(sent.url).split("/")[-1].partition("?")[0]
    assert_harmless(owner.get(path).text)
    assert_harmless(owner.get("/mine").text)
    assert_harmless(owner.get(f"/mine/{dataset.id}").text)
    refused = owner.send(path, {"decision": "refuse", "reason": XSS}, action=f"{path}/decide")
    assert_harmless(refused.text)
    assert_harmless(eve.get(path).text)
    assert_harmless(eve.get("/requests").text)


def test_code_in_names_of_people_agents_and_tokens_is_text(web: WebHub) -> None:
    ada = web.client("ada")
    shown = ada.send("/users", {"name": "mallory", "display": XSS[:100]})
    assert_harmless(shown.text)
    assert_harmless(ada.send("/users", {"name": XSS}).text)
    assert_harmless(ada.send("/account", {"label": XSS[:90]}, action="/account/tokens").text)
    assert_harmless(ada.send("/mine", {"name": XSS[:90]}, action="/agents").text)
    assert_harmless(ada.get("/mine").text)


def test_code_in_addresses_is_text(web: WebHub, dataset: Dataset) -> None:
    uma = web.client("uma")
    for address in (
        f"/datasets?q={XSS}",
        f"/datasets/{dataset.id}/ask/ask?questions={XSS}&epsilon={XSS}",
        f"/datasets/{dataset.id}/ask/synthesise?method={XSS}",
        f"/{XSS}",
        f"/datasets?said={XSS}",
        f"/signin?next={XSS}",
        f"/link/{XSS}",
    ):
        assert_harmless(uma.get(address).text)
    nobody = web.client()
    assert_harmless(nobody.get(f"/signin?next={XSS}").text)


def test_a_role_with_code_in_its_name_is_text(web: WebHub, dataset: Dataset) -> None:
    owner = web.client("owner")
    fields = {"role_name": XSS, "may_query": "yes", "members": "uma"}
    shown = owner.send(f"/mine/{dataset.id}", fields, action=f"/mine/{dataset.id}/roles")
    assert shown.status_code == 200
    assert_harmless(shown.text)


# --------------------------------------------------------------------------- other sites' forms


FORMS = (
    ("/signout", {}),
    ("/account/tokens", {"label": "x"}),
    ("/account/password", {"old_password": PASSWORD, "password": "x" * 12}),
    ("/agents", {"name": "x"}),
    ("/users", {"name": "evil"}),
    ("/algorithms", {}),
    ("/datasets/new", {"name": "x"}),
)


@pytest.mark.parametrize(("path", "fields"), FORMS)
def test_a_form_without_its_code_does_nothing(
    path: str, fields: dict[str, str], web: WebHub
) -> None:
    ada = web.client("ada")
    before = snapshot(web)
    for code in (None, "", "0" * 64, "é"):
        data = dict(fields) if code is None else {**fields, "csrf": code}
        answer = ada.client.post(path, data=data, follow_redirects=False)
        assert answer.status_code == 403, (path, code)
    assert snapshot(web) == before
    assert ada.get("/account").status_code == 200, "still signed in"


def test_a_code_of_another_session_or_site_is_refused(web: WebHub, dataset: Dataset) -> None:
    ada, uma = web.client("ada"), web.client("uma")
    code = re.findall(r'name="csrf" value="([^"]+)"', uma.get("/account").text)[0]
    answer = ada.client.post("/agents", data={"csrf": code, "name": "x", "key": "k" * 12})
    assert answer.status_code == 403
    own = re.findall(r'name="csrf" value="([^"]+)"', ada.get("/account").text)[0]
    for header in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        data = {"csrf": own, "name": "x", "key": "k" * 12}
        assert ada.client.post("/agents", data=data, headers=header).status_code == 403


def test_a_cookie_opens_no_api_and_a_token_no_page(web: WebHub) -> None:
    ada, program = web.client("ada"), web.api("ada")
    assert ada.get("/api/v1/me").status_code == 401
    assert program.get("/users", follow_redirects=False).status_code == 303


def snapshot(web: WebHub) -> int:
    from understudy.hub import trail

    with web.site.db.reading() as c:
        return trail.read_head(c).number


# --------------------------------------------------------------------------- forged secrets


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Bearer ush_",
        "Bearer ush_" + "A" * 43,
        "Bearer ush_' OR 1=1 --",
        "Basic YWRhOmFkYQ==",
        "Bearer " + "ush_" * 5000,
        "bearer ush_\xff",
    ],
)
def test_forged_tokens_open_nothing(header: str, web: WebHub) -> None:
    client = web.client().client
    for path in ("/api/v1/me", "/api/v1/datasets", "/api/agent/jobs"):
        answer = client.get(path, headers={"authorization": header.encode("latin-1")})
        assert answer.status_code in (401, 431), path


@pytest.mark.parametrize("cookie", ["", "x", "' OR 1=1 --", "A" * 43, "%00", "../../etc/passwd"])
def test_forged_cookies_open_nothing(cookie: str, web: WebHub) -> None:
    client = web.client().client
    client.cookies.set("session", cookie)
    assert client.get("/datasets", follow_redirects=False).status_code == 303


def test_signing_in_changes_the_session_and_signing_out_ends_it(web: WebHub) -> None:
    uma = web.client()
    uma.client.cookies.set("session", "chosen-by-somebody-else")
    uma.sign_in("uma")
    values = [cookie.value for cookie in uma.client.cookies.jar if cookie.name == "session"]
    assert "chosen-by-somebody-else" not in values[-1:]
    stolen = values[-1]
    uma.send("/account", {}, action="/signout")
    thief = web.client().client
    thief.cookies.set("session", stolen)
    assert thief.get("/datasets", follow_redirects=False).status_code == 303


def test_cookies_are_for_the_browser_alone(tmp_path: Path) -> None:
    site = make_web_hub(tmp_path / "hub", address="https://hub.example.org")
    site.add("uma")
    browser = site.client()
    browser.client.base_url = "https://hub.example.org"  # type: ignore[assignment]
    answer = browser.send("/signin", {"name": "uma", "password": PASSWORD}, follow=False)
    cookie = next(one for one in answer.headers.get_list("set-cookie") if "__Host-session" in one)
    for word in ("HttpOnly", "Secure", "SameSite=lax", "Path=/"):
        assert word.lower() in cookie.lower()
    assert "domain" not in cookie.lower()
    assert "max-age=31536000" in answer.headers["strict-transport-security"]


def test_every_answer_has_its_headers(web: WebHub, dataset: Dataset) -> None:
    uma = web.client("uma")
    for path in ("/datasets", "/nope", "/static/hub.css", "/api/v1/me", "/static/nope", "/health"):
        headers = uma.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert uma.get("/datasets").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "following",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/\t/e"],
)
def test_signing_in_leads_nowhere_else(following: str, web: WebHub) -> None:
    fields = {"name": "uma", "password": PASSWORD, "next": following}
    answer = web.client().send("/signin", fields, follow=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"


# --------------------------------------------------------------------------- paths and ids


@pytest.mark.parametrize(
    "name",
    [
        "../model.json",
        "..%2Fmodel.json",
        "%2e%2e/%2e%2e/hub.sqlite",
        "....//hub.sqlite",
        "/etc/passwd",
        "model.json%00.txt",
        "C:%5Cwindows",
    ],
)
def test_no_path_leads_out_of_a_release(name: str, web: WebHub, released: str) -> None:
    uma, program = web.client("uma"), web.api("uma")
    for answer in (
        uma.get(f"/releases/{released}/files/{name}"),
        program.get(f"/api/v1/releases/{released}/files/{name}"),
        uma.get(f"/static/{name}"),
    ):
        assert answer.status_code == 404, answer.text[:200]


@pytest.fixture(scope="module")
def released(web: WebHub, dataset: Dataset) -> str:
    """A release whose report is hostile."""
    user, owner = web.people["uma"].id, web.people["owner"].id
    with web.site.db.transaction() as c:
        spec = {"epsilon": 0.1, "method": "independent"}
        asked = asking.submit(c, user, dataset.id, "synthesise", spec, "why", "key of hostile")
        asking.decide(c, owner, asked.id, True)
        jobs.claim(c, "worker", [dataset.id])
        job = read_job_of(c, asked.id)
        assert job is not None
    content = f"<h1>report</h1>{XSS}".encode()
    stored = web.site.vault.put(dataset.id, "release", content)
    file = ReleaseFile(
        name="report.html",
        media_type="text/html",
        size=len(content),
        sha256=stored.sha256,
        object=stored.id,
    )
    with web.site.db.transaction() as c:
        return jobs.finish(c, job.id, "worker", ReleaseSpec(title=XSS, files=[file])).id


def test_a_report_runs_in_a_box(web: WebHub, released: str) -> None:
    uma = web.client("uma")
    answer = uma.get(f"/releases/{released}/report")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox;")
    assert "script-src" not in policy
    assert "default-src 'none'" in policy
    page = uma.get(f"/releases/{released}")
    assert_harmless(page.text)
    assert re.search(r"<iframe[^>]* sandbox ", page.text)
    saved = uma.get(f"/releases/{released}/files/report.html")
    assert saved.headers["content-disposition"].startswith("attachment")
    assert saved.headers["content-type"] == "application/octet-stream"


def test_a_tampered_file_is_refused_and_not_decrypted(
    web: WebHub, dataset: Dataset, released: str
) -> None:
    folder = web.site.vault.folder / dataset.id
    files = [path for path in folder.iterdir() if path.is_file()]
    kept = {path: path.read_bytes() for path in files}
    try:
        for path, content in kept.items():
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        answer = web.client("uma").get(f"/releases/{released}/files/report.html")
        assert answer.status_code == 422
        assert "not decrypted" in answer.text
        assert "report</h1>" not in answer.text
    finally:
        for path, content in kept.items():
            path.write_bytes(content)


@pytest.mark.parametrize("thing", ["datasets", "requests", "releases", "mine"])
@pytest.mark.parametrize("id", ["a' OR '1'='1", "%00", "1", "é", "x" * 5000, "../datasets", "null"])
def test_ids_that_are_none_find_nothing(thing: str, id: str, web: WebHub) -> None:
    uma, program = web.client("uma"), web.api("uma")
    assert (
        uma.get(f"/{thing}/{id}").status_code in (200, 404)
        if id.startswith("..")
        else (uma.get(f"/{thing}/{id}").status_code == 404)
    )
    if thing != "mine" and not id.startswith(".."):
        assert program.get(f"/api/v1/{thing}/{id}").status_code == 404


# --------------------------------------------------------------------------- large and broken


def test_large_bodies_are_refused_before_they_are_read(web: WebHub) -> None:
    client = web.api("uma")
    large = b"x" * (MAX_BODY + 1)
    assert client.post("/api/v1/datasets", content=large).status_code == 413

    def drip() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 100_000

    assert client.post("/api/v1/datasets", content=drip()).status_code == 413
    ada = web.client("ada")
    files = {"schema": ("s.json", io.BytesIO(large), "application/json")}
    answer = ada.send("/datasets/new", {"name": "x"}, files=files)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"name": "\\u0000"}',
        b'{"name": "\\ud800", "schema": {}, "epsilon": 1}',
        b'{"name": "x", "schema": {}, "epsilon": NaN}',
        b'{"name": "x", "schema": {}, "epsilon": 1e999}',
        b'{"name": "x", "schema": {}, "epsilon": -1}',
        b'{"name": "x", "schema": [], "epsilon": 1}',
        b'{"name": "x", "schema": {"attributes": {"a": {"kind": "evil"}}}, "epsilon": 1}',
        b'{"name": "x", "schema": {}, "epsilon": 1, "owner": "somebody else"}',
        b"\xff\xfe",
        b"null",
    ],
)
def test_broken_documents_are_refused_in_a_sentence(body: bytes, web: WebHub) -> None:
    answer = web.api("uma").post(
        "/api/v1/datasets", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert answer.json()["problem"].endswith(".")


@pytest.mark.parametrize(
    "fields",
    [
        {"epsilon": "0"},
        {"epsilon": "-1"},
        {"epsilon": "nan"},
        {"epsilon": "inf"},
        {"epsilon": "1e999"},
        {"epsilon": "1", "delta": "2"},
        {"epsilon": "1", "method": "no such"},
        {"epsilon": "1", "method": "x@" + "0" * 64},
        {"epsilon": "1", "rows": "-5"},
        {"epsilon": "1", "rows": "10000000000000000"},
        {"epsilon": "1", "format": "exe"},
        {"epsilon": "1000001"},
        {"epsilon": "999999"},
    ],
)
def test_requests_that_cannot_be_are_refused(
    fields: dict[str, str], web: WebHub, dataset: Dataset
) -> None:
    before = snapshot(web)
    values = {"method": "adaptive", "format": "csv", "delta": "0", "reason": "w", "action": "send"}
    uma = web.client("uma")
    started = snapshot(web)
    answer = uma.send(f"/datasets/{dataset.id}/ask/synthesise", {**values, **fields})
    assert answer.status_code in (403, 409, 422)
    assert 'role="alert"' in answer.text
    assert snapshot(web) == started
    assert started == before + 1, "only the sign-in"


def test_one_key_is_one_request(web: WebHub, dataset: Dataset) -> None:
    """A double click spends once; another content under the same key is refused."""
    program = web.api("uma")
    document = {
        "operation": "ask",
        "spec": {"epsilon": 0.1, "questions": ["count"]},
        "reason": "r",
        "key": "the-same-key",
    }
    path = f"/api/v1/datasets/{dataset.id}/requests"
    first, second = (program.post(path, json=document).json() for _ in range(2))
    assert first["id"] == second["id"]
    changed = {**document, "spec": {"epsilon": 0.2, "questions": ["count"]}}
    assert program.post(path, json=changed).status_code == 409


def test_a_query_that_tries_more_than_asking_gets_a_sentence(web: WebHub, released: str) -> None:
    answer = web.api("uma").get(
        f"/api/v1/releases/{released}/query", params={"query": "__import__('os')"}
    )
    assert answer.status_code == 404, "this release has no model"


# --------------------------------------------------------------------------- what is written down


def test_no_secret_stands_in_logs_or_answers(
    web: WebHub, dataset: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    uma = web.client("uma")
    shown = uma.send("/account", {"label": "log"}, action="/account/tokens").text
    token = re.findall(r"ush_[A-Za-z0-9_-]+", shown)[0]
    with web.site.db.transaction() as c:
        link = credentials.make_link(c, actor="hub", user=web.people["uma"].id)
    web.client().get(f"/link/{link}")
    session = next(one.value for one in uma.client.cookies.jar if one.name == "session")
    text = "\n".join(f"{one.getMessage()} {one.args}" for one in caplog.records if ours(one))
    for secret in (token, link, session or "", PASSWORD):
        assert secret not in text
    assert token not in uma.get("/account").text
    typed = web.client().send("/signin", {"name": "uma", "password": "my wrong password"})
    assert "my wrong password" not in typed.text


def ours(record: logging.LogRecord) -> bool:
    """Whether the hub wrote it; the tests' own browser logs the addresses that it asks for."""
    return not record.name.startswith(("httpx", "httpcore", "asyncio"))


def test_an_unforeseen_error_says_nothing(
    web: WebHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from understudy.hub import datasets

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a private value: 42")

    uma = web.client("uma")
    monkeypatch.setattr(datasets, "catalogue", fail)
    answer = uma.get("/datasets?q=secretword")
    assert answer.status_code == 500
    assert "42" not in answer.text
    ours_only = [one for one in caplog.records if one.name == "understudy.hub"]
    assert ours_only
    assert not any("42" in one.getMessage() for one in ours_only)
    assert not any("secretword" in one.getMessage() for one in ours_only)


@pytest.mark.parametrize("path", ["claim", "jobs/abcd/fail", "jobs/abcd/progress"])
def test_nobody_without_a_token_fills_the_memory(web: WebHub, path: str) -> None:
    """Documents are read before a token is looked at, so they are small."""
    client = web.client().client
    large = b'{"dataset": "' + b"x" * (MAX_BODY + 1) + b'"}'
    assert client.post(f"/api/agent/{path}", content=large).status_code == 413


def test_models_of_agents_may_be_large(web: WebHub) -> None:
    client = web.client().client
    large = b"x" * (MAX_BODY + 1)
    assert client.post("/api/agent/jobs/abcd/release", content=large).status_code == 401
    assert client.post("/api/agent/relay/abcd/answer", content=large).status_code == 401
