"""What the pages and the API of one hub process work with."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from understudy.hub.database import Database
from understudy.hub.opening import Hub
from understudy.hub.passwords import Passwords
from understudy.hub.vault import Vault

if TYPE_CHECKING:
    from understudy.hub.oidc import IdentityProvider


@dataclass(frozen=True, kw_only=True)
class Site:
    """A hub that is open, and how people reach it.

    Parameters
    ----------
    opened
        The hub: database, vault and keys.
    address
        How people reach it, such as ``https://hub.example.org``; with ``https``, cookies travel
        over nothing else.
    passwords
        How passwords are checked.
    provider
        Who else vouches for people, if anybody.
    """

    opened: Hub
    address: str = "http://127.0.0.1:8000"
    passwords: Passwords = field(default_factory=Passwords)
    provider: IdentityProvider | None = None

    @property
    def db(self) -> Database:
        """Its database."""
        return self.opened.db

    @property
    def vault(self) -> Vault:
        """Where released files, and rows in stored mode, are kept encrypted."""
        return self.opened.vault

    @property
    def https(self) -> bool:
        """Whether people reach it over TLS alone."""
        return self.address.startswith("https://")

    @property
    def session_cookie(self) -> str:
        """The name of the cookie; with TLS a browser binds it to this very host."""
        if self.https:
            return "__Host-session"
        return "session"

    def sign(self, purpose: str, text: str) -> str:
        """A code that only this hub can make."""
        message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self.opened.keys.cookies, message, hashlib.sha256).hexdigest()

    def is_signed(self, purpose: str, text: str, code: str) -> bool:
        """Whether the code is this hub's, for this purpose and text."""
        expected = self.sign(purpose, text)
        return hmac.compare_digest(expected.encode(), code.encode("utf-8", "surrogatepass"))
