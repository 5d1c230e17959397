"""Each check of a federation refuses what it is there for: those that no other test meets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_holders import SCHEMA, FailingLink, five, holders_of, rows

from understudy.counting.row_functions import RandomFeatures, RowInputs
from understudy.data.bits import Bits
from understudy.data.marginals import marginal
from understudy.errors import InputError
from understudy.federation import Federation, MemoryLink
from understudy.federation.curator import FederatedCurator
from understudy.federation.identity import _content, _write_new
from understudy.federation.messages import Message
from understudy.federation.session_keys import from_hex
from understudy.federation.terms import ENCRYPTED, Terms, schema_digest
from understudy.privacy.budget import Budget
from understudy.privacy.features import Indicator

TERMS = Terms(
    session="s",
    schema="x",
    way=ENCRYPTED,
    method={"name": "independent"},
    epsilon=1.0,
    delta=0.0,
    neighbours="add_remove",
    holders=("h0", "h1", "h2"),
    dropouts=0,
    colluders=0,
)
FEATURES = (Indicator("a", (0,)),)
FUNCTION = RandomFeatures(
    inputs=RowInputs(coded=("a", "b")), directions=np.ones((2, 5), dtype=np.float32), labels=3
)


def changed(answer: Callable[[Message], Message]) -> Callable[[bytes], bytes]:
    """A holder's answer in other words."""
    return lambda message: answer(Message.from_bytes(message)).to_bytes()


def curator_of(way: str, answer: Callable[[Message], Message], what: str) -> FederatedCurator:
    holders = five(50)
    liar = FailingLink(holders[0], "ask", instead=changed(answer), what=what)
    links = [liar, *map(MemoryLink, holders[1:])]
    opened = Federation(links).open(SCHEMA, way, epsilon=100.0, colluders=0)
    return FederatedCurator(opened, SCHEMA)


def test_a_vote_for_a_candidate_that_is_not_there_is_refused() -> None:
    for vote in (2, -1):
        curator = curator_of(
            "voting", lambda _, vote=vote: Message("answer", {"vote": vote}), "vote"
        )
        with pytest.raises(InputError, match="voted for a candidate that is not there"):
            curator.choose([marginal("a", "b"), marginal("a", "c")], "I", Budget(1.0))


@pytest.mark.parametrize("size", [1, 3])
def test_an_answer_of_another_length_is_refused(size: int) -> None:
    told = Message("answer", {}, {"numbers": np.zeros(size, dtype=np.int64)})
    curator = curator_of("voting", lambda _: told, "tables")
    with pytest.raises(InputError, match=f"answered with {size} numbers, not 2"):
        curator.measure([marginal("a")], Budget(1.0))


def test_what_a_way_has_no_question_for_is_refused() -> None:
    federation = Federation(list(map(MemoryLink, five(50))))
    session = federation.open(SCHEMA, "voting", epsilon=100.0, delta=1e-6, colluders=0)
    curator = FederatedCurator(session, SCHEMA)
    with pytest.raises(InputError, match="holders sum no gradients; use secure"):
        curator.sum_vectors(FUNCTION, Budget(1.0, "rho"), clip=1.0)
    with pytest.raises(InputError, match="Rows in bits have no sums"):
        curator.in_bits(Bits(SCHEMA)).sum(FEATURES, Budget(1.0, "rho"))


@pytest.mark.parametrize("wrong", [{"dropouts": 1}, {"colluders": 2}])
def test_owners_of_encrypted_tables_are_offline(wrong: dict[str, Any]) -> None:
    replace(TERMS, colluders=1)
    with pytest.raises(InputError, match="Owners of encrypted tables are offline"):
        replace(TERMS, **wrong)


@pytest.mark.parametrize("text", ["no hex", 5, None])
def test_bytes_are_written_in_hex(text: Any) -> None:
    with pytest.raises(InputError, match="letters where it should hold bytes"):
        from_hex(text)


def test_keys_are_read_and_written_or_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"The key .* cannot be read: No such file"):
        _content(tmp_path / "none", "key")
    _write_new(tmp_path / "key", b"one", 0o600)
    with pytest.raises(InputError, match="it is never overwritten"):
        _write_new(tmp_path / "key", b"two", 0o600)
    assert (tmp_path / "key").read_bytes() == b"one"
    with pytest.raises(InputError, match="could not be written"):
        _write_new(tmp_path / "none" / "key", b"one", 0o600)


def test_a_session_has_a_name_of_its_own() -> None:
    [holder] = holders_of([rows(20)])
    terms = replace(TERMS, way="voting", holders=("h0",), schema=schema_digest(SCHEMA))

    def open_session(epsilon: float) -> Message:
        asked = replace(terms, epsilon=epsilon).to_message()
        return Message.from_bytes(holder.answer(asked.to_bytes()))

    assert open_session(1.0).kind == "opened"
    again = open_session(2.0)
    assert again.kind == "refused"
    assert "a session of that name already" in again.content["sentence"]
