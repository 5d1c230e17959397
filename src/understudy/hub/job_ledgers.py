"""The ledger file of whoever computes jobs: each job stands on it once, by its id.

The hub keeps its own books, and who holds the rows keeps these: they do not depend on what the hub
says. A job that stands here has been paid for and may have been computed; it is never computed
again, whatever happened to its worker meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.errors import BudgetError, InputError
from understudy.privacy.budget import Neighbours, check_delta, check_epsilon
from understudy.privacy.ledger import Accepted, LedgerFile, UnitName


class JobLedger(LedgerFile):
    """A ledger file that books the releases of one job.

    Parameters
    ----------
    path, accept
        As for :class:`LedgerFile`.
    job
        The id of the job.
    price
        The (epsilon, delta) that was approved: a release that costs more is refused.
    details
        Kept with the release: who asked for it, say.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        job: str,
        price: tuple[float, float],
        details: Mapping[str, str] | None = None,
        accept: Accepted | None = None,
    ) -> None:
        super().__init__(path, accept=accept)
        self.job = job
        self.price = price
        self.details = {**(details or {}), "job": job}

    def _check_release(
        self, document: dict[str, Any], epsilon: float, delta: float, neighbours: str, unit: str
    ) -> None:
        """Refuse also what was not approved, and a job that stands on the books."""
        if epsilon > self.price[0] or delta > self.price[1]:
            raise BudgetError(
                f"The job {self.job} was approved for epsilon {self.price[0]:g} and delta "
                f"{self.price[1]:g}, and asks for {epsilon:g} and {delta:g}; nothing was asked."
            )
        super()._check_release(document, epsilon, delta, neighbours, unit)
        if find_job(document, self.job) is not None:
            raise InputError(f"The job {self.job} stands on the ledger already.")

    def set_allowance(self, epsilon: float, delta: float) -> None:
        """Follow the total that the owner has set; what is spent stays spent."""
        granted = {"epsilon": check_epsilon(epsilon), "delta": check_delta(delta)}
        if self.read()["allowance"] == granted:
            return
        with self._lock():
            document = self.read()
            document["allowance"] = granted
            self._write(document)

    def entry(self) -> Mapping[str, Any] | None:
        """What the ledger says of the job; ``None`` where it was never begun."""
        return find_job(self.read(), self.job)


def find_job(document: Mapping[str, Any], job: str) -> Mapping[str, Any] | None:
    """The release of a job on the books."""
    for release in document["releases"]:
        if release.get("job") == job:
            found: Mapping[str, Any] = release
            return found
    return None


def open_books(
    path: Path, epsilon: float, delta: float, neighbours: Neighbours, unit: UnitName
) -> LedgerFile:
    """The ledger file at a path, started if there is none; one for another guarantee is refused."""
    if not path.exists():
        return LedgerFile.create(path, epsilon, delta, neighbours, unit)
    book = LedgerFile(path)
    kept = book.read()
    if (kept["neighbours"], kept.get("unit", "row")) != (neighbours, unit):
        raise InputError(
            f"The ledger {path} is kept for neighbours {kept['neighbours']}, unit "
            f"{kept.get('unit', 'row')}, and the data set is for {neighbours}, {unit}; the two "
            "cannot be added up."
        )
    return book
