"""Beside the rows: answers a foreign algorithm's questions, and takes its model for what it is.

Nothing that the other process says is believed. A question is checked as a holder's is, priced and
debited here before it is answered; the model is read as any file of a stranger is, and gets the
schema, the ledger and the name that stand here. So whatever the algorithm does, it cannot spend
more than its budget nor see a row: the worst is that the budget is spent on a useless model.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from understudy.data.bits import Bits
from understudy.data.files import parse_json
from understudy.data.schema import Schema
from understudy.errors import BudgetError, InputError, UnderstudyError
from understudy.federation.messages import Message
from understudy.hub.foreign.confinement import ResourceLimits, check_confinement
from understudy.hub.foreign.packages import Package
from understudy.hub.foreign.pipe_curator import write_start
from understudy.hub.foreign.pipes import Pipe, PipeBroken
from understudy.hub.foreign.questions import read_question, write_answer
from understudy.models.model import Model
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.ledger import MAX_ENTRIES
from understudy.privacy.questions import Measure, Question
from understudy.release.callbacks import Progress
from understudy.synthesizers import Synthesizer

MAX_PROGRESS = 10_000
"""Messages about progress that are listened to."""

SECONDS_TO_START = 120.0
"""That a new process has, before any foreign code is in it; the machine may be busy."""

_LAYERS = {"seccomp", "landlock"}
_ROOT = Path(__file__).resolve().parents[3]
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from understudy.hub.foreign.child import main; main(sys.argv[2])"
)


class AlgorithmFailed(InputError):  # noqa: N818 - what happened
    """A foreign algorithm did not deliver; what it asked for is paid."""


@dataclass(frozen=True, kw_only=True)
class ForeignMethod(Synthesizer):
    """A method of a package, as a release knows methods.

    Parameters
    ----------
    method, parameters
        The name that the package gives its method, and what it is set to.
    """

    name: ClassVar[str] = "foreign"
    package: ClassVar[Package]
    limits: ClassVar[ResourceLimits] = ResourceLimits()
    rows_on_disk: ClassVar[bool] = True
    for_strangers: ClassVar[bool] = True

    method: str
    parameters_given: Mapping[str, Any] = field(default_factory=dict)

    def check_parameters(self) -> None:
        """Refuse where it could not be run at all."""
        check_confinement()

    def parameters(self) -> dict[str, Any]:
        """What the model says of the method."""
        return {
            "name": self.method,
            **self._list_shared(),
            "refinement": self.refinement,
            **self.parameters_given,
            "package": f"{self.package.name} {self.package.version}",
            "algorithm": self.package.digest,
        }

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Start the algorithm, answer what it asks, and read the model that it returns."""
        start = write_start(
            curator.schema,
            curator.ledger,
            curator.rows,
            self.method,
            {**self._list_shared(), **self.parameters_given},
        )
        with start_algorithm(self.package, self.limits, own_root=self.rows_on_disk) as pipe:
            document = Conversation(curator, pipe, self.limits, progress).run(start)
        return _read_model(document, self.parameters(), curator)

    def _list_shared(self) -> dict[str, Any]:
        """The parameters that all methods have."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "person": self.person,
            "max_rows_per_person": self.max_rows_per_person,
        }


def method_of(
    package: Package, limits: ResourceLimits | None = None, *, rows_on_disk: bool = True
) -> type[ForeignMethod]:
    """The methods of a package as a class of synthesizers.

    Parameters
    ----------
    package, limits
        What is run, and what it may use.
    rows_on_disk
        Whether the rows lie in a file, whose size an algorithm must not see; not where they are
        decrypted into memory.
    """

    class BoxedMethod(ForeignMethod):
        """A method of the package."""

    BoxedMethod.package = package
    BoxedMethod.limits = limits or ResourceLimits()
    BoxedMethod.rows_on_disk = rows_on_disk
    return BoxedMethod


@contextlib.contextmanager
def start_algorithm(
    package: Package, limits: ResourceLimits, *, own_root: bool = True
) -> Iterator[Pipe]:
    """A process that has shut itself in, ready for its start; it is gone at the end.

    Parameters
    ----------
    package, limits
        What is run, and what it may use.
    own_root
        Whether it must be in a file system of its own.
    """
    check_confinement()
    with tempfile.TemporaryDirectory(prefix="understudy-algorithm-") as folder:
        unpacked, empty, root = (Path(folder) / name for name in ("package", "empty", "root"))
        for place in (unpacked, empty, root):
            place.mkdir()
        package.unpack(unpacked)
        empty.chmod(0o500)
        told = {
            "package": str(unpacked),
            "root": str(root),
            "modules": sorted(set(package.modules.values())),
            "limits": asdict(limits),
        }
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", _PROGRAM, str(_ROOT), json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=empty,
            env=_clean_environment(),
            close_fds=True,
            start_new_session=True,
        )
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            pipe = Pipe(
                process.stdout.fileno(),
                process.stdin.fileno(),
                max_bytes=limits.answer_bytes,
                until=time.monotonic() + SECONDS_TO_START,
            )
            _await_ready(pipe, own_root)
            pipe.end_at(time.monotonic() + limits.seconds)
            yield pipe
        finally:
            process.kill()
            for end in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    end and end.close()
            process.wait()


def _clean_environment() -> dict[str, str]:
    """Nothing of ours: no name, no path, no secret."""
    return {
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
    }


def _await_ready(pipe: Pipe, own_root: bool) -> None:
    try:
        ready = pipe.receive()
        layers = set(ready.texts("layers"))
    except PipeBroken as error:
        raise InputError(
            "The process of a foreign algorithm could not be shut in; nothing was run."
        ) from error
    if ready.kind != "ready" or not layers >= _LAYERS:
        raise InputError("The process of a foreign algorithm is not shut in; nothing was run.")
    if own_root and "root" not in layers:
        raise AlgorithmFailed(
            "On this machine a user may not make namespaces, so that a foreign algorithm could see "
            "how large the file of the rows is; nothing was run."
        )


class Conversation:
    """Answers the questions of one algorithm.

    Parameters
    ----------
    curator
        Who has the rows, and the ledger that counts.
    pipe
        The way to the algorithm.
    limits
        How much it may ask.
    progress
        Told what the algorithm says of its progress.
    """

    def __init__(
        self, curator: Curator, pipe: Pipe, limits: ResourceLimits, progress: Progress
    ) -> None:
        self._views: dict[str | None, Curator] = {None: curator}
        self._curator = curator
        self._pipe = pipe
        self._limits = limits
        self._progress = progress

    def run(self, start: Message) -> bytes:
        """From the start to the model, as bytes that nobody has looked at yet."""
        questions, reports = 0, 0
        try:
            self._pipe.send(start)
            while True:
                said = self._pipe.receive()
                if said.kind == "model":
                    return said.array("model", "u1").tobytes()
                if said.kind == "failed":
                    raise AlgorithmFailed(f"The algorithm failed: {_sentence(said)}")
                if said.kind == "progress":
                    reports += 1
                    self._show(said, reports)
                    continue
                questions += 1
                if questions > self._limits.questions:
                    raise AlgorithmFailed("The algorithm asks without end; it was stopped.")
                self._pipe.send(self._answer(said))
        except AlgorithmFailed:
            raise
        except PipeBroken as error:
            raise AlgorithmFailed(
                "The algorithm ended without a model, sent what is no message, or took too long; "
                "it was stopped."
            ) from error

    def _answer(self, asked: Message) -> Message:
        """The answer, or the sentence that says why there is none; a refusal reads no row."""
        ledger = self._curator.ledger
        before = len(ledger.entries)
        try:
            view = self._view(asked)
            question = read_question(asked, view.domain, ledger.currency)
            self._check_entries(question, before)
            answer = view.answer(question)
        except UnderstudyError as refusal:
            if len(ledger.entries) > before:  # it was paid for: then this is no refusal of ours
                raise
            budget = isinstance(refusal, BudgetError)
            return Message("refused", {"sentence": str(refusal), "budget": budget})
        return write_answer(answer, ledger.entries[before:])

    def _check_entries(self, question: Question, before: int) -> None:
        """A ledger must stay short enough to be read again."""
        new = 3
        if isinstance(question, Measure):
            new = len(question.marginals)
        if before + new > MAX_ENTRIES:
            raise InputError(f"A release asks at most {MAX_ENTRIES:,} questions.")

    def _view(self, asked: Message) -> Curator:
        bits = asked.content.get("bits")
        if bits is not None and bits not in ("binary", "gray"):
            raise InputError("Attributes are taken apart as binary or gray.")
        if bits not in self._views:
            apart = Bits(self._curator.schema, bits == "gray")
            apart.check()
            self._views[bits] = self._curator.in_bits(apart)
        return self._views[bits]

    def _show(self, said: Message, reports: int) -> None:
        if reports > MAX_PROGRESS:
            raise AlgorithmFailed("The algorithm reports progress without end; it was stopped.")
        step, done, steps = said.get("step", str), said.get("done", int), said.get("steps", int)
        printable = "".join(letter for letter in step[:100] if letter.isprintable())
        self._progress(f"algorithm: {printable}", done, steps)


def _sentence(said: Message) -> str:
    sentence: str = said.get("sentence", str)
    return "".join(letter for letter in sentence[:600] if letter.isprintable())


def _read_model(data: bytes, method: Mapping[str, Any], curator: Curator) -> Model:
    """The model of a stranger, with our books and our schema in it."""
    try:
        document = parse_json(data, "model of the algorithm")
        if not isinstance(document, dict):
            raise InputError("it is not an object")
        theirs = document.get("schema")
        schema = _own_schema(curator.schema, theirs)
        owned = {"schema": schema, "ledger": curator.ledger.to_dict(), "method": dict(method)}
        model = Model.from_dict({**document, **owned}, "The model of the algorithm")
    except InputError as error:
        raise AlgorithmFailed(f"The algorithm returned no proper model: {error}") from error
    return replace(model, ledger=curator.ledger)


def _own_schema(schema: Schema, theirs: Any) -> dict[str, Any]:
    """Our schema; the shares of missing cells are for the model to say."""
    own = schema.to_dict()
    if isinstance(theirs, Mapping) and "missing_cells" in theirs:
        own["missing_cells"] = theirs["missing_cells"]
    return own
