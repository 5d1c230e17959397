"""The hub's own worker: rows from the vault or by URL, two ledgers, one release per job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from agent_hubs import Site, make_site, write_rows

from understudy.errors import InputError
from understudy.hub import datasets, jobs, trail
from understudy.hub import worker as worker_module
from understudy.hub.errors import Unavailable
from understudy.hub.operations import Synthesise
from understudy.hub.worker import (
    Worker,
    WorkerClosed,
    WorkerSettings,
    decrypt_into_memory,
    load_worker_settings,
)
from understudy.privacy.ledger import LedgerFile


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = make_site(tmp_path, mode="stored")
    stored = made.hub.vault.put(made.dataset, "rows", (made.folder / "rows.csv").read_bytes())
    with made.hub.db.transaction() as c:
        datasets.store_rows(c, made.owner, made.dataset, stored.id)
    return made


def book_of(site: Site) -> LedgerFile:
    return LedgerFile(site.hub.folder / "ledgers" / f"{site.dataset}.ledger")


@pytest.mark.parametrize(
    ("operation", "spec"),
    [
        ("synthesise", {"epsilon": 0.1}),
        ("ask", {"epsilon": 0.3, "questions": ["mean age group by sex"]}),
        ("learn", {"epsilon": 0.7, "learner": "gaussian-nb", "target": "sick"}),
    ],
)
def test_stored_rows_are_computed_and_both_ledgers_agree(
    site: Site, operation: str, spec: dict[str, Any]
) -> None:
    job = site.submit(operation, **spec)
    assert Worker(site.hub).step()
    assert site.job(job).state == "done", site.job(job).why
    made = site.release(job)
    assert made is not None
    assert made.ledger["guarantee"]["epsilon"] == spec["epsilon"]
    assert book_of(site).left()[0] == pytest.approx(site.left())
    [entry] = book_of(site).read()["releases"]
    assert (entry["job"], entry["epsilon"]) == (job.id, spec["epsilon"])
    assert not Worker(site.hub).step()


def test_no_plain_row_is_on_the_disk(site: Site, tmp_path: Path) -> None:
    seen: list[str] = []

    def look(path: Path) -> None:
        assert path.is_symlink()
        seen.append(os.readlink(path))
        assert path.read_text().startswith("age,sex")

    with decrypt_into_memory(iter([b"age,sex,", b"sick\n1,f,no\n"])) as path:
        look(path)
    assert not path.exists()
    assert seen[0].startswith("/proc/")


def test_rows_in_parquet_and_by_name_of_a_source(tmp_path: Path) -> None:
    site = make_site(tmp_path, mode="stored", source="warehouse")
    job = site.submit()
    Worker(site.hub).step()
    assert site.job(job).why == worker_module.WORKER_FAILED
    assert site.job(job).refunded
    job = site.submit()
    sources = {"warehouse": str(write_rows(tmp_path / "other.csv"))}
    Worker(site.hub, WorkerSettings(sources=sources)).step()
    assert site.job(job).state == "done"


@pytest.mark.thorough
def test_rows_in_postgresql_are_computed_where_they_are(tmp_path: Path, postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create table patients (age int, sex text, sick text)")
        connection.execute(
            "insert into patients select 20 + i % 60, case i % 2 when 0 then 'f' else 'm' end, "
            "'no' from generate_series(1, 400) i"
        )
    site = make_site(tmp_path, mode="stored", source="warehouse")
    separator = "&" if "?" in postgres_url else "?"
    sources = {"warehouse": f"{postgres_url}{separator}table=patients"}
    job = site.submit()
    Worker(site.hub, WorkerSettings(sources=sources)).step()
    assert site.job(job).state == "done", (site.hub.folder / "worker.log").read_text()
    assert book_of(site).left() == (2.5, 0.0)


def test_a_database_that_is_away_for_a_moment_loses_no_release(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.submit()
    monkeypatch.setattr(worker_module, "HAND_IN_PAUSES", (0.0, 0.0))
    take_in, calls = worker_module.take_in, []

    def away_once(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise Unavailable("away")
        return take_in(*arguments)

    monkeypatch.setattr(worker_module, "take_in", away_once)
    Worker(site.hub).step()
    assert site.job(job).state == "done"
    assert len(calls) == 2


def test_a_ledger_follows_a_total_that_was_raised(site: Site) -> None:
    site.submit()
    Worker(site.hub).step()
    with site.hub.db.reading() as c:
        before = datasets.show(c, site.owner, site.dataset)
    with site.hub.db.transaction() as c:
        spec = datasets.DatasetSpec(
            name=before.name, schema=before.schema, epsilon=9.0, mode="stored"
        )
        datasets.change(c, site.owner, site.dataset, spec)
    site.submit()
    Worker(site.hub).step()
    assert book_of(site).left() == (8.0, 0.0)


def test_the_ledger_beside_the_vault_decides_too(site: Site) -> None:
    Worker(site.hub)  # makes the folder
    LedgerFile.create(book_of(site).path, 3.0)
    book_of(site).reserve("elsewhere", 2.8, 0.0, "add_remove")
    job = site.submit()
    Worker(site.hub).step()
    assert site.job(job).why == worker_module.VAULT_LEDGER_REFUSED
    assert site.left() == 3.0


def test_what_nobody_foresaw_closes_the_worker(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    job = site.submit()

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("row 17")

    monkeypatch.setattr(Synthesise, "compute", fail)
    worker = Worker(site.hub)
    for _ in range(2):
        with pytest.raises(WorkerClosed):
            worker.step()
    assert (site.job(job).state, site.job(job).why) == ("failed", worker_module.WORKER_CLOSED)
    assert not site.job(job).refunded
    assert "row 17" not in (site.hub.folder / "worker.log").read_text()


def test_a_worker_that_falls_silent_leaves_an_interrupted_job(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.submit()
    with site.hub.db.transaction() as c:
        assert jobs.claim(c, "worker:killed") is not None
    site.clock.turn(600)
    assert not Worker(site.hub).step()
    ended = site.job(job)
    assert (ended.state, ended.refunded) == ("interrupted", False)
    with site.hub.db.reading() as c:
        assert trail.verify(trail.export(c), site.hub.keys.trail)


def test_a_failure_that_may_depend_on_rows_is_not_for_nothing(tmp_path: Path) -> None:
    site = make_site(tmp_path, mode="stored", source="warehouse")
    other = tmp_path / "other.csv"
    other.write_text("age,sex\n1,f\n")
    job = site.submit()
    Worker(site.hub, WorkerSettings(sources={"warehouse": str(other)})).step()
    ended = site.job(job)
    assert (ended.state, ended.why, ended.refunded) == (
        "failed",
        worker_module.WORKER_FAILED,
        False,
    )


def test_tampered_rows_are_not_computed(site: Site) -> None:
    job = site.submit()
    [path] = (site.hub.folder / "vault" / site.dataset).iterdir()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    Worker(site.hub).step()
    assert (site.job(job).state, site.job(job).refunded) == ("failed", True)


def test_settings_of_a_worker_are_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "worker.toml"
    path.write_text('[sources]\nwarehouse = "postgresql://u@h/d?table=t"\n')
    assert load_worker_settings(path).sources["warehouse"].startswith("postgresql")
    for text in ("[sources]\na = 3\n", '[sources]\na = "rows.csv"\n', "[other]\n", "["):
        path.write_text(text)
        with pytest.raises(InputError):
            load_worker_settings(path)


@pytest.mark.parametrize("epsilon", [1 / 3, 0.123456789012345678])
def test_a_price_comes_through_to_the_last_digit(tmp_path: Path, epsilon: float) -> None:
    for mode in ("stored", "agent"):
        (tmp_path / mode).mkdir()
        site = make_site(tmp_path / mode, mode=mode, epsilon=1.0, source=mode[:6])
        job = site.submit(epsilon=epsilon)
        if mode == "agent":
            site.agent().step()
        else:
            sources = {"stored": str(site.folder / "rows.csv")}
            Worker(site.hub, WorkerSettings(sources=sources)).step()
        assert site.job(job).state == "done", site.job(job).why
        assert site.left() == pytest.approx(1.0 - epsilon)
