"""The command line: ``understudy ...``, one file a command.

Results go to files or to standard output, all else to standard error, so that it pipes. A mistake of the user's ends
in one sentence and exit status 2.
"""

from __future__ import annotations

import sys

from rich.console import Console

from understudy.cli import (  # noqa: F401
    attack,
    audit,
    demo,
    evaluate,
    federate,
    holder,
    ledger,
    plan,
    query,
    sample,
    schema,
    show,
    synthesize,
)
from understudy.cli.root import app
from understudy.cli.talk import print_sentence
from understudy.errors import InputError, UnderstudyError
from understudy.files import holds_password, shown

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; a mistake of the user's ends in one sentence and exit status 2."""
    try:
        _refuse_passwords(sys.argv[1:])
        app(standalone_mode=True)
    except UnderstudyError as error:
        _complain(str(error))
    except (
        OSError
    ) as error:  # whatever the checks did not foresee: a name too long, a disk that went away
        where = f"{shown(error.filename)}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}.")
    except MemoryError:
        _complain(
            "There is not enough memory for this table; use fewer columns or a larger machine."
        )


def _refuse_passwords(words: list[str]) -> None:
    """A password is refused wherever it stands: whoever reads the command line would repeat it otherwise."""
    if any(holds_password(word) for word in words):
        raise InputError(
            "A password does not belong on the command line, where others can read it; set PGPASSWORD or use a "
            "password file."
        )


def _complain(sentence: str) -> None:
    print_sentence(Console(stderr=True, highlight=False), f"understudy: {sentence}")
    sys.exit(2)
