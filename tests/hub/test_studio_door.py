"""The studio over HTTP: one browser gets in, once; pages show names and never a cell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from studio_stories import SECRET, make_studio, serve

from understudy.hub.studio.serving import StudioServer
from understudy.hub.studio.session import Studio


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return make_studio(tmp_path)


@pytest.fixture
def server(studio: Studio) -> Iterator[StudioServer]:
    with serve(studio) as running:
        yield running


@pytest.fixture
def browser(server: StudioServer) -> Iterator[httpx.Client]:
    address = f"http://127.0.0.1:{server.door.port}"
    with httpx.Client(base_url=address, follow_redirects=True, timeout=30) as client:
        client.get(server.door.address)
        yield client


def send(browser: httpx.Client, server: StudioServer, path: str, **fields: Any) -> httpx.Response:
    data = {name.replace("_at_", "-"): value for name, value in fields.items()}
    return browser.post(path, data={"csrf": server.door.csrf, **data})


def walk_to_price(browser: httpx.Client, server: StudioServer) -> str:
    send(browser, server, "/question", answer="row")
    send(browser, server, "/columns", do="suggest-all")
    send(browser, server, "/columns", do="leave out")
    page = send(browser, server, "/budget", epsilon="2", about_rows="600")
    found = re.search(r'name="offer" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]


class TestDoor:
    """Nobody but the browser with the link, on this machine."""

    def test_the_link_works_once(self, browser: httpx.Client, server: StudioServer) -> None:
        assert browser.get("/unit").status_code == 200
        with httpx.Client() as other:
            assert other.get(server.door.address).status_code == 403
            assert other.get(f"http://127.0.0.1:{server.door.port}/unit").status_code == 403

    @pytest.mark.parametrize("path", ["/", "/unit", "/static/hub.css", "/report", "/state"])
    def test_without_the_cookie_there_is_nothing(self, server: StudioServer, path: str) -> None:
        address = f"http://127.0.0.1:{server.door.port}"
        for cookies in ({}, {server.door.cookie: "guess"}):
            answer = httpx.get(address + path, cookies=cookies)
            assert answer.status_code == 403
            assert "patient_id" not in answer.text

    def test_another_host_is_refused(self, browser: httpx.Client, server: StudioServer) -> None:
        for host in ("evil.example", f"evil.example:{server.door.port}", "127.0.0.1", ""):
            answer = browser.get("/unit", headers={"host": host})
            assert answer.status_code in (400, 421)
        named = browser.get("/unit", headers={"host": f"localhost:{server.door.port}"})
        assert named.status_code == 200

    def test_another_origin_is_refused(
        self, browser: httpx.Client, server: StudioServer, studio: Studio
    ) -> None:
        for headers in (
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"sec-fetch-site": "cross-site"},
        ):
            sent = browser.post(
                "/question", data={"csrf": server.door.csrf, "answer": "row"}, headers=headers
            )
            assert sent.status_code == 403
        assert not studio.unit_known

    def test_a_form_without_its_code_changes_nothing(
        self, browser: httpx.Client, studio: Studio
    ) -> None:
        assert browser.post("/question", data={"answer": "row"}).status_code == 400
        assert not studio.unit_known

    def test_too_much_is_refused(self, browser: httpx.Client) -> None:
        assert browser.post("/question", content=b"x" * (9 << 20)).status_code == 413

    def test_it_listens_on_this_machine_alone(self, server: StudioServer) -> None:
        assert server._socket.getsockname()[0] == "127.0.0.1"


class TestPages:
    """What a page may show before anything is paid for."""

    def test_no_cell_is_shown_before_the_release(
        self, browser: httpx.Client, server: StudioServer, studio: Studio
    ) -> None:
        texts = [browser.get("/unit").text]
        texts.append(send(browser, server, "/question", answer="row").text)
        texts.append(send(browser, server, "/columns", do="suggest-all").text)
        texts.append(send(browser, server, "/columns", do="ask", chosen="2").text)
        texts.append(send(browser, server, "/columns", do="draft").text)
        texts.append(browser.get("/budget?epsilon=3").text)
        texts.append(send(browser, server, "/budget", epsilon="2", about_rows="9").text)
        assert "patient_id" in texts[1]
        for text in texts:
            assert SECRET not in text
            assert "601" not in text.replace("#601", "")  # nor how many lines there are
        assert studio.release is None

    def test_hostile_names_of_columns_stay_text(self, tmp_path: Path) -> None:
        table = tmp_path / "hostile.csv"
        table.write_text('"<script>alert(1)</script>","a""b\'c"\n1,2\n')
        with serve(make_studio(tmp_path, table)) as server:
            address = f"http://127.0.0.1:{server.door.port}"
            with httpx.Client(base_url=address, follow_redirects=True) as browser:
                browser.get(server.door.address)
                page = send(browser, server, "/question", answer="row")
                assert "<script>alert" not in page.text
                assert "&lt;script&gt;alert" in page.text
                assert "script-src 'self'" in page.headers["content-security-policy"]

    def test_lines_are_changed_by_their_places_and_errors_stay_beside_them(
        self, browser: httpx.Client, server: StudioServer, studio: Studio
    ) -> None:
        send(browser, server, "/question", answer="row")
        fields = {
            "kind_at_1": "integer",
            "facts_at_1": "banana",
            "kind_at_2": "categorical",
            "facts_at_2": "M|F",
            "missing_at_2": "no",
        }
        page = send(browser, server, "/columns", do="save", **fields)
        assert page.status_code == 400
        assert "banana" in page.text
        assert "is no range" in page.text
        assert studio.interview.form.entries["sex"]["values"] == ["M", "F"]
        assert "age" in studio.open_columns()

    def test_filters_show_some_columns(self, browser: httpx.Client, server: StudioServer) -> None:
        send(browser, server, "/question", answer="row")
        page = browser.get("/columns", params={"find": "SCORE", "show": "open"}).text
        assert 'data-name="score_1"' in page
        assert 'data-name="age"' not in page

    def test_a_price_pays_for_one_release(
        self, browser: httpx.Client, server: StudioServer, studio: Studio
    ) -> None:
        offer = walk_to_price(browser, server)
        send(browser, server, "/release", offer=offer)
        first = studio.release
        assert first is not None
        send(browser, server, "/release", offer=offer)
        assert first.wait(120).state == "done"
        send(browser, server, "/release", offer=offer)
        assert studio.release is first
        stale = send(browser, server, "/release", offer="another")
        assert stale.status_code == 400
        assert "out of date" in stale.text

    def test_downloads_hold_nothing_of_the_comparison(
        self, browser: httpx.Client, server: StudioServer, studio: Studio
    ) -> None:
        for what in ("rows", "model", "report", "account", "schema", "owner-report", "../x"):
            assert browser.get(f"/download/{what}").status_code == 404
        offer = walk_to_price(browser, server)
        send(browser, server, "/release", offer=offer)
        assert studio.release is not None
        studio.release.wait(120)
        page = browser.get("/result").text
        assert "understudy synthesize" in page
        assert "For the owner only" in page
        for what in ("rows", "model", "report", "account", "schema"):
            answer = browser.get(f"/download/{what}")
            assert answer.headers["content-disposition"].startswith("attachment")
            assert "For the owner only" not in answer.text
        for what in ("owner", "comparison", "interview", "table"):
            assert browser.get(f"/download/{what}").status_code == 404

    def test_a_stop_is_a_page_with_remedies(
        self, browser: httpx.Client, server: StudioServer, studio: Studio
    ) -> None:
        send(browser, server, "/question", answer="row")
        send(browser, server, "/columns", do="draft")
        page = send(browser, server, "/budget", epsilon="0.05", about_rows="600").text
        found = re.search(r'name="offer" value="([^"]+)"', page)
        assert found is not None
        send(browser, server, "/release", offer=found[1])
        assert studio.release is not None
        studio.release.wait(120)
        stop = browser.get("/release").text
        assert "too few rows" in stop
        assert "Go on all the same" in stop
        send(browser, server, "/remedy", do="keep_going")
        assert studio.choices.keep_going

    def test_without_a_ledger_the_page_says_so(
        self, browser: httpx.Client, server: StudioServer
    ) -> None:
        walk_to_price(browser, server)
        assert "No ledger:" in browser.get("/price").text
        page = send(
            browser, server, "/budget", do="ledger", allowance="3", allowed_delta="1e-6"
        ).text
        assert "epsilon 3" in page
        assert "No ledger:" not in browser.get("/price").text

    def test_the_studio_ends_when_asked(self, studio: Studio) -> None:
        server = StudioServer(studio)
        thread = server.start()
        with httpx.Client(base_url=f"http://127.0.0.1:{server.door.port}") as browser:
            browser.get(server.door.address)
            assert browser.post("/quit", data={"csrf": server.door.csrf}).status_code == 200
        thread.join(10)
        assert not thread.is_alive()
