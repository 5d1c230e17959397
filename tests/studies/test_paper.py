"""The paper's study: its parts on made-up tables, and the pieces that they are made of."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from paper import STUDY
from paper_parts import classification, encodings, marginals, parameters, scores, sources
from paper_parts.fits import (
    NoNoise,
    TwoNoises,
    affordable_degree,
    fitted,
    information,
    marginal_errors,
    routine,
    rows_from,
    useful_degree,
)
from paper_parts.tables import TASKS, Source, design, distinct, labels, made_up, split, svm_errors
from study import Options, Row
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.privbayes import PrivBayes

pytestmark = pytest.mark.thorough

BITS = Source("made-up bits", made_up("made-up bits"))
MIX = Source("made-up mix", made_up("made-up mix"))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper")
    assert STUDY.main(["--quick", "--data", "nowhere", "--output", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("part", STUDY.parts, ids=lambda part: part.name)
def test_the_quick_version_writes_a_table_a_figure_and_claims(quick: Path, part: object) -> None:
    name = part.name  # type: ignore[attr-defined]
    assert len((quick / f"{name}.csv").read_text().splitlines()) > 5
    assert "<svg" in (quick / f"{name}.svg").read_text()
    claims = json.loads((quick / "conclusions.json").read_text())[name]
    assert claims
    assert all(
        claim["numbers"] and claim["text"] in (quick / "conclusions.md").read_text()
        for claim in claims
    )


def test_without_data_the_full_version_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        STUDY.main(["--data", str(tmp_path), "--output", str(tmp_path / "out"), "--only", "scores"])
        == 2
    )
    assert "There is no nltcs.csv" in " ".join(capsys.readouterr().err.split())


# ---- fits


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("theta", [1.0, 4.0])
def test_degrees_are_those_of_theta_usefulness(epsilon: float, theta: float) -> None:
    model = PrivBayes.paper(epsilon, theta=theta, score="R").learn(
        *_curator(epsilon), lambda *_: None
    )
    degree = max(len(node.parents) for node in model.network)
    assert degree == useful_degree(3000, 8, 0.7 * epsilon, theta)


def _curator(epsilon: float):  # type: ignore[no-untyped-def]
    from understudy.privacy.central import CentralCurator
    from understudy.privacy.ledger import Ledger

    ledger = Ledger(epsilon, 0.0, "replace", "epsilon")
    return CentralCurator(BITS.rows, ledger, SeededNoise(1)), ledger.left


def test_remembered_scores_change_nothing() -> None:
    first, again = (
        fitted(MIX, 0.5, SeededNoise(3), score="R", encoding="vanilla") for _ in range(2)
    )
    other = PrivBayes.paper(0.5, score="R", encoding="vanilla")
    assert [node.table.tolist() for node in first.network] == [
        node.table.tolist() for node in again.network
    ]
    assert other.theta == 4.0


def test_the_limit_on_degrees() -> None:
    for attributes, degree in ((23, 4), (52, 2), (33, 3), (16, 15)):
        assert affordable_degree(attributes) == degree


def test_the_ledger_of_a_fit_holds_the_whole_budget() -> None:
    for source in (BITS, MIX):
        model = fitted(source, 0.5, SeededNoise(2), **routine(source))
        spent = math.fsum(entry.amount for entry in model.ledger.entries)
        assert spent == pytest.approx(0.5)
        assert not model.ledger.private


def test_exact_network_and_exact_tables() -> None:
    """Without noise in choices the network never changes; without noise in tables they are the
    counts.
    """
    exact = [
        fitted(BITS, 0.5, TwoNoises(NoNoise(), SeededNoise(seed)), score="F") for seed in (1, 2)
    ]
    pairs = [[(node.attribute, node.parents) for node in model.network] for model in exact]
    assert pairs[0] == pairs[1]
    model = fitted(MIX, 0.5, TwoNoises(SeededNoise(1), NoNoise()), **routine(MIX))
    for node in model.network:
        counts = np.bincount(MIX.rows.codes[node.attribute])
        assert node.table.reshape(-1, len(counts)).sum(axis=0) == pytest.approx(counts)


def test_information_is_zero_without_parents_and_grows_with_them() -> None:
    nothing = fitted(BITS, 0.001, SeededNoise(1), score="F")
    something = fitted(BITS, 10.0, SeededNoise(1), score="F")
    assert information(BITS, nothing) == 0.0
    assert information(BITS, something) > 1.0


def test_errors_are_small_with_a_large_budget() -> None:
    for source in (BITS, MIX):
        model = fitted(source, 1000.0, SeededNoise(1), **routine(source))
        errors = marginal_errors(source, rows_from(model, source, {}))
        assert all(error < 0.1 for error in errors.values())


# ---- classification


def test_the_split_is_the_same_every_time_and_loses_no_row() -> None:
    first = split(Path(), "made-up mix")
    split.cache_clear()
    again = split(Path(), "made-up mix")
    assert first.test is not None
    assert again.test is not None
    assert first.rows.rows + first.test.rows == 3000
    assert all(
        np.array_equal(first.rows.codes[name], again.rows.codes[name]) for name in first.rows.codes
    )
    for name, column in MIX.rows.codes.items():
        both = np.concatenate([first.rows.codes[name], first.test.codes[name]])
        assert np.array_equal(np.bincount(both), np.bincount(column))


def test_features_leave_the_target_out_and_have_one_value_each() -> None:
    known = design(MIX.rows, "kind")
    assert known.matrix.shape == (3000, 8 + 2 + 8 + 1)
    assert np.bincount(known.groups).tolist() == [8, 2, 8, 1]
    assert np.asarray(known.matrix.sum(axis=1)).ravel().tolist() == [4.0] * 3000
    assert np.asarray(known.unit.multiply(known.unit).sum(axis=1)).ravel() == pytest.approx(
        np.ones(3000)
    )


def test_labels_and_distinct_rows() -> None:
    assert (
        labels(MIX.rows, TASKS["made-up mix"]["kind"]).tolist()
        == (MIX.rows.codes["kind"] < 2).tolist()
    )
    assert (
        labels(MIX.rows, TASKS["made-up mix"]["size"]).tolist()
        == (MIX.rows.codes["size"] >= 4).tolist()
    )
    rows, counts = distinct(MIX.rows)
    assert counts.sum() == 3000
    assert rows.rows == len(
        set(zip(*(column.tolist() for column in MIX.rows.codes.values()), strict=True))
    )


def test_an_svm_on_the_real_rows_learns_what_can_be_learned() -> None:
    source = split(Path(), "made-up mix")
    errors = svm_errors(source.rows, source)
    assert errors["kind"] < 0.2
    assert errors["size"] < 0.2


# ---- claims: each is shown rows for which it holds and rows for which it does not


def scored(f: float, r: float, i: float) -> list[Row]:
    values = {"F": f, "R": r, "I": i, "best": 9.0}
    return [
        {
            "table": table,
            "score": score,
            "epsilon": e,
            "repeat": 0,
            "information": 9.0 if score == "best" else v * (1 + e),
            "Q4": 1 / v,
        }
        for table in ("bits", "mix")
        for score, v in values.items()
        for e in (0.1, 0.8)
        if table == "bits" or score != "F"
    ]


def test_claims_about_scores() -> None:
    assert [claim.held for claim in scores.conclude(scored(3.0, 2.99, 2.0))] == [True] * 6
    assert [claim.held for claim in scores.conclude(scored(2.0, 3.0, 4.0))] == [
        False,
        False,
        False,
        False,
        True,
        False,
    ]


def test_claims_about_encodings() -> None:
    def rows(binary: float, vanilla: float, hierarchical: float) -> list[Row]:
        values = {
            "Binary-F": binary,
            "Gray-F": binary,
            "Vanilla-R": vanilla,
            "Hierarchical-R": hierarchical,
        }
        return [
            {
                "table": "made-up mix",
                "encoding": name,
                "epsilon": e,
                "Q3": v / e,
                "size": v,
                "kind": v,
            }
            for name, v in values.items()
            for e in (1, 2)
        ]

    assert [claim.held for claim in encodings.conclude(rows(0.3, 0.2, 0.19))] == [True, True, True]
    assert [claim.held for claim in encodings.conclude(rows(0.1, 0.2, 0.3))] == [
        False,
        False,
        False,
    ]


def test_claims_about_parameters() -> None:
    def rows(best: float) -> list[Row]:
        return [
            {
                "table": "t",
                "epsilon": 1.0,
                "parameter": name,
                "value": value,
                task: 0.1 + abs(value / best - 1),
            }
            for name, values in (("beta", parameters.BETAS), ("theta", parameters.THETAS))
            for value in values
            for task in ("marginals", "svm")
        ]

    held = [claim.held for claim in parameters.conclude(rows(0.9))]
    assert held[:2] == [False, False]
    flat = [row | {"marginals": 0.1, "svm": 0.1} for row in rows(0.9)]
    assert all(claim.held for claim in parameters.conclude(flat))


def test_claims_about_sources() -> None:
    def rows(network: float, tables: float) -> list[Row]:
        values = {"PrivBayes": 1.0, "BestNetwork": network, "BestMarginal": tables}
        return [
            {"table": "t", "method": name, "epsilon": 1, "marginals": v, "svm": v}
            for name, v in values.items()
        ]

    assert [claim.held for claim in sources.conclude(rows(0.9, 0.5))] == [True, False]
    assert [claim.held for claim in sources.conclude(rows(0.5, 0.9))] == [False, True]


def test_claims_about_marginals() -> None:
    def rows(mine: float, *, steady: bool) -> list[Row]:
        values = {
            "PrivBayes": mine,
            "Understudy": mine * 0.9,
            "Uniform": 0.5,
            "Contingency": 0.5,
            "MWEM": 0.49,
        }
        noisy = {"Laplace": 0.6, "Fourier": 0.55}
        return [
            {
                "table": "acs",
                "method": name,
                "epsilon": e,
                "Q3": v,
                "Q4": v * 1.1 if name != "PrivBayes" else v,
            }
            for e in (0.1, 1.6)
            for name, v in [
                *values.items(),
                *((n, v if e == 0.1 or steady else v / 2) for n, v in noisy.items()),
            ]
        ]

    held = {claim.text: claim.held for claim in marginals.conclude(rows(0.1, steady=False))}
    assert held.pop(
        "Understudy's default is at least as accurate as the paper's PrivBayes in all cases"
    )
    assert all(held.values()), held
    worse = marginals.conclude(rows(0.7, steady=True))
    assert not worse[0].held
    assert "Uniform" in worse[0].numbers


def test_claims_about_classification() -> None:
    def rows(mine: float, erm: float) -> list[Row]:
        values = {
            "PrivBayes": mine,
            "PrivateERM": erm,
            "PrivGene": erm,
            "PrivateERM (Single)": 0.15,
            "Majority": 0.4,
        }
        found: list[Row] = [
            {
                "table": table,
                "method": name,
                "epsilon": e,
                "a": v if name == "Majority" else v / (1 + e),
            }
            for table in ("nltcs", "adult")
            for name, v in values.items()
            for e in (0.1, 1.6)
        ]
        found += [
            {"table": t, "method": "NoPrivacy", "epsilon": 0.1, "a": 0.01}
            for t in ("nltcs", "adult")
        ]
        return [
            {
                ("outside" if r["table"] == "nltcs" else "gender") if k == "a" else k: v
                for k, v in r.items()
            }
            for r in found
        ]

    first, exceptions, _, level, limit = classification.conclude(rows(0.2, 0.3))
    assert first.held
    assert exceptions.held
    assert level.held
    assert limit.held
    first, exceptions, *_ = classification.conclude(rows(0.3, 0.2))
    assert not first.held
    assert not exceptions.held


def test_options_of_the_quick_version_need_no_data(tmp_path: Path) -> None:
    options = Options(tmp_path, tmp_path, 1, True, False)
    names = {cell["table"] for part in STUDY.parts for cell in part.cells(options)}
    assert names == {"made-up bits", "made-up mix"}
