"""The ledger tells the truth: in memory, on disk, with several writers, and when one of them is
killed.
"""

from __future__ import annotations

import copy
import errno
import json
import os
import pickle
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy import BudgetError, InputError, Ledger, LedgerFile
from understudy.data import files
from understudy.privacy.budget import Budget, epsilon_of, exact, total
from understudy.privacy.ledger import Entry
from understudy.privacy.ledger.file import _check

# --------------------------------------------------------------------------- one release


def test_a_debit_is_written_down_in_full() -> None:
    ledger = Ledger(1.0)
    ledger.debit("table of a", Budget(0.25), "discrete Laplace, scale 4")
    assert ledger.entries == [Entry("table of a", 0.25, 0.0, "discrete Laplace, scale 4")]
    assert ledger.left == Budget(0.75)
    assert ledger.spent() == (0.25, 0.0)


def test_an_overdraft_is_refused_and_nothing_recorded() -> None:
    ledger = Ledger(1.0)
    ledger.debit("first", Budget(0.7), "")
    with pytest.raises(
        BudgetError, match=r"second costs epsilon 0.4, but only 0.3 of 1 is left; nothing was asked"
    ):
        ledger.debit("second", Budget(0.4), "")
    assert [entry.question for entry in ledger.entries] == ["first"]
    ledger.debit("third", Budget(0.3), "")
    assert ledger.left.amount == 0
    with pytest.raises(BudgetError):
        ledger.debit("fourth", Budget(1e-15), "")


def test_questions_asked_together_are_all_written_or_none() -> None:
    ledger = Ledger(1.0)
    with pytest.raises(BudgetError, match="A batch of 3 questions"):
        ledger.debit_all([("a", Budget(0.5), ""), ("b", Budget(0.5), ""), ("c", Budget(0.5), "")])
    assert ledger.entries == []


def test_ten_tenths_fit_one_but_not_eleven() -> None:
    ledger = Ledger(1.0)
    for _ in range(10):
        ledger.debit("a tenth", Budget(0.1), "")
    with pytest.raises(BudgetError):
        ledger.debit("one more", Budget(0.1), "")
    assert ledger.spent() == (1.0, 0.0)


@given(costs=st.lists(st.floats(0, 0.4), max_size=12))
def test_whatever_is_asked_the_sum_stays_within_the_budget(costs: list[float]) -> None:
    ledger = Ledger(1.0)
    accepted = Fraction(0)
    for cost in costs:
        if accepted + exact(cost) <= 1:
            ledger.debit("q", Budget(cost), "")
            accepted += exact(cost)
        else:
            with pytest.raises(BudgetError):
                ledger.debit("q", Budget(cost), "")
    assert total([entry.amount for entry in ledger.entries]) == accepted <= 1


@pytest.mark.parametrize("amount", [-0.1, float("nan")])
def test_a_price_that_is_none_is_refused(amount: float) -> None:
    ledger = Ledger(1.0)
    with pytest.raises(BudgetError):
        ledger.debit("q", Budget(amount), "")
    with pytest.raises(BudgetError):
        ledger.debit("q", Budget(0.1), "", delta=amount)
    assert ledger.entries == []


def test_a_price_in_another_currency_is_refused() -> None:
    with pytest.raises(BudgetError, match="counts in epsilon"):
        Ledger(1.0).debit("q", Budget(0.1, "rho"), "")


def test_rho_adds_up_and_is_converted_once() -> None:
    ledger = Ledger(1.0, 1e-6, currency="rho")
    for part in ledger.budget.split(1, 2, 3):
        ledger.debit("q", part, "")
    epsilon, delta = ledger.spent()
    assert (epsilon, delta) == (1.0, 1e-6)
    half = Ledger(1.0, 1e-6, currency="rho")
    for part in half.budget.equally(10)[:5]:
        half.debit("q", part, "")
    assert half.spent()[0] == pytest.approx(epsilon_of(half.budget.amount / 2, 1e-6))
    assert 0.6 < half.spent()[0] < 0.75  # about 1 / sqrt(2), where pure composition would say 0.5


def test_thresholds_have_their_own_part_of_delta() -> None:
    ledger = Ledger(1.0, 1e-6, currency="rho", threshold_delta=4e-7)
    assert ledger.conversion_delta == 6e-7
    ledger.debit("categories", Budget(0.001, "rho"), "", delta=4e-7)
    assert ledger.spent()[1] == 1e-6
    with pytest.raises(BudgetError, match="needs delta"):
        ledger.debit("categories", Budget(0.001, "rho"), "", delta=1e-9)
    assert len(ledger.entries) == 1


def test_pure_accounting_lets_questions_spend_delta_up_to_the_guarantee() -> None:
    ledger = Ledger(1.0, 1e-9, threshold_delta=1e-9)
    ledger.debit("categories", Budget(0.1), "", delta=1e-9)
    assert ledger.spent() == (0.1, 1e-9)
    with pytest.raises(BudgetError):
        ledger.debit("categories", Budget(0.1), "", delta=1e-12)


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"epsilon": 1.0, "neighbours": "both"}, "neighbours"),
        ({"epsilon": 1.0, "currency": "rho"}, "needs a delta"),
        ({"epsilon": 1.0, "delta": 1e-9, "threshold_delta": 1e-8}, "more than all of delta"),
        (
            {"epsilon": 1.0, "delta": 1e-9, "currency": "rho", "threshold_delta": 1e-9},
            "needs a delta",
        ),
    ],
)
def test_a_guarantee_that_makes_no_sense_is_refused(arguments: dict[str, Any], cause: str) -> None:
    with pytest.raises(InputError, match=cause):
        Ledger(**arguments)


def test_the_statement_tells_what_is_promised_and_against_whom() -> None:
    ledger = Ledger(1.0, neighbours="replace")
    assert "No private row was read" in ledger.statement()
    ledger.debit("q", Budget(0.5), "")
    assert ledger.statement().startswith(
        "Differentially private with epsilon = 1: changing any one row"
    )
    ledger.private = False
    assert ledger.statement().startswith("NOT PRIVATE")


# ---- round trip

LEDGERS = [
    Ledger(0.0),
    Ledger(1.0, entries=[Entry("a", 0.1, 0.0, "m"), Entry("b", 0.9, 0.0, "m")]),
    Ledger(2.0, 1e-6, "replace", "rho", entries=[Entry("a", 0.01, 0.0, "m")]),
    Ledger(1.0, 1e-9, threshold_delta=1e-9, entries=[Entry("a", 0.1, 1e-9, "m")]),
    Ledger(1.0, private=False),
    # Parts of the smallest delta there is are smaller still.
    Ledger.for_discovery(1.0, 1e-300),
    Ledger(1.0, 1e-300, threshold_delta=1e-300, entries=[Entry("a", 0.1, 5e-301, "m")]),
]


@pytest.mark.parametrize("ledger", LEDGERS)
def test_a_ledger_survives_being_written_as_json_and_read_back(ledger: Ledger) -> None:
    again = Ledger.from_dict(json.loads(json.dumps(ledger.to_dict())))
    assert again == ledger
    assert again.to_dict() == ledger.to_dict()


def _set(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        *above, last = path.split(".")
        place: Any = document
        for name in above:
            place = place[int(name)] if isinstance(place, list) else place[name]
        place[int(last) if isinstance(place, list) else last] = value

    change.__name__ = f"{path} = {value!r}"
    return change


@pytest.mark.parametrize(
    "tamper",
    [
        _set("entries.0.amount", 1.1),
        _set("entries.0.amount", -0.1),
        _set("entries.0.amount", "lots"),
        _set("entries.0.amount", None),
        _set("entries.0.question", 5),
        _set("entries.0.mechanism", None),
        _set("entries.0.delta", 1e-9),
        _set("entries.0.delta", -1),
        _set("entries.0", "a"),
        _set("entries", 7),
        _set("entries", {"a": 1}),
        _set("guarantee", None),
        _set("guarantee.epsilon", -1),
        _set("guarantee.epsilon", 0),
        _set("guarantee.epsilon", "1"),
        _set("guarantee.delta", 2),
        _set("neighbours", "nobody"),
        _set("neighbours", ["replace"]),
        _set("currency", "dollars"),
        _set("currency", "rho"),
        _set("threshold_delta", 0.5),
        _set("threshold_delta", None),
        _set("private", 1),
        _set("private", "yes"),
    ],
    ids=lambda change: change.__name__,
)
def test_a_ledger_that_was_tampered_with_is_refused(
    tamper: Callable[[dict[str, Any]], None],
) -> None:
    document = LEDGERS[1].to_dict()
    Ledger.from_dict(document)
    tamper(document)
    with pytest.raises(InputError):
        Ledger.from_dict(document)


@pytest.mark.parametrize("document", [None, [], "ledger", 5, {}])
def test_what_is_no_ledger_is_refused(document: Any) -> None:
    with pytest.raises(InputError, match="its ledger is not in order"):
        Ledger.from_dict(document)


def test_sums_in_the_file_are_made_anew_and_not_believed() -> None:
    document = LEDGERS[1].to_dict()
    document["spent"] = {"epsilon": 0.0, "delta": 0.0}
    document["total"] = 99.0
    assert Ledger.from_dict(document).spent() == (1.0, 0.0)
    assert Ledger.from_dict(document).budget.amount == 1.0


def test_a_ledger_of_very_many_entries_is_read_in_reasonable_time() -> None:
    document = Ledger(1.0).to_dict()
    document["entries"] = [
        {"question": "q", "amount": 1e-6 + i * 1e-12, "delta": 0.0, "mechanism": ""}
        for i in range(9999)
    ]
    assert len(Ledger.from_dict(document).entries) == 9999


# --------------------------------------------------------------------------- the owner's file


def spent(epsilon: float, delta: float = 0.0) -> Ledger:
    ledger = Ledger(epsilon, delta, threshold_delta=delta)
    ledger.debit("q", Budget(epsilon), "m", delta)
    return ledger


def test_a_release_that_asked_anything_costs_what_it_promised(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 3.0, 1e-6)
    number = book.reserve("independent", 1.0, 1e-7, "add_remove")
    assert book.left() == (2.0, 9e-7)
    assert book.read()["releases"][0]["state"] == "reserved"
    ledger = Ledger(1.0, 1e-7, threshold_delta=1e-7)
    ledger.debit("q", Budget(0.4), "m", 1e-8)
    book.settle(number, ledger)
    assert book.left() == (2.0, 9e-7)
    [release] = LedgerFile(tmp_path / "t.ledger").read()["releases"]
    assert (release["state"], release["epsilon"], release["delta"]) == ("settled", 1.0, 1e-7)
    assert release["entries"] == [{"question": "q", "amount": 0.4, "delta": 1e-8, "mechanism": "m"}]


def test_a_release_that_asked_nothing_costs_nothing(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 3.0, 1e-6)
    book.settle(
        book.reserve("independent", 1.0, 1e-7, "add_remove"),
        Ledger(1.0, 1e-7, threshold_delta=1e-7),
    )
    assert book.left() == (3.0, 1e-6)


def test_a_release_that_never_settles_stays_on_the_books(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    book.reserve("crashed", 0.75, 0.0, "add_remove")
    assert LedgerFile(book.path).left() == (0.25, 0.0)


def test_releases_share_one_allowance(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 0.3, 1e-6)
    for _ in range(3):
        book.reserve("a tenth", 0.1, 0.0, "add_remove")
    with pytest.raises(BudgetError, match="nothing was asked"):
        book.reserve("one more", 1e-12, 0.0, "add_remove")
    with pytest.raises(BudgetError):
        book.reserve("delta too large", 0.0, 1e-5, "add_remove")
    assert len(book.read()["releases"]) == 3
    assert book.left() == (0.0, 1e-6)


def test_neighbour_relations_are_not_mixed(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0, neighbours="replace")
    with pytest.raises(BudgetError, match="cannot be added up"):
        book.reserve("r", 0.1, 0.0, "add_remove")
    assert book.read()["releases"] == []


@pytest.mark.parametrize(
    "price", [(-1.0, 0.0), (float("nan"), 0.0), (float("inf"), 0.0), (0.1, -1e-9), (0.1, 1.0)]
)
def test_a_release_with_an_impossible_price_is_refused(
    tmp_path: Path, price: tuple[float, float]
) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0, 0.5)
    with pytest.raises(BudgetError):
        book.reserve("r", *price, "add_remove")
    assert book.left() == (1.0, 0.5)


@pytest.mark.parametrize(
    ("key", "value"), [("neighbours", "both"), ("unit", "family"), ("understudy_ledger", 2)]
)
def test_a_ledger_file_that_adds_up_but_says_what_is_not_known_is_refused(
    tmp_path: Path, key: str, value: Any
) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    before = book.path.read_bytes()
    document = {**book.read(), key: value}
    with pytest.raises(InputError, match="is damaged"):
        book._write(document)  # nor is it written
    assert book.path.read_bytes() == before
    book.path.write_text(json.dumps(document))  # with a check sum that matches
    with pytest.raises(InputError, match="is damaged"):
        book.read()


def test_a_release_cannot_be_settled_twice_or_without_a_reservation(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    number = book.reserve("r", 0.5, 0.0, "add_remove")
    book.settle(number, spent(0.5))
    for unknown in (number, "0123456789abcdef"):
        with pytest.raises(InputError, match="no open reservation"):
            book.settle(unknown, spent(0.001))
    assert book.left() == (0.5, 0.0)


def test_a_reservation_is_settled_by_its_own_release_only(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    number = book.reserve("r", 0.1, 0.0, "add_remove")
    for other in (spent(0.6), Ledger(0.1, neighbours="replace"), Ledger(0.05)):
        with pytest.raises(InputError, match="another release"):
            book.settle(number, other)
    assert book.left() == (0.9, 0.0)


def test_a_ledger_with_two_names_is_refused(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    os.link(book.path, tmp_path / "twin.ledger")
    for name in ("t.ledger", "twin.ledger"):
        with pytest.raises(InputError, match="two names"):
            LedgerFile(tmp_path / name).reserve("r", 0.1, 0.0, "add_remove")


def test_a_ledger_is_never_started_afresh(tmp_path: Path) -> None:
    LedgerFile.create(tmp_path / "t.ledger", 1.0)
    with pytest.raises(InputError, match="already"):
        LedgerFile.create(tmp_path / "t.ledger", 99.0)
    assert LedgerFile(tmp_path / "t.ledger").left() == (1.0, 0.0)


def test_a_ledger_that_is_not_there_is_not_made_up(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no ledger"):
        LedgerFile(tmp_path / "t.ledger").reserve("r", 0.1, 0.0, "add_remove")
    assert not (tmp_path / "t.ledger").exists()


def test_a_ledger_reached_by_a_link_is_the_same_ledger(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    (tmp_path / "link.ledger").symlink_to(book.path)
    LedgerFile(tmp_path / "link.ledger").reserve("by the link", 0.25, 0.0, "add_remove")
    assert book.left() == (0.75, 0.0)
    assert (tmp_path / "link.ledger").is_symlink()


# ---- size


def ask_much(questions: int, name: str = "q") -> Ledger:
    ledger = Ledger(1.0, 0.5)
    for place in range(questions):
        kind = ("discrete Laplace", "choice")[place % 2]
        ledger.entries.append(Entry(name, 1e-7, 1e-9, f"{kind}, scale {place}"))
    return ledger


def test_the_questions_of_an_ordinary_release_stand_in_the_file_one_by_one(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0, 0.5)
    asked = ask_much(1000)
    book.settle(book.reserve("r", 1.0, 0.5, "add_remove"), asked)
    [release] = book.read()["releases"]
    assert release["entries"] == asked.to_dict()["entries"]
    assert "further" not in release


@pytest.mark.parametrize(
    ("questions", "name", "lines"), [(62_000, "q", 1000), (300, "q" * 999, 98)]
)
def test_very_many_questions_are_summed_up_and_amounts_stay_exact(
    tmp_path: Path, questions: int, name: str, lines: int
) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0, 0.5)
    asked = ask_much(questions, name)
    book.settle(book.reserve("r", 1.0, 0.5, "add_remove"), asked)
    assert book.left() == (0.0, 0.0)
    assert book.path.stat().st_size < 200_000
    [release] = book.read()["releases"]
    assert len(release["entries"]) == lines
    further = {line.pop("mechanism"): line for line in release["further"]}
    half = (questions - lines) // 2
    told = {"questions": half, "amount": str(half * exact(1e-7)), "delta": str(half * exact(1e-9))}
    assert further == {"discrete Laplace": told, "choice": told}


def test_a_ledger_that_could_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 2.0, 0.5)
    number = book.reserve("r", 1.0, 0.5, "add_remove")
    before = book.path.read_bytes()
    with pytest.raises(InputError, match="half a character"):
        book.reserve("\ud800", 0.5, 0.0, "add_remove")
    monkeypatch.setattr(files, "MAX_DOCUMENT_BYTES", len(before) + 50)
    with pytest.raises(InputError, match="is full"):
        book.settle(number, ask_much(5))
    with pytest.raises(InputError, match="is full"):
        book.reserve("another", 0.5, 0.0, "add_remove")
    assert book.path.read_bytes() == before
    assert book.left() == (1.0, 0.0)


# ---- damage


def _truncated(text: str) -> str:
    return text[: len(text) // 2]


DAMAGE: dict[str, Callable[[str], str]] = {
    "emptied": lambda _: "",
    "cut short": _truncated,
    "zeroed": lambda text: "\x00" * len(text),
    "price lowered": lambda text: text.replace('"epsilon": 0.5', '"epsilon": 0.1'),
    "allowance raised": lambda text: text.replace('"epsilon": 1.0', '"epsilon": 9.0'),
    "release renamed": lambda text: text.replace("mine", "yours"),
    "relation changed": lambda text: text.replace("add_remove", "replace"),
    "version changed": lambda text: text.replace(
        '"understudy_ledger": 1', '"understudy_ledger": 2'
    ),
    "check removed": lambda text: text.replace('"check"', '"chuck"'),
    "another document": lambda _: '{"a": 1}',
    "a list": lambda _: "[]",
    "null": lambda _: "null",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_ledger_is_refused_and_left_as_it_is(
    tmp_path: Path, damage: Callable[[str], str]
) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    book.reserve("mine", 0.5, 0.0, "add_remove")
    damaged = damage(book.path.read_text())
    assert damaged != book.path.read_text()
    book.path.write_text(damaged)
    for use in (
        book.left,
        lambda: book.reserve("r", 0.1, 0.0, "add_remove"),
        lambda: book.settle("x", spent(0.1)),
    ):
        with pytest.raises(InputError, match=r"t\.ledger"):
            use()
    assert book.path.read_text() == damaged


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("epsilon", -1.0),
        ("epsilon", "much"),
        ("epsilon", None),
        ("delta", float("nan")),
        ("epsilon", float("inf")),
    ],
)
def test_a_release_without_a_proper_price_is_refused_even_with_a_right_check_sum(
    tmp_path: Path, place: str, value: Any
) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    book.reserve("mine", 0.5, 0.0, "add_remove")
    document = json.loads(book.path.read_text())
    document["releases"][0][place] = value
    document["check"] = _check(document)
    book.path.write_text(json.dumps(document))
    with pytest.raises(InputError):
        book.left()


# ---- disks


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_refuses_the_release_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    book.reserve("before", 0.5, 0.0, "add_remove")
    before = book.path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(InputError, match="No space left on device"):
            book.reserve("r", 0.1, 0.0, "add_remove")
    assert book.path.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"t.ledger", "t.ledger.lock"}


def test_a_folder_that_cannot_be_written_refuses_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    before = book.path.read_bytes()
    genuine = os.open

    def denied(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
            raise PermissionError(errno.EACCES, "Permission denied")
        return genuine(path, flags, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", denied)
        with pytest.raises(
            InputError, match=r"cannot be locked \(Permission denied\); nothing was asked"
        ):
            book.reserve("r", 0.1, 0.0, "add_remove")
    assert book.path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_refuses_the_release(tmp_path: Path) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    (tmp_path / "t.ledger.lock").unlink()
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="nothing was asked"):
            book.reserve("r", 0.1, 0.0, "add_remove")
    finally:
        tmp_path.chmod(0o700)


def test_the_debit_is_on_disk_before_it_takes_the_place_of_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = LedgerFile.create(tmp_path / "t.ledger", 1.0)
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.append("fsync"), fsync(handle))[1])
    monkeypatch.setattr(
        os, "replace", lambda old, new: (calls.append("replace"), replace(old, new))[1]
    )
    book.reserve("r", 0.1, 0.0, "add_remove")
    assert calls == ["fsync", "replace", "fsync"]  # the file, the exchange, the folder


# ---- several writers, and writers that are killed

PRELUDE = """
import os, sys
from understudy import BudgetError
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger, LedgerFile
book = LedgerFile(sys.argv[1])
def tell(line):
    os.write(1, line.encode() + b"\\n")  # one write: a line is there whole or not at all
"""

WRITERS = """
entry, gate = os.pipe()
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        os.close(gate)
        os.read(entry, 1)  # returns when the gate is closed: all start at once
        for _ in range(int(sys.argv[3])):
            try:
                tell(book.reserve("r", 0.1, 0.0, "add_remove"))
            except BudgetError:
                tell("refused")
        os._exit(0)
os.close(gate)
for _ in range(int(sys.argv[2])):
    _, status = os.wait()
    assert status == 0
"""


def test_eight_writers_at_once_lose_nothing_and_never_overdraw(tmp_path: Path) -> None:
    writers, times, allowance = 8, 6, 30
    book = LedgerFile.create(tmp_path / "t.ledger", allowance / 10)
    command = [sys.executable, "-c", PRELUDE + WRITERS, str(book.path), str(writers), str(times)]
    told = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    granted = [line for line in told if line != "refused"]
    assert len(told) == writers * times
    assert len(granted) == allowance
    assert sorted(release["number"] for release in book.read()["releases"]) == sorted(granted)
    assert book.left() == (0.0, 0.0)


VICTIMS = """
while os.read(0, 1):  # each byte asks for a victim
    pid = os.fork()
    if pid == 0:
        turn = 0
        while True:
            number = book.reserve("r", 0.001, 0.0, "add_remove")
            tell("reserved " + number)
            turn += 1
            if turn % 3 == 0:
                spent = Ledger(0.001)
                spent.debit("q", Budget(0.0005), "m")
                book.settle(number, spent)
                tell("settled " + number)
    tell(f"started {pid}")
    os.waitpid(pid, 0)
    tell("dead")
"""


def test_a_writer_killed_at_any_moment_never_loses_an_acknowledged_debit(tmp_path: Path) -> None:
    rng = random.Random(5)
    book = LedgerFile.create(tmp_path / "t.ledger", 1000.0)
    reserved: set[str] = set()
    settled: set[str] = set()
    command = [sys.executable, "-c", PRELUDE + VICTIMS, str(book.path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        lines = open(nursery.stdout.fileno(), encoding="utf-8", closefd=False)  # noqa: SIM115
        for kill in range(1, 31):
            nursery.stdin.write(b".")
            pid, patience = None, rng.randrange(8)
            for line in lines:
                what, _, which = line.strip().partition(" ")
                if what == "dead":
                    break
                if what == "started":
                    pid = int(which)
                else:
                    (reserved if what == "reserved" else settled).add(which)
                    patience -= 1
                if pid is not None and patience <= 0:
                    # Some random moment within the next write or two; how long that is makes no
                    # difference.
                    for _ in range(rng.randrange(30_000)):
                        pass
                    os.kill(pid, signal.SIGKILL)
                    patience = 1 << 30
            releases = {release["number"]: release for release in book.read()["releases"]}
            assert reserved <= releases.keys()
            assert all(releases[number]["state"] == "settled" for number in settled)
            # What is not settled counts in full, and each victim had at most one write that it did
            # not tell of.
            for release in releases.values():
                assert release["epsilon"] == 0.001
            assert len(releases) - len(reserved) <= kill
            assert exact(book.left()[0]) == 1000 - total(
                [release["epsilon"] for release in releases.values()]
            )
        nursery.stdin.close()
    assert len(reserved) >= 30
    assert settled


def _pickled(ledger: Ledger) -> Ledger:
    return pickle.loads(pickle.dumps(ledger))  # noqa: S301 - our own bytes


def _written(ledger: Ledger) -> Ledger:
    return Ledger.from_dict(ledger.to_dict())


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, _pickled, _written])
def test_a_copy_of_a_ledger_has_everything_to_read_and_nothing_to_spend(make_copy) -> None:
    ledger = Ledger(1.0)
    ledger.debit("a count", Budget(0.4), "geometric")
    copied = make_copy(ledger)
    assert copied.to_dict() == ledger.to_dict()
    assert copied.statement() == ledger.statement()
    with pytest.raises(BudgetError, match="debit the original"):
        copied.debit("a count", Budget(0.4), "geometric")
    with pytest.raises(BudgetError, match="debit the original"):
        copied.parallel("by sex", ["f", "m"], Budget(0.4))
    ledger.debit("a count", Budget(0.4), "geometric")
    assert len(copied.entries) == 1
    part = ledger.parallel("by sex", ["f", "m"], Budget(0.1))["f"]
    with pytest.raises(BudgetError, match="debit the original"):
        copy.deepcopy(part).debit("a count", Budget(0.1), "geometric")


def test_a_mark_is_moved_only_by_who_knows_it(tmp_path: Path) -> None:
    """Of two runs that read the same mark, one goes on, whatever files they keep their state in."""
    file = LedgerFile.create(tmp_path / "t.ledger", 3.0)
    number = file.reserve("gan", 1.0, 0.0, "add_remove")
    other = file.reserve("gan", 1.0, 0.0, "add_remove")
    file.claims(number).move(None, "a")
    for known in (None, "b"):
        with pytest.raises(InputError, match="has gone on meanwhile"):
            file.claims(number).move(known, "c")
    file.claims(number).move("a", "b")
    assert (file.claims(number).mark(), file.claims(other).mark()) == ("b", None)
    file.settle(number, Ledger(1.0))
    with pytest.raises(InputError, match="no open reservation"):
        file.claims(number).move("b", "c")
