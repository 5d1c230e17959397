"""Tokens in JavaScript: the vectors of RFC 9497, and the library that the issuer uses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from browsers import NODE, run_in_node
from surveys import small_plan

from understudy.local.blind_tokens import TokenIssuer
from understudy.local.forms import client_form, read_resource
from understudy.local.plans import plan_all_pairs

pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")

KEY = "c803e2cc6b05fc15064549b5920659ca4a77b2cca6f04f6b357009335476ad4e"
BLIND = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706"
VECTORS = [
    {
        "input": "00",
        "blinded": "863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945",
        "evaluated": "aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e",
        "proof": "ddef93772692e535d1a53903db24367355cc2cc78de93b3be5a8ffcc6985dd06"
        "6d4346421d17bf5117a2a1ff0fcb2a759f58a539dfbe857a40bce4cf49ec600d",
        "output": "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7d"
        "a4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c",
    },
    {
        "input": "5a" * 17,
        "blinded": "cc0b2a350101881d8a4cba4c80241d74fb7dcbfde4a61fde2f91443c2bf9ef0c",
        "evaluated": "60a59a57208d48aca71e9e850d22674b611f752bed48b36f7a91b372bd7ad468",
        "proof": "401a0da6264f8cf45bb2f5264bc31e109155600babb3cd4e5af7d181a2c9dc0a"
        "67154fabf031fd936051dec80b0b6ae29c9503493dde7393b722eafdf5a50b02",
        "output": "8a9a2f3c7f085b65933594309041fc1898d42d0858e59f90814ae90571a6df60"
        "356f4610bf816f27afdd84f47719e480906d27ecd994985890e5f539e7ea74b6",
    },
]
"""Appendix A.1.2 of the RFC (VOPRF, ristretto255-SHA512), test vectors 1 and 2."""


def run_tokens(folder: Path, body: str, given: Any) -> Any:
    """What the body of an asynchronous function of the module and of something given returns."""
    (folder / "tokens.mjs").write_text(read_resource("tokens.js"))
    (folder / "run.mjs").write_text(
        'import * as tokens from "./tokens.mjs";\n'
        'import { readFileSync } from "node:fs";\n'
        'const given = JSON.parse(readFileSync("given.json", "utf8"));\n'
        f"const run = async () => {{ {body} }};\n"
        "console.log(JSON.stringify(await run()));\n"
    )
    (folder / "given.json").write_text(json.dumps(given))
    assert NODE is not None
    ran = subprocess.run([NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


READ_NUMBER = """const number = (hex) =>
  tokens.fromHex(hex).reduceRight((n, byte) => (n << 8n) | BigInt(byte), 0n);"""


def test_the_vectors_of_the_rfc(tmp_path: Path) -> None:
    body = f"""{READ_NUMBER}
    const made = [];
    for (const one of given.vectors) {{
      const [input, evaluated] = [tokens.fromHex(one.input), tokens.fromHex(one.evaluated)];
      const blinded = await tokens.blind(input, number(given.blind));
      made.push([
        tokens.toHex(blinded),
        await tokens.isProved(
          tokens.fromHex(given.key), blinded, evaluated, tokens.fromHex(one.proof)),
        tokens.toHex(await tokens.unblind(input, number(given.blind), evaluated)),
      ]);
    }}
    return made;"""
    given = {"vectors": VECTORS, "blind": BLIND, "key": KEY}
    assert run_tokens(tmp_path, body, given) == [
        [one["blinded"], True, one["output"]] for one in VECTORS
    ]


ANSWER = """const asked = await tokens.requestToken();
return { text: asked.text, number: tokens.toHex(asked.number), factor: String(asked.factor) };"""
FINISH = """const made = [];
for (const { asked, response, key } of given) {
  const whole = {
    text: asked.text, number: tokens.fromHex(asked.number), factor: BigInt(asked.factor) };
  try { made.push(await tokens.finishToken(whole, response, key)); }
  catch (error) { made.push(`refused: ${error.message}`); }
}
return made;"""


def test_the_issuer_knows_a_token_of_a_page_again(tmp_path: Path) -> None:
    issuer = TokenIssuer.create()
    asked = run_tokens(tmp_path, ANSWER, None)
    response = issuer.issue(asked["text"])
    other = TokenIssuer.create()
    cases = [
        (response, issuer.public_key),
        (other.issue(asked["text"]), issuer.public_key),  # a key of its own for one person
        (response, other.public_key),
        (response[:-2] + ("00" if response[-2:] != "00" else "01"), issuer.public_key),
        (response[:4] + ("0" if response[4] != "0" else "1") + response[5:], issuer.public_key),
        (response[:64], issuer.public_key),
        ("", issuer.public_key),
        ("zz", issuer.public_key),
    ]
    given = [{"asked": asked, "response": one, "key": key} for one, key in cases]
    token, *refused = run_tokens(tmp_path, FINISH, given)
    assert issuer.own([token[:32].encode()], [token[32:].encode()])[0]
    assert token[:32] == asked["number"]
    assert asked["number"] not in asked["text"]
    assert len(refused) == 7
    assert all(text.startswith("refused: ") for text in refused)


def test_the_most_private_level_of_a_questions_columns_counts(tmp_path: Path) -> None:
    plan = plan_all_pairs(small_plan().schema, (2.0, 0.5, 1.0))
    form = client_form(plan)
    asked = """(client, { form, chosen }) => form.questions.map((question) =>
      client.levelOf(form, question, chosen))"""
    chosen = {"age": 1, "sex": 2, "smoker": 0}
    levels = run_in_node(tmp_path, asked, {"form": form, "chosen": chosen})
    for question, level in zip(plan.questions, levels, strict=True):
        wanted = min(plan.epsilons[chosen.get(name, 0)] for name in question.columns)
        assert plan.epsilons[level] == wanted
    assert set(levels) == {0, 1, 2}
