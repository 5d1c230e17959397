"""The hub: share what may be shared, with everybody's budget in view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.hub.client import Client

__all__ = ["Client"]


def __getattr__(name: str) -> Any:
    # The client needs httpx, which the core does without.
    if name == "Client":
        from understudy.hub.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
