"""The option ``--method`` and the options of the methods themselves, as the registry declares them.

A command takes them as ``**options``. They are found when the command runs or shows its own help,
so that all other commands start without loading the methods.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli.root import app, complete_later
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.synthesizers import Synthesizer
    from understudy.synthesizers.parameters import Constraint
    from understudy.synthesizers.registry import CuratorKind, Method

Command = Callable[..., None]


def method_command(
    *, epilog: str, curator: CuratorKind = "central"
) -> Callable[[Command], Command]:
    """Enter a command that takes the options of all methods that a curator can serve."""

    def enter(command: Command) -> Command:
        own = [
            parameter
            for parameter in inspect.signature(command, eval_str=True).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        app.command(epilog=epilog)(_with_parameters(command, own))

        def complete() -> Command:
            from understudy.synthesizers.registry import methods_for

            return _with_parameters(command, [*own, *_method_options(methods_for(curator))])

        complete_later(command.__name__, complete, epilog)
        return command

    return enter


def make_synthesizer(
    options: dict[str, Any], curator: CuratorKind = "central", **shared: Any
) -> Synthesizer:
    """The method that the command line asks for.

    Parameters
    ----------
    options
        What a command got as ``**options``: the method's name and its own options.
    curator
        Who will answer its questions.
    shared
        The parameters that all methods have; a preset may bring its own instead of ``None``.
    """
    from understudy.synthesizers.registry import methods_for

    methods = methods_for(curator)
    given = {
        name.replace("_", "-"): value
        for name, value in options.items()
        if value not in (None, False, [])
    }
    name = given.pop("method", None)
    if name is None:
        method = _infer_method(methods, list(given))
    else:
        method = _find(methods, name)
    for option in given:
        _check_owner(methods, method, option)
    presets = [option for option in given if option in method.presets]
    values = {
        parameter.name: _parse(parameter.option, parameter.constraint, given[parameter.option])
        for parameter in method.parameters
        if parameter.option is not None and parameter.option in given
    }
    set_by_user = {name: value for name, value in shared.items() if value is not None}
    return method.make(*presets[:1], **set_by_user, **values)


def _find(methods: Sequence[Method], name: str) -> Method:
    for method in methods:
        if method.name == name:
            return method
    known = ", ".join(method.name for method in methods)
    raise InputError(f"There is no --method {name!r} for this command; known are {known}.")


def _infer_method(methods: Sequence[Method], options: Sequence[str]) -> Method:
    """The first method that all options go with; the default comes first."""
    for method in methods:
        if all(method in _owners(methods, option) for option in options):
            return method
    return _owners(methods, options[0])[0]


def _owners(methods: Sequence[Method], option: str) -> list[Method]:
    return [
        method
        for method in methods
        if option in method.presets
        or any(parameter.option == option for parameter in method.parameters)
    ]


def _check_owner(methods: Sequence[Method], method: Method, option: str) -> None:
    owners = _owners(methods, option)
    if method not in owners:
        if len(owners) > 1:
            plural = "s"
        else:
            plural = ""
        names = _list_names([owner.name for owner in owners])
        raise InputError(
            f"--{option} goes with the method{plural} {names}, not with {method.name}."
        )


def _parse(option: str, constraint: Constraint, given: Any) -> Any:
    if constraint.repeatable:
        return [_parse_text(option, constraint, text) for text in given]
    value = _parse_text(option, constraint, given)
    if not constraint.allows(value):
        raise InputError(f"--{option} must be {constraint}, not {given!r}.")
    return value


def _parse_text(option: str, constraint: Constraint, text: str) -> Any:
    try:
        return constraint.parse(text)
    except ValueError:
        raise InputError(f"--{option} must be {constraint}, not {text!r}.") from None


# --------------------------------------------------------------------- options


def _method_options(methods: Sequence[Method]) -> Iterator[inspect.Parameter]:
    told = [f"{method.name}: {method.summary}" for method in methods]
    told[0] = told[0].replace(":", ", the default:", 1)
    yield _option("method", str, metavar="METHOD", help=f"{'; '.join(told)}.")
    seen: set[str] = set()
    for method in methods:
        for name, summary in method.presets.items():
            if name not in seen:
                seen.add(name)
                panel = _panel(methods, name)
                yield _option(name, bool, metavar="", help=summary, rich_help_panel=panel)
        for parameter in method.parameters:
            option = parameter.option
            if option is None or option in seen:
                continue
            seen.add(option)
            yield _option(
                option,
                list[str] if parameter.constraint.repeatable else str,
                metavar=parameter.constraint.metavar,
                help=parameter.summary,
                rich_help_panel=_panel(methods, option),
            )


def _option(name: str, kind: Any, **details: Any) -> inspect.Parameter:
    annotation: Any = Annotated[kind | None, typer.Option(f"--{name}", **details)]
    default: bool | None = None
    if kind is bool:
        annotation, default = Annotated[bool, typer.Option(f"--{name}", **details)], False
    return inspect.Parameter(
        name.replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=annotation,
    )


def _panel(methods: Sequence[Method], option: str) -> str:
    return f"Options of {_list_names([owner.name for owner in _owners(methods, option)])}"


def _with_parameters(command: Command, parameters: Sequence[inspect.Parameter]) -> Command:
    """The command as typer sees it: with these parameters."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(**given)

    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
    del run.__wrapped__  # or typer would look at the command behind it
    return run


def _list_names(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
