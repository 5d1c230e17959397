"""Make a release: ``make release``, or ``python tools/release.py [--dry-run] [--output FOLDER]``.

1. The tree is clean, the version is not tagged yet, and the changelog has a section for it.
2. A source distribution and a wheel are built.
3. Each is installed into an empty environment, which prints its version and synthesizes a table.
4. The changelog's section becomes the release notes.
5. Addresses that ``[project.urls]`` lacks are named: people look for them beside a package.
6. The commit is tagged vX.Y.Z. Nothing is pushed or uploaded: that is for a person to do.

``--dry-run`` does all of it except the tag, also on a tree that is not clean.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION_FILE = "src/understudy/__init__.py"

SCHEMA = """{"attributes": {
    "age": {"kind": "integer", "min": 0, "max": 99},
    "smoker": {"kind": "boolean", "values": ["0", "1"]}
}}
"""
"""Of the table that an installed package is tried with."""

ADDRESSES = ("Repository", "Documentation")
"""Labels that ``[project.urls]`` should have: package indexes show what stands there."""


class ReleaseError(Exception):
    """What has to be done before there can be a release, in one sentence."""


def read_version(root: Path) -> str:
    """The version, from the one place where it stands."""
    text = (root / VERSION_FILE).read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(\d+\.\d+\.\d+)"$', text, re.MULTILINE)
    if found is None:
        raise ReleaseError(f'{VERSION_FILE} has no line __version__ = "X.Y.Z"; add one.')
    return found[1]


def read_notes(root: Path, version: str, *, dry_run: bool) -> str:
    """The changelog's section on a version; a dry run makes do with what is not released yet."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = _find_section(text, version)
    if section is None and dry_run:
        section = _find_section(text, "Unreleased")
    if section is None:
        raise ReleaseError(
            f"CHANGELOG.md has no section on {version}; rename '## Unreleased' to '## {version}'."
        )
    if not section:
        raise ReleaseError(f"CHANGELOG.md says nothing about {version}; write what has changed.")
    return f"# Understudy {version}\n\n{section}\n"


def _find_section(text: str, name: str) -> str | None:
    heading = rf"^## \[?{re.escape(name)}\]?(?: [^\n]*)?$"
    found = re.search(rf"{heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return None if found is None else found[1].strip()


def check_tree(root: Path, version: str, *, dry_run: bool) -> None:
    """Refuse to release what is not committed, or what was released before."""
    if git(root, "tag", "--list", f"v{version}"):
        raise ReleaseError(f"v{version} is tagged already; raise __version__ in {VERSION_FILE}.")
    if not dry_run and git(root, "status", "--porcelain"):
        raise ReleaseError("There are changes that are not committed; commit or stash them.")


def list_missing_addresses(root: Path) -> list[str]:
    """The labels that ``[project.urls]`` lacks."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = {label.casefold() for label in project.get("urls", {})}
    return [label for label in ADDRESSES if label.casefold() not in given]


def warn_of_missing_addresses(root: Path) -> None:
    """Say what is missing, in plain words; a release without addresses is still a release."""
    missing = list_missing_addresses(root)
    if missing:
        print(
            f"Warning: [project.urls] in pyproject.toml has no {' and no '.join(missing)}. Whoever "
            "finds the package will not find its home: enter the public addresses there, and "
            "release again.",
            file=sys.stderr,
        )


def git(root: Path, *arguments: str) -> str:
    """What a git command prints."""
    return run("git", "-C", str(root), *arguments).strip()


def run(*command: str, **environment: str) -> str:
    """What a command prints; where it fails, the release ends with its last words."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-15:]
        raise ReleaseError("\n".join([f"This command failed: {' '.join(command)}", *last]))
    return done.stdout


def build(root: Path, output: Path) -> list[Path]:
    """Build the source distribution, and the wheel out of it."""
    output.mkdir(parents=True, exist_ok=True)
    # The backend is in this environment already: nothing is downloaded.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(output), str(root))
    version = read_version(root)
    built = [
        output / f"understudy-{version}.tar.gz",
        output / f"understudy-{version}-py3-none-any.whl",
    ]
    for path in built:
        if not path.is_file():
            raise ReleaseError(f"The build made no {path.name}.")
    return built


def check_package(package: Path, version: str, *, offline: bool) -> None:
    """Install a package into an empty environment and make a synthetic table with it.

    Offline, its dependencies are those of this environment; the package itself is always its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(sys.executable, "-m", "venv", str(place / "venv"))
        python = str(place / "venv" / "bin" / "python")
        options = ["--quiet", "--disable-pip-version-check"]
        if offline:
            _lend_packages(place / "venv")
            options += ["--no-deps", "--no-index", "--no-build-isolation"]
        run(python, "-m", "pip", "install", *options, str(package))
        try_package(place, version)


def _lend_packages(venv: Path) -> None:
    """Let an environment see the packages of this one; its own come first."""
    (site,) = venv.glob("lib/python*/site-packages")
    lent = [path for path in sys.path if path.endswith("-packages")]
    (site / "lent.pth").write_text("\n".join(lent) + "\n", encoding="utf-8")


def try_package(place: Path, version: str) -> None:
    """The installed command says its version and makes a table, far from any checkout."""
    command = str(place / "venv" / "bin" / "understudy")
    # A path from outside would bring another Understudy along; compiling takes longer than it
    # gains.
    alone = {"PYTHONPATH": "", "NUMBA_DISABLE_JIT": "1"}
    said = run(command, "--version", **alone).strip()
    if said != f"understudy {version}":
        raise ReleaseError(f"The installed command says {said!r}, not version {version}.")
    rows = "".join(f"{i % 90},{i % 2}\n" for i in range(300))
    (place / "table.csv").write_text(f"age,smoker\n{rows}", encoding="utf-8")
    # With a schema: discovery may stop at so few rows.
    (place / "schema.json").write_text(SCHEMA, encoding="utf-8")
    output = str(place / "synthetic.csv")
    files = [str(place / "table.csv"), "--schema", str(place / "schema.json"), "-o", output]
    method = ["--method", "independent", "--rows", "20"]
    run(command, "synthesize", *files, *method, "--quiet", **alone)
    if len(Path(output).read_text(encoding="utf-8").splitlines()) != 21:
        raise ReleaseError("The installed command made a table of the wrong length.")


def release(root: Path, output: Path, *, dry_run: bool, offline: bool) -> None:
    """Do everything in order; the tag comes last, so that whatever fails leaves none."""
    version = read_version(root)
    check_tree(root, version, dry_run=dry_run)
    notes = read_notes(root, version, dry_run=dry_run)
    for package in build(root, output):
        check_package(package, version, offline=offline)
        print(f"{package.name}: installs, runs, synthesizes")
    notes_file = output / f"notes-{version}.md"
    notes_file.write_text(notes, encoding="utf-8")
    print(f"Release notes: {notes_file}")
    warn_of_missing_addresses(root)
    if dry_run:
        print(f"Dry run: v{version} was not tagged.")
        return
    git(root, "tag", "--annotate", f"v{version}", "--message", f"Understudy {version}")
    print(f"Tagged v{version}. To publish: git push origin v{version}, then upload {output}/*.")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Build, check and tag a release.")
    parser.add_argument("--dry-run", action="store_true", help="do everything but the tag")
    parser.add_argument("--offline", action="store_true", help="lend installed dependencies")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the packages")
    given = parser.parse_args()
    try:
        release(ROOT, given.output, dry_run=given.dry_run, offline=given.offline)
    except ReleaseError as error:
        sys.exit(f"release: {error}")


if __name__ == "__main__":
    main()
