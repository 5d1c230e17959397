"""``make release`` and the files that a release depends on."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import understudy

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "release.py"

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not SCRIPT.is_file(), reason="the tools are not here"),
]


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small repository with a version and a changelog."""
    package = tmp_path / "src" / "understudy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- More.\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "understudy"\n')
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Start")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_the_version_stands_in_one_place(tool: Any) -> None:
    assert tool.read_version(ROOT) == understudy.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == tool.VERSION_FILE


def test_notes_are_the_section_of_the_changelog(tool: Any, checkout: Path) -> None:
    text = "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-01-02)\n\n- New.\n\n## 1.2.2\n\n- Old.\n"
    (checkout / "CHANGELOG.md").write_text(text)
    notes = tool.read_notes(checkout, "1.2.3", dry_run=False)
    assert notes == "# Understudy 1.2.3\n\n- New.\n"


def test_a_version_without_notes_is_refused(tool: Any, checkout: Path) -> None:
    with pytest.raises(tool.ReleaseError, match=r"has no section on 1\.2\.3; rename"):
        tool.read_notes(checkout, "1.2.3", dry_run=False)
    assert "- More." in tool.read_notes(checkout, "1.2.3", dry_run=True)
    (checkout / "CHANGELOG.md").write_text("## 1.2.3\n\n## 1.2.2\n\n- Old.\n")
    with pytest.raises(tool.ReleaseError, match=r"says nothing about 1\.2\.3"):
        tool.read_notes(checkout, "1.2.3", dry_run=False)


def test_what_is_not_committed_is_not_released(tool: Any, checkout: Path) -> None:
    tool.check_tree(checkout, "1.2.3", dry_run=False)
    (checkout / "new.txt").write_text("")
    with pytest.raises(tool.ReleaseError, match="not committed"):
        tool.check_tree(checkout, "1.2.3", dry_run=False)
    tool.check_tree(checkout, "1.2.3", dry_run=True)


def test_a_version_is_released_once(tool: Any, checkout: Path) -> None:
    git(checkout, "tag", "v1.2.3")
    with pytest.raises(tool.ReleaseError, match=r"v1\.2\.3 is tagged already; raise __version__"):
        tool.check_tree(checkout, "1.2.3", dry_run=True)


def test_the_tag_comes_last(tool: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "CHANGELOG.md").write_text("## 1.2.3\n\n- New.\n")
    git(checkout, "commit", "--quiet", "--all", "--message", "Notes")
    git(checkout, "config", "user.name", "Nobody")
    git(checkout, "config", "user.email", "nobody@example.org")
    output = checkout.parent / f"{checkout.name}-dist"
    output.mkdir()
    monkeypatch.setattr(tool, "build", lambda root, output: [output / "a.whl"])

    def fail(*_: Any, **__: Any) -> None:
        raise tool.ReleaseError("It does not run.")

    monkeypatch.setattr(tool, "check_package", fail)
    with pytest.raises(tool.ReleaseError):
        tool.release(checkout, output, dry_run=False, offline=True)
    assert tool.git(checkout, "tag") == ""
    monkeypatch.setattr(tool, "check_package", lambda *_, **__: None)
    tool.release(checkout, output, dry_run=True, offline=True)
    assert tool.git(checkout, "tag") == ""
    tool.release(checkout, output, dry_run=False, offline=True)
    assert tool.git(checkout, "tag") == "v1.2.3"
    assert (output / "notes-1.2.3.md").read_text().endswith("- New.\n")


@pytest.mark.parametrize(
    ("urls", "missing"),
    [
        ("", ["Repository", "Documentation"]),
        ('[project.urls]\nMethod = "https://doi.org/x"\n', ["Repository", "Documentation"]),
        ('[project.urls]\nrepository = "https://example.org"\n', ["Documentation"]),
        (
            '[project.urls]\nRepository = "https://a.example"\nDocumentation = "https://b.example"\n',
            [],
        ),
    ],
)
def test_addresses_that_are_missing_are_named(
    tool: Any, checkout: Path, urls: str, missing: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "pyproject.toml").write_text(f'[project]\nname = "understudy"\n{urls}')
    tool.warn_of_missing_addresses(checkout)
    warning = capsys.readouterr().err
    assert [label for label in tool.ADDRESSES if label in warning] == missing
    assert bool(warning) is bool(missing)


def test_addresses_are_asked_for_before_the_tag(
    tool: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = checkout.parent / f"{checkout.name}-dist"
    output.mkdir()
    tags = []
    monkeypatch.setattr(tool, "build", lambda *_: [])
    monkeypatch.setattr(
        tool, "warn_of_missing_addresses", lambda root: tags.append(tool.git(root, "tag"))
    )
    (checkout / "CHANGELOG.md").write_text("## 1.2.3\n\n- New.\n")
    git(checkout, "commit", "--quiet", "--all", "--message", "Notes")
    git(checkout, "config", "user.name", "Nobody")
    git(checkout, "config", "user.email", "nobody@example.org")
    tool.release(checkout, output, dry_run=False, offline=True)
    assert (tags, tool.git(checkout, "tag")) == ([""], "v1.2.3")


def test_addresses_of_the_project_are_of_the_web() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]
    assert all(address.startswith("https://") for address in project["urls"].values())


def test_what_a_package_is_tried_with_can_be_released(tool: Any, tmp_path: Path) -> None:
    place = tmp_path / "venv" / "bin"
    place.mkdir(parents=True)
    command = place / "understudy"  # this checkout, in place of an installed package
    source = Path(understudy.__file__).parents[1]
    command.write_text(f"#!/bin/sh\nPYTHONPATH={source} exec {sys.executable} -m understudy $@\n")
    command.chmod(0o700)
    tool.try_package(tmp_path, understudy.__version__)
    with pytest.raises(tool.ReleaseError, match="not version 9"):
        tool.try_package(tmp_path, "9")


@pytest.mark.slow
def test_a_dry_run_builds_and_tries_both_packages(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--dry-run", "--offline", "--output", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    version = understudy.__version__
    assert f"understudy-{version}.tar.gz: installs, runs, synthesizes" in ran.stdout
    assert f"understudy-{version}-py3-none-any.whl: installs, runs, synthesizes" in ran.stdout
    assert ran.stdout.endswith(f"Dry run: v{version} was not tagged.\n")


# ------------------------------------------------------------------------ files that tools read

INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"}


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, without comments and with continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1].strip()) for line in lines]


def test_the_dockerfile_is_simple_and_sound() -> None:
    found = instructions()
    assert {word for word, _ in found} <= INSTRUCTIONS
    assert found[0][0] == "FROM"
    image, _, tag = found[0][1].partition(":")
    assert image == "python"
    assert tag not in ("", "latest"), "an image without a tag changes under us"
    users = [value for word, value in found if word == "USER"]
    assert users, "it must not run as root"
    assert not users[-1].startswith(("root", "0"))
    for word, value in found:
        if word in ("ENTRYPOINT", "CMD"):
            assert isinstance(yaml.safe_load(value), list), "a shell would swallow signals"
        if word == "COPY":
            *sources, _ = value.split()
            for source in sources:
                assert (ROOT / source).exists(), source
        if word == "RUN" and "pip install" in value:
            assert "--no-cache-dir" in value


def test_the_docker_context_holds_what_is_copied_and_no_data() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "*"
    let_in = {line[1:] for line in lines if line.startswith("!")}
    copied = {s.strip("./") for w, v in instructions() if w == "COPY" for s in v.split()[:-1]}
    assert let_in == copied


def test_hooks_before_a_commit_download_nothing() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repository["repo"] for repository in hooks["repos"]] == ["local"]
    names = [hook["id"] for hook in hooks["repos"][0]["hooks"]]
    assert names == ["ruff-format", "ruff-check", "docs-tables"]
    assert all(hook["language"] == "system" for hook in hooks["repos"][0]["hooks"])
