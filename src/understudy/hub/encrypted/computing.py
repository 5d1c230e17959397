"""A job over encrypted uploads: the hub adds up and asks, the crypto service opens noisy sums."""

from __future__ import annotations

from understudy.encrypted.ways import learn_in_session, open_session
from understudy.errors import BudgetError, UnderstudyError
from understudy.hub.beats import JobStopped
from understudy.hub.encrypted.aggregator import Aggregator
from understudy.hub.encrypted.collecting import check_request, open_store, read_collection
from understudy.hub.errors import Unavailable
from understudy.hub.federated import FederationFailed, SharedJob
from understudy.hub.operations import Synthesise
from understudy.hub.protection import read_protected
from understudy.hub.records import read_dataset


def compute_encrypted(shared: SharedJob, aggregator: Aggregator) -> None:
    """Learn one model from the uploads of all owners, and write it to a file.

    The service is asked to open a session first: one that is away, or does not allow the release,
    has told nothing, and the price comes back. From then on it stays, whatever happens.
    """
    hub, job, operation, ledger = shared.hub, shared.job, shared.operation, shared.ledger
    epsilon, delta = operation.price()
    shared.progress("checking uploads", 0, 0)
    try:
        with hub.db.reading() as c:
            dataset = read_dataset(c, job.dataset)
            check_request(c, dataset, job.operation, job.spec)
            agreed = read_collection(c, job.dataset)
        assert isinstance(operation, Synthesise)
        protected = read_protected(dataset.neighbours, dataset.unit)
        method = operation.make_method(protected)
        store = open_store(hub, agreed)
        link = aggregator.open_link(agreed.service)
        try:
            with open_session(link, store, method) as session:
                number = ledger.reserve(
                    "encrypted", epsilon, delta, protected.neighbours, protected.unit
                )
                made = learn_in_session(session, method, progress=shared.progress)
        finally:
            link.close()
    except (BudgetError, JobStopped, Unavailable):
        raise
    except UnderstudyError as error:
        # Of public things and of noisy sums alone, so that everybody may read it.
        raise FederationFailed(f"The encrypted uploads gave no table: {error}") from error
    ledger.settle(number, made.ledger)
    made.save(shared.path)
