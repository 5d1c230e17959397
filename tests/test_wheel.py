"""The wheel: it holds what it should, and runs where there is no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import understudy

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the backend that stands in pyproject.toml, from what is in this environment: no
    network.
    """
    place = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(place),
        str(ROOT),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = place.glob("*.whl")
    return built


def test_what_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "understudy/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    modules = {p.relative_to(ROOT / "src").as_posix() for p in (ROOT / "src").rglob("*.py")}
    assert modules <= set(names)
    outside = {name for name in names if not name.startswith(("understudy/", "understudy-"))}
    assert outside == set()


def test_it_runs_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    elsewhere.mkdir()
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
    ]
    subprocess.run([*pip, str(wheel)], check=True, timeout=300, cwd=elsewhere)
    (elsewhere / "patients.csv").write_text(
        "age,height\n" + "".join(f"{i % 90},{150 + i % 50}\n" for i in range(500))
    )
    # -S leaves out site-packages and with it the editable install; the dependencies are put back by
    # name.
    path = os.pathsep.join(
        [str(target), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    )
    # Numba would compile everything again for this folder: slow, and not what is tested here.
    env = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", "NUMBA_DISABLE_JIT": "1"}

    def python(*arguments: str) -> str:
        command = [sys.executable, "-S", *arguments]
        done = subprocess.run(
            command,
            cwd=elsewhere,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert python("-m", "understudy", "--version") == f"understudy {understudy.__version__}\n"
    assert Path(
        python("-c", "import understudy; print(understudy.__file__)").strip()
    ).is_relative_to(target)
    rows = python(
        "-m",
        "understudy",
        "synthesize",
        "patients.csv",
        "--rows",
        "20",
        "--epsilon",
        "100",
        "--keep-going",
    )
    assert rows.count("\n") == 21
    assert rows.startswith("age,height\n")
