"""``noonmark ledger release``: what it says when another rollback is proved while one is let go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from calling import Noonmark
from desk import Desk

from noonmark.core.model import SECOND
from noonmark.core.model.rollback import Claim


def prove_lost(store: Any, writer: str) -> None:
    claim = Claim(writer=writer, worker="w", receipt=None)
    receipt = store.prove(claim).receipt
    lost = replace(receipt, seq=receipt.seq + 1, hash="f" * 64, at=store.now() - SECOND)
    store.prove(replace(claim, receipt=lost))


@pytest.mark.parametrize(("lang", "said"), [("en", "still held: rollback 2"), ("zh", "仍被扣住的：第 2 次回退")])
def test_a_rollback_that_was_proved_meanwhile_is_named_and_ends_the_command_with_3(
    noonmark: Noonmark, desk: Desk, monkeypatch: pytest.MonkeyPatch, lang: str, said: str
) -> None:
    store: Any = desk.store
    prove_lost(store, "p")
    act, meanwhile = store.act, [lambda: prove_lost(store, "other")]

    def act_late(*args: Any, **options: Any) -> Any:
        desk.clock.advance(SECOND)
        if meanwhile:
            meanwhile.pop()()
        return act(*args, **options)

    monkeypatch.setattr(store, "act", act_late)
    answer = noonmark("ledger", "release", "--as", "run", "--reason", "looked at it", "--lang", lang)
    assert answer.code == 3
    assert said in answer.out
    again = noonmark("ledger", "release", "--as", "run", "--reason", "looked at it", "--json")
    assert again.code == 0
    assert '"added": []' in again.out
    assert store.tallies().open_alerts == ()
