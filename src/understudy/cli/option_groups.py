"""Options that go together: declared once, and one value to the commands that take them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

Command = Callable[..., None]


def take_group(
    name: str, options: Mapping[str, tuple[Any, Any]], collect: Callable[[dict[str, Any]], Any]
) -> Callable[[Command], Command]:
    """Let a command take options in the place of its parameter ``name``, and have them as what
    ``collect`` makes of their values.

    Parameters
    ----------
    name
        The command's parameter.
    options
        For each option, its annotation and its default.
    collect
        Given the options' values by name.
    """

    def decorate(command: Command) -> Command:
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            if parameter.name == name:
                parameters.extend(
                    inspect.Parameter(
                        option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
                    )
                    for option, (kind, default) in options.items()
                )
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                parameters.append(parameter)
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        @functools.wraps(command)
        def run(**given: Any) -> None:
            value = collect({option: given.pop(option) for option in options})
            command(**given, **{name: value})

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del run.__wrapped__  # or typer would look at the command behind it
        return run

    return decorate
