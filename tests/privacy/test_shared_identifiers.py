"""Identifiers that many rows share are columns as any other; those of a single row are numbered."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from understudy import Independent, InputError, Table
from understudy.counting.columns import MemoryColumns
from understudy.counting.partition import DistinctTally
from understudy.data.attributes import Identifier, Quantity
from understudy.data.tables import Column
from understudy.evaluation.shared_identifiers import tells_rows_apart
from understudy.privacy.budget import exact
from understudy.privacy.discovery import Discovery
from understudy.privacy.discovery_draft import Draft
from understudy.privacy.identifiers import is_identifier, is_owner, may_tell_groups
from understudy.privacy.ledger import Ledger
from understudy.privacy.mechanisms import SeededNoise

ROWS = 6000


def words(values: list[str]) -> Column:
    """A column of a file."""
    distinct = tuple(sorted(set(values)))
    places = {word: place for place, word in enumerate(distinct)}
    return Column("text", np.array([places[value] for value in values]), distinct)


def pupils() -> Table:
    rng = np.random.default_rng(0)
    return Table(
        {
            "pupil_id": Column("integer", np.arange(ROWS) + 1000),
            "school_id": Column("integer", rng.integers(1, 41, ROWS)),
            "class_code_id": words([f"K{place}" for place in rng.integers(0, 2500, ROWS)]),
            "age": Column("integer", rng.integers(6, 19, ROWS)),
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_school_is_a_column_and_a_pupil_is_a_number(seed: int) -> None:
    ledger = Ledger.for_discovery(2.0, 1e-9)
    facts = Draft(pupils()), ledger, ledger.budget, ledger.threshold_delta
    run = Discovery(*facts, SeededNoise(seed), share=None)
    run.count_rows()
    run.count_present()
    assert run.find_hopeless() == ()  # classes of two pupils each stop nothing
    found = run.find()
    schema = found.schema
    assert isinstance(schema["pupil_id"], Identifier)
    assert isinstance(schema["class_code_id"], Identifier)
    school = schema["school_id"]
    assert isinstance(school, Quantity)
    assert 0 <= school.edges[0] <= 2
    assert 36 <= school.edges[-1] <= 60
    asked = [entry.question for entry in ledger.entries]
    assert asked.index("different values of school_id") < asked.index("kind of school_id")
    assert "kind of pupil_id" not in asked
    assert found.empty == ()


def test_who_names_the_person_is_not_asked_about_it() -> None:
    ledger = Ledger.for_discovery(2.0, 1e-9)
    facts = Draft(pupils(), person="school_id"), ledger, ledger.budget, 1e-9
    run = Discovery(*facts, SeededNoise(0), share=None)
    run.count_rows()
    asked = [entry.question for entry in ledger.entries]
    assert "different values of school_id" not in asked
    assert "different values of pupil_id" in asked


def test_a_release_has_schools_with_many_rows() -> None:
    method = Independent(epsilon=2.0, delta=1e-9, refinement=0)
    model = method.fit(pupils(), noise=SeededNoise(1), notify=lambda _: None)
    rows = model.sample(3000, seed=0)
    assert len(np.unique(rows.columns["school_id"].values)) < 70
    assert len(np.unique(rows.columns["pupil_id"].values)) == 3000


def test_a_row_changes_the_number_of_different_values_by_one_at_most() -> None:
    cells = ["7", " 7", "", " ", "n/a", "x"]
    for size in range(4):
        for held in itertools.product(cells, repeat=size):
            for more in cells:
                assert 0 <= count(*held, more) - count(*held) <= 1


def count(*held: str) -> int:
    if not held:
        return 0
    tally = DistinctTally()
    MemoryColumns(Table({"x": words(list(held))})).count({"x": tally})
    assert tally.rows == len(held)
    return tally.distinct


def test_a_stop_costs_no_less_than_was_asked() -> None:
    """Whatever the budget is, to the last bit: else the ledger refuses the stop."""
    rows = Table({"school_id": words(["a", "b", "c"]), "x": words(["u", "v", "w"])})
    for place in range(60):
        ledger, noise = Ledger(0.1 + place / 7), SeededNoise(place)
        discovery = Discovery(Draft(rows), ledger, ledger.budget, 1e-9, noise, share=None)
        discovery.count_rows()
        asked = sum(map(exact, (entry.amount for entry in ledger.entries)))
        assert asked <= exact(discovery.count_price.amount)


def test_names_tell_which_identifiers_may_be_shared() -> None:
    shared = ["id", "school_id", "customerID", "person id", "id_no", "EmpID", "SUBJID", "order_no"]
    shared += ["own_telephone", "mobile", "index", "case_index"]  # or answered with yes
    shared += ["MRN", "PatientMRN", "passport_no", "PassportNumber", "account number", "ACCTNO"]
    shared += ["patient.nr", "patient.id", "Sl. No.", "sno", "RollNo", "kundenr", "numero_cliente"]
    shared += ["nhs_number", "driving_licence_no", "credit_card_number", "username", "ip_address"]
    shared += ["patient_code", "customer_key", "lfd_nr", "barcode", "Matrikelnummer", "SEQN"]
    shared += ["InvoiceNumber", "Vertragsnummer", "Schüler-Nr.", "id_client", "pupilNo"]
    assert all(map(may_tell_groups, shared))
    others = ["email", "uuid", "row_number", "iban", "isbn"]
    others += ["age", "paid", "PAID", "Covid", "room_number"]
    others += ["number_of_children", "answer_no", "casino", "volcano", "numero_hijos", "snr"]
    others += ["body_mass_index", "refractive.index", "order_amount", "claim_amount", "zip_code"]
    others += ["icd_code", "card_type", "insurance", "registration_year", "login_count", "kid"]
    others += ["bid", "humid", "chip", "vintage", "person_income", "staff_count", "NO", "no"]
    assert not any(map(may_tell_groups, others))
    assert not any(map(is_identifier, others[5:]))
    assert all(map(is_identifier, ["ssn", "row.names", "Unnamed: 0", "sessionUUID", "guid"]))


def test_an_order_is_nobody_and_a_client_is_somebody() -> None:
    assert all(map(is_owner, ["patient_id", "EmpID", "Kundennummer", "id_client", "pupilNo"]))
    assert all(map(is_owner, ["MRN", "passport_no", "account number", "ssn", "patient.nr"]))
    assert not any(map(is_owner, ["id", "order_no", "InvoiceNumber", "visit_id", "age"]))
    assert not any(map(is_owner, ["Sl. No.", "row.names", "Unnamed: 0", "barcode", "index"]))


@pytest.mark.parametrize("seed", range(3))
def test_what_only_sounds_like_an_identifier_is_found_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = Table(
        {
            "index": Column("integer", np.arange(ROWS)),
            "age": Column("integer", rng.integers(18, 90, ROWS)),
            "body_mass_index": Column("real", rng.normal(26, 4, ROWS).round(3)),
            "own_telephone": words([("none", "yes")[place] for place in rng.integers(0, 2, ROWS)]),
        }
    )
    model = Independent(epsilon=2.0, delta=1e-9).fit(
        table, noise=SeededNoise(seed), notify=lambda _: None
    )
    assert isinstance(model.schema["index"], Identifier)
    assert isinstance(model.schema["body_mass_index"], Quantity)
    assert set(model.sample(2000, seed=1).to_pandas()["own_telephone"]) == {"none", "yes"}


def test_the_owner_is_told_what_became_of_schools() -> None:
    table = pupils()
    assert tells_rows_apart(table.columns["pupil_id"])
    assert not tells_rows_apart(table.columns["school_id"])


@pytest.mark.parametrize(("share", "names"), [(0.005, ["x", "y"]), (0.02, ["x", "y_id"])])
def test_a_share_that_counting_alone_would_use_up_is_refused_before_anything_is_asked(
    share: float, names: list[str]
) -> None:
    rows = Table({name: words(["a", "b", "c"] * 9) for name in names})
    for currency, delta in (("rho", 1e-6), ("gdp", 1e-300)):
        ledger = Ledger.for_discovery(0.01, delta, currency=currency)
        facts = Draft(rows), ledger, ledger.budget, ledger.threshold_delta, SeededNoise(0)
        with pytest.raises(InputError, match="give discovery more than"):
            Discovery(*facts, share=share / 10).count_rows()
        assert ledger.entries == []
        Discovery(*facts, share=2 * share).count_rows()
