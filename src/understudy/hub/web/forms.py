"""Forms: who sent them, and what stands in their fields."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from understudy.errors import InputError
from understudy.hub.errors import Refused
from understudy.hub.web.rendering import VISIT_COOKIE, csrf_code
from understudy.hub.web.viewer import get_hub

MAX_FIELD_TEXT = 5_000
MAX_FIELD_KEY = 64
MAX_FIELDS = 5_000
FORGED = (
    "This form is too old or came from another site; load the page again and send it from there."
)


class WebForm:
    """The fields of a form, read by name and checked as they are read."""

    def __init__(self, fields: dict[str, list[str]], files: dict[str, bytes]) -> None:
        self.fields = fields
        self.files = files

    def text(
        self, name: str, label: str, *, required: bool = True, most: int = MAX_FIELD_TEXT
    ) -> str:
        """What was typed."""
        found = self.fields.get(name, [""])[0].replace("\r\n", "\n").strip()
        if required and not found:
            raise InputError(f"{label} is missing; fill it in.")
        if len(found) > most:
            raise InputError(f"{label} is too long; write at most {most:,} characters.")
        if "\0" in found:
            raise InputError(f"{label} has a character that is no text; write it without.")
        return found

    def number(self, name: str, label: str, default: float | None = None) -> float:
        """A number; the default where nothing was typed."""
        typed = self.text(name, label, required=default is None, most=40)
        if not typed and default is not None:
            return default
        try:
            number = float(typed.replace(",", "."))
        except ValueError:
            raise InputError(f"{label} must be a number, not {typed!r}.") from None
        if not math.isfinite(number):
            raise InputError(f"{label} must be a finite number.")
        return number

    def optional_number(self, name: str, label: str) -> float | None:
        """A number, or none where nothing was typed."""
        if not self.text(name, label, required=False, most=40):
            return None
        return self.number(name, label)

    def whole(self, name: str, label: str, default: int | None = None) -> int:
        """A whole number."""
        typed = self.text(name, label, required=default is None, most=15)
        if not typed and default is not None:
            return default
        try:
            return int(typed.replace(",", ""))
        except ValueError:
            raise InputError(f"{label} must be a whole number, not {typed!r}.") from None

    def choice(self, name: str, label: str, options: Sequence[str]) -> str:
        """One of some words."""
        chosen = self.text(name, label)
        if chosen not in options:
            raise InputError(f"{label} must be one of {', '.join(options)}.")
        return chosen

    def is_checked(self, name: str) -> bool:
        """Whether a box is ticked."""
        return bool(self.fields.get(name))

    def all(self, name: str) -> list[str]:
        """Each value of a field that may be there several times."""
        return self.fields.get(name, [])

    def json_file(self, name: str, label: str) -> Any:
        """A JSON document, uploaded, or pasted into the field of that name."""
        content = self.files.get(name, b"") or self.text(
            f"{name}_text", label, required=False, most=MAX_FIELD_TEXT * 200
        ).encode("utf-8", "replace")
        if not content.strip():
            raise InputError(f"{label} is missing; choose a file or paste it.")
        try:
            return json.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise InputError(f"{label} is not JSON in UTF-8; check the file.") from None

    @property
    def key(self) -> str:
        """What makes two clicks on one button one request."""
        key = self.text("key", "The key of the form", most=MAX_FIELD_KEY)
        return f"form:{key}"

    def list_typed(self) -> dict[str, str]:
        """All texts, to fill a form again that had a mistake in it; no secret."""
        secret = ("csrf", "key")
        return {
            name: values[0]
            for name, values in self.fields.items()
            if name not in secret and "password" not in name
        }


async def read_form(request: Request) -> WebForm:
    """The form that was sent, if it was made by this hub for this browser."""
    fields: dict[str, list[str]] = {}
    files: dict[str, bytes] = {}
    async with request.form(max_fields=MAX_FIELDS, max_part_size=2_000_000) as sent:
        for name, value in sent.multi_items():
            if isinstance(value, UploadFile):
                files[name] = await value.read()
            else:
                fields.setdefault(name, []).append(value)
    await run_in_threadpool(check_origin, request, fields.get("csrf", [""])[0])
    return WebForm(fields, files)


def check_origin(request: Request, code: str) -> None:
    """Refuse a form that another site made: by its code, and by what the browser says of its
    origin.
    """
    hub = get_hub(request)
    visit = request.cookies.get(VISIT_COOKIE, "")
    session = request.cookies.get(hub.session_cookie, "")
    expected = csrf_code(request, hub, visit)
    if not (visit or session) or not _equal(expected, code):
        raise Refused(FORGED)
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(FORGED)
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(str(origin)).netloc not in (
        request.headers.get("host", ""),
        urlsplit(hub.address).netloc,
    ):
        raise Refused(FORGED)


def _equal(expected: str, code: str) -> bool:
    return hmac.compare_digest(expected.encode(), code.encode("utf-8", "surrogatepass"))


SentForm = Annotated[WebForm, Depends(read_form)]
