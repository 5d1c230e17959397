"""What all studies share: one command, a progress bar, a cache that survives an interruption,
computed conclusions.

A study has parts; a part is a grid of cells, each a few settings (``{"table": "acs", "epsilon":
0.1, "repeat": 2}``) that give a few numbers. Finished cells go into ``cache.jsonl``, a line each; a
stopped study goes on from there. From all cells a part makes ``PART.csv``, ``PART.svg`` and claims,
each with the numbers that decide whether it held.

Noise is seeded by the settings of the cell, so that a study gives the same numbers again; it
therefore protects nobody. ``--real-noise`` takes the noise of a release instead.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from understudy.data.files import write_json, write_text, write_whole
from understudy.errors import UnderstudyError
from understudy.privacy.mechanisms import Noise, SeededNoise, SystemNoise

Settings = dict[str, Any]
"""What tells one cell from another."""

Row = dict[str, Any]
"""The settings of a cell and its numbers: a line of the CSV."""


@dataclass(frozen=True)
class Options:
    """What was asked for on the command line."""

    data: Path
    output: Path
    repeats: int
    quick: bool
    real_noise: bool

    def noise(self, settings: Settings) -> Noise:
        """Where the noise of a cell comes from."""
        return SystemNoise() if self.real_noise else SeededNoise(seed_of(settings))


@dataclass(frozen=True)
class Claim:
    """A sentence that was published or expected, whether it held here, and the numbers that
    say so.
    """

    text: str
    held: bool
    numbers: str


@dataclass(frozen=True)
class Part:
    """One experiment.

    Parameters
    ----------
    name
        Of its files, and after ``--only``.
    title
        Over its claims and figure.
    cells
        The settings of all cells.
    run
        From the settings of a cell to its numbers.
    conclude
        From all rows to claims.
    draw
        From all rows to a matplotlib figure, see :func:`curves`.
    version
        To be raised when ``run`` changes its meaning: cells of another version are run again.
    """

    name: str
    title: str
    cells: Callable[[Options], Iterable[Settings]]
    run: Callable[[Options, Settings], Mapping[str, float]]
    conclude: Callable[[list[Row]], list[Claim]]
    draw: Callable[[list[Row]], Any]
    version: int = 1


@dataclass(frozen=True)
class Study:
    """A published set of experiments, done again: ``Study(...).main()`` is its command."""

    name: str
    title: str
    parts: Sequence[Part]
    repeats: int = 3
    notes: Sequence[str] = field(default=())
    """What a reader of the conclusions should know; stands under them."""

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run what the command line asks for; 0 when all of it was run."""
        chosen, options, unfinished = self._parsed(arguments)
        say = Console(stderr=True)
        cache = Cache(options)
        try:
            for part in chosen:
                if not unfinished:
                    _run(part, options, cache, say)
        except KeyboardInterrupt:
            say.print("Stopped. Finished cells are kept: the same command goes on from here.")
            return 130
        except UnderstudyError as error:
            say.print(f"[red]{error}[/red]")
            return 2
        self._report(options, cache, unfinished)
        return 0

    def _parsed(self, arguments: Sequence[str] | None) -> tuple[list[Part], Options, bool]:
        parser = argparse.ArgumentParser(description=self.title)
        names = [part.name for part in self.parts]
        parser.add_argument(
            "--data",
            type=Path,
            default=Path("../shared/data"),
            help="the folder of the real tables",
        )
        parser.add_argument(
            "--repeats", type=int, help=f"runs of each setting (default {self.repeats}, quick 1)"
        )
        parser.add_argument(
            "--quick",
            action="store_true",
            help="a minute-long version: fewer settings, smaller tables",
        )
        parser.add_argument(
            "--only", nargs="+", choices=names, default=names, metavar="PART", help=", ".join(names)
        )
        parser.add_argument(
            "--output", type=Path, help=f"folder of the results (default study-output/{self.name})"
        )
        parser.add_argument(
            "--real-noise",
            action="store_true",
            help="noise that cannot be repeated, as in a release",
        )
        parser.add_argument(
            "--unfinished",
            action="store_true",
            help="run nothing: report on the settings that were run so far",
        )
        found = parser.parse_args(arguments)
        repeats = found.repeats
        if repeats is None:
            repeats = 1 if found.quick else self.repeats
        if repeats < 1:
            parser.error("--repeats must be at least 1")
        folder = found.output or Path("study-output") / (
            self.name + ("-quick" if found.quick else "")
        )
        options = Options(found.data, folder, repeats, found.quick, found.real_noise)
        chosen = [part for part in self.parts if part.name in found.only]
        return chosen, options, found.unfinished

    def _report(self, options: Options, cache: Cache, unfinished: bool) -> None:
        """Tables, figures and claims of every part whose cells are all there, whichever run made
        them; also of unfinished parts, where that is asked for.
        """
        lines = [f"# {self.title}", "", _kind(options), ""]
        document = {}
        for part in self.parts:
            rows, missing = cache.rows(part), len(cache.missing(part))
            if not rows or (missing and not unfinished):
                continue
            _write_csv(options.output / f"{part.name}.csv", rows)
            _write_figure(options.output / f"{part.name}.svg", part.draw(rows))
            claims = part.conclude(rows)
            document[part.name] = [asdict(claim) for claim in claims]
            lines += [f"## {part.title}", ""]
            if missing:
                lines += [f"{len(rows)} of {len(rows) + missing} settings were run.", ""]
            lines += [
                f"- **{'held' if c.held else 'did not hold'}**: {c.text} ({c.numbers})"
                for c in claims
            ]
            lines.append("")
        lines += [f"{note}\n" for note in self.notes]
        text = "\n".join(lines).rstrip() + "\n"
        write_text(options.output / "conclusions.md", text, "conclusions")
        write_json(options.output / "conclusions.json", document, "conclusions", indent=1)
        print(text)
        print(f"Tables, figures and conclusions are in {options.output}.")


def _kind(options: Options) -> str:
    runs = (
        "One run of each setting"
        if options.repeats == 1
        else f"{options.repeats} runs of each setting"
    )
    quick = ", the quick version: too small to decide anything" if options.quick else ""
    noise = "real noise" if options.real_noise else "seeded noise (repeatable, private to nobody)"
    return f"{runs}{quick}, {noise}."


def _run(part: Part, options: Options, cache: Cache, say: Console) -> None:
    """Run the cells of a part that are not there yet."""
    missing = cache.missing(part)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, TimeRemainingColumn(), console=say, disable=not missing) as bar:
        task = bar.add_task(part.name, total=len(missing))
        for settings in missing:
            bar.update(
                task,
                description=f"{part.name}: {' '.join(str(value) for value in settings.values())}",
            )
            started = time.process_time()  # other work on the machine does not count
            result = {name: float(value) for name, value in part.run(options, settings).items()}
            cache.add(part, settings, result, time.process_time() - started)
            bar.advance(task)


class Cache:
    """Finished cells, a JSON line each; a line that was cut off by a crash is not there."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.path = options.output / "cache.jsonl"
        self.results: dict[str, dict[str, float]] = {}
        options.output.mkdir(parents=True, exist_ok=True)
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        for line in text.splitlines():
            try:
                found = json.loads(line)
                self.results[found["key"]] = found["result"]
            except (json.JSONDecodeError, KeyError, TypeError):
                continue
        if text and not text.endswith("\n"):
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n")

    def add(self, part: Part, settings: Settings, result: dict[str, float], seconds: float) -> None:
        """Keep a finished cell."""
        key = self._key(part, settings)
        self.results[key] = result
        with self.path.open("a", encoding="utf-8") as file:
            file.write(
                json.dumps({"key": key, "result": result, "seconds": round(seconds, 3)}) + "\n"
            )

    def missing(self, part: Part) -> list[Settings]:
        """The cells of a part that are still to be run."""
        return [
            settings
            for settings in part.cells(self.options)
            if self._key(part, settings) not in self.results
        ]

    def rows(self, part: Part) -> list[Row]:
        """Settings and numbers of all cells that were run."""
        return [
            settings | self.results[self._key(part, settings)]
            for settings in part.cells(self.options)
            if self._key(part, settings) in self.results
        ]

    def _key(self, part: Part, settings: Settings) -> str:
        """Everything that the numbers depend on, apart from the code and the data themselves."""
        flags = {"quick": self.options.quick, "real_noise": self.options.real_noise}
        return json.dumps([part.name, part.version, flags, settings], sort_keys=True)


# ---- for the parts


def grid(**values: Iterable[Any]) -> list[Settings]:
    """All combinations, the last name changing fastest."""
    return [
        dict(zip(values, combination, strict=True))
        for combination in itertools.product(*values.values())
    ]


def seed_of(settings: Mapping[str, Any]) -> int:
    """A seed that belongs to these settings and to no others."""
    text = json.dumps(settings, sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def means(rows: Iterable[Row], value: str, *by: str) -> dict[Any, float]:
    """The mean of a column for each value (or tuple of values) of others; rows that lack one are
    left out.
    """
    groups: dict[Any, list[float]] = {}
    for row in rows:
        if value in row and all(name in row for name in by):
            groups.setdefault(
                row[by[0]] if len(by) == 1 else tuple(row[name] for name in by), []
            ).append(row[value])
    return {group: statistics.fmean(found) for group, found in groups.items()}


def where(rows: Iterable[Row], **values: Any) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in values.items())]


def long(rows: Sequence[Row], *measures: str) -> list[Row]:
    """One row for each measure that a row has, as ``measure`` and ``value``."""
    others = [{name: value for name, value in row.items() if name not in measures} for row in rows]
    return [
        rest | {"measure": name, "value": row[name]}
        for row, rest in zip(rows, others, strict=True)
        for name in measures
        if name in row
    ]


def curves(
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    line: str,
    panel: Sequence[str],
    log_x: bool = True,
    wide: int = 4,
) -> Any:
    """A figure with a panel for each combination of some columns, in it a curve of means for each
    value of ``line``.
    """
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys(tuple(row[name] for name in panel) for row in rows))
    lines = list(dict.fromkeys(row[line] for row in rows))
    across = min(wide, max(len(panels), 1))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(3.2 * across, 2.6 * down + 0.6), layout="constrained")
    for place, key in enumerate(panels):
        axes = figure.add_subplot(down, across, place + 1)
        inside = where(rows, **dict(zip(panel, key, strict=True)))
        for name in lines:
            points = sorted(means(where(inside, **{line: name}), y, x).items())
            if points:
                style = f"C{lines.index(name) % 10}"
                marker = "osv^Dx*P<>"[lines.index(name) % 10]
                axes.plot(
                    *zip(*points, strict=True),
                    color=style,
                    marker=marker,
                    markersize=4,
                    label=str(name),
                )
        if log_x:
            axes.set_xscale("log", base=2)
            ticks = sorted({row[x] for row in inside})
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_title(", ".join(str(value) for value in key), fontsize=9)
        axes.set_xlabel(x, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
    handles = {
        label: h
        for a in figure.axes
        for h, label in zip(*a.get_legend_handles_labels(), strict=True)
    }
    if handles:
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=6,
            fontsize=8,
            title=line,
            title_fontsize=8,
        )
    return figure


# ---- files


def _write_csv(path: Path, rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with write_whole(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def _write_figure(path: Path, figure: Any) -> None:
    import matplotlib

    # The same figure gives the same file: no random ids, no date; letters stay letters, which is
    # smaller too.
    with (
        matplotlib.rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}),
        write_whole(path) as beside,
    ):
        figure.savefig(beside, format="svg", metadata={"Date": None})
