"""The curator that a foreign algorithm is handed: it has no rows, only a pipe to one that does."""

from __future__ import annotations

from typing import Any

from understudy.data.bits import Bits
from understudy.data.schema import Schema
from understudy.errors import BudgetError, InputError
from understudy.federation.messages import Message
from understudy.hub.foreign.pipes import Pipe
from understudy.hub.foreign.questions import read_answer, write_question
from understudy.privacy.curator import Curator
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.questions import Question


class PipeCurator(Curator):
    """Sends each question through a pipe.

    The ledger here only shows what was paid; the one that counts is on the other side.
    """

    def __init__(
        self, pipe: Pipe, domain: Domain, ledger: Ledger, rows: int | None, bits: str | None = None
    ) -> None:
        super().__init__(domain, ledger)
        self._pipe = pipe
        self._public_rows = rows
        self._bits = bits

    @property
    def rows(self) -> int | None:
        """The number of rows where it is public."""
        return self._public_rows

    def in_bits(self, bits: Bits) -> Curator:
        """The same rows with their attributes taken apart into bits."""
        kind = "gray" if bits.gray else "binary"
        return PipeCurator(self._pipe, Domain(bits.schema), self.ledger, self.rows, kind)

    def _answer(self, question: Question) -> Any:
        """What the curator on the other side answers."""
        self._pipe.send(write_question(question, self._bits))
        heard = self._pipe.receive()
        if heard.kind == "refused":
            kind = BudgetError if heard.content.get("budget") else InputError
            raise kind(heard.get("sentence", str))
        self.ledger.entries.extend(Entry(*line) for line in heard.get("paid", list))
        return read_answer(heard, question, self.domain)


def write_start(
    schema: Schema, ledger: Ledger, rows: int | None, method: str, parameters: dict[str, Any]
) -> Message:
    """What an algorithm is told at its start: all of it is public."""
    return Message(
        "start",
        {
            "schema": schema.to_dict(),
            "ledger": ledger.to_dict(),
            "rows": rows,
            "method": method,
            "parameters": parameters,
        },
    )


def open_pipe_curator(pipe: Pipe, start: Message) -> PipeCurator:
    """The curator that the start of a conversation describes."""
    schema = Schema.from_dict(start.get("schema", dict))
    shown = Ledger.from_dict(start.get("ledger", dict))
    return PipeCurator(pipe, Domain(schema), shown, start.content.get("rows"))
