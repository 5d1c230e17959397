"""What takes a while: a release, and the comparison with the real table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from understudy.data.files import write_json
from understudy.data.interview import Unit
from understudy.data.read_options import ReadOptions
from understudy.data.tables import read_table
from understudy.hub.studio.choices import Choices, Places
from understudy.models.model import Model
from understudy.privacy.ledger import LedgerFile
from understudy.release.callbacks import Progress


def release_table(
    places: Places,
    choices: Choices,
    unit: Unit,
    form: Mapping[str, Any],
    *,
    progress: Progress,
    notify: Callable[[str], None],
) -> Model:
    """Release as ``understudy synthesize`` does, and write everything into the studio's folder.

    Parameters
    ----------
    places, choices, unit
        What is read and written, at which price, and who is protected.
    form
        What is public about the table, as it stands in a file.
    progress, notify
        Called on the way, and with sentences for the owner.
    """
    places.folder.mkdir(parents=True, exist_ok=True)
    write_json(places.schema, form, "schema", indent=2)
    ledger = None
    if places.ledger is not None:
        ledger = LedgerFile(places.ledger, accept=choices.accept, notify=notify)
    model = choices.make_method(unit).fit(
        places.table,
        places.schema,
        ledger=ledger,
        notify=notify,
        progress=progress,
        **places.reading,
    )
    # The model first: what the budget was spent on is not lost if the rest cannot be written.
    model.save(places.model)
    write_json(places.account, model.ledger.to_dict(), "ledger", indent=1)
    from understudy.reports.release import write_report

    write_report(model, places.report, title=choices.title, contact=choices.contact)
    wanted = max(choices.rows or model.draws or model.rows or 1, 1)
    written = 0

    def count_rows(count: int) -> None:
        nonlocal written
        written += count
        progress("drawing synthetic rows", written, wanted)

    progress("drawing synthetic rows", 0, wanted)
    model.write(places.rows, choices.rows, None, count_rows)
    return model


def compare_with_real(places: Places, model: Model, progress: Progress) -> str:
    """The owner's report: computed from the real rows, so that it is kept in memory alone."""
    from understudy.evaluation import evaluate
    from understudy.reports.owner import owner_report

    real: Any = Path(places.table)
    if ReadOptions(**places.reading) != ReadOptions():
        real = read_table(places.table, **places.reading)
    found = evaluate(real, places.rows, model.schema, model=model, progress=progress)
    return str(owner_report(found, model=model))
