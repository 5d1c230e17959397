"""The interview in a terminal: columns on the left, one question at a time on the right."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from rich.markup import escape
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import DataTable, Footer, Input, Static

from understudy.data.files import remove, write_json
from understudy.data.interview import Interview, InterviewQuestion, resume_interview
from understudy.errors import InputError

if TYPE_CHECKING:
    from understudy.cli.public_facts import Wanted
    from understudy.cli.talk import Talk
    from understudy.data.forms import ColumnFacts, Form

MAX_NAME_WIDTH = 24
KNOWN_WIDTH = 40
MAX_SHOWN_OPTIONS = 12
MAX_SHOWN_NAMES = 8


def hold_interview(
    form: Form, declared: Mapping[str, str | None], wanted: Wanted, talk: Talk
) -> tuple[Form, list[str]]:
    """Ask what is open in a form; what it says then, and the options for the next command."""
    if wanted.output == "-":
        raise InputError("An interview is saved as it goes: say where to by -o FILE.")
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise InputError(
            "An interview needs a terminal; give a codebook by --from, or fill in a blank form "
            "(--blank)."
        )
    saved = Path(f"{wanted.output}.interview")
    interview = resume_interview(saved, Interview(form, declared))
    if not InterviewApp(interview, saved, wanted.table or "").run():
        talk.say(f"Saved: {_progress(interview)}. The same command goes on from there ({saved}).")
        raise typer.Exit(1)
    remove(saved)
    unit = interview.unit
    options: list[str] = []
    if unit.person is not None:
        options = ["--person", unit.person, "--max-rows-per-person", str(unit.max_rows_per_person)]
    return interview.form, options


class InterviewApp(App[bool]):
    """Shows an interview, and passes on what is typed."""

    CSS = """
    #columns { width: 4fr; height: 1fr; border: round $primary; }
    #side { width: 5fr; height: 1fr; border: round $primary; padding: 0 1; }
    #progress { color: $text-muted; }
    #about { text-style: bold; color: $accent; margin-top: 1; }
    #question { text-style: bold; margin-top: 1; }
    #options { margin-top: 1; }
    #help { color: $text-muted; margin-top: 1; }
    #answer { margin-top: 1; }
    #complaint { color: $error; }
    """
    TITLE = "understudy schema"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[Any]] = [
        Binding("ctrl+b", "step_back", "back", priority=True),
        Binding("ctrl+s", "skip", "skip", priority=True),
        Binding("ctrl+t", "accept", "take suggestions", priority=True),
        Binding("ctrl+g", "ask_columns", "go to columns", priority=True),
        Binding("ctrl+l", "ask_like", "like another", priority=True),
        Binding("ctrl+q", "leave", "save and leave", priority=True),
        Binding("escape", "answering", "", show=False),
        Binding("space", "mark", "mark a column", show=False),
    ]

    def __init__(self, interview: Interview, saved: Path | None, table: str) -> None:
        super().__init__()
        self.interview = interview
        self.saved = saved
        self.table_name = table
        self.asking_for = "answer"
        """What the line for typing is for: an answer, columns to go to, or a column to copy."""
        self.marked: set[str] = set()
        self._rows: dict[str, tuple[str, ...]] = {}
        self._headings = ["", "column", "known"]
        if any(interview.declared.values()):
            self._headings.insert(2, "type")

    def compose(self) -> ComposeResult:
        """The columns, the question, a line to type on, the keys."""
        with Horizontal():
            yield DataTable(id="columns", cursor_type="row")
            with VerticalScroll(id="side"):
                for part in ("progress", "about", "question", "options", "help"):
                    yield Static(id=part, markup=False)
                yield Input(id="answer", select_on_focus=False)
                yield Static(id="complaint", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Show the first question."""
        grid = self.query_one(DataTable)
        grid.border_title = escape(plain(self.table_name))
        grid.border_subtitle = "Tab: list  Space: mark  Enter: ask"
        longest = max(map(len, self.interview.declared))
        for heading in self._headings:
            width = {"column": min(longest, MAX_NAME_WIDTH), "known": KNOWN_WIDTH}.get(heading)
            grid.add_column(heading, key=heading, width=width)
        self.action_answering()

    # ---- what is shown

    def show(self, complaint: str = "") -> None:
        """Show where the interview is."""
        question = self.interview.question
        if question is None:
            self.exit(True)
            return
        self._show_columns(question)
        self._say("progress", _progress(self.interview))
        self._say("about", _about(question, self.interview))
        self._say("question", question.text)
        self._say("options", _options(question))
        self._say("help", question.help)
        self._say("complaint", complaint)
        line = self.query_one(Input)
        if self.asking_for == "columns":
            line.placeholder = "columns: age, score_* | type:integer | kind:real | open | all"
        elif self.asking_for == "like":
            line.placeholder = "the column that these are like"
        elif question.suggestion:
            line.placeholder = f"Enter for {plain(question.suggestion)}"
        else:
            line.placeholder = "your answer"

    def _say(self, part: str, text: str) -> None:
        place = self.query_one(f"#{part}", Static)
        place.update("\n".join(map(plain, text.split("\n"))))
        place.display = bool(text)

    def _show_columns(self, question: InterviewQuestion) -> None:
        """Bring the columns up to date; only what changed is drawn again."""
        grid = self.query_one(DataTable)
        for name, row in self._states(question).items():
            if name not in self._rows:
                grid.add_row(*map(Text, row), key=name)
            elif row != self._rows[name]:
                for heading, cell in zip(self._headings, row, strict=True):
                    grid.update_cell(name, heading, Text(cell))
            self._rows[name] = row
        if question.columns:
            grid.move_cursor(row=grid.get_row_index(question.columns[0]))

    def _states(self, question: InterviewQuestion) -> dict[str, tuple[str, ...]]:
        interview = self.interview
        marks = dict.fromkeys(interview.open_columns, "○")
        marks |= dict.fromkeys(interview.skipped_columns, "–")
        marks |= dict.fromkeys(self.marked, "+")
        marks |= dict.fromkeys(question.columns, "▸")
        states = {}
        for name, entry in interview.form.entries.items():
            cells = {
                "": marks.get(name, "●"),
                "column": plain(name),
                "type": interview.declared[name] or "",
                "known": plain(summarise(entry)),
            }
            states[name] = tuple(cells[heading] for heading in self._headings)
        return states

    # ---- what is typed

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Pass on what was typed."""
        given, asked = event.value, self.asking_for
        self.asking_for = "answer"
        if asked == "columns":
            self._do(lambda: self.interview.select(given))
        elif asked == "like":
            self._do(lambda: self.interview.same_as(given))
        else:
            self._do(lambda: self.interview.answer(given))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Ask about the marked columns, or about this one."""
        name = str(event.row_key.value)
        names, self.marked = self.marked or {name}, set()
        self._do(lambda: self.interview.select_columns(sorted(names, key=list(self._rows).index)))
        self.action_answering()

    def action_mark(self) -> None:
        """Mark the column under the cursor, or take its mark away."""
        grid = self.query_one(DataTable)
        if not grid.has_focus:
            return
        name = str(grid.coordinate_to_cell_key(grid.cursor_coordinate).row_key.value)
        self.marked ^= {name}
        place = grid.cursor_row
        self.show()
        grid.move_cursor(row=place + 1)

    def action_step_back(self) -> None:
        """Take back the last step."""
        self._do(self.interview.back)

    def action_skip(self) -> None:
        """Leave these columns for later."""
        self._do(self.interview.skip)

    def action_accept(self) -> None:
        """Take all suggestions for these columns."""
        self._do(self.interview.accept)

    def action_ask_columns(self) -> None:
        """Let the next line name the columns to ask about."""
        self._ask_for("columns")

    def action_ask_like(self) -> None:
        """Let the next line name the column that these are like."""
        self._ask_for("like")

    def action_answering(self) -> None:
        """Let the next line be an answer again."""
        self._ask_for("answer")

    def action_leave(self) -> None:
        """Leave; all that was answered is saved."""
        self._save()
        self.exit(False)

    def _ask_for(self, what: str) -> None:
        self.asking_for = what
        line = self.query_one(Input)
        line.value = ""
        line.focus()
        self.show()

    def _do(self, step: Callable[[], None]) -> None:
        complaint = ""
        try:
            step()
        except InputError as error:
            complaint = str(error)
        else:
            self.query_one(Input).value = ""
            self._save()
        self.show(complaint)

    def _save(self) -> None:
        if self.saved is not None:
            write_json(self.saved, self.interview.to_dict(), "saved interview")


# --------------------------------------------------------------------------- words


def plain(text: str) -> str:
    """Text from a file without control characters, which could play tricks with a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)


def summarise(entry: ColumnFacts) -> str:
    """What is known of a column, in a few words."""
    kind = entry.get("kind")
    if kind is None:
        return ""
    parts = [str(kind)]
    if entry.get("min") is not None and entry.get("max") is not None:
        parts.append(f"{entry['min']}..{entry['max']}")
    if entry.get("vocabulary"):
        parts.append(str(entry["vocabulary"]))
    if entry.get("values"):
        values = "|".join(str(value) for value in entry["values"][:6])
        parts.append(f"{values}|..." if len(entry["values"]) > 6 else values)
    if entry.get("missing"):
        parts.append("or empty")
    return " ".join(parts)


def _progress(interview: Interview) -> str:
    columns = len(interview.declared)
    return f"{columns - len(interview.open_columns)} of {columns} columns described"


def _about(question: InterviewQuestion, interview: Interview) -> str:
    """Which columns are asked about, and the types that they declare."""
    names = question.columns
    if not names:
        return "the table"
    shown = ", ".join(names[:MAX_SHOWN_NAMES])
    if len(names) > MAX_SHOWN_NAMES:
        shown += f", ... {names[-1]}"
    if len(names) > 1:
        return f"{len(names)} columns at once: {shown}"
    declared = interview.declared[names[0]]
    if declared:
        return f"{shown} (declared as {declared})"
    return shown


def _options(question: InterviewQuestion) -> str:
    shown = question.options[:MAX_SHOWN_OPTIONS]
    width = max((len(name) for name, _ in shown), default=0)
    lines = [f"{n:>2}  {name:<{width}}  {word}" for n, (name, word) in enumerate(shown, start=1)]
    if len(question.options) > len(shown):
        lines.append("    ... or type the name of any other")
    return "\n".join(lines)
