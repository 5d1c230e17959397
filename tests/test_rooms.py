"""The rooms of the house: imports go downwards only."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from rooms import PACKAGE, ROOMS, upward_imports


def test_no_import_goes_upwards() -> None:
    found = [str(one) for one in upward_imports()]
    assert found == [], "\n".join(found)


def test_every_folder_is_a_room() -> None:
    names = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith(("_", "py.typed"))}
    assert names == set(ROOMS)


def test_an_import_that_goes_upwards_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "understudy"
    (package / "data").mkdir(parents=True)
    late = "def read():\n    from understudy.privacy.ledger import Ledger\n    return Ledger\n"
    (package / "data" / "files.py").write_text(late)
    (package / "errors.py").write_text("from importlib import import_module as m\n")
    [found] = upward_imports(package)
    assert (found.line, found.importer, found.imported) == (2, "data", "privacy")
    assert "from understudy.privacy.ledger import Ledger" in found.text
