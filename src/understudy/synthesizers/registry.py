"""The registry of methods: each is known once, where its class is defined.

The command line, the audit, federations, the docs' tables and the tests all ask here which methods
there are. Methods of other packages come by the entry point group ``understudy.methods``, whose
entries name modules that register their methods when they are imported.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from understudy.errors import InputError
from understudy.synthesizers.parameters import Parameter, parameters_of

if TYPE_CHECKING:
    from understudy.synthesizers import Synthesizer

ENTRY_POINTS = "understudy.methods"
DEFAULT = "adaptive"
FEDERATED_DEFAULT = "privbayes"
"""The methods where none is named, for one table and for the rows of many holders."""

CuratorKind = Literal["central", "federated", "local", "encrypted"]
_S = TypeVar("_S", bound="type[Synthesizer]")


@dataclass(frozen=True, kw_only=True)
class Method:
    """What is known of a method."""

    name: str
    """How it is called on the command line and in models."""
    summary: str
    """What it keeps, in a few words."""
    cost: str
    """What it spends the budget on, in a few words."""
    kind: type[Synthesizer]
    curators: frozenset[str]
    """Which curators it runs on."""
    presets: Mapping[str, str] = field(default_factory=dict)
    """Other constructors of the class that are switches on the command line, and what each is
    for.
    """
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that are set unless the user sets them: for a method under a second name."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that the method adds to those that all methods share."""
        return tuple(parameters_of(self.kind))

    def make(self, preset: str | None = None, /, **parameters: Any) -> Synthesizer:
        """The method with these parameters, by a preset where one is named."""
        if preset is None:
            constructor = self.kind
        else:
            constructor = getattr(self.kind, preset)
        made: Synthesizer = constructor(**{**self.defaults, **parameters})
        return made


_registered: dict[str, Method] = {}


def register(
    name: str,
    *,
    summary: str,
    cost: str,
    curators: tuple[CuratorKind, ...] = ("central",),
    presets: Mapping[str, str] | None = None,
) -> Callable[[_S], _S]:
    """Enter a class into the registry, and give it its name.

    Parameters
    ----------
    name
        How the method is called on the command line and in models.
    summary, cost
        What it keeps, and what it spends the budget on; the docs' tables print both.
    curators
        Where it runs: "central", and "federated" if it asks for nothing but tables and choices.
    presets
        Other constructors that become switches on the command line, each with its help.
    """

    def enter(kind: _S) -> _S:
        kind.name = name
        _add(
            Method(
                name=name,
                summary=summary,
                cost=cost,
                kind=kind,
                curators=frozenset(curators),
                presets=MappingProxyType(dict(presets or {})),
            )
        )
        return kind

    return enter


def register_variant(
    name: str, kind: type[Synthesizer], *, summary: str, cost: str, **defaults: Any
) -> None:
    """Enter a method under a second name that sets some parameters; models keep the first name."""
    original = next(method for method in _registered.values() if method.kind is kind)
    fixed = MappingProxyType(defaults)
    _add(replace(original, name=name, summary=summary, cost=cost, defaults=fixed))


def _add(method: Method) -> None:
    known = _registered.get(method.name)
    if known is not None and known.kind.__qualname__ != method.kind.__qualname__:
        raise ValueError(f"two methods are called {method.name!r}")
    _registered[method.name] = method


def methods() -> Mapping[str, Method]:
    """All methods by name: the default, then the others by name, then variants of these."""
    _load()
    ordered = sorted(_registered.values(), key=lambda one: (bool(one.defaults), one.name))
    return MappingProxyType({method.name: method for method in _put_first(DEFAULT, ordered)})


def methods_for(curator: CuratorKind) -> list[Method]:
    """The methods that run on a kind of curator, its default first."""
    if curator == "federated":
        default = FEDERATED_DEFAULT
    else:
        default = DEFAULT
    served = [method for method in methods().values() if curator in method.curators]
    return _put_first(default, served)


def _put_first(name: str, ordered: list[Method]) -> list[Method]:
    return sorted(ordered, key=lambda method: method.name != name)


def find_method(name: Any) -> Method:
    """The method of that name."""
    known = methods()
    if not isinstance(name, str) or name not in known:
        raise InputError(f"There is no method {name!r}; known are {', '.join(known)}.")
    return known[name]


@cache
def _load() -> None:
    package = importlib.import_module("understudy.synthesizers")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # one broken package must not take every command with it
            warnings.warn(
                f"The methods of {entry.value!r} cannot be used: {type(error).__name__}: {error}",
                stacklevel=2,
            )
