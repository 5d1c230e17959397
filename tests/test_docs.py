"""What the docs show is so: their Python and shell blocks run, their schemas load, their links lead
somewhere.

In every page, blocks marked ``python`` and ``sh`` are run in order, in a folder that holds the
tutorial's table, schema and model. A ``text`` block after a ``python`` block that prints is what it
prints, and one right below a ``sh`` block is what its commands say; where that changes from run to
run, the block has the title "one run". A ``json`` block with a title is a file. A ``console`` block
is a command that is refused.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import typer

from running import Ran, run
from understudy import InputError, OwnerWarning, PrivBayes, Schema
from understudy.cli import app

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not DOCS.is_dir(), reason="the docs are not here"),
]


@dataclass(frozen=True)
class Block:
    language: str
    title: str
    text: str
    place: str
    """Page and line, for messages."""
    below: bool
    """Whether it stands right below another block."""


def blocks(page: str) -> list[Block]:
    source = (DOCS / page).read_text(encoding="utf-8")
    found = re.finditer(
        r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```$', source, re.MULTILINE | re.DOTALL
    )
    return [
        Block(
            language=m[1],
            title=m[2] or "",
            text=m[3],
            place=f"{page}:{source[: m.start()].count(chr(10)) + 1}",
            below=source[: m.start()].rstrip().endswith("```"),
        )
        for m in found
    ]


@pytest.fixture(scope="module")
def tutorial_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table, the schema and a model of the tutorial."""
    folder = tmp_path_factory.mktemp("docs")
    first = next(block for block in blocks("tutorial.md") if block.language == "python")
    schema = next(block for block in blocks("tutorial.md") if block.title == "patients.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(compile(first.text, first.place, "exec"), {})
    (folder / "patients.json").write_text(schema.text)
    PrivBayes(epsilon=1.0).fit(folder / "patients.csv", folder / "patients.json").save(
        folder / "model.json"
    )
    return folder


@pytest.mark.parametrize(
    "page",
    [
        *(
            "index.md",
            "from-your-file.md",
            "tutorial.md",
            "how-to.md",
            "reference.md",
            "privbayes.md",
            "datasynthesizer.md",
            "audit.md",
        ),
        *(
            "evaluation.md",
            "attacks.md",
            "histograms.md",
            "engines.md",
            "formats.md",
            "methods.md",
            "rows-per-person.md",
            "constraints.md",
            "public-facts.md",
            "inference.md",
            "learning.md",
            "local-synthesis.md",
            "asking.md",
            "mechanisms.md",
            "local.md",
            "anonymity.md",
        ),
        *(f"api/{page.name}" for page in sorted((DOCS / "api").glob("*.md"))),
    ],
)
def test_a_page_runs(
    page: str, tutorial_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tutorial_folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    printed, said = None, None
    for block in blocks(page):
        if said is not None and block.language == "text" and block.below:
            printed = said
        if block.language == "text" and printed is not None and block.title != "one run":
            # Lines are wrapped to the width of the page.
            assert block.text.split() == without_folder(printed).split(), (
                f"{block.place} shows something else than is printed"
            )
        printed, said = None, None
        if block.language == "json" and block.title:
            Path(block.title).write_text(block.text)
        elif block.language == "python":
            printed = output_of(block, names) or None
        elif block.language == "sh":
            said = ""
            for line in block.text.replace("\\\n", "").splitlines():
                ran = run_line(line)
                assert ran.status == 0, f"{block.place}: {line}\n{ran.err}"
                said += ran.err + ran.out
        elif block.language == "console":
            line, refusal = block.text.split("\n", 1)
            ran = run_line(line.removeprefix("$ "))
            assert (ran.status, without_folder(ran.err)) == (2, refusal.strip()), block.place


def output_of(block: Block, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore", OwnerWarning)
        exec(compile(block.text, block.place, "exec"), names)
    return out.getvalue()


def without_folder(message: str) -> str:
    """Messages may name files in full; the docs leave out the folder, which differs from reader to
    reader.
    """
    return message.replace(f"{Path.cwd()}/", "").strip()


def run_line(line: str) -> Ran:
    """Run an understudy command, with ``< FILE`` and ``> FILE`` as a shell has them."""
    words = command(line)
    places = {}
    for sign in ("<", ">"):
        if sign in words:
            at = words.index(sign)
            places[sign] = words[at + 1]
            del words[at : at + 2]
    if "<" not in places:
        ran = run(*words)
    else:
        with open(places["<"]) as given, mock.patch("sys.stdin", given):
            ran = run(*words)
    if ">" in places:
        Path(places[">"]).write_text(ran.out)
    return ran


def command(line: str) -> list[str]:
    """The arguments of an understudy command; what it is piped into is left out."""
    name, *arguments = shlex.split(line.split(" | ")[0])
    assert name == "understudy", line
    return arguments


@pytest.mark.parametrize(
    "block", [b for b in blocks("schema.md") if b.language == "json"], ids=lambda b: b.place
)
def test_a_schema_loads(block: Block) -> None:
    Schema.from_dict(json.loads(block.text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_json_is_json(page: Path) -> None:
    for block in blocks(str(page.relative_to(DOCS))):
        if block.language == "json":
            json.loads(block.text)


def test_the_schema_errors_are_as_shown() -> None:
    rows = re.findall(r"^\| `(\{.*\})` \| (.*) \|$", (DOCS / "schema.md").read_text(), re.MULTILINE)
    assert len(rows) >= 6
    for entry, message in rows:
        if "..." not in entry:
            with pytest.raises(InputError, match=re.escape(message.removesuffix(", ..."))):
                Schema.from_dict({"attributes": {"column": json.loads(entry)}})


def test_the_taxonomy_has_the_levels_that_are_shown() -> None:
    block = next(b for b in blocks("schema.md") if "Paris" in b.text)
    city = Schema.from_dict(json.loads(block.text))["city"]
    table = (DOCS / "schema.md").read_text().partition("| Level 2 |")[2].partition("\n\n")[0]
    shown = re.findall(r"^\| (\w+) \| (\d+) \| (\d+).*? \| (\d+).*? \|$", table, re.MULTILINE)
    levels = [range(city.size), *city.generalisations]
    assert shown[:-1] == [
        (city.label(code), *(str(level[code]) for level in levels)) for code in range(city.size)
    ]
    assert shown[-1] == ("codes", *map(str, city.sizes_by_level()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        file, _, anchor = target.partition("#")
        goal = (page.parent / file) if file else page
        assert goal.is_file(), f"{page.name} links to {target}, which is not there"
        if anchor:
            assert anchor in anchors(goal), (
                f"{page.name} links to {target}: there is no such heading"
            )


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    kept = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in kept}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "mkdocs.yml"], ids=lambda page: page.name)
def test_nothing_from_outside_is_named(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|/(home|root|work|tmp|usr)/", text)


def test_the_reference_has_every_option() -> None:
    reference = (DOCS / "reference.md").read_text(encoding="utf-8")
    unnamed = [
        f"{path} {option}"
        for path, each in commands(typer.main.get_command(app), "understudy")
        for parameter in each.params
        for option in parameter.opts
        if option.startswith("-")
        and option not in ("-h", "--help", "--install-completion", "--show-completion")
        and f"`{option}" not in reference
    ]
    assert unnamed == []


def commands(command: Any, path: str) -> list[tuple[str, Any]]:
    found = [(path, command)]
    for name, below in getattr(command, "commands", {}).items():
        found += commands(below, f"{path} {name}")
    return found
