"""Renewals and heartbeats wait for nobody of their own process."""

from __future__ import annotations

import threading

from noonmark.core.model import SECOND, Renewal
from noonmark.stores.sqlite import SqliteStore
from noonmark.stores.sqlite.connection import Courtesy
from noonmark.testing.builders import make_activation, make_caller_row, make_worker


def test_a_renewal_does_not_queue_behind_the_verbs_of_its_process(store: SqliteStore) -> None:
    store.activate("a", [make_activation(effective_at=0)], actor="ada")
    store.add("b", [make_caller_row("a", at=store.now())])
    (run,) = store.take("t", "w1", limit=1, runnable={"job": SECOND}, look_lease=SECOND).rows
    with store._file.main._lock, store._file.reader._lock:  # as if a batch were being worked on, and others waited
        renewed = store.renew("w1", [Renewal(occurrence_id=run.id, fence=run.fence, lease=9 * SECOND)])
        assert renewed.lost == frozenset()
        assert store.heartbeat(make_worker("w1"), SECOND) == renewed.now


def test_a_verb_that_has_not_begun_lets_a_renewal_go_first() -> None:
    courtesy = Courtesy()
    passed = threading.Event()

    def verb() -> None:
        courtesy.give_way()
        passed.set()

    courtesy.give_way()  # nobody waits, so nothing happens
    with courtesy.going_first(), courtesy.going_first():
        thread = threading.Thread(target=verb)
        thread.start()
        assert not passed.wait(0.01)
    assert passed.wait(5)
    thread.join()
