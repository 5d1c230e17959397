"""The hub from Python: ask, wait, and get the release.

Examples
--------
>>> hub = Client("https://hub.example.org", token="ush_...")              # doctest: +SKIP
>>> found = hub.datasets("visits")[0]                                     # doctest: +SKIP
>>> asked = hub.synthesise(found["id"], epsilon=1.0, reason="A course")   # doctest: +SKIP
>>> hub.wait(asked["id"])                                                 # doctest: +SKIP
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from understudy.errors import BudgetError, InputError
from understudy.hub.errors import Conflict, NotFound, Refused, Unavailable

_KINDS: Mapping[Any, type[Exception]] = {
    "token": Refused,
    "refused": Refused,
    "not found": NotFound,
    "conflict": Conflict,
    "budget": BudgetError,
    "unavailable": Unavailable,
}
ENDED = ("done", "failed", "interrupted", "cancelled")


class Client:
    """A connection to a hub, with somebody's API token.

    Parameters
    ----------
    address
        Where the hub is; without TLS only on this machine.
    token
        An API token, from the page of the account; by default that of the environment variable
        ``UNDERSTUDY_HUB_TOKEN``.
    http
        How the hub is reached; tests take one that needs no network.
    """

    def __init__(
        self, address: str, token: str | None = None, *, http: httpx.Client | None = None
    ) -> None:
        parts = urlsplit(address)
        local = parts.hostname in ("127.0.0.1", "localhost", "::1")
        if parts.scheme != "https" and not (parts.scheme == "http" and local):
            raise InputError("The address of a hub begins with https://; tokens need TLS.")
        token = token or os.environ.get("UNDERSTUDY_HUB_TOKEN")
        if not token:
            raise InputError("A token is missing; make one on the page of your account.")
        self._http = http or httpx.Client(timeout=60)
        self._base = f"{address.rstrip('/')}/api/v1"
        self._headers = {"authorization": f"Bearer {token}"}

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    # ---- data sets

    def datasets(self, search: str = "") -> list[dict[str, Any]]:
        """The data sets of the catalogue that hold these words."""
        return list(self._pages("/datasets", q=search))

    def dataset(self, dataset: str) -> dict[str, Any]:
        """A data set, its schema, and what is left of its budget."""
        return self._get(f"/datasets/{_part(dataset)}")

    def register(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Register a data set of one's own: name, schema, purpose, epsilon, roles, ..."""
        return self._post("/datasets", document)

    def store_rows(self, dataset: str, path: str | Path) -> dict[str, Any]:
        """Send the rows of a data set of one's own whose mode is stored; the hub encrypts them as
        they come in.
        """
        with Path(path).open("rb") as file:
            found: dict[str, Any] = self._send(
                "PUT", f"/datasets/{_part(dataset)}/rows", content=file, kind="text/csv"
            )
        return found

    def set_plan(
        self, dataset: str, plan: Mapping[str, Any], owners: Mapping[str, str], service: str
    ) -> dict[str, Any]:
        """Give a data set of encrypted uploads its plan: the document, the owners' certificates
        (PEM, by name), and what the hub's operator calls the crypto service.
        """
        document = {"plan": dict(plan), "owners": dict(owners), "service": service}
        found: dict[str, Any] = self._send("PUT", f"/datasets/{_part(dataset)}/plan", json=document)
        return found

    def plan(self, dataset: str) -> dict[str, Any]:
        """The plan of a data set of encrypted uploads, and who has delivered."""
        return self._get(f"/datasets/{_part(dataset)}/plan")

    def deliver(self, dataset: str, path: str | Path) -> dict[str, Any]:
        """Deliver an upload that ``understudy csp encrypt`` made; twice is once."""
        with Path(path).open("rb") as file:
            found: dict[str, Any] = self._send(
                "POST", f"/datasets/{_part(dataset)}/uploads", content=file, kind="application/json"
            )
        return found

    def close_dataset(self, dataset: str) -> dict[str, Any]:
        """Close a data set of one's own, at once."""
        return self._post(f"/datasets/{_part(dataset)}/close")

    # ---- asking

    def preview(self, dataset: str, operation: str, **spec: Any) -> dict[str, Any]:
        """What an operation would cost and be worth; nothing is spent."""
        document = {"operation": operation, "spec": spec}
        return self._post(f"/datasets/{_part(dataset)}/preview", document)

    def request(
        self, dataset: str, operation: str, reason: str, key: str | None = None, **spec: Any
    ) -> dict[str, Any]:
        """Ask; the same key is the same request, so that sending twice spends once."""
        document = {
            "operation": operation,
            "spec": spec,
            "reason": reason,
            "key": key or secrets.token_urlsafe(16),
        }
        return self._post(f"/datasets/{_part(dataset)}/requests", document)

    def ask_access(self, dataset: str, reason: str) -> dict[str, Any]:
        """Ask the owner for access."""
        return self.request(dataset, "access", reason)

    def synthesise(
        self, dataset: str, *, epsilon: float, reason: str, **spec: Any
    ) -> dict[str, Any]:
        """Ask for a synthetic table."""
        return self.request(dataset, "synthesise", reason, epsilon=epsilon, **spec)

    def ask(
        self, dataset: str, questions: Sequence[str], *, epsilon: float, reason: str, **spec: Any
    ) -> dict[str, Any]:
        """Ask for numbers."""
        return self.request(
            dataset, "ask", reason, epsilon=epsilon, questions=list(questions), **spec
        )

    def requests(self) -> list[dict[str, Any]]:
        """One's own requests, newest first."""
        return list(self._pages("/requests"))

    def status(self, request: str) -> dict[str, Any]:
        """A request, its job and its release."""
        return self._get(f"/requests/{_part(request)}")

    def wait(self, request: str, seconds: float = 600, every: float = 1.0) -> dict[str, Any]:
        """Wait until a request has ended, and give its release.

        Raises
        ------
        Refused
            If the owner refused it.
        Conflict
            If its job ended without a release.
        Unavailable
            If it takes longer than ``seconds``.
        """
        until = time.monotonic() + seconds
        while True:
            found = self.status(request)
            if found["state"] in ("refused", "withdrawn"):
                raise Refused(f"The request was {found['state']}: {found['decision_reason']}")
            job = found["job"]
            if job is not None and job["state"] in ENDED:
                break
            if time.monotonic() > until:
                raise Unavailable("The request has not ended yet; look again later.")
            time.sleep(every)
        if found["release"] is None:
            raise Conflict(f"The job ended without a release ({job['state']}): {job['why']}")
        return self.release(found["release"])

    # ---- surveys

    def make_survey(
        self,
        title: str,
        items: str | Mapping[str, Any],
        *,
        epsilons: Sequence[float],
        persons: int,
        key: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Make a survey, as a draft: items are lines such as ``smoker = yes|no``, or a schema."""
        document = {
            "title": title,
            "items": items,
            "epsilons": list(epsilons),
            "persons": persons,
            "key": key or secrets.token_urlsafe(16),
            **more,
        }
        return self._post("/surveys", document)

    def surveys(self) -> list[dict[str, Any]]:
        """One's own surveys, newest first."""
        return list(self._pages("/surveys"))

    def survey(self, survey: str) -> dict[str, Any]:
        """A survey: its reports in whole batches, the error to expect, the job of its table."""
        return self._get(f"/surveys/{_part(survey)}")

    def open_survey(self, survey: str) -> dict[str, Any]:
        """Let persons answer."""
        return self._post(f"/surveys/{_part(survey)}/open")

    def close_survey(self, survey: str) -> dict[str, Any]:
        """Take no more reports."""
        return self._post(f"/surveys/{_part(survey)}/close")

    def open_wave(self, survey: str, persons: int) -> dict[str, Any]:
        """Ask other persons what the reports so far leave most open."""
        return self._post(f"/surveys/{_part(survey)}/waves", {"persons": persons})

    def invite(self, survey: str, persons: int) -> list[str]:
        """Links for as many persons; the hub does not show them again."""
        found = self._post(f"/surveys/{_part(survey)}/invitations", {"persons": persons})
        return list(found["links"])

    def survey_plan(self, survey: str) -> dict[str, Any]:
        """Who is asked what; ``understudy.local.plans.CollectionPlan.from_dict`` reads it."""
        return self._get(f"/surveys/{_part(survey)}/plan")

    def send_reports(self, survey: str, lines: str | bytes) -> dict[str, Any]:
        """Send reports that were randomised where the persons are, one in each line."""
        address = f"/surveys/{_part(survey)}/reports"
        found: dict[str, Any] = self._send("POST", address, content=lines, kind="text/plain")
        return found

    def estimates(self, survey: str) -> dict[str, Any]:
        """The share of persons with each answer, with its standard deviation."""
        return self._get(f"/surveys/{_part(survey)}/estimates")

    def make_table(self, survey: str, seconds: float = 600) -> dict[str, Any]:
        """Let a worker make a synthetic table of a closed survey, wait for it, and give its
        release.
        """
        job = self._post(f"/surveys/{_part(survey)}/table")
        return self.wait(job["request"], seconds)

    # ---- deciding

    def inbox(self) -> list[dict[str, Any]]:
        """The requests that wait for one's own decision."""
        return list(self._pages("/inbox"))

    def decide(
        self, request: str, approve: bool, reason: str = "", role: str | None = None
    ) -> dict[str, Any]:
        """Approve or refuse a request for a data set of one's own."""
        document = {"approve": approve, "reason": reason, "role": role}
        return self._post(f"/requests/{_part(request)}/decision", document)

    # ---- releases

    def releases(self, dataset: str) -> list[dict[str, Any]]:
        """The releases of a data set that one may use."""
        return list(self._pages(f"/datasets/{_part(dataset)}/releases"))

    def release(self, release: str) -> dict[str, Any]:
        """A release: metadata of use, ledger, files, head of the trail."""
        return self._get(f"/releases/{_part(release)}")

    def query(self, release: str, query: str) -> dict[str, Any]:
        """An answer from a released model, with its error; it costs nothing."""
        return self._get(f"/releases/{_part(release)}/query", query=query)

    def download(self, release: str, name: str, path: str | Path) -> Path:
        """Save a file of a release; its digest is checked, and nothing half-written stays."""
        import hashlib

        path = Path(path)
        partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        address = f"{self._base}/releases/{_part(release)}/files/{_part(name)}"
        digest = hashlib.sha256()
        try:
            with self._http.stream("GET", address, headers=self._headers) as answer:
                if answer.status_code != 200:
                    answer.read()
                    self._check(answer)
                with partial.open("wb") as file:
                    for chunk in answer.iter_bytes():
                        digest.update(chunk)
                        file.write(chunk)
                expected = answer.headers.get("x-sha256", "")
            if digest.hexdigest() != expected:
                raise Unavailable("The file did not arrive whole; download it again.")
            partial.replace(path)
        except httpx.HTTPError as error:
            raise Unavailable(f"The hub does not answer ({type(error).__name__}).") from None
        finally:
            partial.unlink(missing_ok=True)
        return path

    def trail(self) -> dict[str, Any]:
        """The trail of one's own data sets, for ``understudy hub verify``."""
        return self._get("/trail")

    # ---- the wire

    def _get(self, path: str, **query: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._send("GET", path, params=query)
        return found

    def _post(self, path: str, document: Mapping[str, Any] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self._send("POST", path, json=document)
        return found

    def _pages(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        page, pages = 1, 1
        while page <= pages:
            found = self._get(path, page=page, **query)
            yield from found["items"]
            page, pages = page + 1, found["pages"]

    def _send(self, method: str, path: str, kind: str = "", **options: Any) -> Any:
        headers = dict(self._headers)
        if kind:
            headers["content-type"] = kind
        try:
            answer = self._http.request(method, f"{self._base}{path}", headers=headers, **options)
        except httpx.HTTPError as error:
            raise Unavailable(f"The hub does not answer ({type(error).__name__}).") from None
        self._check(answer)
        return answer.json()

    def _check(self, answer: httpx.Response) -> None:
        if answer.is_success:
            return
        try:
            document = answer.json()
            problem, kind = str(document["problem"]), document.get("kind")
        except (ValueError, KeyError, TypeError, AttributeError):
            problem, kind = f"The hub answered with status {answer.status_code}; is it one?", ""
        raise _KINDS.get(kind, InputError)(problem)


def _part(text: str) -> str:
    """A part of a path, whatever is in it."""
    return quote(str(text), safe="")
