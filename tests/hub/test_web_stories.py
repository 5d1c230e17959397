"""Each person's story in a real browser, from the first click to the result, on a desk and a phone.

Screenshots go to the folder that UNDERSTUDY_SCREENSHOTS names, or into the test's own.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from web_hubs import PASSWORD, SCHEMA, WebHub, make_web_hub

from understudy.hub import datasets
from understudy.hub.demo import write_csv
from understudy.hub.web.serving import HubServer, make_first_link
from understudy.hub.worker import Worker

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe_module = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe is not installed"
)

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WIDTHS = (1280, 390)
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@dataclass
class Person:
    """Somebody at a browser."""

    page: Any
    base: str
    folder: Path
    width: int
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._listen)

    def _listen(self, message: Any) -> None:
        if message.type == "error" and "status of 4" not in message.text:
            self.complaints.append(message.text)

    def go(self, path: str) -> None:
        self.page.goto(self.base + path)

    def sign_in(self, name: str) -> None:
        self.go("/signin")
        self.page.fill("#name", name)
        self.page.fill("#password", PASSWORD)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url("**/datasets")

    def look(self, name: str) -> None:
        """A screenshot; the page fits its window, and nobody is shut out."""
        self.page.wait_for_load_state("load")
        self.page.screenshot(path=self.folder / f"{name}-{self.width}.png", full_page=True)
        wider = "document.documentElement.scrollWidth - window.innerWidth"
        assert self.page.evaluate(wider) <= 0, name
        found = axe_module.Axe().run(self.page, options=RULES).response["violations"]
        broken = [(one["id"], [node["target"] for node in one["nodes"]]) for one in found]
        assert broken == [], (name, broken)
        assert self.complaints == [], (name, self.complaints)

    def says(self, text: str) -> None:
        sync_api.expect(self.page.locator("main")).to_contain_text(text, timeout=10_000)


@pytest.fixture(scope="module")
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
    sync_api.expect(frame.locator("h1")).to_be_visible(timeout=10_000)
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
