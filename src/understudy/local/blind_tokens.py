"""Tokens that nobody can link to the person who got them, not even whoever gave them out.

An issuer has a secret key. A person draws a number, blinds it and asks for a token; the issuer
evaluates a pseudo-random function on the blinded number, once for each person it invited; the
person unblinds the result. A report then bears the number and the result. The issuer, who collects,
computes the function on the number again: so it knows that the token is its own, and it has never
seen the number before. This is RFC 9497 (a verifiable oblivious pseudo-random function, on
ristretto255), as in Privacy Pass, done by the library voprf.

The issuer must use one key for all persons: a key for each would tell them apart. So the public key
stands in the plan, and the person's side checks the proof that comes with each token.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.files import new_file, read_json, writable_file
from understudy.errors import InputError
from understudy.local.plans import check_format
from understudy.local.reports import NUMBER_BYTES

ISSUER_FORMAT = "understudy local issuer"
ISSUER_VERSION = 1
SEED_BYTES = 32
INFO = b"understudy local survey"
"""Keeps keys apart from those that another program makes of the same seed."""


def ristretto() -> Any:
    """The library's functions on ristretto255."""
    try:
        from voprf import ristretto as functions
    except ImportError:
        raise InputError(
            'Tokens that cannot be linked need another package: pip install "understudy[tokens]".'
        ) from None
    return functions


class TokenIssuer:
    """Gives out tokens, and knows its own again.

    Parameters
    ----------
    seed
        32 secret bytes.
    """

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._evaluator = ristretto().Evaluator.from_seed(seed, INFO)

    @classmethod
    def create(cls) -> TokenIssuer:
        """A new issuer, with a key of its own."""
        return cls(secrets.token_bytes(SEED_BYTES))

    @property
    def public_key(self) -> str:
        """What the plan holds."""
        return bytes(self._evaluator.public_key.serialize()).hex()

    def issue(self, request: str) -> str:
        """Answer a request. Who is asking, and how often, is for the caller to check.

        Parameters
        ----------
        request
            What the person's side has made.
        """
        try:
            blinded = ristretto().BlindedInput.deserialize(bytes.fromhex(request.strip()))
        except ValueError:
            raise InputError("The request for a token is damaged; copy it again.") from None
        return bytes(self._evaluator.evaluate(blinded).serialize()).hex()

    def own(self, numbers: Sequence[bytes], proofs: Sequence[bytes]) -> NDArray[np.bool_]:
        """For each report, whether its number and proof are a token of this issuer.

        Parameters
        ----------
        numbers, proofs
            In hexadecimal; a proof may be empty.
        """
        return np.array(
            [
                len(proof) == 2 * NUMBER_BYTES
                and hmac.compare_digest(self._prove(number).hex().encode(), proof)
                for number, proof in zip(numbers, proofs, strict=True)
            ],
            dtype=bool,
        )

    def _prove(self, number: bytes) -> bytes:
        known = bytes.fromhex(number.decode())
        return bytes(self._evaluator.evaluate_known_input(known))[:NUMBER_BYTES]

    def save(self, path: str | Path) -> None:
        """Write the secret key to a new file that its owner alone can read."""
        import json

        path = writable_file(path, "issuer's key")
        if path.exists():
            raise InputError(f"There is a file {path} already; a key is never written over.")
        document = {"format": ISSUER_FORMAT, "version": ISSUER_VERSION, "seed": self._seed.hex()}
        with new_file(path) as file:
            os.chmod(path, 0o600)
            file.write((json.dumps(document) + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> TokenIssuer:
        """Read the secret key from a file."""
        document = read_json(path, "issuer's key")
        check_format(document, ISSUER_FORMAT, ISSUER_VERSION, f"The issuer's key {path}")
        try:
            seed = bytes.fromhex(document.get("seed"))
        except (TypeError, ValueError):
            seed = b""
        if len(seed) != SEED_BYTES:
            raise InputError(f"The issuer's key {path} is damaged; restore it.")
        return cls(seed)


class TokenRequest:
    """A person's side: a number that nobody else knows, blinded."""

    def __init__(self) -> None:
        self._number = secrets.token_bytes(NUMBER_BYTES)
        self._client, blinded = ristretto().Client.blind(self._number)
        self.text = bytes(blinded.serialize()).hex()
        """What is sent to the issuer."""

    def finish(self, response: str, public_key: str) -> str:
        """The token, if the issuer has used the key that it uses for everybody.

        Parameters
        ----------
        response
            What the issuer has sent back.
        public_key
            The plan's.
        """
        functions = ristretto()
        try:
            evaluated = functions.VerifiableOutput.deserialize(bytes.fromhex(response.strip()))
            key = functions.PublicKey.deserialize(bytes.fromhex(public_key))
            proof = self._client.finalize(evaluated, key)
        except ValueError:
            raise InputError(
                "The answer to the request for a token is damaged, or was not made with the key "
                "that stands in the plan, which could tell persons apart; do not use it."
            ) from None
        return (self._number + bytes(proof)[:NUMBER_BYTES]).hex()
