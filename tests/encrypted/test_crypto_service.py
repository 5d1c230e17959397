"""What a service tells, what it refuses, and what its ledger says then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from encrypted_parties import draw_rows, gather, private_key

from understudy.data.marginals import marginal
from understudy.encrypted.curator import EncryptedCurator
from understudy.encrypted.masks import open_seed, seal_seed
from understudy.encrypted.paillier import PrivateKey
from understudy.encrypted.plans import EncryptionPlan
from understudy.encrypted.service import CryptoService, ServicePolicy
from understudy.encrypted.session import EncryptedSession, ServiceGone, Store
from understudy.encrypted.uploads import Upload, seed_statement
from understudy.errors import BudgetError, InputError, UnderstudyError
from understudy.federation import HolderGone, HolderRefused, MemoryLink
from understudy.federation.identity import Identity
from understudy.federation.messages import Message
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import LedgerFile
from understudy.privacy.mechanisms import SeededNoise

pytestmark = pytest.mark.usefixtures("small_keys")

EXACT = 1e4
"""So much epsilon that the noise is 0."""


@pytest.fixture(scope="module")
def parties():
    return gather([draw_rows(300, seed) for seed in range(3)], epsilon=1e9)


def measure(parties, store=None, **terms):
    with EncryptedSession(
        parties.link, store or parties.store, **({"epsilon": EXACT} | terms)
    ) as session:
        return EncryptedCurator(session).measure(
            [marginal("a"), marginal("b", "c")], session.ledger.left
        )


def test_tables_are_those_of_all_rows(parties):
    rows = [draw_rows(300, seed) for seed in range(3)]
    a = np.bincount(np.concatenate([one.codes["a"] for one in rows]), minlength=2)
    b, c = (np.concatenate([one.codes[name] for one in rows]) for name in "bc")
    found = measure(parties)
    assert found[0].counts.tolist() == a.tolist()
    assert found[1].counts.tolist() == np.histogram2d(b, c, [range(4), range(5)])[0].tolist()


def test_the_service_decrypts_nothing_but_uniform_numbers(parties, monkeypatch):
    """What it decrypts for the same question is spread over the whole modulus, each time anew."""
    seen = []
    decrypt = PrivateKey.decrypt

    def spying(self, ciphertext):
        seen.append(decrypt(self, ciphertext))
        return seen[-1]

    monkeypatch.setattr(PrivateKey, "decrypt", spying)
    for _ in range(20):
        measure(parties)
    modulus = parties.plan.key.modulus
    assert len(set(seen)) == len(seen) == 40
    # The chance that all of 40 uniform numbers lie in one half is 2^-39 each way; one in 10^12.
    assert min(seen) < modulus // 2 < max(seen)
    assert all(number.bit_length() > parties.plan.key.bits - 148 for number in seen)


def test_uploads_look_uniform_even_to_the_key_holder(parties):
    """Under its mask a table of zeros and one of rows are the same to who has the key."""
    key = private_key()
    for upload in parties.uploads:
        for item in upload.items:
            assert all(key.decrypt(one).bit_length() > key.public.bits - 148 for one in item)


def test_a_session_with_seeded_noise_is_not_called_private():
    for noise, private in [(SeededNoise(1), False), (None, True)]:
        some = gather([draw_rows(3), draw_rows(3)], tables=(marginal("a"),), noise=noise)
        with EncryptedSession(some.link, some.store, epsilon=1.0):
            [opened] = some.service._sessions.values()
            assert opened.ledger.private is private


def test_masks_and_blinds_are_new_each_time():
    """Of every owner and upload, and of every ciphertext."""
    seeds = set()
    for _ in range(2):
        some = gather([draw_rows(3), draw_rows(3)], tables=(marginal("a"),))
        key, plan = private_key(), some.plan
        seeds |= {open_seed(one.seed, key.sealing, plan.digest, one.owner) for one in some.uploads}
    assert len(seeds) == 4
    assert len({key.public.encrypt(5) for _ in range(4)}) == 4


# ---- ciphertexts that are not as they should be


def changed(parties, **changes):
    uploads = [replace(parties.uploads[0], **changes), *parties.uploads[1:]]
    return Store(parties.plan, uploads, parties.certificates)


def test_a_tampered_upload_is_refused(parties):
    first = parties.uploads[0]
    forged = (parties.plan.key.shift(first.items[0][0], 1),)
    with pytest.raises(InputError, match="o0 was changed since its owner signed it"):
        changed(parties, items=(forged, *first.items[1:]))


def test_swapped_items_of_an_upload_are_refused(parties):
    items = parties.uploads[0].items
    with pytest.raises(InputError, match="was changed"):
        changed(parties, items=(items[1], items[0], *items[2:]))


def test_an_upload_of_another_owner_is_refused_under_this_ones_name(parties):
    with pytest.raises(InputError, match="was changed"):
        changed(parties, items=parties.uploads[1].items)


def test_an_upload_for_another_plan_is_refused(parties):
    other = replace(parties.plan, collection="another")
    with pytest.raises(InputError, match="another plan"):
        Store(other, parties.uploads, parties.certificates)


def test_an_upload_that_comes_twice_or_not_at_all_is_refused(parties):
    with pytest.raises(InputError, match="two uploads of o0"):
        Store(parties.plan, [*parties.uploads, parties.uploads[0]], parties.certificates)
    with pytest.raises(InputError, match="o2 is missing"):
        Store(parties.plan, parties.uploads[:2], parties.certificates)


def test_an_oversized_ciphertext_is_refused(parties):
    first = parties.uploads[0]
    with pytest.raises(InputError, match="larger than the key allows"):
        changed(parties, items=((parties.plan.key.square + 5,), *first.items[1:]))


def test_uploads_go_through_files_and_damaged_ones_are_refused(parties, tmp_path):
    path = tmp_path / "o0.json"
    parties.uploads[0].save(path, parties.plan)
    assert Upload.load(path, parties.plan) == parties.uploads[0]
    text = path.read_text()
    for broken in (text.replace('"seed": "', '"seed": "zz'), text.replace("==", "="), "{}", "["):
        path.write_text(broken)
        if broken == text:
            continue
        with pytest.raises(InputError):
            Upload.load(path, parties.plan)


class MeddlingLink(MemoryLink):
    """An aggregator that sends other ciphertexts to be decrypted than it should."""

    def __init__(self, service, meddle):
        super().__init__(service)
        self._meddle = meddle

    def ask(self, message):
        asked = Message.from_bytes(message)
        if asked.kind == "ask":
            message = self._meddle(asked).to_bytes()
        return super().ask(message)


def meddled(parties, change):
    """A session in which the ciphertexts on their way to the service are changed."""
    key = parties.plan.key

    def meddle(asked):
        data = asked.arrays["ciphertexts"].tobytes()
        sent = [
            int.from_bytes(data[i : i + key.width], "big") for i in range(0, len(data), key.width)
        ]
        arrays = {**asked.arrays, "ciphertexts": np.frombuffer(b"".join(change(sent)), np.uint8)}
        return Message(asked.kind, asked.content, arrays)

    return MeddlingLink(parties.service, meddle)


@pytest.mark.parametrize("factor", [0, 2, 1000])
def test_a_multiple_of_the_sums_reads_as_nonsense(parties, factor):
    """Without masks, a hub could have a thousand times the counts decrypted, and with them read
    one row through the noise.
    """
    key = parties.plan.key

    def multiply(sent):
        return [pow(one, factor, key.square).to_bytes(key.width, "big") for one in sent]

    link = meddled(parties, multiply)
    with (
        EncryptedSession(link, parties.store, epsilon=EXACT) as session,
        pytest.raises(InputError, match="no sum of packed numbers"),
    ):
        EncryptedCurator(session).measure([marginal("a")], Budget(1.0))


def test_a_sum_that_leaves_an_owner_out_reads_as_nonsense(parties, monkeypatch):
    store = parties.store
    store.uploads = {name: one for name, one in store.uploads.items() if name != "o1"}
    seeds = parties.store.seeds()
    monkeypatch.setattr(Store, "seeds", lambda self: seeds)
    with pytest.raises(InputError, match="no sum of packed numbers"):
        measure(parties, store)


def test_swapped_ciphertexts_read_as_nonsense(parties):
    key = parties.plan.key
    link = meddled(parties, lambda sent: [one.to_bytes(key.width, "big") for one in reversed(sent)])
    with (
        EncryptedSession(link, parties.store, epsilon=EXACT) as session,
        pytest.raises(InputError, match="no sum of packed numbers"),
    ):
        EncryptedCurator(session).measure([marginal("a"), marginal("b")], Budget(1.0))


@pytest.mark.parametrize("size", ["short", "large", "zero"])
def test_a_service_refuses_what_is_no_ciphertext_and_debits_nothing(parties, size):
    key = parties.plan.key
    sent = {
        "short": [b"\0" * 10],
        "large": [(key.square + 1).to_bytes(key.width + 1, "big")[-key.width :]],
        "zero": [bytes(key.width)],
    }[size]
    link = meddled(parties, lambda _: sent)
    with EncryptedSession(link, parties.store, epsilon=1.0) as session:
        with pytest.raises(HolderRefused):
            EncryptedCurator(session).measure([marginal("a")], Budget(1.0))
        served = parties.service._sessions[session.terms.session]
        assert served.ledger.left.amount == 1.0


# ---- seeds


def test_a_seed_that_its_owner_did_not_sign_is_refused(parties):
    """Or a hub could have the masks of one owner taken off twice."""
    store = parties.store
    store.uploads["o1"] = replace(
        store.uploads["o1"],
        seed=store.uploads["o0"].seed,
        seed_signature=store.uploads["o0"].seed_signature,
    )
    with pytest.raises(HolderRefused, match="o1 is not signed"):
        measure(parties, store)


def test_a_colluding_owner_cannot_pass_on_anothers_seed(parties):
    """It signs the sealed seed of o0 as its own: the seal is for o0."""
    service = CryptoService("fresh", parties.plan, private_key(), parties.certificates)
    store = parties.store
    box = store.uploads["o0"].seed
    statement = seed_statement(parties.plan.digest, "o1", box)
    signature = parties.identities["o1"].sign(statement)
    store.uploads["o1"] = replace(store.uploads["o1"], seed=box, seed_signature=signature)
    with pytest.raises(HolderRefused, match="sealed for another plan, owner or service"):
        EncryptedSession(MemoryLink(service), store, epsilon=1.0)


def test_a_second_upload_of_an_owner_is_refused_by_the_service(parties):
    measure(parties)
    store = parties.store
    box = seal_seed(bytes(32), parties.plan.key.sealing, parties.plan.digest, "o0")
    signature = parties.identities["o0"].sign(seed_statement(parties.plan.digest, "o0", box))
    store.uploads["o0"] = replace(store.uploads["o0"], seed=box, seed_signature=signature)
    with pytest.raises(HolderRefused, match="o0 uploaded twice"):
        measure(parties, store)


# ---- sessions and ledgers


def test_the_ledger_file_has_the_price_and_the_questions(tmp_path):
    book = LedgerFile.create(tmp_path / "csp.ledger", 3.0)
    two = gather(
        [draw_rows(50, seed) for seed in range(2)],
        epsilon=3.0,
        policy=ServicePolicy(ledger_file=book),
    )
    measure(two, epsilon=2.0)
    assert book.left() == (1.0, 0.0)
    [release] = book.read()["releases"]
    assert release["state"] == "settled"
    with pytest.raises(HolderRefused, match="The service csp does not allow"):
        measure(two, epsilon=2.0)
    assert book.left() == (1.0, 0.0)


def test_a_session_that_asks_nothing_costs_nothing(tmp_path):
    book = LedgerFile.create(tmp_path / "csp.ledger", 3.0)
    two = gather([draw_rows(50)] * 2, epsilon=3.0, policy=ServicePolicy(ledger_file=book))
    with EncryptedSession(two.link, two.store, epsilon=2.0):
        assert book.left() == (1.0, 0.0)
    assert book.left() == (3.0, 0.0)


def test_a_ledger_of_another_plan_is_refused(tmp_path):
    book = LedgerFile.create(tmp_path / "csp.ledger", 2.0)
    with pytest.raises(InputError, match="another allowance than the plan"):
        gather([draw_rows(50)] * 2, epsilon=3.0, policy=ServicePolicy(ledger_file=book))


def test_a_question_beyond_the_session_is_refused_before_anything_is_decrypted(parties):
    with (
        EncryptedSession(parties.link, parties.store, epsilon=1.0) as session,
        pytest.raises(BudgetError),
    ):
        EncryptedCurator(session).measure([marginal("a")], Budget(2.0))
    assert session.ciphertexts == 0


def test_a_question_that_comes_again_is_answered_as_before(parties):
    told = []
    link = MemoryLink(parties.service, lambda asked, answer: told.append((asked, answer)))
    with EncryptedSession(link, parties.store, epsilon=1.0) as session:
        EncryptedCurator(session).measure([marginal("a")], Budget(0.5))
        asked, answer = told[-1]
        left = parties.service._sessions[session.terms.session].ledger.left
        assert parties.service.answer(asked) == answer
        assert parties.service._sessions[session.terms.session].ledger.left == left
        EncryptedCurator(session).measure([marginal("a")], Budget(0.25))
        again = Message.from_bytes(parties.service.answer(asked))
        assert again.kind == "refused"
        assert "out of its order" in again.content["sentence"]


def test_a_session_is_its_openers_alone(parties):
    with EncryptedSession(parties.link, parties.store, epsilon=1.0) as session:
        asked = Message("close", {"session": session.terms.session}).to_bytes()
        answer = Message.from_bytes(parties.service.answer(asked, "somebody else"))
        assert "opened by somebody else" in answer.content["sentence"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"way": "secure"}, "does not take part in the way"),
        ({"schema": "00" * 32}, "serves another plan"),
        ({"holders": ["o0", "o1"]}, "all owners of the plan only"),
        ({"neighbours": "replace"}, "neighbours add_remove only"),
        ({"delta": 1e-6}, "another currency"),
    ],
)
def test_terms_other_than_the_plans_are_refused(parties, changes, sentence):
    with EncryptedSession(parties.link, parties.store, epsilon=1.0) as session:
        terms = session.terms.to_message().content
    asked = Message("open", {**terms, "session": "another", **changes})
    answer = Message.from_bytes(parties.service.answer(asked.to_bytes()))
    assert answer.kind == "refused"
    assert sentence in answer.content["sentence"]


def test_a_session_goes_by_its_order_and_nothing_else_is_decrypted(parties, monkeypatch):
    """Seeds first, then questions one after the other, each with its own entries and no others."""
    heard, decrypted = [], []
    link = MemoryLink(parties.service, lambda asked, _: heard.append(Message.from_bytes(asked)))
    with EncryptedSession(link, parties.store, epsilon=1.0) as session:
        EncryptedCurator(session).measure([marginal("a")], Budget(0.5))
    opened, started, asked = (
        next(one for one in heard if one.kind == kind) for kind in ("open", "start", "ask")
    )
    monkeypatch.setattr(PrivateKey, "decrypt", lambda *_: decrypted.append(1))

    def answer(message, **changes):
        content = {**message.content, "session": "fresh", **changes}
        sent = Message(message.kind, content, message.arrays)
        told = Message.from_bytes(parties.service.answer(sent.to_bytes()))
        return told.content.get("sentence", told.kind)

    assert answer(opened) == "opened"
    assert "begins with the owners' sealed seeds" in answer(asked)
    assert "of each owner of the plan" in answer(started, seeds={})
    assert "begins with the owners' sealed seeds" in answer(asked)
    assert answer(started) == "started"
    for place in (0, 2, 3):
        assert "out of its order" in answer(asked, round=place)
    assert "cannot be asked for" in answer(asked, what="rows")
    assert "does not hold 'more'" in answer(asked, more=1)
    assert "does not know what" in answer(Message("tell"))
    assert not decrypted


def test_the_name_of_an_open_session_is_taken(parties):
    heard = []
    link = MemoryLink(parties.service, lambda asked, _: heard.append(asked))
    with EncryptedSession(link, parties.store, epsilon=1.0):
        opening = next(one for one in heard if Message.from_bytes(one).kind == "open")
        terms = Message.from_bytes(opening).content
        asked = Message("open", {**terms, "epsilon": 2.0})
        again = Message.from_bytes(parties.service.answer(asked.to_bytes()))
    assert again.kind == "refused"
    assert "a session of that name already" in again.content["sentence"]


def test_a_recorded_opening_opens_nothing_again(parties):
    heard = []
    link = MemoryLink(parties.service, lambda asked, _: heard.append(asked))
    with EncryptedSession(link, parties.store, epsilon=1.0):
        pass
    opening = next(one for one in heard if Message.from_bytes(one).kind == "open")
    again = Message.from_bytes(parties.service.answer(opening))
    assert again.kind == "refused"
    assert "a session of that name" in again.content["sentence"]


class GoneLink(MemoryLink):
    """A service that goes away at the first question."""

    def ask(self, message):
        if Message.from_bytes(message).kind in ("ask", "close"):
            raise HolderGone("The holder csp cannot be reached at 127.0.0.1:1 (refused).")
        return super().ask(message)


def test_a_service_that_goes_away_keeps_the_whole_price_on_its_ledger(tmp_path):
    book = LedgerFile.create(tmp_path / "csp.ledger", 3.0)
    two = gather([draw_rows(50)] * 2, epsilon=3.0, policy=ServicePolicy(ledger_file=book))
    with EncryptedSession(GoneLink(two.service), two.store, epsilon=2.0) as session:
        with pytest.raises(ServiceGone, match="The service csp cannot be reached"):
            EncryptedCurator(session).measure([marginal("a")], Budget(0.5))
        assert session.ledger.left.amount == 1.5
    assert book.left() == (1.0, 0.0)


def test_an_unexpected_exception_closes_the_service(monkeypatch):
    two = gather([draw_rows(50)] * 2)
    monkeypatch.setattr(PrivateKey, "decrypt", lambda *_: 1 / 0)
    for _ in range(2):
        with pytest.raises(UnderstudyError, match="has closed"):
            measure(two, epsilon=1.0)


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        ({"colluders": 0}, "colluders 1"),
        ({"delta": 1e-6, "epsilon": 1.0}, "another currency"),
    ],
)
def test_a_policy_refuses_terms(terms, sentence):
    two = gather([draw_rows(50)] * 2, policy=ServicePolicy(colluders=1))
    with pytest.raises(HolderRefused, match=sentence):
        measure(two, **({"epsilon": 1.0} | terms))


def test_a_service_with_another_key_is_refused(parties):
    with pytest.raises(InputError, match="another key"):
        CryptoService("csp", parties.plan, PrivateKey.generate(), parties.certificates)


def test_a_wrong_certificate_of_an_owner_is_refused(parties):
    certificates = {**parties.certificates, "o1": Identity.new("o1").certificate}
    with pytest.raises(InputError, match="o1 was changed since its owner signed it"):
        Store(parties.plan, parties.uploads, certificates)


def test_a_service_of_another_plan_is_refused(parties):
    other = gather([draw_rows(20)] * 3, epsilon=1e9)
    with pytest.raises(InputError, match="serves another plan"):
        EncryptedSession(other.link, parties.store, epsilon=1.0)


# ---- plans


def test_plans_go_through_files(parties, tmp_path):
    parties.plan.save(tmp_path / "plan.json")
    assert EncryptionPlan.load(tmp_path / "plan.json").digest == parties.plan.digest


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"owners": ("b", "a")}, "owners"),
        ({"owners": ("a",)}, "2 to"),
        ({"max_rows": 0}, "most rows"),
        ({"tables": ()}, "nothing to upload"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"tables": (marginal("a", "b"), marginal("b", "a"))}, "twice"),
        ({"tables": (marginal("z"),)}, "z"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(parties, change, sentence):
    with pytest.raises(InputError, match=sentence):
        replace(parties.plan, **change)


def test_more_noise_than_the_slots_have_room_for_is_refused(parties):
    with (
        EncryptedSession(parties.link, parties.store, epsilon=1.0) as session,
        pytest.raises(InputError, match="room"),
    ):
        EncryptedCurator(session).measure([marginal("a")], Budget(1e-5))


def test_an_owner_with_more_rows_than_the_plan_is_refused():
    with pytest.raises(InputError, match="more rows than the plan"):
        gather([draw_rows(50)] * 2, max_rows=40)


def test_owners_that_lie_are_noticed_beyond_what_rows_can_be():
    """Their numbers are their own say, up to the bound that stands in the plan."""
    few = gather([draw_rows(59)] * 2, max_rows=60, epsilon=1e9)
    assert measure(few, epsilon=20.0)[0].counts.sum() > 100
    many = gather([draw_rows(59)] * 9, max_rows=60, epsilon=1e9)
    with pytest.raises(InputError, match="uploaded something else than the plan"):
        measure(many)
