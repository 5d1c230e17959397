"""GAN: a generator that is trained against a discriminator, which sees the rows through noise.

Two networks. The *generator* makes rows of random numbers and, where there is one, of a label. The
*discriminator* tells real rows from made-up ones; of real rows it learns by noisy sums of clipped
gradients over random samples alone (DP-SGD). The generator learns from the discriminator and never
from a row. Labels are drawn by a noisy count, which is paid for.

Columns are seen as codes, numbers included: nothing is scaled by what stands in the rows. The
columns of images (:mod:`understudy.synthesizers.image_columns`) are seen as numbers, and their
networks are the convolutional ones of :mod:`understudy.synthesizers.gan_images`, which need torch.

Before you take it, read ``docs/gans.md``: for tables it loses to all other methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.counting.row_functions import DenseGradient, Floats, RowFunction, RowInputs
from understudy.data.files import replace_content
from understudy.data.image_files import contact_sheet
from understudy.data.marginals import Marginal, describe, marginal
from understudy.data.png import write_png
from understudy.data.schema import Attribute, Category, Schema
from understudy.errors import InputError
from understudy.models.generator_rows import network_of
from understudy.models.generators import Generator, Layer
from understudy.models.model import Model
from understudy.models.network import Network, Node
from understudy.models.parameters import project_counts
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.renyi import best_order
from understudy.privacy.vectors import VectorSum
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.checkpoints import Checkpoint, State
from understudy.synthesizers.dense_networks import Adam, DenseNetwork, Outputs
from understudy.synthesizers.image_columns import ImageColumns
from understudy.synthesizers.parameters import (
    Choice,
    ColumnName,
    FileName,
    Number,
    Optional,
    WholeNumber,
    parameter,
)
from understudy.synthesizers.registry import register

COUNTS_SHARE = 0.02
"""Of the budget, for the number of rows, with each label where there is one."""

BATCH = 128
"""Made-up rows of a step: they cost nothing."""

PREVIEW_EVERY = 50

WEIGHT_BOUND = 0.1
"""Of the discriminator's weights under the Wasserstein loss."""

NEEDS_DELTA = "The method {name} adds Gaussian noise, which needs a delta above 0, such as 1e-6."


class Networks(Protocol):
    """A generator and a discriminator in training."""

    def gradient(self) -> RowFunction:
        """What is asked of the rows: the gradient of real rows' loss, at the present weights."""

    def step_discriminator(self, real: NDArray[np.float64]) -> None:
        """Move the discriminator by the noisy mean gradient of real rows, and that of made-up
        ones.
        """

    def step_generator(self) -> None:
        """Move the generator, by what the discriminator says of made-up rows."""

    def generator(self) -> Generator:
        """The generator as it stands."""

    def state(self) -> State:
        """All that training needs to go on from here."""

    def resume(self, state: State) -> None:
        """Go on from there."""


@register(
    "gan",
    summary="what a network learns of the rows through noise",
    cost="noisy sums of clipped gradients of random samples",
    curators=("central", "federated"),
)
@dataclass(frozen=True, kw_only=True)
class GAN(Synthesizer):
    """A generative adversarial network under DP-SGD.

    Parameters
    ----------
    label
        The categorical column that the generator is told; by default the last one of the table for
        images, and none for other tables.
    steps
        How often the discriminator asks for gradients. The price of all steps is booked before the
        first.
    sampling_rate
        The probability with which a row takes part in a step.
    clip
        The length to which the gradient of a row is clipped.
    loss
        "gan", or "wasserstein" with clipped weights.
    discriminator_steps
        Steps of the discriminator for each one of the generator.
    hidden
        Units in the hidden layers of both networks, or the filters of the first convolution for
        images.
    learning_rate
        Of both networks.
    preview
        Of images: a file for a contact sheet of what the generator makes, written again and again
        while it is trained.
    checkpoint
        A file that the state of training is kept in; a run that finds one goes on from there.

    See Also
    --------
    understudy.synthesizers.Synthesizer : the parameters that all methods share.
    """

    delta: float = 1e-6
    refinement: float = 0.0
    label: str | None = parameter(
        None, Optional(ColumnName()), "The categorical column that the generator is told."
    )
    steps: int = parameter(1000, WholeNumber(1, 1_000_000), "Steps of the discriminator.")
    sampling_rate: float = parameter(
        0.02, Number(above=0, high=1), "The probability with which a row is in a step."
    )
    clip: float = parameter(1.0, Number(above=0), "The length that gradients are clipped to.")
    loss: str = parameter("gan", Choice("gan", "wasserstein"), "What the networks play for.")
    discriminator_steps: int = parameter(
        5, WholeNumber(1), "Steps of the discriminator for each of the generator."
    )
    hidden: int = parameter(64, WholeNumber(1, 4096), "Units of hidden layers.")
    learning_rate: float = parameter(0.001, Number(above=0, high=1), "Of both networks.")
    preview: str | None = parameter(
        None, Optional(FileName()), "With images: a contact sheet (PNG), kept up to date."
    )
    checkpoint: str | None = parameter(
        None, Optional(FileName()), "A file that the state of training is kept in."
    )

    audit_rows: ClassVar[int | None] = 40

    def check_parameters(self) -> None:
        """Gaussian noise needs a delta; samples protect one row that comes or goes."""
        check_noisy_sums(self)

    @property
    def renyi_order(self) -> int | None:
        """The order at which the steps need the least noise."""
        share = 1 - COUNTS_SHARE
        return best_order(self.epsilon, self.delta, self.sampling_rate, self.steps, share)

    def journal(self) -> Checkpoint | None:
        """The state of training."""
        if self.checkpoint is None:
            return None
        return Checkpoint.open(self.checkpoint, self.parameters())

    @property
    def named(self) -> frozenset[str]:
        """The label."""
        if self.label is None:
            return frozenset()
        return frozenset([self.label])

    def check(self, schema: Schema) -> None:
        """Rules about rows cannot be kept; a label must be a category."""
        check_generated(self.name, self.label, schema)
        if ImageColumns.of(schema) is not None:
            from understudy.synthesizers.gan_images import require_torch

            require_torch()

    def learn(self, curator: Curator, budget: Budget, progress: Progress) -> Model:
        """Count, pay for all steps, train."""
        schema = curator.schema
        self.check(schema)  # where the domain was discovered this is the first time
        columns = Columns.of(schema, self.label)
        counts, training = budget.split(COUNTS_SHARE, 1 - COUNTS_SHARE)
        checkpoint = Checkpoint.open(self.checkpoint, self.parameters())
        progress("counting", 0, 1)
        label, rows = count_labels(curator, columns.label, counts, checkpoint)
        networks = self._start(schema, columns, label)
        self._train(curator, networks, training, rows, checkpoint, progress)
        generator = networks.generator()
        network = complete_network(network_of(generator, schema, label, rows), schema, rows)
        return Model(
            self.parameters(), schema, network, curator.ledger, round(rows), generator=generator
        )

    def _train(
        self,
        curator: Curator,
        networks: Networks,
        budget: Budget,
        rows: float,
        checkpoint: Checkpoint,
        progress: Progress,
    ) -> None:
        """Pay for all steps, then take them."""
        if checkpoint.state is not None:
            networks.resume(checkpoint.state)
        asked = VectorSum(
            function=networks.gradient(),
            budget=budget.equally(self.steps)[0],
            clip=self.clip,
            rate=self.sampling_rate,
        )
        curator.prepay(asked, self.steps)
        curator.forfeit(asked, checkpoint.claimed)
        batch = max(rows * float(asked.exact_rate), 1.0)
        step = checkpoint.claimed
        try:
            for step in range(checkpoint.claimed, self.steps):
                checkpoint.claim(step, self.steps, networks.state)
                progress("training", step, self.steps)
                answer = curator.answer(replace(asked, function=networks.gradient()))
                networks.step_discriminator(answer.values / batch)
                if (step + 1) % self.discriminator_steps == 0:
                    networks.step_generator()
                if self.preview is not None and step % PREVIEW_EVERY == 0:
                    write_preview(self.preview, networks.generator(), curator.schema)
        except KeyboardInterrupt:
            # What was asked in this step may be lost: it counts as asked all the same.
            checkpoint.stop(step + 1, networks.state)
            raise
        checkpoint.finish()
        progress("training", self.steps, self.steps)

    def parameters(self) -> dict[str, Any]:
        """Name and parameters; which files were kept is nobody's business."""
        told = super().parameters()
        return {name: told[name] for name in told if name not in ("checkpoint", "preview")}

    def _start(self, schema: Schema, columns: Columns, label: Node | None) -> Networks:
        if ImageColumns.of(schema) is not None:
            from understudy.synthesizers.gan_images import ImageNetworks

            return ImageNetworks(self, schema, columns, label)
        return DenseNetworks(self, schema, columns, label)

    @classmethod
    def audit_settings(cls, audited: AuditedGuarantee) -> dict[str, Synthesizer]:
        """A few steps over all rows, and over samples."""
        plain = cls(
            epsilon=audited.epsilon, delta=audited.delta, steps=3, hidden=4, sampling_rate=1.0
        )
        return {
            f"{cls.name}, {audited.delta_name}": plain,
            f"{cls.name}, sampled, {audited.delta_name}": replace(plain, sampling_rate=0.5),
        }


# --------------------------------------------------------------------------- what is shared


def write_preview(path: str, generator: Generator, schema: Schema) -> None:
    """A contact sheet of what a generator makes by now: post-processing of what was paid for."""
    from understudy.synthesizers.image_tables import preview_of

    images = preview_of(generator, schema)
    if images is not None:
        replace_content(Path(path), write_png(contact_sheet(images)))


def check_noisy_sums(method: Synthesizer) -> None:
    """Refuse what sums of clipped vectors cannot promise."""
    if not method.delta:
        raise InputError(NEEDS_DELTA.format(name=method.name))
    if method.neighbours != "add_remove" or method.max_rows_per_person > 1:
        raise InputError(
            f"The method {method.name} protects one row that is added or removed: neighbours "
            "add_remove, and one row per person."
        )


def check_generated(name: str, label: str | None, schema: Schema) -> None:
    """Refuse a schema that a generator cannot serve."""
    if schema.constraints is not None:
        raise InputError(
            f"The method {name} cannot keep constraints; remove them from the schema or choose "
            "another method."
        )
    if label is not None and not isinstance(schema[label], Category):
        raise InputError(
            f"The label {label!r} is of kind {schema[label].kind}; it must be categorical or "
            "boolean."
        )
    if not any(attribute.size > 1 and attribute.name != label for attribute in schema.modelled):
        raise InputError(f"The method {name} needs a column that can vary beside the label.")


@dataclass(frozen=True, kw_only=True)
class Columns:
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
    def of(cls, schema: Schema, label: str | None) -> Columns:
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

    def outputs(self, schema: Schema) -> Outputs:
        """What the generator gives."""
        sizes = tuple(schema[name].size for name in self.coded)
        return Outputs(scaled=len(self.inputs.scaled), sizes=sizes)


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


def dense_generator(columns: Columns, network: DenseNetwork) -> Generator:
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


class DenseNetworks:
    """Dense networks for tables, on NumPy."""

    def __init__(self, method: GAN, schema: Schema, columns: Columns, label: Node | None) -> None:
        self._method, self._columns = method, columns
        self._rng = np.random.default_rng(0)
        self._outputs = columns.outputs(schema)
        self._labels: NDArray[np.float64] | None = None
        told = 0
        if label is not None:
            self._labels, told = label.table.ravel() / label.table.sum(), label.table.size
        hidden = method.hidden
        self._latent = max(hidden // 2, 1)
        sizes = (self._latent + told, hidden, hidden, self._outputs.width)
        self._maker = DenseNetwork.start(sizes, self._rng)
        self._judge = DenseNetwork.start((self._outputs.width + told, hidden, hidden, 1), self._rng)
        self._of_maker = Adam(rate=method.learning_rate)
        self._of_judge = Adam(rate=method.learning_rate)

    def gradient(self) -> RowFunction:
        """The gradient of real rows' loss, at the present weights."""
        return DenseGradient(
            inputs=self._columns.inputs,
            weights=[part.copy() for part in self._judge.weights],
            biases=[part.copy() for part in self._judge.biases],
            loss="wasserstein" if self._method.loss == "wasserstein" else "gan",
        )

    def _make(self) -> tuple[list[Floats], Floats, Floats]:
        """Made-up rows: what the generator saw on its way, the rows, and the rows with labels."""
        latent = self._rng.standard_normal((BATCH, self._latent)).astype(np.float32)
        told = np.zeros((BATCH, 0), dtype=np.float32)
        if self._labels is not None:
            codes = self._rng.choice(len(self._labels), BATCH, p=self._labels)
            told = np.eye(len(self._labels), dtype=np.float32)[codes]
        seen = self._maker.forward(np.concatenate([latent, told], axis=1))
        made = self._outputs.soften(seen[-1], self._rng)
        return seen, made, np.concatenate([made, told], axis=1)

    def step_discriminator(self, real: NDArray[np.float64]) -> None:
        """A step by the noisy mean gradient of real rows, and that of made-up ones."""
        _, _, rows = self._make()
        seen = self._judge.forward(rows)
        slope = np.full_like(seen[-1], 1 / BATCH)
        if self._method.loss == "gan":
            slope = slope * sigmoid(seen[-1])
        of_made, _ = self._judge.backward(seen, slope)
        of_real = self._judge.split(real)
        total = [one + other for one, other in zip(of_real, of_made, strict=True)]
        self._of_judge.step(self._judge.parameters, total)
        if self._method.loss == "wasserstein":
            for part in self._judge.parameters:
                np.clip(part, -WEIGHT_BOUND, WEIGHT_BOUND, out=part)

    def step_generator(self) -> None:
        """A step towards rows that the discriminator takes for real."""
        seen, made, rows = self._make()
        judged = self._judge.forward(rows)
        slope = np.full_like(judged[-1], -1 / BATCH)
        if self._method.loss == "gan":
            slope = slope * sigmoid(-judged[-1])
        _, of_rows = self._judge.backward(judged, slope)
        raw = self._outputs.backward(made, of_rows[:, : made.shape[1]])
        gradients, _ = self._maker.backward(seen, raw)
        self._of_maker.step(self._maker.parameters, gradients)

    def generator(self) -> Generator:
        """The generator as it stands."""
        return dense_generator(self._columns, self._maker)

    def state(self) -> State:
        """Weights, and what the optimisers remember."""
        found = {}
        for name, network, adam in self._parts():
            for place, part in enumerate(network.parameters):
                found[f"{name}.{place}"] = part
            for place, (mean, square) in enumerate(zip(adam.means, adam.squares, strict=True)):
                found[f"{name}.mean.{place}"], found[f"{name}.square.{place}"] = mean, square
            found[f"{name}.steps"] = np.array([adam.steps + 1], dtype=np.float32)
        return found

    def resume(self, state: State) -> None:
        """Go on from a state; the random numbers of training begin again."""
        for name, network, adam in self._parts():
            for place, part in enumerate(network.parameters):
                part[...] = state[f"{name}.{place}"]
            adam.steps = int(state[f"{name}.steps"][0]) - 1
            places = range(len(network.parameters))
            if f"{name}.mean.0" in state:
                adam.means = [state[f"{name}.mean.{place}"].copy() for place in places]
                adam.squares = [state[f"{name}.square.{place}"].copy() for place in places]
            self._rng = np.random.default_rng(adam.steps)

    def _parts(self) -> Iterator[tuple[str, DenseNetwork, Adam]]:
        yield "generator", self._maker, self._of_maker
        yield "discriminator", self._judge, self._of_judge


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + exp(-value))."""
    return (1 / (1 + np.exp(-np.clip(values, -80, 80)))).astype(np.float32)
