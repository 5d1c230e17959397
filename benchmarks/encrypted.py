"""Encrypted statistics: speed, size and error, each figure beside its target.

    python benchmarks/encrypted.py --data ../shared/data [--only speed pca adult] [--repeats 5]

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

from understudy import Adaptive, Independent, Schema, Synthesizer
from understudy.compression.owners import Uploads, fit_owners
from understudy.compression.private import PrivatePCA
from understudy.data.columns import Table
from understudy.data.encoding import Coded, encode
from understudy.encrypted import integers
from understudy.encrypted.learning import find_questions
from understudy.encrypted.paillier import PrivateKey
from understudy.encrypted.plans import Plan, list_tables
from understudy.encrypted.service import CryptoService, ServicePolicy
from understudy.encrypted.session import Store
from understudy.encrypted.uploads import make_upload
from understudy.encrypted.ways import federate_encrypted, fit_to_plan
from understudy.evaluation.marginals import marginals_of_order, total_variation
from understudy.federation import MemoryLink
from understudy.federation.client import HttpLink
from understudy.federation.identity import Identity, Party
from understudy.learners.design import numbers_column
from understudy.privacy.central import CentralCurator
from understudy.privacy.ledger import Ledger
from understudy.release.callbacks import no_progress
from understudy.release.sources import MemorySource

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "studies"))

from published import published
from splits import split

SECTIONS = ("speed", "pca", "adult")
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
        {"speed": measure_speed, "pca": measure_pca, "adult": measure_adult}[section](arguments)


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


def pca_plan(key: PrivateKey, owners: int, epsilon: float, delta: float) -> Plan:
    asked = find_questions(PrivatePCA(5, epsilon=epsilon, delta=delta), schema_of_numbers())
    return Plan(
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


def _upload(task: tuple[Plan, str, int, Path]) -> Any:
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


# ---- Adult


def measure_adult(arguments: argparse.Namespace) -> None:
    """Owners' singles and pairs of Adult: upload, and error against one trusted curator."""
    table, schema = published("adult", arguments.data)
    coded = encode(table, schema)
    key = PrivateKey.generate()
    owners = {f"owner-{i}": Identity.new(f"owner-{i}") for i in range(ADULT_OWNERS)}
    for delta in (0.0, 1e-9):
        plan = Plan(
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


def _upload_parts(plan: Plan, coded: Coded, owners: dict[str, Identity]) -> list[Any]:
    parts = split(coded, "equal", ADULT_OWNERS)
    return [
        make_upload(plan, name, part, identity)
        for (name, identity), part in zip(owners.items(), parts, strict=True)
    ]


def _report_upload(plan: Plan, uploads: list[Any], seconds: float) -> None:
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
    plan: Plan,
    coded: Coded,
    link: MemoryLink,
    store: Store,
    repeats: int,
) -> None:
    kept = fit_to_plan(method, plan)
    told = f"{method.name}, epsilon 1, delta {method.delta:g}"
    central, text = _mean_error(coded, repeats, partial(_learn_centrally, kept, coded))
    line(f"{told}: one trusted curator, the plan's tables", text)
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


def _learn_centrally(method: Synthesizer, coded: Coded) -> Any:
    currency: Any = "rho" if method.delta else "epsilon"
    ledger = Ledger(method.epsilon, method.delta, currency=currency)
    curator = CentralCurator(coded, ledger)
    return method.learn(curator, ledger.left, no_progress)


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


if __name__ == "__main__":
    main()
