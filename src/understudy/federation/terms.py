"""The terms of a session: what is released, by whom, at which price, and whom one fears.

Every holder sees the same terms, or their masks do not cancel: keys are agreed on under a digest of
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.federation.messages import Message, digest
from understudy.privacy.budget import Neighbours, check_delta, check_epsilon, check_neighbours
from understudy.privacy.ledger import Ledger
from understudy.privacy.wording import list_public

WAYS = ("secure", "statistics", "voting", "models")
"""Ways in which holders answer themselves."""

ENCRYPTED = "encrypted"
"""The way in which they have uploaded ciphertexts, and a service answers for them."""

COLLUDERS = 1
"""How many holders are feared to collude where nobody says otherwise.

A holder knows its own share of the noise. With 0 the guarantee would not hold against the holders
themselves, and there would be somebody to be trusted after all.
"""

ORDER = "renyi_order"
"""Among the parameters of a method: the order at which the session's ledgers add divergences up."""

MAX_HOLDERS = 1 << 8
MAX_NAME_LETTERS = 100


def schema_digest(schema: Schema) -> str:
    """What two parties compare to see that they speak of the same schema; the order of columns does
    not matter.
    """
    return digest(json.dumps(schema.to_dict(), sort_keys=True)).hex()


@dataclass(frozen=True)
class Terms:
    """What a session is about."""

    session: str
    schema: str
    way: str
    method: Mapping[str, Any]
    epsilon: float
    delta: float
    neighbours: Neighbours
    holders: tuple[str, ...]
    dropouts: int
    colluders: int

    def __post_init__(self) -> None:
        for name in (self.session, *self.holders, str(self.method.get("name", ""))):
            # They stand in logs and on screens.
            if len(name) > MAX_NAME_LETTERS or not name.isprintable():
                raise InputError(
                    f"Names in the terms of a session are plain text, {MAX_NAME_LETTERS} letters "
                    "at "
                    "most."
                )
        if self.way not in (*WAYS, ENCRYPTED):
            raise InputError(f"There is no way {self.way!r}; known are {', '.join(WAYS)}.")
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        check_neighbours(self.neighbours)
        if not 1 <= len(self.holders) <= MAX_HOLDERS or list(self.holders) != sorted(
            set(self.holders)
        ):
            raise InputError(
                f"Holders have different names, in their order, and are {MAX_HOLDERS} at most."
            )
        if type(self.dropouts) is not int or not 0 <= self.dropouts < len(self.holders):
            raise InputError(
                "The number of holders that may drop out must be from 0 to all but one."
            )
        if type(self.colluders) is not int or self.colluders < 0:
            raise InputError(
                "The number of holders that may collude must be a whole number at or above 0."
            )
        _ = self.ledger  # refuses what cannot be accounted for, before anybody reserves it
        if self.way == ENCRYPTED and (self.dropouts or self.colluders > 1):
            raise InputError(
                "Owners of encrypted tables are offline, so none drops out; and of the service and "
                "the aggregator one may collude with owners, or none."
            )
        needed = 2 * self.dropouts + self.colluders + 1
        if self.way == "secure" and len(self.holders) < needed:
            raise InputError(
                f"Sums that are secure where {self.dropouts} may drop out and {self.colluders} "
                f"collude need {needed} "
                f"holders at least, and there are {len(self.holders)}: ask more holders, or lower "
                "dropouts (each takes "
                f"two) or colluders (each takes one)."
            )

    @property
    def present(self) -> int:
        """How many holders there must be in every sum."""
        return len(self.holders) - self.dropouts

    @property
    def honest(self) -> int:
        """How many holders in every sum are certain to be honest: as many shares make the whole
        noise. Where owners are offline, the aggregator and the service add the shares.
        """
        if self.way == ENCRYPTED:
            return 2 - self.colluders
        return len(self.holders) - self.dropouts - self.colluders

    @property
    def ledger(self) -> Ledger:
        """An empty ledger for the session."""
        return Ledger(
            self.epsilon,
            self.delta,
            self.neighbours,
            "rho" if self.delta else "epsilon",
            order=self.method.get(ORDER),
            trust=self.trust,
            taken_as_public=list_public(schema_given=True, neighbours=self.neighbours),
        )

    @property
    def trust(self) -> str:
        """Which assumption the guarantee rests on, in one sentence."""
        if self.way == ENCRYPTED:
            return self._trust_in_encryption
        if self.way != "secure":
            return (
                "Each holder adds its own noise: the guarantee rests on no assumption about "
                "anybody else."
            )
        among = f"alone or together with up to {self.colluders} of the holders"
        if not self.colluders:
            among = "but not against the holders themselves, who know their shares of the noise"
        return (
            f"Secure sums over {len(self.holders)} holders, of whom up to {self.dropouts} may drop "
            "out: the guarantee "
            f"holds against the analyst and all readers, {among}."
        )

    @property
    def _trust_in_encryption(self) -> str:
        against = "all readers, and against the aggregator or the service together with owners"
        if not self.colluders:
            against = "all readers, but not against the aggregator or the service"
        return (
            f"Encrypted sums over {len(self.holders)} owners: the guarantee holds against "
            f"{against}, as long as aggregator and service do not collude."
        )

    def to_message(self) -> Message:
        """The message that opens the session."""
        return Message(
            "open", {**vars(self), "method": dict(self.method), "holders": list(self.holders)}
        )

    @classmethod
    def from_message(cls, message: Message) -> Terms:
        """What a message asks to open."""
        holders = message.texts("holders")
        if set(message.content) != set(cls.__dataclass_fields__):
            raise InputError("The message 'open' holds other things than the terms of a session.")
        return cls(
            message.get("session", str),
            message.get("schema", str),
            message.get("way", str),
            message.get("method", dict),
            message.get("epsilon", (float, int)),
            message.get("delta", (float, int)),
            check_neighbours(message.get("neighbours", str)),
            tuple(holders),
            message.get("dropouts", int),
            message.get("colluders", int),
        )
