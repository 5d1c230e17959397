"""What an owner's agent goes by: where the rows are, and what it agrees to; one file of TOML."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from understudy.engines.urls import is_url
from understudy.errors import InputError
from understudy.hub.foreign.confinement import ResourceLimits
from understudy.hub.operation_runs import OperationRun, Protected
from understudy.hub.operations import OPERATIONS, Synthesise, is_digest
from understudy.privacy.ledger import Accepted

_SECTIONS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "hub": {"url": str, "token": str, "token_file": str, "certificate": str},
    "data": {
        "dataset": str,
        "rows": str,
        "schema": str,
        "ledger": str,
        "log": str,
        "state": str,
        "accept": str,
    },
    "allowance": {"epsilon": (int, float), "delta": (int, float)},
    "protects": {"neighbours": str, "person": str, "max_rows_per_person": int},
    "policy": {
        "operations": list,
        "users": list,
        "methods": list,
        "max_epsilon": (int, float),
        "max_delta": (int, float),
        "algorithms": list,
        "algorithm_seconds": (int, float),
        "algorithm_memory_mb": int,
    },
    "federation": {
        "certificate": str,
        "key": str,
        "peers": list,
        "colluders": int,
        "session_share": (int, float),
    },
}


@dataclass(frozen=True, kw_only=True)
class AgentPolicy:
    """What an agent agrees to, whatever the hub has approved.

    Parameters
    ----------
    operations
        Which ones; all that have a price when not given.
    users
        The names of those whom it computes for; everybody when not given.
    methods
        The methods and learners that it runs; all that are built in when not given.
    max_epsilon, max_delta
        The most that one job may cost.
    algorithms
        The digests of foreign algorithms that it runs; none when not given.
    limits
        What a foreign algorithm may use.
    """

    operations: tuple[str, ...] = OPERATIONS
    users: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    max_epsilon: float
    max_delta: float = 0.0
    algorithms: tuple[str, ...] = ()
    limits: ResourceLimits = field(default_factory=ResourceLimits)

    def object_to(self, operation: OperationRun, user: Any) -> str:
        """Why a job is refused; empty where it is not."""
        if operation.name not in self.operations:
            return f"The owner's agent does not {operation.name}."
        if self.users is not None and user not in self.users:
            return "The owner's agent does not compute for this user."
        epsilon, delta = operation.price()
        if epsilon > self.max_epsilon or delta > self.max_delta:
            return (
                f"The owner's agent spends at most epsilon {self.max_epsilon:g} and delta "
                f"{self.max_delta:g} on a job."
            )
        algorithm = getattr(operation, "algorithm", None)
        if isinstance(operation, Synthesise) and algorithm is not None:
            if algorithm not in self.algorithms:
                return "The owner's agent does not run this algorithm."
            return ""
        named = getattr(operation, "method", getattr(operation, "learner", None))
        if self.methods is not None and named is not None and named not in self.methods:
            return f"The owner's agent does not run {named}."
        return ""


@dataclass(frozen=True, kw_only=True)
class Federating:
    """How an agent takes part in secure sums with others.

    Parameters
    ----------
    certificate, key
        Its own identity; the name in the certificate is the holder's.
    peers
        The pinned certificates of the other holders.
    colluders
        How many of the others this one fears to pry; sums that guard against fewer are refused.
    session_share
        The largest share of the ledger's allowance that one job may take.
    """

    certificate: Path
    key: Path
    peers: tuple[Path, ...]
    colluders: int = 1
    session_share: float = 1.0


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """All that an agent goes by."""

    url: str
    token: str = field(repr=False)
    certificate: Path | None
    dataset: str
    rows: str
    schema: Path
    ledger: Path
    log: Path
    state: Path
    policy: AgentPolicy
    protected: Protected
    allowance: tuple[float, float] | None
    accept: Accepted | None = None
    federating: Federating | None = None


def load_settings(path: str | Path) -> AgentSettings:
    """Read the file; places in it are relative to its folder."""
    path = Path(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"The settings {path} cannot be read ({error.strerror}); check the name."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The settings {path} are not TOML: {error}.") from error
    _check_sections(document, path)
    folder = path.resolve().parent
    hub, data = _section(document, "hub"), _section(document, "data")
    rows = _need(data, "rows", path)
    if not is_url(rows):
        rows = str(folder / rows)
    protects = _section(document, "protects")
    return AgentSettings(
        url=check_url(_need(hub, "url", path)),
        token=_read_token(hub, folder, path),
        certificate=_place(folder, hub, "certificate"),
        dataset=_need(data, "dataset", path),
        rows=rows,
        schema=folder / _need(data, "schema", path),
        ledger=folder / data.get("ledger", "agent.ledger"),
        log=folder / data.get("log", "agent.log"),
        state=folder / data.get("state", "agent-state"),
        policy=_read_policy(_section(document, "policy"), path),
        protected=Protected(**protects),
        allowance=_read_allowance(document),
        accept=_read_accept(data, path),
        federating=_read_federating(_section(document, "federation"), folder, path),
    )


def check_url(url: str) -> str:
    """The hub's address; without TLS only on this machine."""
    parts = urlsplit(url)
    local = parts.hostname in ("127.0.0.1", "localhost", "::1")
    if parts.scheme == "https" or (parts.scheme == "http" and local):
        return url.rstrip("/")
    raise InputError(
        "The address of the hub begins with https://; tokens travel over nothing else."
    )


def _check_sections(document: Mapping[str, Any], path: Path) -> None:
    for section, content in document.items():
        if section not in _SECTIONS or not isinstance(content, dict):
            raise InputError(f"{path} has an unknown section [{section}]; remove it.")
        for name, value in content.items():
            kind = _SECTIONS[section].get(name)
            if kind is None:
                raise InputError(f"[{section}] in {path} has an unknown entry {name!r}; remove it.")
            if not isinstance(value, kind) or isinstance(value, bool):
                raise InputError(f"{name} in [{section}] of {path} is of another kind.")


def _section(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    return dict(document.get(name, {}))


def _need(section: Mapping[str, Any], name: str, path: Path) -> str:
    if name not in section:
        raise InputError(f"{path} does not say {name}; add it.")
    return cast(str, section[name])


def _place(folder: Path, section: Mapping[str, Any], name: str) -> Path | None:
    if name not in section:
        return None
    return folder / section[name]


def _read_token(hub: Mapping[str, Any], folder: Path, path: Path) -> str:
    if "token" in hub:
        return str(hub["token"])
    if "token_file" in hub:
        place = folder / hub["token_file"]
        try:
            return place.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise InputError(
                f"The token {place} cannot be read ({error.strerror}); save it there."
            ) from error
    from_environment = os.environ.get("UNDERSTUDY_AGENT_TOKEN")
    if from_environment:
        return from_environment
    raise InputError(
        f"{path} does not say the agent's token: add token_file, or set UNDERSTUDY_AGENT_TOKEN."
    )


def _read_policy(section: dict[str, Any], path: Path) -> AgentPolicy:
    if "max_epsilon" not in section:
        raise InputError(f"[policy] in {path} must say max_epsilon, the most that a job may cost.")
    seconds = section.pop("algorithm_seconds", ResourceLimits().seconds)
    memory = section.pop("algorithm_memory_mb", ResourceLimits().memory >> 20)
    lists = {
        name: tuple(str(entry) for entry in section.pop(name))
        for name in ("operations", "users", "methods", "algorithms")
        if name in section
    }
    for operation in lists.get("operations", ()):
        if operation not in OPERATIONS:
            raise InputError(
                f"[policy] in {path} names the operation {operation!r}; there is none."
            )
    for digest in lists.get("algorithms", ()):
        if not is_digest(digest):
            raise InputError(f"[policy] in {path}: algorithms are named by their SHA-256.")
    limits = ResourceLimits(seconds=float(seconds), memory=int(memory) << 20)
    numbers = {name: float(value) for name, value in section.items()}
    return AgentPolicy(**cast(Any, lists), **cast(Any, numbers), limits=limits)


def _read_allowance(document: Mapping[str, Any]) -> tuple[float, float] | None:
    allowance = _section(document, "allowance")
    if "epsilon" not in allowance:
        return None
    return float(allowance["epsilon"]), float(allowance.get("delta", 0.0))


def _read_accept(data: Mapping[str, Any], path: Path) -> Accepted | None:
    accept = data.get("accept")
    if accept not in (None, "same_table", "new_rows"):
        raise InputError(f"accept in {path} is same_table or new_rows, not {accept!r}.")
    return cast(Accepted | None, accept)


def _read_federating(section: dict[str, Any], folder: Path, path: Path) -> Federating | None:
    if not section:
        return None
    return Federating(
        certificate=folder / _need(section, "certificate", path),
        key=folder / _need(section, "key", path),
        peers=tuple(folder / str(name) for name in _need(section, "peers", path)),
        colluders=section.get("colluders", 1),
        session_share=float(section.get("session_share", 1.0)),
    )
