"""The JavaScript client makes the reports that Python makes, and keeps the same promise."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsers import (
    ANSWER_ALL,
    COUNT_REPORTS,
    ENCODE_ALL,
    NODE,
    PERTURB_ALL,
    count_in_python,
    question_of,
    run_in_node,
    run_in_page,
)
from surveys import KINDS_OF_ANSWERS, SCHEMA, codes_of, plan_of_all_kinds

from chromium import CHROMIUM, open_chromium
from understudy import Schema
from understudy.auditing.bounds import clopper_pearson, epsilon_bound
from understudy.local.answering import answer_plan
from understudy.local.forms import client_form, client_source
from understudy.local.persons import encode_person
from understudy.local.plans import CollectionPlan, plan_all_pairs
from understudy.local.randomisers import BinaryResponse, FiniteRandomiser, Words
from understudy.local.randomisers.base import RANDOMISER_KINDS

VECTORS = Path(__file__).with_name("report_vectors.json")
STREAM_BYTES = 4096
VECTOR_BYTES = 640
CONFIDENCE = 1 - 1e-9
RUNS = 4_000

with_node = pytest.mark.skipif(NODE is None, reason="there is no Node.js here")
with_chromium = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("node", marks=with_node),
        pytest.param("chromium", marks=with_chromium),
    ],
)
def run_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs a function of the client, in Node or in a real browser."""
    if request.param == "node":
        folder = tmp_path_factory.mktemp("node")
        yield lambda *asked: run_in_node(folder, *asked)
        return
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with open_chromium() as browser:
        page = browser.new_page()
        yield lambda *asked: run_in_page(page, *asked)


# --------------------------------------------------------------------------- the same reports


def make_cases(count: int, seed: int) -> list[dict[str, Any]]:
    """Persons with random answers, and the bytes that their reports are made of."""
    rng = np.random.default_rng(seed)
    codes = codes_of(count, seed)
    return [
        {
            "codes": {name: int(column[person]) for name, column in codes.items()},
            "level": int(rng.integers(2)),
            "bytes": rng.bytes(STREAM_BYTES).hex(),
        }
        for person in range(count)
    ]


def answer_in_python(plan: CollectionPlan, case: dict[str, Any]) -> str:
    words = Words.of_bytes(bytes.fromhex(case["bytes"]))
    return answer_plan(plan, case["codes"], level=case["level"], words=words).to_json()


def write_vectors() -> None:
    """Write the file of test vectors again: only if reports are to be made in another way."""
    plan = plan_of_all_kinds()
    cases = []
    for case in make_cases(60, seed=1):
        shorter = {**case, "bytes": case["bytes"][: 2 * VECTOR_BYTES]}
        cases.append({**shorter, "line": answer_in_python(plan, shorter)})
    VECTORS.write_text(json.dumps({"plan": plan.to_dict(), "cases": cases}, indent=1) + "\n")


def test_python_makes_the_reports_of_the_vectors() -> None:
    vectors = json.loads(VECTORS.read_text())
    plan = CollectionPlan.from_dict(vectors["plan"])
    assert [answer_in_python(plan, case) for case in vectors["cases"]] == [
        case["line"] for case in vectors["cases"]
    ]
    asked = {json.loads(case["line"])["q"] for case in vectors["cases"]}
    kinds = {one.kind for place in asked for one in plan.questions[place].randomisers}
    assert kinds == set(KINDS_OF_ANSWERS)


def test_javascript_makes_the_reports_of_the_vectors(run_client: Any) -> None:
    vectors = json.loads(VECTORS.read_text())
    form = client_form(CollectionPlan.from_dict(vectors["plan"]))
    lines = run_client(ANSWER_ALL, {"form": form, "cases": vectors["cases"]})
    assert lines == [case["line"] for case in vectors["cases"]]


def test_javascript_agrees_on_the_vectors_of_randomisers(run_client: Any) -> None:
    """Those of all randomisers that a plan may use, with streams that go to the edges too."""
    path = VECTORS.with_name("randomiser_vectors.json")
    vectors = [
        vector
        for vector in json.loads(path.read_text())["vectors"]
        if vector["randomiser"]["kind"] in KINDS_OF_ANSWERS
    ]
    assert {vector["randomiser"]["kind"] for vector in vectors} == set(KINDS_OF_ANSWERS)
    reports = run_client(PERTURB_ALL, vectors)
    assert reports == [vector["reports"] for vector in vectors]


@pytest.mark.parametrize("epsilons", [(2.0, 0.5), (0.01, 8.0), (30.0, 1.0)])
def test_javascript_and_python_agree_on_other_bytes(
    run_client: Any, epsilons: tuple[float, float]
) -> None:
    plan = plan_of_all_kinds(epsilons)
    cases = make_cases(300, seed=int(100 * epsilons[0]))
    lines = run_client(ANSWER_ALL, {"form": client_form(plan), "cases": cases})
    assert lines == [answer_in_python(plan, case) for case in cases]


def test_javascript_and_python_agree_on_codes(run_client: Any) -> None:
    columns = {
        "age": ["", "16", "35", "36", "95", "7", "200", " 40 ", "34.5", "old", "3e1", "0x20", "-1"],
        "sex": ["female", "male"],
        "smoker": ["true", "false", ""],
        "town": ["Aarhus", "Cork", "elsewhere", "Paris"],
        "height": ["", "1.2", "1.4", "1.6", "1.8", "2.2", "2.3", "1", "tall", ".9e1"],
        "born": [
            "1920-01-01",
            "2009-12-31",
            "1969-12-31",
            "1970-01-01",
            "2024-02-29",
            "1000-01-01",
        ],
    }
    entries = [
        {name: words[place % len(words)] for name, words in columns.items()} for place in range(60)
    ]
    found = run_client(ENCODE_ALL, {"form": client_form(plan_of_all_kinds()), "entries": entries})
    for entry, each in zip(entries, found, strict=True):
        codes, notes = encode_person(entry, SCHEMA)
        assert each["codes"] == codes
        assert len(each["misfits"]) == len(notes)


def test_javascript_and_python_agree_on_numbers_between_the_values_of_a_grid(
    run_client: Any,
) -> None:
    schema = Schema.from_dict(
        {
            "attributes": {
                "age": {"kind": "integer", "min": 16, "max": 95, "bins": 4},
                "dose": {"kind": "real", "edges": [0, 10, 20, 30], "step": 2.5},
                "fives": {"kind": "integer", "edges": [0, 10, 21, 31], "step": 5},
                "height": {"kind": "real", "min": 1.2, "max": 2.2, "bins": 5},
            }
        }
    )
    words = ["8.74", "8.75", "9", "15.4", "15.6", "18.75", "35.49", "35.5", "7.5", "95.5", "1e400"]
    entries = [dict.fromkeys(schema.names, word) for word in words]
    form = client_form(plan_all_pairs(schema, [2.0]))
    found = run_client(ENCODE_ALL, {"form": form, "entries": entries})
    for entry, each in zip(entries, found, strict=True):
        codes, notes = encode_person(entry, schema)
        assert each["codes"] == codes, entry
        assert len(each["misfits"]) == len(notes), entry


# --------------------------------------------------------------------------- the same promise


LOSSES = "(client, randomisers) => randomisers.map((one) => String(client.lossOf(one)))"

REFUSED = """(client, forms) => forms.map((form) => {
  try {
    client.checkForm(form);
    return false;
  } catch (error) {
    return error.message.includes("does not keep the privacy");
  }
})"""


def test_the_client_knows_the_loss_of_each_randomiser(run_client: Any) -> None:
    made = [
        RANDOMISER_KINDS[kind](
            epsilon=epsilon, **({} if RANDOMISER_KINDS[kind] is BinaryResponse else {"size": 9})
        )
        for kind in KINDS_OF_ANSWERS
        for epsilon in (0.1, 1.0, 12.0)
    ]
    found = run_client(LOSSES, [one.to_dict() for one in made])
    assert [float(loss) for loss in found] == pytest.approx([one.loss for one in made], rel=1e-6)


def test_a_form_that_lies_is_refused(run_client: Any) -> None:
    """Thresholds of a larger epsilon, thresholds that do not add up, and another size."""
    honest = client_form(plan_of_all_kinds((2.0, 0.5)))
    forms = [honest]
    looser = client_form(plan_of_all_kinds((2.0, 0.6)))
    for place in range(len(KINDS_OF_ANSWERS)):
        form = copy.deepcopy(honest)
        form["questions"][place] = looser["questions"][place]
        forms.append(form)
        for name in form["questions"][place]["randomisers"][0]["thresholds"]:
            form = copy.deepcopy(honest)
            form["questions"][place]["randomisers"][0]["thresholds"][name] = "0"
            forms.append(form)
    form = copy.deepcopy(honest)
    form["questions"][0]["sizes"][0] += 1
    forms.append(form)
    assert run_client(REFUSED, forms) == [False] + [True] * (len(forms) - 1)


def small_randomiser(kind: str, epsilon: float = 1.0) -> FiniteRandomiser:
    made = RANDOMISER_KINDS[kind]
    if made is BinaryResponse:
        return made(epsilon=epsilon)
    return made(size=3, epsilon=epsilon)  # type: ignore[call-arg, return-value]


def loss_found(counts: list[dict[str, int]], kind: str) -> float:
    """A lower bound on the loss that reports show, of the reports that differ most."""
    first, second = (count_in_python(one) for one in counts)
    if kind == "optimal hashing":  # what the report says of value 0, whatever the hash function
        randomiser = small_randomiser(kind)
        first, second = (
            {(int(v),): n for v, n in enumerate(_speaks(randomiser, one))}
            for one in (first, second)
        )
    return max(
        epsilon_bound(first.get(report, 0), RUNS, second.get(report, 0), RUNS, CONFIDENCE)
        for report in {*first, *second}
    )


def _speaks(randomiser: Any, counts: Any) -> list[int]:
    """How many reports speak against value 0 and for it."""
    speaking = randomiser.tally(np.array(list(counts.elements())))[0]
    return [RUNS - speaking, speaking]


@pytest.mark.parametrize("kind", [kind for kind in KINDS_OF_ANSWERS if kind != "optimal hashing"])
def test_reports_have_the_probabilities_that_are_claimed(kind: str, run_client: Any) -> None:
    """With the browser's own randomness: 4,000 reports of two values, each report within bounds
    that hold but once in 10^9.
    """
    randomiser = small_randomiser(kind)
    counts = run_client(COUNT_REPORTS, question_of(randomiser, [0, 1], RUNS))
    for value, found in zip((0, 1), map(count_in_python, counts), strict=True):
        possible = list(randomiser.possible_reports())
        assert set(found) <= set(possible)
        for report in possible:
            low, high = clopper_pearson(found[report], RUNS, CONFIDENCE)
            assert low <= float(randomiser.probability(report, value)) <= high
    assert loss_found(counts, kind) <= randomiser.epsilon


def test_hashed_reports_lose_no_more_than_is_claimed(run_client: Any) -> None:
    randomiser = small_randomiser("optimal hashing")
    counts = run_client(COUNT_REPORTS, question_of(randomiser, [0, 1], RUNS))
    assert 0.2 < loss_found(counts, "optimal hashing") <= randomiser.epsilon


@with_node
@pytest.mark.parametrize(
    ("right", "wrong", "kind"),
    [
        ("if (word < keep) return value;", "if (word < (keep * 5n) / 4n) return value;", "direct"),
        ("(value + 1n + (word - keep) / other)", "(value + (word - keep) / other)", "direct"),
        ("below |= undecided & plane & (MASK_64 ^ word);", "below |= undecided & own;",
         "optimal unary"),
        ("words.next() < BigInt(randomiser.thresholds.keep)", "true", "subset selection"),
        ("const fits = word < half * high;", "const fits = true;", "hadamard"),
    ],
)  # fmt: skip
def test_a_client_that_tells_too_much_is_found(
    right: str, wrong: str, kind: str, tmp_path: Path
) -> None:
    """The control: faults of one line each, which the checks above must find."""
    assert client_source().count(right) == 1
    broken = client_source().replace(right, wrong)
    randomiser = small_randomiser(kind)
    counts = run_in_node(tmp_path, COUNT_REPORTS, question_of(randomiser, [0, 1], RUNS), broken)
    assert loss_found(counts, kind) > randomiser.epsilon


@with_node
def test_the_client_draws_from_the_operating_system(tmp_path: Path) -> None:
    """No other source of chance is named in it, and no clock."""
    source = client_source()
    assert "crypto.getRandomValues" in source
    for word in ("Math.random", "Date.now", "new Date", "performance", "fetch", "import ("):
        assert word not in source
    function = """(client) => {
      const seen = [];
      globalThis.crypto.getRandomValues = (bytes) => { seen.push(bytes.length); return bytes; };
      client.answer(%s, {a: 1});
      return seen; }"""
    form = {
        "plan": "0" * 16,
        "levels": [1.0],
        "draw": [],
        "questions": [
            {"columns": ["a"], "sizes": [3], "randomisers": [small_randomiser("direct").to_dict()]}
        ],
    }
    drawn = run_in_node(tmp_path, function % json.dumps(form), None)
    assert sum(drawn) == 8 + 8 + 16


def test_epsilon_of_the_audit_can_be_reached() -> None:
    """The audit is not blind: at this many runs it would see a loss of 1.5 at epsilon 1."""
    p = math.exp(1.5) / (math.exp(1.5) + 2)
    q = (1 - p) / 2
    assert epsilon_bound(round(p * RUNS), RUNS, round(q * RUNS), RUNS, CONFIDENCE) > 1.0


if __name__ == "__main__":
    write_vectors()
