"""Long lists, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from understudy.hub.database import Transaction

MAX_PAGE_SIZE = 200
ListItem = TypeVar("ListItem")


@dataclass(frozen=True, kw_only=True)
class PageOf:
    """Which page of a list: the first is 1."""

    number: int = 1
    size: int = 50

    def clip(self) -> PageOf:
        """The nearest page that can be."""
        return PageOf(
            number=min(max(self.number, 1), 1_000_000), size=min(max(self.size, 1), MAX_PAGE_SIZE)
        )


@dataclass(frozen=True, kw_only=True)
class ListPage(Generic[ListItem]):
    """A page of a list, and how long the list is."""

    items: tuple[ListItem, ...]
    number: int
    size: int
    total: int

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-self.total // self.size))


def read_page(
    c: Transaction,
    query: sa.Select[Any],
    page: PageOf,
    read: Callable[[sa.RowMapping], ListItem],
    values: Mapping[str, Any] | None = None,
) -> ListPage[ListItem]:
    """The rows of one page, and the count of all, in two statements.

    ``values`` are those of the query's parameters, if it has any.
    """
    page = page.clip()
    counting, paged = _split(query)
    values = values or {}
    total = c.execute(counting, values).scalar()
    limits = {"page_size": page.size, "page_start": (page.number - 1) * page.size}
    rows = c.execute(paged, {**values, **limits}).mappings().all()
    items = tuple(read(row) for row in rows)
    return ListPage(items=items, number=page.number, size=page.size, total=int(total or 0))


@lru_cache(maxsize=16)
def _split(query: sa.Select[Any]) -> tuple[sa.Select[Any], sa.Select[Any]]:
    """The statements for the count and for a page; queries that are made once find theirs again."""
    counting = sa.select(sa.func.count()).select_from(query.order_by(None).subquery())
    paged = query.limit(sa.bindparam("page_size")).offset(sa.bindparam("page_start"))
    return counting, paged
