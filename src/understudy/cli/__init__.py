"""The command line: ``understudy ...``, one file a command.

Results go to files or to standard output, all else to standard error, so that it pipes. A mistake
of the user's ends in one sentence and exit status 2, a signal in one line and the status that
shells expect. Commands are loaded once signals are heeded: what is imported here should be little.
"""

from __future__ import annotations

import gc
import sys

from understudy.cli.stopping import stoppable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["app", "main"]


OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Python's 700 mean 190 searches for garbage while modules are loaded, which make next to none."""


def main() -> None:
    """Run the command line; a mistake of the user's ends in one sentence and exit status 2."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    with stoppable():
        from understudy.cli.guarding import guard_against_crashes

        guard_against_crashes()
        try:
            _run()
        except Exception as error:
            sentence = _sentence_of(error)
            if sentence is None:
                raise
            _complain(sentence)


def _run() -> None:
    from understudy.data.files import holds_password
    from understudy.errors import InputError
    from understudy.machine.resources import prepare_for_little_memory

    # Refused wherever it stands: whoever reads the command line would repeat it otherwise.
    if any(holds_password(word) for word in sys.argv[1:]):
        raise InputError(
            "A password does not belong on the command line, where others can read it; set "
            "PGPASSWORD or use a password file."
        )
    if not {"--help", "-h", "--version"} & set(sys.argv):
        prepare_for_little_memory()
    from understudy.cli.root import app, load_command
    from understudy.cli.talk import prepare_screen

    load_command(sys.argv[1:])
    prepare_screen()
    app(standalone_mode=True)


def _sentence_of(error: Exception) -> str | None:
    """What to tell the person, if it is something they can do something about."""
    from understudy.cli.guarding import OUT_OF_MEMORY
    from understudy.data.files import show_name
    from understudy.errors import UnderstudyError
    from understudy.machine.resources import is_out_of_memory

    if is_out_of_memory(error):
        return OUT_OF_MEMORY
    if isinstance(error, UnderstudyError):
        return " ".join([str(error), *getattr(error, "__notes__", ())])
    if isinstance(error, OSError):  # what no check foresaw: a name too long, a disk that went away
        if error.filename:
            where = f"{show_name(error.filename)}: "
        else:
            where = ""
        return f"{where}{error.strerror or error}."
    return None


def _complain(sentence: str) -> None:
    from rich.console import Console

    from understudy.cli.talk import print_sentence

    print_sentence(Console(stderr=True, highlight=False), f"understudy: {sentence}")
    sys.exit(2)


def __getattr__(name: str) -> Any:
    if name == "app":
        from understudy.cli.commands import app

        return app
    raise AttributeError(f"module 'understudy.cli' has no attribute {name!r}")
