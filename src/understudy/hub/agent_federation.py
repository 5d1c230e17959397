"""An owner's agent as a holder of a federation: answers messages that it fetches from the hub."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from understudy.data.read_options import join_reading
from understudy.data.schema import Schema
from understudy.errors import InputError
from understudy.federation.holder import Holder, HolderPolicy
from understudy.federation.identity import Certificate, Identity
from understudy.federation.messages import Message, refusal
from understudy.federation.opening import open_rows
from understudy.federation.terms import Terms
from understudy.hub.agent_link import HubAway, HubLink
from understudy.hub.agent_settings import AgentSettings, Federating
from understudy.hub.intake import check_columns
from understudy.hub.job_ledgers import open_books
from understudy.hub.node_log import NodeLog
from understudy.hub.operations import check_spec

HUB_PAUSE = 1.0


class FederatedAgent:
    """Takes part in secure sums, by its own policy, ledger and log.

    Parameters
    ----------
    settings
        What it goes by; ``[federation]`` must be among them.
    link
        The way to the hub.
    notify
        Called with what happens, in words.
    """

    def __init__(
        self,
        settings: AgentSettings,
        link: HubLink | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        if settings.federating is None:
            raise InputError("The settings have no [federation]; add it.")
        self.settings = settings
        self.link = link or HubLink(settings.url, settings.token, settings.certificate)
        self.log = NodeLog(settings.log, notify)
        self.schema = replace(Schema.load(settings.schema), reading={})
        self.holder = self._open_holder(settings.federating)

    def run(self, stop: threading.Event | None = None) -> None:
        """Answer until told to stop; a hub that is away is tried again."""
        stop = stop or threading.Event()
        joined = False
        while not stop.is_set():
            try:
                if not joined:
                    self.join()
                    joined = True
                self.step()
            except HubAway:
                stop.wait(HUB_PAUSE)

    def join(self) -> None:
        """Agree to hold a part of the data set, if it is the one that the owner means."""
        told = self.link.dataset(self.settings.dataset)
        check_columns(Schema.from_dict(told.get("schema"), "The hub's schema"), self.schema)
        if told.get("neighbours") != self.holder.neighbours:
            raise InputError("The hub registered the data set with other neighbours.")
        self.link.join(self.settings.dataset)
        self.log("joined", dataset=self.settings.dataset, holder=self.holder.name)

    def step(self) -> bool:
        """Answer the next message; whether there was one."""
        found = self.link.next_message(self.settings.dataset)
        if found is None:
            return False
        told, question = found
        self.link.answer_message(str(told.get("id")), self.answer(told, question))
        return True

    def answer(self, told: Mapping[str, Any], question: bytes) -> bytes:
        """The holder's answer, unless the agent's own policy is against it."""
        try:
            message = Message.from_bytes(question)
            if message.kind == "open":
                objection = self._object_to(Terms.from_message(message), told.get("user"))
                decision = "refused" if objection else "allowed"
                self.log(decision, job=told.get("job"), user=told.get("user"), why=objection)
                if objection:
                    return refusal(objection)
        except InputError as error:
            return refusal(str(error))
        return self.holder.answer(question, "hub")

    def _object_to(self, terms: Terms, user: Any) -> str:
        """Why a session is refused; by what is public alone."""
        if terms.way != "secure":
            return "The owner's agent takes part in secure sums alone."
        method = dict(terms.method)
        spec = {
            "epsilon": terms.epsilon,
            "delta": terms.delta,
            "method": method.get("name"),
        }
        operation = check_spec("synthesise", spec, self.schema, self.settings.protected)
        return self.settings.policy.object_to(operation, user)

    def _open_holder(self, federating: Federating) -> Holder:
        settings = self.settings
        if settings.allowance is None and not settings.ledger.exists():
            raise InputError(f"There is no ledger at {settings.ledger} yet; say [allowance].")
        identity = Identity.load(federating.certificate, federating.key)
        peers = [Certificate.load(path) for path in federating.peers]
        coded, source = open_rows(
            settings.rows,
            self.schema,
            notify=lambda sentence: self.log("note", note=str(sentence)[:1000]),
            **join_reading(Schema.load(settings.schema).reading, {}),
        )
        epsilon, delta = settings.allowance or (1.0, 0.0)
        protected = settings.protected
        if protected.unit != "row":
            raise InputError("Where owners share the work, rows are protected, not persons.")
        book = open_books(settings.ledger, epsilon, delta, protected.neighbours, protected.unit)
        book.accept = settings.accept
        book.adopt_table(source.fingerprint(book.key()))
        return Holder(
            identity.name,
            coded,
            HolderPolicy(
                ledger_file=book,
                colluders=federating.colluders,
                session_share=federating.session_share,
            ),
            identity=identity,
            peers={peer.name: peer for peer in peers},
            log=lambda entry: self.log("federation", details=dict(entry)),
        )
