"""What a notebook needs is at the top of the package, and nothing there is two things."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import understudy

TYPED = Path(understudy.__file__).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", understudy.__all__)
def test_a_public_name_can_be_imported_and_says_what_it_is(name: str) -> None:
    assert getattr(understudy, name).__doc__


def test_type_checkers_and_python_see_the_same_names() -> None:
    typed = TYPED.partition("if TYPE_CHECKING:")[2].partition("__version__")[0]
    words = set(typed.replace(",", " ").split())
    assert [name for name in understudy.__all__ if name not in words] == []
    assert sorted(understudy.__all__) == sorted(understudy._HOMES)


def test_no_public_name_is_also_a_module() -> None:
    """Importing ``understudy.x.y`` sets ``understudy.x``: a function of that name would be lost."""
    modules = {module.name for module in pkgutil.iter_modules(understudy.__path__)}
    assert modules.isdisjoint(understudy.__all__)


def test_what_is_not_used_is_not_loaded() -> None:
    program = (
        "import sys, understudy\n"
        "understudy.Schema\n"
        "loaded = {name.split('.')[1] for name in sys.modules if name.startswith('understudy.')}\n"
        "print(sorted(loaded & {'evaluation', 'federation', 'audit', 'reports', 'synthesizers'}))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout, ran.stderr) == ("[]\n", "")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'understudy' has no attribute 'magic'"):
        understudy.magic  # noqa: B018
