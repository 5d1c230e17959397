"""How a process shuts itself in, for good: by Landlock, seccomp and limits of the kernel.

Afterwards it can read the files of Python and of its own package, and no others: not the data, not
``/proc``, whose files would show other processes. Of the kernel's calls it keeps those in a short
list: memory, reading, waiting, the clock. There is none among them that opens a connection, starts
a process or a thread, runs a program, sends a signal or looks into another process. Where a user
may make namespaces, it is in an empty network, too, and in a file system that holds nothing but
those files: Landlock lets everybody see how large a file is whose path they know, and one row more
makes a larger file (:func:`enter_own_root`).

Linux alone has these; where one of the two that are needed is missing, nothing foreign is run.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import platform
import resource
import struct
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import InputError

_NEW_IPC, _NEW_UTS, _NEW_USER, _NEW_NET = 0x08000000, 0x04000000, 0x10000000, 0x40000000
_NEW_MOUNTS = 0x00020000

_NO_SETUID, _NO_DEVICES, _BIND, _RECURSIVE, _PRIVATE = 1 << 1, 1 << 2, 1 << 12, 1 << 14, 1 << 18

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_LANDLOCK_VERSION = 1
_LANDLOCK_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All that each version can forbid; later ones forbid as much as the last of these."""
_NET_RIGHTS = 0b11
_SCOPES = 0b11

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP, _SECCOMP_FILTER = 22, 2
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_CALLS: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "open": (2, None),
    "close": (3, 57),
    "stat": (4, None),
    "fstat": (5, 80),
    "lstat": (6, None),
    "poll": (7, None),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "pread64": (17, 67),
    "readv": (19, 65),
    "writev": (20, 66),
    "access": (21, None),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "dup": (32, 23),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "exit": (60, 93),
    "uname": (63, 160),
    "getcwd": (79, 17),
    "readlink": (89, None),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "times": (100, 153),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "getdents64": (217, 61),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "openat": (257, 56),
    "newfstatat": (262, 79),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "ppoll": (271, 73),
    "getcpu": (309, 168),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "statx": (332, 291),
    "rseq": (334, 293),
    "faccessat2": (439, 439),
}
"""The calls that remain, with their numbers on both kinds of machine."""

_FCNTL = (72, 25)
_HARMLESS_FCNTL = (1, 2, 3)
"""Flags of a handle; others could have signals sent to somebody else."""

_CLONE3 = 435


@dataclass(frozen=True, kw_only=True)
class ResourceLimits:
    """What a foreign algorithm may use.

    Parameters
    ----------
    seconds
        From its start to its model, answers included.
    cpu_seconds
        Of the processor; by default as many.
    memory
        Bytes of address space.
    questions
        How many it may ask.
    answer_bytes
        Of the model that it returns, and of any one message.
    """

    seconds: float = 600.0
    memory: int = 4 << 30
    cpu_seconds: float | None = None
    questions: int = 100_000
    answer_bytes: int = 64 << 20


def check_confinement() -> None:
    """Refuse to run anything foreign where the kernel cannot shut it in."""
    lacking = []
    if sys.platform != "linux" or platform.machine() not in ARCHITECTURES:
        raise InputError(
            "Foreign algorithms are run on Linux for x86-64 or ARM alone, where a process can be "
            "shut in; nothing was run."
        )
    if _landlock_version() < 1:
        lacking.append("Landlock")
    if not os.path.exists("/proc/sys/kernel/seccomp/actions_avail"):
        lacking.append("seccomp")
    if lacking:
        raise InputError(
            f"The kernel of this machine lacks {' and '.join(lacking)}, without which a foreign "
            "algorithm cannot be shut in; nothing was run."
        )


def limit_resources(limits: ResourceLimits) -> None:
    """No more memory, time and handles than that; no file, no core dump."""
    seconds = max(math.ceil(limits.cpu_seconds or limits.seconds), 1)
    for what, most in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def leave_network() -> bool:
    """Move into an empty network, as nobody, where that is permitted; before any thread starts."""
    user, group = os.getuid(), os.getgid()
    spaces = _NEW_USER | _NEW_NET | _NEW_IPC | _NEW_UTS
    if _libc().unshare(spaces | _NEW_MOUNTS) != 0:
        return _libc().unshare(spaces) == 0  # an empty network is better than nothing
    # Who has no number in the new space can make no folder in it.
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with contextlib.suppress(OSError):
            Path("/proc/self", name).write_text(line, encoding="ascii")
    return True


def enter_own_root(readable: Iterable[Path], root: Path) -> bool:
    """Move into a file system that holds these files and folders, and nothing else; whether that
    is permitted.

    Landlock says what may be opened; it does not keep anybody from asking for the size and the
    time of a file whose path they know or guess. Of a file that is not there, nothing can be asked.

    Parameters
    ----------
    readable
        What is there, under the same paths.
    root
        An empty folder to build it in.
    """
    paths = sorted({place for path in readable for place in (path, path.resolve())})
    try:
        _mount(None, Path("/"), None, _RECURSIVE | _PRIVATE)
        _mount("tmpfs", root, "tmpfs", _NO_SETUID | _NO_DEVICES, "size=1m,mode=0755")
        for path in paths:
            target = root / path.relative_to("/")
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            elif not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
            _mount(str(path), target, None, _BIND | _RECURSIVE)
        os.chroot(root)
        os.chdir("/")
    except OSError:
        return False
    return True


def _mount(source: str | None, target: Path, kind: str | None, flags: int, data: str = "") -> None:
    told = [None if text is None else text.encode() for text in (source, str(target), kind)]
    if _libc().mount(*told, ctypes.c_ulong(flags), data.encode() or None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def shut_in(readable: Iterable[Path]) -> None:
    """Give up everything but reading below these folders, for good; raises where that fails."""
    if _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    _restrict_files(readable)
    _restrict_calls()


def python_folders() -> list[Path]:
    """What Python itself is read from: its library, installed packages, shared libraries."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {Path(sysconfig.get_paths()[name]) for name in names}
    folders |= {Path(sys.base_prefix) / "lib", Path(__file__).resolve().parents[2]}
    folders |= {Path(name) for name in ("/lib", "/lib64", "/usr/lib", "/usr/lib64")}
    folders |= {Path(name) for name in ("/etc/ld.so.cache", "/dev/null", "/dev/urandom")}
    return sorted(folder for folder in folders if folder.exists())


# --------------------------------------------------------------------------- Landlock


def _landlock_version() -> int:
    return int(_libc().syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION))


def _restrict_files(readable: Iterable[Path]) -> None:
    version = _landlock_version()
    if version < 1:
        raise OSError(errno.ENOSYS, "Landlock")
    rights = max(bits for since, bits in _FILE_RIGHTS.items() if since <= version)
    fields = [rights]
    if version >= 4:
        fields.append(_NET_RIGHTS)
    if version >= 6:
        fields.append(_SCOPES)
    attributes = struct.pack(f"<{len(fields)}Q", *fields)
    ruleset = _call(_LANDLOCK_CREATE, attributes, len(attributes), 0)
    try:
        for path in readable:
            _allow_reading(ruleset, path)
        _call(_LANDLOCK_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow_reading(ruleset: int, path: Path) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights = _READ_FILE | (_READ_DIR if path.is_dir() else 0)
        _call(_LANDLOCK_ADD, ruleset, _LANDLOCK_PATH_BENEATH, struct.pack("<Qi", rights, handle), 0)
    finally:
        os.close(handle)


# --------------------------------------------------------------------------- seccomp


def _restrict_calls() -> None:
    machine = platform.machine()
    place = list(ARCHITECTURES).index(machine)
    program = _filter(ARCHITECTURES[machine], place)
    buffer = ctypes.create_string_buffer(b"".join(program))
    header = struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(buffer))
    if _libc().prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def _filter(architecture: int, place: int) -> Sequence[bytes]:
    """A program for the kernel: what is on the list goes on, all else is an error."""
    refuse = _step(_RETURN, _ERRNO | errno.EPERM)
    program = [
        _step(_LOAD, 4),  # the architecture
        _step(_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, 0),  # the number of the call
    ]
    for numbers in _CALLS.values():
        number = numbers[place]
        if number is not None:
            program += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _ALLOW)]
    # glibc falls back to clone, which is refused, where clone3 is not known at all.
    program += [_step(_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _ERRNO | errno.ENOSYS)]
    program += [_step(_EQUAL, _FCNTL[place], 1, 0), refuse, _step(_LOAD, 24)]
    for command in _HARMLESS_FCNTL:
        program += [_step(_EQUAL, command, 0, 1), _step(_RETURN, _ALLOW)]
    return [*program, refuse]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


# --------------------------------------------------------------------------- the C library


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: int | bytes | None) -> int:
    result = int(_libc().syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"call {number}")
    return result
