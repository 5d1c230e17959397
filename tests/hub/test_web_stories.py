"""Each person's story in a real browser, from the first click to the result, on a desk and a phone.

Screenshots go to the folder that UNDERSTUDY_SCREENSHOTS names, or into the test's own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from web_hubs import PASSWORD, SCHEMA, WebHub

from chromium import CHROMIUM
from understudy.hub import datasets
from understudy.hub.demo import write_csv
from understudy.hub.web.serving import make_first_link
from understudy.hub.worker import Worker

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]


def store_rows(web: WebHub, dataset: str) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    smoker = rng.integers(0, 2, 500)
    columns = [
        rng.integers(0, 99, 500),
        np.array(["female", "male"])[rng.integers(0, 2, 500)],
        np.array(["no", "yes"])[smoker],
    ]
    stored = web.site.vault.put(dataset, "rows", write_csv(list(SCHEMA["attributes"]), columns))
    with web.site.db.transaction() as c:
        datasets.store_rows(c, web.people["owner"].id, dataset, stored.id)


def test_the_administrators_story(open_hub: tuple[WebHub, Any]) -> None:
    """From the printed link to an account for somebody else, and its end."""
    web, sit_down = open_hub
    ada = sit_down()
    link = make_first_link(web.site)
    assert link is not None
    ada.go(link.removeprefix(web.site.address))
    ada.look("first-run")
    for name, text in (
        ("name", "ada"),
        ("display", "Ada"),
        ("password", PASSWORD),
        ("password_again", PASSWORD),
    ):
        ada.page.fill(f"#{name}", text)
    ada.page.click("text=Save and sign in")
    ada.says("No data sets yet")
    ada.look("catalogue-empty")
    ada.page.click("nav >> text=Users")
    ada.page.fill("#name", "bob@example.org")
    ada.page.fill("#display", "Bob Builder")
    ada.page.click("text=Add and make a link")
    ada.says("One-time link for bob@example.org")
    ada.look("users-link")
    address = ada.page.inner_text("#secret")
    bob = sit_down()
    bob.go("/link/" + address.rsplit("/", 1)[1])
    bob.page.fill("#password", PASSWORD)
    bob.page.fill("#password_again", PASSWORD)
    bob.page.click("text=Save and sign in")
    bob.says("Catalogue")
    ada.page.click("[aria-label='Make administrator: bob@example.org']")
    ada.says("The change is saved")
    bob.go("/users")
    bob.says("Bob Builder")
    ada.page.click("[aria-label='Close the account bob@example.org']")
    ada.look("users")
    bob.go("/datasets")
    assert "/signin" in bob.page.url, "a closed account is out at once"


def test_the_owners_and_the_users_story(open_hub: tuple[WebHub, Any], tmp_path: Path) -> None:
    """From a schema to a release: register, role, access, request, decision, result, close."""
    web, sit_down = open_hub
    web.add("owner", "uma")
    owner, uma = sit_down(), sit_down()
    owner.sign_in("owner")
    owner.go("/mine")
    owner.says("You have no data sets here")
    owner.look("mine-empty")
    owner.page.click("main >> text=Register a data set >> nth=0")
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    owner.page.set_input_files("#schema", str(schema))
    owner.page.check("input[name=mode][value=stored]")
    owner.page.fill("#name", "Patients")
    owner.page.fill("#purpose", "Research on smoking")
    owner.page.fill("#conditions", "Cite us")
    owner.page.fill("#about_rows", "500")
    owner.look("register")
    owner.page.click("main button:has-text('Register')")
    owner.says("The data set is registered")
    dataset = owner.page.url.rsplit("/", 1)[1].partition("?")[0]
    store_rows(web, dataset)
    owner.page.fill("#new-name", "Researchers")
    for operation in ("synthesise", "ask", "download", "query"):
        owner.page.locator(f"input[name=may_{operation}]").last.check()
    owner.page.click("text=Save the role")
    owner.says("The role is saved")
    owner.look("managed")

    uma.sign_in("uma")
    uma.look("catalogue")
    uma.page.click("text=Patients")
    uma.look("dataset-stranger")
    uma.page.click("main >> text=Ask for access")
    uma.page.fill("#reason", "A thesis on smoking")
    uma.look("access")
    uma.page.click("main button:has-text('Ask for access')")
    uma.says("waits for the owner")

    owner.go("/mine")
    owner.says("A thesis on smoking")
    owner.look("mine")
    owner.page.click("text=Decide")
    owner.look("decide-access")
    owner.page.click("main button:has-text('Approve')")
    owner.says("The request is approved")
    uma.says("You can now")  # the page looks again by itself
    uma.look("access-granted")

    uma.go(f"/datasets/{dataset}/ask/synthesise")
    uma.page.fill("#epsilon", "0.5")
    uma.says("epsilon 0.5")  # the price follows what is typed
    uma.page.select_option("#method", "independent")
    uma.page.fill("#reason", "Rows for the students")
    uma.look("ask-synthesise")
    uma.page.click("text=Send the request")
    uma.says("The request was sent")
    owner.go("/mine")
    owner.page.click("text=Decide")
    owner.says("Rows for the students")
    owner.says("Would remain")
    owner.look("decide")
    owner.page.click("main button:has-text('Approve')")
    uma.says("waiting for a worker")
    uma.look("request-queued")
    assert Worker(web.site.opened).step()
    uma.says("See the result")
    uma.look("request-done")
    uma.page.click("text=See the result")
    uma.look("release")
    frame = uma.page.frame_locator("iframe.report")
    uma.page.locator("iframe.report").scroll_into_view_if_needed()
    sync_api.expect(frame.locator("h1")).to_be_visible(timeout=60_000)
    uma.page.fill("#text", "count group by smoker")
    uma.page.keyboard.press("Enter")
    uma.says("95% interval")
    assert uma.page.locator("svg.answer").count() == 2
    uma.look("release-query")
    with uma.page.expect_download() as saved:
        uma.page.click("text=synthetic.csv")
    assert Path(saved.value.path()).read_text().startswith("age,sex,smoker")

    owner.go(f"/mine/{dataset}")
    owner.says("independent")
    owner.look("managed-used")
    with owner.page.expect_download() as export:
        owner.go("/trail")
        owner.look("trail")
        owner.page.click("text=Download the trail")
    from understudy.hub import trail

    assert trail.verify(json.loads(Path(export.value.path()).read_text())).good
    owner.go(f"/mine/{dataset}")
    owner.page.click("text=Close the data set now")
    owner.says("closed")
    uma.go(f"/datasets/{dataset}")
    uma.says("no new request is taken")
    uma.look("dataset-closed")


def test_pages_work_without_scripts_and_by_keyboard(open_hub: tuple[WebHub, Any]) -> None:
    web, sit_down = open_hub
    web.add("owner", "uma")
    web.register("owner", ("uma",), standing=True)
    uma = sit_down(java_script_enabled=False)
    uma.go("/signin")
    uma.page.keyboard.press("Tab")
    assert uma.page.locator(":focus").inner_text() == "Skip to the content"
    uma.page.fill("#name", "uma")
    uma.page.fill("#password", PASSWORD)
    uma.page.keyboard.press("Enter")
    uma.page.click("text=Patients")
    uma.page.click("text=A number, with its error")
    uma.page.fill("#questions", "count where smoker = 'yes'")
    uma.page.fill("#epsilon", "0.25")
    uma.page.click("text=Show the price")
    uma.says("epsilon 0.25")
    uma.page.fill("#reason", "How many?")
    uma.page.click("text=Send the request")
    uma.says("Approved, and waiting")
    uma.says("UTC")


@pytest.mark.parametrize("scripts", [True, False])
def test_two_clicks_are_one_request(open_hub: tuple[WebHub, Any], scripts: bool) -> None:
    web, sit_down = open_hub
    web.add("owner", "uma")
    dataset = web.register("owner", ("uma",), standing=True)
    uma = sit_down(java_script_enabled=scripts)
    uma.sign_in("uma")
    uma.go(f"/datasets/{dataset.id}/ask/ask")
    uma.page.fill("#reason", "How many?")
    uma.page.dblclick("text=Send the request")
    uma.says("waiting for a worker")
    uma.go("/requests")
    assert uma.page.locator(".entries > li").count() == 1
