"""What a hub takes in as the release of a job, after it has looked at it.

Whoever computes hands in one document: a model, or answers. It is read as any file of a stranger
is, and must be what was approved: of the registered schema, by the method that was asked for, with
a ledger within the approved price and of the data set's guarantee. Everything else of a release
(synthetic rows, report, ledger, use) is made here, from that document: no page and no table of a
stranger is handed on.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.data.files import read_json
from understudy.data.schema import Attribute, Category, Quantity, Schema
from understudy.errors import InputError
from understudy.hub import jobs
from understudy.hub.amounts import Price
from understudy.hub.database import Database
from understudy.hub.errors import Conflict, NotFound, Refused, Unavailable
from understudy.hub.operation_runs import (
    ANSWERS_NAME,
    LEDGER_NAME,
    MODEL_NAME,
    REPORT_NAME,
    USE_NAME,
    OperationRun,
    Protected,
    TermsOfUse,
    write_release,
)
from understudy.hub.operations import Ask, Learn, Synthesise, read_operation
from understudy.hub.protection import read_protected
from understudy.hub.records import Dataset, ReleaseRecord, read_dataset, read_job
from understudy.hub.releases import ReleaseSpec, store_file
from understudy.hub.vault import Vault
from understudy.models.model import Model
from understudy.privacy.budget import exact
from understudy.privacy.ledger import Ledger

MAX_UPLOAD_BYTES = 128 << 20
"""Of a document that is handed in."""

MAX_SUMMARY_ANSWERS = 1000

MEDIA = {
    MODEL_NAME: "application/json",
    LEDGER_NAME: "application/json",
    USE_NAME: "application/json",
    ANSWERS_NAME: "application/json",
    REPORT_NAME: "text/html; charset=utf-8",
    "synthetic.csv": "text/csv; charset=utf-8",
    "synthetic.parquet": "application/vnd.apache.parquet",
}


class Forged(InputError):  # noqa: N818 - what was found
    """What was handed in is not what was approved; nothing of it is released."""


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A document that was read and found to be what was approved."""

    ledger: Ledger
    summary: Mapping[str, Any]
    model: Any = None
    answers: Mapping[str, Any] | None = None


def take_in(db: Database, vault: Vault, job: str, worker: str, path: Path) -> ReleaseRecord:
    """Check what a worker hands in, make the release of it, and finish the job.

    What is refused ends the job as failed, with the reason; its price stays.
    """
    with db.reading() as c:
        found = read_job(c, job)
        if found.worker != worker:
            raise NotFound("There is no such job of yours.")
        if found.state not in ("running", "interrupted", "done"):
            raise Conflict(f"The job is {found.state}; nothing of it is released.")
        dataset = read_dataset(c, found.dataset)
    operation = read_operation(found.operation, dict(found.spec))
    try:
        taken = check_document(path, operation, dataset, found.price)
        with write_files(operation, taken, dataset, job) as folder:
            files = [
                store_file(vault, dataset.id, path, MEDIA[path.name])
                for path in sorted(folder.iterdir())
            ]
    except Forged as error:
        why = f"What was handed in was refused: {error}"
        with db.transaction() as c:
            jobs.fail(c, job, worker, why, True)
        raise Refused(why) from error
    spec = ReleaseSpec(
        title=describe_release(operation),
        files=files,
        ledger=taken.ledger.to_dict(),
        summary=taken.summary,
    )
    with db.transaction() as c:
        return jobs.finish(c, job, worker, spec)


def check_document(path: Path, operation: OperationRun, dataset: Dataset, price: Price) -> Taken:
    """Read what was handed in; :class:`Forged` where it is not what was approved."""
    schema, protected = Schema.from_dict(dict(dataset.schema)), find_protected(dataset)
    try:
        if path.stat().st_size > MAX_UPLOAD_BYTES:
            raise InputError(f"it is larger than {MAX_UPLOAD_BYTES >> 20} MB")
        document = read_json(path, "release")
        match operation:
            case Synthesise():
                taken = _read_model(document, operation, schema)
            case Learn():
                taken = _read_learner(document, operation, schema)
            case Ask():
                taken = _read_answers(document, operation)
            case _:
                raise InputError("it is of an operation without a release")
        _check_ledger(taken.ledger, operation, protected, price)
    except InputError as error:
        raise Forged(str(error).replace(str(path), "it")) from error
    return taken


@contextmanager
def write_files(
    operation: OperationRun, taken: Taken, dataset: Dataset, job: str
) -> Iterator[Path]:
    """All files of the release, made from what was taken in, in a folder that is gone at the
    end.
    """
    with tempfile.TemporaryDirectory(prefix="understudy-release-") as name:
        folder = Path(name)
        made = taken.answers if taken.model is None else taken.model
        try:
            write_release(operation, made, folder, use_of(dataset), seed_of(job))
        except Exception as error:
            if isinstance(error, OSError) or isinstance(error.__cause__, OSError):
                raise Unavailable(
                    "The hub cannot write the release now; its operator must make room."
                ) from error
            # A model can be in order and still be none that rows come from: the job must end.
            raise Forged("No rows or report can be made of it.") from error
        yield folder


def seed_of(job: str) -> int:
    """The seed by which the rows of a job are drawn from its model, wherever that is done; the
    noise is in the model already.
    """
    return int.from_bytes(hashlib.sha256(f"rows of {job}".encode()).digest()[:6], "big")


def find_protected(dataset: Dataset) -> Protected:
    """Whom the releases of a data set protect."""
    return read_protected(dataset.neighbours, dataset.unit)


def use_of(dataset: Dataset) -> TermsOfUse:
    """What travels with the releases of a data set."""
    return TermsOfUse(
        title=dataset.name,
        purpose=dataset.purpose,
        conditions=dataset.conditions,
        contact=dataset.contact,
    )


def describe_release(operation: OperationRun) -> str:
    """The title of a release."""
    match operation:
        case Synthesise():
            return f"Synthetic table by {operation.method}"
        case Learn():
            return f"Model by {operation.learner}"
        case Ask():
            return f"Answer to: {operation.questions[0]}"
    return operation.name


# --------------------------------------------------------------------------- documents


def _read_model(document: Any, operation: Synthesise, schema: Schema) -> Taken:
    model = Model.from_dict(document, "The model")
    check_columns(model.schema, schema)
    named = model.method.get("name")
    wanted = operation.method
    if operation.algorithm is None:
        from understudy.synthesizers.registry import find_method

        wanted = find_method(operation.method).kind.name
    if named != wanted or model.method.get("algorithm") != operation.algorithm:
        raise InputError(f"The model was made by {named!r}, and {wanted!r} was asked for.")
    summary = {
        "rows": model.rows,
        "method": wanted,
        "columns": len(schema.names),
        "statement": model.ledger.statement(),
    }
    return Taken(ledger=model.ledger, summary=summary, model=model)


def _read_learner(document: Any, operation: Learn, schema: Schema) -> Taken:
    from understudy.learners.training import TrainedModel

    trained = TrainedModel.from_dict(document)
    check_columns(trained.schema, schema)
    if (trained.name, trained.target) != (operation.learner, operation.target):
        raise InputError("The model is of another learner or target than was asked for.")
    summary = {
        "learner": trained.name,
        "target": trained.target,
        "statement": trained.ledger.statement(),
    }
    return Taken(ledger=trained.ledger, summary=summary, model=trained)


_ANSWER_FIELDS: Mapping[str, tuple[type, ...]] = {
    "question": (str,),
    "kind": (str,),
    "group_by": (list,),
    "answers": (list,),
    "confidence": (float,),
    "epsilon": (int, float),
    "delta": (int, float),
    "mechanism": (str,),
    "note": (str,),
}


def _read_answers(document: Any, operation: Ask) -> Taken:
    if not isinstance(document, Mapping) or document.get("understudy_answers") != 1:
        raise InputError("It does not hold answers.")
    ledger = Ledger.from_dict(document.get("ledger"))
    answers = document.get("answers")
    if not isinstance(answers, list) or len(answers) != len(operation.questions):
        raise InputError("It does not answer all questions, or more than were asked.")
    for answer, question in zip(answers, operation.questions, strict=True):
        _check_answer(answer, question)
    taken = {"understudy_answers": 1, "answers": answers, "ledger": ledger.to_dict()}
    shown = [{**one, "answers": one["answers"][:MAX_SUMMARY_ANSWERS]} for one in answers]
    summary = {"answers": shown, "statement": ledger.statement()}
    return Taken(ledger=ledger, summary=summary, answers=taken)


def _check_answer(answer: Any, question: str) -> None:
    """Plain values in their places, and nothing else."""
    if not isinstance(answer, Mapping) or set(answer) != set(_ANSWER_FIELDS):
        raise InputError("An answer holds other things than answers do.")
    if answer["question"] != question:
        raise InputError("It answers another question than was asked.")
    for name, kinds in _ANSWER_FIELDS.items():
        if not isinstance(answer[name], kinds) or isinstance(answer[name], bool):
            raise InputError(f"The {name} of an answer is of another kind.")
    texts = [answer["kind"], answer["mechanism"], answer["note"], *answer["group_by"]]
    for one in answer["answers"]:
        if not isinstance(one, Mapping) or set(one) != {"group", "value", "error", "low", "high"}:
            raise InputError("An answer holds other things than answers do.")
        texts += one["group"] if isinstance(one["group"], list) else [None]
        numbers = (one["value"], one["error"], one["low"], one["high"])
        if not all(_is_plain_number(number) for number in numbers):
            raise InputError("An answer holds what is no number.")
    if not all(isinstance(text, str) and len(text) <= 10_000 for text in texts):
        raise InputError("An answer holds what is no text.")


def _is_plain_number(value: Any) -> bool:
    """A number, a date in words, or nothing."""
    if value is None or (isinstance(value, str) and len(value) <= 100):
        return True
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


# --------------------------------------------------------------------------- what must hold


def _check_ledger(
    ledger: Ledger, operation: OperationRun, protected: Protected, price: Price
) -> None:
    """The guarantee that was approved, and not a cheaper story about it."""
    if not ledger.private:
        raise InputError("Its noise came from a seed, so that it protects nobody.")
    found = ledger.neighbours, ledger.unit, ledger.max_rows_per_person
    wanted = protected.neighbours, protected.unit, protected.max_rows_per_person
    if found != wanted:
        raise InputError(
            f"Its ledger is for neighbours {found[0]} and unit {found[1]} with {found[2]} rows, "
            f"and the data set's releases are for {wanted[0]} and {wanted[1]} with {wanted[2]}."
        )
    epsilon, delta = operation.price()
    if (ledger.epsilon, ledger.delta) != (epsilon, delta):
        raise InputError(
            f"Its ledger is of epsilon {ledger.epsilon:g} and delta {ledger.delta:g}, and "
            f"epsilon {epsilon:g} and delta {delta:g} were approved."
        )
    promised, loose = ledger.promise()
    if exact(promised) > price.epsilon or exact(loose) > price.delta:
        raise InputError("Its ledger has spent more than was approved.")
    if epsilon and not ledger.entries:
        raise InputError("Its ledger lists no question, and there is no release without one.")


def check_columns(found: Schema, registered: Schema) -> None:
    """Refuse a schema of other columns; what a release learned of the inside of bins may differ."""
    if set(found.names) != set(registered.names):
        raise InputError("Its columns are not those of the registered schema.")
    for attribute in registered:
        if _public_part(found[attribute.name]) != _public_part(attribute):
            raise InputError(
                f"Its column {attribute.name!r} is another one than in the registered schema."
            )


def _public_part(attribute: Attribute) -> tuple[Any, ...]:
    """What of a column cannot be learned from rows."""
    told: tuple[Any, ...] = (attribute.kind, attribute.missing)
    if isinstance(attribute, Quantity):
        return (*told, attribute.edges[0], attribute.edges[-1], attribute.format)
    if isinstance(attribute, Category):
        return (*told, attribute.values, attribute.other)
    return (*told, json.dumps(attribute.to_dict(), sort_keys=True))
