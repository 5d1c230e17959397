"""The registry: every method is known once, also those of other packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import understudy
from understudy import InputError
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.registry import (
    DEFAULT,
    FEDERATED_DEFAULT,
    find_method,
    methods,
    methods_for,
)

PLUGIN = Path(__file__).resolve().parents[2] / "examples" / "plugin"


def test_the_defaults_come_first() -> None:
    assert next(iter(methods())) == DEFAULT
    assert methods_for("central")[0].name == DEFAULT
    assert methods_for("federated")[0].name == FEDERATED_DEFAULT


def test_every_method_can_be_had_at_the_top_of_the_package() -> None:
    for method in methods().values():
        assert getattr(understudy, method.kind.__name__) is method.kind


def test_a_variant_sets_parameters_and_keeps_the_name_of_the_method() -> None:
    made = find_method("correlated").make(epsilon=1.0)
    assert (made.name, made.get_params()["degree"]) == ("privbayes", 2)


def test_a_method_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="There is no method 'magic'; known are adaptive, "):
        find_method("magic")


@pytest.mark.parametrize("name", list(methods()))
def test_scikit_learn_can_clone_every_method(name: str) -> None:
    base = pytest.importorskip("sklearn.base")
    made: Any = find_method(name).make(epsilon=0.5)
    copy = base.clone(made)
    assert copy == made
    assert copy is not made
    changed = copy.set_params(epsilon=2.0)
    assert (changed.epsilon, copy.epsilon) == (2.0, 0.5)


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(InputError, match="The method adaptive has no parameter 'depth'"):
        find_method("adaptive").make(epsilon=1.0).set_params(depth=3)


@pytest.mark.parametrize("name", list(methods()))
def test_every_parameter_is_refused_in_the_constructor(name: str) -> None:
    method = find_method(name)
    for parameter in method.parameters:
        with pytest.raises(InputError, match=f"{parameter.name} must be "):
            method.make(epsilon=1.0, **{parameter.name: object()})
    for shared in ("delta", "neighbours", "max_rows_per_person"):
        with pytest.raises(InputError):
            method.make(epsilon=1.0, **{shared: -3})
    # Also where a method has another default than others.
    for shared in ("discovery", "keep_going", "refinement", "person"):
        with pytest.raises(InputError, match=f"{shared} must be "):
            method.make(epsilon=1.0, **{shared: -3})


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example plugin, installed as a package of its own."""
    target = tmp_path_factory.mktemp("plugin")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--target", str(target), str(PLUGIN)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return target


def run_with(plugin: Path, *command: str) -> subprocess.CompletedProcess[str]:
    path = [str(plugin), str(Path(understudy.__file__).parents[1])]
    environment = {"PYTHONPATH": ":".join(path), "PATH": "", "COLUMNS": "200", "HOME": str(plugin)}
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


@pytest.mark.thorough
def test_a_plugin_shows_up_everywhere(installed: Path, tmp_path: Path) -> None:
    told = run_with(installed, "-m", "understudy", "synthesize", "--help").stdout
    assert "chain: how each column depends on the one before it" in told
    assert "Options of chain" in told
    assert "--length" in told
    assert "chain" in run_with(installed, "-m", "understudy", "federate", "--help").stdout
    program = (
        "from understudy import Chain\n"
        "from understudy.auditing import audit, audit_subjects\n"
        "assert 'chain' in audit_subjects()\n"
        "assert 'Chain' in dir(__import__('understudy'))\n"
        "print(audit('chain', 1.0, runs=20, seed=1).verdict)\n"
    )
    ran = run_with(installed, "-c", program)
    assert ran.stdout.strip() == "kept", ran.stderr


@pytest.mark.thorough
def test_a_plugin_makes_rows(installed: Path, tmp_path: Path) -> None:
    table, rows = tmp_path / "t.csv", tmp_path / "out.csv"
    lines = [f"{i % 2},{i % 3},{i % 2}" for i in range(500)]
    table.write_text("\n".join(["a,b,c", *lines]) + "\n")
    kinds = {name: {"kind": "integer", "min": 0, "max": 2} for name in "abc"}
    understudy.Schema.from_dict({"attributes": kinds}).save(tmp_path / "s.json")
    command = ["-m", "understudy", "synthesize", str(table), "--schema", str(tmp_path / "s.json")]
    ran = run_with(installed, *command, "--method", "chain", "--length", "2", "-o", str(rows))
    assert ran.returncode == 0, ran.stderr
    assert rows.read_text().startswith("a,b,c\n")


@pytest.mark.thorough
def test_a_broken_plugin_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "broken-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[understudy.methods]\nb = no_such_module_at_all\n")
    ran = run_with(tmp_path, "-m", "understudy", "synthesize", "--help")
    assert ran.returncode == 0
    assert "adaptive" in ran.stdout
    assert "no_such_module_at_all" in ran.stderr


def test_every_class_has_a_name() -> None:
    assert all(
        issubclass(method.kind, Synthesizer) and method.kind.name for method in methods().values()
    )


@pytest.mark.parametrize("share", [0.0, 2.0, "half"])
def test_a_share_for_discovery_that_is_none_is_refused(share: Any) -> None:
    with pytest.raises(InputError, match="discovery must be a share between 0 and 1"):
        find_method(DEFAULT).make(epsilon=1.0, discovery=share)
