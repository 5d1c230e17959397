"""Holders as real processes: what goes wrong with one of them ends in a result under the guarantee,
or in a sentence.

Whatever happens, every holder's ledger is right afterwards: the whole price stays on the books of a
holder that was killed, and all others have settled.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from sites import SCHEMA, Site, Town

from running import COMMAND
from understudy import Independent, Model, PrivBayes, Schema, Synthesizer, UnderstudyError
from understudy.counting.memory import MemoryCounter
from understudy.data.encoding import Coded, encode
from understudy.data.tables import read_table
from understudy.federation import HolderGone, HolderRefused, client
from understudy.federation.client import HttpLink
from understudy.federation.holder import WAYS
from understudy.federation.identity import Identity, Parties, Party
from understudy.federation.messages import Message
from understudy.federation.ways import federate
from understudy.privacy.wire import unpack_marginals

NAMES = ("north", "south", "west")


RECORDER = """
import sys
from understudy.federation import server
record, plain = sys.argv.pop(1), server.make_holder_app

def recording(holder, analysts):
    answer = holder.answer
    def answer_and_record(message, asker):
        answered = answer(message, asker)
        with open(record, "ab") as file:
            for part in (message, answered):
                file.write(len(part).to_bytes(8, "big") + part)
        return answered
    holder.answer = answer_and_record
    return plain(holder, analysts)

server.make_holder_app = recording
from understudy.cli import main
main()
"""


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    town = Town(tmp_path_factory.mktemp("town"), NAMES, allowance=1000.0)
    town.sites["north"].command = [sys.executable, "-c", RECORDER, str(town.folder / "wire.bin")]
    try:
        town.start()
        yield town
    finally:
        town.stop()


@pytest.fixture
def town(lasting: Town) -> Iterator[Town]:
    """Three holders that run; whoever was killed in a test is started again, at the same
    address.
    """
    yield lasting
    ended = [
        site
        for site in lasting.sites.values()
        if site.process is None or site.process.poll() is not None
    ]
    for site in ended:
        site.start()
    for site in ended:
        site.wait()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "RECONNECTION_PAUSES", (0.1,))


class Meddling:
    """A link to a holder to which something happens before a message, told by its number from 1, is
    carried there.
    """

    def __init__(self, link: HttpLink, happen: Callable[[int], None]) -> None:
        self.link = link
        self.name = link.name
        self.happen = happen
        self.asked = 0
        self.heard: list[tuple[bytes, bytes]] = []

    def ask(self, message: bytes) -> bytes:
        self.asked += 1
        self.happen(self.asked)
        answer = self.link.ask(message)
        self.heard.append((message, answer))
        return answer


def released(town: Town, way: str = "secure", **options: object) -> object:
    """One release over links to the holders; ``happen`` maps a holder to what happens on its
    line.
    """
    happen = options.pop("happen", {})
    method = options.pop("method", PrivBayes(epsilon=1.0))
    options.setdefault("colluders", 0)  # of three holders one may drop out, or collude
    assert isinstance(method, Synthesizer)
    links = [Meddling(link, happen.get(link.name, lambda n: None)) for link in town.links()]  # type: ignore[attr-defined]
    try:
        return federate(links, town.folder / "schema.json", method, way, **options)  # type: ignore[arg-type]
    finally:
        for link in links:
            link.link.close()


def states(town: Town, before: dict[str, int]) -> dict[str, list[tuple[str, float]]]:
    """What is new in each ledger."""
    return {
        name: [(release["state"], release["epsilon"]) for release in site.releases[before[name] :]]
        for name, site in town.sites.items()
    }


def counted(town: Town) -> dict[str, int]:
    return {name: len(site.releases) for name, site in town.sites.items()}


def at(step: int, action: Callable[[], object]) -> Callable[[int], None]:
    def happen(number: int) -> None:
        if number == step:
            action()

    return happen


SETTLED = [("settled", 1.0)]
RESERVED = [("reserved", 1.0)]


# ---- all is well


@pytest.mark.parametrize(
    ("way", "options"),
    [
        ("secure", {}),
        ("secure", {"dropouts": 1}),
        ("secure", {"method": PrivBayes(epsilon=1.0, delta=1e-6), "colluders": 1}),
        ("statistics", {}),
        ("voting", {}),
        ("models", {}),
    ],
)
@pytest.mark.thorough
def test_every_way_over_processes(town: Town, way: str, options: dict[str, object]) -> None:
    before = counted(town)
    model = released(town, way, **options)
    assert abs(model.rows - 900) < 200  # type: ignore[attr-defined]
    assert model.ledger.private  # type: ignore[attr-defined]
    assert states(town, before) == dict.fromkeys(NAMES, SETTLED)


def test_the_log_can_be_read_by_an_auditor(town: Town) -> None:
    site = town.sites["north"]
    before, left = len(site.log), site.log[-1]["allowance_left"]["epsilon"] if site.log else 1000.0
    released(town, method=Independent(epsilon=1.0))
    lines = site.log[before:]
    assert [line["asked"] for line in lines] == ["open", "start", "ask", "close"]
    assert {line["analyst"] for line in lines} == {"registry"}
    assert "with north, south, west; the whole price is reserved" in lines[0]["words"]
    assert (
        lines[2]["words"]
        == "asked for 4 noisy tables at epsilon 1, round 1; answered with noise under masks"
    )
    assert lines[2]["names"] == ["age", "sex", "smoker", "ward"]
    assert [line["allowance_left"]["epsilon"] for line in lines] == [left - 1.0] * 4
    assert lines[0]["words"] in site.said


# ---- a holder is killed, restarted, slow


@pytest.mark.parametrize("step", [5, 6])
@pytest.mark.thorough
def test_one_that_is_killed_may_drop_out(town: Town, step: int) -> None:
    before = counted(town)
    killed = {"west": at(step, lambda: town.sites["west"].stop(signal.SIGKILL))}
    model = released(town, method=Independent(epsilon=1.0), dropouts=1, happen=killed)
    assert isinstance(model, Model)
    assert model.method["federation"]["dropped_out"] == 1
    assert states(town, before) == {"north": SETTLED, "south": SETTLED, "west": RESERVED}
    rows = 600 if step < 6 else 900  # from then on its numbers are in the sum
    assert abs(model.rows - rows) < 60


@pytest.mark.thorough
def test_without_leave_to_drop_out_the_run_ends_in_a_sentence(town: Town) -> None:
    before = counted(town)
    killed = {"west": at(5, lambda: town.sites["west"].stop(signal.SIGKILL))}
    with pytest.raises(
        HolderGone, match=r"^The holder west cannot be reached at .*; no holder may be missing, so"
    ):
        released(town, happen=killed)
    assert states(town, before) == {"north": SETTLED, "south": SETTLED, "west": RESERVED}
    before = counted(town)  # from now on it is down from the start, which costs nobody anything
    with pytest.raises(HolderGone, match="The holder west cannot be reached at"):
        released(town, dropouts=1)
    assert counted(town) == before


@pytest.mark.thorough
def test_more_than_may_drop_out(town: Town) -> None:
    before = counted(town)
    killed = {
        name: at(5, lambda name=name: town.sites[name].stop(signal.SIGKILL))
        for name in ("south", "west")
    }
    with pytest.raises(
        HolderGone, match="no more than 1 of the holders may drop out, so the run ends here"
    ):
        released(town, method=Independent(epsilon=1.0), dropouts=1, happen=killed)
    assert states(town, before) == {"north": SETTLED, "south": RESERVED, "west": RESERVED}


def restarted(site: Site) -> None:
    assert site.stop() == 0  # at once, although lines to it are open
    site.start()
    site.wait()


@pytest.mark.thorough
def test_one_that_is_restarted_in_the_middle(town: Town) -> None:
    before = counted(town)
    again = {"west": at(5, lambda: restarted(town.sites["west"]))}
    with pytest.raises(
        UnderstudyError,
        match="The holder west knows of no such session; it may have been started again",
    ):
        released(town, happen=again)
    assert states(town, before) == {"north": SETTLED, "south": SETTLED, "west": RESERVED}
    before = counted(town)
    again = {"west": at(4, lambda: restarted(town.sites["west"]))}
    model = released(town, method=Independent(epsilon=1.0), dropouts=1, happen=again)
    assert abs(model.rows - 600) < 60  # type: ignore[attr-defined]
    assert states(town, before) == {"north": SETTLED, "south": SETTLED, "west": RESERVED}


@pytest.mark.parametrize("dropouts", [0, 1])
@pytest.mark.thorough
def test_one_that_is_too_slow_drops_out(town: Town, dropouts: int) -> None:
    before = counted(town)
    north, south, west = town.links()
    impatient = town.links(patience=1.0)[2]
    line = Meddling(west, lambda number: stop_it() if number == 4 else None)

    def stop_it() -> None:
        town.sites["west"].send(signal.SIGSTOP)
        line.link = impatient

    method, links = Independent(epsilon=1.0), [north, south, line]
    try:
        if dropouts:
            model = federate(
                links, town.folder / "schema.json", method, dropouts=dropouts, colluders=0
            )
            assert model.method["federation"]["dropped_out"] == 1
        else:
            with pytest.raises(
                HolderGone,
                match=r"^The holder west did not answer within 1 seconds; no holder may be",
            ):
                federate(links, town.folder / "schema.json", method, colluders=0)
    finally:
        town.sites["west"].send(signal.SIGCONT)
    assert states(town, before) == {"north": SETTLED, "south": SETTLED, "west": RESERVED}


def test_one_with_another_certificate_is_not_asked(town: Town) -> None:
    """West's address, and a certificate that is not the one it shows: somebody may have taken its
    place.
    """
    before = counted(town)
    north, south, west = Parties.load(town.folder / "parties.toml").holders
    other = Party(Identity.new("west").certificate, west.address)
    links = [HttpLink(party, town.identities["registry"], 60.0) for party in (north, south, other)]
    with pytest.raises(
        HolderGone, match="The holder west shows another certificate than the one you pinned"
    ):
        federate(
            links, town.folder / "schema.json", Independent(epsilon=1.0), dropouts=1, colluders=0
        )
    assert counted(town) == before


# ---- answers that are none


class Tampering(Meddling):
    """Changes the answer to one message."""

    def __init__(self, link: HttpLink, step: int, change: Callable[[bytes], bytes]) -> None:
        super().__init__(link, lambda number: None)
        self.step = step
        self.change = change

    def ask(self, message: bytes) -> bytes:
        answer = super().ask(message)
        return self.change(answer) if self.asked == self.step else answer


@pytest.mark.parametrize(
    "change", [lambda a: b"", lambda a: a[:-1], lambda a: b"\x00" * 99, lambda a: a + b"x"]
)
@pytest.mark.thorough
def test_garbage_is_as_good_as_no_answer(town: Town, change: Callable[[bytes], bytes]) -> None:
    before = counted(town)
    north, south, west = town.links()
    method = Independent(epsilon=1.0)
    links = [north, south, Tampering(west, 5, change)]
    model = federate(links, town.folder / "schema.json", method, dropouts=1, colluders=0)
    assert isinstance(model, Model)
    assert abs(model.rows - 600) < 60
    with pytest.raises(
        HolderGone,
        match=r"The holder west answered .*no holder may be missing, so the run ends here",
    ):
        federate([north, south, Tampering(west, 4, change)], town.folder / "schema.json", method)
    # North and south have settled twice; west, given up for lost, keeps the whole price of both.
    assert states(town, before) == {
        "north": SETTLED * 2,
        "south": SETTLED * 2,
        "west": RESERVED * 2,
    }


def test_a_message_that_arrives_twice_is_answered_once(town: Town) -> None:
    before = counted(town)

    class Stuttering(Meddling):
        def ask(self, message: bytes) -> bytes:
            first = super().ask(message)
            second = self.link.ask(message)
            assert first == second
            return second

    links = [Stuttering(link, lambda n: None) for link in town.links()]
    federate(links, town.folder / "schema.json", Independent(epsilon=1.0), dropouts=1, colluders=0)
    assert states(town, before) == dict.fromkeys(NAMES, SETTLED)
    entries = town.sites["north"].releases[-1]["entries"]
    assert [entry["question"] for entry in entries] == [
        f"table of {name}" for name in SCHEMA["attributes"]
    ]


# ---- what a holder refuses


def test_an_overdraft_is_refused_and_costs_nobody_anything(town: Town) -> None:
    before = counted(town)
    with pytest.raises(HolderRefused, match=r"does not allow a release at epsilon 5000, delta 0"):
        released(town, method=Independent(epsilon=5000.0))
    assert counted(town) == before
    assert any("was refused" in line["words"] for line in town.sites["north"].log)


def test_one_release_takes_half_of_the_allowance_at_most(town: Town) -> None:
    before = counted(town)
    with pytest.raises(HolderRefused, match="more than one session may take of its allowance"):
        released(town, method=Independent(epsilon=500.1))
    assert counted(town) == before
    assert "Of epsilon 1000 in all, one release may take 500 at most" in town.sites["north"].said


def test_an_opening_is_not_taken_again_after_a_restart(town: Town) -> None:
    """Whoever recorded one cannot use up the allowance by it."""
    links = [Meddling(link, lambda number: None) for link in town.links()]
    federate(links, town.folder / "schema.json", Independent(epsilon=1.0), colluders=0)
    (opening,) = [m for m, _ in links[2].heard if Message.from_bytes(m).kind == "open"]
    restarted(town.sites["west"])
    before = counted(town)
    refused = Message.from_bytes(town.links()[2].ask(opening))
    assert "there was a session of that name before" in refused.content["sentence"]
    assert counted(town) == before


def test_a_holder_that_cannot_log_answers_nobody_until_it_is_started_again(town: Town) -> None:
    log, aside, west = town.folder / "west.log", town.folder / "west.aside", town.links()[2]
    log.rename(aside)
    log.mkdir()
    try:
        with pytest.raises(HolderGone, match="The holder west has closed"):
            released(town, method=Independent(epsilon=1.0))
    finally:
        log.rmdir()
        aside.rename(log)
    for _ in range(2):  # although it could log again
        answer = Message.from_bytes(west.ask(Message("hello").to_bytes()))
        assert (answer.kind, answer.content["gone"]) == ("refused", True)
    assert "west.log cannot be written" in town.sites["west"].said
    restarted(town.sites["west"])
    assert Message.from_bytes(west.ask(Message("hello").to_bytes())).kind == "hello"


@pytest.mark.thorough
def test_the_analyst_is_killed(town: Town) -> None:
    """Reservations stay, in full; the next run is not disturbed."""
    before = counted(town)
    script = (
        "import os, signal, sys\n"
        "from understudy.federation.client import HttpLink\n"
        "ask = HttpLink.ask\n"
        "def asking(self, message):\n"
        "    if b'\"ask\"' in message: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return ask(self, message)\n"
        "HttpLink.ask = asking\n"
        "from understudy.cli import main\n"
        "sys.argv[1:] = ['federate', '--holders', 'parties.toml', '--schema', 'schema.json', "
        "'--cert', 'registry.pem',"
        " '-o', 'out.csv']\n"
        "main()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=town.folder, capture_output=True, check=False
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert not (town.folder / "out.csv").exists()
    assert states(town, before) == dict.fromkeys(NAMES, RESERVED)
    released(town, method=Independent(epsilon=1.0))
    assert states(town, before) == dict.fromkeys(NAMES, RESERVED + SETTLED)


# ---- towns of their own


@pytest.mark.thorough
def test_odd_holders(tmp_path: Path) -> None:
    """One without rows answers as all do: a refusal would tell that nobody is in its table. One
    with another schema ends the run before anything is asked.
    """
    town = Town(tmp_path, ("empty", "full", "other"), allowance=2.0)
    (tmp_path / "empty.csv").write_text("age,sex,smoker,ward\n")
    smaller = {
        "attributes": {
            **SCHEMA["attributes"],
            "sex": {"kind": "categorical", "values": ["f", "m", "x"]},
        }
    }
    (tmp_path / "smaller.json").write_text(json.dumps(smaller))
    other = town.sites["other"].options
    other[other.index("schema.json")] = "smaller.json"
    try:
        town.start()
        sentence = "The holder other has rows of another schema; compare the two files"
        with pytest.raises(HolderRefused, match=sentence):
            released(town)
        assert states(town, dict.fromkeys(town.sites, 0))["full"] in ([], [("settled", 0.0)])
        ran = subprocess.run(
            [
                COMMAND,
                "federate",
                "--holders",
                "parties.toml",
                "--schema",
                "schema.json",
                "--cert",
                "registry.pem",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr.startswith(f"understudy: {sentence}")
        assert ran.stderr.count("\n") == 1
        town.sites["other"].stop()
        del town.sites["other"]
        town.write_parties()
        model = released(town, method=Independent(epsilon=1.0))
        assert isinstance(model, Model)
        assert abs(model.rows - 300) < 60
    finally:
        town.stop()


# ---- everything that leaves a holder

LEAVES = {
    "hello": {"name", "schema", "ways", "private"},
    "opened": {"name", "rows", "key", "signature"},
    "started": set(),
    "masked": set(),
    "shared": {"shares", "box"},
    "agreed": {"signature"},
    "revealed": {"own", "pair"},
    "sealed": set(),
    "answer": {"vote", "size", "place"},
    "closed": set(),
}
"""All kinds of answers, and what may stand in each."""


def recorded(path: Path) -> list[tuple[bytes, bytes]]:
    data, parts = path.read_bytes() if path.exists() else b"", []
    while data:
        size = int.from_bytes(data[:8], "big")
        parts.append(data[8 : 8 + size])
        data = data[8 + size :]
    return list(zip(parts[::2], parts[1::2], strict=True))


def test_nothing_exact_leaves_a_holder(town: Town) -> None:
    """All bytes on the wire, as the holder's server and the analyst's client see them, of all
    ways.
    """
    before = len(recorded(town.folder / "wire.bin"))
    heard: list[tuple[bytes, bytes]] = []
    agreed = [
        ("secure", 0, 0),
        ("secure", 1, 0),
        ("secure", 0, 1),
        *((way, 0, 1) for way in WAYS if way != "secure"),
    ]
    for way, dropouts, colluders in agreed:
        links = [Meddling(link, lambda number: None) for link in town.links()]
        terms = {"dropouts": dropouts, "colluders": colluders}
        federate(links, town.folder / "schema.json", PrivBayes(epsilon=0.5), way, **terms)  # type: ignore[arg-type]
        heard += links[0].heard
    wire = recorded(town.folder / "wire.bin")[before:]
    assert wire == heard  # nothing else went over the line
    assert sum(b'"kind":"open"' in message for message, _ in wire) == 6
    coded = encode(read_table(town.folder / "north.csv"), Schema.from_dict(SCHEMA))
    noise: list[np.ndarray] = []
    for message, data in wire:
        answer = Message.from_bytes(data)
        assert set(answer.content) <= LEAVES[answer.kind], answer.kind
        assert set(answer.arrays) <= {"numbers", "model", "box"}
        assert answer.content.get("rows") is None  # the number of rows is private
        if answer.kind == "masked":
            # Of uniform numbers one in eight billion is below 2^30, and there are some hundred.
            assert (np.abs(answer.arrays["numbers"].view(np.int64)) > 1 << 30).all()
        elif "numbers" in answer.arrays:
            noise.append(
                answer.arrays["numbers"] - exact_counts(coded, Message.from_bytes(message))
            )
    # Tables that leave without masks have noise of the holder's own, of a scale of 12 at least: one
    # in 24 is exact.
    together = np.concatenate(noise)
    # How many there are depends on the network. Of 30 or more, half are exact, or the deviation is
    # a quarter of what it should be, with a probability below 10^-8.
    assert together.size >= 30
    assert (together == 0).mean() < 0.5
    assert together.std() > 3
    everything = b"".join(answer for _, answer in wire)
    for word in (b".csv", os.fsencode(town.folder), b"Traceback"):
        assert word not in everything


def exact_counts(coded: Coded, question: Message) -> np.ndarray:
    """The answer to a question for tables, without noise."""
    asked = unpack_marginals(
        question.get("names", list), question.array("axes", "i8"), question.array("lengths", "i8")
    )
    sizes = {attribute.name: attribute.size for attribute in coded.schema.modelled}
    levels = {attribute.name: attribute.generalisations for attribute in coded.schema.modelled}
    return np.concatenate(
        [table.ravel() for table in MemoryCounter(coded.codes, levels, sizes).count(asked)]
    )


# ---- at any moment


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "dropouts", "colluders"),
    [("secure", 0, 0), ("secure", 1, 0), ("secure", 0, 1)]
    + [(way, dropouts, 1) for way in ("statistics", "voting", "models") for dropouts in (0, 1)],
)
def test_killed_before_any_message(town: Town, way: str, dropouts: int, colluders: int) -> None:
    """West is killed before its first message, its second and so on, until a run is over before its
    time has come.
    """
    # Where holders may drop out a round has four messages; one round is enough then.
    method = Independent(epsilon=1.0) if way == "secure" and dropouts else PrivBayes(epsilon=1.0)
    step, over = 0, False
    while not over:
        step += 1
        before = counted(town)
        reached: list[int] = []

        def kill(reached: list[int] = reached) -> None:
            reached.append(1)
            town.sites["west"].stop(signal.SIGKILL)

        finished = False
        with contextlib.suppress(HolderGone):
            agreed = {"dropouts": dropouts, "colluders": colluders}
            released(town, way, method=method, happen={"west": at(step, kill)}, **agreed)
            finished = True
        assert finished or reached
        found = states(town, before)
        over = not reached
        killed = found.pop("west")
        assert killed in ([], RESERVED, SETTLED, [("settled", 0.0)])
        assert killed != [("settled", 0.0)] or step < 4  # nothing had been asked
        for name, others in found.items():
            assert others in ([], SETTLED, [("settled", 0.0)]), (name, step)
        if reached:
            town.sites["west"].start()
            town.sites["west"].wait()
    assert step > 4
