"""Tables of rows: what other rooms need of reading, holding and writing them."""

from __future__ import annotations

from understudy.data.columns import Column, Table
from understudy.data.csv_files import MARKS
from understudy.data.kinds import csv_format, csv_kinds, csv_number, find_anywhere
from understudy.data.reading import READ_SUFFIXES, parquet_relation, read_table
from understudy.data.sql import literal, quote_name
from understudy.data.writing import (
    SUFFIXES,
    table_suffix,
    write_parquet,
    write_plain_csv,
    write_table,
)

__all__ = [
    "MARKS",
    "READ_SUFFIXES",
    "SUFFIXES",
    "Column",
    "Table",
    "csv_format",
    "csv_kinds",
    "csv_number",
    "find_anywhere",
    "literal",
    "parquet_relation",
    "quote_name",
    "read_table",
    "table_suffix",
    "write_parquet",
    "write_plain_csv",
    "write_table",
]
