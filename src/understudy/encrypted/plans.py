"""The plan: which tables and sums owners encrypt once, for whom, and how much may ever be told.

Owners are offline when questions are asked, so what can be asked is agreed on beforehand. A plan
names the schema, the service's key, the owners, the most rows that they have together, the
allowance of all that is ever told, the tables, and the questions of sums. All parties compare its
digest: ciphertexts and seeds are bound to it.

Each table, and each part of a question of sums (counts, sums, moments), is an *item*: it begins a
new ciphertext, so that what is not asked for is not decrypted along with what is.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from understudy.counting.column_checks import MAX_ROWS
from understudy.data.files import read_json, write_json
from understudy.data.marginals import Axis, Marginal, describe, marginal
from understudy.data.schema import Schema
from understudy.encrypted.packing import Packing
from understudy.encrypted.paillier import PublicKey
from understudy.errors import InputError
from understudy.federation.messages import Message, digest
from understudy.federation.noise_shares import MAX_SHARE_SCALE
from understudy.federation.sums import MAX_SUM_STEPS
from understudy.federation.terms import MAX_HOLDERS
from understudy.privacy.budget import (
    Budget,
    Currency,
    Neighbours,
    check_delta,
    check_epsilon,
    check_neighbours,
)
from understudy.privacy.domain import Domain
from understudy.privacy.exact_noise import MAX_SHARED_SCALE
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import count_touched_cells
from understudy.privacy.sum_sensitivity import Block, Part
from understudy.privacy.sum_wire import sum_from_wire, sum_to_wire
from understudy.privacy.sums import PARTS, Sum

ENCRYPTION_PLAN_VERSION = 1

MAX_ENCRYPTED_NUMBERS = 1 << 22
"""Of all items together."""

NOISE_ROOM = 1 << 14
"""Slots have room for the noise of an answer that costs this part of epsilon 1, or more."""

SCORE_STEPS = 8
"""Scores are rounded down to this fraction of a row."""

SCORE_MOVE: Mapping[Neighbours, int] = {
    "add_remove": 2 * SCORE_STEPS + 1,
    "replace": 3 * SCORE_STEPS + 1,
}
"""By how many steps a row moves a score: n R moves by less than 2 rows where one comes or goes, by
less than 3 where one takes the place of another (see
:class:`understudy.privacy.scores.Dependence`), so that rounded down it moves by as many at most;
one step is for errors of the computation. A row lies with one owner, and moves no other's.
"""

NOISE_TAIL = 48
"""Noise is beyond this many scales once in e^48 times."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """A table, or a part of a question of sums, as it stands in ciphertexts."""

    number: int
    name: str
    cells: int
    packing: Packing
    max_scale: float
    """The largest noise that the slots have room for."""
    largest: int
    """The largest sum over all rows that the plan allows."""

    @property
    def ciphertexts(self) -> int:
        """How many ciphertexts an owner uploads for it."""
        return self.packing.count(self.cells)


@dataclass(frozen=True, kw_only=True)
class EncryptionPlan:
    """What owners upload, and what it is for.

    Parameters
    ----------
    schema, key
        What is public about the rows, and the service's key.
    owners
        Their names.
    epsilon, delta
        The allowance: what the service may ever tell of the uploads.
    neighbours
        What the allowance protects: a row that comes or goes, or one that takes another's place.
    max_rows
        The most rows that all owners have together; it is public, and bounds the slots.
    tables
        The tables that can be measured.
    sums
        The questions of sums that can be asked, whatever their price; parts that are asked for
        must have a share.
    scores
        Whether owners also upload how much the two columns of each table of two depend on each
        other, by their own rows: what choices are made from.
    collection
        A random name: an upload for one collection is of no use in another.
    """

    schema: Schema
    key: PublicKey
    owners: tuple[str, ...]
    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = "add_remove"
    max_rows: int = 1_000_000
    tables: tuple[Marginal, ...] = ()
    sums: tuple[Sum, ...] = ()
    scores: bool = False
    collection: str = ""

    def __post_init__(self) -> None:
        if not self.collection:
            object.__setattr__(self, "collection", secrets.token_hex(16))
        if not 2 <= len(self.owners) <= MAX_HOLDERS or list(self.owners) != sorted(
            set(self.owners)
        ):
            raise InputError(
                f"A plan is for 2 to {MAX_HOLDERS} owners of different names, in their order."
            )
        Ledger(check_epsilon(self.epsilon), check_delta(self.delta))
        check_neighbours(self.neighbours)
        if not isinstance(self.max_rows, int) or not 1 <= self.max_rows <= MAX_ROWS:
            raise InputError(
                f"The most rows of all owners must be from 1 to {MAX_ROWS:,}, not "
                f"{self.max_rows!r}."
            )
        if not self.tables and not self.sums:
            raise InputError("The plan has nothing to upload; name tables or sums.")
        self.domain.check(self.tables)
        if len({frozenset(axes) for axes in self.tables}) < len(self.tables):
            raise InputError("A table stands twice in the plan; name each once.")
        for question in self.sums:
            question.check(self.domain)
        if self.scores and not self.pairs:
            raise InputError("Scores are of tables of two columns, and the plan has none.")
        if sum(item.cells for item in self.items) > MAX_ENCRYPTED_NUMBERS:
            raise InputError(
                f"The plan has more than {MAX_ENCRYPTED_NUMBERS:,} numbers; take fewer or smaller "
                "tables."
            )

    @property
    def currency(self) -> Currency:
        """What prices are counted in."""
        if self.delta:
            return "rho"
        return "epsilon"

    @cached_property
    def domain(self) -> Domain:
        """Which tables there are."""
        return Domain(self.schema)

    @cached_property
    def digest(self) -> bytes:
        """What all parties compare."""
        return digest("understudy plan", json.dumps(self.to_dict(), sort_keys=True))

    # ---- items

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """All items: the tables, the scores, then the parts of each question of sums."""
        found: list[Item] = []
        for axes in self.tables:
            cells = self.domain.cells(axes)
            touched = float(count_touched_cells(self.neighbours))
            found.append(self._item(len(found), describe(axes), cells, self.max_rows, touched))
        if self.scores:
            pairs = len(self.pairs)
            largest = self.max_rows * SCORE_STEPS
            moved = float(pairs * self.score_move)
            found.append(self._item(len(found), "scores", pairs, largest, moved))
        for place, question in enumerate(self.sums):
            groups = math.prod(question.group_shape(self.domain))
            for part, block in self.blocks(place).items():
                moved = float(block.l1_steps)
                if self.currency == "rho":
                    moved = block.l2_steps
                name = f"{part} of question {place + 1}"
                largest = self.max_rows * (block.steps + 1)
                cells = groups * len(block.magnitudes)
                found.append(self._item(len(found), name, cells, largest, moved))
        return tuple(found)

    def _item(self, number: int, name: str, cells: int, largest: int, moved: float) -> Item:
        cap = MAX_SHARED_SCALE
        if self.currency == "rho":
            cap = MAX_SHARE_SCALE
        scale = min(moved * NOISE_ROOM, cap)
        # Two parties add noise, and sums have either sign.
        room = largest + 2 * NOISE_TAIL * math.ceil(scale)
        packing = self.key.make_packing(room.bit_length() + 1)
        return Item(
            number=number,
            name=name,
            cells=cells,
            packing=packing,
            max_scale=scale,
            largest=largest,
        )

    @cached_property
    def pairs(self) -> tuple[Marginal, ...]:
        """The tables of two columns, at their finest."""
        return tuple(
            axes for axes in self.tables if len(axes) == 2 and all(axis.level == 0 for axis in axes)
        )

    @property
    def score_move(self) -> int:
        """By how many steps a row moves a score."""
        return SCORE_MOVE[self.neighbours]

    @property
    def score_item(self) -> Item:
        """The item of scores."""
        if not self.scores:
            raise InputError("The plan that owners uploaded for has no scores.")
        return self.items[len(self.tables)]

    def blocks(self, place: int) -> dict[Part, Block]:
        """The blocks of a question of sums, on the grids on which owners round them."""
        question = self.sums[place]
        steps = MAX_SUM_STEPS[self.currency]
        blocks = question.blocks(self.domain, self.neighbours, 1)
        return {
            part: block if block.steps <= steps else block.on_grid(steps)
            for part, block in blocks.items()
        }

    def sum_items(self, place: int) -> dict[Part, int]:
        """The numbers of the items of a question of sums."""
        start = len(self.tables) + int(self.scores)
        for question in self.sums[:place]:
            start += len(question.costs)
        return {part: start + i for i, part in enumerate(self.blocks(place))}

    def find_sum(self, question: Sum) -> int:
        """The place of the planned question that differs from this one in its price alone."""
        wanted = _form(question)
        for place, planned in enumerate(self.sums):
            if _form(planned) == wanted and set(question.costs) <= set(planned.costs):
                return place
        raise InputError(
            "These sums are not in the plan that owners uploaded for; ask for what it has, or "
            "agree on another plan."
        )

    # ---- files

    def to_dict(self) -> dict[str, Any]:
        """The plan as it stands in a file."""
        document: dict[str, Any] = {
            "understudy_plan": ENCRYPTION_PLAN_VERSION,
            "collection": self.collection,
            "owners": list(self.owners),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "max_rows": self.max_rows,
            "tables": [[[axis.attribute, axis.level] for axis in axes] for axes in self.tables],
            "sums": [_sum_to_dict(question) for question in self.sums],
            "scores": self.scores,
            "key": self.key.to_dict(),
            "schema": self.schema.to_dict(),
        }
        if self.neighbours != "add_remove":  # files from before there was a choice stay the same
            document["neighbours"] = self.neighbours
        return document

    @classmethod
    def from_dict(cls, document: Any, source: str = "The file") -> EncryptionPlan:
        """Check a parsed file and read the plan."""
        if (
            not isinstance(document, dict)
            or document.get("understudy_plan") != ENCRYPTION_PLAN_VERSION
        ):
            raise InputError(
                f"{source} is no plan of this version of understudy; make one by csp plan."
            )
        document = {"neighbours": "add_remove", **document}
        wire = Message("plan", document)
        schema = Schema.from_dict(document.get("schema"), f"The schema in {source}")
        domain = Domain(schema)
        return cls(
            schema=schema,
            key=PublicKey.from_dict(document.get("key"), f"The key in {source}"),
            owners=tuple(wire.texts("owners")),
            epsilon=wire.get("epsilon", (float, int)),
            delta=wire.get("delta", (float, int)),
            neighbours=check_neighbours(wire.get("neighbours", str)),
            max_rows=wire.get("max_rows", int),
            tables=tuple(_read_axes(axes, source) for axes in wire.get("tables", list)),
            sums=tuple(_read_sum(one, domain, source) for one in wire.get("sums", list)),
            scores=wire.get("scores", bool),
            collection=wire.get("collection", str),
        )

    def save(self, path: str | Path) -> None:
        """Write the plan to a JSON file."""
        write_json(path, self.to_dict(), "plan", indent=1)

    @classmethod
    def load(cls, path: str | Path) -> EncryptionPlan:
        """Read what :meth:`save` wrote."""
        return cls.from_dict(read_json(path, "plan"), str(path))


def list_tables(schema: Schema, order: int) -> tuple[Marginal, ...]:
    """All tables of up to that many columns, of those that have more than one value."""
    import itertools

    names = [attribute.name for attribute in schema.modelled if attribute.size > 1]
    return tuple(
        marginal(*group)
        for size in range(1, min(order, len(names)) + 1)
        for group in itertools.combinations(names, size)
    )


def plan_question(question: Sum) -> Sum:
    """A question of sums as it stands in a plan: without its price."""
    parts = dict.fromkeys(question.costs, 1.0)
    return replace(question, budget=Budget(1.0), shares=parts)


def join_questions(questions: Sequence[Sum]) -> tuple[Sum, ...]:
    """The questions that a plan needs for these: those that differ in price or parts alone are
    one.
    """
    found: dict[str, Sum] = {}
    for question in questions:
        form = _form(question)
        parts = set(question.costs)
        if form in found:
            parts |= set(found[form].costs)
        shares: dict[Part, float] = {part: 1.0 for part in PARTS if part in parts}
        found[form] = replace(question, budget=Budget(1.0), shares=shares)
    return tuple(found.values())


def _form(question: Sum) -> str:
    """All that decides what is summed."""
    plain = plan_question(question)
    document = _sum_to_dict(plain)
    document.pop("split")
    return json.dumps(document, sort_keys=True)


def _sum_to_dict(question: Sum) -> dict[str, Any]:
    content, arrays = sum_to_wire(question)
    content = {name: value for name, value in content.items() if name != "amount"}
    return {**content, "arrays": {name: array.tolist() for name, array in arrays.items()}}


def _read_sum(document: Any, domain: Domain, source: str) -> Sum:
    if not isinstance(document, dict) or not isinstance(document.get("arrays"), dict):
        raise InputError(f"{source} holds sums that cannot be read; get the plan again.")
    forms: Mapping[str, Any] = {"axes": np.int64, "lengths": np.int64}
    try:
        arrays = {
            name: np.array(numbers, dtype=forms.get(name, np.float64)).ravel()
            for name, numbers in document["arrays"].items()
        }
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{source} holds sums that cannot be read; get the plan again.") from None
    content = {name: value for name, value in document.items() if name != "arrays"}
    return sum_from_wire(Message("sums", content, arrays), Budget(1.0), domain)


def _read_axes(axes: Any, source: str) -> Marginal:
    try:
        found = tuple(Axis(name, level) for name, level in axes)
    except (TypeError, ValueError):
        raise InputError(f"{source} names tables in a way that cannot be read.") from None
    if not all(isinstance(axis.attribute, str) and type(axis.level) is int for axis in found):
        raise InputError(f"{source} names tables in a way that cannot be read.")
    return found
