"""``understudy.ask``: questions to private rows, from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

from understudy.asking.answers import Answers, Expected
from understudy.asking.domains import PublicBounds
from understudy.asking.run import AnswerTerms, Asking, check_questions
from understudy.data.forms import Form, load_facts
from understudy.data.frames import Frame
from understudy.data.read_options import Reading, join_reading
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.privacy.budget import Neighbours
from understudy.privacy.ledger import Ledger, LedgerFile
from understudy.privacy.mechanisms import Noise
from understudy.release.callbacks import Notify, Progress, no_progress, warn_owner
from understudy.release.sources import open_source


class ProtectionOptions(TypedDict, total=False):
    """What answers protect, and what else is public beside the schema; see :func:`ask`."""

    delta: float
    neighbours: Neighbours
    person: str | None
    max_rows_per_person: int
    discovery: float | None


class AskOptions(ProtectionOptions, Reading, total=False):
    """All that :func:`ask` takes beside table, questions, price and schema."""

    bounds: PublicBounds | None
    ledger: LedgerFile | str | Path | None
    noise: Noise | None
    notify: Notify
    progress: Progress
    announce: Callable[[list[Expected]], None]
    engine: str | None


@overload
def ask(
    table: Frame,
    questions: str,
    *,
    epsilon: float,
    schema: Schema | Form | str | Path | None = None,
    **options: Unpack[AskOptions],
) -> Answers: ...


@overload
def ask(
    table: Frame,
    questions: Sequence[str],
    *,
    epsilon: float,
    schema: Schema | Form | str | Path | None = None,
    **options: Unpack[AskOptions],
) -> list[Answers]: ...


def ask(
    table: Frame,
    questions: str | Sequence[str],
    *,
    epsilon: float,
    schema: Schema | Form | str | Path | None = None,
    **options: Unpack[AskOptions],
) -> Answers | list[Answers]:
    """Answer questions from private rows, with differential privacy.

    Parameters
    ----------
    table
        Whatever a method can be fitted to: a frame, a file, or a table elsewhere.
    questions
        One question, or several that share the budget in equal parts, such as ``"count where age >=
        44 and age < 55"``, ``"mean age group by sex"`` or ``"median income from 0 to 100000"``; the
        grammar is that of :meth:`Model.query`.
    epsilon
        The price of all answers together.
    schema
        What is public about the table, with ``null`` for what nobody knows. Without it the question
        tells what a column holds, and sums, means and quantiles need bounds.
    options
        ``delta`` (above 0: Gaussian noise); ``bounds``, public bounds of columns, such as ``{"age":
        (17, 90)}``; ``discovery``, the share of the budget for finding bounds and groups that
        nobody gives; ``neighbours``, ``person``, ``max_rows_per_person``, ``ledger``, ``notify``,
        ``progress``, ``engine`` and ``noise`` as for :meth:`Synthesizer.fit`; ``announce``, called
        with what the answers will be worth right before anything is spent; and what you say about a
        file, as for :func:`read_table`.

    Returns
    -------
    For each question ``value``, ``error`` (one standard deviation of the noise), ``low`` and
    ``high`` (an interval that holds the exact answer with a probability of 95 %), or, for groups,
    ``answers`` with one of each.

    Examples
    --------
    >>> import pandas
    >>> from understudy import ask
    >>> table = pandas.DataFrame({"age": [31, 52, 47], "sex": ["f", "m", "f"]})
    >>> answer = ask(table, "count where age >= 44 and age < 55", epsilon=1.0)
    >>> answer.high - answer.low <= 2 * 3
    True
    """
    if isinstance(schema, str | Path):
        schema = load_facts(schema)
    if schema is not None and not isinstance(schema, Schema | Form):
        raise InputError("A schema is a file or a Schema; leave it out where there is none.")
    if isinstance(questions, str):
        asked = [questions]
    elif isinstance(questions, Sequence):
        asked = list(questions)
    else:
        raise InputError(
            f'Ask a question such as "count where age >= 44", or a list of them, not {questions!r}.'
        )
    _check_options(options)
    protection = _part(options, ProtectionOptions)
    rest: Any = {name: given for name, given in options.items() if name not in protection}
    terms = AnswerTerms(epsilon=epsilon, **protection)
    answers, _ = ask_with(table, asked, terms, schema=schema, **rest)
    if isinstance(questions, str):
        return answers[0]
    return answers


def ask_with(
    table: Frame,
    questions: Sequence[str],
    terms: AnswerTerms,
    *,
    schema: Schema | Form | None = None,
    **options: Unpack[AskOptions],
) -> tuple[list[Answers], Ledger]:
    """Answers, and the ledger of what they cost; see :func:`ask`."""
    check_questions(questions, terms, schema, options.get("bounds"))
    file = options.get("ledger")
    if isinstance(file, str | Path):
        file = LedgerFile(file)
    reading = _part(options, Reading)
    if schema is not None and isinstance(table, str | Path):
        reading = {**join_reading(schema.reading, reading)}
    notify = options.get("notify", warn_owner)
    with open_source(
        table,
        engine=options.get("engine"),
        person=terms.person,
        max_rows_per_person=terms.max_rows_per_person,
        notify=notify,
        **reading,
    ) as source:
        asking = Asking(
            questions=questions,
            terms=terms,
            source=source,
            schema=schema,
            bounds=options.get("bounds"),
            ledger_file=file,
            noise=options.get("noise"),
            notify=notify,
            progress=options.get("progress", no_progress),
            announce=options.get("announce", _say_nothing),
        )
        return asking.run(), asking.ledger


def _check_options(options: AskOptions) -> None:
    known = {
        *AskOptions.__annotations__,
        *ProtectionOptions.__annotations__,
        *Reading.__annotations__,
    }
    for name in options:
        if name not in known:
            raise TypeError(f"ask() got an unexpected keyword argument {name!r}")


def _part(options: AskOptions, kind: Any) -> dict[str, Any]:
    """The options of one kind."""
    return {name: value for name, value in options.items() if name in kind.__annotations__}


def _say_nothing(expected: list[Expected]) -> None:
    """Nobody asked to be told beforehand."""
