"""The command ``understudy`` itself: what stands before a command, and how a help page ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import TyperGroup


def examples(*lines: str) -> str:
    """The end of a help page: commands to copy. Paragraphs, since typer may join the lines of
    one.
    """
    from rich.markup import escape

    if len([line for line in lines if not line.startswith("#")]) == 1:
        heading = "Example"
    else:
        heading = "Examples"
    shown = [
        f"[dim]{escape(line)}[/]" if line.startswith("#") else f"[cyan]{escape(line)}[/]"
        for line in lines
    ]
    return "\n\n".join([f"[bold]{heading}[/]", *shown])


_incomplete: dict[str, tuple[Callable[[], Callable[..., None]], str]] = {}


def complete_later(name: str, complete: Callable[[], Callable[..., None]], epilog: str) -> None:
    """Let a command have more options, which are looked up only when it runs or shows its help."""
    _incomplete[name] = complete, epilog


def load_command(words: Sequence[str]) -> None:
    """Let the command that is to run enter itself; all of them where that is not clear.

    Parameters
    ----------
    words
        The command line, without the program.
    """
    module = "commands"
    if words and words[0] in _Commands.ORDER and find_spec(f"understudy.cli.{words[0]}"):
        module = words[0]
    import_module(f"understudy.cli.{module}")


def _join_lines(text: str) -> str:
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


class _Commands(TyperGroup):
    """Commands as a newcomer meets them, not as they were imported."""

    ORDER = (
        *("synthesize", "schema", "sample", "query", "ask", "show", "plan", "ledger"),
        *("learn", "predict", "compress"),
        *("evaluate", "attack", "membership", "audit", "holder", "federate"),
        *("csp", "local", "hub", "studio", "demo"),
    )

    def list_commands(self, ctx: Any) -> list[str]:
        """Those that are named above, in that order, then any others."""
        return sorted(super().list_commands(ctx), key=lambda name: (*self.ORDER, name).index(name))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; its help is broken where the screen ends, not where a line of the
        source does.
        """
        command = super().get_command(ctx, cmd_name)
        if command is not None and command.help:
            command.help = _join_lines(command.help)
        return command

    def get_params(self, ctx: Any) -> list[Any]:
        """All options; those that install completion work, but stay out of the help."""
        options: list[Any] = [*super().get_params(ctx)]
        for option in options:
            if option.name in ("install_completion", "show_completion"):
                option.hidden = True
        return options

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is to run, with all its options."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in _incomplete:
            complete, epilog = _incomplete[name]
            whole = typer.Typer(add_completion=False, **_LOOKS)
            whole.command(name, epilog=epilog)(complete())
            command = typer.main.get_command(whole)
            command.help = _join_lines(command.help or "")
        return name, command, rest


_LOOKS: dict[str, Any] = {
    "pretty_exceptions_enable": False,  # its tracebacks print local variables: private rows
    "rich_markup_mode": "rich",
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


app = typer.Typer(
    name="understudy",
    cls=_Commands,
    help="Turn a table that is too sensitive to share into a synthetic one, with differential "
    "privacy.",
    epilog=examples(
        "understudy demo",
        "understudy synthesize patients.csv --epsilon 1 -o synthetic.csv",
        "understudy COMMAND --help",
    ),
    no_args_is_help=True,
    **_LOOKS,
)


def _version(wanted: bool) -> None:
    if wanted:
        from understudy import __version__

        typer.echo(f"understudy {__version__}")
        raise typer.Exit()


@app.callback()
def _understudy(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar="",
            callback=_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Options that stand before a command."""
