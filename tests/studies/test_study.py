"""The frame of all studies: cells, cache, report."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from study import (
    Claim,
    Options,
    Part,
    Row,
    Settings,
    Study,
    curves,
    grid,
    long,
    means,
    seed_of,
    where,
)
from understudy.errors import InputError
from understudy.privacy.mechanisms import SystemNoise

pytestmark = pytest.mark.thorough


class Counting:
    """A part that doubles numbers and remembers which cells it was asked to run."""

    def __init__(self, stop_at: float | None = None) -> None:
        self.ran: list[Settings] = []
        self.stop_at = stop_at

    def run(self, options: Options, settings: Settings) -> dict[str, float]:
        if settings["epsilon"] == self.stop_at:
            raise KeyboardInterrupt
        self.ran.append(settings)
        noise = options.noise(settings).laplace(np.zeros(1, dtype=np.int64), 100.0)
        return {"double": 2 * settings["epsilon"], "noise": float(noise[0])}

    def study(self, version: int = 1, name: str = "doubling") -> Study:
        part = Part(
            name,
            "Doubling",
            lambda options: grid(epsilon=(0.5, 1.0, 2.0), repeat=range(options.repeats)),
            self.run,
            lambda rows: [
                Claim(
                    "doubles",
                    all(r["double"] == 2 * r["epsilon"] for r in rows),
                    f"{len(rows)} cells",
                )
            ],
            lambda rows: curves(rows, x="epsilon", y="double", line="repeat", panel=()),
            version,
        )
        return Study("made-up", "A made-up study", [part], notes=["A note."])


def run(counting: Counting, folder: Path, *more: str, version: int = 1) -> int:
    return counting.study(version).main(["--output", str(folder), "--repeats", "2", *more])


def test_writes_table_figure_and_conclusions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(Counting(), tmp_path) == 0
    with (tmp_path / "doubling.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["double"] for row in rows] == ["1.0", "1.0", "2.0", "2.0", "4.0", "4.0"]
    assert "<svg" in (tmp_path / "doubling.svg").read_text()
    found = json.loads((tmp_path / "conclusions.json").read_text())
    assert found == {"doubling": [{"text": "doubles", "held": True, "numbers": "6 cells"}]}
    text = (tmp_path / "conclusions.md").read_text()
    assert "**held**: doubles (6 cells)" in text
    assert text.endswith("A note.\n")
    assert text in capsys.readouterr().out


def test_a_second_run_gives_the_same_files_and_runs_nothing(tmp_path: Path) -> None:
    run(Counting(), tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    again = Counting()
    run(again, tmp_path)
    assert not again.ran
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_runs_in_two_folders_give_the_same_numbers(tmp_path: Path) -> None:
    run(Counting(), tmp_path / "a")
    run(Counting(), tmp_path / "b")
    assert (tmp_path / "a" / "doubling.csv").read_bytes() == (
        tmp_path / "b" / "doubling.csv"
    ).read_bytes()
    assert (tmp_path / "a" / "doubling.svg").read_bytes() == (
        tmp_path / "b" / "doubling.svg"
    ).read_bytes()


def test_an_interrupted_study_goes_on_where_it_stopped(tmp_path: Path) -> None:
    assert run(Counting(stop_at=2.0), tmp_path) == 130
    assert not (tmp_path / "conclusions.md").exists()
    after = Counting()
    assert run(after, tmp_path) == 0
    assert [settings["epsilon"] for settings in after.ran] == [2.0, 2.0]


def test_what_is_unfinished_is_reported_where_that_is_asked_for(tmp_path: Path) -> None:
    assert run(Counting(stop_at=2.0), tmp_path) == 130
    counting = Counting()
    assert run(counting, tmp_path, "--unfinished") == 0
    assert counting.ran == []
    text = (tmp_path / "conclusions.md").read_text()
    assert "4 of 6 settings were run." in text
    assert "**held**: doubles (4 cells)" in text


def test_a_damaged_last_line_is_run_again(tmp_path: Path) -> None:
    run(Counting(), tmp_path)
    cache = tmp_path / "cache.jsonl"
    cache.write_text(cache.read_text()[:-20])
    after = Counting()
    run(after, tmp_path)
    assert after.ran == [{"epsilon": 2.0, "repeat": 1}]
    last = Counting()
    run(last, tmp_path)
    assert not last.ran  # the line after the damaged one is whole


@pytest.mark.parametrize(
    "line", ["7", "[]", "null", '{"key": 1}', '{"key": "x", "result": 3}', "\x00"]
)
def test_lines_of_other_kinds_are_ignored(tmp_path: Path, line: str) -> None:
    (tmp_path / "cache.jsonl").write_text(line + "\n")
    assert run(Counting(), tmp_path) == 0


def test_another_version_or_kind_of_run_is_another_cell(tmp_path: Path) -> None:
    run(Counting(), tmp_path)
    for more, version in (((), 2), (("--quick",), 1), (("--real-noise",), 1)):
        again = Counting()
        run(again, tmp_path, *more, version=version)
        assert len(again.ran) == 6


def test_more_repeats_run_only_what_is_new(tmp_path: Path) -> None:
    run(Counting(), tmp_path)
    more = Counting()
    more.study().main(["--output", str(tmp_path), "--repeats", "3"])
    assert [settings["repeat"] for settings in more.ran] == [2, 2, 2]


def test_what_is_wrong_with_the_input_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(options: Options, settings: Settings) -> dict[str, float]:
        raise InputError("There is no table; give its folder by --data.")

    part = Part("p", "P", lambda options: grid(x=[1]), refuse, lambda rows: [], lambda rows: None)
    assert Study("s", "S", [part]).main(["--output", str(tmp_path)]) == 2
    assert "give its folder by --data" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--repeats", "0"], ["--only", "nothing"]])
def test_wrong_options_are_refused(tmp_path: Path, wrong: list[str]) -> None:
    with pytest.raises(SystemExit):
        Counting().study().main(["--output", str(tmp_path), *wrong])


def test_seeds_belong_to_settings() -> None:
    seeds = {
        seed_of(settings)
        for settings in grid(table=("a", "b"), epsilon=(0.1, 1.0), repeat=range(5))
    }
    assert len(seeds) == 20
    assert seed_of({"a": 1, "b": 2}) == seed_of({"b": 2, "a": 1})


def test_real_noise_is_that_of_a_release(tmp_path: Path) -> None:
    assert isinstance(Options(tmp_path, tmp_path, 1, False, True).noise({}), SystemNoise)
    assert not Options(tmp_path, tmp_path, 1, False, False).noise({}).private


ROWS: list[Row] = [
    {"m": "x", "e": 1, "v": 1.0, "w": 5.0},
    {"m": "x", "e": 1, "v": 3.0},
    {"m": "y", "e": 2, "v": 4.0},
]


def test_means_where_long() -> None:
    assert means(ROWS, "v", "m") == {"x": 2.0, "y": 4.0}
    assert means(ROWS, "w", "m", "e") == {("x", 1): 5.0}
    assert where(ROWS, m="x", e=1) == ROWS[:2]
    assert long(ROWS[:1], "v", "w") == [
        {"m": "x", "e": 1, "measure": "v", "value": 1.0},
        {"m": "x", "e": 1, "measure": "w", "value": 5.0},
    ]


def test_a_curve_for_each_line_and_a_panel_for_each_combination() -> None:
    figure = curves(ROWS, x="e", y="v", line="m", panel=["m"])
    assert [axes.get_title() for axes in figure.axes] == ["x", "y"]
    assert figure.axes[0].lines[0].get_xydata().tolist() == [[1.0, 2.0]]
