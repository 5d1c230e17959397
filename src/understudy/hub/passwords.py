"""Passwords: stored as argon2id hashes, computed a few at a time."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from understudy.errors import InputError, UnderstudyError

MIN_LENGTH, MAX_LENGTH = 12, 200
"""Length is what makes a password hard to guess; a longest one keeps the hashing cheap."""

MAX_AT_ONCE = 2
"""Each hash takes 64 MiB and a good part of a second: more at once would be an attack's lever."""

MAX_SIGN_IN_WAIT = 10.0
"""Seconds that a sign-in waits for its turn."""


class BusyError(UnderstudyError):
    """Too many are signing in at this moment."""


class Passwords:
    """Hashes and checks passwords, at most ``MAX_AT_ONCE`` at a time.

    Parameters
    ----------
    hasher
        With the costs of RFC 9106 where not given; tests take cheaper ones.
    """

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turns = threading.BoundedSemaphore(MAX_AT_ONCE)
        self._nobody = self._hasher.hash(secrets.token_urlsafe(16))

    def hash(self, password: str) -> str:
        """The hash of a new password."""
        check_password(password)
        with self._turn():
            return self._hasher.hash(password)

    def verify(self, stored: str | None, password: str) -> bool:
        """Whether a password is the stored one.

        An account that is not there, or has no password, takes as long as one that is: the time of
        an answer tells nobody which names exist.
        """
        if len(password) > MAX_LENGTH:
            password = ""
        with self._turn():
            try:
                self._hasher.verify(stored or self._nobody, password)
            except (VerificationError, InvalidHashError):
                return False
        return stored is not None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._turns.acquire(timeout=MAX_SIGN_IN_WAIT):
            raise BusyError("Too many are signing in at this moment; try again in a minute.")
        try:
            yield
        finally:
            self._turns.release()


def check_password(password: str) -> None:
    """Refuse a password that is too short, too long, or one character over and over."""
    if len(password) < MIN_LENGTH:
        raise InputError(
            f"The password is too short; take at least {MIN_LENGTH} characters, such as four words."
        )
    if len(password) > MAX_LENGTH:
        raise InputError(f"The password is too long; take at most {MAX_LENGTH} characters.")
    if len(set(password)) < 5:
        raise InputError("The password repeats a few characters; take one that varies more.")
