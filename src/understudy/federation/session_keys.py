"""The keys of a session: each holder signs its own, and takes the others' only with their owners'
signatures.

The analyst carries them and cannot put its own in their place: signatures are checked against
pinned certificates, and each is over the digest of the session's terms. What holders sign later,
about sums, is bound to all these keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.errors import InputError
from understudy.federation.masking import PairKeys, Signer, Verifier
from understudy.federation.messages import digest
from understudy.federation.terms import Terms


class SessionKeys:
    """One holder's keys of one session.

    Parameters
    ----------
    name
        The holder.
    terms, context
        The session's terms, and a digest of the message that they came in.
    identity
        What the holder signs with.
    peers
        The pinned certificates of the others, by name.
    """

    def __init__(
        self,
        name: str,
        terms: Terms,
        context: bytes,
        identity: Signer,
        peers: Mapping[str, Verifier],
    ) -> None:
        self.name = name
        self.terms = terms
        self.others = [other for other in terms.holders if other != name]
        self.roster = b""
        """A digest of all keys, once they are known: a session that is opened again, in the same
        terms, has others.
        """
        self._context = context
        self._identity = identity
        self._peers = peers
        self._pairs = PairKeys(name, context)

    def announce(self) -> dict[str, str]:
        """The holder's public key, signed."""
        signature = self._identity.sign(
            keys_statement(self._context, self.name, self._pairs.public)
        )
        return {"key": self._pairs.public.hex(), "signature": signature.hex()}

    def meet(self, told: Mapping[str, Any]) -> None:
        """Take the keys of all holders, each signed by its owner, and agree on a secret with
        each.
        """
        if sorted(told) != list(self.terms.holders):
            raise InputError("There must be a key of each holder that takes part, and no other.")
        publics = {}
        for name, entry in told.items():
            public, signature = _pair_of_hex(entry)
            publics[name] = public
            if name == self.name:
                if public != self._pairs.public:
                    raise InputError(f"The key that is said to be {self.name}'s is not.")
                continue
            if not self._peers[name].verify(signature, keys_statement(self._context, name, public)):
                raise InputError(
                    f"The key of {name} is not signed by the certificate that {self.name} has "
                    "pinned."
                )
            self._pairs.meet(name, public)
        self.roster = keys_digest(publics)

    def seed(self, peer: str, *purpose: bytes | str) -> bytes:
        """A secret for one purpose that only this holder and the peer can derive."""
        return self._pairs.seed(peer, *purpose)

    def about_sum(
        self, number: int, question: bytes, masked: Sequence[str], present: Sequence[str]
    ) -> bytes:
        """What is to be signed about a sum."""
        return sum_statement(self._context, self.roster, number, question, masked, present)

    def sign(self, statement: bytes) -> bytes:
        """Sign something."""
        return self._identity.sign(statement)

    def has_signed(self, peer: str, signature: Any, statement: bytes) -> bool:
        """Whether a peer signed something."""
        return self._peers[peer].verify(from_hex(signature), statement)


def keys_statement(context: bytes, name: str, public: bytes) -> bytes:
    """What a holder signs about its key of a session."""
    return digest("understudy keys", context, name, public)


def keys_digest(publics: Mapping[str, bytes]) -> bytes:
    """All keys of a session together."""
    return digest(
        "understudy roster", *(part for entry in sorted(publics.items()) for part in entry)
    )


def sum_statement(
    context: bytes,
    roster: bytes,
    number: int,
    question: bytes,
    masked: Sequence[str],
    present: Sequence[str],
) -> bytes:
    """What a holder signs about a sum: under which keys, whose masks are in it, and whose
    numbers.
    """
    names = *sorted(masked), *sorted(present)
    return digest(
        "understudy sum", context, roster, str(number), question, str(len(masked)), *names
    )


def from_hex(text: Any) -> bytes:
    """Bytes as they stand in the content of a message."""
    try:
        return bytes.fromhex(text)
    except (TypeError, ValueError):
        raise InputError("A message holds letters where it should hold bytes.") from None


def _pair_of_hex(entry: Any) -> tuple[bytes, bytes]:
    if not isinstance(entry, list) or len(entry) != 2:
        raise InputError("A key comes with its signature.")
    return from_hex(entry[0]), from_hex(entry[1])
