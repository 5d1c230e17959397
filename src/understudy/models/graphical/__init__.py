"""Graphical models: one distribution from many noisy tables that share attributes.

``pooling`` makes the tables agree, ``junction`` finds the cliques that hold them, ``fitting`` finds
the distribution of the largest entropy that has the tables as its marginals and writes it as a
network.
"""

from __future__ import annotations

Group = tuple[str, ...]
"""The names of the attributes that share a table, in the order of the schema."""
