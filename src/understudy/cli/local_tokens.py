"""``understudy local``: the tokens of surveys, those that cannot be linked and those from a hat."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.checks import check_distinct
from understudy.cli.local_app import PlanFile, local_app
from understudy.cli.options import Quiet
from understudy.cli.root import examples
from understudy.cli.talk import Talk
from understudy.errors import InputError

MAX_TOKEN_LETTERS = 10_000
"""Letters of a line that is read from standard input."""


@local_app.command(
    "tokens",
    epilog=examples(
        "understudy local tokens --persons 2000 --give tokens.txt -o tokens.json",
        "understudy local collect plan.json reports/ --tokens tokens.json -o tables.json",
    ),
)
def local_tokens(
    persons: Annotated[int, typer.Option(metavar="N", help="How many persons are invited.")],
    give: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The tokens, one per line: hand out, note nothing."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="What the collector gets.")
    ],
    quiet: Quiet = False,
) -> None:
    """Make one-use tokens: a report without one does not count, nor does a second one."""
    from understudy.data.files import write_text
    from understudy.local.tokens import Tokens, make_tokens

    check_distinct(give, output)
    made = make_tokens(persons)
    Tokens.of(made).save(output)
    write_text(give, "\n".join(made) + "\n", "tokens")
    Talk(quiet).say(
        f"{persons:,} tokens: {give}. Hand them out as from a hat, and do not note who gets which: "
        f"such a list would link answers to persons. The collector needs {output} only."
    )


@local_app.command(
    "issuer",
    epilog=examples(
        "understudy local issuer -o issuer.json",
        "understudy local plan survey.json --epsilon 2 --issuer issuer.json -o plan.json",
    ),
)
def local_issuer(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The secret key, for you alone.")
    ],
    quiet: Quiet = False,
) -> None:
    """Make the key of an issuer of tokens that nobody can link to persons."""
    from understudy.local.blind_tokens import TokenIssuer

    TokenIssuer.create().save(output)
    Talk(quiet).say(f"Key: {output}. Plan with --issuer {output}; keep it to yourself.")


@local_app.command(
    "issue", epilog=examples("understudy local issue issuer.json < request > response")
)
def local_issue(
    issuer: Annotated[Path, typer.Argument(metavar="KEY", help="The issuer's secret key.")],
) -> None:
    """Answer a person's request for a token: once for each person whom you invited.

    The request stands on standard input, a line; the answer goes to standard output.
    """
    from understudy.local.blind_tokens import TokenIssuer

    made = TokenIssuer.load(issuer).issue(sys.stdin.readline(MAX_TOKEN_LETTERS))
    sys.stdout.write(made + "\n")


@local_app.command("token", epilog=examples("understudy local token plan.json -o token.txt"))
def local_token(
    plan: PlanFile,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Your token, for --token.")
    ],
    quiet: Quiet = False,
) -> None:
    """Get a token that nobody can link to you, from the issuer of a survey.

    The request goes to standard output: hand it to the issuer, who answers with a line for standard
    input.
    """
    from understudy.data.files import write_text
    from understudy.local.blind_tokens import TokenRequest
    from understudy.local.plans import CollectionPlan

    survey = CollectionPlan.load(plan)
    if not survey.token_key:
        raise InputError(f"The survey of {plan} needs no token.")
    request = TokenRequest()
    sys.stdout.write(request.text + "\n")
    sys.stdout.flush()
    talk = Talk(quiet)
    talk.say("Hand this line to the issuer, and enter the answer here:")
    token = request.finish(sys.stdin.readline(MAX_TOKEN_LETTERS), survey.token_key)
    write_text(output, token + "\n", "token")
    talk.say(f"Token: {output}. The issuer has never seen it.")
