"""No side doors: what does not go through a door cannot differ between neighbouring tables,
whatever the method.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from outside_view import (
    ODD_ROWS,
    SCHEMA,
    Row,
    SameAnswers,
    Seen,
    copy_state,
    neighbours_of,
    plain_rows,
    seen,
    written,
)

import understudy.synthesizers
from understudy import Independent, PrivBayes, Random, Schema, Table
from understudy.data.tables import read_table
from understudy.privacy.central import CentralCurator
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.adaptive import Adaptive
from understudy.synthesizers.adaptive_budget import OneWayWorth
from understudy.synthesizers.adaptive_rounds import Rounds
from understudy.synthesizers.gan import GAN
from understudy.synthesizers.gaussian import Gaussian
from understudy.synthesizers.marginals import Marginals
from understudy.synthesizers.merf import MERF
from understudy.synthesizers.mst import MST
from understudy.synthesizers.perturbed_histogram import PerturbedHistogram
from understudy.synthesizers.smoothed_histogram import SmoothedHistogram

METHODS: dict[str, Synthesizer] = {
    "adaptive": Adaptive(epsilon=2.0),
    "adaptive, delta": Adaptive(epsilon=20.0, delta=1e-6),
    "adaptive, all columns": Adaptive(epsilon=99.0),
    "adaptive, replace": Adaptive(epsilon=2.0, delta=1e-6, neighbours="replace", target="sex"),
    "adaptive, target": Adaptive(epsilon=20.0, delta=1e-6, target="sex"),
    "adaptive, two rows per person": Adaptive(epsilon=9.0, person="who", max_rows_per_person=2),
    "mst": MST(epsilon=2.0),
    "mst, delta, replace": MST(epsilon=2.0, delta=1e-6, neighbours="replace"),
    "gaussian": Gaussian(epsilon=2.0),
    "gaussian, delta, replace": Gaussian(epsilon=2.0, delta=1e-6, neighbours="replace"),
    "gan": GAN(epsilon=2.0, steps=3, hidden=4),
    "merf": MERF(epsilon=2.0, features=8, training_steps=3, hidden=4),
    "random": Random(),
    "independent": Independent(epsilon=1.0),
    "independent, delta": Independent(epsilon=1.0, delta=1e-6),
    "independent, replace": Independent(epsilon=1.0, neighbours="replace"),
    "independent, clip": Independent(epsilon=1.0, repair="clip"),
    "privbayes": PrivBayes(epsilon=2.0),
    "privbayes, delta": PrivBayes(epsilon=2.0, delta=1e-6),
    "privbayes, replace": PrivBayes(epsilon=2.0, neighbours="replace"),
    "privbayes, paper": PrivBayes.paper(4.0),
    "privbayes, binary": PrivBayes(epsilon=2.0, encoding="binary"),
    "privbayes, gray, F, replace": PrivBayes.paper(4.0, encoding="gray", score="F"),
    "privbayes, degree": PrivBayes(epsilon=2.0, degree=1),
    "privbayes, degree, I": PrivBayes(epsilon=2.0, degree=2, score="I"),
    "privbayes, consistent": PrivBayes(epsilon=2.0, consistent=True, degree=1),
    "privbayes, two rows per person": PrivBayes(epsilon=2.0, person="who", max_rows_per_person=2),
    "independent, one row per person": Independent(epsilon=2.0, person="who"),
    "marginals": Marginals(epsilon=1.0, marginals=[("age", "sex"), ("sex", "town")]),
    "marginals, delta": Marginals(epsilon=1.0, delta=1e-6, marginals=[("age", "sex")]),
    "marginals, replace": Marginals(
        epsilon=1.0, neighbours="replace", marginals=[("seen", "rare")]
    ),
    "perturbed histogram": PerturbedHistogram(epsilon=1.0),
    "perturbed histogram, replace": PerturbedHistogram(
        epsilon=1.0, neighbours="replace", repair="clip"
    ),
    "smoothed histogram": SmoothedHistogram(epsilon=1.0),
    "smoothed histogram, draws": SmoothedHistogram(epsilon=1.0, draws=7),
    "smoothed histogram, replace": SmoothedHistogram(epsilon=1.0, neighbours="replace"),
}
JOINT = (PerturbedHistogram, SmoothedHistogram)
"""They count all attributes together, so they get few of them."""


def schema_for(method: Synthesizer) -> Schema:
    if not isinstance(method, JOINT) and method != METHODS["adaptive, all columns"]:
        return SCHEMA
    left_out = {"age", "height", "seen"}
    whole = SCHEMA.to_dict()["attributes"]
    return Schema.from_dict(
        {"attributes": {n: {"kind": "text"} if n in left_out else a for n, a in whole.items()}}
    )


def test_no_synthesizer_is_forgotten() -> None:
    def classes(of: type[Synthesizer]) -> set[type[Synthesizer]]:
        return {kind for one in of.__subclasses__() for kind in (one, *classes(one))}

    for module in pkgutil.iter_modules(
        understudy.synthesizers.__path__, "understudy.synthesizers."
    ):
        importlib.import_module(module.name)
    home = "understudy.synthesizers."  # foreign methods of the hub have tests of their own
    known = {
        kind
        for kind in classes(Synthesizer)
        if kind.__module__.startswith(home) and not inspect.isabstract(kind)
    }
    assert known == {type(method) for method in METHODS.values()}


@pytest.fixture(scope="module")
def seen_without(
    tmp_path_factory: pytest.TempPathFactory, table_with: Callable[..., Table]
) -> Callable[[str], Seen]:
    """What is seen of a method's run without any odd row: the same beside all of them."""

    @cache
    def look(name: str) -> Seen:
        method, folder = METHODS[name], tmp_path_factory.mktemp("without")
        return seen(method, table_with(method.neighbours), schema_for(method), folder)

    return look


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("odd", ODD_ROWS.values(), ids=ODD_ROWS.keys())
@pytest.mark.parametrize("name", METHODS)
def test_what_does_not_go_through_a_door_does_not_differ(
    name: str,
    odd: Row,
    tmp_path: Path,
    seen_without: Callable[[str], Seen],
    table_with: Callable[..., Table],
) -> None:
    method, without = METHODS[name], seen_without(name)
    there = table_with(method.neighbours, odd)
    assert without == seen(method, there, schema_for(method), tmp_path, beside=without)


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize(
    "name",
    {
        type(method): name for name, method in METHODS.items() if method.neighbours == "add_remove"
    }.values(),
)
def test_whether_there_is_a_row_at_all_does_not_show(name: str, tmp_path: Path) -> None:
    method = METHODS[name]
    empty, one = (
        read_table(written(tmp_path / f"{len(rows)}.csv", rows)) for rows in ([], plain_rows()[:1])
    )
    empty, one = (Table(table.columns, "The table") for table in (empty, one))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    without = seen(method, empty, schema_for(method), tmp_path / "a")
    assert without == seen(method, one, schema_for(method), tmp_path / "b", beside=without)


@pytest.mark.parametrize("name", METHODS)
def test_nor_does_what_is_made_of_a_model(
    name: str,
    tmp_path: Path,
    seen_without: Callable[[str], Seen],
    table_with: Callable[..., Table],
) -> None:
    """Above, files are written once where models are the same to the last bit; here, always."""
    method, rows = METHODS[name], list(ODD_ROWS.values())
    odd = rows[list(METHODS).index(name) % len(rows)]
    there = table_with(method.neighbours, odd)
    assert seen_without(name) == seen(method, there, schema_for(method), tmp_path)


def test_the_answers_are_used_and_the_questions_are_asked(tmp_path: Path) -> None:
    """The test above would hold for a synthesizer that asks nothing."""
    here, _ = neighbours_of("add_remove", ODD_ROWS["all missing"], tmp_path)
    asked = seen(replace(METHODS["privbayes, degree"]), here, SCHEMA, here.parent)
    kinds = [question[0] for question in asked.questions]
    assert kinds == ["Measure", "toss", *["Choose"] * 6, "Measure"]
    assert len(asked.at_the_noise) > len(kinds)
    with mock.patch.object(SameAnswers, "_table", lambda *_: np.full(np.shape(_[2]), 7)):
        assert seen(METHODS["privbayes, degree"], here, SCHEMA, here.parent).model != asked.model


def test_adaptive_makes_choices_where_it_can_pay_for_them(tmp_path: Path) -> None:
    """Else the test above would only see it measure single columns."""
    here, _ = neighbours_of("add_remove", ODD_ROWS["all missing"], tmp_path)
    asked = seen(METHODS["adaptive, delta"], here, SCHEMA, here.parent)
    assert "Choose" in [question[0] for question in asked.questions]
    little = seen(replace(METHODS["adaptive"], epsilon=0.01), here, SCHEMA, here.parent)
    assert len(little.questions) < len(asked.questions)


def test_adaptive_measures_all_columns_at_once_where_it_can_pay_for_that(tmp_path: Path) -> None:
    here, _ = neighbours_of("add_remove", ODD_ROWS["all missing"], tmp_path)
    method = METHODS["adaptive, all columns"]
    asked = seen(method, here, schema_for(method), here.parent)
    assert [question[0] for question in asked.questions] == ["Measure", "Measure"]


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("target", [None, "sex"])
@pytest.mark.parametrize("odd", ["all missing", "values above", "one more like the others"])
def test_which_values_are_merged_follows_from_what_was_released(
    odd: str,
    target: str | None,
    tmp_path: Path,
    table_with: Callable[..., Table],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for limit, value in {"RARE": 100.0, "COARSE": 100.0, "LARGER_NOISE": 1e3}.items():
        monkeypatch.setattr(f"understudy.synthesizers.adaptive.{limit}", value)
    merges: list[bytes] = []
    merge = CentralCurator.merge_values

    def heard(self: CentralCurator, codes: dict[str, Any]) -> CentralCurator:
        merges.append(b"".join(name.encode() + one.tobytes() for name, one in codes.items()))
        return merge(self, codes)

    monkeypatch.setattr(CentralCurator, "merge_values", heard)
    method = Adaptive(epsilon=20.0, delta=1e-6, target=target)
    without = seen(method, table_with("add_remove"), SCHEMA, tmp_path)
    there = table_with("add_remove", ODD_ROWS[odd])
    assert without == seen(method, there, SCHEMA, tmp_path, beside=without)
    assert len(merges) == 2
    assert merges[0] == merges[1]


@pytest.mark.filterwarnings("ignore::understudy.OwnerWarning")
@pytest.mark.parametrize("odd", ["all missing", "values above", "one more like the others"])
def test_what_a_round_looks_at_follows_from_what_was_released(
    odd: str,
    tmp_path: Path,
    table_with: Callable[..., Table],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which tables are drawn where there are too many, and what single columns are worth."""
    monkeypatch.setattr("understudy.synthesizers.adaptive_rounds.MAX_ROUND_CANDIDATES", 12)
    decided: list[Any] = []

    def hear(kind: type, name: str) -> None:
        method = getattr(kind, name)

        def heard(*arguments: Any) -> Any:
            found = method(*arguments)
            decided.append((name, np.asarray(found).tobytes()))
            return found

        monkeypatch.setattr(kind, name, heard)

    of_rounds = ("_draw_candidates", "_handicaps", "_could_stand_out")
    for name in of_rounds:
        hear(Rounds, name)
    hear(OneWayWorth, "first_share")
    method, runs = METHODS["adaptive, delta"], []
    for row in ((), (ODD_ROWS[odd],)):
        decided.clear()
        shown = seen(method, table_with("add_remove", *row), SCHEMA, tmp_path)
        runs.append((shown, tuple(decided)))
    assert {name for name, _ in decided} == {*of_rounds, "first_share"}
    assert runs[0] == runs[1]


def test_models_are_not_taken_for_the_same_where_the_last_bit_differs(tmp_path: Path) -> None:
    """What a model holds beside its fields counts, too; what it has worked out from them does
    not.
    """
    here, _ = neighbours_of("add_remove", ODD_ROWS["all missing"], tmp_path)
    model = Independent(epsilon=1.0).fit(here, SCHEMA, noise=SameAnswers(), notify=lambda _: None)
    state = copy_state(model)
    assert model.errors is not None  # worked out, and kept
    assert copy_state(model) == state
    table = next(iter(model.network)).table
    table.flags.writeable = True
    before = table.flat[0]
    table.flat[0] = np.nextafter(before, np.inf)
    assert copy_state(model) != state
    table.flat[0] = before
    assert copy_state(model) == state
    object.__setattr__(model, "hint", 41)
    assert copy_state(model) != state


def test_a_side_door_would_be_seen(tmp_path: Path) -> None:
    """A synthesizer that peeps at the rows is caught, so the test above can fail."""

    class Peeping(Independent):
        def learn(self, curator: Any, budget: Any, progress: Any) -> Any:
            model = super().learn(curator, budget, progress)
            return replace(model, rows=curator._rows.counter.rows)

    here, there = neighbours_of("add_remove", ODD_ROWS["one more like the others"], tmp_path)
    method = Peeping(epsilon=1.0)
    assert seen(method, here, SCHEMA, here.parent) != seen(method, there, SCHEMA, there.parent)
