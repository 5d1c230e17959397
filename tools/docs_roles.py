"""For the API reference: roles such as ``:class:`Table``` in docstrings become plain code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_ROLE = re.compile(r":(?:\w+:)?(?:class|func|meth|mod|data|attr|exc):`~?([^`]+)`")


class PlainRoles(Extension):
    """Docstrings are written for Python's own help, too, so they name things by roles."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of each object as it is loaded."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
