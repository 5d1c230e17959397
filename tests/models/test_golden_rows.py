"""The rows of a seed, today and in every later version (see tests/golden/golden.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from golden.golden import FOLDER, digest_of_many, few_rows_of
from understudy import Model
from understudy.federation.merged_models import MergedModels

pytestmark = pytest.mark.usefixtures("each_version")

FILES = sorted(FOLDER.glob("*.json"))


def test_every_kind_of_model_has_golden_rows() -> None:
    assert {path.stem for path in FILES} >= {
        "random", "independent", "marginals", "perturbed-histogram", "smoothed-histogram",
        "mst", "adaptive", "privbayes", "privbayes-hierarchical", "privbayes-gray",
        "privbayes-paper", "merged", "adaptive-even-tables", "gaussian", "merf",
    }  # fmt: skip


def golden(path: Path) -> tuple[Model | MergedModels, dict[str, Any]]:
    document = json.loads(path.read_text(encoding="utf-8"))
    kind = MergedModels if "understudy_merged" in document["model"] else Model
    return kind.from_dict(document["model"]), document


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_seed_gives_the_rows_that_it_always_gave(path: Path) -> None:
    model, document = golden(path)
    assert few_rows_of(model) == document["rows"]


@pytest.mark.thorough
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_seed_gives_as_many_rows_as_it_always_gave(path: Path) -> None:
    model, document = golden(path)
    assert digest_of_many(model) == document["many"]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["privbayes-gray", "gaussian", "merf"])
def test_golden_rows_do_not_depend_on_the_process(kind: str) -> None:
    """Nor on the order of sets of texts, the number of threads, or what the processor offers to
    numpy.
    """
    path = FOLDER / f"{kind}.json"
    script = (
        "import json, pathlib, sys; from golden.golden import rows_of; from understudy import "
        "Model;"
        "document = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding='utf-8'));"
        "print(json.dumps(rows_of(Model.from_dict(document['model']))))"
    )
    lacking = "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
    changed = {"PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "1", "NPY_DISABLE_CPU_FEATURES": lacking}
    here = str(FOLDER.parent)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, path],
        env=os.environ | changed | {"PYTHONPATH": os.pathsep.join([here, *sys.path])},
        capture_output=True,
        check=True,
        timeout=300,
    )
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["model"]
    assert json.loads(done.stdout) == document
