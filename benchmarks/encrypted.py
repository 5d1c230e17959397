"""Encrypted statistics: speed, size and error, each figure beside its target.

    python benchmarks/encrypted.py --data ../shared/data [--only speed pca ways adult] [--repeats 5]

Keys of 2,048 bits. The service of "pca" is a process of its own, behind TLS on loopback; owners
encrypt in two processes. Noise is the real one, so errors vary from run to run. Times are CPU
seconds unless it says wall.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from understudy import Adaptive, Independent, Schema, Synthesizer
from understudy.compression.dpdpca import (
    Protocol,
    add_encrypted_noise,
    decompose,
    encrypt_sums,
    fit_serial,
)
from understudy.compression.owners import Holders, Uploads, fit_owners
from understudy.compression.private import PrivatePCA
from understudy.data.columns import Table
from understudy.data.encoding import Coded, encode
from understudy.encrypted import integers
from understudy.encrypted.learning import find_questions
from understudy.encrypted.paillier import PrivateKey
from understudy.encrypted.plans import EncryptionPlan, list_tables
from understudy.encrypted.service import CryptoService, ServicePolicy
from understudy.encrypted.session import Store
from understudy.encrypted.uploads import make_upload
from understudy.encrypted.ways import federate_encrypted, fit_to_plan
from understudy.evaluation.marginals import marginals_of_order, total_variation
from understudy.federation import Holder, HolderPolicy, MemoryLink
from understudy.federation.client import HttpLink
from understudy.federation.identity import Identity, Party
from understudy.learners.design import numbers_column
from understudy.models.joint.curator import estimate_tables
from understudy.privacy.central import CentralCurator
from understudy.privacy.curator import Curator
from understudy.privacy.ledger import Ledger
from understudy.release.callbacks import no_progress
from understudy.release.sources import MemorySource

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "studies"))

from published import published
from splits import split

SECTIONS = ("speed", "pca", "ways", "adult")
FEATURES = 50
PCA_OWNERS = 10
ADULT_OWNERS = 5
BOOK = {"owner": 22.5, "pca": 13.8 * 60}
"""Seconds, at 1,024 bits, on the authors' machines."""
COMMAND = [sys.executable, "-m", "understudy"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="where the published tables lie"
    )
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="parts to run, by default all"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs that errors are the mean of")
    arguments = parser.parse_args()
    gmpy2 = "with gmpy2" if integers.gmpy2 is not None else "without gmpy2"
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {gmpy2}")
    for section in arguments.only:
        print(f"\n{section}", flush=True)
        MEASURES[section](arguments)


def line(what: str, measured: str, target: str = "", reached: bool | None = None) -> None:
    verdict = {True: "reached", False: "MISSED", None: ""}[reached]
    print(f"  {what:<58} {measured:<44} {target:<16} {verdict}".rstrip(), flush=True)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


# ---- rows of 50 features


def schema_of_numbers() -> Schema:
    columns = {f"x{i}": {"kind": "real", "min": -1, "max": 1} for i in range(FEATURES)}
    return Schema.from_dict({"attributes": columns})


def rows_of_numbers(seed: int, rows: int = 2000) -> Coded:
    """Rows of which few directions have most of the scatter."""
    rng = np.random.default_rng(seed)
    turned = np.linalg.qr(np.random.default_rng(99).normal(size=(FEATURES, FEATURES)))[0]
    found = rng.normal(size=(rows, FEATURES)) * 0.7 ** np.arange(FEATURES) @ turned
    columns = {f"x{i}": numbers_column(np.clip(part, -1, 1)) for i, part in enumerate(found.T)}
    source = MemorySource(Table(columns, "X"), "table", None, 1)
    return source.code(schema_of_numbers())[0]


def pca_plan(key: PrivateKey, owners: int, epsilon: float, delta: float) -> EncryptionPlan:
    asked = find_questions(PrivatePCA(5, epsilon=epsilon, delta=delta), schema_of_numbers())
    return EncryptionPlan(
        schema=schema_of_numbers(),
        key=key.public,
        owners=tuple(f"owner-{i:02}" for i in range(owners)),
        epsilon=epsilon,
        delta=delta,
        max_rows=100_000,
        sums=asked.sums,
    )


def measure_speed(arguments: argparse.Namespace) -> None:
    """One owner's second moments, packed and one by one."""
    seconds, key = timed(PrivateKey.generate)
    line("make a key of 2,048 bits", f"{seconds:.2f} s")
    plan = pca_plan(key, PCA_OWNERS, 1.0, 0.0)
    item = max(plan.items, key=lambda one: one.cells)
    numbers = np.random.default_rng(0).integers(-(2**20), 2**20, item.cells)
    packed, ciphertexts = timed(lambda: key.public.encrypt_all(item.packing.pack(numbers)))
    line(
        f"encrypt {item.cells:,} second moments of {FEATURES} features",
        f"{packed:.2f} s, {len(ciphertexts)} ciphertexts",
        "<= 0.5 s",
        packed <= 0.5,
    )
    line("  the book's owner at 1,024 bits", f"{BOOK['owner']:g} s, {BOOK['owner'] / packed:.0f} x")
    some = 100
    single, _ = timed(lambda: key.public.encrypt_all(numbers[:some].tolist()))
    single *= item.cells / some
    line(
        "  one number per ciphertext (100 measured)",
        f"{single:.1f} s, {single / packed:.0f} x as long",
        ">= 30 x",
        single / packed >= 30,
    )
    line("  numbers in a ciphertext", f"{item.packing.slots} of {item.packing.slot_bits} bits")
    seconds, _ = timed(lambda: [key.decrypt(one) for one in ciphertexts])
    line("decrypt them", f"{seconds:.3f} s")
    owner = Identity.new("owner-00")
    coded = rows_of_numbers(0)
    seconds, _ = timed(lambda: make_upload(plan, owner.name, coded, owner))
    line("an owner's whole upload for PCA: counted, masked, encrypted", f"{seconds:.2f} s")


# ---- PCA end to end


def _upload(task: tuple[EncryptionPlan, str, int, Path]) -> Any:
    plan, name, seed, folder = task
    identity = Identity.load(folder / f"{name}.pem", folder / f"{name}.key")
    return timed(lambda: make_upload(plan, name, rows_of_numbers(seed), identity))


def measure_pca(arguments: argparse.Namespace) -> None:
    """Owners, hub and service as processes: from rows to components."""
    del arguments
    key = PrivateKey.generate()
    epsilon, delta = 1.0, 1e-6
    plan = pca_plan(key, PCA_OWNERS, 1000.0, 0.1)
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(2) as pool:
        folder = Path(name)
        identities = {
            one: Identity.new(one).save(folder / f"{one}.pem", folder / f"{one}.key")
            for one in (*plan.owners, "service", "hub")
        }
        key.save(folder / "service.secret")
        plan.save(folder / "plan.json")
        with socket.socket() as place:
            place.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{place.getsockname()[1]}"
        entries = [f'[[owner]]\nname = "{o}"\ncertificate = "{o}.pem"\n' for o in plan.owners]
        entries.append(
            f'[[service]]\nname = "service"\naddress = "{address}"\ncertificate = "service.pem"\n'
        )
        entries.append('[[analyst]]\nname = "hub"\ncertificate = "hub.pem"\n')
        (folder / "parties.toml").write_text("\n".join(entries))
        command = [*COMMAND, "csp", "serve", "--plan", "plan.json", "--cert", "service.pem"]
        command += ["--private-key", "service.secret", "--peers", "parties.toml"]
        command += ["--listen", address]
        with (folder / "err").open("wb") as err:
            service = subprocess.Popen(command, cwd=folder, stderr=err)
        try:
            while b"listens at" not in (folder / "err").read_bytes():
                if service.poll() is not None:
                    raise SystemExit((folder / "err").read_text())
                time.sleep(0.1)
            list(pool.map(rows_of_numbers, range(2)))  # both processes have started
            start = time.perf_counter()
            tasks = [(plan, owner, seed, folder) for seed, owner in enumerate(plan.owners)]
            hub = time.process_time()
            made = list(pool.map(_upload, tasks))
            owners_cpu, uploads = sum(one[0] for one in made), [one[1] for one in made]
            uploaded = time.perf_counter()
            certificates = {one: party.certificate for one, party in identities.items()}
            store = Store(plan, uploads, certificates)
            link = HttpLink(Party(certificates["service"], address), identities["hub"])
            learner = PrivatePCA(5, epsilon=epsilon, delta=delta)
            fit_owners(Uploads(link=link, store=store), learner)
            link.close()
            end = time.perf_counter()
            hub = time.process_time() - hub
        finally:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            service.terminate()
            service.wait(30)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    served = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    whole = end - start
    line(
        f"PCA over {PCA_OWNERS} owners, {FEATURES} features, wall",
        f"{whole:.1f} s (owners {uploaded - start:.1f} s, load {os.getloadavg()[0]:.1f})",
        "<= 5 s",
        whole <= 5,
    )
    line(
        "  CPU of 10 owners, hub, service with its start",
        f"{owners_cpu:.1f} + {hub:.1f} + {served:.1f} s",
    )
    line("  the book's at 1,024 bits", f"{BOOK['pca']:.0f} s, {BOOK['pca'] / whole:.0f} x")


# ---- four ways to PCA over ten owners


def measure_ways(arguments: argparse.Namespace) -> None:
    """DPDPCA against secure sums, encrypted uploads and the serial PrivateLocalPCA: the share of
    the variance of digits (16 averages of pixels) that four components keep, and CPU seconds.
    """
    images = load_digits().images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    rows = images / 8 - 1
    parts = [rows[i::PCA_OWNERS] for i in range(PCA_OWNERS)]
    key = PrivateKey.generate()
    best = _captured(rows, np.linalg.svd(rows - rows.mean(axis=0))[2][:4])
    line("without noise", f"{best:.3f} of the variance")
    for epsilon in (0.3, 1.0):
        ways: dict[str, Callable[[], Any]] = {
            "DPDPCA": partial(_run_dpdpca, key, parts, epsilon),
            "secure sums": partial(_run_secure, parts, epsilon),
            "encrypted uploads": partial(_run_uploads, key, parts, epsilon),
            "serial, PrivateLocalPCA": partial(_run_serial, key, parts, epsilon),
        }
        for name, way in ways.items():
            found, seconds = [], []
            for _ in range(arguments.repeats):
                spent, components = timed(way)
                found.append(_captured(rows, components))
                seconds.append(spent)
            told = f"{statistics.fmean(found):.3f}, {statistics.fmean(seconds):.2f} s"
            line(f"epsilon {epsilon:g}, delta 1e-6: {name}", told)


def _captured(rows: Any, components: Any) -> float:
    basis = np.linalg.qr(components.T)[0]
    centred = rows - rows.mean(axis=0)
    return float(((centred @ basis) ** 2).sum() / (centred**2).sum())


def _digits_schema() -> Schema:
    columns = {f"x{i}": {"kind": "real", "min": -1, "max": 1} for i in range(16)}
    return Schema.from_dict({"attributes": columns})


def _digits_rows(part: Any) -> Coded:
    columns = {f"x{i}": numbers_column(column) for i, column in enumerate(part.T)}
    source = MemorySource(Table(columns, "X"), "table", None, 1)
    return source.code(_digits_schema())[0]


def _protocol(key: PrivateKey, epsilon: float) -> Protocol:
    return Protocol(key=key.public, features=16, epsilon=epsilon, delta=1e-6, max_rows=10_000)


def _unit_rows(part: Any) -> Any:
    return part / 4  # a row of 16 features has a length of 4 at most


def _run_dpdpca(key: PrivateKey, parts: list[Any], epsilon: float) -> Any:
    agreed = _protocol(key, epsilon)
    uploads = [encrypt_sums(agreed, _unit_rows(part)) for part in parts]
    return decompose(agreed, key, add_encrypted_noise(agreed, uploads), 4).components


def _run_serial(key: PrivateKey, parts: list[Any], epsilon: float) -> Any:
    return fit_serial([_unit_rows(part) for part in parts], _protocol(key, epsilon), 4).components


def _run_secure(parts: list[Any], epsilon: float) -> Any:
    identities = [Identity.new(f"h{i}") for i in range(len(parts))]
    peers = {identity.name: identity.certificate for identity in identities}
    policy = HolderPolicy(allowance=10.0, delta=0.1)
    holders = [
        Holder(identity.name, _digits_rows(part), policy, identity=identity, peers=peers)
        for identity, part in zip(identities, parts, strict=True)
    ]
    learner = PrivatePCA(4, epsilon=epsilon, delta=1e-6)
    return fit_owners(Holders(links=holders, schema=_digits_schema()), learner).components_


def _run_uploads(key: PrivateKey, parts: list[Any], epsilon: float) -> Any:
    learner = PrivatePCA(4, epsilon=epsilon, delta=1e-6)
    owners = {f"o{i}": Identity.new(f"o{i}") for i in range(len(parts))}
    plan = EncryptionPlan(
        schema=_digits_schema(),
        key=key.public,
        owners=tuple(sorted(owners)),
        epsilon=10.0,
        delta=0.1,
        max_rows=10_000,
        sums=find_questions(learner, _digits_schema()).sums,
    )
    uploads = [
        make_upload(plan, name, _digits_rows(part), identity)
        for (name, identity), part in zip(owners.items(), parts, strict=True)
    ]
    certificates = {name: one.certificate for name, one in owners.items()}
    service = CryptoService("service", plan, key, certificates)
    store = Store(plan, uploads, certificates)
    return fit_owners(Uploads(link=MemoryLink(service), store=store), learner).components_


# ---- Adult


def measure_adult(arguments: argparse.Namespace) -> None:
    """Owners' singles and pairs of Adult: upload, and error against one trusted curator."""
    table, schema = published("adult", arguments.data)
    coded = encode(table, schema)
    key = PrivateKey.generate()
    owners = {f"owner-{i}": Identity.new(f"owner-{i}") for i in range(ADULT_OWNERS)}
    for delta in (0.0, 1e-9):
        plan = EncryptionPlan(
            schema=schema,
            key=key.public,
            owners=tuple(owners),
            epsilon=1e4,
            delta=delta and 0.4,
            max_rows=100_000,
            tables=list_tables(schema, 2),
            scores=True,
        )
        certificates = {name: one.certificate for name, one in owners.items()}
        seconds, uploads = timed(partial(_upload_parts, plan, coded, owners))
        store = Store(plan, uploads, certificates)
        if not delta:
            _report_upload(plan, uploads, seconds)
        policy = ServicePolicy(colluders=0)
        service = CryptoService("service", plan, key, certificates, policy=policy)
        link = MemoryLink(service)
        for method in (Independent(epsilon=1.0, delta=delta), Adaptive(epsilon=1.0, delta=delta)):
            _compare(method, plan, coded, link, store, arguments.repeats)


def _upload_parts(plan: EncryptionPlan, coded: Coded, owners: dict[str, Identity]) -> list[Any]:
    parts = split(coded, "equal", ADULT_OWNERS)
    return [
        make_upload(plan, name, part, identity)
        for (name, identity), part in zip(owners.items(), parts, strict=True)
    ]


def _report_upload(plan: EncryptionPlan, uploads: list[Any], seconds: float) -> None:
    ciphertexts = sum(item.ciphertexts for item in plan.items)
    cells = sum(item.cells for item in plan.items)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "upload.json"
        uploads[0].save(path, plan)
        size = path.stat().st_size
    line(
        f"upload: {len(plan.tables)} tables, {cells:,} numbers",
        f"{ciphertexts:,} ciphertexts, {size / 1e6:.2f} MB, {seconds / len(uploads):.1f} s",
    )


def _compare(
    method: Synthesizer,
    plan: EncryptionPlan,
    coded: Coded,
    link: MemoryLink,
    store: Store,
    repeats: int,
) -> None:
    kept = fit_to_plan(method, plan)
    told = f"{method.name}, epsilon 1, delta {method.delta:g}"
    _, text = _mean_error(coded, repeats, partial(_learn_centrally, kept, coded))
    line(f"{told}: one trusted curator, who may choose among the plan's tables", text)
    central, text = _mean_error(coded, repeats, partial(_learn_centrally, kept, coded, plan))
    line(f"{told}: one trusted curator, all tables of the plan at once", text)
    for colluders in (0, 1):
        start = time.process_time()
        learn = partial(federate_encrypted, link, store, method, colluders=colluders)
        mean, text = _mean_error(coded, repeats, learn)
        seconds = (time.process_time() - start) / repeats
        line(
            f"{told}: encrypted, colluders {colluders}",
            f"{text}, {mean / central:.3f} x, {seconds:.0f} s",
            "<= 1.10 x",
            mean / central <= 1.10,
        )


def _learn_centrally(method: Synthesizer, coded: Coded, plan: EncryptionPlan | None = None) -> Any:
    """By a trusted curator; with a plan, who asks what encrypted uploads are asked."""
    currency: Any = "rho" if method.delta else "epsilon"
    ledger = Ledger(method.epsilon, method.delta, currency=currency)
    curator: Curator = CentralCurator(coded, ledger)
    budget = ledger.left
    if plan is not None and not getattr(method, "only_measures", False):
        curator = estimate_tables(curator, plan.tables, budget)
    return method.learn(curator, budget, no_progress)


def _mean_error(coded: Coded, repeats: int, learn: Callable[[], Any]) -> tuple[float, str]:
    """The mean total variation distance of all pairs of synthetic rows."""
    found = []
    for seed in range(repeats):
        rows = learn().sample(coded.rows, seed)
        synthetic = encode(rows, coded.schema)
        pairs = marginals_of_order(coded.schema, 2, None)
        found.append(float(np.mean(total_variation(coded, synthetic, pairs))))
    spread = statistics.stdev(found) if len(found) > 1 else 0.0
    return statistics.fmean(found), f"{statistics.fmean(found):.4f} +- {spread:.4f}"


MEASURES = {
    "speed": measure_speed,
    "pca": measure_pca,
    "ways": measure_ways,
    "adult": measure_adult,
}

if __name__ == "__main__":
    main()
