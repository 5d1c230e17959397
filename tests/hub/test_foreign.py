"""Whatever a foreign algorithm does, it cannot spend more than its budget nor see a row."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from foreign_packages import HEAD, make_package, make_wheel

from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.hub.foreign import confinement, keeper
from understudy.hub.foreign.confinement import ResourceLimits, check_confinement
from understudy.hub.foreign.keeper import AlgorithmFailed, method_of
from understudy.hub.foreign.packages import (
    Package,
    check_signature,
    public_key_of,
    read_package,
    sign_package,
)
from understudy.models.model import Model
from understudy.privacy.ledger import LedgerFile

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "age": {"kind": "integer", "min": 0, "max": 99, "bins": 10},
            "sex": {"kind": "categorical", "values": ["f", "m"]},
        }
    }
)
EPSILON = 1.0
SECRET = "a-value-of-a-row"


def can_shut_in() -> bool:
    """Whether the kernel, or the container that this runs in, allows what the tests are about."""
    try:
        check_confinement()
    except InputError:
        return False
    leave = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000 | 0x00020000))"
    return subprocess.run([sys.executable, "-c", leave], check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not can_shut_in(), reason="processes cannot be shut in here: Landlock, user namespaces"
)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    lines = [f"{20 + i % 60},{'fm'[i % 2]}" for i in range(500)]
    path.write_text("age,sex\n" + "\n".join(lines) + "\n")
    return path


def fit(
    package: Package, rows: Path, tmp_path: Path, method: str = "stranger", **limits: Any
) -> tuple[Model | None, LedgerFile, str]:
    """Run a package; the model, the owner's ledger, and what went wrong."""
    book = LedgerFile.create(tmp_path / "rows.ledger", 2 * EPSILON)
    kind = method_of(package, ResourceLimits(**limits))
    made = kind(epsilon=EPSILON, method=method, refinement=0.0)
    try:
        model = made.fit(rows, SCHEMA, ledger=book, engine="memory", notify=lambda _: None)
    except AlgorithmFailed as error:
        return None, book, str(error)
    return model, book, ""


# --------------------------------------------------------------------------- honest ones

CHAIN = Path(__file__).parents[2] / "examples/plugin/src/understudy_chain/__init__.py"


def test_a_method_of_another_package_runs_as_one_of_ours(rows: Path, tmp_path: Path) -> None:
    package = read_package(make_wheel(CHAIN.read_text()))
    model, book, why = fit(package, rows, tmp_path, "chain")
    assert model is not None, why
    assert model.ledger.promise() == (EPSILON, 0.0)
    assert (model.method["name"], model.method["algorithm"]) == ("chain", package.digest)
    assert book.left() == (EPSILON, 0.0)
    assert len(model.ledger.entries) == 1
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.schema.names == SCHEMA.names


@pytest.mark.thorough
@pytest.mark.parametrize(
    "method", ["adaptive", "privbayes", "mst", "gaussian", "smoothed-histogram", "independent"]
)
def test_our_own_methods_run_there_too(method: str, rows: Path, tmp_path: Path) -> None:
    model, _, why = fit(read_package(make_wheel("")), rows, tmp_path, method)
    assert model is not None, why
    spent, _ = model.ledger.spent()
    assert EPSILON / 2 < spent <= EPSILON


# --------------------------------------------------------------------------- what it can reach

PROBES = """
import ctypes, signal, socket, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
probes = {
    "data file": lambda: open(DATA).read(),
    "folder of the data": lambda: os.listdir(os.path.dirname(DATA)),
    "memory of the parent": lambda: open(f"/proc/{PARENT}/mem", "rb").read(1),
    "arguments of the parent": lambda: open(f"/proc/{PARENT}/cmdline", "rb").read(),
    "handles of the parent": lambda: os.listdir(f"/proc/{PARENT}/fd"),
    "handle of the parent": lambda: open(f"/proc/{PARENT}/fd/0", "rb"),
    "environment of the parent": lambda: open(f"/proc/{PARENT}/environ", "rb").read(),
    "own handles": lambda: os.listdir("/proc/self/fd"),
    "passwords": lambda: open("/etc/passwd").read(),
    "home": lambda: os.listdir("/root"),
    "root folder": lambda: os.listdir("/"),
    "write here": lambda: open("x", "w").write("y"),
    "write elsewhere": lambda: open("/tmp/understudy-foreign-probe", "w").write("y"),
    "make a folder": lambda: os.mkdir("/tmp/understudy-foreign-folder"),
    "remove the data": lambda: os.unlink(DATA),
    "truncate the data": lambda: os.truncate(DATA, 0),
    "internet socket": lambda: socket.socket(),
    "unix socket": lambda: socket.socket(socket.AF_UNIX),
    "pair of sockets": lambda: socket.socketpair(),
    "netlink socket": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "fork": lambda: os.fork() or os._exit(0),
    "program": lambda: subprocess.run(["/bin/true"], check=True),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "thread": lambda: threading.Thread(target=print).start(),
    "signal to the parent": lambda: os.kill(PARENT, 0),
    "signal to all": lambda: os.kill(-1, 0),
    "ptrace": lambda: check(libc.ptrace(16, PARENT, 0, 0)),
    "process_vm_readv": lambda: check(libc.process_vm_readv(PARENT, None, 0, None, 0, 0)),
    "pidfd": lambda: check(libc.syscall(434, PARENT, 0)),
    "io_uring": lambda: check(libc.syscall(425, 1, ctypes.create_string_buffer(256))),
    "bpf": lambda: check(libc.syscall(321, 0, 0, 0)),
    "mount": lambda: check(libc.mount(b"none", b"/", b"tmpfs", 0, None)),
    "unshare": lambda: check(libc.unshare(0x10000000)),
    "memory that runs elsewhere": lambda: os.memfd_create("x"),
    "limits": lambda: __import__("resource").setrlimit(0, (1, 1)),
    "another root": lambda: os.chroot("/"),
    "owner of a signal": lambda: __import__("fcntl").fcntl(0, 8, PARENT),
    "x32 calls": lambda: check(libc.syscall(0x40000000 + 41, 2, 1, 0)),
    "shared memory": lambda: check(libc.shmget(0, 4096, 0o1600)),
    "message queue": lambda: check(libc.msgget(0, 0o1600)),
    "keys of the kernel": lambda: check(libc.syscall(250, 0, -3, 0)),
    "inotify": lambda: check(libc.inotify_init()),
}

def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")

def probe():
    reached = {}
    for name, attempt in probes.items():
        try:
            attempt()
        except (OSError, RuntimeError, ValueError):
            continue
        except BaseException as error:
            reached[name] = repr(error)[:20]
        else:
            reached[name] = "reached"
    return reached
"""


def test_it_reaches_nothing_but_the_pipe(rows: Path, tmp_path: Path) -> None:
    before = f"DATA, PARENT = {str(rows)!r}, {os.getpid()}\nimport os\n{PROBES}"
    body = """
environment = sorted(set(os.environ) - {"LC_CTYPE"})
handles = []
for handle in range(3, 64):
    try:
        os.fstat(handle)
        handles.append(handle)
    except OSError:
        pass
raise ValueError(json.dumps([probe(), environment, handles]))
"""
    model, _, why = fit(make_package(body, before), rows, tmp_path)
    assert model is None
    reached, environment, handles = json.loads(why.partition("ValueError: ")[2])
    assert reached == {}
    assert environment == [
        "LANG",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
    ]
    assert handles == []
    assert rows.read_text().startswith("age,sex")


def test_it_cannot_ask_for_the_size_of_the_rows(rows: Path, tmp_path: Path) -> None:
    """One row more makes a larger file, and nobody has paid for that; Landlock forbids to open a
    file, and not to ask for its size.
    """
    before = f"DATA, PARENT = {str(rows)!r}, {os.getpid()}\nimport os\n"
    body = """
def see(path):
    found = []
    for look in (os.stat, os.lstat, lambda p: os.fstat(os.open(p, os.O_PATH)), os.readlink):
        try:
            found.append(str(look(path)))
        except OSError:
            pass
    found += [path] * os.access(path, os.F_OK)
    return found
up = "../" * 30
seen = [see(p) for p in (DATA, up + DATA, os.path.dirname(DATA), f"/proc/{PARENT}", "/etc/passwd")]
raise ValueError(json.dumps(seen))
"""
    model, book, why = fit(make_package(body, before), rows, tmp_path)
    assert model is None
    assert json.loads(why.partition("ValueError: ")[2]) == [[], [], [], [], []]
    assert book.left() == (2 * EPSILON, 0.0)


def test_without_namespaces_rows_in_a_file_are_not_asked(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = keeper._PROGRAM.replace(
        "main(sys.argv[2])",
        "child = sys.modules[main.__module__]; child.leave_network = lambda: False; "
        "main(sys.argv[2])",
    )
    monkeypatch.setattr(keeper, "_PROGRAM", program)
    package = make_package("return uniform(curator)")
    model, book, why = fit(package, rows, tmp_path)
    assert model is None
    assert "how large the file of the rows is; nothing was run" in why
    assert book.left() == (2 * EPSILON, 0.0)


def test_the_probes_would_be_noticed_where_nothing_is_shut_in(rows: Path, tmp_path: Path) -> None:
    """The probes themselves work: in this process most of them reach something."""
    scope: dict[str, Any] = {"DATA": str(rows), "PARENT": os.getpid(), "os": os}
    exec(PROBES, scope)
    harmless = ("data file", "folder of the data", "arguments of the parent", "internet socket")
    for name in (*harmless, "own handles", "root folder", "thread", "signal to the parent"):
        scope["probes"][name]()


# --------------------------------------------------------------------------- what it can spend

OVERSPENDING = """
total = curator.ledger.left
answers = []
for attempt in range(40):
    try:
        answers += curator.measure([marginal("age")], Budget(0.3, "epsilon"))
    except Exception:
        pass
curator.ledger.entries.clear()
try:
    answers += curator.measure([marginal("sex")], Budget(1e9, "epsilon"))
except Exception:
    pass
curator.ledger.epsilon = 1e9
curator.ledger.budget = Budget(1e9, "epsilon")
try:
    answers += curator.measure([marginal("sex")], Budget(0.2, "epsilon"))
except Exception:
    pass
curator.ledger.private = False
return uniform(curator)
"""


def test_it_cannot_spend_more_than_its_budget(rows: Path, tmp_path: Path) -> None:
    model, book, why = fit(make_package(OVERSPENDING), rows, tmp_path)
    assert model is not None, why
    assert [entry.amount for entry in model.ledger.entries] == [0.3, 0.3, 0.3]
    assert model.ledger.promise() == (EPSILON, 0.0)
    assert model.ledger.private
    assert book.left() == (EPSILON, 0.0)


@pytest.mark.parametrize(
    "price",
    [
        "-1.0",
        pytest.param("1e300", marks=pytest.mark.thorough),
        pytest.param("True", marks=pytest.mark.thorough),
    ],
)
def test_a_price_that_is_none_is_refused(price: str, rows: Path, tmp_path: Path) -> None:
    """Messages past the curator that it was handed: its checks are not those that count."""
    body = f"""
from understudy.federation.messages import Message
from understudy.privacy.wire import pack_marginals
names, arrays = pack_marginals([marginal("age")])
content = {{"names": names, "amount": {price}, "bits": None}}
curator._pipe.send(Message("measure", content, arrays))
raise ValueError(curator._pipe.receive().kind)
"""
    model, book, why = fit(make_package(body), rows, tmp_path)
    assert model is None
    assert "refused" in why
    assert book.left() == (2 * EPSILON, 0.0)


def test_a_forged_ledger_and_another_schema_are_not_taken_over(rows: Path, tmp_path: Path) -> None:
    body = """
from dataclasses import replace
from understudy.privacy.ledger import Entry, Ledger
curator.measure([marginal("age")], curator.ledger.left)
model = uniform(curator)
document = model.to_dict()
document["ledger"] = Ledger(1e-6).to_dict()
document["ledger"]["trust"] = "Trust me."
document["method"] = {"name": "adaptive", "draws": 7}
document["schema"]["attributes"]["age"]["max"] = 999
object.__setattr__(model, "rows", 10)
class Forged:
    def to_dict(self):
        return document
return Forged()
"""
    model, book, why = fit(make_package(body), rows, tmp_path)
    assert model is not None, why
    assert model.ledger.promise() == (EPSILON, 0.0)
    assert model.ledger.trust == ""
    assert model.schema["age"].to_dict() == SCHEMA["age"].to_dict()
    assert model.method["name"] == "stranger"
    assert book.left() == (EPSILON, 0.0)


# --------------------------------------------------------------------------- how it can misbehave

MISBEHAVIOUR = {
    "junk": 'os.write(1, b"x" * 100_000); import time; time.sleep(600)',
    "a huge message": 'import time; os.write(1, b"\\xff" * 4); time.sleep(600)',
    "silence": "import time; time.sleep(600)",
    "an endless loop": "while True: pass",
    "memory without end": "held = [b'x' * (1 << 20) for _ in range(1 << 20)]",
    "an early end": "os._exit(0)",
    "a crash": "import ctypes; ctypes.string_at(0)",
    "no model": "return None",
    "a model of nothing": "class M:\n    def to_dict(self): return {}\nreturn M()",
    "a model that is no JSON": "class M:\n    def to_dict(self): return {1: object()}\nreturn M()",
    "progress without end": "while True: progress('x' * 200, 1, 2)",
    "a signal to itself": "import signal; signal.raise_signal(9)",
    "deep nesting": (
        "class M:\n    def to_dict(self):\n        d = 1\n        for _ in range(900): d = [d]\n"
        "        return {'understudy_model': 1, 'network': d}\nreturn M()"
    ),
}

IN_QUICK = ("junk", "a huge message", "no model")

LIMITS = {"an endless loop": {"cpu_seconds": 6.0}, "silence": {"seconds": 8.0}}
"""By which the two end that would go on for ever; the others end by themselves."""


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=() if what in IN_QUICK else pytest.mark.thorough)
        for what in MISBEHAVIOUR
    ],
)
def test_misbehaviour_ends_in_a_named_failure(what: str, rows: Path, tmp_path: Path) -> None:
    body = f"curator.measure([marginal('age')], Budget(0.1, 'epsilon'))\n{MISBEHAVIOUR[what]}"
    model, book, why = fit(
        make_package(body), rows, tmp_path, memory=2 << 30, **LIMITS.get(what, {})
    )
    assert model is None
    assert "algorithm" in why
    # It asked something, so the whole price stays, and no more than that.
    assert book.left() == (EPSILON, 0.0)
    [release] = book.read()["releases"]
    assert release["state"] == "settled"


@pytest.mark.thorough
def test_questions_without_end_are_stopped(rows: Path, tmp_path: Path) -> None:
    body = """
while True:
    curator.choose([marginal("age")], "mutual_information", Budget(0.1, "epsilon"))
"""
    _, _, why = fit(make_package(body), rows, tmp_path, questions=30)
    assert "without end" in why or "failed" in why


def test_a_refused_question_costs_nothing(rows: Path, tmp_path: Path) -> None:
    body = """
from understudy.hub.foreign.questions import write_question
from understudy.privacy.questions import Measure
asked = Measure(marginals=[marginal("height")], budget=Budget(0.1, "epsilon"))
curator._pipe.send(write_question(asked, None))
assert curator._pipe.receive().kind == "refused"
return uniform(curator)
"""
    model, book, why = fit(make_package(body), rows, tmp_path)
    assert model is not None, why
    assert model.ledger.entries == []
    assert book.left() == (2 * EPSILON, 0.0)


# --------------------------------------------------------------------------- packages


def test_what_was_signed_is_what_is_run() -> None:
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    data = make_wheel(HEAD + "        return uniform(curator)\n")
    signature = sign_package(data, key)
    check_signature(data, signature, public_key_of(key))
    for changed in (
        (data + b" ", signature, public_key_of(key)),
        (data, sign_package(data, other), public_key_of(key)),
        (data, signature, public_key_of(other)),
        (data, "", public_key_of(key)),
        (data, "zz", public_key_of(key)),
        (data, signature, "00" * 31),
        (data, key.sign(data).hex(), public_key_of(key)),
    ):
        with pytest.raises(InputError, match="not signed by the key"):
            check_signature(*changed)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"../evil.py": ""}, "not plain"),
        ({"/etc/evil.py": ""}, "not plain"),
        ({"a\\b.py": ""}, "not plain"),
        ({"stranger/native.so": "x"}, "no compiled code"),
        ({"site.pth": "import os"}, "no compiled code"),
        ({"stranger/cached.pyc": "x"}, "no compiled code"),
        ({"stranger-1.0.dist-info/entry_points.txt": "[other]\na = b\n"}, "offers no method"),
        (
            {"stranger-1.0.dist-info/entry_points.txt": "[understudy.methods]\na = os; x\n"},
            "names no module",
        ),
        ({"stranger-1.0.dist-info/METADATA": "Name: ../x\nVersion: 1\n"}, "name and version"),
        ({"stranger-2.0.dist-info/METADATA": "Name: x\nVersion: 1\n"}, "or several"),
        ({f"f{i}.py": "" for i in range(2001)}, "at most 2,000 files"),
    ],
)
def test_a_package_that_could_do_harm_is_refused(others: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_package(make_wheel("", **others))


def test_a_package_may_have_as_many_files_as_the_limit_says() -> None:
    whole = {f"stranger/part{i}.py": "" for i in range(2000 - 4)}  # a wheel has four of its own
    assert read_package(make_wheel("", **whole)).name == "stranger"
    with pytest.raises(InputError, match="at most 2,000 files"):
        read_package(make_wheel("", **whole, one="more"))


def test_bombs_links_and_junk_are_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.txt", b"0" * (60 << 20))
    with pytest.raises(InputError, match="unpacked"):
        read_package(buffer.getvalue())
    link = zipfile.ZipInfo("stranger/link.py")
    link.external_attr = 0o120777 << 16
    buffer = io.BytesIO(make_wheel(""))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(InputError, match="not plain"):
        read_package(buffer.getvalue())
    with pytest.raises(InputError, match="not a wheel"):
        read_package(b"junk")
    with pytest.raises(InputError, match="at most 10 MB"):
        read_package(bytes(11 << 20))


def test_without_landlock_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "_landlock_version", lambda: -1)
    with pytest.raises(InputError, match="lacks Landlock"):
        check_confinement()
    monkeypatch.setattr(confinement.platform, "machine", lambda: "riscv64")
    with pytest.raises(InputError, match="nothing was run"):
        check_confinement()


def test_a_provider_signs_on_the_command_line(tmp_path: Path) -> None:
    from running import run

    wheel, key = tmp_path / "stranger.whl", tmp_path / "provider.key"
    wheel.write_bytes(make_wheel(HEAD + "        return uniform(curator)\n"))
    first = run("hub", "sign", wheel, "--key", key)
    assert first.status == 0, first.err
    told = dict(line.split(":", 1) for line in first.out.splitlines())
    check_signature(wheel.read_bytes(), told["signature"].strip(), told["public key"].strip())
    assert key.stat().st_mode & 0o077 == 0
    assert run("hub", "sign", wheel, "--key", key).out == first.out
    key.chmod(0o644)
    assert run("hub", "sign", wheel, "--key", key).status == 2
    wheel.write_bytes(b"junk")
    refused = run("hub", "sign", wheel, "--key", tmp_path / "other.key")
    assert refused.status == 2
    assert not (tmp_path / "other.key").exists()
