"""Modules that are imported when they are first used: a command waits for nothing that it does not
need.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LateModule:
    """Stands for a module until one of its names is asked for.

    Parameters
    ----------
    name
        The module's name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
