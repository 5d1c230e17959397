"""An owner's upload: the ciphertexts of a plan, made once, signed, and given to the aggregator.

**What a lying owner can do.** Its numbers are its own say, as in every federation: it can shift any
sum by any amount, and put numbers into slots that are larger than its rows. It learns nothing by
that, since nobody's noise becomes smaller, and it cannot touch the ciphertexts of others. What is
read outside of what all rows of the plan and the noise can give is refused: so a sum is never
further off than the plan's ``max_rows`` (times the steps of a row) and the noise allow. There is no
proof that a number is within its range.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.data.encoding import Coded
from understudy.data.files import read_json, write_json
from understudy.encrypted.masks import SEALED_BYTES, add_masks, derive_masks, seal_seed
from understudy.encrypted.plans import SCORE_STEPS, EncryptionPlan
from understudy.errors import InputError
from understudy.federation.masking import SEED_BYTES, Signer, Verifier
from understudy.federation.messages import digest
from understudy.privacy.answering import PrivateRows
from understudy.privacy.scores import score_named
from understudy.privacy.sums import exact_parts
from understudy.release.callbacks import Progress, no_progress

UPLOAD_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Upload:
    """What one owner gives away: nothing in it can be read without the service."""

    plan: bytes
    """The digest of the plan."""
    owner: str
    seed: bytes
    """The seed of the masks, sealed for the service."""
    items: tuple[tuple[int, ...], ...]
    signature: bytes
    """Over the plan, the owner, the seed and the ciphertexts."""
    seed_signature: bytes
    """Over the plan, the owner and the seed, for the service."""

    def check(self, plan: EncryptionPlan, owners: Mapping[str, Verifier]) -> None:
        """Refuse an upload for another plan, of another key, or that its owner did not sign."""
        if self.owner not in plan.owners or self.owner not in owners:
            raise InputError(f"{self.owner!r} is no owner of this plan; leave its file out.")
        if self.plan != plan.digest:
            raise InputError(
                f"The upload of {self.owner} is for another plan; ask for one for this plan."
            )
        sizes = [item.ciphertexts for item in plan.items]
        if [len(item) for item in self.items] != sizes:
            raise InputError(
                f"The upload of {self.owner} has other ciphertexts than the plan; ask for it again."
            )
        for item in self.items:
            plan.key.check(item)
        certificate = owners[self.owner]
        statement = upload_statement(plan, self.owner, self.seed, self.items)
        if not certificate.verify(self.signature, statement) or not certificate.verify(
            self.seed_signature, seed_statement(plan.digest, self.owner, self.seed)
        ):
            raise InputError(
                f"The upload of {self.owner} was changed since its owner signed it, or somebody "
                "else made it; ask for it again."
            )

    def save(self, path: str | Path, plan: EncryptionPlan) -> None:
        """Write the upload to a JSON file."""
        write_json(
            path,
            {
                "understudy_upload": UPLOAD_VERSION,
                "plan": self.plan.hex(),
                "owner": self.owner,
                "seed": self.seed.hex(),
                "items": [
                    base64.b64encode(plan.key.to_bytes(item)).decode() for item in self.items
                ],
                "signature": self.signature.hex(),
                "seed_signature": self.seed_signature.hex(),
            },
            "upload",
        )

    @classmethod
    def load(cls, path: str | Path, plan: EncryptionPlan) -> Upload:
        """Read what :meth:`save` wrote; :meth:`check` says whether it is any good."""
        return cls.from_dict(read_json(path, "upload"), plan, str(path))

    @classmethod
    def from_dict(cls, document: Any, plan: EncryptionPlan, source: str = "The file") -> Upload:
        """Read a parsed file."""
        if not isinstance(document, dict) or document.get("understudy_upload") != UPLOAD_VERSION:
            raise InputError(f"{source} is no upload of this version of understudy.")
        items = document.get("items")
        if not isinstance(items, list) or len(items) != len(plan.items):
            raise InputError(f"{source} has other items than the plan; it is for another one.")
        try:
            found = tuple(
                tuple(plan.key.from_bytes(base64.b64decode(text, validate=True), item.ciphertexts))
                for text, item in zip(items, plan.items, strict=True)
            )
            seed = bytes.fromhex(document["seed"])
            upload = cls(
                plan=bytes.fromhex(document["plan"]),
                owner=str(document["owner"]),
                seed=seed,
                items=found,
                signature=bytes.fromhex(document["signature"]),
                seed_signature=bytes.fromhex(document["seed_signature"]),
            )
        except InputError as error:
            raise InputError(f"{source}: {error}") from None
        except (KeyError, TypeError, ValueError, binascii.Error):
            raise InputError(f"{source} is damaged; ask its owner for it again.") from None
        if len(seed) != SEALED_BYTES:
            raise InputError(f"{source} is damaged; ask its owner for it again.")
        return upload


def max_upload_bytes(plan: EncryptionPlan) -> int:
    """What the file of an upload has at most: ciphertexts in base64, and a little around them."""
    letters = sum(4 * (item.ciphertexts * plan.key.width + 2) // 3 + 8 for item in plan.items)
    return letters + 4096


def upload_statement(
    plan: EncryptionPlan, owner: str, seed: bytes, items: tuple[tuple[int, ...], ...]
) -> bytes:
    """What an owner signs of its upload."""
    parts = [plan.key.to_bytes(item) for item in items]
    return digest("understudy upload", plan.digest, owner, seed, *parts)


def seed_statement(plan: bytes, owner: str, seed: bytes) -> bytes:
    """What an owner signs for the service."""
    return digest("understudy sealed seed", plan, owner, seed)


def make_upload(
    plan: EncryptionPlan,
    owner: str,
    coded: Coded,
    identity: Signer,
    progress: Progress = no_progress,
) -> Upload:
    """Count, pack, mask and encrypt what the plan asks for.

    Parameters
    ----------
    plan
        What was agreed on.
    owner
        The owner's name in the plan.
    coded
        The owner's rows.
    identity
        What the owner signs with.
    progress
        Called while encrypting.
    """
    if owner not in plan.owners:
        raise InputError(f"The plan does not name {owner} among its owners; agree on another.")
    if coded.rows > plan.max_rows:
        # The owner is told about its own rows; nothing of this leaves.
        raise InputError(
            f"There are more rows than the plan allows for all owners together "
            f"({plan.max_rows:,}); agree on another."
        )
    key, seed = plan.key, secrets.token_bytes(SEED_BYTES)
    items: list[tuple[int, ...]] = []
    whole = sum(item.ciphertexts for item in plan.items)
    done = 0
    for item, numbers in zip(plan.items, count_items(plan, coded), strict=True):
        progress("encrypting", done, whole)
        packed = item.packing.pack(numbers)
        masks = derive_masks(seed, plan.digest, owner, item.number, len(packed), key.modulus)
        items.append(tuple(key.encrypt_all(add_masks(packed, masks, key.modulus))))
        done += len(packed)
    progress("encrypting", whole, whole)
    box = seal_seed(seed, key.sealing, plan.digest, owner)
    return Upload(
        plan=plan.digest,
        owner=owner,
        seed=box,
        items=tuple(items),
        signature=identity.sign(upload_statement(plan, owner, box, tuple(items))),
        seed_signature=identity.sign(seed_statement(plan.digest, owner, box)),
    )


def count_items(plan: EncryptionPlan, coded: Coded) -> list[NDArray[np.int64]]:
    """The exact numbers of each item, which never leave the owner but under masks."""
    rows = PrivateRows(coded, collapse=False)
    found = [table.ravel() for table in rows.counter.count(list(plan.tables))]
    if plan.scores:
        scores = score_named("R").evaluate(rows.counter, list(plan.pairs), plan.neighbours)
        found.append(np.floor(scores * SCORE_STEPS).astype(np.int64))
    for place, question in enumerate(plan.sums):
        summation = question.summation(plan.domain)
        rows.summer.check(summation)
        exact = exact_parts(rows.summer.sum(summation), plan.blocks(place))
        found += [numbers.ravel() for numbers in exact.values()]
    return found
