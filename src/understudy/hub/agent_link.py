"""The agent's way to its hub: connections that it opens itself, to one address, and no other."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import httpx

from understudy.errors import InputError
from understudy.hub.foreign.packages import MAX_PACKAGE_BYTES

SECONDS = 30.0
SECONDS_TO_DELIVER = 300.0
MAX_ANSWER_BYTES = 128 << 20
SECONDS_TO_WAIT = 20


class HubAway(InputError):  # noqa: N818 - what happened
    """The hub cannot be reached, or cannot answer now; later it may."""


class HubRefuses(InputError):  # noqa: N818 - what happened
    """The hub answers, and says no."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class HubLink:
    """What an agent asks its hub.

    Parameters
    ----------
    url, token
        Where it is, and how the agent is known there.
    certificate
        A file of certificates that the hub's is checked against, where the system's do not do.
    """

    def __init__(
        self,
        url: str,
        token: str,
        certificate: Path | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        verify: ssl.SSLContext | bool = True
        if certificate is not None:
            verify = ssl.create_default_context(cafile=str(certificate))
        self._client = httpx.Client(
            base_url=f"{url}/api/agent",
            headers={"authorization": f"Bearer {token}"},
            timeout=SECONDS,
            verify=verify,
            follow_redirects=False,
            transport=transport,
        )

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def dataset(self, dataset: str) -> dict[str, Any]:
        """What the hub knows of the data set."""
        return self._document("GET", f"/datasets/{dataset}")

    def claim(self, dataset: str) -> dict[str, Any] | None:
        """The next approved job."""
        answer = self._send("POST", "/claim", json={"dataset": dataset})
        if answer.status_code == 204:
            return None
        return _read_document(answer)

    def list_unfinished(self) -> list[dict[str, Any]]:
        """The jobs that were begun and not ended."""
        found: Any = self._document("GET", "/jobs")
        if not isinstance(found, list) or not all(isinstance(job, dict) for job in found):
            raise HubAway("The hub's answer is not one of ours.")
        return found

    def report(self, job: str, step: str, done: int, steps: int) -> None:
        """Say what a job does."""
        told = {"step": step[:200], "done": max(done, 0), "steps": max(steps, 0)}
        self._send("POST", f"/jobs/{job}/progress", json=told)

    def fail(self, job: str, why: str, *, spent: bool) -> None:
        """End a job without a release."""
        self._send("POST", f"/jobs/{job}/fail", json={"why": why[:500], "spent": spent})

    def deliver(self, job: str, path: Path) -> dict[str, Any]:
        """Hand in the model or the answers of a job."""
        data = path.read_bytes()
        answer = self._send(
            "POST", f"/jobs/{job}/release", content=data, timeout=SECONDS_TO_DELIVER
        )
        return _read_document(answer)

    def algorithm(self, digest: str) -> bytes:
        """The package of a foreign algorithm."""
        data = self._send("GET", f"/algorithms/{digest}").content
        if len(data) > MAX_PACKAGE_BYTES:
            raise HubRefuses("The package of the algorithm is too large.", 413)
        return data

    def join(self, dataset: str) -> None:
        """Agree to hold a part of a federated data set."""
        self._send("POST", f"/datasets/{dataset}/join")

    def next_message(self, dataset: str) -> tuple[dict[str, Any], bytes] | None:
        """The next message of a federation, with what the hub says of its job; waits a while."""
        answer = self._send("GET", f"/relay/{dataset}", params={"wait": SECONDS_TO_WAIT})
        if answer.status_code == 204:
            return None
        told = _read_document(answer)
        try:
            return told, base64.b64decode(told["question"], validate=True)
        except (KeyError, TypeError, ValueError) as error:
            raise HubAway("The hub's answer is not one of ours.") from error

    def answer_message(self, message: str, answer: bytes) -> None:
        """Send back the answer to a message."""
        self._send("POST", f"/relay/{message}/answer", content=answer)

    def _document(self, method: str, path: str) -> dict[str, Any]:
        return _read_document(self._send(method, path))

    def _send(self, method: str, path: str, **content: Any) -> httpx.Response:
        try:
            with self._client.stream(method, path.lstrip("/"), **content) as answer:
                data = bytearray()
                for chunk in answer.iter_bytes():
                    data += chunk
                    if len(data) > MAX_ANSWER_BYTES:
                        raise HubAway("The hub sends an answer without end.")
        except httpx.HTTPError as error:
            raise HubAway(f"The hub cannot be reached ({type(error).__name__}).") from error
        whole = httpx.Response(answer.status_code, content=bytes(data))
        if answer.status_code >= 500 or answer.status_code == 429:
            raise HubAway(f"The hub cannot answer now (status {answer.status_code}).")
        if answer.status_code >= 300:
            raise HubRefuses(_sentence(whole), answer.status_code)
        return whole


def _read_document(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError as error:
        raise HubAway("The hub's answer is not one of ours.") from error


def _sentence(answer: httpx.Response) -> str:
    try:
        said = answer.json()
        text = said.get("problem") or said.get("detail")
    except (ValueError, AttributeError):
        text = None
    if not isinstance(text, str):
        text = f"The hub answers with status {answer.status_code}."
    return "".join(letter for letter in text[:500] if letter.isprintable())
