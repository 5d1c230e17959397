"""All commands, each of which adds itself to the command ``understudy`` when it is imported."""

from understudy.cli import (  # noqa: F401
    anonymise,
    ask,
    attack,
    audit,
    compress,
    csp,
    demo,
    evaluate,
    federate,
    holder,
    hub,
    hub_demo,
    learn,
    ledger,
    local,
    plan,
    predict,
    query,
    sample,
    schema,
    show,
    studio,
    synthesize,
)
from understudy.cli.root import app

__all__ = ["app"]
