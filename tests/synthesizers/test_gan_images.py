"""GANs of images: the networks, their gradients, and a small training. Needs torch."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gan")

from gan_parts.leaks import LossNoiseNetworks, NoiseLayerNetworks  # noqa: E402
from gan_parts.unprotected import UnclippedNetworks  # noqa: E402
from understudy import GAN, InputError, Model  # noqa: E402
from understudy.counting.convolutions import ConvolutionGradient  # noqa: E402
from understudy.counting.row_functions import RowMatrix  # noqa: E402
from understudy.data.encoding import encode  # noqa: E402
from understudy.data.image_files import Images  # noqa: E402
from understudy.models.network import Node  # noqa: E402
from understudy.privacy.mechanisms import SeededNoise  # noqa: E402
from understudy.privacy.vectors import VECTOR_STEPS, exact_sum  # noqa: E402
from understudy.synthesizers.checkpoints import Checkpoint  # noqa: E402
from understudy.synthesizers.gan_images import ImageNetworks  # noqa: E402
from understudy.synthesizers.generated_tables import GeneratedColumns, TrainingTask  # noqa: E402
from understudy.synthesizers.image_tables import images_of_model, table_of_images  # noqa: E402

RNG = np.random.default_rng(1)


def make_images(rows=200, side=8):
    """Bright on the left, or at the top."""
    labels = RNG.integers(0, 2, rows)
    pixels = RNG.integers(0, 40, (rows, side, side))
    pixels[labels == 0, :, : side // 2] += 180
    pixels[labels == 1, : side // 2, :] += 180
    return Images(pixels=pixels.astype(np.uint8), labels=labels, words=("0", "1"))


TABLE, SCHEMA = table_of_images(make_images(), "gan")
METHOD = GAN(epsilon=10.0, delta=1e-5, hidden=4, steps=4, sampling_rate=0.2)


def as_images(rows, labels=2, side=8):
    """Rows as images, and which units of the dense layer speak: the first, and the label's."""
    given = torch.from_numpy(rows)
    units = torch.cat([torch.ones(len(given), 1), given[:, -labels:]], dim=1)
    return given[:, :-labels].reshape(-1, 1, side, side), units


def start(method=METHOD):
    task = make_task(SCHEMA)
    return ImageNetworks(method, SCHEMA, task), task.columns


def make_task(schema):
    label = Node("label", (), np.ones(2))
    return TrainingTask(
        columns=GeneratedColumns.of(schema, None), label=label, rows=200.0, checkpoint=Checkpoint()
    )


def test_gradients_are_those_of_automatic_differentiation():
    networks, columns = start()
    for loss in ("gan", "wasserstein"):
        function = networks.gradient()
        function = ConvolutionGradient(**{**vars(function), "loss": loss})
        function.check(SCHEMA)
        rows = RowMatrix(columns.inputs, encode(TABLE, SCHEMA)).take(np.arange(5))
        found = [vector.copy() for vector in function.vectors(rows)]
        given = {
            name: torch.from_numpy(part.copy()).requires_grad_()
            for name, part in function.parameters.items()
        }
        for line, row in zip(found, rows, strict=True):
            seen, units = as_images(row[None])
            for name, mask in zip(("first", "second"), function.masks, strict=True):
                weights = given[name].reshape(len(given[name]), -1, 5, 5)
                seen = torch.nn.functional.conv2d(
                    seen, weights, given[f"{name}_bias"], stride=2, padding=2
                )
                seen = torch.nn.functional.leaky_relu(seen, 0.2)
                seen = seen * torch.from_numpy(mask).reshape(1, *seen.shape[1:])
            output = (seen.flatten(1) @ given["dense"].T + given["dense_bias"]) @ units[0]
            value = -output if loss == "wasserstein" else torch.nn.functional.softplus(-output)
            parts = torch.autograd.grad(value.sum(), list(given.values()))
            expected = torch.cat([part.flatten() for part in parts]).numpy()
            assert line == pytest.approx(expected, abs=1e-5)


def test_opacus_finds_the_same_gradients():
    grad_sample = pytest.importorskip("opacus.grad_sample")
    networks, columns = start()
    function = ConvolutionGradient(**{**vars(networks.gradient()), "masks": None})
    rows = RowMatrix(columns.inputs, encode(TABLE, SCHEMA)).take(np.arange(6))
    nn, given = torch.nn, function.parameters
    judge = nn.Sequential(
        nn.Conv2d(1, 4, 5, stride=2, padding=2),
        nn.LeakyReLU(0.2),
        nn.Conv2d(4, 8, 5, stride=2, padding=2),
        nn.LeakyReLU(0.2),
        nn.Flatten(),
        nn.Linear(8 * 4, 3),
    )
    with torch.no_grad():
        for part, name in zip(judge.parameters(), ConvolutionGradient.NAMES, strict=True):
            part.copy_(torch.from_numpy(given[name]).reshape(part.shape))
    kept = grad_sample.GradSampleModule(judge, loss_reduction="sum")
    seen, units = as_images(rows)
    nn.functional.softplus(-(kept(seen) * units).sum(1)).sum().backward()
    theirs = np.concatenate(
        [part.grad_sample.reshape(6, -1).numpy() for part in kept.parameters()], axis=1
    )
    ours = np.array([vector.copy() for vector in function.vectors(rows)])
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_made_up_images_are_clipped_like_real_ones():
    networks, columns = start()
    rows = RowMatrix(columns.inputs, encode(TABLE, SCHEMA)).take(np.arange(6))
    images, units = as_images(rows)
    images = 10 * images  # gradients far beyond the length
    found = networks.gradient_of_made_up(images, units[:, 1:])
    assert np.linalg.norm(networks.mean_gradient(images, units[:, 1:], 1)) > 2
    assert 0.1 < np.linalg.norm(found) <= 1 + 1e-6


def test_the_gradient_of_made_up_images_is_that_of_automatic_differentiation():
    for loss in ("gan", "wasserstein"):
        networks, columns = start(replace(METHOD, loss=loss, clip=1e6))
        rows = RowMatrix(columns.inputs, encode(TABLE, SCHEMA)).take(np.arange(6))
        images, units = as_images(rows)
        masks = networks._masks()
        networks._masks = lambda masks=masks: masks
        theirs = networks.mean_gradient(images, units[:, 1:], 1)
        assert networks.gradient_of_made_up(images, units[:, 1:]) == pytest.approx(theirs, abs=1e-5)


def test_noise_on_the_loss_changes_no_gradient_and_a_noise_layer_bounds_none():
    """What a thesis takes for protection: controls of the audit, here as networks."""
    given = {}
    for kind in (UnclippedNetworks, LossNoiseNetworks, NoiseLayerNetworks):
        networks = kind(METHOD, SCHEMA, make_task(SCHEMA))
        masks = ImageNetworks._masks(networks)
        networks._masks = lambda masks=masks: masks
        images, units = as_images(
            RowMatrix(networks._columns.inputs, encode(TABLE, SCHEMA)).take(np.arange(1))
        )
        given[kind] = [
            networks.mean_gradient(scale * images, units[:, 1:]) for scale in (1.0, -1e4)
        ]
    assert given[LossNoiseNetworks][0].tolist() == given[UnclippedNetworks][0].tolist()
    assert max(np.linalg.norm(found) for found in given[NoiseLayerNetworks]) > 1000


def test_an_images_gradient_does_not_depend_on_who_is_sampled_with_it():
    networks, columns = start()
    function = networks.gradient()
    matrix = RowMatrix(columns.inputs, encode(TABLE, SCHEMA))
    count = 35
    alone = [exact_sum(function, matrix, np.array([i]), 0.1) for i in range(count)]
    for places in (np.arange(count), np.arange(count)[::-1].copy(), np.arange(5)):
        together = exact_sum(function, matrix, places, 0.1)
        assert together.tolist() == sum(alone[i] for i in places).tolist()
    assert max(int(one @ one) for one in alone) <= VECTOR_STEPS**2


def test_the_layers_are_those_of_the_thesis():
    _, schema = table_of_images(make_images(4, 28), "gan")
    method = GAN(epsilon=10.0, delta=1e-5)
    networks = ImageNetworks(method, schema, make_task(schema))
    judge = {name: tuple(part.shape) for name, part in networks._judge.items()}
    assert judge["first"] == (64, 25)
    assert judge["second"] == (128, 64 * 25)
    assert judge["dense"] == (3, 128 * 7 * 7)  # one unit for all images, two for labels
    kinds = [layer.kind for layer in networks.generator().layers]
    assert kinds == [
        *("dense", "affine", "leaky_relu", "reshape"),
        *("conv_transpose", "affine", "leaky_relu", "conv_transpose", "affine", "leaky_relu"),
        *("conv_transpose", "tanh"),
    ]
    shapes = [layer.arrays["weights"].shape for layer in networks.generator().layers[::4]]
    assert shapes[0] == (102, 12544)
    assert [m.num_features for m in networks._maker if "Batch" in type(m).__name__] == [
        12544,
        128,
        64,
    ]


def test_a_model_makes_the_images_that_torch_makes():
    networks, _ = start()
    networks.step_discriminator(np.zeros(sum(p.numel() for p in networks._judge.values())))
    networks.step_generator()
    generator = networks.generator()
    latent = RNG.standard_normal((3, 100)).astype(np.float32)
    told = np.eye(2, dtype=np.float32)[[0, 1, 1]]
    networks._average.eval()
    with torch.no_grad():
        theirs = networks._average(torch.from_numpy(np.concatenate([latent, told], axis=1)))
    assert generator.make(latent, told) == pytest.approx(theirs.flatten(1).numpy(), abs=1e-4)


@pytest.mark.parametrize("loss", ["gan", "wasserstein"])
def test_a_small_training(tmp_path, loss):
    sheet = tmp_path / "sheet.png"
    method = GAN(
        epsilon=10.0, delta=1e-5, hidden=4, steps=12, sampling_rate=0.2, loss=loss,
        preview=str(sheet),
    )  # fmt: skip
    model = method.fit(TABLE, SCHEMA)
    assert model.ledger.private
    assert model.ledger.spent()[0] <= 10.0
    assert sheet.read_bytes().startswith(b"\x89PNG")
    model.save(tmp_path / "m.json")
    again = Model.load(tmp_path / "m.json")
    images = images_of_model(again, 30, seed=1)
    assert images.pixels.shape == (30, 8, 8)
    assert images.pixels.tolist() == images_of_model(model, 30, seed=1).pixels.tolist()


class Interrupted(SeededNoise):
    def sample(self, rows, rate):
        self.left = getattr(self, "left", 5) - 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().sample(rows, rate)


def test_a_training_goes_on(tmp_path):
    path = str(tmp_path / "run.state")
    method = GAN(
        epsilon=10.0, delta=1e-5, hidden=4, steps=12, sampling_rate=0.2, checkpoint=path
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        method.fit(TABLE, SCHEMA, noise=Interrupted(1))
    model = method.fit(TABLE, SCHEMA, noise=SeededNoise(1))
    assert [entry.question.split(" of ")[0] for entry in model.ledger.entries][1] == "12 sums"
    assert not (tmp_path / "run.state").exists()


def test_images_whose_sides_are_no_multiples_of_four_are_refused():
    table, schema = table_of_images(make_images(20, 9), "gan")
    with pytest.raises(InputError, match="multiples of 4"):
        METHOD.fit(table, schema)
