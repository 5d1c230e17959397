"""``understudy demo``: see it work."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.evaluate import write_owner_page
from understudy.cli.options import Epsilon, Quiet
from understudy.cli.root import app, examples
from understudy.cli.synthesis import Inputs, Outputs, run_synthesis
from understudy.cli.talk import Talk
from understudy.errors import InputError


@app.command(epilog=examples("understudy demo -o demo-output"))
def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the results.")
    ] = Path("demo-output"),
    epsilon: Epsilon = 1.0,
    quiet: Quiet = False,
) -> None:
    """See it work: a real survey on affairs goes in, a private synthetic one comes out."""
    from understudy.data.demo import demo_frame, demo_schema
    from understudy.data.frames import as_table
    from understudy.synthesizers.registry import DEFAULT, find_method

    talk = Talk(quiet)
    synthesizer = find_method(DEFAULT).make(epsilon=epsilon)
    talk.say(
        "The survey: 6,366 married women on their marriage and affairs (Fair 1978), from the "
        "package statsmodels."
    )
    with talk.working("reading the survey"):
        survey, _ = as_table(demo_frame())
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The folder {output} cannot be made ({error.strerror}); choose another."
        ) from error
    survey.write(output / "survey.csv")
    demo_schema().save(output / "schema.json")
    run_synthesis(
        synthesizer,
        Inputs(table=str(output / "survey.csv"), schema=output / "schema.json"),
        Outputs(
            output=str(output / "synthetic.csv"),
            model=output / "model.json",
            report=output / "report.html",
        ),
        ledger=None,
        talk=talk,
    )
    own = output / "owner-report.html"
    compared = write_owner_page(
        output / "survey.csv",
        output / "synthetic.csv",
        output / "model.json",
        own,
        ["rate_marriage"],
        talk,
    )
    talk.say("")
    # From a checkout the command is not on the path: show the one that was typed.
    if shutil.which("understudy"):
        command = "understudy"
    else:
        command = os.path.relpath(sys.argv[0])
    talk.say("What to do next:")
    talk.say(
        f"  open {output / 'report.html'} in a browser: what was released, and how sure each "
        "number is"
    )
    if compared:
        talk.say(f"  open {own}: how close it came to the survey (for the owner, not for release)")
    talk.say(f"  {command} show {output / 'model.json'}")
    talk.say(f"  {command} sample {output / 'model.json'} --rows 1000 -o more.csv")
    talk.say(f"  {command} synthesize YOUR.csv --epsilon 1 -o synthetic.csv")
