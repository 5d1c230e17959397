from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from memory_holders import SCHEMA, FailingLink, five, holders_of, rows, split

from understudy import MST, Adaptive, Independent, Marginals, Model, PrivBayes, SmoothedHistogram
from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import encode
from understudy.data.marginals import marginal
from understudy.errors import InputError
from understudy.evaluation.marginals import marginals_of_order, total_variation
from understudy.federation import HolderGone, HolderRefused, MemoryLink, federate
from understudy.federation.holder_rows import HolderRows
from understudy.federation.identity import Identity
from understudy.federation.merged_models import MergedModels
from understudy.federation.ways import method_of
from understudy.privacy.budget import exact, total
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger, LedgerFile
from understudy.privacy.mechanisms import SeededNoise
from understudy.release.callbacks import no_progress

WAYS = ["secure", "statistics", "voting", "models"]
WHOLE = rows(10_000, 7)


def error(model, coded=WHOLE):
    """Mean total variation distance of pairs."""
    synthetic = encode(model.sample(20_000, seed=1), SCHEMA)
    return np.mean(total_variation(coded, synthetic, marginals_of_order(SCHEMA, 2, 10)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_every_way_finds_the_distribution(way, delta, neighbours):
    holders = holders_of(split(WHOLE, "equal", 4), neighbours=neighbours)
    method = PrivBayes(epsilon=20.0, delta=delta, neighbours=neighbours, degree=1)
    model = federate(holders, SCHEMA, method, way)
    assert error(model) < 0.02
    assert model.rows == pytest.approx(10_000, rel=0.01)
    assert model.ledger.promise() == (20.0, delta)
    assert model.method["federation"]["way"] == way
    assert model.method["name"] == "privbayes"


@pytest.mark.parametrize(
    "method",
    [
        PrivBayes(epsilon=20.0),
        PrivBayes(epsilon=20.0, encoding="gray", score="F", degree=2),
        PrivBayes.paper(20.0, degree=1),
        Adaptive(epsilon=20.0, delta=1e-9),
        MST(epsilon=20.0),
        Marginals(epsilon=20.0, marginals=[("a", "b"), ("b", "c")]),
        Independent(epsilon=20.0),
    ],
    ids=lambda method: method.name,
)
@pytest.mark.parametrize(
    "terms", [{"colluders": 0}, {"dropouts": 1}], ids=["all trusted", "some feared"]
)
def test_methods_work_unchanged_with_many_holders(method, terms):
    holders = holders_of(split(WHOLE, "random", 4, seed=2), neighbours=method.neighbours)
    model = federate(holders, SCHEMA, method, **terms)
    assert isinstance(model, Model)
    book = Ledger(
        method.epsilon, method.delta, method.neighbours, "rho" if method.delta else "epsilon"
    )
    central = method.learn(CentralCurator(WHOLE, book), book.left, no_progress)
    # Over bits two networks that are equally good by their scores may differ by that much.
    assert error(model) < error(central) + (
        0.1 if getattr(method, "encoding", "") == "gray" else 0.02
    )
    again = Model.from_dict(model.to_dict())
    assert again.method["federation"]["colluders"] == terms.get("colluders", 1)
    assert total([entry.amount for entry in model.ledger.entries]) <= exact(
        model.ledger.budget.amount
    )


def test_the_model_says_which_trust_it_rests_on():
    holders = holders_of(split(WHOLE, "equal", 4))
    method = Independent(epsilon=1.0)
    told = federate(holders, SCHEMA, method, dropouts=1).method["federation"]
    assert told["trust"] == (
        "Secure sums over 4 holders, of whom up to 1 may drop out: the guarantee holds against the "
        "analyst and all "
        "readers, alone or together with up to 1 of the holders."
    )
    told = federate(holders, SCHEMA, method, colluders=0).method["federation"]
    assert "not against the holders themselves, who know their shares of the noise" in told["trust"]
    model = federate(holders, SCHEMA, method, "voting")
    assert "no assumption" in model.method["federation"]["trust"]
    assert all("by each of 4 holders" in entry.mechanism for entry in model.ledger.entries)


def test_rows_that_differ_in_kind_want_structure_from_tables():
    """One holder for each class: nobody sees alone what the class depends on."""
    holders = holders_of(split(WHOLE, "class", target="a"))
    method = PrivBayes(epsilon=20.0, degree=1)
    assert error(federate(holders, SCHEMA, method, structure="tables")) < 0.02


def test_statistics_ask_once_for_all_tables(monkeypatch):
    asked = []
    measure = HolderRows.measure
    monkeypatch.setattr(
        HolderRows,
        "measure",
        lambda self, question: asked.append(question.marginals) or measure(self, question),
    )
    model = federate(
        holders_of([rows(1000), rows(1000, 1)]),
        SCHEMA,
        PrivBayes(epsilon=1.0, degree=1),
        "statistics",
    )
    pairs = [marginal(*pair) for pair in itertools.combinations(SCHEMA.names, 2)]
    assert asked == [pairs, pairs]
    scales = {entry.mechanism for entry in model.ledger.entries}
    assert scales == {
        "discrete Laplace, scale 3, by each of 2 holders"
    }  # C(3, 2) tables at epsilon 1
    replaced = PrivBayes(epsilon=1.0, degree=1, neighbours="replace")
    holders = holders_of([rows(1000), rows(1000, 1)], neighbours="replace")
    model = federate(holders, SCHEMA, replaced, "statistics")
    assert "scale 6" in model.ledger.entries[0].mechanism  # 2 C(d, k + 1) / epsilon


def test_voting_spends_as_the_thesis_does():
    """epsilon1 / (d - 1) for each step by the exponential mechanism, epsilon2 / d for each
    table.
    """
    method = PrivBayes.paper(1.0, degree=1, encoding="vanilla", score="I")
    holders = holders_of([rows(1000, seed) for seed in range(3)], neighbours="replace")
    model = federate(holders, SCHEMA, method, "voting")
    votes = [entry for entry in model.ledger.entries if "votes" in entry.question]
    assert [entry.amount for entry in votes] == pytest.approx([0.15, 0.15])
    assert all(entry.mechanism == "exponential, by each holder for itself" for entry in votes)
    tables = [entry for entry in model.ledger.entries if "table of" in entry.question]
    assert sum(entry.amount for entry in tables) == pytest.approx(0.7)


# ---- models


def test_models_are_merged_in_proportion():
    holders = holders_of([rows(3000, 1), rows(1000, 2)], neighbours="replace")
    merged = federate(holders, SCHEMA, PrivBayes(epsilon=5.0, neighbours="replace"), "models")
    assert isinstance(merged, MergedModels)
    assert [model.rows for model in merged.models] == [3000, 1000]
    assert merged.rows == 4000
    assert [count for _, count, _ in merged._parts(None, 1)] == [3000, 1000]
    assert [count for _, count, _ in merged._parts(10, 1)] == [8, 2]
    assert merged.sample(10).rows == 10
    one, other = (encode(merged.sample(500, seed=3), SCHEMA).codes["c"] for _ in range(2))
    assert (one == other).all()


def test_merged_models_in_files(tmp_path):
    merged = federate(
        holders_of([rows(300, 1), rows(100, 2)]), SCHEMA, Independent(epsilon=5.0), "models"
    )
    merged.save(tmp_path / "merged.json")
    again = MergedModels.load(tmp_path / "merged.json")
    assert again.ledger.promise() == (5.0, 0.0)
    assert (
        encode(again.sample(50, 1), SCHEMA).codes["a"].tolist()
        == encode(merged.sample(50, 1), SCHEMA).codes["a"].tolist()
    )
    assert merged.write(tmp_path / "rows.csv", 60) == 60
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InputError, match="does not hold merged models"):
        MergedModels.load(tmp_path / "other.json")


def test_a_method_from_a_message():
    method = PrivBayes(epsilon=0.5, degree=1)
    assert method_of(method.parameters()) == method
    for wrong in ({"name": "os.system"}, {"name": "privbayes", "epsilon": 1.0, "shell": "x"}, {}):
        with pytest.raises(InputError):
            method_of(wrong)


@pytest.mark.parametrize("name", ["checkpoint", "preview"])
def test_a_message_names_no_file_of_the_holder(name, tmp_path):
    """In the way "models" a holder runs the method itself: it would write where an analyst says."""
    target = tmp_path / "victim"
    method = {
        "name": "gan",
        "epsilon": 1.0,
        "delta": 1e-6,
        "sampling_rate": 1.0,
        name: str(target),
    }
    with pytest.raises(InputError, match=f"no parameter '{name}'"):
        method_of(method)


# ---- refused, and ledgers afterwards


@pytest.mark.parametrize(
    ("method", "more"),
    [
        (SmoothedHistogram(epsilon=1.0), {}),
        (PrivBayes(epsilon=1.0, max_rows_per_person=3), {}),
        (PrivBayes(epsilon=1.0, person="a"), {}),
        (Independent(epsilon=1.0), {"way": "statistics"}),
        (Independent(epsilon=1.0), {"structure": "tables"}),
        (PrivBayes(epsilon=1.0), {"structure": "tables", "way": "voting"}),
        (PrivBayes(epsilon=1.0), {"structure": "guess"}),
        (PrivBayes(epsilon=1.0), {"way": "trust"}),
        (PrivBayes(epsilon=1.0, degree=9), {}),
        (PrivBayes(epsilon=1.0), {"dropouts": 2}),
    ],
)
def test_what_cannot_be_done_together_is_refused_before_anybody_is_asked(method, more):
    with pytest.raises(InputError):
        federate(five()[:4], SCHEMA, method, **more)


@pytest.mark.parametrize("way", WAYS)
def test_ledgers_are_right_afterwards(way, tmp_path):
    parts = split(WHOLE, "equal", 3)
    files = [LedgerFile.create(tmp_path / f"{place}.ledger", 3.0) for place in range(3)]
    holders = holders_of(parts, allowance=None, ledger_files=files)
    method = PrivBayes(epsilon=1.0, degree=1)
    federate(holders, SCHEMA, method, way)
    for file in files:
        assert file.left() == (2.0, 0.0)
        release = file.read()["releases"][0]
        assert release["state"] == "settled"
        assert 0 < sum(entry["amount"] for entry in release["entries"]) <= 1.0
    with pytest.raises(HolderRefused, match="does not allow"):
        federate(holders, SCHEMA, replace(method, epsilon=2.5), way)
    assert [file.left() for file in files] == [(2.0, 0.0)] * 3


def test_a_run_that_ends_early_costs_everybody_in_full(tmp_path):
    files = [LedgerFile.create(tmp_path / f"{place}.ledger", 3.0) for place in range(3)]
    holders = holders_of(split(WHOLE, "equal", 3), allowance=None, ledger_files=files)
    links = [FailingLink(holders[0], "ask", what="top"), *map(MemoryLink, holders[1:])]
    with pytest.raises(HolderGone, match="h0 does not answer"):
        federate(links, SCHEMA, PrivBayes(epsilon=1.0, degree=1), colluders=0)
    assert [file.left() for file in files] == [(2.0, 0.0)] * 3
    assert files[0].read()["releases"][0]["state"] == "reserved"  # it never heard of the end
    assert files[1].read()["releases"][0]["state"] == "settled"


def test_holders_that_have_not_pinned_each_other_end_the_run_before_it_costs_anything(tmp_path):
    """One has another certificate of its fellow than that one has."""
    files = [LedgerFile.create(tmp_path / f"{place}.ledger", 3.0) for place in range(3)]
    holders = holders_of(split(WHOLE, "equal", 3), allowance=None, ledger_files=files)
    holders[0].peers["h1"] = Identity.new("h1").certificate
    with pytest.raises(
        HolderRefused, match="The key of h1 is not signed by the certificate that h0 has pinned"
    ):
        federate(holders, SCHEMA, PrivBayes(epsilon=1.0, degree=1))
    assert [file.left() for file in files] == [(3.0, 0.0)] * 3


def test_studies_can_be_repeated():
    def once():
        holders = [
            holders_of([part], noise=SeededNoise(place))[0]
            for place, part in enumerate(split(WHOLE, "equal", 3))
        ]
        for place, holder in enumerate(holders):
            holder.name = f"h{place}"
        return federate(holders, SCHEMA, PrivBayes(epsilon=1.0), "voting", noise=SeededNoise(9))

    one, other = once(), once()
    assert one.ledger.private is False
    assert one.to_dict() == other.to_dict()


def test_a_holder_without_rows_takes_part():
    holders = holders_of([*split(WHOLE, "equal", 3), rows(0)])
    for way in WAYS:
        for colluders in (0, 1)[: 2 if way == "secure" else 1]:
            model = federate(
                holders, SCHEMA, PrivBayes(epsilon=20.0, degree=1), way, colluders=colluders
            )
            assert error(model) < 0.03


# ---- what goes over the wire


@pytest.mark.parametrize("colluders", [0, 1])
@pytest.mark.parametrize("dropouts", [0, 1])
@pytest.mark.parametrize(
    "method", [PrivBayes(epsilon=1.0), MST(epsilon=1.0, delta=1e-9)], ids=["epsilon", "rho"]
)
def test_nothing_exact_leaves_a_holder(dropouts, colluders, method):
    """All bytes of all messages: no exact table in them, as it is or less what is common to all
    cells.
    """
    parts = split(rows(10_000, 3), "equal", 4)
    heard = []
    links = [
        MemoryLink(holder, lambda asked, told: heard.extend((asked, told)))
        for holder in holders_of(parts)
    ]
    federate(links, SCHEMA, method, dropouts=dropouts, colluders=colluders)
    assert len(heard) > 50
    assert not exact_in(heard, parts)


def test_a_holder_that_sends_its_exact_tables_is_found_out(monkeypatch):
    monkeypatch.setattr(
        "understudy.federation.secure_sums.pair_mask", lambda name, seeds, size: np.uint64(12345)
    )
    monkeypatch.setattr(
        "understudy.federation.noise_shares.ShareNoise.laplace", lambda self, counts, scale: counts
    )
    parts = split(rows(10_000, 3), "equal", 4)
    heard = []
    links = [
        MemoryLink(holder, lambda asked, told: heard.extend((asked, told)))
        for holder in holders_of(parts)
    ]
    federate(links, SCHEMA, Independent(epsilon=1.0))
    assert exact_in(heard, parts)


def exact_in(heard, parts):
    """Whether some part's exact table, or that of all together, stands in the bytes, up to a
    constant or a sign.
    """
    names = SCHEMA.names
    tables = [
        marginal(*group) for size in (1, 2, 3) for group in itertools.combinations(names, size)
    ]
    together = {name: np.concatenate([part.codes[name] for part in parts]) for name in names}
    forms = set()
    for codes in [*(part.codes for part in parts), together]:
        counter = MemoryCounter(codes, {}, {name: SCHEMA[name].size for name in names})
        for table in counter.count(tables):
            steps = np.diff(table.ravel()).astype("<i8")
            if steps.size >= 2:
                forms |= {
                    steps[:2].tobytes(),
                    (-steps[:2]).tobytes(),
                    table.ravel()[:3].astype("<i8").tobytes(),
                }
    for data in heard:
        for start in range(8):
            numbers = np.frombuffer(data[start : start + (len(data) - start) // 8 * 8], dtype="<i8")
            steps = np.diff(numbers)
            pairs = (
                np.stack([steps[:-1], steps[1:]], axis=1)
                if steps.size >= 2
                else np.empty((0, 2), "<i8")
            )
            raw = pairs.astype("<i8").tobytes()
            if any(raw[i : i + 16] in forms for i in range(0, len(raw), 16)):
                return True
    return False
