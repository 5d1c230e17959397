"""What stands in a model's file: its format, and the checks that everything in it must pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.data.bits import Bits
from understudy.data.schema import MAX_NAME_LENGTH, Schema
from understudy.errors import InputError
from understudy.models.chunks import CHUNK
from understudy.models.gaussians import Gaussians
from understudy.models.generators import Generator
from understudy.models.measurements import Measurements
from understudy.models.network import Network
from understudy.privacy.ledger import Ledger

MODEL_VERSION = 3
NETWORK_ONLY = 1
WITH_GAUSSIANS = 2
"""The formats of models without Gaussians or a generator, and without a generator, which an older
understudy can read, too.
"""

MAX_ROWS_PER_SAMPLE = 10**12


def check_wanted_rows(rows: Any) -> None:
    """Refuse a number of rows that nothing could draw."""
    if not _is_whole(rows, 0, MAX_ROWS_PER_SAMPLE):
        raise InputError(
            f"The number of rows must be a whole number from 0 to {MAX_ROWS_PER_SAMPLE:,}, not "
            f"{rows!r}."
        )


def read_parts(document: Any, source: str) -> dict[str, Any]:
    """The parts of a model, by the names that its constructor has for them."""
    _check_format(document, source)
    try:
        return {**_read_released(document), **_read_facts(document)}
    except InputError as error:
        cause = str(error).rstrip(".")
        raise InputError(f"{source} cannot be used: {cause}.") from error


def _check_format(document: Any, source: str) -> None:
    if isinstance(document, Mapping) and "understudy_learner" in document:
        raise InputError(
            f"{source} was made by understudy learn: it predicts a column (understudy predict) "
            "and holds no table."
        )
    if not isinstance(document, Mapping) or "understudy_model" not in document:
        raise InputError(f"{source} is not a model of understudy; is it the right file?")
    version = document["understudy_model"]
    if isinstance(version, int) and version > MODEL_VERSION:
        raise InputError(
            f"{source} was written by a newer understudy (format {version}); update understudy "
            "first."
        )
    known = (NETWORK_ONLY, WITH_GAUSSIANS, MODEL_VERSION)
    if isinstance(version, bool) or version not in known:
        raise InputError(f"{source} has a format that is not known: {version!r}.")


def _read_released(document: Mapping[str, Any]) -> dict[str, Any]:
    """What was measured, and the schema and ledger that go with it."""
    schema = Schema.from_dict(document.get("schema"), "its schema")
    ledger = Ledger.from_dict(document.get("ledger"))
    bits = _read_bits(document.get("bits"), schema)
    network = Network.from_list(document.get("network"), schema if bits is None else bits.schema)
    return {
        "schema": schema,
        "ledger": ledger,
        "bits": bits,
        "network": network,
        "gaussians": _read_gaussians(document, network, schema),
        "generator": _read_generator(document, network, schema),
        "measurements": Measurements.from_dict(document.get("measurements"), schema),
    }


def _read_facts(document: Mapping[str, Any]) -> dict[str, Any]:
    """By which method the model was made, and of how many rows."""
    method, rows = document.get("method"), document.get("rows")
    if not isinstance(method, Mapping) or not isinstance(method.get("name"), str):
        raise InputError("it does not say by which method it was made")
    if len(method["name"]) > MAX_NAME_LENGTH:
        raise InputError(f"the name of its method is longer than {MAX_NAME_LENGTH:,} characters")
    if rows is not None and not _is_whole(rows, 0, MAX_ROWS_PER_SAMPLE):
        raise InputError(f"its number of rows is {rows!r}")
    draws = method.get("draws")
    if draws is not None and not _is_whole(draws, 1, CHUNK):
        raise InputError(f"its number of draws is {draws!r}")
    return {"method": method, "rows": rows}


def _is_whole(number: Any, lowest: int, highest: int) -> bool:
    if isinstance(number, bool) or not isinstance(number, int):
        return False
    return lowest <= number <= highest


def _read_gaussians(
    document: Mapping[str, Any], network: Network, schema: Schema
) -> Gaussians | None:
    """The Gaussians of a file; the network must be the one that goes with them."""
    if document["understudy_model"] != WITH_GAUSSIANS:
        return None
    gaussians = Gaussians.from_dict(document.get("gaussians"), schema)
    if schema.constraints is not None or document.get("bits") is not None:
        raise InputError("it holds Gaussians together with constraints or bits")
    known = set() if gaussians.label is None else {gaussians.label}
    for node in network:
        parents = {axis.attribute for axis in node.parents}
        numeric = node.attribute in gaussians.columns
        if parents & set(gaussians.columns) or (numeric and parents != known):
            raise InputError(f"the parents of {node.attribute!r} do not go with its Gaussians")
    return gaussians


def _read_generator(
    document: Mapping[str, Any], network: Network, schema: Schema
) -> Generator | None:
    """The generator of a file; the network must be the one that goes with it."""
    if document["understudy_model"] != MODEL_VERSION:
        return None
    generator = Generator.from_dict(document.get("generator"), schema)
    if schema.constraints is not None or document.get("bits") is not None:
        raise InputError("it holds a generator together with constraints or bits")
    known = set() if generator.label is None else {generator.label}
    for node in network:
        parents = {axis.attribute for axis in node.parents}
        made = node.attribute in generator.columns
        if (made and parents != known) or (not made and parents):
            raise InputError(f"the parents of {node.attribute!r} do not go with its generator")
    return generator


def _read_bits(given: Any, schema: Schema) -> Bits | None:
    if given not in (None, "binary", "gray"):
        raise InputError(f"it takes attributes apart in a way that is not known: {given!r}")
    if given is None:
        return None
    bits = Bits(schema, given == "gray")
    bits.check()
    return bits
