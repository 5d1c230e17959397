"""The networks of a DCGAN for images, on torch.

Layer by layer those of a thesis (Zacharioudakis 2020, section 5.3). Discriminator: convolution 5 x
5, step 2, 64 filters; leaky rectifier; dropout 0.3; convolution 5 x 5, step 2, 128 filters; leaky
rectifier; dropout 0.3; dense, 1 unit, and one more for each label. Generator: dense, 7 x 7 x 256
units; batch normalisation; leaky rectifier; transposed convolutions 5 x 5 of 128 filters with step
1 and 64 with step 2, each with batch normalisation and leaky rectifier; one of 1 filter with step
2; tanh. The parameter ``hidden`` is the 64; the others are in proportion. The generator is told the
label beside its random numbers. In the end it has the moving average of its weights, which costs
nothing and is better than the last ones.

The discriminator has no batch normalisation, and its steps are those of
:class:`understudy.counting.convolutions.ConvolutionGradient`. The generator sees made-up images
only, so batch normalisation is harmless there; once trained it is a factor and a summand.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.counting.convolutions import KERNEL, PADDING, ConvolutionGradient, load_torch
from understudy.counting.row_functions import SLOPE, Loss, RowFunction
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.models.generators import Generator, Layer
from understudy.synthesizers.checkpoints import NetworkState
from understudy.synthesizers.gan_tables import WEIGHT_BOUND
from understudy.synthesizers.generated_tables import TrainingTask
from understudy.synthesizers.image_columns import ImageColumns

if TYPE_CHECKING:
    from understudy.synthesizers.gan import GAN

IMAGE_LATENT_SIZE = 100
DROPOUT = 0.3
IMAGES_PER_STEP = 64
"""Made-up images of a step."""

LABEL_WEIGHT = 2.0
"""How much more the generator's first weights of a label are at the start than those of a random
number, of which there are many.
"""

AVERAGING = 0.99
"""What the moving average of the generator's weights keeps of itself at a step."""


def require_torch() -> None:
    """Refuse to begin where torch is not installed."""
    load_torch()


class ImageNetworks:
    """Convolutional networks for images."""

    def __init__(self, method: GAN, schema: Schema, task: TrainingTask) -> None:
        self._torch = torch = load_torch()
        size = ImageColumns.of(schema)
        assert size is not None
        if size.height % 4 or size.width % 4:
            raise InputError(
                f"The networks need images whose sides are multiples of 4, not {size.height} x "
                f"{size.width}; crop or pad them."
            )
        if task.columns.coded:
            raise InputError(
                f"Images go with one label; {task.columns.coded[0]!r} is one more column. Drop it."
            )
        self._method, self._columns, self._size = method, task.columns, size
        self._random = torch.Generator().manual_seed(0)
        self._labels = torch.tensor(task.label_shares)
        self._told = told = task.label_size
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self._maker = _generator(torch, method.hidden, size, IMAGE_LATENT_SIZE + told)
        with torch.no_grad():
            self._maker[0].weight[:, IMAGE_LATENT_SIZE:] *= LABEL_WEIGHT
        self._average = copy.deepcopy(self._maker)
        self._averaged = 0
        self._judge = self._start_judge(method.hidden, told)
        rate, moments = method.learning_rate, (0.5, 0.9)
        self._of_maker = torch.optim.Adam(self._maker.parameters(), rate, betas=moments)
        self._of_judge = torch.optim.Adam(list(self._judge.values()), rate, betas=moments)

    def _start_judge(self, filters: int, told: int) -> dict[str, Any]:
        """Random weights, in the order of their names."""
        torch, square = self._torch, KERNEL**2
        pixels = (self._size.height // 4) * (self._size.width // 4)
        shapes = {
            "first": (filters, square),
            "first_bias": (filters,),
            "second": (2 * filters, filters * square),
            "second_bias": (2 * filters,),
            "dense": (1 + told, 2 * filters * pixels),
            "dense_bias": (1 + told,),
        }
        found = {}
        for name, shape in shapes.items():
            scale = 0.0
            if not name.endswith("bias"):
                scale = (1.0 / shape[-1]) ** 0.5
            found[name] = torch.randn(shape, generator=self._random) * scale
        return found

    def gradient(self, *, real: bool = True) -> RowFunction:
        """The gradient of real or made-up images' loss, at the present weights and with new
        dropout.
        """
        loss: Loss = "gan"
        if self._method.loss == "wasserstein":
            loss = "wasserstein"
        first, second = self._masks()
        return ConvolutionGradient(
            inputs=self._columns.inputs,
            height=self._size.height,
            width_in_pixels=self._size.width,
            parameters={name: part.numpy().copy() for name, part in self._judge.items()},
            masks=(first.numpy(), second.numpy()),
            loss=loss,
            real=real,
        )

    def _masks(self) -> tuple[Any, Any]:
        torch, size = self._torch, self._size
        units = [
            (len(self._judge["first"]), (size.height // 2) * (size.width // 2)),
            (len(self._judge["second"]), (size.height // 4) * (size.width // 4)),
        ]
        kept = [torch.rand(shape, generator=self._random) >= DROPOUT for shape in units]
        first, second = (mask.float() / (1 - DROPOUT) for mask in kept)
        return first, second

    def _draw(self) -> tuple[Any, Any]:
        """Random numbers, and labels with a 1 at their code."""
        torch = self._torch
        latent = torch.randn((IMAGES_PER_STEP, IMAGE_LATENT_SIZE), generator=self._random)
        codes = torch.multinomial(
            self._labels, IMAGES_PER_STEP, replacement=True, generator=self._random
        )
        told = torch.eye(len(self._labels))[codes, : self._told]
        return torch.cat([latent, told], dim=1), told

    def _judge_images(self, images: Any, told: Any, masks: tuple[Any, Any]) -> Any:
        """What the discriminator says of images."""
        functional, given = self._torch.nn.functional, self._judge
        seen = images
        for name, mask in zip(("first", "second"), masks, strict=True):
            weights = given[name].reshape(len(given[name]), -1, KERNEL, KERNEL)
            seen = functional.conv2d(
                seen, weights, given[f"{name}_bias"], stride=2, padding=PADDING
            )
            seen = functional.leaky_relu(seen, SLOPE)
            seen = seen * mask.reshape(-1, len(weights), *seen.shape[2:])
        return self._sum_up(seen, told)

    def _sum_up(self, seen: Any, told: Any) -> Any:
        """The unit of all images, and that of the label."""
        units = seen.flatten(1) @ self._judge["dense"].T + self._judge["dense_bias"]
        return units[:, 0] + (units[:, 1:] * told).sum(1)

    def _loss_of(self, output: Any) -> Any:
        """The mean loss of what should be low."""
        if self._method.loss == "gan":
            return self._torch.nn.functional.softplus(output).mean()
        return output.mean()

    def mean_gradient(self, images: Any, told: Any, sign: int = -1) -> NDArray[np.float64]:
        """The mean gradient of images' loss: of real ones (sign -1), or of made-up ones (sign 1).
        Of private images it protects nobody.
        """
        torch = self._torch
        parts = list(self._judge.values())
        for part in parts:
            part.requires_grad_(True)
        loss = self._loss_of(sign * self._judge_images(images, told, self._masks()))
        found = torch.autograd.grad(loss, parts)
        for part in parts:
            part.requires_grad_(False)
        flat: NDArray[np.float64] = torch.cat([part.flatten() for part in found]).double().numpy()
        return flat

    def gradient_of_made_up(self, images: Any, told: Any) -> NDArray[np.float64]:
        """The mean gradient of made-up images, each clipped like that of a real one: else the
        discriminator would learn from made-up images alone.
        """
        rows = self._torch.cat([images.flatten(1), told], dim=1).float().numpy()
        function, clip = self.gradient(real=False), self._method.clip
        total = np.zeros(function.width)
        for vector in function.vectors(rows):
            total += vector * min(1.0, clip / max(float(np.linalg.norm(vector)), 1e-12))
        return total / len(rows)

    def step_discriminator(self, real: NDArray[np.float64]) -> None:
        """A step by the noisy mean gradient of real images, and that of made-up ones."""
        torch = self._torch
        with torch.no_grad():
            latent, told = self._draw()
            images = self._maker(latent)
        total = real + self.gradient_of_made_up(images, told)
        parts = list(self._judge.values())
        pieces = torch.from_numpy(total.astype(np.float32)).split([p.numel() for p in parts])
        for part, piece in zip(parts, pieces, strict=True):
            part.grad = piece.reshape(part.shape)
        self._of_judge.step()
        if self._method.loss == "wasserstein":
            for part in parts:
                part.clamp_(-WEIGHT_BOUND, WEIGHT_BOUND)

    def step_generator(self) -> None:
        """A step towards images that the discriminator takes for real."""
        latent, told = self._draw()
        loss = self._loss_of(-self._judge_images(self._maker(latent), told, self._masks()))
        self._of_maker.zero_grad()
        loss.backward()
        self._of_maker.step()
        self._averaged += 1
        kept = min(AVERAGING, self._averaged / (self._averaged + 10))
        pairs = zip(self._average.parameters(), self._maker.parameters(), strict=True)
        with self._torch.no_grad():
            for mean, part in pairs:
                mean.lerp_(part, 1 - kept)

    def generator(self) -> Generator:
        """The average of the generator's weights as it stands, with batch normalisation by the
        statistics of made-up images.
        """
        torch = self._torch
        with torch.no_grad():
            for _ in range(20):  # the running statistics of these weights
                self._average(self._draw()[0])
        label = None
        if self._columns.label is not None:
            label = self._columns.label.name
        return Generator(
            scaled=self._columns.inputs.scaled,
            coded=(),
            label=label,
            latent=IMAGE_LATENT_SIZE,
            layers=tuple(_as_layer(torch, module) for module in self._average),
        )

    def state(self) -> NetworkState:
        """Weights, and what the optimisers remember."""
        found = {f"judge.{name}": part for name, part in self._judge.items()}
        for name, network in self._makers():
            found |= {f"{name}.{key}": part for key, part in network.state_dict().items()}
        found["averaged"] = self._torch.tensor([self._averaged])
        for name, optimiser in self._optimisers():
            for place, one in optimiser.state_dict()["state"].items():
                for key, part in one.items():
                    found[f"{name}.{place}.{key}"] = part
        return {
            name: np.atleast_1d(part.detach().numpy()).astype(np.float32)
            for name, part in found.items()
        }

    def resume(self, state: NetworkState) -> None:
        """Go on from a state; the random numbers of training begin again."""
        torch = self._torch
        for name, part in self._judge.items():
            part.copy_(torch.from_numpy(state[f"judge.{name}"].copy()))
        for name, network in self._makers():
            network.load_state_dict(
                {
                    key: torch.from_numpy(state[f"{name}.{key}"].copy())
                    .reshape(part.shape)
                    .to(part.dtype)
                    for key, part in network.state_dict().items()
                }
            )
        self._averaged = int(state["averaged"][0])
        for name, optimiser in self._optimisers():
            document, parts = optimiser.state_dict(), {}
            for place in document["param_groups"][0]["params"]:
                if f"{name}.{place}.step" in state:
                    step = torch.tensor(float(state[f"{name}.{place}.step"][0]))
                    parts[place] = {"step": step} | {
                        key: torch.from_numpy(state[f"{name}.{place}.{key}"].copy())
                        for key in ("exp_avg", "exp_avg_sq")
                    }
            document["state"] = parts
            optimiser.load_state_dict(document)

    def _makers(self) -> list[tuple[str, Any]]:
        return [("maker", self._maker), ("average", self._average)]

    def _optimisers(self) -> list[tuple[str, Any]]:
        return [("of_judge", self._of_judge), ("of_maker", self._of_maker)]


def _generator(torch: Any, filters: int, size: ImageColumns, inputs: int) -> Any:
    nn = torch.nn
    high, wide, first = size.height // 4, size.width // 4, 4 * filters
    options = {"kernel_size": KERNEL, "padding": PADDING}
    doubled = {**options, "stride": 2, "output_padding": 1}
    return nn.Sequential(
        nn.Linear(inputs, first * high * wide),
        nn.BatchNorm1d(first * high * wide),
        nn.LeakyReLU(SLOPE),
        nn.Unflatten(1, (first, high, wide)),
        nn.ConvTranspose2d(first, 2 * filters, **options),
        nn.BatchNorm2d(2 * filters),
        nn.LeakyReLU(SLOPE),
        nn.ConvTranspose2d(2 * filters, filters, **doubled),
        nn.BatchNorm2d(filters),
        nn.LeakyReLU(SLOPE),
        nn.ConvTranspose2d(filters, 1, **doubled),
        nn.Tanh(),
    )


def _as_layer(torch: Any, module: Any) -> Layer:
    """A layer as a model holds it."""
    nn = torch.nn
    if isinstance(module, nn.Linear):
        return Layer(
            kind="dense", arrays={"weights": _array(module.weight).T, "bias": _array(module.bias)}
        )
    if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
        scale = module.weight / (module.running_var + module.eps).sqrt()
        shift = module.bias - module.running_mean * scale
        return Layer(kind="affine", arrays={"weights": _array(scale), "bias": _array(shift)})
    if isinstance(module, nn.LeakyReLU):
        return Layer(kind="leaky_relu")
    if isinstance(module, nn.Unflatten):
        return Layer(kind="reshape", shape=tuple(module.unflattened_size))
    if isinstance(module, nn.ConvTranspose2d):
        return Layer(
            kind="conv_transpose",
            arrays={"weights": _array(module.weight), "bias": _array(module.bias)},
            stride=module.stride[0],
        )
    return Layer(kind="tanh")


def _array(tensor: Any) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().numpy().copy()
    return array
