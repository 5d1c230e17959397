"""Accounts: passwords, sessions, one-time links, tokens, and limits on attempts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from core_hubs import Clock, prepare_folder
from web_hubs import CHEAP, PASSWORD, make_web_hub

from understudy.errors import InputError
from understudy.hub import accounts, credentials, signing_in, tables
from understudy.hub.accounts import ProvidedIdentity
from understudy.hub.errors import NotFound, Refused
from understudy.hub.keys import make_keys
from understudy.hub.opening import Hub, open_hub
from understudy.hub.passwords import Passwords

PASSWORDS = Passwords(CHEAP)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Iterator[Hub]:
    prepare_folder(tmp_path / "hub")
    hub = open_hub(tmp_path / "hub", keys=make_keys(), create=True, clock=clock)
    yield hub
    hub.close()


@pytest.fixture
def bob(opened: Hub) -> accounts.User:
    with opened.db.transaction() as c:
        return accounts.add_user(
            c, actor="hub", name="Bob", password_hash=PASSWORDS.hash(PASSWORD), administrator=True
        )


def sign_in(hub: Hub, name: str, password: str, address: str = "") -> accounts.User | None:
    return signing_in.sign_in(hub.db, PASSWORDS, name, password, address)


def test_name_and_password_belong_together(opened: Hub, bob: accounts.User) -> None:
    found = sign_in(opened, " BOB ", PASSWORD)
    assert found is not None
    assert found.id == bob.id
    assert sign_in(opened, "bob", PASSWORD + "x") is None
    assert sign_in(opened, "eve", PASSWORD) is None
    assert sign_in(opened, "bob", "") is None


def test_pauses_grow_after_wrong_passwords_from_one_origin(
    opened: Hub, bob: accounts.User, clock: Clock
) -> None:
    for _ in range(signing_in.FREE_FAILURES):
        assert sign_in(opened, "bob", "wrong", "192.0.2.7") is None
    for pause in (1, 2, 4, 8):
        clock.turn(pause - 0.5)
        assert not is_compared(opened, "bob", "192.0.2.7"), "too soon, and it does not count"
        clock.turn(0.5)
        assert is_compared(opened, "bob", "192.0.2.7")
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.7") is None, "nor is the right one"
    clock.turn(16)
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.7") is not None


def is_compared(hub: Hub, name: str, address: str) -> bool:
    """Whether a wrong password is compared with the stored one."""
    seen: list[str | None] = []

    class Watched(Passwords):
        def verify(self, stored: str | None, password: str) -> bool:
            seen.append(stored)
            return super().verify(stored, password)

    assert signing_in.sign_in(hub.db, Watched(CHEAP), name, "wrong", address) is None
    return seen != [None]


def test_no_pause_is_longer_than_the_window(
    opened: Hub, bob: accounts.User, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signing_in, "MAX_FAILURES_PER_NAME", 1000)
    for _ in range(40):
        sign_in(opened, "bob", "wrong", "192.0.2.7")
        clock.turn(signing_in.WINDOW.total_seconds())
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.7") is not None


def test_nobody_elsewhere_locks_the_true_person_out(opened: Hub, bob: accounts.User) -> None:
    for _ in range(50):
        sign_in(opened, "bob", "wrong", "192.0.2.66")
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.66") is None
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.7") is not None


def test_guesses_from_everywhere_leave_known_origins_open(
    opened: Hub, bob: accounts.User, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signing_in, "MAX_FAILURES_PER_NAME", 20)
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.7") is not None
    for number in range(30):
        sign_in(opened, "bob", "wrong", f"198.51.100.{number}")
    assert sign_in(opened, "bob", PASSWORD, "203.0.113.5") is None, "a new place must wait"
    assert sign_in(opened, "bob", "wrong", "192.0.2.7") is None
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.7") is not None, "a known one need not"
    clock.turn(signing_in.WINDOW.total_seconds() + 1)
    assert sign_in(opened, "bob", PASSWORD, "203.0.113.5") is not None


def test_one_household_is_one_origin_and_no_address_is_kept(
    opened: Hub, bob: accounts.User
) -> None:
    for number in range(20):
        sign_in(opened, "bob", "wrong", f"2001:db8:0:1::{number:x}")
    assert sign_in(opened, "bob", PASSWORD, "2001:db8:0:1::ffff") is None
    assert sign_in(opened, "bob", PASSWORD, "2001:db8:0:2::1") is not None
    with opened.db.reading() as c:
        assert "2001" not in str([row["key"] for row in c.rows(sa.select(tables.attempts))])


def test_a_clock_that_was_set_back_locks_nobody_out(
    opened: Hub, bob: accounts.User, clock: Clock
) -> None:
    for _ in range(12):
        sign_in(opened, "bob", "wrong", "192.0.2.7")
    clock.turn(-30 * 86_400)
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.7") is not None


def test_a_success_forgets_the_failures_before_it(opened: Hub, bob: accounts.User) -> None:
    for _ in range(3):
        for _ in range(signing_in.FREE_FAILURES - 1):
            sign_in(opened, "bob", "wrong")
        assert sign_in(opened, "bob", PASSWORD) is not None


def test_addresses_of_version_4_are_no_household_on_a_socket_of_version_6(
    opened: Hub, bob: accounts.User
) -> None:
    for _ in range(signing_in.FREE_FAILURES + 1):
        sign_in(opened, "bob", "wrong", "::ffff:192.0.2.1")
    assert sign_in(opened, "bob", PASSWORD, "::ffff:192.0.2.2") is not None
    assert sign_in(opened, "bob", PASSWORD, "::ffff:192.0.2.1") is None
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.1") is None


def test_one_origin_cannot_try_many_names(
    opened: Hub, bob: accounts.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signing_in, "MAX_ATTEMPTS_PER_ORIGIN", 5)
    for number in range(5):
        assert sign_in(opened, f"name{number}", PASSWORD, "192.0.2.7") is None
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.7") is None
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.8") is not None


def test_a_session_ends_when_idle_and_at_the_latest_after_its_time(
    opened: Hub, bob: accounts.User, clock: Clock
) -> None:
    with opened.db.transaction() as c:
        secret = credentials.start_session(c, bob.id)
    clock.turn((credentials.SESSION_IDLE - dt.timedelta(minutes=1)).total_seconds())
    with opened.db.transaction() as c:
        found = credentials.find_session(c, secret)
        assert found is not None
        assert found[1], "its use is to be noted"
        credentials.note_session(c, secret)
        assert credentials.find_session(c, secret + "x") is None
    for _ in range(10):
        clock.turn(3600 * 1.5)
        with opened.db.transaction() as c:
            if credentials.find_session(c, secret) is not None:
                credentials.note_session(c, secret)
    with opened.db.reading() as c:
        assert credentials.find_session(c, secret) is None


def test_who_signs_out_is_signed_out_there_and_nowhere_else(
    opened: Hub, bob: accounts.User
) -> None:
    with opened.db.transaction() as c:
        here, elsewhere = (credentials.start_session(c, bob.id) for _ in range(2))
        credentials.end_session(c, here)
        assert credentials.find_session(c, here) is None
        assert credentials.find_session(c, elsewhere) is not None


def test_what_is_stored_of_secrets_opens_nothing(opened: Hub, bob: accounts.User) -> None:
    with opened.db.transaction() as c:
        session = credentials.start_session(c, bob.id)
        _, token = credentials.add_token(c, bob, "laptop")
        link = credentials.make_link(c, actor="hub", user=bob.id)
    assert opened.db.path is not None
    with opened.db.engine.connect() as connection:
        dump = "\n".join(connection.connection.iterdump())  # type: ignore[attr-defined]
    for secret in (session, token, link, PASSWORD):
        assert secret not in dump
    with opened.db.reading() as c:
        for stored in (credentials.hash_secret(session), credentials.hash_secret(token)):
            assert credentials.find_session(c, stored) is None
            assert credentials.find_token(c, stored) is None


def test_a_link_works_once_and_not_for_ever(opened: Hub, bob: accounts.User, clock: Clock) -> None:
    with opened.db.transaction() as c:
        secret = credentials.make_link(c, actor="hub", user=bob.id)
        late = credentials.make_link(c, actor="hub", user=bob.id)
        session = credentials.start_session(c, bob.id)
    with opened.db.transaction() as c:
        credentials.use_link(c, secret, "", "", PASSWORDS.hash("a new one of mine"))
        assert credentials.find_session(c, session) is None, "other devices are signed out"
    with pytest.raises(NotFound, match="was used"), opened.db.transaction() as c:
        credentials.use_link(c, secret, "", "", PASSWORDS.hash("another one of mine"))
    clock.turn(credentials.LINK_LASTS.total_seconds() + 1)
    with pytest.raises(NotFound, match="too old"), opened.db.transaction() as c:
        credentials.find_link(c, late)
    assert sign_in(opened, "bob", "a new one of mine") is not None


NEW = "a new one of mine"


def test_whoever_knows_a_password_changes_it(opened: Hub, bob: accounts.User) -> None:
    with opened.db.transaction() as c:
        session = credentials.start_session(c, bob.id)
    change_password(opened, bob, PASSWORD, NEW)
    assert sign_in(opened, "bob", PASSWORD) is None
    assert sign_in(opened, "bob", NEW) is not None
    with opened.db.reading() as c:
        assert credentials.find_session(c, session) is None, "other devices are signed out"


def test_a_password_is_not_changed_by_a_wrong_one(opened: Hub, bob: accounts.User) -> None:
    for wrong in (PASSWORD + "x", "", NEW):
        with pytest.raises(Refused, match="present password is wrong"):
            change_password(opened, bob, wrong, NEW)
    assert sign_in(opened, "bob", NEW) is None
    assert sign_in(opened, "bob", PASSWORD) is not None


def test_guesses_at_a_password_that_is_to_be_changed_count(opened: Hub, bob: accounts.User) -> None:
    """At the origin that they come from, as those of somebody who signs in."""
    for _ in range(signing_in.FREE_FAILURES):
        with pytest.raises(Refused):
            change_password(opened, bob, "wrong", NEW, "192.0.2.66")
    with pytest.raises(Refused):
        change_password(opened, bob, PASSWORD, NEW, "192.0.2.66")
    assert sign_in(opened, "bob", PASSWORD, "192.0.2.66") is None
    change_password(opened, bob, PASSWORD, NEW, "192.0.2.7")
    assert sign_in(opened, "bob", NEW, "192.0.2.7") is not None


def change_password(hub: Hub, user: accounts.User, old: str, new: str, address: str = "") -> None:
    signing_in.change_password(hub.db, PASSWORDS, user, old, new, address)


def test_the_first_link_makes_one_administrator(opened: Hub) -> None:
    with opened.db.transaction() as c:
        secret, other = (credentials.make_link(c, actor="hub", user=None) for _ in range(2))
        first = credentials.use_link(c, secret, "Ada", "Ada", PASSWORDS.hash(PASSWORD))
    assert first.administrator
    with pytest.raises(NotFound), opened.db.transaction() as c:
        credentials.use_link(c, other, "eve", "Eve", PASSWORDS.hash(PASSWORD))


def test_a_closed_account_is_out_everywhere(opened: Hub, bob: accounts.User) -> None:
    with opened.db.transaction() as c:
        eve = accounts.add_user(c, actor="hub", name="eve", password_hash=PASSWORDS.hash(PASSWORD))
        session = credentials.start_session(c, eve.id)
        _, token = credentials.add_token(c, eve, "x")
        accounts.change_user(c, bob, eve.id, active=False)
        assert credentials.find_session(c, session) is None
        assert credentials.find_token(c, token) is None
    assert sign_in(opened, "eve", PASSWORD) is None


def test_the_last_administrator_stays(opened: Hub, bob: accounts.User) -> None:
    for change in ({"active": False}, {"administrator": False}):
        with pytest.raises(InputError, match="last administrator"), opened.db.transaction() as c:
            accounts.change_user(c, bob, bob.id, **change)


def test_only_administrators_change_accounts(opened: Hub, bob: accounts.User) -> None:
    with opened.db.transaction() as c:
        eve = accounts.add_user(c, actor="hub", name="eve")
    with pytest.raises(Refused), opened.db.transaction() as c:
        accounts.change_user(c, eve, eve.id, administrator=True)


def test_tokens_expire_and_are_revoked_by_their_owner_alone(
    opened: Hub, bob: accounts.User, clock: Clock
) -> None:
    with opened.db.transaction() as c:
        eve = accounts.add_user(c, actor="hub", name="eve")
        token, secret = credentials.add_token(c, bob, "laptop", days=10)
        found = credentials.find_token(c, secret)
        assert found is not None
        assert found.id == bob.id
    with pytest.raises(NotFound), opened.db.transaction() as c:
        credentials.revoke_token(c, eve, token.id)
    with opened.db.transaction() as c:
        _, other = credentials.add_token(c, bob, "desk", days=None)
        credentials.revoke_token(c, bob, token.id)
        assert credentials.find_token(c, secret) is None
        _, brief = credentials.add_token(c, bob, "brief", days=1)
    clock.turn(86_401)
    with opened.db.reading() as c:
        assert credentials.find_token(c, brief) is None
        assert credentials.find_token(c, other) is not None


@pytest.mark.parametrize("password", ["short", "x" * 201, "aaaaaaaaaaaaaa"])
def test_weak_passwords_are_refused(password: str) -> None:
    with pytest.raises(InputError, match="password"):
        PASSWORDS.hash(password)


@pytest.mark.parametrize("name", ["", "a", "two words", "<b>", "x" * 65, "a\0b", "ünal", ".dot"])
def test_names_are_plain(opened: Hub, name: str) -> None:
    with pytest.raises(InputError), opened.db.transaction() as c:
        accounts.add_user(c, actor="hub", name=name)


def test_a_provider_never_takes_over_a_local_account(opened: Hub, bob: accounts.User) -> None:
    one = ProvidedIdentity(
        provider="https://id.example", subject="42", name="carol", display="Carol"
    )
    with opened.db.transaction() as c:
        carol = signing_in.sign_in_by(c, one)
        assert signing_in.sign_in_by(c, one).id == carol.id
        assert not carol.administrator
    posing = ProvidedIdentity(
        provider="https://id.example", subject="43", name="bob", display="Bob"
    )
    with pytest.raises(InputError, match="taken"), opened.db.transaction() as c:
        signing_in.sign_in_by(c, posing)
    elsewhere = ProvidedIdentity(
        provider="https://other.example", subject="42", name="dora", display="D"
    )
    with opened.db.transaction() as c:
        assert signing_in.sign_in_by(c, elsewhere).id != carol.id
        accounts.change_user(c, bob, carol.id, active=False)
    with pytest.raises(Refused, match="closed"), opened.db.transaction() as c:
        signing_in.sign_in_by(c, one)


def test_few_hashes_are_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """More at once than turns: those that wait too long are told to come back."""
    from understudy.hub import passwords

    monkeypatch.setattr(passwords, "MAX_SIGN_IN_WAIT", 0.01)
    busy = Passwords(CHEAP)
    with busy._turn(), busy._turn(), pytest.raises(passwords.BusyError, match="try again"):
        busy.verify(None, "anything at all")
    assert not busy.verify(None, "anything at all")


def test_real_costs_are_those_of_the_recommendation() -> None:
    hasher = Passwords()._hasher
    assert hasher.type.name == "ID"
    assert hasher.memory_cost >= 64 * 1024
    assert hasher.time_cost >= 3


def test_first_run_walks_from_the_printed_link_to_a_session(tmp_path: Path) -> None:
    from understudy.hub.web.serving import make_first_link

    web = make_web_hub(tmp_path / "hub")
    link = make_first_link(web.site)
    assert link is not None
    path = link.removeprefix(web.site.address)
    browser = web.client()
    fields = {"name": "ada", "display": "Ada", "password": PASSWORD, "password_again": "other one"}
    assert "differ" in browser.send(path, fields).text
    done = browser.send(path, fields | {"password_again": PASSWORD})
    assert done.status_code == 200
    assert "Users" in done.text
    assert make_first_link(web.site) is None
    assert web.client().get(path).status_code == 404
