"""Signing in by somebody else's word: OpenID Connect, behind one interface.

The code flow with PKCE. The identity comes from the token endpoint, over TLS that is checked, and
never through the browser; issuer, audience, expiry and nonce are compared as well.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx

from understudy.errors import InputError
from understudy.hub.accounts import ProvidedIdentity
from understudy.hub.errors import Refused, Unavailable

LEEWAY = 60
"""Seconds by which clocks may differ."""

NAMES = ("email", "preferred_username", "name")
"""Claims by which people are called."""

FAILED = "The sign-in could not be completed; start it again."


@dataclass(frozen=True, kw_only=True)
class Flow:
    """A sign-in under way: what the browser's cookie remembers."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def start(cls) -> Flow:
        """New secrets."""
        return cls(
            state=secrets.token_urlsafe(24),
            nonce=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
        )


class IdentityProvider(Protocol):
    """Somebody whose word on who a person is counts."""

    @property
    def label(self) -> str:
        """How people know it."""

    def address(self, flow: Flow, back: str) -> str:
        """Where to send the browser; it comes back to ``back``."""

    def identify(self, flow: Flow, code: str, back: str) -> ProvidedIdentity:
        """Who came back with this code."""


@dataclass(frozen=True, kw_only=True)
class OpenIDProvider:
    """An OpenID Connect provider.

    Parameters
    ----------
    issuer
        Its URL; ``/.well-known/openid-configuration`` stands below it.
    client, secret
        What it calls the hub, and their shared secret.
    label
        How people know it.
    http
        How it is reached; tests take one that answers by itself.
    """

    issuer: str
    client: str
    secret: str = field(repr=False)
    label: str = "your institution"
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=10), repr=False)

    def address(self, flow: Flow, back: str) -> str:
        """Where to send the browser."""
        digest = hashlib.sha256(flow.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": back,
            "scope": "openid profile email",
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{self._settings()['authorization_endpoint']}?{urlencode(query)}"

    def identify(self, flow: Flow, code: str, back: str) -> ProvidedIdentity:
        """Who came back with this code."""
        answer = self._ask(
            "POST",
            str(self._settings()["token_endpoint"]),
            data={
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": back,
                "code_verifier": flow.verifier,
            },
            # RFC 6749, 2.3.1: both are encoded as in a form before they are put together.
            auth=(quote_plus(self.client), quote_plus(self.secret)),
        )
        claims = read_claims(answer.get("id_token"))
        self._check(claims, flow)
        claims = {**self._ask_for_names(claims, answer.get("access_token")), **claims}
        name = str(claims.get("email") or claims.get("preferred_username") or claims["sub"])
        return ProvidedIdentity(
            provider=self.issuer,
            subject=str(claims["sub"]),
            name=_plain_name(name),
            display=str(claims.get("name") or name)[:120],
        )

    def _ask_for_names(self, claims: Mapping[str, Any], access: Any) -> dict[str, Any]:
        """What a person is called, where the ID token does not say so: most providers tell it at
        another address only. Who it is, the ID token alone says.
        """
        address = str(self._settings().get("userinfo_endpoint", ""))
        if any(claims.get(name) for name in NAMES) or not access or not _is_safe(address):
            return {}
        found = self._ask("GET", address, headers={"authorization": f"Bearer {access}"})
        if found.get("sub") != claims["sub"]:
            raise Refused(FAILED)
        return {name: found[name] for name in NAMES if isinstance(found.get(name), str)}

    def _check(self, claims: Mapping[str, Any], flow: Flow) -> None:
        audience = claims.get("aud")
        for_us = audience == self.client or (
            isinstance(audience, list)
            and self.client in audience
            and claims.get("azp") == self.client
        )
        expires = claims.get("exp")
        in_time = isinstance(expires, int | float) and time.time() < expires + LEEWAY
        if not (
            str(claims.get("iss", "")).rstrip("/") == self.issuer.rstrip("/")
            and for_us
            and in_time
            and secrets.compare_digest(str(claims.get("nonce", "")).encode(), flow.nonce.encode())
            and isinstance(claims.get("sub"), str)
            and claims["sub"]
        ):
            raise Refused(FAILED)

    def _settings(self) -> dict[str, Any]:
        found = self._ask("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        for name in ("authorization_endpoint", "token_endpoint"):
            if not _is_safe(str(found.get(name, ""))):
                raise Unavailable(f"{self.label} cannot be used to sign in: no {name} with TLS.")
        return found

    def _ask(self, method: str, address: str, **options: Any) -> dict[str, Any]:
        try:
            answer = self.http.request(method, address, **options)
            document = answer.json()
        except (httpx.HTTPError, ValueError):
            raise Unavailable(f"{self.label} does not answer; try again in a minute.") from None
        if answer.status_code != 200 or not isinstance(document, dict):
            raise Refused(FAILED)
        return document


def read_claims(token: Any) -> dict[str, Any]:
    """The claims of an ID token that came over TLS straight from its issuer."""
    parts = str(token).split(".")
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        claims = json.loads(base64.urlsafe_b64decode(padded))
    except (IndexError, ValueError):
        raise Refused(FAILED) from None
    if len(parts) != 3 or not isinstance(claims, dict):
        raise Refused(FAILED)
    return claims


def read_provider(environment: Mapping[str, str] | None = None) -> OpenIDProvider | None:
    """The provider that the environment names, if it names one."""
    found = environment if environment is not None else os.environ
    names = [f"UNDERSTUDY_HUB_OIDC_{name}" for name in ("ISSUER", "CLIENT", "SECRET")]
    given = [found.get(name, "") for name in names]
    if not any(given):
        return None
    if not all(given):
        raise InputError(f"To sign in by OpenID Connect, set all of {', '.join(names)}.")
    issuer, client, secret = given
    if not _is_safe(issuer):
        raise InputError(f"{names[0]} must begin with https://.")
    label = found.get("UNDERSTUDY_HUB_OIDC_LABEL", "your institution")
    return OpenIDProvider(issuer=issuer, client=client, secret=secret, label=label)


def _is_safe(address: str) -> bool:
    """Whether nobody on the way can read along."""
    return address.startswith("https://") or urlsplit(address).hostname == "127.0.0.1"


def _plain_name(name: str) -> str:
    """A name that an account can have; the identity is the subject, not this."""
    plain = re.sub(r"[^a-z0-9._@+-]", "-", name.lower()).strip("-._")[:50]
    return plain or f"person-{secrets.token_hex(4)}"
