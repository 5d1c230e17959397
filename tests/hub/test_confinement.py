"""How a process shuts itself in: what it asks of the kernel, against the kernel's own headers."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import resource
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from understudy.errors import InputError
from understudy.hub.foreign import confinement
from understudy.hub.foreign.confinement import ARCHITECTURES, ResourceLimits

INCLUDE = Path("/usr/include")
TABLES = (INCLUDE / "x86_64-linux-gnu/asm/unistd_64.h", INCLUDE / "asm-generic/unistd.h")
ALLOWED = 0x7FFF0000
REFUSED = 0x00050000 | errno.EPERM
UNKNOWN = 0x00050000 | errno.ENOSYS
KILLED = 0x80000000
FCNTL = {"x86_64": 72, "aarch64": 25}


def read_numbers(place: int) -> dict[str, int]:
    """The calls of x86-64 or ARM by their names."""
    if not TABLES[place].exists():
        pytest.skip("the headers of the kernel are not installed")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", TABLES[place].read_text())
    numbers = {name: int(number) for name, number in found}
    numbers.setdefault("newfstatat", numbers.get("fstatat", -1))
    return numbers


def read_constant(header: str, name: str) -> int:
    path = INCLUDE / "linux" / header
    if not path.exists():
        pytest.skip("the headers of the kernel are not installed")
    [text] = re.findall(rf"#define\s+{name}\s+\(?(.+?)\)?\s*(?:/\*.*)?\n", path.read_text())
    return int(eval_shift(re.sub(r"(?<=[0-9a-fA-F])U?L?L?\b", "", text)))


def eval_shift(text: str) -> int:
    """A number, or one that is shifted."""
    number, _, places = text.partition("<<")
    return int(number.strip(), 0) << int(places or 0)


@pytest.mark.parametrize("place", [0, 1])
def test_calls_have_the_numbers_of_the_kernel(place: int) -> None:
    numbers = read_numbers(place)
    for name, both in confinement._CALLS.items():
        if both[place] is not None:
            assert numbers[name] == both[place], name
        else:
            assert name not in numbers, name
    assert numbers["fcntl"] == confinement._FCNTL[place] == list(FCNTL.values())[place]
    assert numbers["clone3"] == confinement._CLONE3
    names = ("create_ruleset", "add_rule", "restrict_self")
    assert [numbers[f"landlock_{name}"] for name in names] == [444, 445, 446]


def test_what_makes_processes_or_reaches_others_is_not_among_the_calls() -> None:
    dangerous = {
        "socket", "connect", "clone", "clone3", "fork", "vfork", "execve", "execveat", "kill",
        "tkill", "tgkill", "ptrace", "process_vm_readv", "unlink", "rename", "mkdir", "chmod",
        "mount", "unshare", "setns", "prctl", "ioctl", "fcntl", "prlimit64", "setrlimit",
        "io_uring_setup", "bpf", "keyctl", "shmget", "personality", "pidfd_open", "memfd_create",
        "truncate", "ftruncate", "link", "symlink", "creat", "utime", "pwrite64", "sendto",
    }  # fmt: skip
    assert not dangerous & set(confinement._CALLS)


def decide(program: list[bytes], machine: int, number: int, first: int = 0, second: int = 0) -> int:
    """Run a filter as the kernel does, on the architecture, the call and its arguments."""
    data = struct.pack("<IIQQQ", number, machine, 0, first, second)
    at, held = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack("<HBBI", program[at])
        at += 1
        if code == 0x20:
            (held,) = struct.unpack_from("<I", data, value)
        elif code == 0x15:
            at += if_true if held == value else if_false
        else:
            assert code == 0x06
            return value


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_filter_lets_through_what_is_on_the_list_and_nothing_else(name: str) -> None:
    place, machine = list(ARCHITECTURES).index(name), ARCHITECTURES[name]
    program = list(confinement._filter(machine, place))
    listed = {numbers[place] for numbers in confinement._CALLS.values()}
    for number in range(600):
        decision = decide(program, machine, number)
        if number in listed:
            assert decision == ALLOWED, number
        elif number == 435:
            assert decision == UNKNOWN  # glibc then falls back to clone
        else:
            assert decision == REFUSED, number
    for command in range(12):
        decision = decide(program, machine, FCNTL[name], second=command)
        assert decision == (ALLOWED if command in (1, 2, 3) else REFUSED), command
    for other in (*ARCHITECTURES.values(), 0, machine + 1):
        if other != machine:
            assert decide(program, other, 0) == KILLED


def test_constants_are_those_of_the_kernel() -> None:
    assert read_constant("seccomp.h", "SECCOMP_RET_ALLOW") == ALLOWED
    assert read_constant("seccomp.h", "SECCOMP_RET_ERRNO") == 0x00050000
    assert read_constant("seccomp.h", "SECCOMP_RET_KILL_PROCESS") == KILLED
    assert read_constant("seccomp.h", "SECCOMP_MODE_FILTER") == confinement._SECCOMP_FILTER
    assert read_constant("prctl.h", "PR_SET_NO_NEW_PRIVS") == confinement._PR_SET_NO_NEW_PRIVS
    assert read_constant("prctl.h", "PR_SET_SECCOMP") == confinement._PR_SET_SECCOMP
    right = "LANDLOCK_ACCESS_FS_"
    assert read_constant("landlock.h", f"{right}READ_FILE") == confinement._READ_FILE
    assert read_constant("landlock.h", f"{right}READ_DIR") == confinement._READ_DIR
    last = read_constant("landlock.h", f"{right}MAKE_SYM")
    assert confinement._FILE_RIGHTS[1] == 2 * last - 1
    assert ARCHITECTURES == {"x86_64": 62 | 3 << 30, "aarch64": 183 | 3 << 30}


class Kernel:
    """Notes what a process asks of it."""

    def __init__(self, version: int = 4, refuse: tuple[str, ...] = ()) -> None:
        self.version, self.refuse = version, refuse
        self.asked: list[tuple[Any, ...]] = []
        self.rules: list[tuple[int, str]] = []

    def syscall(self, number: int, *arguments: Any) -> int:
        if (number, *arguments) == (444, None, 0, 1):
            return self.version
        if number == 445:
            ruleset, kind, rule, flags = arguments
            rights, handle = struct.unpack("<Qi", rule)
            assert (kind, flags) == (1, 0)
            self.rules.append((rights, os.readlink(f"/proc/self/fd/{handle}")))
            arguments = (ruleset,)
        self.asked.append((number, *arguments))
        if number == 444:
            return os.open(os.devnull, os.O_RDONLY)
        return 0

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            told = [one.value if isinstance(one, ctypes.c_ulong) else one for one in arguments]
            self.asked.append((name, *told))
            return -1 if name in self.refuse else 0

        return call


def with_kernel(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Kernel:
    kernel = Kernel(**settings)
    monkeypatch.setattr(confinement, "_libc", lambda: kernel)
    return kernel


@pytest.mark.parametrize(
    ("version", "attributes"),
    [
        (1, [0x1FFF]),
        (2, [0x3FFF]),
        (3, [0x7FFF]),
        (4, [0x7FFF, 3]),
        (5, [0xFFFF, 3]),
        (6, [0xFFFF, 3, 3]),
        (9, [0xFFFF, 3, 3]),
    ],
)
def test_all_that_a_kernel_can_forbid_is_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, attributes: list[int]
) -> None:
    kernel = with_kernel(monkeypatch, version=version)
    file = tmp_path / "file"
    file.touch()
    confinement._restrict_files([tmp_path, file])
    made, *rest = kernel.asked
    assert made == (444, struct.pack(f"<{len(attributes)}Q", *attributes), 8 * len(attributes), 0)
    assert kernel.rules == [(0b1100, str(tmp_path)), (0b0100, str(file))]
    assert [one[0] for one in rest] == [445, 445, 446]
    assert rest[-1][2:] == (0,)


def test_a_kernel_without_landlock_shuts_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    with_kernel(monkeypatch, version=-1)
    with pytest.raises(OSError, match="Landlock"):
        confinement._restrict_files([])


def test_privileges_go_first_then_files_then_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = with_kernel(monkeypatch)
    confinement.shut_in([])
    assert [one[0] for one in kernel.asked] == ["prctl", 444, 446, "prctl"]
    assert kernel.asked[0] == ("prctl", 38, 1, 0, 0, 0)
    name, option, mode, header, *zeros = kernel.asked[-1]
    assert (name, option, mode, zeros) == ("prctl", 22, 2, [0, 0])
    length, place = struct.unpack("<HxxxxxxQ", header)
    machine = confinement.platform.machine()
    program = confinement._filter(ARCHITECTURES[machine], list(ARCHITECTURES).index(machine))
    assert length == len(program)
    assert place
    with_kernel(monkeypatch, refuse=("prctl",))
    with pytest.raises(OSError, match="no_new_privs"):
        confinement.shut_in([])
    with pytest.raises(OSError, match="seccomp"):
        confinement._restrict_calls()


def test_a_network_is_left_with_all_that_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    all_but_mounts = 0x10000000 | 0x40000000 | 0x08000000 | 0x04000000
    kernel = with_kernel(monkeypatch, refuse=("unshare",))
    assert not confinement.leave_network()
    assert kernel.asked == [("unshare", all_but_mounts | 0x20000), ("unshare", all_but_mounts)]
    written: dict[str, str] = {}
    monkeypatch.setattr(
        Path, "write_text", lambda self, text, **_: written.update({str(self): text})
    )
    with_kernel(monkeypatch)
    assert confinement.leave_network()
    user, group = os.getuid(), os.getgid()
    assert written == {
        "/proc/self/setgroups": "deny",
        "/proc/self/uid_map": f"{user} {user} 1",
        "/proc/self/gid_map": f"{group} {group} 1",
    }


def test_a_root_of_its_own_holds_what_may_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    went: list[Any] = []
    monkeypatch.setattr(os, "chroot", went.append)
    monkeypatch.setattr(os, "chdir", went.append)
    folder, file, root = tmp_path / "a", tmp_path / "b", tmp_path / "root"
    folder.mkdir()
    file.touch()
    root.mkdir()
    kernel = with_kernel(monkeypatch)
    assert confinement.enter_own_root([folder, file], root)
    inside = [root / path.relative_to("/") for path in (folder, file)]
    assert kernel.asked == [
        ("mount", None, b"/", None, 0x44000, None),
        ("mount", b"tmpfs", str(root).encode(), b"tmpfs", 0b110, b"size=1m,mode=0755"),
        *(
            ("mount", str(path).encode(), str(target).encode(), None, 0x5000, None)
            for path, target in zip((folder, file), inside, strict=True)
        ),
    ]
    assert [path.is_dir() for path in inside] == [True, False]
    assert inside[1].is_file()
    assert went == [root, "/"]
    with_kernel(monkeypatch, refuse=("mount",))
    assert not confinement.enter_own_root([folder], root)


def test_resources_are_limited_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(resource, "setrlimit", found.__setitem__)
    confinement.limit_resources(ResourceLimits(seconds=2.5, memory=1 << 30))
    assert found == {
        resource.RLIMIT_AS: (1 << 30, 1 << 30),
        resource.RLIMIT_CPU: (3, 3),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (64, 64),
        resource.RLIMIT_CORE: (0, 0),
    }
    confinement.limit_resources(ResourceLimits(seconds=100.0, cpu_seconds=0.2))
    assert found[resource.RLIMIT_CPU] == (1, 1)
    assert found[resource.RLIMIT_AS] == (4 << 30, 4 << 30)
    plain = ResourceLimits()
    assert (plain.seconds, plain.questions, plain.answer_bytes) == (600.0, 100_000, 64 << 20)


def test_a_step_that_the_kernel_refuses_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody goes on who is not shut in."""
    for refused in (444, 445, 446):
        kernel = with_kernel(monkeypatch)
        answer = kernel.syscall

        def ask(
            number: int,
            *arguments: Any,
            refused: int = refused,
            answer: Callable[..., int] = answer,
        ) -> int:
            found = answer(number, *arguments)
            return -1 if number == refused and arguments[0] is not None else found

        monkeypatch.setattr(kernel, "syscall", ask)
        with pytest.raises(OSError, match=f"call {refused}"):
            confinement._restrict_files([tmp_path])


@pytest.mark.parametrize(
    ("version", "seccomp", "lacking"),
    [
        (0, True, "Landlock"),
        (-1, False, "Landlock and seccomp"),
        (1, False, "seccomp"),
        (1, True, ""),
    ],
)
def test_nothing_foreign_runs_where_a_kernel_lacks_something(
    monkeypatch: pytest.MonkeyPatch, version: int, seccomp: bool, lacking: str
) -> None:
    with_kernel(monkeypatch, version=version)
    monkeypatch.setattr(os.path, "exists", lambda path: seccomp)
    if not lacking:
        confinement.check_confinement()
        monkeypatch.setattr(confinement.platform, "machine", lambda: "riscv64")
        with pytest.raises(InputError, match="x86-64 or ARM alone"):
            confinement.check_confinement()
        return
    with pytest.raises(InputError, match=f"lacks {lacking}, without"):
        confinement.check_confinement()
