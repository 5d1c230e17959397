"""The words that the hub's parts share: operations, states and modes; and ids."""

from __future__ import annotations

import base64
import secrets
from typing import Literal, get_args

Mode = Literal["agent", "stored", "federated", "encrypted", "survey"]

MODES: tuple[str, ...] = get_args(Mode)
ENDED = ("done", "failed", "interrupted", "cancelled")
"""States of a job that no worker changes any more."""

FEDERATED = "federated"
"""The mode of data sets whose owners' agents compute together."""

ENCRYPTED = "encrypted"
"""The mode of data sets whose owners deliver encrypted uploads and go offline."""

SHARED = (FEDERATED, ENCRYPTED)
"""Modes in which several owners make synthetic tables together, by built-in methods, and nothing
else.
"""

PRICED = ("synthesise", "ask", "learn")
"""Operations that read private rows: each has a price and needs a request."""

FREE = ("download", "query")
"""Operations on what has been released already."""

USES = (*PRICED, *FREE, "survey")
"""What a rule of a role can allow."""

ACCESS = "access"
"""What a person asks for who is in no role yet."""

SEE = "see"
MANAGE = "manage"
CLOSE = "close"

ID_BYTES = 10


def new_id() -> str:
    """A random id of 16 letters and digits; it says nothing about how many there are."""
    return base64.b32encode(secrets.token_bytes(ID_BYTES)).decode().lower()
