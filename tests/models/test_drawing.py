from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from random_networks import random_network

from understudy.data.marginals import Axis
from understudy.data.schema import Schema
from understudy.models.drawing import picture, tree
from understudy.models.network import Network, Node
from understudy.models.network_layout import NetworkLayout, strengths

SVG = "{http://www.w3.org/2000/svg}"


def chain(*names: str) -> tuple[Network, Schema]:
    schema = Schema.from_dict({"attributes": {name: {"kind": "boolean"} for name in names}})
    tables = [np.array([[9.0, 1.0], [1.0, 9.0]])] * (len(names) - 1)
    nodes = [Node(names[0], (), np.ones(2))]
    nodes += [Node(b, (Axis(a),), t) for a, b, t in zip(names[:-1], names[1:], tables, strict=True)]
    return Network(tuple(nodes)), schema


def test_the_tree_names_parents_and_levels() -> None:
    job = np.zeros((4, 2, 2))
    job[:, 0, 0] = job[:, 1, 1] = 1  # the job is the sex, whatever the age
    network = Network(
        (
            Node("age", (), np.ones(16)),
            Node("sex", (Axis("age"),), np.ones((16, 2))),
            Node("job", (Axis("age", 2), Axis("sex")), job),
        )
    )
    assert strengths(network["job"]) == [0.0, 1.0]
    assert tree(network).splitlines() == [
        "age",
        "└─ sex      given age",
        "   └─ job   given age^2, sex",
    ]


def test_a_long_chain_can_be_drawn() -> None:
    network, schema = chain(*(f"a{i}" for i in range(1200)))
    assert tree(network).count("\n") == 1199
    assert picture(network, schema).svg.count("<rect") == 1200


@pytest.mark.parametrize(("seed", "attributes"), [(1, 1), (2, 5), (3, 15), (4, 50)])
def test_every_attribute_and_edge_is_drawn_and_boxes_lie_apart(seed: int, attributes: int) -> None:
    network, schema = random_network(seed, attributes)
    root = ElementTree.fromstring(picture(network, schema).svg)
    boxes = [
        (float(r.get("x", 0)), float(r.get("y", 0)), float(r.get("width", 0)))
        for r in root.iter(f"{SVG}rect")
    ]
    assert len(boxes) == attributes
    names = {text.text for text in root.iter(f"{SVG}text") if text.get("class") == "name"}
    assert names == set(schema.names)
    heads = [path for path in root.iter(f"{SVG}path") if path.get("class") == "head"]
    assert len(heads) == sum(len(node.parents) for node in network)
    labels = [text for text in root.iter(f"{SVG}text") if text.get("class") == "level"]
    assert len(labels) == sum(axis.level > 0 for node in network for axis in node.parents)
    for i, (x, y, width) in enumerate(boxes):
        assert x >= 0
        for other_x, other_y, other_width in boxes[:i]:
            assert y != other_y or x + width <= other_x or other_x + other_width <= x


def test_parents_stand_above_children() -> None:
    network, _ = random_network(6, 30)
    layout = NetworkLayout(network)
    for edge in layout.edges:
        assert layout.boxes[edge.parent].layer < layout.boxes[edge.child].layer


def test_a_star_is_not_one_endless_line() -> None:
    names = [f"column number {i}" for i in range(40)]
    schema = Schema.from_dict({"attributes": {name: {"kind": "boolean"} for name in names}})
    nodes = [Node(names[0], (), np.ones(2))]
    nodes += [Node(name, (Axis(names[0]),), np.ones((2, 2))) for name in names[1:]]
    width = float(re.search(r'width="(\d+)"', picture(Network(tuple(nodes)), schema).svg).group(1))  # type: ignore[union-attr]
    assert width < 2000


def test_names_cannot_break_out() -> None:
    network, schema = chain("<script>alert('x')</script>", 'a"&\x1b[31m', "b" * 300)
    drawn = picture(network, schema)
    root = ElementTree.fromstring(drawn.svg)
    assert not list(root.iter("script"))
    assert "<script" not in drawn.svg
    assert "\x1b" not in drawn.svg + tree(network)


def test_a_picture_can_be_saved(tmp_path: Path) -> None:
    network, schema = chain("a", "b")
    drawn = picture(network, schema)
    drawn.save(tmp_path / "network.svg")
    assert (tmp_path / "network.svg").read_text() == drawn._repr_svg_()
