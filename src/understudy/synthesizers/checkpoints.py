"""The state of a training, kept in a file so that a run that ended early can go on.

The price of all steps is booked before the first. So that going on spends nothing twice, the file
says at each moment how many steps *may* have been answered: steps are claimed in the file before
they are asked for, some at a time. A run that goes on begins after the last step that was claimed;
steps that were claimed and lost in a crash are not asked again.

The file holds released values only. Of two runs that go on from one file at the same time, the one
that claims first goes on, and the other stops before it asks for more.

**Older copies.** Each state has a mark of its own, and the owner's ledger file holds the mark of
the newest. A claim moves it on, so a run that goes on from an older copy is refused before it asks
for anything. The state is written first and the mark moved afterwards: a crash between the two
leaves a state whose claim was not used yet, which may go on (it knows the mark before its own).
Without a ledger file nobody adds up several runs, on copies or not: each keeps its own promise.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.files import read_json, write_json
from understudy.errors import InputError
from understudy.models.generators import pack_array, unpack_array
from understudy.privacy.ledger import Claims

CHECKPOINT_VERSION = 4

CLAIMED_TOGETHER = 100
"""Steps that are claimed at a time: a crash loses as many at most."""

NetworkState = Mapping[str, NDArray[np.float32]]
"""Arrays by name: weights, and what an optimiser remembers of them."""


@dataclass
class Checkpoint:
    """The state of a training; without a path nothing is kept.

    Attributes
    ----------
    claimed
        How many steps may have been asked for.
    state
        Where the networks are; ``None`` at the beginning.
    counts, deviation
        The noisy counts that the release has asked for before training.
    release
        The number of the release in the owner's ledger file, where there is one.
    counting
        Whether the counts may have been asked for.
    mark, mark_before
        Of this state, and what the owner's books said when it was written.
    claims
        The owner's books, where there are any.
    """

    path: Path | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    claimed: int = 0
    state: NetworkState | None = None
    counts: NDArray[np.float64] | None = None
    deviation: float = 0.0
    release: str | None = None
    counting: bool = False
    mark: str | None = None
    mark_before: str | None = None
    claims: Claims | None = None
    _known: str | None = None

    @classmethod
    def open(
        cls, path: str | None, parameters: Mapping[str, Any], claims: Claims | None = None
    ) -> Checkpoint:
        """The state that a file holds, or the beginning where there is none; refuses the state of
        another budget or of other parameters, and an older copy of it.
        """
        if path is None:
            return cls()
        found = cls(path=Path(path), parameters=dict(parameters), claims=claims)
        if not found.path or not found.path.exists():
            return found
        document = read_json(found.path, "checkpoint")
        try:
            if document["understudy_checkpoint"] != CHECKPOINT_VERSION:
                raise ValueError("it is of another version")
            if document["check"] != _check(document):
                raise ValueError("its check sum does not match")
            known = json.loads(json.dumps(found.parameters))
            changed = [name for name in known if document["parameters"].get(name) != known[name]]
            found._read(document)
        except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
            raise InputError(f"The checkpoint {path} cannot be used: {error}.") from error
        if changed:
            raise InputError(
                f"The checkpoint {path} is of a run with another {changed[0]}: what was paid for "
                "is that run. Go on with the same parameters, or name another file."
            )
        if claims is not None:
            found._check_newest(claims.mark())
        return found

    def _read(self, document: Mapping[str, Any]) -> None:
        claimed = document["claimed"]
        if isinstance(claimed, bool) or not isinstance(claimed, int) or claimed < 0:
            raise ValueError("it does not say how many steps were asked for")
        self.claimed, self.release = claimed, document["release"]
        self.counting, self._known = document["counting"] is not False, document["check"]
        self.mark, self.mark_before = document["mark"], document["mark_before"]
        if document["state"] is not None:
            self.state = {name: unpack_array(a) for name, a in document["state"].items()}
        if document["counts"] is not None:
            self.counts = np.array(document["counts"], dtype=np.float64)
            self.deviation = float(document["deviation"])

    def write(self) -> None:
        """Put the state into the file, whole or not at all; refuses where another run has written
        to it since, or where the owner's books know a newer state.
        """
        if self.path is None:
            return
        with _alone(self.path):
            if not self._is_ours():
                raise InputError(
                    f"Another run has gone on from the checkpoint {self.path}: this one stops, or "
                    "steps would be asked twice."
                )
            if self.claims is not None:
                self._check_newest(self.claims.mark())
            self.mark = secrets.token_hex(8)
            document = self._document()
            write_json(self.path, document, "checkpoint")
            self._known = document["check"]
            if self.claims is not None:
                self.claims.move(self.mark_before, self.mark)

    def _check_newest(self, mark: str | None) -> None:
        """Refuse to go on where the books know a newer state; note what they say."""
        if mark not in (self.mark, self.mark_before):
            raise InputError(
                f"The checkpoint {self.path} is an older copy: its release has gone on since, and "
                "steps would be asked twice. Go on from the newest copy, or remove this one and "
                "begin again."
            )
        self.mark_before = mark

    def _is_ours(self) -> bool:
        """Whether the file is as this run has left it."""
        assert self.path is not None
        if not self.path.exists():
            return self._known is None
        return bool(read_json(self.path, "checkpoint").get("check") == self._known)

    def _document(self) -> dict[str, Any]:
        state, counts = None, None
        if self.state is not None:
            state = {name: pack_array(array) for name, array in self.state.items()}
        if self.counts is not None:
            counts = self.counts.tolist()
        document = {
            "understudy_checkpoint": CHECKPOINT_VERSION,
            "parameters": json.loads(json.dumps(dict(self.parameters))),
            "release": self.release,
            "claimed": self.claimed,
            "counting": self.counting,
            "counts": counts,
            "deviation": self.deviation,
            "mark": self.mark,
            "mark_before": self.mark_before,
            "state": state,
        }
        document["check"] = _check(document)
        return document

    def begin(self, release: str, claims: Claims) -> None:
        """Remember the number of the release, before anything is asked; what another release has
        left is not gone on with.
        """
        self.release, self.claimed, self.state, self.counts = release, 0, None, None
        self.counting, self.claims = False, claims
        self.mark = self.mark_before = None
        self.write()

    def claim_counts(self) -> None:
        """Before the counts are asked for: see that the file says so; refuses to ask twice."""
        if self.path is None:
            return
        if self.counting:
            raise InputError(
                f"The run of the checkpoint {self.path} ended while it counted: what it was told "
                "is lost, and there is nothing to go on with. Remove the file and begin again."
            )
        self.counting = True
        self.write()

    def claim(self, step: int, steps: int, state: Callable[[], NetworkState]) -> None:
        """Before a step is asked for: see that the file says so."""
        if self.path is None or (step < self.claimed and self.state is not None):
            return
        self.claimed = min(step + CLAIMED_TOGETHER, steps)
        self.state = state()
        self.write()

    def stop(self, step: int, state: Callable[[], NetworkState]) -> None:
        """A run ends early, with this many steps asked for: none of them is lost."""
        if self.path is None:
            return
        self.claimed, self.state = step, state()
        with contextlib.suppress(InputError):  # another run has gone on: the file is its own
            self.write()

    def finish(self) -> None:
        """A run has come to its end: there is nothing to go on with."""
        if self.path is None:
            return
        with _alone(self.path):
            if self._is_ours():
                self.path.unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other runs from the folder of a checkpoint while it is compared and written."""
    handle = os.open(path.resolve().parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _check(document: Mapping[str, Any]) -> str:
    content = {name: value for name, value in document.items() if name != "check"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
