"""The Python client, and signing in by an identity provider, against the real application."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from web_hubs import WebHub, make_web_hub

from understudy.errors import BudgetError, InputError
from understudy.hub import Client, jobs
from understudy.hub.errors import Conflict, NotFound, Refused, Unavailable
from understudy.hub.oidc import OpenIDProvider, read_provider
from understudy.hub.records import ReleaseFile, read_dataset, read_job_of
from understudy.hub.releases import ReleaseSpec


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebHub]:
    made = make_web_hub(tmp_path / "hub")
    made.add("owner", "uma", "eve")
    yield made
    made.site.opened.close()


def client(web: WebHub, name: str) -> Client:
    program = web.api(name)
    return Client("http://127.0.0.1:8000", web.tokens[name], http=program)


def deliver(web: WebHub, request: str, content: bytes = b"age,sex,smoker\n") -> None:
    """What a worker does."""
    with web.site.db.transaction() as c:
        job = read_job_of(c, request)
        assert job is not None
        jobs.claim(c, "worker", [job.dataset])
    stored = web.site.vault.put(job.dataset, "release", content)
    file = ReleaseFile(
        name="synthetic.csv",
        media_type="text/csv",
        size=len(content),
        sha256=stored.sha256,
        object=stored.id,
    )
    with web.site.db.transaction() as c:
        jobs.finish(c, job.id, "worker", ReleaseSpec(title="Table", files=[file]))


def test_the_client_walks_from_the_catalogue_to_a_file(web: WebHub, tmp_path: Path) -> None:
    web.register("owner", ("uma",))
    owner, uma = client(web, "owner"), client(web, "uma")
    found = uma.datasets("pat")[0]
    assert uma.datasets("no such words") == []
    seen = uma.preview(found["id"], "synthesise", epsilon=0.5)
    assert seen["price"] == {"epsilon": 0.5, "delta": 0.0}
    assert "about 1,000 rows" in seen["expect"][0]
    asked = uma.synthesise(found["id"], epsilon=0.5, reason="A course")
    assert asked["state"] == "waiting"
    waiting = owner.inbox()
    assert [one["id"] for one in waiting] == [asked["id"]]
    owner.decide(asked["id"], True)
    assert uma.dataset(found["id"])["left"]["epsilon"] == 2.5
    deliver(web, asked["id"])
    release = uma.wait(asked["id"])
    path = uma.download(release["id"], "synthetic.csv", tmp_path / "rows.csv")
    assert path.read_text() == "age,sex,smoker\n"
    assert [one["id"] for one in uma.releases(found["id"])] == [release["id"]]
    assert owner.trail()["entries"]
    with pytest.raises(NotFound, match="no such file"):
        uma.download(release["id"], "other.csv", tmp_path / "other.csv")
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == ["rows.csv"]


def test_the_clients_errors_are_those_of_the_hub(web: WebHub) -> None:
    dataset = web.register("owner", ("uma",), epsilon=0.1).id
    owner, uma, eve = (client(web, name) for name in ("owner", "uma", "eve"))
    with pytest.raises(BudgetError, match="left"):
        uma.synthesise(dataset, epsilon=0.2, reason="too much")
    with pytest.raises(Refused, match="no role"):
        eve.synthesise(dataset, epsilon=0.1, reason="mine")
    with pytest.raises(NotFound):
        eve.dataset("nothing")
    with pytest.raises(InputError, match="epsilon"):
        uma.ask(dataset, ["count"], epsilon=-1, reason="r")
    asked = uma.ask(dataset, ["count"], epsilon=0.1, reason="r")
    owner.decide(asked["id"], False, "no")
    with pytest.raises(Refused, match="no"):
        uma.wait(asked["id"])
    again = uma.ask(dataset, ["count"], epsilon=0.1, reason="r")
    with pytest.raises(Unavailable, match="not ended"):
        uma.wait(again["id"], seconds=0, every=0)
    owner.decide(again["id"], True)
    owner.close_dataset(dataset)
    with pytest.raises(Conflict, match="cancelled"):
        uma.wait(again["id"])
    with pytest.raises(Refused, match="token"):
        Client("http://127.0.0.1:8000", "ush_made_up", http=web.api("uma")).datasets()


def test_rows_are_stored_encrypted_and_by_the_owner_alone(web: WebHub, tmp_path: Path) -> None:
    dataset = web.register("owner", ("uma",)).id
    rows = tmp_path / "rows.csv"
    rows.write_text("age,sex,smoker\n" + "44,female,no\n" * 50_000)
    with pytest.raises(Refused, match="owner"):
        client(web, "uma").store_rows(dataset, rows)
    assert "has no rows" in web.client("owner").get(f"/mine/{dataset}").text
    client(web, "owner").store_rows(dataset, rows)
    assert "has no rows" not in web.client("owner").get(f"/mine/{dataset}").text
    with web.site.db.reading() as c:
        stored = read_dataset(c, dataset).rows_object
    assert stored is not None
    assert web.site.vault.read(stored) == rows.read_bytes()
    kept = [path for path in web.site.opened.folder.rglob("*") if path.is_file()]
    assert not any(b"44,female" in path.read_bytes() for path in kept)


def test_sending_twice_under_one_key_spends_once(web: WebHub) -> None:
    dataset = web.register("owner", ("uma",), standing=True).id
    uma = client(web, "uma")
    made = [
        uma.request(dataset, "ask", "r", key="one key of mine", epsilon=1.0, questions=["count"])
        for _ in range(3)
    ]
    assert len({one["id"] for one in made}) == 1
    assert uma.dataset(dataset)["left"]["epsilon"] == 2.0


@pytest.mark.parametrize("address", ["http://hub.example.org", "ftp://127.0.0.1", "hub", ""])
def test_tokens_travel_over_tls_alone(address: str) -> None:
    with pytest.raises(InputError, match="https"):
        Client(address, "ush_x")


# --------------------------------------------------------------------------- OpenID Connect


ISSUER = "https://id.example"


def provider(claims: dict[str, Any], seen: list[dict[str, Any]]) -> OpenIDProvider:
    """A provider that says these claims of whoever comes."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/.well-known/openid-configuration":
            places = {
                "authorization_endpoint": f"{ISSUER}/authorize",
                "token_endpoint": f"{ISSUER}/token",
            }
            return httpx.Response(200, json=places)
        form = {key: value[0] for key, value in parse_qs(request.content.decode()).items()}
        seen.append(form)
        middle = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
        return httpx.Response(200, json={"id_token": f"e30.{middle}.c2ln"})

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return OpenIDProvider(issuer=ISSUER, client="hub", secret="s", label="Uni", http=http)


Change = Callable[[dict[str, Any]], None]


def sign_in(tmp_path: Path, change: Change = lambda claims: None) -> tuple[Any, Any, list[Any]]:
    seen: list[dict[str, Any]] = []
    claims: dict[str, Any] = {
        "iss": ISSUER,
        "aud": "hub",
        "sub": "42",
        "email": "Carol@Uni.example",
        "name": "Carol",
        "exp": time.time() + 600,
    }
    web = make_web_hub(tmp_path / "hub", provider=provider(claims, seen))
    browser = web.client().client
    begun = browser.get("/oidc/start", follow_redirects=False)
    query = {k: v[0] for k, v in parse_qs(urlsplit(begun.headers["location"]).query).items()}
    claims["nonce"] = query["nonce"]
    change(claims)
    state = claims.pop("state", query["state"])
    back = browser.get("/oidc/back", params={"code": "c", "state": state})
    return browser, back, seen


def test_a_provider_signs_somebody_in(tmp_path: Path) -> None:
    browser, back, seen = sign_in(tmp_path)
    assert back.status_code == 200
    assert "Signed in as Carol" in back.text
    assert len(seen[0]["code_verifier"]) > 40
    assert "carol@uni.example" in browser.get("/account").text


@pytest.mark.parametrize(
    "change",
    [
        lambda claims: claims.update(iss="https://evil.example"),
        lambda claims: claims.update(aud="somebody else"),
        lambda claims: claims.update(aud=["hub", "other"]),
        lambda claims: claims.update(nonce="another"),
        lambda claims: claims.update(exp=time.time() - 3600),
        lambda claims: claims.pop("exp"),
        lambda claims: claims.update(sub=""),
        lambda claims: claims.update(state="forged"),
    ],
)
def test_what_does_not_fit_signs_nobody_in(tmp_path: Path, change: Change) -> None:
    browser, back, _ = sign_in(tmp_path, change)
    assert back.status_code == 403
    assert browser.get("/datasets", follow_redirects=False).status_code == 303


def test_without_a_provider_there_is_no_such_page(web: WebHub) -> None:
    assert web.client().get("/oidc/start").status_code == 404
    assert web.client().get("/oidc/back?state=x&code=y").status_code == 404


def test_the_environment_names_a_provider_whole_or_not_at_all() -> None:
    assert read_provider({}) is None
    names = {f"UNDERSTUDY_HUB_OIDC_{name}": "x" for name in ("CLIENT", "SECRET")}
    with pytest.raises(InputError, match="set all of"):
        read_provider(names)
    with pytest.raises(InputError, match="https"):
        read_provider({**names, "UNDERSTUDY_HUB_OIDC_ISSUER": "http://id.example"})
    made = read_provider({**names, "UNDERSTUDY_HUB_OIDC_ISSUER": ISSUER})
    assert made is not None
    assert made.issuer == ISSUER
