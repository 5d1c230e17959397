"""Stories in a real browser of those who compute: an agent beside its data, a provider's algorithm.

Screenshots go to the folder that UNDERSTUDY_SCREENSHOTS names, or into the test's own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from agent_hubs import write_rows
from browser_stories import Person
from foreign_packages import make_wheel
from web_hubs import WebHub

from chromium import CHROMIUM
from understudy.hub.agent import Agent
from understudy.hub.agent_settings import load_settings
from understudy.hub.operations import Synthesise
from understudy.hub.worker import Worker

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]

SCHEMA = {
    "attributes": {
        "age": {"kind": "integer", "min": 0, "max": 99},
        "sex": {"kind": "categorical", "values": ["f", "m"]},
        "sick": {"kind": "categorical", "values": ["no", "yes"]},
    }
}
PLUGIN = Path(__file__).parents[2] / "examples/plugin/src/understudy_chain/__init__.py"


class Pause:
    """Holds a computation at a step until the browser has seen it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: Any, step: str) -> None:
        self.seen = threading.Event()
        compute = kind.compute

        def held(operation: Any, run: Any) -> Any:
            run.progress(step, 3, 7)
            assert self.seen.wait(60)
            return compute(operation, run)

        monkeypatch.setattr(kind, "compute", held)


def register(owner: Person, folder: Path, mode: str) -> str:
    """Register a data set by the form; its id."""
    owner.go("/datasets/new")
    schema = folder / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    owner.page.set_input_files("#schema", str(schema))
    owner.page.check(f"input[name=mode][value={mode}]")
    owner.page.fill("#name", "Patients of the clinic")
    owner.page.fill("#purpose", "Research on care")
    owner.page.fill("#about_rows", "300")
    if mode == "agent":
        owner.page.select_option("#agent", index=1)
    owner.page.click("main button:has-text('Register')")
    owner.says("The data set is registered")
    return str(owner.page.url.rsplit("/", 1)[1].partition("?")[0])


def add_role(owner: Person, *operations: str, **fields: str) -> None:
    """A role for uma with standing rules."""
    page = owner.page
    page.fill("#new-name", "Researchers")
    page.fill("#new-members", "uma")
    for operation in operations:
        page.locator(f"input[name=may_{operation}]").last.check()
        page.locator(f"input[name=standing_{operation}]").last.check()
    for operation in ("download", "query"):
        page.locator(f"input[name=may_{operation}]").last.check()
    for name, text in fields.items():
        page.locator(f"input[name={name}]").last.fill(text)
    page.click("text=Save the role")
    owner.says("The role is saved")


def ask(uma: Person, dataset: str, operation: str, **choices: str) -> None:
    uma.go(f"/datasets/{dataset}/ask/{operation}")
    for name, value in choices.items():
        uma.page.select_option(f"#{name}", value)
    uma.page.fill("#epsilon", "0.5")
    uma.page.fill("#reason", "A course on statistics")


def test_an_agent_beside_its_data(
    open_hub: tuple[WebHub, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agent, data set, standing rule, requests, progress, results: the hub never sees a row."""
    web, sit_down = open_hub
    web.add("owner", "uma")
    owner, uma = sit_down(), sit_down()
    owner.sign_in("owner")
    owner.go("/mine")
    owner.page.fill("#agents ~ form #name", "clinic")
    owner.page.click("text=Add an agent")
    owner.says("understudy hub agent agent.toml")
    owner.look("agent-added")
    snippet = owner.page.locator("pre", has_text="[allowance]").inner_text()
    (tmp_path / "agent.token").write_text(owner.page.inner_text("#secret"))
    dataset = register(owner, tmp_path, "agent")
    add_role(owner, "synthesise", "learn")
    owner.look("agent-managed")
    write_rows(tmp_path / "patients.csv")
    settings = re.sub(r"(?m)^dataset = .*$", f'dataset = "{dataset}"', snippet)
    settings = re.sub(r"(?m)^url = .*$", f'url = "{owner.base}"', settings)
    (tmp_path / "agent.toml").write_text(settings)

    uma.sign_in("uma")
    ask(uma, dataset, "synthesise", method="independent")
    uma.page.click("text=Send the request")
    uma.says("waiting for the owner’s agent")
    uma.look("agent-queued")
    pause = Pause(monkeypatch, Synthesise, "measuring tables")
    running = threading.Thread(target=Agent(load_settings(tmp_path / "agent.toml")).step)
    running.start()
    uma.says("Measuring tables")  # the page looks again by itself
    uma.says("3 of 7")
    uma.look("agent-running")
    owner.go(f"/mine/{dataset}")
    owner.says("measuring tables")
    owner.look("agent-running-owner")
    pause.seen.set()
    running.join(60)
    uma.says("See the result")
    uma.says("clinic (agent)")
    uma.page.click("text=See the result")
    uma.says("synthetic.csv")
    uma.look("agent-release")

    monkeypatch.undo()
    ask(uma, dataset, "learn", learner="gaussian-nb", target="sick")
    uma.look("ask-learn")
    uma.page.click("text=Send the request")
    uma.says("waiting for the owner’s agent")
    command = [sys.executable, "-m", "understudy", "hub", "agent", "agent.toml", "--once"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    uma.says("See the result")
    uma.page.click("text=See the result")
    uma.says("gaussian-nb")
    uma.look("learn-release")
    owner.go(f"/trail?dataset={dataset}")
    owner.says("clinic (agent)")
    owner.look("agent-trail")
    files = [path for path in web.site.opened.folder.rglob("*") if path.is_file()]
    row = (tmp_path / "patients.csv").read_bytes().splitlines()[5]
    assert not any(b"\n" + row + b"\n" in path.read_bytes() for path in files)


def test_an_algorithm_is_offered_allowed_and_run(
    open_hub: tuple[WebHub, Any], tmp_path: Path
) -> None:
    """A provider signs a package, an owner allows its digest, a user asks for it."""
    web, sit_down = open_hub
    web.add("owner", "uma", "pia")
    wheel = tmp_path / "chain.whl"
    entry = {"stranger-1.0.dist-info/entry_points.txt": "[understudy.methods]\nchain = stranger\n"}
    wheel.write_bytes(make_wheel(PLUGIN.read_text(), **entry))
    command = [sys.executable, "-m", "understudy", "hub", "sign", str(wheel)]
    signed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert signed.returncode == 0, signed.stderr
    told = dict(re.findall(r"(?m)^([a-z ]+): +(.+)$", signed.stdout))
    pia = sit_down()
    pia.sign_in("pia")
    pia.go("/algorithms")
    pia.look("algorithms-empty")
    pia.page.set_input_files("#package", str(wheel))
    pia.page.fill("#public_key", told["public key"])
    forged = told["signature"].translate(str.maketrans("01", "10"))
    pia.page.fill("#signature", forged)
    pia.page.click("main button:has-text('Offer it')")
    pia.says("not signed")
    pia.page.set_input_files("#package", str(wheel))
    pia.page.fill("#signature", told["signature"])
    pia.page.click("main button:has-text('Offer it')")
    pia.says("owners decide whether they allow it")
    pia.look("algorithms-offered")

    owner, uma = sit_down(), sit_down()
    owner.sign_in("owner")
    dataset = register(owner, tmp_path, "stored")
    write_rows(tmp_path / "rows.csv")
    owner.page.set_input_files("#rows-file", str(tmp_path / "rows.csv"))
    owner.look("rows-chosen")
    owner.page.click("text=Send the rows")
    owner.says("The rows are stored, encrypted")
    add_role(owner, "synthesise")
    uma.sign_in("uma")
    ask(uma, dataset, "synthesise", method=f"chain@{told['algorithm']}")
    uma.says("nobody: Your roles allow this with built-in ones alone")
    owner.go("/algorithms")
    owner.page.click("summary:has-text('Digest')")
    digest = owner.page.locator("code").first.inner_text()
    assert digest == told["algorithm"]
    owner.go(f"/mine/{dataset}")
    owner.page.click("summary:has-text('Change the role')")
    owner.page.locator("input[name=algorithms_synthesise]").first.fill(f"{digest}, independent")
    owner.page.click("text=Save the role >> nth=0")
    owner.says("The role is saved")
    owner.look("algorithm-allowed")
    ask(uma, dataset, "synthesise", method=f"chain@{told['algorithm']}")
    uma.says("a standing rule, at once")
    uma.look("ask-foreign")
    uma.page.click("text=Send the request")
    uma.says("waiting for a worker")
    assert Worker(web.site.opened).step()
    uma.says("See the result")
    uma.page.click("text=See the result")
    uma.says("chain")
    uma.look("algorithm-release")
    owner.go(f"/mine/{dataset}")
    owner.says("offered by others")
    owner.go(f"/mine/{dataset}/budgets")
    owner.says("Uma")
    owner.page.fill("#name", "uma")
    owner.page.fill("#epsilon", "0.6")
    owner.page.click("main button:has-text('Save')")
    owner.says("0.1")
    owner.look("budgets")
