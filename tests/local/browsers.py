"""The JavaScript client, run by Node or in Chromium; and what both are asked."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from understudy.local.forms import client_source
from understudy.local.randomisers import Randomiser

NODE = shutil.which("node")

ANSWER_ALL = """(client, { form, cases }) => cases.map(({ codes, level, bytes }) => {
  const stream = Uint8Array.from(bytes.match(/../g), (pair) => parseInt(pair, 16));
  return client.answer(form, codes, { level, words: client.Words.ofBytes(stream) });
})"""

PERTURB_ALL = """(client, vectors) => vectors.map(({ randomiser, values, bytes }) => {
  const stream = Uint8Array.from(bytes.match(/../g), (pair) => parseInt(pair, 16));
  const words = client.Words.ofBytes(stream);
  return values.map((value) => client.perturb(randomiser, value, words).map(Number));
})"""

ENCODE_ALL = """(client, { form, entries }) => entries.map((entered) =>
  client.encode(form, entered))"""

COUNT_REPORTS = """(client, { randomiser, values, runs }) => values.map((value) => {
  const counts = {};
  for (let run = 0; run < runs; run += 1) {
    const report = client.perturb(randomiser, value).map(String).join(".");
    counts[report] = (counts[report] || 0) + 1;
  }
  return counts;
})"""


def run_in_node(folder: Path, function: str, given: Any, source: str | None = None) -> Any:
    """What a JavaScript function of the client and of something given returns, in Node."""
    (folder / "client.mjs").write_text(source or client_source())
    (folder / "run.mjs").write_text(
        'import * as client from "./client.mjs";\n'
        'import { readFileSync, writeFileSync } from "node:fs";\n'
        f"const asked = {function};\n"
        'const given = JSON.parse(readFileSync("given.json", "utf8"));\n'
        'writeFileSync("answer.json", JSON.stringify(asked(client, given)));\n'
    )
    (folder / "given.json").write_text(json.dumps(given))
    assert NODE is not None
    ran = subprocess.run([NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return json.loads((folder / "answer.json").read_text())


def run_in_page(page: Any, function: str, given: Any, source: str | None = None) -> Any:
    """What a JavaScript function of the client and of something given returns, in a browser."""
    return page.evaluate(
        "async ([source, given]) => {"
        ' const blob = new Blob([source], { type: "text/javascript" });'
        " const client = await import(URL.createObjectURL(blob));"
        f" return ({function})(client, given); }}",
        [source or client_source(), given],
    )


def count_in_python(counts: dict[str, int]) -> Counter[tuple[int, ...]]:
    """Counts of reports that JavaScript has written as text."""
    return Counter({tuple(map(int, text.split("."))): count for text, count in counts.items()})


def question_of(randomiser: Randomiser, values: list[int], runs: int) -> dict[str, Any]:
    """What :data:`COUNT_REPORTS` is given."""
    return {"randomiser": randomiser.to_dict(), "values": values, "runs": runs}
