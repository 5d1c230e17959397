"""A survey as one web page: it needs no network, and shows what it sends before it does."""

from __future__ import annotations

import html
import json
from pathlib import Path
from urllib.parse import urlsplit

from understudy.data.files import write_text
from understudy.errors import InputError
from understudy.local.forms import client_form, client_source, read_resource
from understudy.local.plans import CollectionPlan

MAX_QUESTIONS_ON_PAGE = 20_000


def survey_page(plan: CollectionPlan, post_to: str | None = None) -> str:
    """The page, as HTML: form, style and program in one file.

    The page forbids itself to load or send anything, but for the address that reports are posted
    to, if there is one.

    Parameters
    ----------
    plan
        What is asked.
    post_to
        The address that a report is posted to once the person agrees; without one she saves it as
        a file.
    """
    if len(plan.questions) > MAX_QUESTIONS_ON_PAGE:
        raise InputError(
            f"A page holds at most {MAX_QUESTIONS_ON_PAGE:,} questions, and the plan has "
            f"{len(plan.questions):,}; plan for fewer."
        )
    form = client_form(plan) | {"post_to": post_to}
    parts = {
        "TITLE": html.escape(plan.title or "Survey"),
        "CONNECT": _origin(post_to),
        "STYLE": read_resource("survey.css"),
        "FORM": _inside_script(json.dumps(form, ensure_ascii=True)),
        "PROGRAM": client_source() + read_resource("wording.js") + read_resource("survey.js"),
    }
    page = read_resource("survey.html")
    before, *pieces = page.split("{{")
    filled = [before]
    for piece in pieces:
        name, _, after = piece.partition("}}")
        filled += [parts[name], after]
    return "".join(filled)


def write_page(plan: CollectionPlan, path: str | Path, post_to: str | None = None) -> None:
    """Write the page to a file.

    Parameters
    ----------
    plan
        What is asked.
    path
        The HTML file.
    post_to
        As for :func:`survey_page`.
    """
    write_text(path, survey_page(plan, post_to), "page")


def _origin(post_to: str | None) -> str:
    """What the page may connect to, for its content security policy."""
    if post_to is None:
        return "'none'"
    parts = urlsplit(post_to)
    plain = all(letter.isalnum() or letter in ".:-[]" for letter in parts.netloc)
    if parts.scheme not in ("http", "https") or not parts.netloc or not plain:
        raise InputError(f"Reports are posted to an http or https address, not to {post_to!r}.")
    return f"{parts.scheme}://{parts.netloc}"


def _inside_script(text: str) -> str:
    """JSON that cannot end the script that it stands in."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
