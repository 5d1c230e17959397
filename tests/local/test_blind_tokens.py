"""Tokens that cannot be linked: what each side sees, what counts, and what is refused."""

from __future__ import annotations

import io
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from surveys import small_plan

from running import run
from understudy import InputError
from understudy.local.answering import answer_plan
from understudy.local.blind_tokens import TokenIssuer, TokenRequest
from understudy.local.collected import Collected
from understudy.local.collecting import Collector
from understudy.local.plans import CollectionPlan

pytest.importorskip("voprf", reason="voprf is not installed")

ISSUER = TokenIssuer.create()
PLAN = small_plan(token_key=ISSUER.public_key)
CODES = dict.fromkeys(PLAN.schema.names, 0)


def get_token(issuer: TokenIssuer = ISSUER) -> str:
    request = TokenRequest()
    return request.finish(issuer.issue(request.text), issuer.public_key)


def collect(*lines: str, issuer: Any = ISSUER) -> Collected:
    with Collector(PLAN, issuer) as collector:
        collector.read_lines(io.BytesIO("\n".join(lines).encode()))
        return collector.finish()


def test_a_token_counts_once() -> None:
    tokens = [get_token() for _ in range(3)]
    lines = [answer_plan(PLAN, CODES, token=token).to_json() for token in tokens]
    assert [json.loads(line)["n"] + json.loads(line)["t"] for line in lines] == tokens
    collected = collect(*lines, lines[0])
    assert (collected.reports, collected.rejected) == (3, {"duplicated": 1})


def test_a_token_of_nobody_or_of_another_issuer_does_not_count() -> None:
    own, other = get_token(), get_token(TokenIssuer.create())
    forged = [
        answer_plan(PLAN, CODES, token=token).to_json()
        for token in (other, own[:32] + other[32:], other[:32] + own[32:], "0" * 64, "a" * 32)
    ]
    collected = collect(*forged, answer_plan(PLAN, CODES).to_json())
    assert (collected.reports, collected.rejected) == (0, {"no token": 6})


def test_the_issuer_never_sees_the_number() -> None:
    request = TokenRequest()
    response = ISSUER.issue(request.text)
    token = request.finish(response, ISSUER.public_key)
    number, proof = token[:32], token[32:]
    for seen in (request.text, response):
        assert number not in seen
        assert proof not in seen


def test_requests_for_one_number_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """The blinding is new each time, so a request says nothing of the number; and a token is the
    same whatever it was blinded by, so it says nothing of the request.
    """
    monkeypatch.setattr("secrets.token_bytes", lambda size: b"7" * size)
    requests = [TokenRequest() for _ in range(20)]
    assert len({request.text for request in requests}) == 20
    tokens = {request.finish(ISSUER.issue(request.text), ISSUER.public_key) for request in requests}
    assert len(tokens) == 1


def test_a_key_of_ones_own_is_noticed_by_the_person() -> None:
    """An issuer with a key for each person could tell them apart."""
    request = TokenRequest()
    with pytest.raises(InputError, match="not made with the key that stands in the plan"):
        request.finish(TokenIssuer.create().issue(request.text), ISSUER.public_key)


@pytest.mark.parametrize("text", ["", "junk", "00", "ff" * 32, "00" * 96])
def test_damaged_messages_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="damaged"):
        ISSUER.issue(text)
    with pytest.raises(InputError, match="damaged"):
        TokenRequest().finish(text, ISSUER.public_key)


def test_a_plan_with_tokens_needs_its_issuer() -> None:
    with pytest.raises(InputError, match="name the key of their issuer"):
        Collector(PLAN)
    with pytest.raises(InputError, match="not the one that stands in the plan"):
        Collector(PLAN, TokenIssuer.create())
    with pytest.raises(InputError, match="64 hexadecimal digits"):
        small_plan(token_key="abc")
    assert CollectionPlan.from_dict(PLAN.to_dict()) == PLAN
    assert PLAN.id != small_plan().id


def test_without_the_library_a_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "voprf", None)
    with pytest.raises(InputError, match=r"pip install \"understudy\[tokens\]\""):
        TokenIssuer.create()


def test_tokens_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("local", "issuer", "-o", "issuer.json").status == 0
    assert stat.S_IMODE(Path("issuer.json").stat().st_mode) == 0o600
    again = run("local", "issuer", "-o", "issuer.json")
    assert (again.status, "never written over" in again.err) == (2, True)
    PLAN.schema.save("survey.json")
    planned = run(
        *("local", "plan", "survey.json", "--epsilon", 2, "--issuer", "issuer.json"),
        *("-o", "plan.json"),
    )
    assert planned.status == 0, planned.err
    secret = json.loads(Path("issuer.json").read_text())["seed"]
    assert secret not in Path("plan.json").read_text()

    class Issuer(io.StringIO):
        """Hands over to the issuer what the person's side has printed, and gives the answer."""

        def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
            request = sys.stdout.buffer.getvalue().decode()  # type: ignore[attr-defined]
            return TokenIssuer.load("issuer.json").issue(request) + "\n"

    monkeypatch.setattr(sys, "stdin", Issuer())
    got = run("local", "token", "plan.json", "-o", "token.txt")
    assert got.status == 0, got.err
    monkeypatch.setattr(sys, "stdin", io.StringIO(got.out))
    assert len(run("local", "issue", "issuer.json").out) == 2 * 96 + 1

    def answer(*more: object) -> Any:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
        return run("local", "answer", "plan.json", "--ledger", "my.ledger", *more)

    refused = answer()
    assert (refused.status, "with a token only" in refused.err) == (2, True)
    answered = answer("--token", Path("token.txt").read_text())
    assert answered.status == 0, answered.err
    Path("r.jsonl").write_text(answered.out)
    refused = run("local", "collect", "plan.json", "r.jsonl", "-o", "t.json")
    assert (refused.status, "by --issuer" in refused.err) == (2, True)
    collected = run(
        *("local", "collect", "plan.json", "r.jsonl", "--issuer", "issuer.json", "-o", "t.json")
    )
    assert collected.status == 0, collected.err
    assert Collected.load("t.json").reports == 1
