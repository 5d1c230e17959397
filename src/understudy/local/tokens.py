"""One-use tokens: numbers that are given out beforehand, each of which counts once.

Whoever hands them out must not note to whom (decision 028 in the docs). The collector gets only
hashes of them, so that a list that leaks lets nobody answer.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.files import read_json, write_json
from understudy.errors import InputError
from understudy.local.plans import check_format
from understudy.local.reports import NUMBER_BYTES

TOKENS_FORMAT = "understudy local tokens"
TOKENS_VERSION = 1
MAX_TOKENS_PER_SURVEY = 10_000_000


@dataclass(frozen=True)
class Tokens:
    """Which tokens were given out, by their hashes."""

    hashes: frozenset[bytes]

    @classmethod
    def of(cls, tokens: Iterable[str]) -> Tokens:
        """Those of given tokens."""
        return cls(frozenset(hash_token(token.encode()) for token in tokens))

    def hold(self, numbers: Sequence[bytes]) -> NDArray[np.bool_]:
        """For each number of a report, whether it is a token that was given out."""
        return np.array([hash_token(number) in self.hashes for number in numbers], dtype=bool)

    def save(self, path: str | Path) -> None:
        """Write the hashes to a file, for the collector."""
        hashes = sorted(one.hex() for one in self.hashes)
        write_json(
            path,
            {"format": TOKENS_FORMAT, "version": TOKENS_VERSION, "hashes": hashes},
            "list of tokens",
        )

    @classmethod
    def load(cls, path: str | Path) -> Tokens:
        """Read the hashes from a file."""
        document = read_json(path, "list of tokens")
        check_format(document, TOKENS_FORMAT, TOKENS_VERSION, f"The list of tokens {path}")
        return cls(_read_hashes(document.get("hashes"), f"The list of tokens {path}"))


def make_tokens(count: int) -> list[str]:
    """New tokens, as many as there are persons to be asked."""
    if not 1 <= count <= MAX_TOKENS_PER_SURVEY:
        raise InputError(
            f"The number of tokens must be from 1 to {MAX_TOKENS_PER_SURVEY:,}, not {count}."
        )
    return [secrets.token_hex(NUMBER_BYTES) for _ in range(count)]


def check_token(token: str, *, issued: bool = False) -> str:
    """Return a token if it can be one.

    Parameters
    ----------
    token
        As the person has it.
    issued
        Whether it must be one that cannot be linked, which is twice as long.
    """
    bare = token.strip().lower().replace("-", "").replace(" ", "")
    letters = 2 * NUMBER_BYTES * (1 + issued)
    if len(bare) != letters or not set(bare) <= set("0123456789abcdef"):
        raise InputError(f"A token has {letters} digits and letters from a to f; copy it again.")
    return bare


def hash_token(token: bytes) -> bytes:
    """What a collector keeps of a token."""
    return hashlib.sha256(b"understudy token " + token).digest()[:NUMBER_BYTES]


def _read_hashes(given: Any, source: str) -> frozenset[bytes]:
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise InputError(f"{source} cannot be used: it must list hashes.")
    try:
        hashes = frozenset(bytes.fromhex(one) for one in given)
    except ValueError:
        raise InputError(f"{source} cannot be used: a hash is not hexadecimal.") from None
    if any(len(one) != NUMBER_BYTES for one in hashes):
        raise InputError(f"{source} cannot be used: a hash has another length.")
    return hashes
