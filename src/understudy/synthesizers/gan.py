"""GAN: a generator that is trained against a discriminator, which sees the rows through noise.

Two networks. The *generator* makes rows of random numbers and, where there is one, of a label. The
*discriminator* tells real rows from made-up ones; of real rows it learns by noisy sums of clipped
gradients over random samples alone (DP-SGD). The generator learns from the discriminator and never
from a row. Labels are drawn by a noisy count, which is paid for.

Columns are seen as codes, numbers included: nothing is scaled by what stands in the rows. The
columns of images (:mod:`understudy.synthesizers.image_columns`) are seen as numbers, and their
networks are the convolutional ones of :mod:`understudy.synthesizers.gan_images`, which need torch;
those of tables are in :mod:`understudy.synthesizers.gan_tables`.

Before you take it, read ``docs/gans.md``: for tables it loses to all other methods.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.counting.row_functions import RowFunction
from understudy.data.files import replace_content
from understudy.data.image_files import contact_sheet
from understudy.data.png import write_png
from understudy.data.schema import Schema
from understudy.models.generators import Generator
from understudy.privacy.budget import Budget
from understudy.privacy.curator import Curator
from understudy.privacy.renyi import best_order
from understudy.privacy.vectors import VectorSum
from understudy.release.callbacks import Progress
from understudy.synthesizers import AuditedGuarantee, Synthesizer
from understudy.synthesizers.checkpoints import Checkpoint, NetworkState
from understudy.synthesizers.gan_tables import DenseNetworks
from understudy.synthesizers.generated_tables import (
    COUNTS_SHARE,
    GeneratorSynthesizer,
    TrainingTask,
)
from understudy.synthesizers.image_columns import ImageColumns
from understudy.synthesizers.parameters import (
    Choice,
    FileName,
    Optional,
    RealNumber,
    WholeNumber,
    parameter,
)
from understudy.synthesizers.registry import register

PREVIEW_EVERY = 50


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

    def state(self) -> NetworkState:
        """All that training needs to go on from here."""

    def resume(self, state: NetworkState) -> None:
        """Go on from there."""


@register(
    "gan",
    summary="what a network learns of the rows through noise",
    cost="noisy sums of clipped gradients of random samples",
    curators=("central", "federated"),
)
@dataclass(frozen=True, kw_only=True)
class GAN(GeneratorSynthesizer):
    """A generative adversarial network under DP-SGD.

    Parameters
    ----------
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
    understudy.synthesizers.generated_tables.GeneratorSynthesizer : the label.
    understudy.synthesizers.Synthesizer : the parameters that all methods share.
    """

    steps: int = parameter(1000, WholeNumber(1, 1_000_000), "Steps of the discriminator.")
    sampling_rate: float = parameter(
        0.02, RealNumber(above=0, high=1), "The probability with which a row is in a step."
    )
    clip: float = parameter(1.0, RealNumber(above=0), "The length that gradients are clipped to.")
    loss: str = parameter("gan", Choice("gan", "wasserstein"), "What the networks play for.")
    discriminator_steps: int = parameter(
        5, WholeNumber(1), "Steps of the discriminator for each of the generator."
    )
    hidden: int = parameter(64, WholeNumber(1, 4096), "Units of hidden layers.")
    learning_rate: float = parameter(0.001, RealNumber(above=0, high=1), "Of both networks.")
    preview: str | None = parameter(
        None, Optional(FileName()), "With images: a contact sheet (PNG), kept up to date."
    )
    checkpoint: str | None = parameter(
        None, Optional(FileName()), "A file that the state of training is kept in."
    )

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

    def open_checkpoint(self, curator: Curator) -> Checkpoint:
        """The state of training, and the owner's books that know the newest."""
        return Checkpoint.open(self.checkpoint, self.parameters(), curator.ledger.claims)

    def check(self, schema: Schema) -> None:
        """Networks for images need torch."""
        super().check(schema)
        if ImageColumns.of(schema) is not None:
            from understudy.synthesizers.gan_images import require_torch

            require_torch()

    def train(
        self, curator: Curator, budget: Budget, task: TrainingTask, progress: Progress
    ) -> Generator:
        """Pay for all steps, then take them."""
        checkpoint = task.checkpoint
        networks = self._start(curator.schema, task)
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
        batch = max(task.rows * float(asked.exact_rate), 1.0)
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
        return networks.generator()

    def parameters(self) -> dict[str, Any]:
        """Name and parameters; which files were kept is nobody's business."""
        told = super().parameters()
        return {name: told[name] for name in told if name not in ("checkpoint", "preview")}

    def _start(self, schema: Schema, task: TrainingTask) -> Networks:
        if ImageColumns.of(schema) is not None:
            from understudy.synthesizers.gan_images import ImageNetworks

            return ImageNetworks(self, schema, task)
        return DenseNetworks(self, schema, task)

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


def write_preview(path: str, generator: Generator, schema: Schema) -> None:
    """A contact sheet of what a generator makes by now: post-processing of what was paid for."""
    from understudy.synthesizers.image_tables import preview_of

    images = preview_of(generator, schema)
    if images is not None:
        replace_content(Path(path), write_png(contact_sheet(images)))
