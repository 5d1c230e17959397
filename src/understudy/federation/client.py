"""The analyst's way to a holder in another process: HTTPS with pinned certificates on both
sides.
"""

from __future__ import annotations

import ssl
import time
from typing import NoReturn

import httpx

from understudy.federation import HolderGone
from understudy.federation.identity import Identity, Party
from understudy.federation.messages import MAX_MESSAGE_BYTES

HOLDER_PATIENCE = 60.0
"""How many seconds a holder may take for one answer."""

RECONNECTION_PAUSES = (0.1, 0.5, 2.0)
"""Seconds before each new attempt when a connection breaks."""


class HttpLink:
    """A holder that listens somewhere.

    A message whose connection broke is sent again, byte for byte: a holder gives its stored answer
    to a repetition of the last question, so asking twice neither costs twice nor tells more. A
    holder that is silent for too long is not asked again.
    """

    def __init__(
        self, holder: Party, identity: Identity, patience: float = HOLDER_PATIENCE
    ) -> None:
        self.name = holder.name
        self._address = holder.address
        self._client = httpx.Client(
            verify=identity.tls([holder.certificate], serving=False),
            timeout=httpx.Timeout(patience, connect=min(patience, 10.0)),
            trust_env=False,  # no proxy, no bundle of certificates that some variable names
        )
        self._patience = patience

    def ask(self, message: bytes) -> bytes:
        """The holder's answer, or :class:`HolderGone` with a sentence that says why there is
        none.
        """
        for pause in (*RECONNECTION_PAUSES, None):
            try:
                return self._send(message)
            except httpx.TimeoutException:
                self._raise_gone(f"did not answer within {self._patience:g} seconds")
            except httpx.TransportError as error:
                self._check_certificates(error)
                if pause is None and isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
                    self._raise_gone(
                        "hangs up without an answer; its owner's log, or list of [[analyst]]s, may "
                        "say why"
                    )
                if pause is None:
                    self._raise_gone(f"cannot be reached at {self._address} ({error})")
            time.sleep(pause)
        raise AssertionError("the last attempt ends above")

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def _send(self, message: bytes) -> bytes:
        with self._client.stream(
            "POST", f"https://{self._address}/ask", content=message
        ) as response:
            answer = bytearray()
            for chunk in response.iter_raw():
                answer += chunk
                if len(answer) > MAX_MESSAGE_BYTES:
                    self._raise_gone("sends an answer without end")
        if response.status_code != 200:
            said = bytes(answer[:300]).decode(errors="replace")
            self._raise_gone(
                f"answered with HTTP status {response.status_code}: {_printable(said)}"
            )
        return bytes(answer)

    def _check_certificates(self, error: Exception) -> None:
        """A wrong certificate does not go away by trying again."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                self._raise_gone(
                    "shows another certificate than the one you pinned; compare fingerprints with "
                    "its owner"
                )
            cause = cause.__cause__ or cause.__context__

    def _raise_gone(self, sentence: str) -> NoReturn:
        raise HolderGone(f"The holder {self.name} {sentence}.")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in text)
