"""What is said on standard error, and how tables look on the screen."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console

MAX_OUTSIDE_LINES = 20
"""Of the table of values outside a domain: more would hide what else is said."""


class Talk:
    """What is said on standard error: progress, notes for the owner, a summary."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False)

    def say(self, sentence: str) -> None:
        """A sentence of the summary."""
        if not self.quiet:
            print_sentence(self.console, sentence)

    def note(self, sentence: str) -> None:
        """Something about the private rows, for the owner who sits at this screen."""
        self.say(f"note (for you, not for release): {sentence}")

    def notes(self, sentences: Iterable[str]) -> None:
        """Notes, each by itself; but those on values outside a domain make one table per source,
        the worst first.
        """
        from understudy.release.callbacks import OutsideNote

        by_source: dict[str, list[OutsideNote]] = {}
        for sentence in sentences:
            if isinstance(sentence, OutsideNote):
                by_source.setdefault(sentence.source, []).append(sentence)
            else:
                self.note(sentence)
        for source, notes in by_source.items():
            if len(notes) == 1:
                self.note(notes[0])
            elif not self.quiet:
                self.note(_outside_heading(source, notes))
                for line in _outside_lines([note.outside for note in notes]):
                    self.console.print(printable(line), markup=False, soft_wrap=True)

    @contextmanager
    def working(self, what: str, steps: int | None = None) -> Iterator[Any]:
        """A progress bar with elapsed time, on a terminal; it goes away when done."""
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        silent = self.quiet or not self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=silent) as bar:
            task = bar.add_task(what, total=steps)

            def progress(stage: str, done: int, of: int) -> None:
                if of < 0:
                    bar.update(task, description=stage, advance=done)
                else:
                    bar.update(task, description=stage, completed=done, total=of)

            started = time.monotonic()
            yield progress
        if not silent and time.monotonic() - started > 1:
            self.console.print(f"{what}: {time.monotonic() - started:.1f} s", style="dim")


def _outside_heading(source: str, notes: list[Any]) -> str:
    columns = len({note.outside.column for note in notes})
    where = f"{source}: " if source else ""
    plural = "s hold" if columns != 1 else " holds"
    return f"{where}{columns} column{plural} values outside the domain, most of them first:"


def _outside_lines(outside: list[Any]) -> Iterator[str]:
    """A table, indented, and below it what can be done."""
    rows = [("column", "values", "counted as", "remedy")]
    worst = sorted(outside, key=lambda found: -found.count)
    shown, rest = worst[:MAX_OUTSIDE_LINES], worst[MAX_OUTSIDE_LINES:]
    remedies = list(dict.fromkeys(found.remedy for found in shown))
    for found in shown:
        remedy = chr(ord("a") + remedies.index(found.remedy))
        rows.append((found.column, f"{found.count:,}", found.counted_as, remedy))
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    for name, count, counted_as, remedy in rows:
        yield (
            f"  {name:<{widths[0]}}  {count:>{widths[1]}}  {counted_as:<{widths[2]}}  {remedy}"
        ).rstrip()
    if rest:
        most = rest[0].count
        yield f"  and {len(rest):,} more, of at most {most:,} value{'s' * (most != 1)} each"
    for place, remedy in enumerate(remedies):
        yield f"  {chr(ord('a') + place)}: {remedy}"


def print_sentence(console: Console, sentence: str) -> None:
    """A sentence, wrapped between words on a terminal and left whole in a file."""
    console.print(printable(sentence), markup=False, soft_wrap=not console.is_terminal)


def printable(text: Any) -> str:
    """Text from a file without control characters, which could play tricks with a terminal."""
    shown = "".join(c if c.isprintable() else "�" for c in str(text))
    encoding = sys.stdout.encoding or "utf-8"
    return shown.encode(encoding, _PLAIN).decode(encoding)


def print_json(document: Any) -> None:
    """A JSON document on standard output; what the terminal cannot show is escaped, as JSON does
    it.
    """
    in_ascii = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=in_ascii, allow_nan=False)
    sys.stdout.write(text + "\n")


def safe(text: Any) -> str:
    """Text from a file for a table on the screen: no control characters, and no markup."""
    from rich.markup import escape

    return escape(printable(text))


def grid_of(title: str, *headings: str) -> Any:
    """A table for the screen; columns whose heading starts with # hold numbers."""
    from rich.box import ROUNDED
    from rich.table import Table as Grid

    grid = Grid(title=title, title_justify="left", title_style="bold", box=ROUNDED)
    for heading in headings:
        number = heading.startswith("#")
        grid.add_column(
            heading.lstrip("#"),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    return grid


# --------------------------------------------------------------------------- the screen

_PLAIN = "understudy-plain"
_IN_ASCII = {
    **{"│": "|", "├": "|", "└": "`", "─": "-", "━": "-", "╸": "-", "╺": "-"},
    **{"±": "+-", "…": "...", "–": "-", "—": "-", "∞": "inf", "▸": ">", "→": "->", "�": "?"},
    **{chr(place): "*" for place in range(0x2800, 0x2900)},  # Braille: what turns while one waits
}


def prepare_screen() -> None:
    """Make standard output and error take any text: a terminal without Unicode gets plain ASCII.

    Everything that is printed passes here; files are not concerned.
    """
    # Python takes the C locale for UTF-8; whoever asks for it by LC_ALL means ASCII.
    asks_for_ascii = os.environ.get("LC_ALL") in ("C", "POSIX")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="ascii" if asks_for_ascii else None, errors=_PLAIN)
    warnings.showwarning = _show_warning


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that a terminal does not know: a likeness, or their number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    plain = (_IN_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in unknown)
    return "".join(plain), error.end


codecs.register_error(_PLAIN, _in_ascii)
_show_any_warning = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Our own warnings are sentences; no source line belongs to them."""
    if category.__module__.startswith("understudy."):
        print_sentence(Console(stderr=True, highlight=False), f"understudy: {message}")
    else:
        _show_any_warning(message, category, filename, lineno, file, line)
