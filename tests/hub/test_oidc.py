"""Signing in by a real OpenID provider: oidc-provider, which is certified, on loopback."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from web_hubs import WebHub, make_web_hub

from understudy.hub import accounts
from understudy.hub.oidc import OpenIDProvider

FOLDER = Path(sys.prefix) / "oracles-js"
NODE = shutil.which("node")
BACK = "http://127.0.0.1:8000/oidc/back"
SECRET = "not plain: 50% + a slash/"

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        NODE is None or not (FOLDER / "node_modules" / "oidc-provider").is_dir(),
        reason="oidc-provider is not installed: npm install --prefix .venv/oracles-js",
    ),
]


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    assert NODE is not None
    script = Path(__file__).with_name("oidc_provider.mjs")
    process = subprocess.Popen(
        [NODE, str(script), str(FOLDER), BACK, SECRET],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.kill()
    process.wait()


def hub_with(folder: Path, issuer: str, **changes: Any) -> WebHub:
    values: dict[str, Any] = {"client": "the hub", "secret": SECRET, "label": "Uni"} | changes
    return make_web_hub(folder / "hub", provider=OpenIDProvider(issuer=issuer, **values))


def walk(start: str, login: str, *, consent: bool = True) -> str:
    """What a person does at the provider: signs in and agrees; where it sends the browser."""
    with httpx.Client(timeout=30) as browser:
        address = start
        for _ in range(20):
            if address.startswith(BACK):
                return address
            answer = browser.get(address)
            if answer.is_redirect:
                address = urljoin(address, answer.headers["location"])
                continue
            form = re.search(r'<form[^>]* action="([^"]+)" method="post">', answer.text)
            assert form is not None, answer.text[:2000]
            fields = {"prompt": "consent"}
            if 'name="login"' in answer.text:
                fields = {"prompt": "login", "login": login, "password": "x"}
            elif not consent:
                abort = re.search(r'href="([^"]+/abort)"', answer.text)
                assert abort is not None
                address = urljoin(address, html.unescape(abort[1]))
                continue
            sent = browser.post(urljoin(address, html.unescape(form[1])), data=fields)
            address = urljoin(address, sent.headers["location"])
        raise AssertionError("the provider goes round in circles")


def start(browser: Any) -> str:
    begun = browser.get("/oidc/start", follow_redirects=False)
    assert begun.status_code == 303
    return str(begun.headers["location"])


def test_a_person_signs_in_and_is_the_same_one_again(tmp_path: Path, issuer: str) -> None:
    web = hub_with(tmp_path, issuer)
    for _ in range(2):
        browser = web.client().client
        back = browser.get(walk(start(browser), "carol"))
        assert back.status_code == 200, back.text
        assert "Signed in as Dr carol" in back.text
        assert "carol@uni.example" in browser.get("/account").text
    with web.site.db.reading() as c:
        assert accounts.count_users(c) == 1


def test_a_code_counts_once_and_in_the_browser_that_was_sent(tmp_path: Path, issuer: str) -> None:
    web = hub_with(tmp_path, issuer)
    browser, other = web.client().client, web.client().client
    back = walk(start(browser), "carol")
    assert other.get(back).status_code == 403, "another browser was not sent there"
    assert browser.get(back).status_code == 200
    start(browser)
    assert browser.get(back).status_code == 403, "its state is another one by now"


def test_a_wrong_secret_and_a_refusal_sign_nobody_in(tmp_path: Path, issuer: str) -> None:
    web = hub_with(tmp_path, issuer, secret="another")
    browser = web.client().client
    assert browser.get(walk(start(browser), "carol")).status_code == 403
    assert browser.get("/datasets", follow_redirects=False).status_code == 303
    right = hub_with(tmp_path / "right", issuer).client().client
    assert right.get(walk(start(right), "carol", consent=False)).status_code == 403
