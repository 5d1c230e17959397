"""Understudy: differentially private synthetic tables.

>>> from understudy import Independent, Schema
>>> model = Independent(epsilon=1.0).fit("patients.csv", "schema.json")   # doctest: +SKIP
>>> model.sample(1000).write("synthetic.csv")                             # doctest: +SKIP
"""

from understudy.curator.ledger import Ledger, LedgerFile
from understudy.errors import BudgetError, InputError, UnderstudyError
from understudy.model import Model
from understudy.schema import Schema
from understudy.synthesizers import OwnerWarning, Synthesizer
from understudy.synthesizers.independent import Independent
from understudy.synthesizers.random import Random
from understudy.tables import Table, read_table

__version__ = "0.1.0"

__all__ = [
    "BudgetError",
    "Independent",
    "InputError",
    "Ledger",
    "LedgerFile",
    "Model",
    "OwnerWarning",
    "Random",
    "Schema",
    "Synthesizer",
    "Table",
    "UnderstudyError",
    "read_table",
]
