r"""How close is a synthetic table to the real one? For the owner's eyes: it reads private rows.

>>> from understudy.evaluation import evaluate
>>> found = evaluate("patients.csv", "synthetic.csv", target="smoker")  # doctest: +SKIP
>>> print(*(finding.sentence for finding in found.findings), sep="\n")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.data.frames import Frame
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.evaluation.marginals import MAX_MARGINALS
from understudy.evaluation.result import Evaluation
from understudy.release.callbacks import OutsideNote, Progress, no_progress

if TYPE_CHECKING:
    from understudy.models.model import Model

__all__ = ["Evaluation", "evaluate"]

ORDERS = (1, 2, 3)
"""Of how many attributes marginals are compared, where nothing else is said."""


def evaluate(
    real: Frame,
    synthetic: Frame,
    schema: Schema | str | Path | None = None,
    *,
    target: str | Sequence[str] | None = None,
    learners: str | Sequence[str] = "fast",
    orders: Sequence[int] | None = None,
    max_marginals: int | None = MAX_MARGINALS,
    seed: int = 0,
    model: Model | None = None,
    progress: Progress = no_progress,
) -> Evaluation:
    """Compare a synthetic table with the real one.

    Nothing here is private: what it returns is computed from the real rows and is for their owner.

    Parameters
    ----------
    real, synthetic
        Tables, pandas or polars frames, Arrow tables or file names. A column that the synthetic
        table lacks, or in which it has no real value, counts as lost.
    schema
        What the columns are, or the file that says so: which are identifiers and text, and how
        cells are read. Whatever it says, distances are measured on the original values of the real
        table, not inside the schema's domain; what that has no place for is told, and counts as
        error.
    target
        The column, or columns, that should be learned from the others; by default none.
    learners
        What to learn a categorical target with: "fast", "thesis" (twelve classifiers), "all", or
        names out of :data:`understudy.evaluation.classifiers.CLASSIFIERS`. A numeric target is
        learned by linear regression.
    orders
        Of how many attributes marginals are compared; by default 1, 2 and 3, as far as there are
        columns.
    max_marginals
        The most marginals of an order that are compared, a uniform sample where there are more;
        ``None`` for all.
    seed
        Makes samples, splits and learners repeatable.
    model
        The model that the synthetic rows were drawn from, to judge its network.
    progress
        Called with what is being done, how many steps are done and how many there are.
    """
    from understudy.evaluation.classifiers import choose_classifiers, one_thread
    from understudy.evaluation.clustering import clustering
    from understudy.evaluation.columns import column_comparisons, missing_rows
    from understudy.evaluation.domains import shares_outside, values_outside
    from understudy.evaluation.findings import with_findings
    from understudy.evaluation.inference import agreements
    from understudy.evaluation.learning import check_target, learning_task
    from understudy.evaluation.marginals import marginals_by_order
    from understudy.evaluation.network import network_quality
    from understudy.evaluation.original import compare_originals
    from understudy.evaluation.pairs import pairs
    from understudy.evaluation.propensity import propensity
    from understudy.evaluation.ranges import range_errors
    from understudy.evaluation.result import TableShapes
    from understudy.evaluation.rules import find_rules

    if any(find_spec(module) is None for module in ("scipy", "sklearn", "xgboost")):
        raise InputError(
            "An evaluation needs more packages; install them by `pip install "
            '"understudy[evaluation]"`.'
        )
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    names = choose_classifiers(learners)
    if isinstance(target, str):
        targets = [target]
    else:
        targets = list(target or ())

    steps = 7 + len(ORDERS if orders is None else orders) + len(targets)
    done = 0

    def step(what: str) -> None:
        nonlocal done
        progress(what, done, steps)
        done += 1

    def notify(column: str, learner: str) -> None:
        progress(f"learning {column} by {learner}", done - 1, steps)

    step("reading the tables")
    known = None
    if model is not None:
        known = model.schema
    tables = compare_originals(real, synthetic, schema, known)
    domain = schema or known
    outside = [values_outside(side.table, domain) if domain else () for side in tables]
    shares = [shares_outside(found, side.rows) for found, side in zip(outside, tables, strict=True)]
    if orders is None:
        orders = [order for order in ORDERS if order <= len(tables.schema)]
    for order in orders:
        if not 1 <= order <= len(tables.schema):
            raise InputError(
                f"There are no tables of {order} columns out of {len(tables.schema)}; choose "
                "others."
            )
    for name in targets:
        check_target(tables, name)
    step("comparing columns")
    columns = column_comparisons(tables, domain, shares[0])
    marginals = []
    for order in orders:
        step(f"comparing {order}-way marginals")
        marginals.append(marginals_by_order(tables, order, max_marginals, seed))
    step("asking range queries")
    ranges = range_errors(tables, seed=seed)
    step("comparing pairs")
    together = pairs(tables)
    step("looking for rules")
    rules = find_rules(tables, seed=seed)
    tests = agreements(tables, seed=seed)
    network = None
    if model is not None:
        network = network_quality(tables, model)
    tasks = []
    with one_thread():
        for name in targets:
            step(f"learning {name}")
            tasks.append(learning_task(tables, name, names, seed, partial(notify, name)))
        step("clustering")
        clusters = clustering(tables, seed=seed)
        step("telling real from synthetic")
        told_apart = propensity(tables, seed=seed)
    progress("done", steps, steps)

    shape = TableShapes(
        tables.real.table.source,
        tables.synthetic.table.source,
        tables.real.rows,
        tables.synthetic.rows,
        tables.schema.names,
        tables.left_out,
        tuple(
            OutsideNote(one, side.table.source)
            for side, found in zip(tables, outside, strict=True)
            for one in found
        ),
        shares[0],
        shares[1],
        tables.replaced,
        tables.own_values,
    )
    found = Evaluation(
        shape,
        tuple(marginals),
        ranges,
        columns,
        together,
        tuple(tasks),
        clusters,
        tests,
        told_apart,
        network,
        (),
        seed,
        missing_rows(tables),
        rules,
    )
    return with_findings(found)
