"""What a data set and a user have left: debits and refunds, inside the caller's transaction.

Sums are exact. The journal (``debits``) is only added to; the sums beside the data set and the user
make a check fast, and :func:`check_sums` compares both.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from understudy.errors import BudgetError, InputError
from understudy.hub.amounts import Price
from understudy.hub.database import Transaction
from understudy.hub.errors import NotFound
from understudy.hub.pages import ListPage, PageOf, read_page
from understudy.hub.tables import datasets, debits, user_budgets


def read_left(c: Transaction, dataset: str) -> Price:
    """What may still be spent on a data set."""
    return _subtract_spent(_read_dataset(c, dataset))


def read_left_for(c: Transaction, dataset: str, user: str) -> Price:
    """What a user may still spend on it: her own rest, or the data set's if that is less."""
    row = _read_dataset(c, dataset)
    return _lesser(_subtract_spent(row), _user_left(c, row, user))


@dataclass(frozen=True, kw_only=True)
class UserBudget:
    """What one user may spend on a data set, and has spent.

    Parameters
    ----------
    total
        Her own; none: the same as everybody's.
    left
        What she may still spend of it; the data set may have less.
    """

    user: str
    total: Price | None
    spent: Price
    left: Price


def of_users(c: Transaction, dataset: str, page: PageOf | None = None) -> ListPage[UserBudget]:
    """All who have spent something or have a budget of their own. The caller checks."""
    row = _read_dataset(c, dataset)
    query = sa.select(user_budgets).where(user_budgets.c.dataset == dataset)

    def read(own: sa.RowMapping) -> UserBudget:
        total = None
        if own["total_epsilon"] is not None:
            total = Price(own["total_epsilon"], own["total_delta"] or Fraction(0))
        spent = Price(own["spent_epsilon"], own["spent_delta"])
        rest = (total or _everybodys(row)) - spent
        return UserBudget(user=own["user"], total=total, spent=spent, left=rest)

    return read_page(c, query.order_by(user_budgets.c.user), page or PageOf(), read)


def read_spent_by(c: Transaction, dataset: str, user: str) -> Price:
    """What a user has spent on it."""
    own = c.first(_own(dataset, user))
    return Price() if own is None else Price(own["spent_epsilon"], own["spent_delta"])


def set_user_total(c: Transaction, dataset: str, user: str, total: Price | None) -> None:
    """Give a user a total of her own; ``None``: the one that all users have. The caller checks."""
    _make_own(c, dataset, user)
    values: dict[str, Fraction | None] = {"total_epsilon": None, "total_delta": None}
    if total is not None:
        values = {"total_epsilon": total.epsilon, "total_delta": total.delta}
    c.execute(sa.update(user_budgets).where(_is_own(dataset, user)).values(**values))


def debit(c: Transaction, dataset: str, user: str, request: str, price: Price, why: str) -> None:
    """Take a price off both budgets, or refuse without touching either."""
    if price.epsilon < 0 or price.delta < 0:
        raise InputError("A price cannot be below zero.")
    row = _read_dataset(c, dataset)
    _check_fits(c, row, user, price)
    _book(c, row, user, request, price, why)


def check_fits(c: Transaction, dataset: str, user: str, price: Price) -> None:
    """Refuse a price that a debit would refuse; nothing is written."""
    _check_fits(c, _read_dataset(c, dataset), user, price)


def _check_fits(c: Transaction, row: sa.RowMapping, user: str, price: Price) -> None:
    rest, own_rest = _subtract_spent(row), _user_left(c, row, user)
    if not price.fits(rest):
        raise BudgetError(
            f"This costs {price}, and the data set has {rest} left; ask for less. Nothing was "
            "spent."
        )
    if not price.fits(own_rest):
        raise BudgetError(
            f"This costs {price}, and you have {own_rest} left on this data set; ask for less. "
            "Nothing was spent."
        )


def refund(c: Transaction, dataset: str, user: str, request: str, why: str) -> Price:
    """Give back what a request has cost, once; whoever calls it knows that nothing was asked."""
    rows = c.rows(sa.select(debits.c.epsilon, debits.c.delta).where(debits.c.request == request))
    paid = sum((Price(row["epsilon"], row["delta"]) for row in rows), Price())
    if not paid.is_free:
        _book(c, _read_dataset(c, dataset), user, request, -paid, why)
    return paid


def check_sums(c: Transaction) -> list[str]:
    """Compare the sums with the journal; one sentence for each that is wrong."""
    journal: dict[tuple[str, str], Price] = {}
    for row in c.rows(sa.select(debits)):
        key = row["dataset"], row["user"]
        journal[key] = journal.get(key, Price()) + Price(row["epsilon"], row["delta"])
    findings = []
    for row in c.rows(sa.select(user_budgets)):
        booked = journal.pop((row["dataset"], row["user"]), Price())
        if booked != Price(row["spent_epsilon"], row["spent_delta"]):
            findings.append(f"User {row['user']} on {row['dataset']}: sum and journal differ.")
    findings += [f"User {user} on {dataset} has no sum." for dataset, user in journal]
    return findings + _check_totals(c)


def _check_totals(c: Transaction) -> list[str]:
    sums: dict[str, Price] = {}
    for row in c.rows(sa.select(debits.c.dataset, debits.c.epsilon, debits.c.delta)):
        price = Price(row["epsilon"], row["delta"])
        sums[row["dataset"]] = sums.get(row["dataset"], Price()) + price
    findings = []
    for row in c.rows(sa.select(datasets)):
        spent = Price(row["spent_epsilon"], row["spent_delta"])
        if sums.get(row["id"], Price()) != spent:
            findings.append(f"Data set {row['id']}: sum and journal differ.")
        if not spent.fits(Price(row["total_epsilon"], row["total_delta"])):
            findings.append(f"Data set {row['id']} is overspent.")
    return findings


def _book(
    c: Transaction, row: sa.RowMapping, user: str, request: str, price: Price, why: str
) -> None:
    dataset = row["id"]
    own = _make_own(c, dataset, user)
    c.execute(
        sa.insert(debits).values(
            dataset=dataset,
            user=user,
            request=request,
            epsilon=price.epsilon,
            delta=price.delta,
            why=why,
            at=c.now,
        )
    )
    c.execute(sa.update(datasets).where(datasets.c.id == dataset).values(**_raise(row, price)))
    c.execute(sa.update(user_budgets).where(_is_own(dataset, user)).values(**_raise(own, price)))


def _raise(row: sa.RowMapping, price: Price) -> dict[str, Fraction]:
    spent = Price(row["spent_epsilon"], row["spent_delta"]) + price
    return {"spent_epsilon": spent.epsilon, "spent_delta": spent.delta}


def _read_dataset(c: Transaction, dataset: str) -> sa.RowMapping:
    row = c.first(sa.select(datasets).where(datasets.c.id == dataset))
    if row is None:
        raise NotFound("There is no such data set.")
    return row


def _subtract_spent(row: sa.RowMapping) -> Price:
    total = Price(row["total_epsilon"], row["total_delta"])
    return total - Price(row["spent_epsilon"], row["spent_delta"])


def _user_left(c: Transaction, row: sa.RowMapping, user: str) -> Price:
    own = c.first(_own(row["id"], user))
    total = _everybodys(row)
    if own is None:
        return total
    if own["total_epsilon"] is not None:
        total = Price(own["total_epsilon"], own["total_delta"] or Fraction(0))
    return total - Price(own["spent_epsilon"], own["spent_delta"])


def _everybodys(row: sa.RowMapping) -> Price:
    """What a user without a budget of her own may spend."""
    return Price(
        row["total_epsilon"] if row["user_epsilon"] is None else row["user_epsilon"],
        row["total_delta"] if row["user_delta"] is None else row["user_delta"],
    )


def _lesser(one: Price, other: Price) -> Price:
    return Price(min(one.epsilon, other.epsilon), min(one.delta, other.delta))


def _own(dataset: str, user: str) -> sa.Select[Any]:
    return sa.select(user_budgets).where(_is_own(dataset, user))


def _is_own(dataset: str, user: str) -> sa.ColumnElement[bool]:
    return (user_budgets.c.dataset == dataset) & (user_budgets.c.user == user)


def _make_own(c: Transaction, dataset: str, user: str) -> sa.RowMapping:
    own = c.first(_own(dataset, user))
    if own is None:
        c.execute(sa.insert(user_budgets).values(dataset=dataset, user=user))
        own = c.first(_own(dataset, user))
    assert own is not None
    return own
