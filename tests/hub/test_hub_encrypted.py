"""Owners deliver ciphertexts to the hub and go offline; the hub asks a crypto service."""

from __future__ import annotations

import copy
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from web_hubs import WebHub, make_web_hub

from understudy.data.encoding import Coded
from understudy.data.schema import Schema
from understudy.encrypted.paillier import PrivateKey
from understudy.encrypted.plans import EncryptionPlan, list_tables
from understudy.encrypted.service import CryptoService, ServicePolicy
from understudy.encrypted.uploads import Upload, make_upload
from understudy.errors import InputError
from understudy.federation import HolderGone, MemoryLink
from understudy.federation.identity import Identity
from understudy.federation.messages import Message
from understudy.hub import datasets, trail
from understudy.hub import requests as asking
from understudy.hub.encrypted import collecting
from understudy.hub.encrypted.aggregator import Aggregator
from understudy.hub.errors import Conflict, NotFound, Refused
from understudy.hub.job_ledgers import find_job
from understudy.hub.records import Job, read_job, read_job_of, read_release
from understudy.hub.tables import releases
from understudy.hub.worker import Worker, WorkerSettings, load_worker_settings
from understudy.models.model import Model
from understudy.privacy.ledger import LedgerFile

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "sex": {"kind": "categorical", "values": ["f", "m"]},
            "ward": {"kind": "categorical", "values": ["eye", "heart", "lung"]},
        }
    }
)
OWNERS = ("north", "south")


@cache
def service_key() -> PrivateKey:
    return PrivateKey.generate()


@cache
def identity(name: str) -> Identity:
    return Identity.new(name)


def draw_rows(number: int) -> Coded:
    rng = np.random.default_rng(number)
    codes = {"sex": rng.integers(0, 2, number), "ward": rng.integers(0, 3, number)}
    return Coded(SCHEMA, {k: v.astype(np.uint8) for k, v in codes.items()}, number, ())


@cache
def agreed_plan() -> EncryptionPlan:
    return EncryptionPlan(
        schema=SCHEMA,
        key=service_key().public,
        owners=OWNERS,
        epsilon=2.0,
        max_rows=10_000,
        tables=list_tables(SCHEMA, 2),
        scores=True,
    )


@cache
def upload_of(owner: str, plan: EncryptionPlan | None = None) -> Upload:
    return make_upload(plan or agreed_plan(), owner, draw_rows(300), identity(owner))


def write_upload(
    upload: Upload, folder: Path, plan: EncryptionPlan | None = None
) -> dict[str, Any]:
    path = folder / f"{secrets.token_hex(4)}.json"
    upload.save(path, plan or agreed_plan())
    found: dict[str, Any] = json.loads(path.read_text())
    return found


class Hearing(MemoryLink):
    """A way to a service that can be cut, and that counts messages by kind."""

    cut_at = ""
    seen: list[str]

    def ask(self, message: bytes) -> bytes:
        kind = Message.from_bytes(message).kind
        self.seen = [*getattr(self, "seen", []), kind]
        if kind == self.cut_at:
            raise HolderGone("The holder service cannot be reached.")
        return super().ask(message)

    def close(self) -> None:
        return


@dataclass(frozen=True, kw_only=True)
class Beside(Aggregator):
    """An aggregator whose service is in this process."""

    link: Hearing = field(repr=False)

    def open_link(self, service: str) -> Any:
        assert service == "service"
        return self.link


@dataclass
class Place:
    """A hub with a data set of encrypted uploads, a service, and people."""

    folder: Path
    web: WebHub
    dataset: str
    service: CryptoService
    link: Hearing

    def deliver(self, document: Any, who: str = "carrier") -> Any:
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        return self.web.api(who).post(f"/api/v1/datasets/{self.dataset}/uploads", content=content)

    def submit(self, **spec: Any) -> Job:
        spec = {"epsilon": 0.5, "method": "independent", **spec}
        with self.web.site.db.transaction() as c:
            user, key = self.web.people["uma"].id, secrets.token_hex(8)
            made = asking.submit(c, user, self.dataset, "synthesise", spec, "a paper", key)
            job = read_job_of(c, made.id)
        assert job is not None
        return job

    def work(self, job: Job) -> Job:
        settings = WorkerSettings(aggregator=Beside(link=self.link))
        Worker(self.web.site.opened, settings).step()
        with self.web.site.db.reading() as c:
            return read_job(c, job.id)

    @property
    def left(self) -> tuple[float, float, float]:
        """Epsilon by the hub's books, the worker's ledger and the service's."""
        hub = self.web.site.opened
        with hub.db.reading() as c:
            owner = self.web.people["olga"].id
            books = float(datasets.show(c, owner, self.dataset).left.epsilon)
        path = hub.folder / "ledgers" / f"{self.dataset}.ledger"
        worker = LedgerFile(path).left()[0] if path.exists() else 2.0
        book = self.service.policy.ledger_file
        assert book is not None
        return books, worker, book.left()[0]


@pytest.fixture
def empty(tmp_path: Path) -> Place:
    """Registered, without a plan."""
    web = make_web_hub(tmp_path / "hub")
    web.add("olga", "uma", "carrier", "stranger")
    made = web.register(
        "olga",
        ("uma", "carrier"),
        standing=True,
        schema=SCHEMA.to_dict(),
        mode="encrypted",
        epsilon=2.0,
        delta=0.0,
    )
    book = LedgerFile.create(tmp_path / "service.ledger", 2.0, 0.0)
    certificates = {name: identity(name).certificate for name in OWNERS}
    service = CryptoService(
        "service",
        agreed_plan(),
        service_key(),
        certificates,
        policy=ServicePolicy(ledger_file=book),
    )
    return Place(tmp_path, web, made.id, service, Hearing(service))


def plan_document(**changes: Any) -> dict[str, Any]:
    owners = {name: identity(name).certificate.pem for name in OWNERS}
    return {"plan": agreed_plan().to_dict(), "owners": owners, "service": "service"} | changes


@pytest.fixture
def planned(empty: Place) -> Place:
    address = f"/api/v1/datasets/{empty.dataset}/plan"
    for _ in range(2):  # twice is once
        answer = empty.web.api("olga").put(address, json=plan_document())
        assert answer.status_code == 200, answer.text
    return empty


@pytest.fixture
def place(planned: Place) -> Place:
    """All have delivered."""
    for name in OWNERS:
        answer = planned.deliver(write_upload(upload_of(name), planned.folder))
        assert answer.status_code == 200, answer.text
    return planned


# ---- the way it should go


def test_a_table_is_made_from_what_owners_delivered(place: Place):
    job = place.submit(method="mst")
    ended = place.work(job)
    assert ended.state == "done", ended.why
    assert place.left == pytest.approx((1.5, 1.5, 1.5))
    hub = place.web.site.opened
    with hub.db.reading() as c:
        row = c.first(releases.select().where(releases.c.job == job.id))
        assert row is not None
        found = read_release(c, row["id"])
    stored = next(one for one in found.files if one.name == "model.json")
    model = Model.from_dict(json.loads(hub.vault.read(stored.object)))
    assert model.method["federation"]["way"] == "encrypted"
    assert "Encrypted sums over 2 owners" in model.ledger.statement()
    assert model.rows == pytest.approx(600, abs=300)
    assert bool(trail.verify(hub.db, key=hub.keys.trail))
    shown = place.web.api("uma").get(f"/api/v1/datasets/{place.dataset}/plan").json()
    assert [one["owner"] for one in shown["deliveries"]] == list(OWNERS)
    assert shown["digest"] == agreed_plan().digest.hex()


def test_the_pages_take_a_plan_and_uploads(empty: Place):
    address = f"/datasets/{empty.dataset}/uploads"
    owner, carrier = empty.web.client("olga"), empty.web.client("carrier")
    assert "There is no plan yet" in carrier.get(address).text
    assert "no plan of encrypted uploads" in owner.get(f"/mine/{empty.dataset}").text
    certificates = "\n".join(identity(name).certificate.pem for name in OWNERS)
    answer = owner.send(
        address,
        {"certificates": certificates, "service": "service"},
        action=f"/datasets/{empty.dataset}/plan",
        files={"plan": ("plan.json", json.dumps(agreed_plan().to_dict()).encode())},
    )
    assert "not yet" in answer.text, answer.text
    assert "may ever tell</dt><dd>2</dd>" in answer.text
    assert "0 of 2 owners have delivered" in owner.get(f"/mine/{empty.dataset}").text
    for name in OWNERS:
        content = json.dumps(write_upload(upload_of(name), empty.folder)).encode()
        answer = carrier.send(address, {}, files={"upload": ("upload.json", content)})
    assert "you may go offline" in answer.text
    assert "owners have delivered" not in owner.get(f"/mine/{empty.dataset}").text
    assert "not yet" not in answer.text
    assert (
        'value="mst"'
        in empty.web.client("uma").get(f"/datasets/{empty.dataset}/ask/synthesise").text
    )
    assert empty.web.client("uma").send(address, {}).status_code == 422


def test_uploads_stay_when_the_vault_is_swept(place: Place):
    assert place.web.site.opened.vault.sweep(older_than_seconds=-10) == 0
    assert place.work(place.submit()).state == "done"


# ---- what is refused before anything is asked


def test_a_plan_of_something_else_is_refused(empty: Place):
    owner, address = empty.web.api("olga"), f"/api/v1/datasets/{empty.dataset}/plan"
    other = Schema.from_dict(
        {"attributes": {"sex": {"kind": "categorical", "values": ["f", "m", "x"]}}}
    )
    plan = agreed_plan()
    cases: dict[str, dict[str, Any]] = {
        "another schema": {
            "plan": replace(plan, schema=other, tables=list_tables(other, 1), scores=False)
        },
        "registered for something else": {"plan": replace(plan, neighbours="replace")},
        "above what the plan allows": {"plan": replace(plan, epsilon=1.0)},
        "certificate of each owner": {"owners": {"north": identity("north").certificate.pem}},
        "is one of south": {"owners": dict.fromkeys(OWNERS, identity("south").certificate.pem)},
        "is not a certificate": {"owners": dict.fromkeys(OWNERS, "x")},
        "cannot be a party's": {"service": "../x"},
    }
    for sentence, changes in cases.items():
        if isinstance(changes.get("plan"), EncryptionPlan):
            changes = {"plan": changes["plan"].to_dict()}
        answer = owner.put(address, json=plan_document(**changes))
        assert answer.status_code == 422, answer.text
        assert sentence in answer.json()["problem"]
    assert empty.web.api("uma").put(address, json=plan_document()).status_code == 403
    stored = empty.web.register("olga", schema=SCHEMA.to_dict()).id
    answer = owner.put(f"/api/v1/datasets/{stored}/plan", json=plan_document())
    assert "Only a data set of encrypted uploads" in answer.json()["problem"]


def test_another_plan_is_refused_once_there_is_one(planned: Place):
    document = plan_document(plan=replace(agreed_plan(), collection="ff").to_dict())
    answer = planned.web.api("olga").put(f"/api/v1/datasets/{planned.dataset}/plan", json=document)
    assert answer.status_code == 409


def swap(document: dict[str, Any]) -> None:
    document["items"][0], document["items"][1] = document["items"][1], document["items"][0]


def tamper(document: dict[str, Any]) -> None:
    letters = document["items"][0]
    document["items"][0] = letters[:40] + ("A" if letters[40] != "A" else "B") + letters[41:]


def steal(document: dict[str, Any]) -> None:
    document["owner"] = "south"


def blow_up(document: dict[str, Any]) -> None:
    document["items"][0] *= 50


def cut(document: dict[str, Any]) -> None:
    document["items"] = document["items"][:-1]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (swap, "."),
        (tamper, "changed since its owner signed it"),
        (steal, "changed since its owner signed it"),
        (blow_up, "at most"),
        (cut, "other items than the plan"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_bad_uploads_are_refused_in_a_sentence(
    planned: Place, change: Callable[[dict[str, Any]], None], sentence: str
):
    document = copy.deepcopy(write_upload(upload_of("north"), planned.folder))
    change(document)
    answer = planned.deliver(document)
    assert answer.status_code in (413, 422), answer.text
    assert sentence in answer.text
    shown = planned.web.api("uma").get(f"/api/v1/datasets/{planned.dataset}/plan").json()
    assert shown["deliveries"] == []
    with pytest.raises(Conflict, match="upload of north is missing"):
        planned.submit()
    assert planned.left == (2.0, 2.0, 2.0)


def test_an_upload_for_another_plan_or_a_second_one_is_refused(place: Place):
    other = replace(agreed_plan(), collection="ab" * 16)
    replayed = write_upload(upload_of("north", other), place.folder, other)
    assert "another plan" in place.deliver(replayed).text
    again = make_upload(agreed_plan(), "north", draw_rows(10), identity("north"))
    answer = place.deliver(write_upload(again, place.folder))
    assert answer.status_code == 409
    assert "has delivered another upload before" in answer.text
    same = place.deliver(write_upload(upload_of("north"), place.folder))
    assert same.status_code == 200


def test_who_may_not_see_the_data_set_cannot_deliver(planned: Place):
    with planned.web.site.db.transaction() as c:
        owner = planned.web.people["olga"].id
        spec = datasets.DatasetSpec(
            name="Patients", schema=SCHEMA.to_dict(), epsilon=2.0, mode="encrypted", listed=False
        )
        datasets.change(c, owner, planned.dataset, spec)
    document = write_upload(upload_of("north"), planned.folder)
    assert planned.deliver(document, "stranger").status_code == 404
    assert planned.deliver(document, "carrier").status_code == 200
    for bad in (b"", b"{", b"[1]", b"null"):
        assert planned.deliver(bad).status_code == 422
    assert planned.web.api("olga").post(f"/api/v1/datasets/{planned.dataset}/close")
    closed = planned.deliver(write_upload(upload_of("south"), planned.folder))
    assert closed.status_code == 409


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            {"method": "smoothed-histogram", "parameters": {"draws": 10}},
            "does not run on encrypted tables",
        ),
        ({"delta": 1e-7}, "delta"),
    ],
)
def test_what_encrypted_tables_cannot_answer_is_refused(
    place: Place, spec: dict[str, Any], sentence: str
):
    with pytest.raises((InputError, Refused), match=sentence):
        place.submit(**spec)


def test_numbers_and_models_are_refused(place: Place):
    document = {
        "operation": "ask",
        "spec": {"epsilon": 0.5, "questions": ["count"]},
        "reason": "a paper",
        "key": secrets.token_hex(8),
    }
    answer = place.web.api("uma").post(f"/api/v1/datasets/{place.dataset}/requests", json=document)
    assert answer.status_code == 422
    assert "asked for synthetic tables" in answer.json()["problem"]


# ---- faults on the way


@pytest.mark.parametrize("cut_at", ["hello", "open", "start"])
def test_a_service_that_is_away_costs_nothing_at_the_hub(place: Place, cut_at: str):
    place.link.cut_at = cut_at
    ended = place.work(place.submit())
    assert ended.state == "failed"
    assert "The service service cannot be reached" in ended.why
    assert ended.refunded
    books, worker, service = place.left
    assert (books, worker) == (2.0, 2.0)
    assert service == 2.0
    place.link.cut_at = ""
    assert place.work(place.submit()).state == "done"


def test_a_service_that_goes_away_halfway_keeps_the_price_on_all_books(place: Place):
    place.link.cut_at = "ask"
    job = place.submit()
    ended = place.work(job)
    assert ended.state == "failed"
    assert "stays on the ledgers" in ended.why
    assert not ended.refunded
    assert place.left[:2] == pytest.approx((1.5, 1.5))
    path = place.web.site.opened.folder / "ledgers" / f"{place.dataset}.ledger"
    entry = find_job(LedgerFile(path).read(), job.id)
    assert entry is not None
    assert entry["epsilon"] == 0.5


def test_a_service_that_has_told_enough_refuses_and_the_price_comes_back(place: Place):
    book = place.service.policy.ledger_file
    assert book is not None
    book.reserve("elsewhere", 1.8, 0.0, "add_remove", "row")
    ended = place.work(place.submit())
    assert ended.state == "failed"
    assert "does not allow a release" in ended.why
    assert ended.refunded
    assert place.left == pytest.approx((2.0, 2.0, 0.2))


def test_a_service_of_another_plan_is_not_asked(place: Place):
    plan = replace(agreed_plan(), collection="cd" * 16)
    certificates = {name: identity(name).certificate for name in OWNERS}
    place.link.holder = CryptoService("service", plan, service_key(), certificates)
    ended = place.work(place.submit())
    assert "serves another plan" in ended.why
    assert ended.refunded
    assert place.link.seen == ["hello"]


def test_an_upload_that_was_changed_at_rest_is_not_used(place: Place):
    vault = place.web.site.opened.vault
    with place.web.site.db.reading() as c:
        [first, *_] = collecting.list_deliveries(c, place.dataset)
    path = vault.folder / place.dataset / first.object
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    ended = place.work(place.submit())
    assert ended.state == "failed"
    assert "not what the hub wrote" in ended.why
    assert ended.refunded


def test_a_worker_without_a_certificate_or_service_says_so(place: Place, tmp_path: Path):
    Worker(place.web.site.opened).step()
    job = place.submit()
    Worker(place.web.site.opened).step()
    with place.web.site.db.reading() as c:
        assert "[aggregator]" in read_job(c, job.id).why
    identity("hub").save(tmp_path / "hub.pem", tmp_path / "hub.key")
    settings = tmp_path / "worker.toml"
    settings.write_text('[aggregator]\ncertificate = "hub.pem"\nkey = "hub.key"\n')
    job = place.submit()
    Worker(place.web.site.opened, load_worker_settings(settings)).step()
    with place.web.site.db.reading() as c:
        assert "do not name the crypto service 'service'" in read_job(c, job.id).why
    for text in ('[aggregator]\nkey = "x"\n', "[services]\nx = 1\n", "[other]\n"):
        settings.write_text(text)
        with pytest.raises(InputError, match=r"worker\.toml"):
            load_worker_settings(settings)


def test_there_is_no_page_of_uploads_of_other_data_sets(empty: Place):
    other = empty.web.register("olga", ("uma",))
    assert empty.web.client("olga").get(f"/datasets/{other.id}/uploads").status_code == 404
    with empty.web.site.db.reading() as c, pytest.raises(NotFound):
        collecting.read_collection(c, other.id)
