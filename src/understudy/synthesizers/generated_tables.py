"""What methods with a generator share: which columns it makes, the label that it is told, and the
model that holds it.

Labels are drawn by a noisy count, which is paid for. Columns are seen as codes, numbers included:
nothing is scaled by what stands in the rows. The columns of images
(:mod:`understudy.synthesizers.image_columns`) are seen as numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.counting.row_functions import RowInputs, Singles
from understudy.data.marginals import Marginal, describe, marginal
from understudy.data.schema import Attribute, Category, Schema
from understudy.errors import InputError
from understudy.models.generator_rows import network_of
from understudy.models.generators import Generator, Layer
from understudy.models.model import Model
from understudy.models.network import Network, Node
from understudy.models.parameters import project_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.release.callbacks import Progress
from understudy.synthesizers import Synthesizer
from understudy.synthesizers.checkpoints import Checkpoint
from understudy.synthesizers.dense_networks import DenseNetwork, OutputLayer
from understudy.synthesizers.image_columns import ImageColumns
from understudy.synthesizers.parameters import ColumnName, Optional, parameter

COUNTS_SHARE = 0.02
"""Of the budget, for the number of rows, with each label where there is one."""

NEEDS_DELTA = "The method {name} adds Gaussian noise, which needs a delta above 0, such as 1e-6."


@dataclass(frozen=True, kw_only=True)
class GeneratorSynthesizer(Synthesizer):
    """A method whose model is a generator of rows, learned from noisy sums of clipped vectors.

    Parameters
    ----------
    label
        The categorical column that the generator is told; by default the last one of the table for
        images, and none for other tables.
    """

    delta: float = 1e-6
    refinement: float = 0.0
    label: str | None = parameter(
        None, Optional(ColumnName()), "The categorical column that the generator is told."
    )

    audit_rows: ClassVar[int | None] = 40

    def check_parameters(self) -> None:
        """Gaussian noise needs a delta; samples protect one row that comes or goes."""
        if not self.delta:
            raise InputError(NEEDS_DELTA.format(name=self.name))
        if self.neighbours != "add_remove" or self.max_rows_per_person > 1:
            raise InputError(
                f"The method {self.name} protects one row that is added or removed: neighbours "
                "add_remove, and one row per person."
            )

    @property
    def named(self) -> frozenset[str]:
        """The label."""
        if self.label is None:
            return frozenset()
        return frozenset([self.label])

    def check(self, schema: Schema) -> None:
        """Rules about rows cannot be kept; a label must be a category."""
        if schema.constraints is not None:
            raise InputError(
                f"The method {self.name} cannot keep constraints; remove them from the schema or "
                "choose another method."
            )
        label = self.label
        if label is not None and not isinstance(schema[label], Category):
            raise InputError(
                f"The label {label!r} is of kind {schema[label].kind}; it must be categorical or "
                "boolean."
            )
        if not any(one.size > 1 and one.name != label for one in schema.modelled):
            raise InputError(
                f"The method {self.name} needs a column that can vary beside the label."
            )

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Count, then train a generator; the model holds it, and a network of its rows."""
        schema = curator.schema
        self.check(schema)  # where the domain was discovered this is the first time
        columns = GeneratedColumns.of(schema, self.label)
        counts, training = budget.split(COUNTS_SHARE, 1 - COUNTS_SHARE)
        checkpoint = self.open_checkpoint(curator)
        progress("counting", 0, 1)
        label, rows = count_labels(curator, columns.label, counts, checkpoint)
        asked = TrainingTask(columns=columns, label=label, rows=rows, checkpoint=checkpoint)
        generator = self.train(curator, training, asked, progress)
        network = complete_network(network_of(generator, schema, label, rows), schema, rows)
        return Model(
            self.parameters(), schema, network, curator.ledger, round(rows), generator=generator
        )

    def open_checkpoint(self, curator: Curator) -> Checkpoint:
        """The state of training; none is kept unless a method can go on."""
        return Checkpoint()

    @abstractmethod
    def train(
        self, curator: Curator, budget: Budget, task: TrainingTask, progress: Progress
    ) -> Generator:
        """A generator, for the budget that is left."""


@dataclass(frozen=True, kw_only=True)
class TrainingTask:
    """What a generator is trained for.

    Parameters
    ----------
    columns
        What it makes.
    label
        The label with its noisy counts, where there is one.
    rows
        The noisy number of rows.
    checkpoint
        Where the state of training is kept.
    """

    columns: GeneratedColumns
    label: Node | None
    rows: float
    checkpoint: Checkpoint

    @property
    def label_shares(self) -> NDArray[np.float64]:
        """The probability of each label; a single 1 where there is none."""
        if self.label is None:
            return np.ones(1)
        shares: NDArray[np.float64] = self.label.table.ravel() / self.label.table.sum()
        return shares

    def draw_labels(self, count: int, rng: np.random.Generator) -> Singles:
        """Labels with a 1 at their code, a line each."""
        codes = rng.choice(len(self.label_shares), count, p=self.label_shares)
        drawn = np.eye(len(self.label_shares), dtype=np.float32)[codes]
        return drawn[:, : self.label_size]

    @property
    def label_size(self) -> int:
        """How many values the label has; 0 where there is none."""
        if self.label is None:
            return 0
        return int(self.label.table.size)


@dataclass(frozen=True, kw_only=True)
class GeneratedColumns:
    """What a generator makes, and what it is told.

    Parameters
    ----------
    inputs
        The columns that it makes, and the label as the last of those that are coded.
    label
        The label, if there is one.
    """

    inputs: RowInputs
    label: Category | None

    @classmethod
    def of(cls, schema: Schema, label: str | None) -> GeneratedColumns:
        """Pixels as numbers, all else as codes."""
        image = ImageColumns.of(schema)
        told: Attribute | None = None
        if label is not None:
            told = schema[label]
        elif image is not None:
            categories = [one for one in schema.modelled if isinstance(one, Category)]
            told = next((one for one in reversed(categories) if one.size > 1), None)
        scaled: tuple[str, ...] = ()
        if image is not None:
            scaled = image.names
        coded = [
            one.name
            for one in schema.modelled
            if one.size > 1 and one.name not in scaled and one is not told
        ]
        if told is None:
            return cls(inputs=RowInputs(scaled=scaled, coded=tuple(coded)), label=None)
        assert isinstance(told, Category)
        return cls(inputs=RowInputs(scaled=scaled, coded=(*coded, told.name)), label=told)

    @property
    def coded(self) -> tuple[str, ...]:
        """The columns that are made as codes."""
        if self.label is None:
            return self.inputs.coded
        return self.inputs.coded[:-1]

    def outputs(self, schema: Schema) -> OutputLayer:
        """What the generator gives."""
        sizes = tuple(schema[name].size for name in self.coded)
        return OutputLayer(scaled=len(self.inputs.scaled), sizes=sizes)


def count_labels(
    curator: Curator, label: Category | None, budget: Budget, checkpoint: Checkpoint
) -> tuple[Node | None, float]:
    """The noisy number of rows with each label, and of all rows.

    A run that goes on has counted before: it books the same price, and asks nothing.
    """
    axes: Marginal = ()
    if label is not None:
        axes = marginal(label.name)
    if checkpoint.counts is None:
        checkpoint.claim_counts()
        [counted] = curator.measure([axes], budget)
        checkpoint.counts = counted.counts.astype(np.float64)
        checkpoint.deviation = counted.deviation
        checkpoint.write()
    else:
        curator.ledger.debit(
            f"table of {describe(axes)}", budget, "discrete Gaussian, as it was answered before"
        )
    counts = checkpoint.counts
    rows = max(float(counts.sum()), 1.0)
    if label is None:
        return None, rows
    return Node(label.name, (), project_counts(counts, rows).ravel(), checkpoint.deviation), rows


def complete_network(network: Network, schema: Schema, rows: float) -> Network:
    """The network, with what has one value only."""
    known = {node.attribute for node in network}
    constant = [
        Node(attribute.name, (), np.full(attribute.size, rows / attribute.size))
        for attribute in schema.modelled
        if attribute.name not in known
    ]
    return Network((*network.nodes, *constant))


def dense_generator(columns: GeneratedColumns, network: DenseNetwork) -> Generator:
    """A trained network as a model holds it."""
    layers = network.layers()
    if columns.inputs.scaled and not columns.coded:
        layers = (*layers, Layer(kind="tanh"))
    label = None
    if columns.label is not None:
        label = columns.label.name
    told = 0
    if columns.label is not None:
        told = columns.label.size
    return Generator(
        scaled=columns.inputs.scaled,
        coded=columns.coded,
        label=label,
        latent=network.weights[0].shape[0] - told,
        layers=layers,
    )
