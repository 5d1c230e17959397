"""The trail: only added to, and a changed past is noticed."""

from __future__ import annotations

import copy
import secrets
from fractions import Fraction
from typing import Any

import pytest
import sqlalchemy as sa
from core_hubs import Clock, add_dataset, add_user, make_hub, request_synthesis

from understudy.errors import InputError
from understudy.hub import trail
from understudy.hub.opening import Hub
from understudy.hub.roles import RuleSpec
from understudy.hub.tables import debits
from understudy.hub.tables import trail as trail_table
from understudy.hub.trail import Head
from understudy.hub.triggers import KEPT


@pytest.fixture
def filled(hub: Hub) -> Hub:
    with hub.db.transaction() as c:
        for number in range(6):
            trail.append(c, "ann", "do", f"d{number % 2}", {"secret": f"s{number}"})
    return hub


def export(hub: Hub, objects: list[str] | None = None) -> dict[str, Any]:
    with hub.db.reading() as c:
        return trail.export(c, objects)


def heads(hub: Hub) -> list[Head]:
    with hub.db.reading() as c:
        entries = trail.read_entries(c)
    return [Head(number=e.number, digest=e.digest, mac=e.mac) for e in entries]


def test_an_honest_trail_verifies(filled: Hub) -> None:
    verdict = trail.verify(filled.db, filled.keys.trail, heads(filled))
    assert verdict
    assert (verdict.entries, verdict.signed, verdict.heads) == (6, True, 6)
    assert trail.verify(export(filled))


def test_the_database_refuses_to_change_what_is_only_added_to(filled: Hub) -> None:
    with filled.db.transaction() as c:
        owner, user = add_user(c, "owner"), add_user(c, "user")
        rule = RuleSpec(operation="synthesise", standing=True)
        dataset = add_dataset(c, owner, [rule], [user])
        request_synthesis(c, user, dataset.id, 0.5)
    assert {trail_table.name, debits.name} == set(KEPT)
    for statement in (
        sa.update(trail_table).where(trail_table.c.number == 2).values(actor="eve"),
        sa.delete(trail_table).where(trail_table.c.number == 2),
        sa.update(debits).values(epsilon=Fraction(0)),
        sa.delete(debits),
    ):
        with pytest.raises(sa.exc.DBAPIError, match="only added to"), filled.db.transaction() as c:
            c.execute(statement)
    assert trail.verify(filled.db, filled.keys.trail)


@pytest.mark.parametrize("name", ["at", "actor", "action", "object", "details", "salt", "content"])
def test_a_changed_entry_is_noticed_without_the_key(filled: Hub, name: str) -> None:
    document = export(filled)
    document["entries"][2][name] = secrets.token_hex(8)
    verdict = trail.verify(document)
    assert not verdict
    assert "Entry 3 was changed after it was written." in verdict.findings


def test_a_lost_or_moved_entry_is_noticed(filled: Hub) -> None:
    document = export(filled)
    for change in (
        lambda entries: entries.pop(2),
        lambda entries: entries.pop(),
        lambda entries: entries.insert(2, entries.pop(3)),
        lambda entries: entries.append(entries[-1]),
    ):
        changed = copy.deepcopy(document)
        change(changed["entries"])
        assert not trail.verify(changed)


def test_a_rewritten_past_is_noticed_by_whoever_kept_a_head(filled: Hub) -> None:
    """The operator, with the key, writes another past; only heads that left the hub tell."""
    kept = heads(filled)[3]
    document = export(filled)
    previous = ""
    for entry in document["entries"]:
        if entry["number"] == 2:
            entry["details"] = '{"secret":"another"}'
        said = {name: entry[name] for name in trail.SIGNED_FIELDS}
        entry["content"] = trail.digest_content(said)
        previous = entry["digest"] = trail.chain(previous, entry["content"])
        entry["mac"] = trail.sign(filled.keys.trail, previous)
    document["head"] = {"number": 6, "digest": previous, "mac": entry["mac"]}
    assert trail.verify(document, filled.keys.trail)
    verdict = trail.verify(document, filled.keys.trail, [kept])
    assert verdict.findings == ("A release names entry 4, and it was written differently.",)
    document["entries"] = document["entries"][:2]
    assert "which the trail has lost" in trail.verify(document, None, [kept]).findings[-1]


def test_who_has_no_key_cannot_go_on_writing(filled: Hub) -> None:
    """Somebody with the database and not the key adds an entry."""
    document = export(filled)
    entry = dict(document["entries"][-1], number=7)
    said = {name: entry[name] for name in trail.SIGNED_FIELDS}
    entry["content"] = trail.digest_content(said)
    entry["digest"] = trail.chain(document["entries"][-1]["digest"], entry["content"])
    entry["mac"] = trail.sign(b"a key of one's own", entry["digest"])
    document["entries"].append(entry)
    document["head"] = {name: entry[name] for name in ("number", "digest", "mac")}
    assert trail.verify(document)
    assert not trail.verify(document, filled.keys.trail)


def test_an_owner_sees_her_own_entries_and_checks_all(filled: Hub) -> None:
    document = export(filled, ["d1"])
    shown = [entry for entry in document["entries"] if "details" in entry]
    assert [entry["number"] for entry in shown] == [2, 4, 6]
    assert "s0" not in str(document)
    assert trail.verify(document, None, heads(filled))
    hidden = next(entry for entry in document["entries"] if "details" not in entry)
    hidden["content"] = "0" * 64
    assert not trail.verify(document, None, heads(filled))


def test_order_does_not_depend_on_the_clock(tmp_path: Any) -> None:
    clock = Clock()
    hub = make_hub(tmp_path, clock=clock)
    for step in (0, -86_400, 3, -400 * 86_400):
        clock.turn(step)
        with hub.db.transaction() as c:
            trail.append(c, "ann", "do", "d", {"step": step})
    with hub.db.reading() as c:
        entries = trail.read_entries(c)
    assert [entry.number for entry in entries] == [1, 2, 3, 4]
    assert entries[3].at < entries[0].at
    assert trail.verify(hub.db, hub.keys.trail)


@pytest.mark.parametrize(
    "document",
    [{}, {"understudy_trail": 1}, {"understudy_trail": 1, "entries": [3], "head": {}}, []],
)
def test_what_is_no_export_is_refused(document: Any) -> None:
    with pytest.raises(InputError, match="not the export of a trail"):
        trail.verify(document)
