"""Questions about a table without a release of a model: a curator of whatever the user names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Unpack

from understudy.data.frames import Frame
from understudy.data.generalisation import Value
from understudy.data.read_options import Reading
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.privacy.central import CentralCurator
from understudy.privacy.curator import Curator
from understudy.privacy.ledger import Ledger, LedgerFile
from understudy.privacy.mechanisms import Noise
from understudy.release.callbacks import Notify, warn_owner
from understudy.release.reservations import reserve
from understudy.release.sources import Source, open_source

PublicFacts = Mapping[str, Sequence[Value]]
"""For some columns, what is public of them: a pair ``(lower, upper)`` of bounds, or a list of
values.
"""


@contextmanager
def open_curator(
    frame: Frame,
    public: Schema | PublicFacts | str | Path,
    ledger: Ledger,
    *,
    person: str | None = None,
    engine: str | None = None,
    ledger_file: LedgerFile | None = None,
    notify: Notify = warn_owner,
    noise: Noise | None = None,
    **reading: Unpack[Reading],
) -> Iterator[Curator]:
    """A curator of a table, a file, or a table inside an engine; it is closed at the end.

    Parameters
    ----------
    frame, engine, reading
        As for :func:`understudy.engines.sources.open_rows`.
    public
        The schema, or the name of its file; or the public facts of the columns that are asked
        about: no other is read then.
    ledger
        What may be spent, on which neighbours and on how many rows of a person.
    person
        The column that says whose row it is. Of each person at most
        ``ledger.max_rows_per_person`` rows count.
    ledger_file
        The owner's ledger file: all of the ledger's budget is put on its books first, and what was
        asked at the end.
    notify
        Called with sentences for the owner.
    noise
        Where noise comes from; anything but the default is for tests and studies.

    Examples
    --------
    >>> import pandas
    >>> from understudy import Ledger, open_curator
    >>> from understudy.privacy.budget import Budget
    >>> from understudy.privacy.features import Number
    >>> table = pandas.DataFrame({"age": [31, 52]})
    >>> with open_curator(table, {"age": (0, 100)}, Ledger(1.0)) as curator:
    ...     answer = curator.sum([Number("age")], Budget(1.0))
    >>> answer.sums.deviation.round(2)
    array([141.42])
    """
    most = ledger.max_rows_per_person
    with open_source(
        frame,
        engine=engine,
        person=person,
        max_rows_per_person=most,
        notify=notify,
        **reading,
    ) as source:
        schema = _read_schema(public, source)
        if noise is not None and not noise.private and ledger_file is not None:
            raise InputError("Seeded noise protects nobody; it does not belong into a ledger file.")
        fingerprint = None
        if ledger_file is not None:
            fingerprint = source.fingerprint(ledger_file.key())
            ledger_file.check_table(fingerprint)
        rows, notes = source.open(schema)
        for note in notes:
            notify(note)
        with reserve(ledger_file, "questions", ledger, fingerprint, notify):
            yield CentralCurator(rows, ledger, noise)


def _read_schema(public: Schema | PublicFacts | str | Path, source: Source) -> Schema:
    if isinstance(public, str | Path):
        public = Schema.load(public)
    if isinstance(public, Schema):
        return public
    columns = source.columns
    for name in public:
        if name not in columns.names:
            raise InputError(f"{columns.source} has no column {name!r}; check the name.")
    attributes = {name: _entry(name, public.get(name)) for name in columns.names}
    return Schema.from_dict({"attributes": attributes}, "The public facts")


def _entry(name: str, facts: Sequence[Value] | None) -> dict[str, object]:
    """A column of a schema by what is public of it; without anything, it is not read."""
    if facts is None:
        return {"kind": "text"}
    if isinstance(facts, tuple):
        if len(facts) != 2 or not all(isinstance(bound, int | float) for bound in facts):
            raise InputError(f"The bounds of {name!r} must be two numbers, not {facts!r}.")
        return {"kind": "real", "min": facts[0], "max": facts[1], "missing": True}
    if not isinstance(facts, list):
        raise InputError(f"{name!r} needs a pair of bounds or a list of values, not {facts!r}.")
    return {"kind": "categorical", "values": facts, "missing": True}
