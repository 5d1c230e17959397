"""The process in which a foreign algorithm runs; started by :mod:`understudy.hub.foreign.keeper`.

What is imported here is ours, until the process has shut itself in. Only then is the package of the
algorithm imported: from its first line it has nothing but the pipe.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from understudy.hub.foreign.confinement import (
    ResourceLimits,
    enter_own_root,
    leave_network,
    limit_resources,
    python_folders,
    shut_in,
)

MAX_SENTENCE = 500


def main(arguments: str) -> None:
    """Shut the process in, then run the algorithm; ``arguments`` is a JSON object."""
    told = json.loads(arguments)
    package = Path(told["package"])
    limits = ResourceLimits(**told["limits"])
    layers = ["seccomp", "landlock"]
    if leave_network():  # first of all, since it takes a process without threads
        layers.append("namespaces")
    limit_resources(limits)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # so that ours starts no threads

    from understudy.federation.messages import MAX_MESSAGE_BYTES, Message
    from understudy.hub.foreign.pipes import Pipe
    from understudy.synthesizers.registry import methods

    methods()  # imports all of ours, while files can still be read freely
    _keep_nothing_compiled()
    readable = [*python_folders(), package]
    if "namespaces" in layers and enter_own_root(readable, Path(told["root"])):
        layers.append("root")
    shut_in(readable)
    _check_shut_in()
    pipe = Pipe(0, 1, max_bytes=MAX_MESSAGE_BYTES)
    pipe.send(Message("ready", {"layers": layers}))
    start = pipe.receive()
    try:
        document = _learn(pipe, start, package, told["modules"])
    except BaseException as error:
        pipe.send(Message("failed", {"sentence": _describe(error)}))
        return
    pipe.send(document)


def _learn(pipe: Any, start: Any, package: Path, modules: list[str]) -> Any:
    import numpy as np

    from understudy.data.schema import Schema
    from understudy.federation.messages import Message
    from understudy.hub.foreign.pipe_curator import open_pipe_curator
    from understudy.synthesizers.registry import find_method

    curator = open_pipe_curator(pipe, start)
    sys.path.append(str(package))
    for module in modules:
        importlib.import_module(module)

    def progress(step: str, done: int, steps: int) -> None:
        pipe.send(Message("progress", {"step": str(step)[:100], "done": done, "steps": steps}))

    parameters = {name: _as_parameter(value) for name, value in start.content["parameters"].items()}
    method = find_method(start.content["method"]).make(**parameters)
    schema: Schema = curator.schema
    method.check(schema)
    model = method.learn(curator, curator.ledger.left, progress)
    data = json.dumps(model.to_dict(), allow_nan=False).encode()
    return Message("model", {}, {"model": np.frombuffer(data, dtype=np.uint8)})


def _as_parameter(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_as_parameter(part) for part in value)
    return value


def _keep_nothing_compiled() -> None:
    """Compiled code is read from where it was kept before, and not written there any more."""
    from numba.core import caching

    caching.Cache.save_overload = lambda self, signature, data: None


def _check_shut_in() -> None:
    """Believe the kernel only after trying: what must fail, fails."""
    try:
        Path("/proc/self/status").read_bytes()
    except (PermissionError, FileNotFoundError):
        pass
    else:
        raise SystemExit("files can still be read")
    try:
        socket.socket()
    except PermissionError as error:
        if error.errno == errno.EPERM:
            return
    raise SystemExit("connections can still be made")


def _describe(error: BaseException) -> str:
    said = str(error)[:MAX_SENTENCE]
    return f"{type(error).__name__}: {said}"
