"""Writes what the docs repeat from the code: ``python tools/docs_tables.py``.

That is what is said of every method, from the registry, and the example of a method.

Each text stands between two comments in a page, so that the rest of the page stays as it is.
``--check`` changes nothing and ends with status 1 if a page is not current.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import understudy
from understudy.synthesizers.registry import DEFAULT, Method, methods

ROOT = Path(__file__).resolve().parent.parent
START = "<!-- {name}: written by tools/docs_tables.py -->"
END = "<!-- end of {name} -->"


def own_methods() -> list[Method]:
    """The methods of this package; those of other packages have docs of their own."""
    return [one for one in methods().values() if one.kind.__module__.startswith("understudy.")]


def methods_table() -> str:
    """What each method keeps and costs."""
    rows = ["| Method | What it keeps | What it costs |", "|---|---|---|"]
    for method in own_methods():
        note = " (default)" if method.name == DEFAULT else ""
        rows.append(f"| `{method.name}`{note} | {method.summary} | {method.cost} |")
    return "\n".join(rows)


def curators_table() -> str:
    """Where each method runs, and which options it has."""
    rows = ["| Method | In Python | Many holders | Options |", "|---|---|---|---|"]
    for method in own_methods():
        federated = "yes" if "federated" in method.curators else "no"
        options = [*method.presets, *(one.option for one in method.parameters if one.option)]
        listed = ", ".join(f"`--{option}`" for option in options)
        rows.append(f"| `{method.name}` | `{_python(method)}` | {federated} | {listed} |")
    return "\n".join(rows)


def _python(method: Method) -> str:
    given = dict(method.defaults)
    needs_epsilon = "epsilon" not in vars(
        method.kind
    )  # a class that sets it has a default of its own
    if needs_epsilon:
        given = {"epsilon": 1.0, **given}
    listed = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"{method.kind.__name__}({listed})"


def api_of_methods() -> str:
    """A section of the API reference for each class."""
    sections = [_section(method) for method in own_methods() if not method.defaults]
    return "\n\n".join(sections)


def _section(method: Method) -> str:
    name = method.kind.__name__
    path = f"understudy.{name}"
    if name not in understudy.__all__:
        path = f"{method.kind.__module__}.{name}"
    # How a method learns is the same call for all; only other constructors are worth a heading.
    shown = f"[{', '.join(method.presets)}]" if method.presets else "false"
    return "\n".join(
        [f"::: {path}", "    options:", f"      members: {shown}", *_parameters(method)]
    )


def _parameters(method: Method) -> Iterator[str]:
    if not method.parameters:
        return
    yield "\n| Parameter | Default | Must be | Option |"
    yield "|---|---|---|---|"
    for one in method.parameters:
        option = "" if one.option is None else f"`--{one.option}`"
        yield f"| `{one.name}` | `{one.default!r}` | {one.constraint} | {option} |"


def example_method() -> str:
    """The method of the example plugin, as it stands there."""
    source = ROOT / "examples" / "plugin" / "src" / "understudy_chain" / "__init__.py"
    return f"```python\n{source.read_text(encoding='utf-8')}```"


TEXTS: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"methods": methods_table},
    "CONTRIBUTING.md": {"example": example_method},
    "docs/methods.md": {"methods": methods_table, "curators": curators_table},
    "docs/api/methods.md": {"api": api_of_methods},
}
"""The pages, and what is written into each between the comments of that name."""


def current(page: str, text: str) -> str:
    """The text of a page with everything in it as the code has it now."""
    for name, write in TEXTS[page].items():
        start, end = START.format(name=name), END.format(name=name)
        pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"{page} has no place for {name}; add {start} and {end}.")
        written = f"{start}\n\n{write()}\n\n{end}"
        text = pattern.sub(lambda _, written=written: written, text)  # type: ignore[misc]
    return text


def outdated() -> dict[Path, str]:
    """The pages that are not current, and what they should hold."""
    found = {}
    for page in TEXTS:
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        wanted = current(page, text)
        if wanted != text:
            found[path] = wanted
    return found


def main() -> None:
    """Write the pages, or say which are not current."""
    pages = outdated()
    if "--check" in sys.argv[1:]:
        for path in pages:
            print(f"{path.relative_to(ROOT)} is not current; run python tools/docs_tables.py")
        sys.exit(bool(pages))
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
