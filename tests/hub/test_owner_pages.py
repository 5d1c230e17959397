"""Pages for budgets of users, rows, attributes of accounts, and options of methods."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from foreign_packages import make_wheel
from web_hubs import WebHub, make_web_hub

from understudy.errors import InputError
from understudy.hub import agents, algorithms, budgets, federated, jobs, requests
from understudy.hub.access import read_subject
from understudy.hub.amounts import Price
from understudy.hub.foreign.packages import public_key_of, sign_package
from understudy.hub.records import Dataset, read_dataset, read_job_of
from understudy.hub.roles import RoleSpec, RuleSpec
from understudy.hub.web import lists, uploads
from understudy.hub.web.pages.requests import list_steps
from understudy.hub.worker import Worker

ROWS = "age,sex,smoker\n" + "".join(f"{20 + i % 50},female,no\n" for i in range(200))


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> WebHub:
    hub = make_web_hub(tmp_path_factory.mktemp("hub") / "hub")
    hub.add("olga", "uma", "eve")
    hub.add("ada", administrator=True)
    return hub


class TestBudgets:
    """What an owner allows each user."""

    def send(self, web: WebHub, dataset: Dataset, **fields: str) -> Any:
        page = f"/mine/{dataset.id}/budgets"
        return web.client("olga").send(page, fields)

    def left(self, web: WebHub, dataset: Dataset, name: str) -> Price:
        with web.site.db.reading() as c:
            return budgets.read_left_for(c, dataset.id, web.people[name].id)

    def test_a_user_gets_a_budget_and_loses_it(self, web: WebHub) -> None:
        dataset = web.register("olga", ("uma",), user_epsilon=1.0, user_delta=0.0)
        page = web.client("olga").get(f"/mine/{dataset.id}/budgets").text
        assert "Nobody has spent anything yet" in page
        assert "epsilon 1" in page
        saved = self.send(web, dataset, name="uma", epsilon="0.25")
        assert "The change is saved" in saved.text
        assert re.search(r"Uma<small>uma</small>.*>0\.25<", saved.text)
        assert self.left(web, dataset, "uma") == Price.of(0.25)
        assert self.left(web, dataset, "eve") == Price.of(1.0)
        self.send(web, dataset, name="uma", epsilon="")
        assert self.left(web, dataset, "uma") == Price.of(1.0)

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"name": "nobody", "epsilon": "1"}, "no account"),
            ({"name": "", "epsilon": "1"}, "missing"),
            ({"name": "uma", "epsilon": "-1"}, "epsilon"),
            ({"name": "uma", "epsilon": "much"}, "must be a number"),
        ],
    )
    def test_a_mistake_is_named_and_stays_in_the_form(
        self, web: WebHub, fields: dict[str, str], said: str
    ) -> None:
        dataset = web.register("olga")
        answer = self.send(web, dataset, **fields)
        assert answer.status_code in (404, 422)
        assert said in answer.text
        assert f'value="{fields["epsilon"]}"' in answer.text

    def test_nobody_else_sees_or_sets_them(self, web: WebHub) -> None:
        dataset = web.register("olga", ("uma",))
        for name in ("uma", "ada"):
            browser = web.client(name)
            assert browser.get(f"/mine/{dataset.id}/budgets").status_code == 403
            sent = browser.send(
                "/account",
                {"name": name, "epsilon": "9"},
                action=f"/mine/{dataset.id}/budgets",
            )
            assert sent.status_code == 403


class TestRows:
    """Rows that an owner sends by the page."""

    def send(self, web: WebHub, dataset: Dataset, content: bytes, name: str = "olga") -> Any:
        page = "/account" if name != "olga" else f"/mine/{dataset.id}"
        files = {"rows": ("rows.csv", content, "text/csv")}
        return web.client(name).send(page, {}, action=f"/mine/{dataset.id}/rows", files=files)

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_they_are_encrypted_and_computed_on(
        self, web: WebHub, pack: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        dataset = web.register("olga", ("uma",), standing=True)
        managed = web.client("olga").get(f"/mine/{dataset.id}").text
        assert "has no rows of this data set yet" in managed
        monkeypatch.setattr(
            "tempfile.SpooledTemporaryFile", lambda *_, **__: pytest.fail("rows on the disk")
        )
        content = pack(ROWS.encode())  # once: gzip writes the time into what it makes
        answer = self.send(web, dataset, content)
        assert "The rows are stored, encrypted" in answer.text
        with web.site.db.transaction() as c:
            found = read_dataset(c, dataset.id)
        assert found.rows_object is not None
        assert b"".join(web.site.vault.open(found.rows_object)) == content
        for path in web.site.opened.folder.rglob("*"):
            assert not path.is_file() or b"female,no" not in path.read_bytes()
        spec = {"epsilon": 0.5, "questions": ["count"]}
        asked = {"operation": "ask", "spec": spec, "key": f"key of {dataset.id}"}
        made = web.api("uma").post(f"/api/v1/datasets/{dataset.id}/requests", json=asked).json()
        worker = Worker(web.site.opened)
        while worker.step():  # jobs of other tests may be queued before it
            pass
        with web.site.db.reading() as c:
            job = read_job_of(c, made["id"])
        assert job is not None
        assert job.state == "done"

    @pytest.mark.parametrize("name", ["uma", "ada"])
    def test_nobody_else_sends_any(self, web: WebHub, name: str) -> None:
        dataset = web.register("olga", ("uma",))
        assert self.send(web, dataset, b"x", name).status_code == 403
        with web.site.db.reading() as c:
            assert read_dataset(c, dataset.id).rows_object is None

    def test_a_form_of_another_site_is_refused_before_its_file_is_read(
        self, web: WebHub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        dataset = web.register("olga")
        monkeypatch.setattr(uploads, "keep_rows", lambda *_: pytest.fail("read"))
        browser = web.client("olga").client
        files = {"rows": ("rows.csv", ROWS.encode(), "text/csv")}
        for data in ({}, {"csrf": "forged"}):
            answer = browser.post(f"/mine/{dataset.id}/rows", data=data, files=files)
            assert answer.status_code == 403

    @pytest.mark.parametrize(
        ("content", "kind", "said"),
        [
            (b"", "multipart/form-data; boundary=x", 403),
            (b"--x\r\nnonsense\r\n\r\n", "multipart/form-data; boundary=x", 422),
            (b"a=1", "application/x-www-form-urlencoded", 422),
            (b"--x", "multipart/form-data", 422),
        ],
    )
    def test_what_is_no_form_is_refused(
        self, web: WebHub, content: bytes, kind: str, said: int
    ) -> None:
        dataset = web.register("olga")
        browser = web.client("olga").client
        headers = {"content-type": kind}
        answer = browser.post(f"/mine/{dataset.id}/rows", content=content, headers=headers)
        assert answer.status_code == said

    def test_an_empty_file_and_another_mode_are_refused(self, web: WebHub) -> None:
        dataset = web.register("olga")
        answer = self.send(web, dataset, b"")
        assert answer.status_code == 422
        assert "no file" in answer.text
        with_agent = web.register("olga", mode="agent")
        answer = self.send(web, with_agent, ROWS.encode())
        assert answer.status_code == 422
        assert "stay with its owner" in answer.text
        assert 'id="rows"' not in web.client("olga").get(f"/mine/{with_agent.id}").text


class TestAttributes:
    """What an administrator vouches for."""

    def send(self, web: WebHub, name: str, user: str, text: str) -> Any:
        page = "/users" if name == "ada" else "/account"
        action = f"/users/{web.people[user].id}/attributes"
        return web.client(name).send(page, {"attributes": text}, action=action)

    def attributes(self, web: WebHub, name: str) -> dict[str, str]:
        with web.site.db.reading() as c:
            return dict(read_subject(c, web.people[name].id).attributes)

    def test_they_let_people_into_roles(self, web: WebHub) -> None:
        answer = self.send(web, "ada", "eve", "institution: Uni A\n\n field : health ")
        assert "institution: Uni A" in answer.text
        assert self.attributes(web, "eve") == {"institution": "Uni A", "field": "health"}
        answer = web.api("ada").patch(
            f"/api/v1/users/{web.people['eve'].id}", json={"attributes": {"institution": "Uni B"}}
        )
        assert answer.json()["attributes"] == {"institution": "Uni B"}
        self.send(web, "ada", "eve", "")
        assert self.attributes(web, "eve") == {}

    @pytest.mark.parametrize(
        "text", ["institution", "a: 1\na: 2", ": x", "a:", "a: " + "x" * 101, "a: b\u202e"]
    )
    def test_what_is_none_is_refused(self, web: WebHub, text: str) -> None:
        assert self.send(web, "ada", "uma", text).status_code == 422
        assert self.attributes(web, "uma") == {}

    def test_nobody_vouches_for_herself(self, web: WebHub) -> None:
        assert self.send(web, "uma", "uma", "institution: Uni A").status_code == 403
        assert self.attributes(web, "uma") == {}


class TestAsking:
    """What the form of a synthetic table offers and says."""

    def test_options_of_the_method_have_fields_and_reach_the_job(self, web: WebHub) -> None:
        dataset = web.register("olga", ("uma",), standing=True)
        uma = web.client("uma")
        page = f"/datasets/{dataset.id}/ask/synthesise"
        shown = uma.get(page).text
        assert 'data-when="method=privbayes"' in shown
        assert 'name="option_privbayes_degree"' in shown
        assert "option_gan_checkpoint" not in shown, "files of the owner's machine"
        fields = {
            "method": "privbayes",
            "format": "csv",
            "epsilon": "0.5",
            "delta": "0",
            "reason": "a paper",
            "option_privbayes_degree": "1",
            "option_adaptive_rounds": "9",
        }
        wrong = uma.send(page, fields | {"option_privbayes_degree": "many"})
        assert wrong.status_code == 422
        assert "degree must be" in wrong.text
        uma.send(page, fields)
        with web.site.db.reading() as c:
            job = jobs.of_dataset(c, web.people["olga"].id, dataset.id).items[0]
        assert job.spec["parameters"] == {"degree": 1}

    def test_the_error_it_foretells_falls_with_epsilon(self, web: WebHub) -> None:
        dataset = web.register("olga", ("uma",), about_rows=5_000)
        uma = web.client("uma")
        errors = []
        for epsilon in ("0.1", "1", "10"):
            page = uma.get(f"/datasets/{dataset.id}/ask/synthesise?epsilon={epsilon}").text
            found = re.search(r"is off by about ([\d.]+)%", page)
            assert found is not None
            errors.append(float(found[1]))
        assert errors[0] > errors[1] > errors[2]

    def test_who_may_use_one_method_alone_gets_the_form(self, web: WebHub) -> None:
        rule = RuleSpec(operation="synthesise", algorithms=["independent"], standing=True)
        role = RoleSpec(name="R1", members=[web.people["uma"].id], rules=[rule])
        dataset = web.register("olga", roles=[role])
        page = f"/datasets/{dataset.id}/ask/synthesise"
        uma = web.client("uma")
        assert "a standing rule, at once" in uma.get(f"{page}?method=independent").text
        assert "nobody: Your roles allow" in uma.get(f"{page}?method=mst").text
        assert web.client("eve").get(page).status_code == 403
        assert uma.get(page.replace("synthesise", "learn")).status_code == 403

    def test_methods_of_an_offered_package_go_by_their_own_names(self, web: WebHub) -> None:
        entries = "[understudy.methods]\nchain = stranger\n"
        data = make_wheel("x = 1\n", **{"stranger-1.0.dist-info/entry_points.txt": entries})
        key = Ed25519PrivateKey.generate()
        with web.site.db.transaction() as c:
            provider = web.people["eve"].id
            offered = algorithms.offer(
                c, provider, data, public_key_of(key), sign_package(data, key)
            )
        dataset = web.register("olga", ("uma",))
        page = web.client("uma").get(f"/datasets/{dataset.id}/ask/synthesise").text
        assert f'value="chain@{offered.digest}"' in page
        assert "stranger@" not in page

    def test_the_form_of_a_learner_starts_without_a_mistake(self, web: WebHub) -> None:
        dataset = web.register("olga", ("uma",))
        page = web.client("uma").get(f"/datasets/{dataset.id}/ask/learn").text
        assert '<option value="smoker" selected>' in page
        assert "notice bad" not in page

    def test_the_trail_has_names_for_agents_and_workers(self, web: WebHub) -> None:
        with web.site.db.transaction() as c:
            made, _ = agents.create(c, web.people["olga"].id, "clinic")
            named = lists.actor_names(
                c, [f"agent:{made.id}", "worker:host:7", "rule:x", "hub", web.people["uma"].id]
            )
        assert set(named.values()) == {
            "clinic (agent)",
            "a worker of the hub",
            "a standing rule",
            "the hub",
            "Uma",
        }


ROW = b"age,sex,smoker\n30,female,no\n"


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (ROW, ""),
        (ROW.replace(b",", b";"), ""),
        (b"\xef\xbb\xbf" + ROW, ""),
        (b'id,"age", sex ,smoker\r\n', ""),
        (gzip.compress(ROW), ""),
        (b"PAR1 and more", ""),
        (b"\x1f\x8b is no gzip", ""),
        (b"a line that goes on in the next piece", ""),
        (b"", "empty"),
        (b"age,sex\n30,female\n", "does not name smoker,"),
        (gzip.compress(b"a,b\n1,2\n"), "does not name age, sex, smoker,"),
        (b"30,female,no\n31,male,no\n", "does not name age, sex, smoker,"),
    ],
)
def test_a_table_without_the_columns_of_the_schema_is_refused(first: bytes, why: str) -> None:
    names = ("age", "sex", "smoker")
    if not why:
        uploads.check_columns(first, names)
        return
    with pytest.raises(InputError, match=why):
        uploads.check_columns(first, names)


def test_rows_of_another_table_are_not_stored(web: WebHub) -> None:
    dataset = web.register("olga")
    wrong = b"a,b\n1,2\n"
    files = {"rows": ("rows.csv", wrong, "text/csv")}
    page = f"/mine/{dataset.id}"
    answer = web.client("olga").send(page, {}, action=f"{page}/rows", files=files)
    assert answer.status_code == 422
    assert "does not name age" in answer.text
    sent = web.api("olga").put(f"/api/v1/datasets/{dataset.id}/rows", content=wrong)
    assert sent.status_code == 422
    with web.site.db.reading() as c:
        assert read_dataset(c, dataset.id).rows_object is None


def test_the_trail_has_names_where_ids_stand_and_nowhere_else(web: WebHub) -> None:
    """A reason is somebody's text: that it is an id must not show what the id is of."""
    dataset = web.register("olga", ("uma",), name="Patients")
    hidden = web.register("ada", name="Hidden data", listed=False)
    several = web.register("olga", name="Several", mode="federated")
    olga, uma = web.people["olga"].id, web.people["uma"].id
    with web.site.db.transaction() as c:
        agent, _ = agents.create(c, olga, "Beside the rows")
        federated.invite(c, olga, several.id, agent.id)
        made = requests.submit(c, uma, dataset.id, "access", {}, "why", "a key for access")
        requests.decide(c, olga, made.id, False, hidden.id)
    shown = web.client("olga").get("/trail").text
    assert "agent: Beside the rows (agent)" in shown
    assert agent.id not in shown
    assert "members: Uma; role: R1; rules: synthesise / ask / learn / download / query" in shown
    assert f'href="/requests/{made.id}"' in shown
    assert f"reason: {hidden.id}" in shown
    assert "Hidden data" not in shown


def test_a_request_lies_under_my_data_for_its_owner(web: WebHub) -> None:
    """The menu marks where the page's own path leads back to."""
    dataset = web.register("olga", name="Marked")
    with web.site.db.transaction() as c:
        made = requests.submit(
            c, web.people["uma"].id, dataset.id, "access", {}, "why", "a key for the menu"
        )
    for name, chapter in (("olga", "My data"), ("uma", "My requests")):
        page = web.client(name).get(f"/requests/{made.id}").text
        assert re.findall(r'aria-current="page">([\w ]+)', page) == [chapter]


@pytest.mark.parametrize(
    ("end", "labels"),
    [
        ("queued", ["Sent", "Approved", "Fetched", "Computing", "Released"]),
        ("cancelled", ["Sent", "Approved", "Cancelled"]),
        ("failed", ["Sent", "Approved", "Fetched", "Failed"]),
        ("interrupted", ["Sent", "Approved", "Fetched", "Interrupted"]),
    ],
)
def test_a_job_that_ended_shows_where(web: WebHub, end: str, labels: list[str]) -> None:
    dataset = web.register("olga", ("uma",), standing=True)
    spec = {"epsilon": 0.1, "questions": ["count"]}
    with web.site.db.transaction() as c:
        uma = web.people["uma"].id
        made = requests.submit(c, uma, dataset.id, "ask", spec, "why", f"a key for {end}")
        job = read_job_of(c, made.id)
        assert job is not None
        if end in ("failed", "interrupted"):
            jobs.claim(c, "worker:w", [dataset.id])
        if end == "failed":
            jobs.fail(c, job.id, "worker:w", "It cannot be.", spent=True)
        elif end == "interrupted":
            jobs.expire(c, c.now + jobs.LEASE * 2)
        elif end == "cancelled":
            jobs.cancel(c, uma, job.id, "No more.")
        steps = list_steps(made, read_job_of(c, made.id))
    assert [step["label"] for step in steps] == labels


def test_options_of_a_learner_have_fields_and_reach_the_job(web: WebHub) -> None:
    dataset = web.register("olga", ("uma",), standing=True)
    page = f"/datasets/{dataset.id}/ask/learn"
    uma = web.client("uma")
    shown = uma.get(page).text
    assert 'name="option_kmeans_n_clusters"' in shown
    assert "option_logistic_epsilon" not in shown
    fields = {"learner": "kmeans", "target": "", "epsilon": "0.5", "delta": "0", "reason": "groups"}
    for typed in ("many", "-1", "2.5", "nan", "1e400"):
        wrong = uma.send(page, fields | {"option_kmeans_n_clusters": typed})
        assert wrong.status_code == 422, typed
    sent = uma.send(page, fields | {"option_kmeans_n_clusters": "3", "option_logistic_C": "9"})
    assert "The request was sent" in sent.text
    with web.site.db.reading() as c:
        made = requests.of_user(c, web.people["uma"].id, dataset=dataset.id).items[0]
    assert made.spec["parameters"] == {"n_clusters": 3}
    assert "n clusters 3" in sent.text
