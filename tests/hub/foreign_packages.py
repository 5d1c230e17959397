"""Packages of foreign algorithms, honest and hostile, for tests."""

from __future__ import annotations

import io
import zipfile

from understudy.hub.foreign.packages import Package, read_package

HEAD = """
import json, os
from dataclasses import dataclass
import numpy as np
from understudy import Model, Synthesizer
from understudy.data.marginals import marginal
from understudy.models.network import Network, Node
from understudy.privacy.budget import Budget
from understudy.synthesizers.registry import register


def uniform(curator, method="stranger"):
    nodes = [Node(a.name, (), np.ones(a.size)) for a in curator.schema.modelled]
    return Model({"name": method}, curator.schema, Network(tuple(nodes)), curator.ledger, 10)


@register("stranger", summary="s", cost="c")
@dataclass(frozen=True, kw_only=True)
class Stranger(Synthesizer):
    def learn(self, curator, budget, progress):
"""
"""Before the body of a method that is called "stranger"."""


def make_wheel(source: str, **others: str) -> bytes:
    """The bytes of a wheel with one module."""
    buffer = io.BytesIO()
    files = {
        "stranger/__init__.py": source,
        "stranger-1.0.dist-info/METADATA": "Name: stranger\nVersion: 1.0\nSummary: a method\n",
        "stranger-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\n",
        "stranger-1.0.dist-info/entry_points.txt": "[understudy.methods]\nstranger = stranger\n",
        **others,
    }
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def make_package(body: str, before: str = "") -> Package:
    """A package whose method has this body."""
    lines = "\n".join(f"        {line}" for line in body.strip("\n").splitlines())
    return read_package(make_wheel(before + HEAD + lines + "\n"))
