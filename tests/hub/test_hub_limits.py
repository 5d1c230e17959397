"""Limits of what a hub takes: the last value that is taken, and the next one, which is refused."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from core_hubs import Clock, add_dataset, add_user, make_hub, request_synthesis
from survey_stories import make_spec, start_survey
from web_hubs import CHEAP

from limits import above, assert_limits
from understudy.errors import BudgetError, InputError
from understudy.hub import (
    accounts,
    budgets,
    credentials,
    datasets,
    jobs,
    requests,
    signing_in,
    surveys,
    tables,
)
from understudy.hub.accounts import check_attributes, check_display
from understudy.hub.agent_settings import AgentPolicy, check_url, load_settings
from understudy.hub.amounts import Price, read_amount, write_amount
from understudy.hub.database import Transaction
from understudy.hub.datasets import DatasetSpec
from understudy.hub.errors import NotFound, Refused
from understudy.hub.job_ledgers import JobLedger, open_books
from understudy.hub.keys import make_keys, read_keys, save_keys, write_keys
from understudy.hub.opening import Hub
from understudy.hub.operation_runs import Protected
from understudy.hub.operations import is_digest, read_operation
from understudy.hub.pages import ListPage, PageOf
from understudy.hub.passwords import Passwords, check_password
from understudy.hub.policy import AccessRule, Object, Operation, Role, Subject, judge
from understudy.hub.protection import read_protected
from understudy.hub.roles import RoleSpec, RuleSpec, set_role
from understudy.hub.survey_batches import count_batches, show_batches, show_rest
from understudy.privacy.ledger import LedgerFile

SCHEMA = {"attributes": {"age": {"kind": "integer", "min": 0, "max": 99}}}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hub(tmp_path: Path, clock: Clock) -> Iterator[Hub]:
    made = make_hub(tmp_path / "hub", clock=clock)
    yield made
    made.close()


@pytest.fixture
def c(hub: Hub) -> Iterator[Transaction]:
    with hub.db.transaction() as transaction:
        yield transaction


def later(c: Transaction, **time: float) -> Transaction:
    """The same transaction, as if it had begun later."""
    return replace(c, now=c.now + dt.timedelta(**time))


def spec_of(name: str) -> Callable[[Any], Any]:
    """An entry of a request to synthesise."""
    return lambda value: read_operation("synthesise", {"epsilon": 1.0, name: value})


def survey(**changes: Any) -> None:
    """What is looked at before a survey is made."""
    surveys._check(make_spec(**changes))


DIGEST = "0123456789abcdef" * 4
LIMITS: dict[str, tuple[Callable[[Any], Any], list[Any], list[Any]]] = {
    "password": (
        check_password,
        ["abcde" * 40, "abcdefghijkl"],
        ["abcdefghijk", "abcde" * 40 + "a"],
    ),
    "characters of a password": (check_password, ["abcde" + "a" * 7], ["abcd" + "a" * 8]),
    "name to show": (check_display, ["x" * 120], ["x" * 121, "\x07"]),
    "attributes": (
        lambda number: check_attributes({f"a{place}": "x" for place in range(number)}),
        [0, 20],
        [21],
    ),
    "words of attributes": (
        lambda word: (check_attributes({word: "x"}), check_attributes({"x": word})),
        ["x" * 100],
        ["", "x" * 101, " x", "x ", "\x07"],
    ),
    "price": (Price.of, [1e-12, 1e6], [0.0, above(1e6), math.nan]),
    "delta of a price": (lambda delta: Price.of(1.0, delta), [0.0, 0.5], [1.0, -0.1]),
    "rows of a release": (spec_of("rows"), [None, 0, 1_000_000], [-1, 10**9, 1.0, True]),
    "method": (spec_of("method"), ["m", "m" * 100], ["", "m" * 101, None]),
    "format": (spec_of("format"), ["csv", "parquet"], ["xlsx", ""]),
    "algorithm": (spec_of("algorithm"), [None, DIGEST], [DIGEST[1:], DIGEST.upper(), DIGEST + "0"]),
    "epsilon of a request": (
        lambda epsilon: read_operation("synthesise", {"epsilon": epsilon}),
        [1e-12, 1],
        [0, -1.0, True, "1", None],
    ),
    "delta of a request": (spec_of("delta"), [0, 1e-9], [1, -1e-9, False]),
    "parameters": (spec_of("parameters"), [{}, {"a": 1}], [[], None]),
    "whole numbers": (
        lambda number: read_operation("synthesise", {"epsilon": 1, "parameters": {"a": number}}),
        [(1 << 63) - 1, 1 - (1 << 63)],
        [1 << 63, -(1 << 63)],
    ),
    "questions": (
        lambda number: read_operation("ask", {"epsilon": 1.0, "questions": ["count"] * number}),
        [1],
        [0, 10_000],
    ),
    "letters of a question": (
        lambda size: read_operation("ask", {"epsilon": 1.0, "questions": ["c" * size]}),
        [10_000],
        [10_001],
    ),
    "title of a survey": (
        lambda title: survey(title=title),
        ["x", "x" * 200],
        ["", " ", "x" * 201],
    ),
    **{
        f"{name} of a survey": (
            lambda text, name=name: survey(**{name: text}),  # type: ignore[misc]
            ["", "x" * 5_000],
            ["x" * 5_001],
        )
        for name in ("introduction", "purpose", "conditions", "contact")
    },
    "persons of a survey": (
        lambda persons: survey(persons=persons),
        [1, 100_000_000],
        [0, 100_000_001],
    ),
    "levels of a survey": (
        lambda epsilon: survey(epsilons=(1.0, epsilon)),
        [5e-324, 20.0],
        [0.0, -1.0, above(20.0), math.nan],
    ),
    "key of a form": (lambda key: surveys._id_of("m", key), ["x" * 8], ["x" * 7, ""]),
    "neighbours": (lambda name: read_protected(name, "row"), ["add_remove", "replace"], ["both"]),
    "unit": (
        lambda unit: read_protected("add_remove", unit),
        ["row", {}, {"person": "id"}, {"person": None}, {"max_rows_per_person": 5}],
        ["rows", None, [], {"person": 3}, {"id": "x"}, {"max_rows_per_person": 0}],
    ),
    "address of a hub": (
        check_url,
        ["https://h", "http://127.0.0.1:1", "http://localhost", "http://[::1]:80"],
        ["http://h", "http://127.0.0.2", "ftp://localhost", "h", ""],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_value_is_taken_and_the_next_is_not(name: str) -> None:
    assert_limits(*LIMITS[name])


def test_what_is_read_of_a_unit() -> None:
    assert read_protected("replace", "row") == Protected(neighbours="replace")
    found = read_protected("add_remove", {"person": "id", "max_rows_per_person": 5})
    assert found == Protected(neighbours="add_remove", person="id", max_rows_per_person=5)
    assert read_protected("add_remove", {"person": "id"}).max_rows_per_person == 1
    assert [Protected().unit, Protected(person="id").unit] == ["row", "person"]
    assert Protected(max_rows_per_person=2).unit == "person"


def test_digests_are_of_64_small_digits() -> None:
    assert is_digest(DIGEST)
    assert not any(map(is_digest, (DIGEST.upper(), DIGEST[:-1] + "g", DIGEST[:-1], 64 * 1, None)))


# --------------------------------------------------------------------------- amounts


def test_prices_are_added_and_compared_exactly() -> None:
    one, other = Price.of(0.1, 1e-9), Price.of(0.2, 2e-9)
    assert one + other == Price(Fraction(3, 10), Fraction(3, 10**9))
    assert other - one == one
    assert -one + one == Price()
    assert one.fits(one)
    assert not Price(one.epsilon, other.delta).fits(one)
    assert not Price(other.epsilon, one.delta).fits(one)
    assert Price().is_free
    assert not Price(Fraction(0), one.delta).is_free
    assert not Price(one.epsilon).is_free
    third = Price(Fraction(1, 3), Fraction(1, 3))
    down, up = third.numbers(), third.numbers_up()
    assert all(Fraction(number) < Fraction(1, 3) for number in down)
    assert all(Fraction(repr(number)) >= Fraction(1, 3) for number in up)
    assert max(up) - min(down) < 1e-14
    assert [str(one), str(Price.of(1.0))] == ["epsilon 0.1 and delta 1e-09", "epsilon 1"]
    assert read_amount(write_amount(one.delta)) == one.delta


# --------------------------------------------------------------------------- accounts


@pytest.mark.parametrize(("letters", "taken"), [(1, False), (2, True), (64, True), (65, False)])
def test_names_have_2_to_64_letters(c: Transaction, letters: int, taken: bool) -> None:
    if taken:
        assert accounts.add_user(c, actor="hub", name="X" * letters).name == "x" * letters
    else:
        with pytest.raises(InputError, match="2 to 64 letters"):
            accounts.add_user(c, actor="hub", name="x" * letters)


def test_a_password_beyond_the_longest_is_wrong_and_takes_its_turn() -> None:
    passwords = Passwords(CHEAP)
    longest = "abcde" * 40
    stored = passwords.hash(longest)
    assert passwords.verify(stored, longest)
    assert not passwords.verify(stored, longest + "a")
    assert not passwords.verify(None, longest)
    assert not passwords.verify("no hash", longest)


def test_accounts_come_a_page_at_a_time(c: Transaction) -> None:
    for name in ("bo", "al", "cy"):
        accounts.add_user(c, actor="hub", name=name)
    pages = [accounts.list_users(c, page, 2) for page in (1, 2, 3)]
    assert [[user.name for user in found] for found, _ in pages] == [["al", "bo"], ["cy"], []]
    assert {number for _, number in pages} == {3}


def test_whoever_is_no_administrator_changes_no_account(c: Transaction) -> None:
    boss = accounts.add_user(c, actor="hub", name="boss", administrator=True)
    bob = accounts.add_user(c, actor="hub", name="bob")
    for actor in (bob, accounts.User(**{**vars(boss), "active": False})):
        with pytest.raises(Refused):
            accounts.change_user(c, actor, bob.id, administrator=True)
    made = accounts.change_user(c, boss, bob.id, administrator=True, attributes={"a": "b"})
    assert (made.administrator, made.attributes) == (True, {"a": "b"})
    closed = accounts.change_user(c, boss, bob.id, active=False, administrator=False)
    assert (closed.active, closed.administrator) == (False, False)
    assert accounts.change_user(c, boss, bob.id, active=True).active
    with pytest.raises(InputError, match="last administrator"):
        accounts.change_user(c, boss, boss.id, administrator=False)
    assert accounts.find_by_name(c, " BOB ").id == bob.id
    for find in (accounts.find_by_name, accounts.find_user):
        with pytest.raises(NotFound):
            find(c, "nobody")


# --------------------------------------------------------------------------- time


@pytest.mark.parametrize(
    ("make", "find", "lasts"),
    [
        (
            lambda c, user: credentials.make_link(c, actor="hub", user=user.id),
            credentials.find_link,
            dt.timedelta(days=7),
        ),
        (
            lambda c, user: credentials.add_token(c, user, "t", 3)[1],
            credentials.find_token,
            dt.timedelta(days=3),
        ),
        (
            lambda c, user: credentials.start_session(c, user.id),
            credentials.find_session,
            dt.timedelta(hours=2),
        ),
    ],
    ids=["link", "token", "idle session"],
)
def test_secrets_last_to_the_second(
    c: Transaction, make: Any, find: Any, lasts: dt.timedelta
) -> None:
    user = accounts.add_user(c, actor="hub", name="bob")
    secret = make(c, user)
    for late, there in [(-1, True), (0, False), (1, False)]:
        try:
            found = find(later(c, seconds=lasts.total_seconds() + late), secret)
        except NotFound:
            found = None
        assert (found is not None) is there, late


def test_a_session_lasts_12_hours_and_is_noted_every_5_minutes(c: Transaction) -> None:
    user = accounts.add_user(c, actor="hub", name="bob")
    secret = credentials.start_session(c, user.id)
    for minutes, due in [(4.9, False), (5, True)]:
        found = credentials.find_session(later(c, minutes=minutes), secret)
        assert found is not None
        assert (found[0].id, found[1]) == (user.id, due)
    for hours, there in [(1.9, True), (3.8, True), (5.9, False), (7.8, True), (11.9, False)]:
        then = later(c, hours=hours)
        assert (credentials.find_session(then, secret) is not None) is there, hours
        credentials.note_session(then, secret)
    for seconds, there in [(-1, True), (0, False)]:
        then = later(c, hours=12, seconds=seconds)
        assert (credentials.find_session(then, secret) is not None) is there, seconds


def test_tokens_are_few_and_last_no_more_than_ten_years(c: Transaction) -> None:
    user, other = (accounts.add_user(c, actor="hub", name=name) for name in ("bob", "eve"))
    assert_limits(lambda days: credentials.add_token(c, user, "", days), [1, 3660, None], [0, 3661])
    kept, secret = credentials.add_token(c, user, "")
    assert kept.expires == c.now + dt.timedelta(days=90)
    for _ in range(16):
        credentials.add_token(c, user, "")
    assert len(credentials.list_tokens(c, user.id)) == 20
    with pytest.raises(InputError, match="20 tokens"):
        credentials.add_token(c, user, "")
    with pytest.raises(NotFound):
        credentials.revoke_token(c, other, kept.id)
    credentials.revoke_token(c, user, kept.id)
    assert credentials.find_token(c, secret) is None
    with pytest.raises(NotFound):
        credentials.revoke_token(c, user, kept.id)
    credentials.add_token(c, user, "")
    assert credentials.list_tokens(c, other.id) == []


def test_pauses_double_from_the_sixth_guess_on(c: Transaction) -> None:
    """From 1 second up to a quarter of an hour; a moment earlier nothing is looked at."""
    assert [signing_in.count_attempt(c, "bob", "here") for _ in range(5)] == [True] * 5
    for pause in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900):
        assert not signing_in.count_attempt(later(c, seconds=pause - 0.001), "bob", "here")
        assert signing_in.count_attempt(c, "bob", f"there {pause} {c.now}")
        c = later(c, seconds=pause)
        assert signing_in.count_attempt(c, "bob", "here")


def test_a_hundred_guesses_close_a_name_and_an_origin(c: Transaction) -> None:
    tries = [signing_in.count_attempt(c, "bob", f"o{place}") for place in range(101)]
    assert tries == [True] * 100 + [False]
    tries = [signing_in.count_attempt(c, f"n{place}", "one") for place in range(101)]
    assert tries == [True] * 100 + [False]
    c = later(c, minutes=15)
    assert not signing_in.count_attempt(c, "bob", "another")
    c = later(c, seconds=1)
    assert signing_in.count_attempt(c, "bob", "a third")
    assert signing_in.count_attempt(c, "another", "one")


def test_an_origin_is_known_for_90_days_and_a_failure_for_one(c: Transaction) -> None:
    def count() -> Any:
        return c.value(sa.select(sa.func.count()).select_from(tables.attempts))

    signing_in.forget_failures(c, "bob", "home")
    for place in range(5):
        signing_in.count_attempt(c, "eve", f"o{place}")
    assert count() == 1 + 5 * 3
    for seconds, kept in [(0, 16), (1, 1 + 3)]:  # those of the day before, then none of them
        signing_in.count_attempt(later(c, days=1, seconds=seconds), "x", f"{seconds}")
        assert count() == kept + 3
    for seconds, kept in [(0, 1), (1, 0)]:
        signing_in.count_attempt(later(c, days=90, seconds=seconds), "x", f"{seconds}")
        assert count() == kept + 3 + 3 * seconds


# --------------------------------------------------------------------------- keys


def test_keys_of_another_form_are_refused(tmp_path: Path) -> None:
    keys = make_keys()
    assert read_keys(write_keys(keys), "x") == keys
    document = json.loads(write_keys(keys))
    for change in (
        {"understudy_hub_keys": 2},
        {"masters": []},
        {"trail": "00" * 31},
        {"trail": "00" * 33},
        {"cookies": "00" * 31},
        {"masters": [{"id": "a", "key": "00" * 31}]},
    ):
        with pytest.raises(InputError, match="cannot be read"):
            read_keys(json.dumps(document | change), "x")
    assert {len(key) for key in (*keys.masters.values(), keys.trail, keys.cookies)} == {32}
    more = keys.with_new_master()
    assert list(more.masters)[1:] == list(keys.masters)
    assert more.without_old_masters().masters == {more.master_id: more.masters[more.master_id]}
    path = tmp_path / "deep" / "keys"
    save_keys(keys, path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [found.name for found in path.parent.iterdir()] == ["keys"]


# --------------------------------------------------------------------------- ledgers of jobs


def job_ledger(path: Path, job: str = "j1", price: tuple[float, float] = (0.5, 1e-9)) -> JobLedger:
    return JobLedger(path, job=job, price=price, details={"user": "bob"})


@pytest.mark.parametrize(
    ("epsilon", "delta", "taken"),
    [(0.5, 1e-9, True), (above(0.5), 1e-9, False), (0.5, above(1e-9), False), (0.1, 0.0, True)],
)
def test_a_job_costs_what_was_approved(
    tmp_path: Path, epsilon: float, delta: float, taken: bool
) -> None:
    path = tmp_path / "rows.ledger"
    LedgerFile.create(path, 2.0, 1e-8)
    book = job_ledger(path)
    if not taken:
        with pytest.raises(BudgetError, match=r"approved for epsilon 0\.5"):
            book.reserve("r", epsilon, delta, "add_remove")
        assert book.entry() is None
        return
    book.reserve("r", epsilon, delta, "add_remove")
    entry = book.entry()
    assert entry is not None
    assert (entry["job"], entry["user"]) == ("j1", "bob")
    with pytest.raises(InputError, match="stands on the ledger already"):
        job_ledger(path).reserve("r", 0.1, 0.0, "add_remove")
    assert job_ledger(path, "j2").entry() is None
    job_ledger(path, "j2").reserve("r", 0.1, 0.0, "add_remove")


def test_an_allowance_follows_the_owner_and_what_is_spent_stays(tmp_path: Path) -> None:
    path = tmp_path / "rows.ledger"
    LedgerFile.create(path, 2.0, 1e-8)
    book = job_ledger(path)
    book.reserve("r", 0.5, 1e-9, "add_remove")
    before = path.stat().st_mtime_ns
    book.set_allowance(2.0, 1e-8)
    assert path.stat().st_mtime_ns == before
    book.set_allowance(1.0, 0.0)
    kept = book.read()
    assert kept["allowance"] == {"epsilon": 1.0, "delta": 0.0}
    assert len(kept["releases"]) == 1
    with pytest.raises(InputError):
        book.set_allowance(0.0, 0.0)
    with pytest.raises(BudgetError):
        job_ledger(path, "j2", (1.0, 0.0)).reserve("r", 0.6, 0.0, "add_remove")


def test_books_are_for_one_guarantee(tmp_path: Path) -> None:
    path = tmp_path / "rows.ledger"
    made = open_books(path, 1.0, 0.0, "add_remove", "person")
    assert (made.read()["neighbours"], made.read()["unit"]) == ("add_remove", "person")
    again = open_books(path, 9.0, 0.0, "add_remove", "person")
    assert again.read()["allowance"]["epsilon"] == 1.0
    for neighbours, unit in (("replace", "person"), ("add_remove", "row")):
        with pytest.raises(InputError, match="cannot be added up"):
            open_books(path, 1.0, 0.0, neighbours, unit)  # type: ignore[arg-type]


# --------------------------------------------------------------------------- data sets


def changed(c: Transaction, **values: Any) -> Any:
    owner = c.value(sa.select(tables.users.c.id).where(tables.users.c.name == "mary"))
    given: dict[str, Any] = {"name": "D", "schema": SCHEMA, "epsilon": 1.0}
    return datasets.register(c, owner, DatasetSpec(**given | values))


def test_a_data_set_says_what_fits(c: Transaction) -> None:
    owner = add_user(c, "mary")
    agent = c.value(sa.select(tables.agents.c.id))
    assert agent is None
    for name, inside, outside in [
        ("name", ["x" * 200], ["", " ", "x" * 201]),
        ("description", ["x" * 10_000], ["x" * 10_001]),
        ("purpose", ["x" * 10_000], ["x" * 10_001]),
        ("conditions", ["x" * 10_000], ["x" * 10_001]),
        ("contact", ["x" * 10_000], ["x" * 10_001]),
        ("mode", ["agent", "stored", "federated", "encrypted"], ["", "open"]),
        ("about_rows", [None, 1, (1 << 53) - 1], [0, -1, 1 << 53]),
        ("epsilon", [1e6], [0.0, above(1e6)]),
        ("delta", [0.0, 0.1], [1.0]),
        ("user_epsilon", [None, 0.5], [0.0]),
        ("neighbours", ["replace"], ["none"]),
        ("unit", [{"person": "age"}], ["rows"]),
        ("agent", [None], ["another's"]),
    ]:
        assert_limits(lambda value, name=name: changed(c, **{name: value}), inside, outside)
    found = changed(c, user_epsilon=0.5, user_delta=None, delta=1e-6, listed=False)
    assert (found.owner, found.listed, found.state) == (owner, False, "open")
    assert (found.total, found.spent) == (Price.of(1.0, 1e-6), Price())
    assert changed(c, mode="survey", epsilon=5.0).total == Price()


def test_a_total_is_not_lowered_below_what_is_spent(c: Transaction) -> None:
    owner = add_user(c, "mary")
    made = changed(c, delta=1e-6)
    bob = add_user(c, "bob")
    rules = [RuleSpec(operation="synthesise", standing=True)]
    set_role(c, owner, made.id, RoleSpec(name="R", members=[bob], rules=rules))
    request_synthesis(c, bob, made.id, 0.5, delta=1e-7)
    spec = {"name": "D", "schema": SCHEMA}
    for epsilon, delta, taken in [(0.5, 1e-7, True), (0.4, 1e-7, False), (0.5, 9e-8, False)]:
        given = DatasetSpec(**spec, epsilon=epsilon, delta=delta)
        if taken:
            assert datasets.change(c, owner, made.id, given).total == Price.of(epsilon, delta)
        else:
            with pytest.raises(InputError, match="cannot be below what is spent"):
                datasets.change(c, owner, made.id, given)
    for name, value in [("mode", "stored"), ("neighbours", "replace"), ("unit", {"person": "age"})]:
        given = DatasetSpec(**spec, epsilon=1.0, delta=1e-6, **{name: value})
        with pytest.raises(InputError, match="cannot be changed"):
            datasets.change(c, owner, made.id, given)


def test_a_debit_takes_all_that_is_left_and_no_more(c: Transaction) -> None:
    owner, bob = add_user(c, "mary"), add_user(c, "bob")
    made = changed(c, delta=1e-6, user_epsilon=0.6)
    rules = [RuleSpec(operation="synthesise", standing=True)]
    set_role(c, owner, made.id, RoleSpec(name="R", members=[bob], rules=rules))
    for price in (Price(Fraction(-1)), Price(Fraction(0), Fraction(-1))):
        with pytest.raises(InputError, match="below zero"):
            budgets.debit(c, made.id, bob, "r", price, "x")
    with pytest.raises(BudgetError, match=r"you have epsilon 0\.6"):
        request_synthesis(c, bob, made.id, 0.7)
    first = request_synthesis(c, bob, made.id, 0.6, delta=1e-6)
    with pytest.raises(BudgetError, match="Nothing was spent"):
        request_synthesis(c, owner, made.id, 0.1, delta=1e-9)
    request_synthesis(c, owner, made.id, 0.4)
    assert budgets.read_spent_by(c, made.id, bob) == Price.of(0.6, 1e-6)
    assert budgets.refund(c, made.id, bob, first.id, "x") == Price.of(0.6, 1e-6)
    assert budgets.refund(c, made.id, bob, first.id, "x") == Price()
    assert budgets.read_spent_by(c, made.id, bob) == Price()
    budgets.set_user_total(c, made.id, bob, Price.of(0.2))
    with pytest.raises(BudgetError, match=r"you have epsilon 0\.2"):
        budgets.check_fits(c, made.id, bob, Price.of(0.3))
    budgets.check_fits(c, made.id, bob, Price.of(0.2))
    assert budgets.check_sums(c) == []


def test_roles_say_what_fits(c: Transaction) -> None:
    owner, bob = add_user(c, "mary"), add_user(c, "bob")
    made = changed(c)

    def set_one(**values: Any) -> Role:
        return set_role(c, owner, made.id, RoleSpec(**{"name": "R"} | values))

    assert_limits(lambda name: set_one(name=name), ["x" * 200], ["", " ", "x" * 201])
    assert_limits(lambda who: set_one(members=who), [[], [bob, bob]], [["nobody"], [bob, "x"]])
    words = [{}, {"a": ["b"]}], [{"a": []}, {"a": [1]}]
    assert_limits(lambda attributes: set_one(attributes=attributes), *words)
    rules = [RuleSpec(operation="ask")], [RuleSpec(operation="manage"), RuleSpec(operation="")]
    assert_limits(lambda rule: set_one(rules=[rule]), *rules)
    assert_limits(
        lambda epsilon: set_one(rules=[RuleSpec(operation="ask", max_epsilon=epsilon)]),
        [None, 0.1],
        [0.0, -1.0],
    )
    rule = RuleSpec(operation="ask", max_epsilon=0.5, max_delta=0.1, algorithms=["b", "a", "b"])
    [found] = set_one(members=[bob], rules=[rule]).rules
    assert (found.limit, found.algorithms) == (Price.of(0.5, 0.1), frozenset("ab"))
    assert not found.standing
    with pytest.raises(Refused):
        set_role(c, bob, made.id, RoleSpec(name="S"))


def test_lists_come_a_page_at_a_time(hub: Hub) -> None:
    """Each list of data sets, requests, jobs and budgets: the page that is asked for, and all."""
    with hub.db.transaction() as c:
        owner = add_user(c, "mary")
        people = [add_user(c, name) for name in ("al", "bo", "cy")]
        rules = [RuleSpec(operation="synthesise", standing=True)]
        made = [
            add_dataset(c, owner, rules, people, name=f"D{place}", epsilon=9.0)
            for place in range(3)
        ]
        for user in people:
            request_synthesis(c, user, made[0].id)

        def read(page: PageOf | None) -> list[ListPage[Any]]:
            return [
                datasets.catalogue(c, owner, page),
                budgets.of_users(c, made[0].id, page),
                requests.for_dataset(c, owner, made[0].id, page=page),
                requests.for_owner(c, owner, page=page),
                jobs.of_dataset(c, owner, made[0].id, page=page),
            ]

        for found, second, rest in zip(
            read(None), read(PageOf(number=2, size=1)), read(PageOf(number=2, size=2)), strict=True
        ):
            assert (found.total, len(found.items), found.pages) == (3, 3, 1)
            assert second.items == found.items[1:2]
            assert (second.total, second.pages) == (3, 3)
            assert rest.items == found.items[2:]
            assert rest.pages == 2
        assert datasets.catalogue(c, owner, search="d1").total == 1
        assert datasets.catalogue(c, owner, search="%").total == 0


def test_pages_that_cannot_be_are_the_nearest_that_can() -> None:
    assert PageOf(number=0, size=0).clip() == PageOf(number=1, size=1)
    assert PageOf(number=10**9, size=10**9).clip() == PageOf(number=10**6, size=200)
    assert [ListPage(items=(), number=1, size=2, total=n).pages for n in (0, 1, 2, 3)] == [
        1,
        1,
        1,
        2,
    ]


# --------------------------------------------------------------------------- policy


SUBJECT = Subject(id="bob", attributes={"group": "a", "site": "x"})


def test_a_role_asks_for_all_of_its_attributes() -> None:
    for attributes, included in [
        ({}, False),
        ({"group": ["a", "b"]}, True),
        ({"group": ["a"], "site": ["y"]}, False),
        ({"group": ["a"], "site": ["x", "y"]}, True),
        ({"other": ["a"]}, False),
    ]:
        assert Role(id="r", name="R", attributes=attributes).includes(SUBJECT) is included


@pytest.mark.parametrize("operation", ["synthesise", "ask", "learn", "download", "query"])
def test_rules_allow_up_to_their_limit(operation: str) -> None:
    limit = Price.of(0.5, 1e-9)

    def decide(rule: AccessRule, price: Price, **more: Any) -> Any:
        role = Role(id="r", name="R", members=frozenset(["bob"]), rules=(rule,))
        thing = Object(dataset="d", owner="mary", roles=(role,))
        return judge(SUBJECT, Operation(name=operation, price=price, **more), thing)

    rule = AccessRule(id="a", operation=operation, limit=limit)
    assert decide(rule, limit)
    assert not decide(rule, Price.of(above(0.5), 1e-9))
    assert not decide(rule, Price.of(0.5, above(1e-9)))
    assert not decide(rule, limit, algorithm="x", foreign=True)
    free = AccessRule(id="a", operation=operation, standing=True)
    assert decide(free, Price.of(99.0)).standing
    assert not decide(rule, limit).standing
    named = AccessRule(id="a", operation=operation, algorithms=frozenset(["x"]))
    assert decide(named, limit, algorithm="x", foreign=True)
    assert not decide(named, limit, algorithm="y")
    assert not decide(named, limit)


def test_agents_agree_up_to_their_limit() -> None:
    policy = AgentPolicy(max_epsilon=0.5, max_delta=1e-9)

    def object_to(**values: Any) -> str:
        return policy.object_to(read_operation("synthesise", values), "bob")

    assert object_to(epsilon=0.5, delta=1e-9) == ""
    assert "at most" in object_to(epsilon=above(0.5), delta=1e-9)
    assert "at most" in object_to(epsilon=0.5, delta=above(1e-9))
    assert "this algorithm" in object_to(epsilon=0.5, algorithm=DIGEST)
    asked = read_operation("synthesise", {"epsilon": 0.5, "algorithm": DIGEST})
    assert AgentPolicy(max_epsilon=0.5, algorithms=(DIGEST,)).object_to(asked, "bob") == ""
    only = AgentPolicy(max_epsilon=1.0, users=("al",), methods=("mst",), operations=("synthesise",))
    named = read_operation("synthesise", {"epsilon": 0.5, "method": "mst"})
    assert only.object_to(named, "al") == ""
    assert "this user" in only.object_to(named, "bob")
    other = read_operation("synthesise", {"epsilon": 0.5, "method": "independent"})
    assert "independent" in only.object_to(other, "al")
    learn = read_operation("learn", {"epsilon": 0.5, "learner": "LinearRegression"})
    assert "does not learn" in only.object_to(learn, "al")
    assert "LinearRegression" in AgentPolicy(max_epsilon=1.0, methods=()).object_to(learn, "al")


SETTINGS = """
[hub]
url = "https://hub.example/"
token = "t"
[data]
dataset = "d"
rows = "rows.csv"
schema = "schema.json"
[policy]
max_epsilon = 0.5
"""


def test_settings_of_an_agent_are_taken_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(SETTINGS)
    found = load_settings(path)
    assert (found.url, found.token, found.dataset) == ("https://hub.example", "t", "d")
    assert found.policy == AgentPolicy(max_epsilon=0.5)
    assert (found.protected, found.allowance, found.accept) == (Protected(), None, None)
    assert (found.rows, found.schema) == (str(tmp_path / "rows.csv"), tmp_path / "schema.json")
    places = [found.ledger.name, found.log.name, found.state.name]
    assert places == ["agent.ledger", "agent.log", "agent-state"]
    assert found.federating is None
    path.write_text(
        SETTINGS
        + f'max_delta = 1e-9\nusers = ["al"]\nmethods = ["mst"]\nalgorithms = ["{DIGEST}"]\n'
        + 'algorithm_seconds = 7\nalgorithm_memory_mb = 256\noperations = ["ask"]\n'
        + '[allowance]\nepsilon = 2\n[protects]\nperson = "id"\nmax_rows_per_person = 3\n'
        + '[federation]\ncertificate = "c"\nkey = "k"\npeers = ["p"]\n'
    )
    found = load_settings(path)
    assert (found.policy.max_delta, found.policy.users) == (1e-9, ("al",))
    assert (found.policy.methods, found.policy.algorithms) == (("mst",), (DIGEST,))
    assert (found.policy.limits.seconds, found.policy.limits.memory) == (7.0, 256 << 20)
    assert (found.policy.operations, found.allowance) == (("ask",), (2.0, 0.0))
    assert found.protected == Protected(person="id", max_rows_per_person=3)
    assert found.federating is not None
    assert (found.federating.colluders, found.federating.session_share) == (1, 1.0)
    assert found.federating.peers == (tmp_path / "p",)


@pytest.mark.parametrize(
    "line",
    [
        '[policy]\nmax_epsilon = true',
        '[policy]\nmax_epsilon = 1\noperations = ["steal"]',
        f'[policy]\nmax_epsilon = 1\nalgorithms = ["{DIGEST[1:]}"]',
        '[policy]\nmax_epsilon = 1\nunknown = 1',
        "[policy]\nmax_delta = 1e-9",
        "[unknown]\na = 1",
        '[policy]\nmax_epsilon = 1\n[protects]\nneighbours = "none"',
        '[policy]\nmax_epsilon = 1\n[federation]\nkey = "k"',
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(SETTINGS.partition("[policy]")[0] + line + "\n")
    with pytest.raises(InputError):
        load_settings(path)
    path.write_text(SETTINGS.replace("https://", "http://"))
    with pytest.raises(InputError, match="tokens travel over nothing else"):
        load_settings(path)


def test_reports_are_shown_25_at_a_time_and_as_many_stay_behind(hub: Hub) -> None:
    """Those with the smallest numbers are; at the end the rest is, if it is 25 or more."""
    _, made = start_survey(hub)
    reports = tables.survey_reports

    def write(*numbers: int) -> None:
        row = {"survey": made.id, "question": 0, "level": 1, "answer": "0"}
        with hub.db.transaction() as c:
            c.execute(sa.insert(reports), [{**row, "number": f"{n:032x}"} for n in numbers])

    def show() -> tuple[int, int]:
        counts = show_batches(hub.db, made.id)
        assert dict(counts.by_level()) == ({1: counts.shown} if counts.shown else {})
        return counts.shown, counts.waiting

    write(*range(100, 149))
    assert show() == (0, 49)
    write(50)
    assert show() == (25, 25)
    with hub.db.reading() as c:
        shown = {row["number"] for row in c.rows(sa.select(reports).where(reports.c.shown))}
    assert shown == {f"{n:032x}" for n in (50, *range(100, 124))}
    write(*range(24))
    assert show() == (25, 49)
    write(*range(24, 30))
    assert show() == (55, 25)
    for more, left in [((), 0), (range(200, 224), 24), ((224,), 0)]:
        if more:
            write(*more)
        with hub.db.transaction() as c:
            show_rest(c, made.id)
            assert count_batches(c, made.id).waiting == left
