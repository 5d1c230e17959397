"""A table in several Parquet files of one folder, written on all cores at once.

Each file is one partition: a run of rows that somebody can draw by themselves. The folder appears
under its name only when all files are complete.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.data.files import name_beside, writable_file
from understudy.data.tables import Table, write_parquet
from understudy.errors import InputError
from understudy.machine.late import LateModule

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = LateModule("duckdb")


def names_folder(path: str | Path) -> bool:
    """Whether a name is that of a folder: it ends in a slash."""
    return isinstance(path, str) and path.endswith(("/", os.sep))


def writable_folder(path: str | Path) -> Path:
    """Return ``path`` if a folder of Parquet files can be put there, else say why not."""
    path = Path(path)
    if not path.is_dir():
        return writable_file(path, "folder")
    if any(path.iterdir()):
        raise InputError(f"The folder {path} is not empty; empty it, or name another.")
    writable_file(path / "part", "table")
    return path


def write_folder(
    path: str | Path,
    partitions: Sequence[Iterable[Table]],
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write each partition, given in pieces that fit into memory, to a file of its own; returns the
    number of rows.

    Parameters
    ----------
    path
        A folder that does not exist yet, or is empty.
    partitions
        The pieces of each are asked for on a thread of their own, one partition after another.
    progress
        Called with the number of rows of each piece that is written.
    """
    path = writable_folder(path)
    lock, stopped = threading.Lock(), threading.Event()

    def report_each(pieces: Iterable[Table]) -> Iterator[Table]:
        for piece in pieces:
            if stopped.is_set():
                raise OSError("stopped")
            yield piece
            if progress is not None:
                with lock:
                    progress(piece.rows)

    with _folder_written_whole(path) as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(write_parquet, folder / f"part-{place:05}.parquet", report_each(pieces))
            for place, pieces in enumerate(partitions)
        ]
        try:
            wait(jobs, return_when=FIRST_EXCEPTION)
            failed = next((job for job in jobs if job.done() and job.exception() is not None), None)
            if failed is not None:
                failed.result()
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
        return sum(job.result() for job in jobs)


@contextmanager
def _folder_written_whole(path: Path) -> Iterator[Path]:
    """Give a folder beside ``path`` to write to; it takes the place of ``path`` only when all went
    well.
    """
    folder = name_beside(path)
    try:
        folder.mkdir()
        yield folder
        if path.is_dir():
            path.rmdir()
        os.replace(folder, path)
    except (OSError, duckdb.Error) as error:
        cause = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(
            f"{path} could not be written ({cause}); nothing was left there."
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
