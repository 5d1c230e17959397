"""GANs for tables: what they spend, what they learn, and how they go on."""

import json
import re

import numpy as np
import pytest

from understudy import GAN, MERF, InputError, Ledger, LedgerFile, Model, Schema, Table
from understudy.data.tables import Column
from understudy.errors import BudgetError
from understudy.privacy.central import CentralCurator
from understudy.privacy.mechanisms import SeededNoise
from understudy.synthesizers.dense_networks import DenseNetwork

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "size": {"kind": "integer", "min": 0, "max": 9},
            "colour": {"kind": "categorical", "values": ["red", "blue"]},
            "kind": {"kind": "categorical", "values": [0, 1]},
        }
    }
)


def make_table(rows=2000, seed=1):
    rng = np.random.default_rng(seed)
    kind = (rng.random(rows) < 0.3).astype(int)
    size = np.where(kind == 1, rng.integers(7, 10, rows), rng.integers(0, 4, rows))
    colour = np.where(rng.random(rows) < 0.9, kind, 1 - kind)
    return Table(
        {
            "size": Column("integer", size),
            "colour": Column("text", colour, ("red", "blue")),
            "kind": Column("integer", kind),
        }
    )


QUICK = {"delta": 1e-5, "hidden": 16, "steps": 30, "sampling_rate": 0.1}


def train(steps):
    method = GAN(
        epsilon=20.0,
        delta=1e-5,
        hidden=32,
        steps=steps,
        sampling_rate=0.2,
        label="kind",
        discriminator_steps=1,
        learning_rate=0.005,
    )
    return method.fit(make_table(), SCHEMA, noise=SeededNoise(3))


@pytest.fixture(scope="module")
def trained():
    return train(60)


def columns_of(table):
    return {name: np.asarray(column.values) for name, column in table.columns.items()}


@pytest.mark.parametrize(("form", "looks"), [({"format": "0.00"}, "[0-9]+.00"), ({}, "[0-9]+")])
def test_whole_amounts_are_written_as_their_format_says(form, looks, tmp_path):
    amount = {"kind": "real", "min": 0, "max": 1000, "step": 1, **form}
    schema = Schema.from_dict({"attributes": {"amount": amount}})
    table = Table({"amount": Column("real", np.arange(100.0))})
    method = MERF(epsilon=1.0, delta=1e-5, features=8, training_steps=2, hidden=4)
    method.fit(table, schema, noise=SeededNoise(3)).write(tmp_path / "rows.csv", 20, seed=1)
    _, *rows = (tmp_path / "rows.csv").read_text().split()
    assert all(re.fullmatch(looks, row) for row in rows)


@pytest.mark.thorough
def test_rows_go_with_their_label():
    drawn = columns_of(train(400).sample(3000, seed=1))
    ones = drawn["kind"] == 1
    assert 0.25 < ones.mean() < 0.35
    assert drawn["size"][ones].mean() > drawn["size"][~ones].mean() + 2


@pytest.mark.thorough
def test_merf_learns_what_goes_together():
    method = MERF(epsilon=20.0, delta=1e-5, features=300, training_steps=300, label="kind")
    model = method.fit(make_table(), SCHEMA, noise=SeededNoise(3))
    drawn = columns_of(model.sample(3000, seed=1))
    ones = drawn["kind"] == 1
    assert drawn["size"][ones].mean() > drawn["size"][~ones].mean() + 4
    [_, asked] = model.ledger.entries
    assert asked.question.startswith("1 sum of 1,200 random features, clipped to length 1")


def test_the_ledger_holds_the_whole_price(trained):
    counts, steps = trained.ledger.entries
    assert counts.question == "table of kind"
    assert steps.question.startswith("60 sums of gradients")
    assert trained.ledger.spent()[0] <= 20.0
    assert not trained.ledger.private  # the noise was seeded


def test_a_model_comes_back_from_its_file(trained, tmp_path):
    trained.save(tmp_path / "m.json")
    again = Model.load(tmp_path / "m.json")
    assert again.generator == trained.generator
    assert columns_of(again.sample(50, seed=4))["size"].tolist() == (
        columns_of(trained.sample(50, seed=4))["size"].tolist()
    )


def test_rows_fulfil_conditions(trained):
    drawn = columns_of(trained.sample(200, seed=1, given={"kind": 1, "size": (7, 9)}))
    assert (drawn["kind"] == 1).all()
    assert (drawn["size"] >= 7).all()


def test_questions_about_two_columns_are_answered_by_rows(trained):
    trained.query("share where kind = 1 and size >= 7")
    with pytest.raises(InputError, match="draw some with `sample`, and count"):
        trained.query("share where size >= 7 and colour = 'red'")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["generator"]["layers"].pop(), "outputs of its generator|do not fit"),
        (lambda d: d["generator"].update(latent=3), "do not fit"),
        (lambda d: d["generator"].update(label="size"), "cannot be one"),
        (lambda d: d["generator"].update(coded=["nobody"]), "no column of it"),
        (lambda d: d["generator"]["layers"][0].update(kind="eval"), "no known kind"),
        (
            lambda d: d["generator"]["layers"][0]["arrays"]["bias"].update(float32="AAAA"),
            "as many numbers",
        ),
        (lambda d: d["generator"]["layers"][0]["arrays"].pop("bias"), "arrays it needs"),
    ],
)
def test_a_broken_file_is_refused(trained, change, said):
    document = json.loads(json.dumps(trained.to_dict()))
    change(document)
    with pytest.raises(InputError, match=said):
        Model.from_dict(document)


# --------------------------------------------------------------------------- refused


@pytest.mark.parametrize("kind", [GAN, MERF])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delta": 0.0}, "needs a delta above 0"),
        ({"neighbours": "replace"}, "one row that is added or removed"),
        ({"max_rows_per_person": 3}, "one row that is added or removed"),
    ],
)
def test_promises_that_it_cannot_keep_are_refused(kind, options, said):
    with pytest.raises(InputError, match=said):
        kind(epsilon=1.0, **options)


def test_a_label_must_be_a_category():
    with pytest.raises(InputError, match="must be categorical"):
        GAN(epsilon=1.0, label="size").fit(make_table(), SCHEMA)


def test_a_budget_that_buys_no_step_is_refused():
    method = GAN(epsilon=1e-6, delta=1e-12, steps=100_000, sampling_rate=0.5)
    with pytest.raises(InputError, match="The budget buys no step"):
        method.fit(make_table(10), SCHEMA)


# --------------------------------------------------------------------------- going on


class Interrupted(SeededNoise):
    """Stops a run in the middle, as Ctrl-C does, or as a crash."""

    def __init__(self, seed, after, with_what=KeyboardInterrupt):
        super().__init__(seed)
        self.left, self.with_what = after, with_what

    def sample(self, rows, rate):
        self.left -= 1
        if self.left < 0:
            raise self.with_what
        return super().sample(rows, rate)


@pytest.fixture
def answers(monkeypatch):
    """How many noisy sums of gradients were given out."""
    given = []
    original = CentralCurator._sum_vectors

    def counted(self, question):
        answer = original(self, question)
        given.append(1)
        return answer

    monkeypatch.setattr(CentralCurator, "_sum_vectors", counted)
    return given


@pytest.mark.parametrize("ends", [KeyboardInterrupt, MemoryError])
def test_a_run_that_ended_early_goes_on_and_spends_nothing_twice(tmp_path, answers, ends):
    path = str(tmp_path / "run.state")
    method = GAN(epsilon=2.0, checkpoint=path, **QUICK)
    with pytest.raises(ends):
        method.fit(make_table(300), SCHEMA, noise=Interrupted(1, 12, ends))
    assert len(answers) == 12
    model = method.fit(make_table(300), SCHEMA, noise=SeededNoise(2))
    assert 12 <= len(answers) <= 30
    assert [e.question.split(" of ")[0] for e in model.ledger.entries] == ["table", "30 sums"]
    assert not (tmp_path / "run.state").exists()


def test_the_state_of_another_budget_is_refused(tmp_path, answers):
    path = str(tmp_path / "run.state")
    with pytest.raises(KeyboardInterrupt):
        GAN(epsilon=2.0, checkpoint=path, **QUICK).fit(
            make_table(300), SCHEMA, noise=Interrupted(1, 3)
        )
    before = len(answers)
    with pytest.raises(InputError, match="of a run with another epsilon"):
        GAN(epsilon=3.0, checkpoint=path, **QUICK).fit(make_table(300), SCHEMA)
    assert len(answers) == before
    (tmp_path / "run.state").write_text("{}")
    with pytest.raises(InputError, match="cannot be used"):
        GAN(epsilon=2.0, checkpoint=path, **QUICK).fit(make_table(300), SCHEMA)


class Stopping:
    """Operating-system noise that is interrupted."""

    private = True

    def __init__(self, after):
        from understudy.privacy.mechanisms import SystemNoise

        self._noise, self._left = SystemNoise(), after

    def __getattr__(self, name):
        return getattr(self._noise, name)

    def sample(self, rows, rate):
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return self._noise.sample(rows, rate)


def test_a_ledger_file_pays_once_for_a_run_in_two_parts(tmp_path):
    file = LedgerFile.create(tmp_path / "t.ledger", epsilon=2.0, delta=1e-5)
    method = GAN(epsilon=2.0, checkpoint=str(tmp_path / "run.state"), **QUICK)
    with pytest.raises(KeyboardInterrupt):
        method.fit(make_table(300), SCHEMA, ledger=file, noise=Stopping(5))
    assert file.left() == (0.0, 0.0)
    kept = (tmp_path / "run.state").read_bytes()
    model = method.fit(make_table(300), SCHEMA, ledger=file)
    assert file.left() == (0.0, 0.0)
    assert model.ledger.spent() == (pytest.approx(2.0), 1e-5)
    # A copy of the state is no second budget.
    (tmp_path / "run.state").write_bytes(kept)
    with pytest.raises(BudgetError, match="nothing was asked"):
        method.fit(make_table(300), SCHEMA, ledger=file)


def test_a_state_that_a_ledger_paid_for_needs_it(tmp_path):
    file = LedgerFile.create(tmp_path / "t.ledger", epsilon=2.0, delta=1e-5)
    method = GAN(epsilon=2.0, checkpoint=str(tmp_path / "run.state"), **QUICK)
    with pytest.raises(KeyboardInterrupt):
        method.fit(make_table(300), SCHEMA, ledger=file, noise=Stopping(5))
    with pytest.raises(InputError, match="name its ledger file"):
        method.fit(make_table(300), SCHEMA)


def test_a_refusal_of_the_second_part_gives_nothing_back(tmp_path, monkeypatch, answers):
    """The first part has been answered, and its state holds what it learned."""
    file = LedgerFile.create(tmp_path / "t.ledger", epsilon=2.0, delta=1e-5)
    method = GAN(epsilon=2.0, checkpoint=str(tmp_path / "run.state"), **QUICK)
    with pytest.raises(KeyboardInterrupt):
        method.fit(make_table(300), SCHEMA, ledger=file, noise=Stopping(5))
    assert len(answers) >= 5

    def refuse(self, curator, budget, progress):
        raise InputError("a package is missing")

    monkeypatch.setattr(GAN, "learn", refuse)
    with pytest.raises(InputError, match="a package is missing"):
        method.fit(make_table(300), SCHEMA, ledger=file)
    assert file.left() == (0.0, 0.0)


def test_two_runs_on_one_checkpoint_ask_no_step_twice(tmp_path, answers):
    """The same command in a second terminal, while the first still trains."""
    file = LedgerFile.create(tmp_path / "t.ledger", epsilon=2.0, delta=1e-5)
    quick = {**QUICK, "steps": 250}
    method = GAN(epsilon=2.0, checkpoint=str(tmp_path / "run.state"), **quick)
    second = []

    def start_second(what, step, steps):
        if what == "training" and step == 5 and not second:
            second.append(None)
            second[0] = method.fit(make_table(300), SCHEMA, ledger=file)

    with pytest.raises(InputError, match="Another run has gone on"):
        method.fit(make_table(300), SCHEMA, ledger=file, progress=start_second)
    assert second[0] is not None
    assert len(answers) <= 250
    assert file.left() == (0.0, 0.0)


def stop_at(step):
    """A progress that interrupts the training."""

    def stop(what, done, steps):
        if what == "training" and done == step:
            raise KeyboardInterrupt

    return stop


@pytest.fixture
def long_run(tmp_path, monkeypatch):
    """A run that a ledger file pays for, interrupted twice; and its older state."""
    monkeypatch.setattr("understudy.synthesizers.checkpoints.CLAIMED_TOGETHER", 5)
    file = LedgerFile.create(tmp_path / "t.ledger", epsilon=2.0, delta=1e-5)
    state = tmp_path / "run.state"
    method = GAN(epsilon=2.0, checkpoint=str(state), **{**QUICK, "steps": 40})
    older = []
    for step in (5, 15):
        with pytest.raises(KeyboardInterrupt):
            method.fit(make_table(300), SCHEMA, ledger=file, progress=stop_at(step))
        older.append(state.read_bytes())
    return method, file, state, older


def test_an_older_copy_of_a_state_is_refused_before_it_asks(long_run, answers):
    method, file, state, (older, newest) = long_run
    state.write_bytes(older)
    before = len(answers)
    with pytest.raises(InputError, match="older copy"):
        method.fit(make_table(300), SCHEMA, ledger=file)
    assert len(answers) == before
    assert file.left() == (0.0, 0.0)
    state.write_bytes(newest)
    method.fit(make_table(300), SCHEMA, ledger=file)
    assert before < len(answers) <= 40


def test_two_copies_of_the_newest_state_go_on_once(long_run, answers):
    method, file, state, (_, newest) = long_run
    with pytest.raises(KeyboardInterrupt):
        method.fit(make_table(300), SCHEMA, ledger=file, progress=stop_at(20))
    state.write_bytes(newest)
    before = len(answers)
    with pytest.raises(InputError, match="older copy"):
        method.fit(make_table(300), SCHEMA, ledger=file)
    assert len(answers) == before


def test_a_crash_between_state_and_books_loses_no_run(long_run, answers, monkeypatch):
    """The state was written, the books were not: what it claims was not asked for."""
    method, file, *_ = long_run
    before = len(answers)

    def crash(self, known, new):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("understudy.privacy.ledger.claims.ReservedClaims.move", crash)
        for _ in range(2):
            with pytest.raises(MemoryError):
                method.fit(make_table(300), SCHEMA, ledger=file)
    assert len(answers) == before
    method.fit(make_table(300), SCHEMA, ledger=file)
    assert len(answers) <= 40


def test_a_run_that_ended_while_it_counted_does_not_count_again(tmp_path, monkeypatch):
    measured = []
    measure = CentralCurator.measure

    def counted(self, marginals, budget, weights=None):
        measured.append(marginals)
        found = measure(self, marginals, budget, weights)
        if len(measured) == 1:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(CentralCurator, "measure", counted)
    file = LedgerFile.create(tmp_path / "t.ledger", epsilon=2.0, delta=1e-5)
    method = GAN(epsilon=2.0, checkpoint=str(tmp_path / "run.state"), **QUICK)
    with pytest.raises(KeyboardInterrupt):
        method.fit(make_table(300), SCHEMA, ledger=file)
    with pytest.raises(InputError, match="ended while it counted"):
        method.fit(make_table(300), SCHEMA, ledger=file)
    assert len(measured) == 1
    assert file.left() == (0.0, 0.0)


@pytest.mark.parametrize(("schema", "refinement"), [(None, 0.0), (SCHEMA, 0.1)])
def test_a_run_that_can_go_on_asks_nothing_before_it_trains(tmp_path, schema, refinement):
    """Discovery and refinement of the first part would be asked again by the second, unpaid."""
    file = LedgerFile.create(tmp_path / "t.ledger", epsilon=8.0, delta=1e-5)
    state = tmp_path / "run.state"
    method = GAN(epsilon=8.0, checkpoint=str(state), refinement=refinement, **QUICK)
    with pytest.raises(InputError, match="needs a whole schema and refinement 0"):
        method.fit(make_table(3000), schema, ledger=file, noise=Stopping(5))
    assert file.left() == (8.0, 1e-5)
    assert not state.exists()


def test_training_asks_no_more_than_its_steps(answers):
    GAN(epsilon=2.0, **QUICK).fit(make_table(200), SCHEMA, noise=SeededNoise(1))
    assert len(answers) == 30


def test_a_ledger_that_is_not_kept_at_an_order_is_refused():
    from understudy.data.encoding import encode
    from understudy.release.callbacks import no_progress

    ledger = Ledger(1.0, 1e-5, currency="rho")
    curator = CentralCurator(encode(make_table(50), SCHEMA), ledger)
    with pytest.raises(InputError, match="kept at an order"):
        GAN(epsilon=1.0, **QUICK).learn(curator, ledger.left, no_progress)


def test_only_methods_that_sample_are_accounted_at_an_order():
    """Others have parameters of that name, which mean something else."""
    from understudy.synthesizers.registry import methods

    sampling = {name for name, one in methods().items() if one.make(epsilon=1.0).renyi_order}
    assert sampling == {"gan"}


def test_lengths_of_gradients_are_those_of_rows_by_themselves():
    rng = np.random.default_rng(2)
    network = DenseNetwork.start((5, 4, 3, 1), rng)
    rows = rng.standard_normal((6, 5)).astype(np.float32)
    seen = network.forward(rows)
    slope = rng.standard_normal((6, 1)).astype(np.float32)
    lengths = network.gradient_lengths(seen, slope)
    for place in range(6):
        alone = [part[place : place + 1] for part in seen]
        parts, _ = network.backward(alone, slope[place : place + 1])
        expected = np.sqrt(sum(float((part**2).sum()) for part in parts))
        assert lengths[place] == pytest.approx(expected, rel=1e-5)
