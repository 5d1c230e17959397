"""Understudy: differentially private synthetic tables.

>>> from understudy import PrivBayes, Schema
>>> model = PrivBayes(epsilon=1.0).fit("patients.csv", "schema.json")   # doctest: +SKIP
>>> model.sample(1000).write("synthetic.csv")                           # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing's own takes long to load: Ctrl-C should find us ready for it
if TYPE_CHECKING:
    from typing import Any

    from understudy.asking.api import ask
    from understudy.attacks import attack
    from understudy.attacks.promise import Promise
    from understudy.auditing import audit
    from understudy.data.schema import Schema
    from understudy.data.tables import Table, read_table
    from understudy.errors import BudgetError, InputError, UnderstudyError
    from understudy.evaluation import evaluate
    from understudy.federation.in_process import make_holders
    from understudy.federation.ways import federate
    from understudy.models.model import Model
    from understudy.models.structure import chow_liu, greedy_bayes
    from understudy.privacy.ledger import Ledger, LedgerFile
    from understudy.privacy.plan import plan
    from understudy.release.callbacks import OwnerWarning
    from understudy.release.questions import open_curator
    from understudy.reports.owner import write_owner_report
    from understudy.reports.release import report, write_report
    from understudy.synthesizers import Synthesizer
    from understudy.synthesizers.adaptive import Adaptive
    from understudy.synthesizers.gan import GAN
    from understudy.synthesizers.gaussian import Gaussian
    from understudy.synthesizers.independent import Independent
    from understudy.synthesizers.marginals import Marginals
    from understudy.synthesizers.merf import MERF
    from understudy.synthesizers.mst import MST
    from understudy.synthesizers.perturbed_histogram import PerturbedHistogram
    from understudy.synthesizers.privbayes import PrivBayes
    from understudy.synthesizers.random import Random
    from understudy.synthesizers.smoothed_histogram import SmoothedHistogram

__version__ = "0.1.0"

__all__ = [
    "GAN",
    "MERF",
    "MST",
    "Adaptive",
    "BudgetError",
    "Gaussian",
    "Independent",
    "InputError",
    "Ledger",
    "LedgerFile",
    "Marginals",
    "Model",
    "OwnerWarning",
    "PerturbedHistogram",
    "PrivBayes",
    "Promise",
    "Random",
    "Schema",
    "SmoothedHistogram",
    "Synthesizer",
    "Table",
    "UnderstudyError",
    "ask",
    "attack",
    "audit",
    "chow_liu",
    "evaluate",
    "federate",
    "greedy_bayes",
    "make_holders",
    "open_curator",
    "plan",
    "read_table",
    "report",
    "write_owner_report",
    "write_report",
]

_HOMES = {
    "GAN": "synthesizers.gan",
    "MERF": "synthesizers.merf",
    "MST": "synthesizers.mst",
    "Adaptive": "synthesizers.adaptive",
    "BudgetError": "errors",
    "Gaussian": "synthesizers.gaussian",
    "Independent": "synthesizers.independent",
    "InputError": "errors",
    "Ledger": "privacy.ledger",
    "LedgerFile": "privacy.ledger",
    "Marginals": "synthesizers.marginals",
    "Model": "models.model",
    "OwnerWarning": "release.callbacks",
    "PerturbedHistogram": "synthesizers.perturbed_histogram",
    "PrivBayes": "synthesizers.privbayes",
    "Promise": "attacks.promise",
    "Random": "synthesizers.random",
    "Schema": "data.schema",
    "SmoothedHistogram": "synthesizers.smoothed_histogram",
    "Synthesizer": "synthesizers",
    "Table": "data.tables",
    "UnderstudyError": "errors",
    "ask": "asking.api",
    "attack": "attacks",
    "audit": "auditing",
    "chow_liu": "models.structure",
    "evaluate": "evaluation",
    "federate": "federation.ways",
    "greedy_bayes": "models.structure",
    "make_holders": "federation.in_process",
    "open_curator": "release.questions",
    "plan": "privacy.plan",
    "read_table": "data.tables",
    "report": "reports.release",
    "write_owner_report": "reports.owner",
    "write_report": "reports.release",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: ``understudy --help`` waits for nothing else."""
    if name in _HOMES:
        return getattr(import_module(f"understudy.{_HOMES[name]}"), name)
    if name[:1].isupper():  # a class, perhaps of a method that another package brings
        for method in _other_methods():
            if method.__name__ == name:
                return method
    raise AttributeError(f"module 'understudy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", *(method.__name__ for method in _other_methods())]


def _other_methods() -> list[type]:
    """The classes of methods that other packages bring."""
    registry = import_module("understudy.synthesizers.registry")
    found = {method.kind for method in registry.methods().values()}
    return [kind for kind in found if kind.__name__ not in _HOMES]
