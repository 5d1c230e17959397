"""The state of a training, kept in a file so that a run that ended early can go on.

The price of all steps is booked before the first. So that going on spends nothing twice, the file
says at each moment how many steps *may* have been answered: steps are claimed in the file before
they are asked for, some at a time. A run that goes on begins after the last step that was claimed;
steps that were claimed and lost in a crash are not asked again.

The file holds released values only. It is as good as its one copy: whoever goes on twice from the
same file spends twice, which a ledger file notices, since the release is settled after the first
time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.files import read_json, write_json
from understudy.errors import InputError
from understudy.models.generators import pack_array, unpack_array

VERSION = 1

CLAIMED_TOGETHER = 100
"""Steps that are claimed at a time: a crash loses as many at most."""

State = Mapping[str, NDArray[np.float32]]
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
    """

    path: Path | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    claimed: int = 0
    state: State | None = None
    counts: NDArray[np.float64] | None = None
    deviation: float = 0.0
    release: str | None = None

    @classmethod
    def open(cls, path: str | None, parameters: Mapping[str, Any]) -> Checkpoint:
        """The state that a file holds, or the beginning where there is none; refuses the state of
        another budget or of other parameters.
        """
        if path is None:
            return cls()
        found = cls(path=Path(path), parameters=dict(parameters))
        if not found.path or not found.path.exists():
            return found
        document = read_json(found.path, "checkpoint")
        try:
            if document["understudy_checkpoint"] != VERSION:
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
        return found

    def _read(self, document: Mapping[str, Any]) -> None:
        claimed = document["claimed"]
        if isinstance(claimed, bool) or not isinstance(claimed, int) or claimed < 0:
            raise ValueError("it does not say how many steps were asked for")
        self.claimed, self.release = claimed, document["release"]
        if document["state"] is not None:
            self.state = {name: unpack_array(a) for name, a in document["state"].items()}
        if document["counts"] is not None:
            self.counts = np.array(document["counts"], dtype=np.float64)
            self.deviation = float(document["deviation"])

    def write(self) -> None:
        """Put the state into the file, whole or not at all."""
        if self.path is None:
            return
        state, counts = None, None
        if self.state is not None:
            state = {name: pack_array(array) for name, array in self.state.items()}
        if self.counts is not None:
            counts = self.counts.tolist()
        document = {
            "understudy_checkpoint": VERSION,
            "parameters": json.loads(json.dumps(dict(self.parameters))),
            "release": self.release,
            "claimed": self.claimed,
            "counts": counts,
            "deviation": self.deviation,
            "state": state,
        }
        document["check"] = _check(document)
        write_json(self.path, document, "checkpoint")

    def begin(self, release: str) -> None:
        """Remember the number of the release, before anything is asked; what another release has
        left is not gone on with.
        """
        self.release, self.claimed, self.state, self.counts = release, 0, None, None
        self.write()

    def claim(self, step: int, steps: int, state: Callable[[], State]) -> None:
        """Before a step is asked for: see that the file says so."""
        if self.path is None or (step < self.claimed and self.state is not None):
            return
        self.claimed = min(step + CLAIMED_TOGETHER, steps)
        self.state = state()
        self.write()

    def stop(self, step: int, state: Callable[[], State]) -> None:
        """A run ends early, with this many steps asked for: none of them is lost."""
        if self.path is None:
            return
        self.claimed, self.state = step, state()
        self.write()

    def finish(self) -> None:
        """A run has come to its end: there is nothing to go on with."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _check(document: Mapping[str, Any]) -> str:
    content = {name: value for name, value in document.items() if name != "check"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
