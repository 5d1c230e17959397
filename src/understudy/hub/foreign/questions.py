"""A curator's questions and answers as messages, for an algorithm that is in another process.

Questions have the wire form that holders are sent; what is read is checked as theirs is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.marginals import Marginal
from understudy.errors import InputError
from understudy.federation.messages import Message
from understudy.federation.questions import MAX_NUMBERS, budget_of
from understudy.privacy.budget import Currency
from understudy.privacy.curator import Measurement
from understudy.privacy.domain import Domain
from understudy.privacy.ledger import Entry
from understudy.privacy.questions import Choose, Draw, Measure, Question
from understudy.privacy.sum_answers import Noisy, Sums
from understudy.privacy.sum_sensitivity import Part
from understudy.privacy.sum_wire import sum_from_wire, sum_to_wire
from understudy.privacy.sums import PARTS, Sum
from understudy.privacy.wire import pack_marginals, read_marginals

MAX_DRAWS = 1 << 24
MAX_CANDIDATES = 1 << 17

Arrays = dict[str, NDArray[Any]]

# --------------------------------------------------------------------------- questions


def write_question(question: Question, bits: str | None) -> Message:
    """A question as it is sent."""
    arrays: Mapping[str, NDArray[Any]]
    match question:
        case Measure():
            kind, (content, arrays) = "measure", question.to_wire()
        case Choose():
            kind, (content, arrays) = "choose", question.to_wire()
        case Sum():
            kind, (content, arrays) = "sum", sum_to_wire(question)
        case Draw():
            kind = "draw"
            names, arrays = pack_marginals([question.axes])
            content = {"names": names, "amount": question.budget.amount, "draws": question.draws}
        case _:
            raise InputError(
                f"A foreign algorithm cannot ask {type(question).__name__}; it has measure, "
                "choose, draw and sum."
            )
    return Message(kind, {**content, "bits": bits}, arrays)


def read_question(asked: Message, domain: Domain, currency: Currency) -> Question:
    """What was asked, as far as it can be answered within bounds; reads nothing private."""
    budget = budget_of(asked, currency)
    match asked.kind:
        case "measure":
            measured = Measure.from_wire(asked, budget)
            domain.check(measured.marginals)
            _check_numbers([domain.shape(axes) for axes in measured.marginals])
            return measured
        case "choose":
            if len(asked.array("lengths", "i8")) > MAX_CANDIDATES:
                raise InputError(f"A choice is among {MAX_CANDIDATES:,} candidates at most.")
            return Choose.from_wire(asked, budget, domain)
        case "sum":
            question = sum_from_wire(asked, budget, domain)
            _check_numbers([(*question.cell_shape(domain), _numbers_per_group(question))])
            return question
        case "draw":
            return Draw(axes=_one_table(asked, domain), draws=_draws(asked), budget=budget)
    raise InputError(f"There is no question {asked.kind!r}.")


def _one_table(asked: Message, domain: Domain) -> Marginal:
    found = read_marginals(asked)
    if len(found) != 1:
        raise InputError("Draws are from one table.")
    domain.check(found)
    _check_numbers([domain.shape(found[0])])
    return found[0]


def _draws(asked: Message) -> int:
    draws: int = asked.get("draws", int)
    if not 1 <= draws <= MAX_DRAWS:
        raise InputError(f"There can be from 1 to {MAX_DRAWS:,} draws, not {draws:,}.")
    return draws


def _numbers_per_group(question: Sum) -> int:
    features = len(question.features)
    if question.directions is not None:
        features = max(features, len(question.directions))
    return 1 + features + features * (features + 1) // 2


def _check_numbers(shapes: list[tuple[int, ...]]) -> None:
    """Answers must fit into memory, and into a message."""
    if sum(math.prod(shape) for shape in shapes) > MAX_NUMBERS:
        raise InputError(f"One question is answered by {MAX_NUMBERS:,} numbers at most.")


# --------------------------------------------------------------------------- answers


def write_answer(answer: Any, entries: list[Entry]) -> Message:
    """An answer as it is sent, with what was written into the ledger for it."""
    content: dict[str, Any] = {
        "paid": [[e.question, e.amount, e.delta, e.mechanism] for e in entries]
    }
    if isinstance(answer, Sums):
        told, arrays = _write_sums(answer)
        return Message("answer", {**content, **told}, arrays)
    if isinstance(answer, list):
        return Message("answer", {**content, **_noise_of(answer)}, _write_tables(answer))
    if isinstance(answer, np.ndarray):
        return Message("answer", content, {"numbers": answer.ravel().astype(np.int64)})
    return Message("answer", {**content, "place": int(answer)})


def read_answer(heard: Message, question: Question, domain: Domain) -> Any:
    """The answer to a question, in the form that a curator gives it."""
    match question:
        case Measure():
            return _read_tables(heard, question, domain)
        case Choose():
            return heard.get("place", int)
        case Draw():
            return heard.array("numbers", "i8").reshape(domain.shape(question.axes)).copy()
        case Sum():
            return _read_sums(heard, question)
    raise InputError("That is not an answer to a question.")


def _noise_of(tables: list[Measurement]) -> dict[str, Any]:
    return {"noise": [[table.distribution, float(table.scale)] for table in tables]}


def _write_tables(tables: list[Measurement]) -> Arrays:
    flat = [table.counts.ravel().astype(np.int64) for table in tables]
    return {"numbers": np.concatenate(flat)}


def _read_tables(heard: Message, question: Measure, domain: Domain) -> list[Measurement]:
    flat, place, tables = heard.array("numbers", "i8"), 0, []
    noise = heard.get("noise", list)
    for axes, (distribution, scale) in zip(question.marginals, noise, strict=True):
        shape = domain.shape(axes)
        size = math.prod(shape)
        counts = flat[place : place + size].reshape(shape).copy()
        tables.append(Measurement(axes, counts, distribution, scale))
        place += size
    return tables


def _write_sums(answer: Sums) -> tuple[dict[str, Any], Arrays]:
    arrays = {"centres": np.ravel(answer.centres).astype(np.float64)}
    shapes: dict[str, list[int]] = {"centres": list(answer.centres.shape)}
    for part in PARTS:
        noisy: Noisy | None = getattr(answer, part)
        for name in ("values", "scale", "deviation"):
            if noisy is not None:
                array = np.asarray(getattr(noisy, name), dtype=np.float64)
                arrays[f"{part} {name}"] = array.ravel()
                shapes[f"{part} {name}"] = list(array.shape)
    return {"shapes": shapes, "distribution": answer.distribution}, arrays


def _read_sums(heard: Message, question: Sum) -> Sums:
    shapes = heard.get("shapes", dict)

    def read(name: str) -> NDArray[np.float64]:
        return heard.array(name, "f8").reshape(shapes[name]).copy()

    def read_part(part: Part) -> Noisy | None:
        if f"{part} values" not in shapes:
            return None
        return Noisy(*(read(f"{part} {name}") for name in ("values", "scale", "deviation")))

    return Sums(
        features=tuple(question.features),
        centres=read("centres"),
        distribution=heard.get("distribution", str),
        counts=read_part("counts"),
        sums=read_part("sums"),
        moments=read_part("moments"),
    )
