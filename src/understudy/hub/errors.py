"""What can go wrong at a hub, beside bad input and an empty budget."""

from __future__ import annotations

from understudy.errors import UnderstudyError


class Refused(UnderstudyError):  # noqa: N818 (what a page says)
    """The policy does not allow it; the message says why."""


class NotFound(UnderstudyError):  # noqa: N818 (what a page says)
    """There is no such thing, or none that this person may know of."""


class Conflict(UnderstudyError):  # noqa: N818 (what a page says)
    """It came too late, or twice with different content: the state does not allow it any more."""


class Unavailable(UnderstudyError):  # noqa: N818 (what a page says)
    """The database does not answer, or the disk is full; the same form may be sent again."""
