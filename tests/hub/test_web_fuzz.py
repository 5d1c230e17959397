"""The whole API, as its description says it can be called and otherwise: never a fault.

A short run here; 10,000 cases by ``UNDERSTUDY_FUZZ=10000``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from survey_stories import make_spec, simulate
from web_hubs import WebHub, make_web_hub

from understudy.hub import requests as asking
from understudy.hub import surveys
from understudy.hub.survey_intake import write_batch

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

pytestmark = [pytest.mark.thorough]

CASES = int(os.environ.get("UNDERSTUDY_FUZZ", "400"))


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebHub]:
    made = make_web_hub(tmp_path_factory.mktemp("fuzz") / "hub")
    made.add("owner", "uma")
    made.add("ada", administrator=True)
    yield made
    made.site.opened.close()


def test_no_call_of_the_api_is_a_fault(web: WebHub) -> None:
    """Three people call everything, half of the time with ids that exist."""
    dataset = web.register("owner", ("uma",), epsilon=1e6)
    with web.site.db.transaction() as c:
        spec = {"epsilon": 1.0, "questions": ["count"]}
        asked = asking.submit(
            c, web.people["uma"].id, dataset.id, "ask", spec, "reason", "key of the fuzz"
        )
        made = surveys.make(c, web.people["owner"].id, make_spec(), "key of the fuzz")
        survey = surveys.open_survey(c, web.people["owner"].id, made.id)
        write_batch(c, [(survey.id, simulate(survey.plan(), 60))])
    known = {
        "survey": [survey.id],
        "dataset": [dataset.id],
        "request": [asked.id],
        "other": [user.id for user in web.people.values()],
    }
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", web.app)
    programs = {name: web.api(name) for name in web.people}
    operations = [result.ok() for result in schema.get_all_operations()]
    each = max(4, CASES // (len(operations) * len(programs)))
    called: dict[str, int] = {}
    seed = 0

    while sum(called.values()) < CASES:
        for operation in operations:
            for program in programs.values():
                seed += 1
                fuzz(operation, program, known, Round(most=each, seed=seed), called)
    assert len(called) == len(operations)
    print(f"{sum(called.values()):,} calls of {len(called)} operations")


@dataclass(frozen=True)
class Round:
    """How many cases of one operation, and which."""

    most: int
    seed: int


def fuzz(
    operation: Any, program: Any, known: dict[str, list[str]], turn: Round, called: dict[str, int]
) -> None:
    """Call one operation many times."""
    import hypothesis
    from hypothesis import HealthCheck, Phase
    from hypothesis import strategies as st

    @hypothesis.seed(turn.seed)
    @hypothesis.settings(
        max_examples=turn.most,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(), existing=st.booleans(), data=st.data())
    def call(case: Any, existing: bool, data: Any) -> None:
        for part in case.path_parameters or {}:
            if existing and part in known:
                case.path_parameters[part] = data.draw(st.sampled_from(known[part]))
        answer = send(program, case)
        label = f"{case.method} {case.operation.path}"
        called[label] = called.get(label, 0) + 1
        assert answer.status_code < 500, label
        check(answer, label)

    call()


def send(program: Any, case: Any) -> Any:
    """The case, as a request with somebody's token."""
    arguments = case.as_transport_kwargs(base_url="http://127.0.0.1:8000")
    headers = {k: v for k, v in (arguments.get("headers") or {}).items() if _plain(k, v)}
    headers = {k: v for k, v in headers.items() if k.lower() not in ("authorization", "host")}
    kept = {k: arguments[k] for k in ("params", "json", "data") if arguments.get(k) is not None}
    if "data" in kept and not isinstance(kept["data"], dict):
        kept["content"] = kept.pop("data")
    return program.request(arguments["method"], arguments["url"], headers=headers, **kept)


def _plain(name: str, value: Any) -> bool:
    return name.isascii() and str(value).isascii() and str(value).isprintable()


def check(answer: Any, label: str) -> None:
    """A problem is one sentence and one word."""
    if answer.status_code >= 400:
        document = answer.json()
        assert set(document) == {"problem", "kind"}, label
        assert document["problem"].strip().endswith("."), (label, document)
        assert len(document["problem"]) < 3000
