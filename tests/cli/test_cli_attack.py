"""``understudy attack`` and ``understudy membership``: what is printed, what is refused, which
status they end with.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from running import run
from understudy import Independent
from understudy.privacy.mechanisms import SeededNoise

pytestmark = pytest.mark.thorough  # guards no privacy, and takes its time

SCHEMA = {
    "attributes": {
        "id": {"kind": "identifier"},
        "age": {"kind": "integer", "min": 0, "max": 99, "bins": 20},
        "ward": {"kind": "categorical", "values": ["a", "b", "c", "d"]},
        "height": {"kind": "integer", "min": 120, "max": 219, "bins": 50},
        "smoker": {"kind": "boolean", "values": ["no", "yes"]},
    }
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that were used, rows that were not, a private model and its rows."""
    place = tmp_path_factory.mktemp("attack")
    dice = random.Random(3)
    for name in ("used", "holdout"):
        lines = ["id,age,ward,height,smoker"]
        for number in range(300):
            height = min(219, max(120, round(dice.gauss(170, 15))))
            lines.append(
                f"{number},{dice.randrange(100)},{dice.choice('aabcd')},{height},"
                f"{dice.choice(['no', 'yes'])}"
            )
        (place / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (place / "schema.json").write_text(json.dumps(SCHEMA))
    model = Independent(epsilon=1.0).fit(place / "used.csv", place / "schema.json")
    model.save(place / "model.json")
    model.write(place / "synthetic.csv", seed=1)
    return place


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


NAMED = ("--quasi-identifiers", "age, ward,height", "--secret", "smoker")
ATTACKS = (
    "closest record",
    "exact copies",
    "attribute inference",
    "linkage",
    "k-anonymity",
    "l-diversity",
    "t-closeness",
)


@pytest.mark.usefixtures("here")
def test_a_private_table_passes() -> None:
    ran = run(
        "attack",
        "used.csv",
        "synthetic.csv",
        "--holdout",
        "holdout.csv",
        "--model",
        "model.json",
        *NAMED,
    )
    assert ran.status == 0, ran.out + ran.err
    assert "For you, not for release" in ran.out
    assert all(f"{name}: " in ran.out for name in ATTACKS)
    assert "At epsilon 1 " in ran.out
    assert "Passing is no guarantee" in ran.err


@pytest.mark.usefixtures("here")
def test_copies_end_with_status_1() -> None:
    ran = run(
        "attack", "used.csv", "used.csv", "--holdout", "holdout.csv", "--epsilon", 0.5, *NAMED, "-q"
    )
    assert ran.status == 1
    assert "look at this" in ran.out
    assert ran.err == ""


@pytest.mark.usefixtures("here")
def test_json() -> None:
    ran = run(
        "attack", "used.csv", "synthetic.csv", "--schema", "schema.json", "--json", "-q", *NAMED
    )
    assert ran.status == 0
    document = json.loads(ran.out)
    assert [found["name"] for found in document["attacks"]] == list(ATTACKS)
    assert document["promise"] is None
    assert document["rows"]["holdout"] == 0


@pytest.mark.usefixtures("here")
def test_what_was_left_out_is_said() -> None:
    ran = run("attack", "used.csv", "synthetic.csv")
    assert ran.status == 0
    assert "no holdout" in ran.out
    assert "note (for you, not for release): Linkage and k-anonymity were left out" in ran.err
    assert "Attribute inference was left out" in ran.err


@pytest.mark.usefixtures("here")
def test_a_model_with_seeded_noise_promises_nothing(tmp_path: Path) -> None:
    seeded = Independent(epsilon=1.0).fit("used.csv", "schema.json", noise=SeededNoise(1))
    seeded.save(tmp_path / "seeded.json")
    ran = run("attack", "used.csv", "synthetic.csv", "--model", tmp_path / "seeded.json", "--json")
    assert "makes no promise: its noise was seeded" in ran.err
    assert json.loads(ran.out)["promise"] is None


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--secret", "smokes"], "There is no column 'smokes' that could be the secret"),
        (
            ["--quasi-identifiers", "age,id"],
            "There is no column 'id' that could be a quasi-identifier",
        ),
        (
            ["--model", "model.json", "--epsilon", "1"],
            "leave out --epsilon and --delta, or --model",
        ),
        (
            ["--model", "model.json", "--delta", "0.1"],
            "leave out --epsilon and --delta, or --model",
        ),
        (["--delta", "0.1"], "--delta goes with --epsilon"),
        (["--holdout", "used.csv"], "used.csv is named for two things at once"),
        (["--holdout", "synthetic.csv"], "synthetic.csv is named for two things at once"),
        (["--holdout", "nowhere.csv"], "nowhere.csv"),
        (["--epsilon", "0"], "epsilon must be"),
        (["--seed", "-1"], "seed must be"),
    ],
)
def test_mistakes_end_in_one_sentence(options: list[str], message: str) -> None:
    ran = run("attack", "used.csv", "synthetic.csv", "--schema", "schema.json", *options)
    assert ran.status == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.usefixtures("here")
@pytest.mark.thorough
def test_the_membership_game() -> None:
    pytest.importorskip("sklearn")
    options = (
        "--method",
        "independent",
        "--targets",
        2,
        "--shadows",
        10,
        "--rows",
        60,
        "--seed",
        1,
    )
    ran = run("membership", "used.csv", "--schema", "schema.json", *options)
    assert ran.status == 0, ran.out + ran.err
    assert "membership, independent: " in ran.out
    assert "membership, copies: " in ran.out
    document = json.loads(
        run("membership", "used.csv", "--schema", "schema.json", *options, "--json").out
    )
    assert document["promise"]["epsilon"] == 1.0
    assert document["control"]["measured"] > document["attack"]["measured"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shadows", "2"], "shadows must be a whole number from 10"),
        (["--epsilon", "-1"], "epsilon must be"),
        (["--seed", "-1"], "seed must be"),
        (["--targets", "290"], "has 300 rows; attacking 290 people takes at least 310"),
    ],
)
def test_mistakes_in_the_game_end_in_one_sentence(options: list[str], message: str) -> None:
    pytest.importorskip("sklearn")
    ran = run("membership", "used.csv", "--schema", "schema.json", *options)
    assert ran.status == 2
    assert message in ran.err
