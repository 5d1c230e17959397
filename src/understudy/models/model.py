"""What is released: a model in one JSON file, safe to open, from which any number of rows can be
drawn.

A model holds the schema, the network with its noisy tables and the ledger: released values only.
Sampling from it is post-processing, so it costs nothing, and a seed makes it repeatable.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, get_args

import numpy as np

from understudy.data.bits import Bits
from understudy.data.encoding import decode
from understudy.data.files import read_json, write_json
from understudy.data.frames import Frame, Library, as_frame
from understudy.data.looks import schema_html
from understudy.data.missingness import gather_missing
from understudy.data.partitions import names_folder, write_folder
from understudy.data.satisfying import satisfy
from understudy.data.schema import Schema
from understudy.data.spreadsheets import check_spreadsheet_output, disarm_formulas
from understudy.data.streams import check_seed, chunk_randomness
from understudy.data.tables import Table, write_table
from understudy.errors import InputError
from understudy.models.chunks import CHUNK, count_rows, deal_chunks, draw_ahead, join_tables
from understudy.models.confining import confine_values
from understudy.models.constraining import ModelRules
from understudy.models.dependencies import learn_dependencies
from understudy.models.documents import (
    MODEL_VERSION,
    NETWORK_ONLY,
    WITH_GAUSSIANS,
    check_wanted_rows,
    read_parts,
)
from understudy.models.drawing import Picture, picture
from understudy.models.factors import Factor, function_of
from understudy.models.gaussian_rows import GaussianRows
from understudy.models.gaussians import Gaussians
from understudy.models.generator_rows import GeneratorRows
from understudy.models.generators import Generator
from understudy.models.measurements import Measurements
from understudy.models.network import Network
from understudy.models.query.answers import QueryAnswer
from understudy.models.query.conditions import read_conditions
from understudy.models.query.estimates import GroupEstimate, estimate
from understudy.models.query.functions import GroupedAnswer, answer_query
from understudy.models.query.intervals import ErrorModel
from understudy.models.query.subsets import Subset
from understudy.models.sampling import CodesByName, Sampler, Spread
from understudy.privacy.ledger import Ledger

MANY_ROWS = 10**9
"""More are drawn only on request: a file from somebody else should not fill a disk by itself."""

How = Literal["exact", "rejection", "weighting"]


class Drawing(TypedDict, total=False):
    """How rows are drawn; :meth:`Model.sample` says what each of these means."""

    given: Mapping[str, Any] | None
    method: How
    spread: Spread | None


@dataclass(frozen=True)
class Model:
    """A released model.

    Attributes
    ----------
    method
        The synthesizer's name and parameters.
    schema
        What the columns are.
    network
        Attribute-parent pairs with tables.
    ledger
        What the release spent, on what.
    rows
        How many rows the original has: exact where public, an estimate from noisy tables otherwise,
        ``None`` where nothing was measured.
    bits
        How attributes were taken apart, for a network over bits (binary and Gray encoding).
    library
        Whose frame the model was fitted on; not kept in a file.
    gaussians
        What the numeric columns follow, where a method measured means and covariances. The network
        then tells each numeric column's distribution given the label, by the Gaussians.
    generator
        What makes the rows, where a method trained a network for that. The Bayesian network then
        tells how often each value of a column comes up given the label.
    measurements
        Which tables the network was fitted to, where they are not its own, and what a holdout says
        of its errors.

    Examples
    --------
    >>> model = Model.load("patients.model.json")           # doctest: +SKIP
    >>> model.sample(1000, seed=1).write("synthetic.csv")   # doctest: +SKIP
    """

    method: Mapping[str, Any]
    schema: Schema
    network: Network
    ledger: Ledger
    rows: int | None = None
    bits: Bits | None = None
    library: Library = field(default="table", compare=False, repr=False)
    gaussians: Gaussians | None = None
    generator: Generator | None = None
    measurements: Measurements = field(default=Measurements(), repr=False)

    def __post_init__(self) -> None:
        # A model is what its file says from the moment it is made: the same rows, answers and
        # pictures.
        object.__setattr__(self, "method", as_in_file(self.method))
        object.__setattr__(self, "network", self.network.as_released())
        if self.gaussians is not None:
            object.__setattr__(self, "gaussians", self.gaussians.as_released())
        if self.schema.constraints is not None and self.schema.constraints.unlearned:
            learned = learn_dependencies(self.schema, self.network, self.bits)
            object.__setattr__(self, "schema", learned)

    @property
    def network_schema(self) -> Schema:
        """The schema whose attributes the network is over: their bits where they were taken
        apart.
        """
        if self.bits is None:
            return self.schema
        return self.bits.schema

    @property
    def draws(self) -> int | None:
        """How many rows the private method itself drew, where the release is these rows (smoothed
        histogram).
        """
        draws = self.method.get("draws")
        if isinstance(draws, int):
            return draws
        return None

    @property
    def spreads_values(self) -> bool:
        """Whether the rows of a bin share out its values too, as they do codes. A seed gives the
        rows that it always gave from a model that was made before they did.
        """
        return self.method.get("even_values") is True

    @property
    def balances_tables(self) -> bool:
        """Whether rows are dealt out evenly in more tables than the network's own (see
        :mod:`understudy.models.balancing`). A model that was made before that gives the rows that
        it always gave.
        """
        return self.method.get("even_tables") is True

    @property
    def taken_as_public(self) -> tuple[str, ...]:
        """What the release read or was given without a price: it is not protected."""
        return self.ledger.taken_as_public

    # ---- rows

    def sample(
        self,
        rows: int | None = None,
        seed: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        method: How = "exact",
        spread: Spread | None = None,
    ) -> Frame:
        """Draw synthetic rows, as a frame of the library whose frame the model was fitted on.

        After loading it is a :class:`Table`. The types of the columns come from the schema alone
        (:mod:`understudy.data.frames`), never from the private frame.

        Parameters
        ----------
        rows
            How many; as many as the original has when not given. (From a smoothed histogram: as
            many as were drawn privately, which gives exactly these.)
        seed
            Makes the rows repeatable. It has no bearing on privacy: the noise is in the model
            already.
        given
            Conditions that all rows fulfil: for an attribute a value, a list of values, a ``(low,
            high)`` range with both ends included (``None`` leaves one open), or ``None`` for
            missing. Where a range cuts through a bin, the values of the bin count as spread evenly
            inside it, and those drawn lie in the range.
        method
            How to draw rows that fulfil conditions. "exact": from the network given the conditions,
            worked out exactly, as fast as any other rows. "rejection": draw rows until enough of
            them fit; slow where few do. "weighting": draw eight times as many rows that are made to
            fit (likelihood weighting) and keep some by weight; approximate, and rows repeat where
            the condition is unlikely.
        spread
            "even": within a chunk of rows values are dealt out evenly, so that the table's counts
            are closer to the model's than those of independent rows are. Each row by itself has
            exactly the model's distribution, and rows are exchangeable, but they are not
            independent of each other. "independent": each row by itself. (Rejection is always so.)
            By default even, except from a model made by the paper to the letter.

        Examples
        --------
        >>> model.sample(100, given={"sex": "Female", "age": (30, 40)})   # doctest: +SKIP
        """
        chunks = self.chunks(rows, seed, given=given, method=method, spread=spread)
        return as_frame(join_tables(list(chunks)), self.library)

    def write(
        self,
        path: str | Path,
        rows: int | None = None,
        seed: int | None = None,
        progress: Callable[[int], None] | None = None,
        *,
        partitions: int | None = None,
        safe_for_spreadsheets: bool = False,
        delimiter: str = ",",
        **drawing: Unpack[Drawing],
    ) -> int:
        """Draw synthetic rows into a CSV or Parquet file, a chunk at a time, or into a folder;
        returns how many.

        Parameters
        ----------
        path
            A file; or, if it ends in a slash or there are partitions, a folder of Parquet files
            that is new or empty.
        partitions
            Into how many files, each with at least a chunk of rows; by default, files of about a
            million rows. It has no bearing on the rows: a seed gives the same ones, in the same
            order, in any number of files.
        safe_for_spreadsheets
            Put an apostrophe before texts and names that a spreadsheet would run as formulas (CSV
            only).
        delimiter
            What stands between the values of a CSV file: a comma, semicolon, tab or vertical bar.
        progress
            Called with the number of rows that were written since the last time.
        drawing
            ``given``, ``method`` and ``spread``, as in :meth:`sample`.
        """
        if safe_for_spreadsheets:
            check_spreadsheet_output(path if partitions is None else f"{path}/")
        if partitions is not None or names_folder(path):
            chunk, count = self._chunk_by_number(rows, seed, **drawing)
            return write_folder(path, deal_chunks(chunk, count, partitions), progress)
        chunks = self.chunks(rows, seed, **drawing)
        if safe_for_spreadsheets:
            chunks = map(disarm_formulas, chunks)
        return write_table(path, count_rows(chunks, progress), delimiter)

    def chunks(
        self,
        rows: int | None = None,
        seed: int | None = None,
        *,
        first: int = 0,
        last: int | None = None,
        **drawing: Unpack[Drawing],
    ) -> Iterator[Table]:
        """Synthetic rows in chunks, for streaming.

        Parameters
        ----------
        first, last
            Only the chunks from number ``first`` up to, but without, number ``last``; there are
            :meth:`chunk_count` of them. A chunk depends on the model, its number, the seed, the
            number of rows and the other parameters alone: with one seed, chunks may be drawn
            anywhere, in any order, and all of them together are the rows that :meth:`sample` gives.
        drawing
            ``given``, ``method`` and ``spread``, as in :meth:`sample`.
        """
        chunk, count = self._chunk_by_number(rows, seed, **drawing)
        if last is None:
            last = count
        if not 0 <= first <= last <= count:
            raise InputError(
                f"There are {count:,} chunks of this many rows; those from {first!r} to {last!r} "
                "are not."
            )
        return draw_ahead(chunk, range(first, last))

    def chunk_count(self, rows: int | None = None) -> int:
        """In how many chunks this many rows are drawn: all of CHUNK rows, but for the last one."""
        return max(-(-self._count_wanted_rows(rows) // CHUNK), 1)

    def _chunk_by_number(
        self,
        rows: int | None,
        seed: int | None,
        given: Mapping[str, Any] | None = None,
        method: How = "exact",
        spread: Spread | None = None,
    ) -> tuple[Callable[[int], Table], int]:
        """What draws the chunk of a given number, and how many chunks there are."""
        count = self.chunk_count(rows)
        wanted = self._count_wanted_rows(rows)
        check_seed(seed)
        if spread is None:
            if self.method.get("to_the_letter") is True:
                spread = "independent"
            else:
                spread = "even"
        for name, value, known in (
            ("method", method, get_args(How)),
            ("spread", spread, get_args(Spread)),
        ):
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r}.")
        draw = self._drawer(given, method, spread)
        entropy = np.random.SeedSequence(seed).entropy

        def chunk(number: int) -> Table:
            first = number * CHUNK
            return draw(first, min(CHUNK, wanted - first), chunk_randomness(entropy, number))

        return chunk, count

    def _drawer(
        self, given: Mapping[str, Any] | None, method: How, spread: Spread
    ) -> Callable[[int, int, np.random.Generator], Table]:
        """What draws a chunk: from which row on, how many, with what randomness."""
        if given is None:
            subsets = {}
        else:
            subsets = read_conditions(given, self.schema)
        evidence = self._evidence(subsets)
        if self.gaussians is not None:
            rows_of = GaussianRows(self.network, self.gaussians, self.schema, subsets, evidence)
            return lambda first, rows, rng: rows_of.draw(first, rows, rng, spread)
        if self.generator is not None:
            made = GeneratorRows(self.network, self.generator, self.schema, subsets)
            return lambda first, rows, rng: made.draw(first, rows, rng, spread)
        rules, restricted = self._rules.apply_conditions(subsets, evidence, exact=method == "exact")
        if not subsets:
            sampler = self._sampler
        elif method == "exact":
            sampler = Sampler(restricted.network, self.network_schema)
        else:
            sampler = Sampler(restricted.network, self.network_schema, evidence)

        def codes_of(rows: int, rng: np.random.Generator) -> CodesByName:
            if evidence and method == "rejection":
                codes = sampler.draw_by_rejection(rows, rng)
            elif evidence and method == "weighting":
                codes = sampler.draw_by_weight(rows, rng)
            else:
                codes = sampler.draw(rows, rng, spread, balanced=self.balances_tables)
            if self.bits is not None:
                codes = self.bits.join(codes, rows)
            return codes

        # Rows that are drawn one by one, or under a condition, are as the network has them.
        gathers = bool(self.schema.missing_cells) and spread == "even" and not subsets
        even = self.spreads_values and spread == "even"

        def draw(first: int, rows: int, rng: np.random.Generator) -> Table:
            codes = restricted.draw(codes_of, rows, rng)
            if gathers:
                gathered = gather_missing(codes, self.schema, rng, rows)
                codes = restricted.undo(codes, gathered)
            table = decode(codes, self.schema, rng, rows, first, even=even)
            table = confine_values(table, codes, subsets, rng)
            if self.schema.constraints is None:
                return table
            return satisfy(table, codes, self.schema, rules, rng)

        return draw

    @cached_property
    def _rules(self) -> ModelRules:
        return ModelRules(self.network, self.schema, self.bits)

    def constraint_factors(self) -> tuple[Network, list[Factor]]:
        """The network before the constraints, and these as factors over it."""
        return self._rules.factors()

    def _evidence(self, subsets: Mapping[str, Subset]) -> dict[str, Factor]:
        """Conditions as functions of what the network is over; an attribute with one value leaves
        no choice.
        """
        return {
            name: function_of(subset.attribute, subset.shares(), (), self.bits)
            for name, subset in subsets.items()
            if subset.attribute.size > 1
        }

    @cached_property
    def _sampler(self) -> Sampler:
        return Sampler(self._rules.constrained.network, self.network_schema)

    def _count_wanted_rows(self, rows: int | None) -> int:
        if rows is None:
            if self.draws is not None:
                rows = self.draws
            else:
                rows = self.rows
            if rows is not None and rows > MANY_ROWS:
                raise InputError(
                    f"This model claims an original of {rows:,} rows; say how many you want."
                )
        if rows is None:
            raise InputError(
                "This model does not know how many rows the original has; say how many you want."
            )
        check_wanted_rows(rows)
        return rows

    # ---- answers without rows

    def query(self, query: str) -> QueryAnswer | GroupedAnswer:
        """Answer a query exactly from the network: no row is drawn, no budget is spent.

        Parameters
        ----------
        query
            A function, such as ``count``, ``share``, ``mean ATTRIBUTE`` or ``quantile 0.9
            ATTRIBUTE``, then ``where`` and a condition, if any, and ``group by`` and attributes;
            the grammar is in :mod:`understudy.models.query.grammar`.

        Returns
        -------
        The answer with ``value``, ``error`` (one standard deviation), ``low`` and ``high`` (95 %).
        The error has three parts, ``noise``, ``misfit`` and ``cut``; see
        :mod:`understudy.models.query.intervals`. Where a condition cuts through a bin, the share of
        the bin that it covers counts.

        Examples
        --------
        >>> model.query("count where age >= 44 and age < 55 and sex = 'Female'")   # doctest: +SKIP
        1,234 ± 56
        >>> model.query("median age group by sex")   # doctest: +SKIP
        Female  35 (34 to 36)
        Male    38 (37 to 39)
        """
        return answer_query(self, query)

    @cached_property
    def errors(self) -> ErrorModel:
        """What the model knows about its own errors."""
        return ErrorModel(self)

    def marginal(self, *attributes: str | tuple[str, int]) -> GroupEstimate:
        """Estimated counts over some attributes, exactly from the network: no row is drawn, no
        budget is spent.

        Parameters
        ----------
        attributes
            Names, or ``(name, level)`` for an attribute at a generalisation level.

        Returns
        -------
        The counts (``table``), what the codes of each side stand for (``labels``), and error bars
        (``deviation``: that of the noise alone).

        Examples
        --------
        >>> model.marginal("age", "income").table.shape   # doctest: +SKIP
        (16, 2)
        """
        return estimate(self, attributes)

    def plot(self, path: str | Path | None = None) -> Picture:
        """A picture of the network (SVG): shown in a notebook, written to a file if a path is
        given.
        """
        drawn = picture(self.network, self.network_schema)
        if path is not None:
            drawn.save(path)
        return drawn

    # ---- files

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file (gzipped when it is large)."""
        write_json(path, self.to_dict(), "model")

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read a model file; nothing in it is executed, and everything in it is checked."""
        return cls.from_dict(read_json(path, "model"), f"The model {path}")

    def to_dict(self) -> dict[str, Any]:
        """The model as it stands in a file."""
        version, parts = NETWORK_ONLY, {}
        if self.gaussians is not None:
            version, parts = WITH_GAUSSIANS, {"gaussians": self.gaussians.to_dict()}
        elif self.generator is not None:
            version, parts = MODEL_VERSION, {"generator": self.generator.to_dict()}
        document = {
            "understudy_model": version,
            "method": dict(self.method),
            "rows": self.rows,
            "ledger": self.ledger.to_dict(),
            "schema": self.schema.to_dict(),
            "bits": self._bits_name(),
            "network": self.network.to_list(),
            **parts,
        }
        if self.measurements.tables:
            document["measurements"] = self.measurements.to_dict()
        return document

    def _bits_name(self) -> str | None:
        """How attributes were taken apart, in a word."""
        if self.bits is None:
            return None
        return "gray" if self.bits.gray else "binary"

    @classmethod
    def from_dict(cls, document: Any, source: str = "The model") -> Model:
        """Check a parsed model file and build the model."""
        return cls(**read_parts(document, source))

    # ---- looks

    def _repr_html_(self) -> str:
        """What was released, at what price, and what each column can hold, for notebooks."""
        rows = "unknown"
        if self.rows is not None:
            rows = f"about {self.rows:,}"
        heading = f"Understudy model by {self.method['name']}, rows of the original: {rows}"
        return (
            f"<div><b>{html.escape(heading)}</b><br>{html.escape(self.ledger.statement())}"
            f"{schema_html(self.schema)}</div>"
        )


def as_in_file(method: Mapping[str, Any]) -> dict[str, Any]:
    """A method's parameters as they come back from a file: lists for tuples."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(method)))
    return plain
